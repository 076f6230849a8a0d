"""Simulated raters: their scores, and habits that cannot be."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import UsageError
from trubleu.simulate.raters import Habits, SimulatedRater, simulated_raters


@given(
    noise=st.floats(0, 100),
    bias=st.floats(-10, 10),
    lazy=st.sampled_from([None, "constant", "random"]),
    text=st.text(),
    quality=st.floats(1, 5),
)
def test_scores_are_on_the_scale_and_follow_from_the_text(
    noise: float, bias: float, lazy: object, text: str, quality: float
) -> None:
    rater = SimulatedRater("1/1", bias, noise, lazy)  # type: ignore[arg-type]
    assert rater.score(text, quality) in range(1, 6)
    assert rater.score(text, quality) == rater.score(text, quality)


def test_who_is_exact_says_what_is_true() -> None:
    rater = SimulatedRater("1/1", noise=0.0)
    assert [rater.score("x", quality) for quality in (1, 2.2, 3, 3.9, 5)] == [1, 2, 3, 4, 5]
    strict = SimulatedRater("1/1", bias=-1.0, noise=0.0)
    assert [strict.score("x", quality) for quality in (1, 3, 5)] == [1, 2, 4]


def test_who_is_lazy_does_not_read() -> None:
    people = simulated_raters(20, Habits(lazy=0.5))
    by_kind = defaultdict(list)
    for person in people:
        by_kind[person.lazy].append({person.score(f"text {n}", 5 if n % 2 else 1) for n in range(60)})
    assert {kind: len(found) for kind, found in by_kind.items()} == {None: 10, "constant": 5, "random": 5}
    assert all(len(scores) == 1 for scores in by_kind["constant"])
    assert all(scores == {1, 2, 3, 4, 5} for scores in by_kind["random"])
    assert people != simulated_raters(20, Habits(lazy=0.5), seed=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -1.0}, "the noise of raters must be between 0 and 100, not -1"),
        ({"bias": float("nan")}, "the bias of raters must be between 0 and 100, not nan"),
        ({"lazy": 1.01}, "the share of lazy raters must be between 0 and 1, not 1.01"),
        ({"lazy": float("inf")}, "the share of lazy raters must be between 0 and 1, not inf"),
    ],
)
def test_habits_that_cannot_be(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        Habits(**options)
    assert str(raised.value) == message
