"""chrF and chrF++ (Popović 2015, 2017): sacreBLEU counts the character and word n-grams."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.errors import UsageError
from trubleu.metrics.base import AnyReferences, check_flag, reference_number
from trubleu.metrics.ter import SacreMetric, _peer_version
from trubleu.signature import Signature, make_signature

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def _f_score(
    precision: NDArray[np.float64], recall: NDArray[np.float64], factor: int, otherwise: float
) -> NDArray[np.float64]:
    weighted = factor * precision + recall
    result: NDArray[np.float64] = np.divide(
        (1 + factor) * precision * recall, weighted, out=np.full(weighted.shape, otherwise), where=weighted > 0
    )
    return result
