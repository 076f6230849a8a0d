"""A report of judging by ratings: the verdict, tables, flat rows for programs, and a page."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import counted
from trubleu.judge.ratings.results import LEVELS, measure_title
from trubleu.render.charts import StripRow, interval_text, strip_table, system_chart, table_grid
from trubleu.render.explanation_page import page_script, rendered_page, report_style
from trubleu.render.tables import (
    MISSING,
    Cell,
    Column,
    Estimate,
    Table,
    render_report,
    starred,
    table_of,
)
from trubleu.stats.metric_tests import CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.judge.ratings.results import Level, MeasureRow, RatingsReport, RatingsSetting

_TITLES: Final[dict[Level, str]] = {"segment": "Segment level", "system": "System level"}

_TESTS: Final = {
    "perm-both": "standardised scores of two metrics swapped entry by entry",
    "perm-input": "scores of two metrics swapped item by item",
    "perm-system": "standardised scores of two metrics swapped system by system",
    "bootstrap-segments": "paired bootstrap over items",
    "bootstrap-systems": "paired bootstrap over systems",
    "bootstrap-both": "paired bootstrap over items and systems",
}


def render_ratings(report: RatingsReport, format: str = "text", digits: int = 3, *, all_pairs: bool = False) -> str:  # noqa: A002
    """Render a report in one of the formats of `trubleu.render.tables.render_tables`.

    Parameters
    ----------
    report
        What `judge_ratings` returns.
    format
        ``text``, ``markdown`` and ``latex`` have the verdict, a table for each level, comparisons with the best metric
        and all measures. ``json`` and ``csv`` have flat rows with everything in them, as `RatingsReport.to_dict`.
    digits
        Decimals for people.
    all_pairs
        Whether people see the comparisons of all pairs of metrics, and not only those with the best.
    """
    tables = chain(headline_tables(report), other_tables(report, all_pairs=all_pairs))
    verdicts = [row.verdict for row in report.verdicts]
    return render_report(report, format, digits, verdicts, tables, ratings_notes(report))


def headline_tables(report: RatingsReport) -> Iterator[Table]:
    """Yield a table per level: metrics by cluster, best first."""
    for level in LEVELS:
        rows = report.headline(level)
        if not rows:
            continue
        title = measure_title(level, rows[0].measure)
        columns = [Column("cluster", kind="count"), Column("metric"), Column("value", title, "number", of=_value)]
        if rows[0].measure == CALIBRATED:
            columns.append(Column("epsilon", "ε", "number"))
        yield table_of(rows, columns, f"{_TITLES[level]}: {title}", name=level)


def _value(row: MeasureRow) -> Cell:
    return "undefined" if row.value is None else Estimate(row.value, row.low, row.high, "*" * bool(row.not_worse))


def other_tables(report: RatingsReport, *, all_pairs: bool) -> Iterator[Table]:
    """Yield comparisons of metrics, all measures, and single aspects."""
    rows = [row for row in report.differences if all_pairs or row.metric_x == report.headline(row.level)[0].metric]
    if rows:
        title = "All pairs of metrics" if all_pairs else "The best metric and the others"
        yield table_of(rows, _DIFFERENCE, title, name="differences")
    metrics = [row.metric for row in report.headline("segment")]
    cells = {(row.level, row.measure, row.metric): row.value for row in report.measures}
    measures = dict.fromkeys((row.level, row.measure) for row in report.measures)
    yield Table(
        "All measures",
        [Column("level"), Column("measure"), *(Column(f"of {metric}", metric, "number") for metric in metrics)],
        [
            (level, measure_title(level, measure), *(cells[level, measure, metric] for metric in metrics))
            for level, measure in measures
        ],
        name="all_measures",
    )
    if report.aspects:
        values = {(row.aspect, row.metric): row.value for row in report.aspects}
        title = measure_title("segment", report.aspects[0].measure)
        yield Table(
            f"Each aspect alone: {title}",
            [Column("aspect"), *(Column(f"of {metric}", metric, "number") for metric in metrics)],
            [
                (aspect, *(values[aspect, metric] for metric in metrics))
                for aspect in dict.fromkeys(row.aspect for row in report.aspects)
            ],
            name="aspects",
        )


_DIFFERENCE: Final = (
    Column("level"),
    Column("x", of=lambda row: row.metric_x),
    Column("y", of=lambda row: row.metric_y),
    Column("difference", "x − y", "signed"),
    Column("p", kind="p"),
    Column("p_holm", "p (Holm)", "p", of=lambda row: starred(row.p_holm)),
    Column("items_needed", "items needed", "count"),
)


def described(report: RatingsReport) -> str:
    """Describe the data in one sentence.

    It gives the numbers of systems, items, outputs and ratings.
    """
    setting = report.setting
    what = "ranked pair" if setting.kind == "rankings" else "rating"
    aspects = f" ({setting.aspects})" if setting.aspects else ""
    return (
        f"{setting.name}: {counted(setting.systems, 'system')}, {counted(setting.items, 'item')}, "
        f"{counted(setting.outputs, 'output')}, {counted(setting.ratings, what)}{aspects} by "
        f"{counted(setting.raters, 'rater')}"
    )


def ratings_notes(report: RatingsReport) -> Iterator[str]:
    """Yield notes on how the numbers were computed and what was left out."""
    setting = report.setting
    yield described(report)
    if report.differences:
        yield (
            f"* best or not significantly worse: {setting.test} ({_TESTS[setting.test]}), {setting.trials:,} trials, "
            f"seed {setting.seed}, two-sided, p < {1 - setting.confidence:.2g} after Holm's correction within a level"
        )
        yield "items needed: to find such a difference with a power of 80 %"
    yield (
        f"intervals: {100 * setting.confidence:g} %, percentile bootstrap over {_unit(setting)}, "
        f"{setting.resamples:,} resamples"
    )
    if setting.system_measure is not None:
        yield "the score of a system is the mean of its segment scores over the items rated for it"
    yield from report.notes
    yield from (f"{row.metric}: {row.signature}" for row in report.signatures)


def _unit(setting: RatingsSetting) -> str:
    return "segments, with errors of the references' ratings" if setting.resample == "ratings" else setting.resample


def render_ratings_page(report: RatingsReport, digits: int = 3) -> str:
    """Render a report as one self-contained HTML page.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    named = {table.key: table for table in other_tables(report, all_pairs=True)}
    return rendered_page(
        "ratings.html.j2",
        report_style(),
        page_script(),
        title=f"How well metrics agree with people: {report.setting.name}",
        verdicts=[row.verdict for row in report.verdicts],
        about=described(report),
        warnings=report.notes,
        levels=[_level_view(report, level, digits) for level in LEVELS if report.headline(level)],
        confidence=f"{100 * report.setting.confidence:g} %",
        resample=_unit(report.setting),
        differences=table_grid(named["differences"], digits, "comparisons") if report.differences else None,
        test=f"{report.setting.test}: {_TESTS[report.setting.test]}",
        charts=_system_charts(report),
        measures=table_grid(named["all_measures"], digits, "all measures"),
        aspects=table_grid(named["aspects"], digits, "aspects") if "aspects" in named else None,
        how=[*ratings_notes(report)],
    )


