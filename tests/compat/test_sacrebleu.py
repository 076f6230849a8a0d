"""``trubleu.compat.sacrebleu`` beside sacreBLEU: the same calls give the same results."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import sacrebleu as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from trubleu.compat import sacrebleu as ours
from trubleu.errors import DataError

WORDS = st.sampled_from(["the", "cat", "Cat", "sat", "mat.", "(hi)", "don't", "été", "漢字", "1,000", ".", "a-b"])
TEXT = st.lists(WORDS, max_size=9).map(" ".join)
CORPUS = st.integers(1, 6).flatmap(
    lambda count: st.tuples(
        st.lists(TEXT, min_size=count, max_size=count),
        st.lists(st.lists(TEXT, min_size=count, max_size=count), min_size=1, max_size=3),
    )
)
BLEU_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "lowercase": st.booleans(),
        "tokenize": st.sampled_from(["13a", "none", "intl", "char", "zh"]),
        "smooth_method": st.sampled_from(["exp", "floor", "add-k", "none"]),
        "max_ngram_order": st.integers(1, 10),
        "effective_order": st.booleans(),
    },
)
CHRF_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "char_order": st.integers(1, 7),
        "word_order": st.integers(0, 2),
        "beta": st.integers(1, 3),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    },
)


def same(found: Any, expected: Any) -> None:
    """Compare all that a score of sacreBLEU's has."""
    assert type(found) is type(expected)
    assert found.score == pytest.approx(expected.score, abs=1e-9)
    assert str(found) == str(expected)
    assert found.format(width=4, score_only=True) == expected.format(width=4, score_only=True)
    for name in ("counts", "totals", "precisions", "bp", "sys_len", "ref_len", "ratio", "num_edits", "ref_length"):
        assert getattr(found, name, None) == pytest.approx(getattr(expected, name, None))


@settings(max_examples=150, deadline=None)
@given(CORPUS, BLEU_OPTIONS)
def test_bleu(corpus: tuple[list[str], list[list[str]]], options: dict[str, Any]) -> None:
    outputs, references = corpus
    mine, other = ours.BLEU(**options, force=True), theirs.BLEU(**options, force=True)
    same(mine.corpus_score(outputs, references), other.corpus_score(outputs, references))
    assert str(mine.get_signature()) == str(other.get_signature())
    kept, other_kept = ours.BLEU(**options, references=references), theirs.BLEU(**options, references=references)
    same(kept.corpus_score(outputs, None), other_kept.corpus_score(outputs, None))
    one = [stream[0] for stream in references]
    same(mine.sentence_score(outputs[0], one), other.sentence_score(outputs[0], one))


@settings(max_examples=150, deadline=None)
@given(CORPUS, CHRF_OPTIONS)
def test_chrf(corpus: tuple[list[str], list[list[str]]], options: dict[str, Any]) -> None:
    outputs, references = corpus
    mine, other = ours.CHRF(**options), theirs.CHRF(**options)
    same(mine.corpus_score(outputs, references), other.corpus_score(outputs, references))
    assert str(mine.get_signature()) == str(other.get_signature())


def test_functions() -> None:
    outputs, references = ["the cat sat on the mat", "hello there"], [["the cat sat on a mat", "hi there you"]]
    for name in ("corpus_bleu", "raw_corpus_bleu", "corpus_chrf", "corpus_ter"):
        same(getattr(ours, name)(outputs, references), getattr(theirs, name)(outputs, references))
    for name in ("sentence_bleu", "sentence_chrf", "sentence_ter"):
        same(getattr(ours, name)(outputs[0], references[0][:1]), getattr(theirs, name)(outputs[0], references[0][:1]))
    for name in ("corpus_bleu", "raw_corpus_bleu", "corpus_chrf"):  # by our kernels, which refuse this
        with pytest.raises(DataError, match="2 outputs but references for 1"):
            getattr(ours, name)(["a", "b"], [["a"]])
    assert ours.DATASETS is theirs.DATASETS


def test_intervals_and_references_that_are_missing() -> None:
    outputs = ["a b c d", "e f g h", "x y"] * 4
    references: Any = [["a b c", "e f g h", "x y z"] * 4, [None, "e f", ""] * 4]
    found, expected = (module.BLEU().corpus_score(outputs, references, n_bootstrap=200) for module in (ours, theirs))
    same(found, expected)
    metric = ours.CHRF()
    metric.corpus_score(outputs, references)
    assert "nrefs:var" in str(metric.get_signature())


def test_what_is_wrong() -> None:
    with pytest.raises(RuntimeError, match="no references"):
        ours.BLEU().corpus_score(["a"], None)
    with pytest.raises(DataError, match="2 outputs but references for 1"):
        ours.BLEU().corpus_score(["a", "b"], [["a"]])
    with pytest.raises(DataError, match="one string"):
        ours.BLEU().corpus_score("a", [["a"]])
    with pytest.raises(TypeError, match="should be"):
        ours.BLEU().corpus_score([1], [["a"]])  # type: ignore[list-item]


def test_tokenized_text_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    outputs = ["it is here ."] * 100
    with caplog.at_level(logging.WARNING, logger="sacrebleu"):
        ours.BLEU().corpus_score(outputs, [outputs])
    assert "as tokenized text does" in caplog.text
    caplog.clear()
    ours.BLEU(force=True).corpus_score(outputs, [outputs])
    assert not caplog.records
