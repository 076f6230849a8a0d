"""sBLEU and sentence-level ΔBLEU: the mean over segments of a sentence-level score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trubleu.metrics.bleu import BleuParts, Counts, bleu, smoothed_sentence_bleu
from trubleu.metrics.dbleu import WeightedNgrams, settle_negative
from trubleu.metrics.matching import NgramMetric, TextPairs, mean_score

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(kw_only=True, eq=False, repr=False)
class SentenceBleu(NgramMetric):
    """Sentence-level BLEU, averaged over segments.

    An order for which the hypothesis has no n-grams is left out, so smoothing cannot make it perfect.

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

    family: ClassVar[str] = "sbleu"

    variant: str = "lin-och"

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the sentence's score and 1."""
        rows = self.ngrams(given)
        return np.stack([self.parts(Counts.of(rows, self.order)).score, np.ones(len(rows))], axis=1)

    def parts(self, counts: Counts) -> BleuParts:
        """Return the score of each row of counts, with precisions and brevity penalty."""
        if self.variant == "sacrebleu":
            return bleu(counts, "exp", None, effective_order=True)
        first_smoothed = 0 if self.variant == "nakov-all" else 1
        return smoothed_sentence_bleu(counts, first_smoothed, 0.0 if self.variant == "lin-och" else 1.0)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean for each row of summed statistics; 0 without a segment."""
        return mean_score(statistics, 2, self.name)

    def _signed_options(self) -> dict[str, object]:
        return {"tok": self.tokenizer.name, "variant": self.variant, "reflen": self.reference_length}


@dataclass(kw_only=True, eq=False, repr=False)
class SentenceDeltaBleu(WeightedNgrams, SentenceBleu):
    """Sentence-level ΔBLEU, averaged over segments.

    If the matches of an order in a sentence sum to less than 0, they count as 0.

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

    family: ClassVar[str] = "sdbleu"

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the sentence's score and 1, or 0 and 0 for a skipped segment."""
        weights, skipped = self.weights(given.references)
        scores = self.parts(Counts.of(self.ngrams(given, weights), self.order)).score
        rows = np.stack([scores, np.ones(len(scores))], axis=1)
        rows[skipped] = 0.0
        return rows

    def parts(self, counts: Counts) -> BleuParts:
        """Return the score of each row of counts, with precisions and brevity penalty."""
        if self.definition == "fork2019":  # smoothing constants are not multiplied by a best weight
            counts = counts._replace(plain_totals=counts.totals)
        matches = settle_negative(counts, "clamp", scaled=True)
        return super().parts(counts._replace(matches=matches))

    def without_weights(self) -> str:
        """Return which metric this is equal to if all weights are 1."""
        return "sBLEU"
