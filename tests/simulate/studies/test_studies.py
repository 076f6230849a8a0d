"""What studies count, held against plain statements of it and against theory."""

from __future__ import annotations

import dataclasses
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.oracles.studies import bootstrap_coverage, normal_power, ordered
from tests.simulate.studies.made import MeanOfErrors, MeanOfNumbers, numbers_pool, scored_by
from trubleu.errors import UsageError
from trubleu.render.studies import _percent
from trubleu.simulate.studies import (
    Draws,
    coverage_study,
    draw_test_set,
    in_order,
    mean_with_error,
    order_study,
    power_study,
    resampling_seed,
)
from trubleu.stats import bootstrap_interval, paired_bootstrap

if TYPE_CHECKING:
    from trubleu.simulate.studies import Pool, Scored


def differing(effect: float, *, seed: int = 3) -> tuple[Pool, Scored]:
    """Return two systems whose differences have exactly this mean and a standard deviation of 1."""
    generator = np.random.default_rng(seed)
    base, noise = generator.normal(size=(2, 4000))
    noise = (noise - noise.mean()) / noise.std()
    pool = numbers_pool({"A": base + noise + effect, "B": base}, {"A": 4.0, "B": 3.0})
    return pool, scored_by(pool, MeanOfNumbers())


# Power


@pytest.mark.parametrize(("effect", "size"), [(0.3, 50), (0.2, 200), (0.05, 100)])
def test_power_is_what_normal_theory_says(effect: float, size: int) -> None:
    pool, scored = differing(effect)
    (row,) = power_study(pool, [scored], Draws(segments=[size], number=400, resamples=400)).rows
    found, wrong = normal_power(effect, size)
    # The percentile bootstrap of a mean forgets n/(n − 1), and p has the grain of 400 resamples.
    assert abs(row.found - found) < 3.5 * (found * (1 - found) / 400) ** 0.5 + 0.02
    assert abs(row.wrong - wrong) < 0.02
    assert row.difference == pytest.approx(effect)


def test_false_alarms_are_one_in_twenty_however_large_the_difference() -> None:
    pool, scored = differing(2.0)
    (row,) = power_study(pool, [scored], Draws(segments=[100], number=400, resamples=400)).rows
    assert row.found == 1.0
    assert abs(row.false_alarms - 0.05) < 3.5 * (0.05 * 0.95 / 400) ** 0.5 + 0.01
    assert row.false_alarms > 0


def test_a_study_is_the_usual_test_of_rows_drawn_from_the_pool() -> None:
    pool, scored = differing(0.3)
    study = power_study(pool, [scored], Draws(segments=[20], number=30, resamples=100, seed=9))
    found = wrong = alarms = 0
    for number in range(30):
        draw = draw_test_set(4000, 20, number=number, seed=9)
        a, b = scored.rows["A"][draw.rows], scored.rows["B"][draw.rows]
        seed = resampling_seed(number, 9)
        real = paired_bootstrap(a, b, MeanOfNumbers().score, resamples=100, seed=seed)
        found += real.p < 0.05 and real.difference > 0
        wrong += real.p < 0.05 and real.difference < 0
        for place in np.flatnonzero(draw.swapped):
            a[place], b[place] = b[place].copy(), a[place].copy()
        alarms += paired_bootstrap(a, b, MeanOfNumbers().score, resamples=100, seed=seed).p < 0.05
    (row,) = study.rows
    assert (row.found, row.wrong, row.false_alarms) == (found / 30, wrong / 30, alarms / 30)
    assert 0 < found < 30


def test_a_metric_that_prefers_the_worse_system_is_found_out() -> None:
    pool, _ = differing(0.8)
    fooled = dataclasses.replace(pool, output_qualities={"A": np.full(4000, 2.0), "B": np.full(4000, 3.0)})
    study = power_study(fooled, [scored_by(fooled, MeanOfNumbers())], Draws(segments=[100], number=50, resamples=200))
    assert (study.better, study.other) == ("B", "A")
    assert (study.rows[0].found, study.rows[0].wrong) == (0.0, 1.0)
    assert study.rows[0].difference == pytest.approx(-0.8)
    errors = power_study(fooled, [scored_by(fooled, MeanOfErrors())], Draws(segments=[100], number=50, resamples=200))
    assert (errors.rows[0].found, errors.rows[0].wrong) == (1.0, 0.0)


def test_test_sets_are_the_same_for_all_conditions_and_follow_from_the_seed() -> None:
    pool, scored = differing(0.2)
    options: dict[str, Any] = {"segments": [30, 60], "number": 40, "resamples": 100}
    alone = power_study(pool, [scored], Draws(**options))
    assert power_study(pool, [scored, scored], Draws(**options)).rows == alone.rows * 2
    assert power_study(pool, [scored], Draws(**options)) == alone
    assert power_study(pool, [scored], Draws(**options, threads=2)).rows == alone.rows
    assert power_study(pool, [scored], Draws(**options, seed=2)).rows != alone.rows


def test_equal_systems_and_wrong_numbers_of_them_are_refused() -> None:
    pool, scored = differing(0.2)
    same = numbers_pool({"A": np.ones(5), "B": np.ones(5)}, {"A": 3.0, "B": 3.0})
    with pytest.raises(UsageError, match="A and B are equally good in truth, so there is nothing to find"):
        power_study(same, [], Draws(segments=[5]))
    three = numbers_pool({name: np.ones(5) for name in "ABC"}, dict.fromkeys("ABC", 3.0))
    with pytest.raises(UsageError, match="power is about two systems, not 3"):
        power_study(three, [], Draws(segments=[5]))
    with pytest.raises(UsageError, match="segments must be a whole number from 2 to 10,000,000, not 1"):
        power_study(pool, [scored], Draws(segments=[1]))
    with pytest.raises(UsageError, match="segments must be one number or several different ones"):
        power_study(pool, [scored], Draws(segments=[5, 5]))
    with pytest.raises(UsageError, match="the number of test sets must be a whole number from 1"):
        power_study(pool, [scored], Draws(segments=[5], number=0))


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


# Shares and draws


@given(st.integers(2, 200).flatmap(lambda n: st.tuples(st.integers(1, n - 1), st.just(n))))
def test_a_share_has_the_error_of_its_trials(hits_and_trials: tuple[int, int]) -> None:
    hits, trials = hits_and_trials
    outcomes = np.array([1.0] * hits + [0.0] * (trials - hits))
    shown = [float(part) / 100 for part in _percent(hits / trials, trials, 9).split(" ± ")]
    assert shown == pytest.approx([outcomes.mean(), outcomes.std() / trials**0.5])
    assert mean_with_error(outcomes) == pytest.approx((outcomes.mean(), scipy_stats.sem(outcomes)))


@settings(max_examples=20)
@given(st.integers(2, 50), st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_draws_differ_by_number_and_stay_in_the_pool(pool: int, size: int, seed: int) -> None:
    draws = [draw_test_set(pool, size, number=number, seed=seed) for number in range(20)]
    assert all(len(draw.rows) == len(draw.swapped) == size for draw in draws)
    assert all(draw.rows.min() >= 0 and draw.rows.max() < pool for draw in draws)
    assert len({draw.rows.tobytes() + draw.swapped.tobytes() for draw in draws}) > 1
    assert len({resampling_seed(number, seed) for number in range(1000)}) == 1000


def test_a_pool_is_drawn_from_evenly() -> None:
    rows = np.concatenate([draw_test_set(7, 500, number=number, seed=1).rows for number in range(20)])
    assert scipy_stats.chisquare(np.bincount(rows, minlength=7)).pvalue > 0.001
