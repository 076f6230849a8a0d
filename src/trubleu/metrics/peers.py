"""chrF and TER: sacreBLEU counts, the contract does the rest."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from trubleu.data import PreparedReferences
from trubleu.errors import UsageError
from trubleu.metrics.contract import AnyReferences, Metric, Progress, as_references, reference_number
from trubleu.metrics.matching import check_texts, warn_of_empty
from trubleu.metrics.options import check_flag
from trubleu.signature import Signature, make_signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SLICE: Final = 64
"""Segments between two reports of progress."""


class SacreMetric(Metric):
    """A metric whose statistics sacreBLEU computes; ours is the score of their sum, for any number of sums at once."""

    uses_weights: ClassVar[bool] = False

    columns: int

    @cached_property
    @abstractmethod
    def _peer(self) -> Any:
        """sacreBLEU's metric, which notes what it meets."""

    def __getstate__(self) -> dict[str, Any]:
        # Copies, also those in other processes, are the same whatever was counted before.
        return {name: value for name, value in vars(self).items() if name != "_peer"}

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,  # noqa: ARG002 - sacreBLEU is pure Python
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return sacreBLEU's statistics of each segment."""
        references = as_references(references, outputs)
        if isinstance(references, PreparedReferences):
            references = references.references
        warn_of_empty(references)
        outputs = tuple(outputs)
        check_texts(outputs)
        rows = np.zeros((len(outputs), self.columns))
        bounds = references.offsets.tolist()
        for first in range(0, len(outputs), SLICE):
            last = min(first + SLICE, len(outputs))
            # sacreBLEU takes one stream a reference, with None where a segment has fewer.
            segments = (references.texts[bounds[i] : bounds[i + 1]] for i in range(first, last))
            streams = list(zip_longest(*segments))
            rows[first:last] = self._peer._extract_corpus_statistics(outputs[first:last], streams)  # noqa: SLF001
            if progress:
                progress(last - first)
        return rows

    @abstractmethod
    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""


class ChrF(SacreMetric):
    """chrF (Popović 2015): an F-score of character n-grams; with word n-grams chrF++.

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

    def __init__(
        self,
        *,
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        for name, value, least in (("char_order", char_order, 1), ("word_order", word_order, 0), ("beta", beta, 1)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise UsageError(f"{name}={value} must be a whole number that is at least {least}")
        self.char_order, self.word_order, self.beta = char_order, word_order, beta
        self.lowercase = check_flag("lowercase", lowercase)
        self.whitespace = check_flag("whitespace", whitespace)
        self.eps_smoothing = check_flag("eps_smoothing", eps_smoothing)
        self.name = "chrf" + "+" * min(word_order, 2)
        self.columns = 3 * (char_order + word_order)

    @cached_property
    def _peer(self) -> Any:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(self.char_order, self.word_order, self.beta, self.lowercase, self.whitespace, self.eps_smoothing)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return chrF on 0 to 100 for each row of summed statistics."""
        tiny = 1e-16
        factor = self.beta**2
        triples = statistics.reshape(*statistics.shape[:-1], -1, 3)
        hypothesis, reference, match = np.moveaxis(triples, -1, 0)
        precision = np.divide(match, hypothesis, out=np.full(match.shape, tiny), where=hypothesis > 0)
        recall = np.divide(match, reference, out=np.full(match.shape, tiny), where=reference > 0)
        if self.eps_smoothing:
            scores: NDArray[np.float64] = _f_score(precision, recall, factor, otherwise=tiny).mean(axis=-1)
            return 100 * scores
        effective = (hypothesis > 0) & (reference > 0)
        orders = np.maximum(effective.sum(axis=-1), 1)
        mean_precision = np.where(effective, precision, 0.0).sum(axis=-1) / orders
        mean_recall = np.where(effective, recall, 0.0).sum(axis=-1) / orders
        return 100 * _f_score(mean_precision, mean_recall, factor, otherwise=0.0)

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if self.lowercase else "mixed",
            eff=not self.eps_smoothing,
            nc=self.char_order,
            nw=self.word_order,
            beta=self.beta,
            space=self.whitespace,
            sacrebleu=_peer_version(),
        )


class Ter(SacreMetric):
    """TER (Snover et al. 2006): edits and shifts for each word of the reference; lower is better.

    Parameters
    ----------
    normalized, no_punct, asian_support, case_sensitive
        As in sacreBLEU.

    Examples
    --------
    >>> Ter().corpus(["the cat sat"], [["the cat sat down"]]).score
    25.0
    """

    higher_is_better = False

    def __init__(
        self,
        *,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        self.name = "ter"
        self.columns = 2
        self.normalized = check_flag("normalized", normalized)
        self.no_punct = check_flag("no_punct", no_punct)
        self.asian_support = check_flag("asian_support", asian_support)
        self.case_sensitive = check_flag("case_sensitive", case_sensitive)

    @cached_property
    def _peer(self) -> Any:
        from sacrebleu.metrics.ter import TER

        return TER(self.normalized, self.no_punct, self.asian_support, self.case_sensitive)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return TER in percent for each row of summed statistics: 100 for words against an empty reference."""
        edits, length = statistics[..., 0], statistics[..., 1]
        without_reference = np.where(edits > 0, 1.0, 0.0)
        return 100 * np.divide(edits, length, out=without_reference, where=length > 0)

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="mixed" if self.case_sensitive else "lc",
            norm=self.normalized,
            punct=not self.no_punct,
            asian=self.asian_support,
            sacrebleu=_peer_version(),
        )


def _f_score(
    precision: NDArray[np.float64], recall: NDArray[np.float64], factor: int, otherwise: float
) -> NDArray[np.float64]:
    weighted = factor * precision + recall
    result: NDArray[np.float64] = np.divide(
        (1 + factor) * precision * recall, weighted, out=np.full(weighted.shape, otherwise), where=weighted > 0
    )
    return result


def _peer_version() -> str:
    import sacrebleu

    return str(sacrebleu.__version__)
