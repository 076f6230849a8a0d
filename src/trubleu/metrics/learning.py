"""What metrics share that learn from references: n-grams counted in all of them, or in another corpus."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.errors import DataError, UsageError
from trubleu.metrics.contract import AnyReferences, Metric, Progress, as_references
from trubleu.metrics.matching import check_texts, warn_of_empty
from trubleu.metrics.ngram_table import NgramTable, ReferenceTable
from trubleu.metrics.options import check_flag, check_order
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.text.registry import Spec

Corpus = str | os.PathLike[str] | References
"""Another corpus to learn from: a file of references, or references."""

# What was read last, by the path and what changes when the file does: a command makes its metrics more than once.
_read: dict[tuple[object, ...], References] = {}


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
    family: ClassVar[str]

    def __init__(self, order: int, tokenize: Spec, lowercase: bool, corpus: Corpus | None) -> None:
        self.order = check_order(order)
        self.name = f"{self.family}-{order}"
        self.tokenizer = tokenizer(tokenize)
        self.lowercase = check_flag("lowercase", lowercase)
        self._corpus = None if corpus is None else _checked(corpus)
        self._fold: Callable[[str], str] | None = None
        self._learned: ReferenceTable | None = None

    @property
    def learns(self) -> bool:
        """Whether n-grams are weighed by the references that outputs are scored against."""
        return self._corpus is None and self._learned is None

    def learned(self, references: References | PreparedReferences) -> Self:
        """Return the metric with n-grams weighed by these references, whichever outputs are scored against."""
        if not self.learns:
            return self
        other = copy(self)
        other._learned = self._table(_whole(references))  # noqa: SLF001 - it is one of us
        return other

    def with_order(self, order: int) -> Self:
        """Return the same metric for n-grams of up to another length."""
        other = copy(self)
        other.order = check_order(order)
        other.name = f"{self.family}-{order}"
        return other

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
        segments = _whole(as_references(references, texts))
        check_texts(tuple(texts))
        warn_of_empty(segments)
        table = self._table(segments)
        known = self._known() or table
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
    def _columns(
        self, outputs: NgramTable, table: ReferenceTable, known: ReferenceTable
    ) -> Iterator[NDArray[np.float64]]:
        """Yield for each order what each segment earns, n-grams being weighed by what is known of them."""

    @abstractmethod
    def _rows(self, outputs: NgramTable, table: ReferenceTable, earned: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the statistics from what each order earned in each segment."""

    def _table(self, references: References) -> ReferenceTable:
        return ReferenceTable.of_references(references, self.tokenizer, self.lowercase, self._fold)

    def _known(self) -> ReferenceTable | None:
        """Return what was learned already, if anything."""
        return self._learned if self._corpus is None else self._table(_loaded(self._corpus))

    def _learned_from(self) -> str:
        """Return what n-grams are weighed by, for a signature."""
        if self._corpus is None:
            return "refs"
        references = _loaded(self._corpus)
        name = references.source if isinstance(self._corpus, References) else Path(self._corpus).name
        return f"{name}-{references.remembered('digest', lambda: _digest(references))}"


def _whole(references: References | PreparedReferences) -> References:
    return references.references if isinstance(references, PreparedReferences) else references


def _checked(corpus: Corpus | PreparedReferences) -> Corpus:
    """Return what to learn from if it is a file or references; a file is read when it is needed."""
    if isinstance(corpus, References | PreparedReferences):
        return _whole(corpus)
    if not isinstance(corpus, str | os.PathLike):
        raise UsageError(f"corpus cannot be a {type(corpus).__name__}; give the path of a file, or References")
    if not Path(corpus).is_file():
        raise DataError(f"there is no file {os.fspath(corpus)} to learn from; corpus= takes a file of references")
    return corpus


def _loaded(corpus: Corpus) -> References:
    if isinstance(corpus, References):
        return corpus
    try:
        found = Path(corpus).stat()
    except OSError as error:
        raise DataError(f"{os.fspath(corpus)} cannot be read any more: {error.strerror}") from error
    key = (os.fspath(corpus), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    if key not in _read:
        references = References.read(corpus)
        _read.clear()
        _read[key] = references
    return _read[key]


def _digest(references: References) -> str:
    """Return a few digits that tell one corpus from another."""
    digest = hashlib.blake2b(references.offsets.tobytes(), digest_size=4)
    for text in references.texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
