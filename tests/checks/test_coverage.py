"""Coverage of sentences against a plain statement of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import coverage as oracle
from trubleu.checks.vectors import TextVectors
from trubleu.vectors import as_source
from trubleu.vectors.source import word_vectors

WORDS = "parcel package box print label stick open close order orders refund money pay the a of days".split()  # noqa: SIM905


def _sentences(words: list[str]) -> list[list[str]]:
    return [part for first in range(0, len(words), 4) if (part := words[first : first + 4])]


# No word twice in a text, so nothing depends on how ties are broken.
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14, unique=True).map(_sentences)


def vector(word: str) -> list[float]:
    return [float(value) for value in word_vectors(as_source("ready"), [word])[0]]


VECTORS = {word: vector(word) for word in WORDS}


@settings(max_examples=60)
@given(SENTENCES, SENTENCES)
def test_coverage_is_that_of_the_statement(text: list[list[str]], other: list[list[str]]) -> None:
    one, two = ("\n".join(" ".join(words) for words in sentences) for sentences in (text, other))
    cover = TextVectors([one, two]).cover(one, two)
    expected = [[oracle.coverage(own, words, VECTORS.__getitem__) for words in other] for own in text]
    np.testing.assert_allclose(cover.sentences, expected, atol=1e-5)
    assert (cover.sentences <= 1 + 1e-6).all()
    pairs = [[oracle.coverage(own, [*a, *b], VECTORS.__getitem__) for a, b in zip(other, other[1:])] for own in text]  # noqa: B905, RUF007
    np.testing.assert_allclose(cover.pairs, pairs if len(other) > 1 else expected, atol=1e-5)
    np.testing.assert_allclose(cover.exclusive, oracle.exclusive(text, other, VECTORS.__getitem__), atol=1e-5)


@given(SENTENCES)
def test_a_text_covers_itself(text: list[list[str]]) -> None:
    whole = "\n".join(" ".join(words) for words in text)
    cover = TextVectors([whole]).cover(whole, whole)
    np.testing.assert_allclose(np.diag(cover.sentences), 1, atol=1e-6)
