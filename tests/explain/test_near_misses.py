"""Explanations of metrics that count near misses: the kernel's numbers, and the pairs that they are made of."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trubleu
from tests.explain.kernel_row import row_of
from tests.oracles.bleu2vec_worlds import Nothing, World
from trubleu.errors import UsageError
from trubleu.explain import compare_systems, explain, is_explainable, ngram_differences
from trubleu.metrics import Bleu2Vec, DeltaBleu2Vec
from trubleu.render import render_explanation_json, render_explanation_page
from trubleu.render import render_explanation_text as rendered

spoken = st.lists(st.sampled_from("abcde"), min_size=1, max_size=7).map(" ".join)


@given(
    output=spoken,
    references=st.lists(spoken, min_size=1, max_size=3, unique=True),
    seed=st.integers(0, 30),
    rule=st.sampled_from(["plain", "earn", "nearest", "max"]),
    recall=st.booleans(),
    data=st.data(),
)
@settings(deadline=None)
def test_numbers_are_the_kernels(
    output: str, references: list[str], seed: int, rule: str, recall: bool, data: st.DataObject
) -> None:
    weights = [1.0, *(data.draw(st.sampled_from([-1.0, -0.5, 0.0, 0.25])) for _ in references[1:])]
    metric: Bleu2Vec = Bleu2Vec(2, vectors=World(seed), recall=recall)
    if rule != "plain":
        metric = DeltaBleu2Vec(2, vectors=World(seed), recall=recall, credit=rule, similarity="shift:0.25")
    given_references = trubleu.References.from_lists([references], [weights])
    found = explain(metric, output, given_references)
    row = metric.statistics([output], given_references)[0]
    assert [order.numerator for order in found.orders] == row[2:4].tolist()
    assert found.score == metric.segments([output], given_references)[0]
    if not recall:
        assert row_of(found) == row.tolist()
    for order in found.orders:
        for gram in order.ngrams:
            assert gram.credit == pytest.approx((gram.weight or 0.0) * gram.counted)
            for miss in gram.near:
                there = found.references[miss.reference].tokens
                assert there[miss.reference_position : miss.reference_position + order.order] == miss.tokens
                assert found.tokens[miss.position : miss.position + order.order] == gram.tokens != miss.tokens


VECTORS = (["great", "good", "awful"], np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]))


def example(metric: Any = None) -> Any:
    references = trubleu.References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
    return explain(metric or DeltaBleu2Vec(1, vectors=VECTORS), "it was good", references)


def test_pairs_are_shown_with_their_similarity() -> None:
    found = example()
    good = found.orders[0].ngrams[2]
    assert (good.matches, good.weight_from, good.weight) == ((), 0, 1.0)
    assert [(miss.reference, miss.tokens) for miss in good.near] == [(0, ("great",)), (1, ("awful",))]
    assert good.near[0].similarity == pytest.approx(0.8)
    text = rendered({"A": [found]})
    assert "    1  good       great       #1       0.800   +1.00" in text
    assert "awful       #2" not in text  # not credited
    page = render_explanation_page({"A": [found]})
    assert "1 near miss that counted" in page
    assert '<td class="named">good</td><td class="named">great</td><td class="named">#1</td>' in page
    row = json.loads(render_explanation_json({"A": [found]}))["explanations"][0]["orders"][0]["ngrams"]
    assert "near" not in row[0]
    assert row[2]["near"][0] == {
        "reference": 1,
        "position": 2,
        "tokens": ["great"],
        "reference_position": 2,
        "similarity": pytest.approx(0.8),
    }


def test_without_weights() -> None:
    text = rendered({"A": [example(Bleu2Vec(1, vectors=VECTORS))]})
    assert "similar to" in text
    assert "in no reference: 1 unigram" in text
    assert "similar to" not in rendered({"A": [example(Bleu2Vec(1, vectors=Nothing(), oov=0, similarity="clamp"))]})


def test_the_f_form() -> None:
    references = trubleu.References.from_lists([["it was great indeed"]], [[0.5]])
    found = explain(Bleu2Vec(3, vectors=Nothing(), oov=0, recall=True), "it was", references)
    assert (found.recall, found.brevity_penalty) == (True, None)
    assert [order.denominator for order in found.orders] == [3, 2, 0]
    text = rendered({"A": [found]})
    assert "F (%)" in text
    assert "precision (%)" not in text
    assert "brevity" not in text
    assert "effective-order" not in text  # left out already
    assert "left out" in text
    assert "denominators: the mean of the n-grams of the output and of a reference of that length\n" in text
    assert "bleu2vec-f-3 = (66.67 × 66.67)^(1/2) = 66.67" in text
    page = render_explanation_page({"A": [found]})
    assert '<span class="whole">F</span><wbr> (%)</th>' in page
    assert "precision</span>" not in page
    written = json.loads(render_explanation_json({"A": [found]}))["explanations"][0]
    assert (written["recall"], written["brevity_penalty"]) == (True, None)
    weighted = explain(DeltaBleu2Vec(1, vectors=Nothing(), oov=0, recall=True), "it was", references)
    assert weighted.orders[0].denominator == 1.5
    assert "dbleu2vec-f-1 = 66.67\n" in rendered({"A": [weighted]})
    assert "of that length, times the largest weight\n" in rendered({"A": [weighted]})
    plain = rendered({"A": [explain(Bleu2Vec(1, vectors=Nothing(), oov=0), "it was", references)]})
    assert "precision (%)" in plain
    assert "brevity penalty 0.368" in plain
    assert "denominators" not in plain


def test_differences_between_systems() -> None:
    metric = DeltaBleu2Vec(1, vectors=VECTORS)
    references = trubleu.References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
    found = ngram_differences(metric, ["it was good"], ["it was awful"], references)
    assert [(one.tokens, round(one.difference, 3)) for one in found] == [(("good",), 0.8), (("awful",), 0.5)]
    systems = {"a": ["it was good"], "b": ["it was awful"]}
    compared = compare_systems(systems, references, {"near": metric})
    assert compared.ngrams == found


def test_the_released_program_is_not_explained() -> None:
    metric = Bleu2Vec(vectors=Nothing(), definition="release2017", tokenize="none")
    assert not is_explainable(metric)
    with pytest.raises(UsageError, match="cannot be explained"):
        explain(metric, "a", [["a"]])
