"""From texts to n-gram statistics: the Python side of the matching kernels."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from trubleu.data import PreparedReferences, References
from trubleu.data.prepared import SLICE, kernel_texts
from trubleu.errors import CountedWarning, DataError, TrubleuWarning
from trubleu.metrics.base import AnyReferences, Metric, as_references, check_order, reference_number, whole_references
from trubleu.metrics.options import OPTIONS, checked
from trubleu.native import WORTH_THREADS, kernels, resolve_threads
from trubleu.signature import Signature, make_signature
from trubleu.text import tokenizer
from trubleu.text.unspaced import many_unsplit, unsplit_message

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from trubleu.progress import Progress
    from trubleu.text import Tokenizer
    from trubleu.text.tokenizers import Spec


Credit = Literal["counts", "products", "fork2019"]

KEPT_BYTES: Final = 1 << 28
"""Size limit of the cache of prepared references; beyond it, they are prepared again for each system."""


class TextPairs(NamedTuple):
    """Checked outputs and their references, and how to work on them.

    Attributes
    ----------
    outputs, references
        One output per segment, and the references of all segments.
    prepared
        The references as the caller prepared them, if that was done.
    threads, progress
        As in `Metric.statistics`.
    """

    outputs: tuple[str, ...]
    references: References
    prepared: PreparedReferences | None
    threads: int | None
    progress: Progress | None

    def workers(self, worth: int = WORTH_THREADS) -> int:
        """Return the number of threads to use; ``worth`` is the number of texts from which several pay off."""
        return resolve_threads(self.threads, len(self.outputs) + self.references.count, worth)

    def told(self, count: int) -> None:
        """Report that some segments are done."""
        if self.progress:
            self.progress(count)

    def rows(
        self, columns: int, rows_of: Callable[[int, int], NDArray[np.float64]], size: int | None = None
    ) -> NDArray[np.float64]:
        """Return a row per segment, computed in slices; Ctrl-C and progress are handled between two slices."""
        count, size = len(self.outputs), size or SLICE
        rows = np.empty((count, columns))
        for first in range(0, count, size):
            last = min(first + size, count)
            rows[first:last] = rows_of(first, last)
            self.told(last - first)
        return rows


class TextMetric(Metric):
    """A metric of texts: outputs and references are checked here, and `_count` makes the rows of statistics.

    Attributes
    ----------
    tokenizer
        How texts become words; metrics that do that in their own way have none.
    lowercase
        Whether texts are lower-cased; None for a metric whose signature does not say so.
    family
        The metric's name without an order.
    """

    family: ClassVar[str] = ""
    tokenizer: Tokenizer
    lowercase: bool | None = None

    def __post_init__(self) -> None:
        """Validate the options that ``options.toml`` declares."""
        super().__post_init__()
        for option in fields(self):  # type: ignore[arg-type]
            value = getattr(self, option.name)
            if option.name in OPTIONS and not (value is option.default is None):
                setattr(self, option.name, checked(option.name, value, self.family))

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature, which begins with the number of references and the case."""
        case = None if self.lowercase is None else "lc" if self.lowercase else "mixed"
        return make_signature(self.name, nrefs=reference_number(references), case=case, **self._signed_options())

    def _signed_options(self) -> dict[str, object]:
        """Return the other options of a signature."""
        return {"tok": self.tokenizer.name}

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return a row of statistics per segment (see `Metric.statistics`)."""
        found = as_references(references, outputs)
        whole = whole_references(found)
        texts = tuple(outputs)
        check_texts(texts)
        if not self.among_outputs:
            warn_of_empty(whole)
        if hasattr(self, "tokenizer") and many_unsplit(texts, self.tokenizer):
            warnings.warn(unsplit_message(self.tokenizer, "outputs"), TrubleuWarning, stacklevel=2)
        prepared = found if isinstance(found, PreparedReferences) else None
        return self._count(TextPairs(texts, whole, prepared, threads, progress))

    def _check_pairs(
        self, outputs: Sequence[str], references: References, most: int, what: str, most_words: float = math.inf
    ) -> None:
        """Raise an error for an output and a reference that would take minutes or hours.

        Parameters
        ----------
        outputs, references
            The texts.
        most
            How many pairs of words the two may have.
        what
            What such texts have too many words for.
        most_words
            How many words a reference may have.
        """
        texts, offsets = references.texts, references.offsets
        longest = max(map(len, texts), default=0)  # every word has at least one character
        if longest <= most_words and longest * max(map(len, outputs), default=0) <= most:
            return
        for segment, output in enumerate(outputs):
            own = texts[offsets[segment] : offsets[segment + 1]]
            longest = max(map(len, own))
            if not output or (longest <= most_words and len(output) * longest <= most):
                continue
            words, *others = (len(self.tokenizer.tokens(text, bool(self.lowercase))) for text in (output, *own))
            if words and (max(others) > most_words or words * max(others) > most):
                raise DataError(
                    f"segment {references.ids[segment]} has an output of {words:,} words and a reference of "
                    f"{max(others):,}, too many {what}; split these texts into segments"
                )

    @abstractmethod
    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return a row of statistics per segment."""


