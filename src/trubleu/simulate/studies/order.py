"""Does a metric put systems into their true order?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from trubleu.errors import UsageError
from trubleu.execution.progress import no_steps
from trubleu.simulate.studies.pool import Mean, Share, check_numbers, check_whole, draw_test_set
from trubleu.stats import rank_correlations, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.execution.progress import Steps
    from trubleu.simulate.studies.pool import Pool, Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRow:
    """How well one way to score orders systems.

    Attributes
    ----------
    metric, references, raters
        How outputs were scored; no raters for metrics that take no weights.
    segments
        Segments of a test set.
    sets
        How many test sets there were.
    kendall, kendall_error, spearman, spearman_error
        The mean correlation of systems' scores with their true qualities, and its standard error (None for a single
        test set). Where all scores are equal, which says nothing, it counts as 0.
    exact, exact_error
        The share of test sets on which all systems come in their true order, and its standard error.
    best, best_error
        The share of test sets on which the truly best system comes first, alone.
    """

    metric: str
    references: int
    raters: int | None
    segments: int
    sets: int
    kendall: float
    kendall_error: float | None
    spearman: float
    spearman_error: float | None
    exact: float
    exact_error: float
    best: float
    best_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRow:
    """A system as it is, and as metrics see it.

    Attributes
    ----------
    system
        Its name.
    quality
        How good it truly is, from 1 to 5.
    equal
        The share of its outputs that equal a candidate.
    metric, references, raters
        How it was scored.
    score
        Its score on the whole pool.
    """

    system: str
    quality: float
    equal: float
    metric: str
    references: int
    raters: int | None
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderStudy:
    """How well metrics order systems.

    Attributes
    ----------
    pool
        How many segments test sets were drawn from.
    seed
        Of the draws.
    rows
        One for each condition and number of segments.
    systems
        One for each system, the best first, and condition.
    """

    pool: int
    seed: int
    rows: tuple[OrderRow, ...]
    systems: tuple[SystemRow, ...]


def order_study(
    pool: Pool,
    scored: Sequence[Scored],
    *,
    segments: Sequence[int],
    sets: int = 1_000,
    seed: int = 1,
    steps: Steps = no_steps,
) -> OrderStudy:
    """Score many test sets and compare the order of the systems with the true one.

    Parameters
    ----------
    pool
        Segments with two systems or more.
    scored
        Their statistics under each condition.
    segments
        Sizes of test sets; the same ones under all conditions.
    sets
        How many test sets to draw of each size.
    seed
        Of all draws.
    steps
        Told of how far it is.

    Raises
    ------
    UsageError
        If there are fewer than two systems, all are equally good, or a number is out of range.
    """
    check_numbers("segments", segments, 2)
    check_whole("sets", sets, 1)
    names = sorted(pool.systems, key=pool.quality, reverse=True)
    truth = np.array([pool.quality(name) for name in names])
    if len(names) < 2 or truth[0] == truth[-1]:
        raise UsageError("an order needs at least two systems that are not all equally good; give --system again")
    told = steps("ordering systems", len(scored) * len(segments) * sets)
    rows = []
    for each in scored:
        statistics = [each.rows[name] for name in names]
        for size in segments:
            scores = np.empty((sets, len(names)))
            for number in range(sets):
                chosen = draw_test_set(len(pool), size, number=number, seed=seed).rows
                sums = np.stack([total(one[chosen]) for one in statistics])
                scores[number] = each.score(sums)
                told(1)
            rows.append(_row(each, size, scores, truth))
    return OrderStudy(pool=len(pool), seed=seed, rows=tuple(rows), systems=_systems(pool, scored, names))


def _row(scored: Scored, size: int, scores: NDArray[np.float64], truth: NDArray[np.float64]) -> OrderRow:
    found = rank_correlations(scores, truth)
    kendall, spearman = (Mean.of(np.nan_to_num(each)) for each in (found.kendall, found.spearman))
    exact = Share.of(int(in_order(scores, truth).sum()), len(scores))
    best = Share.of(int(first_is_best(scores, truth).sum()), len(scores))
    return OrderRow(
        **scored.how,
        segments=size,
        sets=len(scores),
        **kendall.fields("kendall"),
        **spearman.fields("spearman"),
        **exact.fields("exact"),
        **best.fields("best"),
    )


def _systems(pool: Pool, scored: Sequence[Scored], names: Sequence[str]) -> tuple[SystemRow, ...]:
    return tuple(
        SystemRow(
            system=name,
            quality=pool.quality(name),
            equal=pool.equal_share(name),
            **each.how,
            score=float(each.condition.metric.score(total(each.rows[name]))),
        )
        for name in names
        for each in scored
    )


def in_order(scores: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each row of scores whether of any two systems that differ in truth the better has the higher score.

    Examples
    --------
    >>> in_order(np.array([[9.0, 5.0, 4.0], [9.0, 4.0, 5.0]]), np.array([4.1, 3.2, 2.0])).tolist()
    [True, False]
    """
    right = np.ones(len(scores), dtype=bool)
    for one, two in combinations(range(len(truth)), 2):
        if truth[one] != truth[two]:
            right &= (scores[:, one] > scores[:, two]) == (truth[one] > truth[two])
            right &= scores[:, one] != scores[:, two]
    return right


def first_is_best(scores: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each row of scores whether a system that none is truly better than has the highest, alone.

    Examples
    --------
    >>> first_is_best(np.array([[9.0, 5.0], [9.0, 9.0], [3.0, 4.0]]), np.array([4.1, 3.2])).tolist()
    [True, False, False]
    """
    highest = scores == scores.max(axis=1, keepdims=True)
    alone = highest.sum(axis=1) == 1
    right: NDArray[np.bool_] = alone & highest[:, truth == truth.max()].any(axis=1)
    return right
