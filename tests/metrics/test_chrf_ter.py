"""chrF, chrF++ and TER equal sacreBLEU's, under the contract of all metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts, streams
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.metrics import ChrF, Ter, metric
from trubleu.native import kernels
from trubleu.stats import total

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

texts = odd_texts(6) | plain_texts(8)


@st.composite
def chrf_pairs(draw: st.DrawFn) -> tuple[ChrF, Any]:
    options: dict[str, Any] = {
        "char_order": draw(st.integers(1, 7)),
        "word_order": draw(st.integers(0, 3)),
        "beta": draw(st.integers(1, 3)),
        **{name: draw(st.booleans()) for name in ("lowercase", "whitespace", "eps_smoothing")},
    }
    return ChrF(**options), CHRF(**options)


@st.composite
def ter_pairs(draw: st.DrawFn) -> tuple[Ter, Any]:
    options: dict[str, Any] = {
        name: draw(st.booleans()) for name in ("normalized", "no_punct", "asian_support", "case_sensitive")
    }
    return Ter(**options), TER(**options)


@given(corpora(texts), chrf_pairs() | ter_pairs())
@settings(max_examples=250)
def test_equals_sacrebleu(corpus: Corpus, pair: tuple[Any, Any]) -> None:
    ours, peer = pair
    result = ours.corpus(corpus.outputs, corpus.references)
    assert result.score == near(peer.corpus_score(corpus.outputs, streams(corpus.references)).score)
    assert result.segments == len(corpus.outputs)
    sentences = [
        peer.sentence_score(output, row).score for output, row in zip(corpus.outputs, corpus.references, strict=True)
    ]
    assert ours.segments(corpus.outputs, corpus.references).tolist() == near(sentences)


@given(corpora(texts, segments=8), chrf_pairs() | ter_pairs(), st.data())
@settings(max_examples=60)
def test_rows_add_up_and_any_number_is_scored_at_once(
    corpus: Corpus, pair: tuple[Any, Any], data: st.DataObject
) -> None:
    ours, peer = pair
    rows = ours.statistics(corpus.outputs, corpus.references)
    alone = [float(ours.score(row)) for row in rows]
    assert ours.score(rows).tolist() == near(alone)
    assert ours.score(np.stack([rows, rows[::-1]])).ravel().tolist() == near([*alone, *alone[::-1]])
    picked = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=12))
    outputs, references = [corpus.outputs[i] for i in picked], [corpus.references[i] for i in picked]
    theirs = peer.corpus_score(outputs, streams(references)).score
    assert float(ours.score(total(rows[picked]))) == near(theirs)


@pytest.mark.parametrize(("ours", "peer"), [(ChrF(), CHRF()), (ChrF(word_order=2), CHRF(word_order=2)), (Ter(), TER())])
def test_more_segments_than_one_slice(ours: Any, peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trubleu.metrics.matching.SLICE", 64)
    outputs = [f"the cat {i} sat" for i in range(150)]
    references = [[f"the cat {i} sat down"] + [f"a cat {i}"] * (i % 3) for i in range(150)]
    seen: list[int] = []
    rows = ours.statistics(outputs, references, progress=seen.append)
    assert (sum(seen), len(seen)) == (150, 3)
    assert float(ours.score(total(rows))) == near(peer.corpus_score(outputs, streams(references)).score)


def test_names_and_defaults() -> None:
    outputs, references = ["the cat sat"], [["the cat sat down", "cats sat"]]
    for name, peer in (("chrf", CHRF()), ("chrf++", CHRF(word_order=2)), ("ter", TER())):
        ours = metric(name)
        assert ours.name == name
        expected = peer.corpus_score(outputs, streams(references)).score
        assert ours.corpus(outputs, references).score == near(expected)
    assert (ChrF.higher_is_better, Ter.higher_is_better) == (True, False)
    assert ChrF(word_order=1).name == "chrf+"


def test_references_in_any_form() -> None:
    outputs, lists = ["a b", "c"], [["a b c", "a"], ["c d"]]
    references = References.from_lists(lists)
    for ours in (ChrF(), Ter()):
        expected = ours.corpus(outputs, lists)
        assert ours.corpus(outputs, references) == expected
        assert ours.corpus(outputs, references.prepare()) == expected


def test_edges() -> None:
    assert ChrF().corpus([], []).score == 0.0
    assert Ter().corpus([], []).score == 0.0
    with pytest.warns(TrubleuWarning, match=r"empty references in .*: 1$"):
        assert Ter().corpus(["a b"], [[""]]).score == 100.0
    with pytest.raises(DataError, match="output 2 is of type int"):
        Ter().corpus(["a", 1], [["a"], ["b"]])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "options",
    [
        {"char_order": 0},
        {"char_order": 1001},
        {"word_order": -1},
        {"word_order": 1001},
        {"beta": 0},
        {"beta": 2.0},
        {"beta": 10**400},
        {"char_order": True},
        {"lowercase": 1},
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        ChrF(**options)


def test_references_are_prepared_once_and_what_is_too_large_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trubleu.metrics.matching.SLICE", 2)
    made: list[tuple[int, int]] = []
    whole = kernels.ChrfReferences

    def make(texts: Any, offsets: Any, options: Any, first: int, last: int, threads: int) -> Any:
        made.append((first, last))
        return whole(texts, offsets, options, first, last, threads)

    monkeypatch.setattr("trubleu.metrics.chrf.kernels.ChrfReferences", make)
    lists = [["the cat", "a cat"], ["sat"], ["on the mat"]]
    outputs = ["the cat", "sits", "on a mat"]
    references = References.from_lists(lists)
    rows = ChrF().statistics(outputs, references)
    assert made == [(0, 2), (2, 3)]
    assert ChrF(char_order=3).statistics(outputs, references).tolist() == rows[:, :9].tolist()
    assert made == [(0, 2), (2, 3)]
    ChrF(word_order=2).statistics(outputs, references)
    assert len(made) == 4
    monkeypatch.setattr("trubleu.metrics.matching.KEPT_BYTES", 0)
    others = References.from_lists(lists)
    for _ in range(2):
        assert ChrF().statistics(outputs, others).tobytes() == rows.tobytes()
    assert len(made) == 8


@given(corpora(odd_texts(6) | plain_texts(8), segments=6), chrf_pairs())
@settings(max_examples=60)
def test_rows_are_sacrebleu_s(corpus: Corpus, pair: tuple[ChrF, Any]) -> None:
    ours, peer = pair
    theirs = peer._extract_corpus_statistics(corpus.outputs, streams(corpus.references))
    for threads in (1, 2):
        assert ours.statistics(corpus.outputs, corpus.references, threads=threads).tolist() == theirs


@pytest.mark.parametrize(
    ("output", "reference", "options", "message"),
    [
        ("a " * 250_001, "b", {}, "has an output of 250,001 words"),
        ("a", "b " * 250_500, {}, "has a reference of 250,500 words"),
        ("a", "b," * 130_000, {"normalized": True}, "has a reference of 260,000 words"),
    ],
)
def test_texts_beyond_what_ter_can_do(output: str, reference: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"^references: segment 2 {message}; ter takes 250,000 at most"):
        Ter(**options).statistics(["a", output], [["a"], ["b", reference]])


def test_ter_of_long_texts() -> None:
    words = [f"w{number}" for number in range(250_000)]
    moved = [*words[:50_000], *words[50_020:50_025], *words[50_000:50_020], *words[50_025:]]
    same, other = " ".join(words), " ".join(moved)
    assert Ter().statistics([same, other, "a"], [[same], [same], [same]]).tolist() == [
        [0.0, 2.5e5],
        [1.0, 2.5e5],
        [2.5e5, 2.5e5],
    ]
    assert Ter().statistics(["a,b" * 300_000], [["c"]]).tolist() == [[1.0, 1.0]]  # one word


def test_references_are_normalised_twice_as_in_sacrebleu() -> None:
    outputs, references = ["a ..5", "b"], [["a ..5"], ["..5"]]
    theirs = TER(normalized=True)._extract_corpus_statistics(outputs, streams(references))
    assert Ter(normalized=True).statistics(outputs, references).tolist() == theirs == [[2, 4.0], [3, 3.0]]
