"""NIST (Doddington 2002): n-gram matches weighted by information."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.metrics.corpus_weights import Counted, Part, WeightedNgramMetric
from trubleu.metrics.matching import check_width
from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BETA: Final = math.log(0.5) / math.log(1.5) ** 2
"""Outputs with two thirds of the references' length get a penalty of one half."""


@dataclass(kw_only=True, eq=False, repr=False)
class Nist(WeightedNgramMetric):
    """Corpus-level NIST: matches are weighted by the information of the last word given the words before it.

    The information of an n-gram is log₂ of the count of the n-gram without its last word over the count of the whole,
    both in the references of the corpus. Matches are clipped as in BLEU. The score is the sum over orders of the
    information of matches per n-gram of the outputs, times a brevity penalty; it has no upper bound.

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

    weighed_as: ClassVar[str] = "info"

    order: int = field(default=5, kw_only=False)

    @property
    def columns(self) -> int:
        """Lengths of hypothesis and references (mean), and information of matches and n-grams by order."""
        return 2 + 2 * self.order

    def _rows(self, part: Part) -> NDArray[np.float64]:
        words = part.words
        return kernels.nist(
            *(part.known, part.outputs, words.texts, words.offsets, None, part.first, self.order, part.threads)
        )

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return NIST for each row of summed statistics."""
        check_width(statistics, self.columns, self.name)
        length, reference_length = statistics[..., 0], statistics[..., 1]
        earned, totals = np.split(statistics[..., 2:], 2, axis=-1)
        ratio = np.divide(length, reference_length, out=np.ones(length.shape), where=reference_length > 0)
        # An output without words has no matches, whatever its penalty.
        penalty = np.exp(_BETA * np.log(np.clip(ratio, np.finfo(np.float64).tiny, 1.0)) ** 2)
        score: NDArray[np.float64] = penalty * (earned / np.maximum(totals, 1.0)).sum(axis=-1)
        return score
