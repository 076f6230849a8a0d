"""Nearest neighbours of an n-gram, and the similarity of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.vectors.source import ListedSource, MatrixSource, has_separate_orders, normalised, order_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.vectors.source import Matrix, VectorSource

TOP: Final = 10
_NOT_COMPARABLE: Final = "the orders of {} were trained apart, and cosines between them mean nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An n-gram, its cosine with the query, and how often it was seen, if known."""

    ngram: str
    similarity: float
    count: int | None


def nearest(
    source: VectorSource, ngram: str, *, top: int = TOP, among: Sequence[str] | None = None
) -> tuple[Neighbour, ...]:
    """Return the n-grams with the largest cosines to another one, most similar first.

    Where each order has a model of its own, only n-grams of as many words are compared.

    Parameters
    ----------
    source
        Where the vectors come from.
    ngram
        Words joined by one space. It is not among its own neighbours.
    top
        How many.
    among
        The candidates; all n-grams of the source if left out, which ready vectors cannot list.

    Raises
    ------
    DataError
        If the source does not know the n-gram.
    UsageError
        If there are no candidates.

    Examples
    --------
    >>> source = MatrixSource(["do", "make", "do not"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> [(found.ngram, round(found.similarity, 2)) for found in nearest(source, "do")]
    [('make', 0.99), ('do not', 0.0)]
    """
    if top < 1:
        raise UsageError(f"top={top} must be at least 1")
    query = _known(source, ngram)
    listed = _candidates(source, among)
    own, order = int(listed.rows([ngram])[0]), order_of(ngram)
    comparable = listed.lengths == order if has_separate_orders(source) else np.ones(len(listed), bool)
    rows, similarities = np.zeros(0, np.int64), np.zeros(0, np.float32)
    for first, block in listed.blocks():
        places, found = _similarities(block, query)
        wanted = (first + places != own) & comparable[first + places]
        rows = np.concatenate([rows, first + places[wanted]])
        similarities = np.concatenate([similarities, found[wanted]])
        best = np.lexsort((rows, -similarities))[:top]  # ties in row order
        rows, similarities = rows[best], similarities[best]
    counts = [None] * len(rows) if listed.counts is None else listed.counts[rows].tolist()
    found_ngrams = listed.ngrams(rows)
    return tuple(
        Neighbour(ngram=ngram, similarity=similarity, count=count)
        for ngram, similarity, count in zip(found_ngrams, similarities.tolist(), counts, strict=True)
    )


def similarity(source: VectorSource, one: str, other: str) -> float:
    """Return the cosine of two n-grams.

    Raises
    ------
    DataError
        If the source does not know one of them.
    UsageError
        If they have different lengths and each length has a model of its own.

    Examples
    --------
    >>> round(similarity(MatrixSource(["do", "do not"], [[1.0, 0.0], [3.0, 4.0]]), "do", "do not"), 4)
    0.6
    """
    if has_separate_orders(source) and order_of(one) != order_of(other):
        raise UsageError(_NOT_COMPARABLE.format(source.name) + "; compare n-grams of one length")
    a, b = _known(source, one).astype(np.float64), _known(source, other).astype(np.float64)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def _known(source: VectorSource, ngram: str) -> Matrix:
    vector: Matrix = normalised(np.array(source.lookup([ngram]), np.float32))[0]
    if not vector.any():
        least = _least_count(source, len(ngram.split(" ")))
        rare = f", or it was seen fewer than {least} times in training" if least else ""
        raise DataError(
            f"{ngram!r} has no vector in {source.name}; check how it is written, also upper and lower case{rare}"
        )
    return vector


def _least_count(source: VectorSource, order: int) -> int | None:
    """Return the minimum count of an n-gram of this order in training, if known."""
    counts = str(getattr(source, "options", {}).get("min_count", "")).split(",")
    least = counts[order - 1] if len(counts) >= order else ""
    return int(least) if least.isdigit() else None


def _candidates(source: VectorSource, among: Sequence[str] | None) -> ListedSource:
    if among is not None:
        distinct = list(dict.fromkeys(among))
        if not distinct:
            raise UsageError("there are no candidates to look among; give some n-grams")
        return MatrixSource(distinct, source.lookup(distinct))
    if not isinstance(source, ListedSource):
        raise UsageError(f"{source.name} has a vector for any n-gram and no list of them; give some (--among)")
    return source


def _similarities(block: Matrix, query: Matrix) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of a block that are not zero, and their cosines with a unit vector."""
    norms = np.sqrt(np.einsum("ij,ij->i", block, block))
    places = np.flatnonzero(norms > 0)
    return places, (block @ query)[places] / norms[places]
