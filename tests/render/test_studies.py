"""Studies as tables."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.simulate.studies.made import MeanOfNumbers, numbers_pool, scored_by
from trubleu.render.studies import render_coverage, render_order, render_power
from trubleu.render.tables import FORMATS
from trubleu.simulate.studies import (
    CoverageStudy,
    OrderStudy,
    Pool,
    PowerStudy,
    coverage_study,
    order_study,
    power_study,
)


@pytest.fixture
def pool() -> Pool:
    numbers = np.random.default_rng(2).normal(size=(2, 50))
    return numbers_pool({"A": numbers[0] + 5, "B": numbers[1]}, {"A": 4.25, "B": 3.0})


@pytest.fixture
def power(pool: Pool) -> PowerStudy:
    return power_study(pool, [scored_by(pool, MeanOfNumbers())], segments=[10, 20], studies=5, resamples=50)


@pytest.fixture
def coverage(pool: Pool) -> CoverageStudy:
    return coverage_study(pool, [scored_by(pool, MeanOfNumbers())], segments=[10], sets=5, resamples=50)


@pytest.fixture
def order(pool: Pool) -> OrderStudy:
    return order_study(pool, [scored_by(pool, MeanOfNumbers())], segments=[10], sets=5)


def test_every_format_can_be_printed(power: PowerStudy, coverage: CoverageStudy, order: OrderStudy) -> None:
    for form in FORMATS:
        for text in (render_power(power, form), render_coverage(coverage, form), render_order(order, form)):
            assert "mean" in text
            assert text.endswith("\n")
    assert json.loads(render_power(power, "json"))["power"][1]["segments"] == 20
    assert json.loads(render_order(order, "json"))["systems"][0]["quality"] == 4.25


def test_shares_stand_with_their_errors(power: PowerStudy) -> None:
    row = dataclasses.replace(power.rows[0], found=0.25, found_error=0.0313)
    text = render_power(dataclasses.replace(power, rows=(row, power.rows[1])))
    assert "25.0 ± 3.1  100.0 " in text
    assert "± is one standard error of drawing from this one world; worlds (--seed) differ by more.\n" in text
    assert "The truth: A is better than B, mean quality 4.25 and 3.00 of 5." in text
    assert "No study found the wrong system." in text
    assert "Studies that find the wrong system" not in text


def test_shares_without_an_error_say_how_far_they_may_be_off(power: PowerStudy, coverage: CoverageStudy) -> None:
    studies = power.rows[0].studies
    worst = 100 * binomtest(0, studies).proportion_ci(method="wilson").high
    note = f"Shares of 0 and 100 % have no standard error; at 95 % they are off by {worst:.1f} points at most.\n"
    sure = tuple(dataclasses.replace(row, found=1.0, wrong=0.5, false_alarms=0.5) for row in power.rows)
    unsure = tuple(dataclasses.replace(row, found=0.5) for row in sure)
    assert note in render_power(dataclasses.replace(power, rows=sure))
    assert "have no standard error" not in render_power(dataclasses.replace(power, rows=unsure))
    always, often = (dataclasses.replace(coverage.rows[0], covered=share, covered_error=0.0) for share in (1.0, 0.9))
    assert "100.0 ±" not in (text := render_coverage(dataclasses.replace(coverage, rows=(always,))))
    assert "have no standard error" in text
    assert "have no standard error" not in render_coverage(dataclasses.replace(coverage, rows=(often,)))


def test_a_metric_that_is_fooled_is_named(power: PowerStudy) -> None:
    rows = tuple(dataclasses.replace(row, difference=-1.0, wrong=0.5, raters=1, left_out=0.042) for row in power.rows)
    text = render_power(dataclasses.replace(power, rows=rows))
    assert "Studies that find the wrong system, %" in text
    assert (
        "from this pool, on the whole of which the worse system scores higher: mean with 1 reference × 1 rater\n"
        in text
    )
    assert "(references × raters): 4.2 % (1 × 1)." in text
    assert "No study found" not in text


def test_a_small_pool_is_warned_of(power: PowerStudy) -> None:
    assert "A pool of 1,999 is small" in render_power(dataclasses.replace(power, pool=1_999))
    assert "is small" not in render_power(dataclasses.replace(power, pool=2_000))


def test_coverage_says_what_intervals_promise(coverage: CoverageStudy) -> None:
    row = dataclasses.replace(coverage.rows[0], covered=0.9, covered_error=0.01, below=0.08, above=0.02, bias=-0.5)
    text = render_coverage(dataclasses.replace(coverage, rows=(row,)))
    assert "90.0 ± 1.0         8.0          2.0" in text
    assert "-0.50\n" in text
    assert "Intervals of 95 % from 50 resamples." in text
