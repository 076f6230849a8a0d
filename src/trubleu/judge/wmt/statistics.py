"""Coefficients of the WMT protocol, of the data and of bootstrap draws: arrays in, arrays out, NaN where undefined.

Everything that is a function of sums is resampled by the kernel itself. Rank correlations are not: they need to know
how often each point enters. So that one resample is the same for all statistics, the kernel's generators are run here
again, all replicates side by side.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.stats import kendall, pearson, rank_correlations, spearman
from trubleu.stats.correlation import grain_of, settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.stats import ScoreFunction
    from trubleu.stats.bootstrap import Resampling


_BOOTSTRAP: Final = 1
_WORD: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_SPARE: Final = 8


def draw_counts(rows: int, resamples: int, seed: int, *, first: int = 0) -> NDArray[np.int64]:
    """Return how often each row enters each resample: ``int64[resamples, rows]``.

    Parameters
    ----------
    rows
        How many there are to draw from, and how many are drawn; 1 to 2^32 − 1.
    resamples
        How many times.
    seed
        As for `trubleu.stats.bootstrap_scores`, whose draws these are.
    first
        The number of the first resample.

    Examples
    --------
    >>> draw_counts(4, 3, 12345).sum(axis=1).tolist()
    [4, 4, 4]
    """
    state = _states(seed, first, resamples)
    threshold = (1 << 32) % rows
    # As many words more as can be needed in place of bits that are passed over: four times what is to be expected.
    spare = _SPARE + (rows * threshold >> 31)
    words = (rows + 1) // 2 + spare
    bits = np.empty((2 * words, resamples), dtype=np.uint64)
    for place in range(words):
        word = _next(state)
        bits[2 * place] = word & np.uint64(0xFFFFFFFF)
        bits[2 * place + 1] = word >> np.uint64(32)
    products = bits * np.uint64(rows)
    fair = (products & np.uint64(0xFFFFFFFF)) >= threshold
    drawn = (products >> np.uint64(32)).astype(np.int64)
    for replicate in np.flatnonzero(~fair[:rows].all(axis=0)):  # hardly ever: bits that would favour some rows
        kept = drawn[fair[:, replicate], replicate]
        drawn[: min(rows, len(kept)), replicate] = kept[:rows]
    places = drawn[:rows] + np.arange(resamples) * rows
    return np.bincount(places.ravel(), minlength=resamples * rows).reshape(resamples, rows)


def _mix(word: int) -> int:
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def _states(seed: int, first: int, resamples: int) -> list[NDArray[np.uint64]]:
    start = _mix((_mix(seed) + _BOOTSTRAP) & _WORD)
    words = [_mix((start + (place + 1) * _GOLDEN) & _WORD) for place in range(4 * first, 4 * (first + resamples))]
    return [np.array(words[place::4], dtype=np.uint64) for place in range(4)]


def _next(state: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return the next word of each xoshiro256++ generator, and move them on."""
    s0, s1, s2, s3 = state
    total = s0 + s3
    word = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return word


FEWEST: Final = 3
"""Systems or segments below which a correlation says nothing: two points always lie on a line."""

SYSTEM_STATISTICS: Final = ("pearson", "spearman", "kendall", "accuracy")
SEGMENT_STATISTICS: Final = ("pearson", "spearman", "kendall")

_AT_ONCE: Final = 1 << 22
"""Numbers of draws that are held at a time."""


