"""A store of n-gram vectors: one memory-mapped file with an index, fast to open at any size.

The file is one of `trubleu.files.arrays`. Its arrays:

================  ===============================================================================================
`hashes`          64-bit hashes of the n-grams, ascending
`hashed_rows`     the row of each hash
`ngrams_bytes`    the n-grams, concatenated as UTF-8, in row order (most frequent first, if trained)
`ngrams_begins`   the offset of each n-gram
`lengths`         the number of words of each n-gram
`counts`          how often each was seen; optional
`row_checks`      one checksum per row of the matrix
`matrix`          the vectors, row by row, in 32 or 16 bits
================  ===============================================================================================

A lookup reads the index and the requested rows only; the checksum of every row that is read is verified. Hash
collisions are resolved by comparing the n-gram itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from trubleu._version import __version__
from trubleu.errors import DataError, UsageError
from trubleu.files.arrays import ArrayFile, Kind, begins_with, write_arrays
from trubleu.files.paths import absolute
from trubleu.native import kernels
from trubleu.vectors.source import BLOCK_ROWS, checked_matrix, checked_ngrams, label_of, order_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from trubleu.files.paths import PathLike
    from trubleu.vectors.source import Matrix


_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_STRINGS: Final = 1 << 16  # hashed per batch


def hashes_of(heap: NDArray[np.uint8], begins: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each string: a weighted sum of its bytes, then mixed."""
    signed = begins.astype(np.int64)
    lengths = signed[1:] - signed[:-1]
    hashes = lengths.astype(np.uint64)
    weights = _weights(int(lengths.max(initial=0)))
    for first in range(0, len(lengths), _STRINGS):
        part = lengths[first : first + _STRINGS]
        low, high = int(begins[first]), int(begins[first + len(part)])
        starts = np.cumsum(part) - part
        filled = np.flatnonzero(part)  # np.add.reduceat cannot sum empty slices
        if len(filled):
            places = np.arange(high - low) - np.repeat(starts, part)
            terms = (heap[low:high].astype(np.uint64) + np.uint64(1)) * weights[places]
            hashes[first + filled] += np.add.reduceat(terms, starts[filled])
    return _mixed(hashes)


def row_checks(rows: NDArray[np.floating]) -> NDArray[np.uint64]:
    """Return a checksum of each row of a matrix, which changes with any single number."""
    size = rows.shape[1] * rows.itemsize
    unit = next(unit for unit in (8, 4, 2) if size % unit == 0)
    words = np.ascontiguousarray(rows).view(f"<u{unit}")
    sums: NDArray[np.uint64] = np.einsum("ij,j->i", words, _weights(words.shape[1]), dtype=np.uint64)
    return _mixed(sums)


def _texts(heap: NDArray[np.uint8], begins: NDArray[np.uint64], places: NDArray[np.int64]) -> list[bytes]:
    bounds = zip(begins[places].tolist(), begins[places + 1].tolist(), strict=True)
    return [heap.data[begin:end].tobytes() for begin, end in bounds]


def _weights(count: int) -> NDArray[np.uint64]:
    """Return a fixed odd weight per position: an odd factor makes any change of a single position detectable."""
    return _mixed(np.arange(1, count + 1, dtype=np.uint64) * _STEP) | np.uint64(1)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


SUFFIX: Final = ".store"
"""Suffix of stores; they are recognised by their first bytes, whatever the name."""

KIND: Final = Kind(
    magic=b"\x89TBV\r\n\x1a\n",
    version=1,
    name="a store of vectors",
    remedy="make it again with trubleu vectors train or convert",
)

Precision = Literal["float32", "float16"]
PRECISIONS: Final[dict[str, str]] = {"float32": "<f4", "float16": "<f2"}
Option = str | int | float | bool
_MOST_WORDS: Final = 255

_TYPES: Final = {
    "hashes": ("<u8",),
    "hashed_rows": ("<u4",),
    "ngrams_bytes": ("|u1",),
    "ngrams_begins": ("<u8",),
    "lengths": ("|u1",),
    "row_checks": ("<u8",),
    "matrix": tuple(PRECISIONS.values()),
}


def is_store(path: PathLike) -> bool:
    """Return whether a file is a store, by its first bytes or its name."""
    return str(path).lower().endswith(SUFFIX) or begins_with(path, KIND.magic)


