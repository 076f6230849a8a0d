"""The small table that the demo ends with on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.demo.finding import NAMES
from trubleu.report.tables import Column, Estimate, Table

if TYPE_CHECKING:
    from trubleu.demo.finding import Finding
    from trubleu.demo.results import Results
    from trubleu.report.tables import Cell


def summary_table(results: Results, finding: Finding) -> Table:
    """Return the systems from best to worst, with what people and metrics say; a star where a metric overrates one."""
    columns = [
        Column("system"),
        Column("true", "true quality", kind="number"),
        Column("people", "people", kind="number"),
        *(Column(name, NAMES[name], kind="number", digits=1) for name in results.metrics),
    ]
    overrated = {name: finding.orders[name].overrated() for name in results.metrics}
    rows: list[tuple[Cell, ...]] = [
        (
            system,
            results.truth[system],
            results.people[system],
            *(
                Estimate(results.scores[name, system].value, mark="*" if system in overrated[name] else "")
                for name in results.metrics
            ),
        )
        for system in finding.true_order
    ]
    notes = ["* stands significantly above a system that is better in truth"] if any(overrated.values()) else []
    return Table("", columns, rows, notes, name="summary")
