"""sBLEU and its ΔBLEU form: the mean over segments of a sentence-level score."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from trubleu.metrics.base import (
    REFERENCE_LENGTHS,
    AnyReferences,
    Metric,
    Progress,
    as_references,
    check_choice,
    check_flag,
    check_order,
    reference_number,
)
from trubleu.metrics.bleu import BleuParts, Counts, bleu, smoothed_sentence_bleu
from trubleu.metrics.dbleu import WeightPolicy, settle_negative, weighted_matching, weighted_pairs
from trubleu.metrics.matching import Matching, of_order
from trubleu.signature import Signature, make_signature
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.text.tokenizers import Spec

VARIANTS: Final = ("lin-och", "nakov", "nakov-all", "sacrebleu")


class SentenceBleu(Metric):
    """Sentence-level BLEU, averaged over segments.

    An order for which the hypothesis has no n-grams is left out, so that smoothing cannot make it a perfect one.

    Parameters
    ----------
    order, tokenize, lowercase, reference_length
        As for `Bleu`.
    variant
        How a sentence is smoothed: ``lin-och`` adds 1 to matches and n-grams from bigrams on; ``nakov`` also adds 1 to
        the reference length of the brevity penalty; ``nakov-all`` moreover smoothes unigrams; ``sacrebleu`` is its
        sentence BLEU (exponential smoothing, effective order).

    Examples
    --------
    >>> round(SentenceBleu(order=2).corpus(["ok fine", "yes"], [["ok sure"], ["yes"]]).score, 2)
    75.0
    """

    uses_weights: ClassVar[bool] = False

    def __init__(
        self,
        order: int = 4,
        *,
        tokenize: Spec = "13a",
        lowercase: bool = False,
        variant: str = "lin-och",
        reference_length: str = "closest",
    ) -> None:
        self.order = check_order(order)
        self.name = f"sbleu-{order}"
        self.variant = check_choice("variant", variant, VARIANTS)
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
        """Return the sentence's score and 1."""
        rows = self.matching.statistics(outputs, as_references(references, outputs), None, threads, progress)
        return np.stack([self.parts(Counts.of(rows, self.order)).score, np.ones(len(rows))], axis=1)

    def parts(self, counts: Counts) -> BleuParts:
        """Return the score of each row of counts, with its precisions and brevity penalty."""
        if self.variant == "sacrebleu":
            return bleu(counts, "exp", None, effective_order=True)
        first_smoothed = 0 if self.variant == "nakov-all" else 1
        return smoothed_sentence_bleu(counts, first_smoothed, 0.0 if self.variant == "lin-och" else 1.0)

    def with_order(self, order: int) -> Self:
        """Return the same metric for n-grams of up to another length."""
        return of_order(self, order)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean for each row of summed statistics; 0 without a segment."""
        sums, counts = statistics[..., 0], statistics[..., 1]
        return np.divide(sums, counts, out=np.zeros_like(sums), where=counts != 0)

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if self.matching.lowercase else "mixed",
            tok=self.matching.tokenizer.name,
            variant=self.variant,
            reflen=self.matching.reference_length,
        )


class SentenceDeltaBleu(SentenceBleu):
    """Sentence-level ΔBLEU, averaged over segments.

    A sentence whose matches of an order sum to less than 0 counts 0 matches of that order.

    Parameters
    ----------
    order, tokenize, lowercase, variant, reference_length
        As for `SentenceBleu`; the ones that it adds are multiplied by the segment's best weight.
    definition, length_references, no_positive, unrated_as
        As for `DeltaBleu`.

    Examples
    --------
    >>> from trubleu import References
    >>> references = References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
    >>> round(SentenceDeltaBleu(order=1).corpus(["it was awful"], references).score, 2)
    50.0
    """

    uses_weights: ClassVar[bool] = True

    def __init__(
        self,
        order: int = 4,
        *,
        tokenize: Spec = "13a",
        lowercase: bool = False,
        variant: str = "lin-och",
        reference_length: str = "closest",
        definition: str = "paper",
        length_references: str = "all",
        no_positive: str = "error",
        unrated_as: float | None = None,
    ) -> None:
        super().__init__(
            order, tokenize=tokenize, lowercase=lowercase, variant=variant, reference_length=reference_length
        )
        self.name = f"sdbleu-{order}"
        self.definition = check_choice("definition", definition, ("paper", "fork2019"))
        self.policy = WeightPolicy.checked(no_positive, unrated_as)
        self.matching = weighted_matching(self.matching, definition, length_references)

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return the sentence's score and 1, or 0 and 0 for a skipped segment."""
        references = as_references(references, outputs)
        weights, skipped = self.policy.weights(references)
        counts = Counts.of(self.matching.statistics(outputs, references, weights, threads, progress), self.order)
        scores = self.parts(counts).score
        rows = np.stack([scores, np.ones(len(scores))], axis=1)
        rows[skipped] = 0.0
        return rows

    def parts(self, counts: Counts) -> BleuParts:
        """Return the score of each row of counts, with its precisions and brevity penalty."""
        if self.definition == "fork2019":  # smoothing constants as they are: no best weight to multiply them by
            counts = counts._replace(plain_totals=counts.totals)
        matches = settle_negative(counts, "clamp", 0.0, scaled=True)
        return super().parts(counts._replace(matches=matches))

    def without_weights(self) -> str:
        """Say what the metric is if all weights are 1."""
        return "sBLEU"

    def skipped(self, references: References | PreparedReferences) -> NDArray[np.int64]:
        """Return the segments that have no reference of positive weight."""
        return self.policy.weights(references)[1]

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return super().signature(references).extended(**weighted_pairs(self.definition, self.matching, self.policy))
