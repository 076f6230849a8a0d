"""A report of the ΔBLEU protocol as tables: wide ones for people, flat rows for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trubleu.errors import counted
from trubleu.render.tables import (
    FOR_PROGRAMS,
    MISSING,
    Bounds,
    Cell,
    Column,
    Estimate,
    Table,
    render_tables,
    report_tables,
    stars,
    with_verdict,
)
from trubleu.signature import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.judge.pairs.results import PairsReport

_SWEEPS: Final = {
    "threshold": "Spearman's ρ by the least weight of a reference",
    "unit": "Spearman's ρ by the size of units",
    "order": "Spearman's ρ by the length of n-grams",
}

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
    if format in FOR_PROGRAMS:
        return render_tables(report_tables(report), format, digits)
    from trubleu.render.judge_page import verdict

    said = with_verdict([*verdict(report)], format)
    return said + render_tables(pairs_tables(report), format, digits, notes=tuple(pairs_notes(report)))


def pairs_tables(report: PairsReport) -> list[Table]:
    """Return the non-empty tables for people."""
    tables = [_correlations(report), _other_intervals(report)]
    if report.comparisons:
        tables.append(_comparisons(report))
    tables += [_sweep(report, sweep) for sweep in dict.fromkeys(row.sweep for row in report.sweeps)]
    return [*tables, _systems(report), _pairs(report)]


def pairs_notes(report: PairsReport) -> Iterator[str]:
    """Yield notes on how the numbers were computed."""
    setting = report.setting
    units = report.correlations[0].units
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
    yield from dict.fromkeys(f"{_measure(row.metric, row.condition)}: {row.signature}" for row in report.correlations)


def _measure(metric: str, condition: str | None) -> str:
    return metric if condition is None else f"{metric} ({condition})"


def _correlations(report: PairsReport) -> Table:
    return Table(
        "Agreement with people",
        [
            Column("metric"),
            Column("condition", "references"),
            Column("spearman", "Spearman's ρ", "number"),
            Column("kendall", "Kendall's τ", "number"),
        ],
        [
            (
                row.metric,
                row.condition,
                Estimate(row.spearman, row.spearman_low, row.spearman_high),
                Estimate(row.kendall, row.kendall_low, row.kendall_high),
            )
            for row in report.correlations
        ],
        name="correlations",
    )


def _bounds(low: float | None, high: float | None) -> Cell:
    return None if low is None or high is None else Bounds(low, high)


def _other_intervals(report: PairsReport) -> Table:
    kinds = {"systems": "segments and systems", "fisher": "Fisher", "fieller": "Fieller"}
    columns = [Column("metric"), Column("condition", "references")]
    for name, letter in (("spearman", "ρ"), ("kendall", "τ")):
        columns += [Column(f"{name}_{kind}", f"{letter}: {title}", "number") for kind, title in kinds.items()]
    rows = []
    for row in report.correlations:
        cells: list[Cell] = [row.metric, row.condition]
        for name in ("spearman", "kendall"):
            cells += [
                _bounds(getattr(row, f"{name}_{kind}_low"), getattr(row, f"{name}_{kind}_high")) for kind in kinds
            ]
        rows.append(cells)
    return Table(
        "Other intervals",
        columns,
        rows,
        notes=[_KINDS_OF_INTERVALS],
        name="intervals",
    )


def _comparisons(report: PairsReport) -> Table:
    return Table(
        "Which agrees better",
        [
            Column("x"),
            Column("y"),
            Column("spearman_difference", "ρ(x) − ρ(y)", "signed"),
            Column("spearman_p_holm", "p (Holm)", "p"),
            Column("kendall_difference", "τ(x) − τ(y)", "signed"),
            Column("kendall_p_holm", "p (Holm) of τ", "p"),
        ],
        [
            (
                _measure(row.metric_x, row.condition_x),
                _measure(row.metric_y, row.condition_y),
                Estimate(row.spearman_difference, row.spearman_difference_low, row.spearman_difference_high),
                _p(row.spearman_p_holm),
                Estimate(row.kendall_difference, row.kendall_difference_low, row.kendall_difference_high),
                _p(row.kendall_p_holm),
            )
            for row in report.comparisons
        ],
        name="comparisons",
    )


def _p(p: float | None) -> Cell:
    return None if p is None else Estimate(p, mark=stars(p))


def _sweep(report: PairsReport, sweep: str) -> Table:
    rows = [row for row in report.sweeps if row.sweep == sweep]
    metrics = list(dict.fromkeys(row.metric for row in rows))
    cells = {(row.metric, row.value): Estimate(row.spearman, row.spearman_low, row.spearman_high) for row in rows}
    title = _SWEEPS[sweep]
    conditions = dict.fromkeys(row.condition for row in rows if row.condition is not None)
    return Table(
        f"{title} (references: {', '.join(conditions)})" if conditions else title,
        [Column(sweep), *(Column(f"spearman_{place}", name, "number") for place, name in enumerate(metrics))],
        [
            (_value(sweep, value), *(cells.get((name, value)) for name in metrics))
            for value in dict.fromkeys(row.value for row in rows)
        ],
        name=f"sweep_{sweep}",
    )


def _value(sweep: str, value: float) -> str:
    return f"w>={number_text(value)}" if sweep == "threshold" else number_text(value)


def _systems(report: PairsReport) -> Table:
    measures = list(dict.fromkeys((row.metric, row.condition) for row in report.system_scores))
    scores = {(row.system, row.metric, row.condition): row.score for row in report.system_scores}
    return Table(
        "Systems",
        [
            Column("system"),
            Column("mean_rating", "mean rating", "number", digits=2),
            Column("rated", "segments", "count"),
            Column("ratings", kind="count"),
            Column("equal_share", "equal to a reference"),
            *(
                Column(f"score_{place}", _measure(*measure), "number", digits=2)
                for place, measure in enumerate(measures)
            ),
        ],
        [
            (
                row.system,
                row.mean_rating,
                row.rated,
                row.ratings,
                f"{100 * row.equal_share:.1f} %" if row.rated else MISSING,
                *(scores[row.system, *measure] for measure in measures),
            )
            for row in report.systems
        ],
        name="systems",
    )


def _pairs(report: PairsReport) -> Table:
    return Table(
        "Pairs",
        [Column("a"), Column("b"), Column("segments", kind="count"), Column("units", kind="count")],
        [(row.a, row.b, row.segments, row.units) for row in report.pairs],
        name="pairs",
    )
