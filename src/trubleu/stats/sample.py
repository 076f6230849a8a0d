"""What is resampled: segments, or blocks of them, from a table of statistics or as the rows arrive."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trubleu.errors import DataError
from trubleu.stats import blocking, checks
from trubleu.stats.sums import CHUNK_ROWS, total

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The statistics of one system, reduced to what intervals and tests need.

    Made from a table by `Sample.of`, or by a `SampleBuilder` from rows that are never all in memory; both give the same
    bits. Every function of this folder that takes statistics takes a sample as well.
    """

    rows: NDArray[np.float64]
    """What is drawn: the segments, or the sums of blocks of segments."""
    total: NDArray[np.float64]
    """The sum of all segments."""
    segments: int
    """How many segments there are."""
    blocks: int
    """How many blocks ``rows`` are; 0 if they are the segments themselves."""

    @classmethod
    def of(cls, statistics: Statistics, name: str) -> Sample:
        """Return a table, which messages call by this name, as a sample, and a sample as it is."""
        if isinstance(statistics, Sample):
            return statistics
        array = checks.usable(statistics, name)
        rows, blocks = blocking.units(array)
        return cls(rows=rows, total=total(array), segments=len(array), blocks=blocks)


Statistics: TypeAlias = "ArrayLike | Sample"
"""A table of statistics, or what is left of one."""


class SampleBuilder:
    """Takes the rows of a system part by part, and keeps no more of them than intervals and tests need.

    Parameters
    ----------
    segments
        How many rows will come; it decides where blocks begin, so it must be known beforehand.
    columns
        How many statistics a segment has.

    Examples
    --------
    >>> builder = SampleBuilder(3, 2)
    >>> builder.add(np.array([[1.0, 1.0], [2.0, 1.0]]))
    >>> builder.add(np.array([[3.0, 1.0]]))
    >>> sample = builder.finish()
    >>> sample.total.tolist(), sample.segments, sample.blocks
    ([6.0, 3.0], 3, 0)
    """

    def __init__(self, segments: int, columns: int) -> None:
        self.segments = segments
        self.columns = columns
        self._blocks = blocking.BLOCK_COUNT if segments > blocking.BLOCK_THRESHOLD else 0
        self._rows = np.zeros((self._blocks or segments, columns))
        self._added = 0
        self._total = np.zeros(columns)
        # Rows that wait for their chunk, and for their block, to be whole; both are summed whole, as a table's are.
        self._chunk: list[NDArray[np.float64]] = []
        self._block: list[NDArray[np.float64]] = []
        self._block_number = 0

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take the next rows."""
        if self._added + len(rows) > self.segments:
            raise DataError(f"more than the {self.segments} segments that were announced came")
        if not self._blocks:
            self._rows[self._added : self._added + len(rows)] = rows
        for start, end in self._pieces(len(rows), CHUNK_ROWS):
            self._chunk.append(rows[start:end])
            if (self._added + end) % CHUNK_ROWS == 0:
                self._close_chunk()
        if self._blocks:
            self._add_to_blocks(rows)
        self._added += len(rows)

    def finish(self) -> Sample:
        """Return the sample."""
        if self._added != self.segments:
            raise DataError(f"{self.segments} segments were announced but {self._added} came")
        if self._chunk:
            self._close_chunk()
        checks.finite(self._rows, "The system")
        return Sample(rows=self._rows, total=self._total, segments=self.segments, blocks=self._blocks)

    def _pieces(self, count: int, size: int) -> list[tuple[int, int]]:
        """Cut the next rows where multiples of ``size`` fall among all rows."""
        bounds = [0, *range(size - self._added % size, count, size), count]
        return [(low, high) for low, high in pairwise(bounds) if low < high]

    def _close_chunk(self) -> None:
        self._total += total(np.concatenate(self._chunk))
        self._chunk = []

    def _add_to_blocks(self, rows: NDArray[np.float64]) -> None:
        start = 0
        while self._block_number < self._blocks:
            end = (self._block_number + 1) * self.segments // self._blocks - self._added
            if end > len(rows):
                break
            self._block.append(rows[start:end])
            self._rows[self._block_number] = total(np.concatenate(self._block))
            self._block = []
            self._block_number += 1
            start = end
        if start < len(rows):
            # A copy, or the whole part would stay in memory for the few rows that are left of it.
            self._block.append(rows[start:].copy())
