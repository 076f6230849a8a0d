"""What a reference's weight may be, and how ratings become one."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral, Real
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError, shown
from trubleu.files.tables import finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LOWEST_RATING = 1
HIGHEST_RATING = 5
FIVE_POINTS: Final[tuple[float, float]] = (LOWEST_RATING, HIGHEST_RATING)
UNIT: Final[tuple[float, float]] = (0, 1)

LABEL_WEIGHTS: Final = {
    **dict.fromkeys(("good", "correct", "right", "true", "yes", "pass", "passed", "accepted", "ok", "1", "+1"), 1.0),
    **dict.fromkeys(("bad", "incorrect", "wrong", "false", "no", "fail", "failed", "rejected", "0", "-1"), -1.0),
}
"""What a label of a reference may be, in lower case, and the weight that it stands for."""

#: How far a file's weight may be from the one its ratings give: weights rounded to three decimals pass. One point of
#: one of n raters moves the weight by 1/(2n), so a wrong rating is noticed with fewer than a thousand raters.
WEIGHT_TOLERANCE = 5e-4
_SHORT: Final = 15  # characters of a number that somebody wrote; floats hold 15 decimal digits, and write up to 17
_SIMPLE: Final = 10_000
_NOISE: Final = Fraction(1, 10**14)
_ROUNDING = 1e-9  # 0.0625 written as 0.063 (or 0.062) is exactly 5e-4 away, give or take the last bits


def weight_from_ratings(ratings: Sequence[int]) -> float:
    """Turn ratings on the scale from 1 to 5 into a weight from -1 to +1.

    The weight is (sum - 3n) / (2n): one division of two integers, hence the float nearest to the true value.

    Parameters
    ----------
    ratings
        One or more integers from 1 to 5, one per rater.

    Raises
    ------
    DataError
        If there are no ratings or one is not an integer from 1 to 5.

    Examples
    --------
    >>> weight_from_ratings([5, 5, 5]), weight_from_ratings([3]), weight_from_ratings([1, 2])
    (1.0, 0.0, -0.75)
    """
    if problem := ratings_problem(ratings):
        raise DataError(f"ratings {problem}")
    count = len(ratings)
    # int(): NumPy's small integers would wrap around in the sum.
    return (sum(map(int, ratings)) - 3 * count) / (2 * count)


def parse_scale(text: str) -> tuple[float, float]:
    """Read the ends of a scale, ``LOW:HIGH`` or ``LOW-HIGH``.

    Examples
    --------
    >>> parse_scale("1:5"), parse_scale("1-5"), parse_scale("-25:0")
    ((1.0, 5.0), (1.0, 5.0), (-25.0, 0.0))
    """
    low, _, high = text.partition(":") if ":" in text else text.rpartition("-")
    ends = [finite(low), finite(high)]
    if ends[0] is None or ends[1] is None or ends[0] >= ends[1]:
        raise UsageError(f"the scale {shown(text)} must be two numbers, the worst and the best: 1:5, 0:1 or -25:0")
    return ends[0], ends[1]


def guess_scale(values: Sequence[float | Fraction]) -> tuple[float, float] | None:
    """Return the scale that ratings are most likely on: 1 to 5, 0 to 1, or -1 to 1; None if it is none of these.

    Examples
    --------
    >>> guess_scale([2, 4.5]), guess_scale([0.2, 1]), guess_scale([-25, 0])
    ((1, 5), (0, 1), None)
    >>> guess_scale([4] * 20 + [55])  # a slip
    (1, 5)
    """
    low, high = min(values, default=1), max(values, default=1)
    for scale in (FIVE_POINTS, UNIT, (-1, 1)):
        if scale[0] <= low and high <= scale[1]:
            return scale
    inside = sum(LOWEST_RATING <= value <= HIGHEST_RATING for value in values)
    return FIVE_POINTS if 10 * inside >= 9 * len(values) else None


def exact(number: float | Fraction) -> int | Fraction:
    """Return a number as it was meant, to be added up without rounding.

    A short number is what was written. One with all the digits of a float is the result of a computation: a fraction
    with a denominator of at most 10,000 that differs from it by rounding alone (10⁻¹⁴ of it) takes its place, such as
    a mean of three or a sum of tenths. Equal ratings are thus equal, whatever program added them up.

    Examples
    --------
    >>> exact(0.1), exact(4.0)
    (Fraction(1, 10), 4)
    >>> exact(-6.199999999999999), exact(11 / 9)
    (Fraction(-31, 5), Fraction(11, 9))
    """
    if isinstance(number, float):
        written = repr(number)
        fraction = Fraction(written)
        if (
            len(written) > _SHORT
            and abs((simple := fraction.limit_denominator(_SIMPLE)) - fraction) <= abs(fraction) * _NOISE
        ):
            fraction = simple
    else:
        fraction = Fraction(number)
    return fraction.numerator if fraction.denominator == 1 else fraction


def weight_on_scale(ratings: Sequence[float | Fraction], scale: tuple[float, float]) -> float:
    """Turn ratings on any scale into a weight: the mean, with the worst at -1 and the best at +1, rounded once.

    Examples
    --------
    >>> weight_on_scale([5, 4], (1, 5)), weight_on_scale([0.5], (0, 1))
    (0.75, 0.0)
    """
    low, high = map(exact, scale)
    count = len(ratings)
    return float(Fraction(2 * sum(map(exact, ratings)) - count * (low + high), count * (high - low)))


USUAL_RATINGS: Final = 2
"""Ratings of the usual variance that are added to those of a text."""


def weight_errors(ratings: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return the standard error of each mean of ratings; NaN for those without a rating.

    The error of a mean of n ratings is s / √n. As the variance s² of a few ratings is uncertain, and 0 where they
    agree, two ratings of the usual variance are added to it: that of all texts with two ratings or more, pooled.

    Examples
    --------
    >>> weight_errors([[1, 0.5], [-1, -0.5], [0], []]).round(3).tolist()
    [0.25, 0.25, 0.354, nan]
    >>> weight_errors([[1, 1], [1, 0]]).round(3).tolist()
    [0.289, 0.408]
    >>> weight_errors([[1], [0]]).tolist()  # one rating per text says nothing about their spread
    [nan, nan]
    """
    counts = np.array([len(row) for row in ratings], dtype=np.float64)
    flat = np.array([rating for row in ratings for rating in row], dtype=np.float64)
    owners = np.repeat(np.arange(len(ratings)), counts.astype(np.int64))
    means = np.bincount(owners, flat, len(ratings)) / np.maximum(counts, 1)
    freedom = np.maximum(counts - 1, 0)
    squares = np.bincount(owners, (flat - means[owners]) ** 2, len(ratings))
    usual = squares.sum() / freedom.sum() if freedom.any() else np.nan
    variance = (squares + USUAL_RATINGS * usual) / (freedom + USUAL_RATINGS)
    errors: NDArray[np.float64] = np.sqrt(variance / np.where(counts > 0, counts, np.nan))
    return errors


