"""N-grams of outputs and of each of their references, counted once, for rows against any choice of the references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.metrics.matching import ReferenceWords
from trubleu.native import resolve_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics.matching import NgramMetric, WordMetric
    from trubleu.text import Tokenizer

KEPT_CHOICES: Final = 8
"""Choices of references whose weights of n-grams are kept: threads work on several, each for two outputs."""


class _Level(NamedTuple):
    """The n-grams of one length in references, each n-gram of each reference once, sorted by segment and n-gram.

    Attributes
    ----------
    keys
        Sorted: the number of all but the last word times the number of words, plus that word.
    number, reference, segment, often
        The n-gram, the reference that has it, its segment, and how often it has it.
    group
        The references of one segment that have the same n-gram are a group; its number.
    shared, size
        Of each group: its n-gram, and how many references it has.
    segments
        Of each n-gram: how many segments have it in any reference; the last is 0, for one that no reference has.
    """

    keys: NDArray[np.int64]
    number: NDArray[np.int64]
    reference: NDArray[np.int64]
    segment: NDArray[np.int64]
    often: NDArray[np.int64]
    group: NDArray[np.int64]
    shared: NDArray[np.int64]
    size: NDArray[np.int64]
    segments: NDArray[np.int64]


class Matches(NamedTuple):
    """What outputs share with references: n-grams of one length.

    Attributes
    ----------
    segment, number, said
        The different n-grams of each output: its segment, the n-gram (the count of known ones if no reference has it),
        and how often the output has it.
    reference, held
        The references of the segment that have one of these n-grams, and how often.
    matched, begins
        Which of the output's n-grams it is, and where each that is matched begins.
    """

    segment: NDArray[np.int64]
    number: NDArray[np.int64]
    said: NDArray[np.int64]
    reference: NDArray[np.int64]
    held: NDArray[np.int64]
    matched: NDArray[np.int64]
    begins: NDArray[np.int64]


class ReferenceNgrams:
    """The n-grams of each reference.

    Parameters
    ----------
    references
        The references.
    tokenizer, lowercase
        How texts become words.
    threads
        How many threads to use.
    """

    def __init__(self, references: References, tokenizer: Tokenizer, lowercase: bool, threads: int) -> None:
        self._tokenizer, self._lowercase = tokenizer, lowercase
        self.offsets = references.offsets
        self.words = ReferenceWords.of(references, tokenizer, lowercase, threads)
        self.lengths = self.words.texts.lengths()
        self.segment_of = np.repeat(np.arange(len(references)), references.reference_counts())
        self._flat = self.words.texts.numbers().astype(np.int64)
        self._size = int(self._flat.max(initial=0)) + 1
        self._numbers = self._flat
        self._levels: list[_Level] = []
        self._idf: dict[tuple[bytes, int], IdfWeights] = {}

    @classmethod
    def of(cls, references: References, tokenizer: Tokenizer, lowercase: bool, threads: int | None) -> ReferenceNgrams:
        """Return the n-grams of references, which are kept with them."""
        workers = resolve_threads(threads, references.count)
        return references.remembered(
            (cls, tokenizer, lowercase), lambda: cls(references, tokenizer, lowercase, workers)
        )

    def level(self, order: int) -> _Level:
        """Return the n-grams of one length."""
        while len(self._levels) < order:
            n = len(self._levels) + 1
            begins = _begins(self.lengths, n)
            if n == 1:
                keys, self._numbers = np.arange(self._size), self._flat
            else:
                found = self._numbers[begins] * self._size + self._flat[begins + n - 1]
                keys, numbers = np.unique(found, return_inverse=True)
                self._numbers = np.full(len(self._flat), -1)
                self._numbers[begins] = numbers
            reference = np.repeat(np.arange(len(self.lengths)), np.maximum(self.lengths - n + 1, 0))
            # By segment and n-gram first, so that what a segment's references share lies together.
            pairs = (self.segment_of[reference] * len(keys) + self._numbers[begins]) * len(self.lengths) + reference
            single, often = np.unique(pairs, return_counts=True)
            rest, reference = np.divmod(single, len(self.lengths))
            segment, number = np.divmod(rest, max(len(keys), 1))
            begins = np.diff(rest, prepend=-1) != 0
            group, shared = np.cumsum(begins) - 1, number[begins]
            size, segments = np.bincount(group), np.bincount(shared, minlength=len(keys) + 1)
            self._levels.append(_Level(keys, number, reference, segment, often, group, shared, size, segments))
        return self._levels[order - 1]

    def segments(self, chosen: NDArray[np.bool_]) -> int:
        """Return how many segments have a reference that is chosen."""
        return int(np.count_nonzero(np.logical_or.reduceat(chosen, self.offsets[:-1])))

    def idf_weights(self, chosen: NDArray[np.bool_], order: int) -> IdfWeights:
        """Return what n-grams weigh by how many segments have them in a chosen reference; the last are kept."""
        key = chosen.tobytes(), order
        found = self._idf.get(key)
        if found is None:
            logarithms = np.log(self.segments(chosen) / np.maximum(np.arange(len(self.offsets)), 1)) ** 2
            found = IdfWeights([], [])
            for level in map(self.level, range(1, order + 1)):
                absent = np.flatnonzero(~chosen[level.reference])
                gone = np.bincount(level.group[absent], minlength=len(level.size)) == level.size
                segments = level.segments - np.bincount(level.shared[gone], minlength=len(level.segments))
                found.squares.append(logarithms[segments])
                values = level.often**2 * found.squares[-1][level.number]
                found.norms.append(np.bincount(level.reference, values, len(self.lengths)).astype(float))
            while len(self._idf) >= KEPT_CHOICES:
                self._idf.pop(next(iter(self._idf)), None)
            self._idf[key] = found
        return found

    def outputs(
        self, texts: tuple[str, ...], order: int, threads: int | None
    ) -> tuple[NDArray[np.int64], list[Matches]]:
        """Return the lengths of outputs, one for each segment, and what they share with the references, by length."""
        lines = kernel_texts(texts, self._tokenizer, self._lowercase)[0]
        words = self.words.outputs(lines, 0, len(lines), resolve_threads(threads, len(lines)))
        lengths, flat = words.lengths(), words.numbers().astype(np.int64)
        numbers, found = flat, []
        for n in range(1, order + 1):
            level, begins = self.level(n), _begins(lengths, n)
            if n == 1:
                numbers = np.where(flat < self._size, flat, -1)
                strange = flat
            else:
                # An n-gram that is new begins with one that is, or ends with a new word, or is new as a whole.
                pairs = strange[begins] * (flat.max(initial=0) + 1) + flat[begins + n - 1]
                whole = (numbers[begins] >= 0) & (flat[begins + n - 1] < self._size)
                keys = np.where(whole, numbers[begins] * self._size + flat[begins + n - 1], -1)
                places = np.minimum(np.searchsorted(level.keys, keys), max(len(level.keys) - 1, 0))
                known = whole & (level.keys[places] == keys) if len(level.keys) else np.zeros(len(keys), bool)
                numbers, strange = np.full(len(flat), -1), np.full(len(flat), -1)
                numbers[begins] = np.where(known, places, -1)
                strange[begins] = np.unique(pairs, return_inverse=True)[1]
            segment = np.repeat(np.arange(len(lengths)), np.maximum(lengths - n + 1, 0))
            whose = segment * (int(strange.max(initial=0)) + 1) + strange[begins]
            _, first, said = np.unique(whose, return_index=True, return_counts=True)
            found.append(_matches(level, segment[first], numbers[begins][first], said))
        return lengths, found


def _begins(lengths: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Return where n-grams begin in texts that lie one after another."""
    starts = np.cumsum(lengths) - lengths
    counts = np.maximum(lengths - order + 1, 0)
    return np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


