"""Plain statements of what simulated studies count, for metrics that are means over segments."""

from __future__ import annotations

import random
from itertools import combinations
from statistics import NormalDist, fmean, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def bootstrap_coverage(pool: Sequence[float], size: int, *, sets: int, resamples: int, seed: int) -> float:
    """Return the share of test sets whose percentile interval of the mean, 95 %, covers the mean of the pool."""
    draw = random.Random(seed)
    truth = fmean(pool)
    covered = 0
    for _ in range(sets):
        chosen = draw.choices(pool, k=size)
        means = [fmean(draw.choices(chosen, k=size)) for _ in range(resamples)]
        ends = quantiles(means, n=40, method="inclusive")
        covered += ends[0] <= truth <= ends[-1]
    return covered / sets


def normal_power(effect: float, size: int) -> tuple[float, float]:
    """Return how often a two-sided test of a mean at 0.05 finds the right and the wrong sign, by normal theory."""
    normal = NormalDist()
    edge = normal.inv_cdf(0.975)
    shift = effect * size**0.5
    return normal.cdf(shift - edge), normal.cdf(-shift - edge)


def ordered(scores: Sequence[float], truth: Sequence[float]) -> bool:
    """Return whether of any two systems that differ in truth the better one has the higher score."""
    return all(
        scores[a] > scores[b] if truth[a] > truth[b] else scores[a] < scores[b]
        for a, b in combinations(range(len(truth)), 2)
        if truth[a] != truth[b]
    )
