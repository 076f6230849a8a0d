"""Words of texts with their vectors, looked up once for all texts, and how far texts cover each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.checks.sentences import Sentence, sentences
from trubleu.text.words import split
from trubleu.vectors import as_source
from trubleu.vectors.source import word_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from trubleu.vectors import AnySource

SHIFT: Final = 0.15
"""The cosine up to which words are unlike."""

_ONE_THREAD: Final = 1 << 18
"""Multiplications that OpenBLAS does on one thread."""

_MOST_COVERS: Final = 64
"""Comparisons that are kept: those of an output with many references."""

_WORD: Final = re.compile(r"\w")


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a text, lower-cased, without punctuation and list marks.

    Attributes
    ----------
    words
        The words.
    starts
        Where each begins in the text.
    ids
        The number of each word among all words.
    sentences
        The sentences that have words.
    firsts
        The first word of each sentence.
    """

    words: tuple[str, ...]
    starts: NDArray[np.int64]
    ids: NDArray[np.int64]
    sentences: tuple[Sentence, ...]
    firsts: NDArray[np.int64]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many words each sentence has."""
        return np.diff(self.firsts, append=len(self.words))

    @cached_property
    def sentence_of(self) -> NDArray[np.int64]:
        """The sentence of each word."""
        return np.repeat(np.arange(len(self.sentences)), self.counts)

    def between(self, start: int, end: int) -> slice:
        """Return which words begin in a part of the text."""
        first, last = np.searchsorted(self.starts, (start, end)).tolist()
        return slice(first, last)


class TextVectors:
    """Words of many texts, with vectors of length 1 and weights.

    A word weighs as much as its vector is long, so rare, telling words weigh more.

    Parameters
    ----------
    texts
        All texts that will be compared.
    source
        Vectors of words.
    """

    def __init__(self, texts: Iterable[str], source: AnySource = "ready") -> None:
        ids: dict[str, int] = {}
        self._texts: dict[str, Words] = {text: _words(text, ids) for text in dict.fromkeys(texts)}
        self._covers: dict[tuple[str, str], Cover] = {}
        rows = word_vectors(as_source(source), list(ids)).astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1)
        known = lengths > 0
        mean = float(lengths[known].mean()) if known.any() else 1.0
        self.weights: NDArray[np.floating[Any]] = np.where(known, lengths, mean).astype(np.float32)
        self.rows: NDArray[np.floating[Any]] = rows / np.where(known, lengths, 1)[:, None]

    def words(self, text: str) -> Words:
        """Return the words of one of the texts."""
        return self._texts[text]

    def cover(self, text: str, other: str) -> Cover:
        """Compare two of the texts; several checks ask for the same comparison."""
        found = self._covers.get((text, other))
        if found is None:
            if len(self._covers) == _MOST_COVERS:
                self._covers.clear()
            found = self._covers[text, other] = Cover(self.words(text), self.words(other), self)
        return found


class Cover:
    """How far a text is covered by another one, word by word.

    Parameters
    ----------
    words, other
        The words of both.
    vectors
        Their vectors.

    Attributes
    ----------
    similarity
        How similar each word is to each word of the other text: 0 up to a cosine of `SHIFT`, 1 if equal.
    """

    def __init__(self, words: Words, other: Words, vectors: TextVectors) -> None:
        self.words, self.other = words, other
        self.weights = vectors.weights[words.ids]
        cosines = products(vectors.rows[words.ids], vectors.rows[other.ids])
        self.similarity: NDArray[np.floating[Any]] = np.maximum((cosines - SHIFT) / (1 - SHIFT), 0)
        self.similarity[words.ids[:, None] == other.ids[None, :]] = 1

    @cached_property
    def _nearest(self) -> NDArray[np.floating[Any]]:
        """How similar the most similar word of each other sentence is to each word."""
        return np.maximum.reduceat(self.similarity, self.other.firsts, axis=1)

    @cached_property
    def sentences(self) -> NDArray[np.floating[Any]]:
        """What share of each sentence each other sentence covers."""
        sums = np.add.reduceat(self._nearest * self.weights[:, None], self.words.firsts, axis=0)
        return sums / np.add.reduceat(self.weights, self.words.firsts)[:, None]

    @cached_property
    def pairs(self) -> NDArray[np.floating[Any]]:
        """What share of each sentence two neighbouring sentences of the other text cover."""
        if len(self.other.sentences) < 2:
            return self.sentences
        nearest = np.maximum(self._nearest[:, 1:], self._nearest[:, :-1])
        sums = np.add.reduceat(nearest * self.weights[:, None], self.words.firsts, axis=0)
        return sums / np.add.reduceat(self.weights, self.words.firsts)[:, None]

    @cached_property
    def exclusive(self) -> NDArray[np.floating[Any]]:
        """What share of each sentence is covered if every word of the other text covers one sentence only.

        A word of the other text goes to the sentence that has the most similar word, and that is most similar as a
        whole to the sentence in which the word stands.
        """
        own = np.maximum.reduceat(self.similarity, self.words.firsts, axis=0)
        goes_to = np.argmax(own + self.sentences[:, self.other.sentence_of] / 2, axis=0)
        kept = np.where(goes_to[None, :] == self.words.sentence_of[:, None], self.similarity, 0)
        sums = np.add.reduceat(kept.max(axis=1) * self.weights, self.words.firsts)
        return sums / np.add.reduceat(self.weights, self.words.firsts)


def products(one: NDArray[np.floating[Any]], other: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return the product of each row of one matrix with each row of another, on one thread.

    Small products are not worth threads, and wait for them on a busy machine.
    """
    rows = max(1, _ONE_THREAD // max(1, other.size))
    result: NDArray[np.floating[Any]] = np.empty((len(one), len(other)), np.float32)
    for first in range(0, len(one), rows):
        result[first : first + rows] = one[first : first + rows] @ other.T
    return result


def _words(text: str, ids: dict[str, int]) -> Words:
    words, starts, at = [], [], 0
    for token in split(text):
        at = text.index(token, at)
        if _WORD.search(token):
            words.append(token.lower())
            starts.append(at)
        at += len(token)
    parts = sentences(text)
    place = np.array(starts, np.int64)
    part_of = np.searchsorted([part.start for part in parts], place, side="right") - 1
    ends = np.array([part.end for part in parts] or [0], np.int64)
    inside = (part_of >= 0) & (place < ends[part_of]) if parts else np.zeros(len(place), bool)
    used, firsts = np.unique(part_of[inside], return_index=True)
    kept = [word for word, keep in zip(words, inside.tolist(), strict=True) if keep]
    numbers = np.array([ids.setdefault(word, len(ids)) for word in kept], np.int64)
    return Words(tuple(kept), place[inside], numbers, tuple(parts[number] for number in used.tolist()), firsts)
