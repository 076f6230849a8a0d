"""BLEU (Papineni et al. 2002), equal to sacreBLEU's: precisions, smoothing, brevity penalty, geometric mean.

One formula serves BLEU and ΔBLEU. ΔBLEU weights matches and totals, so smoothing constants must be weighted too;
otherwise multiplying all weights by a factor would change the score. They are multiplied by the mean best weight: the
weighted total over the plain total. For BLEU this is 1, and the formula is sacreBLEU's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from trubleu.errors import DataError
from trubleu.metrics.base import AnyReferences, Result, as_references, check_smoothing, smoothing_text
from trubleu.metrics.matching import NgramMetric, TextPairs
from trubleu.stats import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics.base import ByReference


class Counts(NamedTuple):
    """Summed statistics by name; n-gram orders are the last axis of the three arrays of counts."""

    hypothesis_length: NDArray[np.float64]
    reference_length: NDArray[np.float64]
    matches: NDArray[np.float64]
    totals: NDArray[np.float64]
    plain_totals: NDArray[np.float64]

    @classmethod
    def of(cls, statistics: NDArray[np.float64], order: int) -> Counts:
        """Split the columns; without weights, the totals are the plain ones."""
        statistics = np.asarray(statistics, dtype=np.float64)
        if statistics.ndim == 0 or statistics.shape[-1] not in (2 + 2 * order, 2 + 3 * order):
            raise DataError(
                f"these are not statistics of order {order}: the last axis of their shape {statistics.shape} must be "
                f"{2 + 2 * order}, or {2 + 3 * order} with weights; score them with the metric that made them"
            )
        matches, totals = statistics[..., 2 : 2 + order], statistics[..., 2 + order : 2 + 2 * order]
        weighted = statistics.shape[-1] > 2 + 2 * order
        plain_totals = statistics[..., 2 + 2 * order :] if weighted else totals
        return cls(statistics[..., 0], statistics[..., 1], matches, totals, plain_totals)

    def mean_best_weight(self) -> NDArray[np.float64]:
        """Return the factor of smoothing constants; 1 if there are no n-grams to average over."""
        if self.totals is self.plain_totals:
            return np.ones_like(self.totals)
        return _ratio(self.totals, self.plain_totals, otherwise=1.0)


class BleuParts(NamedTuple):
    """A score and its components, each with the leading axes of the statistics.

    Precisions are numerators over denominators, both smoothed; ``used`` marks the orders included in the mean.
    """

    score: NDArray[np.float64]
    precisions: NDArray[np.float64]
    brevity_penalty: NDArray[np.float64]
    numerators: NDArray[np.float64]
    denominators: NDArray[np.float64]
    used: NDArray[np.bool_]


def bleu(counts: Counts, smoothing: str, value: float | None, effective_order: bool, scaled: bool = True) -> BleuParts:
    """Return BLEU on 0 to 100, as sacreBLEU defines it for each smoothing method.

    ``scaled`` multiplies smoothing constants by the mean best weight.
    """
    matches, totals = counts.matches, counts.totals
    unit = counts.mean_best_weight() if scaled else np.ones_like(totals)
    constant = 0.0 if value is None else value
    unmatched = matches == 0
    nothing_matched = unmatched.all(axis=-1)
    if smoothing == "add-k":
        added = np.where(np.arange(matches.shape[-1]) > 0, constant, 0.0) * unit
        matches, totals = matches + added, totals + added
    elif smoothing == "floor":
        matches = np.where(unmatched, constant * unit, matches)
    elif smoothing == "exp" and unmatched.any():
        matches = np.where(unmatched, unit * np.ldexp(1.0, -unmatched.cumsum(axis=-1)), matches)
    # Without any match there is nothing to smooth.
    matches = np.where(nothing_matched[..., np.newaxis], counts.matches, matches)
    # Precisions are undefined from the first order without n-grams on.
    present = np.logical_and.accumulate(totals != 0, axis=-1)
    precisions = np.divide(matches, totals, out=np.zeros(totals.shape), where=present)
    used = present if effective_order else np.ones_like(present)
    penalty = brevity_penalty(counts.hypothesis_length, counts.reference_length)
    score = np.where(nothing_matched, 0.0, 100.0 * penalty * geometric_mean(precisions, used))
    return BleuParts(score, 100.0 * precisions, penalty, matches, totals, used)


def smoothed_sentence_bleu(counts: Counts, first_smoothed: int, longer_reference: float) -> BleuParts:
    """Return sentence BLEU with 1 added to matches and totals from one order on (0: unigrams too).

    An order for which the hypothesis has no n-grams is left out: 1 of 1 would make it perfect.
    """
    order = counts.matches.shape[-1]
    added = np.where(np.arange(order) >= first_smoothed, 1.0, 0.0) * counts.mean_best_weight()
    matches, totals = counts.matches + added, counts.totals + added
    used = counts.plain_totals > 0
    precisions = np.where(used, _ratio(matches, totals), 0.0)
    penalty = brevity_penalty(counts.hypothesis_length, counts.reference_length + longer_reference)
    score = 100.0 * penalty * geometric_mean(precisions, used)
    return BleuParts(score, 100.0 * precisions, penalty, matches, totals, used)


def brevity_penalty(hypothesis: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 for a hypothesis at least as long as the reference, less for a shorter one, 0 for an empty one."""
    shorter = np.exp(1.0 - _ratio(reference, hypothesis, otherwise=np.inf))
    return np.where(hypothesis < reference, shorter, 1.0)


