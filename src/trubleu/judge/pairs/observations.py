"""Units of segments as observations: a difference of scores, a difference of opinions, and their correlation.

Everything is a sum over a unit's rows: of the two systems' statistics, which the metric scores, and of whole numbers
for what people think. Draws and bootstrap replicates go by in slices, so that memory does not grow with their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.stats import rank_correlations, total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.pairs.opinions import Pair
    from trubleu.judge.pairs.results import Measure
    from trubleu.stats import ScoreFunction, UnitDraws

SLICE_BYTES: Final = 64 * 2**20
"""Sums of units that are held at a time."""

_GRAIN_BITS: Final = 40
"""Bits of the largest score that differences keep: about twelve decimal digits."""


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
        Differences are rounded to whole multiples of it, far below what matters: sums of the same numbers in another
        order differ in their last bits, and two units that tie must tie. 0 for no rounding.
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
        return replace(column, grain=math.ldexp(1.0, math.frexp(largest)[1] - _GRAIN_BITS) if largest > 0 else 0.0)

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
        return np.rint(differences / self.grain) * self.grain if self.grain else differences

    def settled(self) -> Column:
        """Return a column whose rows are the differences themselves, for units of one segment."""
        rows = [np.stack([self.differences(rows), np.zeros(len(rows))], axis=1) for rows in self.rows]
        return replace(self, score=_first_column, sign=1.0, rows=rows, grain=0.0)


def _first_column(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return sums[..., 0]


class Observed(NamedTuple):
    """Some draws: ``float64[draws, units]`` of opinions and, for each column, of differences of scores."""

    opinions: NDArray[np.float64]
    differences: list[NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """Both coefficients of one measure in every draw; NaN where undefined."""

    spearman: NDArray[np.float64]
    kendall: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Draws units and looks at them.

    Attributes
    ----------
    pairs
        With their segments; every one has at least one unit.
    threads
        How many threads to use; no number depends on it.
    """

    pairs: Sequence[Pair]
    threads: int | None = None

    def units(self, draws: UnitDraws) -> NDArray[np.int64]:
        """Return for each unit the place of its pair."""
        return np.repeat(np.arange(len(self.pairs)), [draws.units(len(pair.segments)) for pair in self.pairs])

    def observe(
        self, columns: Sequence[Column], draws: UnitDraws, progress: Callable[[int], object] | None = None
    ) -> Iterator[Observed]:
        """Yield the units of a few draws at a time."""
        draws = replace(draws, threads=self.threads)
        # The bootstrap draws segments, the same ones for all pairs that were judged on them.
        universe = np.unique(np.concatenate([pair.segments for pair in self.pairs]))
        width = 1 + sum(column.width for column in columns)
        at_once = max(1, SLICE_BYTES // (8 * width * max(1, len(self.units(draws)))))
        tables = [
            np.hstack([pair.opinion[:, np.newaxis], *(column.rows[place] for column in columns)])
            for place, pair in enumerate(self.pairs)
        ]
        sizes = np.concatenate([draws.sizes(len(pair.segments)) for pair in self.pairs])
        for first in range(0, draws.draws, at_once):
            count = min(at_once, draws.draws - first)
            sums = [
                draws.sums(
                    table,
                    stream=place,
                    items=np.searchsorted(universe, pair.segments),
                    universe=len(universe),
                    first=first,
                    count=count,
                )
                for place, (pair, table) in enumerate(zip(self.pairs, tables, strict=True))
            ]
            differences = []
            start = 1
            for column in columns:
                end = start + column.width
                differences.append(np.concatenate([column.differences(part[..., start:end]) for part in sums], axis=1))
                start = end
            # One division of whole numbers: equal means are equal numbers, whatever the order of the ratings.
            yield Observed(np.concatenate([part[..., 0] for part in sums], axis=1) / sizes, differences)
            if progress is not None:
                progress(count * len(columns))

    def coefficients(
        self,
        columns: Sequence[Column],
        draws: UnitDraws,
        pair_counts: NDArray[np.int64] | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> tuple[list[Coefficients], list[Coefficients]]:
        """Return the coefficients of every column, and the same with pairs that enter several times or not at all.

        Parameters
        ----------
        columns
            The measures.
        draws
            How units are drawn.
        pair_counts
            ``int64[draws, pairs]``: how often each pair enters; without it the second list is empty.
        progress
            Told of draws times columns.
        """
        parts: list[list[Coefficients]] = [[] for _ in columns]
        weighted: list[list[Coefficients]] = [[] for _ in columns]
        of_pair = self.units(draws)
        first = 0
        for opinions, differences in self.observe(columns, draws, progress):
            for place, difference in enumerate(differences):
                parts[place].append(self._correlate(difference, opinions, None))
                if pair_counts is not None:
                    counts = pair_counts[first : first + len(opinions)][:, of_pair]
                    weighted[place].append(self._correlate(difference, opinions, counts))
            first += len(opinions)
        return [*map(_joined, parts)], [*map(_joined, weighted)] if pair_counts is not None else []

    def _correlate(
        self, x: NDArray[np.float64], y: NDArray[np.float64], counts: NDArray[np.int64] | None
    ) -> Coefficients:
        found = rank_correlations(x, y, counts=counts, mirrored=True, threads=self.threads)
        return Coefficients(spearman=found.spearman, kendall=found.kendall)


def _joined(parts: Sequence[Coefficients]) -> Coefficients:
    return Coefficients(
        spearman=np.concatenate([part.spearman for part in parts]),
        kendall=np.concatenate([part.kendall for part in parts]),
    )
