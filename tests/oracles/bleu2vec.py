"""bleu2vec and ΔBLEU with near misses as their definitions read, without a thought for speed.

Nothing here shares code with the package. Texts come as lists of tokens, similarities from a function of two n-grams
that returns the cosine, or None if one of them has no vector.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

Tokens = Sequence[str]
Gram = tuple[str, ...]
Cosine = Callable[[Gram, Gram], float | None]


class Aligned(NamedTuple):
    """A pair of occurrences and what it counts."""

    position: int
    reference_position: int
    exact: bool
    weight: float


class Scale(NamedTuple):
    """What becomes of cosines."""

    kind: str = "raw"
    shift: float = 0.0
    unknown: float = 0.001

    def weight(self, cosine: float | None) -> float:
        """Return what a pair with this cosine counts."""
        if cosine is None:
            return self.unknown
        if self.kind == "raw":
            return cosine
        return max(0.0, cosine) if self.kind == "clamp" else max(0.0, cosine - self.shift) / (1 - self.shift)


def grams(tokens: Tokens, n: int) -> list[Gram]:
    """Return the n-grams of a text from left to right."""
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def align(hypothesis: Sequence[Gram], reference: Sequence[Gram], cosine: Cosine, scale: Scale) -> list[Aligned]:
    """Align two lists of n-grams."""
    pairs = []
    rows, columns = list(range(len(hypothesis))), list(range(len(reference)))
    for i in list(rows):
        j = next((j for j in columns if reference[j] == hypothesis[i]), None)
        if j is not None:
            pairs.append(Aligned(i, j, exact=True, weight=1.0))
            rows.remove(i)
            columns.remove(j)
    while rows and columns:
        weights = {(i, j): scale.weight(cosine(hypothesis[i], reference[j])) for i in rows for j in columns}
        i, j = min(weights, key=lambda pair: (-weights[pair], *pair))
        pairs.append(Aligned(i, j, exact=False, weight=weights[i, j]))
        rows.remove(i)
        columns.remove(j)
    return pairs


def credit(sums: Sequence[float], holders: Sequence[bool], weights: Sequence[float], rule: str) -> float:
    """Return what an n-gram earns, given its sum in each reference and which of these hold it."""
    products = [weight * each for weight, each in zip(weights, sums, strict=True)]
    if rule == "max":
        return max((product for product, each in zip(products, sums, strict=True) if each > 0), default=0.0)
    if any(holders):
        return max(product for product, holds in zip(products, holders, strict=True) if holds)
    if rule == "nearest":
        largest = max(range(len(sums)), key=lambda j: (sums[j], weights[j]))
        return products[largest]
    return max(products) if rule == "plain" else max(0.0, *products)


def matches(
    hypothesis: Tokens,
    references: Sequence[Tokens],
    weights: Sequence[float],
    n: int,
    cosine: Cosine,
    scale: Scale,
    rule: str,
) -> float:
    """Return what the n-grams of one order earn in one segment."""
    mine = grams(hypothesis, n)
    sums: dict[Gram, list[float]] = {gram: [0.0] * len(references) for gram in mine}
    for j, reference in enumerate(references):
        for pair in align(mine, grams(reference, n), cosine, scale):
            sums[mine[pair.position]][j] += pair.weight
    return math.fsum(
        credit(each, [gram in grams(reference, n) for reference in references], weights, rule)
        for gram, each in sums.items()
    )


def f_form(segments: Sequence[tuple[Tokens, Sequence[Tokens]]], cosine: Cosine, scale: Scale) -> float:
    """Score a corpus by precision and recall, without weights, smoothed as by Lin and Och, on 0 to 100."""
    values = []
    for n in (1, 2, 3):
        earned = mine = theirs = 0.0
        for hypothesis, references in segments:
            length = len(hypothesis)
            closest = min(references, key=lambda other: (abs(len(other) - length), len(other)))
            earned += matches(hypothesis, references, [1.0] * len(references), n, cosine, scale, "plain")
            mine += len(grams(hypothesis, n))
            theirs += len(grams(closest, n))
        if mine:
            mean, added = (mine + theirs) / 2, 1 if n > 1 else 0
            values.append((min(max(earned, 0.0), mean) + added) / (mean + added))
    if not values or min(values) < 1e-9:
        return 0.0
    return 100 * math.prod(values) ** (1 / len(values))


def release(segments: Sequence[tuple[Tokens, Sequence[Tokens]]], cosine: Cosine) -> float:
    """Score a corpus as the program of 2017 does, on 0 to 100."""
    numerators, denominators = [0.0] * 3, [0] * 3
    hypothesis_length = reference_length = 0
    for hypothesis, references in segments:
        for n in (1, 2, 3):
            mine, theirs = Counter(grams(hypothesis, n)), Counter(grams(references[0], n))
            numerators[n - 1] += sum((mine & theirs).values())
            rows, columns = list(mine - theirs), list(theirs - mine)  # each once
            while rows and columns:
                best, chosen = -1.0, None
                for left in rows:
                    for right in columns:
                        value = cosine(left, right)
                        value = 0.001 if value is None else value
                        if value > best:
                            best, chosen = value, (left, right)
                if chosen is None:
                    break
                rows.remove(chosen[0])
                columns.remove(chosen[1])
                numerators[n - 1] += best
            denominators[n - 1] += sum(mine.values())
        length = len(hypothesis)
        hypothesis_length += length
        reference_length += min(map(len, references), key=lambda other: (abs(other - length), other))
    if numerators[0] == 0:
        return 0.0
    penalty = 1.0
    if hypothesis_length < reference_length:
        penalty = math.exp(1 - reference_length / hypothesis_length) if hypothesis_length else 0.0
    exponent = 0.0
    for weight, numerator, denominator in zip((0.33, 0.34, 0.33), numerators, denominators, strict=True):
        if denominator == 0 or numerator <= 0:
            break
        exponent += weight * math.log(numerator / denominator)
    return 100 * penalty * math.exp(exponent)
