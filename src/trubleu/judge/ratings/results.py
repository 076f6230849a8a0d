"""What judging by ratings yields: flat rows, how they were made, and the verdict in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from trubleu.judge.report import NoteRow, Row, RowsReport
from trubleu.stats.meta_evaluation import TAUS
from trubleu.stats.metric_tests import ACCURACY, CALIBRATED, PAIRWISE, SOFT, split_measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
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
_GROUPINGS: Final = {"pooled": "pooled", "item": "by item", "system": "by system"}


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
    return f"{_COEFFICIENTS[coefficient]} {_GROUPINGS[grouping]}"


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
    """A sentence of the verdict."""

    level: Level
    verdict: str


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

    def measure(self, level: Level, measure: str, metric: str) -> MeasureRow:
        """Return one row."""
        return next(row for row in self.measures if (row.level, row.measure, row.metric) == (level, measure, metric))

    def _repr_html_(self) -> str:
        from trubleu.render.judge_ratings import render_ratings

        return render_ratings(self, "html")
