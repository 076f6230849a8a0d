"""Metrics under one interface: statistics that add up, and a score of their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.metrics.base import Metric, Result
    from trubleu.metrics.bleu import Bleu, BleuResult
    from trubleu.metrics.bleu2vec import Bleu2Vec, DeltaBleu2Vec
    from trubleu.metrics.chrf import ChrF
    from trubleu.metrics.cider import Cider, CiderD
    from trubleu.metrics.dbleu import DeltaBleu
    from trubleu.metrics.ibleu import IBleu, IBleuResult
    from trubleu.metrics.lebleu import LeBleu
    from trubleu.metrics.meteor import Meteor
    from trubleu.metrics.nist import Nist
    from trubleu.metrics.registry import MetricDescription, describe, metric, names
    from trubleu.metrics.sbleu import SentenceBleu, SentenceDeltaBleu
    from trubleu.metrics.ter import Ter

__all__ = [
    "Bleu",
    "Bleu2Vec",
    "BleuResult",
    "ChrF",
    "Cider",
    "CiderD",
    "DeltaBleu",
    "DeltaBleu2Vec",
    "IBleu",
    "IBleuResult",
    "LeBleu",
    "Meteor",
    "Metric",
    "MetricDescription",
    "Nist",
    "Result",
    "SentenceBleu",
    "SentenceDeltaBleu",
    "Ter",
    "describe",
    "metric",
    "names",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bleu": "bleu",
        "Bleu2Vec": "bleu2vec",
        "BleuResult": "bleu",
        "ChrF": "chrf",
        "Cider": "cider",
        "CiderD": "cider",
        "DeltaBleu": "dbleu",
        "DeltaBleu2Vec": "bleu2vec",
        "IBleu": "ibleu",
        "IBleuResult": "ibleu",
        "LeBleu": "lebleu",
        "Meteor": "meteor",
        "Metric": "base",
        "MetricDescription": "registry",
        "Nist": "nist",
        "Result": "base",
        "SentenceBleu": "sbleu",
        "SentenceDeltaBleu": "sbleu",
        "Ter": "ter",
        "describe": "registry",
        "metric": "registry",
        "names": "registry",
    },
)
