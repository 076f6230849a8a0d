"""Several systems, several metrics: scores, intervals and tests as flat rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.data import References
from trubleu.errors import DataError, TrubleuWarning, UsageError, nearest
from trubleu.metrics.contract import Metric, as_references
from trubleu.stats import bootstrap_interval, compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences
    from trubleu.stats import TestName

SCHEMA: Final = 1
"""The version of the rows; it rises when a field changes its name or meaning."""

Steps = Callable[[str, int], Callable[[int], object]]
"""Opens a stage of work with its name and number of steps, and returns what is told of steps done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One system under one metric; the interval is None unless it was asked for."""

    schema: int = SCHEMA
    system: str
    metric: str
    score: float
    low: float | None = None
    high: float | None = None
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRow:
    """One pair of systems under one metric; see `trubleu.stats.Comparison` for the fields."""

    schema: int = SCHEMA
    metric: str
    a: str
    b: str
    test: str
    n: int
    seed: int
    difference: float
    low: float
    high: float
    effect: float | None
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """One segment of one system under one metric; the score is None where the metric was told to skip it."""

    schema: int = SCHEMA
    id: str
    system: str
    metric: str
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreReport:
    """All rows, and what is needed to explain them.

    Attributes
    ----------
    systems, metrics
        Names in the order they were given.
    scores, tests, segments
        The rows.
    lower_is_better
        The metrics for which that is so.
    baseline
        The system that the others were tested against, if one was named.
    confidence, resamples, seed
        Of the intervals and tests; None without either.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    scores: tuple[ScoreRow, ...]
    tests: tuple[TestRow, ...] = ()
    segments: tuple[SegmentRow, ...] = ()
    lower_is_better: frozenset[str] = field(default_factory=frozenset)
    baseline: str | None = None
    confidence: float | None = None
    resamples: int | None = None
    seed: int | None = None

    def score(self, system: str, metric: str) -> ScoreRow:
        """Return the row of one system under one metric."""
        return next(row for row in self.scores if row.system == system and row.metric == metric)

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values, ready for JSON."""
        parts: dict[str, Sequence[Any]] = {"scores": self.scores, "tests": self.tests, "segments": self.segments}
        rows = {name: [asdict(row) for row in rows] for name, rows in parts.items() if rows or name == "scores"}
        return {"schema": SCHEMA, **rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How intervals and tests draw.

    Attributes
    ----------
    interval
        Whether scores get intervals.
    test
        Which paired test is made, if any.
    baseline
        The system that the others are tested against; None for all pairs.
    resamples, confidence, seed
        As in `trubleu.stats`.
    """

    interval: bool = False
    test: TestName | None = None
    baseline: str | None = None
    resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 12345


def _no_steps(_name: str, _total: int) -> Callable[[int], object]:
    return lambda _done: None


def score_systems(
    systems: Mapping[str, Sequence[str]],
    references: References | PreparedReferences,
    metrics: Mapping[str, Metric],
    *,
    sampling: Sampling | None = None,
    segments: bool = False,
    threads: int | None = None,
    steps: Steps = _no_steps,
) -> ScoreReport:
    """Score systems by metrics, with intervals and tests where asked for.

    Parameters
    ----------
    systems
        The outputs of each system.
    references
        The references of each segment.
    metrics
        The metrics by the name they have in the rows.
    sampling
        Which intervals and tests to make, and how.
    segments
        Whether to add the score of every segment.
    threads
        How many threads to use; None for all cores.
    steps
        Told of every stage of work, for a progress bar.
    """
    sampling = sampling or Sampling()
    if sampling.baseline is not None and sampling.baseline not in systems:
        raise UsageError(
            f"there is no system {sampling.baseline!r} for a baseline; {nearest(sampling.baseline, systems)}"
        )
    if sampling.test and len(systems) < 2:
        raise UsageError("a test needs at least two systems; name another one, or leave the test out")
    if (sampling.interval or sampling.test) and not len(references):
        raise DataError("there are no segments, so neither an interval nor a test can be made")
    if not len(references):
        warnings.warn("there are no segments, and the score of nothing is 0", TrubleuWarning, stacklevel=2)
    scores: list[ScoreRow] = []
    tests: list[TestRow] = []
    segment_rows: list[SegmentRow] = []
    for name, metric in metrics.items():
        signature = metric.signature(references)
        if sampling.interval:
            signature = signature.extended(ci=sampling.confidence, bs=sampling.resamples, seed=sampling.seed)
        statistics: dict[str, NDArray[np.float64]] = {}
        advance = steps(f"score {name}", len(systems) * len(references))
        for system, outputs in systems.items():
            as_references(references, outputs)
            statistics[system] = metric.statistics(outputs, references, threads=threads, progress=advance)
            if segments:
                segment_rows += _segment_rows(system, name, metric, statistics[system], references)
        advance = steps(f"interval {name}", len(systems) * sampling.resamples * sampling.interval)
        for system in systems:
            score, low, high = metric.result(statistics[system]).score, None, None
            if sampling.interval:
                interval = bootstrap_interval(
                    statistics[system],
                    metric.score,
                    resamples=sampling.resamples,
                    confidence=sampling.confidence,
                    seed=sampling.seed,
                    threads=threads,
                    progress=advance,
                )
                low, high = interval.low, interval.high
            scores.append(
                ScoreRow(system=system, metric=name, score=score, low=low, high=high, signature=str(signature))
            )
        if sampling.test:
            tests += _test_rows(name, metric, statistics, sampling, sampling.test, threads, steps)
    drawn = bool(sampling.interval or sampling.test)
    return ScoreReport(
        systems=tuple(systems),
        metrics=tuple(metrics),
        # Systems first, as people read the table.
        scores=tuple(sorted(scores, key=lambda row: list(systems).index(row.system))),
        tests=tuple(tests),
        segments=tuple(segment_rows),
        lower_is_better=frozenset(name for name, metric in metrics.items() if not metric.higher_is_better),
        baseline=sampling.baseline,
        confidence=sampling.confidence if drawn else None,
        resamples=sampling.resamples if drawn else None,
        seed=sampling.seed if drawn else None,
    )


def _test_rows(
    name: str,
    metric: Metric,
    statistics: Mapping[str, NDArray[np.float64]],
    sampling: Sampling,
    test: TestName,
    threads: int | None,
    steps: Steps,
) -> list[TestRow]:
    comparisons = compare(
        statistics,
        metric.score,
        baseline=sampling.baseline,
        test=test,
        resamples=sampling.resamples,
        seed=sampling.seed,
        confidence=sampling.confidence,
        threads=threads,
        progress=steps(f"test {name}", sampling.resamples * (2 if test == "randomisation" else 1)),
    )
    return [
        TestRow(
            metric=name,
            a=comparison.a,
            b=comparison.b,
            test=comparison.test,
            n=comparison.n,
            seed=comparison.seed,
            difference=comparison.difference,
            low=comparison.low,
            high=comparison.high,
            # One segment has no spread to measure a difference by, and JSON has no infinity.
            effect=comparison.effect if np.isfinite(comparison.effect) else None,
            p=comparison.p,
            p_holm=comparison.p_holm,
        )
        for comparison in comparisons
    ]


def _segment_rows(
    system: str,
    name: str,
    metric: Metric,
    statistics: NDArray[np.float64],
    references: References | PreparedReferences,
) -> list[SegmentRow]:
    ids = (references if isinstance(references, References) else references.references).ids
    values = metric.segment_scores(statistics, references).tolist()
    return [
        SegmentRow(id=segment, system=system, metric=name, score=None if value != value else value)
        for segment, value in zip(ids, values, strict=True)
    ]
