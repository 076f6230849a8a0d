"""Coefficients of the WMT protocol, of the data and of bootstrap draws: arrays in, arrays out, NaN where undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.stats import pearson, rank_correlations
from trubleu.stats.bootstrap import draw_counts
from trubleu.stats.correlation import grain_of, settled, varies, weighted_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.stats import ScoreFunction
    from trubleu.stats.bootstrap import Resampling


FEWEST: Final = 3
"""Systems or segments below which a correlation says nothing: two points always lie on a line."""

SEGMENT_STATISTICS: Final = ("pearson", "spearman", "kendall")
SYSTEM_STATISTICS: Final = (*SEGMENT_STATISTICS, "accuracy")

_AT_ONCE: Final = 1 << 20
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


def coefficients(
    human: NDArray[np.float64],
    scores: NDArray[np.float64],
    counts: NDArray[np.int64] | None = None,
    *,
    statistics: Sequence[str] = SYSTEM_STATISTICS,
    fewest: int = FEWEST,
) -> dict[str, NDArray[np.float64]]:
    """Return Pearson, Spearman, Kendall's τ-b and pairwise accuracy of each row of scores with the human ones.

    Parameters
    ----------
    human
        ``float64[points]``, of systems or outputs.
    scores
        ``float64[rows, points]``, higher is better.
    counts
        How often each point enters, ``int64[rows, points]``; once if not given.
    statistics
        Which ones.
    fewest
        How many different points must enter.

    Returns
    -------
    dict
        ``float64[rows]`` for each statistic; NaN where too few points enter, the scores of people or metric do not
        differ, or a score is missing.
    """
    counts = np.ones(scores.shape, dtype=np.int64) if counts is None else counts
    usable = np.isfinite(scores).all(axis=1) & (np.count_nonzero(counts, axis=1) >= fewest)
    found = {name: np.full(len(scores), np.nan) for name in statistics}
    if usable.any():
        weights, y = counts[usable], _settled(scores[usable])
        apart = varies(y, weights)
        r = weighted_pearson(human, scores[usable], weights)
        found["pearson"][usable] = np.where(apart, r, np.nan)
        found["spearman"][usable], found["kendall"][usable] = rank_correlations(human, y, counts=weights)
        if "accuracy" in found:
            # A metric that tells nobody apart has no accuracy either: 0 would say that it orders systems the wrong way.
            found["accuracy"][usable] = np.where(apart, pairwise_accuracy(human, y, weights), np.nan)
    return found


def observed_coefficients(
    human: NDArray[np.float64], scores: NDArray[np.float64], statistics: Sequence[str] = SYSTEM_STATISTICS
) -> dict[str, float]:
    """Return the `coefficients` of the data, in which every point enters once; sums of Pearson's r are exact."""
    found = {key: float(each[0]) for key, each in coefficients(human, scores[None], statistics=statistics).items()}
    if not np.isnan(found["pearson"]):
        found["pearson"] = pearson(human, scores) or 0.0
    return found


def all_equal(scores: NDArray[np.float64]) -> bool:
    """Return whether scores are the same, but for rounding."""
    ranked = _settled(scores)
    return bool(ranked.min() == ranked.max())


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


def _settled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each row of scores with equal numbers for ties."""
    return settled(scores, grain_of(np.abs(scores).max(axis=-1, keepdims=True, initial=0.0)))


def resampled_assessments(
    human: NDArray[np.float64],
    scores: Mapping[str, NDArray[np.float64]],
    segment: NDArray[np.int64],
    draws: Resampling,
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return `SEGMENT_STATISTICS` of resamples: segments are drawn, each with all outputs that were assessed of it.

    Parameters
    ----------
    human
        ``float64[outputs]``.
    scores
        ``float64[outputs]`` by metric, higher is better.
    segment
        For each output the number of its segment, from 0, each of which has an output.
    draws
        Which segments enter each resample.
    """
    segments, step = int(segment.max()) + 1, max(1, _AT_ONCE // len(human))
    parts: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for first in range(0, draws.count, step):
        count = min(step, draws.count - first)
        drawn = draw_counts(segments, count, draws.seed, first=draws.first + first)[:, segment]
        for metric, values in scores.items():
            rows = np.broadcast_to(values, drawn.shape)
            for key, each in coefficients(human, rows, drawn, statistics=SEGMENT_STATISTICS, fewest=1).items():
                parts.setdefault((metric, key), []).append(each)
        if draws.progress is not None:
            draws.progress(count)
    return {key: np.concatenate(each) for key, each in parts.items()}


def averaged(parts: Iterable[NDArray[np.float64] | None]) -> NDArray[np.float64] | None:
    """Return the mean of replicates of several language pairs, resample by resample; None if one has none."""
    found = list(parts)
    if not found or any(part is None for part in found):
        return None
    mean: NDArray[np.float64] = np.mean(np.stack([part for part in found if part is not None]), axis=0)
    return mean
