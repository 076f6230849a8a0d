"""Metrics on many sets: one table, flat rows for programs, and a page with a figure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from trubleu.judge.ratings.results import measure_title
from trubleu.render.charts import regret_chart, strip_table, table_grid
from trubleu.render.judge_ratings import described, metric_table
from trubleu.render.pages import report_page
from trubleu.render.tables import Column, Estimate, Table, render_report, row_tables, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.judge.ratings.sets import SetsReport

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
    tables = regret_table(report), *value_tables(report)
    return render_report(format, digits, row_tables(report), tables, sets_notes(report), [report.verdict])


_MEAN_AND_WORST: Final = (Column("mean", kind="number"), Column("worst", kind="number"), Column("where"))


def regret_table(report: SetsReport) -> Table:
    """Return the distance of each metric from the best."""
    columns = [
        Column("metric"),
        *_MEAN_AND_WORST,
        Column("best", "times best", "count"),
        Column("not_worse", "not significantly worse", "count"),
        Column("columns", "of", "count"),
    ]
    return table_of(report.regrets, columns, "Distance from the best metric", name="regrets")


def value_tables(report: SetsReport) -> Iterator[Table]:
    """Yield a table with a row per set and level, and one with averages over sets; both have a column per metric."""
    metrics = [row.metric for row in report.regrets]
    values = []
    for row in report.values:
        key = row.set, row.level, measure_title(row.level, row.measure)
        values.append((key, row.metric, Estimate(row.value, mark="*" * row.not_worse)))
    yield metric_table("Agreement with people", ("set", "level", "measure"), values, metrics, "values")
    averages = [
        ((row.level, measure_title(row.level, row.measure)), row.metric, Estimate(row.value, row.low, row.high))
        for row in report.averages
    ]
    if averages:
        yield metric_table("Averages over sets", ("level", "measure"), averages, metrics, "averages")


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
    regrets = {
        each.metric: {
            f"{row.set}, {row.level}": row.regret
            for row in report.values
            if row.metric == each.metric and row.regret is not None
        }
        for each in report.regrets
    }
    columns = [
        Column("metric", of=lambda row: f"{report.regrets.index(row) + 1}. {row.metric}"),
        *_MEAN_AND_WORST,
        Column("best", kind="number", of=lambda row: f"{row.best} of {row.columns}"),
        Column("not significantly worse", kind="number", of=lambda row: f"{row.not_worse} of {row.columns}"),
    ]
    distances = table_grid(table_of(report.regrets, columns), digits, "distances")
    strips = [Estimate(row.mean, 0.0, row.worst) for row in report.regrets]
    means = {row.metric: row.mean for row in report.regrets}
    return report_page(
        "sets.html.j2",
        title="Metrics on many sets",
        verdicts=[report.verdict],
        distances=strip_table(distances, strips, at=3, best=[0], zero=True),
        charts=[regret_chart("Distance from the best", regrets, means)],
        tables=[table_grid(table, digits, table.title.lower()) for table in value_tables(report)],
        how=[*sets_notes(report)],
    )