def resampled_scores(
    statistics: Sequence[NDArray[np.float64]], score: ScoreFunction, draws: Resampling
) -> NDArray[np.float64]:
    """Return the scores of systems on the same resampled segments, ``float64[resamples, systems]``; NaN for none.

    Parameters
    ----------
    statistics
        ``float64[segments, k]`` for each system.
    score
        Turns sums of statistics into scores.
    draws
        Which segments enter each resample.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        found = [
            np.asarray(score(np.ascontiguousarray(sums)), dtype=np.float64)
            for sums in draws.sums_of_each(statistics, len(statistics), statistics[0].shape)
        ]
    return np.stack(found, axis=1)


def system_coefficients(
    human: NDArray[np.float64], scores: NDArray[np.float64], counts: NDArray[np.int64] | None = None
) -> dict[str, NDArray[np.float64]]:
    """Return Pearson, Spearman, Kendall's τ-b and pairwise accuracy of each row of scores with the human ones.

    Parameters
    ----------
    human
        ``float64[systems]``.
    scores
        ``float64[rows, systems]``, higher is better.
    counts
        How often each system enters, ``int64[rows, systems]``; once if not given.

    Returns
    -------
    dict
        ``float64[rows]`` for each of `SYSTEM_STATISTICS`; NaN where fewer than three systems enter, the scores of
        people or metric do not differ, or a score is missing.
    """
    rows = len(scores)
    counts = np.ones(scores.shape, dtype=np.int64) if counts is None else counts
    usable = np.isfinite(scores).all(axis=1) & (np.count_nonzero(counts, axis=1) >= FEWEST)
    found = {name: np.full(rows, np.nan) for name in SYSTEM_STATISTICS}
    if usable.any():
        y, weights = scores[usable], counts[usable]
        r = weighted_pearson(np.broadcast_to(human, y.shape), y, weights)
        y = _settled(y)
        ranks = rank_correlations(human, y, counts=weights)
        found["pearson"][usable] = np.where(_varies(y, weights), r, np.nan)
        found["spearman"][usable] = ranks.spearman
        found["kendall"][usable] = ranks.kendall
        # A metric that tells nobody apart has no accuracy either: 0 would say that it orders systems the wrong way.
        found["accuracy"][usable] = np.where(_varies(y, weights), pairwise_accuracy(human, y, weights), np.nan)
    return found


def weighted_pearson(x: NDArray[np.float64], y: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return Pearson's r of each row, whose points enter ``counts`` times; NaN where x or y does not vary.

    Examples
    --------
    >>> weighted_pearson(np.array([[1.0, 2.0, 9.0]]), np.array([[2.0, 4.0, 0.0]]), np.array([[1, 3, 0]])).tolist()
    [1.0]
    """
    n = counts.sum(axis=1, keepdims=True)
    dx = x - (counts * x).sum(axis=1, keepdims=True) / n
    dy = y - (counts * y).sum(axis=1, keepdims=True) / n
    # Scaled first, so that neither huge nor tiny numbers leave the range of floats when squared.
    dx, dy = _scaled(dx, counts), _scaled(dy, counts)
    across = (counts * dx * dy).sum(axis=1)
    within = np.sqrt((counts * dx * dx).sum(axis=1) * (counts * dy * dy).sum(axis=1))
    varies = _varies(x, counts) & _varies(y, counts)
    r = np.full(len(across), np.nan)
    np.divide(across, within, out=r, where=varies & (within > 0))
    clipped: NDArray[np.float64] = np.clip(r, -1.0, 1.0)
    return clipped


