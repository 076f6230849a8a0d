"""Simulated studies as tables: side by side for people, flat rows for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from trubleu.render.tables import FOR_PROGRAMS, Cell, Column, Table, record_table, render_tables, table_of
from trubleu.simulate.model_study import ModelRow
from trubleu.simulate.studies import LEVEL, CoverageRow, OrderRow, PowerRow, SystemRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.simulate.model_study import ModelStudy
    from trubleu.simulate.studies import CoverageStudy, OrderStudy, PowerStudy
    from trubleu.simulate.world import WrittenWorld

_ERROR: Final = "± is one standard error of drawing from this one world; worlds (--seed) differ by more."

_HOW: Final = [
    Column("metric"),
    Column("references", kind="count"),
    Column("raters", kind="count"),
]


def render_power(study: PowerStudy, format: str = "text", digits: int = 1) -> str:  # noqa: A002
    """Render a power study in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    study
        What `power_study` returns.
    format
        ``text``, ``markdown`` and ``latex`` have a column for each number of segments. ``json`` and ``csv`` have flat
        rows with everything in them.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        return render_tables([record_table("power", PowerRow, study.rows)], format)
    sizes = list(dict.fromkeys(row.segments for row in study.rows))
    shares = {
        "found": f"Studies that find the better system, %, by segments (p < {LEVEL:g})",
        "wrong": "Studies that find the wrong system, %",
        "false_alarms": "Studies that find a difference where there is none, %",
    }
    tables = []
    for value, title in shares.items():
        if value == "wrong" and not any(row.wrong for row in study.rows):
            continue
        columns = [*_HOW, *(Column(f"at_{size}", f"{size:,}", "number") for size in sizes)]
        if value == "found":
            columns.append(Column("difference", "true difference", "signed", 2))
        rows: list[list[Cell]] = []
        for start in range(0, len(study.rows), len(sizes)):
            group = study.rows[start : start + len(sizes)]
            cells = [_percent(getattr(row, value), row.studies, digits) for row in group]
            how = group[0].metric, group[0].references, group[0].raters
            rows.append([*how, *cells, *([group[0].difference] if value == "found" else [])])
        tables.append(Table(title, columns, rows))
    best, other = f"{study.better_quality:.2f}", f"{study.other_quality:.2f}"
    made = f"{study.draws.number:,} studies per number, each on segments drawn from {study.pool:,}"
    notes = [
        f"The truth: {study.better} is better than {study.other}, mean quality {best} and {other} of 5.",
        "The true difference is that between the scores of the whole pool.",
        f"{made}; paired bootstrap, {study.draws.resamples:,} resamples; seed {study.draws.seed}.",
        _ERROR,
        *([] if any(row.wrong for row in study.rows) else ["No study found the wrong system."]),
        "No difference: for each segment a coin decided which output belonged to which system.",
    ]
    misled = list(dict.fromkeys(f"{row.metric} with {_references(row)}" for row in study.rows if row.difference < 0))
    if misled:
        notes.append(
            "Wrong however large the test set from this pool, on the whole of which the worse system scores higher: "
            + ", ".join(misled)
        )
    return render_tables(tables, format, digits, notes=[*notes, *_left_out(study.rows)])


def _left_out(rows: Sequence[PowerRow]) -> list[str]:
    shares = {(row.references, row.raters): row.left_out for row in rows if row.left_out > 0}
    if not shares:
        return []
    listed = ", ".join(
        f"{100 * share:.1f} % ({references} × {raters})" for (references, raters), share in shares.items()
    )
    return [f"Left out of weighted metrics, without a reference of positive weight (references × raters): {listed}."]


