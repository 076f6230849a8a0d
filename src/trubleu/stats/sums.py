"""The sum of all rows, in one order on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK_ROWS: Final = 65_536
"""Rows that are summed together before the sums of the chunks are added in order."""


def total(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of all rows: over fixed chunks of 65,536 rows, chunks in order.

    A worker that holds whole chunks can therefore sum them alone, and adding the sums in order gives the same bits. A
    column's sum depends neither on the columns beside it nor on the layout in memory.

    Parameters
    ----------
    statistics
        ``float64[segments, k]``; no segments give zeros.

    Returns
    -------
    NDArray[np.float64]
        ``float64[k]``.

    Examples
    --------
    >>> total(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [4.0, 6.0]
    """
    result = np.zeros(statistics.shape[1], dtype=np.float64)
    for start in range(0, len(statistics), CHUNK_ROWS):
        # Columns laid out one after the other: NumPy then sums each of them pairwise, which loses less to rounding than
        # adding row to row, and does so the same way whatever the array looked like.
        columns = np.ascontiguousarray(statistics[start : start + CHUNK_ROWS].T)
        result += columns.sum(axis=1)
    return result
