"""Krippendorff's α: how much of what raters could disagree about they agree on, for any number of them an item."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

import numpy as np

from trubleu.errors import DataError, UsageError, nearest
from trubleu.stats import checks
from trubleu.stats.bootstrap import percentile_interval
from trubleu.stats.judgements import RaterLabel, judgements
from trubleu.stats.resample import Resampling

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from numpy.typing import ArrayLike, NDArray

    from trubleu.stats.judgements import Judgements

Level: TypeAlias = Literal["ordinal", "nominal", "interval"]

_Number = TypeVar("_Number", np.int64, np.float64)

LEVELS: Final = ("ordinal", "nominal", "interval")

MOST_VALUES: Final = 1000
"""Different scores; α looks at every pair of them."""

LEAST_DEFINED: Final = 0.5
"""The share of resamples in which α must be defined for an interval to be given."""

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
    """The lower end of the interval; NaN without resamples, or if α is undefined in more than half of them."""
    high: float
    """The upper end."""
    level: Level
    """How far apart two scores are."""
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
    """How many samples of items were drawn."""
    undefined: int
    """In how many of these α is undefined; they are left out of the interval."""
    seed: int
    """The seed of the draws."""


def krippendorff_alpha(
    item: Iterable[Hashable],
    rater: Iterable[RaterLabel],
    score: ArrayLike,
    *,
    level: Level = "ordinal",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 12345,
    threads: int | None = None,
) -> Reliability:
    """Return Krippendorff's α of ratings, with a percentile bootstrap interval over items.

    Items may have any number of ratings from any of the raters. α itself is computed in whole numbers and rounded once:
    it does not depend on the order of the ratings or on labels, and neither does the interval.

    Parameters
    ----------
    item, rater, score
        One entry a rating: what was rated (any label), by whom (a number or a name), and the score, a whole number.
        Ratings that are missing are left out.
    level
        How far apart two scores are. ``"ordinal"``: by the number of ratings between them, ``"interval"``: by their
        difference, ``"nominal"``: equal or not.
    resamples
        How many samples of items to draw for the interval; 0 for none.
    confidence
        Strictly between 0 and 1.
    seed
        From 0 to 2^64 − 1.
    threads
        ``None`` takes all cores that the process may use if there is enough to do.

    Raises
    ------
    DataError
        If columns differ in length, a score is not a whole number, or somebody rated an item twice.
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
    if level not in LEVELS:
        raise UsageError(f"there is no level {level!r}; {nearest(str(level), LEVELS)}")
    if resamples:
        checks.at_least_one(resamples, "resamples")
    checks.confidence_level(confidence)
    checks.seed_range(seed)
    given = judgements(item, rater, score)
    pairable = np.bincount(given.item, minlength=given.items)[given.item] >= 2
    counted = _Counted.of(given, pairable)
    reason = _why_undefined(given, counted)
    low = high = math.nan
    undefined = 0
    if reason is None and resamples:
        draws = Resampling(test="bootstrap", count=resamples, seed=seed, threads=threads, progress=None)
        replicates = _replicates(counted, level, draws)
        defined = replicates[np.isfinite(replicates)]
        undefined = resamples - len(defined)
        if len(defined) and len(defined) >= LEAST_DEFINED * resamples:
            low, high = percentile_interval(defined, confidence)
    return Reliability(
        alpha=math.nan if reason else float(_alpha(counted, level)),
        low=low,
        high=high,
        level=level,
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
    sizes: NDArray[np.int64]
    """The number of ratings of each item."""

    @classmethod
    def of(cls, given: Judgements, pairable: NDArray[np.bool_]) -> _Counted:
        _, row = np.unique(given.item[pairable], return_inverse=True)
        values, column = np.unique(given.score[pairable], return_inverse=True)
        if len(values) > MOST_VALUES:
            raise DataError(
                f"there are {len(values):,} different scores, but α takes at most {MOST_VALUES:,}; use a coarser scale"
            )
        items = int(row.max(initial=-1)) + 1
        table = np.bincount(row * len(values) + column, minlength=items * len(values)).reshape(items, len(values))
        if items:
            table = table[np.lexsort(table.T[::-1])]
        return cls(values=values, table=table.astype(np.float64), sizes=table.sum(axis=1))


def _why_undefined(given: Judgements, counted: _Counted) -> str | None:
    if not len(given.score):
        return "there are no ratings"
    if not len(counted.table):
        return "no item has two ratings or more"
    if len(counted.values) == 1:
        return "all ratings of items with two ratings or more are the same"
    return None


def _positions(marginals: NDArray[_Number], values: NDArray[np.int64], level: Level) -> NDArray[_Number]:
    """Return where each value lies, so that the distance of two is the square of the difference; ``[..., values]``.

    Krippendorff's ordinal distance, the square of the ratings from one value to the other with both ends halved, is
    the squared difference of mid-ranks. Here are twice these, which are whole.
    """
    if level == "ordinal":
        twice: NDArray[_Number] = 2 * np.cumsum(marginals, axis=-1) - marginals
        return twice
    return np.broadcast_to((values - values[0]).astype(marginals.dtype), marginals.shape)


def _alpha(counted: _Counted, level: Level) -> Fraction:
    """Return α of all items, exactly."""
    marginals = counted.table.sum(axis=0).astype(np.int64)
    often: list[int] = marginals.tolist()
    where: list[int] = _positions(marginals, counted.values, level).tolist()
    number = sum(often)
    observed = Fraction(0)
    for size in np.unique(counted.sizes).tolist():
        rows = counted.table[counted.sizes == size]
        # Sums of whole numbers far below 2^53: exact in whatever order they are added.
        together = np.triu(rows.T @ rows, 1)
        first, second = np.nonzero(together)
        pairs = zip(first.tolist(), second.tolist(), together[first, second].tolist(), strict=True)
        if level == "nominal":
            apart = sum(int(times) for _, _, times in pairs)
        else:
            apart = sum(int(times) * (where[c] - where[k]) ** 2 for c, k, times in pairs)
        observed += Fraction(apart, size - 1)
    if level == "nominal":
        expected = (number**2 - sum(n**2 for n in often)) // 2
    else:
        squares = sum(n * x**2 for n, x in zip(often, where, strict=True))
        expected = number * squares - sum(n * x for n, x in zip(often, where, strict=True)) ** 2
    return 1 - (number - 1) * observed / expected


def _replicates(counted: _Counted, level: Level, draws: Resampling) -> NDArray[np.float64]:
    """Return α of samples of items, NaN where all ratings are the same."""
    table = counted.table
    marginals = _drawn(draws, table)
    number = marginals.sum(axis=1)
    where = _positions(marginals, counted.values, level)
    scale, shares = _shares(counted)
    observed = np.zeros(draws.count)
    first, second = np.nonzero(np.triu(table.T @ table, 1))
    step = max(1, CELLS_AT_ONCE // len(table))
    for start in range(0, len(first), step):
        c, k = first[start : start + step], second[start : start + step]
        together = _drawn(draws, table[:, c] * table[:, k] * shares[:, np.newaxis])
        # One pair after the other, so that the order of additions is the same on every machine.
        for column in range(len(c)):
            distance = 1.0 if level == "nominal" else (where[:, c[column]] - where[:, k[column]]) ** 2
            observed += together[:, column] * distance
    expected = _expected(marginals, number, where, level)
    several = np.count_nonzero(marginals, axis=1) > 1
    disagreement = np.full(draws.count, np.nan)
    np.divide((number - 1.0) * observed, scale * expected, out=disagreement, where=several)
    return 1.0 - disagreement


def _drawn(draws: Resampling, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums of the rows of each sample, ``[resamples, columns]``; the samples are the same at every call."""
    (sums,) = draws.sums_of_each([rows], 1, (rows.shape[0], rows.shape[1]))
    return sums


def _shares(counted: _Counted) -> tuple[float, NDArray[np.float64]]:
    """Return a scale and what a pair of an item's ratings weighs on it: scale / (ratings − 1), whole where possible."""
    scale = math.lcm(*(np.unique(counted.sizes) - 1).tolist())
    largest = int(counted.sizes.max())
    if scale * largest**2 * len(counted.sizes) > EXACT:
        scale = 1
    return float(scale), scale / (counted.sizes - 1)


def _expected(
    marginals: NDArray[np.float64], number: NDArray[np.float64], where: NDArray[np.float64], level: Level
) -> NDArray[np.float64]:
    """Return the sum of distances of all pairs of ratings, whatever their items."""
    total = np.zeros_like(number)
    if level == "nominal":
        for column in range(marginals.shape[1]):
            total += marginals[:, column] * (number - marginals[:, column])
        return total / 2.0
    middle = np.zeros_like(number)
    for column in range(marginals.shape[1]):
        middle += marginals[:, column] * where[:, column]
    middle /= number
    for column in range(marginals.shape[1]):
        total += marginals[:, column] * (where[:, column] - middle) ** 2
    return number * total