def render_coverage(study: CoverageStudy, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a coverage study in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    study
        What `coverage_study` returns.
    format
        ``text``, ``markdown``, ``latex``, ``json`` or ``csv``.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        return render_tables([record_table("coverage", CoverageRow, study.rows)], format)
    columns = [
        Column("system"),
        *_HOW,
        Column("segments", kind="count"),
        Column("covered", "covered, %", "number", of=lambda row: _percent(row.covered, row.sets, 1)),
        Column("below", "too low, %", "number", 1, lambda row: 100 * row.below),
        Column("above", "too high, %", "number", 1, lambda row: 100 * row.above),
        Column("truth", kind="number"),
        Column("width", kind="number"),
        Column("bias", kind="signed"),
    ]
    made = f"{study.draws.number:,} test sets per row, each of segments drawn from {study.pool:,}"
    notes = [
        f"{made}, whose score is the truth; seed {study.draws.seed}.",
        f"Intervals of {100 * study.confidence:g} % from {study.draws.resamples:,} resamples.",
        f"{_ERROR} Bias is the mean score of the test sets less the truth.",
    ]
    return render_tables([table_of(study.rows, columns)], format, digits, notes=notes)


def render_order(study: OrderStudy, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a study of system orders in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    study
        What `order_study` returns.
    format
        ``text``, ``markdown``, ``latex``, ``json`` or ``csv``.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        tables = [record_table("order", OrderRow, study.rows), record_table("systems", SystemRow, study.systems)]
        return render_tables(tables, format)
    columns = [
        *_HOW,
        Column("segments", kind="count"),
        Column("kendall", "Kendall's τ", "number", of=lambda row: _with_error(row.kendall, row.kendall_error, 3)),
        Column("spearman", "Spearman's ρ", "number", of=lambda row: _with_error(row.spearman, row.spearman_error, 3)),
        Column("exact", "all in order, %", "number", of=lambda row: _percent(row.exact, row.sets, 1)),
    ]
    made = f"{study.draws.number:,} test sets per row, each of segments drawn from {study.pool:,}"
    notes = [
        f"{made}; seed {study.draws.seed}.",
        _ERROR,
    ]
    return render_tables([table_of(study.rows, columns), _systems(study)], format, digits, notes=notes)


def render_models(study: ModelStudy, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a study of models in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    study
        What `model_study` returns.
    format
        ``text``, ``markdown``, ``latex``, ``json`` or ``csv``.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        return render_tables([record_table("models", ModelRow, study.rows)], format)
    columns = [
        Column("weights"),
        Column("model", of=lambda row: row.model or "–"),
        Column("ratings", "ratings by people", "count"),
        Column("off", "off by", "number", 3),
        Column("bias", kind="signed", digits=3),
        Column(
            "coverage", "coverage, %", "number", 1, lambda row: None if row.coverage is None else 100 * row.coverage
        ),
        Column("winning_rate", "ω", "number"),
        Column("kendall", "Kendall's τ", "number", 3),
        Column("exact", "all in order, %", "number", 1, lambda row: 100 * row.exact),
    ]
    draws = study.draws
    notes = [
        f"{study.texts:,} texts of {study.pool:,} segments; people rate some of them, {study.raters} ratings each.",
        f"Orders by {study.metric} on {draws.number:,} test sets of {draws.segments[0]:,} segments; seed {draws.seed}.",
        "Off by: root mean square of weight less truth, which is what the whole crowd would say.",
    ]
    return render_tables([table_of(study.rows, columns)], format, digits, notes=notes)


def _systems(study: OrderStudy) -> Table:
    names = list(dict.fromkeys(row.system for row in study.systems))
    groups = {name: [row for row in study.systems if row.system == name] for name in names}
    ways = [f"{row.metric}, {_references(row)}" for row in groups[names[0]]]
    columns = [
        Column("system"),
        Column("quality", "true quality", "number", 2),
        Column("equal", "equal to a candidate, %", "number", 1),
        *(Column(f"score_{place}", way, "number") for place, way in enumerate(ways)),
    ]
    rows: list[list[Cell]] = [
        [name, group[0].quality, 100 * group[0].equal, *(row.score for row in group)] for name, group in groups.items()
    ]
    return Table("The systems on the whole pool", columns, rows)


def _references(row: PowerRow | SystemRow) -> str:
    by = f" × {row.raters} rater{'s' * (row.raters != 1)}" if row.raters else ""
    return f"{row.references} reference{'s' * (row.references != 1)}{by}"


def _percent(share: float, trials: int, digits: int) -> str:
    """Return a share of independent trials with its standard error, which 0 and 100 % do not have."""
    error = 100 * math.sqrt(share * (1 - share) / trials)
    return _with_error(100 * share, error or None, digits)


def _with_error(value: float, error: float | None, digits: int) -> str:
    return f"{value:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def world_table(written: WrittenWorld, systems: Mapping[str, str]) -> Table:
    """Return the systems of a simulated world with their true mean quality."""
    columns = [Column("system"), Column("spec"), Column("quality", "true mean quality", kind="number")]
    return Table("", columns, [(name, systems[name], mean) for name, mean in written.qualities.items()], name="systems")
