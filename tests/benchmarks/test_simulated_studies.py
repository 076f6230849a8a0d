"""What studies of coverage and order count, held against plain statements of it."""

from __future__ import annotations

import dataclasses
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from benchmarks.simulated.coverage import coverage_study
from benchmarks.simulated.order import in_order, mean_with_error, order_study
from tests.oracles.studies import bootstrap_coverage, ordered
from tests.simulate.studies.made import MeanOfErrors, MeanOfNumbers, numbers_pool, scored_by
from trubleu.errors import UsageError
from trubleu.render.studies import percent
from trubleu.simulate.studies import Draws, draw_test_set, resampling_seed
from trubleu.stats import bootstrap_interval

# Coverage


def test_coverage_is_that_of_a_plain_bootstrap() -> None:
    numbers = np.random.default_rng(5).exponential(size=500) ** 2  # skewed, so that intervals fall short
    pool = numbers_pool({"A": numbers}, {"A": 3.0})
    study = coverage_study(pool, [scored_by(pool, MeanOfNumbers())], Draws(segments=[20], number=1500, resamples=300))
    (row,) = study.rows
    plain = bootstrap_coverage(numbers.tolist(), 20, sets=400, resamples=200, seed=5)
    assert abs(row.covered - plain) < 3.5 * (plain * (1 - plain) * (1 / 1500 + 1 / 400)) ** 0.5
    assert row.covered < 0.9  # what such data do to a percentile interval
    assert row.below > row.above
    assert row.covered + row.below + row.above == pytest.approx(1.0)
    assert row.truth == pytest.approx(numbers.mean())


def test_coverage_counts_the_usual_intervals() -> None:
    numbers = np.random.default_rng(6).normal(50, 10, size=300)
    pool = numbers_pool({"A": numbers}, {"A": 3.0})
    scored = scored_by(pool, MeanOfNumbers())
    study = coverage_study(pool, [scored], Draws(segments=[10], number=40, resamples=100, seed=4), confidence=0.8)
    made = [
        bootstrap_interval(
            scored.rows["A"][draw_test_set(300, 10, number=number, seed=4).rows],
            MeanOfNumbers().score,
            resamples=100,
            confidence=0.8,
            seed=resampling_seed(number, 4),
        )
        for number in range(40)
    ]
    truth = numbers.mean()
    (row,) = study.rows
    assert row.covered == fmean(each.low <= truth <= each.high for each in made)
    assert row.below == fmean(each.high < truth for each in made)
    assert row.above == fmean(each.low > truth for each in made)
    assert row.width == pytest.approx(fmean(each.high - each.low for each in made))
    assert row.bias == pytest.approx(fmean(each.score for each in made) - truth)
    assert 0.5 < row.covered < 1


def test_errors_are_told_with_their_own_sign() -> None:
    numbers = np.random.default_rng(6).exponential(size=300)
    pool = numbers_pool({"A": numbers}, {"A": 3.0})
    scores, errors = (
        coverage_study(pool, [scored_by(pool, kind())], Draws(segments=[15], number=60, resamples=100)).rows[0]
        for kind in (MeanOfNumbers, MeanOfErrors)
    )
    told = dataclasses.asdict(errors)
    for name, value in dataclasses.asdict(scores).items():
        assert told[name] == (pytest.approx(value) if isinstance(value, float) else told[name]), name


# Order


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_orders_are_looked_at_pair_by_pair(scores: list[list[int]], truth: list[int]) -> None:
    table, true = np.array(scores, dtype=float), np.array(truth, dtype=float)
    assert in_order(table, true).tolist() == [ordered(row, truth) for row in scores]


def test_correlations_are_means_over_test_sets() -> None:
    generator = np.random.default_rng(8)
    systems = {name: generator.normal(mean, 1, size=400) for name, mean in zip("ABCD", [1, 1.3, 0.2, 0.9], strict=True)}
    qualities = {"A": 4.5, "B": 3.5, "C": 2.0, "D": 3.0}
    pool = numbers_pool(systems, qualities)
    study = order_study(pool, [scored_by(pool, MeanOfNumbers())], Draws(segments=[25], number=60, seed=3))
    taus, rhos, exact = [], [], []
    for number in range(60):
        rows = draw_test_set(400, 25, number=number, seed=3).rows
        scores = [float(systems[name][rows].mean()) for name in "ABCD"]
        truth = list(qualities.values())
        taus.append(scipy_stats.kendalltau(scores, truth).statistic)
        rhos.append(scipy_stats.spearmanr(scores, truth).statistic)
        exact.append(ordered(scores, truth))
    (row,) = study.rows
    assert [row.kendall, row.spearman] == pytest.approx([fmean(taus), fmean(rhos)])
    assert row.kendall_error == pytest.approx(np.std(taus, ddof=1) / 60**0.5)
    assert row.exact == fmean(exact)
    assert [each.system for each in study.systems] == ["A", "B", "D", "C"]
    assert study.systems[0].score == pytest.approx(systems["A"].mean())


def test_errors_order_systems_the_other_way_round() -> None:
    pool = numbers_pool({"A": np.full(10, 0.1), "B": np.full(10, 0.4)}, {"A": 4.0, "B": 2.0})
    kinds = [scored_by(pool, kind()) for kind in (MeanOfNumbers, MeanOfErrors)]
    study = order_study(pool, kinds, Draws(segments=[5], number=3))
    assert [row.kendall for row in study.rows] == [-1.0, 1.0]
    assert [row.score for row in study.systems] == pytest.approx([0.1, 0.1, 0.4, 0.4])


def test_scores_that_are_all_equal_say_nothing() -> None:
    pool = numbers_pool({"A": np.ones(10), "B": np.ones(10)}, {"A": 4.0, "B": 2.0})
    (row,) = order_study(pool, [scored_by(pool, MeanOfNumbers())], Draws(segments=[5], number=1)).rows
    assert (row.kendall, row.kendall_error, row.exact) == (0.0, None, 0.0)


def test_an_order_needs_systems_that_differ() -> None:
    for names in ("A", "AB"):
        pool = numbers_pool({name: np.ones(10) for name in names}, dict.fromkeys(names, 3.0))
        with pytest.raises(UsageError, match="an order needs at least two systems that are not all equally good"):
            order_study(pool, [], Draws(segments=[5]))


@given(st.integers(2, 200).flatmap(lambda n: st.tuples(st.integers(1, n - 1), st.just(n))))
def test_a_share_has_the_error_of_its_trials(hits_and_trials: tuple[int, int]) -> None:
    hits, trials = hits_and_trials
    outcomes = np.array([1.0] * hits + [0.0] * (trials - hits))
    shown = [float(part) / 100 for part in percent(hits / trials, trials, 9).split(" ± ")]
    assert shown == pytest.approx([outcomes.mean(), outcomes.std() / trials**0.5])
    assert mean_with_error(outcomes) == pytest.approx((outcomes.mean(), scipy_stats.sem(outcomes)))
