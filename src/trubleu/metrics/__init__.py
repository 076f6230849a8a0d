"""Metrics with one interface: additive statistics per segment, and a score of their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.metrics.base import FResult as FResult
    from trubleu.metrics.base import Metric as Metric
    from trubleu.metrics.base import Result as Result
    from trubleu.metrics.bleu import Bleu as Bleu
    from trubleu.metrics.bleu import BleuResult as BleuResult
    from trubleu.metrics.bleu2vec import AlignedNgrams as AlignedNgrams
    from trubleu.metrics.bleu2vec import Bleu2Vec as Bleu2Vec
    from trubleu.metrics.bleu2vec import DeltaBleu2Vec as DeltaBleu2Vec
    from trubleu.metrics.chrf import ChrF as ChrF
    from trubleu.metrics.cider import Cider as Cider
    from trubleu.metrics.cider import CiderD as CiderD
    from trubleu.metrics.dbleu import DeltaBleu as DeltaBleu
    from trubleu.metrics.diversity import Distinct as Distinct
    from trubleu.metrics.diversity import SelfBleu as SelfBleu
    from trubleu.metrics.ibleu import IBleu as IBleu
    from trubleu.metrics.ibleu import IBleuResult as IBleuResult
    from trubleu.metrics.lebleu import LeBleu as LeBleu
    from trubleu.metrics.meteor import Meteor as Meteor
    from trubleu.metrics.nist import Nist as Nist
    from trubleu.metrics.registry import MetricDescription as MetricDescription
    from trubleu.metrics.registry import describe as describe
    from trubleu.metrics.registry import metric as metric
    from trubleu.metrics.registry import names as names
    from trubleu.metrics.rouge import Rouge as Rouge
    from trubleu.metrics.rouge import RougeL as RougeL
    from trubleu.metrics.rouge import RougeLsum as RougeLsum
    from trubleu.metrics.sbleu import SentenceBleu as SentenceBleu
    from trubleu.metrics.sbleu import SentenceDeltaBleu as SentenceDeltaBleu
    from trubleu.metrics.ter import Ter as Ter
    from trubleu.metrics.ter import TerResult as TerResult
    from trubleu.metrics.trubleu import ComparedReference as ComparedReference
    from trubleu.metrics.trubleu import SegmentParts as SegmentParts
    from trubleu.metrics.trubleu import TruBleu as TruBleu

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base": "FResult Metric Result",
        "bleu": "Bleu BleuResult",
        "bleu2vec": "AlignedNgrams Bleu2Vec DeltaBleu2Vec",
        "chrf": "ChrF",
        "cider": "Cider CiderD",
        "dbleu": "DeltaBleu",
        "diversity": "Distinct SelfBleu",
        "ibleu": "IBleu IBleuResult",
        "lebleu": "LeBleu",
        "meteor": "Meteor",
        "nist": "Nist",
        "registry": "MetricDescription describe metric names",
        "rouge": "Rouge RougeL RougeLsum",
        "sbleu": "SentenceBleu SentenceDeltaBleu",
        "ter": "Ter TerResult",
        "trubleu": "ComparedReference SegmentParts TruBleu",
    },
)
