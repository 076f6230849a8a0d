"""Tests between metrics against restatements, all swaps, and data where the truth is known."""

from __future__ import annotations

import math
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.oracles.correlations import williams_t
from tests.stats.pairs import permutation_of_metrics
from trubleu.errors import MissingExtraError, UsageError
from trubleu.stats import WilliamsTest, williams_test

# Williams' test


@given(r_xh=st.floats(-0.95, 0.95), r_yh=st.floats(-0.95, 0.95), partial=st.floats(-0.9, 0.9), n=st.integers(4, 5000))
def test_williams_is_its_restatement(r_xh: float, r_yh: float, partial: float, n: int) -> None:
    # Any partial correlation gives three correlations that are possible together.
    r_xy = r_xh * r_yh + partial * math.sqrt((1 - r_xh**2) * (1 - r_yh**2))
    found = williams_test(r_xh, r_yh, r_xy, n)
    assert found.t == pytest.approx(williams_t(r_xh, r_yh, r_xy, n), rel=1e-9)
    assert found.p == pytest.approx(2 * scipy_stats.t(n - 3).sf(abs(found.t)), rel=1e-9)
    exchanged = williams_test(r_yh, r_xh, r_xy, n)
    assert (exchanged.t, exchanged.p) == (-found.t, found.p)


def test_a_published_example() -> None:
    # Steiger (1980), case A: 103 observations, correlations .4 and .5, and .1 between the two variables.
    found = williams_test(0.4, 0.5, 0.1, 103)
    assert round(found.t, 2) == -0.89
    assert round(found.p, 2) == 0.37
    assert found.n == 103


def test_the_level_is_kept_where_metrics_are_equally_good() -> None:
    rng = np.random.default_rng(12345)
    p = []
    for _ in range(2000):
        human = rng.normal(size=30)
        shared = rng.normal(size=30)
        x, y = (human + shared + rng.normal(size=30) for _ in "xy")
        r = np.corrcoef([x, y, human])
        p.append(williams_test(r[0, 2], r[1, 2], r[0, 1], 30).p)
    assert scipy_stats.kstest(p, "uniform").pvalue > 0.01
    assert 0.038 < np.mean(np.array(p) < 0.05) < 0.062


def test_degenerate_correlations() -> None:
    assert williams_test(0.7, 0.7, 1.0, 10) == WilliamsTest(t=0.0, p=1.0, n=10)
    assert williams_test(1.0, 1.0, 1.0, 10).p == 1.0
    perfect = williams_test(1.0, 0.6, 0.6, 10)  # the first metric is the people
    assert perfect.t == pytest.approx(williams_t(1.0, 0.6, 0.6, 10), rel=1e-9)
    assert 0.0 < perfect.p < 0.05
    mirrored = williams_test(0.6, -0.6, -1.0, 10)
    assert mirrored.t == pytest.approx(williams_test(0.6, -0.6, -1.0 + 1e-9, 10).t, rel=1e-6)
    opposite = williams_test(-1.0, 1.0, -1.0, 10)
    assert (opposite.t, opposite.p) == (-math.inf, 0.0)


def test_correlations_that_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 4 points, not 3"):
        williams_test(0.5, 0.4, 0.3, 3)
    for wrong in (1.5, math.nan):
        with pytest.raises(UsageError, match="r_yh must be a correlation"):
            williams_test(0.5, wrong, 0.3, 10)
    with pytest.raises(UsageError, match=r"no data have the correlations 0.9, -0.9 and 0.9 at once"):
        williams_test(0.9, -0.9, 0.9, 10)
    with pytest.raises(UsageError, match="no data have"):
        williams_test(0.9, 0.8, 1.0, 10)


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trubleu\[judge\]'"):
        williams_test(0.5, 0.4, 0.3, 10)


# Swapping metrics


def all_swaps(x: list[float], y: list[float], human: list[float], correlation: str) -> tuple[float, float]:
    """The observed difference and the share of all 2^n swaps that are at least as extreme."""
    coefficient = {
        "pearson": scipy_stats.pearsonr,
        "spearman": scipy_stats.spearmanr,
        "kendall": scipy_stats.kendalltau,
    }[correlation]
    a, b = (scipy_stats.zscore(np.array(values)) for values in (x, y))

    def difference(swap: tuple[bool, ...]) -> float:
        first, second = np.where(swap, b, a), np.where(swap, a, b)
        return float(coefficient(first, human).statistic - coefficient(second, human).statistic)

    observed = difference((False,) * len(x))
    extreme = [abs(difference(swap)) >= abs(observed) - 1e-9 for swap in product([False, True], repeat=len(x))]
    return observed, float(np.mean(extreme))


@pytest.mark.parametrize("correlation", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("seed", range(3))
def test_random_swaps_agree_with_all_swaps(correlation: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=8)
    x, y = human + rng.normal(size=8) * 0.3, 50 * (human + rng.normal(size=8) * 1.5)
    observed, exact = all_swaps(x.tolist(), y.tolist(), human.tolist(), correlation)
    test = permutation_of_metrics(x, y, human, correlation=correlation, trials=10_000)
    assert test.difference == pytest.approx(observed, abs=1e-12)
    assert test.p == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 10_000))
    exchanged = permutation_of_metrics(y, x, human, correlation=correlation, trials=10_000)
    assert (exchanged.difference, exchanged.p) == (-test.difference, test.p)


@pytest.mark.parametrize("correlation", ["pearson", "spearman", "kendall"])
def test_equal_metrics_have_p_1(correlation: str) -> None:
    rng = np.random.default_rng(4)
    human, x = rng.normal(size=(2, 70)).round(1)
    same = permutation_of_metrics(x, x, human, correlation=correlation, trials=99)
    assert (same.difference, same.p) == (0.0, 1.0)
    scaled = permutation_of_metrics(x, 37.5 * x + 3, human, correlation=correlation, trials=99)
    assert scaled.difference == pytest.approx(0.0, abs=1e-12)
    assert scaled.p == 1.0


def test_a_clear_difference_has_the_least_p() -> None:
    rng = np.random.default_rng(5)
    human = rng.normal(size=200)
    x, y = human + rng.normal(size=200) * 0.1, rng.normal(size=200)
    assert permutation_of_metrics(x, y, human, trials=999).p == 0.001


def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    human, x, y = rng.normal(size=(3, 100))
    whole = permutation_of_metrics(x, y, human, correlation="kendall", trials=200)
    monkeypatch.setattr("trubleu.stats.metric_tests.AT_ONCE", 700)
    assert permutation_of_metrics(x, y, human, correlation="kendall", trials=200) == whole
    assert permutation_of_metrics(x, y, human, correlation="kendall", trials=200, seed=1).p != whole.p


def test_swaps_that_leave_nothing_to_correlate_count_as_extreme() -> None:
    # One of the two ways to swap two points makes both metrics constant, so it says nothing; p cannot profit from it.
    test = permutation_of_metrics([1.0, 2.0], [2.0, 1.0], [1.0, 2.0], trials=50)
    assert (test.difference, test.p) == (2.0, 1.0)
