"""iBLEU (Sun & Zhou 2012): rewards similarity to the references and penalises similarity to the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trubleu.metrics.base import AnyReferences, Result, as_references
from trubleu.metrics.bleu import BleuOptions, Counts, bleu
from trubleu.metrics.matching import TextPairs, warn_of_empty
from trubleu.stats import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class IBleuResult(Result):
    """An iBLEU score with its components.

    Attributes
    ----------
    bleu
        BLEU of the outputs with the references.
    source_bleu
        BLEU of the outputs with their sources as the only references.
    """

    bleu: float
    source_bleu: float

    def __str__(self) -> str:
        return f"{self.metric} = {self.score:.2f} (BLEU = {self.bleu:.2f} source BLEU = {self.source_bleu:.2f})"


@dataclass(kw_only=True, eq=False, repr=False)
class IBleu(BleuOptions):
    """Corpus-level iBLEU for paraphrases and responses: BLEU against the references minus BLEU against the source.

    The score is α · BLEU(output, references) − (1 − α) · BLEU(output, source), so repeating the source does not pay.
    With α = 0.9 it ranges from −10 to 90.

    The source of a segment is its message: the field ``message`` in JSON Lines, or the argument of
    `References.with_messages`.

    Parameters
    ----------
    order, tokenize, lowercase, smoothing, smoothing_value, effective_order, reference_length
        As for `Bleu`, for both parts.
    alpha
        The share of the references, from 0 to 1; with 1 this is BLEU.

    Examples
    --------
    >>> from trubleu import References
    >>> references = References.from_lists([["how old are you"]]).with_messages(["what is your age"])
    >>> round(IBleu(order=2).corpus(["how old are you"], references).score, 2)
    90.0
    >>> round(IBleu(order=2).corpus(["what is your age"], references).score, 2)
    -10.0
    """

    needs_source: ClassVar[bool] = True
    family: ClassVar[str] = "ibleu"

    alpha: float = 0.9

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return BLEU's statistics against the references, followed by those against the source."""
        source = given.references.messages_as_references()
        warn_of_empty(source)
        # The source is one text per segment; the references take the time.
        with_source = given._replace(references=source, prepared=None, progress=None)
        return np.hstack([self.ngrams(given), self.ngrams(with_source)])

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return iBLEU for each row of summed statistics."""
        with_references, with_source = self.parts(statistics)
        return self.alpha * with_references - (1.0 - self.alpha) * with_source

    def parts(self, statistics: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return BLEU against the references and against the source per row of summed statistics."""
        with_references, with_source = (
            bleu(Counts.of(each, self.order), self.smoothing, self.smoothing_value, self.effective_order).score
            for each in np.split(statistics, 2, axis=-1)
        )
        return with_references, with_source

    def corpus(self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None) -> IBleuResult:
        """Score a system."""
        references = as_references(references, outputs)
        return self.result(self.statistics(outputs, references, threads=threads), references)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> IBleuResult:
        """Score a system from its statistics."""
        sums = total(statistics)
        parts = dict(zip(("bleu", "source_bleu"), map(float, self.parts(sums)), strict=True))
        return self._result(IBleuResult, sums, len(statistics), references, **parts)

    def _signed_options(self) -> dict[str, object]:
        return super()._signed_options() | {"alpha": self.alpha}
