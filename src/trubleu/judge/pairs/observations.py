"""Units of segments as observations: a difference of scores, a difference of opinions, and their correlation.

Everything is a sum over a unit's rows: of the two systems' statistics, which the metric scores, and of whole numbers
for what people think. Draws and bootstrap replicates go by in slices, so that memory does not grow with their number;
a slice depends on the numbers of its draws only, so threads may share them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.native import WORTH_THREADS, resolve_threads
from trubleu.stats import RankCorrelations, rank_correlations, total
from trubleu.stats.correlation import grain_of, settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.judge.pairs.human_scores import Pair
    from trubleu.judge.pairs.results import Measure
    from trubleu.progress import Progress
    from trubleu.stats import ScoreFunction, UnitDraws

SLICE_BYTES: Final = 8 * 2**20
"""Sums of units that a thread holds at a time, unless one draw has more: some 50 ms of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One measure's rows for every pair.

    Attributes
    ----------
    measure
        The metric and its condition.
    score
        Of summed statistics.
    sign
        −1 for error rates, so that more is better everywhere.
    rows
        For each pair ``float64[segments, 2k]``: the statistics of A and beside them those of B.
    grain
        Differences are rounded to whole multiples of it (see `settled`): units that tie must tie. 0 for none.
    """

    measure: Measure
    score: ScoreFunction
    sign: float
    rows: Sequence[NDArray[np.float64]]
    grain: float = 0.0

    @classmethod
    def of(
        cls, measure: Measure, score: ScoreFunction, rows: Sequence[NDArray[np.float64]], sign: float = 1.0
    ) -> Column:
        """Return a column whose grain fits the size of its scores."""
        column = cls(measure=measure, score=score, sign=sign, rows=rows)
        # Of whole systems and of single segments: scores that were standardised cancel out in a sum.
        sides = [side for pair in rows for sums in (total(pair), pair) for side in column.sides(sums)]
        largest = max(float(np.max(np.abs(side))) for side in sides)
        return replace(column, grain=float(grain_of(largest)))

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.rows[0].shape[1])

    def sides(self, sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of A and of B for sums of rows."""
        half = self.width // 2
        return self.score(sums[..., :half]), self.score(sums[..., half:])

    def differences(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much A is better than B for sums of rows."""
        first, second = self.sides(sums)
        differences = self.sign * (first - second)
        return settled(differences, self.grain) if self.grain else differences

    def settled(self) -> Column:
        """Return a column whose rows are the differences themselves, for units of one segment."""
        rows = [np.stack([self.differences(rows), np.zeros(len(rows))], axis=1) for rows in self.rows]
        return replace(self, score=_first_column, sign=1.0, rows=rows, grain=0.0)


def _first_column(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return sums[..., 0]


class Tables:
    """Sums the units of some draws and correlates them.

    Parameters
    ----------
    pairs
        With their segments; every one has at least one unit.
    columns
        The measures.
    draws
        How units are drawn.
    pair_counts
        ``int64[draws, pairs]``: how often each pair enters the weighted coefficients; None for no such coefficients.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        columns: Sequence[Column],
        draws: UnitDraws,
        pair_counts: NDArray[np.int64] | None = None,
    ) -> None:
        self._columns, self._draws, self._pair_counts = columns, draws, pair_counts
        # The bootstrap draws segments, the same ones for all pairs that were judged on them.
        universe = np.unique(np.concatenate([pair.segments for pair in pairs]))
        self._universe = len(universe)
        self._items = [np.searchsorted(universe, pair.segments) for pair in pairs]
        self._sizes = np.concatenate([draws.sizes(len(pair.segments)) for pair in pairs])
        self._tables = [
            np.hstack([pair.opinion[:, np.newaxis], *(column.rows[place] for column in columns)])
            for place, pair in enumerate(pairs)
        ]
        self.units = np.repeat(np.arange(len(pairs)), [draws.units(len(pair.segments)) for pair in pairs])
        """For each unit the place of its pair."""

    def observe(self, part: range, threads: int | None = None) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """Return ``float64[draws, units]`` of opinions and, for each column, of differences of scores."""
        draws = replace(self._draws, threads=threads)
        sums = [
            draws.sums(table, stream=place, items=items, universe=self._universe, first=part.start, count=len(part))
            for place, (table, items) in enumerate(zip(self._tables, self._items, strict=True))
        ]
        differences = []
        start = 1
        for column in self._columns:
            end = start + column.width
            differences.append(column.differences(np.concatenate([each[..., start:end] for each in sums], axis=1)))
            start = end
        # One division of whole numbers: equal means are equal numbers, whatever the order of the ratings.
        return np.concatenate([each[..., 0] for each in sums], axis=1) / self._sizes, differences

    def correlate(self, part: range, threads: int | None = None) -> list[RankCorrelations]:
        """Return the coefficients of some draws for each column; then those by ``pair_counts``, if any."""
        opinions, differences = self.observe(part, threads)
        correlated = partial(rank_correlations, mirrored=True, threads=threads)
        found = [correlated(each, opinions) for each in differences]
        if self._pair_counts is not None:
            counts = self._pair_counts[part.start : part.stop][:, self.units]
            found += [correlated(each, opinions, counts=counts) for each in differences]
        return found

    def coefficients(self, threads: int | None, progress: Progress | None = None) -> list[RankCorrelations]:
        """Return what `correlate` does for all draws, in slices; progress is told of draws times columns."""
        at_once = max(1, SLICE_BYTES // (8 * self._tables[0].shape[1] * max(1, len(self.units))))
        every = range(self._draws.draws)
        slices = [every[first : first + at_once] for first in range(0, len(every), at_once)]
        inside = threads if len(slices) == 1 else 1
        parts = []
        # Threads share slices: most of the work is NumPy's, on one thread each.
        with ThreadPoolExecutor(resolve_threads(threads, WORTH_THREADS)) as pool:
            found = pool.map(lambda part: self.correlate(part, inside), slices)
            for part in slices:
                parts.append(next(found))
                if progress is not None:
                    progress(len(part) * len(self._columns))
        return [RankCorrelations(*map(np.concatenate, zip(*each, strict=True))) for each in zip(*parts, strict=True)]
