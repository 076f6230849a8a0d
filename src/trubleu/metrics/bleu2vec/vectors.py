"""N-gram vectors in the layout of the alignment kernel, cached across systems."""

from __future__ import annotations

from functools import partial
from itertools import repeat
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from weakref import WeakValueDictionary

import numpy as np

from trubleu.errors import DataError
from trubleu.native import kernels
from trubleu.vectors import AdditiveSource
from trubleu.vectors.source import checked_matrix, normalised, word_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from trubleu.vectors import VectorSource

    Matrix = NDArray[np.float32]
    Fetch = Callable[[Sequence[str]], Matrix]

NOTHING: Final = 2**32 - 1
"""Row number of an n-gram without a vector."""

LANES: Final = 8
"""The kernel requires row lengths that are a multiple of this."""

MOST_BYTES: Final = 256 * 2**20
"""Maximum size of the cached vectors; beyond it the cache is cleared."""

MOST_NAMES: Final = 2**21
"""Maximum number of cached names, with or without a vector."""

LOOKED_UP_AT_ONCE: Final = 1_024
"""Names per lookup: few enough for their vectors to stay in the CPU cache."""

SAFE_LENGTHS: Final = (1e-15, 1e15)
"""Range of vector lengths in which the squares of 32-bit floats neither underflow nor overflow."""


class Rows(NamedTuple):
    """A matrix, and the row number of each word or n-gram.

    Attributes
    ----------
    matrix, numbers
        The rows, and their numbers.
    additive
        Whether they are those of words, whose sums are the vectors of n-grams.
    """

    matrix: Matrix
    numbers: NDArray[np.uint32]
    additive: bool