class VectorStore:
    """N-gram vectors in a memory-mapped file; a `VectorSource`.

    Attributes
    ----------
    name
        The file's name and a checksum of what it holds, for signatures.
    dimensions
        How many numbers a vector has.
    orders
        The lengths of n-grams that it holds.
    options
        How the vectors were made: what whoever wrote the store wanted to be remembered.
    precision
        ``float32`` or ``float16``: what the file holds. What comes out has 32 bits.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.store"
    >>> VectorStore.write(path, ["do", "do not"], [[1.0, 0.0], [0.5, 0.5]], counts=[9, 4], options={"seed": 1})
    >>> store = VectorStore.open(path)
    >>> len(store), store.dimensions, store.orders, store.options
    (2, 2, (1, 2), {'seed': 1})
    >>> store.lookup(["do not", "never"]).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """

    def __init__(self, path: PathLike) -> None:
        self._file = ArrayFile(path, KIND)
        header, lengths = self._file.header, self._file.lengths
        found: list[Any] = [header.get(name) for name in ("entries", "dimensions", "orders", "options")]
        entries, dimensions, orders, options = found
        whole = isinstance(orders, list) and all(type(each) is int for each in (entries, dimensions, *orders))
        if not whole or entries < 1 or dimensions < 1 or not isinstance(options, dict):
            raise self._file.altered("its header lacks something")
        types = _TYPES | ({"counts": ("<u8",)} if "counts" in lengths else {})
        other = {"ngrams_bytes": None, "ngrams_begins": entries + 1, "matrix": entries * dimensions}
        self._file.check_layout({name: (dtypes, other.get(name, entries)) for name, dtypes in types.items()})
        self._entries: int = entries
        self.dimensions: int = dimensions
        self.orders: tuple[int, ...] | None = tuple(orders)
        self.options: dict[str, Any] = options
        self.precision = "float32" if self._file.dtype("matrix") == "<f4" else "float16"
        self.name = f"{label_of(path, 'store')}-{self._file.content}"
        self._path = absolute(path)

    @classmethod
    def open(cls, path: PathLike) -> VectorStore:
        """Open a store; takes the same time for any size.

        Raises
        ------
        DataError
            If the file cannot be read, is no store, was made by another version, or is not whole.
        """
        return cls(path)

    @staticmethod
    def write(
        path: PathLike,
        ngrams: Sequence[str],
        matrix: ArrayLike,
        *,
        counts: ArrayLike | None = None,
        orders: Sequence[int] | None = None,
        options: Mapping[str, Option] | None = None,
        dtype: Precision = "float32",
        progress: Callable[[float], object] | None = None,
    ) -> None:
        """Write a store, atomically.

        Parameters
        ----------
        path
            The file.
        ngrams
            Words joined by one space; each once. Frequent ones first, if that is known.
        matrix
            One row for each.
        counts
            How often each was seen.
        orders
            The lengths of n-grams; those that are there, if left out.
        options
            How the vectors were made.
        dtype
            ``float16`` halves the file; cosines change in the fourth decimal.
        progress
            Told which share of the file has been written.

        Raises
        ------
        DataError
            If the n-grams and the matrix cannot be used (see `MatrixSource`), or the file cannot be written.
        """
        ngrams = tuple(ngrams)
        if not ngrams:
            raise DataError("there are no n-grams to write into a store; give at least one")
        lengths = _checked_lengths(ngrams, orders)
        vectors = checked_matrix(matrix, len(ngrams), "the matrix", number_type(dtype))
        heap, begins = kernels.pack_texts(ngrams)
        hashes = hashes_of(heap, begins)
        order = np.argsort(hashes, kind="stable")
        arrays: dict[str, NDArray[Any]] = {
            "hashes": hashes[order],
            "hashed_rows": order.astype(np.uint32),
            "ngrams_bytes": heap,
            "ngrams_begins": begins,
            "lengths": lengths,
        }
        if counts is not None:
            arrays["counts"] = _checked_counts(counts, len(ngrams))
        checks = [row_checks(vectors[first : first + BLOCK_ROWS]) for first in range(0, len(vectors), BLOCK_ROWS)]
        arrays |= {"row_checks": np.concatenate(checks), "matrix": vectors.reshape(-1)}
        header = {
            "made_by": f"trubleu {__version__}",
            "entries": len(ngrams),
            "dimensions": vectors.shape[1],
            "orders": sorted(orders) if orders is not None else np.unique(lengths).tolist(),
            "options": dict(options or {}),
        }
        write_arrays(path, KIND, header, arrays, progress)

    def __len__(self) -> int:
        return self._entries

    def __reduce__(self) -> tuple[type[VectorStore], tuple[str]]:
        return VectorStore, (self._path,)  # another process maps the file itself

    def lookup(self, ngrams: Sequence[str]) -> Matrix:
        """Return one row per n-gram, zeros if it is missing."""
        rows = self.rows(ngrams)
        found = np.zeros((len(rows), self.dimensions), np.float32)
        for first in range(0, len(rows), BLOCK_ROWS):
            part = rows[first : first + BLOCK_ROWS]
            known = np.flatnonzero(part >= 0)
            found[first + known] = self._checked_rows(part[known])
        return found

    def rows(self, ngrams: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each n-gram, -1 if it is missing."""
        hashes, hashed_rows, own_heap, own_begins = self._index
        heap, begins = kernels.pack_texts(tuple(ngrams))
        wanted = hashes_of(heap, begins)
        found = np.full(len(ngrams), -1, np.int64)
        # In ascending order, the search reads memory sequentially.
        open_ones = np.argsort(wanted, kind="stable")
        places = np.searchsorted(hashes, wanted[open_ones])
        while len(open_ones):
            inside = places < len(hashes)
            open_ones, places = open_ones[inside], places[inside]
            same = hashes[places] == wanted[open_ones]
            open_ones, places = open_ones[same], places[same]
            rows = hashed_rows[places].astype(np.int64)
            pairs = zip(_texts(heap, begins, open_ones), _texts(own_heap, own_begins, rows), strict=True)
            equal = np.array([text == own for text, own in pairs], bool)
            found[open_ones[equal]] = rows[equal]
            open_ones, places = open_ones[~equal], places[~equal] + 1  # n-grams with equal hashes are adjacent
        return found

    def ngrams(self, rows: ArrayLike | None = None) -> tuple[str, ...]:
        """Return the n-grams of some rows, or all of them in order."""
        _, _, heap, begins = self._index
        try:
            if rows is None:
                return kernels.unpack_texts(heap, begins)
            found = _texts(heap, begins, np.asarray(rows, np.int64))
            return tuple(text.decode("utf-8", "surrogatepass") for text in found)
        except ValueError as error:
            raise self._file.altered("an n-gram is not UTF-8") from error

    @property
    def lengths(self) -> NDArray[np.integer]:
        """Number of words of each n-gram."""
        return self._file.array("lengths")

    @property
    def counts(self) -> NDArray[np.uint64] | None:
        """How often each n-gram was seen, or None if unknown."""
        return self._file.array("counts") if "counts" in self._file.lengths else None

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """Yield the whole matrix in blocks: the number of the first row, and the rows in 32 bits."""
        matrix = self._file.array("matrix").reshape(len(self), self.dimensions)
        for first in range(0, len(self), BLOCK_ROWS):
            block = matrix[first : first + BLOCK_ROWS].astype(np.float32)
            self._check_finite(block)
            yield first, block

    @cached_property
    def _index(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint64]]:
        """The ascending hashes, the row of each, the n-grams as bytes, and their offsets, all within range."""
        hashes, rows = self._file.array("hashes"), self._file.array("hashed_rows")
        heap, begins = self._file.array("ngrams_bytes"), self._file.array("ngrams_begins")
        rising = (hashes[:-1] <= hashes[1:]).all() and (begins[:-1] <= begins[1:]).all()
        if not rising or begins[0] != 0 or begins[-1] != len(heap) or rows.max(initial=0) >= len(self):
            raise self._file.altered("its index does not fit")
        return hashes, rows, heap, begins

    def _checked_rows(self, rows: NDArray[np.int64]) -> Matrix:
        stored = self._file.unchecked("matrix").reshape(len(self), self.dimensions)[rows]
        if not np.array_equal(row_checks(stored), self._file.unchecked("row_checks")[rows]):
            raise self._file.altered("the checksum of a vector does not fit")
        found = stored.astype(np.float32)
        self._check_finite(found)
        return found

    def _check_finite(self, matrix: Matrix) -> None:
        if not np.isfinite(matrix).all():
            raise self._file.altered("a vector has a number that is not finite")


def _checked_lengths(ngrams: tuple[str, ...], orders: Sequence[int] | None) -> NDArray[np.uint8]:
    checked_ngrams(ngrams)
    lengths = np.fromiter(map(order_of, ngrams), np.int64, len(ngrams))
    allowed = range(1, _MOST_WORDS + 1) if orders is None else tuple(orders)
    wrong = np.flatnonzero(~np.isin(lengths, allowed))
    if len(wrong):
        raise DataError(
            f"the n-gram {ngrams[wrong[0]]!r} has {lengths[wrong[0]]} words, but the store is for orders "
            + (f"up to {_MOST_WORDS}" if orders is None else ", ".join(map(str, orders)))
        )
    return lengths.astype(np.uint8)


def number_type(dtype: str) -> str:
    """Return how NumPy calls a precision.

    Raises
    ------
    UsageError
        If there is no such precision.
    """
    if dtype not in PRECISIONS:
        raise UsageError(f"dtype={dtype} is not known; known: {', '.join(PRECISIONS)}")
    return PRECISIONS[dtype]


def _checked_counts(counts: ArrayLike, rows: int) -> NDArray[np.uint64]:
    given = np.asarray(counts)
    if given.shape != (rows,) or given.dtype.kind not in "iu" or (given.dtype.kind == "i" and given.min() < 0):
        raise DataError(f"counts must be one whole number for each of {rows} n-grams")
    return given.astype("<u8")
