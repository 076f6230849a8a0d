"""Default metrics of each command; without heavy imports, so ``--help`` can show them."""

from __future__ import annotations

from typing import Final, NamedTuple

DEFAULT_METRIC: Final = "trubleu"
"""Default of `trubleu.corpus_score` and the integrations."""

WITHOUT_VECTORS: Final = "bleu-4"
"""Alternative if the ready-made vectors are not installed."""


class Defaults(NamedTuple):
    """The default metrics of a command.

    Attributes
    ----------
    metrics
        Where no reference has a weight.
    with_weights
        Where there are weights.
    """

    metrics: tuple[str, ...]
    with_weights: tuple[str, ...]


_SCORES: Final = Defaults((DEFAULT_METRIC, "bleu-4"), (DEFAULT_METRIC, "bleu-4", "dbleu-2"))
_JUDGED: Final = (DEFAULT_METRIC, "chrf", "bleu-4")

DEFAULTS: Final[dict[str, Defaults]] = {
    "score": _SCORES,
    "compare": _SCORES,
    "explain": Defaults((DEFAULT_METRIC,), (DEFAULT_METRIC,)),
    "judge ratings": Defaults(_JUDGED, (*_JUDGED, "dbleu-2")),
    "judge pairs": Defaults(_JUDGED, (*_JUDGED, "dbleu-2")),
}
"""Default metrics by command, used without ``-m``."""


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
    found = DEFAULTS[command]
    return found.with_weights if weighted else found.metrics


def default_text(command: str) -> str:
    """Describe the default metrics of a command, for its help.

    Examples
    --------
    >>> default_text("score")
    'trubleu and bleu-4; with weights also dbleu-2'
    >>> default_text("explain")
    'trubleu'
    """
    plain, weighted = DEFAULTS[command]
    if plain == weighted:
        return _listed(plain)
    return f"{_listed(plain)}; with weights also {_listed(weighted[len(plain) :])}"


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
