"""What a reference's weight may be, and how ratings become one."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from trubleu.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

LOWEST_RATING = 1
HIGHEST_RATING = 5

#: How far a file's weight may be from the one its ratings give: weights rounded to three decimals pass. One point of
#: one of n raters moves the weight by 1/(2n), so a wrong rating is noticed with fewer than a thousand raters.
WEIGHT_TOLERANCE = 5e-4
_ROUNDING = 1e-9  # 0.0625 written as 0.063 (or 0.062) is exactly 5e-4 away, give or take the last bits


def weight_from_ratings(ratings: Sequence[int]) -> float:
    """Turn ratings on the scale from 1 to 5 into a weight from -1 to +1.

    The weight is (sum - 3n) / (2n): one division of two integers, hence the float nearest to the true value.

    Parameters
    ----------
    ratings
        One or more integers from 1 to 5, one a rater.

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
