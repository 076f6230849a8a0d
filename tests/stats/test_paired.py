"""Paired tests against scipy, against all swaps, and against what must hold for any data."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from tests.stats.pairs import paired_bootstrap, paired_randomisation
from trubleu.stats import Comparison, bootstrap_scores, total

if TYPE_CHECKING:
    from collections.abc import Callable

Statistics = NDArray[np.float64]
TESTS: list[Callable[..., Comparison]] = [paired_bootstrap, paired_randomisation]


def mean(sums: Statistics) -> Statistics:
    return np.asarray(sums[..., 0] / sums[..., 1])


def ratio(sums: Statistics) -> Statistics:
    return np.asarray(100.0 * np.sqrt(sums[..., 0] / sums[..., 1]))


def averaged(values: NDArray[np.float64]) -> Statistics:
    return np.stack([values, np.ones_like(values)], axis=1)


def counted(segments: int, rate: float, seed: int) -> Statistics:
    rng = np.random.default_rng(seed)
    totals = rng.integers(1, 30, segments)
    return np.stack([rng.binomial(totals, rate), totals], axis=1).astype(np.float64)


def swapped_differences(a: Statistics, b: Statistics, score: Callable[[Statistics], Statistics]) -> Statistics:
    """The differences of all 2^n ways to swap."""
    keep = np.array(list(product([False, True], repeat=len(a))))
    new_a = np.where(keep[:, :, np.newaxis], a, b).sum(axis=1)
    new_b = np.where(keep[:, :, np.newaxis], b, a).sum(axis=1)
    return score(new_a) - score(new_b)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("score", [mean, ratio])
def test_randomisation_agrees_with_all_swaps(seed: int, score: Callable[[Statistics], Statistics]) -> None:
    a, b = counted(10, 0.5, seed), counted(10, 0.4, seed + 100)
    observed = float(score(a.sum(axis=0)) - score(b.sum(axis=0)))
    exact = np.mean(np.abs(swapped_differences(a, b, score)) >= abs(observed) - 1e-9)
    test = paired_randomisation(a, b, score, resamples=20_000)
    assert test.p == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 20_000))
    assert test.difference == pytest.approx(observed)


def test_ties_count_although_sums_round() -> None:
    # Three of 3,000 segments differ, by tenths, which no double holds: 2 of the 8 ways to swap them are as extreme.
    values = np.random.default_rng(1).uniform(0.0, 100.0, 3000)
    better = values.copy()
    better[[5, 1700, 2999]] += [0.1, 0.7, 0.3]
    test = paired_randomisation(averaged(better), averaged(values), mean, resamples=20_000)
    assert test.p == pytest.approx(0.25, abs=0.013)


def test_sum_that_is_zero_on_paper_is_zero() -> None:
    # All matches are A's. When all rows with matches stay, B must have none at all, not −1e-17.
    a = np.stack([np.where(np.arange(40) % 10 == 0, 0.1 * np.arange(40) + 0.7, 0.0), np.ones(40)], axis=1)
    b = a * [0.0, 1.0]
    test = paired_randomisation(a, b, ratio, resamples=2000)
    assert test.p == pytest.approx(2 / 16, abs=0.03)


def test_randomisation_of_a_mean_agrees_with_scipy() -> None:
    rng = np.random.default_rng(11)
    a = rng.normal(30.0, 10.0, 60)
    b = a - rng.normal(0.4, 5.0, 60)
    theirs = scipy_stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    ours = paired_randomisation(averaged(a), averaged(b), mean, resamples=20_000)
    assert 0.01 < ours.p < 0.5
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.012)


def test_bootstrap_of_a_mean_agrees_with_scipy() -> None:
    rng = np.random.default_rng(12)
    a = rng.normal(30.0, 10.0, 80)
    b = a - rng.normal(0.9, 5.0, 80)
    theirs = scipy_stats.bootstrap(
        (a - b,), np.mean, n_resamples=20_000, method="percentile", confidence_level=0.9, rng=np.random.default_rng(2)
    )
    ours = paired_bootstrap(averaged(a), averaged(b), mean, resamples=20_000, confidence=0.9)
    error = theirs.standard_error * 0.05
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=error)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=error)
    drawn = theirs.bootstrap_distribution
    p = np.mean(np.abs(drawn - drawn.mean()) >= abs(np.mean(a - b)))
    assert 0.01 < ours.p < 0.5
    assert ours.p == pytest.approx(p, abs=0.012)


def test_bootstrap_p_by_hand() -> None:
    a, b = counted(50, 0.5, 1), counted(50, 0.47, 2)
    drawn = bootstrap_scores(a, ratio, resamples=999, seed=4) - bootstrap_scores(b, ratio, resamples=999, seed=4)
    test = paired_bootstrap(a, b, ratio, resamples=999, seed=4)
    assert test.difference == ratio(total(a)) - ratio(total(b))
    assert test.p == (np.count_nonzero(np.abs(drawn - drawn.mean()) >= abs(test.difference)) + 1) / 1000
    assert (test.low, test.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    assert test.effect == pytest.approx(test.difference / (math.sqrt(50) * drawn.std()))
    assert (test.test, test.n, test.seed, test.confidence, test.resamples) == ("bootstrap", 999, 4, 0.95, 999)


def test_interval_and_effect_of_randomisation_are_the_bootstraps() -> None:
    a, b = counted(50, 0.5, 1), counted(50, 0.47, 2)
    bootstrap = paired_bootstrap(a, b, ratio, resamples=300)
    randomisation = paired_randomisation(a, b, ratio, resamples=300)
    for field in ("difference", "low", "high", "effect", "resamples"):
        assert getattr(randomisation, field) == getattr(bootstrap, field)
    assert (randomisation.test, randomisation.n) == ("randomisation", 300)


def test_effect_of_a_mean_is_cohens_d() -> None:
    rng = np.random.default_rng(13)
    a, b = rng.normal(31.0, 10.0, 400), rng.normal(30.0, 10.0, 400)
    test = paired_bootstrap(averaged(a), averaged(b), mean, resamples=40_000)
    assert test.effect == pytest.approx((a - b).mean() / (a - b).std(), rel=0.02)


@pytest.mark.parametrize("run", TESTS)
def test_false_alarms_are_as_rare_as_promised(run: Callable[..., Comparison]) -> None:
    rng = np.random.default_rng(14)
    alarms = 0
    for _ in range(300):
        a, b = rng.normal(0.0, 1.0, (2, 60))
        alarms += run(averaged(a), averaged(b), mean, resamples=200).p <= 0.05
    assert scipy_stats.binomtest(alarms, 300, 0.05).pvalue > 0.001


@pytest.mark.parametrize("run", TESTS)
def test_one_segment(run: Callable[..., Comparison]) -> None:
    test = run([[40.0, 1.0]], [[30.0, 1.0]], mean, resamples=100)
    assert (test.difference, test.low, test.high, test.effect) == (10.0, 10.0, 10.0, math.inf)
    assert run([[30.0, 1.0]], [[40.0, 1.0]], mean, resamples=100).effect == -math.inf


@pytest.mark.parametrize("run", TESTS)
def test_threads_do_not_change_a_number(run: Callable[..., Comparison]) -> None:
    a, b = counted(300, 0.5, 1), counted(300, 0.48, 2)
    assert run(a, b, ratio, resamples=500, threads=1) == run(a, b, ratio, resamples=500, threads=7)


VALUES = st.integers(1, 12).flatmap(
    lambda segments: st.tuples(*[arrays(np.float64, segments, elements=st.floats(0.0, 100.0, width=32))] * 2)
)


@pytest.mark.parametrize("run", TESTS)
@given(VALUES, st.integers(0, 2**64 - 1))
def test_exchanging_the_systems_flips_the_sign_and_keeps_p(
    run: Callable[..., Comparison], values: tuple[Statistics, Statistics], seed: int
) -> None:
    a, b = (averaged(each) for each in values)
    one, other = (run(x, y, mean, resamples=99, seed=seed) for x, y in ((a, b), (b, a)))
    assert one.p == other.p
    assert 0.0 < one.p <= 1.0
    assert one.difference == -other.difference
    assert one.effect == -other.effect
    assert one.low <= one.high
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


@pytest.mark.parametrize("run", TESTS)
@given(VALUES)
def test_equal_systems_have_p_one(run: Callable[..., Comparison], values: tuple[Statistics, Statistics]) -> None:
    a = averaged(values[0])
    test = run(a, a.copy(), mean, resamples=99)
    assert (test.p, test.effect, test.difference, test.low, test.high) == (1.0, 0.0, 0.0, 0.0, 0.0)
