"""What judging by ratings yields, on one set and on many: flat rows, how they were made, the verdict in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from trubleu.errors import DataError, counted, some
from trubleu.judge.report import NoteRow, RowsReport, brief
from trubleu.results import Row
from trubleu.stats.bootstrap import ends_of
from trubleu.stats.meta_evaluation import TAUS
from trubleu.stats.metric_tests import ACCURACY, CALIBRATED, PAIRWISE, SOFT, split_measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.stats.metric_tests import Test

Level: TypeAlias = Literal["segment", "system"]

LEVELS: Final[tuple[Level, ...]] = ("segment", "system")

_COEFFICIENTS: Final = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ-b",
    "kendall-c": "Kendall τ-c",
}
_MEASURES: Final = {
    CALIBRATED: "acc*_eq",
    ACCURACY: "acc_eq",
    SOFT: "soft pairwise accuracy",
    PAIRWISE: "pairwise accuracy",
    **{name: f"τ {name.removeprefix('tau-')}" for name in TAUS},
}


def measure_title(level: Level, measure: str) -> str:
    """Return a measure as people write it.

    Examples
    --------
    >>> measure_title("segment", "kendall-item"), measure_title("system", "pearson")
    ('Kendall τ-b by item', 'Pearson r')
    """
    if measure in _MEASURES:
        return _MEASURES[measure]
    if level == "system":
        return _COEFFICIENTS[measure]
    coefficient, grouping = split_measure(measure)
    return f"{_COEFFICIENTS[coefficient]} {'pooled' if grouping == 'pooled' else f'by {grouping}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow(Row):
    """How well one metric agrees with people by one measure.

    Attributes
    ----------
    level
        ``segment`` or ``system``.
    measure, metric
        Their names.
    value, low, high
        The measure, and its bootstrap interval for the measures that are tested; None where there is none.
    groups
        Over how many items or systems the value is a mean; 1 for what is pooled or of systems.
    epsilon
        The tie threshold that acc-eq-calibrated chose; None for other measures.
    headline
        Whether this is the measure of its level by which metrics are compared.
    cluster
        1 for the best metrics, 2 for those that are significantly worse, and so on; None where nothing is tested.
    not_worse
        Whether the metric is the best or not significantly worse than the best; None where nothing is tested.
    reason
        Why there is no value; None if there is one.
    """

    level: Level
    measure: str
    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None
    groups: int
    epsilon: float | None = None
    headline: bool
    cluster: int | None = None
    not_worse: bool | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifferenceRow(Row):
    """Whether one metric agrees better with people than another.

    Attributes
    ----------
    level, measure
        As in `MeasureRow`.
    metric_x, metric_y
        The two metrics; x has the larger value.
    difference
        x − y.
    p, p_holm
        Two-sided; ``p_holm`` is corrected for all pairs of metrics of the level. None where the test is undefined.
    items_needed
        About how many items it takes to find such a difference with a power of 80 %; None if it is significant already.
    """

    level: Level
    measure: str
    metric_x: str
    metric_y: str
    difference: float
    p: float | None
    p_holm: float | None
    items_needed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AspectRow(Row):
    """The headline of the segment level by one aspect alone; the value is None where it is undefined."""

    aspect: str
    metric: str
    measure: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMeanRow(Row):
    """The mean rating of a system, or None, and its mean score by one metric, over the items rated for it.

    With official scores, these and the score of the system's corpus.
    """

    system: str
    people: float | None
    metric: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsSetting(Row):
    """What was judged, and everything that can change a number besides the data and the metrics' own options.

    Attributes
    ----------
    name
        What was judged: a set or a file.
    kind
        ``ratings`` or ``rankings``; ``official`` where people only scored whole systems.
    systems, items, outputs, ratings, raters
        How many there are; ``outputs`` are those that somebody rated.
    official
        How many systems have official scores, which are compared with scores of whole corpora; None without them.
    aspects
        What was rated, with commas between; None where ratings have no aspect.
    segment_measure, system_measure
        The headlines; None where a level cannot be judged.
    test, system_test, trials, seed
        How metrics were compared, at the segment and at the system level.
    resample, resamples, confidence
        What intervals draw, how often, and how much lies between their ends.
    """

    name: str
    kind: Literal["ratings", "rankings", "official"]
    systems: int
    items: int
    outputs: int
    ratings: int
    raters: int
    official: int | None = None
    aspects: str | None
    segment_measure: str | None
    system_measure: str | None
    test: Test
    system_test: Test | None = None
    trials: int
    seed: int
    resample: str
    resamples: int
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow(Row):
    """A sentence of the verdict, and the best metric; None if no measure tells the metrics apart."""

    level: Level
    verdict: str
    best: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureRow(Row):
    """How a metric's scores were made."""

    metric: str
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsReport(RowsReport):
    """How well metrics agree with ratings or rankings of outputs.

    Attributes
    ----------
    verdicts
        Which metric agrees best, whether that is significant, and how much data would settle it; a row per level.
    measures, differences, aspects, systems
        Flat rows.
    setting
        How they were made.
    signatures
        Of the metrics that were computed.
    notes
        What a reader must know, one sentence each.
    replicates
        The headlines in all bootstrap replicates, by level and metric, for averages over sets.
    """

    kinds: ClassVar[Mapping[str, type[Any]]] = {
        "verdicts": VerdictRow,
        "measures": MeasureRow,
        "differences": MetricDifferenceRow,
        "aspects": AspectRow,
        "systems": SystemMeanRow,
        "setting": RatingsSetting,
        "signatures": SignatureRow,
        "notes": NoteRow,
    }

    verdicts: tuple[VerdictRow, ...]
    measures: tuple[MeasureRow, ...]
    differences: tuple[MetricDifferenceRow, ...]
    aspects: tuple[AspectRow, ...]
    systems: tuple[SystemMeanRow, ...]
    setting: RatingsSetting
    signatures: tuple[SignatureRow, ...]
    notes: tuple[str, ...]
    replicates: Mapping[tuple[Level, str], NDArray[np.float64]] = field(default_factory=dict, compare=False, repr=False)

    def metrics(self) -> tuple[str, ...]:
        """Return the metrics, the best first."""
        return tuple(row.metric for row in self.headline("segment") or self.headline("system"))

    def headline(self, level: Level) -> tuple[MeasureRow, ...]:
        """Return the rows by which metrics are compared, the best first; what is undefined comes last."""
        rows = [row for row in self.measures if row.level == level and row.headline]
        return tuple(sorted(rows, key=lambda row: -2.0 if row.value is None else row.value, reverse=True))

    def best(self, level: Level) -> str | None:
        """Return the metric that agrees best with people, None if no measure tells the metrics apart."""
        return next((row.best for row in self.verdicts if row.level == level), None)

    def measure(self, level: Level, measure: str, metric: str) -> MeasureRow:
        """Return one row."""
        return next(row for row in self.measures if (row.level, row.measure, row.metric) == (level, measure, metric))

    def _repr_html_(self) -> str:
        from trubleu.render.judge_ratings import render_ratings

        return render_ratings(self, "html")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetValueRow(Row):
    """How well one metric agrees with people on one set.

    Attributes
    ----------
    set, level, measure, metric
        What was measured.
    value, low, high
        The headline of the level with its interval; None where it is undefined.
    regret
        How far the value is below that of the best metric; None where it is undefined.
    not_worse
        Whether the metric is the best or not significantly worse than the best.
    """

    set: str
    level: Level
    measure: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    regret: float | None
    not_worse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretRow(Row):
    """How far one metric is from the best over all sets.

    Attributes
    ----------
    metric
        Its name.
    mean, worst
        Of its distances from the best, set by set and level by level.
    where
        The set and the level of the worst.
    best, not_worse
        How often it is the best, and how often the best or not significantly worse.
    columns
        Over how many sets and levels.
    """

    metric: str
    mean: float
    worst: float
    where: str
    best: int
    not_worse: int
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AverageRow(Row):
    """The mean of one metric's values by one measure over so many sets, those in which it is defined.

    The bootstrap interval draws each set by itself; None where a set has no replicates.
    """

    level: Level
    measure: str
    metric: str
    value: float
    low: float | None
    high: float | None
    sets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsReport(RowsReport):
    """Metrics on many sets.

    Attributes
    ----------
    verdict
        Which metric is closest to the best over all sets.
    regrets
        The metrics, the smallest mean distance first.
    values
        Flat rows behind them.
    averages
        Of measures with values on several sets.
    notes
        What a reader must know, one sentence each.
    reports
        What was found on each set.
    """

    kinds: ClassVar[Mapping[str, type[Any]]] = {
        "regrets": RegretRow,
        "values": SetValueRow,
        "averages": AverageRow,
        "settings": RatingsSetting,
        "notes": NoteRow,
    }

    verdict: str
    regrets: tuple[RegretRow, ...]
    values: tuple[SetValueRow, ...]
    averages: tuple[AverageRow, ...]
    notes: tuple[str, ...]
    reports: Mapping[str, RatingsReport]

    def columns(self) -> list[tuple[str, Level, str]]:
        """Return the sets with their levels and measures, in order."""
        return [*dict.fromkeys((row.set, row.level, row.measure) for row in self.values)]

    def value(self, name: str, level: Level, metric: str) -> SetValueRow:
        """Return one row."""
        return next(row for row in self.values if (row.set, row.level, row.metric) == (name, level, metric))

    def parts(self) -> dict[str, Sequence[Any]]:
        """Return all rows by what they are; the verdict is the first note."""
        rows = RowsReport.parts(self)
        return {**rows, "notes": [NoteRow(note=self.verdict), *rows["notes"]]}

    @property
    def settings(self) -> tuple[RatingsSetting, ...]:
        """How each set was judged."""
        return tuple(each.setting for each in self.reports.values())

    def _repr_html_(self) -> str:
        from trubleu.render.judge_ratings import render_sets

        return render_sets(self, "html")


