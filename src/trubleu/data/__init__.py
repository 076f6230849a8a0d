"""What people bring: references with weights, outputs of systems, and the files that hold them."""

from trubleu.data.files import (
    atomic_writer,
    check_standard_input_once,
    check_writable,
    iterate_lines,
    read_text_lines,
)
from trubleu.data.lists import looks_transposed
from trubleu.data.outputs import Outputs, name_systems, parse_system, read_outputs
from trubleu.data.prepared import PreparedReferences
from trubleu.data.ratings import Ratings
from trubleu.data.references import References
from trubleu.data.segments import Reference, Segment
from trubleu.data.stream import LineStream
from trubleu.data.weights import weight_from_ratings

__all__ = [
    "LineStream",
    "Outputs",
    "PreparedReferences",
    "Ratings",
    "Reference",
    "References",
    "Segment",
    "atomic_writer",
    "check_standard_input_once",
    "check_writable",
    "iterate_lines",
    "looks_transposed",
    "name_systems",
    "parse_system",
    "read_outputs",
    "read_text_lines",
    "weight_from_ratings",
]
