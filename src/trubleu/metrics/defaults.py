"""Default metrics of each command; without heavy imports, so ``--help`` can show them."""

from __future__ import annotations

from typing import Final

DEFAULT_METRIC: Final = "trubleu"
"""Default of `trubleu.corpus_score` and the integrations."""

WITHOUT_VECTORS: Final = "bleu-4"
"""Alternative if the ready-made vectors are not installed."""


WITH_WEIGHTS: Final = "dbleu-2"
"""Also shown where references have weights, beside other metrics."""

_SCORES: Final = (DEFAULT_METRIC, "bleu-4")
_JUDGED: Final = (DEFAULT_METRIC, "chrf", "bleu-4")

DEFAULTS: Final = {
    "score": _SCORES,
    "compare": _SCORES,
    "explain": (DEFAULT_METRIC,),
    "check": (DEFAULT_METRIC,),
    "judge ratings": _JUDGED,
    "judge pairs": _JUDGED,
}
"""Default metrics by command, used without ``-m``, for references without weights."""


def default_metrics(command: str, *, weighted: bool) -> tuple[str, ...]:
    """Return the default metrics of a command.

    Parameters
    ----------
    command
        As people type it, such as ``judge pairs``.
    weighted
        Whether there are weights of references.

    Examples
    --------
    >>> default_metrics("score", weighted=True)
    ('trubleu', 'bleu-4', 'dbleu-2')
    """
    plain: tuple[str, ...] = DEFAULTS[command]
    return (*plain, WITH_WEIGHTS) if weighted and len(plain) > 1 else plain


def default_text(command: str) -> str:
    """Describe the default metrics of a command, for its help.

    Examples
    --------
    >>> default_text("score")
    'trubleu and bleu-4; with weights also dbleu-2'
    >>> default_text("explain")
    'trubleu'
    """
    *others, last = DEFAULTS[command]
    return f"{', '.join(others)} and {last}; with weights also {WITH_WEIGHTS}" if others else last
