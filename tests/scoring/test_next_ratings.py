"""Plans of ratings: against all plans there are, and against intervals after the ratings were given."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scoring.test_rating_errors import world
from trubleu import References, metric
from trubleu.errors import DataError, UsageError
from trubleu.render.rating import rating_plan_tables
from trubleu.scoring import Sampling, plan_ratings
from trubleu.scoring.next_ratings import NextText, RatingPlan, spend

if TYPE_CHECKING:
    from numpy.typing import NDArray


@given(
    st.lists(st.tuples(st.floats(0.01, 9), st.integers(1, 5)), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_no_other_plan_leaves_less(texts: list[tuple[float, int]], most: int) -> None:
    squares, counts = np.array([square for square, _ in texts]), np.array([count for _, count in texts])
    now = float((squares / counts).sum())
    more, left = spend(squares, counts, 1.0, 0.5, now, goal=0.0, most=most)
    assert more.sum() == most
    assert left == pytest.approx(float((squares / (counts + more)).sum()))
    for plan in combinations_with_replacement(range(len(texts)), most):
        other = counts + np.bincount(plan, minlength=len(texts))
        assert left <= float((squares / other).sum()) + 1e-9


def test_first_ratings_come_together_where_one_says_less_than_the_mean() -> None:
    more, left = spend(np.array([1, 0.03]), np.array([0, 3]), 1.0, 0.4, 0.4 + 0.01, goal=0.0, most=3)
    assert more.tolist() == [3, 0]  # 1/3 instead of 0.4: two ratings alone would be worse than none
    assert left == pytest.approx(1 / 3 + 0.01)


def rate(true: NDArray[np.float64], counts: NDArray[np.int64], draws: np.random.Generator) -> References:
    texts, _, _ = world(len(true) // 4, np.random.default_rng(3))
    ratings = [
        tuple((f"r{rater}", float(weight + 0.4 * draws.standard_normal())) for rater in range(count)) or None
        for weight, count in zip(true, counts.tolist(), strict=True)
    ]
    weights = np.array([np.nan if row is None else np.clip(np.mean([v for _, v in row]), -1, 1) for row in ratings])
    weights[::4] = np.fmax(weights[::4], np.where(counts[::4] > 0, 0.02, np.nan))
    errors = np.where(counts > 0, 0.4 / np.sqrt(np.maximum(counts, 1)), np.nan)
    return References(texts, np.arange(0, len(true) + 1, 4), weights, ratings=ratings, weight_errors=errors)


def test_the_interval_becomes_at_least_as_narrow_as_planned() -> None:
    _, true, outputs = world(200, np.random.default_rng(3))
    counts = np.full(len(true), 2)
    chosen, sampling = metric("dbleu-2"), Sampling(resamples=2000)
    plan = plan_ratings(
        rate(true, counts, np.random.default_rng(1)), {"s": outputs}, chosen, most=800, sampling=sampling
    )
    assert plan.least < plan.planned < plan.width
    assert sum(text.more for text in plan.texts) == plan.ratings == 800
    places = {(str(i // 4 + 1), text): i for i, text in enumerate(rate(true, counts, np.random.default_rng(1)).texts)}
    more = np.zeros(len(true), dtype=np.int64)
    for text in plan.texts:
        more[places[text.segment, text.text]] = text.more
    found = []
    for added in (more, np.ones_like(more)):  # the plan, and the same number of ratings, one for each text
        width = []
        for seed in range(4):
            references = rate(true, counts + added, np.random.default_rng(seed))
            width.append(plan_ratings(references, {"s": outputs}, chosen, most=1, sampling=sampling).width)
        found.append(np.mean(width))
    assert 0.9 * plan.least < found[0] < 1.03 * plan.planned
    assert found[0] < found[1]


def test_a_plan_is_worth_more_than_twice_as_many_ratings_spread_evenly() -> None:
    _, true, outputs = world(200, np.random.default_rng(3))
    counts = np.full(len(true), 2)
    chosen = metric("dbleu-2")
    before = rate(true, counts, np.random.default_rng(0))
    plan = plan_ratings(before, {"s": outputs}, chosen, most=800, sampling=Sampling(resamples=500))
    places = {(before.ids[place // 4], text): place for place, text in enumerate(before.texts)}
    more = np.zeros(len(true), dtype=np.int64)
    for text in plan.texts:
        more[places[text.segment, text.text]] = text.more

    def spread(added: NDArray[np.int64]) -> float:
        """How far a score varies if the same texts are rated anew."""
        draws = np.random.default_rng(1)
        scores = []
        for _ in range(300):
            weights = np.clip(true + 0.4 / np.sqrt(counts + added) * draws.standard_normal(len(true)), -1, 1)
            weights[::4] = np.maximum(weights[::4], 0.02)
            scores.append(chosen.corpus(outputs, before.with_weights(weights)).score)
        return float(np.std(scores))

    planned, none, twice = (spread(added) for added in (more, np.zeros_like(more), np.full_like(more, 2)))
    assert planned < twice < none


def test_a_plan_ends_where_the_width_is_reached() -> None:
    _, true, outputs = world(40, np.random.default_rng(3))
    references = rate(true, np.tile([0, 2, 2, 3], 40), np.random.default_rng(2))
    systems = {"a": outputs, "b": outputs[::-1]}
    chosen, sampling = metric("dbleu-1[no_positive=skip]"), Sampling(resamples=500)
    whole = plan_ratings(references, systems, chosen, most=400, sampling=sampling)
    goal = (whole.width + whole.planned) / 2
    part = plan_ratings(references, systems, chosen, width=goal, most=400, sampling=sampling)
    assert 0 < part.ratings < whole.ratings
    assert whole.planned < part.planned <= goal
    done = plan_ratings(references, systems, chosen, width=2 * whole.width, sampling=sampling)
    assert (done.ratings, done.texts, done.planned) == (0, (), done.width)
    assert whole.what == "a − b"


def test_unrated_references_are_planned_where_raters_agree() -> None:
    _, true, outputs = world(40, np.random.default_rng(3))
    counts = np.tile([2, 2, 0, 2], 40)
    references = rate(true, counts, np.random.default_rng(2))
    assert references.ratings is not None
    agreed = [row and tuple((name, row[0][1]) for name, _ in row) for row in references.ratings]
    weights = np.array([np.nan if row is None else np.clip(row[0][1], -1, 1) for row in agreed])
    weights[::4] = np.fmax(weights[::4], 0.02)
    same = References(
        references.texts, references.offsets, weights, ratings=agreed, weight_errors=np.where(counts > 0, 0, np.nan)
    )
    plan = plan_ratings(same, {"s": outputs}, metric("dbleu-1"), sampling=Sampling(resamples=200))
    assert plan.texts
    assert all(text.ratings == 0 and text.more == 1 for text in plan.texts)


def test_what_cannot_be_planned() -> None:
    references = References.from_lists([["a b"]], [[0.5]])
    chosen = metric("dbleu-1")
    with pytest.raises(DataError, match="no reference with two ratings"):
        plan_ratings(references, {"s": ["a"]}, chosen)
    once = References(["a b", "c"], np.array([0, 2]), np.array([0.5, np.nan]), ratings=((("x", 0.0), ("y", 1.0)), None))
    with pytest.raises(DataError, match="has one rated reference, so it is not known how far weights differ"):
        plan_ratings(once, {"s": ["a"]}, chosen)
    with pytest.raises(UsageError, match="bleu-4 does not use weights"):
        plan_ratings(references, {"s": ["a"]}, metric("bleu-4"))
    with pytest.raises(UsageError, match="not for 3"):
        plan_ratings(references, {name: ["a"] for name in "abc"}, chosen)
    with pytest.raises(UsageError, match="the width must be a number above 0, not -1"):
        plan_ratings(references, {"s": ["a"]}, chosen, width=-1)
    with pytest.raises(UsageError, match="at least one rating, not 0"):
        plan_ratings(references, {"s": ["a"]}, chosen, most=0)


@pytest.mark.parametrize(
    ("wanted", "widths", "texts", "said"),
    [
        (30, (20, 20, 19, 18), 0, ["is 20.00 wide: no more ratings are needed for 30."]),
        (None, (20, 17, 16, 15), 1, ["is 20.00 wide; 3 more ratings would make it 17.00."]),
        (16.5, (20, 17, 16, 15), 1, ["would make it 17.00.", "That is not 16.5 yet; plan more with --most."]),
        (15.5, (20, 17, 16, 15), 1, ["would make it 17.00.", "The same raters cannot make it 15.5 wide, only 16.00;"]),
        (9, (20, 17, 16, 15), 1, ["would make it 17.00.", "Ratings alone cannot make it 9 wide, only 15.00;"]),
        (None, (20, 20, 20, 18), 0, ["more ratings by the same raters would not make it narrower; add raters or segm"]),
        (
            19,
            (20, 20, 20, 18),
            0,
            ["not make it narrower; add raters", "The same raters cannot make it 19 wide, only 20.00;"],
        ),
        (None, (20, 20, 20, 20), 0, ["and ratings would not make it narrower; add segments."]),
    ],
)
def test_what_is_said_of_a_plan_does_not_contradict_itself(
    wanted: float | None, widths: tuple[float, float, float, float], texts: int, said: list[str]
) -> None:
    width, planned, same_raters, least = widths
    plan = RatingPlan(
        what="a",
        width=width,
        wanted=wanted,
        planned=planned,
        same_raters=same_raters,
        least=least,
        ratings=3 * texts,
        texts=(NextText(segment="1", text="t", ratings=2, more=3),) * texts,
    )
    _, notes = rating_plan_tables(plan, "text")
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


def test_only_other_raters_help_where_a_strict_one_rated_everything() -> None:
    """Two raters agree but for their levels: more of their ratings say nothing new."""
    texts, true, outputs = world(40, np.random.default_rng(3))
    levels = {"a": 0.2, "b": -0.2}
    ratings = [tuple((name, float(weight + level)) for name, level in levels.items()) for weight in true]
    references = References(
        texts, np.arange(0, len(true) + 1, 4), true, ratings=ratings, weight_errors=np.full(len(true), 0.2)
    )
    plan = plan_ratings(references, {"s": outputs}, metric("dbleu-2[no_positive=skip]"), most=50)
    assert (plan.texts, plan.ratings, plan.planned) == ((), 0, plan.width)
    assert plan.least < 0.99 * plan.same_raters
    assert plan.same_raters == pytest.approx(plan.width)