def geometric_mean(values: NDArray[np.float64], used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the geometric mean of the used values over the last axis; 0 if one of them is 0 or none is used."""
    positive = values > 0
    count = used.sum(axis=-1)
    zero = (used & ~positive).any(axis=-1) | (count == 0)
    # The logarithm of 1 is 0, and adds nothing.
    logs = np.log(np.where(used & positive, values, 1.0))
    mean = logs.sum(axis=-1) / np.maximum(count, 1)
    return np.where(zero, 0.0, np.exp(mean))


def _ratio(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64], otherwise: float = 0.0
) -> NDArray[np.float64]:
    """Divide where the denominator is not 0."""
    result: NDArray[np.float64] = np.divide(
        numerator, denominator, out=np.full(np.shape(denominator), otherwise), where=denominator != 0
    )
    return result


@dataclass(frozen=True, kw_only=True)
class BleuResult(Result):
    """A BLEU or ΔBLEU score with its components.

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
            f"hyp_len = {self.hypothesis_length} ref_len = {round(self.reference_length, 2):.15g})"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class BleuOptions(NgramMetric):
    """The options of BLEU and of metrics based on it; described in `Bleu`."""

    smoothing: str = "exp"
    smoothing_value: float | None = None
    effective_order: bool = False

    def __post_init__(self) -> None:
        """Validate the options."""
        super().__post_init__()
        self.smoothing_value = check_smoothing(self.smoothing, self.smoothing_value)

    def _signed_options(self) -> dict[str, object]:
        return {
            "eff": self.effective_order,
            "tok": self.tokenizer.name,
            "smooth": smoothing_text(self.smoothing, self.smoothing_value),
            "reflen": self.reference_length,
        }


@dataclass(kw_only=True, eq=False, repr=False)
class Bleu(BleuOptions):
    """Corpus-level BLEU: all references are equally good, and only exact n-gram matches count.

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

    family: ClassVar[str] = "bleu"

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the lengths of hypothesis and reference, and clipped matches and n-grams by order."""
        return self.ngrams(given)

    def by_reference(self, outputs: Sequence[str], references: References, threads: int | None = None) -> ByReference:
        """Compare outputs with each reference once."""
        if not self.only_equal:
            return None
        from trubleu.metrics.chosen_references import NgramMatches

        return partial(NgramMatches.of(self, outputs, references, threads).rows, self)

    def counts(self, statistics: NDArray[np.float64]) -> Counts:
        """Split the columns of summed statistics."""
        return Counts.of(statistics, self.order)

    def parts(self, counts: Counts) -> BleuParts:
        """Return scores with precisions and brevity penalties."""
        return bleu(counts, self.smoothing, self.smoothing_value, self.effective_order)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score on 0 to 100 for each row of summed statistics."""
        return self.parts(self.counts(statistics)).score

    def corpus(self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None) -> BleuResult:
        """Score a system."""
        references = as_references(references, outputs)
        return self.result(self.statistics(outputs, references, threads=threads), references)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> BleuResult:
        """Score a system from its statistics."""
        sums = total(statistics)
        counts = self.counts(sums)
        parts = self.parts(counts)
        components = {
            "precisions": tuple(parts.precisions.tolist()),
            "brevity_penalty": float(parts.brevity_penalty),
            "hypothesis_length": int(counts.hypothesis_length),
            "reference_length": float(counts.reference_length),
            "matches": tuple(counts.matches.tolist()),
            "totals": tuple(counts.totals.tolist()),
        }
        return self._result(BleuResult, sums, len(statistics), references, **components)
