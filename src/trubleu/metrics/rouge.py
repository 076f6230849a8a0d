"""ROUGE (Lin 2004), equal to the package rouge-score: n-grams, longest common subsequences, summaries."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from trubleu.errors import CountedWarning
from trubleu.metrics.base import AnyReferences, FResult, check_order
from trubleu.metrics.matching import TextMetric, TextPairs, mean_score
from trubleu.native import kernels
from trubleu.stats import total

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS: Final = 4


@dataclass(kw_only=True, eq=False, repr=False)
class _Rouge(TextMetric):
    """Base of all ROUGE variants: the mean over segments of the F-score with the best reference."""

    uses_weights: ClassVar[bool] = False
    compared: ClassVar[str]
    order: ClassVar[int] = 1

    stem: bool = False

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return precision, recall and F-score against the best reference, and 1."""
        texts, segments, threads = given.outputs, given.references, given.workers()

        def rows_of(first: int, last: int) -> NDArray[np.float64]:
            return kernels.rouge_scores(
                texts, segments.texts, segments.offsets, self.compared, self.order, self.stem, first, last, threads
            )

        rows = given.rows(COLUMNS, rows_of)
        without_words = int((rows[:, 3] == 0).sum()) - (kernels.count_empty(texts) or 0)
        if without_words > 0:
            what = "outputs without a letter from a to z or a digit, which is all that ROUGE compares; they score 0"
            warnings.warn(CountedWarning(what, without_words), stacklevel=2)
        rows[:, 3] = 1.0
        return rows

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean F-score on 0 to 100 for each row of summed statistics; 0 without a segment."""
        return 100 * mean_score(statistics, COLUMNS, self.name)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> FResult:
        """Score a system from its statistics."""
        summed = total(statistics)
        precision, recall = (100 * summed[:2] / max(summed[3], 1.0)).tolist()
        return self._result(FResult, summed, len(statistics), references, precision=precision, recall=recall)

    def _signed_options(self) -> dict[str, object]:
        return {"stem": "porter-nltk" if self.stem else "none"}


@dataclass(kw_only=True, eq=False, repr=False)
class Rouge(_Rouge):
    """ROUGE-N: n-gram overlap of output and reference.

    Texts are lower-cased; words are runs of the letters a to z and digits. With several references, the best F-score
    counts.

    Parameters
    ----------
    order
        The length of n-grams, from 1 to 9.
    stem
        Reduce words of more than three letters to their stems, by Porter's rules with NLTK's changes.

    Examples
    --------
    >>> Rouge(order=1).corpus(["the cat sat"], [["the cat is here"]]).score
    57.14285714285715
    """

    compared: ClassVar[str] = "ngrams"

    order: int = field(default=1, kw_only=False)  # type: ignore[misc]

    def __post_init__(self) -> None:
        """Validate the options."""
        super().__post_init__()
        self.name = f"rouge-{check_order(self.order)}"

    def with_order(self, order: int) -> Rouge:
        """Return the same metric for another n-gram length."""
        return Rouge(order, stem=self.stem)


class RougeL(_Rouge):
    """ROUGE-L: the longest common subsequence of words.

    Parameters
    ----------
    stem
        As for `Rouge`.

    Examples
    --------
    >>> RougeL().corpus(["the cat sat on a mat"], [["the mat is where the cat sat"]]).score
    46.15384615384615
    """

    name = "rouge-l"
    compared: ClassVar[str] = "subsequence"


class RougeLsum(_Rouge):
    """ROUGE-Lsum: each sentence of a reference is compared with the whole output; each line is a sentence.

    Parameters
    ----------
    stem
        As for `Rouge`.

    Examples
    --------
    >>> round(RougeLsum().corpus(["the cat sat\\nit rained"], [["it rained\\nthe cat slept"]]).score, 2)
    80.0
    """

    name = "rouge-lsum"
    compared: ClassVar[str] = "summary"
