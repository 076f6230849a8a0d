"""distinct-N and self-BLEU equal their plain statements."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

import trubleu
from tests.oracles.corpora import odd_texts, plain_texts
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.metrics import Bleu, Distinct, SelfBleu, metric
from trubleu.scoring import Sampling, score_systems
from trubleu.scoring.partitions import learning_in_parts
from trubleu.stats import total
from trubleu.text import tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

few_words = st.lists(st.sampled_from("abc"), max_size=7).map(" ".join)
outputs_of_a_system = st.lists(few_words | odd_texts(6) | plain_texts(6), max_size=7)


def references_for(outputs: list[str]) -> list[list[str]]:
    return [["anything"]] * len(outputs)


def ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


@given(outputs_of_a_system, st.integers(1, 4), st.sampled_from(("13a", "none", "words")), st.booleans())
@settings(max_examples=200)
def test_distinct_is_different_ngrams_over_ngrams(
    outputs: list[str], order: int, tokenize: str, lowercase: bool
) -> None:
    ours = Distinct(order, tokenize=tokenize, lowercase=lowercase)
    counts = Counter(ngram for text in outputs for ngram in ngrams(tokenizer(tokenize).tokens(text, lowercase), order))
    expected = 100 * len(counts) / counts.total() if counts else 0.0
    rows = ours.statistics(outputs, references_for(outputs))
    assert float(ours.score(total(rows))) == near(expected)
    assert rows.sum(axis=0).tolist() == near([len(counts), counts.total()])
    assert np.allclose(ours.statistics(outputs[::-1], references_for(outputs)), rows[::-1], rtol=1e-11)


@given(outputs_of_a_system, st.integers(1, 4), st.sampled_from(("floor", "none", "exp", "add-k")))
@settings(max_examples=200)
def test_self_bleu_is_bleu_with_all_other_outputs_as_references(outputs: list[str], order: int, smoothing: str) -> None:
    ours = SelfBleu(order, smoothing=smoothing)
    peer = Bleu(order, smoothing=smoothing, effective_order=True)
    if len(outputs) < 2:
        assert ours.segments(outputs, references_for(outputs)).tolist() == [0.0] * len(outputs)
        return
    others = [outputs[:i] + outputs[i + 1 :] for i in range(len(outputs))]
    expected = peer.segments(outputs, others)
    assert ours.segments(outputs, references_for(outputs)).tolist() == near(expected.tolist())
    assert ours.corpus(outputs, references_for(outputs)).score == near(float(expected.mean()))


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=4, max_size=9), min_size=2, max_size=8))
@settings(max_examples=100)
def test_self_bleu_is_nltk_s_with_method_1(outputs: list[list[str]]) -> None:
    method = SmoothingFunction().method1
    expected = [
        100 * sentence_bleu(outputs[:i] + outputs[i + 1 :], outputs[i], smoothing_function=method)
        for i in range(len(outputs))
    ]
    texts = [" ".join(words) for words in outputs]
    assert SelfBleu(tokenize="none").segments(texts, references_for(texts)).tolist() == near(expected)


def test_by_hand() -> None:
    outputs = ["i do not know", "i do not know", "it rains"]
    assert Distinct(1).corpus(outputs, references_for(outputs)).score == 60.0
    assert Distinct(2).corpus(outputs, references_for(outputs)).score == near(100 * 4 / 7)
    assert SelfBleu().segments(outputs, references_for(outputs)).tolist() == near([100.0, 100.0, 0.0])


def test_names_signatures_and_orders() -> None:
    assert [metric(name).name for name in ("distinct", "distinct-1", "dist-2", "self-bleu", "self-bleu-2")] == [
        "distinct-2", "distinct-1", "distinct-2", "self-bleu-4", "self-bleu-2",
    ]  # fmt: skip
    assert str(Distinct().signature([["a", "b"]])).startswith("distinct-2|nrefs:0|case:mixed|tok:13a|version:")
    signature = str(SelfBleu(2, lowercase=True).signature())
    assert signature.startswith("self-bleu-2|case:lc|tok:13a|smooth:floor[0.1]|version:")
    assert (Distinct.higher_is_better, SelfBleu.higher_is_better) == (True, False)
    assert Distinct(1).with_order(3).name == "distinct-3"
    assert SelfBleu(2).with_order(3).order == 3
    for name in ("distinct", "self-bleu"):
        assert trubleu.metrics.describe(name)[0].needs == ("all segments at once",)


def test_intervals_and_tests_draw_rows() -> None:
    systems = {"one": ["i do not know"] * 9 + ["it rains"], "two": [f"word {i} is here" for i in range(10)]}
    references = [["it rains"]] * 10
    metrics = {name: metric(name) for name in ("distinct-1", "self-bleu-2")}
    sampling = Sampling(interval=True, test=True, resamples=200)
    report = score_systems(systems, References.from_lists(references), metrics, sampling=sampling)
    assert len(report.tests) == 2
    for row in report.scores:
        assert row.score == near(metrics[row.metric].corpus(systems[row.system], references).score)
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.score <= row.high


def test_parts_of_a_corpus_are_refused() -> None:
    for ours in (Distinct(), SelfBleu()):
        assert ours.learns
        with pytest.raises(UsageError, match=rf"^{ours.name} compares the outputs of a system with each other"):
            ours.learned(References.from_lists([["a"]]))
        with pytest.raises(UsageError, match=f"{ours.name} must see all outputs of a system at once; score"):
            learning_in_parts({ours.name: ours})


@pytest.mark.parametrize(
    ("factory", "options", "message"),
    [
        (Distinct, {"order": 0}, "the order is 0"),
        (SelfBleu, {"order": 10}, "the order is 10"),
        (SelfBleu, {"smoothing": "exp", "smoothing_value": 1.0}, "smoothing=exp takes no value"),
        (Distinct, {"lowercase": 1}, "lowercase=1 must be true or false"),
    ],
)
def test_bad_options(factory: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        factory(**options)


def test_bad_input() -> None:
    for ours in (Distinct(), SelfBleu()):
        assert ours.corpus([], []).score == 0.0
        assert ours.corpus(["", ""], [["a"], ["b"]]).score == 0.0
        with pytest.raises(DataError, match="output 2 is of type int"):
            ours.corpus(["a", 1], [["a"], ["b"]])  # type: ignore[list-item]
        with pytest.raises(DataError, match="1 output but references for 2 segments"):
            ours.corpus(["a"], References.from_lists([["a"], ["b"]]))
        with pytest.raises(DataError, match="has no statistics of"):
            ours.score(np.zeros((2, 3)))


def test_progress_and_mean() -> None:
    seen: list[int] = []
    outputs = ["a b", "a c", "a b"]
    rows = SelfBleu(1).statistics(outputs, references_for(outputs), progress=seen.append)
    assert (seen, rows[:, 1].tolist()) == ([3], [1.0, 1.0, 1.0])