def judge_sets(reports: Mapping[str, RatingsReport]) -> SetsReport:
    """Put the results of several sets side by side.

    Parameters
    ----------
    reports
        What `judge_ratings` returned for each set, by name; with the same metrics.

    Raises
    ------
    DataError
        If there are no sets, or they were judged with different metrics.
    """
    if not reports:
        raise DataError("there are no sets to put side by side; give at least one")
    metrics = next(iter(reports.values())).metrics()
    values: list[SetValueRow] = []
    blind: list[str] = []
    for name, report in reports.items():
        own = {*report.metrics()}
        if own != set(metrics):
            raise DataError(
                f"{name} was judged with {some(sorted(own))} and the first set with {some(sorted(metrics))}; "
                "judge all sets with the same metrics"
            )
        for level in LEVELS:
            rows = report.headline(level)
            top = rows[0].value if rows else None
            if top is None:
                continue
            if report.best(level) is None:
                blind.append(f"{name}, {level} level")
                continue
            for row in rows:
                about = {name: getattr(row, name) for name in ("level", "measure", "metric", "value", "low", "high")}
                regret = None if row.value is None else top - row.value
                values.append(SetValueRow(set=name, **about, regret=regret, not_worse=bool(row.not_worse)))
    if not values:
        raise DataError("no metric has a value on any of the sets; look at them one by one with trubleu judge ratings")
    defined = {row.metric for row in values if row.value is not None}
    regrets = sorted((_regret(metric, values) for metric in metrics if metric in defined), key=lambda row: row.mean)
    return SetsReport(
        verdict=_verdict(regrets, len(reports)),
        regrets=tuple(regrets),
        values=tuple(values),
        averages=tuple(_averages(reports, values)),
        notes=(
            *_notes(reports, values),
            *(f"{where} is left out: no measure tells the metrics apart" for where in blind),
            *(f"{metric} has no value on any set, so it is left out" for metric in metrics if metric not in defined),
        ),
        reports=reports,
    )


