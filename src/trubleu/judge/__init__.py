"""Judging metrics by people: does a metric agree with them, how sure is that, and is it better than another?"""

from __future__ import annotations

from trubleu.judge.pairs import PairsReport, Protocol, judge_pairs
from trubleu.judge.ratings import RatingsReport, SetsReport, judge_ratings, judge_sets
from trubleu.judge.wmt import WmtReport, WmtTask, judge_wmt, read_tasks

__all__ = [
    "PairsReport",
    "Protocol",
    "RatingsReport",
    "SetsReport",
    "WmtReport",
    "WmtTask",
    "judge_pairs",
    "judge_ratings",
    "judge_sets",
    "judge_wmt",
    "read_tasks",
]
