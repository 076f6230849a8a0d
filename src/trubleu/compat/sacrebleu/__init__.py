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

from functools import update_wrapper
from types import FunctionType
from typing import Any

import sacrebleu as _theirs
from sacrebleu import compat as _functions
from sacrebleu import corpus_ter, sentence_ter

from trubleu.compat.sacrebleu.metrics import BLEU, CHRF, TER

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


def _with_these_classes(function: Any) -> Any:
    """Return sacreBLEU's function, with its arguments, that finds ``BLEU`` and ``CHRF`` in this module."""
    made = FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
    return update_wrapper(made, function)


corpus_bleu = _with_these_classes(_functions.corpus_bleu)
raw_corpus_bleu = _with_these_classes(_functions.raw_corpus_bleu)
sentence_bleu = _with_these_classes(_functions.sentence_bleu)
corpus_chrf = _with_these_classes(_functions.corpus_chrf)
sentence_chrf = _with_these_classes(_functions.sentence_chrf)


def __getattr__(name: str) -> Any:
    return getattr(_theirs, name)
