"""Reports of judging by ratings, on one set or on many: the verdict, tables, flat rows for programs, and a page."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import counted
from trubleu.judge.ratings.results import LEVELS, measure_title
from trubleu.render.charts import Key, interval_chart, regret_chart, system_chart, table_grid, with_strips
from trubleu.render.pages import report_page
from trubleu.render.tables import Cell, Column, Estimate, Table, render_report, row_tables, starred, table_of
from trubleu.stats.metric_tests import CALIBRATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from trubleu.judge.ratings.results import Level, MeasureRow, RatingsReport, RatingsSetting, SetsReport
    from trubleu.render.charts import Chart

_TITLES: Final[dict[Level, str]] = {"segment": "Segment level", "system": "System level"}

_TESTS: Final = {
    "perm-both": "standardised scores of two metrics swapped entry by entry",
    "perm-input": "scores of two metrics swapped item by item",
    "perm-system": "standardised scores of two metrics swapped system by system",
    "bootstrap-segments": "paired bootstrap over items",
    "bootstrap-systems": "paired bootstrap over systems",
    "bootstrap-both": "paired bootstrap over items and systems",
    "williams": "of Pearson's r",
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
    return render_report(format, digits, row_tables(report), tables, ratings_notes(report), verdicts)


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
    metrics = report.metrics()
    measures = (((row.level, measure_title(row.level, row.measure)), row.metric, row.value) for row in report.measures)
    yield metric_table("All measures", ("level", "measure"), measures, metrics, "all_measures")
    if report.aspects:
        title = f"Each aspect alone: {measure_title('segment', report.aspects[0].measure)}"
        aspects = (((row.aspect,), row.metric, row.value) for row in report.aspects)
        yield metric_table(title, ("aspect",), aspects, metrics, "aspects")


def metric_table(
    title: str,
    keys: Sequence[str],
    entries: Iterable[tuple[tuple[str, ...], str, Cell]],
    metrics: Sequence[str],
    name: str,
) -> Table:
    """Return a table with a column per metric; ``entries`` are the first columns of a row, a metric and its cell."""
    cells = defaultdict[tuple[str, ...], dict[str, Cell]](dict)
    for key, metric, cell in entries:
        cells[key][metric] = cell
    columns = [*map(Column, keys), *(Column(f"of {metric}", metric, "number") for metric in metrics)]
    return Table(title, columns, [(*key, *map(row.get, metrics)) for key, row in cells.items()], name=name)


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
    head = f"{setting.name}: {counted(setting.systems, 'system')}, {counted(setting.items, 'item')}"
    if setting.kind == "official":
        return f"{head}, official scores"
    what = "ranked pair" if setting.kind == "rankings" else "rating"
    aspects = f" ({setting.aspects})" if setting.aspects else ""
    by = f" by {counted(setting.raters, 'rater')}" if setting.raters else ", means of raters"
    ratings = f"{counted(setting.ratings, what)}{aspects}{by}"
    official = "" if setting.official is None else f"; official scores of {counted(setting.official, 'system')}"
    return f"{head}, {counted(setting.outputs, 'output')}, {ratings}{official}"


def ratings_notes(report: RatingsReport) -> Iterator[str]:
    """Yield notes on how the numbers were computed and what was left out."""
    setting = report.setting
    yield described(report)
    if report.differences:
        alone = setting.system_test == "williams" and setting.segment_measure is None
        trials = "" if alone or setting.test == "williams" else f" {setting.trials:,} trials, seed {setting.seed},"
        yield (
            f"* best or not significantly worse: {_tests(setting)},{trials} two-sided, "
            f"p < {1 - setting.confidence:.2g} after Holm's correction within a level"
        )
        yield "items needed: to find such a difference with a power of 80 %"
    yield (
        f"intervals: {100 * setting.confidence:g} %, percentile bootstrap over {_unit(setting)}, "
        f"{setting.resamples:,} resamples"
    )
    if setting.system_measure is not None and setting.official is not None:
        yield "the score of a system is that of its corpus"
    elif setting.system_measure is not None:
        yield "the score of a system is the mean of its segment scores over the items rated for it"
    yield from report.notes
    yield from (f"{row.metric}: {row.signature}" for row in report.signatures)


def _tests(setting: RatingsSetting) -> str:
    """Describe the tests; those of two levels may differ."""
    levels = {"segment": setting.test, "system": setting.system_test}
    if setting.segment_measure is None or setting.system_test in (None, setting.test):
        levels = {"": setting.system_test or setting.test}
    named = ((f"{level} level: " * bool(level), test) for level, test in levels.items() if test is not None)
    return "; ".join(f"{level}{test} ({_TESTS[test]})" for level, test in named)


def _unit(setting: RatingsSetting) -> str:
    drawn = {"both": "segments and systems", "ratings": "segments, with errors of the references' ratings"}
    unit = drawn.get(setting.resample, setting.resample)
    if setting.kind == "rankings" and setting.resample in ("systems", "both"):
        return f"segments at the segment level, {unit} at the system level"
    return unit


def render_ratings_page(report: RatingsReport, digits: int = 3) -> str:
    """Render a report as one self-contained HTML page.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    named = {table.key: table for table in other_tables(report, all_pairs=True)}
    return report_page(
        "ratings.html.j2",
        title=f"How well metrics agree with people: {report.setting.name}",
        verdicts=[row.verdict for row in report.verdicts],
        about=described(report),
        warnings=report.notes,
        levels=[_level_view(report, level, digits) for level in LEVELS if report.headline(level)],
        confidence=f"{100 * report.setting.confidence:g} %",
        resample=_unit(report.setting),
        differences=table_grid(named["differences"], digits, "comparisons") if report.differences else None,
        test=_tests(report.setting),
        charts=_system_charts(report),
        official=report.setting.official is not None,
        measures=table_grid(named["all_measures"], digits, "all measures"),
        aspects=table_grid(named["aspects"], digits, "aspects") if "aspects" in named else None,
        how=[*ratings_notes(report)],
    )


