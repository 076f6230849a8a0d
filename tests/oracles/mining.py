"""Mining stated plainly: every row is scored, one after the other."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Row(NamedTuple):
    """A triple without its context."""

    id: str
    message: str
    response: str


class Found(NamedTuple):
    """A row that was found for a query."""

    query: int
    row: int
    score: float
    message_score: float
    response_score: float


def folded(text: str) -> str:
    """Return a text without regard to case and white space."""
    return " ".join(text.casefold().split())


def idf(variant: str, frequency: int, documents: int) -> float:
    """Return how much a word counts that some of the documents have."""
    if frequency == 0:
        return 0.0
    if variant == "lucene":
        return math.log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5))
    if variant == "robertson":
        return max(0.0, math.log((documents - frequency + 0.5) / (frequency + 0.5)))
    if variant == "atire":
        return math.log(documents / frequency)
    raise ValueError(variant)


def bm25_scores(
    query: Sequence[str], documents: Sequence[Sequence[str]], variant: str, k1: float, b: float
) -> list[float]:
    """Return the BM25 score of every document."""
    if not documents:
        return []
    mean = sum(map(len, documents)) / len(documents)
    bags = [Counter(document) for document in documents]
    scale = k1 + 1.0 if variant == "atire" else 1.0
    weights = {
        word: count * idf(variant, sum(word in bag for bag in bags), len(documents))
        for word, count in Counter(query).items()
    }
    scores = []
    for document, bag in zip(documents, bags, strict=True):
        score = 0.0
        for word, weight in weights.items():
            if tf := bag[word]:
                norm = k1 * ((1.0 - b) + b * len(document) / mean)
                score += weight * (scale * tf / (tf + norm))
        scores.append(score)
    return scores


class Columns:
    """Documents of which `bm25_scores` is known at once, bit for bit: one column of counts a word."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._lengths = np.array([len(document) for document in documents], np.float64)
        columns: dict[str, tuple[list[int], list[int]]] = {}
        for row, document in enumerate(documents):
            for word, count in Counter(document).items():
                rows, counts = columns.setdefault(word, ([], []))
                rows.append(row)
                counts.append(count)
        self._columns = {
            word: (np.array(rows), np.array(counts, np.float64)) for word, (rows, counts) in columns.items()
        }

    def scores(self, query: Sequence[str], variant: str, k1: float, b: float) -> list[float]:
        """Return the BM25 score of every document."""
        documents = len(self._lengths)
        norm = k1 * ((1.0 - b) + b * self._lengths / (float(self._lengths.sum()) / documents))
        scale = k1 + 1.0 if variant == "atire" else 1.0
        scores = np.zeros(documents)
        for word, count in Counter(query).items():
            if word in self._columns:
                rows, tf = self._columns[word]
                scores[rows] += count * idf(variant, len(rows), documents) * (scale * tf / (tf + norm[rows]))
        return list(map(float, scores))


def mined(
    rows: Sequence[Row],
    queries: Sequence[tuple[str, str | None]],
    split: Callable[[str], list[str]],
    *,
    variant: str = "lucene",
    k1: float = 1.2,
    b: float = 0.75,
    alpha: float = 0.5,
    epsilon: float = 0.1,
    top: int = 15,
    columns: tuple[Columns, Columns] | None = None,
) -> list[Found]:
    """Return the best rows of every query; ``columns`` are the rows' messages and responses, to save time."""
    documents = [split(row.message) for row in rows], [split(row.response) for row in rows]

    def scores_of(field: int, query: str) -> list[float]:
        if columns:
            return columns[field].scores(split(query), variant, k1, b)
        return bm25_scores(split(query), documents[field], variant, k1, b)

    found = []
    for number, (message, response) in enumerate(queries):
        message_scores = scores_of(0, message)
        response_scores = scores_of(1, response or "")
        scores = [
            first * (alpha * second + (1.0 - alpha) * epsilon)
            for first, second in zip(message_scores, response_scores, strict=True)
        ]
        seen = set() if response is None else {folded(response)}
        kept = 0
        for row in sorted(range(len(rows)), key=lambda row: (-scores[row], row)):
            if kept == top or not scores[row] > 0:
                break
            text = folded(rows[row].response)
            if text in seen:
                continue
            seen.add(text)
            kept += 1
            found.append(Found(number, row, scores[row], message_scores[row], response_scores[row]))
    return found
