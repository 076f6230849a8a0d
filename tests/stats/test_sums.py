"""Sums in one order, and blocks instead of segments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stats.pairs import paired_randomisation
from trubleu.errors import UsageError
from trubleu.stats import (
    BLOCK_COUNT,
    BLOCK_THRESHOLD,
    CHUNK_ROWS,
    blocks,
    bootstrap_interval,
    bootstrap_scores,
    sample,
    total,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(sums[..., 0] / sums[..., 1])


def wild(rows: int, columns: int) -> NDArray[np.float64]:
    return np.random.default_rng(rows).lognormal(0.0, 4.0, (rows, columns))


def test_total_adds_chunks_in_order() -> None:
    rows = wild(2 * CHUNK_ROWS + 17, 3)
    first, second, third = (total(rows[start : start + CHUNK_ROWS]) for start in range(0, len(rows), CHUNK_ROWS))
    np.testing.assert_array_equal(total(rows), first + second + third)


def test_total_is_close_to_the_exact_sum() -> None:
    rows = wild(100_000, 2)
    exact = [math.fsum(rows[:, column]) for column in range(2)]
    np.testing.assert_allclose(total(rows), exact, rtol=1e-14)


@given(st.integers(1, 3000), st.integers(1, 6))
def test_total_depends_on_neither_layout_nor_neighbours(rows: int, columns: int) -> None:
    table = wild(rows, columns)
    expected = total(table)
    np.testing.assert_array_equal(total(np.asfortranarray(table)), expected)
    np.testing.assert_array_equal(total(np.repeat(table, 2, axis=1)[:, ::2]), expected)
    assert [total(table[:, [column]])[0] for column in range(columns)] == expected.tolist()


def test_total_of_nothing_is_zero() -> None:
    assert total(np.empty((0, 2))).tolist() == [0.0, 0.0]


@given(st.integers(1, 200), st.data())
def test_blocks_cut_at_fixed_rows(rows: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, rows))
    table = np.arange(rows * 2, dtype=np.float64).reshape(rows, 2)
    result = blocks(table, count)
    assert result.shape == (count, 2)
    for i, block in enumerate(result):
        assert block.tolist() == table[i * rows // count : (i + 1) * rows // count].sum(axis=0).tolist()


@pytest.mark.parametrize("count", [-1, 0, 4])
def test_blocks_are_never_empty(count: int) -> None:
    with pytest.raises(UsageError, match="1 to 3 blocks"):
        blocks(np.ones((3, 1)), count)


def test_blocks_start_above_a_million_segments() -> None:
    assert (BLOCK_THRESHOLD, BLOCK_COUNT) == (1_000_000, 10_000)
    segments = np.ones((BLOCK_THRESHOLD + 1, 1))
    assert sample.Sample.of(segments[:-1], "a").blocks == 0
    found = sample.Sample.of(segments, "a")
    assert (found.rows.shape, found.blocks) == ((BLOCK_COUNT, 1), BLOCK_COUNT)
    assert found.rows.sum() == BLOCK_THRESHOLD + 1


def test_blocks_are_resampled_in_place_of_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "BLOCK_THRESHOLD", 100)
    monkeypatch.setattr(sample, "BLOCK_COUNT", 20)
    rng = np.random.default_rng(3)
    a = np.stack([rng.normal(30.0, 8.0, 101), np.ones(101)], axis=1)
    b = a - [1.0, 0.0]
    interval = bootstrap_interval(a, mean, resamples=500)
    assert interval.blocks == 20
    assert interval.score == mean(total(a))
    by_hand = bootstrap_scores(blocks(a, 20), mean, resamples=500)
    np.testing.assert_array_equal(bootstrap_scores(a, mean, resamples=500), by_hand)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(by_hand, [0.025, 0.975])))

    test = paired_randomisation(a, b, mean, resamples=500)
    by_hand_test = paired_randomisation(blocks(a, 20), blocks(b, 20), mean, resamples=500)
    assert (test.p, test.blocks, by_hand_test.blocks) == (by_hand_test.p, 20, 0)
    # The effect is that of the segments, however they were drawn.
    assert test.effect == pytest.approx(by_hand_test.effect * math.sqrt(20 / 101))
