"""Rows that arrive part by part give the same bits as a table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import DataError
from trubleu.stats import PartialBuilder, Sample, SampleBuilder, bootstrap_interval, compare, sample, sums


@given(
    segments=st.integers(1, 300),
    cuts=st.lists(st.integers(0, 300), max_size=8),
    threshold=st.integers(20, 400),
    count=st.integers(1, 20),
    chunk=st.integers(1, 64),
    seed=st.integers(0, 99),
    workers=st.booleans(),
)
def test_parts_equal_the_table(
    segments: int, cuts: list[int], threshold: int, count: int, chunk: int, seed: int, workers: bool
) -> None:
    table = np.random.default_rng(seed).normal(size=(segments, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "BLOCK_THRESHOLD", threshold)
        patch.setattr(sample, "BLOCK_COUNT", count)
        patch.setattr(sums, "CHUNK_ROWS", chunk)
        patch.setattr(sums, "CHUNK_ROWS", chunk)
        builder = SampleBuilder(segments, 3)
        bounds = sorted({0, segments, *(cut for cut in cuts if cut < segments)})
        for low, high in pairwise(bounds):
            if not workers:
                builder.add(table[low:high])
                continue
            worker = PartialBuilder(segments, 3, low)
            worker.add(table[low : (low + high) // 2])
            worker.add(table[(low + high) // 2 : high])
            builder.merge(worker.finish())
        built, whole = builder.finish(), Sample.of(table, "x")
    assert built.segments == whole.segments == segments
    assert built.blocks == whole.blocks == (count if segments > threshold else 0)
    np.testing.assert_array_equal(built.rows, whole.rows)
    np.testing.assert_array_equal(built.total, whole.total)


def test_intervals_and_tests_take_samples() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 50, 2)) + 5
    mean = lambda sums: np.asarray(sums[..., 0] / sums[..., 1])  # noqa: E731
    samples = {"a": Sample.of(a, "a"), "b": Sample.of(b, "b")}
    assert bootstrap_interval(samples["a"], mean, resamples=99) == bootstrap_interval(a, mean, resamples=99)
    assert compare(samples, mean, resamples=99) == compare({"a": a, "b": b}, mean, resamples=99)


def test_too_many_and_too_few_rows() -> None:
    builder = SampleBuilder(2, 1)
    with pytest.raises(DataError, match="2 segments were announced but 0 came"):
        builder.finish()
    with pytest.raises(DataError, match="more than the 2 segments"):
        builder.add(np.ones((3, 1)))
    with pytest.raises(DataError, match="more than the 2 segments"):
        PartialBuilder(2, 1, 1).add(np.ones((2, 1)))
    worker = PartialBuilder(3, 1, 0)
    worker.add(np.ones((3, 1)))
    with pytest.raises(DataError, match="more than the 2 segments"):
        builder.merge(worker.finish())
    builder.add(np.full((2, 1), np.nan))
    with pytest.raises(DataError, match="not finite in segment 0"):
        builder.finish()
