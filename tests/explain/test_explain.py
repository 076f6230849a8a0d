"""Explanations: every number is the kernel's, and what they name is what earned it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from tests.explain.kernel_row import row_of
from tests.oracles import corpora
from trubleu.data import References
from trubleu.errors import DataError, MissingExtraError, TrubleuWarning, UsageError
from trubleu.explain import Explanation, explain, is_explainable
from trubleu.explain.explanation import tokens_of
from trubleu.metrics.matching import TextPairs


def odd_tokens(text: str) -> list[str]:
    """Return tokens with spaces in them and empty ones: what only the kernel's escapes keep apart."""
    return text.replace("the", "the cat|").split("|")


TOKENIZERS = ("13a", "none", "intl", "char", "zh", "chat", "words", odd_tokens)


@st.composite
def metrics(draw: st.DrawFn) -> trubleu.Metric:
    name = draw(st.sampled_from(("bleu", "sbleu", "dbleu", "sdbleu")))
    options: dict[str, Any] = {
        "order": draw(st.integers(1, 5)),
        "tokenize": draw(st.sampled_from(TOKENIZERS)),
        "lowercase": draw(st.booleans()),
        "reference_length": draw(st.sampled_from(corpora.LENGTH_RULES)),
    }
    if name in ("sbleu", "sdbleu"):
        options["variant"] = draw(st.sampled_from(corpora.VARIANTS))
    else:
        options["smoothing"] = draw(st.sampled_from(corpora.SMOOTHINGS))
        options["effective_order"] = draw(st.booleans())
    if name in ("dbleu", "sdbleu"):
        options["definition"] = draw(st.sampled_from(corpora.DEFINITIONS))
        options["length_references"] = draw(st.sampled_from(("all", "positive")))
    if name == "dbleu":
        options["negative"] = draw(st.sampled_from(("clamp", "floor:0.1")))
    return trubleu.metric(name, **options)


def kernel_rows(metric: Any, outputs: list[str], references: References) -> np.ndarray[Any, np.dtype[np.float64]]:
    weights = references.weights if metric.uses_weights else None
    pairs = TextPairs(tuple(outputs), references, None, 1, None)
    rows: np.ndarray[Any, np.dtype[np.float64]] = metric.ngrams(pairs, weights)
    return rows


