"""Rows summed between fixed bounds, however the rows are cut into parts and whoever sums them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trubleu.stats.sums import CHUNK_ROWS, total

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the cells of so many rows begin: ``i * rows // cells``, or every 65,536 rows if no number is given.

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
        """How many cells there are."""
        return self.cells or -(-self.rows // CHUNK_ROWS)

    def start(self, cell: int) -> int:
        """Return the first row of a cell; that of the cell after the last is the number of rows."""
        return cell * self.rows // self.cells if self.cells else min(cell * CHUNK_ROWS, self.rows)

    def cell_of(self, row: int) -> int:
        """Return the cell that a row lies in."""
        return ((row + 1) * self.cells - 1) // self.rows if self.cells else row // CHUNK_ROWS


class Cells(NamedTuple):
    """Some rows in a row, reduced to the sums of their cells.

    A cell is summed as a whole, or its sum would depend on where it was cut: rows of a cell that began earlier or ends
    later are kept as they are.
    """

    head: NDArray[np.float64]
    """The rows up to the first bound, if they are not a whole cell."""
    sums: NDArray[np.float64]
    """The sums of whole cells."""
    tail: NDArray[np.float64]
    """The rows after the last bound."""


class CellSums:
    """Takes rows in their order, and cells of rows that somebody else took, and sums each cell when it is whole.

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
        # Begun elsewhere, so that it cannot be summed here.
        self._foreign = first > grid.start(self._cell)
        self._head: list[NDArray[np.float64]] = []
        self._sums: list[NDArray[np.float64]] = []
        self._open: list[NDArray[np.float64]] = []

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take the next rows."""
        start = 0
        while start < len(rows):
            bound = start + self._grid.start(self._cell + 1) - self._row
            end = min(len(rows), bound)
            # A copy of what must wait, or the whole part would stay in memory for the few rows that are left of it.
            self._open.append(rows[start:end] if end == bound and not self._foreign else rows[start:end].copy())
            self._row += end - start
            self._close_whole()
            start = end

    def merge(self, cells: Cells) -> None:
        """Take the next rows as somebody else reduced them."""
        self.add(cells.head)
        self._sums += list(cells.sums)
        self._cell += len(cells.sums)
        if len(cells.sums):
            self._row = self._grid.start(self._cell)
        self.add(cells.tail)

    def finish(self) -> Cells:
        """Return what the rows were reduced to."""
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
