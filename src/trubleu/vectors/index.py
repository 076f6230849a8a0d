"""Finding n-grams in a heap of bytes by stored hashes, thousands at a time, without making strings of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_STRINGS: Final = 1 << 16  # hashed at once


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramIndex:
    """Sorted hashes, and the n-grams they were made of.

    Attributes
    ----------
    hashes
        In rising order.
    rows
        The n-gram that each hash belongs to.
    heap
        All n-grams as bytes, one after the other.
    begins
        Where each begins, and the end.
    """

    hashes: NDArray[np.uint64]
    rows: NDArray[np.uint32]
    heap: NDArray[np.uint8]
    begins: NDArray[np.uint64]

    def is_sound(self) -> bool:
        """Return whether nothing in it points outside."""
        hashes, begins = self.hashes, self.begins
        rising = bool((hashes[:-1] <= hashes[1:]).all()) and bool((begins[:-1] <= begins[1:]).all())
        whole = bool(begins[0] == 0) and bool(begins[-1] == len(self.heap))
        return rising and whole and int(self.rows.max(initial=0)) < len(begins) - 1

    def find(self, ngrams: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the row of each n-gram, -1 if it is not there."""
        heap, begins = kernels.pack_texts(ngrams)
        wanted = hashes_of(heap, begins)
        found = np.full(len(ngrams), -1, np.int64)
        # In rising order the search walks through memory instead of jumping about.
        open_ones = np.argsort(wanted, kind="stable")
        places = np.searchsorted(self.hashes, wanted[open_ones])
        while len(open_ones):
            inside = places < len(self.hashes)
            open_ones, places = open_ones[inside], places[inside]
            same = self.hashes[places] == wanted[open_ones]
            open_ones, places = open_ones[same], places[same]
            rows = self.rows[places].astype(np.int64)
            equal = _equal_texts(heap, begins, open_ones, self.heap, self.begins, rows)
            found[open_ones[equal]] = rows[equal]
            open_ones, places = open_ones[~equal], places[~equal] + 1  # two n-grams of one hash lie side by side
        return found


def sorted_hashes(heap: NDArray[np.uint8], begins: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the hashes of strings in rising order, and which string each belongs to."""
    hashes = hashes_of(heap, begins)
    order = np.argsort(hashes, kind="stable")
    return hashes[order], order.astype(np.uint32)


def hashes_of(heap: NDArray[np.uint8], begins: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each string: a sum of its bytes with a weight for each place, then mixed."""
    signed = begins.astype(np.int64)
    lengths = signed[1:] - signed[:-1]
    hashes = lengths.astype(np.uint64)
    weights = _weights(int(lengths.max(initial=0)))
    for first in range(0, len(lengths), _STRINGS):
        part = lengths[first : first + _STRINGS]
        low, high = int(begins[first]), int(begins[first + len(part)])
        starts = np.cumsum(part) - part
        filled = np.flatnonzero(part)  # np.add.reduceat cannot add up nothing
        if len(filled):
            places = np.arange(high - low) - np.repeat(starts, part)
            terms = (heap[low:high].astype(np.uint64) + np.uint64(1)) * weights[places]
            hashes[first + filled] += np.add.reduceat(terms, starts[filled])
    return _mixed(hashes)


def row_checks(rows: NDArray[np.floating]) -> NDArray[np.uint64]:
    """Return a checksum of each row of a matrix, which changes whenever a single number of it does."""
    size = rows.shape[1] * rows.itemsize
    unit = next(unit for unit in (8, 4, 2) if size % unit == 0)
    words = np.ascontiguousarray(rows).view(f"<u{unit}")
    sums: NDArray[np.uint64] = np.einsum("ij,j->i", words, _weights(words.shape[1]), dtype=np.uint64)
    return _mixed(sums)


def _equal_texts(
    heap: NDArray[np.uint8],
    begins: NDArray[np.uint64],
    texts: NDArray[np.int64],
    other_heap: NDArray[np.uint8],
    other_begins: NDArray[np.uint64],
    others: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which strings of one heap are equal to those of another, byte by byte."""
    from_, to = begins[texts].astype(np.int64), begins[texts + 1].astype(np.int64)
    other_from, other_to = other_begins[others].astype(np.int64), other_begins[others + 1].astype(np.int64)
    lengths = to - from_
    equal: NDArray[np.bool_] = lengths == other_to - other_from
    compared = np.flatnonzero(equal & (lengths > 0))
    if len(compared):
        sizes = lengths[compared]
        starts = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) - np.repeat(starts, sizes)
        mine = heap[places + np.repeat(from_[compared], sizes)]
        theirs = other_heap[places + np.repeat(other_from[compared], sizes)]
        equal[compared] = np.logical_and.reduceat(mine == theirs, starts)
    return equal


def _weights(count: int) -> NDArray[np.uint64]:
    """Return a fixed odd number for each place: with an odd factor no change of a single place goes unnoticed."""
    return _mixed(np.arange(1, count + 1, dtype=np.uint64) * _STEP) | np.uint64(1)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
