"""Training of n-gram vectors, restated in plain Python: slow, number after number, in 32 bits like the kernel."""

from __future__ import annotations

import math
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from tests.oracles.generators import WORD, below, halves, mix, shuffled, start_of, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

TRAINING, FIRST_VECTORS = 6, 7
NO_ENTRY, SENTENCE_END = 2**32 - 2, 2**32 - 1
LANES = 8
F = np.float32


def ngram_counts(sentences: Sequence[Sequence[str]], order: int) -> Counter[str]:
    """How often each n-gram of an order comes, words joined by a space."""
    return Counter(
        " ".join(sentence[at : at + order]) for sentence in sentences for at in range(len(sentence) - order + 1)
    )


def alias_table(weights: Sequence[float]) -> list[tuple[int, int]]:
    """Cells of a threshold (out of 2³²) below which a draw is the cell's own number, and the number that it is else."""
    total = 0.0
    for weight in weights:
        total += weight
    scaled = [weight / total * len(weights) for weight in weights]
    small = [i for i, value in enumerate(scaled) if value < 1]
    large = [i for i, value in enumerate(scaled) if value >= 1]
    cells = [(0, i) for i in range(len(weights))]
    while small and large:
        poor, rich = small.pop(), large[-1]
        cells[poor] = (int(scaled[poor] * 2**32), rich)
        scaled[rich] -= 1 - scaled[poor]
        if scaled[rich] < 1:
            small.append(large.pop())
    return cells


def draw(cells: Sequence[tuple[int, int]], word: int) -> int:
    at = (word >> 32) * len(cells) >> 32
    threshold, other = cells[at]
    return at if word % 2**32 < threshold else other


def exact_sigmoid(at: int) -> float:
    return 1 / (1 + math.exp(8 - at / 64))


def sigmoid(x: F) -> F:
    if not x < F(8):
        return F(1)
    if not x > F(-8):
        return F(0)
    place = (x + F(8)) * F(64)
    at = int(place)
    return F(exact_sigmoid(at)) + (place - F(at)) * F(exact_sigmoid(at + 1) - exact_sigmoid(at))


def dot(a: NDArray[np.float32], b: NDArray[np.float32]) -> F:
    sums = np.zeros(LANES, F)
    for at in range(0, len(a), LANES):
        sums = sums + a[at : at + LANES] * b[at : at + LANES]
    s = [sums[lane] + sums[lane + 4] for lane in range(4)]
    result: F = (s[0] + s[2]) + (s[1] + s[3])
    return result


