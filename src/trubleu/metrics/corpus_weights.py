"""Metrics that learn n-gram counts from all references, or from another corpus, before they count a segment."""

from __future__ import annotations

import hashlib
import os
import re
from abc import abstractmethod
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Self
from weakref import WeakValueDictionary

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.errors import DataError, UsageError
from trubleu.files.paths import base_name, is_file, is_remote, modified
from trubleu.metrics.base import (
    AnyReferences,
    Metric,
    Progress,
    as_references,
    check_flag,
    check_order,
    whole_references,
)
from trubleu.metrics.matching import check_texts, copy_of_order, warn_of_empty, warn_of_unsplit
from trubleu.metrics.ngram_table import CountedTable, NgramCounts, NgramTable, ReferenceTable
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.metrics.ngram_table import Counted, KnownNgrams
    from trubleu.text.tokenizers import Spec

Corpus = str | os.PathLike[str] | References
"""Another corpus to learn from: a file of references, or references."""


_WHAT_TO_DO: Final = "name references with corpus=, or leave it out to learn from those that outputs are scored against"


class Learned(NamedTuple):
    """What was learned beforehand, and what tells the references it came from."""

    known: KnownNgrams
    digest: str

    @classmethod
    def of(cls, counts: NgramCounts) -> Self:
        """Learn from the counts of all references."""
        return cls(counts.without_rare(), counts.digest())


class LearningMetric(Metric):
    """A metric to which n-grams are worth more or less by where all references, or those of another corpus, have them.

    Parameters
    ----------
    order
        The longest n-grams.
    tokenize, lowercase
        As for `Bleu`.
    corpus
        What to learn from in place of the references that outputs are scored against.
    """

    uses_weights: ClassVar[bool] = False
    only_counting: ClassVar[tuple[str, ...]] = ("_corpus", "_learned")
    family: ClassVar[str]
    counted: ClassVar[Counted]

    def __init__(self, order: int, tokenize: Spec, lowercase: bool, corpus: Corpus | None) -> None:
        self.order = check_order(order)
        self.name = f"{self.family}-{order}"
        self.tokenizer = tokenizer(tokenize)
        self.lowercase = check_flag("lowercase", lowercase)
        self._corpus = None if corpus is None else _Corpus(corpus)
        self._fold: Callable[[str], str] | None = None
        self._learned: Learned | None = None

    @property
    def learns(self) -> bool:
        """Whether n-grams are weighed by the references that outputs are scored against."""
        return self._corpus is None and self._learned is None

    def learned(self, references: References | PreparedReferences) -> Self:
        """Return the metric with n-grams weighed by these references, whichever outputs are scored against."""
        if not self.learns:
            return self
        whole = whole_references(references)
        if not len(whole):
            raise DataError(f"{whole.source} has no segments for {self.name} to learn from; give some with references")
        return self.knowing(Learned(CountedTable(self._table(whole), self.counted), _digest(whole)))

    def counts(self, references: References | PreparedReferences) -> NgramCounts:
        """Return what some of the references have to teach; it adds up, and `Learned.of` takes the sum."""
        return NgramCounts.of(self._table(whole_references(references)), self.learned_orders, self.counted)

    @property
    def learned_orders(self) -> int:
        """The longest n-grams that are learned."""
        return self.order

    def knowing(self, learned: Learned) -> Self:
        """Return the metric with n-grams weighed by this, whichever references outputs are scored against."""
        other = copy(self)
        other._learned = learned  # noqa: SLF001 - it is one of us
        return other

    def check_known(self, known: KnownNgrams, *, own: bool) -> None:
        """Refuse too little to learn from; ``own`` says whether it is what outputs are scored against.

        Raises
        ------
        DataError
            If it is.
        """

    def _table(self, references: References) -> ReferenceTable:
        return ReferenceTable.of_references(references, self.tokenizer, self.lowercase, self._fold)

    def _known(self) -> KnownNgrams | None:
        """Return what was learned already, if anything."""
        if self._corpus is None:
            return self._learned.known if self._learned else None
        table = self._table(self._corpus.references)
        if not table.lengths.any():
            raise DataError(f"{self._corpus.place} has no words for {self.name} to learn from; {_WHAT_TO_DO}")
        return CountedTable(table, self.counted)

    def _learned_from(self, references: AnyReferences | None) -> str:
        """Return what n-grams are weighed by, for a signature: ``refs`` if it is what outputs are scored against."""
        if self._corpus is not None:
            return f"{self._corpus.name}-{_digest(self._corpus.references)}"
        if self._learned is None:
            return "refs"
        # A string is but a number of references, and nobody knows which they are.
        if references is not None and not isinstance(references, str):
            if not isinstance(references, References | PreparedReferences):
                references = References.from_lists(references)
            if _digest(whole_references(references)) == self._learned.digest:
                return "refs"
        return f"learned-{self._learned.digest}"


