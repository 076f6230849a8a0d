"""What the alignment kernel takes and gives: slices of segments, and pairs of aligned n-grams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.metrics.bleu2vec.vectors import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trubleu.metrics.bleu2vec.vectors import Rows
    from trubleu.native import kernels


SLICE_TEXTS: Final = 4_096
"""Texts whose n-grams are looked up together; all of their vectors are in memory at once."""

WORTH_THREADS: Final = 200
"""Number of texts from which threads pay off."""


class AlignedNgrams(NamedTuple):
    """An n-gram of an output, and the n-gram of a reference aligned with it.

    Attributes
    ----------
    reference
        The reference's place among the segment's, from 0.
    order
        How many words the two have.
    position, reference_position
        Where they begin, in tokens from 0.
    exact
        Whether they are equal.
    similarity
        1 if they are equal, otherwise less.
    """

    reference: int
    order: int
    position: int
    reference_position: int
    exact: bool
    similarity: float

    @classmethod
    def of(cls, places: NDArray[Any], similarities: NDArray[np.float64]) -> tuple[AlignedNgrams, ...]:
        """Return pairs from a kernel's arrays: the first five fields, and the similarities."""
        return tuple(
            cls(reference, order, position, other, bool(exact), similarity)
            for (reference, order, position, other, exact), similarity in zip(
                places.tolist(), similarities.tolist(), strict=True
            )
        )


def unknown_words(given: kernels.SoftSlice, vectors: Rows) -> tuple[int, int]:
    """Return how many words of a slice were looked up, and how many of them have no vector."""
    if vectors.additive:
        return len(vectors.numbers), int(np.count_nonzero(vectors.numbers == NOTHING))
    return given.unknown_words(vectors.numbers)


def positions(offsets: NDArray[np.int64], segments: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of all references of some segments.

    Examples
    --------
    >>> positions(np.array([0, 2, 3, 6]), np.array([0, 2])).tolist()
    [0, 1, 3, 4, 5]
    """
    return np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in segments.tolist()])


def slices(offsets: NDArray[np.int64], most: int | None = None) -> Iterator[tuple[int, int]]:
    """Split segments into runs of at most `SLICE_TEXTS` texts, but at least one segment.

    Examples
    --------
    >>> list(slices(np.array([0, 3000, 4000, 9000, 9001])))
    [(0, 2), (2, 3), (3, 4)]
    """
    texts = offsets + np.arange(len(offsets))
    most = SLICE_TEXTS if most is None else most
    first = 0
    while first + 1 < len(offsets):
        last = int(np.searchsorted(texts, texts[first] + most, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
