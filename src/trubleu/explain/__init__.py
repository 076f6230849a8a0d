"""Why an output got its score: which n-grams matched which reference, with what weight, and what that came to.

>>> import trubleu
>>> from trubleu.explain import explain
>>> references = trubleu.References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
>>> explain(trubleu.metric("dbleu-1"), "it was awful", references).orders[0].numerator
1.5
"""

from __future__ import annotations

from trubleu.explain.choose import most_different, worst
from trubleu.explain.difference import (
    NGramDifference,
    SegmentDifference,
    SystemComparison,
    compare_systems,
    ngram_differences,
)
from trubleu.explain.difference_tables import render_comparison
from trubleu.explain.explanation import ExplainedOrder, ExplainedReference, Explanation
from trubleu.explain.ngrams import Match, NearMiss, NGram
from trubleu.explain.page import render_page
from trubleu.explain.records import render_json
from trubleu.explain.segment import explain, is_explainable
from trubleu.explain.text import render_text

__all__ = [
    "ExplainedOrder",
    "ExplainedReference",
    "Explanation",
    "Match",
    "NGram",
    "NGramDifference",
    "NearMiss",
    "SegmentDifference",
    "SystemComparison",
    "compare_systems",
    "explain",
    "is_explainable",
    "most_different",
    "ngram_differences",
    "render_comparison",
    "render_json",
    "render_page",
    "render_text",
    "worst",
]
