"""Integrations with Hugging Face ``evaluate`` and torchmetrics.

`hugging_face` returns the path of the module for ``evaluate``; ``trubleu.integrations.torch`` is the one for
torchmetrics. Notebooks need no integration: results have an HTML representation.
"""

from __future__ import annotations

from importlib.util import find_spec

from trubleu.errors import MissingExtraError

__all__ = ["hugging_face"]


def hugging_face() -> str:
    """Return the path of the module for ``evaluate.load``; nothing is downloaded.

    Examples
    --------
    >>> import evaluate  # doctest: +SKIP
    >>> dbleu = evaluate.load(hugging_face(), "dbleu-2")  # doctest: +SKIP
    >>> dbleu.compute(predictions=["it was great"], references=[["it was great"]])["score"]  # doctest: +SKIP
    100.0
    """
    found = find_spec("trubleu.integrations.evaluate_module.trubleu")
    if found is None or found.origin is None or find_spec("evaluate") is None:
        raise MissingExtraError(
            "the module for Hugging Face evaluate needs the package evaluate; "
            "install it with: pip install 'trubleu[evaluate]'"
        )
    return found.origin
