"""The history of checks: a JSON line a run."""

from __future__ import annotations

import math
import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import DataError
from trubleu.files.jsonl import parse_objects
from trubleu.files.lines import read_text_lines
from trubleu.files.paths import exists, name_of
from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trubleu.checks.check import CheckReport
    from trubleu.files.paths import PathLike

_COMMITS: Final = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GIT_COMMIT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a check, as the history holds it.

    Attributes
    ----------
    time
        When it ended, in UTC.
    commit
        The commit that was checked, None if unknown.
    outcome
        What it came to.
    scores
        By metric: the score and the ends of its interval.
    """

    time: str
    commit: str | None
    outcome: str
    scores: Mapping[str, tuple[float, float, float]]


def history_line(report: CheckReport) -> dict[str, Any]:
    """Return what the history says of a run."""
    return {
        "schema": SCHEMA,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "outcome": report.outcome,
        "verdict": report.verdict,
        "questions": len(report.items),
        "scores": [
            {
                "metric": each.metric,
                "score": each.score,
                "low": each.low,
                "high": each.high,
                "difference": each.difference,
            }
            for each in report.metrics
        ],
        "findings": {level: sum(report.finding_counts(level).values()) for level in ("fail", "warn")},
    }


def read_history(path: PathLike) -> list[Run]:
    """Read the runs of a history, in their order; none if there is no file yet.

    Raises
    ------
    DataError
        If a line is no run.
    """
    if not exists(path):
        return []
    return [run_of(record, place) for place, record in parse_objects(read_text_lines(path), name_of(path))]


def run_of(record: Mapping[str, Any], place: str) -> Run:
    """Return a run from its line."""
    scores: dict[str, tuple[float, float, float]] = {}
    rows = record.get("scores")
    for row in rows if isinstance(rows, list) else ():
        numbers = [row.get(name) for name in ("score", "low", "high")] if isinstance(row, dict) else []
        known = [number for number in numbers if isinstance(number, int | float) and math.isfinite(number)]
        if len(known) != 3:
            raise DataError(f"{place}: a score must have a number for score, low and high; this is no history")
        scores[str(row.get("metric"))] = (known[0], known[1], known[2])
    time, commit_, outcome = (record.get(name) for name in ("time", "commit", "outcome"))
    if (
        not isinstance(rows, list)
        or not isinstance(time, str)
        or not isinstance(outcome, str)
        or not isinstance(commit_, str | None)
    ):
        raise DataError(f"{place}: scores must be an array, and time, commit and outcome texts; this is no history")
    return Run(time=time, commit=commit_, outcome=outcome, scores=scores)


def commit() -> str | None:
    """Return the commit of the working folder: as CI names it, or as git does."""
    for name in _COMMITS:
        if found := os.environ.get(name):
            return found
    try:
        shown = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - git is where the user has it
            capture_output=True,
            text=True,
            check=False,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return shown.stdout.strip() or None
