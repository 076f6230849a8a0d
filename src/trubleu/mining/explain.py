"""Which words made a candidate's score: what each contributed, computed from the texts themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trubleu.mining.search import FIELDS, word_frequencies
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.index import Index
    from trubleu.mining.shard import Field

Contributions: TypeAlias = "tuple[tuple[str, float], ...]"


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """The words that a seed and a candidate share, each with its contribution to BM25, the largest first.

    Attributes
    ----------
    message
        Those of the messages; the contributions add up to the message score.
    response
        Those of the responses; they add up to the response score. Empty where no response was given.
    """

    message: tuple[tuple[str, float], ...]
    response: tuple[tuple[str, float], ...]


class Explainer:
    """Takes scores apart into words.

    The kernel that searches is not asked: words are counted in the texts, and only what the whole corpus decides, how
    many triples hold a word and how long texts are on average, comes from the index.

    Parameters
    ----------
    index
        The index that was searched.
    bm25
        The formula.
    frequencies
        How many messages and responses have a word, for those of which it is known; shards are asked about others.
    """

    def __init__(self, index: Index, bm25: Bm25, frequencies: Mapping[str, tuple[int, int]] | None = None) -> None:
        self._index = index
        self._bm25 = bm25
        self._known = frequencies or {}
        self._tokenizer = tokenizer(index.tokenize)
        self._stop = frozenset(index.stop_words)
        self._mean: dict[Field, float] = {
            "message": index.message_words / len(index),
            "response": index.response_words / len(index),
        }
        self._query: dict[Field, tuple[str, dict[str, tuple[int, float]]]] = {}

    def words(self, message: str, response: str | None, found_message: str, found_response: str) -> MatchedWords:
        """Return what each word contributed to a candidate's scores.

        Parameters
        ----------
        message, response
            What was searched for.
        found_message, found_response
            What was found.
        """
        return MatchedWords(
            self._contributions("message", message, found_message),
            () if response is None else self._contributions("response", response, found_response),
        )

    def known(self, message: str) -> bool:
        """Return whether a word of a message is in some message of the index."""
        words = list(self._counts(message))
        return bool(words) and bool(self._frequencies("message", words).any())

    def _contributions(self, field: Field, query: str, text: str) -> Contributions:
        weights = self._weights(field, query)
        counts = self._counts(text)
        length = counts.total()
        norm = float(self._bm25.norm(np.array([length]), self._mean[field])[0])
        found = {
            word: times * idf * (self._bm25.scale * counts[word] / (counts[word] + norm))
            for word, (times, idf) in weights.items()
            if word in counts
        }
        return tuple(sorted(((word, each) for word, each in found.items() if each > 0), key=lambda one: -one[1]))

    def _weights(self, field: Field, query: str) -> dict[str, tuple[int, float]]:
        """Return how often each word of a query occurs in it, and its idf; those of the last query are kept."""
        kept = self._query.get(field)
        if kept is not None and kept[0] == query:
            return kept[1]
        counts = self._counts(query)
        idf = self._bm25.idf(self._frequencies(field, list(counts)), len(self._index)).tolist()
        weights = {word: (times, each) for (word, times), each in zip(counts.items(), idf, strict=True)}
        self._query[field] = query, weights
        return weights

    def _frequencies(self, field: Field, words: list[str]) -> NDArray[np.int64]:
        """Return in how many messages or responses of the whole corpus each word occurs."""
        row = FIELDS.index(field)
        if all(word in self._known for word in words):
            return np.array([self._known[word][row] for word in words], np.int64)
        found: NDArray[np.int64] = word_frequencies(self._index.shards, words)[row]
        return found

    def _counts(self, text: str) -> Counter[str]:
        (line,) = self._tokenizer.lines([text], self._index.lowercase)
        return Counter(word for word in line.split() if word not in self._stop)
