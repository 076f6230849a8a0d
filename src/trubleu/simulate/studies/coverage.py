"""Do intervals cover the truth as often as they say?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trubleu.execution.progress import no_steps
from trubleu.simulate.studies.pool import Share, check_numbers, check_whole, draw_test_set, resampling_seed
from trubleu.stats import bootstrap_interval, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.execution.progress import Steps
    from trubleu.simulate.studies.pool import Pool, Scored
    from trubleu.stats import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """What became of the intervals of one kind.

    Attributes
    ----------
    system, metric, references, raters
        What was scored and how; no raters for metrics that take no weights.
    segments
        Segments of a test set.
    sets
        How many test sets there were.
    truth
        The score of the whole pool, which all test sets are drawn from.
    covered, covered_error
        The share of intervals that held the truth, and its standard error.
    below, above
        The shares of intervals that lay below and above it.
    width
        The mean width.
    bias
        The mean score of the test sets less the truth.
    spread
        The standard deviation of the scores of the test sets.
    """

    system: str
    metric: str
    references: int
    raters: int | None
    segments: int
    sets: int
    truth: float
    covered: float
    covered_error: float
    below: float
    above: float
    width: float
    bias: float
    spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageStudy:
    """The coverage of bootstrap intervals.

    Attributes
    ----------
    confidence
        What they promise.
    pool
        How many segments test sets were drawn from.
    resamples, seed
        How they were drawn.
    rows
        One for each system, condition and number of segments.
    """

    confidence: float
    pool: int
    resamples: int
    seed: int
    rows: tuple[CoverageRow, ...]


def coverage_study(
    pool: Pool,
    scored: Sequence[Scored],
    *,
    segments: Sequence[int],
    sets: int = 1_000,
    confidence: float = 0.95,
    resamples: int = 1_000,
    seed: int = 1,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> CoverageStudy:
    """Make the intervals of many test sets and count those that hold the true score.

    A test set is drawn from the pool with replacement, so it is an independent sample of a distribution whose score is
    known without error: that of the whole pool.

    Parameters
    ----------
    pool
        The segments.
    scored
        The statistics of its systems under each condition.
    segments
        Sizes of test sets.
    sets
        How many test sets to draw of each size.
    confidence
        Of the intervals.
    resamples
        Draws of the bootstrap.
    seed
        Of all draws.
    threads
        How many threads to use; None for all cores if there is enough to do. It changes no number.
    steps
        Told of how far it is.

    Raises
    ------
    UsageError
        If a number is out of range.
    """
    check_numbers("segments", segments, 2)
    check_whole("sets", sets, 1)
    told = steps("making intervals", len(pool.systems) * len(scored) * len(segments) * sets)
    rows = []
    for system in pool.systems:
        for each in scored:
            for size in segments:
                intervals = []
                for number in range(sets):
                    draw = draw_test_set(len(pool), size, number=number, seed=seed)
                    interval = bootstrap_interval(
                        each.rows[system][draw.rows],
                        each.score,
                        resamples=resamples,
                        confidence=confidence,
                        seed=resampling_seed(number, seed),
                        threads=threads,
                    )
                    intervals.append(interval)
                    told(1)
                rows.append(_row(system, each, size, intervals))
    return CoverageStudy(confidence=confidence, pool=len(pool), resamples=resamples, seed=seed, rows=tuple(rows))


def _row(system: str, scored: Scored, size: int, intervals: Sequence[Interval]) -> CoverageRow:
    truth = float(scored.score(total(scored.rows[system])))
    low, high, scores = (
        np.array([getattr(interval, name) for interval in intervals]) for name in ("low", "high", "score")
    )
    covered = covering(low, high, truth)
    sign = 1.0 if scored.condition.metric.higher_is_better else -1.0
    under, over = int((high < truth).sum()), int((low > truth).sum())
    under, over = (under, over) if sign > 0 else (over, under)
    return CoverageRow(
        system=system,
        **scored.how,
        segments=size,
        sets=len(intervals),
        truth=sign * truth,
        **covered.fields("covered"),
        below=under / len(intervals),
        above=over / len(intervals),
        width=float((high - low).mean()),
        bias=sign * (float(scores.mean()) - truth),
        spread=float(scores.std()),
    )


def covering(low: NDArray[np.float64], high: NDArray[np.float64], truth: float) -> Share:
    """Return the share of intervals that hold the truth, their ends included.

    Examples
    --------
    >>> covering(np.array([0.0, 1.0, 2.0, 5.0]), np.array([1.0, 2.0, 3.0, 6.0]), 1.0).value
    0.5
    """
    return Share.of(int(((low <= truth) & (truth <= high)).sum()), len(low))
