"""The vector source protocol, and the sources that need no file format.

An n-gram is its words joined by one space. Tokens never contain white space, so the joiner is unambiguous. A source
turns n-grams into rows of a matrix; a row of zeros means that the n-gram is unknown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable
from weakref import WeakValueDictionary

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.files.compression import without_suffix
from trubleu.files.paths import base_name, is_file, is_remote, is_standard
from trubleu.files.ranges import state_of
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from trubleu.files.paths import PathLike

    Matrix = NDArray[np.float32]


BLOCK_ROWS: Final = 1 << 14
"""Rows per block of a large matrix."""

_SAFE_NORMS: Final = (1e-15, 1e15)  # range in which squares of 32-bit floats neither underflow nor overflow
_CHUNK: Final = 4096  # segments per batch: their rows stay in the CPU cache


def order_of(ngram: str) -> int:
    """Return the number of words of an n-gram.

    Examples
    --------
    >>> order_of("do not like"), order_of("like")
    (3, 1)
    """
    return ngram.count(" ") + 1


def normalised(matrix: Matrix) -> Matrix:
    """Normalise each row to length 1, in place if writable; rows of zeros stay.

    Examples
    --------
    >>> normalised(np.array([[3, 4], [0, 0]], np.float32)).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    result = np.require(matrix, np.float32, ["C", "W"])
    with np.errstate(over="ignore", under="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", result, result))
    low, high = _SAFE_NORMS
    odd = np.flatnonzero(~((norms > low) & (norms < high)))
    if len(odd):
        exact = result[odd].astype(np.float64)
        lengths = np.linalg.norm(exact, axis=1, keepdims=True)
        result[odd] = np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0)
        norms[odd] = 1
    result /= norms[:, None]
    return result


