"""Cohen's κ with quadratic weights: of two raters, of all pairs of raters, and of each rater with the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.stats.judgements import RaterLabel, judgements, whole_scores

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from numpy.typing import ArrayLike, NDArray

    from trubleu.stats.judgements import Judgements

FIVE_POINTS: Final = (1, 5)

WIDEST_SCALE: Final = 10_000
"""From the lowest to the highest score; sums of squares then stay far below 2^63."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairKappa:
    """How well two raters agree."""

    a: RaterLabel
    """The first rater."""
    b: RaterLabel
    """The second rater."""
    kappa: float
    """Quadratic κ over the items that both rated; NaN if both gave all of them one and the same score."""
    shared: int
    """How many items both rated, 1 or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterKappa:
    """How well a rater agrees with the others."""

    rater: RaterLabel
    """The rater."""
    kappa: float
    """Quadratic κ with the rest; NaN if no item is shared, or if everybody gave all shared items the same score."""
    shared: int
    """How many of the rater's items somebody else rated too."""
    ratings: int
    """How many items the rater rated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KappaTable:
    """Agreement between raters, who come in the order of their labels: numbers first, then names."""

    pairs: tuple[PairKappa, ...]
    """Pairs of raters who share an item, each once, the rater who comes first as ``a``."""
    raters: tuple[RaterKappa, ...]
    """All raters."""


def quadratic_kappa(a: ArrayLike, b: ArrayLike, *, scale: tuple[int, int] = FIVE_POINTS) -> float:
    """Return Cohen's κ of two raters with quadratic weights.

    A disagreement weighs the square of the difference, and κ is 1 − what is observed / what is expected if each rater
    kept their scores but gave them to items at random. It is computed in whole numbers and rounded once.

    Parameters
    ----------
    a, b
        The scores of each rater, whole numbers, for the items that both rated, in the same order.
    scale
        The lowest and the highest score. With quadratic weights κ is the same on any scale that holds the scores.

    Returns
    -------
    float
        From −1 to 1; NaN where undefined: without items, or if all scores of both are the same.

    Raises
    ------
    DataError
        If the lists differ in length, or hold what is not a whole number of the scale.
    UsageError
        If the scale cannot be used.

    References
    ----------
    Cohen, J. (1968). Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial credit.
    Psychological Bulletin 70, 213–220.

    Examples
    --------
    >>> round(quadratic_kappa([1, 2, 3, 5, 5], [1, 3, 3, 4, 5]), 3)
    0.907
    >>> quadratic_kappa([3, 3], [3, 3])
    nan
    """
    x, y = whole_scores(a, "a"), whole_scores(b, "b")
    if len(x) != len(y):
        raise DataError(f"a has {len(x)} scores but b has {len(y)}; both need one for each item that they share")
    x, y = _from_lowest(x, "a", scale), _from_lowest(y, "b", scale)
    return _kappa(*(int(column.sum()) for column in _products(x, y)))


def kappa_table(
    item: Iterable[Hashable],
    rater: Iterable[RaterLabel],
    score: ArrayLike,
    *,
    scale: tuple[int, int] = FIVE_POINTS,
) -> KappaTable:
    """Return quadratic κ of all pairs of raters who share items, and of each rater with the rest.

    κ *with the rest* compares a rater's score of an item with the other ratings of that item, which weigh in equal
    shares, so that each item counts once: it is κ with a rater drawn anew from the others for every item. It is not the
    mean of the pairs' κ, which is of little use where pairs share a few items only, and with one other rater it is κ of
    the pair.

    Parameters
    ----------
    item, rater, score
        One entry a rating: what was rated (any label), by whom (a number or a name), and the score, a whole number.
        Ratings that are missing are left out.
    scale
        The lowest and the highest score.

    Raises
    ------
    DataError
        If columns differ in length, a score is not a whole number of the scale, or somebody rated an item twice.
    UsageError
        If the scale cannot be used.

    Examples
    --------
    >>> table = kappa_table(
    ...     [1, 1, 1, 2, 2, 2, 3, 3], ["ann", "bob", "cy", "ann", "bob", "cy", "ann", "bob"], [5, 4, 1, 2, 2, 4, 1, 1]
    ... )
    >>> [(pair.a, pair.b, round(pair.kappa, 3), pair.shared) for pair in table.pairs]
    [('ann', 'bob', 0.927, 3), ('ann', 'cy', -0.818, 2), ('bob', 'cy', -0.857, 2)]
    >>> [(one.rater, round(one.kappa, 3)) for one in table.raters]
    [('ann', 0.292), ('bob', 0.432), ('cy', -0.833)]
    """
    given = judgements(item, rater, score)
    scores = _from_lowest(given.score, "score", scale)
    return KappaTable(pairs=_pairs(given, scores), raters=_with_the_rest(given, scores))


def _pairs(given: Judgements, scores: NDArray[np.int64]) -> tuple[PairKappa, ...]:
    order = np.lexsort((given.rater, given.item))
    item, rater, score = given.item[order], given.rater[order], scores[order]
    number = len(given.raters)
    keys, sums = np.empty(0, dtype=np.int64), np.empty((0, 6), dtype=np.int64)
    # Ratings of an item lie side by side, raters in order: each pair is found at its distance in the list.
    for distance in range(1, len(item)):
        same = np.flatnonzero(item[distance:] == item[:-distance])
        if not len(same):
            break
        pair = rater[same] * number + rater[same + distance]
        products = np.stack(_products(score[same], score[same + distance]), axis=1)
        keys, sums = _added_up(np.concatenate([keys, pair]), np.concatenate([sums, products]))
    return tuple(
        PairKappa(a=given.raters[key // number], b=given.raters[key % number], kappa=_kappa(*row), shared=row[0])
        for key, row in zip(keys.tolist(), sums.tolist(), strict=True)
    )


def _with_the_rest(given: Judgements, scores: NDArray[np.int64]) -> tuple[RaterKappa, ...]:
    sizes, totals, squares = (
        _sums_of(weights, given.item, given.items) for weights in (np.ones_like(scores), scores, scores * scores)
    )
    size = sizes[given.item]
    others, others_squared = totals[given.item] - scores, squares[given.item] - scores * scores
    columns = np.stack([np.ones_like(scores), scores, others, scores * scores, others_squared, scores * others], axis=1)
    largest = int(size.max(initial=0)) + 1
    keys, sums = _added_up(given.rater * largest + size, columns)
    ratings = np.bincount(given.rater, minlength=len(given.raters)).tolist()
    together = [[Fraction(0)] * 6 for _ in given.raters]
    for key, row in zip(keys.tolist(), sums.tolist(), strict=True):
        who, others_number = key // largest, key % largest - 1
        if others_number:
            n, x, y, xx, yy, xy = row
            parts = (n, x, Fraction(y, others_number), xx, Fraction(yy, others_number), Fraction(xy, others_number))
            together[who] = [before + part for before, part in zip(together[who], parts, strict=True)]
    return tuple(
        RaterKappa(rater=label, kappa=_kappa(*row), shared=int(row[0]), ratings=often)
        for label, row, often in zip(given.raters, together, ratings, strict=True)
    )


def _kappa(
    n: int | Fraction,
    x: int | Fraction,
    y: int | Fraction,
    xx: int | Fraction,
    yy: int | Fraction,
    xy: int | Fraction,
) -> float:
    """Return κ from the number of items and the sums of scores, squares and products."""
    expected = n * (xx + yy) - 2 * x * y
    return float(Fraction(2 * (n * xy - x * y)) / expected) if expected else math.nan


def _products(x: NDArray[np.int64], y: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return the columns whose sums make κ."""
    return np.ones_like(x), x, y, x * x, y * y, x * y


def _added_up(keys: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different keys in order and the sum of the rows of each."""
    if not len(keys):
        return keys, rows
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(rows[order], starts, axis=0)


def _sums_of(weights: NDArray[np.int64], index: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    sums = np.zeros(number, dtype=np.int64)
    np.add.at(sums, index, weights)
    return sums


def _from_lowest(scores: NDArray[np.int64], name: str, scale: tuple[int, int]) -> NDArray[np.int64]:
    """Return scores counted from the lowest of the scale, which changes no κ and keeps numbers small."""
    low, high = scale
    if not low < high <= low + WIDEST_SCALE:
        raise UsageError(
            f"scale must be the lowest and the highest score, at most {WIDEST_SCALE:,} apart, "
            f"for example (1, 5), not {scale}"
        )
    outside = np.flatnonzero((scores < low) | (scores > high))
    if len(outside):
        raise DataError(
            f"{name} is {scores[outside[0]]} in rating {outside[0]} (counted from 0), "
            f"but the scale goes from {low} to {high}"
        )
    return scores - low
