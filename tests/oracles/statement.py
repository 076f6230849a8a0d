"""BLEU, sBLEU, ΔBLEU and sdBLEU as their definitions read, without a thought for speed.

Nothing here shares code with the package, and counts and weights are exact fractions: a float appears only where a
logarithm is taken. Texts come as lists of tokens.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

Tokens = Sequence[str]


class Row(NamedTuple):
    """The statistics of one segment, or the sum over several."""

    hypothesis_length: int
    reference_length: Fraction
    matches: tuple[Fraction, ...]
    totals: tuple[Fraction, ...]  # n-grams of the hypothesis, times the segment's best weight
    counts: tuple[int, ...]  # n-grams of the hypothesis

    def columns(self, *, weighted: bool) -> list[float]:
        """Return the row as the kernels write it."""
        totals = self.totals if weighted else ()
        exact: list[int | Fraction] = [
            self.hypothesis_length,
            self.reference_length,
            *self.matches,
            *totals,
            *self.counts,
        ]
        return [float(value) for value in exact]


class Score(NamedTuple):
    """A score and its parts, on 0 to 100."""

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float


class NegativeSumError(ValueError):
    """The matches of an order sum to less than 0 and that is not allowed."""


def ngrams(tokens: Tokens, n: int) -> Counter[tuple[str, ...]]:
    """Count the n-grams of one text."""
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def reference_length(hypothesis: int, lengths: Sequence[int], rule: str) -> Fraction:
    """Choose a segment's reference length."""
    if not lengths:
        return Fraction(0)
    if rule == "closest":
        return Fraction(min(lengths, key=lambda length: (abs(length - hypothesis), length)))
    if rule == "shortest":
        return Fraction(min(lengths))
    if rule == "longest":
        return Fraction(max(lengths))
    assert rule == "average"
    return Fraction(sum(lengths), len(lengths))


def credit(
    gram: tuple[str, ...],
    count: int,
    references: Sequence[Counter[tuple[str, ...]]],
    weights: Sequence[Fraction],
    how: str,
) -> Fraction:
    """Return what the occurrences of one n-gram of the hypothesis earn: paper (§4) or fork2019."""
    holders = [
        (weight, min(count, held[gram])) for held, weight in zip(references, weights, strict=True) if gram in held
    ]
    if not holders:
        return Fraction(0)
    if how == "paper":
        return max(weight * clipped for weight, clipped in holders)
    assert how == "fork2019"
    return max(weight for weight, _ in holders) * max(clipped for _, clipped in holders)


def segment(
    hypothesis: Tokens,
    references: Sequence[Tokens],
    weights: Sequence[float | Fraction] | None = None,
    *,
    order: int = 4,
    definition: str = "paper",
    length_rule: str = "closest",
    positive_lengths: bool = False,
) -> Row:
    """Return a segment's statistics; without weights every reference weighs 1, which is BLEU."""
    exact = [Fraction(weight) for weight in (weights if weights is not None else [1.0] * len(references))]
    best = max(exact, default=Fraction(1))
    lengths = [
        len(tokens) for tokens, weight in zip(references, exact, strict=True) if weight > 0 or not positive_lengths
    ]
    matches, counts = [], []
    for n in range(1, order + 1):
        held = [ngrams(tokens, n) for tokens in references]
        grams = ngrams(hypothesis, n)
        matches.append(sum((credit(g, c, held, exact, definition) for g, c in grams.items()), Fraction(0)))
        counts.append(sum(grams.values()))
    return Row(
        len(hypothesis),
        reference_length(len(hypothesis), lengths, length_rule),
        tuple(matches),
        tuple(best * count for count in counts),
        tuple(counts),
    )


def added(rows: Sequence[Row], order: int) -> Row:
    """Return the sum of rows; zeros without any."""
    return Row(
        sum(row.hypothesis_length for row in rows),
        sum((row.reference_length for row in rows), Fraction(0)),
        tuple(sum((row.matches[n] for row in rows), Fraction(0)) for n in range(order)),
        tuple(sum((row.totals[n] for row in rows), Fraction(0)) for n in range(order)),
        tuple(sum(row.counts[n] for row in rows) for n in range(order)),
    )


def brevity_penalty(hypothesis: float | Fraction, reference: float | Fraction) -> float:
    """Return 1 for a hypothesis that is long enough, less for a shorter one."""
    if hypothesis >= reference:
        return 1.0
    return math.exp(1 - reference / hypothesis) if hypothesis > 0 else 0.0


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; 0 if a value is 0 or there is none."""
    if not values or min(values) <= 0:
        return 0.0
    return math.exp(sum(math.log(value) for value in values) / len(values))


def settled(row: Row, negative: str, floor: float, *, scaled: bool) -> Row:
    """Do away with sums of matches below 0: clamp them, put a floor in their place, or refuse."""
    matches = list(row.matches)
    for n, match in enumerate(matches):
        if match < 0:
            if negative == "error":
                raise NegativeSumError(f"order {n + 1}: {match}")
            matches[n] = Fraction(floor) * unit(row, n, scaled=scaled) if negative == "floor" else Fraction(0)
    return row._replace(matches=tuple(matches))


def unit(row: Row, n: int, *, scaled: bool) -> Fraction:
    """Return what a smoothing constant of an order is multiplied by: the denominator over the count."""
    return row.totals[n] / row.counts[n] if scaled and row.counts[n] else Fraction(1)


def bleu(
    row: Row,
    *,
    smoothing: str = "exp",
    value: float | None = None,
    effective_order: bool = False,
    scaled: bool = True,
) -> Score:
    """Score a sum of rows; ``scaled`` is false for fork2019, which keeps smoothing constants as they are."""
    order = len(row.matches)
    constant = Fraction(value if value is not None else {"floor": 0.1, "add-k": 1.0}.get(smoothing, 0.0))
    penalty = brevity_penalty(row.hypothesis_length, row.reference_length)
    precisions = [0.0] * order
    if not any(row.matches):
        return Score(0.0, tuple(precisions), penalty)
    used, halvings = order, 0
    for n in range(order):
        match, total, scale = row.matches[n], row.totals[n], unit(row, n, scaled=scaled)
        if smoothing == "add-k" and n > 0:
            match, total = match + constant * scale, total + constant * scale
        if total == 0:  # nothing to be precise about, nor at any higher order
            if effective_order:
                used = n
            break
        if match == 0 and smoothing == "exp":
            halvings += 1
            match = scale / 2**halvings
        elif match == 0 and smoothing == "floor":
            match = constant * scale
        precisions[n] = float(100 * match / total)
    return Score(penalty * geometric_mean(precisions[:used]), tuple(precisions), penalty)


def sentence(row: Row, variant: str, *, scaled: bool = True) -> float:
    """Score one row by a named variant of sentence-level BLEU (§3); sums below 0 count 0."""
    row = settled(row, "clamp", 0.0, scaled=scaled)
    if variant == "sacrebleu":
        return bleu(row, smoothing="exp", effective_order=True, scaled=scaled).score
    assert variant in ("lin-och", "nakov", "nakov-all")
    precisions = []
    for n, count in enumerate(row.counts):
        if count == 0:  # an order without n-grams is left out
            continue
        extra = unit(row, n, scaled=scaled) if n > 0 or variant == "nakov-all" else Fraction(0)
        precisions.append(float(100 * (row.matches[n] + extra) / (row.totals[n] + extra)))
    longer = 0 if variant == "lin-och" else 1
    return brevity_penalty(row.hypothesis_length, row.reference_length + longer) * geometric_mean(precisions)
