"""Explanations of scores: which parts of an output matched which reference, with what weight and effect.

>>> import trubleu
>>> from trubleu.explain import explain
>>> references = trubleu.References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
>>> explain(trubleu.metric("dbleu-1"), "it was awful", references).orders[0].numerator
1.5
"""

from __future__ import annotations

from trubleu.explain.difference import (
    BucketRow,
    Buckets,
    NGramDifference,
    SegmentDifference,
    SystemComparison,
    compare_systems,
    ngram_differences,
)
from trubleu.explain.explanation import (
    ExplainedOrder,
    ExplainedOutput,
    ExplainedReference,
    Explanation,
    Match,
    NearMiss,
    NGram,
    ReferenceText,
)
from trubleu.explain.segment import explain, is_explainable, most_different, worst
from trubleu.explain.similarity import SimilarityExplanation, SimilarOrder, SimilarReference

__all__ = [
    "BucketRow",
    "Buckets",
    "ExplainedOrder",
    "ExplainedOutput",
    "ExplainedReference",
    "Explanation",
    "Match",
    "NGram",
    "NGramDifference",
    "NearMiss",
    "ReferenceText",
    "SegmentDifference",
    "SimilarOrder",
    "SimilarReference",
    "SimilarityExplanation",
    "SystemComparison",
    "compare_systems",
    "explain",
    "is_explainable",
    "most_different",
    "ngram_differences",
    "worst",
]
