"""Scores, tests and segments as tables: wide ones for people, flat rows for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import counted, some
from trubleu.render.tables import Bounds, Column, Estimate, Table, record_table, render_report, stars, table_of
from trubleu.scoring.systems import LeftOutRow, ScoreRow, SegmentRow, TestRow
from trubleu.stats.paired import MOST_EXACT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trubleu.render.tables import Cell
    from trubleu.scoring.systems import ScoreReport


def render_scores(report: ScoreReport, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a report in one of the formats of `render_tables`.

    Parameters
    ----------
    report
        What `score_systems` returns.
    format
        ``text``, ``markdown`` and ``latex`` have a row per system and a column per metric, then tests, segments and how
        the numbers were made. ``json`` and ``csv`` have flat rows with everything in them, as `ScoreReport.to_dict`.
    digits
        Decimals for people.

    Examples
    --------
    >>> from trubleu import Bleu, References
    >>> from trubleu.scoring import score_systems
    >>> report = score_systems({"A": ["the cat"]}, References.from_lists([["the cat"]]), {"bleu-1": Bleu(1)})
    >>> print(render_scores(report, "csv").splitlines()[1].partition("|")[0])
    A,bleu-1,100.0,,,bleu-1
    """
    records = record_tables(report, flat=format == "csv")
    return render_report(format, digits, records, score_tables(report), score_notes(report, parts=format == "text"))


def record_tables(report: ScoreReport, *, flat: bool = False) -> Iterator[Table]:
    """Yield ``scores``, and ``tests``, ``segments``, ``left_out`` and ``notes`` if any; ``flat`` omits parts."""
    without = ["parts"] * flat + ["ratings_share"] * (not report.of_raters)
    kinds = {"scores": ScoreRow, "tests": TestRow, "segments": SegmentRow, "left_out": LeftOutRow}
    for name, kind in kinds.items():
        rows = getattr(report, name)
        if rows or name == "scores":
            yield record_table(name, kind, rows, without=without)
    if report.notes:
        yield Table("", [Column("note")], [(note,) for note in report.notes], name="notes")


def score_tables(report: ScoreReport) -> list[Table]:
    """Return tables for people: systems by metrics, and tests and segments if there are any."""
    tables = [_scores(report)]
    if report.tests:
        tables.append(table_of(report.tests, _test_columns(report), name="tests"))
    if report.segments:
        tables.append(_segments(report))
    return tables


def score_notes(report: ScoreReport, *, parts: bool = False) -> Iterator[str]:
    """Yield notes on how to read the scores, optionally their components, and how they were computed."""
    for said in dict.fromkeys(report.readings.values()):
        yield f"{', '.join(name for name in report.metrics if report.readings.get(name) == said)}: {said}"
    if report.resamples is not None and report.confidence is not None:
        share = f"{100 * report.confidence:g} %"
        if any(row.low is not None for row in report.scores):
            draws = f"{report.resamples:,} resamples, seed {report.seed}"
            drawn = f"{report.blocks:,} blocks of segments" if report.blocks else "segments"
            yield f"intervals: {share}, percentile bootstrap of {drawn}, {draws}"
        if shares := [row for row in report.scores if row.ratings_share]:
            told = ", ".join(f"{row.system} {row.metric} {_percent(row.ratings_share or 0.0)}" for row in shares)
            yield f"share of the variance due to ratings, which more ratings would reduce: {told}"
        if report.tests:
            yield (
                f"tests: {_test(report)}, two-sided; p (Holm) is corrected for all comparisons under one metric; "
                "* p < 0.05, ** p < 0.01, *** p < 0.001"
            )
        yield from report.notes
    if report.left_out:
        lines = sum(row.last - row.first + 1 for row in report.left_out)
        where = some(f"{row.first:,} to {row.last:,}" for row in report.left_out)
        yield f"left out, as they cannot be used: {counted(lines, 'line')} ({where})"
    for row in report.scores if parts else ():
        if row.parts:
            whose = f"{row.metric} of {row.system}" if len(report.systems) > 1 else row.metric
            yield f"{whose}: {parts_text(row.parts)}"
    yield from dict.fromkeys(f"{row.metric}: {row.signature}" for row in report.scores)


