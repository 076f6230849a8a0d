"""TER (Snover et al. 2006): sacreBLEU counts the edits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from trubleu.errors import DataError
from trubleu.metrics.base import (
    AnyReferences,
    Metric,
    Progress,
    Result,
    as_references,
    check_flag,
    reference_number,
    whole_references,
)
from trubleu.metrics.matching import check_texts, warn_of_empty
from trubleu.signature import Signature, make_signature
from trubleu.stats import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import References

SLICE: Final = 64
"""Segments between two reports of progress."""

MOST_WORDS: Final = 2000
"""Words of a text; two unlike texts of so many words take minutes, and twice as many words three times as long."""


@dataclass(frozen=True, kw_only=True)
class TerResult(Result):
    """TER with what it is made of.

    Attributes
    ----------
    edits
        How many there are.
    reference_length
        Words of the references, a mean where a segment has several.
    """

    edits: float
    reference_length: float


class Ter(Metric):
    """TER (Snover et al. 2006): edits and shifts for each word of the reference; lower is better.

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

    def __init__(
        self,
        *,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        self.name = "ter"
        self.normalized = check_flag("normalized", normalized)
        self.no_punct = check_flag("no_punct", no_punct)
        self.asian_support = check_flag("asian_support", asian_support)
        self.case_sensitive = check_flag("case_sensitive", case_sensitive)

    @cached_property
    def _peer(self) -> Any:
        """sacreBLEU's metric, which notes what it meets."""
        from sacrebleu.metrics.ter import TER

        return TER(self.normalized, self.no_punct, self.asian_support, self.case_sensitive)

    def __getstate__(self) -> dict[str, Any]:
        # Copies, also those in other processes, are the same whatever was counted before.
        return {name: value for name, value in vars(self).items() if name != "_peer"}

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,  # noqa: ARG002 - sacreBLEU is pure Python
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return edits and the length of the references for each segment."""
        segments = whole_references(as_references(references, outputs))
        warn_of_empty(segments)
        outputs = tuple(outputs)
        check_texts(outputs)
        self._check_lengths(outputs, segments)
        rows = np.zeros((len(outputs), 2))
        bounds = segments.offsets.tolist()
        for first in range(0, len(outputs), SLICE):
            last = min(first + SLICE, len(outputs))
            # sacreBLEU takes one stream a reference, with None where a segment has fewer.
            streams = list(zip_longest(*(segments.texts[bounds[i] : bounds[i + 1]] for i in range(first, last))))
            rows[first:last] = self._peer._extract_corpus_statistics(outputs[first:last], streams)  # noqa: SLF001
            if progress:
                progress(last - first)
        return rows

    def _check_lengths(self, outputs: Sequence[str], segments: References) -> None:
        owners = np.repeat(np.arange(len(outputs)), np.diff(segments.offsets)).tolist()
        for kind, texts, rows in (("an output", outputs, range(len(outputs))), ("a reference", segments.texts, owners)):
            for row, text in zip(rows, texts, strict=True):
                if len(text) <= MOST_WORDS:  # every word has a character
                    continue
                words = len(self._peer._preprocess_segment(text).split())  # noqa: SLF001
                if words > MOST_WORDS:
                    raise DataError(
                        f"{segments.source}: segment {segments.ids[row]} has {kind} of {words:,} words; ter takes "
                        f"{MOST_WORDS:,} at most, as longer texts take many minutes each; cut them into shorter "
                        "segments, or leave ter out"
                    )

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return TER in percent for each row of summed statistics: 100 for words against an empty reference."""
        edits, length = statistics[..., 0], statistics[..., 1]
        without_reference = np.where(edits > 0, 1.0, 0.0)
        return 100 * np.divide(edits, length, out=without_reference, where=length > 0)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> TerResult:
        """Score a system from its statistics."""
        summed = total(statistics)
        return TerResult(
            metric=self.name,
            score=float(self.score(summed)),
            segments=len(statistics),
            signature=self.signature(references),
            edits=float(summed[0]),
            reference_length=float(summed[1]),
        )

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        import sacrebleu

        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="mixed" if self.case_sensitive else "lc",
            norm=self.normalized,
            punct=not self.no_punct,
            asian=self.asian_support,
            sacrebleu=sacrebleu.__version__,
        )
