"""ΔBLEU (Galley et al. 2015): BLEU with weighted references; matching a bad reference lowers the score."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.errors import CountedWarning, DataError, some
from trubleu.metrics.base import Metric, whole_references
from trubleu.metrics.bleu import Bleu, BleuParts, Counts, bleu
from trubleu.metrics.matching import NgramMetric, TextPairs
from trubleu.metrics.options import kind_and_number, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.metrics.base import ByReference


def all_rated(references: References, unrated_as: float | None) -> References:
    """Fill in the weights of unrated references; raise an error if there are such and no default is given."""
    unrated = references.unrated()
    if not len(unrated):
        return references
    if unrated_as is None:
        raise DataError(
            f"{references.source} has references that are not rated yet, in segments "
            f"{some(references.ids[i] for i in unrated)}; rate them with trubleu rate, "
            "or give them a weight with --unrated-as W"
        )
    return references.with_unrated_as(unrated_as)


ROUNDING: Final = 1e-12
"""A sum of matches up to this share of the total is a rounding error and counts as 0."""


@dataclass(kw_only=True, eq=False, repr=False)
class WeightedMetric(Metric):
    """Mixin for metrics of weighted references; list it before the unweighted base class.

    Parameters
    ----------
    no_positive
        ``error`` if a segment has no reference of positive weight, or ``skip`` to leave such segments out.
    unrated_as
        The weight of references that are not rated yet; without it they are an error.
    """

    uses_weights: ClassVar[bool] = True

    no_positive: str = "error"
    unrated_as: float | None = None

    def weights(self, references: References | PreparedReferences) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return one weight per reference, and the segments to skip; references without weights have weight 1."""
        whole = whole_references(references)
        skipped = all_rated(whole, self.unrated_as).segments_without_positive()
        if len(skipped) and self.no_positive == "error":
            raise DataError(
                f"{whole.source} has segments without a reference of positive weight: "
                f"{some(whole.ids[i] for i in skipped)}; add one to each, or leave them out with --no-positive skip"
            )
        if len(skipped):
            what = f"segments in {whole.source} without a reference of positive weight, left out"
            warnings.warn(CountedWarning(what, len(skipped)), stacklevel=2)
        return self.rated_weights(whole), skipped

    def rated_weights(self, references: References) -> NDArray[np.float64]:
        """Return one weight per reference; references without weights have weight 1."""
        references = all_rated(references, self.unrated_as)
        if duplicates := references.duplicates():
            what = (
                f"references in {references.source} that repeat another one's text with a different weight, "
                "of which the largest counts"
            )
            warnings.warn(CountedWarning(what, duplicates), stacklevel=2)
        return np.ones(references.count) if references.weights is None else references.weights

    def skipped(self, references: References | PreparedReferences) -> NDArray[np.int64]:
        """Return the segments without a reference of positive weight."""
        return self.weights(references)[1]


@dataclass(kw_only=True, eq=False, repr=False)
class WeightedNgrams(WeightedMetric, NgramMetric):
    """A metric whose n-gram matches are weighted by references: ΔBLEU for corpora and sentences.

    Parameters
    ----------
    definition
        ``paper``, or ``fork2019``: the largest weight times the largest clipped count, which may come from two
        different references, with smoothing constants as they are.
    length_references
        Which references may set the reference length: ``all``, or ``positive`` ones only.
    """

    definition: str = "paper"
    length_references: str = "all"

    def _signed_options(self) -> dict[str, object]:
        return super()._signed_options() | {
            "def": self.definition,
            "lenrefs": self.length_references,
            "nopos": self.no_positive,
            "zero": ROUNDING,
            "unrated": self.unrated_as,
        }


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaBleu(WeightedNgrams, Bleu):
    """Corpus-level ΔBLEU: BLEU with references that have weights from −1 to +1.

    An n-gram of the hypothesis earns the maximum over the references that contain it of the weight times the clipped
    count there; the most it could earn is the segment's largest weight times its count. With all weights 1 this is
    BLEU.

    Parameters
    ----------
    order, tokenize, lowercase, smoothing, smoothing_value, effective_order, reference_length
        As for `Bleu`. Smoothing constants are multiplied by the mean best weight.
    definition
        ``paper``, or ``fork2019``: the largest weight times the largest clipped count, which may come from two
        different references, with smoothing constants as they are.
    negative
        What a sum of matches below 0 becomes: ``clamp`` makes it 0, ``floor:E`` makes it the constant E (multiplied
        like a smoothing constant), ``error`` refuses.
    length_references
        Which references may set the reference length: ``all``, or ``positive`` ones only.
    no_positive
        ``error`` if a segment has no reference of positive weight, or ``skip`` to leave such segments out.
    unrated_as
        The weight of references that are not rated yet; without it they are an error.

    Examples
    --------
    >>> from trubleu import References
    >>> references = References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
    >>> metric = DeltaBleu(order=1)
    >>> round(metric.corpus(["it was great"], references).score, 2)
    100.0
    >>> round(metric.corpus(["it was awful"], references).score, 2)
    50.0
    """

    family: ClassVar[str] = "dbleu"

    negative: str = "clamp"

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return lengths, signed weighted matches, weighted totals and plain totals; zeros for a skipped segment."""
        weights, skipped = self.weights(given.references)
        rows = self.ngrams(given, weights)
        rows[skipped] = 0.0
        return rows

    def by_reference(self, outputs: Sequence[str], references: References, threads: int | None = None) -> ByReference:
        """Compare outputs with each reference once."""
        if self.definition != "paper":
            return None
        from trubleu.metrics.chosen_references import NgramMatches

        matches = NgramMatches.of(self, outputs, references, threads)
        return partial(matches.rows, self, weights=self.rated_weights(references))

    def without_weights(self) -> str:
        """Return which metric this is equal to if all weights are 1."""
        return "BLEU"

    def parts(self, counts: Counts) -> BleuParts:
        """Return scores with precisions and brevity penalties."""
        scaled = self.definition == "paper"
        counts = counts._replace(matches=settle_negative(counts, self.negative, scaled))
        return bleu(counts, self.smoothing, self.smoothing_value, self.effective_order, scaled)

    def _signed_options(self) -> dict[str, object]:
        return super()._signed_options() | {"neg": signed(self.negative)}


def settle_negative(counts: Counts, negative: str, scaled: bool) -> NDArray[np.float64]:
    """Return the matches with negative sums replaced."""
    # 0.1 + 0.2 - 0.3 is 5e-17: such a sum is no match, but smoothing would ignore it and its logarithm ruin the score.
    matches = np.where(np.abs(counts.matches) <= ROUNDING * counts.totals, 0.0, counts.matches)
    # At most the total in theory; rounding may exceed it in the last bits.
    counts = counts._replace(matches=np.minimum(matches, counts.totals))
    kind, floor = kind_and_number(negative)
    if kind == "error" and np.any(counts.matches < 0):
        below = np.argwhere(counts.matches < 0)[0]
        raise DataError(
            f"the matches of order {below[-1] + 1} sum to {counts.matches[tuple(below)]:g}, which is below 0, "
            "because more bad references were matched than good ones; use negative=clamp to count that as 0"
        )
    if kind == "floor":
        # fork2019 does not scale constants; otherwise the floor cannot be worth more than a perfect match.
        least = np.minimum(floor * counts.mean_best_weight(), counts.totals) if scaled else floor
        return np.where(counts.matches < 0, least, counts.matches)
    return np.maximum(counts.matches, 0.0)
