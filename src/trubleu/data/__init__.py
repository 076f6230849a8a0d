"""What people bring: references with weights, outputs of systems, and the files that hold them."""

from trubleu.data.categorical import Labels
from trubleu.data.corpus import LineStream
from trubleu.data.dialogues import DialogueFiles
from trubleu.data.human_scores import read_assessments, read_official_scores
from trubleu.data.metric_scores import SegmentScores, SystemScores
from trubleu.data.nested_lists import looks_transposed
from trubleu.data.outputs import Outputs, match_systems, name_systems, parse_system, read_outputs
from trubleu.data.prepared import PreparedReferences
from trubleu.data.rankings import Rankings
from trubleu.data.ratings import Ratings
from trubleu.data.references import Reference, References, Segment
from trubleu.data.seeds import SeedSplit, sample_triples, split_seeds
from trubleu.data.triple_files import TripleFiles, read_triples, write_triples
from trubleu.data.triples import Triple, TripleBatch, TripleList, TripleSource, warn_of_skipped
from trubleu.data.weights import weight_from_ratings

__all__ = [
    "DialogueFiles",
    "Labels",
    "LineStream",
    "Outputs",
    "PreparedReferences",
    "Rankings",
    "Ratings",
    "Reference",
    "References",
    "SeedSplit",
    "Segment",
    "SegmentScores",
    "SystemScores",
    "Triple",
    "TripleBatch",
    "TripleFiles",
    "TripleList",
    "TripleSource",
    "looks_transposed",
    "match_systems",
    "name_systems",
    "parse_system",
    "read_assessments",
    "read_official_scores",
    "read_outputs",
    "read_triples",
    "sample_triples",
    "split_seeds",
    "warn_of_skipped",
    "weight_from_ratings",
    "write_triples",
]
