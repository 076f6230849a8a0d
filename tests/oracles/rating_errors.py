"""Errors that many weights share, stated plainly: a dictionary of raters' levels, one text after the other."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def moved_weights(
    ratings: Sequence[Sequence[str]], calibrated: Sequence[bool], levels: Mapping[str, float], curve: float
) -> list[float]:
    """Return how far each weight moves if raters are so much milder and the curve lies so much higher.

    A rated text has the mean of its raters' levels. A calibrated one has the mean over rated texts, as its curve was
    fitted to them, and the error of the curve.
    """
    rated = [fmean(levels[rater] for rater in raters) for raters in ratings if raters]
    return [
        fmean(levels[rater] for rater in raters) if raters else (fmean(rated) + curve if follows else 0.0)
        for raters, follows in zip(ratings, calibrated, strict=True)
    ]


def effects(
    ratings: Sequence[Sequence[str]],
    calibrated: Sequence[bool],
    raters: Sequence[str],
    level: float,
    curve: float,
    slopes: Sequence[float],
) -> list[float]:
    """Return how far a score with these slopes moves with each rater's level, and with the curve."""
    found = []
    for who in (*raters, None):
        levels = {rater: level if rater == who else 0.0 for rater in raters}
        moved = moved_weights(ratings, calibrated, levels, curve if who is None else 0.0)
        found.append(sum(slope * move for slope, move in zip(slopes, moved, strict=True)))
    return found
