"""chrF's statistics, stated plainly: sacreBLEU's, but for any string, lone surrogates included."""

from __future__ import annotations

import string
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def words_of(text: str) -> list[str]:
    """Split at white space; then a punctuation mark at the end, or else one at the beginning, is a word."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in string.punctuation:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def ngrams(symbols: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """Count n-grams of one order."""
    return Counter(tuple(symbols[i : i + order]) for i in range(len(symbols) - order + 1))


def counts(
    output: str,
    reference: str,
    char_order: int = 6,
    word_order: int = 0,
    lowercase: bool = False,
    whitespace: bool = False,
) -> list[tuple[int, int, int]]:
    """Return for each order the n-grams of the output, of the reference, and the matches."""
    if lowercase:
        output, reference = output.lower(), reference.lower()
    pairs = []
    for text in (output, reference):
        characters = text if whitespace else "".join(text.split())
        levels = [ngrams(characters, n) for n in range(1, char_order + 1)]
        pairs.append(levels + [ngrams(words_of(text), n) for n in range(1, word_order + 1)])
    return [
        (ours.total() if theirs else 0, theirs.total(), (ours & theirs).total())
        for ours, theirs in zip(*pairs, strict=True)
    ]


def f_score(rows: list[tuple[int, int, int]], beta: int = 2) -> Fraction:
    """Return F from 0 to 1, exactly: precision and recall are means over the orders that both sides have."""
    both = [row for row in rows if row[0] and row[1]]
    if not both:
        return Fraction(0)
    precision = sum((Fraction(row[2], row[0]) for row in both), Fraction(0)) / len(both)
    recall = sum((Fraction(row[2], row[1]) for row in both), Fraction(0)) / len(both)
    weighted = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighted if weighted else Fraction(0)
