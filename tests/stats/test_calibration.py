"""Calibration against the min-max formula of isotonic regression, and on data whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trubleu.errors import DataError, UsageError
from trubleu.stats import calibrate


def min_max(x: list[float], y: list[float], weights: list[float]) -> dict[float, float]:
    """Isotonic regression as a formula: the greatest over starts of the least over ends of the mean between."""
    places = sorted(set(x))
    rows = [[(w, v) for u, v, w in zip(x, y, weights, strict=True) if u == place] for place in places]

    def mean(a: int, b: int) -> float:
        inside = [each for row in rows[a : b + 1] for each in row]
        return sum(w * v for w, v in inside) / sum(w for w, _ in inside)

    number = len(places)
    return {
        place: max(min(mean(a, b) for b in range(i, number)) for a in range(i + 1)) for i, place in enumerate(places)
    }


texts = st.lists(
    st.tuples(st.integers(0, 8).map(float), st.floats(-1, 1), st.integers(1, 5).map(float)), min_size=19, max_size=39
).map(lambda rows: [*rows, (9.0, 0.5, 1.0)])


@given(texts)
@settings(max_examples=60, deadline=None)
def test_the_curve_is_that_of_the_formula(rows: list[tuple[float, float, float]]) -> None:
    x, y, weights = ([row[at] for row in rows] for at in range(3))
    found = calibrate(x, y, weights=weights)
    expected = min_max(x, y, weights)
    assert found.x.tolist() == sorted(expected)
    assert found.y.tolist() == pytest.approx([expected[place] for place in sorted(expected)], abs=1e-9)
    assert (np.diff(found.y) >= 0).all()
    assert min(y) - 1e-9 <= found.y.min() <= found.y.max() <= max(y) + 1e-9
    assert found.predict([-100, 100]).tolist() == [found.y[0], found.y[-1]]
    assert found.explained <= 1
    assert len(found.errors) == len(found.edges) + 1
    assert (found.predict_errors(x) >= 0).all()
    assert (np.diff(found.edges) > 0).all()
    # Only the order of the model's values matters.
    stretched = calibrate([math.exp(value) for value in x], y, weights=weights)
    assert stretched.y.tolist() == pytest.approx(found.y.tolist())


def noisy(seed: int, *, number: int = 400, raters: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A model that is mild and uncertain, people's means, and the truth."""
    draw = np.random.default_rng(seed)
    truth = draw.uniform(-1, 1, number)
    model = np.tanh(truth) + 0.4 + draw.normal(0, 0.2, number)
    people = truth + draw.normal(0, 0.4, (raters, number)).mean(axis=0)
    return model, people, truth


@pytest.mark.parametrize("seed", range(5))
def test_bias_goes_and_the_error_is_right(seed: int) -> None:
    model, people, truth = noisy(seed)
    fresh, _, their_truth = noisy(seed + 100)
    found = calibrate(model, people, errors=np.full(400, 0.2))
    off = found.predict(fresh) - their_truth
    assert abs(model.mean() - truth.mean()) > 0.3
    assert abs(off.mean()) < 3 * found.common
    assert found.error == pytest.approx(math.sqrt((off**2).mean()), rel=0.15)
    assert 0.6 < found.explained < 1


def test_the_error_is_that_of_texts_with_such_a_value() -> None:
    draw = np.random.default_rng(3)

    def some(number: int) -> tuple[np.ndarray, np.ndarray]:
        truth = draw.uniform(-1, 1, number)
        return truth + draw.normal(0, 1, number) * np.where(np.abs(truth) < 0.4, 0.15, 0.03), truth

    found = calibrate(*some(600))
    model, truth = some(4000)
    off, errors = found.predict(model) - truth, found.predict_errors(model)
    assert len(found.errors) == len(found.edges) + 1 == 5
    middle, ends = np.abs(found.predict(model)) < 0.3, np.abs(found.predict(model)) > 0.7
    for part in (middle, ends):
        assert errors[part].mean() == pytest.approx(math.sqrt((off[part] ** 2).mean()), rel=0.4)
    assert errors[middle].mean() > 1.5 * errors[ends].mean()
    assert (np.abs(off) <= 1.96 * errors).mean() == pytest.approx(0.95, abs=0.025)
    assert math.sqrt((errors**2).mean()) == pytest.approx(found.error, rel=0.1)


def test_a_model_that_knows_nothing_explains_nothing() -> None:
    draw = np.random.default_rng(1)
    assert calibrate(draw.uniform(size=200), draw.uniform(size=200)).explained < 0.05


def test_texts_of_a_group_are_left_out_together() -> None:
    draw = np.random.default_rng(2)
    x = draw.uniform(size=100)
    of_group = np.repeat(draw.normal(size=10), 10)
    together = calibrate(x, of_group, groups=[n // 10 for n in range(100)])
    assert together.explained < 0 < together.error
    assert calibrate(x, of_group, groups=[n // 10 for n in range(100)]).error == together.error
    assert calibrate(x, of_group, groups=[n // 10 for n in range(100)], seed=1, folds=3).error != together.error


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="people and the model have both rated 3 texts, but a calibration needs 20"):
        calibrate([1, 2, 3], [1, 2, 3])
    with pytest.raises(DataError, match="the model gives all texts that people have rated the same value"):
        calibrate([3] * 30, range(30))
    with pytest.raises(DataError, match="all texts are of one group"):
        calibrate(range(30), range(30), groups=["a"] * 30)
    with pytest.raises(DataError, match="must have one entry for each text"):
        calibrate(range(30), range(29))
    with pytest.raises(DataError, match="y must be a flat list of finite numbers"):
        calibrate(range(30), [math.nan] * 30)
    with pytest.raises(UsageError, match="folds must be 2 or more, not 1"):
        calibrate(range(30), range(30), folds=1)
