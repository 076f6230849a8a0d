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

from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

import sacrebleu as _theirs

from trubleu.compat.sacrebleu.metrics import BLEU, CHRF, TER

if TYPE_CHECKING:
    from sacrebleu.compat import (
        corpus_bleu,
        corpus_chrf,
        corpus_ter,
        raw_corpus_bleu,
        sentence_bleu,
        sentence_chrf,
        sentence_ter,
    )

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

# Their functions once more, in a copy of the module that has our classes.
_spec: Any = find_spec("sacrebleu.compat")
_functions = module_from_spec(_spec)
_spec.loader.exec_module(_functions)
vars(_functions).update(BLEU=BLEU, CHRF=CHRF)


def __getattr__(name: str) -> Any:
    return getattr(_functions if name in __all__ else _theirs, name)
