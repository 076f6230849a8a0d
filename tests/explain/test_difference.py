"""What makes the difference between two systems."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trubleu
from tests.oracles import corpora, statement
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.explain import compare_systems, most_different, ngram_differences, worst
from trubleu.render import render_comparison
from trubleu.scoring import Sampling

REFERENCES = [["it was great", "so so"], ["no idea"], ["we will be back soon"]]
A = ["it was great", "no idea", "we will"]
B = ["it was awful", "no idea", "we will be back"]
FEW = Sampling(interval=True, test="bootstrap", resamples=50)


@given(
    corpora.corpora(weights=corpora.exact_weights),
    st.sampled_from(("bleu-3", "dbleu-3", "sdbleu-2", "dbleu-2[definition=fork2019]")),
    st.data(),
)
@settings(max_examples=60)
def test_differences_add_up_to_those_of_the_numerators(corpus: corpora.Corpus, name: str, data: st.DataObject) -> None:
    count = len(corpus.outputs)
    other = data.draw(st.lists(corpora.plain_texts(), min_size=count, max_size=count))
    other = [text if text else corpus.outputs[place] for place, text in enumerate(other)]
    references = References.from_lists(corpus.references, corpus.weights)
    metric = trubleu.metric(name, tokenize="none")
    found = ngram_differences(metric, corpus.outputs, other, references)
    order = int(metric.name[-1])
    numerators = []
    for outputs in (corpus.outputs, other):
        rows = [
            statement.segment(
                text.split(),
                [reference.split() for reference in texts],
                weights if "dbleu" in name else None,
                order=order,
                definition="fork2019" if "fork" in name else "paper",
            )
            for text, texts, weights in zip(outputs, corpus.references, corpus.weights, strict=True)
        ]
        numerators.append(statement.added(rows, order).matches)
    for n in range(1, order + 1):
        rows_of_n = [row for row in found if len(row.tokens) == n]
        expected = float(numerators[0][n - 1] - numerators[1][n - 1])
        assert sum(row.difference for row in rows_of_n) == pytest.approx(expected, abs=1e-12)
    said: list[Counter[tuple[str, ...]]] = [Counter(), Counter()]
    for counts, outputs in zip(said, (corpus.outputs, other), strict=True):
        for text in outputs:
            for n in range(1, order + 1):
                counts.update(statement.ngrams(text.split(), n))
    assert [(row.count_a, row.count_b) for row in found] == [
        (said[0][row.tokens], said[1][row.tokens]) for row in found
    ]
    assert all(row.difference == row.credit_a - row.credit_b != 0 for row in found)


def test_segments_and_ngrams_of_both_systems() -> None:
    found = compare_systems({"A": A, "B": B}, REFERENCES, {"bleu-2": trubleu.metric("bleu-2")}, sampling=FEW)
    assert [row.segment for row in found.segments] == ["1", "3"]
    assert found.segments[0].difference > 0 > found.segments[1].difference
    assert found.ngrams is not None
    more = [" ".join(row.tokens) for row in found.ngrams if row.difference > 0]
    less = [" ".join(row.tokens) for row in found.ngrams if row.difference < 0]
    assert more == ["great", "was great"]
    assert less == ["back", "be", "be back", "will be"]
    assert [row.system for row in found.report.scores] == ["A", "B"]
    assert len(found.report.tests) == 1
    assert found.report.segments == ()


def test_how_many_are_named() -> None:
    metrics = {"bleu-2": trubleu.metric("bleu-2")}
    found = compare_systems({"A": A, "B": B}, REFERENCES, metrics, sampling=FEW, top_segments=0, top_ngrams=1)
    assert found.segments == ()
    assert found.ngrams is not None
    assert [" ".join(row.tokens) for row in found.ngrams] == ["great", "back"]
    assert compare_systems({"A": A, "B": B}, REFERENCES, metrics, sampling=FEW, top_ngrams=0).ngrams is None


def test_a_metric_without_ngrams_still_has_segments_and_lower_may_be_better() -> None:
    found = compare_systems({"A": A, "B": B}, REFERENCES, {"ter": trubleu.metric("ter")}, sampling=FEW)
    assert found.ngrams is None
    assert [row.segment for row in found.segments] == ["1", "3"]
    assert found.segments[0].difference < 0
    text = render_comparison(found)
    assert "Segments where A is better\n\n  segment 1: A" in text
    assert "earns more by" not in text
    with pytest.raises(UsageError, match="ter cannot be explained"):
        ngram_differences(trubleu.metric("ter"), A, B, REFERENCES)


def test_a_metric_of_similarities_has_words_that_weigh_what_they_met() -> None:
    vectors = (["great", "awful", "nice", "it", "was"], np.array([[1.0, 0], [0.0, 1], [0.9, 0.1], [1, 1], [1, -1]]))
    metric = trubleu.TruBleu(vectors=vectors)
    outputs = {"A": ["it was nice", "no idea"], "B": ["it was awful", "no idea"]}
    found = compare_systems(outputs, [["it was great"], ["no idea"]], {"trubleu": metric}, sampling=FEW)
    assert found.ngrams is not None
    (row,) = found.ngrams
    assert (row.tokens, row.count_a, row.count_b, row.credit_b) == (("nice",), 1, 0, 0.0)
    parts = metric.parts("it was nice", References.from_lists([["it was great"]]))
    (pair,) = (one for one in parts.pairs if one.order == 1 and one.position == 2)
    assert row.credit_a == pytest.approx(parts.weights[2] * pair.similarity)
    assert 0 < pair.similarity < 1
    assert "Words that A earns more by\nword" in render_comparison(found)
    assert json.loads(render_comparison(found, "json"))["ngrams"][0]["ngram"] == "nice"


def test_skipped_segments_play_no_part() -> None:
    references = References.from_lists([["a"], ["b"]], [[-1.0], [1.0]])
    metric = trubleu.metric("dbleu-1", no_positive="skip")
    with pytest.warns(trubleu.TrubleuWarning, match="left out"):
        found = compare_systems({"A": ["a", "b"], "B": ["x", "c"]}, references, {"dbleu-1": metric}, sampling=FEW)
    assert [row.segment for row in found.segments] == ["2"]
    assert found.ngrams is not None
    assert [row.tokens for row in found.ngrams] == [("b",)]


def test_systems_that_say_the_same() -> None:
    found = compare_systems({"A": A, "B": A}, REFERENCES, {"bleu-2": trubleu.metric("bleu-2")}, sampling=FEW)
    assert (found.segments, found.ngrams) == ((), ())
    assert found.report.tests[0].p == 1.0
    assert "better" not in render_comparison(found)


def test_wrong_numbers() -> None:
    metrics = {"bleu-2": trubleu.metric("bleu-2")}
    with pytest.raises(UsageError, match="at least two systems, not 1"):
        compare_systems({"A": A}, REFERENCES, metrics)
    with pytest.raises(DataError, match="3 outputs but references for 1 segment"):
        ngram_differences(metrics["bleu-2"], A, B, [["x"]])
    with pytest.raises(UsageError, match="0 segments cannot be shown"):
        worst(metrics["bleu-2"], A, REFERENCES, 0)
    with pytest.raises(UsageError, match="-1 segments cannot be shown"):
        most_different(metrics["bleu-2"], A, B, REFERENCES, -1)


def test_worst_and_most_different_leave_out_what_has_no_score_or_no_difference() -> None:
    references = References.from_lists([["a"], ["b"], ["c"]], [[-1.0], [1.0], [1.0]])
    metric = trubleu.metric("dbleu-1", no_positive="skip")
    with pytest.warns(trubleu.TrubleuWarning):
        assert worst(metric, ["a", "b", "x"], references, 9).tolist() == [2, 1]
    with pytest.warns(trubleu.TrubleuWarning):
        assert most_different(metric, ["a", "b", "x"], ["x", "b", "c"], references, 9).tolist() == [2]
    ter = trubleu.metric("ter")
    assert worst(ter, ["a b", "x y"], [["a b"], ["a b"]], 1).tolist() == [1]


@pytest.mark.parametrize("name", ["text", "markdown", "latex"])
def test_tables_for_people(name: str) -> None:
    found = compare_systems({"A": A, "B": B}, REFERENCES, {"bleu-2": trubleu.metric("bleu-2")}, sampling=FEW)
    shown = render_comparison(found, name)
    for title in ("Segments where A is better", "Segments where B is better", "earns more by", "was great"):
        assert title in shown
    assert "by bleu-2" in shown.replace(r"\_", "_")


def test_rows_for_programs() -> None:
    found = compare_systems({"A": A, "B": B}, REFERENCES, {"bleu-2": trubleu.metric("bleu-2")}, sampling=FEW)
    document = json.loads(render_comparison(found, "json"))
    assert list(document) == ["schema", "scores", "tests", "notes", "segments", "buckets", "ngrams"]
    fields = "schema metric a b id score_a score_b difference output_a output_b"
    assert list(document["segments"][0]) == fields.split()
    fields = "schema metric a b order ngram credit_a credit_b difference count_a count_b"
    assert list(document["ngrams"][0]) == fields.split()
    assert document["segments"][0]["output_b"] == "it was awful"
    rows = list(csv.DictReader(io.StringIO(render_comparison(found, "csv"))))
    assert {row["table"] for row in rows} == {"scores", "tests", "notes", "segments", "buckets", "ngrams"}
