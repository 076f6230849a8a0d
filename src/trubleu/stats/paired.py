"""Two systems on the same segments: how much they differ, and whether chance alone would do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.stats.pairs import Design, run_tests

if TYPE_CHECKING:
    from trubleu.stats.resample import Progress
    from trubleu.stats.results import PairedTest
    from trubleu.stats.sample import Statistics
    from trubleu.stats.scoring import ScoreFunction


def paired_bootstrap(
    a: Statistics,
    b: Statistics,
    score: ScoreFunction,
    *,
    resamples: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PairedTest:
    """Test the difference between two systems with the paired bootstrap.

    Segments are drawn with replacement, the same for both systems. The differences of the resampled scores, shifted so
    that their mean is 0, stand for chance: p is the share of them at least as large as the observed difference, in
    absolute value, the observed one counted in. Exchanging the systems flips the sign and keeps p.

    Parameters
    ----------
    a, b
        ``float64[segments, k]``, row by row the same segments.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    resamples
        How many corpora to draw.
    seed
        From 0 to 2^64 − 1.
    confidence
        Of the difference's percentile interval; strictly between 0 and 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.
    progress
        Called now and then with the number of resamples just finished; the numbers add up to ``resamples``.

    Raises
    ------
    DataError
        If the systems have different segments, if an option cannot be used, or if a resampled corpus has no finite
        score.

    Examples
    --------
    >>> def mean(sums):
    ...     return sums[..., 0] / sums[..., 1]
    >>> a = [[30.0, 1.0], [50.0, 1.0], [40.0, 1.0], [35.0, 1.0]]
    >>> b = [[20.0, 1.0], [45.0, 1.0], [40.0, 1.0], [30.0, 1.0]]
    >>> test = paired_bootstrap(a, b, mean)
    >>> test.difference, test.low > 0.0, paired_bootstrap(a, a, mean).p
    (5.0, True, 1.0)
    """
    design = Design(
        test="bootstrap",
        trials=resamples,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        threads=threads,
        progress=progress,
    )
    return run_tests({"a": a, "b": b}, [(0, 1)], score, design)[0]


def paired_randomisation(
    a: Statistics,
    b: Statistics,
    score: ScoreFunction,
    *,
    trials: int = 10_000,
    resamples: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PairedTest:
    """Test the difference between two systems with paired approximate randomisation.

    If the systems were interchangeable, swapping their outputs on any segments would change nothing. p is the share of
    random swaps whose difference is at least as large as the observed one, in absolute value, the observed one counted
    in. The interval and the effect are the bootstrap's. Exchanging the systems flips the sign and keeps p.

    Parameters
    ----------
    a, b
        ``float64[segments, k]``, row by row the same segments.
    score
        Turns sums of statistics ``[..., k]`` into scores ``[...]``.
    trials
        How many times to swap.
    resamples
        How many corpora to draw for the interval and the effect.
    seed
        From 0 to 2^64 − 1.
    confidence
        Of the difference's percentile interval; strictly between 0 and 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.
    progress
        Called now and then with the number of resamples or trials just finished; the numbers add up to
        ``resamples + trials``.

    Raises
    ------
    DataError
        If the systems have different segments, if an option cannot be used, or if a resampled or swapped corpus has no
        finite score.

    Examples
    --------
    >>> def mean(sums):
    ...     return sums[..., 0] / sums[..., 1]
    >>> a = [[30.0, 1.0], [50.0, 1.0], [40.0, 1.0], [35.0, 1.0]]
    >>> b = [[20.0, 1.0], [45.0, 1.0], [40.0, 1.0], [30.0, 1.0]]
    >>> test = paired_randomisation(a, b, mean)  # two of the eight ways to swap three segments are as extreme
    >>> test.difference, round(test.p, 2)
    (5.0, 0.25)
    """
    design = Design(
        test="randomisation",
        trials=trials,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        threads=threads,
        progress=progress,
    )
    return run_tests({"a": a, "b": b}, [(0, 1)], score, design)[0]
