"""The WMT protocol: official scores of systems, ranked pairs of outputs, direct assessments."""

from __future__ import annotations

from trubleu.judge.wmt.judge import judge_wmt
from trubleu.judge.wmt.results import AgreementRow, DifferenceRow, WmtReport
from trubleu.judge.wmt.task import TaskFiles, WmtTask, read_tasks
from trubleu.judge.wmt.tau import ranking_tau

__all__ = [
    "AgreementRow",
    "DifferenceRow",
    "TaskFiles",
    "WmtReport",
    "WmtTask",
    "judge_wmt",
    "ranking_tau",
    "read_tasks",
]
