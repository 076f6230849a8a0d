"""Sums of rows in a fixed order, on any number of threads or workers, and scores of such sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trubleu.errors import DataError

CHUNK_ROWS: Final = 65_536
"""Rows per chunk; chunks are summed, and their sums added in order."""


def total(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of all rows: over fixed chunks of 65,536 rows, chunks in order.

    So a worker that holds whole chunks can sum them alone, and adding the sums in order gives bit-identical results.
    The sum of a column depends neither on the columns beside it nor on the memory layout.

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
        # In column-major layout NumPy sums each column pairwise, which loses less precision than adding rows, and
        # independent of the original layout.
        columns = np.ascontiguousarray(statistics[start : start + CHUNK_ROWS].T)
        result += columns.sum(axis=1)
    return result


@dataclass(frozen=True, slots=True)
class Grid:
    """Cell boundaries of rows: ``i * rows // cells``, or every 65,536 rows if no number is given.

    Attributes
    ----------
    rows
        How many rows there are.
    cells
        How many cells they are cut into; 0 for chunks of 65,536 rows, the last one shorter.
    """

    rows: int
    cells: int = 0

    @property
    def count(self) -> int:
        """Number of cells."""
        return self.cells or -(-self.rows // CHUNK_ROWS)

    def start(self, cell: int) -> int:
        """Return the first row of a cell; for the cell after the last, the number of rows."""
        return cell * self.rows // self.cells if self.cells else min(cell * CHUNK_ROWS, self.rows)

    def cell_of(self, row: int) -> int:
        """Return the cell of a row."""
        return ((row + 1) * self.cells - 1) // self.rows if self.cells else row // CHUNK_ROWS


class Cells(NamedTuple):
    """Consecutive rows, reduced to the sums of their cells.

    A cell is summed as a whole, otherwise its sum would depend on where it was split: rows of incomplete cells are kept
    unchanged.
    """

    head: NDArray[np.float64]
    """The rows before the first cell boundary, if they are not a whole cell."""
    sums: NDArray[np.float64]
    """The sums of whole cells."""
    tail: NDArray[np.float64]
    """The rows after the last cell boundary."""


class CellSums:
    """Sums cells of rows in order, from rows or from cells reduced elsewhere.

    Parameters
    ----------
    grid
        Where cells begin.
    columns
        How many columns rows have.
    first
        The number of the first row that will come.
    """

    def __init__(self, grid: Grid, columns: int, first: int = 0) -> None:
        self._grid = grid
        self._columns = columns
        self._row = first
        self._cell = grid.cell_of(first) if first < grid.rows else grid.count
        # Started elsewhere, so it cannot be summed here.
        self._foreign = first > grid.start(self._cell)
        self._head: list[NDArray[np.float64]] = []
        self._sums: list[NDArray[np.float64]] = []
        self._open: list[NDArray[np.float64]] = []

    def add(self, rows: NDArray[np.float64]) -> None:
        """Add rows."""
        start = 0
        while start < len(rows):
            bound = start + self._grid.start(self._cell + 1) - self._row
            end = min(len(rows), bound)
            # A copy of pending rows; a view would keep the whole part in memory.
            self._open.append(rows[start:end] if end == bound and not self._foreign else rows[start:end].copy())
            self._row += end - start
            self._close_whole()
            start = end

    def merge(self, cells: Cells) -> None:
        """Add rows reduced elsewhere."""
        self.add(cells.head)
        self._sums += list(cells.sums)
        self._cell += len(cells.sums)
        if len(cells.sums):
            self._row = self._grid.start(self._cell)
        self.add(cells.tail)

    def finish(self) -> Cells:
        """Return the reduced rows."""
        head, tail = (self._open, []) if self._foreign else (self._head, self._open)
        return Cells(self._joined(head), np.array(self._sums).reshape(-1, self._columns), self._joined(tail))

    def _close_whole(self) -> None:
        if self._row < self._grid.start(self._cell + 1):
            return
        if self._foreign:
            self._head = self._open
            self._foreign = False
        else:
            self._sums.append(total(np.concatenate(self._open)))
        self._open = []
        self._cell += 1

    def _joined(self, rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.concatenate(rows) if rows else np.zeros((0, self._columns))


ScoreFunction: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Turns sums of statistics ``[..., k]`` into scores ``[...]``."""


def score_of(score: ScoreFunction, sums: NDArray[np.float64], name: str) -> float:
    """Return the score of one sum ``[k]``."""
    return float(scores_of(score, sums[np.newaxis], name)[0])


def scores_of(score: ScoreFunction, sums: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return one finite score per row of sums ``[count, k]``.

    The function sees all rows in one contiguous array: it may round differently in another layout, and results must not
    depend on how the resampling was sliced.
    """
    scores = np.asarray(score(np.ascontiguousarray(sums)), dtype=np.float64)
    if scores.shape != (len(sums),):
        raise DataError(
            f"The score function made an array of shape {scores.shape} from sums of shape {sums.shape}; "
            "it must return one score for each row."
        )
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        place = f"{name} {bad[0]} (counted from 0)" if len(sums) > 1 else name
        raise DataError(
            f"The score of {place} is {scores[bad[0]]}; "
            "the score function must give a finite number for every sum of segments."
        )
    return scores
