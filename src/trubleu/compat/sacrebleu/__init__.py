"""sacreBLEU's interface on top of TruBLEU's kernels.

Change ``import sacrebleu`` to ``from trubleu.compat import sacrebleu``, or ``from sacrebleu.metrics import BLEU`` to
``from trubleu.compat.sacrebleu.metrics import BLEU``, and keep the script: arguments, results, signatures and scores
are sacreBLEU's. Everything else, such as test sets, comes from sacreBLEU itself.

One thing differs: sacreBLEU ignores outputs beyond the last reference, and here they are an error.

Examples
--------
>>> from trubleu.compat import sacrebleu
>>> bleu = sacrebleu.corpus_bleu(["the cat sat on the mat"], [["the cat sat on a mat"]])
>>> round(bleu.score, 2), bleu.sys_len
(53.73, 6)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sacrebleu as _theirs
from sacrebleu import corpus_ter, sentence_ter

from trubleu.compat.sacrebleu.metrics import BLEU, CHRF, TER, BLEUScore, CHRFScore

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BLEU",
    "CHRF",
    "TER",
    "corpus_bleu",
    "corpus_chrf",
    "corpus_ter",
    "raw_corpus_bleu",
    "sentence_bleu",
    "sentence_chrf",
    "sentence_ter",
]

_FLOOR = BLEU.SMOOTH_DEFAULTS["floor"]


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    smooth_method: str = "exp",
    smooth_value: float | None = None,
    force: bool = False,
    lowercase: bool = False,
    tokenize: str = BLEU.TOKENIZER_DEFAULT,
    use_effective_order: bool = False,
) -> BLEUScore:
    """Return the BLEU of a corpus; references are one list per reference."""
    metric = BLEU(lowercase, force, tokenize, smooth_method, smooth_value, effective_order=use_effective_order)
    score: BLEUScore = metric.corpus_score(hypotheses, references)
    return score


def raw_corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], smooth_value: float | None = _FLOOR
) -> BLEUScore:
    """Return the BLEU of tokenized texts, with ``floor`` smoothing."""
    return corpus_bleu(hypotheses, references, "floor", smooth_value, True, False, "none", True)


def sentence_bleu(
    hypothesis: str,
    references: Sequence[str],
    smooth_method: str = "exp",
    smooth_value: float | None = None,
    lowercase: bool = False,
    tokenize: str = BLEU.TOKENIZER_DEFAULT,
    use_effective_order: bool = True,
) -> BLEUScore:
    """Return the BLEU of one text."""
    metric = BLEU(lowercase, False, tokenize, smooth_method, smooth_value, effective_order=use_effective_order)
    score: BLEUScore = metric.sentence_score(hypothesis, references)
    return score


def corpus_chrf(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    char_order: int = CHRF.CHAR_ORDER,
    word_order: int = CHRF.WORD_ORDER,
    beta: int = CHRF.BETA,
    remove_whitespace: bool = True,
    eps_smoothing: bool = False,
) -> CHRFScore:
    """Return the chrF of a corpus."""
    metric = CHRF(char_order, word_order, beta, whitespace=not remove_whitespace, eps_smoothing=eps_smoothing)
    score: CHRFScore = metric.corpus_score(hypotheses, references)
    return score


def sentence_chrf(
    hypothesis: str,
    references: Sequence[str],
    char_order: int = CHRF.CHAR_ORDER,
    word_order: int = CHRF.WORD_ORDER,
    beta: int = CHRF.BETA,
    remove_whitespace: bool = True,
    eps_smoothing: bool = False,
) -> CHRFScore:
    """Return the chrF of one text."""
    metric = CHRF(char_order, word_order, beta, whitespace=not remove_whitespace, eps_smoothing=eps_smoothing)
    score: CHRFScore = metric.sentence_score(hypothesis, references)
    return score


def __getattr__(name: str) -> Any:
    return getattr(_theirs, name)
