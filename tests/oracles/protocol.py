"""The ΔBLEU protocol stated plainly: units as lists of segments, fractions for ratings, SciPy for coefficients.

Which segments are in which unit is learnt by summing rows of the identity matrix; everything else is done anew.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats as scipy_stats

from trubleu.data import References

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.metrics import Metric
    from trubleu.stats import UnitDraws

Rated = list[tuple[str, float, str | None]]
"""The references of a segment: text, weight and origin."""


def chosen(references: Rated, condition: str) -> Rated:
    """Return the references that count, by the words of the definition."""
    if condition == "all":
        return references
    if condition == "single":
        return next(([each] for each in references if each[2] == "seed"), references[:1])
    threshold = float(condition.removeprefix("w>="))
    good = [each for each in references if each[1] >= threshold]
    if good:
        return good
    best = max(weight for _, weight, _ in references)
    candidates = [each for each in references if each[1] == best]
    return next(([each] for each in candidates if each[2] == "seed"), candidates[:1])


def members(draws: UnitDraws, rows: int, stream: int, items: Sequence[int], universe: int) -> list[list[list[int]]]:
    """Return for each draw and unit the rows in it, as often as they are."""
    sums = draws.sums(np.eye(rows), stream=stream, items=np.array(items), universe=universe)
    return [[np.repeat(np.arange(rows), unit.astype(int)).tolist() for unit in draw] for draw in sums]


def unit_score(metric: Metric, outputs: Sequence[str], references: Sequence[Rated], segments: Sequence[int]) -> float:
    """Score the outputs of some segments, repeated ones included, as a corpus of their own."""
    lists = References.from_lists(
        [[text for text, _, _ in references[segment]] for segment in segments],
        [[weight for _, weight, _ in references[segment]] for segment in segments],
    )
    return metric.corpus([outputs[segment] for segment in segments], lists).score


def observations(
    metric: Metric,
    pairs: Sequence[tuple[str, str]],
    systems: Mapping[str, Sequence[str]],
    references: Mapping[tuple[str, str], Sequence[Rated]],
    means: Mapping[tuple[int, str], Fraction],
    draws: UnitDraws,
) -> list[list[list[tuple[float, float]]]]:
    """Return for every draw and pair the differences of score and of rating, each followed by its mirror image.

    ``references`` are those that count, by pair.
    """
    judged = {
        (a, b): [s for s in range(len(references[a, b])) if (s, a) in means and (s, b) in means] for a, b in pairs
    }
    universe = sorted({segment for segments in judged.values() for segment in segments})
    points: list[list[list[tuple[float, float]]]] = [[] for _ in range(draws.draws)]
    sign = 1 if metric.higher_is_better else -1
    for stream, (a, b) in enumerate(pairs):
        segments = judged[a, b]
        places = [universe.index(segment) for segment in segments]
        for draw, units in enumerate(members(draws, len(segments), stream, places, len(universe))):
            here: list[tuple[float, float]] = []
            for unit in units:
                inside = [segments[row] for row in unit]
                m = sign * (
                    unit_score(metric, systems[a], references[a, b], inside)
                    - unit_score(metric, systems[b], references[a, b], inside)
                )
                q = sum((means[s, a] - means[s, b] for s in inside), Fraction(0)) / len(inside)
                m = round(m, 9)  # sums in another order must not break ties
                here += [(m, float(q)), (-m, -float(q))]
            points[draw].append(here)
    return points


def correlate(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return ρ and τ-b."""
    x, y = np.array(points).T
    rho: Any = scipy_stats.spearmanr(x, y).statistic
    tau: Any = scipy_stats.kendalltau(x, y).statistic
    return float(rho), float(tau)


def coefficients(
    metric: Metric,
    pairs: Sequence[tuple[str, str]],
    systems: Mapping[str, Sequence[str]],
    references: Mapping[tuple[str, str], Sequence[Rated]],
    means: Mapping[tuple[int, str], Fraction],
    draws: UnitDraws,
) -> list[tuple[float, float]]:
    """Return ρ and τ-b of every draw."""
    found = observations(metric, pairs, systems, references, means, draws)
    return [correlate([point for units in draw for point in units]) for draw in found]