def _level_view(report: RatingsReport, level: Level, digits: int) -> dict[str, Any]:
    rows = report.headline(level)
    title, epsilon = measure_title(level, rows[0].measure), rows[0].measure == CALIBRATED
    shown = []
    for row in rows:
        value = (
            interval_text(row.value, row.low, row.high, digits) if row.reason is None else f"undefined: {row.reason}"
        )
        cells = [row.metric, MISSING if row.cluster is None else str(row.cluster), value]
        if epsilon:
            cells.append(MISSING if row.epsilon is None else f"{row.epsilon:.{digits}g}")
        shown.append(StripRow(cells, (row.value, row.low, row.high), bool(row.not_worse)))
    table = strip_table(_TITLES[level], ["metric", "cluster", title, *["ε"] * epsilon], shown, at=3)
    return {"name": level, "title": _TITLES[level], "measure": title, "table": table}


def _system_charts(report: RatingsReport) -> list[Any]:
    """Return a chart of systems per metric, best first; none without ratings of several systems."""
    rows = [row for row in report.systems if row.people is not None]
    people = {row.system: row.people for row in rows if row.people is not None}
    if len(people) < 2:
        return []
    order = [row.metric for row in report.headline("system") or report.headline("segment")]
    values = {row.metric: row.value for row in report.headline("system")}
    title = measure_title("system", report.setting.system_measure) if report.setting.system_measure else ""
    charts = []
    for metric in order:
        value = values.get(metric)
        note = f"{title} {value:.3f}" if value is not None else ""
        charts.append(
            system_chart(metric, people, {row.system: row.score for row in rows if row.metric == metric}, note)
        )
    return charts
