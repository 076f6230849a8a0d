"""Explanations of trubleu: the metric's numbers, and parts that add up to them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.corpora import any_weights, odd_texts, plain_texts
from tests.oracles.trubleu import FLOOR, Options, compare, f_score
from trubleu.data import References
from trubleu.errors import DataError, TrubleuWarning
from trubleu.explain import SimilarityExplanation, explain, is_explainable, most_different, worst
from trubleu.metrics.trubleu import TruBleu

WORDS = ["great", "good", "awful", "it", "was"]
MATRIX = np.array([[2.0, 0.0], [1.6, 1.2], [0.0, 1.5], [0.3, 0.1], [0.1, 0.3]])
VECTORS = (WORDS, MATRIX)
TABLE = dict(zip(WORDS, MATRIX, strict=True))

spoken = st.lists(st.sampled_from([*WORDS, "unknown", "!"]), max_size=6).map(" ".join)
texts = spoken | odd_texts(6) | plain_texts(6)


@st.composite
def metrics(draw: st.DrawFn) -> TruBleu:
    return TruBleu(
        draw(st.integers(1, 4)),
        vectors=VECTORS,
        beta=draw(st.sampled_from((2.0, 1.0, 0.5))),
        shift=draw(st.sampled_from((0.0, 0.15, 0.5))),
        importance=draw(st.sampled_from(("vector", "none", "corpus"))),
        characters=draw(st.booleans()),
    )


@given(
    metric=metrics(),
    outputs=st.lists(texts, min_size=2, max_size=2),
    references=st.lists(st.lists(texts, min_size=1, max_size=4), min_size=2, max_size=2),
    data=st.data(),
)
@settings(deadline=None)
def test_all_parts_add_up_to_the_score(
    metric: TruBleu, outputs: list[str], references: list[list[str]], data: st.DataObject
) -> None:
    weights = [[1.0, *(data.draw(any_weights) for _ in row[1:])] for row in references]
    given_references = References.from_lists(references, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        scores = metric.segments(outputs, given_references)
    for place, output in enumerate(outputs):
        found = explain(metric, output, given_references, place)
        assert found.score == scores[place]
        check_score(found)
        for reference in found.references:
            check_reference(metric, found, reference)
        for number in range(len(found.references)):
            check_words(found, number)


def check_score(found: SimilarityExplanation) -> None:
    """Compute earned, cut and the score again, as their definition reads."""
    counted = [reference for reference in found.references if reference.repeats is None]
    good = [(one.weight, one.similarity or 0.0) for one in counted if one.weight > 0]
    bad = [(-one.weight, one.similarity or 0.0) for one in counted if one.weight < 0]
    best = max(weight * similarity for weight, similarity in good) / max(weight for weight, _ in good)
    mean = sum(weight * similarity for weight, similarity in good) / sum(weight for weight, _ in good)
    most = max(similarity for _, similarity in good)
    cut = max((weight * max(0.0, each - most) / (1 - most) for weight, each in bad if most < 1), default=0.0)
    assert found.best == pytest.approx(best)
    assert found.mean == pytest.approx(mean)
    assert found.cut == pytest.approx(cut, abs=1e-12)
    assert found.earned == pytest.approx((best + mean) / 2)
    assert found.score == pytest.approx(100 * (best + mean) / 2 * (1 - cut), abs=1e-9)
    assert sum(one.share for one in found.references) == pytest.approx(1)
    assert found.mean == pytest.approx(sum(one.share * (one.similarity or 0.0) for one in found.references))
    assert max(one.cut for one in found.references) == pytest.approx(found.cut, abs=1e-12)
    assert found.most_similar is not None
    assert found.references[found.most_similar].similarity == most
    assert found.best_from is not None
    chosen = found.references[found.best_from]
    assert chosen.weight * (chosen.similarity or 0.0) / max(weight for weight, _ in good) == pytest.approx(found.best)
    assert (found.cut_from is not None) == (found.cut != 0)
    if found.cut_from is not None:
        assert found.references[found.cut_from].cut == pytest.approx(found.cut)
    assert set(found.by_interest()) == {place for place, one in enumerate(found.references) if one.repeats is None}


def check_reference(metric: TruBleu, found: SimilarityExplanation, reference: Any) -> None:
    """Compute the similarity again from F values, and these from pairs and weights."""
    if reference.repeats is not None:
        first = found.references[reference.repeats]
        assert first.text == reference.text
        assert first.repeats is None
        assert (reference.similarity, reference.orders, reference.share) == (None, (), 0)
        return
    used = [order for order in reference.orders if order.f is not None]
    for order in used:
        f = f_score(order.precision, order.recall, metric.beta) if order.precision and order.recall else 0.0
        assert order.f == pytest.approx(f)
        assert all(pair.order == order.order for pair in order.pairs)
    if not found.tokens or not reference.tokens:
        assert (reference.similarity, reference.characters, used) == (0, None, [])
        return
    by_words = math.prod(max(order.f or 0.0, FLOOR) for order in used) ** (1 / len(used))
    share = 1 / (metric.order + 1) if metric.characters else 0.0
    assert (reference.characters is not None) == metric.characters
    expected = max(reference.characters or 0.0, FLOOR) ** share * by_words ** (1 - share)
    assert reference.similarity == pytest.approx(expected)
    if metric.importance != "corpus":
        plain = compare(
            found.output,
            reference.text,
            TABLE.get,
            Options(metric.order, metric.beta, metric.shift, metric.importance, metric.characters),
        )
        assert reference.similarity == pytest.approx(plain.score, rel=1e-6)
        assert [order.order for order in used] == list(plain.orders)
        for order, other in zip(used, plain.orders.values(), strict=True):
            assert order.precision == pytest.approx(other.precision, rel=1e-5, abs=1e-9)
            assert order.recall == pytest.approx(other.recall, rel=1e-5, abs=1e-9)


def check_words(found: SimilarityExplanation, place: int) -> None:
    """Hold that every word of the reference was met once or missed."""
    reference = found.references[place]
    met = found.met(place)
    if reference.orders:
        positions = [*(pair.reference_position for pair in met.values()), *found.missed(place)]
        assert sorted(positions) == list(range(len(reference.tokens)))
    for position, pair in met.items():
        assert (found.tokens[position] == reference.tokens[pair.reference_position]) == pair.exact
        assert (pair.similarity == 1) == pair.exact
        assert pair.similarity > 0


def example(output: str = "it was good", **options: Any) -> SimilarityExplanation:
    references = References.from_lists(
        [["it was great", "it was awful", "it was great"]], [[0.5, -1.0, 1.0]], ids=["one"]
    )
    return explain(TruBleu(vectors=VECTORS, **options), output, references)


def test_words_that_met() -> None:
    found = example()
    assert [(position, pair.reference_position, pair.exact) for position, pair in found.met(0).items()] == [
        (0, 0, True),
        (1, 1, True),
        (2, 2, False),
    ]
    assert found.met(0)[2].similarity == pytest.approx((0.8 - 0.15) / 0.85)
    assert found.token_weights == pytest.approx((math.hypot(0.3, 0.1), math.hypot(0.3, 0.1), 2.0))
    assert (found.best_from, found.cut_from, found.decisive()) == (0, None, [0])


def test_references_that_repeat_a_text_count_once_with_the_larger_weight() -> None:
    found = example()
    assert [(one.weight, one.rated, one.repeats) for one in found.references] == [
        (1.0, 0.5, None),
        (-1.0, -1.0, None),
        (1.0, 1.0, 0),
    ]
    assert found.by_interest() == [0, 1]


def test_a_bad_reference_that_is_nearer_cuts() -> None:
    found = example("it was awful")
    assert (found.cut_from, found.cut, found.score, found.decisive()) == (1, 1.0, 0.0, [0, 1])
    assert found.earned is not None
    assert found.earned > 0


def test_without_weights_or_characters() -> None:
    found = explain(TruBleu(1, vectors=VECTORS, characters=False), "it was", [["it was great"]])
    assert (found.weighted, found.uses_characters) == (False, False)
    assert found.references[0].characters is None
    assert found.references[0].similarity == found.references[0].orders[0].f == found.earned
    assert [found.references[0].tokens[place] for place in found.missed(0)] == ["great"]


def test_an_empty_output_or_reference() -> None:
    found = explain(TruBleu(vectors=VECTORS), " ", [["it was great"]])
    assert (found.score, found.tokens, found.met(0), found.missed(0)) == (0.0, (), {}, [0, 1, 2])
    found = explain(TruBleu(vectors=VECTORS), "it was", [["", "it was"]])
    assert (found.references[0].similarity, found.references[1].similarity) == (0.0, 1.0)


def test_a_skipped_segment_has_no_score() -> None:
    references = References.from_lists([["bad"], ["good"]], [[-1.0], [1.0]])
    found = explain(TruBleu(vectors=VECTORS, no_positive="skip"), "bad", references, 0)
    assert found.skipped
    assert (found.score, found.earned, found.best, found.mean, found.cut, found.decisive()) == (*[None] * 5, [])
    with pytest.raises(DataError, match="without a reference of positive weight: 1;"):
        explain(TruBleu(vectors=VECTORS), "bad", references, 0)
    # What is wrong with another segment is no reason not to look at this one.
    assert explain(TruBleu(vectors=VECTORS), "good", references, 1).score == 100.0


def test_words_that_are_weighed_by_the_references_of_all_segments() -> None:
    references = References.from_lists([["it was great"], ["it was awful"]])
    metric = TruBleu(vectors=VECTORS, importance="corpus")
    found = explain(metric, "it was good", references, 1)
    assert found.token_weights == pytest.approx((math.log(3 / 2), math.log(3 / 2), math.log(3)))
    assert found.score == metric.segments(["x", "it was good"], references)[1]
    assert found.signature == str(metric.signature(references))


def test_prepared_references_and_choices_of_segments() -> None:
    references = References.from_lists([["it was great"], ["it was awful"]], ids=["a", "b"])
    metric = TruBleu(vectors=VECTORS)
    assert is_explainable(metric)
    assert explain(metric, "it was awful", references.prepare(), "b").score == 100.0
    assert worst(metric, ["it was great", "good"], references, 1).tolist() == [1]
    assert most_different(metric, ["it was great", "good"], ["it was great", "it"], references, 5).tolist() == [1]
