"""NIST (Doddington 2002): n-grams that tell much count more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.metrics.base import AnyReferences, reference_number
from trubleu.metrics.corpus_weights import Corpus, WeightedNgramMetric
from trubleu.metrics.matching import check_width
from trubleu.metrics.ngram_table import NOT_THERE, NgramTable, ReferenceTable, joint_keys, places_of, values_at
from trubleu.signature import Signature, make_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trubleu.metrics.ngram_table import Counted, KnownNgrams
    from trubleu.text.tokenizers import Spec

_BETA: Final = math.log(0.5) / math.log(1.5) ** 2
"""Outputs of two thirds of the references' length score half."""


class Nist(WeightedNgramMetric):
    """Corpus-level NIST: matches count by how much the last word of an n-gram says after the words before it.

    What an n-gram tells is log₂ of how often all but its last word occurs in the references of the corpus over how
    often the whole does. Matches are clipped as in BLEU. The score is the sum over orders of what matches tell per
    n-gram of the outputs, times a brevity penalty; it has no upper end.

    Parameters
    ----------
    order
        The longest n-grams, from 1 to 9.
    tokenize
        A tokenizer's name (see `trubleu.text.names`), or a callable from a text to tokens. ``13a`` is that of NIST's
        own program mteval-v13a, which also lower-cases unless it is told not to.
    lowercase
        Lower-case all texts first.
    corpus
        A file of references, or references, to count n-grams in; those of the segments being scored if left out. An
        n-gram that is not there counts as if it were there once.

    Examples
    --------
    >>> metric = Nist(order=1)
    >>> metric.corpus(["the cat", "the dog"], [["the cat"], ["the dog"]]).score
    1.5
    """

    family: ClassVar[str] = "nist"
    counted: ClassVar[Counted] = "occurrences"

    def __init__(
        self,
        order: int = 5,
        *,
        tokenize: Spec = "13a",
        lowercase: bool = False,
        corpus: Corpus | None = None,
    ) -> None:
        super().__init__(order, tokenize, lowercase, corpus)

    def _columns(self, outputs: NgramTable, table: ReferenceTable, known: KnownNgrams) -> Iterator[NDArray[np.float64]]:
        before: NDArray[np.int64] | None = None
        there = outputs.numbers_in(table)
        in_known = known.numbers_of(table)
        for order in range(1, self.order + 1):
            often = values_at(known.often(order), next(in_known))
            shorter = known.tokens if before is None else before[table.prefixes(order)]
            information = np.log2(np.maximum(shorter, 1) / np.maximum(often, 1))
            before = often
            level = outputs.level(order)
            numbers = next(there)[level.numbers]
            found = np.flatnonzero(numbers != NOT_THERE)
            keys, most = table.most_often(order)
            places = places_of(joint_keys(level.texts[found], numbers[found], len(information)), keys)
            found, places = found[places != NOT_THERE], places[places != NOT_THERE]
            earned = np.minimum(level.counts[found], most[places]) * information[numbers[found]]
            yield np.bincount(level.texts[found], earned, len(outputs.lengths)).astype(np.float64)  # whole without any

    def _rows(self, outputs: NgramTable, table: ReferenceTable, earned: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return lengths of hypothesis and references (their average), what matches tell and n-grams by order."""
        lengths = np.bincount(table.segment_of, table.lengths, table.segments) / table.reference_counts
        totals = [outputs.totals(order) for order in range(1, self.order + 1)]
        return np.column_stack([outputs.lengths, lengths, *earned, *totals]).astype(np.float64)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return NIST for each row of summed statistics."""
        check_width(statistics, 2 + 2 * self.order, self.name)
        length, reference_length = statistics[..., 0], statistics[..., 1]
        earned, totals = np.split(statistics[..., 2:], 2, axis=-1)
        ratio = np.divide(length, reference_length, out=np.ones(length.shape), where=reference_length > 0)
        # An output without words has earned nothing, whatever its penalty.
        penalty = np.exp(_BETA * np.log(np.clip(ratio, np.finfo(np.float64).tiny, 1.0)) ** 2)
        score: NDArray[np.float64] = penalty * (earned / np.maximum(totals, 1.0)).sum(axis=-1)
        return score

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if self.lowercase else "mixed",
            tok=self.tokenizer.name,
            info=self._learned_from(references),
        )
