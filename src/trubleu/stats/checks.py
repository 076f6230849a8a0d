"""Argument checks of this package, one function per kind of error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

MOST_DRAWS: Final = 100_000_000
"""Their scores fill some gigabytes; more would not help."""


def usable(statistics: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return the statistics of one system as a contiguous array that can be resampled."""
    array = np.ascontiguousarray(statistics, dtype=np.float64)
    if array.ndim != 2:
        raise DataError(f"{name} must be a table with one row per segment, but the array has {array.ndim} dimension(s)")
    if array.shape[1] == 0:
        raise DataError(f"{name} has no statistics, only {len(array)} empty rows")
    if len(array) == 0:
        raise DataError(f"{name} has no segments, and an empty corpus has neither an interval nor a test")
    finite(array, name)
    return array


def finite(array: NDArray[np.float64], name: str) -> None:
    """Require finite values."""
    # A sum is finite only if all its terms are, so the usual case needs no boolean array. It may overflow with finite
    # terms, hence the second check.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):
            return
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise DataError(f"{name} has a value that is not finite in segment {bad[0]} (counted from 0); leave it out")


def same_shape(shapes: Sequence[tuple[int, int]], names: Sequence[str]) -> None:
    """Require the same segments and metric for all systems."""
    segments, columns = shapes[0]
    for (rows, width), name in zip(shapes, names, strict=True):
        if rows != segments:
            raise DataError(
                f"{name} has {counted(rows, 'segment')} but {names[0]} has {segments}; "
                "a paired test needs outputs for the same segments"
            )
        if width != columns:
            raise DataError(
                f"{name} has {width} statistics per segment but {names[0]} has {columns}; "
                "score both with the same metric"
            )


def at_least_one(number: int, name: str) -> None:
    """Require a positive number in a sensible range."""
    if number > MOST_DRAWS:
        raise UsageError(f"{name} must be at most {MOST_DRAWS:,}, not {number:,}")
    if number < 1:
        raise UsageError(f"{name} must be 1 or more, not {number}")


def confidence_level(confidence: float) -> None:
    """Require a confidence level strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must be between 0 and 1, for example 0.95, not {confidence:g}")


def seed_range(seed: int) -> None:
    """Require a seed in the range of the generators."""
    if not 0 <= seed < 2**64:
        raise UsageError(f"seed must be between 0 and 2^64 - 1, not {seed}")


def block_count(count: int, segments: int) -> None:
    """Require non-empty blocks."""
    if not 1 <= count <= segments:
        raise UsageError(f"{counted(segments, 'segment')} can be cut into 1 to {segments} blocks, not {count}")


def probabilities(p_values: NDArray[np.float64]) -> None:
    """Require a list of probabilities."""
    if p_values.ndim != 1:
        raise DataError(f"p-values must be a flat list, but the array has {p_values.ndim} dimension(s)")
    bad = np.flatnonzero(~((p_values >= 0.0) & (p_values <= 1.0)))
    if len(bad):
        raise DataError(f"p-value {bad[0]} (counted from 0) is {p_values[bad[0]]:g}, which is not between 0 and 1")
