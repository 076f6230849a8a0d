"""Statistics with partial matches from texts and vectors: the Python side of the alignment kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.metrics.bleu2vec.vectors import NOTHING
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.metrics.bleu2vec.vectors import Rows, SoftVectors
    from trubleu.metrics.matching import Credit, TextPairs
    from trubleu.text import Tokenizer


SLICE_TEXTS: Final = 4_096
"""Texts whose n-grams are looked up together; all of their vectors are in memory at once."""

WORTH_THREADS: Final = 200
"""Number of texts from which threads pay off."""


class AlignedNgrams(NamedTuple):
    """An n-gram of an output, and the n-gram of a reference aligned with it.

    Attributes
    ----------
    reference
        The reference's place among the segment's, from 0.
    order
        How many words the two have.
    position, reference_position
        Where they begin, in tokens from 0.
    exact
        Whether they are equal.
    similarity
        1 if they are equal, otherwise less.
    """

    reference: int
    order: int
    position: int
    reference_position: int
    exact: bool
    similarity: float


class Counted(NamedTuple):
    """Statistics, and the coverage of the vectors.

    Attributes
    ----------
    rows
        One for each segment.
    words, unknown
        How many different words were looked up, slice by slice, and how many of these have no vector.
    """

    rows: NDArray[np.float64]
    words: int
    unknown: int


@dataclass(frozen=True, kw_only=True)
class SoftMatching:
    """The options that determine a row of statistics.

    The columns are those of `trubleu.metrics.matching.Matching`.
    """

    tokenizer: Tokenizer
    lowercase: bool
    order: int
    vectors: SoftVectors = field(repr=False)
    similarity: str
    shift: float
    unknown: float
    rule: str
    reference_length: str
    positive_lengths: bool = False
    release: bool = False

    @property
    def weighted(self) -> bool:
        """Whether references have weights."""
        return self.rule != "plain"

    @property
    def credit(self) -> Credit:
        """How equal n-grams are credited."""
        return "products" if self.weighted else "counts"

    def statistics(self, given: TextPairs, weights: NDArray[np.float64] | None = None) -> Counted:
        """Return a row of statistics per segment, and how many words had a vector."""
        references, threads = given.references, given.workers(WORTH_THREADS)
        texts, native, lowercase = kernel_texts(given.outputs, self.tokenizer, self.lowercase)
        options = self._options(native, lowercase)
        reference_texts = references.kernel_texts(self.tokenizer, self.lowercase)[0]
        rows = np.empty((len(texts), options.columns))
        offsets = references.offsets
        words = unknown = 0
        for first, last in slices(offsets):
            there = None if weights is None else weights[offsets[first] : offsets[last]]
            part = kernels.SoftSlice(texts, reference_texts, offsets, options, first, last)
            vectors, odd = self._vectors_of(part)
            if not len(odd):
                looked_up, without = _unknown_words(part, vectors)
                words, unknown = words + looked_up, unknown + without
            if len(odd) < last - first:
                rows[first:last] = self._rows(part, vectors, there, threads)
            if len(odd):  # here the vectors of n-grams must come from the source
                chosen = odd + first
                flat = positions(offsets, chosen)
                part = kernels.SoftSlice(
                    tuple(texts[i] for i in chosen.tolist()),
                    tuple(reference_texts[i] for i in flat.tolist()),
                    np.concatenate(([0], np.cumsum(np.diff(offsets)[chosen]))),
                    options,
                    0,
                    len(chosen),
                )
                there = None if weights is None else weights[flat]
                rows[chosen] = self._rows(part, self._looked_up(part), there, threads)
            given.told(last - first)
        return Counted(rows, words, unknown)

    def pairs(self, output: str, references: Sequence[str]) -> tuple[AlignedNgrams, ...]:
        """Return the aligned pairs of one segment."""
        texts, native, lowercase = kernel_texts((output, *references), self.tokenizer, self.lowercase)
        offsets = np.array([0, len(references)])
        given = kernels.SoftSlice(texts[:1], texts[1:], offsets, self._options(native, lowercase), 0, 1)
        vectors, odd = self._vectors_of(given)
        if len(odd):
            vectors = self._looked_up(given)
        weights = np.ones(len(references)) if self.weighted else None
        found, values = given.pairs(vectors.matrix, vectors.numbers, vectors.additive, weights, self._scale())
        return tuple(
            AlignedNgrams(reference, order, position, reference_position, bool(exact), value)
            for (_, order, reference, position, reference_position, exact), value in zip(
                found.tolist(), values.tolist(), strict=True
            )
        )

    def _options(self, native: str, lowercase: bool) -> kernels.Options:
        return kernels.Options(native, lowercase, self.order, self.credit, self.reference_length, self.positive_lengths)

    def _scale(self) -> kernels.SoftScale:
        return kernels.SoftScale(self.similarity, self.shift, self.unknown, self.rule, self.release)

    def _vectors_of(self, given: kernels.SoftSlice) -> tuple[Rows, NDArray[np.int64]]:
        """Return the vectors of words or n-grams, and the segments for which word vectors are not sufficient."""
        none = np.zeros(0, np.int64)
        if not self.vectors.additive:
            return self._looked_up(given), none
        rows, odd = self.vectors.words(given.words())
        return rows, none if odd is None else given.segments_with(odd)

    def _looked_up(self, given: kernels.SoftSlice) -> Rows:
        return self.vectors.ngrams(given, first_only=self.release)

    def _rows(
        self, given: kernels.SoftSlice, vectors: Rows, weights: NDArray[np.float64] | None, threads: int
    ) -> NDArray[np.float64]:
        return given.statistics(vectors.matrix, vectors.numbers, vectors.additive, weights, self._scale(), threads)


def _unknown_words(given: kernels.SoftSlice, vectors: Rows) -> tuple[int, int]:
    """Return how many words of a slice were looked up, and how many of them have no vector."""
    if vectors.additive:
        return len(vectors.numbers), int(np.count_nonzero(vectors.numbers == NOTHING))
    return given.unknown_words(vectors.numbers)


def positions(offsets: NDArray[np.int64], segments: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of all references of some segments.

    Examples
    --------
    >>> positions(np.array([0, 2, 3, 6]), np.array([0, 2])).tolist()
    [0, 1, 3, 4, 5]
    """
    return np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in segments.tolist()])


def slices(offsets: NDArray[np.int64], most: int | None = None) -> Iterator[tuple[int, int]]:
    """Split segments into runs of at most `SLICE_TEXTS` texts, but at least one segment.

    Examples
    --------
    >>> list(slices(np.array([0, 3000, 4000, 9000, 9001])))
    [(0, 2), (2, 3), (3, 4)]
    """
    texts = offsets + np.arange(len(offsets))
    most = SLICE_TEXTS if most is None else most
    first = 0
    while first + 1 < len(offsets):
        last = int(np.searchsorted(texts, texts[first] + most, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
