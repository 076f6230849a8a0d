"""Confidence sequences against the formula, and in simulated studies that are looked at many times."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import DataError, UsageError
from trubleu.stats import anytime_interval, neyman_allocation, systematic_sample, tuned_rho, values_needed
from trubleu.stats.confidence_sequence import half_width


@pytest.mark.parametrize("count", [30, 77, 500])
def test_the_interval_is_that_of_the_formula(count: int) -> None:
    values = np.random.default_rng(count).integers(-4, 5, count)
    low, high = anytime_interval(values, 200)
    mean = sum(map(int, values)) / count
    sigma = math.sqrt(sum((each - mean) ** 2 for each in values) / count)
    rho = math.sqrt((-2 * math.log(0.05) + math.log(-2 * math.log(0.05)) + 1) / 200)
    inside = 2 * (count * rho**2 + 1) / (count**2 * rho**2) * math.log(math.sqrt(count * rho**2 + 1) / 0.05)
    assert (low, high) == pytest.approx((mean - sigma * math.sqrt(inside), mean + sigma * math.sqrt(inside)))


def test_rho_is_about_the_best_for_the_planned_number() -> None:
    widths = [half_width(200, 1, factor * tuned_rho(200)) for factor in (0.5, 0.9, 1, 1.1, 2)]
    assert widths[2] <= min(widths) * 1.001
    assert widths[0] > 1.02 * widths[2] < widths[4]


def test_fifty_looks_raise_no_more_false_alarms_than_promised() -> None:
    draw = np.random.default_rng(4)
    runs, looks = 2_000, np.unique(np.linspace(30, 300, 50).astype(int))
    scores = np.clip(np.round(draw.normal(3.4, 1, (runs, 300, 2))), 1, 5)
    values = scores[:, :, 0] - scores[:, :, 1]
    alarms, fixed = np.zeros(runs, np.bool_), np.zeros(runs, np.bool_)
    for count in looks:
        seen = values[:, :count]
        means, spreads = np.abs(seen.mean(1)), seen.std(1)
        alarms |= means > half_width(int(count), 1.0, tuned_rho(200)) * spreads
        fixed |= means > 1.96 * spreads / math.sqrt(count)
    assert alarms.mean() < 0.05
    assert fixed.mean() > 0.2  # what looking does to usual intervals


@given(st.integers(30, 400), st.floats(0.05, 2), st.integers(30, 2000))
def test_values_needed_are_just_enough(count: int, mean: float, planned: int) -> None:
    needed = values_needed(count, mean, 1.0, planned)
    rho = tuned_rho(planned)
    assert half_width(needed, 1.0, rho) < mean
    assert needed == count or half_width(needed - 2, 1.0, rho) >= mean


def test_what_cannot_be_used_is_refused() -> None:
    assert values_needed(30, 0.0, 1.0, 100) == math.inf
    with pytest.raises(DataError, match="a confidence sequence needs 30 values, not 29; wait for more"):
        anytime_interval(range(29), 100)
    with pytest.raises(DataError, match="not finite"):
        anytime_interval([math.nan] * 30, 100)
    with pytest.raises(UsageError, match="planned must be above 0, not 0"):
        anytime_interval(range(30), 0)


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=40), st.floats(0.01, 1))
def test_an_allocation_is_proportional_above_its_even_share(spreads: list[float], share: float) -> None:
    number = share * len(spreads)
    chances = neyman_allocation(spreads, number)
    assert chances.sum() == pytest.approx(number)
    assert (chances <= 1).all()
    assert (chances >= 0.25 * share * (1 - 1e-9)).all()
    if chances.max() < 1 and max(spreads) > 0:
        even = 0.25 * share
        total = sum(map(Fraction, spreads))
        expected = [even + 0.75 * number * float(Fraction(each) / total) for each in spreads]
        assert chances.tolist() == pytest.approx(expected)


def test_allocations_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="of 3 items, between 1 and 3 can be chosen, not 4"):
        neyman_allocation([1, 1, 1], 4)
    with pytest.raises(DataError, match="one standard deviation per item"):
        neyman_allocation([1, -1], 1)


def test_a_sample_is_drawn_with_its_probabilities() -> None:
    chances = neyman_allocation([0.1, 0.5, 1, 2, 4, 8, 0, 3], 3)
    drawn = np.stack([systematic_sample(chances, seed) for seed in range(4_000)])
    assert set(drawn.sum(1).tolist()) == {3}
    assert drawn.mean(0).tolist() == pytest.approx(chances.tolist(), abs=0.03)
    with pytest.raises(DataError, match="one probability per item, from 0 to 1"):
        systematic_sample([0.5, 1.5], 1)