def ratings_problem(ratings: Sequence[Any]) -> str | None:
    """Say what is wrong with ratings, to go on from the name of their place; None if nothing is."""
    if not len(ratings):
        return "must hold at least one rating"
    for rating in ratings:
        whole = isinstance(rating, Integral) and not isinstance(rating, bool)
        if not whole or not LOWEST_RATING <= rating <= HIGHEST_RATING:
            return f"must be integers from {LOWEST_RATING} to {HIGHEST_RATING}, not {shown(rating)}"
    return None


def agrees(weight: float, ratings: Sequence[int]) -> bool:
    """Return whether a weight is the one that the ratings give, up to rounding to three decimals.

    Examples
    --------
    >>> agrees(0.333, [4, 4, 3]), agrees(0.34, [4, 4, 3])
    (True, False)
    """
    return abs(weight - weight_from_ratings(ratings)) <= WEIGHT_TOLERANCE + _ROUNDING


def weight_problem(weight: object, remedy: str = "write None for a reference that is not rated yet") -> str | None:
    """Say what is wrong with one weight, to go on from the name of its place; None if nothing is.

    Parameters
    ----------
    weight
        Anything.
    remedy
        What to write instead of NaN where the weight comes from.

    Examples
    --------
    >>> weight_problem(0.5)
    >>> weight_problem(True)
    'must be a number from -1 to 1, not True'
    """
    if isinstance(weight, bool) or not isinstance(weight, Real):
        return f"must be a number from -1 to 1, not {shown(weight)}"
    number: Any = weight  # numbers.Real knows no comparison with int, as far as type checkers are told
    if number != number:  # NaN of any numeric type, without a conversion that could overflow
        return f"must be a number from -1 to 1, not NaN; {remedy}"
    if not -1 <= number <= 1:
        return f"must be from -1 to 1, not {shown(weight)}; ratings from 1 to 5 become weights by (sum - 3n) / (2n)"
    return None


def weights_array(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return weights as an array, None as NaN; no array at all if one of them is wrong."""
    kinds = set(map(type, values)) - {NoneType}
    if not all(issubclass(kind, Real) and not issubclass(kind, bool) for kind in kinds):
        return None
    nulls = sum(value is None for value in values) if None in values else 0
    numbers = (np.nan if value is None else value for value in values) if nulls else values
    try:
        array = np.fromiter(numbers, np.float64, len(values))
    except OverflowError:  # an integer too large for any float
        return None
    fine = np.count_nonzero(np.abs(array) <= 1) + nulls == len(values)
    return array if fine else None
