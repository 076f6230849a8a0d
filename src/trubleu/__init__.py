"""TruBLEU scores generated text with weighted references and stays true to human judgement."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from trubleu._version import __version__

if TYPE_CHECKING:
    from trubleu import data, explain, integrations, judge, metrics, mining, simulate, stats, text, vectors
    from trubleu.data import PreparedReferences, References
    from trubleu.errors import DataError, MissingExtraError, TrubleuError, TrubleuWarning, UsageError
    from trubleu.hurry import corpus_score
    from trubleu.metrics import (
        Bleu,
        Bleu2Vec,
        BleuResult,
        ChrF,
        Cider,
        CiderD,
        DeltaBleu,
        DeltaBleu2Vec,
        IBleu,
        IBleuResult,
        LeBleu,
        Meteor,
        Metric,
        Nist,
        Result,
        SentenceBleu,
        SentenceDeltaBleu,
        Ter,
        metric,
    )
    from trubleu.signature import Signature

# Where each public name lives. They load when first used, so that `import trubleu` and `trubleu --help` are quick.
_HOMES = {
    "Bleu": "trubleu.metrics",
    "Bleu2Vec": "trubleu.metrics",
    "BleuResult": "trubleu.metrics",
    "ChrF": "trubleu.metrics",
    "Cider": "trubleu.metrics",
    "CiderD": "trubleu.metrics",
    "DataError": "trubleu.errors",
    "DeltaBleu": "trubleu.metrics",
    "DeltaBleu2Vec": "trubleu.metrics",
    "IBleu": "trubleu.metrics",
    "IBleuResult": "trubleu.metrics",
    "LeBleu": "trubleu.metrics",
    "Meteor": "trubleu.metrics",
    "Metric": "trubleu.metrics",
    "MissingExtraError": "trubleu.errors",
    "Nist": "trubleu.metrics",
    "PreparedReferences": "trubleu.data",
    "References": "trubleu.data",
    "Result": "trubleu.metrics",
    "SentenceBleu": "trubleu.metrics",
    "SentenceDeltaBleu": "trubleu.metrics",
    "Signature": "trubleu.signature",
    "Ter": "trubleu.metrics",
    "TrubleuError": "trubleu.errors",
    "TrubleuWarning": "trubleu.errors",
    "UsageError": "trubleu.errors",
    "corpus_score": "trubleu.hurry",
    "metric": "trubleu.metrics",
}
_MODULES = (
    "data",
    "explain",
    "integrations",
    "judge",
    "metrics",
    "mining",
    "report",
    "simulate",
    "stats",
    "text",
    "vectors",
)

__all__ = [
    "Bleu",
    "Bleu2Vec",
    "BleuResult",
    "ChrF",
    "Cider",
    "CiderD",
    "DataError",
    "DeltaBleu",
    "DeltaBleu2Vec",
    "IBleu",
    "IBleuResult",
    "LeBleu",
    "Meteor",
    "Metric",
    "MissingExtraError",
    "Nist",
    "PreparedReferences",
    "References",
    "Result",
    "SentenceBleu",
    "SentenceDeltaBleu",
    "Signature",
    "Ter",
    "TrubleuError",
    "TrubleuWarning",
    "UsageError",
    "__version__",
    "corpus_score",
    "data",
    "explain",
    "integrations",
    "judge",
    "metric",
    "metrics",
    "mining",
    "simulate",
    "stats",
    "text",
    "vectors",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"trubleu.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'trubleu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
