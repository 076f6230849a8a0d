"""Rank correlations and tests of correlations, restated without any speed: every pair of observations is looked at."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def sign(number: float) -> int:
    return (number > 0) - (number < 0)


def observations(
    x: Sequence[float], y: Sequence[float], counts: Sequence[int] | None, *, mirrored: bool
) -> list[tuple[float, float, int]]:
    """Points with the number of times they enter."""
    often = [1] * len(x) if counts is None else counts
    points = [(a, b, n) for a, b, n in zip(x, y, often, strict=True) if n]
    return points + [(-a, -b, n) for a, b, n in points] if mirrored else points


def rank_coefficients(
    x: Sequence[float], y: Sequence[float], counts: Sequence[int] | None = None, *, mirrored: bool = False
) -> tuple[float, float]:
    """Spearman's ρ and Kendall's τ-b, whole numbers up to the last line; NaN where undefined."""
    seen = observations(x, y, counts, mirrored=mirrored)
    # Twice the mid-rank, less twice the mean rank: observations below less observations above.
    ranks = [
        (
            sum(n * sign(a - other) for other, _, n in seen),
            sum(n * sign(b - other) for _, other, n in seen),
            often,
        )
        for a, b, often in seen
    ]
    products = sum(n * a * b for a, b, n in ranks)
    squares = sum(n * a * a for a, _, n in ranks), sum(n * b * b for _, b, n in ranks)
    agreement = unequal_x = unequal_y = 0
    for a, b, n in seen:
        for other_a, other_b, other_n in seen:
            pairs = n * other_n
            agreement += pairs * sign(a - other_a) * sign(b - other_b)
            unequal_x += pairs * (a != other_a)
            unequal_y += pairs * (b != other_b)
    if not unequal_x or not unequal_y:
        return math.nan, math.nan
    return (
        products / math.sqrt(float(squares[0]) * float(squares[1])),
        agreement / math.sqrt(float(unequal_x) * float(unequal_y)),
    )


def williams_t(r_xh: float, r_yh: float, r_xy: float, n: int) -> float:
    """Williams' statistic as Steiger (1980) writes it, from the matrix of all three correlations."""
    matrix = np.array([[1.0, r_xh, r_yh], [r_xh, 1.0, r_xy], [r_yh, r_xy, 1.0]])
    top = (n - 1) * (1 + r_xy)
    bottom = 2 * (n - 1) / (n - 3) * np.linalg.det(matrix) + np.mean([r_xh, r_yh]) ** 2 * (1 - r_xy) ** 3
    return float((r_xh - r_yh) * np.sqrt(top / bottom))
