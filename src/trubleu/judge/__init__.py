"""Judging metrics by people: does a metric agree with them, how sure is that, and is it better than another?"""

from __future__ import annotations

from trubleu.judge.pairs import PairsReport, Protocol, judge_pairs, render_pairs
from trubleu.judge.show import render_page, write_figures
from trubleu.judge.wmt import WmtReport, WmtTask, judge_wmt, read_tasks, render_wmt

__all__ = [
    "PairsReport",
    "Protocol",
    "WmtReport",
    "WmtTask",
    "judge_pairs",
    "judge_wmt",
    "read_tasks",
    "render_page",
    "render_pairs",
    "render_wmt",
    "write_figures",
]
