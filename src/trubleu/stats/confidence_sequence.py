"""Asymptotic confidence sequences: intervals that hold at every look at once (Waudby-Smith et al. 2021)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.stats import checks
from trubleu.stats.correlation import Bounds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FIRST_LOOK: Final = 30
"""Minimum values before the first look; with fewer, the standard deviation is too uncertain."""


def tuned_rho(planned: float, confidence: float = 0.95) -> float:
    """Return the ρ that makes the interval narrowest after the planned number of values.

    Examples
    --------
    >>> round(tuned_rho(100), 3)
    0.296
    """
    checks.confidence_level(confidence)
    if not planned > 0:
        raise UsageError(f"planned must be above 0, not {planned:g}")
    log = -2 * math.log(1 - confidence)
    return math.sqrt((log + math.log(log) + 1) / planned)


def half_width(count: float, spread: float, rho: float, confidence: float = 0.95) -> float:
    """Return half the width of the interval after ``count`` values with this standard deviation."""
    scale = count * rho**2 + 1
    return spread * math.sqrt(2 * scale / (count * rho) ** 2 * math.log(math.sqrt(scale) / (1 - confidence)))


def anytime_interval(values: ArrayLike, planned: float, *, confidence: float = 0.95) -> Bounds:
    """Return the interval of the mean after these values: at 95 %, it always held the mean in 95 % of studies.

    One may look after every value, and stop when the interval leaves out 0.

    Parameters
    ----------
    values
        All values so far, in any order; they must be a random sample, such as the differences of two systems on
        segments in random order.
    planned
        After how many values the interval is to be narrowest; decided before the first look.
    confidence
        The level.

    Raises
    ------
    DataError
        If there are fewer than 30 values, or one is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = anytime_interval(np.random.default_rng(1).normal(1, 1, 100), planned=200)
    >>> 0.5 < low < 1 < high < 1.5
    True
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) < FIRST_LOOK:
        raise DataError(f"a confidence sequence needs {FIRST_LOOK} values, not {array.size}; wait for more")
    if not np.isfinite(array).all():
        raise DataError("values has a value that is not finite")
    mean = float(array.mean())
    half = half_width(len(array), float(array.std()), tuned_rho(planned, confidence), confidence)
    return Bounds(mean - half, mean + half)


def values_needed(count: int, mean: float, spread: float, planned: float, *, confidence: float = 0.95) -> float:
    """Return how many values the interval will need to leave out 0, if mean and spread stay; infinite for a mean of 0.

    Examples
    --------
    >>> round(values_needed(50, 0.3, 1.0, planned=200))
    105
    """
    rho = tuned_rho(planned, confidence)
    if half_width(count, spread, rho, confidence) < abs(mean):
        return float(count)
    if mean == 0:
        return math.inf
    low, high = float(count), 2.0 * count
    while half_width(high, spread, rho, confidence) >= abs(mean):
        low, high = high, 2 * high
    while high - low > 0.5:  # the half-width falls with the number of values
        middle = (low + high) / 2
        low, high = (middle, high) if half_width(middle, spread, rho, confidence) >= abs(mean) else (low, middle)
    return math.ceil(high)
