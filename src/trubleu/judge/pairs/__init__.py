"""The ΔBLEU protocol: units of segments, pairs of systems, rated outputs."""

from __future__ import annotations

from trubleu.judge.pairs.judging import judge_pairs
from trubleu.judge.pairs.protocol import Protocol
from trubleu.judge.pairs.results import ComparisonRow, CorrelationRow, PairsReport, SweepRow, SystemRow
from trubleu.judge.pairs.tables import render_pairs

__all__ = [
    "ComparisonRow",
    "CorrelationRow",
    "PairsReport",
    "Protocol",
    "SweepRow",
    "SystemRow",
    "judge_pairs",
    "render_pairs",
]
