"""A corpus as numbers, restated with plain lists and ``collections.Counter``."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tests.oracles.skipgram import NO_ENTRY, SENTENCE_END

if TYPE_CHECKING:
    from collections.abc import Sequence


class Counted(NamedTuple):
    """What counting must find."""

    words: list[str]
    levels: list[list[tuple[int, int, int]]]
    """Of each order from 2 on: both halves and the count."""
    counts: list[int]
    """Of the words."""
    numbers: list[list[int]]
    """Of each order."""


def counted(sentences: Sequence[Sequence[str]], least: Sequence[int]) -> Counted:
    """Count words and n-grams; the most frequent first, then what came first, or the smaller numbers."""
    seen = Counter(word for sentence in sentences for word in sentence)
    words = sorted((word for word in seen if seen[word] >= least[0]), key=lambda word: -seen[word])
    rank = {word: number for number, word in enumerate(words)}
    numbers: list[int] = []
    for sentence in filter(None, sentences):
        numbers += [*(rank.get(word, NO_ENTRY) for word in sentence), SENTENCE_END]
    below = [seen[word] for word in words]
    orders, levels = [numbers], []
    for wanted in least[1:]:
        usable = {number for number, count in enumerate(below) if count >= wanted}
        pairs = Counter(pair for pair in pairwise(orders[-1]) if usable.issuperset(pair))
        level = sorted((-count, *pair) for pair, count in pairs.items() if count >= wanted)
        place = {(first, second): number for number, (_, first, second) in enumerate(level)}
        ends = [*orders[-1][1:], SENTENCE_END]
        orders.append(
            [
                SENTENCE_END if number == SENTENCE_END else place.get((number, following), NO_ENTRY)
                for number, following in zip(orders[-1], ends, strict=True)
            ]
        )
        levels.append([(first, second, -count) for count, first, second in level])
        below = [-count for count, _, _ in level]
    return Counted(words, levels, [seen[word] for word in words], orders)
