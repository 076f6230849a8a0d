"""Drawing numbers with given frequencies from raw random bits: Walker's alias method, in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


class AliasTable:
    """Distributions over the columns of a matrix, one a row, from which any number of draws take two look-ups each.

    A draw is a function of 64 random bits in whole numbers, so that the same bits give the same draws everywhere.

    Parameters
    ----------
    weights
        Not negative, with something positive in every row; a single row may be given without its axis.

    Examples
    --------
    >>> table = AliasTable([3.0, 0.0, 1.0])
    >>> bits = np.random.PCG64(1).random_raw(1000)
    >>> np.bincount(table.draw(bits), minlength=3).tolist()
    [765, 0, 235]
    """

    def __init__(self, weights: ArrayLike) -> None:
        matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        rows = [_filled(row) for row in matrix]
        self._width = matrix.shape[1]
        self._kept = np.concatenate([kept for kept, _ in rows])
        self._other = np.concatenate([other for _, other in rows])

    def draw(self, bits: NDArray[np.uint64], rows: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """Return a column for each 64 bits, from the first row or from those given."""
        columns = (((bits >> _HALF) * np.uint64(self._width)) >> _HALF).astype(np.int64)
        cells = columns if rows is None else rows * self._width + columns
        return np.where((bits & _LOW) < self._kept[cells], columns, self._other[cells])


def _filled(weights: NDArray[np.float64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return how many of 2**32 draws of a column keep it, and the column that the others go to."""
    shares = weights * (len(weights) / weights.sum())
    small, large = np.flatnonzero(shares < 1), np.flatnonzero(shares >= 1)
    other = np.arange(len(shares))
    if not len(large):  # all are 1 but for rounding
        return np.full(len(shares), 2**32, dtype=np.uint64), other
    # What small columns lack is laid end to end, and beside it what large ones have to spare. A small column takes from
    # the large one in which its own piece begins. Where the piece reaches over the end of what that one has, the large
    # column lacks something in turn, and takes it from the next large one.
    lacking = np.concatenate([[0.0], np.cumsum(1 - shares[small])])
    spare = np.cumsum(shares[large] - 1)
    giver = np.searchsorted(spare, lacking[:-1], side="right")
    other[small] = large[np.minimum(giver, len(large) - 1)]
    other[large[:-1]] = large[1:]
    shares[large] = 1 + spare - lacking[np.searchsorted(lacking[:-1], spare, side="left")]
    shares[large[-1]] = 1
    return (np.clip(shares, 0, 1) * 2.0**32).astype(np.uint64), other
