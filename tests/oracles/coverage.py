"""How far sentences cover each other, stated plainly: one word at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Vector = Sequence[float]

SHIFT = 0.15


def weight(vector: Vector) -> float:
    return math.sqrt(sum(value * value for value in vector))


def similarity(one: str, other: str, vector: Callable[[str], Vector]) -> float:
    if one == other:
        return 1.0
    u, v = vector(one), vector(other)
    cosine = sum(a * b for a, b in zip(u, v, strict=True)) / (weight(u) * weight(v))
    return max(0.0, (cosine - SHIFT) / (1 - SHIFT))


def coverage(sentence: Sequence[str], words: Sequence[str], vector: Callable[[str], Vector]) -> float:
    """Return the weighted mean over the words of a sentence of the similarity to their most similar word."""
    total = sum(weight(vector(word)) for word in sentence)
    covered = sum(
        weight(vector(word)) * max((similarity(word, other, vector) for other in words), default=0.0)
        for word in sentence
    )
    return covered / total


def exclusive(
    sentences: Sequence[Sequence[str]], others: Sequence[Sequence[str]], vector: Callable[[str], Vector]
) -> list[float]:
    """Return the coverage of each sentence by those words of the other text that go to it."""
    given: list[list[str]] = [[] for _ in sentences]
    for other in others:
        whole = [coverage(sentence, other, vector) for sentence in sentences]
        for word in other:
            nearness = [max(similarity(own, word, vector) for own in sentence) for sentence in sentences]
            best = max(range(len(sentences)), key=lambda at: nearness[at] + whole[at] / 2)
            given[best].append(word)
    return [coverage(sentence, words, vector) for sentence, words in zip(sentences, given, strict=True)]