class RowStore:
    """Cache of rows, in one matrix.

    Parameters
    ----------
    dimensions
        The length of a vector; rows are filled up with zeros.
    fetch
        Returns the rows of names, of zeros for unknown ones.
    unit
        Divide each row by its length.
    what
        What the rows are called in messages.
    most_bytes
        How large the matrix may grow before everything is forgotten. One call may need more, and gets it.
    """

    def __init__(
        self,
        dimensions: int,
        fetch: Fetch,
        *,
        unit: bool = False,
        what: str = "what was looked up",
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._width = -(-dimensions // LANES) * LANES
        self._dimensions = dimensions
        self._fetch = fetch
        self._unit = unit
        self._what = what
        self._most_rows = most_bytes // (4 * self._width)
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        # Never overwritten: rows of an older matrix may still be in use.
        self._matrix = np.zeros((0, self._width), np.float32)
        self._used = 0

    def _is_full(self, known: int, missing: int) -> bool:
        """Return whether the cache must be cleared to make room."""
        return known > 0 and (self._used + missing > self._most_rows or known + missing > MOST_NAMES)

    def _add(self, names: Sequence[str]) -> NDArray[np.uint32]:
        """Look up names and return their rows."""
        wanted = self._used + len(names)
        if wanted > len(self._matrix):
            # Allocated at the maximum size: unwritten memory is not committed, and nothing is copied later.
            larger = np.empty((max(wanted, self._most_rows), self._width), np.float32)
            larger[: self._used] = self._matrix[: self._used]
            self._matrix = larger
        numbers = np.full(len(names), NOTHING, np.uint32)
        for first in range(0, len(names), LOOKED_UP_AT_ONCE):
            rows, lengths = self._fetched(names[first : first + LOOKED_UP_AT_ONCE])
            there = np.flatnonzero(lengths)
            if len(there) < len(rows):
                rows, lengths = rows[there], lengths[there]
            kept = self._matrix[self._used : self._used + len(there)]
            np.divide(rows, lengths[:, np.newaxis], out=kept[:, : self._dimensions])
            kept[:, self._dimensions :] = 0
            numbers[first + there] = np.arange(self._used, self._used + len(there))
            self._used += len(there)
        return numbers

    def _fetched(self, names: Sequence[str]) -> tuple[Matrix, NDArray[np.float32]]:
        """Return rows and their divisors: 0 for rows of zeros, 1 for rows that stay unscaled."""
        rows = np.asarray(self._fetch(names))
        if rows.dtype != np.float32 or rows.shape != (len(names), self._dimensions):
            rows = checked_matrix(rows, len(names), self._what)
            if rows.shape[1] != self._dimensions:
                raise DataError(
                    f"{self._what} has {rows.shape[1]} columns, but {self._dimensions} were expected; "
                    "make all vectors equally long"
                )
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            lengths: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        low, high = SAFE_LENGTHS
        if not np.all((lengths > low) & (lengths < high)):  # also if one of its numbers is not finite
            rows = checked_matrix(rows, len(rows), self._what)
            if self._unit:
                rows = normalised(np.array(rows))  # a copy: the source may still use its own
            elif np.any(lengths >= high):
                raise DataError(f"{self._what} has vectors longer than {high:g}; divide all vectors by a constant")
            lengths = np.any(rows, axis=1).astype(np.float32)
            return rows, lengths
        return rows, lengths if self._unit else np.ones_like(lengths)


class WordRows(RowStore):
    """Rows of words.

    Examples
    --------
    >>> rows = WordRows(2, lambda names: np.array([[len(name), 1] for name in names], np.float32))
    >>> matrix, numbers, _ = rows.find(["do", "not"])
    >>> matrix[numbers, :2].tolist()
    [[2.0, 1.0], [3.0, 1.0]]
    """

    def _forget(self) -> None:
        super()._forget()
        self._numbers: dict[str, int] = {}
        self._squares = np.zeros(0, np.float32)

    def find(self, names: Sequence[str]) -> Rows:
        """Return the rows of distinct names."""
        with self._lock:
            numbers = self._find(names)  # may replace the matrix
            return Rows(self._matrix, numbers, additive=True)

    def find_with_squares(self, names: Sequence[str]) -> tuple[Matrix, NDArray[np.float32], NDArray[np.uint32]]:
        """Return all rows, their squares, and the row numbers of distinct names."""
        with self._lock:
            numbers = self._find(names)
            if len(self._squares) < self._used:
                added = kernels.row_squares(self._matrix[len(self._squares) : self._used])
                self._squares = np.concatenate([self._squares, added])
            return self._matrix, self._squares, numbers

    def _find(self, names: Sequence[str]) -> NDArray[np.uint32]:
        numbers = np.fromiter(map(self._numbers.get, names, repeat(-1)), np.int64, len(names))
        missing = np.flatnonzero(numbers < 0)
        if self._is_full(len(self._numbers), len(missing)):
            self._forget()
            missing = np.arange(len(names))
        if len(missing):
            added = [names[i] for i in missing.tolist()]
            numbers[missing] = self._add(added)
            self._numbers.update(zip(added, numbers[missing].tolist(), strict=True))
        return numbers.astype(np.uint32)


class NGramRows(RowStore):
    """Rows of n-grams; there are so many that only new ones become Python strings."""

    def _forget(self) -> None:
        super()._forget()
        self._names = kernels.SoftNames()

    def find(self, given: kernels.SoftSlice, first_only: bool) -> Rows:
        """Return the rows of all unmatched n-grams of a slice."""
        with self._lock:
            known = len(self._names)
            try:
                missing = given.new_ngrams(self._names, first_only)
                if self._is_full(known, len(missing)):
                    self._forget()
                    missing = given.new_ngrams(self._names, first_only)
                self._names.settle(self._add(missing))
            except BaseException:  # otherwise names without rows would look known
                self._forget()
                raise
            return Rows(self._matrix, given.rows(self._names), additive=False)


class SoftVectors:
    """A vector source with a cache of lookups.

    Attributes
    ----------
    source
        The source.
    additive
        Whether n-grams can be compared through the products of their words.
    """

    def __init__(self, source: VectorSource) -> None:
        self.source = source
        self.additive = isinstance(source, AdditiveSource)
        self._odd_words: set[str] = set()
        what = f"what {source.name} returned"
        self._units = NGramRows(source.dimensions, source.lookup, unit=True, what=what)
        self._sums = WordRows(source.dimensions, partial(_fetch_sums, source, self._odd_words), what=what)
        self._words = WordRows(source.dimensions, partial(word_vectors, source), what=what)

    def __reduce__(self) -> tuple[Callable[[VectorSource], SoftVectors], tuple[VectorSource]]:
        return soft_vectors, (self.source,)  # the cache can be rebuilt

    def ngrams(self, given: kernels.SoftSlice, *, first_only: bool) -> Rows:
        """Return unit-length rows for the n-grams of a slice that remain after exact matching."""
        return self._units.find(given, first_only)

    def word_rows(self, words: Sequence[str]) -> tuple[Matrix, NDArray[np.float32], NDArray[np.uint32]]:
        """Return unnormalised word vectors, their squared lengths, and each word's row."""
        return self._words.find_with_squares(words)

    def words(self, words: Sequence[str]) -> tuple[Rows, NDArray[np.uint8] | None]:
        """Return rows whose sums are the vectors of n-grams, and a 1 for each word for which that fails, if any."""
        rows = self._sums.find(words)
        odd = self._odd_words
        if odd.isdisjoint(words):
            return rows, None
        return rows, np.fromiter((word in odd for word in words), np.uint8, len(words))


def _fetch_sums(source: VectorSource, odd_words: set[str], words: Sequence[str]) -> Matrix:
    sums, holds = cast("AdditiveSource", source).word_sums(words)
    odd_words.update(words[i] for i in np.flatnonzero(~np.asarray(holds)).tolist())
    return sums


_shared: WeakValueDictionary[int, SoftVectors] = WeakValueDictionary()
_latest: list[SoftVectors] = []  # kept alive between calls


def soft_vectors(source: VectorSource) -> SoftVectors:
    """Return the cached lookups of a source, shared by all metrics."""
    found = _shared.get(id(source))
    if found is None:
        found = _shared[id(source)] = SoftVectors(source)
    _latest[:] = [found]
    return found