def _test(report: ScoreReport) -> str:
    sampled = [row for row in report.tests if not row.exact]
    drawn = f"{sampled[0].n:,} draws, seed {sampled[0].seed}" if sampled else ""
    if report.tests[0].test == "bootstrap":
        return f"paired bootstrap{', as ratings are resampled too' * report.of_raters}, {drawn}"
    if not sampled:
        return "paired randomisation, all swaps of the segments that differ"
    exact = f" (all swaps where {MOST_EXACT} segments or fewer differ)" * (len(sampled) < len(report.tests))
    return f"paired randomisation, {drawn}{exact}"


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"


SHORT: Final = {
    "brevity_penalty": "BP",
    "hypothesis_length": "hyp_len",
    "reference_length": "ref_len",
    "precision": "P",
    "recall": "R",
}
"""Names of score components, as in sacreBLEU."""


def parts_text(parts: Mapping[str, Any]) -> str:
    """Format the components of a score on one line.

    Examples
    --------
    >>> parts = {"brevity_penalty": 1.0, "hypothesis_length": 12, "reference_length": 11}
    >>> parts_text({"precisions": [60.0, 25.0], **parts})
    '60.0/25.0, BP 1.000, ratio 1.091, hyp_len 12, ref_len 11'
    >>> parts_text({"edits": 1234567, "reference_length": 2000000.5})
    'edits 1234567, ref_len 2000000.5'
    """
    told = []
    for name, value in parts.items():
        if name == "precisions":
            told.append("/".join(f"{each:.1f}" for each in value))
        elif name == "hypothesis_length" and parts.get("reference_length"):
            told += [f"ratio {value / parts['reference_length']:.3f}", f"hyp_len {_length(value)}"]
        elif name.endswith(("length", "edits")):
            told.append(f"{SHORT.get(name, name)} {_length(value)}")
        elif isinstance(value, float):
            told.append(f"{SHORT.get(name, name)} {value:.{3 if name == 'brevity_penalty' else 1}f}")
    return ", ".join(told)


def _length(value: float) -> str:
    return f"{round(value, 2):.15g}"  # lengths of long corpora in full, means of several references shortly


def sure_p(test: TestRow) -> float:
    """Return the p-value for stars: the bootstrap's may be below what the data can give."""
    return max(test.p_holm, test.smallest_p)


def _scores(report: ScoreReport) -> Table:
    marks = {(test.a, test.metric): stars(sure_p(test)) for test in report.tests} if report.baseline is not None else {}
    cells = {
        (row.system, row.metric): Estimate(
            row.score,
            row.low,
            row.high,
            marks.get((row.system, row.metric), ""),
            report.more_digits.get(row.metric, 0),
        )
        for row in report.scores
    }
    columns = [Column(name, f"{name} ↓" * (name in report.lower_is_better), "number") for name in report.metrics]
    rows: list[tuple[Cell, ...]] = []
    for system in report.systems:
        name = f"{system} (baseline)" if system == report.baseline else system
        rows.append((name, *(cells[system, metric] for metric in report.metrics)))
    return Table("", [Column("system"), *columns], rows, name="scores")


def _test_columns(report: ScoreReport) -> list[Column]:
    more = report.more_digits

    def difference(test: TestRow) -> Cell:
        return Estimate(test.difference, more=more.get(test.metric, 0))

    def interval(test: TestRow) -> Cell:
        return Bounds(test.low, test.high, more.get(test.metric, 0))

    return [
        Column("metric"),
        Column("a"),
        Column("b"),
        Column("difference", "a − b", "signed", of=difference),
        Column("interval", kind="signed", of=interval),
        Column("effect", kind="signed", digits=2),
        Column("p", kind="p"),
        Column("p_holm", "p (Holm)", "p", of=lambda test: Estimate(test.p_holm, mark=stars(sure_p(test)))),
    ]


def _segments(report: ScoreReport) -> Table:
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for row in report.segments:
        cell = Estimate(row.score, more=report.more_digits.get(row.metric, 0))
        cells.setdefault((row.id, row.system), {})[row.metric] = cell
    return Table(
        "",
        [Column("id", "segment"), Column("system"), *(Column(name, kind="number") for name in report.metrics)],
        [(segment, system, *(scores[name] for name in report.metrics)) for (segment, system), scores in cells.items()],
        name="segments",
    )
