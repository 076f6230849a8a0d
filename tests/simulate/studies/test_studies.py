"""What studies count, held against plain statements of it and against theory."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.oracles.studies import normal_power
from tests.simulate.studies.made import MeanOfErrors, MeanOfNumbers, numbers_pool, scored_by
from tests.stats.pairs import paired_randomisation
from trubleu.errors import UsageError
from trubleu.simulate.studies import (
    Draws,
    draw_test_set,
    power_study,
    resampling_seed,
)

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
        real = paired_randomisation(a, b, MeanOfNumbers().score, resamples=100, seed=seed)
        found += real.p < 0.05 and real.difference > 0
        wrong += real.p < 0.05 and real.difference < 0
        for place in np.flatnonzero(draw.swapped):
            a[place], b[place] = b[place].copy(), a[place].copy()
        alarms += paired_randomisation(a, b, MeanOfNumbers().score, resamples=100, seed=seed).p < 0.05
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


# Draws


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
