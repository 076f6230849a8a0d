"""Agreement between raters: Krippendorff's α, Cohen's κ with quadratic weights, and the variance between raters."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.stats import checks
from trubleu.stats.bootstrap import Resampling, ends_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


RaterLabel: TypeAlias = int | str
_Whole: TypeAlias = int | Fraction

LARGEST_SCORE: Final = 2**31 - 1
"""Scores beyond it, or below its negative, are no ratings but a mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """Ratings in columns, items and raters numbered from 0."""

    items: int
    """How many items there are."""
    raters: tuple[RaterLabel, ...]
    """The labels of the raters: numbers first, then names, each in order."""
    item: NDArray[np.int64]
    """The item of each rating."""
    rater: NDArray[np.int64]
    """The rater of each rating."""
    score: NDArray[np.int64]
    """The score of each rating."""


def judgements(item: Iterable[Hashable], rater: Iterable[RaterLabel], score: ArrayLike) -> Judgements:
    """Return ratings in columns, checked.

    Parameters
    ----------
    item
        A label per rating: a number, a name, a tuple.
    rater
        A number or a name per rating.
    score
        A whole number per rating.

    Raises
    ------
    DataError
        If the columns differ in length, a label or a score cannot be used, or somebody rated an item twice.

    Examples
    --------
    >>> found = judgements(["x", "x", "y"], ["bob", "ann", "bob"], [4, 5, 1])
    >>> found.raters, found.rater.tolist(), found.item.tolist()
    (('ann', 'bob'), [1, 0, 1], [0, 0, 1])
    """
    items, labels, scores = (
        _labels(item, "item"),
        _labels(rater, "rater", (int, str, np.integer)),
        whole_scores(score, "score"),
    )
    if not len(items) == len(labels) == len(scores):
        raise DataError(
            f"there are {len(items)} items, {len(labels)} raters and {len(scores)} scores; "
            "each rating needs one of each"
        )
    raters = tuple(sorted(cast("set[RaterLabel]", set(labels)), key=lambda label: (isinstance(label, str), label)))
    rater_numbers = {label: number for number, label in enumerate(raters)}
    found = Judgements(
        item=numbered(items),
        items=len(set(items)),
        rater=np.array([rater_numbers[label] for label in labels], dtype=np.int64),  # type: ignore[index]
        raters=raters,
        score=scores,
    )
    _, first, pair = np.unique(found.item * len(raters) + found.rater, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[pair] != np.arange(len(scores)))
    if len(repeated):
        row = int(repeated[0])
        raise DataError(
            f"rater {labels[row]!r} has rated item {items[row]!r} before rating {row} (counted from 0); "
            "keep one rating per item and rater"
        )
    return found