def first_vectors(rows: int, dimensions: int, seed: int, stream: int) -> NDArray[np.float32]:
    source = halves(mix((start_of(seed, FIRST_VECTORS) + stream) & WORD), 0)
    matrix = np.zeros((rows, -(-dimensions // LANES) * LANES), F)
    for row in range(rows):
        for at in range(dimensions):
            matrix[row, at] = F((next(source) * 2.0**-32 - 0.5) / dimensions)
    return matrix


class SkipGram:
    """The kernel's arguments, and the same work.

    With one level its n-grams are the units, otherwise units are drawn: (entry, first place, place behind the last).
    """

    def __init__(
        self,
        vectors: NDArray[np.float32],
        outputs: NDArray[np.float32],
        noise: Sequence[float],
        keep: Sequence[int],
        join: Sequence[int],
        window: int,
        negative: int,
        words_out: bool,
        seed: int,
        stream: int,
        block: int = 1 << 14,
    ) -> None:
        self.vectors, self.outputs = vectors.copy(), outputs.copy()
        self.cells = alias_table(noise)
        self.keep, self.join = keep, join
        self.window, self.negative, self.words_out = window, negative, words_out
        self.start = mix((start_of(seed, TRAINING) + stream) & WORD)
        self.block = block
        self.loss, self.pairs, self.units = 0.0, 0, 0

    def train(
        self,
        levels: Sequence[Sequence[int]],
        lengths: Sequence[int],
        listed: Sequence[int],
        epoch: int,
        alpha: float,
        alpha_step: float,
    ) -> None:
        blocks = self.blocks(levels[0])
        for number, sentences in enumerate(blocks, epoch * len(blocks)):
            self.segments = halves(self.start, 3 * number)
            self.choices = halves(self.start, 3 * number + 1)
            self.negatives = words(self.start, 3 * number + 2)
            self.alpha = F(alpha - alpha_step * number)
            for begin, end in sentences:
                self.sentence([level[begin:end] for level in levels], lengths, listed)

    def blocks(self, numbers: Sequence[int]) -> list[list[tuple[int, int]]]:
        """Sentences of each block: those that begin in it. One without an end in a whole block is cut there."""
        starts = [0]
        for block in range(1, -(-len(numbers) // self.block)):
            first = block * self.block
            ends = (at + 1 for at in range(first - 1, min(first + self.block - 1, len(numbers))))
            starts.append(next((at for at in ends if numbers[at - 1] == SENTENCE_END), first))
        blocks = []
        for begin, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            sentences, at = [], begin
            while at < end:
                stop = next((place for place in range(at, end) if numbers[place] == SENTENCE_END), end)
                sentences.append((at, stop))
                at = stop + 1
            blocks.append(sentences)
        return blocks

    def cut(
        self,
        levels: Sequence[Sequence[int]],
        lengths: Sequence[int],
        listed: Sequence[int],
        source: Iterator[int],
    ) -> list[tuple[int, int, int]]:
        length = len(levels[0])
        offsets = [sum(listed[:level]) for level in range(len(levels))]
        if len(levels) == 1:
            return [(number, at, at + lengths[0]) for at, number in enumerate(levels[0]) if number < listed[0]]
        candidates = []
        for at in range(length):
            for level in range(1, len(levels)):
                if levels[level][at] < listed[level] and at + lengths[level] <= length:
                    entry = offsets[level] + levels[level][at]
                    if next(source) < self.join[entry]:
                        candidates.append((entry, at, at + lengths[level]))
        taken: dict[int, tuple[int, int, int]] = {}
        for number in shuffled(range(len(candidates)), source):
            entry, begin, end = candidates[number]
            if not any(at in taken for at in range(begin, end)):
                taken |= dict.fromkeys(range(begin, end), candidates[number])
        units = []
        for at in range(length):
            if at in taken:
                if taken[at][1] == at:
                    units.append(taken[at])
            elif levels[0][at] < listed[0]:
                units.append((levels[0][at], at, at + 1))
        return units

    def kept(self, entry: int) -> bool:
        return self.keep[entry] == 2**32 - 1 or next(self.choices) < self.keep[entry]

    def sentence(self, levels: Sequence[Sequence[int]], lengths: Sequence[int], listed: Sequence[int]) -> None:
        units = self.cut(levels, lengths, listed, self.segments)
        self.units += len(units)
        if not self.words_out:
            kept = [entry for entry, _, _ in units if self.kept(entry)]
            for at, target in enumerate(kept):
                window = 1 + below(self.window, self.choices)
                for other in range(max(at - window, 0), min(at + window + 1, len(kept))):
                    if other != at:
                        self.pair(kept[other], target)
            return
        there = [(at, word) for at, word in enumerate(levels[0]) if word < listed[0] and self.kept(word)]
        for entry, begin, end in units:
            single = end - begin == 1
            if (not any(at == begin for at, _ in there)) if single else (not self.kept(entry)):
                continue
            window = 1 + below(self.window, self.choices)
            before = [word for at, word in there if at < begin][-window:]
            behind = [word for at, word in there if at >= end][:window]
            for word in before + behind:
                self.pair(entry, word)

    def pair(self, entry: int, target: int) -> None:
        drawn = [draw(self.cells, next(self.negatives)) for _ in range(self.negative)]
        targets = [target, *(other for other in drawn if other != target)]
        vector = self.vectors[entry].copy()
        products = [dot(vector, self.outputs[other]) for other in targets]
        change = np.zeros_like(vector)
        for place, other, product in zip(count(), targets, products, strict=False):
            probability = sigmoid(product)
            gain = (-probability if place else F(1) - probability) * self.alpha
            self.loss -= math.log(max(float(F(1) - probability if place else probability), 3e-4))
            change = change + gain * self.outputs[other]
            self.outputs[other] = self.outputs[other] + gain * vector
        self.vectors[entry] = vector + change
        self.pairs += 1
