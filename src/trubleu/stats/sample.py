"""Units of resampling: segments, or fixed blocks of them above a million segments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from trubleu.errors import DataError
from trubleu.stats import checks
from trubleu.stats.sums import Cells, CellSums, Grid, total

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


BLOCK_THRESHOLD: Final = 1_000_000
"""Above this number of segments, blocks are resampled and swapped instead of segments."""

BLOCK_COUNT: Final = 10_000
"""The number of blocks."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The statistics of one system, reduced to what intervals and tests need.

    Created from a table by `Sample.of`, or by a `SampleBuilder` from rows that are never all in memory; both give
    bit-identical results. Every function of this package that takes statistics also takes a sample.
    """

    rows: NDArray[np.float64]
    """The units to draw: segments, or sums of blocks of segments."""
    total: NDArray[np.float64]
    """The sum of all segments."""
    segments: int
    """Number of segments."""
    blocks: int
    """Number of blocks in ``rows``; 0 if they are the segments themselves."""

    @classmethod
    def of(cls, statistics: Statistics, name: str) -> Sample:
        """Convert a table to a sample; a sample is returned unchanged. ``name`` is used in messages."""
        if isinstance(statistics, Sample):
            return statistics
        array = checks.usable(statistics, name)
        number = block_number(len(array))
        rows = blocks(array, number) if number else array
        return cls(rows=rows, total=total(array), segments=len(array), blocks=number)


Statistics: TypeAlias = "ArrayLike | Sample"
"""A table of statistics, or a sample of one."""


class PartialSample(NamedTuple):
    """Some rows of a system, reduced to what a `SampleBuilder` needs; created by `PartialBuilder`."""

    segments: int
    """Number of rows."""
    rows: NDArray[np.float64]
    """The rows themselves; empty if blocks are drawn."""
    chunks: Cells
    """The rows in chunks of 65,536."""
    blocks: Cells | None
    """The rows in blocks, if there are enough segments for blocks."""

    def fits(self, segments: int, first: int, count: int) -> bool:
        """Return whether it has the shape of ``count`` rows from ``first`` on, of all segments."""
        if self.segments != count:
            return False
        plain = PartialBuilder(segments, 1, first)
        plain.add(np.zeros((count, 1)))
        return _lengths(self) == _lengths(plain.finish())


def _lengths(sample: PartialSample) -> tuple[object, ...]:
    blocks = None if sample.blocks is None else [len(part) for part in sample.blocks]
    return len(sample.rows), [len(part) for part in sample.chunks], blocks


class _RowSums:
    """Rows of a system, summed by chunks and blocks as they come.

    Parameters
    ----------
    segments
        How many rows the system has; it decides where blocks begin, so it must be known beforehand.
    columns
        How many statistics a segment has.
    first
        The number of the first row that will come here.
    """

    def __init__(self, segments: int, columns: int, first: int = 0) -> None:
        self.segments = segments
        self.columns = columns
        self.count = 0
        self._first = first
        self._rows: list[NDArray[np.float64]] = []
        self._chunks = CellSums(Grid(segments), columns, first)
        blocks = block_number(segments)
        self._blocks = CellSums(Grid(segments, blocks), columns, first) if blocks else None

    def add(self, rows: NDArray[np.float64]) -> None:
        """Add rows."""
        self._announced(len(rows))
        self._chunks.add(rows)
        if self._blocks is None:
            self._rows.append(rows)
        else:
            self._blocks.add(rows)

    def _announced(self, count: int) -> None:
        if self._first + self.count + count > self.segments:
            raise DataError(f"more than the {self.segments} segments that were announced came")
        self.count += count

    def _all_rows(self) -> NDArray[np.float64]:
        return np.concatenate(self._rows) if self._rows else np.zeros((0, self.columns))


class PartialBuilder(_RowSums):
    """Reduces some of the rows of a system, on one of several workers.

    Examples
    --------
    >>> table = np.arange(6.0).reshape(3, 2)
    >>> builder = SampleBuilder(3, 2)
    >>> for first, last in [(0, 1), (1, 3)]:
    ...     some = PartialBuilder(3, 2, first)
    ...     some.add(table[first:last])
    ...     builder.merge(some.finish())
    >>> builder.finish().total.tolist()
    [6.0, 9.0]
    """

    def finish(self) -> PartialSample:
        """Return the reduced rows."""
        blocks = None if self._blocks is None else self._blocks.finish()
        return PartialSample(self.count, self._all_rows(), self._chunks.finish(), blocks)


class SampleBuilder(_RowSums):
    """Collects the rows of a system part by part, keeping only what intervals and tests need.

    Examples
    --------
    >>> builder = SampleBuilder(3, 2)
    >>> builder.add(np.array([[1.0, 1.0], [2.0, 1.0]]))
    >>> builder.add(np.array([[3.0, 1.0]]))
    >>> sample = builder.finish()
    >>> sample.total.tolist(), sample.segments, sample.blocks
    ([6.0, 3.0], 3, 0)
    """

    def merge(self, partial: PartialSample) -> None:
        """Add rows reduced by a `PartialBuilder`."""
        self._announced(partial.segments)
        self._chunks.merge(partial.chunks)
        if self._blocks is None:
            self._rows.append(partial.rows)
        elif partial.blocks is not None:
            self._blocks.merge(partial.blocks)

    def finish(self) -> Sample:
        """Return the sample."""
        if self.count != self.segments:
            raise DataError(f"{self.segments} segments were announced but {self.count} came")
        rows = self._all_rows() if self._blocks is None else self._blocks.finish().sums
        checks.finite(rows, "The system")
        result = np.zeros(self.columns)
        for chunk in self._chunks.finish().sums:
            result += chunk
        return Sample(rows=rows, total=result, segments=self.segments, blocks=0 if self._blocks is None else len(rows))


def block_number(segments: int) -> int:
    """Return the number of blocks drawn for this many segments; 0 if the segments themselves are drawn."""
    return BLOCK_COUNT if segments > BLOCK_THRESHOLD else 0
