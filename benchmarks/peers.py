"""sacreBLEU and NLTK, called as their users call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from nltk.translate.bleu_score import corpus_bleu
from sacrebleu import significance
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sacrebleu.metrics.base import Metric

Streams = Any  # sacreBLEU takes None for "no reference here", but its types do not say so


def forget_tokens() -> None:
    """Empty sacreBLEU's caches of tokenized lines, as they are when a program starts.

    Without this a second run would find up to 65,536 lines already tokenized, which no user's first run does.
    """
    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


def sacrebleu_score(outputs: Sequence[str], streams: Streams, tokenize: str) -> float:
    """Score a system from strings."""
    return float(BLEU(tokenize=tokenize, force=True).corpus_score(outputs, streams).score)


def sacrebleu_prepared(streams: Streams, tokenize: str) -> Any:
    """Return a metric that has counted the references already."""
    return BLEU(tokenize=tokenize, force=True, references=streams)


def nltk_score(
    outputs: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]], order: int = 4
) -> float:
    """Score a system from tokens."""
    return 100.0 * float(corpus_bleu(references, outputs, weights=(1.0 / order,) * order))


class SacrebleuTest:
    """sacreBLEU's paired bootstrap, given the statistics of both systems.

    Only the test itself: neither the extraction of statistics nor the baseline's own interval, for which sacreBLEU
    resamples the baseline once more, is part of it.
    """

    def __init__(self, baseline: NDArray[np.float64], system: NDArray[np.float64]) -> None:
        metric = _GivenStatistics(system.astype(np.int64).tolist())
        rows = baseline.astype(np.int64).tolist()
        result = significance.Result(metric._aggregate_and_compute(rows).score)  # noqa: SLF001
        self._known = {"BLEU": (rows, result)}
        self._metrics: dict[str, Metric] = {"BLEU": metric}
        self._outputs = [""] * len(rows)

    def run(self, resamples: int) -> float:
        """Return the p-value."""
        run = significance._paired_bs_test  # noqa: SLF001
        _, results = run(self._known, "system", self._outputs, None, self._metrics, resamples, seed=12345)
        p_value = results["BLEU"].p_value
        assert p_value is not None  # noqa: S101
        return p_value


class _GivenStatistics(BLEU):
    """BLEU that finds its statistics already extracted."""

    def __init__(self, rows: list[list[int]]) -> None:
        super().__init__(force=True)
        self._rows = rows

    def _extract_corpus_statistics(self, hypotheses: Sequence[str], references: Streams | None) -> list[list[int]]:  # noqa: ARG002
        return self._rows
