"""sBLEU and sdBLEU: the named variants by hand and against their statement."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.corpora import DEFINITIONS, LENGTH_RULES, VARIANTS, Corpus, corpora, odd_texts, plain_texts
from tests.oracles.statement import segment, sentence
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.metrics import SentenceBleu, SentenceDeltaBleu
from trubleu.stats import total

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

LATE = math.exp(1 - 3 / 2)  # nakov's brevity penalty of two words against two


@pytest.mark.parametrize(
    ("variant", "output", "reference", "order", "expected"),
    [
        # One word of two, (0 + 1) / (1 + 1) bigrams; there are no trigrams, which are left out.
        ("lin-och", "ok fine", "ok sure", 4, 50.0),
        ("lin-och", "ok fine", "ok sure", 2, 50.0),
        ("lin-och", "ok fine", "ok sure", 1, 50.0),
        ("nakov", "ok fine", "ok sure", 4, 50 * LATE),
        ("nakov-all", "ok fine", "ok sure", 4, 100 * math.sqrt(2 / 3 * 1 / 2) * LATE),
        ("sacrebleu", "ok fine", "ok sure", 4, 50.0),
        ("lin-och", "yes", "yes", 4, 100.0),
        ("nakov", "yes", "yes", 4, 100 * math.exp(-1)),
        ("nakov-all", "yes", "yes", 4, 100 * math.exp(-1)),
        ("sacrebleu", "yes", "yes", 4, 100.0),
        # Unigrams are smoothed by nakov-all only.
        ("lin-och", "x y", "ok sure", 4, 0.0),
        ("nakov", "x y", "ok sure", 4, 0.0),
        ("nakov-all", "x y", "ok sure", 4, 100 * math.sqrt(1 / 3 * 1 / 2) * LATE),
        ("sacrebleu", "x y", "ok sure", 4, 0.0),
        # Three of four words, (2 + 1) / (3 + 1) bigrams, (1 + 1) / (2 + 1) trigrams, (0 + 1) / (1 + 1) 4-grams.
        ("lin-och", "a b c x", "a b c d", 4, 100 * (3 / 4 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25),
        ("lin-och", "", "ok", 4, 0.0),
        ("nakov-all", "", "ok", 4, 0.0),
    ],
)
def test_by_hand(variant: str, output: str, reference: str, order: int, expected: float) -> None:
    metric = SentenceBleu(order, variant=variant)
    assert metric.segments([output], [[reference]]).tolist() == [pytest.approx(expected)]
    # ΔBLEU of one reference is the same thing, whatever its weight.
    for weight in (1.0, 0.25):
        references = References.from_lists([[reference]], [[weight]])
        delta = SentenceDeltaBleu(order, variant=variant).segments([output], references)
        assert delta.tolist() == [pytest.approx(expected)]


def test_lin_och_is_the_default_and_the_variant_is_in_the_signature() -> None:
    assert SentenceBleu().variant == SentenceDeltaBleu().variant == "lin-och"
    for variant in VARIANTS:
        assert ("variant", variant) in SentenceBleu(variant=variant).signature().pairs
    with pytest.raises(UsageError, match="did you mean nakov"):
        SentenceBleu(variant="nakow")


def test_the_mean_over_segments() -> None:
    metric = SentenceBleu(2)
    outputs, references = ["ok fine", "yes", "no"], [["ok sure"], ["yes"], ["maybe"]]
    assert metric.statistics(outputs, references).tolist() == [[pytest.approx(50), 1], [pytest.approx(100), 1], [0, 1]]
    assert metric.corpus(outputs, references).score == pytest.approx(50)


def test_delta_by_hand() -> None:
    # "it was awful": 2 · 0.5 + (−1) of 3 · 0.5 unigrams; "it was" 0.5 and "was awful" −1 of 2 · 0.5 bigrams, on balance
    # below 0, so 0; with the best weight added to both, 0.5 of 1.5.
    references = References.from_lists([["it was great", "was awful"]], [[0.5, -1.0]])
    metric = SentenceDeltaBleu(2, tokenize="none")
    row = segment(["it", "was", "awful"], [["it", "was", "great"], ["was", "awful"]], [0.5, -1.0], order=2)
    assert [float(match) for match in row.matches] == [0.0, -0.5]
    assert metric.segments(["it was awful"], references).tolist() == [0.0]
    assert metric.segments(["it was great great"], references).tolist() == [
        pytest.approx(100 * math.sqrt(1.5 / 2 * (1 + 0.5) / (1.5 + 0.5)))
    ]
    fork = SentenceDeltaBleu(2, tokenize="none", definition="fork2019")  # constants as they are
    assert fork.segments(["it was great great"], references).tolist() == [
        pytest.approx(100 * math.sqrt(1.5 / 2 * (1 + 1) / (1.5 + 1)))
    ]


@given(corpora(plain_texts(12)), st.sampled_from(VARIANTS), st.integers(1, 9), st.sampled_from(LENGTH_RULES))
@settings(max_examples=200)
def test_equals_the_statement(corpus: Corpus, variant: str, order: int, rule: str) -> None:
    expected = [
        sentence(segment(output.split(), [text.split() for text in row], order=order, length_rule=rule), variant)
        for output, row in zip(corpus.outputs, corpus.references, strict=True)
    ]
    metric = SentenceBleu(order, tokenize="none", variant=variant, reference_length=rule)
    assert metric.segments(corpus.outputs, corpus.references).tolist() == near(expected)
    mean = sum(expected) / len(expected)
    assert metric.corpus(corpus.outputs, corpus.references).score == near(mean)


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "order": draw(st.integers(1, 9)),
        "variant": draw(st.sampled_from(VARIANTS)),
        "reference_length": draw(st.sampled_from(LENGTH_RULES)),
        "definition": draw(st.sampled_from(DEFINITIONS)),
        "length_references": draw(st.sampled_from(("all", "positive"))),
    }


@given(corpora(plain_texts(12)), options())
@settings(max_examples=300)
def test_delta_equals_the_statement(corpus: Corpus, chosen: dict[str, Any]) -> None:
    expected = [
        sentence(
            segment(
                output.split(),
                [text.split() for text in row],
                weights,
                order=chosen["order"],
                definition=chosen["definition"],
                length_rule=chosen["reference_length"],
                positive_lengths=chosen["length_references"] == "positive",
            ),
            chosen["variant"],
            scaled=chosen["definition"] == "paper",
        )
        for output, row, weights in zip(*corpus, strict=True)
    ]
    metric = SentenceDeltaBleu(tokenize="none", **chosen)
    references = References.from_lists(corpus.references, corpus.weights)
    assert metric.segments(corpus.outputs, references).tolist() == near(expected)
    mean = sum(expected) / len(expected)
    assert metric.corpus(corpus.outputs, references).score == near(mean)
    top = 100 + 1e-9 if chosen["definition"] == "paper" else float("inf")
    assert all(0 <= score <= top for score in metric.segments(corpus.outputs, references))


@given(corpora(odd_texts(12), st.just(1.0)), options())
def test_all_weights_1_is_exactly_sbleu(corpus: Corpus, chosen: dict[str, Any]) -> None:
    shared = {key: chosen[key] for key in ("order", "variant", "reference_length")}
    references = References.from_lists(corpus.references, corpus.weights)
    expected = SentenceBleu(**shared).statistics(corpus.outputs, corpus.references)
    assert SentenceDeltaBleu(**chosen).statistics(corpus.outputs, references).tolist() == expected.tolist()


@given(corpora(plain_texts(12)), options(), st.integers(1, 63))
def test_a_factor_on_all_weights_changes_nothing(corpus: Corpus, chosen: dict[str, Any], factor: int) -> None:
    metric = SentenceDeltaBleu(**{**chosen, "definition": "paper"})
    scaled = [[weight * factor / 64 for weight in row] for row in corpus.weights]
    before = metric.segments(corpus.outputs, References.from_lists(corpus.references, corpus.weights))
    after = metric.segments(corpus.outputs, References.from_lists(corpus.references, scaled))
    assert after.tolist() == near(before.tolist())


@given(corpora(plain_texts(12)), st.integers(1, 9), st.sampled_from(("lin-och", "sacrebleu")))
def test_the_best_reference_scores_100(corpus: Corpus, order: int, variant: str) -> None:
    corpus = corpus._replace(references=[[text or "a" for text in row] for row in corpus.references])
    outputs = [row[weights.index(max(weights))] for row, weights in zip(corpus.references, corpus.weights, strict=True)]
    references = References.from_lists(corpus.references, corpus.weights)
    scores = SentenceDeltaBleu(order, variant=variant).segments(outputs, references)
    assert scores.tolist() == pytest.approx([100.0] * len(scores))


@given(corpora(plain_texts(12), segments=8), options(), st.data())
def test_rows_add_up(corpus: Corpus, chosen: dict[str, Any], data: st.DataObject) -> None:
    metric = SentenceDeltaBleu(**chosen)
    references = References.from_lists(corpus.references, corpus.weights)
    rows = metric.statistics(corpus.outputs, references)
    picked = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=20))
    part = References.from_lists([corpus.references[i] for i in picked], [corpus.weights[i] for i in picked])
    expected = metric.corpus([corpus.outputs[i] for i in picked], part).score
    assert float(metric.score(total(rows[picked]))) == expected
    alone = metric.segments(corpus.outputs, references).tolist()
    assert metric.score(np.stack([rows, rows[::-1]])).tolist() == [alone, alone[::-1]]


def test_skipped_segments_are_left_out_of_the_mean() -> None:
    references = References.from_lists([["a"], ["b"], ["c"]], [[1.0], [-1.0], [0.5]])
    with pytest.raises(DataError, match="positive weight: 2;"):
        SentenceDeltaBleu().corpus(["a", "b", "x"], references)
    metric = SentenceDeltaBleu(no_positive="skip")
    assert metric.statistics(["a", "b", "x"], references).tolist() == [[100.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    assert metric.corpus(["a", "b", "x"], references).score == 50.0
    assert np.isnan(metric.segments(["a", "b", "x"], references)).tolist() == [False, True, False]


def test_all_segments_skipped_score_0() -> None:
    references = References.from_lists([["a"]], [[0.0]])
    assert SentenceDeltaBleu(no_positive="skip").corpus(["a"], references).score == 0.0


def test_unrated_references() -> None:
    references = References.from_lists([["a", "b"]], [[None, 1.0]])
    with pytest.raises(DataError, match="--unrated-as W"):
        SentenceDeltaBleu().corpus(["a"], references)
    assert SentenceDeltaBleu(unrated_as=0.5).corpus(["a"], references).score == pytest.approx(50.0)
