"""chrF and chrF++ (Popović 2015, 2017): F-scores of character and word n-grams, equal to sacreBLEU's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.metrics.base import AnyReferences, FResult
from trubleu.metrics.matching import TextMetric, TextPairs, kept_part
from trubleu.native import kernels, resolve_threads
from trubleu.stats import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics.base import ByReference

_version: Final = cache(version)

TINY: Final = 1e-16
"""Precision of no n-grams, as in sacreBLEU."""


@dataclass(kw_only=True, eq=False, repr=False)
class ChrF(TextMetric):
    """chrF (Popović 2015): an F-score of character n-grams; chrF++ adds word n-grams.

    Parameters
    ----------
    char_order, word_order
        The longest n-grams of characters and words.
    beta
        How many times more recall counts than precision.
    lowercase
        Lower-case all texts first.
    whitespace
        Count n-grams with spaces too.
    eps_smoothing
        Smooth as the first implementations did; see sacreBLEU.

    Examples
    --------
    >>> ChrF().corpus(["the cat"], [["the cat"]]).score
    100.0
    """

    uses_weights: ClassVar[bool] = False
    family: ClassVar[str] = "chrf"

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False

    def __post_init__(self) -> None:
        """Validate the options."""
        super().__post_init__()
        self.name = "chrf" + "+" * min(self.word_order, 2)

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return per segment and order the n-grams of the output, of its best reference, and the matches."""
        options, threads = self._options(), given.workers()

        def rows_of(first: int, last: int) -> NDArray[np.float64]:
            slice_ = self._prepared(given.references, options, first, last, threads)
            return slice_.statistics(given.outputs, options, threads)

        return given.rows(3 * (self.char_order + self.word_order), rows_of)

    def by_reference(self, outputs: Sequence[str], references: References, threads: int | None = None) -> ByReference:
        """Compare outputs with each reference once."""
        counts, threads = references.reference_counts(), resolve_threads(threads, references.count)
        rows = self._pair_rows(outputs, references.texts, np.repeat(np.arange(len(outputs)), counts), threads)
        offsets, every_score = references.offsets, self.score(rows)

        def rows_of(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
            """Return the statistics of the best chosen reference; of equal ones, the first."""
            scores = np.where(chosen, every_score, -1.0)
            best = np.maximum.reduceat(scores, offsets[:-1])
            places = np.flatnonzero(scores == np.repeat(best, np.diff(offsets)))
            return rows[places[np.searchsorted(places, offsets[:-1])]]

        return rows_of

    def pair_scores(
        self, outputs: Sequence[str], references: Sequence[str], chosen: NDArray[np.integer], threads: int
    ) -> NDArray[np.float64]:
        """Return the score of each reference beside one of the outputs.

        Parameters
        ----------
        outputs, references
            The texts.
        chosen
            The place of the output of each reference.
        threads
            How many threads to use.
        """
        return self.score(self._pair_rows(outputs, references, chosen, threads))

    def _pair_rows(
        self, outputs: Sequence[str], references: Sequence[str], chosen: NDArray[np.integer], threads: int
    ) -> NDArray[np.float64]:
        """Return the statistics of each reference beside one of the outputs."""
        texts = tuple(np.array(outputs, dtype=object)[chosen].tolist())
        count, options = len(references), self._options()
        alone = kernels.ChrfReferences(tuple(references), np.arange(count + 1), options, 0, count, threads)
        return alone.statistics(texts, options, threads)

    def _options(self) -> kernels.ChrfOptions:
        orders, factor = (self.char_order, self.word_order), self.beta**2
        return kernels.ChrfOptions(*orders, factor, 1 + factor, self.lowercase, self.whitespace, self.eps_smoothing)

    def _prepared(
        self, references: References, options: kernels.ChrfOptions, first: int, last: int, threads: int
    ) -> kernels.ChrfReferences:
        """Return the references of a slice of segments as kernel input, which is the same for any order."""
        key = (ChrF, self.lowercase, self.whitespace, self.word_order > 0)
        prepare = partial(kernels.ChrfReferences, references.texts, references.offsets, options, first, last, threads)
        return kept_part(references, key, first, prepare)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return chrF on 0 to 100 for each row of summed statistics."""
        factor = self.beta**2
        precision, recall, effective = self._by_order(statistics)
        if self.eps_smoothing:
            scores: NDArray[np.float64] = _f_score(precision, recall, factor, otherwise=TINY).mean(axis=-1)
            return 100 * scores
        return 100 * _f_score(_mean(precision, effective), _mean(recall, effective), factor, otherwise=0.0)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> FResult:
        """Score a system from its statistics."""
        summed = total(statistics)
        precision, recall, effective = self._by_order(summed)
        means = {"precision": 100 * float(_mean(precision, effective)), "recall": 100 * float(_mean(recall, effective))}
        return self._result(FResult, summed, len(statistics), references, **means)

    def _by_order(
        self, statistics: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return precision and recall of each order, and which orders occur on both sides."""
        triples = statistics.reshape(*statistics.shape[:-1], statistics.shape[-1] // 3, 3)
        hypothesis, reference, match = np.moveaxis(triples, -1, 0)
        precision = np.divide(match, hypothesis, out=np.full(match.shape, TINY), where=hypothesis > 0)
        recall = np.divide(match, reference, out=np.full(match.shape, TINY), where=reference > 0)
        return precision, recall, (hypothesis > 0) & (reference > 0)

    def _signed_options(self) -> dict[str, object]:
        return {
            "eff": not self.eps_smoothing,
            "nc": self.char_order,
            "nw": self.word_order,
            "beta": self.beta,
            "space": self.whitespace,
            "sacrebleu": _version("sacrebleu"),  # whose scores are the same
        }


def _mean(values: NDArray[np.float64], effective: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean over the orders that occur on both sides; 0 if there are none."""
    mean: NDArray[np.float64] = np.where(effective, values, 0.0).sum(axis=-1) / np.maximum(effective.sum(axis=-1), 1)
    return mean


def _f_score(
    precision: NDArray[np.float64], recall: NDArray[np.float64], factor: int, otherwise: float
) -> NDArray[np.float64]:
    weighted = factor * precision + recall
    result: NDArray[np.float64] = np.divide(
        (1 + factor) * precision * recall, weighted, out=np.full(weighted.shape, otherwise), where=weighted > 0
    )
    return result
