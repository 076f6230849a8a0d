"""TruBLEU scores generated text with weighted references and stays true to human judgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names
from trubleu._version import __version__ as __version__

if TYPE_CHECKING:
    from trubleu import compat as compat
    from trubleu import data as data
    from trubleu import execution as execution
    from trubleu import explain as explain
    from trubleu import files as files
    from trubleu import integrations as integrations
    from trubleu import judge as judge
    from trubleu import metrics as metrics
    from trubleu import mining as mining
    from trubleu import rating as rating
    from trubleu import render as render
    from trubleu import scoring as scoring
    from trubleu import simulate as simulate
    from trubleu import stats as stats
    from trubleu import text as text
    from trubleu import vectors as vectors
    from trubleu.api import corpus_score as corpus_score
    from trubleu.data.prepared import PreparedReferences as PreparedReferences
    from trubleu.data.references import References as References
    from trubleu.errors import DataError as DataError
    from trubleu.errors import MissingExtraError as MissingExtraError
    from trubleu.errors import TrubleuError as TrubleuError
    from trubleu.errors import TrubleuWarning as TrubleuWarning
    from trubleu.errors import UsageError as UsageError
    from trubleu.metrics.base import Metric as Metric
    from trubleu.metrics.base import Result as Result
    from trubleu.metrics.bleu import Bleu as Bleu
    from trubleu.metrics.bleu import BleuResult as BleuResult
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
    from trubleu.metrics.registry import metric as metric
    from trubleu.metrics.rouge import Rouge as Rouge
    from trubleu.metrics.rouge import RougeL as RougeL
    from trubleu.metrics.rouge import RougeLsum as RougeLsum
    from trubleu.metrics.sbleu import SentenceBleu as SentenceBleu
    from trubleu.metrics.sbleu import SentenceDeltaBleu as SentenceDeltaBleu
    from trubleu.metrics.ter import Ter as Ter
    from trubleu.metrics.trubleu import TruBleu as TruBleu
    from trubleu.signature import Signature as Signature

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".": "compat data execution explain files integrations judge metrics mining rating render scoring simulate "
        "stats text vectors",
        "_version": "__version__",
        "api": "corpus_score",
        "data.prepared": "PreparedReferences",
        "data.references": "References",
        "errors": "DataError MissingExtraError TrubleuError TrubleuWarning UsageError",
        "metrics.base": "Metric Result",
        "metrics.bleu": "Bleu BleuResult",
        "metrics.bleu2vec": "Bleu2Vec DeltaBleu2Vec",
        "metrics.chrf": "ChrF",
        "metrics.cider": "Cider CiderD",
        "metrics.dbleu": "DeltaBleu",
        "metrics.diversity": "Distinct SelfBleu",
        "metrics.ibleu": "IBleu IBleuResult",
        "metrics.lebleu": "LeBleu",
        "metrics.meteor": "Meteor",
        "metrics.nist": "Nist",
        "metrics.registry": "metric",
        "metrics.rouge": "Rouge RougeL RougeLsum",
        "metrics.sbleu": "SentenceBleu SentenceDeltaBleu",
        "metrics.ter": "Ter",
        "metrics.trubleu": "TruBleu",
        "signature": "Signature",
    },
)
