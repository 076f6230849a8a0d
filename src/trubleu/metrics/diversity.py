"""Diversity of a system's outputs: distinct n-grams (Li et al. 2016) and self-BLEU (Zhu et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import UsageError
from trubleu.metrics.base import AnyReferences, Metric, check_smoothing, smoothing_text
from trubleu.metrics.bleu import Counts, bleu
from trubleu.metrics.matching import TextPairs, WordMetric, mean_score
from trubleu.native import kernels, resolve_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.signature import Signature


@dataclass(kw_only=True, eq=False, repr=False)
class _Diversity(WordMetric):
    """Base of metrics that compare outputs with each other; statistics depend on all outputs, not on references."""

    among_outputs: ClassVar[bool] = True

    @property
    def learns(self) -> bool:
        """Always true: the statistics of a segment depend on the other outputs."""
        return True

    def learned(self, references: References | PreparedReferences) -> Metric:  # noqa: ARG002
        """Raise an error: references teach nothing, and a part of the outputs has another diversity."""
        raise UsageError(
            f"{self.name} compares the outputs of a system with each other, so it can only score all of them at once; "
            "leave it out"
        )

    def _words(self, given: TextPairs) -> kernels.WordTexts:
        lines, native, lowercase = kernel_texts(given.outputs, self.tokenizer, self.lowercase)
        options = kernels.Options(native, lowercase, 1, "counts", "closest", False)
        return kernels.WordTexts(lines, options, 0, len(lines), None, resolve_threads(given.threads, len(lines)))

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the first column over the second, in percent, per row of summed statistics; 0 for an empty sum."""
        return 100 * mean_score(statistics, 2, self.name)

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature; no references are compared."""
        return super().signature(None if references is None else "0")


@dataclass(kw_only=True, eq=False, repr=False)
class Distinct(_Diversity):
    """distinct-N: the percentage of distinct n-grams among all n-grams of the outputs.

    References are ignored. An n-gram that occurs k times in all outputs adds 1/k at each occurrence, so rows sum up to
    the number of distinct n-grams. Intervals and tests resample these rows: they show how much the score depends on
    single outputs, not the score of fewer outputs.

    Parameters
    ----------
    order
        The length of n-grams, from 1 to 9.
    tokenize, lowercase
        As for `Bleu`.

    Examples
    --------
    >>> round(Distinct(order=1).corpus(["i do not know", "i do"], [["no"], ["yes"]]).score, 2)
    66.67
    """

    family: ClassVar[str] = "distinct"

    order: int = field(default=2, kw_only=False)

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the contribution of each output to the number of distinct n-grams, and its number of n-grams."""
        rows = kernels.distinct_ngrams(self._words(given), self.order)
        given.told(len(rows))
        return rows


@dataclass(kw_only=True, eq=False, repr=False)
class SelfBleu(_Diversity):
    """self-BLEU: the mean BLEU of each output against all other outputs; lower is more diverse.

    References are ignored. Intervals and tests resample outputs with their scores among all outputs.

    Parameters
    ----------
    order
        The longest n-grams, from 1 to 9.
    tokenize, lowercase
        As for `Bleu`.
    smoothing, smoothing_value
        As for `Bleu`, for each output; ``floor`` with 0.1 is NLTK's method 1, which is usual for self-BLEU. Orders of
        which an output has no n-grams are left out.

    Examples
    --------
    >>> outputs = ["i do not know", "i do not know", "it rains"]
    >>> round(SelfBleu(order=2).corpus(outputs, [["no"], ["yes"], ["maybe"]]).score, 2)
    66.67
    """

    higher_is_better: ClassVar[bool] = False
    family: ClassVar[str] = "self-bleu"

    smoothing: str = "floor"
    smoothing_value: float | None = None

    def __post_init__(self) -> None:
        """Validate the options."""
        super().__post_init__()
        self.smoothing_value = check_smoothing(self.smoothing, self.smoothing_value)

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the BLEU of each output against all others, on 0 to 1, and 1."""
        counts = kernels.self_matches(self._words(given), self.order)
        parts = bleu(Counts.of(counts, self.order), self.smoothing, self.smoothing_value, effective_order=True)
        given.told(len(counts))
        return np.stack([parts.score / 100, np.ones(len(counts))], axis=1)

    def _signed_options(self) -> dict[str, object]:
        smooth = smoothing_text(self.smoothing, self.smoothing_value)
        return super()._signed_options() | {"smooth": smooth}
