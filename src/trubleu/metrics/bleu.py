"""BLEU (Papineni et al. 2002), equal to sacreBLEU's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from trubleu.metrics.contract import AnyReferences, Metric, Progress, Result, as_references, reference_number
from trubleu.metrics.matching import Matching, of_order
from trubleu.metrics.options import (
    REFERENCE_LENGTHS,
    check_choice,
    check_flag,
    check_order,
    check_smoothing,
    smoothing_text,
)
from trubleu.metrics.precision import BleuParts, Counts, bleu
from trubleu.signature import Signature, make_signature
from trubleu.stats import total
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.text.registry import Spec


@dataclass(frozen=True, kw_only=True)
class BleuResult(Result):
    """A BLEU or ΔBLEU score with its parts.

    Attributes
    ----------
    precisions
        The n-gram precisions from order 1 on, in percent and smoothed.
    brevity_penalty
        1 unless the system is shorter than the references.
    hypothesis_length, reference_length
        Tokens of the system, and of the references that set the length.
    matches, totals
        What the precisions are made of, not smoothed; weighted for ΔBLEU, where matches may be negative.
    """

    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: float
    matches: tuple[float, ...]
    totals: tuple[float, ...]

    def __str__(self) -> str:
        precisions = "/".join(f"{precision:.1f}" for precision in self.precisions)
        return (
            f"{self.metric} = {self.score:.2f} {precisions} (BP = {self.brevity_penalty:.3f} "
            f"hyp_len = {self.hypothesis_length} ref_len = {self.reference_length:g})"
        )


def bleu_result(name: str, counts: Counts, parts: BleuParts, segments: int, signature: Signature) -> BleuResult:
    """Return a score with its parts, from the sums of so many segments."""
    return BleuResult(
        metric=name,
        score=float(parts.score),
        segments=segments,
        signature=signature,
        precisions=tuple(parts.precisions.tolist()),
        brevity_penalty=float(parts.brevity_penalty),
        hypothesis_length=int(counts.hypothesis_length),
        reference_length=float(counts.reference_length),
        matches=tuple(counts.matches.tolist()),
        totals=tuple(counts.totals.tolist()),
    )


class Bleu(Metric):
    """Corpus-level BLEU: every reference is as good as any other, and a near miss is a miss.

    Parameters
    ----------
    order
        The longest n-grams, from 1 to 9.
    tokenize
        A tokenizer's name (see `trubleu.text.names`), or a callable from a text to tokens.
    lowercase
        Lower-case all texts first.
    smoothing
        What an order without matches counts: ``exp`` (half of what the last one did), ``floor`` (a small number),
        ``add-k`` (k more matches and n-grams for all orders above 1) or ``none``.
    smoothing_value
        The number for ``floor`` (0.1 if not given) or ``add-k`` (1).
    effective_order
        Leave out orders that the system's texts are too short for.
    reference_length
        Which reference sets the length of a segment: ``closest`` (ties to the shorter), ``shortest``, ``longest`` or
        ``average``.

    Examples
    --------
    >>> Bleu(order=2).corpus(["the cat sat"], [["the cat sat down", "a cat sat"]]).score
    100.0
    """

    uses_weights: ClassVar[bool] = False

    def __init__(
        self,
        order: int = 4,
        *,
        tokenize: Spec = "13a",
        lowercase: bool = False,
        smoothing: str = "exp",
        smoothing_value: float | None = None,
        effective_order: bool = False,
        reference_length: str = "closest",
    ) -> None:
        self.order = check_order(order)
        self.name = f"bleu-{order}"
        self.smoothing, self.smoothing_value = check_smoothing(smoothing, smoothing_value)
        self.effective_order = check_flag("effective_order", effective_order)
        self.matching = Matching(
            tokenizer=tokenizer(tokenize),
            lowercase=check_flag("lowercase", lowercase),
            order=order,
            credit="counts",
            reference_length=check_choice("reference_length", reference_length, REFERENCE_LENGTHS),
        )

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return lengths of hypothesis and reference, clipped matches by order and n-grams by order."""
        return self.matching.statistics(outputs, as_references(references, outputs), None, threads, progress)

    def with_order(self, order: int) -> Self:
        """Return the same metric for n-grams of up to another length."""
        return of_order(self, order)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return BLEU on 0 to 100 for each row of summed statistics."""
        return self.parts(Counts.of(statistics, self.order)).score

    def parts(self, counts: Counts) -> BleuParts:
        """Return scores with their precisions and brevity penalties."""
        return bleu(counts, self.smoothing, self.smoothing_value, self.effective_order)

    def corpus(self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None) -> BleuResult:
        """Score a system."""
        references = as_references(references, outputs)
        return self.result(self.statistics(outputs, references, threads=threads), references)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> BleuResult:
        """Score a system from its statistics."""
        counts = Counts.of(total(statistics), self.order)
        return bleu_result(self.name, counts, self.parts(counts), len(statistics), self.signature(references))

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if self.matching.lowercase else "mixed",
            eff=self.effective_order,
            tok=self.matching.tokenizer.name,
            smooth=smoothing_text(self.smoothing, self.smoothing_value),
            reflen=self.matching.reference_length,
        )
