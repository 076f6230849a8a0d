"""What people bring: references with weights, outputs of systems, triples, ratings, and their readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.data.categorical import Labels as Labels
    from trubleu.data.corpus import LineStream as LineStream
    from trubleu.data.dialogues import DialogueFiles as DialogueFiles
    from trubleu.data.metric_scores import SegmentScores as SegmentScores
    from trubleu.data.metric_scores import SystemScores as SystemScores
    from trubleu.data.nested_lists import looks_transposed as looks_transposed
    from trubleu.data.outputs import Outputs as Outputs
    from trubleu.data.outputs import match_systems as match_systems
    from trubleu.data.outputs import name_systems as name_systems
    from trubleu.data.outputs import parse_system as parse_system
    from trubleu.data.outputs import read_outputs as read_outputs
    from trubleu.data.outputs import read_segment_values as read_segment_values
    from trubleu.data.prepared import PreparedReferences as PreparedReferences
    from trubleu.data.rankings import Rankings as Rankings
    from trubleu.data.rankings import read_assessments as read_assessments
    from trubleu.data.rankings import read_official_scores as read_official_scores
    from trubleu.data.ratings import Ratings as Ratings
    from trubleu.data.references import Reference as Reference
    from trubleu.data.references import References as References
    from trubleu.data.references import Segment as Segment
    from trubleu.data.seeds import SeedSplit as SeedSplit
    from trubleu.data.seeds import sample_triples as sample_triples
    from trubleu.data.seeds import split_seeds as split_seeds
    from trubleu.data.sets import EvaluationSet as EvaluationSet
    from trubleu.data.sets import read_published as read_published
    from trubleu.data.sets import write_sets as write_sets
    from trubleu.data.triples import Triple as Triple
    from trubleu.data.triples import TripleBatch as TripleBatch
    from trubleu.data.triples import TripleFiles as TripleFiles
    from trubleu.data.triples import TripleList as TripleList
    from trubleu.data.triples import TripleSource as TripleSource
    from trubleu.data.triples import read_triples as read_triples
    from trubleu.data.triples import warn_of_skipped as warn_of_skipped
    from trubleu.data.triples import write_triples as write_triples
    from trubleu.data.weights import weight_from_ratings as weight_from_ratings

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "categorical": "Labels",
        "corpus": "LineStream",
        "dialogues": "DialogueFiles",
        "metric_scores": "SegmentScores SystemScores",
        "nested_lists": "looks_transposed",
        "outputs": "Outputs match_systems name_systems parse_system read_outputs read_segment_values",
        "prepared": "PreparedReferences",
        "rankings": "Rankings read_assessments read_official_scores",
        "ratings": "Ratings",
        "references": "Reference References Segment",
        "seeds": "SeedSplit sample_triples split_seeds",
        "sets": "EvaluationSet read_published write_sets",
        "triples": "Triple TripleBatch TripleFiles TripleList TripleSource read_triples warn_of_skipped write_triples",
        "weights": "weight_from_ratings",
    },
)