def _matches(level: _Level, segment: NDArray[np.int64], number: NDArray[np.int64], said: NDArray[np.int64]) -> Matches:
    keys = len(level.keys)
    there = level.segment * keys + level.number
    here = np.where(number >= 0, segment * keys + number, -1)
    first, last = np.searchsorted(there, here, "left"), np.searchsorted(there, here, "right")
    counts = last - first
    matched = np.repeat(np.arange(len(said)), counts)
    entry = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    begins = (np.cumsum(counts) - counts)[counts > 0]
    number = np.where(number >= 0, number, keys)
    return Matches(segment, number, said, level.reference[entry], level.often[entry], matched, begins)


class IdfWeights(NamedTuple):
    """What n-grams weigh under a choice of references.

    Attributes
    ----------
    squares
        By length, and then by n-gram: the square of its idf. The last one is that of an n-gram that no reference has.
    norms
        By length, and then by reference: the square of its vector's length.
    """

    squares: list[NDArray[np.float64]]
    norms: list[NDArray[np.float64]]


class NgramMatches:
    """Outputs beside each of their references, for metrics that count n-grams.

    Parameters
    ----------
    ngrams
        Of the references.
    texts
        One output for each segment.
    order
        The longest n-grams.
    threads
        How many threads to use.
    """

    def __init__(self, ngrams: ReferenceNgrams, texts: tuple[str, ...], order: int, threads: int | None) -> None:
        self.ngrams = ngrams
        self.lengths, self.matches = ngrams.outputs(texts, order, threads)

    @classmethod
    def of(
        cls, metric: WordMetric, outputs: Sequence[str], references: References, threads: int | None
    ) -> NgramMatches:
        """Return the matches of outputs; those of the highest order are kept with the references."""
        texts = tuple(outputs)
        kept: dict[tuple[str, ...], NgramMatches] = references.remembered(
            (cls, metric.tokenizer, metric.lowercase), dict
        )
        found = kept.get(texts)
        if found is None or len(found.matches) < metric.order:
            ngrams = ReferenceNgrams.of(references, metric.tokenizer, metric.lowercase, threads)
            found = kept[texts] = cls(ngrams, texts, metric.order, threads)
        return found

    def rows(
        self, metric: NgramMetric, chosen: NDArray[np.bool_], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return rows of n-gram statistics against a choice of references, as `NgramMetric.ngrams` makes them.

        With weights, rows of segments without a good reference are 0.
        """
        offsets = self.ngrams.offsets[:-1]
        totals = np.maximum(self.lengths[:, np.newaxis] - np.arange(metric.order), 0).astype(float)
        rows = [self.lengths, self._reference_lengths(metric, chosen, weights)]
        for matches in self.matches[: metric.order]:
            reference = matches.reference
            credit = np.minimum(matches.held, matches.said[matches.matched]).astype(float)
            if weights is not None:
                credit *= weights[reference]
            best = np.zeros(0)
            if len(matches.begins):
                best = np.maximum.reduceat(np.where(chosen[reference], credit, -np.inf), matches.begins)
            segment = matches.segment[matches.matched[matches.begins]]
            rows.append(np.bincount(segment, np.where(np.isfinite(best), best, 0.0), len(totals)))
        if weights is not None:
            best = np.maximum.reduceat(np.where(chosen, weights, -np.inf), offsets)
            rows.append(best[:, np.newaxis] * totals)
        found = np.column_stack([*rows, totals])
        if weights is not None:
            found[~np.logical_or.reduceat(chosen & (weights > 0), offsets)] = 0.0
        return found

    def _reference_lengths(
        self, metric: NgramMetric, chosen: NDArray[np.bool_], weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the reference length of each segment; 0 without a reference that may set it."""
        offsets, lengths = self.ngrams.offsets[:-1], self.ngrams.lengths
        allowed = chosen & (weights > 0) if metric.length_references == "positive" and weights is not None else chosen
        number = np.add.reduceat(allowed, offsets, dtype=np.int64)
        if metric.reference_length == "average":
            found = np.add.reduceat(np.where(allowed, lengths, 0), offsets) / np.maximum(number, 1)
        elif metric.reference_length == "longest":
            found = np.maximum.reduceat(np.where(allowed, lengths, 0), offsets)
        else:
            largest = int(lengths.max(initial=0)) + 1
            apart = np.abs(lengths - self.lengths[self.ngrams.segment_of])
            rank = lengths + (largest * apart if metric.reference_length == "closest" else 0)
            found = np.minimum.reduceat(np.where(allowed, rank, np.iinfo(np.int64).max), offsets) % largest
        return np.where(number > 0, found, 0).astype(float)
