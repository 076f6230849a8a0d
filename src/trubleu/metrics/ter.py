"""TER (Snover et al. 2006), with the same edits and shifts as sacreBLEU."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.errors import DataError, TrubleuWarning
from trubleu.metrics.base import AnyReferences, Result
from trubleu.metrics.matching import ReferenceWords, TextMetric, TextPairs
from trubleu.native import kernels
from trubleu.stats import total
from trubleu.text import Tokenizer, tokenizer
from trubleu.text.unspaced import many_unsplit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.data import References

SLICE: Final = 64
"""Segments per progress report; long texts take a few milliseconds each."""

MOST_WORDS: Final = 250_000
"""Maximum words per text: a tenth of a second and 100 MB, or seconds if many words must be shifted."""

UNSPLIT: Final = (
    "ter splits texts at spaces, which Chinese, Japanese, Thai, Lao, Khmer and Burmese do not have, so clauses and "
    "sentences of many outputs are one word each; use ter[normalized=true,asian_support=true] for Chinese, or chrf"
)


@dataclass(frozen=True, kw_only=True)
class TerResult(Result):
    """TER with its components.

    Attributes
    ----------
    edits
        How many there are.
    reference_length
        Words of the references, a mean where a segment has several.
    """

    edits: float
    reference_length: float


@dataclass(kw_only=True, eq=False, repr=False)
class Ter(TextMetric):
    """TER (Snover et al. 2006): edits and shifts per word of the reference; lower is better.

    Parameters
    ----------
    normalized, no_punct, asian_support, case_sensitive
        As in sacreBLEU.

    Examples
    --------
    >>> Ter().corpus(["the cat sat"], [["the cat sat down"]]).score
    25.0
    """

    higher_is_better: ClassVar[bool] = False
    uses_weights: ClassVar[bool] = False

    name = "ter"

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False

    def __post_init__(self) -> None:
        """Validate the options."""
        super().__post_init__()
        self.lowercase: bool = not self.case_sensitive

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return edits and reference lengths per segment."""
        threads, lowercase = given.workers(worth=SLICE), self.lowercase
        of_outputs, of_references = _tokenizers(self.normalized, self.no_punct, self.asian_support)
        if many_unsplit(given.outputs, of_outputs):
            warnings.warn(UNSPLIT, TrubleuWarning, stacklevel=2)
        words = ReferenceWords.of(given.references, of_references, lowercase, threads)
        options = kernels.Options(of_outputs.name, lowercase, 1, "counts", "closest", False)
        said = kernels.WordTexts(given.outputs, options, 0, len(given.outputs), words.texts, threads)
        _check_lengths(said.lengths(), words.texts.lengths(), given.references)

        def rows_of(first: int, last: int) -> NDArray[np.float64]:
            return kernels.ter_edits(said, words.texts, words.offsets, first, last, threads)

        return given.rows(2, rows_of, SLICE)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return TER in percent per row of summed statistics: 100 for words against an empty reference."""
        edits, length = statistics[..., 0], statistics[..., 1]
        without_reference = np.where(edits > 0, 1.0, 0.0)
        return 100 * np.divide(edits, length, out=without_reference, where=length > 0)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> TerResult:
        """Score a system from its statistics."""
        summed = total(statistics)
        parts = {"edits": float(summed[0]), "reference_length": float(summed[1])}
        return self._result(TerResult, summed, len(statistics), references, **parts)

    def _signed_options(self) -> dict[str, object]:
        return {"norm": self.normalized, "punct": not self.no_punct, "asian": self.asian_support}


@cache
def _tokenizers(normalized: bool, no_punct: bool, asian_support: bool) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers for outputs and references; without options, split on white space.

    sacreBLEU normalises references twice, which splits some of them further: ``..5`` becomes ``. .5``, then ``. . 5``.
    """
    if not normalized and not no_punct:
        return tokenizer("none"), tokenizer("none")
    options = {"normalized": normalized, "no_punct": no_punct, "asian": asian_support}
    once = "+".join(["tercom", *(name for name, chosen in options.items() if chosen)])
    return _of_kernel(once), _of_kernel(f"{once}+twice")


def _of_kernel(name: str) -> Tokenizer:
    return Tokenizer(name, name, name, lambda text: kernels.tokens(text, name, False), _escape=False)


def _check_lengths(outputs: NDArray[np.int64], lengths: NDArray[np.int64], references: References) -> None:
    """Raise an error for texts that would take minutes."""
    for kind, counts in (("an output", outputs), ("a reference", lengths)):
        if counts.max(initial=0) > MOST_WORDS:
            place = int(np.argmax(counts > MOST_WORDS))
            segment = place if counts is outputs else int(np.searchsorted(references.offsets, place, "right")) - 1
            raise DataError(
                f"{references.source}: segment {references.ids[segment]} has {kind} of {counts[place]:,} words; ter "
                f"takes {MOST_WORDS:,} at most; cut such texts into shorter segments, or leave ter out"
            )
