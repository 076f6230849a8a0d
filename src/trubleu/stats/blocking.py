"""Very many segments become fixed blocks, so that resampling costs the same from a million segments on."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.stats import checks
from trubleu.stats.sums import total

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_THRESHOLD: Final = 1_000_000
"""With more segments than this, blocks are resampled and swapped instead of segments."""

BLOCK_COUNT: Final = 10_000
"""The number of blocks then."""


def blocks(statistics: NDArray[np.float64], count: int = BLOCK_COUNT) -> NDArray[np.float64]:
    """Return the sums of contiguous blocks of rows; block ``i`` starts at row ``i * segments // count``.

    Parameters
    ----------
    statistics
        ``float64[segments, k]``.
    count
        How many blocks, from 1 to the number of segments. Their sizes differ by one row at most.

    Returns
    -------
    NDArray[np.float64]
        ``float64[count, k]``, each block summed by [`total`][trubleu.stats.total].

    Raises
    ------
    DataError
        If there are fewer segments than blocks, or no blocks.

    Examples
    --------
    >>> blocks(np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]), count=2).tolist()
    [[3.0], [12.0]]
    """
    segments = len(statistics)
    checks.block_count(count, segments)
    bounds = [i * segments // count for i in range(count + 1)]
    return np.stack([total(statistics[low:high]) for low, high in pairwise(bounds)])


def units(statistics: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the rows to resample and the number of blocks that they are, 0 if they are the segments themselves."""
    if len(statistics) > BLOCK_THRESHOLD:
        return blocks(statistics, BLOCK_COUNT), BLOCK_COUNT
    return statistics, 0
