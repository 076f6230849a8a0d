"""What people read: scores of several systems with intervals and tests, as text or JSON."""

from __future__ import annotations

from trubleu.report.scores import Sampling, ScoreReport, ScoreRow, SegmentRow, TestRow, score_systems

__all__ = ["Sampling", "ScoreReport", "ScoreRow", "SegmentRow", "TestRow", "score_systems"]
