"""The bootstrap of one system: scores of resampled corpora, and the interval between their percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trubleu.stats import checks
from trubleu.stats.resample import Resampling
from trubleu.stats.results import Interval
from trubleu.stats.sample import Sample, Statistics
from trubleu.stats.scoring import score_of, scores_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.stats.resample import Progress
    from trubleu.stats.scoring import ScoreFunction


def bootstrap_scores(
    statistics: Statistics,
    score: ScoreFunction,
    *,
    resamples: int = 10_000,
    seed: int = 12345,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the scores of corpora of the same size whose segments are drawn with replacement.

    The same seed gives the same bits on every machine and with any number of threads. Above a million segments, 10,000
    fixed blocks are drawn instead (see [`blocks`][trubleu.stats.blocks]).

    Parameters
    ----------
    statistics
        ``float64[segments, k]``.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    resamples
        How many corpora to draw.
    seed
        From 0 to 2^64 − 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.
    progress
        Called now and then with the number of resamples just finished; the numbers add up to ``resamples``.

    Returns
    -------
    NDArray[np.float64]
        ``float64[resamples]``.

    Raises
    ------
    DataError
        If the statistics or an option cannot be used, or if a resampled corpus has no finite score.

    Examples
    --------
    >>> def mean(sums):
    ...     return sums[..., 0] / sums[..., 1]
    >>> scores = bootstrap_scores([[30.0, 1.0], [50.0, 1.0], [40.0, 1.0]], mean, resamples=1000)
    >>> scores.shape, float(scores.min()), float(scores.max())
    ((1000,), 30.0, 50.0)
    """
    sample = _checked(statistics, resamples, seed)
    return _scores(sample.rows, score, resamples, seed, threads, progress)


def bootstrap_interval(
    statistics: Statistics,
    score: ScoreFunction,
    *,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 12345,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Interval:
    """Return a corpus score with its percentile bootstrap interval.

    The ends are the (1 − confidence)/2 and (1 + confidence)/2 quantiles of
    [`bootstrap_scores`][trubleu.stats.bootstrap_scores], interpolated linearly between order statistics
    (``numpy.quantile``'s default, type 7 of Hyndman & Fan).

    Parameters
    ----------
    statistics
        ``float64[segments, k]``. One segment is allowed: its interval is a point.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    resamples
        How many corpora to draw.
    confidence
        Strictly between 0 and 1.
    seed
        From 0 to 2^64 − 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.
    progress
        Called now and then with the number of resamples just finished; the numbers add up to ``resamples``.

    Raises
    ------
    DataError
        If the statistics or an option cannot be used, or if a resampled corpus has no finite score.

    Examples
    --------
    >>> def mean(sums):
    ...     return sums[..., 0] / sums[..., 1]
    >>> interval = bootstrap_interval([[30.0, 1.0], [50.0, 1.0], [40.0, 1.0]], mean)
    >>> interval.score, interval.low < 40.0 < interval.high, interval.blocks
    (40.0, True, 0)
    """
    checks.confidence_level(confidence)
    sample = _checked(statistics, resamples, seed)
    scores = _scores(sample.rows, score, resamples, seed, threads, progress)
    low, high = percentile_interval(scores, confidence)
    observed = score_of(score, sample.total, "the corpus")
    return Interval(
        score=observed,
        low=low,
        high=high,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        blocks=sample.blocks,
    )


def percentile_interval(scores: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Return the two quantiles that leave the same share of scores below and above."""
    ends = [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0]
    low, high = np.quantile(scores, ends, method="linear")
    return float(low), float(high)


def _checked(statistics: Statistics, resamples: int, seed: int) -> Sample:
    checks.at_least_one(resamples, "resamples")
    checks.seed_range(seed)
    return Sample.of(statistics, "The system")


def _scores(
    rows: NDArray[np.float64],
    score: ScoreFunction,
    resamples: int,
    seed: int,
    threads: int | None,
    progress: Progress | None,
) -> NDArray[np.float64]:
    draws = Resampling(test="bootstrap", count=resamples, seed=seed, threads=threads, progress=progress)
    (sums,) = draws.sums_of_each([rows], 1, rows.shape)
    return scores_of(score, sums, "resample")