def numbered(labels: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return the number of each label, in the order of their first occurrences.

    Examples
    --------
    >>> numbered(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def whole_scores(score: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return a flat list of scores as integers, refusing anything else."""
    try:
        array = np.asarray(score)
    except ValueError:  # lists of several lengths
        array = np.zeros((0, 0))
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iuf"):
        raise DataError(f"{name} must be a flat list of whole numbers; leave out ratings that are missing")
    # NaN is not equal to itself rounded, and fails here too.
    bad = np.flatnonzero(~((np.abs(array.astype(np.float64)) <= LARGEST_SCORE) & (array == np.rint(array))))
    if len(bad):
        raise DataError(
            f"{name} is {array[bad[0]]} in rating {bad[0]} (counted from 0), which is not a whole number of a scale; "
            "leave out ratings that are missing"
        )
    return array.astype(np.int64)


def _labels(labels: Iterable[Hashable], name: str, kinds: type | tuple[type, ...] = Hashable) -> list[Hashable]:
    # Not through an array: one of numbers and names would turn numbers into names.
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    for row, label in enumerate(listed):
        try:
            hash(label)  # a tuple may hold a list
            fits = label is None or isinstance(label, kinds) or label != label
        except TypeError:
            fits = False
        if not fits:
            raise DataError(f"{name} {label!r} of rating {row} (counted from 0) cannot serve as a label; use a name")
        if label is None or label != label:
            raise DataError(f"rating {row} (counted from 0) has no {name}; leave it out or name it")
    return listed


_Number = TypeVar("_Number", np.int64, np.float64)

MOST_VALUES: Final = 1000
"""Different scores; α looks at every pair of them."""

EXACT: Final = 2**53
"""Whole numbers up to here are exact in 64-bit floating point."""

CELLS_AT_ONCE: Final = 8_000_000
"""Numbers in the table that is resampled at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Krippendorff's α with its bootstrap interval and what it is computed from."""

    alpha: float
    """1 for perfect agreement, 0 for what chance gives, below 0 for less than that; NaN if undefined."""
    low: float
    """The lower end; NaN without resamples, with one group only, or if α is undefined in more than half of them."""
    high: float
    """The upper end."""
    items: int
    """How many items have two ratings or more; others play no part."""
    ratings: int
    """How many ratings these items have."""
    raters: int
    """How many raters gave them."""
    reason: str | None
    """Why α is undefined; ``None`` if it is defined."""
    confidence: float
    """The share of resamples between the ends."""
    resamples: int
    """How many samples of items, or groups of them, were drawn."""
    undefined: int
    """In how many of these α is undefined; they are left out of the interval."""
    seed: int
    """The seed of the draws."""


def krippendorff_alpha(
    item: Iterable[Hashable],
    rater: Iterable[RaterLabel],
    score: ArrayLike,
    *,
    groups: Iterable[Hashable] | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 12345,
    threads: int | None = None,
) -> Reliability:
    """Return Krippendorff's ordinal α of ratings, with a percentile bootstrap interval over items or groups of them.

    Two scores are as far apart as there are ratings between them. Items may have any number of ratings from any rater.
    α itself is computed in whole numbers and rounded once: it does not depend on the order of the
    ratings or on labels, and neither does the interval.

    Parameters
    ----------
    item, rater, score
        One entry a rating: what was rated (any label), by whom (a number or a name), and the score, a whole number.
        Ratings that are missing are left out.
    groups
        For each rating, what its item belongs to, such as a segment whose texts are rated in several pairs: items of
        one group are not independent, so the interval draws them together. Each item by itself if not given.
    resamples
        How many samples of items, or groups, to draw for the interval; 0 for none.
    confidence
        Strictly between 0 and 1.
    seed
        From 0 to 2^64 − 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.

    Raises
    ------
    DataError
        If columns differ in length, a score is not a whole number, somebody rated an item twice, or an item is in two
        groups.
    UsageError
        If an option cannot be used.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Examples
    --------
    >>> found = krippendorff_alpha(
    ...     ["a", "a", "b", "b", "b", "c", "c", "d"], ["x", "y", "x", "y", "z", "x", "z", "y"], [5, 4, 1, 1, 2, 3, 3, 4]
    ... )
    >>> round(found.alpha, 3), found.items, found.ratings, found.raters
    (0.897, 3, 7, 3)
    >>> krippendorff_alpha([1, 1], ["x", "y"], [3, 3]).reason
    'all ratings of items with two ratings or more are the same'
    """
    if resamples:
        checks.at_least_one(resamples, "resamples")
    checks.confidence_level(confidence)
    checks.seed_range(seed)
    given = judgements(item, rater, score)
    pairable = np.bincount(given.item, minlength=given.items)[given.item] >= 2
    counted = _Counted.of(given, pairable, given.item if groups is None else _groups(given, groups))
    reason = None
    if len(counted.values) < 2:
        constant = "all ratings of items with two ratings or more are the same"
        none = "no item has two ratings or more" if len(given.score) else "there are no ratings"
        reason = constant if len(counted.values) else none
    low = high = math.nan
    undefined = 0
    if reason is None and resamples and (groups is None or counted.group.max() > 0):  # one group is no sample
        draws = Resampling(test="bootstrap", count=resamples, seed=seed, threads=threads, progress=None)
        *ends, undefined = ends_of(_replicates(counted, draws), confidence)
        low, high = (math.nan if end is None else end for end in ends)
    return Reliability(
        alpha=math.nan if reason else float(_alpha(counted)),
        low=low,
        high=high,
        items=len(counted.table),
        ratings=int(np.count_nonzero(pairable)),
        raters=len(np.unique(given.rater[pairable])),
        reason=reason,
        confidence=confidence,
        resamples=resamples,
        undefined=undefined,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """How often each score was given to each item that has two ratings or more."""

    values: NDArray[np.int64]
    """The scores that occur, in order."""
    table: NDArray[np.float64]
    """``[items, values]``, whole numbers; the rows in order, so that a draw does not depend on labels."""
    group: NDArray[np.int64]
    """The number of each item's group, in the order of their rows."""
    sizes: NDArray[np.int64]
    """The number of ratings of each item."""

    @classmethod
    def of(cls, given: Judgements, pairable: NDArray[np.bool_], group: NDArray[np.int64]) -> _Counted:
        _, first, row = np.unique(given.item[pairable], return_index=True, return_inverse=True)
        values, column = np.unique(given.score[pairable], return_inverse=True)
        if len(values) > MOST_VALUES:
            raise DataError(
                f"there are {len(values):,} different scores, but α takes at most {MOST_VALUES:,}; use a coarser scale"
            )
        items = int(row.max(initial=-1)) + 1
        table = np.bincount(row * len(values) + column, minlength=items * len(values)).reshape(items, len(values))
        group = group[pairable][first]
        if items:
            order = np.lexsort(table.T[::-1])
            table, group = table[order], _in_order(table[order], group[order])
        return cls(values=values, table=table.astype(np.float64), group=group, sizes=table.sum(axis=1))


def _in_order(table: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return groups numbered by the rows that they hold, so that a draw does not depend on labels."""
    _, kind = np.unique(table, axis=0, return_inverse=True)
    rows: dict[int, list[int]] = {}
    for number, each in zip(group.tolist(), kind.ravel().tolist(), strict=True):
        rows.setdefault(number, []).append(each)
    places = {number: place for place, number in enumerate(sorted(rows, key=rows.__getitem__))}
    return np.array([places[number] for number in group.tolist()], dtype=np.int64)


def _groups(given: Judgements, groups: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return the number of each rating's group; refuse an item in two of them."""
    labels = _labels(groups, "group")
    if len(labels) != len(given.item):
        raise DataError(f"there are {len(given.item)} ratings and {len(labels)} groups; each rating needs one")
    group = numbered(labels)
    of_item = np.zeros(given.items, dtype=np.int64)
    of_item[given.item] = group
    other = np.flatnonzero(of_item[given.item] != group)
    if len(other):
        raise DataError(f"the item of rating {other[0]} (counted from 0) is in two groups; keep each item in one")
    return group


def _positions(marginals: NDArray[_Number]) -> NDArray[_Number]:
    """Return where each value lies, so that the distance of two is the square of the difference; ``[..., values]``.

    Krippendorff's ordinal distance, the square of the ratings from one value to the other with both ends halved, is
    the squared difference of mid-ranks. Here are twice these, which are whole.
    """
    twice: NDArray[_Number] = 2 * np.cumsum(marginals, axis=-1) - marginals
    return twice


def _alpha(counted: _Counted) -> Fraction:
    """Return α of all items, exactly."""
    marginals = counted.table.sum(axis=0).astype(np.int64)
    often: list[int] = marginals.tolist()
    where: list[int] = _positions(marginals).tolist()
    number = sum(often)
    observed = Fraction(0)
    for size in np.unique(counted.sizes).tolist():
        rows = counted.table[counted.sizes == size]
        # Sums of whole numbers far below 2^53: exact in whatever order they are added.
        together = np.triu(rows.T @ rows, 1)
        pairs = zip(*(each.tolist() for each in np.nonzero(together)), strict=True)
        observed += Fraction(sum(int(together[c, k]) * (where[c] - where[k]) ** 2 for c, k in pairs), size - 1)
    squares = sum(n * x**2 for n, x in zip(often, where, strict=True))
    expected = number * squares - sum(n * x for n, x in zip(often, where, strict=True)) ** 2
    return 1 - (number - 1) * observed / expected


def _replicates(counted: _Counted, draws: Resampling) -> NDArray[np.float64]:
    """Return α of samples of items, NaN where all ratings are the same."""
    table = counted.table
    marginals = _drawn(draws, table, counted.group)
    number = marginals.sum(axis=1)
    where = _positions(marginals)
    scale, shares = _shares(counted)
    observed = np.zeros(draws.count)
    first, second = np.nonzero(np.triu(table.T @ table, 1))
    step = max(1, CELLS_AT_ONCE // len(table))
    for start in range(0, len(first), step):
        c, k = first[start : start + step], second[start : start + step]
        together = _drawn(draws, table[:, c] * table[:, k] * shares[:, np.newaxis], counted.group)
        # One pair after the other, so that the order of additions is the same on every machine.
        for column in range(len(c)):
            observed += together[:, column] * (where[:, c[column]] - where[:, k[column]]) ** 2
    expected = _expected(marginals, number, where)
    several = np.count_nonzero(marginals, axis=1) > 1
    disagreement = np.full(draws.count, np.nan)
    np.divide((number - 1.0) * observed, scale * expected, out=disagreement, where=several)
    return 1.0 - disagreement


def _drawn(draws: Resampling, rows: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return sums of the rows of each sample of groups, ``[resamples, columns]``; the same ones at every call."""
    together = np.zeros((int(group.max()) + 1, rows.shape[1]))
    np.add.at(together, group, rows)
    (sums,) = draws.sums_of_each([together], 1, together.shape)
    return sums


def _shares(counted: _Counted) -> tuple[float, NDArray[np.float64]]:
    """Return a scale and what a pair of an item's ratings weighs on it: scale / (ratings − 1), whole where possible."""
    scale = math.lcm(*(np.unique(counted.sizes) - 1).tolist())
    largest = int(counted.sizes.max())
    if scale * largest**2 * len(counted.sizes) > EXACT:
        scale = 1
    return float(scale), scale / (counted.sizes - 1)


def _expected(
    marginals: NDArray[np.float64], number: NDArray[np.float64], where: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of distances of all pairs of ratings, whatever their items."""
    middle, total = np.zeros_like(number), np.zeros_like(number)
    for column in range(marginals.shape[1]):
        middle += marginals[:, column] * where[:, column]
    middle /= number
    for column in range(marginals.shape[1]):
        total += marginals[:, column] * (where[:, column] - middle) ** 2
    return number * total


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
    sums = _products(_from_lowest(x, "a", scale), _from_lowest(y, "b", scale)).sum(axis=0)
    return _kappa(*sums.tolist())


def kappa_table(
    item: Iterable[Hashable], rater: Iterable[RaterLabel], score: ArrayLike, *, scale: tuple[int, int] = FIVE_POINTS
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
    first, second = _pairs(given.item, given.rater)
    a, b, products = given.rater[first], given.rater[second], _products(scores[first], scores[second])
    of_pair = _summed(np.stack([a, b], axis=1), products)
    others = np.bincount(given.item, minlength=given.items)[given.item[first]] - 1
    both = np.stack([np.concatenate([a, b]), np.tile(others, 2)], axis=1)
    rest = [[Fraction(0)] * 6 for _ in given.raters]
    for (who, number), sums in _summed(both, np.concatenate([products, products[:, [0, 2, 1, 4, 3, 5]]])):
        # The others of an item share its one entry.
        rest[who] = [before + Fraction(more, number) for before, more in zip(rest[who], sums, strict=True)]
    often = np.bincount(given.rater, minlength=len(given.raters)).tolist()
    return KappaTable(
        pairs=tuple(
            PairKappa(a=given.raters[one], b=given.raters[other], kappa=_kappa(*sums), shared=sums[0])
            for (one, other), sums in of_pair
        ),
        raters=tuple(
            RaterKappa(rater=label, kappa=_kappa(*parts), shared=int(parts[0]), ratings=ratings)
            for label, parts, ratings in zip(given.raters, rest, often, strict=True)
        ),
    )


def _products(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a row per pair of scores: 1, x, y, x², y² and xy, whose sums κ is computed from."""
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def _summed(keys: NDArray[np.int64], rows: NDArray[np.int64]) -> list[tuple[list[int], list[int]]]:
    """Return the sum of the rows of each key, keys in order."""
    found, group = np.unique(keys, axis=0, return_inverse=True)
    sums = np.zeros((len(found), rows.shape[1]), dtype=np.int64)
    np.add.at(sums, group.ravel(), rows)
    return [*zip(found.tolist(), sums.tolist(), strict=True)]


def _pairs(item: NDArray[np.int64], rater: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of ratings of one item, in each the lower number of a rater first."""
    order = np.lexsort((rater, item))
    steps = range(1, int(np.bincount(item).max(initial=0)))
    first = np.concatenate([order[:0], *(order[:-step] for step in steps)])
    second = np.concatenate([order[:0], *(order[step:] for step in steps)])
    together = item[first] == item[second]
    return first[together], second[together]


def _kappa(n: _Whole, x: _Whole, y: _Whole, xx: _Whole, yy: _Whole, xy: _Whole) -> float:
    """Return κ from the number of items and the sums of scores, squares and products; whole numbers will do."""
    expected = n * (xx + yy) - 2 * x * y
    return float(Fraction(2 * (n * xy - x * y)) / expected) if expected else math.nan


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


DUST: Final = 1e-9
"""What rounding may leave of a sum that is 0; other sums of these terms are larger by far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingVariance:
    """The parts of the variance of ratings of one text."""

    raters: float
    """Between raters: how much their levels differ. All ratings of one rater share it."""
    rest: float
    """Between ratings of one rater, beyond what the texts deserve."""


def rating_variance(text: ArrayLike, rater: ArrayLike, value: ArrayLike) -> RatingVariance:
    """Estimate the variance components of ratings: value = text + rater + rest, all of them independent.

    The sum of both is the pooled variance of ratings of one text. Two ratings by one rater of different texts, each
    taken as a difference from its text's mean, have nothing in common but the rater: their products estimate the
    variance between raters. Estimates below 0 become 0. Texts with one rating count for nothing.

    Parameters
    ----------
    text, rater
        The number of the text and of the rater of each rating, from 0.
    value
        The rating.

    Examples
    --------
    >>> found = rating_variance([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [5, 4, 3, 2, 2, 1])
    >>> found.raters, found.rest  # the first rater always gives one point more
    (0.5, 0.0)
    """
    _, text = np.unique(np.asarray(text, dtype=np.int64), return_inverse=True)
    _, rater = np.unique(np.asarray(rater, dtype=np.int64), return_inverse=True)
    several = np.bincount(text)[text] > 1
    if not several.any():
        return RatingVariance(raters=0.0, rest=float("nan"))
    values = np.asarray(value, dtype=np.float64)[several]
    _, text = np.unique(text[several], return_inverse=True)
    rater = rater[several]
    counts = np.bincount(text)
    deviation = values - (np.bincount(text, values) / counts)[text]
    pooled = float(np.square(deviation).sum() / (counts - 1).sum())
    # Sums over pairs of different texts are squares of sums, less the squares of the terms.
    products = _pair_products(rater, deviation)
    own = 1 - 1 / counts[text]
    expected = _pair_products(rater, own)
    # What two raters share who rated the same two texts: all pairs of ratings of one text, numbered by their raters.
    first, second = _pairs(text, rater)
    _, pair = np.unique(rater[first] * (rater.max() + 1) + rater[second], return_inverse=True)
    expected += 2 * _pair_products(pair, 1 / counts[text[first]])
    between = products / expected if expected > DUST else 0.0
    between = min(max(between, 0.0), pooled)
    return RatingVariance(raters=between, rest=pooled - between)


def _pair_products(group: NDArray[np.int64], term: NDArray[np.float64]) -> float:
    """Return the sum of the products of all ordered pairs of different terms of one group."""
    return float(np.square(np.bincount(group, term)).sum() - np.square(term).sum())
