"""Diversity of a system's outputs: distinct n-grams (Li et al. 2016) and self-BLEU (Zhu et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import UsageError
from trubleu.metrics.base import (
    AnyReferences,
    Metric,
    Progress,
    as_references,
    check_flag,
    check_order,
    check_smoothing,
    smoothing_text,
)
from trubleu.metrics.bleu import Counts, bleu
from trubleu.metrics.matching import check_texts, check_width, copy_of_order, warn_of_unsplit
from trubleu.native import kernels, resolve_threads
from trubleu.signature import Signature, make_signature
from trubleu.text import Tokenizer, tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.text.tokenizers import Spec


class _Diversity(Metric):
    """Base of metrics that compare outputs with each other; statistics depend on all outputs, not on references."""

    uses_weights: ClassVar[bool] = False
    among_outputs: ClassVar[bool] = True
    order: int
    tokenizer: Tokenizer
    lowercase: bool

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

    def _words(self, outputs: Sequence[str], references: AnyReferences, threads: int | None) -> kernels.WordTexts:
        as_references(references, outputs)
        texts = tuple(outputs)
        check_texts(texts)
        warn_of_unsplit(texts, self.tokenizer)
        lines, native, lowercase = kernel_texts(texts, self.tokenizer, self.lowercase)
        options = kernels.Options(native, lowercase, 1, "counts", "closest", False)
        return kernels.WordTexts(lines, options, 0, len(lines), None, resolve_threads(threads, len(lines)))

    def with_order(self, order: int) -> Self:
        """Return the same metric for another n-gram length."""
        return copy_of_order(self, order)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the first column over the second, in percent, per row of summed statistics; 0 for an empty sum."""
        check_width(statistics, 2, self.name)
        sums, counts = statistics[..., 0], statistics[..., 1]
        scores: NDArray[np.float64] = 100 * np.divide(sums, counts, out=np.zeros_like(sums), where=counts != 0)
        return scores


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

    def __init__(self, order: int = 2, *, tokenize: Spec = "13a", lowercase: bool = False) -> None:
        self.order = check_order(order)
        self.name = f"distinct-{order}"
        self.tokenizer = tokenizer(tokenize)
        self.lowercase = check_flag("lowercase", lowercase)

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return the contribution of each output to the number of distinct n-grams, and its number of n-grams."""
        rows = kernels.distinct_ngrams(self._words(outputs, references, threads), self.order)
        if progress:
            progress(len(rows))
        return rows

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature."""
        return make_signature(
            self.name,
            nrefs=None if references is None else "0",
            case="lc" if self.lowercase else "mixed",
            tok=self.tokenizer.name,
        )


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

    def __init__(
        self,
        order: int = 4,
        *,
        tokenize: Spec = "13a",
        lowercase: bool = False,
        smoothing: str = "floor",
        smoothing_value: float | None = None,
    ) -> None:
        self.order = check_order(order)
        self.name = f"self-bleu-{order}"
        self.tokenizer = tokenizer(tokenize)
        self.lowercase = check_flag("lowercase", lowercase)
        self.smoothing, self.smoothing_value = check_smoothing(smoothing, smoothing_value)

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return the BLEU of each output against all others, on 0 to 1, and 1."""
        counts = kernels.self_matches(self._words(outputs, references, threads), self.order)
        parts = bleu(Counts.of(counts, self.order), self.smoothing, self.smoothing_value, effective_order=True)
        if progress:
            progress(len(counts))
        return np.stack([parts.score / 100, np.ones(len(counts))], axis=1)

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature."""
        return make_signature(
            self.name,
            nrefs=None if references is None else "0",
            case="lc" if self.lowercase else "mixed",
            tok=self.tokenizer.name,
            smooth=smoothing_text(self.smoothing, self.smoothing_value),
        )
