"""A report of the ΔBLEU protocol: the verdict, tables, flat rows for programs, and a page with a segment browser."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import counted
from trubleu.judge.pairs.results import Measure
from trubleu.judge.report import Rival, brief_interval, data_needed, standard_error, verdict
from trubleu.metrics.trubleu import TruBleu
from trubleu.render.charts import TITLES, legend_keys, scatter_chart, strip_table, sweep_charts, table_grid
from trubleu.render.explanations import STEPS
from trubleu.render.judge_ratings import metric_table
from trubleu.render.judge_segments import can_be_shown, default_measure, kinds, most_disagreeing, observation_view
from trubleu.render.pages import report_page
from trubleu.render.tables import (
    MISSING,
    Bounds,
    Cell,
    Column,
    Estimate,
    Table,
    render_report,
    row_tables,
    starred,
    table_of,
)
from trubleu.signature import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.judge.pairs.results import ComparisonRow, CorrelationRow, PairsReport, SweepName
    from trubleu.render.charts import StripTable

LEVEL: Final = 0.05
"""Significance level."""

BROWSE: Final = 200
"""Default number of observations on a page."""

_KINDS_OF_INTERVALS: Final = (
    "segments and systems: bootstrap over both; Fisher: with N = both signs of every unit, as the ΔBLEU paper printed; "
    "Fieller: every unit counted once; the last two take units for independent"
)


def render_pairs(report: PairsReport, format: str = "text", digits: int = 3) -> str:  # noqa: A002
    """Render a report in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    report
        What `judge_pairs` returns.
    format
        ``text``, ``markdown`` and ``latex`` have the verdict and tables as people print them. ``json`` and ``csv``
        have flat rows with everything in them, as `PairsReport.to_dict`.
    digits
        Decimals for people.
    """
    tables = pairs_tables(report)
    return render_report(format, digits, row_tables(report), tables, pairs_notes(report), pairs_verdict(report))


def pairs_verdict(report: PairsReport) -> Iterator[str]:
    """State which measure agrees best with people, whether that is significant, and how much data would settle it."""
    defined = [row for row in report.correlations if row.spearman is not None]
    if not defined:
        yield "No correlation is defined: the scores or the ratings do not vary."
        return
    best = max(defined, key=_rho)
    tests = {frozenset(_compared(row)): row for row in report.comparisons}
    rivals = [
        _rival(row, _rho(best) - _rho(row), tests.get(frozenset({_measure(best), _measure(row)})), report)
        for row in defined
        if row is not best
    ]
    shown = brief_interval(_rho(best), best.spearman_low, best.spearman_high)
    head = f"{_measure(best)} agrees best with people: Spearman's ρ {shown}"
    yield verdict(head, rivals, LEVEL, _segments(report), "rated segments")
    if best.spearman_low is not None and best.spearman_low <= 0 <= (best.spearman_high or 0.0):
        yield "The interval holds 0: these data do not show that it agrees with people at all."


def _rho(row: CorrelationRow) -> float:
    return row.spearman or 0.0


def _segments(report: PairsReport) -> int:
    return max(row.segments for row in report.pairs)


def _rival(row: CorrelationRow, difference: float, test: ComparisonRow | None, report: PairsReport) -> Rival:
    name = str(_measure(row))
    if test is None or test.spearman_difference_low is None or test.spearman_difference_high is None:
        return Rival(name, difference, None if test is None else test.spearman_p_holm)
    ends = test.spearman_difference_low, test.spearman_difference_high
    error = standard_error(*ends, report.setting.confidence)
    return Rival(name, difference, test.spearman_p_holm, data_needed(_segments(report), difference, error))


def pairs_tables(report: PairsReport) -> list[Table]:
    """Return the non-empty tables for people."""
    tables = [
        table_of(report.correlations, _COEFFICIENTS, "Agreement with people", name="correlations"),
        _other_intervals(report),
    ]
    if report.comparisons:
        tables.append(table_of(report.comparisons, _COMPARISON, "Which agrees better", name="comparisons"))
    tables += [_sweep(report, sweep) for sweep in dict.fromkeys(row.sweep for row in report.sweeps)]
    columns = [Column("a"), Column("b"), Column("segments", kind="count"), Column("units", kind="count")]
    return [*tables, _systems(report), table_of(report.pairs, columns, "Pairs", name="pairs")]


def pairs_notes(report: PairsReport) -> Iterator[str]:
    """Yield notes on how the numbers were computed."""
    setting = report.setting
    units = sum(row.units for row in report.pairs)
    share = f"{100 * setting.confidence:g} %"
    yield (
        f"units of {counted(setting.unit, 'segment')}, {units:,} in {counted(len(report.pairs), 'pair')} of systems, "
        f"N = {2 * units:,} with both signs; means over {setting.draws:,} draws, seed {setting.seed}"
    )
    yield (
        f"intervals: {share}, percentile bootstrap over segments, {setting.resamples:,} replicates of one draw each; "
        "p: the same replicates, two-sided, corrected for all comparisons (Holm); "
        "* p < 0.05, ** p < 0.01, *** p < 0.001"
    )
    if report.sweeps:
        yield f"sweeps: {setting.sweep_draws:,} draws and {setting.sweep_resamples:,} replicates a point"
    yield from report.notes
    yield from dict.fromkeys(f"{_measure(row)}: {row.signature}" for row in report.correlations)


def _measure(row: Any) -> Measure:
    """Return the measure of a row."""
    return Measure(metric=row.metric, condition=row.condition)


def _compared(row: ComparisonRow) -> tuple[Measure, Measure]:
    """Return the measures of a comparison, that with the larger ρ first."""
    x = Measure(metric=row.metric_x, condition=row.condition_x)
    y = Measure(metric=row.metric_y, condition=row.condition_y)
    return (y, x) if (row.spearman_difference or 0.0) < 0 else (x, y)


def _estimate(row: Any, name: str) -> Estimate:
    return Estimate(*(getattr(row, each) for each in (name, f"{name}_low", f"{name}_high")))


_MEASURE: Final = (Column("metric"), Column("condition", "references"))
_COEFFICIENTS: Final = (
    *_MEASURE,
    Column("spearman", "Spearman's ρ", "number", of=lambda row: _estimate(row, "spearman")),
    Column("kendall", "Kendall's τ", "number", of=lambda row: _estimate(row, "kendall")),
)


def _bounds(name: str, row: CorrelationRow) -> Cell:
    low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
    return None if low is None or high is None else Bounds(low, high)


def _other_intervals(report: PairsReport) -> Table:
    kinds = {"systems": "segments and systems", "fisher": "Fisher", "fieller": "Fieller"}
    columns = [
        Column(f"{name}_{kind}", f"{letter}: {title}", "number", of=partial(_bounds, f"{name}_{kind}"))
        for name, letter in (("spearman", "ρ"), ("kendall", "τ"))
        for kind, title in kinds.items()
    ]
    return table_of(
        report.correlations, [*_MEASURE, *columns], "Other intervals", [_KINDS_OF_INTERVALS], name="intervals"
    )


_COMPARISON: Final = (
    Column("x", of=lambda row: str(_compared(row)[0])),
    Column("y", of=lambda row: str(_compared(row)[1])),
    Column("spearman_difference", "ρ(x) − ρ(y)", "signed", of=lambda row: _difference(row, "spearman")),
    Column("spearman_p_holm", "p (Holm)", "p", of=lambda row: starred(row.spearman_p_holm)),
    Column("kendall_difference", "τ(x) − τ(y)", "signed", of=lambda row: _difference(row, "kendall")),
    Column("kendall_p_holm", "p (Holm) of τ", "p", of=lambda row: starred(row.kendall_p_holm)),
)


def _difference(row: ComparisonRow, name: str) -> Estimate:
    """Return a difference, of the measure with the larger ρ less the other."""
    value, low, high, _ = _estimate(row, f"{name}_difference")
    if value is not None and (row.spearman_difference or 0.0) < 0:
        value, low, high = -value, None if high is None else -high, None if low is None else -low
    return Estimate(value, low, high)


def _sweep(report: PairsReport, sweep: SweepName) -> Table:
    rows = [row for row in report.sweeps if row.sweep == sweep]
    sign = "w>=" if sweep == "threshold" else ""
    entries = (((sign + number_text(row.value),), row.metric, _estimate(row, "spearman")) for row in rows)
    conditions = ", ".join(dict.fromkeys(row.condition for row in rows if row.condition is not None))
    title = f"Spearman's ρ by {TITLES[sweep]}" + f" (references: {conditions})" * bool(conditions)
    return metric_table(title, (sweep,), entries, [*dict.fromkeys(row.metric for row in rows)], f"sweep_{sweep}")


def _systems(report: PairsReport) -> Table:
    measures = list(dict.fromkeys(map(_measure, report.system_scores)))
    scores = {(row.system, _measure(row)): row.score for row in report.system_scores}
    columns = [
        Column("system"),
        Column("mean_rating", "mean rating", "number", digits=2),
        Column("rated", "segments", "count"),
        Column("ratings", kind="count"),
        Column(
            "equal_share",
            "equal to a reference",
            "number",
            of=lambda row: f"{100 * row.equal_share:.1f} %" if row.rated else MISSING,
        ),
    ]
    for place, measure in enumerate(measures):
        of = partial(lambda measure, row: scores.get((row.system, measure)), measure)
        columns.append(Column(f"score_{place}", str(measure), "number", 2, of))
    ordered = sorted(report.systems, key=lambda row: -(row.mean_rating or -math.inf))
    return table_of(ordered, columns, "Systems", name="systems")


def render_judge_page(report: PairsReport, *, browse: int = BROWSE, measure: Measure | None = None) -> str:
    """Render a report as a page.

    Parameters
    ----------
    report
        What judging metrics by people yielded.
    browse
        How many segments to show: those where the metric and people disagree most.
    measure
        By which metric, and under which condition; the best-agreeing one that can be explained if left out.

    Returns
    -------
    str
        HTML that can be written to one file.

    Raises
    ------
    UsageError
        If the report does not hold the measure.
    MissingExtraError
        If Jinja2 is not installed.
    """
    coefficients = {_measure(row): row.spearman for row in report.correlations}
    grids = {table.key: table_grid(table, 3, table.key) for table in pairs_tables(report)}
    setting, units = report.setting, sum(row.units for row in report.pairs)
    segments, pairs = counted(setting.unit, "segment"), counted(len(report.pairs), "pair")
    return report_page(
        "judge.html.j2",
        "judge.js",
        title="How well metrics agree with people",
        verdicts=[*pairs_verdict(report)],
        about=f"{counted(units, 'unit')} of {segments} from {pairs} of {counted(len(report.systems), 'system')}",
        warnings=report.notes,
        agreement=_agreement(report),
        confidence=f"{100 * setting.confidence:g} %",
        level=f"{LEVEL:g}",
        grids=grids,
        charts=sweep_charts(report.sweeps),
        legend_keys=legend_keys([*dict.fromkeys(row.metric for row in report.sweeps)]),
        scatters=[scatter_chart(report.cloud, each, coefficients.get(each)) for each in report.cloud.scores],
        how=[*pairs_notes(report)],
        steps=STEPS,
        **_browser(report, default_measure(report) if measure is None else measure, browse),
    )


def _agreement(report: PairsReport) -> StripTable:
    """Return the table of coefficients, largest ρ first, undefined ones last."""
    ordered = sorted(report.correlations, key=lambda row: (row.spearman is None, -_rho(row)))
    columns = [*_COEFFICIENTS, Column("units", kind="count")]
    if any(row.undefined for row in ordered):
        columns.append(Column("undefined", "draws without a value", "count", of=lambda row: row.undefined or ""))
    grid = table_grid(table_of(ordered, columns), 3, "agreement of measures with people")
    best = [place for place, row in enumerate(ordered[:1]) if row.spearman is not None]
    return strip_table(grid, [_estimate(row, "spearman") for row in ordered], at=3, best=best, zero=True)


def _browser(report: PairsReport, measure: Measure | None, count: int) -> dict[str, Any]:
    """Return the template values of the segment browser."""
    if measure is None or not report.evidence:
        return {"measure": None, "observations": []}
    selection = most_disagreeing(report, measure, count)
    views = [observation_view(report, measure, one) for one in selection.observations]
    metric = report.metrics.get(measure.metric)
    explained = can_be_shown(metric, measure)
    return {
        "measure": measure,
        "weighted": bool(explained and getattr(metric, "policy", None) is not None),
        "explained": explained,
        "similar": explained and isinstance(metric, TruBleu),
        "rated": any(one.weighted() for evidence in report.evidence for one in evidence.references_a.values()),
        "observations": views,
        "total": selection.total,
        "unscored": selection.unscored,
        "kinds": kinds(view.kind for view in views),
        "pair_options": [
            (place, f"{report.pairs[place].a} and {report.pairs[place].b}", number)
            for place, number in sorted(Counter(view.pair for view in views).items())
        ],
    }
