"""Metrics under one contract: statistics that add up, and a score of their sum."""

from __future__ import annotations

from trubleu.metrics.bleu import Bleu, BleuResult
from trubleu.metrics.catalogue import MetricDescription, describe
from trubleu.metrics.cider import Cider, CiderD
from trubleu.metrics.contract import Metric, Result
from trubleu.metrics.dbleu import DeltaBleu
from trubleu.metrics.ibleu import IBleu, IBleuResult
from trubleu.metrics.lebleu import LeBleu
from trubleu.metrics.meteor import Meteor
from trubleu.metrics.nist import Nist
from trubleu.metrics.peers import ChrF, Ter
from trubleu.metrics.registry import metric, names
from trubleu.metrics.sentence import SentenceBleu, SentenceDeltaBleu
from trubleu.metrics.soft import Bleu2Vec
from trubleu.metrics.soft_delta import DeltaBleu2Vec

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
