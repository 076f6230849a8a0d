"""Whether new answers are better, worse or unchanged, or there are too few to tell: tests of scores, and thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

from trubleu.errors import UsageError
from trubleu.stats import bootstrap_interval, bootstrap_scores, compare, holm
from trubleu.stats.paired import smallest_p

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics import Metric
    from trubleu.stats import Interval

Verdict: TypeAlias = Literal["better", "no evidence of a change", "worse", "not enough data"]
"""What the test of a metric says."""

VERDICTS: Final = get_args(Verdict)

Limit: TypeAlias = Literal["above", "below", "not enough data"]
"""Where the interval of a score lies from its threshold."""

POWER: Final = 0.8
"""The power with which the smallest detectable change would have been found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricVerdict:
    """One metric: scores, the change, and what follows.

    Attributes
    ----------
    metric, signature
        The metric.
    score, low, high
        Of the new answers, with the bootstrap interval.
    old
        The score of the baseline, None without one; the same holds for all fields down to `verdict`.
    difference, difference_low, difference_high
        New less old, with the bootstrap interval over questions.
    p, p_holm
        Of the paired randomisation test, and corrected over the metrics.
    differing
        How many questions have another score than before.
    detectable
        The smallest change that these data would have shown with a power of .8.
    verdict
        What the test says.
    minimum, limit
        The threshold, and where the interval lies from it; None without one.
    lower_is_better
        Whether a drop is good.
    """

    metric: str
    signature: str
    score: float
    low: float
    high: float
    old: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    differing: int | None = None
    detectable: float | None = None
    verdict: Verdict | None = None
    minimum: float | None = None
    limit: Limit | None = None
    lower_is_better: bool = False

    @property
    def failed(self) -> bool:
        """Whether the change or the score is bad enough to fail."""
        return self.verdict == "worse" or self.limit == "below"

    @property
    def unsure(self) -> bool:
        """Whether the data are not enough for one of the two."""
        return "not enough data" in (self.verdict, self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What makes a check fail, and how it is computed.

    Attributes
    ----------
    tolerance
        Drops up to this many points do not fail.
    detect
        The change that the data must be able to show; None for no such condition.
    minimum
        The threshold of each metric that has one.
    confidence, resamples, seed
        Of intervals and tests.
    """

    tolerance: float = 0.0
    detect: float | None = None
    minimum: Mapping[str, float] | None = None
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 12345

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("tolerance", "detect"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise UsageError(f"{name} is {value:g}, but must be 0 or more points of the score")


def average_statistics(
    metric: Metric, outputs: Sequence[Sequence[str]], references: References, *, threads: int | None = None
) -> NDArray[np.float64]:
    """Return a row of statistics per question: the mean over its outputs.

    Examples
    --------
    >>> import trubleu
    >>> from trubleu import References
    >>> references = References.from_lists([["a b"], ["c d"]])
    >>> rows = average_statistics(trubleu.metric("sbleu-1"), [["a b", "x y"], ["c d"]], references)
    >>> rows[:, 0].tolist()
    [50.0, 100.0]
    """
    metric = metric.learned(references) if metric.learns else metric
    counts = np.array([len(texts) for texts in outputs])
    total: NDArray[np.float64] | None = None
    for number in range(int(counts.max(initial=0))):
        places = np.flatnonzero(counts > number)
        part = references if len(places) == len(outputs) else references.take(places)
        rows = metric.statistics([outputs[place][number] for place in places.tolist()], part, threads=threads)
        if total is None:
            total = np.zeros((len(outputs), rows.shape[1]))
        total[places] += rows
    if total is None:
        raise UsageError("there are no answers to score")
    divided: NDArray[np.float64] = total / counts[:, np.newaxis]
    return divided


def judge_scores(
    metrics: Mapping[str, Metric],
    new: Sequence[Sequence[str]],
    old: Sequence[Sequence[str]] | None,
    references: References,
    conditions: Conditions,
    *,
    threads: int | None = None,
) -> tuple[tuple[MetricVerdict, ...], dict[str, NDArray[np.float64]]]:
    """Test the change of each metric, and compare scores with thresholds.

    Parameters
    ----------
    metrics
        The gating metrics by name; p-values are corrected over them by Holm's method.
    new, old
        The answers to each question; several are averaged. No old ones: only thresholds are looked at.
    references
        Of the questions.
    conditions
        What makes a check fail.
    threads
        As for `trubleu.scoring.score_systems`.

    Returns
    -------
    verdicts, scores
        A verdict per metric, and by metric the scores of the questions: a row for the new answers and one for the old.
    """
    minimum = conditions.minimum or {}
    if unknown := [name for name in minimum if name not in metrics]:
        raise UsageError(f"a minimum is given for {unknown[0]}, which is not among the metrics; add -m {unknown[0]}")
    drawing: dict[str, Any] = {"resamples": conditions.resamples, "seed": conditions.seed, "threads": threads}
    alpha = 1 - conditions.confidence
    rows = {
        name: [
            average_statistics(metric.of_system(system), side, references, threads=threads)
            for system, side in (("new", new), ("baseline", old))
            if side is not None
        ]
        for name, metric in metrics.items()
    }
    compared = {
        name: compare(
            {"new": rows[name][0], "old": rows[name][1]},
            metric.score,
            test="randomisation",
            confidence=conditions.confidence,
            **drawing,
        )[0]
        for name, metric in metrics.items()
        if old is not None
    }
    corrected = (
        dict(zip(compared, holm([each.p for each in compared.values()]).tolist(), strict=True)) if compared else {}
    )
    verdicts, scores = [], {}
    for name, metric in metrics.items():
        scores[name] = np.stack([metric.segment_scores(each, references) for each in rows[name]])
        interval = bootstrap_interval(rows[name][0], metric.score, confidence=conditions.confidence, **drawing)
        found: dict[str, Any] = {}
        if name in minimum:
            found |= {"minimum": minimum[name], "limit": _limit(interval, minimum[name], metric)}
        if old is not None:
            test = compared[name]
            draws = [bootstrap_scores(each, metric.score, **drawing) for each in rows[name]]
            detectable = detectable_change(float((draws[0] - draws[1]).std()), alpha, len(metrics))
            found |= {
                "old": float(metric.score(rows[name][1].sum(axis=0))),
                "difference": test.difference,
                "difference_low": test.low,
                "difference_high": test.high,
                "p": test.p,
                "p_holm": corrected[name],
                "differing": test.differing,
                "detectable": detectable,
                "verdict": verdict_of(
                    test.difference if metric.higher_is_better else -test.difference,
                    corrected[name],
                    decidable=test.differing == 0 or smallest_p(test.differing, len(metrics)) < alpha,
                    alpha=alpha,
                    tolerance=conditions.tolerance,
                    lacking=conditions.detect is not None and detectable > conditions.detect,
                ),
            }
        signature = str(
            metric.signature(references).extended(
                ci=conditions.confidence, bs=conditions.resamples, seed=conditions.seed
            )
        )
        lower = not metric.higher_is_better
        verdicts.append(
            MetricVerdict(
                metric=name,
                signature=signature,
                score=interval.score,
                low=interval.low,
                high=interval.high,
                lower_is_better=lower,
                **found,
            )
        )
    return tuple(verdicts), scores


def verdict_of(
    difference: float, p: float, *, decidable: bool, alpha: float, tolerance: float = 0.0, lacking: bool = False
) -> Verdict:
    """Return the verdict on a change.

    Parameters
    ----------
    difference
        New less old; positive is better.
    p
        The p-value after Holm's correction.
    decidable
        Whether the data could give a p-value below the level; also if nothing differs, as there is nothing to decide.
    alpha
        The level.
    tolerance
        A drop up to this many points is not worse.
    lacking
        Whether the data cannot show the change that they should be able to show.

    Examples
    --------
    >>> verdict_of(-2.0, 0.01, decidable=True, alpha=0.05)
    'worse'
    >>> verdict_of(-2.0, 0.01, decidable=True, alpha=0.05, tolerance=3.0)
    'no evidence of a change'
    >>> verdict_of(2.0, 0.3, decidable=True, alpha=0.05), verdict_of(2.0, 0.3, decidable=False, alpha=0.05)
    ('no evidence of a change', 'not enough data')
    """
    if p < alpha and difference < -tolerance:
        return "worse"
    if p < alpha and difference > 0:
        return "better"
    return "not enough data" if not decidable or lacking else "no evidence of a change"


def detectable_change(error: float, alpha: float, metrics: int, power: float = POWER) -> float:
    """Return the smallest change that a two-sided test would find with the given power.

    (z₁₋α/₂ₖ + z_power) · standard error of the difference, for k metrics.

    Examples
    --------
    >>> round(detectable_change(1.0, 0.05, 1), 3)
    2.802
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / (2 * metrics)) + normal.inv_cdf(power)) * error


def _limit(interval: Interval, minimum: float, metric: Metric) -> Limit:
    """Return where an interval lies from a threshold: beyond its good side, its bad side, or across it."""
    low, high = (interval.low, interval.high) if metric.higher_is_better else (-interval.high, -interval.low)
    least = minimum if metric.higher_is_better else -minimum
    return "above" if low >= least else "below" if high < least else "not enough data"
