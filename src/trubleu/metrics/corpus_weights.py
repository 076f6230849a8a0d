"""Metrics that learn n-gram counts from all references, or from another corpus, before scoring a segment."""

from __future__ import annotations

import hashlib
import os
import re
from abc import abstractmethod
from copy import copy
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Self

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.data.prepared import kernel_texts
from trubleu.errors import DataError, UsageError
from trubleu.files.paths import base_name, is_file
from trubleu.files.ranges import State, state_of
from trubleu.metrics.base import AnyReferences, whole_references
from trubleu.metrics.matching import ReferenceWords, Stemming, TextPairs, WordMetric
from trubleu.native import kernels, resolve_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from trubleu.signature import Signature

Corpus = str | os.PathLike[str] | References
"""Another corpus to learn from: a file of references, or references."""


_WHAT_TO_DO: Final = "name references with corpus=, or leave it out to learn from those that outputs are scored against"


Counted = Literal["occurrences", "segments"]
"""What is counted: occurrences of an n-gram, or segments that contain it."""


class NgramCounts(kernels.NgramCounts):
    """N-gram counts of references, which can be added up, pickled and stored.

    Parameters
    ----------
    orders
        The longest n-grams.
    counted
        What is counted.
    """

    def __init__(self, orders: int, counted: Counted) -> None:
        super().__init__(orders, counted == "segments")
        self.counted = counted

    def add_counts(self, other: NgramCounts, least: int = 1) -> None:
        """Add the counts of other segments, dropping n-grams with a count below ``least``."""
        self.merge(*other.arrays(), other.tokens, other.segments, least)

    def without_rare(self) -> NgramCounts:
        """Return a copy without n-grams counted once, which have the same effect as missing ones.

        The parts of an n-gram occur at least as often as the n-gram itself, so the rest stays consistent.
        """
        kept = NgramCounts(self.orders, self.counted)
        kept.add_counts(self, least=2)
        return kept

    def plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything as plain values and unsigned arrays, for a file."""
        heap, begins, counts, edges, edge_counts = self.arrays()
        arrays: dict[str, NDArray[Any]] = {"words": heap, "begins": begins, "counts 1": counts}
        for order, (keys, often) in enumerate(zip(edges, edge_counts, strict=True), 2):
            arrays |= {f"edges {order}": keys, f"counts {order}": often}
        values = {"orders": self.orders, "counted": self.counted, "tokens": self.tokens, "segments": self.segments}
        return values, arrays

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> NgramCounts:
        """Restore from `plain`."""
        counts = cls(values["orders"], values["counted"])
        orders = range(2, counts.orders + 1)
        edges, often = ([np.ascontiguousarray(arrays[f"{name} {n}"]) for n in orders] for name in ("edges", "counts"))
        heap, begins, words = (np.ascontiguousarray(arrays[name]) for name in ("words", "begins", "counts 1"))
        counts.merge(heap, begins, words, edges, often, values["tokens"], values["segments"], 1)
        return counts

    def __reduce__(self) -> tuple[Any, ...]:
        return NgramCounts.from_plain, self.plain()

    def digest(self) -> str:
        """Return a hash of the counts."""
        values, arrays = self.plain()
        found = hashlib.blake2b(repr(sorted(values.items())).encode(), digest_size=16)
        for array in arrays.values():
            found.update(array.tobytes())
        return found.hexdigest()


class Learned(NamedTuple):
    """Learned counts, and the identity of the references they come from."""

    known: NgramCounts
    digest: str

    @classmethod
    def of(cls, counts: NgramCounts) -> Self:
        """Learn from the counts of all references."""
        return cls(counts.without_rare(), counts.digest())


@dataclass(kw_only=True, eq=False, repr=False)
class LearningMetric(WordMetric):
    """A metric that weights n-grams by their counts in all references, or in another corpus."""

    counted: ClassVar[Counted]

    _corpus: References | None = field(default=None, init=False)
    _stemming: Stemming | None = field(default=None, init=False)
    _learned: Learned | None = field(default=None, init=False)

    @property
    def learns(self) -> bool:
        """Whether n-grams are weighted by the references that outputs are scored against."""
        return self._corpus is None and self._learned is None

    def learned(self, references: References | PreparedReferences) -> Self:
        """Return a copy with n-grams weighted by these references, whichever it scores against."""
        if not self.learns:
            return self
        whole = whole_references(references)
        if not len(whole):
            raise DataError(f"{whole.source} has no segments for {self.name} to learn from; give some with references")
        return self.knowing(Learned(self._counts_of(whole), _digest(whole)))

    @property
    def learned_orders(self) -> int:
        """Maximum length of the n-grams that are learned."""
        return self.order

    def knowing(self, learned: Learned) -> Self:
        """Return a copy with n-grams weighted by these counts, whichever references it scores against."""
        other = copy(self)
        other._learned = learned  # noqa: SLF001 - it is one of us
        return other

    def check_known(self, segments: int, *, own: bool) -> None:
        """Raise an error if there is too little to learn from; ``own``: from the references that are scored against.

        Raises
        ------
        DataError
            If it is.
        """

    def counts(
        self, references: References | PreparedReferences, threads: int | None = None, *, drop_rare: bool = False
    ) -> NgramCounts:
        """Return the counts of some of the references; they add up, and `Learned.of` takes the sum."""
        whole = whole_references(references)
        threads = resolve_threads(threads, whole.count)
        words = ReferenceWords.of(whole, self.tokenizer, self.lowercase, threads)
        counts = NgramCounts(self.learned_orders, self.counted)
        counts.add(words.texts, words.offsets, words.stems(self._stemming), drop_rare, threads)
        return counts

    def _counts_of(self, references: References, threads: int | None = None) -> NgramCounts:
        """Return the counts of n-grams that occur more than once; those of the highest order are cached."""
        key = (NgramCounts, self.counted, self.tokenizer, self.lowercase, self._stemming)
        kept: dict[str, NgramCounts] = references.remembered(key, dict)
        counts = kept.get("counts")
        if counts is None or counts.orders < self.learned_orders:
            counts = kept["counts"] = self.counts(references, threads, drop_rare=True)
        return counts

    def _known(self, references: References, threads: int | None = None) -> NgramCounts:
        """Return the learned counts, or those of these references."""
        if self._corpus is None:
            return self._learned.known if self._learned else self._counts_of(references, threads)
        counts = self._counts_of(self._corpus, threads)
        if not counts.tokens:
            raise DataError(f"{self._corpus.source} has no words for {self.name} to learn from; {_WHAT_TO_DO}")
        return counts

    def _learned_from(self, references: AnyReferences | None) -> str:
        """Return the source of the n-gram weights, for a signature: ``refs`` for the references scored against."""
        if self._learned is None:
            return "refs"
        # A string is only a number of references; the references themselves are unknown.
        if references is not None and not isinstance(references, str):
            if not isinstance(references, References | PreparedReferences):
                references = References.from_lists(references)
            if _digest(whole_references(references)) == self._learned.digest:
                return "refs"
        return f"learned-{self._learned.digest}"


class Part(NamedTuple):
    """A range of segments as kernel input.

    Attributes
    ----------
    references, words
        The references of all segments, and their words.
    outputs
        The outputs of these segments.
    known
        What n-grams are weighed by.
    first
        The first of these segments.
    threads
        How many threads to use.
    """

    references: References
    words: ReferenceWords
    outputs: kernels.WordTexts
    known: NgramCounts
    first: int
    threads: int


@dataclass(kw_only=True, eq=False, repr=False)
class WeightedNgramMetric(LearningMetric):
    """A metric with statistics of weighted n-grams: NIST, CIDEr and CIDEr-D.

    Parameters
    ----------
    order, tokenize, lowercase
        As for `WordMetric`.
    corpus
        What to learn from in place of the references that outputs are scored against.

    Attributes
    ----------
    weighed_as
        What a signature calls the source of the weights.
    """

    weighed_as: ClassVar[str]

    corpus: InitVar[Corpus | None] = None

    def __post_init__(self, corpus: Corpus | None) -> None:
        """Validate the options and read the corpus."""
        super().__post_init__()
        if corpus is not None:
            self._corpus, self._corpus_name = _opened(corpus)

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature, which says what n-grams are weighed by."""
        learned = self._learned_from(references)
        if self._corpus is not None:
            learned = f"{self._corpus_name}-{_digest(self._corpus)}"
        return super().signature(references).extended(**{self.weighed_as: learned})

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return a row of statistics per segment; n-grams are weighted by all references given here."""
        segments, threads = given.references, given.workers()
        words = ReferenceWords.of(segments, self.tokenizer, self.lowercase, threads)
        known = self._known(segments, threads)
        self.check_known(known.segments, own=self.learns)
        lines = kernel_texts(given.outputs, self.tokenizer, self.lowercase)[0]

        def rows_of(first: int, last: int) -> NDArray[np.float64]:
            return self._rows(Part(segments, words, words.outputs(lines, first, last, threads), known, first, threads))

        return given.rows(self.columns, rows_of)

    @property
    @abstractmethod
    def columns(self) -> int:
        """Number of columns of the statistics."""

    @abstractmethod
    def _rows(self, part: Part) -> NDArray[np.float64]:
        """Return the statistics of a range of segments, with n-grams weighted by the learned counts."""


del WeightedNgramMetric.corpus  # the default of the option, which hides the method


def _opened(corpus: Corpus | PreparedReferences) -> tuple[References, str]:
    """Return the references of a corpus to learn from, and what stands for it in a signature."""
    if isinstance(corpus, References | PreparedReferences):
        found = whole_references(corpus)
        name = found.source
    elif isinstance(corpus, str | os.PathLike):
        place, name = os.fspath(corpus), base_name(corpus)
        if not is_file(place):
            raise DataError(f"there is no file {place} to learn from; corpus= takes a file of references")
        found = _read(place, state_of(place))
    else:
        raise UsageError(f"corpus cannot be a {type(corpus).__name__}; give the path of a file, or References")
    if not len(found):
        raise DataError(f"{found.source} has no segments to learn from; {_WHAT_TO_DO}")
    # Replace separators of signatures, and line ends.
    return found, re.sub(r"[|:\s]", "_", name)


@lru_cache(maxsize=1)
def _read(place: str, _state: State) -> References:
    """Read a file once for all metrics that learn from it, as long as it stays the same."""
    return References.read(place)


def _digest(references: References) -> str:
    """Return a short hash that identifies a corpus."""

    def make() -> str:
        digest = hashlib.blake2b(references.offsets.tobytes(), digest_size=4)
        for text in references.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()

    return references.remembered("digest", make)