@dataclass(kw_only=True, eq=False, repr=False)
class WordMetric(TextMetric):
    """A metric of words and n-grams up to an order.

    Parameters
    ----------
    order
        The longest n-grams, from 1 to 9.
    tokenize
        A tokenizer's name (see `trubleu.text.names`), or a callable from a text to tokens.
    lowercase
        Lower-case all texts first.
    """

    uses_weights: ClassVar[bool] = False

    order: int = field(default=4, kw_only=False)
    tokenize: Spec = "13a"
    lowercase: bool = False

    _name = ""

    def __post_init__(self) -> None:
        """Validate the options."""
        super().__post_init__()
        check_order(self.order)
        self.tokenizer = tokenizer(self.tokenize)

    @property
    def name(self) -> str:
        """The metric's name, with its order; a subclass may set another one."""
        return self._name or self._numbered()

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    def _numbered(self) -> str:
        return f"{self.family}-{self.order}"

    def with_order(self, order: int) -> Self:
        """Return the same metric for another maximum n-gram length, also in its name."""
        other = copy(self)
        other.order = check_order(order)
        return other


@dataclass(kw_only=True, eq=False, repr=False)
class NgramMetric(WordMetric):
    """A metric with statistics of the n-grams that outputs and references share.

    Parameters
    ----------
    reference_length
        Which reference sets the length of a segment: ``closest`` (ties to the shorter), ``shortest``, ``longest`` or
        ``average``.

    Attributes
    ----------
    only_equal
        Whether only equal n-grams match: then references can be prepared, and counted once for any choice of them.
    length_references, definition
        As in `DeltaBleu`, where they are options.
    """

    reference_length: str = "closest"

    only_equal: ClassVar[bool] = True
    length_references = "all"
    definition = "paper"

    @property
    def ngram_credit(self) -> Credit:
        """How equal n-grams are credited."""
        return "counts" if not self.uses_weights else "products" if self.definition == "paper" else "fork2019"

    def kernel_options(self, native: str, lowercase: bool) -> kernels.Options:
        """Return the options of the kernel for texts that `kernel_texts` made."""
        positive = self.length_references == "positive"
        return kernels.Options(native, lowercase, self.order, self.ngram_credit, self.reference_length, positive)

    def ngrams(self, given: TextPairs, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return a row of n-gram statistics per segment, from prepared references if there are any.

        The columns are hypothesis length, reference length, matches of order 1 to N, then (for weighted credit) totals
        multiplied by the segment's best weight, and last the totals themselves.
        """
        references, prepared = given.references, given.prepared
        if prepared is None or not prepared.fits(self.tokenizer, self.lowercase):
            prepared = references.prepared(self.tokenizer, self.lowercase)
        texts, native, lowercase = kernel_texts(given.outputs, self.tokenizer, self.lowercase)
        options = self.kernel_options(native, lowercase)
        reference_texts = () if prepared else references.kernel_texts(self.tokenizer, self.lowercase)[0]
        threads = resolve_threads(given.threads, len(texts)) if prepared else given.workers()

        def rows_of(first: int, last: int) -> NDArray[np.float64]:
            if prepared:
                return prepared.statistics(texts, weights, options, first, last, threads)
            return kernels.statistics(
                texts, reference_texts, references.offsets, weights, options, first, last, threads
            )

        return given.rows(options.columns, rows_of)


def check_texts(outputs: tuple[object, ...]) -> None:
    """Raise an error for outputs that are not strings."""
    if kernels.all_strings(outputs):  # at C speed; finding the bad one takes a loop
        return
    for number, text in enumerate(outputs, 1):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise DataError(f"output {number} is of type {kind}; make it a string, an empty one for no output")


def warn_of_empty(references: References) -> None:
    """Warn if some references are empty; they count as texts of length 0."""
    if empty := references.empty_count():
        what = f"empty references in {references.source}, each counted as a reference of length 0"
        warnings.warn(CountedWarning(what, empty), stacklevel=2)


def check_width(statistics: NDArray[np.float64], columns: int, name: str) -> None:
    """Raise an error for statistics of another metric."""
    if statistics.ndim == 0 or statistics.shape[-1] != columns:
        raise DataError(f"an array of shape {statistics.shape} has no statistics of {name}")


def mean_score(statistics: NDArray[np.float64], columns: int, name: str) -> NDArray[np.float64]:
    """Return the last column but one over the last, a count, per row of summed statistics; 0 without a count."""
    check_width(statistics, columns, name)
    sums, counts = statistics[..., -2], statistics[..., -1]
    mean: NDArray[np.float64] = np.divide(sums, counts, out=np.zeros(sums.shape), where=counts != 0)
    return mean


class ReferenceWords:
    """References as word numbers, shared with outputs, for metrics that compare words.

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
        lines, native, folded = references.kernel_texts(tokenizer, lowercase)
        self.offsets = references.offsets
        self._options = kernels.Options(native, folded, 1, "counts", "closest", False)
        self.texts = kernels.WordTexts(lines, self._options, 0, len(lines), None, threads)
        self._stems: dict[Stemming, tuple[str, ...]] = {}

    @classmethod
    def of(cls, references: References, tokenizer: Tokenizer, lowercase: bool, threads: int) -> ReferenceWords:
        """Return the words of references, cached with them."""
        key = (cls, tokenizer, lowercase)
        return references.remembered(key, lambda: cls(references, tokenizer, lowercase, threads))

    def outputs(self, lines: tuple[str, ...], first: int, last: int, threads: int) -> kernels.WordTexts:
        """Return a range of outputs as word numbers for kernels."""
        return kernels.WordTexts(lines, self._options, first, last, self.texts, threads)

    def stems(self, stemming: Stemming | None, outputs: kernels.WordTexts | None = None) -> tuple[str, ...] | None:
        """Return the stems of all words, and of those that only outputs have; None without stemming."""
        if stemming is None:
            return None
        if stemming not in self._stems:
            self._stems[stemming] = tuple(stemming.stems(self.texts.words()))
        known = self._stems[stemming]
        return known if outputs is None else (*known, *stemming.stems(outputs.words()))


class Stemming(Protocol):
    """Maps words to stems; see `trubleu.metrics.meteor.lexicon.Stemmer`."""

    def stems(self, words: list[str]) -> list[str]:
        """Return the stems of several words."""


class _Prepared(Protocol):
    """References prepared for a kernel."""

    @property
    def memory(self) -> int: ...


PreparedPart = TypeVar("PreparedPart", bound=_Prepared)


def kept_part(references: References, key: Hashable, first: int, prepare: Callable[[], PreparedPart]) -> PreparedPart:
    """Return the prepared segments from ``first`` on, preparing them if needed; cached within the size limit."""
    kept: dict[int, PreparedPart] = references.remembered(key, dict)
    part = kept.get(first)
    if part is None:
        part = prepare()
        if part.memory + sum(other.memory for other in list(kept.values())) <= KEPT_BYTES:
            kept[first] = part
    return part