@given(corpora.corpora(corpora.odd_texts(), corpora.any_weights), metrics())
def test_every_number_is_the_kernels(corpus: corpora.Corpus, metric: trubleu.Metric) -> None:
    references = References.from_lists(corpus.references, corpus.weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        statistics = metric.statistics(corpus.outputs, references)
        rows = kernel_rows(metric, corpus.outputs, references)
        scores = metric.segments(corpus.outputs, references)
    for index, output in enumerate(corpus.outputs):
        found = explain(metric, output, references, index)
        assert row_of(found) == rows[index].tolist()
        assert found.score == scores[index]
        expected = [found.score, 1.0] if found.metric.startswith("s") else row_of(found)
        assert expected == statistics[index].tolist()
        check_consistent(found)


def check_consistent(found: Explanation) -> None:
    """Hold what must be true of the n-grams behind the sums."""
    for order in found.orders:
        assert sum(gram.occurrences for gram in order.ngrams) == order.count
        assert sum(gram.credit for gram in order.ngrams) == pytest.approx(order.numerator)
        assert sum(gram.possible for gram in order.ngrams) == pytest.approx(order.denominator)
        for gram in order.ngrams:
            for start in gram.positions:
                assert found.tokens[start : start + order.order] == gram.tokens
            assert (gram.weight_from is None) == (not gram.matches) == (gram.weight is None)
            assert gram.credit == pytest.approx((gram.weight or 0.0) * gram.clipped)
            for match in gram.matches:
                reference = found.references[match.reference]
                windows = [reference.tokens[i : i + order.order] for i in range(len(reference.tokens))]
                assert windows.count(gram.tokens) == match.held >= match.clipped > 0
                assert match.weight == reference.weight
                assert reference.matched
        if order.smoothed_denominator and order.used and found.score:
            assert order.precision == pytest.approx(100 * order.smoothed_numerator / order.smoothed_denominator)
    if found.length_from is not None:
        assert len(found.references[found.length_from].tokens) == found.reference_length
    credited = sum(gram.credit for order in found.orders for gram in order.ngrams)
    assert sum(reference.credit for reference in found.references) == pytest.approx(credited)


@given(corpora.odd_texts(), st.sampled_from(TOKENIZERS), st.booleans())
def test_tokens_are_those_that_the_kernel_counts(text: str, tokenize: Any, lowercase: bool) -> None:
    metric = trubleu.Bleu(tokenize=tokenize, lowercase=lowercase)
    assert tokens_of(metric, text) == tuple(metric.tokenizer.tokens(text, lowercase))


@pytest.mark.filterwarnings("ignore:the tokenizer .* does not split:trubleu.errors.TrubleuWarning")
@pytest.mark.parametrize("name", trubleu.text.names())
def test_every_tokenizer_that_is_there(name: str) -> None:
    try:
        metric = trubleu.metric("dbleu-2", tokenize=name)
    except (DataError, MissingExtraError) as error:
        pytest.skip(str(error))
    references = References.from_lists([["日本語です。 It's 3.5 km, OK?", "한국어 입니다 OK ?"]], [[0.7, -0.3]])
    for output in ("日本語です。 OK?", "한국어 입니다", "3.5 km"):
        found = explain(metric, output, references)
        assert row_of(found) == metric.statistics([output], references)[0].tolist()
        assert found.score == metric.segments([output], references)[0]


def test_the_largest_product_is_named() -> None:
    references = References.from_lists([["a", "a a"]], [[1.0, 0.2]])
    paper = explain(trubleu.metric("dbleu-1"), "a a", references).orders[0].ngrams[0]
    assert (paper.credit, paper.weight_from, paper.count_from, paper.clipped) == (1.0, 0, 0, 1)
    fork = explain(trubleu.metric("dbleu-1", definition="fork2019"), "a a", references).orders[0].ngrams[0]
    assert (fork.credit, fork.weight_from, fork.count_from, fork.clipped) == (2.0, 0, 1, 2)
    plain = explain(trubleu.metric("bleu-1"), "a a", references).orders[0].ngrams[0]
    assert (plain.credit, plain.weight_from, plain.weight) == (2.0, 1, 1.0)


def test_a_segment_is_found_by_id_or_place_and_brings_its_message() -> None:
    references = References(
        ["x", "y"], [0, 1, 2], ids=["first", "second"], messages=["hi", "bye"], contexts=[("a", "b"), None]
    )
    for segment in ("second", 1, -1):
        found = explain(trubleu.metric("bleu-1"), "y", references, segment)
        assert (found.segment, found.message, found.score) == ("second", "bye", 100.0)
    assert explain(trubleu.metric("bleu-1"), "y", references, 0).context == ("a", "b")
    prepared = references.prepare()
    assert explain(trubleu.metric("bleu-1"), "y", prepared, "second").score == 100.0


def test_an_unknown_segment_names_the_nearest() -> None:
    references = References.from_lists([["x"]] * 3, ids=["talk-1", "talk-2", "other"])
    with pytest.raises(DataError, match=r"^there is no segment 'talk-3' in references; did you mean talk-\d or"):
        explain(trubleu.metric("bleu-1"), "x", references, "talk-3")
    with pytest.raises(DataError, match=r"^there is no segment at place 3 in references, which has 3 segments$"):
        explain(trubleu.metric("bleu-1"), "x", references, 3)


def test_the_nearest_of_a_million_ids_are_found_at_once() -> None:
    ids = [f"talk-{number:07}" for number in range(300_000)]
    references = References(["x"] * len(ids), np.arange(len(ids) + 1), ids=ids)
    with pytest.raises(DataError, match=r"did you mean talk-0123\d\d\d or"):
        explain(trubleu.metric("bleu-1"), "x", references, "talk-01234567")


def test_a_skipped_segment_has_no_score() -> None:
    references = References.from_lists([["bad"], ["good"]], [[-1.0], [1.0]])
    found = explain(trubleu.metric("dbleu-1", no_positive="skip"), "bad", references, 0)
    assert found.skipped
    assert (found.score, found.brevity_penalty, found.orders, row_of(found)) == (None, None, (), [])
    with pytest.raises(DataError, match="without a reference of positive weight: 1;"):
        explain(trubleu.metric("dbleu-1"), "bad", references, 0)
    # What is wrong with another segment is no reason not to look at this one.
    assert explain(trubleu.metric("dbleu-1"), "good", references, 1).score == 100.0


def test_unrated_references_take_the_weight_given_for_them() -> None:
    references = References.from_lists([["a", "b"]], [[1.0, None]])
    with pytest.raises(DataError, match="not rated yet"):
        explain(trubleu.metric("dbleu-1"), "b", references)
    found = explain(trubleu.metric("dbleu-1", unrated_as=0.5), "b", references)
    assert [(reference.weight, reference.rated) for reference in found.references] == [(1.0, 1.0), (0.5, None)]
    assert found.orders[0].numerator == 0.5


@pytest.mark.parametrize("name", ["chrf", "chrf++", "ter", "ibleu-2"])
def test_other_metrics_are_refused(name: str) -> None:
    metric = trubleu.metric(name)
    assert not is_explainable(metric)
    with pytest.raises(
        UsageError,
        match=r"cannot be explained by words or n-grams .* use one of trubleu, trubleu-ctx, bleu",
    ):
        explain(metric, "a", [["a"]])


def test_an_output_must_be_a_string() -> None:
    with pytest.raises(DataError, match="output 1 is of type NoneType"):
        explain(trubleu.metric("bleu-1"), None, [["a"]])  # type: ignore[call-overload]
