"""The ΔBLEU protocol: units of segments, pairs of systems, rated outputs."""

from __future__ import annotations

from trubleu.judge.pairs.judge import judge_pairs
from trubleu.judge.pairs.results import ComparisonRow, CorrelationRow, PairsReport, Protocol, SweepRow, SystemRow

__all__ = [
    "ComparisonRow",
    "CorrelationRow",
    "PairsReport",
    "Protocol",
    "SweepRow",
    "SystemRow",
    "judge_pairs",
]
