"""A check of references as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trubleu.render.tables import FOR_PROGRAMS, Column, Table, render_tables, table_of

if TYPE_CHECKING:
    from trubleu.scoring.reference_check import ReferenceCheck

_BAR: Final = 40
_TITLES: Final = {
    "no_positive": "no positive weight",
    "unrated": "not rated yet",
    "repeated": "same text again, same weight",
    "contradicted": "same text again, other weight",
    "empty": "empty text",
}


def render_reference_check(check: ReferenceCheck, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a check in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    check
        What `check_references` returns.
    format
        ``csv`` and ``json`` have the ids in rows of their own, and no bars.
    digits
        Decimals of the mean.
    """
    for_people = format not in FOR_PROGRAMS
    tables = [table_of([check], _COUNTS, name="counts")]
    if check.weights:
        bars = [_bars(check)] if format in ("text", "markdown", "html") else []
        tables.append(table_of(check.weights, [*_WEIGHTS, *bars], "Weights", name="weights"))
    tables.append(_findings(check, for_people=for_people))
    if not for_people:
        rows = [(each.name, name) for each in check.findings for name in each.ids]
        tables.append(Table("Examples", [Column("finding"), Column("id")], rows, name="examples"))
    if check.origins:
        columns = [Column("origin"), Column("references", kind="count")]
        tables.append(table_of(check.origins, columns, "Origins", name="origins"))
    return render_tables(tables, format, digits)


_COUNTS: Final = (
    Column("segments", kind="count"),
    Column("references", kind="count"),
    Column("fewest", "fewest per segment", "count"),
    Column("mean", kind="number"),
    Column("most", kind="count"),
)
_WEIGHTS: Final = (
    Column("low", "from", "signed", 1),
    Column("high", "to", "signed", 1),
    Column("references", kind="count"),
)


def _bars(check: ReferenceCheck) -> Column:
    most = max(max(each.references for each in check.weights), 1)
    # Rounded up, so any non-zero count is visible.
    return Column("bar", " ", of=lambda each: "█" * -(-each.references * _BAR // most))


def _findings(check: ReferenceCheck, *, for_people: bool) -> Table:
    columns = [
        Column("finding", of=lambda each: _TITLES[each.name] if for_people else each.name),
        Column("references", kind="count"),
        Column("segments", kind="count"),
    ]
    # Below the table: ids may be long, and a column would be as wide as the longest list.
    notes = []
    for each in check.findings if for_people else ():
        more = f" and {each.segments - len(each.ids):,} more" if each.segments > len(each.ids) else ""
        if each.ids:
            notes.append(f"{_TITLES[each.name]}: {', '.join(each.ids)}{more}")
    return table_of(check.findings, columns, "Findings", notes, name="findings")
