"""Metrics on many sets: one table, flat rows for programs, and a page with a figure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from trubleu.judge.ratings.results import measure_title
from trubleu.render.charts import StripRow, regret_chart, strip_table, table_grid
from trubleu.render.judge_ratings import described, metric_table
from trubleu.render.pages import page_script, rendered_page, report_style
from trubleu.render.tables import Cell, Column, Estimate, Table, render_report, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.judge.ratings.results import SetsReport

_REFERENCES: Final = re.compile(r"(?<=\|)nrefs:(\w+)")
"""The part of a signature that differs between sets."""


def render_sets(report: SetsReport, format: str = "text", digits: int = 3) -> str:  # noqa: A002
    """Render a report in one of the formats of `trubleu.render.tables.render_tables`.

    Parameters
    ----------
    report
        What `judge_sets` returns.
    format
        ``text``, ``markdown`` and ``latex`` have the verdict, distances from the best, a row for each set and level,
        and averages. ``json`` and ``csv`` have flat rows, as `SetsReport.to_dict`.
    digits
        Decimals for people.
    """
    tables = [regret_table(report), value_table(report), *([average_table(report)] if report.averages else [])]
    return render_report(report, format, digits, [report.verdict], tables, sets_notes(report))


def regret_table(report: SetsReport) -> Table:
    """Return the distance of each metric from the best."""
    columns = [
        Column("metric"),
        Column("mean", kind="number"),
        Column("worst", kind="number"),
        Column("where"),
        Column("best", "times best", "count"),
        Column("not_worse", "not significantly worse", "count"),
        Column("columns", "of", "count"),
    ]
    return table_of(report.regrets, columns, "Distance from the best metric", name="regrets")


def value_table(report: SetsReport) -> Table:
    """Return a table with a row per set and level, and a column per metric."""
    cells: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in report.values:
        key = row.set, row.level, measure_title(row.level, row.measure)
        cells.setdefault(key, {})[row.metric] = Estimate(row.value, mark="*" * row.not_worse)
    metrics = [row.metric for row in report.regrets]
    return metric_table("Agreement with people", ("set", "level", "measure"), cells, metrics, "values")


def average_table(report: SetsReport) -> Table:
    """Return a table with a row per level and measure, and the average over sets of each metric."""
    cells: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in report.averages:
        key = row.level, measure_title(row.level, row.measure)
        cells.setdefault(key, {})[row.metric] = Estimate(row.value, row.low, row.high)
    metrics = [row.metric for row in report.regrets]
    return metric_table("Averages over sets", ("level", "measure"), cells, metrics, "averages")


def sets_notes(report: SetsReport) -> Iterator[str]:
    """Yield notes on the data and methods."""
    yield from report.notes
    yield from (described(each) for each in report.reports.values())
    signatures: dict[tuple[str, str], dict[str, None]] = {}
    for row in (row for each in report.reports.values() for row in each.signatures):
        signature, number = _REFERENCES.sub("nrefs:{}", row.signature), _REFERENCES.search(row.signature)
        signatures.setdefault((row.metric, signature), {}).setdefault(number[1] if number else "")
    for (metric, signature), numbers in sorted(signatures.items()):
        ordered = sorted(numbers, key=lambda number: (not number.isdigit(), int(number) if number.isdigit() else 0))
        yield f"{metric}: {signature.replace('{}', ','.join(ordered))}"


def render_sets_page(report: SetsReport, digits: int = 3) -> str:
    """Render a report as one self-contained HTML page.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    by_metric = {
        regret.metric: {
            f"{row.set}, {row.level}": row.regret
            for row in report.values
            if row.metric == regret.metric and row.regret is not None
        }
        for regret in report.regrets
    }
    rows = [
        StripRow(
            [
                f"{number}. {row.metric}",
                f"{row.mean:.{digits}f}",
                f"{row.worst:.{digits}f}",
                row.where,
                f"{row.best} of {row.columns}",
                f"{row.not_worse} of {row.columns}",
            ],
            (row.mean, 0.0, row.worst),
            number == 1,
        )
        for number, row in enumerate(report.regrets, 1)
    ]
    heads = ["metric", "mean", "worst", "where", "best", "not significantly worse"]
    means = {row.metric: row.mean for row in report.regrets}
    return rendered_page(
        "sets.html.j2",
        report_style(),
        page_script(),
        title="Metrics on many sets",
        verdicts=[report.verdict],
        about="",
        warnings=(),
        distances=strip_table("distances", heads, rows, at=3, texts=(0, 3), zero=True),
        charts=[regret_chart("Distance from the best", by_metric, means)],
        values=table_grid(value_table(report), digits, "agreement with people"),
        averages=table_grid(average_table(report), digits, "averages over sets") if report.averages else None,
        how=[*sets_notes(report)],
    )
