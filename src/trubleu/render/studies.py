"""Simulated studies as tables: side by side for people, flat rows for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from trubleu.errors import counted
from trubleu.render.tables import Cell, Column, Table, record_table, render_report
from trubleu.simulate.studies import PowerRow, PowerStudy
from trubleu.stats.paired import LEVEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trubleu.simulate.world import WrittenWorld

ERROR: Final = "± is one standard error of drawing from this one world; worlds (--seed) differ by more."

HOW: Final = [Column("metric"), Column("references", kind="count"), Column("raters", kind="count")]


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
        columns = [*HOW, *(Column(f"at_{size}", f"{size:,}", "number") for size in sizes)]
        if value == "found":
            columns.append(Column("difference", "true difference", "signed", 2))
        rows: list[list[Cell]] = []
        for start in range(0, len(study.rows), len(sizes)):
            group = study.rows[start : start + len(sizes)]
            cells = [percent(getattr(row, value), row.studies, digits) for row in group]
            how = group[0].metric, group[0].references, group[0].raters
            rows.append([*how, *cells, *([group[0].difference] if value == "found" else [])])
        tables.append(Table(title, columns, rows))
    best, other = f"{study.better_quality:.2f}", f"{study.other_quality:.2f}"
    made = f"{study.draws.number:,} studies per number, each on segments drawn from {study.pool:,}"
    notes = [
        f"The truth: {study.better} is better than {study.other}, mean quality {best} and {other} of 5.",
        "The true difference is that between the scores of the whole pool.",
        f"{made}; paired randomisation, {study.draws.resamples:,} draws; seed {study.draws.seed}.",
        ERROR,
        *([] if any(row.wrong for row in study.rows) else ["No study found the wrong system."]),
        "No difference: for each segment a coin decided which output belonged to which system.",
    ]
    wrong = [row for row in study.rows if row.difference < 0]
    if misled := dict.fromkeys(f"{row.metric} with {scored_with(row.references, row.raters)}" for row in wrong):
        about = "Wrong however large the test set from this pool, on the whole of which the worse system scores higher"
        notes.append(f"{about}: {', '.join(misled)}")
    if left_out := {(row.references, row.raters): row.left_out for row in study.rows if row.left_out > 0}:
        left = (f"{100 * share:.1f} % ({references} × {raters})" for (references, raters), share in left_out.items())
        about = "Left out of weighted metrics, without a reference of positive weight (references × raters)"
        notes.append(f"{about}: {', '.join(left)}.")
    return render_report(format, digits, [record_table("power", PowerRow, study.rows)], tables, notes)


def scored_with(references: int, raters: int | None) -> str:
    """Return how outputs were scored, in words."""
    by = f" × {counted(raters, 'rater')}" if raters else ""
    return f"{counted(references, 'reference')}{by}"


def percent(share: float, trials: int, digits: int) -> str:
    """Return a share of independent trials with its standard error, which 0 and 100 % do not have."""
    error = 100 * math.sqrt(share * (1 - share) / trials)
    return with_error(100 * share, error or None, digits)


def with_error(value: float, error: float | None, digits: int) -> str:
    """Return a value with its standard error, if it has one."""
    return f"{value:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def world_table(written: WrittenWorld, systems: Mapping[str, str]) -> Table:
    """Return the systems of a simulated world with their true mean quality."""
    columns = [Column("system"), Column("spec"), Column("quality", "true mean quality", kind="number")]
    return Table("", columns, [(name, systems[name], mean) for name, mean in written.qualities.items()], name="systems")
