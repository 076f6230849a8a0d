"""Agreement of raters, restated in fractions: every pair of ratings is looked at, every cell of a table written out."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

Rating = tuple["Hashable", "Hashable", int]
"""Item, rater, score."""


def distance(a: int, b: int, marginals: Mapping[int, Fraction]) -> Fraction:
    """The square of how far apart two scores are, as Krippendorff (2011) writes it."""
    low, high = min(a, b), max(a, b)
    between = sum((n for score, n in marginals.items() if low <= score <= high), Fraction(0))
    return (between - (marginals[low] + marginals[high]) / 2) ** 2


def alpha(items: Iterable[Sequence[int]]) -> Fraction | None:
    """1 − D_o / D_e from the scores of each item; None where all that can be compared are the same, or nothing can."""
    coincidences: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for scores in items:
        for a, b in permutations(scores, 2):
            coincidences[a, b] += Fraction(1, len(scores) - 1)
    marginals: defaultdict[int, Fraction] = defaultdict(Fraction)
    for (a, _), times in coincidences.items():
        marginals[a] += times
    if len(marginals) < 2:
        return None
    n = sum(marginals.values(), Fraction(0))
    observed = sum(times * distance(a, b, marginals) for (a, b), times in coincidences.items()) / n
    pairs = [marginals[a] * marginals[b] * distance(a, b, marginals) for a in marginals for b in marginals]
    return 1 - observed / (sum(pairs, Fraction(0)) / (n * (n - 1)))


def scores_of_items(ratings: Iterable[Rating]) -> dict[Hashable, list[int]]:
    items: defaultdict[Hashable, list[int]] = defaultdict(list)
    for item, _, score in ratings:
        items[item].append(score)
    return dict(items)


def kappa_of_table(table: Mapping[tuple[int, int], Fraction], scale: tuple[int, int]) -> Fraction | None:
    """Cohen's κ of a table of what one rater gave by what the other gave, disagreements from 0 to 1."""
    low, high = scale
    cells = [(a, b) for a in range(low, high + 1) for b in range(low, high + 1)]
    n = sum(table.values())
    if not n:
        return None
    rows, columns = Counter[int](), Counter[int]()
    for (a, b), times in table.items():
        rows[a] += times  # type: ignore[assignment]
        columns[b] += times  # type: ignore[assignment]
    weights = {(a, b): Fraction((a - b) ** 2, (high - low) ** 2) for a, b in cells}
    observed = sum(weights[cell] * table.get(cell, 0) for cell in cells) / n
    expected = sum(weights[a, b] * Fraction(rows[a], n) * Fraction(columns[b], n) for a, b in cells)
    return 1 - observed / expected if expected else None


def kappa(ratings: Sequence[Rating], a: Hashable, b: Hashable, scale: tuple[int, int]) -> tuple[Fraction | None, int]:
    """κ of two raters and the number of items they share."""
    table: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for item, rater, score in ratings:
        for other_item, other, other_score in ratings:
            if item == other_item and (rater, other) == (a, b):
                table[score, other_score] += 1
    return kappa_of_table(table, scale), int(sum(table.values()))


def kappa_with_the_rest(
    ratings: Sequence[Rating], who: Hashable, scale: tuple[int, int]
) -> tuple[Fraction | None, int]:
    """κ of a rater with the others, who share an item's one entry equally, and the number of items shared."""
    table: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for item, rater, score in ratings:
        if rater == who:
            others = [given for same, other, given in ratings if same == item and other != who]
            for given in others:
                table[score, given] += Fraction(1, len(others))
    return kappa_of_table(table, scale), int(sum(table.values()))
