"""BM25 against its plain statement and against bm25s, where that is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.mining import bm25_scores, idf
from trubleu.errors import UsageError
from trubleu.mining.bm25 import VARIANTS, Bm25

DOCUMENTS = ["a b c a", "b b d", "c", "a e f g h i", "", "b a"]


@given(st.sampled_from(VARIANTS), st.integers(1, 10**9), st.data())
def test_idf_is_the_formula_and_never_negative(variant: str, documents: int, data: st.DataObject) -> None:
    frequencies = data.draw(st.lists(st.integers(0, documents), min_size=1, max_size=5))
    found = Bm25(variant).idf(np.array(frequencies), documents)
    assert found.tolist() == [idf(variant, frequency, documents) for frequency in frequencies]
    assert (found >= 0).all()


def test_words_that_no_document_has_count_nothing() -> None:
    for variant in VARIANTS:
        assert Bm25(variant).idf([0, 5], 5).tolist()[0] == 0.0
    assert Bm25("robertson").idf([3], 5).tolist() == [0.0]
    assert Bm25("atire").idf([5], 5).tolist() == [0.0]


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.75), (2.0, 0.0), (0.5, 1.0)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_parts_make_the_score(variant: str, k1: float, b: float) -> None:
    bm25 = Bm25(variant, k1, b)
    documents = [text.split() for text in DOCUMENTS]
    lengths = [len(document) for document in documents]
    norms = bm25.norm(lengths, sum(lengths) / len(lengths)).tolist()
    weights = bm25.idf([sum(word in document for document in documents) for word in "ab"], len(documents)).tolist()
    expected = bm25_scores(["a", "b", "b"], documents, variant, k1, b)
    for document, norm, score in zip(documents, norms, expected, strict=True):
        parts = [
            times * weight * (bm25.scale * document.count(word) / (document.count(word) + norm))
            for word, times, weight in zip("ab", (1, 2), weights, strict=True)
            if word in document
        ]
        assert sum(parts) == pytest.approx(score, rel=1e-15, abs=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_statement_is_what_bm25s_computes(variant: str) -> None:
    bm25s = pytest.importorskip("bm25s")
    documents = [text.split() for text in DOCUMENTS]
    peer = bm25s.BM25(method=variant, k1=1.5, b=0.6, dtype="float64")
    peer.index(documents, show_progress=False)
    query = ["a", "d", "b", "a"]
    expected = bm25_scores(query, documents, variant, 1.5, 0.6)
    np.testing.assert_allclose(peer.get_scores(query), expected, rtol=1e-5)


def test_without_words_there_is_no_mean_to_divide_by() -> None:
    assert Bm25().norm([0, 0], 0.0).tolist() == pytest.approx([0.3, 0.3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "lucen"}, r"there is no BM25 variant 'lucen'; did you mean lucene\?"),
        ({"k1": -0.1}, "k1 must be a number from 0 to 1,000,000, not -0.1"),
        ({"k1": float("nan")}, "k1 must be"),
        ({"b": 1.5}, "b must be a number from 0 to 1, not 1.5"),
        ({"b": "0.5"}, "b must be a number from 0 to 1, not '0.5'"),
        ({"b": True}, "b must be a number"),
    ],
)
def test_numbers_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Bm25(**options)
