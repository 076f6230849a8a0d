"""sacreBLEU's classes ``BLEU`` and ``CHRF`` on top of TruBLEU's kernels, and its own ``TER``."""

from __future__ import annotations

import logging
import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sacrebleu.metrics import bleu, chrf
from sacrebleu.metrics.bleu import BLEUScore
from sacrebleu.metrics.chrf import CHRFScore
from sacrebleu.metrics.ter import TER, TERScore

from trubleu import text
from trubleu.data import References
from trubleu.errors import TrubleuWarning
from trubleu.metrics import Bleu, ChrF, Ter
from trubleu.native import MAX_ORDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.metrics import Metric

__all__ = ["BLEU", "CHRF", "TER", "BLEUScore", "CHRFScore", "TERScore", "signature_of"]

_TOKENIZED_LINES = 100


class _Counted:
    """Overrides shared by both classes: storing references and counting segments."""

    _force: bool
    _ref_cache: Any
    num_refs: int

    @abstractmethod
    def _ours(self) -> Metric | None:
        """Return TruBLEU's metric for these options; None if only sacreBLEU supports them."""

    def _cache_references(self, references: Sequence[Sequence[str | None]]) -> Any:
        if self._ours() is None:
            return super()._cache_references(references)  # type: ignore[misc]
        kept = References.from_streams(references)
        counts = kept.reference_counts()
        self.num_refs = int(counts[0]) if len(set(counts.tolist())) == 1 else -1
        return kept

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str | None]] | None
    ) -> Any:
        ours = self._ours()
        if ours is None:
            return super()._extract_corpus_statistics(hypotheses, references)  # type: ignore[misc]
        kept = self._cache_references(references) if references else self._ref_cache
        if kept is None:
            raise RuntimeError("there are no references; pass them here or to the constructor")
        if not self._force and sum(line.endswith(" .") for line in hypotheses) >= _TOKENIZED_LINES:
            logging.getLogger("sacrebleu").warning(
                "%d or more outputs end in ' .', as tokenized text does; score detokenized text, or pass force=True",
                _TOKENIZED_LINES,
            )
        # As sacreBLEU, which does not warn about empty references.
        with warnings.catch_warnings(action="ignore", category=TrubleuWarning):
            return ours.statistics(hypotheses, kept).astype(np.int64)

    def _aggregate_and_compute(self, stats: NDArray[np.int64] | list[list[Any]]) -> Any:
        return self._compute_score_from_stats(np.sum(stats, axis=0).tolist())  # type: ignore[attr-defined]


class BLEU(_Counted, bleu.BLEU):
    """sacreBLEU's class, with its arguments, results and signature."""

    def _ours(self) -> Metric | None:
        if self.max_ngram_order > MAX_ORDER:
            return None
        # Tokenizer names that depend on an installed dictionary include its version.
        name = self.tokenizer_signature
        tokenize = name if name in text.names() else lambda line: self.tokenizer(line.rstrip()).split()
        return Bleu(self.max_ngram_order, tokenize=tokenize, lowercase=self.lowercase)


class CHRF(_Counted, chrf.CHRF):
    """sacreBLEU's class, with its arguments, results and signature."""

    def _ours(self) -> Metric | None:
        return ChrF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )


def signature_of(metric: Metric, nrefs: str) -> str | None:
    """Return sacreBLEU's signature of a metric with the same scores as sacreBLEU's; None for any other.

    Parameters
    ----------
    metric
        One of ours.
    nrefs
        How many references a segment has: a number, or ``var``.

    Examples
    --------
    >>> signature_of(Bleu(lowercase=True), "2").rpartition("|")[0]
    'nrefs:2|case:lc|eff:no|tok:13a|smooth:exp'
    """
    theirs: Any
    if type(metric) is Bleu and metric.reference_length == "closest":
        name = metric.tokenizer.name
        if name not in bleu.BLEU.TOKENIZERS:
            return None
        theirs = bleu.BLEU(
            metric.lowercase, True, name, metric.smoothing, metric.smoothing_value, metric.order,
            metric.effective_order,
        )  # fmt: skip
    elif type(metric) is ChrF:
        theirs = CHRF(
            metric.char_order, metric.word_order, metric.beta, metric.lowercase, metric.whitespace, metric.eps_smoothing
        )
    elif type(metric) is Ter:
        theirs = TER(metric.normalized, metric.no_punct, metric.asian_support, metric.case_sensitive)
    else:
        return None
    theirs.num_refs = -1 if nrefs == "var" else int(nrefs)
    return str(theirs.get_signature())
