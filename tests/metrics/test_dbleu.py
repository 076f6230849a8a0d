"""ΔBLEU equals its statement, reproduces the published example, and has the properties that its definition promises."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import trubleu
from tests.oracles.corpora import (
    DEFINITIONS,
    LENGTH_RULES,
    SMOOTHINGS,
    Corpus,
    any_weights,
    corpora,
    odd_texts,
    plain_texts,
    positive_weights,
)
from tests.oracles.statement import NegativeSumError, Row, Score, added, bleu, segment, settled
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.metrics import Bleu, DeltaBleu
from trubleu.stats import total

if TYPE_CHECKING:
    import random

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")


smoothings = st.sampled_from([("exp", None), ("none", None), *itertools.product(("floor", "add-k"), (None, 0.03, 0.7))])
allowed_negatives = st.sampled_from([("clamp", 0.0), ("floor", 0.01), ("floor", 0.5)])
negatives = allowed_negatives | st.just(("error", 0.0))
large_negatives = allowed_negatives | st.just(("floor", 5.0))


@st.composite
def options(draw: st.DrawFn, /, **fixed: Any) -> dict[str, Any]:
    """Draw options that `DeltaBleu` and the statement understand alike, but for how they name them."""
    smoothing, value = draw(smoothings)
    drawn = {
        "order": draw(st.integers(1, 9)),
        "smoothing": smoothing,
        "smoothing_value": value,
        "effective_order": draw(st.booleans()),
        "reference_length": draw(st.sampled_from(LENGTH_RULES)),
        "definition": draw(st.sampled_from(DEFINITIONS)),
        "length_references": draw(st.sampled_from(("all", "positive"))),
    }
    return {**drawn, **fixed}


def weighted(corpus: Corpus) -> References:
    return References.from_lists(corpus.references, corpus.weights)


def stated_rows(corpus: Corpus, chosen: dict[str, Any], weights: list[list[Any]] | None = None) -> list[Row]:
    return [
        segment(
            output.split(),
            [text.split() for text in references],
            row,
            order=chosen["order"],
            definition=chosen["definition"],
            length_rule=chosen["reference_length"],
            positive_lengths=chosen["length_references"] == "positive",
        )
        for output, references, row in zip(corpus.outputs, corpus.references, weights or corpus.weights, strict=True)
    ]


def stated(row: Row, chosen: dict[str, Any], negative: tuple[str, float] = ("clamp", 0.0)) -> Score:
    scaled = chosen["definition"] == "paper"
    return bleu(
        settled(row, *negative, scaled=scaled),
        smoothing=chosen["smoothing"],
        value=chosen["smoothing_value"],
        effective_order=chosen["effective_order"],
        scaled=scaled,
    )


@given(corpora(plain_texts(12)), options(), negatives)
@settings(max_examples=500)
def test_equals_the_statement(corpus: Corpus, chosen: dict[str, Any], negative: tuple[str, float]) -> None:
    kind, floor = negative
    metric = DeltaBleu(tokenize="none", negative=f"floor:{floor}" if kind == "floor" else kind, **chosen)
    rows = stated_rows(corpus, chosen)
    references = weighted(corpus)
    statistics = metric.statistics(corpus.outputs, references)
    assert statistics.tolist() == [row.columns(weighted=True) for row in rows]
    summed = added(rows, chosen["order"])
    try:
        expected = stated(summed, chosen, negative)
    except NegativeSumError:
        with pytest.raises(DataError, match="below 0"):
            metric.corpus(corpus.outputs, references)
        return
    result = metric.corpus(corpus.outputs, references)
    assert result.score == near(expected.score)
    assert list(result.precisions) == near(expected.precisions)
    assert result.brevity_penalty == near(expected.brevity_penalty)
    assert list(result.matches) == [float(match) for match in summed.matches]
    assert list(result.totals) == [float(count) for count in summed.totals]
    references.prepare(tokenize="none")
    assert metric.corpus(corpus.outputs, references) == result


@given(corpora(plain_texts(12), any_weights), options())
@settings(max_examples=200)
def test_equals_the_statement_for_any_weights(corpus: Corpus, chosen: dict[str, Any]) -> None:
    rows = stated_rows(corpus, chosen)
    summed = added(rows, chosen["order"])
    # Where matches nearly cancel out, a float may fall on the other side of 0, and smoothing makes that a jump.
    sizes = zip(summed.matches, summed.totals, strict=True)
    assume(all(match == 0 or abs(match) > Fraction(1e-9) * size for match, size in sizes))
    metric = DeltaBleu(tokenize="none", **chosen)
    statistics = metric.statistics(corpus.outputs, weighted(corpus))
    assert statistics.ravel().tolist() == pytest.approx(
        [x for row in rows for x in row.columns(weighted=True)], rel=1e-12
    )
    assert float(metric.score(total(statistics))) == pytest.approx(stated(summed, chosen).score, rel=1e-6, abs=1e-9)


@given(corpora(plain_texts(12), st.integers(-10, 10).map(lambda n: n / 10), segments=8), options())
@settings(max_examples=300)
def test_matches_that_cancel_out_are_none(corpus: Corpus, chosen: dict[str, Any]) -> None:
    """Tenths have no exact floats, but 0.1 + 0.2 - 0.3 must count as 0 all the same."""
    # At least a tenth for what is positive.
    tenths = [[Fraction(round(10 * weight) or int(weight > 0), 10) for weight in row] for row in corpus.weights]
    corpus = corpus._replace(weights=[[float(weight) for weight in row] for row in tenths])
    expected = stated(added(stated_rows(corpus, chosen, tenths), chosen["order"]), chosen)
    result = DeltaBleu(tokenize="none", **chosen).corpus(corpus.outputs, weighted(corpus))
    assert result.score == near(expected.score)
    assert list(result.precisions) == near(expected.precisions)


@pytest.mark.parametrize("weights", list(itertools.permutations((0.1, 0.2, -0.3))))
def test_one_tenth_and_two_tenths_minus_three(weights: tuple[float, ...]) -> None:
    outputs = ["k a x", "k b x", "k c x"]
    references = References.from_lists(
        [["k a y", "z z", "k"], ["k b y", "z z", "k"], ["k c y", "z z", "k"]], [[w, 1.0, 1.0] for w in weights]
    )
    # p1 = 3/9; no bigram is matched on balance, so exp makes it ½ out of 6.
    result = DeltaBleu(2).corpus(outputs, references)
    assert result.score == pytest.approx(100 * math.sqrt(3 / 9 * 0.5 / 6))
    assert DeltaBleu(2, negative="error").corpus(outputs, references).score == result.score


def test_definitions_differ_where_the_specification_says_so() -> None:
    references = References.from_lists([["a", "a a"]], [[1.0, 0.2]])
    paper = DeltaBleu(1).corpus(["a a"], references)
    fork = DeltaBleu(1, definition="fork2019").corpus(["a a"], references)
    assert (paper.precisions, fork.precisions) == ((50.0,), (100.0,))
    assert (paper.matches, fork.matches) == ((1.0,), (2.0,))


STREAMS = [
    ["the food was delicious .", "it was great ."],
    ["it was tasty .", "i enjoyed the music ."],
    ["it was good .", "i liked the music ."],
    ["it was ok .", "it sounded ok ."],
    ["it didn't taste that bad", "it wasn't that bad ."],
    ["it tasted terrible .", "it was awful ."],
]
WEIGHTS: list[list[float]] = [[1, 1], [0.7, 0.6], [0.3, 0.3], [0, 0], [-0.1, -0.1], [-1, -1]]


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize(
    ("outputs", "plain", "delta", "precisions"),
    [
        (["the food was quite good .", "the music was great ."], 36.28, 33.11, (77.3, 54.4, 28.6, 10.0)),
        (["the food tasted terrible .", "the music was awful ."], 42.04, 7.14, (32.0, 6.2, 4.2, 3.1)),
    ],
)
def test_published_example(
    definition: str, outputs: list[str], plain: float, delta: float, precisions: tuple[float, ...]
) -> None:
    references = References.from_streams(STREAMS, WEIGHTS)
    assert round(Bleu().corpus(outputs, references).score, 2) == plain
    result = DeltaBleu(definition=definition).corpus(outputs, references)
    assert round(result.score, 2) == delta
    assert result.precisions == pytest.approx(precisions, abs=0.051)


@given(corpora(odd_texts(12), st.just(1.0)), options())
@settings(max_examples=200)
def test_all_weights_1_is_exactly_bleu(corpus: Corpus, chosen: dict[str, Any]) -> None:
    delta = DeltaBleu(**chosen)
    shared = {key: value for key, value in chosen.items() if key not in ("definition", "length_references")}
    plain = Bleu(**shared)
    ours, expected = delta.corpus(corpus.outputs, weighted(corpus)), plain.corpus(corpus.outputs, corpus.references)
    for part in (
        "score",
        "precisions",
        "brevity_penalty",
        "hypothesis_length",
        "reference_length",
        "matches",
        "totals",
    ):
        assert getattr(ours, part) == getattr(expected, part), part
    alone = plain.segments(corpus.outputs, corpus.references)
    assert delta.segments(corpus.outputs, weighted(corpus)).tolist() == alone.tolist()
    # References without weights weigh 1.
    assert delta.corpus(corpus.outputs, corpus.references) == ours


@given(corpora(plain_texts(12)), options(effective_order=True), st.sampled_from(("closest", "shortest")))
@settings(max_examples=200)
def test_the_best_reference_scores_100(corpus: Corpus, chosen: dict[str, Any], rule: str) -> None:
    corpus = corpus._replace(references=[[text or "a" for text in row] for row in corpus.references])
    outputs = [row[weights.index(max(weights))] for row, weights in zip(corpus.references, corpus.weights, strict=True)]
    metric = DeltaBleu(**{**chosen, "reference_length": rule})
    assert metric.corpus(outputs, weighted(corpus)).score == pytest.approx(100, abs=1e-9)


@given(corpora(plain_texts(12)), options(definition="paper"), st.integers(1, 63), allowed_negatives)
@settings(max_examples=300)
def test_a_factor_on_all_weights_changes_nothing(
    corpus: Corpus, chosen: dict[str, Any], factor: int, negative: tuple[str, float]
) -> None:
    kind, floor = negative
    metric = DeltaBleu(negative=f"floor:{floor}" if kind == "floor" else kind, **chosen)
    scaled = corpus._replace(weights=[[weight * factor / 64 for weight in row] for row in corpus.weights])
    before, after = (metric.corpus(corpus.outputs, weighted(each)) for each in (corpus, scaled))
    assert after.score == near(before.score)
    assert list(after.precisions) == near(before.precisions)
    alone = (metric.segments(corpus.outputs, weighted(each)).tolist() for each in (corpus, scaled))
    assert next(alone) == near(next(alone))


def test_fork2019_keeps_its_smoothing_constants() -> None:
    corpus = Corpus(["a b c"], [["a c b"]], [[0.5]])
    paper, fork = (DeltaBleu(2, definition=d, smoothing="exp").corpus(["a b c"], weighted(corpus)) for d in DEFINITIONS)
    assert paper.precisions == pytest.approx((100.0, 25.0))  # ½ · 0.5 out of 2 · 0.5
    assert fork.precisions == pytest.approx((100.0, 50.0))  # ½ out of 2 · 0.5


@given(corpora(plain_texts(12), any_weights), options(definition="paper"), large_negatives)
@settings(max_examples=200)
def test_no_score_is_above_100(corpus: Corpus, chosen: dict[str, Any], negative: tuple[str, float]) -> None:
    kind, floor = negative
    metric = DeltaBleu(negative=f"floor:{floor}" if kind == "floor" else kind, **chosen)
    result = metric.corpus(corpus.outputs, weighted(corpus))
    assert 0 <= result.score <= 100 + 1e-9
    assert all(0 <= precision <= 100 for precision in result.precisions)
    alone = metric.segments(corpus.outputs, weighted(corpus))
    assert np.all((alone >= 0) & (alone <= 100 + 1e-9))


@given(corpora(plain_texts(12), any_weights), options(), st.randoms(use_true_random=False))
def test_the_order_of_references_does_not_matter(corpus: Corpus, chosen: dict[str, Any], rng: random.Random) -> None:
    pairs = [list(zip(*both, strict=True)) for both in zip(corpus.references, corpus.weights, strict=True)]
    shuffled = [rng.sample(row, len(row)) for row in pairs]
    moved = Corpus(corpus.outputs, [[t for t, _ in row] for row in shuffled], [[w for _, w in row] for row in shuffled])
    metric = DeltaBleu(**chosen)
    before, after = (metric.statistics(corpus.outputs, weighted(each)) for each in (corpus, moved))
    assert after.tolist() == before.tolist()


def columns(metric: DeltaBleu, corpus: Corpus) -> tuple[Any, Any]:
    rows = metric.statistics(corpus.outputs, weighted(corpus))
    return rows[:, 2 : 2 + metric.order], rows[:, 2 + metric.order : 2 + 2 * metric.order]


@given(corpora(plain_texts(12), st.integers(0, 64).map(lambda n: n / 64)), st.data())
@settings(max_examples=150)
def test_a_bad_reference_never_helps(corpus: Corpus, data: st.DataObject) -> None:
    """Among good references, one of weight ≤ 0 costs where it alone holds an n-gram, and otherwise changes nothing."""
    bad = [data.draw(plain_texts(12)) for _ in corpus.outputs]
    weights = [data.draw(st.integers(-64, 0)) / 64 for _ in corpus.outputs]
    more = Corpus(
        corpus.outputs,
        [[*row, text] for row, text in zip(corpus.references, bad, strict=True)],
        [[*row, weight] for row, weight in zip(corpus.weights, weights, strict=True)],
    )
    metric = DeltaBleu(3)
    (before, best), (after, best_after) = columns(metric, corpus), columns(metric, more)
    assert np.all(after <= before)
    assert best_after.tolist() == best.tolist()


@given(corpora(plain_texts(12)), st.data())
@settings(max_examples=150)
def test_a_larger_weight_never_lowers_the_matches(corpus: Corpus, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(corpus.outputs) - 1))
    j = data.draw(st.integers(0, len(corpus.weights[i]) - 1))
    raised = [list(row) for row in corpus.weights]
    raised[i][j] = data.draw(st.integers(round(64 * corpus.weights[i][j]), 64)) / 64
    metric = DeltaBleu(3)
    (before, best), (after, best_after) = columns(metric, corpus), columns(metric, corpus._replace(weights=raised))
    assert np.all(after >= before)
    assert np.all(best_after >= best)


@given(corpora(plain_texts(12)))
def test_matches_are_at_most_totals(corpus: Corpus) -> None:
    for definition in DEFINITIONS:
        matches, totals = columns(DeltaBleu(4, definition=definition), corpus)
        assert np.all(matches <= totals)


@given(corpora(plain_texts(12), segments=8), options(), st.data())
def test_rows_add_up(corpus: Corpus, chosen: dict[str, Any], data: st.DataObject) -> None:
    metric = DeltaBleu(**chosen)
    rows = metric.statistics(corpus.outputs, weighted(corpus))
    picked = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=20))
    part = References.from_lists([corpus.references[i] for i in picked], [corpus.weights[i] for i in picked])
    expected = metric.corpus([corpus.outputs[i] for i in picked], part).score
    assert float(metric.score(total(rows[picked]))) == expected
    alone = [float(metric.score(row)) for row in rows]
    assert metric.score(np.stack([rows, rows[::-1]])).tolist() == [alone, alone[::-1]]
    assert metric.segments(corpus.outputs, weighted(corpus)).tolist() == alone


def test_segments_stay_signed_and_only_the_sum_is_settled() -> None:
    references = References.from_lists([["x", "bad"], ["good"]], [[0.5, -1.0], [1.0]])
    metric = DeltaBleu(1, tokenize="none")
    rows = metric.statistics(["bad", "good"], references)
    #                          hyp  ref  match  best·total  total
    assert rows.tolist() == [[1.0, 1.0, -1.0, 0.5, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0]]
    result = metric.corpus(["bad", "good"], references)
    assert (result.matches, result.score) == ((0.0,), 0.0)
    # Had the first segment been clamped, the score would be 1 / 1.5.
    assert metric.segments(["bad", "good"], references).tolist() == [0.0, pytest.approx(100.0)]


def test_sums_below_0() -> None:
    references = References.from_lists([["a b", "c d"]], [[0.5, -1.0]])
    outputs = ["a b c d"]  # unigrams ½ + ½ − 1 − 1 = −1 out of 2; bigrams ½ − 1 out of 1½
    assert DeltaBleu(2).corpus(outputs, references).score == 0.0
    floored = DeltaBleu(2, negative="floor:0.25").corpus(outputs, references)
    assert floored.matches == (-1.0, -0.5)
    assert floored.precisions == pytest.approx((100 * 0.25 / 4, 100 * 0.25 / 3))
    raw = DeltaBleu(2, negative="floor:0.25", definition="fork2019").corpus(outputs, references)
    assert raw.precisions == pytest.approx((100 * 0.25 / 2, 100 * 0.25 / 1.5))
    with pytest.raises(DataError, match=r"order 1 sum to -1,"):
        DeltaBleu(2, negative="error").corpus(outputs, references)


@pytest.mark.parametrize(
    "negative", ["floor", "floor:", "floor:x", "floor:0", "floor:-1", "floor:inf", "clamp:1", "max"]
)
def test_options_of_negative_that_do_not_exist(negative: str) -> None:
    with pytest.raises(UsageError, match="clamp, error or floor:E"):
        DeltaBleu(negative=negative)


def test_a_segment_without_a_positive_weight_is_refused_or_skipped() -> None:
    references = References.from_lists(
        [["a b", "c"], ["a b", "a"], ["a b c"]], [[1.0, -1.0], [0.0, -0.5], [0.5]], ["one", "two", "three"]
    )
    outputs = ["a b", "a b", "a c"]
    with pytest.raises(DataError, match=r"positive weight: two; .*--no-positive skip"):
        DeltaBleu(1).corpus(outputs, references)
    metric = DeltaBleu(1, no_positive="skip")
    assert metric.statistics(outputs, references)[1].tolist() == [0.0] * 5
    without = References.from_lists([["a b", "c"], ["a b c"]], [[1.0, -1.0], [0.5]])
    assert metric.corpus(outputs, references).score == DeltaBleu(1).corpus(["a b", "a c"], without).score
    scores = metric.segments(outputs, references)
    assert np.isnan(scores).tolist() == [False, True, False]
    assert scores[[0, 2]].tolist() == DeltaBleu(1).segments(["a b", "a c"], without).tolist()


def test_only_ten_segments_without_a_positive_weight_are_named() -> None:
    references = References.from_lists([["a"]] * 13, [[0.0]] * 13)
    with pytest.raises(DataError, match=r": 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more;"):
        DeltaBleu().corpus(["a"] * 13, references)


def test_unrated_references_are_refused_or_given_a_weight() -> None:
    references = References.from_lists([["a b", "c d"], ["a"]], [[1.0, None], [0.5]])
    outputs = ["c d", "a"]
    with pytest.raises(DataError, match=r"in segments 1; .*trubleu rate.*--unrated-as W"):
        DeltaBleu(1).corpus(outputs, references)
    rated = References.from_lists([["a b", "c d"], ["a"]], [[1.0, -0.25], [0.5]])
    result = DeltaBleu(1, unrated_as=-0.25).corpus(outputs, references)
    expected = DeltaBleu(1).corpus(outputs, rated)
    assert (result.score, result.matches) == (expected.score, expected.matches)
    assert result.matches == (0.0,)
    assert str(result.signature) != str(expected.signature)
    for wrong in (1.5, math.nan, "1", True):
        with pytest.raises(UsageError, match=r"unrated_as=.* must be a number from -1 to 1"):
            DeltaBleu(unrated_as=wrong)  # type: ignore[arg-type]


def test_the_largest_weight_of_a_duplicate_counts_and_it_is_said_once() -> None:
    references = References.from_lists([["a b", "a b", "c"]], [[0.25, 0.5, 1.0]])
    with pytest.warns(TrubleuWarning, match=r"repeat another one's text .* the largest counts: 2$") as caught:
        result = DeltaBleu(1).corpus(["a b"], references)
    assert len(caught) == 1
    assert result.matches == (1.0,)


def test_an_empty_reference_counts_and_it_is_said() -> None:
    with pytest.warns(TrubleuWarning, match=r"empty references in .*: 1$"):
        result = Bleu(1).corpus(["a"], [["", "a b c"]])
    assert result.reference_length == 0.0  # as close as 2 would be, and shorter


def test_length_of_positive_references_only() -> None:
    references = References.from_lists([["a b c d", "x"]], [[1.0, -0.5]])
    assert DeltaBleu(1).corpus(["a"], references).reference_length == 1.0
    result = DeltaBleu(1, length_references="positive").corpus(["a"], references)
    assert result.reference_length == 4.0
    assert result.brevity_penalty == pytest.approx(math.exp(-3))


@given(corpora(odd_texts(), positive_weights), st.sampled_from(("13a", "none", "intl", "char")), st.integers(1, 9))
def test_prepared_references_change_nothing(corpus: Corpus, tokenize: str, order: int) -> None:
    prepared = weighted(corpus).prepare(tokenize=tokenize)
    for definition in DEFINITIONS:
        metric = DeltaBleu(order, tokenize=tokenize, definition=definition)
        assert metric.corpus(corpus.outputs, prepared) == metric.corpus(corpus.outputs, weighted(corpus))


def test_an_empty_corpus_scores_0() -> None:
    assert DeltaBleu().corpus([], References.from_lists([], [])).score == 0.0


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_smoothing_by_hand(smoothing: str) -> None:
    # Best weight ½, three unigrams: matches ½ + ½ of 1½; two bigrams: none of 1.
    references = References.from_lists([["a c", "b"]], [[0.5, 0.5]])
    bigram = {"exp": 0.25 / 1, "floor": 0.05 / 1, "add-k": 0.5 / 1.5, "none": 0.0}[smoothing]
    result = DeltaBleu(2, smoothing=smoothing).corpus(["a b x"], references)
    assert result.precisions == pytest.approx((100 * 2 / 3, 100 * bigram))


@pytest.mark.parametrize(("name", "what"), [("dbleu-2", "BLEU"), ("sdbleu-1", "sBLEU")])
def test_without_weights_it_says_what_it_is(name: str, what: str) -> None:
    with pytest.warns(TrubleuWarning, match=f"^the references have no weights, so all weigh 1 and {name} is {what}$"):
        trubleu.corpus_score(["a b"], [["a b"]], name)
    trubleu.corpus_score(["a b"], [["a b"]], name, weights=[[1.0]])
    trubleu.corpus_score(["a b"], [["a b"]], "trubleu")  # is itself without weights, too
