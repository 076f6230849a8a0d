"""What people read: scores of several systems with intervals and tests, and tables in any format."""

from __future__ import annotations

from trubleu.report.counting import SegmentRow
from trubleu.report.partitions import score_files
from trubleu.report.reference_check import ReferenceCheck, check_references, render_check
from trubleu.report.score_tables import render
from trubleu.report.scores import LeftOutRow, Sampling, ScoreReport, ScoreRow, TestRow, score_parts, score_systems
from trubleu.report.segment_files import read_segment_scores
from trubleu.report.tables import Bounds, Column, Estimate, Table, render_tables

__all__ = [
    "Bounds",
    "Column",
    "Estimate",
    "LeftOutRow",
    "ReferenceCheck",
    "Sampling",
    "ScoreReport",
    "ScoreRow",
    "SegmentRow",
    "Table",
    "TestRow",
    "check_references",
    "read_segment_scores",
    "render",
    "render_check",
    "render_tables",
    "score_files",
    "score_parts",
    "score_systems",
]
