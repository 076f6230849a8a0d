"""The metrics that are held against each other, by the names that ``trubleu score -m`` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import UsageError
from trubleu.metrics.registry import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu import Metric

METRICS: Final = (
    *("trubleu", "chrf", "chrf++", "bleu-4", "sbleu-4"),
    *("bleu2vec[similarity=shift:0.3]", "bleu2vec-f[similarity=shift:0.3]"),
    *("cider", "cider-d", "meteor", "lebleu", "nist", "ter"),
)
GAMED: Final = ("trubleu", "bleu-4", "chrf", "cider", "meteor", "bleu2vec-f[similarity=shift:0.3]")
TOO_SLOW: Final = {"ter": ("realsumm", "webnlg17", "wmt15-all")}
"""Where a metric takes minutes: TER tries to shift words, and these are many or long texts."""

DIALOGUE: Final = {"tokenize": "words", "lowercase": True}
"""Options of metrics that have them, for dialogue; elsewhere each metric has its own defaults."""


def known(names: Iterable[str]) -> list[str]:
    """Return the names that there is a metric for, and say which there is none for."""
    found = []
    for name in names:
        try:
            parse(name)
        except UsageError as error:
            print(f"{name}: skipped, as {error}")
        else:
            found.append(name)
    return found


def bearable(names: Iterable[str], where: str) -> list[str]:
    """Return the metrics that a set or study can be measured with in little time."""
    return [name for name in names if where not in TOO_SLOW.get(name, ())]


def build(name: str, **options: Any) -> Metric:
    """Make a metric, with those of the options that it has."""
    spec = parse(name)
    return spec.build(**{option: value for option, value in options.items() if spec.accepts(option)})