def _level_view(report: RatingsReport, level: Level, digits: int) -> dict[str, Any]:
    rows = report.headline(level)
    title = measure_title(level, rows[0].measure)
    columns = [Column("metric"), Column("cluster", kind="count"), Column("value", title, "number", of=_value_or_reason)]
    if rows[0].measure == CALIBRATED:

        def epsilon(row: MeasureRow) -> str | None:
            return None if row.epsilon is None else f"{row.epsilon:.{digits}g}"

        columns.append(Column("epsilon", "ε", "number", of=epsilon))
    grid = table_grid(table_of(rows, columns), digits, _TITLES[level])
    values = [Estimate(row.value, row.low, row.high) for row in rows]
    best = [place for place, row in enumerate(rows) if row.not_worse]
    table = with_strips(grid, values, at=3, best=best)
    return {"name": level, "title": _TITLES[level], "measure": title, "table": table}


def _value_or_reason(row: MeasureRow) -> Cell:
    return Estimate(row.value, row.low, row.high) if row.reason is None else f"undefined: {row.reason}"


def _system_charts(report: RatingsReport) -> list[Chart]:
    """Return a chart of systems per metric, best first; none without ratings of several systems."""
    people = {row.system: row.people for row in report.systems if row.people is not None}
    if len(people) < 2:
        return []
    values = {row.metric: row.value for row in report.headline("system")}
    title = measure_title("system", report.setting.system_measure) if report.setting.system_measure else ""
    charts = []
    for metric in values or (row.metric for row in report.headline("segment")):
        value = values.get(metric)
        scores = {row.system: row.score for row in report.systems if row.metric == metric}
        charts.append(system_chart(metric, people, scores, "" if value is None else f"{title} {value:.3f}"))
    return charts


def ratings_charts(report: RatingsReport) -> Iterator[tuple[str, Chart]]:
    """Yield the charts of a report for files, with their kinds: agreement by metric, and systems for each metric."""
    for level in LEVELS:
        if rows := report.headline(level):
            title = measure_title(level, rows[0].measure)
            estimates = {row.metric: Estimate(row.value, row.low, row.high) for row in rows}
            yield "agreement", interval_chart(f"{_TITLES[level]}: agreement with people", estimates, title)
    for chart in _system_charts(report):
        yield "systems", chart


def sets_charts(report: SetsReport) -> Iterator[tuple[str, Chart]]:
    """Yield the charts of a report on several sets for files: distances from the best, and agreement by metric."""
    order = [each.metric for each in report.regrets]
    chart = _regret_chart(report)
    yield "distance", replace(chart, keys=[Key(f"{place}. {name}", "", "") for place, name in enumerate(order, 1)])
    groups: dict[tuple[str, str], dict[str, Estimate]] = defaultdict(dict)
    for row in report.averages:
        key = (_TITLES[row.level], measure_title(row.level, row.measure))
        groups[key][row.metric] = Estimate(row.value, row.low, row.high)
    for (title, measure), estimates in groups.items():
        yield "agreement", interval_chart(f"{title}: averages over sets", estimates, measure)
    for name, each in report.reports.items():
        for kind, own in ratings_charts(each):
            if kind == "agreement":
                yield kind, replace(own, title=f"{name}, {own.title[0].lower()}{own.title[1:]}")


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
    columns = [
        Column("metric"),
        *_MEAN_AND_WORST,
        Column("best", kind="number", of=lambda row: f"{row.best} of {row.columns}"),
        Column("not significantly worse", kind="number", of=lambda row: f"{row.not_worse} of {row.columns}"),
    ]
    distances = table_grid(table_of(report.regrets, columns), digits, "distances")
    strips = [Estimate(row.mean, 0.0, row.worst) for row in report.regrets]
    return report_page(
        "sets.html.j2",
        title="Metrics on many sets",
        verdicts=[report.verdict],
        distances=with_strips(distances, strips, at=3, best=[0], zero=True),
        charts=[_regret_chart(report)],
        tables=[table_grid(table, digits, table.title.lower()) for table in value_tables(report)],
        how=[*sets_notes(report)],
    )


def _regret_chart(report: SetsReport) -> Chart:
    regrets = {
        each.metric: {
            f"{row.set}, {row.level}": row.regret
            for row in report.values
            if row.metric == each.metric and row.regret is not None
        }
        for each in report.regrets
    }
    return regret_chart("Distance from the best", regrets, {row.metric: row.mean for row in report.regrets})
