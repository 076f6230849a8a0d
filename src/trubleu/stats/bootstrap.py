"""The bootstrap for one system: resampled sums, their scores, and a percentile interval."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.native import kernels, resolve_threads
from trubleu.results import html_record
from trubleu.stats import checks
from trubleu.stats.sample import Sample, Statistics
from trubleu.stats.sums import score_of, scores_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from trubleu.progress import Progress
    from trubleu.stats.sums import ScoreFunction


GROUP_BYTES: Final = 256 * 2**20
"""Systems are processed together in groups whose columns and sums fill this much memory."""

SLICE_WORK: Final = 250_000_000
"""Multiplications per thread, about 50 ms, between two checks for Ctrl-C and progress updates."""

DRAW_WORK: Final = 8
"""Cost of drawing a row, in multiplications."""

WORTH_THREADS: Final = 5_000_000
"""Multiplications (about a millisecond) below which starting threads costs more than it saves."""

LANES: Final = 8
"""Replicates that the kernels process together; slices are a multiple of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """Random draws that are the same for all systems: rows of the bootstrap or bits of the randomisation.

    There are ``count`` replicates, from number ``first`` on. Replicate ``b`` depends only on the seed, ``b`` and the
    number of rows: systems see the same draws whether they are in one array or in several, and neither threads nor
    slices change a number.
    """

    test: str
    count: int
    seed: int
    threads: int | None
    progress: Progress | None
    first: int = 0

    def sums_of_each(
        self, parts: Iterable[NDArray[np.float64]], number: int, shape: tuple[int, int]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield ``[count, k]`` sums for each of ``number`` parts of one shape ``[rows, k]``.

        Parts are taken from the iterable group by group, so they may be created lazily.
        """
        rows, width = shape
        at_once = max(1, GROUP_BYTES // ((rows + self.count) * width * 8))
        waiting = iter(parts)
        finished = 0
        while group := list(islice(waiting, at_once)):
            columns = np.concatenate(group, axis=1) if len(group) > 1 else np.ascontiguousarray(group[0])
            sums = self._sums(columns, before=finished, here=len(group), number=number)
            for part in range(len(group)):
                yield sums[:, part * width : (part + 1) * width]
            finished += len(group)

    def _sums(self, columns: NDArray[np.float64], *, before: int, here: int, number: int) -> NDArray[np.float64]:
        """Return ``[count, K]`` sums for one group: the ``here`` parts after the first ``before`` of ``number``."""
        kernel = kernels.resample_sums if self.test == "bootstrap" else kernels.permute_sums
        work = columns.shape[0] * (columns.shape[1] + DRAW_WORK)
        threads = resolve_threads(self.threads, work * self.count, WORTH_THREADS)
        step = threads * max(LANES, SLICE_WORK // work // LANES * LANES)
        sums = np.empty((self.count, columns.shape[1]), dtype=np.float64)
        reported = self.count * before // number
        for start in range(0, self.count, step):
            end = min(start + step, self.count)
            sums[start:end] = kernel(columns, end - start, self.first + start, self.seed, threads)
            if self.progress is not None:
                finished = (self.count * before + end * here) // number
                self.progress(finished - reported)
                reported = finished
        return sums


def bootstrap_scores(
    statistics: Statistics,
    score: ScoreFunction,
    *,
    resamples: int = 10_000,
    seed: int = 12345,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the scores of resampled corpora, with segments drawn with replacement.

    The same seed gives bit-identical results on every machine and with any number of threads. Above a million segments,
    10,000 fixed blocks are drawn instead (see [`blocks`][trubleu.stats.blocks]).

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
    checks.at_least_one(resamples, "resamples")
    checks.seed_range(seed)
    rows = Sample.of(statistics, "The system").rows
    draws = Resampling(test="bootstrap", count=resamples, seed=seed, threads=threads, progress=progress)
    (sums,) = draws.sums_of_each([rows], 1, rows.shape)
    return scores_of(score, sums, "resample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A corpus score with its percentile bootstrap interval."""

    score: float
    """The score of the whole corpus."""
    low: float
    """The lower end."""
    high: float
    """The upper end."""
    confidence: float
    """The confidence level, 0.95 by default."""
    resamples: int
    """Number of resamples."""
    seed: int
    """The seed of the draws."""
    blocks: int
    """Number of resampled blocks of segments; 0 if the segments themselves were resampled."""
    standard_error: float
    """The standard deviation of the resampled scores."""
    segments: int
    """Number of segments; see [`few_segments`][trubleu.stats.few_segments]."""

    def _repr_html_(self) -> str:
        return html_record(self)


def bootstrap_interval(
    statistics: Statistics,
    score: ScoreFunction,
    *,
    effects: ArrayLike | None = None,
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
    effects
        Errors of the score that all segments share, such as those of strict raters: the standard deviation of each.
        They are independent of each other, and are added to the resampled scores as normal errors.
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
    sample = Sample.of(statistics, "The system")
    scores = bootstrap_scores(sample, score, resamples=resamples, seed=seed, threads=threads, progress=progress)
    if effects is not None:
        scores = scores + normal_errors(effects, resamples, seed)
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
        standard_error=float(scores.std()),
        segments=sample.segments,
    )


FEW_SEGMENTS: Final = 20
"""Below this number of segments, intervals say that they are too narrow."""


def few_segments(segments: int, unit: str = "segment") -> str | None:
    """Return a note on an interval that comes from too few segments, None if there are enough.

    The percentile bootstrap draws only values that were seen, so with few segments it contains the truth too rarely.

    Parameters
    ----------
    segments
        From how many the interval was drawn.
    unit
        What was drawn, in the singular.

    Examples
    --------
    >>> few_segments(5), few_segments(20)
    ('intervals from fewer than 20 segments are too narrow; these are from 5', None)
    """
    if segments >= FEW_SEGMENTS:
        return None
    return f"intervals from fewer than {FEW_SEGMENTS} {unit}s are too narrow; these are from {segments}"


def normal_errors(effects: ArrayLike, resamples: int, seed: int) -> NDArray[np.float64]:
    """Return an error per resample: the sum of independent normal errors with these standard deviations."""
    deviation = float(np.sqrt(np.square(effects).sum()))
    return deviation * np.random.default_rng(seed).standard_normal(resamples)


def percentile_interval(scores: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Return the two quantiles that leave equal shares of scores below and above."""
    ends = [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0]
    low, high = np.quantile(scores, ends, method="linear")
    return float(low), float(high)


LEAST_DEFINED: Final = 0.5
"""The share of replicates in which a statistic must be defined for an interval to be given."""


class Ends(NamedTuple):
    """An interval, None if there is none, and the number of replicates that could not be used."""

    low: float | None
    high: float | None
    undefined: int


def ends_of(replicates: NDArray[np.float64] | None, confidence: float) -> Ends:
    """Return the percentile interval of those replicates that are defined; none if those are fewer than half.

    Parameters
    ----------
    replicates
        One number per replicate, NaN where the statistic is undefined; None if nothing was drawn.
    confidence
        How much of the replicates lies between the ends.

    Examples
    --------
    >>> ends_of(np.array([0.0, 1.0, 2.0, np.nan]), 0.5)
    Ends(low=0.5, high=1.5, undefined=1)
    >>> ends_of(np.array([0.0, np.nan, np.nan]), 0.5), ends_of(None, 0.5)
    (Ends(low=None, high=None, undefined=2), Ends(low=None, high=None, undefined=0))
    """
    if replicates is None:
        return Ends(None, None, 0)
    defined = replicates[np.isfinite(replicates)]
    undefined = len(replicates) - len(defined)
    if not len(defined) or len(defined) < LEAST_DEFINED * len(replicates):
        return Ends(None, None, undefined)
    return Ends(*percentile_interval(defined, confidence), undefined)
