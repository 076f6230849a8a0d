"""Units of segments as observations: a difference of scores, a difference of opinions, and their correlation.

Everything is a sum over a unit's rows: of the two systems' statistics, which the metric scores, and of whole numbers
for what people think. Draws and bootstrap replicates go by in slices, so that memory does not grow with their number;
a slice depends on the numbers of its draws only, and on no other slice, so an engine may have them made anywhere.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.judge.parallel import Slice, shared, slices_of
from trubleu.native import WORTH_THREADS, resolve_threads
from trubleu.stats import rank_correlations, total
from trubleu.stats.correlation import grain_of, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.pairs.human_scores import Pair
    from trubleu.judge.pairs.results import Measure
    from trubleu.judge.parallel import Where
    from trubleu.stats import ScoreFunction, UnitDraws

SLICE_BYTES: Final = 64 * 2**20
"""Sums of units that are held at a time, at most."""

SLICE_AIM: Final = 8 * 2**20
"""Sums of units in a slice that has enough draws: some 50 ms of work, so that many workers get a share."""

SLICE_DRAWS: Final = 32
"""Draws that are enough for threads to share, unless they outgrow `SLICE_BYTES`."""


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


class Observed(NamedTuple):
    """Some draws: ``float64[draws, units]`` of opinions and, for each column, of differences of scores."""

    opinions: NDArray[np.float64]
    differences: list[NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """Both coefficients of one measure in every draw; NaN where undefined."""

    spearman: NDArray[np.float64]
    kendall: NDArray[np.float64]


class Correlated(NamedTuple):
    """A slice's coefficients of every column, and the same with pairs that enter several times or not at all."""

    plain: list[Coefficients]
    weighted: list[Coefficients]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """All that a slice of draws is made from, as it is sent to workers; called, it makes what a worker keeps.

    Attributes
    ----------
    segments, opinions
        Of each pair.
    columns
        The measures.
    draws
        How units are drawn.
    pair_counts
        ``int64[draws, pairs]``: how often each pair enters the weighted coefficients; None for no such coefficients.
    """

    segments: Sequence[NDArray[np.int64]]
    opinions: Sequence[NDArray[np.float64]]
    columns: Sequence[Column]
    draws: UnitDraws
    pair_counts: NDArray[np.int64] | None = None

    def units(self) -> NDArray[np.int64]:
        """Return for each unit the place of its pair."""
        return np.repeat(np.arange(len(self.segments)), [self.draws.units(len(each)) for each in self.segments])

    def slices(self) -> list[Slice]:
        """Return all draws in slices that depend on the data only, not on who makes them."""
        width = 1 + sum(column.width for column in self.columns)
        of_one = 8 * width * max(1, len(self.units()))
        at_once = max(1, min(SLICE_BYTES // of_one, max(SLICE_DRAWS, SLICE_AIM // of_one)))
        return slices_of(self.draws.draws, at_once)

    def __call__(self) -> Tables:
        """Lay opinions and statistics beside each other."""
        return Tables(self)


class Tables:
    """Sums units and correlates them; what is the same for every slice is made once.

    Parameters
    ----------
    drawing
        What there is to draw.
    """

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        # The bootstrap draws segments, the same ones for all pairs that were judged on them.
        universe = np.unique(np.concatenate(drawing.segments))
        self._universe = len(universe)
        self._items = [np.searchsorted(universe, segments) for segments in drawing.segments]
        self._sizes = np.concatenate([drawing.draws.sizes(len(segments)) for segments in drawing.segments])
        self._tables = [
            np.hstack([opinion[:, np.newaxis], *(column.rows[place] for column in drawing.columns)])
            for place, opinion in enumerate(drawing.opinions)
        ]

    def observe(self, part: Slice, threads: int | None = None) -> Observed:
        """Return the units of some draws."""
        draws = replace(self._drawing.draws, threads=threads)
        sums = [
            draws.sums(table, stream=place, items=items, universe=self._universe, first=part.first, count=part.count)
            for place, (table, items) in enumerate(zip(self._tables, self._items, strict=True))
        ]
        differences = []
        start = 1
        for column in self._drawing.columns:
            end = start + column.width
            differences.append(column.differences(np.concatenate([each[..., start:end] for each in sums], axis=1)))
            start = end
        # One division of whole numbers: equal means are equal numbers, whatever the order of the ratings.
        return Observed(np.concatenate([each[..., 0] for each in sums], axis=1) / self._sizes, differences)

    def correlate(self, part: Slice, threads: int | None = None) -> Correlated:
        """Return the coefficients of some draws."""
        opinions, differences = self.observe(part, threads)
        found = Correlated([_coefficients(each, opinions, None, threads) for each in differences], [])
        if self._drawing.pair_counts is not None:
            counts = self._drawing.pair_counts[part.first : part.first + part.count][:, self._drawing.units()]
            found.weighted.extend(_coefficients(each, opinions, counts, threads) for each in differences)
        return found


def _coefficients(
    x: NDArray[np.float64], y: NDArray[np.float64], counts: NDArray[np.int64] | None, threads: int | None
) -> Coefficients:
    found = rank_correlations(x, y, counts=counts, mirrored=True, threads=threads)
    return Coefficients(spearman=found.spearman, kendall=found.kendall)


def correlate(part: Slice, tables: Tables, threads: int | None) -> Correlated:
    """Return the coefficients of some draws, which threads share: most of the work is NumPy's, on one thread each."""
    workers = resolve_threads(threads, WORTH_THREADS)
    shares = [Slice(part.first + each.first, each.count) for each in slices_of(part.count, -(-part.count // workers))]
    if len(shares) == 1:
        return tables.correlate(part, threads)
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(lambda share: tables.correlate(share, 1), shares))
    return Correlated(_joined([each.plain for each in found]), _joined([each.weighted for each in found]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Has units drawn and looked at.

    Attributes
    ----------
    pairs
        With their segments; every one has at least one unit.
    where
        Where draws are made; no number depends on it.
    """

    pairs: Sequence[Pair]
    where: Where

    def drawing(
        self, columns: Sequence[Column], draws: UnitDraws, pair_counts: NDArray[np.int64] | None = None
    ) -> Drawing:
        """Return what draws of all pairs are made from."""
        return Drawing(
            segments=[pair.segments for pair in self.pairs],
            opinions=[pair.opinion for pair in self.pairs],
            columns=columns,
            draws=draws,
            pair_counts=pair_counts,
        )

    def units(self, draws: UnitDraws) -> NDArray[np.int64]:
        """Return for each unit the place of its pair."""
        return self.drawing([], draws).units()

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
        drawing = self.drawing(columns, draws, pair_counts)

        def tell(part: Slice) -> None:
            if progress is not None:
                progress(part.count * len(columns))

        records = (Correlated, Coefficients)
        parts = list(shared(self.where, correlate, drawing.slices(), state=drawing, records=records, progress=tell))
        return _joined([part.plain for part in parts]), _joined([part.weighted for part in parts])


def _joined(slices: Sequence[Sequence[Coefficients]]) -> list[Coefficients]:
    """Return the coefficients of each column from those of slices."""
    return [
        Coefficients(
            spearman=np.concatenate([part.spearman for part in parts]),
            kendall=np.concatenate([part.kendall for part in parts]),
        )
        for parts in zip(*slices, strict=True)
    ]