def _regret(metric: str, values: Sequence[SetValueRow]) -> RegretRow:
    regrets = {row: row.regret for row in values if row.metric == metric and row.regret is not None}
    worst = max(regrets, key=lambda row: regrets[row])
    return RegretRow(
        metric=metric,
        mean=sum(regrets.values()) / len(regrets),
        worst=regrets[worst],
        where=f"{worst.set}, {worst.level}",
        best=sum(regret == 0.0 for regret in regrets.values()),
        not_worse=sum(row.not_worse for row in regrets),
        columns=len(regrets),
    )


def _averages(reports: Mapping[str, RatingsReport], values: Sequence[SetValueRow]) -> Iterator[AverageRow]:
    """Yield the mean of each measure and metric over the sets that have a value, where there are several sets."""
    found: dict[tuple[Level, str, str], dict[str, float]] = {}
    sets: dict[tuple[Level, str], set[str]] = {}
    for row in values:
        sets.setdefault((row.level, row.measure), set()).add(row.set)
        if row.value is not None:
            found.setdefault((row.level, row.measure, row.metric), {})[row.set] = row.value
    for (level, measure, metric), by_set in found.items():
        if len(sets[level, measure]) < 2:
            continue
        drawn = [reports[name].replicates.get((level, metric)) for name in by_set]
        # Sets of the same size have the same draws, which must not go together.
        shuffled = [
            np.random.default_rng(place).permutation(each) for place, each in enumerate(drawn) if each is not None
        ]
        whole = len(shuffled) == len(drawn) and len({len(each) for each in shuffled}) == 1
        means = np.mean(shuffled, axis=0) if whole else None
        low, high, _ = ends_of(means, reports[next(iter(by_set))].setting.confidence)
        value = sum(by_set.values()) / len(by_set)
        yield AverageRow(level=level, measure=measure, metric=metric, value=value, low=low, high=high, sets=len(drawn))


def _verdict(regrets: Sequence[RegretRow], sets: int) -> str:
    best = regrets[0]
    head = (
        f"{best.metric} is closest to the best over {counted(sets, 'set')}: {brief(best.mean)} behind it on average "
        f"and {brief(best.worst)} at worst ({best.where})"
    )
    if len(regrets) == 1:
        return f"{head}; there is no other metric to compare it with."
    other = regrets[1]
    return (
        f"{head}; {other.metric} follows with {brief(other.mean)} and {brief(other.worst)} ({other.where}). "
        f"{best.metric} is the best or not significantly worse than the best in {best.not_worse} of "
        f"{best.columns} columns."
    )


def _notes(reports: Mapping[str, RatingsReport], values: Sequence[SetValueRow]) -> list[str]:
    measures = dict.fromkeys((row.level, row.measure) for row in values)
    named = {
        level: " or ".join(measure_title(each, measure) for each, measure in measures if each == level)
        for level in LEVELS
    }
    notes = [f"{level} level: {title}" for level, title in named.items() if title]
    setting = next(iter(reports.values())).setting
    by_level = {"segment": setting.test, "system": setting.system_test or setting.test}
    tests = dict.fromkeys(by_level[level] for level, _ in measures)
    notes.append(
        f"* best, or not significantly worse than the best ({' and '.join(tests)}, two-sided, p < "
        f"{1 - setting.confidence:.2g} after Holm's correction within a set and level)"
    )
    return notes
