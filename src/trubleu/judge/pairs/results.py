"""How units are drawn (`Protocol`), and the rows of a report of the ΔBLEU protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from trubleu.errors import UsageError, nearest
from trubleu.judge.report import NoteRow, RowsReport
from trubleu.results import Row
from trubleu.stats import UnitDraws
from trubleu.stats.checks import at_least_one, confidence_level, seed_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics import Metric


SWEEPS: Final[tuple[SweepName, ...]] = ("threshold", "unit", "order")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How units are drawn and what is made of them.

    Attributes
    ----------
    unit
        Segments per unit.
    draws
        Random assignments of segments to units, over which coefficients are averaged.
    resamples
        Bootstrap replicates behind intervals and comparisons.
    sweeps
        Which sweeps to make.
    sweep_draws, sweep_resamples
        Of every point of a sweep.
    confidence
        Of all intervals.
    seed
        Of all draws.
    partial
        Keep the last unit of a pair although it is smaller.
    """

    unit: int = 100
    draws: int = 1000
    resamples: int = 1000
    sweeps: tuple[SweepName, ...] = SWEEPS
    sweep_draws: int = 200
    sweep_resamples: int = 200
    confidence: float = 0.95
    seed: int = 12345
    partial: bool = False

    def __post_init__(self) -> None:
        for sweep in self.sweeps:
            if sweep not in SWEEPS:
                raise UsageError(f"there is no sweep {sweep!r}; {nearest(sweep, SWEEPS)}")
        for name in ("unit", "draws", "resamples", "sweep_draws", "sweep_resamples"):
            at_least_one(getattr(self, name), name)
        confidence_level(self.confidence)
        seed_range(self.seed)

    def shuffles(self, unit: int = 0, draws: int = 0) -> UnitDraws:
        """Return the draws that coefficients are averaged over; 0 for as many as usual."""
        # Units of one segment are the same however they are drawn.
        return self._drawn("shuffle", unit, 1 if (unit or self.unit) == 1 else draws or self.draws)

    def replicates(self, unit: int = 0, resamples: int = 0) -> UnitDraws:
        """Return the bootstrap replicates; 0 for as many as usual."""
        return self._drawn("bootstrap", unit, resamples or self.resamples)

    def _drawn(self, kind: Literal["shuffle", "bootstrap"], unit: int, draws: int) -> UnitDraws:
        return UnitDraws(kind=kind, unit=unit or self.unit, draws=draws, seed=self.seed, partial=self.partial)


