"""Pools, what people say of them, and what is varied."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simulated.order import equal_share
from trubleu.data import References, Triple
from trubleu.data.weights import weight_from_ratings
from trubleu.errors import DataError, UsageError
from trubleu.metrics import metric
from trubleu.mining import Index
from trubleu.simulate.raters import Habits, simulated_raters
from trubleu.simulate.studies import CROWD, Pool, draw_ratings, make_conditions, pool_of, score_pool, weights_of

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [["fine thanks", "no idea", "fine fine"], ["at noon"], ["no idea", "in the park"]]
QUALITIES = [4.6, 2.0, 3.0, 4.8, 1.4, 4.1]
OUTPUTS = {"A": ("fine thanks you", "at noon", "in the park"), "B": ("no idea", "no idea", "no idea")}


@pytest.fixture
def pool() -> Pool:
    return Pool(
        candidates=References.from_lists(TEXTS, ids=["x", "y", "z"]).with_messages(["how?", "when?", "where?"]),
        qualities=np.array(QUALITIES),
        outputs=OUTPUTS,
        output_qualities={"A": np.array([4.0, 5.0, 3.0]), "B": np.array([2.0, 2.0, 2.0])},
    )


# Pools


def test_a_pool_gives_the_first_references_of_each_segment(pool: Pool) -> None:
    assert [[one.text for one in segment.references] for segment in pool.first(2)] == [each[:2] for each in TEXTS]
    assert pool.first(99).texts == pool.candidates.texts
    weights = np.array([1.0, -0.5, 0.0, 0.9, -0.8, 0.5])
    weighted = pool.first(1, weights)
    assert [segment.references[0].weight for segment in weighted] == [1.0, 0.9, -0.8]
    assert weighted.messages == ("how?", "when?", "where?")
    assert weighted.ids == ("x", "y", "z")


def test_a_pool_knows_its_systems(pool: Pool) -> None:
    assert pool.systems == ("A", "B")
    assert (pool.quality("A"), pool.quality("B")) == (4.0, 2.0)
    assert equal_share(pool, "A") == pytest.approx(2 / 3)
    assert equal_share(pool, "B") == pytest.approx(2 / 3)


def test_a_pool_is_made_of_what_was_mined(tmp_path: Path) -> None:
    corpus = [
        Triple("1", (), "how was the match?", "great, we won"),
        Triple("2", (), "did you see the match?", "yes, what a match"),
        Triple("3", (), "where is the station?", "over there"),
    ]
    seeds = [Triple("s", (), "was it a good match?", "yes, we won!"), Triple("t", (), "where is it?", "there")]
    found = Index.build(tmp_path / "index", corpus).candidates(seeds, top=1)
    steps: dict[str, list[int]] = {}

    def step(name: str, total: int) -> object:
        steps[name] = [total, 0]

        def told(more: int) -> None:
            steps[name][1] += more

        return told

    made = pool_of(found, {"A": ["a", "bb"]}, lambda message, text: len(message) + len(text) / 100, steps=step)  # type: ignore[arg-type]
    assert [[one.text for one in segment.references] for segment in made.candidates] == [
        ["yes, we won!", "great, we won", "was it a good match?"],
        ["there", "over there", "where is it?"],
    ]
    assert made.qualities.tolist() == [20.12, 20.13, 20.20, 12.05, 12.10, 12.12]
    assert made.output_qualities["A"].tolist() == [20.01, 12.02]
    assert made.candidates.messages == ("was it a good match?", "where is it?")
    assert steps == {"looking up the truth": [2, 2]}
    with pytest.raises(DataError, match="the pool has 1 outputs of A, but 2 texts; give one for each"):
        pool_of(found, {"A": ["a"]}, lambda *_: 3.0)


def test_parts_of_a_pool_must_fit() -> None:
    texts = References.from_lists(TEXTS)
    with pytest.raises(DataError, match="the pool has 1 qualities, but 6 texts; give one for each"):
        Pool(candidates=texts, qualities=np.ones(1), outputs={}, output_qualities={})
    three = ("a", "b", "c")
    with pytest.raises(DataError, match="the pool has 2 output_qualities of A, but 3 texts; give one for each"):
        Pool(candidates=texts, qualities=np.ones(6), outputs={"A": three}, output_qualities={"A": np.ones(2)})


# Ratings


@given(st.lists(st.lists(st.integers(1, 5), min_size=4, max_size=4), min_size=1), st.integers(1, 4))
def test_weights_follow_the_rule_of_rating_studies(ratings: list[list[int]], raters: int) -> None:
    assert weights_of(np.array(ratings), raters).tolist() == [weight_from_ratings(each[:raters]) for each in ratings]


def test_fewer_raters_say_the_same_as_the_first_of_many(pool: Pool) -> None:
    many = draw_ratings(pool, 10, seed=4)
    assert many.shape == (6, 10)
    assert (draw_ratings(pool, 3, seed=4) == many[:, :3]).all()
    assert (draw_ratings(pool, 10, seed=5) != many).any()


def test_everybody_rates_with_their_own_bias_and_luck(pool: Pool) -> None:
    people = simulated_raters(CROWD, Habits(noise=0, bias=1.0), seed=2)
    everybody = draw_ratings(pool, CROWD, habits=Habits(noise=0, bias=1.0), seed=2)
    for points, quality in zip(everybody.tolist(), QUALITIES, strict=True):
        assert sorted(points) == sorted(person.score("any text", quality) for person in people)
    noisy = draw_ratings(pool, CROWD, habits=Habits(noise=1.0, bias=0), seed=2)
    assert 0.6 < noisy[[1, 2, 5]].std(axis=1).mean() < 1.4
    # "no idea" answers two messages, and is judged anew: by luck as well as by quality.
    alike = dataclasses.replace(pool, qualities=np.full(6, 3.0))
    luck = draw_ratings(alike, 8, habits=Habits(noise=1.0, bias=0), seed=2)
    assert luck[1].tolist() != luck[4].tolist()


def test_sure_raters_give_the_truth_and_lazy_ones_do_not(pool: Pool) -> None:
    sure = draw_ratings(pool, 5, habits=Habits(noise=0, bias=0))
    assert sure.T.tolist() == [[5, 2, 3, 5, 1, 4]] * 5
    lazy = draw_ratings(pool, CROWD, habits=Habits(noise=0, bias=0, lazy=0.5))
    assert 0.2 < (lazy != sure[:, :1]).mean() < 0.6


def test_a_crowd_must_be_large_enough(pool: Pool) -> None:
    with pytest.raises(UsageError, match="5 raters per text cannot come from a crowd of 4; raise --crowd"):
        draw_ratings(pool, 5, crowd=4)
    with pytest.raises(UsageError, match="raters must be a whole number from 1 to 1,000, not 0"):
        draw_ratings(pool, 0)


# Conditions


def test_statistics_are_those_of_the_metric(pool: Pool) -> None:
    ratings = draw_ratings(pool, 3, habits=Habits(noise=0, bias=0))
    conditions = make_conditions(["bleu-2", "dbleu-1"], [1, 3], [1, 3])
    assert [(each.name, each.references, each.raters) for each in conditions] == [
        ("bleu-2", 1, None),
        ("bleu-2", 3, None),
        ("dbleu-1", 1, 1),
        ("dbleu-1", 1, 3),
        ("dbleu-1", 3, 1),
        ("dbleu-1", 3, 3),
    ]
    scored = score_pool(pool, conditions, ratings)
    single = [each[:1] for each in TEXTS]
    assert scored[0].rows["A"].tolist() == metric("bleu-2").statistics(OUTPUTS["A"], single).tolist()
    weights = [[1.0, -0.5, 0.0], [1.0], [-1.0, 0.5]]
    weighted = References.from_lists(TEXTS, weights)
    assert scored[5].rows["B"].tolist() == metric("dbleu-1").statistics(OUTPUTS["B"], weighted).tolist()
    assert [each.left_out for each in scored] == [0, 0, pytest.approx(1 / 3), pytest.approx(1 / 3), 0, 0]
    assert scored[2].rows["A"][2].tolist() == [0.0] * scored[2].rows["A"].shape[1]


def test_a_metric_that_looks_at_messages_gets_them(pool: Pool) -> None:
    (scored,) = score_pool(pool, make_conditions(["ibleu-1"], [3], [1]), draw_ratings(pool, 1))
    assert len(scored.rows["A"]) == 3


def test_error_rates_are_turned_round(pool: Pool) -> None:
    (scored,) = score_pool(pool, make_conditions(["ter"], [3], [1]), draw_ratings(pool, 1))
    sums = scored.rows["A"].sum(axis=0)
    assert float(scored.score(sums)) == -float(metric("ter").score(sums)) < 0


@pytest.mark.parametrize(
    ("metrics", "references", "raters", "message"),
    [
        ([], [1], [1], "give at least one metric"),
        (["bleu-2", "bleu-2"], [1], [1], "none of them twice"),
        (["blue"], [1], [1], "did you mean bleu"),
        (["bleu-2"], [0], [1], "references must be a whole number from 1 to 10,000, not 0"),
        (["bleu-2"], [1, 1], [1], "references must be one number or several different ones"),
        (["bleu-2"], [1], [], "raters must be one number or several different ones"),
        (["tests.simulate.studies.made:Learning"], [1], [1], "learns from the references of all segments"),
    ],
)
def test_what_makes_no_condition_is_refused(
    metrics: list[str], references: list[int], raters: list[int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_conditions(metrics, references, raters)
