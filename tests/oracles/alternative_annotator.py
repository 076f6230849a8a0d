"""The alternative annotator test as Calderon et al. (2025) write it: one rater, one item, one sum after the other."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from scipy import special

if TYPE_CHECKING:
    from collections.abc import Mapping


def closeness(score: float, others: list[int]) -> float:
    """−RMSE, rounded so that two equal ones are equal."""
    return -round(math.sqrt(sum((score - other) ** 2 for other in others) / len(others)), 9)


def advantages(
    people: Mapping[str, Mapping[int, int]], model: Mapping[int, float], epsilon: float, least: int
) -> dict[str, tuple[int, float, float, float]]:
    """Items, ρ of the model, ρ of the rater and p of each rater with enough items."""
    found = {}
    for name, scores in people.items():
        for_model, for_rater = [], []
        for item, score in scores.items():
            others = [theirs[item] for other, theirs in people.items() if other != name and item in theirs]
            if not others or item not in model:
                continue
            mine, models = closeness(score, others), closeness(model[item], others)
            for_model.append(int(models >= mine))
            for_rater.append(int(mine >= models))
        number = len(for_model)
        if number < least:
            continue
        differences = [h - f for h, f in zip(for_rater, for_model, strict=True)]
        if len(set(differences)) == 1:
            p = 0.0 if differences[0] < epsilon else 1.0
        else:
            mean, error = fmean(differences), stdev(differences) / math.sqrt(number)
            p = float(special.stdtr(number - 1, (mean - epsilon) / error))  # the t distribution
        found[name] = (number, sum(for_model) / number, sum(for_rater) / number, p)
    return found


def winning_rate(p_values: list[float], q: float) -> float:
    """The share of hypotheses rejected by Benjamini and Yekutieli (2001): the first k of m in the order of their p.

    k is the largest number with p_(k) <= k q / (m (1 + 1/2 + … + 1/m)).
    """
    number = len(p_values)
    bound = q / (number * sum(1 / rank for rank in range(1, number + 1)))
    return max((k for k, p in enumerate(sorted(p_values), 1) if p <= k * bound), default=0) / number