SweepName: TypeAlias = Literal["threshold", "unit", "order"]
"""What is varied while everything else stays: which references are taken, how large units are, the metric's order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientRow(Row):
    """How well one metric, under one condition, agrees with people.

    Coefficients are means over the draws; None where a coefficient is undefined, because the metric or the ratings do
    not vary. Intervals belong to their coefficient and are None with it.

    Attributes
    ----------
    metric
        The metric as it was written.
    condition
        Which references it saw: ``single``, ``w>=0.6``, ``all``, ``given``; None for scores from a file.
    unit, units, n
        Segments per unit; units of all pairs, each counted once; observations: every unit enters with both signs.
    spearman, spearman_low, spearman_high
        Spearman's ρ, and its bootstrap interval over segments.
    kendall, kendall_low, kendall_high
        The same for Kendall's τ-b.
    """

    metric: str
    condition: str | None
    unit: int
    units: int
    n: int
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    kendall: float | None
    kendall_low: float | None
    kendall_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationRow(CoefficientRow):
    """A metric's coefficients with other intervals.

    Attributes
    ----------
    spearman_systems_low, spearman_systems_high
        The bootstrap interval over segments and systems; None with two systems only.
    spearman_fisher_low, spearman_fisher_high, spearman_fieller_low, spearman_fieller_high
        Analytic intervals.
    kendall_systems_low, …
        The same for Kendall's τ-b.
    undefined
        In how many of the draws the coefficients were undefined.
    signature
        How the metric's numbers were made.
    """

    spearman_systems_low: float | None
    spearman_systems_high: float | None
    spearman_fisher_low: float | None
    spearman_fisher_high: float | None
    spearman_fieller_low: float | None
    spearman_fieller_high: float | None
    kendall_systems_low: float | None
    kendall_systems_high: float | None
    kendall_fisher_low: float | None
    kendall_fisher_high: float | None
    kendall_fieller_low: float | None
    kendall_fieller_high: float | None
    undefined: int
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow(Row):
    """Whether one measure (a metric under a condition) agrees better with people than another.

    Differences are x − y, intervals and p-values from the bootstrap over segments; ``_holm`` is corrected for all rows.
    """

    metric_x: str
    condition_x: str | None
    metric_y: str
    condition_y: str | None
    spearman_difference: float | None
    spearman_difference_low: float | None
    spearman_difference_high: float | None
    spearman_p: float | None
    spearman_p_holm: float | None
    kendall_difference: float | None
    kendall_difference_low: float | None
    kendall_difference_high: float | None
    kendall_p: float | None
    kendall_p_holm: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow(CoefficientRow):
    """One point of a sweep: what is varied, and its value."""

    sweep: SweepName
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRow(Row):
    """One system: what people think of it, and how many of its outputs stand among the references."""

    system: str
    rated: int
    ratings: int
    mean_rating: float | None
    equal: int
    equal_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemScoreRow(Row):
    """One system's corpus score under one measure, over the segments that were judged."""

    system: str
    metric: str
    condition: str | None
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow(Row):
    """One pair of systems."""

    a: str
    b: str
    segments: int
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Row):
    """Everything that can change a number besides the data and the metrics' own options.

    ``drop_equal`` has names of systems with commas between.
    """

    unit: int
    draws: int
    resamples: int
    sweep_draws: int
    sweep_resamples: int
    confidence: float
    seed: int
    partial: bool
    pool_outputs: bool
    drop_equal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric under a condition, by which columns of `Cloud` and `Evidence` are known."""

    metric: str
    condition: str | None

    def __str__(self) -> str:
        return self.metric if self.condition is None else f"{self.metric} ({self.condition})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """The units of one draw, for a scatter plot: each enters once, as its pair was written.

    Attributes
    ----------
    pair
        For each unit, the place of its pair in `PairsReport.pairs`.
    rating
        The difference of mean ratings, A − B.
    scores
        For each measure, the difference of scores, A − B.
    """

    pair: NDArray[np.int64]
    rating: NDArray[np.float64]
    scores: Mapping[Measure, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The segments of one pair with what each side wrote, got from people and got from each measure.

    Arrays have one entry for each judged segment of the pair.

    Attributes
    ----------
    pair
        The place of the pair in `PairsReport.pairs`.
    segments
        Places of the segments in the references.
    rating_a, rating_b
        Mean ratings.
    scores_a, scores_b
        Segment scores by measure; NaN where a metric has none.
    references_a, references_b
        By condition, what each side was scored against: the references of the segments above, in their order.
    """

    pair: int
    segments: NDArray[np.int64]
    outputs_a: Sequence[str]
    outputs_b: Sequence[str]
    rating_a: NDArray[np.float64]
    rating_b: NDArray[np.float64]
    scores_a: Mapping[Measure, NDArray[np.float64]]
    scores_b: Mapping[Measure, NDArray[np.float64]]
    references_a: Mapping[str, References]
    references_b: Mapping[str, References]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsReport(RowsReport):
    """The ΔBLEU protocol's result.

    Attributes
    ----------
    correlations, comparisons, sweeps, systems, system_scores, pairs
        Flat rows.
    setting
        How it was made.
    notes
        What a reader must know, one sentence each: segments left out and why, ratings that are shared, and so on.
    metrics
        The metrics by the name they have in the rows.
    cloud, evidence
        For the charts and the segments of the page.
    """

    kinds: ClassVar[Mapping[str, type[Any]]] = {
        "correlations": CorrelationRow,
        "comparisons": ComparisonRow,
        "sweeps": SweepRow,
        "systems": SystemRow,
        "system_scores": SystemScoreRow,
        "pairs": PairRow,
        "setting": Setting,
        "notes": NoteRow,
    }

    correlations: tuple[CorrelationRow, ...]
    comparisons: tuple[ComparisonRow, ...]
    sweeps: tuple[SweepRow, ...]
    systems: tuple[SystemRow, ...]
    system_scores: tuple[SystemScoreRow, ...]
    pairs: tuple[PairRow, ...]
    setting: Setting
    notes: tuple[str, ...]
    metrics: Mapping[str, Metric]
    cloud: Cloud
    evidence: tuple[Evidence, ...]

    def _repr_html_(self) -> str:
        from trubleu.render.judge_pairs import render_pairs

        return render_pairs(self, "html")
