"""What people said in numbers that nobody counts again: official scores of systems, assessments of segments."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from trubleu.errors import DataError, shown
from trubleu.files.delimited import check_width, delimited_rows, finite, finite_numbers
from trubleu.files.lines import read_text_lines
from trubleu.files.paths import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.files.paths import PathLike

_BORDER = re.compile(r"\s*\++\s*")
# A name holds spaces only where a tab ends it. The range of ranks in brackets is for reading only.
_SCORE = re.compile(r"\s*(?P<name>\S+|\S[^\t]*(?=\t))\s+(?P<score>[^\s()]+)(\s+\([^()]*\))?\s*")

_NOT_ASSESSED = frozenset({"", "na", "nan"})


def read_official_scores(path: PathLike) -> dict[str, float]:
    """Read the scores that people's judgements gave to systems, as WMT publishes them.

    Parameters
    ----------
    path
        A file with ``NAME SCORE (LOW, HIGH)`` a line, where lines of plus signs are borders between clusters and the
        range of ranks may be missing; or CSV whose first line names the columns ``system`` and ``score``. Plain or
        compressed; ``-`` is standard input.

    Returns
    -------
    dict
        The score of each system, in the order of the file.

    Raises
    ------
    DataError
        If the file cannot be read, a line is neither a score nor a border, or a system is there twice, with the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "official.txt"
    >>> _ = path.write_text("online-B 0.567 (1.0, 1.0)\\n++++++\\nonline-A -0.298 (2.0, 4.0)\\n")
    >>> read_official_scores(path)
    {'online-B': 0.567, 'online-A': -0.298}
    """
    name = name_of(path)
    lines = read_text_lines(path)
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise DataError(f"{name} is empty; official scores have NAME SCORE per line")
    titles = [title.strip().strip('"').lower() for title in first.split(",")]
    rows = _from_csv(lines, name) if {"system", "score"} <= set(titles) else _from_lines(lines, name)
    scores: dict[str, float] = {}
    seen: dict[str, int] = {}
    for number, system, text in rows:
        score = finite(text)
        if score is None:
            raise DataError(f"{name}:{number}: the score must be a finite number, not {shown(text)}")
        if system in scores:
            raise DataError(
                f"{name}:{number}: the system {shown(system)} has a score in line {seen[system]} already; "
                "leave one of the two out"
            )
        scores[system] = score
        seen[system] = number
    if not scores:
        raise DataError(f"{name} holds no scores; official scores have NAME SCORE per line")
    return scores


def _from_lines(lines: list[str], name: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or _BORDER.fullmatch(line):
            continue
        match = _SCORE.fullmatch(line)
        if match is None:
            raise DataError(f"{name}:{number}: a line must be NAME SCORE (LOW, HIGH) or plus signs, not {shown(line)}")
        yield number, match["name"], match["score"]


def _from_csv(lines: list[str], name: str) -> Iterator[tuple[int, str, str]]:
    rows = delimited_rows((f"{line}\n" for line in lines), name, ",")
    line, header = next(rows)
    titles = [title.strip().lower() for title in header]
    for title in ("system", "score"):
        if titles.count(title) > 1:
            raise DataError(f"{name}:{line}: there are {titles.count(title)} columns {title}; leave only one of them")
    system, score = titles.index("system"), titles.index("score")
    for number, row in rows:
        check_width(row, header, f"{name}:{number}")
        if not row[system].strip():
            raise DataError(f"{name}:{number}: the system is empty; every line names one")
        yield number, row[system], row[score]


def read_assessments(path: PathLike) -> list[float]:
    """Read people's direct assessments of segments: one number per line, beside the lines of the outputs.

    An empty line, ``NA`` or ``nan`` stands for an output that was not assessed.

    Returns
    -------
    list
        One number a line, NaN where the output was not assessed.

    Raises
    ------
    DataError
        If the file cannot be read or holds no number, or a line is something else.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "human"
    >>> _ = path.write_text("0.358\\n\\n-1.2\\n")
    >>> read_assessments(path)
    [0.358, nan, -1.2]
    """
    name = name_of(path)
    lines = read_text_lines(path)
    if not lines:
        raise DataError(f"{name} is empty; assessments are one number per line")
    there = [row for row, line in enumerate(lines) if line.strip().casefold() not in _NOT_ASSESSED]
    if not there:
        raise DataError(f"{name} holds no assessment; write one number per line, and nothing for an output without one")
    numbers = finite_numbers([lines[row] for row in there], "an assessment", lambda place: f"{name}:{there[place] + 1}")
    assessments = [math.nan] * len(lines)
    for row, number in zip(there, numbers, strict=True):
        assessments[row] = number
    return assessments