def _scaled(deviations: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    largest = np.where(counts > 0, np.abs(deviations), 0.0).max(axis=1, keepdims=True)
    scaled = np.zeros_like(deviations)
    np.divide(deviations, largest, out=scaled, where=largest > 0)
    return scaled


def _varies(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    low = np.where(counts > 0, values, np.inf).min(axis=1)
    high = np.where(counts > 0, values, -np.inf).max(axis=1)
    varies: NDArray[np.bool_] = low < high
    return varies


def pairwise_accuracy(
    human: NDArray[np.float64], scores: NDArray[np.float64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of pairs of systems that each row of scores puts into the same order as people do.

    Pairs that people hold to be equal are left out; of the others, one that the metric holds to be equal is wrong.

    Examples
    --------
    >>> pairwise_accuracy(np.array([3.0, 2.0, 1.0]), np.array([[5.0, 6.0, 1.0]]), np.ones((1, 3), dtype=np.int64))
    array([0.66666667])
    """
    first, second = np.triu_indices(len(human), 1)
    apart = human[first] != human[second]
    first, second = first[apart], second[apart]
    order = np.sign(human[first] - human[second])
    weights = counts[:, first] * counts[:, second]
    right = np.where(np.sign(scores[:, first] - scores[:, second]) == order, weights, 0).sum(axis=1)
    pairs = weights.sum(axis=1)
    share = np.full(len(scores), np.nan)
    np.divide(right, pairs, out=share, where=pairs > 0)
    return share


def segment_coefficients(
    human: NDArray[np.float64], scores: Mapping[str, NDArray[np.float64]]
) -> dict[tuple[str, str], float | None]:
    """Return Pearson, Spearman and Kendall's τ-b of each metric's scores of outputs with the human ones.

    Parameters
    ----------
    human
        ``float64[outputs]``.
    scores
        ``float64[outputs]`` by metric, higher is better.

    Returns
    -------
    dict
        By metric and statistic; None where there are fewer than three outputs, or one side does not vary.
    """
    found: dict[tuple[str, str], float | None] = {}
    for metric, values in scores.items():
        ranked = _settled(values)
        usable = len(human) >= FEWEST and ranked.min() < ranked.max()
        for statistic, coefficient in (("pearson", pearson), ("spearman", spearman), ("kendall", kendall)):
            points = values if statistic == "pearson" else ranked
            found[metric, statistic] = coefficient(human, points) if usable else None
    return found


def _settled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each row of scores with equal numbers for ties."""
    return settled(scores, grain_of(np.abs(scores).max(axis=-1, keepdims=True, initial=0.0)))


def resampled_segment_coefficients(
    human: NDArray[np.float64],
    scores: Mapping[str, NDArray[np.float64]],
    segment: NDArray[np.int64],
    draws: Resampling,
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the same of resamples: segments are drawn, each with all outputs that were assessed of it.

    Parameters
    ----------
    human, scores
        As for `segment_coefficients`.
    segment
        For each output the number of its segment, from 0, each of which has an output.
    draws
        Which segments enter each resample.
    """
    resamples = draws.count
    found = {(metric, statistic): np.full(resamples, np.nan) for metric in scores for statistic in SEGMENT_STATISTICS}
    for metric, values in scores.items():
        found[metric, "pearson"] = _resampled_pearson(human, values, segment, replace(draws, progress=None))
    segments = int(segment.max()) + 1
    step = max(1, _AT_ONCE // len(human))
    ranked = {metric: _settled(values) for metric, values in scores.items()}
    for first in range(0, resamples, step):
        count = min(step, resamples - first)
        drawn = draw_counts(segments, count, draws.seed, first=draws.first + first)[:, segment]
        for metric, values in ranked.items():
            ranks = rank_correlations(human, values, counts=drawn, threads=draws.threads)
            found[metric, "spearman"][first : first + count] = ranks.spearman
            found[metric, "kendall"][first : first + count] = ranks.kendall
        if draws.progress is not None:
            draws.progress(count)
    return found


def _resampled_pearson(
    human: NDArray[np.float64], scores: NDArray[np.float64], segment: NDArray[np.int64], draws: Resampling
) -> NDArray[np.float64]:
    """Pearson's r is a function of sums: 1, x, y, x², y² and xy over outputs, so the kernel resamples it."""
    x, y = _standardised(human), _standardised(scores)
    if x is None or y is None:
        return np.full(draws.count, np.nan)
    columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
    rows = np.stack([np.bincount(segment, weights=column).astype(np.float64) for column in columns], axis=1)
    return resampled_scores([rows], _pearson_of_sums, draws)[:, 0]


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    centred = values - values.mean()
    largest = np.abs(centred).max()
    if values.min() == values.max() or largest == 0:
        return None
    scaled: NDArray[np.float64] = centred / largest
    return scaled


def _pearson_of_sums(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    n, x, y, xx, yy, xy = (sums[..., column] for column in range(6))
    within_x, within_y = n * xx - x * x, n * yy - y * y
    # What is 0 on paper, because the same value was drawn again and again, is dust here.
    varies = (within_x > 1e-12 * n * xx) & (within_y > 1e-12 * n * yy)
    below = np.sqrt(np.where(varies, within_x * within_y, 1.0))
    return np.where(varies, np.clip((n * xy - x * y) / below, -1.0, 1.0), np.nan)


def averaged(parts: Iterable[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
    """Return the mean of replicates of several language pairs, resample by resample; None if one has none."""
    found = list(parts)
    if not found or any(part is None for part in found):
        return None
    mean: NDArray[np.float64] = np.mean(np.stack([part for part in found if part is not None]), axis=0)
    return mean
