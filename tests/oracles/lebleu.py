"""LeBLEU as its paper states it, in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def edit_distance(a: str, b: str) -> int:
    """Return the least number of letters to insert, delete or replace."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other)))
    return row[-1]


def similarity(a: str, b: str, threshold: float) -> Fraction:
    """Return the share of letters that need no edit, or 0 below the threshold."""
    longer = max(len(a), len(b))
    found = Fraction(longer - edit_distance(a, b), longer)
    return found if float(found) >= threshold else Fraction(0)


def ngrams(words: Sequence[str], n: int) -> Counter[str]:
    """Count n-grams, their words joined by spaces."""
    return Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))


def lebleu(
    outputs: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]], order: int, threshold: float
) -> float:
    """Return LeBLEU of words from 0 to 100; with several references each n-gram of theirs comes as often as in one."""
    earned, totals = [Fraction(0)] * order, [0] * order
    letters = reference_letters = 0
    for words, texts in zip(outputs, references, strict=True):
        length = len(" ".join(words))
        letters += length
        lengths = [len(" ".join(text)) for text in texts]
        reference_letters += min(lengths, key=lambda other: (abs(other - length), other))
        pool: list[str] = []
        for n in range(1, 2 * order + 1):
            most: Counter[str] = Counter()
            for text in texts:
                most |= ngrams(text, n)
            pool += most.elements()
        for n in range(1, order + 1):
            for ngram, count in ngrams(words, n).items():
                found = sorted((similarity(ngram, other, threshold) for other in pool), reverse=True)
                earned[n - 1] += sum(found[:count])
                totals[n - 1] += count
    shares = [share / total for share, total in zip(earned, totals, strict=True) if total]
    if not shares:
        return 0.0
    return 100 * min(1.0, math.exp(1 - reference_letters / letters)) * float(sum(shares) / len(shares))
