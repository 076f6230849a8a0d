"""Systems × metrics: scores, intervals and tests of a corpus, as a whole, by partition or by segment."""

from __future__ import annotations

from trubleu.scoring.accumulator import SegmentRow
from trubleu.scoring.partitions import score_files
from trubleu.scoring.reference_check import ReferenceCheck, check_references
from trubleu.scoring.segment_files import read_segment_scores
from trubleu.scoring.systems import LeftOutRow, Sampling, ScoreReport, ScoreRow, TestRow, score_parts, score_systems

__all__ = [
    "LeftOutRow",
    "ReferenceCheck",
    "Sampling",
    "ScoreReport",
    "ScoreRow",
    "SegmentRow",
    "TestRow",
    "check_references",
    "read_segment_scores",
    "score_files",
    "score_parts",
    "score_systems",
]
