"""Test sets drawn from a pool, and how sure a share of them is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Draw(NamedTuple):
    """One made test set.

    Attributes
    ----------
    rows
        Which segments of the pool it has; one may come more than once, as the pool stands for endlessly many.
    swapped
        For each of them, whether two systems exchange their outputs where there shall be no difference between them.
    """

    rows: NDArray[np.int64]
    swapped: NDArray[np.bool_]


def draw_test_set(pool: int, segments: int, *, number: int, seed: int) -> Draw:
    """Draw a test set; the same number and seed give the same one, whatever is scored on it.

    Parameters
    ----------
    pool
        How many segments there are to draw from.
    segments
        How many to draw.
    number
        Which test set of this size it is.
    seed
        Of all of them.

    Examples
    --------
    >>> draw = draw_test_set(10, 4, number=0, seed=1)
    >>> len(draw.rows), bool((draw.rows < 10).all())
    (4, True)
    """
    generator = np.random.default_rng([seed, 2, segments, number])
    return Draw(generator.integers(0, pool, segments), generator.integers(0, 2, segments).astype(bool))


def resampling_seed(number: int, seed: int) -> int:
    """Return the seed of the resampling of one test set, different from that of every other."""
    return (seed * 1_000_003 + number) % 2**64


class Share(NamedTuple):
    """A share of independent trials, with its standard error √(p(1 − p)/n).

    Examples
    --------
    >>> Share.of(90, 100)
    Share(value=0.9, error=0.03)
    """

    value: float
    error: float

    @classmethod
    def of(cls, hits: int, trials: int) -> Share:
        """Return the share of hits."""
        share = hits / trials
        return cls(share, math.sqrt(share * (1.0 - share) / trials))


class Mean(NamedTuple):
    """A mean of independent trials, with its standard error; the error of a single trial is not known.

    Examples
    --------
    >>> Mean.of(np.array([1.0, 3.0]))
    Mean(value=2.0, error=1.0)
    """

    value: float
    error: float | None

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Mean:
        """Return the mean of values."""
        error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
        return cls(float(values.mean()), error)
