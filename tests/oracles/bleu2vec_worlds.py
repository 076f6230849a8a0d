"""Sources of vectors: with cosines that are exact in 32 bits, so that ties are ties; without any; sums over words."""

from __future__ import annotations

import math
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DIMENSIONS = 16
POOL = 12


@lru_cache(maxsize=64)
def pool(seed: int) -> NDArray[np.float32]:
    """Return a few vectors of 0 and ±1 with 1, 4 or 16 that are not 0, the last one of zeros only."""
    random = np.random.default_rng(seed)
    vectors = np.zeros((POOL, DIMENSIONS), np.float32)
    for vector in vectors[:-1]:
        places = random.choice(DIMENSIONS, random.choice([1, 4, 16]), replace=False)
        vector[places] = random.choice([-1, 1], len(places))
    return vectors


class World:
    """A source of vectors that gives every n-gram one of the pool, or none."""

    orders = None
    dimensions = DIMENSIONS

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.name = f"world-{seed}"
        self.asked: list[str] = []

    def number(self, ngram: str) -> int:
        """Return which vector it is."""
        return zlib.crc32(f"{self.seed} {ngram}".encode()) % POOL

    def lookup(self, ngrams: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of n-grams."""
        self.asked += ngrams
        return pool(self.seed)[[self.number(ngram) for ngram in ngrams]]

    def cosine(self, left: tuple[str, ...], right: tuple[str, ...]) -> float | None:
        """Return the cosine of two n-grams, None if one has no vector."""
        a, b = (pool(self.seed)[self.number(" ".join(gram))].tolist() for gram in (left, right))
        if not any(a) or not any(b):
            return None
        product = sum(x * y for x, y in zip(a, b, strict=True))
        return float(product / (math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))))


class Nothing:
    """A source that knows no n-gram."""

    name = "nothing"
    orders = None
    dimensions = 3

    def lookup(self, ngrams: Sequence[str]) -> NDArray[np.float32]:
        """Return zeros."""
        return np.zeros((len(ngrams), 3), np.float32)


class Sums:
    """A source whose n-grams are sums of random vectors of their words; of words with x only ``lookup`` knows."""

    orders = None
    dimensions = 20
    name = "sums"

    def _word(self, word: str) -> NDArray[np.float64]:
        if word.startswith("?"):
            return np.zeros(self.dimensions)
        return np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.dimensions)

    def lookup(self, ngrams: Sequence[str]) -> NDArray[np.float32]:
        """Return what the sums are for ordinary words, and something else for others."""
        rows = []
        for ngram in ngrams:
            words = ngram.split(" ")
            row = sum(map(self._word, words))
            if any("x" in word for word in words):
                row = self._word(f"odd {ngram}")
            rows.append(row)
        return np.array(rows, np.float32).reshape(-1, self.dimensions)

    def word_sums(self, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the vectors of words, and for which ones they add up."""
        rows = np.array([self._word(word) for word in words], np.float32).reshape(-1, self.dimensions)
        return rows, np.array(["x" not in word for word in words], bool)


class Looked:
    """The same without the sums."""

    def __init__(self, source: Sums) -> None:
        self.name, self.orders, self.dimensions = source.name, source.orders, source.dimensions
        self.lookup = source.lookup
