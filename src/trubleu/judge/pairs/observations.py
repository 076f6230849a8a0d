"""From metrics and conditions to columns of statistics, to units of segments as observations, to rows of correlations.

Everything is a sum over a unit's rows: of the two systems' statistics, which the metric scores, and of whole numbers
for what people think. Draws and bootstrap replicates go by in slices, so that memory does not grow with their number;
a slice depends on the numbers of its draws only, so threads may share them.
"""

from __future__ import annotations

import hashlib
from collections import UserDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.judge.pairs.results import Cloud, ComparisonRow, CorrelationRow, Evidence, Measure
from trubleu.judge.report import mean_score
from trubleu.metrics.matching import NgramMetric
from trubleu.native import WORTH_THREADS, resolve_threads
from trubleu.scoring.systems import prepare_for
from trubleu.stats import RankCorrelations, fieller_interval, fisher_interval, rank_correlations, total
from trubleu.stats.bootstrap import ends_of
from trubleu.stats.correlation import grain_of, settled
from trubleu.stats.paired import centred_p, corrected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.judge.pairs.human_scores import Pair
    from trubleu.judge.pairs.reference_pool import Condition, Library
    from trubleu.judge.report import GivenScores
    from trubleu.metrics import Metric
    from trubleu.metrics.base import ByReference
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
        return replace(self, score=lambda sums: sums[..., 0], sign=1.0, rows=rows, grain=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """Scores outputs against the references that they may be held against.

    Attributes
    ----------
    library
        All references.
    outputs
        Of each system.
    pairs
        Of systems, with their segments.
    threads
        How many threads to use.
    """

    library: Library
    outputs: Sequence[Sequence[str]]
    pairs: Sequence[Pair]
    threads: int | None = None
    _kept: dict[tuple[Condition, object], References] = field(default_factory=dict)
    _rows: dict[tuple[tuple[Condition, object], Metric, int], NDArray[np.float64]] = field(default_factory=dict)
    _lessons: dict[object, References] = field(default_factory=dict)  # the last one only

    @property
    def systems(self) -> list[int]:
        """The systems that are judged in any pair."""
        return sorted({system for pair in self.pairs for system in pair.systems})

    def segments_of(self, system: int) -> NDArray[np.int64]:
        """Return the segments on which a system is judged in any pair."""
        mine = [pair.segments for pair in self.pairs if system in pair.systems]
        return np.unique(np.concatenate(mine)) if mine else np.zeros(0, dtype=np.int64)

    @property
    def outputs_scored(self) -> int:
        """How many outputs a metric scores: those of each pair anew where outputs are pooled."""
        if self.library.pooled:
            return sum(2 * len(pair.segments) for pair in self.pairs)
        return sum(len(self.segments_of(system)) for system in self.systems)

    def references(self, pair: Pair, system: int, condition: Condition) -> References:
        """Return what a side of a pair is held against."""
        available = self.library.available(pair.systems, system)
        return self.library.chosen(condition, available, pair.segments)

    def column(self, name: str, metric: Metric, condition: Condition, progress: Progress | None = None) -> Column:
        """Score all pairs by a metric under a condition."""
        # One condition at a time: a sweep would otherwise keep as many copies of the references as it has points.
        if any(other[0] != condition for other, *_ in self._rows):
            self._kept.clear()
            self._rows.clear()
        if isinstance(metric, NgramMetric):
            # Split into tokens once; parts of the references then come with theirs.
            self.library.references.kernel_texts(metric.tokenizer, metric.lowercase)

        judged = {system: self.segments_of(system) for system in self.systems}
        once: dict[int, NDArray[np.float64]] = {}
        if not self.library.pooled:  # the same references for all pairs
            for system, segments in judged.items():
                once[system] = self._score(metric, condition, frozenset(), system, segments, progress)

        def side(pair: Pair, system: int) -> NDArray[np.float64]:
            if system in once:
                return once[system][np.searchsorted(judged[system], pair.segments)]
            return self._score(metric, condition, frozenset(pair.systems), system, pair.segments, progress)

        # Metrics that score every pair anew have threads of their own.
        alone = not self.library.pooled or None in [self._compared(metric, each) for each in judged]
        with ThreadPoolExecutor(1 if alone else resolve_threads(self.threads, WORTH_THREADS)) as pool:
            rows = list(pool.map(lambda pair: np.hstack([side(pair, pair.a), side(pair, pair.b)]), self.pairs))
        sign = 1.0 if metric.higher_is_better else -1.0
        return Column.of(Measure(metric=name, condition=str(condition)), metric.score, rows, sign)

    def given_column(self, scores: GivenScores) -> Column:
        """Return scores from elsewhere as a column."""
        rows = []
        for pair in self.pairs:
            first, second = scores.table[list(pair.systems)][:, pair.segments]
            rows.append(np.stack([first, np.ones(len(first)), second, np.ones(len(second))], axis=1))
        return Column.of(Measure(metric=scores.name, condition=None), mean_score, rows, scores.sign)

    def corpus_scores(self, metric: Metric, condition: Condition) -> dict[int, float]:
        """Return the score of each system over the segments on which it is judged, its own outputs no references."""
        scores = {}
        for system in range(len(self.outputs)):
            segments = self.segments_of(system)
            if len(segments):
                rows = self._score(metric, condition, frozenset({system}), system, segments, None)
                scores[system] = float(metric.score(total(rows)))
        return scores

    def _score(
        self,
        metric: Metric,
        condition: Condition,
        without: frozenset[int],
        system: int,
        segments: NDArray[np.int64],
        progress: Progress | None,
    ) -> NDArray[np.float64]:
        # Pairs whose outputs may be held against the same references share them, and a system its rows.
        chosen = condition.choose(self.library.shelf, self.library.available(without, system))
        key = condition, (hashlib.blake2b(chosen.tobytes()).digest(), segments.tobytes())
        mine = key, metric, system
        if mine not in self._rows:
            compared = self._compared(metric, system) if self.library.pooled else None
            if compared is not None:
                self._rows[mine] = compared(chosen)[segments]
            else:
                if key not in self._kept:
                    self._kept[key] = self.library.references.take(segments, chosen)
                references = self._kept[key]
                if not self.library.pooled:
                    prepare_for(references, [metric], len(self.outputs))
                elif metric.learns:  # what it counted would stay with them, for every pair
                    references = references.take(np.arange(len(references)))
                texts = [self.outputs[system][segment] for segment in segments.tolist()]
                learned = self._learned(metric, condition, chosen)
                self._rows[mine] = learned.statistics(texts, references, threads=self.threads, progress=progress)
                return self._rows[mine]
        if progress is not None:
            progress(len(segments))
        return self._rows[mine]

    def _compared(self, metric: Metric, system: int) -> ByReference:
        """Return a system's outputs compared with all references; kept with these, for all pairs and conditions."""
        owner = next(each for each in type(metric).__mro__ if {"statistics", "by_reference"} & vars(each).keys())
        if "by_reference" not in vars(owner):  # a metric of somebody's own that counts otherwise
            return None
        kept: dict[object, ByReference] = self.library.references.remembered("compared", dict)
        key = str(metric.signature()), system
        if key not in kept:
            kept[key] = metric.by_reference(self.outputs[system], self.library.references, self.threads)
        return kept[key]

    def _learned(self, metric: Metric, condition: Condition, chosen: NDArray[np.bool_]) -> Metric:
        """Return a metric that has learned from all segments, whichever of them are judged."""
        if not metric.learns:
            return metric
        key = condition, chosen.tobytes()
        if key not in self._lessons:
            segments = np.flatnonzero(self.library.shelf.any_of(chosen))
            self._lessons.clear()
            self._lessons[key] = self.library.references.take(segments, chosen)
        return metric.learned(self._lessons[key])


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


NAMES: Final = ("spearman", "kendall")


class Replicates(NamedTuple):
    """The coefficients of one measure in all draws and in all bootstrap replicates."""

    measure: Measure
    drawn: RankCorrelations
    over_segments: RankCorrelations
    over_systems: RankCorrelations | None = None

    @property
    def undefined(self) -> int:
        """In how many draws there is no coefficient."""
        return int(np.isnan(self.drawn.spearman).sum())

    def mean(self, name: str) -> float | None:
        """Return the mean of a coefficient over the draws in which it is defined."""
        values: NDArray[np.float64] = getattr(self.drawn, name)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if len(defined) else None

    def coefficients(self, unit: int, units: int, confidence: float) -> dict[str, Any]:
        """Return the fields of a `CoefficientRow`."""
        values: dict[str, Any] = {"metric": self.measure.metric, "condition": self.measure.condition}
        values |= {"unit": unit, "units": units, "n": 2 * units}
        for name in NAMES:
            values[name] = self.mean(name)
            defined = None if values[name] is None else getattr(self.over_segments, name)
            values[f"{name}_low"], values[f"{name}_high"], _ = ends_of(defined, confidence)
        return values

    def correlation_row(self, unit: int, units: int, confidence: float, signature: str) -> CorrelationRow:
        """Return the row of the measure."""
        values = self.coefficients(unit, units, confidence)
        unknown: tuple[float | None, float | None] = (None, None)
        for name in NAMES:
            mean, ends = values[name], dict.fromkeys(("systems", "fisher", "fieller"), unknown)
            if mean is not None:
                if self.over_systems is not None:
                    ends["systems"] = ends_of(getattr(self.over_systems, name), confidence)[:2]
                if 2 * units > 3:
                    ends["fisher"] = fisher_interval(mean, 2 * units, confidence)
                if units > 4:
                    ends["fieller"] = fieller_interval(mean, units, kind=name, confidence=confidence)
            for kind, (low, high) in ends.items():
                values |= {f"{name}_{kind}_low": low, f"{name}_{kind}_high": high}
        return CorrelationRow(undefined=self.undefined, signature=signature, **values)


def compare_measures(measures: Sequence[Replicates], confidence: float) -> list[ComparisonRow]:
    """Return a row for every two metrics under one condition, and for every two conditions of one metric.

    The same replicates serve all measures, so their differences are those of paired bootstrap samples. Shifted so that
    their mean is 0 they stand for chance: p is the share of them at least as large as the observed difference, the
    observed one counted in.
    """
    pairs = [
        (x, y)
        for x, y in combinations(measures, 2)
        if x.measure.metric == y.measure.metric or len({x.measure.condition, y.measure.condition} - {None}) < 2
    ]
    rows: list[dict[str, Any]] = [
        {
            "metric_x": x.measure.metric,
            "condition_x": x.measure.condition,
            "metric_y": y.measure.metric,
            "condition_y": y.measure.condition,
        }
        for x, y in pairs
    ]
    for name in NAMES:
        p_values = []
        for row, (x, y) in zip(rows, pairs, strict=True):
            first, second = x.mean(name), y.mean(name)
            difference = low = high = p = None
            if first is not None and second is not None:
                difference = first - second
                replicates = getattr(x.over_segments, name) - getattr(y.over_segments, name)
                low, high, _ = ends_of(replicates, confidence)
                p = None if low is None else centred_p(replicates, difference)
            values = {"difference": difference, "difference_low": low, "difference_high": high, "p": p}
            row |= {f"{name}_{what}": value for what, value in values.items()}
            p_values.append(p)
        for row, p_holm in zip(rows, corrected(p_values), strict=True):
            row[f"{name}_p_holm"] = p_holm
    return [ComparisonRow(**row) for row in rows]


def cloud_of(scoring: Scoring, columns: Sequence[Column], draws: UnitDraws, common: int) -> Cloud:
    """Return the units of the first draw; ``common`` is what opinions were multiplied by to make them whole."""
    tables = Tables(scoring.pairs, columns, draws)
    opinions, differences = tables.observe(range(1), scoring.threads)
    return Cloud(
        pair=tables.units,
        rating=opinions[0] / common,
        scores={column.measure: each[0] for column, each in zip(columns, differences, strict=True)},
    )


def evidence_of(scoring: Scoring, columns: Sequence[Column], conditions: Sequence[Condition]) -> Iterator[Evidence]:
    """Yield every pair's segments with outputs, ratings and scores."""
    for place, pair in enumerate(scoring.pairs):
        sides = {column.measure: column.sides(column.rows[place]) for column in columns}
        of_systems: dict[str, Any] = {}
        for side, (letter, system) in enumerate((("a", pair.a), ("b", pair.b))):
            outputs = scoring.outputs[system]
            of_systems |= {
                f"outputs_{letter}": tuple(outputs[segment] for segment in pair.segments.tolist()),
                f"scores_{letter}": {measure: np.asarray(scores[side]) for measure, scores in sides.items()},
                f"references_{letter}": _Lazy(
                    {str(each): partial(scoring.references, pair, system, each) for each in conditions}
                ),
            }
        yield Evidence(pair=place, segments=pair.segments, rating_a=pair.rating_a, rating_b=pair.rating_b, **of_systems)


class _Lazy(UserDict[str, Any]):
    """Values that are made when somebody looks: a page shows few of them."""

    def __getitem__(self, key: str) -> Any:
        if isinstance(made := self.data[key], partial):
            made = self.data[key] = made()
        return made
