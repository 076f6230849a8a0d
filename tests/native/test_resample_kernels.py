"""The kernels against a restatement of their generators in plain Python, and against what the draws must look like."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.oracles.generators import BOOTSTRAP, RANDOMISATION, below, halves, start_of, words
from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray


def counts(rows: int, seed: int, stream: int) -> NDArray[np.float64]:
    """How often the bootstrap draws each row."""
    result = np.zeros(rows)
    source = halves(start_of(seed, BOOTSTRAP), stream)
    for _ in range(rows):
        result[below(rows, source)] += 1
    return result


def bits(rows: int, seed: int, stream: int) -> NDArray[np.float64]:
    """Which rows the randomisation takes."""
    source = words(start_of(seed, RANDOMISATION), stream)
    taken = [word >> bit & 1 for _, word in zip(range(0, rows, 64), source, strict=False) for bit in range(64)]
    return np.array(taken[:rows], dtype=np.float64)


def weighted(weights: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights times rows, added in order and rounded at every step: no fused or reordered additions."""
    sums = np.zeros(table.shape[1])
    for weight, row in zip(weights, table, strict=True):
        sums += weight * row
    return sums


def table(rows: int, columns: int) -> NDArray[np.float64]:
    """Numbers whose sums depend on the order of additions."""
    return np.random.default_rng(rows * 31 + columns).lognormal(0.0, 3.0, (rows, columns))


SHAPES = [(1, 1), (2, 3), (3, 4), (63, 5), (64, 2), (65, 20), (127, 1), (257, 7), (600, 10)]


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("seed", [0, 12345, 2**64 - 1])
def test_bootstrap_equals_restatement_bit_by_bit(rows: int, columns: int, seed: int) -> None:
    data = table(rows, columns)
    expected = [weighted(counts(rows, seed, stream), data) for stream in range(3, 14)]
    np.testing.assert_array_equal(kernels.resample_sums(data, 11, 3, seed, 1), expected)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
@pytest.mark.parametrize("seed", [0, 12345, 2**64 - 1])
def test_randomisation_equals_restatement_bit_by_bit(rows: int, columns: int, seed: int) -> None:
    data = table(rows, columns) - table(rows, columns).mean()
    expected = [weighted(bits(rows, seed, stream), data) for stream in range(3, 14)]
    np.testing.assert_array_equal(kernels.permute_sums(data, 11, 3, seed, 1), expected)


def test_bits_that_would_favour_a_row_are_passed_over() -> None:
    # About one draw in 4,440 is passed over here, so in every replicate some are, and lanes fall out of step.
    rows, seed, stream = 1_000_000, 7, 5
    data = np.arange(rows, dtype=np.float64)[:, np.newaxis]
    drawn = kernels.resample_sums(np.concatenate([data, data**0, data % 1000], axis=1), 1, stream, seed, 1)[0]
    expected = counts(rows, seed, stream)
    assert drawn.tolist() == [expected @ data[:, 0], rows, expected @ (data[:, 0] % 1000)]


@pytest.mark.parametrize("kernel", [kernels.resample_sums, kernels.permute_sums])
@given(
    rows=st.integers(1, 300),
    columns=st.integers(1, 9),
    count=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    threads=st.integers(1, 9),
    seed=st.integers(0, 2**64 - 1),
)
def test_neither_slices_nor_threads_nor_neighbours_change_a_bit(
    kernel: type, rows: int, columns: int, count: int, cuts: list[int], threads: int, seed: int
) -> None:
    data = table(rows, columns)
    whole = kernel(data, count, 0, seed, 1)
    bounds = sorted({0, count, *(cut for cut in cuts if cut < count)})
    slices = [kernel(data, high - low, low, seed, threads) for low, high in itertools.pairwise(bounds)]
    np.testing.assert_array_equal(np.concatenate(slices), whole)
    alone = kernel(np.ascontiguousarray(data[:, -1:]), count, 0, seed, threads)
    np.testing.assert_array_equal(alone[:, 0], whole[:, -1])


def test_rows_are_drawn_uniformly() -> None:
    rows, resamples = 97, 20_000
    drawn = kernels.resample_sums(np.eye(rows), resamples, 0, 12345, 2)
    assert (drawn.sum(axis=1) == rows).all()
    assert scipy_stats.chisquare(drawn.sum(axis=0)).pvalue > 0.001
    # One row's count is binomial(n, 1/n); its mean is 1, its variance 1 − 1/n, two rows' covariance −1/n.
    assert drawn.mean() == 1.0
    np.testing.assert_allclose(drawn.var(axis=0), 1 - 1 / rows, atol=0.06)
    covariance = np.cov(drawn, rowvar=False)
    assert covariance[~np.eye(rows, dtype=bool)].mean() == pytest.approx(-1 / rows, abs=0.001)
    observed = np.bincount(drawn.astype(int).ravel(), minlength=6)
    expected = scipy_stats.binom(rows, 1 / rows).pmf(np.arange(5)) * drawn.size
    np.testing.assert_allclose(observed[:5], expected, rtol=0.02)


def test_bits_are_fair_and_independent() -> None:
    rows, trials = 130, 20_000
    taken = kernels.permute_sums(np.eye(rows), trials, 0, 12345, 2)
    assert set(np.unique(taken)) == {0.0, 1.0}
    assert scipy_stats.binomtest(int(taken.sum()), taken.size).pvalue > 0.001
    correlation = np.asarray(np.corrcoef(taken, rowvar=False))
    assert np.abs(correlation[~np.eye(rows, dtype=bool)]).max() < 5 / np.sqrt(trials)


def test_streams_differ() -> None:
    data = table(50, 1)
    first, second = (kernels.resample_sums(data, 100, 0, seed, 1)[:, 0] for seed in (1, 2))
    assert len(np.unique(np.concatenate([first, second]))) == 200


def test_edges() -> None:
    assert kernels.resample_sums(np.ones((3, 2)), 0, 0, 1, 1).shape == (0, 2)
    assert kernels.permute_sums(np.ones((3, 0)), 4, 0, 1, 1).shape == (4, 0)
    with pytest.raises(ValueError, match="between 1 and"):
        kernels.resample_sums(np.ones((0, 2)), 4, 0, 1, 1)
    with pytest.raises(TypeError):
        kernels.resample_sums(np.ones((3, 2), dtype=np.float32), 4, 0, 1, 1)
