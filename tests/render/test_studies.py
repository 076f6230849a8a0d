"""Studies as tables."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from benchmarks.simulated.coverage import CoverageStudy, coverage_study, render_coverage
from benchmarks.simulated.order import OrderStudy, order_study, render_order
from tests.simulate.studies.made import MeanOfNumbers, numbers_pool, scored_by
from trubleu.render.studies import render_power
from trubleu.render.tables import FORMATS
from trubleu.simulate.studies import Draws, Pool, PowerStudy, power_study


@pytest.fixture
def pool() -> Pool:
    numbers = np.random.default_rng(2).normal(size=(2, 50))
    return numbers_pool({"A": numbers[0] + 5, "B": numbers[1]}, {"A": 4.25, "B": 3.0})


@pytest.fixture
def power(pool: Pool) -> PowerStudy:
    return power_study(pool, [scored_by(pool, MeanOfNumbers())], Draws(segments=[10, 20], number=5, resamples=50))


@pytest.fixture
def coverage(pool: Pool) -> CoverageStudy:
    return coverage_study(pool, [scored_by(pool, MeanOfNumbers())], Draws(segments=[10], number=5, resamples=50))


@pytest.fixture
def order(pool: Pool) -> OrderStudy:
    return order_study(pool, [scored_by(pool, MeanOfNumbers())], Draws(segments=[10], number=5))


def test_every_format_can_be_printed(power: PowerStudy, coverage: CoverageStudy, order: OrderStudy) -> None:
    for form in FORMATS:
        for text in (render_power(power, form), render_coverage(coverage, form), render_order(order, form)):
            assert "mean" in text
            assert text.endswith("\n")
    assert json.loads(render_power(power, "json"))["power"][1]["segments"] == 20
    assert json.loads(render_order(order, "json"))["systems"][0]["quality"] == 4.25


def test_shares_stand_with_their_errors(power: PowerStudy) -> None:
    row = dataclasses.replace(power.rows[0], found=0.25, studies=191)
    text = render_power(dataclasses.replace(power, rows=(row, power.rows[1])))
    assert "25.0 ± 3.1  100.0 " in text
    assert "± is one standard error of drawing from this one world; worlds (--seed) differ by more.\n" in text
    assert "The truth: A is better than B, mean quality 4.25 and 3.00 of 5." in text
    assert "No study found the wrong system." in text
    assert "Studies that find the wrong system" not in text


def test_shares_of_all_and_none_have_no_error(coverage: CoverageStudy) -> None:
    always = dataclasses.replace(coverage.rows[0], covered=1.0)
    assert "100.0 ±" not in render_coverage(dataclasses.replace(coverage, rows=(always,)))


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


def test_coverage_says_what_intervals_promise(coverage: CoverageStudy) -> None:
    row = dataclasses.replace(coverage.rows[0], covered=0.9, sets=900, below=0.08, above=0.02, bias=-0.5)
    text = render_coverage(dataclasses.replace(coverage, rows=(row,)))
    assert "90.0 ± 1.0         8.0          2.0" in text
    assert "-0.50\n" in text
    assert "Intervals of 95 % from 50 resamples." in text
