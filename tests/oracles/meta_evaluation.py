"""Agreement of metrics with people, restated without any speed: every output and every pair is looked at."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

Table = list[list[float | None]]


def groups(table: Table, grouping: str) -> list[list[float | None]]:
    """Rows of a table whose numbers are looked at together."""
    if grouping == "pooled":
        return [[value for row in table for value in row]]
    return table if grouping == "system" else [list(column) for column in zip(*table, strict=True)]


def coefficient(x: Sequence[float], y: Sequence[float], name: str) -> float:
    """SciPy's coefficient; NaN where a list is constant."""
    if len(x) < 2 or len(set(x)) == 1 or len(set(y)) == 1:
        return math.nan
    if name == "pearson":
        return float(stats.pearsonr(x, y)[0])
    if name == "spearman":
        return float(stats.spearmanr(x, y)[0])
    return float(stats.kendalltau(x, y, variant="c" if name == "kendall-c" else "b")[0])


def mean_coefficient(people: Table, scores: Table, name: str, grouping: str) -> float:
    """The mean over groups in which it is defined."""
    found = []
    for human, metric in zip(groups(people, grouping), groups(scores, grouping), strict=True):
        both = [(h, m) for h, m in zip(human, metric, strict=True) if h is not None and m is not None]
        r = coefficient([m for _, m in both], [h for h, _ in both], name)
        if not math.isnan(r):
            found.append(r)
    return sum(found) / len(found) if found else math.nan


def accuracy(people: Table, scores: Table, epsilon: float = 0.0) -> float:
    """acc_eq: pairs of outputs of an item that both order alike or both tie, averaged over items with a pair."""
    found = []
    for human, metric in zip(groups(people, "item"), groups(scores, "item"), strict=True):
        both = [(h, m) for h, m in zip(human, metric, strict=True) if h is not None and m is not None]
        right = []
        for (h1, m1), (h2, m2) in combinations(both, 2):
            sign = 0 if abs(m1 - m2) <= epsilon else (m1 > m2) - (m1 < m2)
            right.append(sign == (h1 > h2) - (h1 < h2))
        if right:
            found.append(sum(right) / len(right))
    return sum(found) / len(found)


def best_threshold(people: Table, scores: Table) -> float:
    """The smallest threshold among 0 and all differences with which acc_eq is largest."""
    candidates = {0.0}
    for metric, human in zip(groups(scores, "item"), groups(people, "item"), strict=True):
        rated = [m for h, m in zip(human, metric, strict=True) if h is not None and m is not None]
        candidates |= {abs(a - b) for a, b in combinations(rated, 2)}
    tried = [(accuracy(people, scores, each), each) for each in sorted(candidates)]
    best = max(value for value, _ in tried)
    return next(each for value, each in tried if value >= best - 1e-9)


def soft_accuracy(people: Table, scores: Table, signs: Sequence[Sequence[float]]) -> float:
    """1 − the mean difference between the p-values of people and of the metric, over pairs of systems."""
    gaps = []
    for i, j in combinations(range(len(people)), 2):
        p_values = []
        for table in (people, scores):
            differences = [
                0.0 if h1 is None or h2 is None or x is None or y is None else x - y
                for h1, h2, x, y in zip(people[i], people[j], table[i], table[j], strict=True)
            ]
            seen = sum(differences)
            drawn = [sum(s * d for s, d in zip(row, differences, strict=True)) for row in signs]
            p_values.append(sum(each >= seen - 1e-7 for each in drawn) / len(drawn))
        gaps.append(abs(p_values[0] - p_values[1]))
    return 1 - sum(gaps) / len(gaps)
