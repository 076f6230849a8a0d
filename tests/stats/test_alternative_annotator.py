"""The alternative annotator test against a plain statement of it and SciPy's t-test and false discovery rates."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import alternative_annotator as oracle
from trubleu.errors import DataError, UsageError
from trubleu.stats import AlternativeAnnotatorTest, alternative_annotator_test

People = dict[str, dict[int, int]]


def world(seed: int, *, raters: int = 4, items: int = 60, model_noise: float = 0.7, bias: float = 0.0) -> People:
    """People of equal noise, and under "model" another rater of known bias and noise."""
    draw = Random(seed)
    truth = {item: draw.uniform(1, 5) for item in range(items)}

    def scores(noise: float, shift: float, share: float) -> dict[int, int]:
        return {
            item: min(5, max(1, round(quality + shift + draw.gauss(0, noise))))
            for item, quality in truth.items()
            if draw.random() < share
        }

    found = {f"r{number}": scores(0.7, 0, 0.8) for number in range(raters)}
    return found | {"model": scores(model_noise, bias, 1.0)}


def run_test(people: People, model: dict[int, float], **options: float) -> AlternativeAnnotatorTest:
    rows = [(item, name, score) for name, scores in people.items() for item, score in scores.items()]
    items, names, scores = ([row[at] for row in rows] for at in range(3))
    return alternative_annotator_test(items, names, scores, model, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_equals_the_plain_statement(seed: int) -> None:
    people = world(seed, bias=Random(seed).uniform(-1, 1))
    model = {item: score + (seed % 3) / 3 for item, score in people.pop("model").items() if item % 7}
    found = run_test(people, model, epsilon=0.15, least=20)
    expected = oracle.advantages(people, model, 0.15, 20)
    assert {str(each.rater): (each.items, each.model, each.person) for each in found.raters} == {
        name: pytest.approx(values[:3]) for name, values in expected.items()
    }
    for each in found.raters:
        assert each.p == pytest.approx(expected[str(each.rater)][3], abs=1e-12)
    assert found.winning_rate == oracle.winning_rate([values[3] for values in expected.values()], 0.05)
    assert found.advantage == pytest.approx(np.mean([values[1] for values in expected.values()]))


@given(st.integers(0, 10**6), st.floats(0, 0.4), st.floats(-2, 2))
@settings(max_examples=40, deadline=None)
def test_what_must_hold_of_any_ratings(seed: int, epsilon: float, bias: float) -> None:
    people = world(seed, bias=bias, items=40)
    model: dict[int, float] = dict(people.pop("model"))
    found = run_test(people, model, epsilon=epsilon)
    for each in found.raters:
        assert 0 <= each.p <= 1
        assert each.model + each.person >= 1 - 1e-12  # a tie counts for both
    more = run_test(people, model, epsilon=min(1.0, epsilon + 0.2))
    assert [each.rater for each in more.raters] == [each.rater for each in found.raters]
    if found.reason is None:
        assert 0 <= found.winning_rate <= more.winning_rate <= 1  # a larger ε makes it easier
    renamed = {f"x{name}": scores for name, scores in people.items()}
    assert run_test(renamed, model, epsilon=epsilon).winning_rate == pytest.approx(found.winning_rate, nan_ok=True)


def test_a_model_like_the_mean_passes_and_one_that_guesses_does_not() -> None:
    people = world(5, items=200)
    del people["model"]
    draw = Random(1)
    means = {item: float(np.mean([s[item] for s in people.values() if item in s] or [3])) for item in range(200)}
    assert run_test(people, means).passed
    assert not run_test(people, {item: float(draw.randint(1, 5)) for item in range(200)}).passed


def test_too_few_items_or_people() -> None:
    people = world(1, items=20)
    model: dict[int, float] = dict(people.pop("model"))
    found = run_test(people, model)
    assert math.isnan(found.winning_rate)
    assert not found.passed
    assert found.reason == "it needs two people who share 30 items or more with the model and others"


def test_bad_input_is_refused() -> None:
    with pytest.raises(UsageError, match="epsilon must be between 0 and 1, not 2"):
        alternative_annotator_test([1], ["a"], [3], {}, epsilon=2)
    with pytest.raises(UsageError, match="least must be 2 or more, not 1"):
        alternative_annotator_test([1], ["a"], [3], {}, least=1)
    with pytest.raises(DataError, match="the model's score of item 1 is nan; leave it out"):
        alternative_annotator_test([1], ["a"], [3], {1: math.nan})
