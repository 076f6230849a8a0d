"""TruBLEU scores generated text with weighted references and stays true to human judgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names
from trubleu._version import __version__

if TYPE_CHECKING:
    from trubleu import (
        data,
        execution,
        explain,
        files,
        integrations,
        judge,
        metrics,
        mining,
        rating,
        render,
        scoring,
        simulate,
        stats,
        text,
        vectors,
    )
    from trubleu.api import corpus_score
    from trubleu.data.prepared import PreparedReferences
    from trubleu.data.references import References
    from trubleu.errors import DataError, MissingExtraError, TrubleuError, TrubleuWarning, UsageError
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
    from trubleu.metrics.registry import metric
    from trubleu.metrics.sbleu import SentenceBleu, SentenceDeltaBleu
    from trubleu.metrics.ter import Ter
    from trubleu.signature import Signature

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
    "execution",
    "explain",
    "files",
    "integrations",
    "judge",
    "metric",
    "metrics",
    "mining",
    "rating",
    "render",
    "scoring",
    "simulate",
    "stats",
    "text",
    "vectors",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bleu": "metrics.bleu",
        "Bleu2Vec": "metrics.bleu2vec",
        "BleuResult": "metrics.bleu",
        "ChrF": "metrics.chrf",
        "Cider": "metrics.cider",
        "CiderD": "metrics.cider",
        "DataError": "errors",
        "DeltaBleu": "metrics.dbleu",
        "DeltaBleu2Vec": "metrics.bleu2vec",
        "IBleu": "metrics.ibleu",
        "IBleuResult": "metrics.ibleu",
        "LeBleu": "metrics.lebleu",
        "Meteor": "metrics.meteor",
        "Metric": "metrics.base",
        "MissingExtraError": "errors",
        "Nist": "metrics.nist",
        "PreparedReferences": "data.prepared",
        "References": "data.references",
        "Result": "metrics.base",
        "SentenceBleu": "metrics.sbleu",
        "SentenceDeltaBleu": "metrics.sbleu",
        "Signature": "signature",
        "Ter": "metrics.ter",
        "TrubleuError": "errors",
        "TrubleuWarning": "errors",
        "UsageError": "errors",
        "corpus_score": "api",
        "data": ".",
        "execution": ".",
        "explain": ".",
        "files": ".",
        "integrations": ".",
        "judge": ".",
        "metric": "metrics.registry",
        "metrics": ".",
        "mining": ".",
        "rating": ".",
        "render": ".",
        "scoring": ".",
        "simulate": ".",
        "stats": ".",
        "text": ".",
        "vectors": ".",
    },
)