class WeightedNgramMetric(LearningMetric):
    """A metric whose statistics are made order by order from tables of n-grams: NIST, CIDEr and CIDEr-D."""

    def with_order(self, order: int) -> Self:
        """Return the same metric for n-grams of up to another length."""
        return copy_of_order(self, order)

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,  # noqa: ARG002 - whole arrays at a time, in one thread
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return a row of statistics for each segment; n-grams are weighed by all references given here."""
        texts = tuple(outputs) if not isinstance(outputs, str) else outputs
        segments = whole_references(as_references(references, texts))
        check_texts(tuple(texts))
        warn_of_empty(segments)
        warn_of_unsplit(texts, self.tokenizer)
        table = self._table(segments)
        known = self._known() or CountedTable(table, self.counted)
        counted = NgramTable.of_outputs(texts, self.tokenizer, self.lowercase, self._fold)
        columns, told = [], 0
        for order, column in enumerate(self._columns(counted, table, known), 1):
            columns.append(column)
            if progress:
                done = len(texts) * order // self.order
                progress(done - told)
                told = done
        return self._rows(counted, table, np.array(columns).reshape(self.order, len(texts)))

    @abstractmethod
    def _columns(self, outputs: NgramTable, table: ReferenceTable, known: KnownNgrams) -> Iterator[NDArray[np.float64]]:
        """Yield for each order what each segment earns, n-grams being weighed by what is known of them."""

    @abstractmethod
    def _rows(self, outputs: NgramTable, table: ReferenceTable, earned: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the statistics from what each order earned in each segment."""


class _Read:
    """What a file held when it was read; a thing of its own as references cannot be held weakly."""

    def __init__(self, references: References) -> None:
        self.references = references


# By what changes when a file does, as long as a metric needs it: several often learn from one file.
_files: WeakValueDictionary[tuple[int | str, ...], _Read] = WeakValueDictionary()


class _Corpus:
    """What to learn from, shared by a metric and its copies; a file is read when it is needed, and only once.

    Attributes
    ----------
    place
        The file, or where the references came from, for messages.
    name
        What stands for it in a signature.
    """

    def __init__(self, given: Corpus | PreparedReferences) -> None:
        self._read: _Read | None = None
        if isinstance(given, References | PreparedReferences):
            whole = whole_references(given)
            self.place = self.name = whole.source
            self._read = _Read(self._checked(whole))
        elif isinstance(given, str | os.PathLike):
            self.place, self.name = os.fspath(given), base_name(given)
            if not is_file(self.place):
                raise DataError(f"there is no file {self.place} to learn from; corpus= takes a file of references")
        else:
            raise UsageError(f"corpus cannot be a {type(given).__name__}; give the path of a file, or References")
        # Signs that part what stands in a signature, and ends of lines.
        self.name = re.sub(r"[|:\s]", "_", self.name)

    @property
    def references(self) -> References:
        """The references; the file is not looked at again, whatever becomes of it."""
        if self._read is None:
            self._read = self._found()
        return self._read.references

    def _found(self) -> _Read:
        try:
            key = _state(self.place)
        except OSError as error:
            raise DataError(f"{self.place} cannot be read any more: {error.strerror}") from error
        kept = _files.get(key)
        if kept is None:
            kept = _files[key] = _Read(self._checked(References.read(self.place)))
        return kept

    def _checked(self, references: References) -> References:
        if not len(references):
            raise DataError(f"{self.place} has no segments to learn from; {_WHAT_TO_DO}")
        return references


def _digest(references: References) -> str:
    """Return a few digits that tell one corpus from another."""

    def make() -> str:
        digest = hashlib.blake2b(references.offsets.tobytes(), digest_size=4)
        for text in references.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()

    return references.remembered("digest", make)


def _state(place: str) -> tuple[int | str, ...]:
    """Return what changes when a file does."""
    if is_remote(place):
        return place, modified(place)
    found = Path(place).stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
