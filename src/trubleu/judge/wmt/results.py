"""What the WMT protocol yields: flat rows, and how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, get_args

from trubleu.judge.report import NoteRow, Row, RowsReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

Level: TypeAlias = Literal["system", "rankings", "assessments"]
"""What people said something about: whole systems, pairs of outputs, single outputs."""

LEVELS: Final[tuple[Level, ...]] = get_args(Level)

Resample: TypeAlias = Literal["segments", "systems", "both"]
"""What the bootstrap draws at the system level."""

RESAMPLES: Final[tuple[Resample, ...]] = get_args(Resample)

Identical: TypeAlias = Literal["expanded", "collapsed"]
"""Whether systems that wrote the same text are ranked one by one, or as one."""

IDENTICAL: Final[tuple[Identical, ...]] = get_args(Identical)

AVERAGE: Final = "average"
"""Stands for the language pair in rows that average over all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRow(Row):
    """How well one metric agrees with people, by one statistic.

    Attributes
    ----------
    level
        ``system``: scores of systems with official human scores. ``rankings``: pairs of outputs that people ranked.
        ``assessments``: scores of segments with direct assessments.
    language_pair
        Which one, or ``average``.
    metric
        The metric as it was written, or as its file of scores calls it.
    statistic
        ``pearson``, ``spearman``, ``kendall``, ``accuracy``; for rankings the variants of τ.
    value, low, high
        The statistic and its bootstrap interval; None where it is undefined.
    n
        Systems, ranked pairs that the variant does not leave out, or assessed outputs; for an average, language pairs.
    resampled
        What the bootstrap drew: ``segments``, ``systems``, ``segments and systems``; None without an interval.
    undefined
        In how many resamples the statistic was undefined; the interval is that of the others.
    signature
        How the metric's numbers were made; None for scores from a file.
    """

    level: Level
    language_pair: str
    metric: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    resampled: str | None
    undefined: int
    signature: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow(Row):
    """Whether one metric agrees better with people than another.

    Attributes
    ----------
    level, language_pair, statistic
        As in `AgreementRow`.
    metric_x, metric_y
        The two metrics.
    difference, low, high
        x − y, and its interval from the bootstrap that both shared.
    test
        ``williams``, ``permutation`` or ``bootstrap``.
    p, p_holm
        Two-sided; ``p_holm`` is corrected for all pairs of metrics with the same level, language pair, statistic and
        test. None where the test is undefined.
    """

    level: Level
    language_pair: str
    metric_x: str
    metric_y: str
    statistic: str
    difference: float
    low: float | None
    high: float | None
    test: str
    p: float | None
    p_holm: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemScoreRow(Row):
    """One system's score under one metric, beside what people think of it; the human score is None if not known."""

    language_pair: str
    system: str
    human: float | None
    metric: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WmtSetting(Row):
    """Everything that can change a number besides the data and the metrics' own options."""

    tau: str
    identical: Identical
    resample: Resample
    resamples: int
    confidence: float
    seed: int
    unrated_as: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTask:
    """What our own metrics gave to one language pair, for those who want to write it down.

    Attributes
    ----------
    language_pair, testset, systems
        As in the task.
    ids
        The names of the segments, without those that were left out.
    segment_scores
        ``float64[systems, segments]`` by metric, NaN where it has none.
    system_scores
        ``float64[systems]`` by metric.
    """

    language_pair: str
    testset: str
    systems: tuple[str, ...]
    ids: Sequence[str]
    segment_scores: Mapping[str, NDArray[np.float64]]
    system_scores: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WmtReport(RowsReport):
    """The WMT protocol's result.

    Attributes
    ----------
    agreements, differences, systems
        Flat rows.
    setting
        How they were made.
    notes
        What a reader must know, one sentence each: what was left out and why, what is undefined.
    scored
        The scores behind the rows.
    """

    kinds: ClassVar[Mapping[str, type[Any]]] = {
        "agreements": AgreementRow,
        "differences": DifferenceRow,
        "systems": SystemScoreRow,
        "setting": WmtSetting,
        "notes": NoteRow,
    }

    agreements: tuple[AgreementRow, ...]
    differences: tuple[DifferenceRow, ...]
    systems: tuple[SystemScoreRow, ...]
    setting: WmtSetting
    notes: tuple[str, ...]
    scored: tuple[ScoredTask, ...] = ()

    def agreement(self, level: Level, language_pair: str, metric: str, statistic: str) -> AgreementRow:
        """Return one row."""
        wanted = (level, language_pair, metric, statistic)
        return next(
            row for row in self.agreements if (row.level, row.language_pair, row.metric, row.statistic) == wanted
        )

    def _repr_html_(self) -> str:
        from trubleu.render.judge_wmt import render_wmt

        return render_wmt(self, "html")
