"""Coefficients against SciPy, intervals against what was printed."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from trubleu.errors import DataError, UsageError
from trubleu.stats import (
    Bounds,
    fieller_interval,
    fisher_interval,
    kendall,
    pearson,
    rank_correlations,
    spearman,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Elements = st.one_of(st.integers(-4, 4).map(float), st.floats(-100, 100))


@st.composite
def points(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    number = draw(st.integers(1, 60))
    x, y = (draw(arrays(np.float64, number, elements=Elements)) for _ in "xy")
    return x, y, draw(arrays(np.int64, number, elements=st.integers(0, 3)))


def scipy_coefficients(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    if len(x) < 2:
        return math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant input
        return scipy_stats.spearmanr(x, y).statistic, scipy_stats.kendalltau(x, y).statistic


@settings(deadline=None)
@given(given=points(), counted=st.booleans(), mirrored=st.booleans())
def test_rank_correlations_are_scipys(
    given: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], counted: bool, mirrored: bool
) -> None:
    x, y, counts = given
    found = rank_correlations(x, y, counts=counts if counted else None, mirrored=mirrored)
    if counted:
        x, y = np.repeat(x, counts), np.repeat(y, counts)
    if mirrored:
        x, y = np.concatenate([x, -x]), np.concatenate([y, -y])
    expected = scipy_coefficients(x, y)
    np.testing.assert_allclose([found.spearman[0], found.kendall[0]], expected, rtol=1e-11, atol=1e-13)


@settings(deadline=None)
@given(given=points())
def test_coefficients_of_two_lists_are_scipys(
    given: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]],
) -> None:
    x, y, _ = given
    expected = scipy_coefficients(x, y)
    for found, theirs in ((spearman(x, y), expected[0]), (kendall(x, y), expected[1])):
        if math.isnan(theirs):
            assert found is None
        else:
            assert found == pytest.approx(theirs, rel=1e-11, abs=1e-13)


@settings(deadline=None)
@given(x=arrays(np.float64, 18, elements=st.floats(-100, 100)), y=arrays(np.float64, 18, elements=st.floats(-100, 100)))
def test_pearson_is_scipys(x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    x, y = np.append(x, [-1.0, 1.0]), np.append(y, [2.0, -3.0])  # never all equal
    assert pearson(x, y) == pytest.approx(scipy_stats.pearsonr(x, y).statistic, abs=1e-9)


@settings(deadline=None)
@given(given=points(), data=st.data())
def test_neither_order_nor_threads_change_a_bit(
    given: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], data: st.DataObject
) -> None:
    x, y, counts = given
    order = np.array(data.draw(st.permutations(range(len(x)))), dtype=int)
    assert pearson(x, y) == pearson(x[order], y[order])
    found = rank_correlations(x, y, counts=counts, threads=1)
    moved = rank_correlations(x[order], y[order], counts=counts[order], threads=3)
    np.testing.assert_array_equal(found, moved)


@given(x=arrays(np.float64, 12, elements=st.integers(-5, 5).map(float)), mirrored=st.booleans())
def test_a_list_agrees_with_itself(x: NDArray[np.float64], mirrored: bool) -> None:
    x[-1] = x[0] + 1.0  # never all equal
    same = rank_correlations([x, x], [x * 3 + 0, -x], mirrored=mirrored)
    assert same.spearman.tolist() == same.kendall.tolist() == [1.0, -1.0]
    assert pearson(x, x) == 1.0
    assert pearson(x, -x) == -1.0


def test_pearson_of_numbers_that_overflow_vanish_or_hardly_differ() -> None:
    x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([2.0, 1.0, 4.0, 4.0])
    expected = pearson(x, y)
    assert expected == pytest.approx(scipy_stats.pearsonr(x, y).statistic, rel=1e-15)
    assert pearson(x * 2.0**1020, y * 2.0**-1060) == expected
    assert pearson(x + 2.0**50, y) == expected
    assert pearson([1.7e308, -1.7e308], [1.0, 2.0]) == -1.0
    assert pearson([1.0, 1.0 + 2**-52, 1.0 + 3 * 2**-52, 1.0 + 2 * 2**-52], y) == expected


def test_undefined_coefficients() -> None:
    for undefined in (([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0, 3.0], [0.0, -0.0, 0.0])):
        assert pearson(*undefined) is None
        assert spearman(*undefined) is None
        assert kendall(*undefined) is None
    assert np.isnan(rank_correlations([1.0, 2.0], [1.0, 2.0], counts=[0, 5])).all()
    assert np.isnan(rank_correlations([0.0, 0.0], [1.0, 2.0], mirrored=True)).all()
    assert rank_correlations([2.0], [-1.0], mirrored=True).kendall.tolist() == [-1.0]


def test_one_row_stands_for_all_sets() -> None:
    rng = np.random.default_rng(3)
    x, y, counts = rng.normal(size=9), rng.normal(size=(4, 9)), rng.integers(0, 3, 9)
    found = rank_correlations(x, y, counts=counts)
    repeated = rank_correlations(np.tile(x, (4, 1)), y, counts=np.tile(counts, (4, 1)).astype(np.uint8))
    assert found.spearman.shape == (4,)
    np.testing.assert_array_equal(found, repeated)
    assert rank_correlations(np.ones((0, 3)), np.ones((0, 3))).kendall.shape == (0,)


@pytest.mark.parametrize(
    ("x", "y", "counts", "message"),
    [
        ([1.0, math.nan], [1.0, 2.0], None, "x is nan at point 1 of set 0"),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [math.inf, 2.0]], None, "y is inf at point 0 of set 1"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], None, "x has 2 points per set but y has 3"),
        (np.ones((2, 3)), np.ones((3, 3)), None, "y has 3 sets of points, but there are 2 before it"),
        (np.ones((2, 3, 1)), np.ones((2, 3)), None, "the array has 3 dimension"),
        ([1.0, 2.0], [1.0, 2.0], [1, -1], "counts must be whole numbers from 0"),
        ([1.0, 2.0], [1.0, 2.0], [1.0, 1.0], "counts must be whole numbers"),
        ([1.0, 2.0], [1.0, 2.0], [1], "x has 2 points per set but counts has 1"),
        ([1.0, 2.0], [1.0, 2.0], [2**31, 1], "counts must be whole numbers from 0"),
        ([1.0, 2.0], [1.0, 2.0], [2**30, 1], "at most 2\\^30 points"),
        ([1.0, 2.0], [1.0, 2.0], [[[1, 1]]], "the array has 3 dimension"),
    ],
)
def test_points_that_are_refused(x: object, y: object, counts: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rank_correlations(x, y, counts=counts)  # type: ignore[arg-type]


def test_lists_that_are_refused() -> None:
    for coefficient in (pearson, spearman, kendall):
        with pytest.raises(DataError, match="x has 2 numbers but y has 3"):
            coefficient([1.0, 2.0], [1.0, 2.0, 3.0])
        with pytest.raises(DataError, match="y must be a flat list"):
            coefficient([1.0, 2.0], [[1.0, 2.0]])
        with pytest.raises(DataError, match="y is nan"):
            coefficient([1.0, 2.0], [1.0, math.nan])


# Table 2 of Galley et al. (2015): ρ and τ with their intervals, 12 pairs × 22 units × 2 signs = 528 observations.
TABLE_2 = [
    (0.260, 0.178, 0.337),
    (0.171, 0.087, 0.252),
    (0.343, 0.265, 0.416),
    (0.232, 0.150, 0.312),
    (0.318, 0.239, 0.392),
    (0.212, 0.129, 0.292),
    (0.265, 0.183, 0.342),
    (0.175, 0.091, 0.256),
    (0.330, 0.252, 0.404),
    (0.222, 0.140, 0.302),
    (0.258, 0.177, 0.336),
    (0.167, 0.083, 0.249),
    (0.280, 0.199, 0.357),
    (0.187, 0.103, 0.268),
    (0.405, 0.331, 0.474),
    (0.281, 0.200, 0.357),
    (0.484, 0.415, 0.546),
    (0.342, 0.265, 0.415),
]


@pytest.mark.parametrize(("r", "low", "high"), TABLE_2)
def test_printed_intervals(r: float, low: float, high: float) -> None:
    # The printed coefficients and ends are rounded to three digits.
    found = fisher_interval(r, 528)
    assert found.low == pytest.approx(low, abs=0.001)
    assert found.high == pytest.approx(high, abs=0.001)


@given(r=st.floats(-0.999, 0.999), n=st.integers(5, 10_000), confidence=st.floats(0.01, 0.999))
def test_intervals_are_scipys(r: float, n: int, confidence: float) -> None:
    z = 1.96 if confidence == 0.95 else scipy_stats.norm.ppf((1 + confidence) / 2)
    for found, error in (
        (fisher_interval(r, n, confidence), 1 / math.sqrt(n - 3)),
        (fieller_interval(r, n, "spearman", confidence), 1.03 / math.sqrt(n - 3)),
        (fieller_interval(r, n, "kendall", confidence), math.sqrt(0.437 / (n - 4))),
    ):
        expected = np.tanh(np.arctanh(r) + np.array([-1, 1]) * z * error)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert -1.0 <= found.low <= r + 1e-12
        assert r - 1e-12 <= found.high <= 1.0


def test_fisher_is_scipys_interval_of_pearson() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=40)
    result = scipy_stats.pearsonr(x, x + rng.normal(size=40))
    theirs = result.confidence_interval(0.9)
    np.testing.assert_allclose(fisher_interval(result.statistic, 40, 0.9), [theirs.low, theirs.high], rtol=1e-12)


def test_the_ends() -> None:
    assert fisher_interval(1, 10) == Bounds(1.0, 1.0)
    assert fisher_interval(-1.0, 10) == fieller_interval(-1.0, 10, "kendall") == Bounds(-1.0, -1.0)
    assert fisher_interval(0.0, 4).high == pytest.approx(math.tanh(1.96), rel=1e-15)


def test_intervals_that_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 4 observations, not 3"):
        fisher_interval(0.5, 3)
    with pytest.raises(UsageError, match="at least 5 observations, not 4"):
        fieller_interval(0.5, 4, "kendall")
    with pytest.raises(UsageError, match="at least 4 observations, not 3"):
        fieller_interval(0.5, 3, "spearman")
    for r in (1.1, math.nan):
        with pytest.raises(UsageError, match="between -1 and 1"):
            fisher_interval(r, 10)
    with pytest.raises(UsageError, match="confidence"):
        fisher_interval(0.5, 10, 95.0)
    with pytest.raises(UsageError, match="did you mean kendall"):
        fieller_interval(0.5, 10, "kendal")  # type: ignore[arg-type]