def number_words(parts: Iterable[Sequence[str]]) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct words of lists of words, the number of every word, and the lengths of the lists.

    Examples
    --------
    >>> number_words([["a", "b"], ["b"]])
    (['a', 'b'], array([0, 1, 1]), array([2, 1]))
    """
    numbers: dict[str, int] = {}
    rows: list[int] = []
    lengths: list[int] = []
    for words in parts:
        rows += [numbers.setdefault(word, len(numbers)) for word in words]
        lengths.append(len(words))
    return list(numbers), np.array(rows, np.int64), np.array(lengths, np.int64)


def segment_sums(matrix: NDArray[np.floating], rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> Matrix:
    """Return the sum of the given matrix rows per segment, added from left to right in 32 bits.

    Examples
    --------
    >>> matrix = np.array([[1, 0], [0, 1]], np.float32)
    >>> segment_sums(matrix, np.array([0, 1, 1]), np.array([2, 0, 1])).tolist()
    [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    """
    sums = np.zeros((len(lengths), matrix.shape[1]), np.float32)
    begins = np.cumsum(lengths) - lengths
    for first in range(0, len(lengths), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        part, begin, length = sums[chunk], begins[chunk], lengths[chunk]
        # Position by position: faster than np.add.reduceat, with a well-defined order of additions.
        for position in range(int(length.max(initial=0))):
            there = np.flatnonzero(length > position)
            part[there] += matrix[rows[begin[there] + position]].astype(np.float32, copy=False)
    return sums


def short_checksum(*arrays: NDArray[np.generic]) -> str:
    """Return a checksum of eight hexadecimal digits.

    Examples
    --------
    >>> short_checksum(np.zeros(2)) == short_checksum(np.zeros(2)), len(short_checksum(np.zeros(2)))
    (True, 8)
    """
    sums = [kernels.checksum(np.ascontiguousarray(array).reshape(-1).view(np.uint8)) for array in arrays]
    return f"{kernels.checksum(np.array(sums, '<u8').view(np.uint8)):016x}"[:8]


def checked_matrix(matrix: ArrayLike, rows: int, what: str, dtype: str = "<f4") -> NDArray[Any]:
    """Validate a matrix of vectors and return it as numbers of this type; via 32 bits, unless it has that type."""
    try:
        given = np.asarray(matrix)
        kinds = (dtype,) if given.dtype == dtype else ("<f4", dtype)
        with np.errstate(over="ignore"):
            for kind in kinds if given.dtype.kind in "fiub" else ():
                given = np.ascontiguousarray(given, kind)
    except (TypeError, ValueError):
        given = np.asarray(None)
    if given.dtype != dtype:
        raise DataError(f"{what} does not consist of numbers; give one row of numbers for each n-gram")
    if given.ndim != 2 or given.shape[0] != rows or not given.shape[1]:
        raise DataError(f"{what} has the shape {given.shape}, but one row for each of {rows} n-grams is needed")
    for first in range(0, rows, BLOCK_ROWS):
        wrong = np.flatnonzero(~np.isfinite(given[first : first + BLOCK_ROWS]).all(axis=1))
        if len(wrong):
            use = "use zeros for what is unknown" if dtype == "<f4" else "it may be too large for float16: use float32"
            raise DataError(f"{what} has a number that is not finite in row {first + wrong[0] + 1}; {use}")
    return given


def checked_ngrams(ngrams: Sequence[str]) -> dict[str, int]:
    """Return the index of every n-gram; raise an error for invalid or repeated ones."""
    rows: dict[str, int] = {}
    for row, ngram in enumerate(ngrams):
        if not isinstance(ngram, str) or not ngram or "" in ngram.split(" "):
            raise DataError(f"n-gram {row + 1} is {ngram!r}, but must be words joined by one space")
        if rows.setdefault(ngram, row) != row:
            raise DataError(f"the n-gram {ngram!r} is there twice, as {rows[ngram] + 1} and as {row + 1}; keep one")
    return rows


READY: Final = "ready"
"""Name of the vectors that the extra ``trubleu[ready]`` installs."""


@runtime_checkable
class VectorSource(Protocol):
    """The interface of vector sources: maps n-grams to vectors.

    Any object with these four members is a source; no subclassing is needed.
    """

    @property
    def name(self) -> str:
        """Name for signatures, such as ``ready:l2_supercat_256-1a2b3c4d``."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        ...

    @property
    def orders(self) -> tuple[int, ...] | None:
        """The n-gram lengths it may know; None for any."""
        ...

    def lookup(self, ngrams: Sequence[str]) -> Matrix:
        """Return one row per n-gram, zeros if it is unknown. Rows may have any length."""
        ...


@runtime_checkable
class AdditiveSource(VectorSource, Protocol):
    """A source whose n-gram vectors are, up to their length, sums over the words.

    Comparing many n-grams then needs only the products of words: the product of two n-grams is the sum of the products
    of their words.
    """

    def word_sums(self, words: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        """Return one row per word, and for which words the sums hold.

        For n-grams whose words all hold, ``lookup`` returns the normalised sum of the words' rows (up to rounding to 32
        bits). For all others, use ``lookup``.
        """
        ...


@runtime_checkable
class ListedSource(VectorSource, Protocol):
    """A source that can list all of its n-grams: a store, or n-grams and their matrix."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> NDArray[np.integer]:
        """Number of words of each n-gram."""
        ...

    @property
    def counts(self) -> NDArray[np.uint64] | None:
        """How often each n-gram was seen, or None if unknown."""
        ...

    def rows(self, ngrams: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each n-gram, -1 if it is missing."""
        ...

    def ngrams(self, rows: ArrayLike | None = None) -> tuple[str, ...]:
        """Return the n-grams of some rows, or all of them in order."""
        ...

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """Yield the whole matrix in blocks: the number of the first row, and the rows in 32 bits."""
        ...


AnySource: TypeAlias = "VectorSource | PathLike | tuple[Sequence[str], ArrayLike] | Callable[[list[str]], ArrayLike]"
"""Anything that `as_source` accepts."""

_opened: WeakValueDictionary[tuple[object, ...], VectorSource] = WeakValueDictionary()


def as_source(anything: AnySource) -> VectorSource:
    """Convert a path, a name, a matrix or a function to a vector source.

    Parameters
    ----------
    anything
        A source; ``"ready"``; the path of a store, of a word2vec or fastText file (text or binary, plain or
        compressed), or of a folder with ``tokenizer.json`` and ``model.safetensors``; a pair of n-grams and their
        matrix; or a function from a list of n-grams to a matrix. A file that is still in use is not opened again.

    Raises
    ------
    DataError
        If there are no vectors, or they cannot be used.
    MissingExtraError
        If a package is missing that these vectors need.

    Examples
    --------
    >>> source = as_source((["do", "do not"], [[1.0, 0.0], [0.0, 2.0]]))
    >>> source.name, source.dimensions, source.orders
    ('matrix:2x2-4037a4e0', 2, (1, 2))
    >>> source.lookup(["do not", "never"]).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    if isinstance(anything, str | os.PathLike):
        return _open(anything)
    if isinstance(anything, VectorSource):
        return anything
    if isinstance(anything, tuple) and len(anything) == 2:
        return MatrixSource(*anything)
    if callable(anything):
        return CallableSource(anything)
    raise UsageError(
        f"vectors cannot be a {type(anything).__name__}; give {READY!r}, a path, a pair of n-grams and their matrix, "
        "a function or a source"
    )


def _open(path: PathLike) -> VectorSource:
    from trubleu.vectors.ready import SubwordVectors, ready_vectors

    if os.fspath(path) == READY:
        return ready_vectors()
    key = _identity(path)
    source = _opened.get(key) if key else None
    if source is None:
        if not is_remote(path) and Path(path).is_dir():
            source = SubwordVectors.read(path)
        else:
            from trubleu.vectors.store import VectorStore, is_store
            from trubleu.vectors.word2vec import read_word2vec

            source = VectorStore.open(path) if is_store(path) else read_word2vec(path)
        if key:
            _opened[key] = source
    return source


def _identity(path: PathLike) -> tuple[object, ...] | None:
    """Return the state of a file, to detect changes; None for folders and pipes, which are always read again."""
    try:
        return (os.fspath(path), *state_of(os.fspath(path))) if is_file(path) else None
    except (OSError, ValueError):  # opening it reports the error
        return None


class MatrixSource:
    """N-grams and their matrix, in memory.

    Parameters
    ----------
    ngrams
        Words joined by one space; each once.
    matrix
        One row for each.
    label
        What the name begins with, before a checksum of the contents; if left out, it tells the sizes.

    Raises
    ------
    DataError
        If the two do not fit each other, an n-gram is there twice, or a number is not finite.
    """

    counts: NDArray[np.uint64] | None = None

    def __init__(self, ngrams: Sequence[str], matrix: ArrayLike, *, label: str | None = None) -> None:
        self._ngrams = tuple(ngrams)
        self.matrix = checked_matrix(matrix, len(self._ngrams), "the matrix")
        self._rows = checked_ngrams(self._ngrams)
        self.dimensions: int = self.matrix.shape[1]
        self.lengths: NDArray[np.integer] = np.fromiter(map(order_of, self._ngrams), np.int64, len(self._ngrams))
        self.orders: tuple[int, ...] | None = tuple(np.unique(self.lengths).tolist())
        heap, begins = kernels.pack_texts(self._ngrams)
        begin = label or f"matrix:{len(self)}x{self.dimensions}"
        self.name = f"{begin}-{short_checksum(heap, begins, self.matrix)}"

    def __len__(self) -> int:
        return len(self._ngrams)

    def rows(self, ngrams: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each n-gram, -1 if it is missing."""
        return np.fromiter((self._rows.get(ngram, -1) for ngram in ngrams), np.int64, len(ngrams))

    def ngrams(self, rows: ArrayLike | None = None) -> tuple[str, ...]:
        """Return the n-grams of some rows, or all of them in order."""
        if rows is None:
            return self._ngrams
        return tuple(self._ngrams[row] for row in np.asarray(rows, np.int64).tolist())

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """Yield the matrix in blocks: the number of the first row, and the rows."""
        for first in range(0, len(self), BLOCK_ROWS):
            yield first, self.matrix[first : first + BLOCK_ROWS]

    def lookup(self, ngrams: Sequence[str]) -> Matrix:
        """Return one row per n-gram, zeros if it is unknown."""
        rows = self.rows(ngrams)
        found = np.zeros((len(rows), self.dimensions), np.float32)
        known = rows >= 0
        found[known] = self.matrix[rows[known]]
        return found


class CallableSource:
    """A function from a list of n-grams to a matrix, with rows of zeros for unknown ones.

    Parameters
    ----------
    function
        Called with a list of n-grams; returns as many rows.
    name
        Which vectors these are, for signatures. If left out, the function's own name: two functions of one name, or a
        function that changes, cannot be told apart by it.
    dimensions
        How many numbers a vector has; if left out, the function is asked for one.
    orders
        The lengths of n-grams that it may know; None for any.

    Examples
    --------
    >>> source = CallableSource(lambda ngrams: [[float(len(ngram)), 1.0] for ngram in ngrams], name="lengths")
    >>> source.name, source.dimensions, source.lookup(["do not"]).tolist()
    ('callable:lengths', 2, [[6.0, 1.0]])
    """

    def __init__(
        self,
        function: Callable[[list[str]], ArrayLike],
        *,
        name: str | None = None,
        dimensions: int | None = None,
        orders: tuple[int, ...] | None = None,
    ) -> None:
        self._function = function
        self._dimensions = dimensions
        self.orders = orders
        own = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        self.name = f"callable:{name or own}"

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        if self._dimensions is None:
            self._dimensions = int(self.lookup(["the"]).shape[1])
        return self._dimensions

    def lookup(self, ngrams: Sequence[str]) -> Matrix:
        """Return the function's result, after validation."""
        if not ngrams:
            return np.zeros((0, self.dimensions), np.float32)
        matrix = checked_matrix(self._function(list(ngrams)), len(ngrams), f"what {self.name} returned")
        if self._dimensions is None:
            self._dimensions = matrix.shape[1]
        if matrix.shape[1] != self._dimensions:
            raise DataError(
                f"what {self.name} returned has {matrix.shape[1]} columns, but {self._dimensions} were expected; "
                "make all vectors equally long"
            )
        return matrix


class Composed:
    """A source that composes unknown n-grams: the normalised mean of their words' vectors.

    Unknown words are left out of the mean; an n-gram without any known word stays unknown.

    In a store whose orders were trained separately (``mode`` is ``separate``), n-gram vectors come from another model
    than word vectors, and cosines between the two are meaningless. There every n-gram of two or more words is composed,
    even if it has its own vector, so all are comparable.

    Parameters
    ----------
    source
        Where the vectors of words come from, and those of n-grams that are known.

    Attributes
    ----------
    only_words
        Whether all n-grams are composed, also those that the source knows.

    Raises
    ------
    UsageError
        If the orders of a store were trained apart, and it has no vectors of single words.

    Examples
    --------
    >>> source = Composed(as_source((["do", "not"], [[1.0, 0.0], [0.0, 1.0]])))
    >>> (source.lookup(["do not", "do nothing"]) ** 2).round(2).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """

    orders: tuple[int, ...] | None = None

    def __init__(self, source: VectorSource) -> None:
        self.source = source
        self.name = f"{source.name}+composed"
        self.only_words = has_separate_orders(source)
        if self.only_words and 1 not in (source.orders or ()):
            raise UsageError(
                f"{source.name} has no vectors of single words to compose n-grams from; use it without composed, "
                "or train with orders that begin with 1"
            )

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return self.source.dimensions

    def lookup(self, ngrams: Sequence[str]) -> Matrix:
        """Return one row per n-gram, zeros if none of its words is known."""
        found = self._own(ngrams)
        missing = np.flatnonzero(~found.any(axis=1))
        parts = [ngrams[i].split(" ") for i in missing.tolist()]
        missing = missing[[len(words) > 1 for words in parts]]
        parts = [words for words in parts if len(words) > 1]
        if parts:
            words, rows, lengths = number_words(parts)
            found[missing] = normalised(segment_sums(self.source.lookup(words), rows, lengths))
        return found

    def _own(self, ngrams: Sequence[str]) -> Matrix:
        """Return the source's own vectors, where they are comparable with composed ones."""
        if not self.only_words:
            return np.array(self.source.lookup(ngrams), np.float32)  # the source's matrix could be shared or read-only
        found = np.zeros((len(ngrams), self.dimensions), np.float32)
        single = [place for place, ngram in enumerate(ngrams) if " " not in ngram]
        found[single] = self.source.lookup([ngrams[place] for place in single])
        return found


def word_vectors(source: VectorSource, words: Sequence[str]) -> Matrix:
    """Return the vectors of single words, of any length; rows of zeros for unknown ones."""
    own: Callable[[Sequence[str]], Matrix] | None = getattr(source, "word_vectors", None)
    return source.lookup(words) if own is None else own(words)


COMMON_WORDS: Final = [
    "the", "of", "and", "to", "a", "in", "is", "that", "it", "for", "on", "with", "as", "was", "at", "by", "this",
    "from", "are", "not",
]  # fmt: skip


def has_lengths(source: VectorSource) -> bool:
    """Return whether word vectors differ in length, so the length can serve as a word's weight.

    Examples
    --------
    >>> has_lengths(as_source((["do", "not"], [[1.0, 0.0], [0.0, 1.0]])))
    False
    """
    rows = next((rows for _, rows in source.blocks()), None) if isinstance(source, ListedSource) else None
    if rows is None:
        rows = word_vectors(source, COMMON_WORDS)
    lengths = np.linalg.norm(rows[:1000].astype(np.float64), axis=1)
    lengths = lengths[lengths > 0]
    return not len(lengths) or bool(np.any(np.abs(lengths - 1.0) > NORMALISED))


NORMALISED: Final = 2e-3
"""Tolerance on the length of a normalised vector, given 16-bit floats."""


def has_separate_orders(source: VectorSource) -> bool:
    """Return whether each order has its own model, so cosines between orders are meaningless."""
    from trubleu.vectors.store import VectorStore

    return isinstance(source, VectorStore) and source.options.get("mode") == "separate"


def label_of(path: PathLike, kind: str) -> str:
    """Return the prefix of the name of a file's vectors; characters reserved in signatures become ``_``.

    Examples
    --------
    >>> label_of("some/news 3|x.vec.gz", "word2vec")
    'word2vec:news_3_x'
    """
    name = "stdin" if is_standard(path) else base_name(path)
    stem = name if not is_remote(path) and Path(path).is_dir() else Path(without_suffix(name)).stem
    plain = re.sub(r"[^\w.+-]+", "_", stem)
    return f"{kind}:{plain}"
