"""Matrices of vectors and lists of n-grams: sums over words, lengths, checksums, and what can be wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Matrix = NDArray[np.float32]

BLOCK_ROWS: Final = 1 << 14
"""Rows of a large matrix that are worked on at once."""

_SAFE_NORMS: Final = (1e-15, 1e15)  # between these, squares of 32-bit numbers neither vanish nor overflow
_CHUNK: Final = 4096  # segments at once: their rows stay in the cache


def order_of(ngram: str) -> int:
    """Return how many words an n-gram has.

    Examples
    --------
    >>> order_of("do not like"), order_of("like")
    (3, 1)
    """
    return ngram.count(" ") + 1


def normalised(matrix: Matrix) -> Matrix:
    """Divide each row by its length, in place if it can be written; rows of zeros stay.

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
    """Return the distinct words of lists of words, the number of every word, and the lists' lengths.

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
    """Return for each segment of ``rows`` the sum of these rows of the matrix, added from the left in 32 bits.

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
        # Position by position: faster than np.add.reduceat, and the order of the additions is plain.
        for position in range(int(length.max(initial=0))):
            there = np.flatnonzero(length > position)
            part[there] += matrix[rows[begin[there] + position]].astype(np.float32, copy=False)
    return sums


def short_checksum(*arrays: NDArray[np.generic]) -> str:
    """Return eight hexadecimal digits that differ if the contents do.

    Examples
    --------
    >>> short_checksum(np.zeros(2)) == short_checksum(np.zeros(2)), len(short_checksum(np.zeros(2)))
    (True, 8)
    """
    sums = [kernels.checksum(np.ascontiguousarray(array).reshape(-1).view(np.uint8)) for array in arrays]
    return f"{kernels.checksum(np.array(sums, '<u8').view(np.uint8)):016x}"[:8]


def checked_matrix(matrix: ArrayLike, rows: int, what: str) -> Matrix:
    """Return a matrix of vectors in 32 bits, or say what is wrong with it."""
    try:
        array = np.asarray(matrix)
        result = np.ascontiguousarray(array, np.float32) if array.dtype.kind in "fiub" else None
    except (TypeError, ValueError):
        result = None
    if result is None:
        raise DataError(f"{what} does not consist of numbers; give one row of numbers for each n-gram")
    if result.ndim != 2 or result.shape[0] != rows or not result.shape[1]:
        raise DataError(f"{what} has the shape {result.shape}, but one row for each of {rows} n-grams is needed")
    wrong = np.flatnonzero(~np.isfinite(result).all(axis=1))
    if len(wrong):
        raise DataError(f"{what} has a number that is not finite in row {wrong[0] + 1}; use zeros for what is unknown")
    return result


def checked_ngrams(ngrams: Sequence[str]) -> dict[str, int]:
    """Return the place of every n-gram, or say which is none or is there twice."""
    rows: dict[str, int] = {}
    for row, ngram in enumerate(ngrams):
        if not isinstance(ngram, str) or not ngram or "" in ngram.split(" "):
            raise DataError(f"n-gram {row + 1} is {ngram!r}, but must be words joined by one space")
        if rows.setdefault(ngram, row) != row:
            raise DataError(f"the n-gram {ngram!r} is there twice, as {rows[ngram] + 1} and as {row + 1}; keep one")
    return rows
