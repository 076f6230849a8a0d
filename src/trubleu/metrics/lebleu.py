"""LeBLEU (Virpioja & Grönroos 2015): BLEU with fuzzy matches by spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.metrics.matching import TextPairs, WordMetric, check_width
from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLICE: Final = 256
"""Segments per progress report; long ones take long."""


MOST_PAIRS: Final = 2**27
"""Maximum word pairs of an output and a reference: half a minute."""


@dataclass(kw_only=True, eq=False, repr=False)
class LeBleu(WordMetric):
    """Corpus-level LeBLEU: fuzzy n-gram matches by character edit distance.

    Suited to languages with rich inflection or compounding. The similarity of two n-grams is 1 - d / l, where d is the
    Levenshtein distance of their words joined by spaces and l the length of the longer one; below the threshold it is
    0. An n-gram of the output earns its similarity to the most similar n-gram of the references, of any length up to
    twice the order. The score is the mean over orders of the mean earnings of n-grams, times BLEU's brevity penalty
    with lengths in characters.

    Parameters
    ----------
    order
        The longest n-grams of the outputs, from 1 to 9.
    threshold
        The least similarity that earns anything, from 0 to 1; with 1 only equal n-grams match.
    tokenize, lowercase
        As for `Bleu`.

    Examples
    --------
    >>> LeBleu(order=1).corpus(["talossani"], [["talossa"]]).score
    77.77777777777779
    """

    family: ClassVar[str] = "lebleu"

    threshold: float = 0.4

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the characters of output and reference, and earnings and n-grams by order."""
        segments, threads = given.references, given.workers(worth=SLICE)
        lines, native, lowercase = kernel_texts(given.outputs, self.tokenizer, self.lowercase)
        self._check_pairs(given.outputs, segments, MOST_PAIRS, f"for {self.name}")
        options = kernels.Options(native, lowercase, self.order, "counts", "closest", False)
        wanted = segments.kernel_texts(self.tokenizer, self.lowercase)[0]

        def rows_of(first: int, last: int) -> NDArray[np.float64]:
            offsets, threshold = segments.offsets, self.threshold
            return kernels.lebleu_statistics(lines, wanted, offsets, options, threshold, first, last, threads)

        return given.rows(options.columns, rows_of, SLICE)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return LeBLEU on 0 to 100 for each row of summed statistics."""
        check_width(statistics, 2 + 2 * self.order, self.name)
        letters, reference_letters = statistics[..., 0], statistics[..., 1]
        earned, totals = statistics[..., 2 : 2 + self.order], statistics[..., 2 + self.order :]
        averages = np.divide(earned, totals, out=np.zeros(earned.shape), where=totals > 0)
        orders = np.maximum((totals > 0).sum(axis=-1), 1)
        ratio = np.divide(reference_letters, letters, out=np.ones(letters.shape), where=letters > 0)
        penalty = np.exp(np.minimum(0.0, 1.0 - ratio))
        scores: NDArray[np.float64] = 100 * penalty * averages.sum(axis=-1) / orders
        return scores

    def _signed_options(self) -> dict[str, object]:
        return {"tok": self.tokenizer.name, "threshold": self.threshold}
