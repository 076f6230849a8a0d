"""Neyman allocation: with which probability to choose each item for rating, by how uncertain its rating is; a draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

EVEN_SHARE: Final = 0.25
"""The share of the probability that is even over all items: no weight is above four times the mean."""


def neyman_allocation(spread: ArrayLike, number: float) -> NDArray[np.float64]:
    """Return the probability of each item to be chosen, in proportion to its standard deviation.

    This minimises the variance of an estimate for the same number of rated items (Neyman 1934). A quarter is even,
    because no probability may be 0 and the standard deviations are themselves estimates.

    Parameters
    ----------
    spread
        How far an item's rating may be from what is expected of it: a standard deviation.
    number
        The expected number of chosen items.

    Raises
    ------
    DataError
        If a standard deviation is negative or not finite.
    UsageError
        If the number is not between 0 and that of the items.

    Examples
    --------
    >>> neyman_allocation([1, 1, 2], 1).tolist()
    [0.2708333333333333, 0.2708333333333333, 0.4583333333333333]
    """
    spreads = np.asarray(spread, np.float64)
    if spreads.ndim != 1 or not ((spreads >= 0) & np.isfinite(spreads)).all():
        raise DataError("an allocation takes one standard deviation per item, from 0 on")
    items = len(spreads)
    if not 0 < number <= items:
        raise UsageError(f"of {items} items, between 1 and {items} can be chosen, not {number:g}")
    sizes = np.full(items, 1 / items)
    if (largest := spreads.max()) > 0:
        shares = spreads / largest  # the sum of the standard deviations themselves may overflow
        sizes = EVEN_SHARE / items + (1 - EVEN_SHARE) * (shares / shares.sum())
    chances = np.minimum(number * sizes, 1.0)
    while (left := number - chances.sum()) > 1e-9 * number and (open_ := chances < 1).any():  # what was above 1
        chances[open_] = np.minimum(chances[open_] * (1 + left / chances[open_].sum()), 1.0)
    return chances


def systematic_sample(probabilities: ArrayLike, seed: int) -> NDArray[np.bool_]:
    """Draw items with these probabilities, and as many as they add up to (systematic sampling in random order).

    Examples
    --------
    >>> systematic_sample([0.5, 0.5, 1.0], seed=1).sum()
    np.int64(2)
    """
    chances = np.asarray(probabilities, np.float64)
    if chances.ndim != 1 or not ((chances >= 0) & (chances <= 1)).all():
        raise DataError("a sample takes one probability per item, from 0 to 1")
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(chances))
    ends = np.concatenate([[0.0], np.cumsum(chances[order])])
    ends[-1] = max(round(ends[-1], 9), ends[-2])
    marks = np.floor(ends + draw.random() * 0.999999)
    chosen = np.zeros(len(chances), np.bool_)
    chosen[order] = np.diff(marks) > 0
    return chosen
