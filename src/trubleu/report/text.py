"""A report as plain text, for a terminal or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.report.scores import ScoreReport, ScoreRow, TestRow

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def render(report: ScoreReport, digits: int = 2) -> str:
    """Return the report as text: scores, tests, segments, and how the numbers were made."""
    parts = [_scores(report, digits)]
    if report.tests:
        parts.append(_tests(report.tests, digits))
    if report.segments:
        parts.append(_segments(report, digits))
    parts.append("\n".join(_notes(report)))
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Align columns: the first ones to the left, the others to the right.

    Examples
    --------
    >>> print(table(["system", "bleu"], [["a", "9.10"], ["long name", "36.28"]]))
    system      bleu
    ---------  -----
    a           9.10
    long name  36.28
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _scores(report: ScoreReport, digits: int) -> str:
    against = {(test.a, test.metric): test for test in report.tests} if report.baseline is not None else {}
    cells = {(row.system, row.metric): row for row in report.scores}
    header = ["system", *(f"{name} ↓" if name in report.lower_is_better else name for name in report.metrics)]
    rows = [
        [
            f"{system} (baseline)" if system == report.baseline else system,
            *(_score(cells[system, name], against.get((system, name)), digits) for name in report.metrics),
        ]
        for system in report.systems
    ]
    # Where some cells have stars, all others keep their room free, so that numbers stand under each other.
    for column in range(1, len(header)):
        room = max(len(row[column]) - len(row[column].rstrip("*")) for row in rows)
        for row in rows:
            row[column] += " " * (room - (len(row[column]) - len(row[column].rstrip("*"))))
    return table(header, rows)


def _score(row: ScoreRow, test: TestRow | None, digits: int) -> str:
    text = f"{row.score:.{digits}f}"
    if row.low is not None and row.high is not None:
        text += f" [{row.low:.{digits}f}, {row.high:.{digits}f}]"
    return text + stars(test.p_holm if test else 1.0)


def stars(p: float) -> str:
    """Return up to three stars for a p-value.

    Examples
    --------
    >>> stars(0.2), stars(0.04), stars(0.0001)
    ('', '*', '***')
    """
    return next((mark for bound, mark in STARS if p < bound), "")


def _tests(tests: Sequence[TestRow], digits: int) -> str:
    header = ["metric", "a", "b", "a − b", "interval", "effect", "p", "p (Holm)"]
    rows = [
        [
            test.metric,
            test.a,
            test.b,
            f"{test.difference:+.{digits}f}",
            f"[{test.low:+.{digits}f}, {test.high:+.{digits}f}]",
            "–" if test.effect is None else f"{test.effect:+.2f}",
            f"{test.p:.4f}",
            f"{test.p_holm:.4f}" + stars(test.p_holm).ljust(3),
        ]
        for test in tests
    ]
    return table(header, rows, left=3)


def _segments(report: ScoreReport, digits: int) -> str:
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in report.segments:
        score = "–" if row.score is None else f"{row.score:.{digits}f}"
        cells.setdefault((row.id, row.system), {})[row.metric] = score
    rows = [[segment, system, *scores.values()] for (segment, system), scores in cells.items()]
    return table(["segment", "system", *report.metrics], rows, left=2)


def _notes(report: ScoreReport) -> Iterable[str]:
    if report.resamples is not None and report.confidence is not None:
        share = f"{100 * report.confidence:g} %"
        if any(row.low is not None for row in report.scores):
            draws = f"{report.resamples:,} resamples, seed {report.seed}"
            yield f"intervals: {share}, percentile bootstrap of segments, {draws}"
        if report.tests:
            kind = {"bootstrap": "paired bootstrap", "randomisation": "paired approximate randomisation"}
            test = report.tests[0]
            yield (
                f"tests: {kind[test.test]}, {test.n:,} draws, seed {test.seed}, two-sided; p (Holm) is corrected for "
                "all pairs under one metric; * p < 0.05, ** p < 0.01, *** p < 0.001"
            )
    yield from dict.fromkeys(f"{row.metric}: {row.signature}" for row in report.scores)
