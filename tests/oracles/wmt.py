"""The WMT protocol said as plainly as possible: loops, fractions, no arrays."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Rows: people say <, =, >; columns: the metric says <, =, >; X is left out.
MATRICES: Final = {
    "wmt12": (("1", "-1", "-1"), ("X", "X", "X"), ("-1", "-1", "1")),
    "wmt13": (("1", "X", "-1"), ("X", "X", "X"), ("-1", "X", "1")),
    "wmt14": (("1", "0", "-1"), ("X", "X", "X"), ("-1", "0", "1")),
    "hties": (("1", "0", "-1"), ("0", "1", "0"), ("-1", "0", "1")),
}


def side(x: float, y: float) -> int:
    """Return 0, 1 or 2 for <, = or >."""
    return 0 if x < y else 1 if x == y else 2


def tau(pairs: Iterable[tuple[int, int, float, float]], variant: str) -> Fraction | None:
    """Return τ over pairs (rank of a, rank of b, score of a, score of b); rank 1 and the highest score are best."""
    numerator = entries = 0
    for rank_a, rank_b, score_a, score_b in pairs:
        credit = MATRICES[variant][side(rank_a, rank_b)][side(-score_a, -score_b)]
        if credit != "X":
            numerator += int(credit)
            entries += 1
    return Fraction(numerator, entries) if entries else None


def collapsed(
    rows: Iterable[tuple[object, int, str, int, str, int]], texts: Mapping[tuple[str, int], str]
) -> list[tuple[object, int, str, int, str, int]]:
    """Merge equal texts in rows (ranking, segment, a, rank of a, b, rank of b), dropping contradictions."""
    found: dict[tuple[object, int, frozenset[str]], list[tuple[object, int, str, int, str, int]]] = {}
    for row in rows:
        ranking, segment, a, _, b, _ = row
        both = frozenset((texts[a, segment], texts[b, segment]))
        if len(both) == 2:
            found.setdefault((ranking, segment, both), []).append(row)
    kept = []
    for same in found.values():
        verdicts = set()
        for _, segment, a, rank_a, b, rank_b in same:
            better = side(rank_a, rank_b)
            verdicts.add(better if texts[a, segment] < texts[b, segment] else 2 - better)
        if len(verdicts) == 1:
            kept.append(same[0])
    return kept


def accuracy(metric: Sequence[float], human: Sequence[float]) -> Fraction | None:
    """Return the share of pairs of systems, apart in the eyes of people, that the metric puts in the same order."""
    right = pairs = 0
    for i in range(len(human)):
        for j in range(i):
            if human[i] != human[j]:
                pairs += 1
                right += side(metric[i], metric[j]) == side(human[i], human[j])
    return Fraction(right, pairs) if pairs else None
