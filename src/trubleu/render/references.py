"""A check of references as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trubleu.render.tables import FOR_PROGRAMS, Column, Table, render_tables

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
    tables = [_counts(check)]
    if check.weights:
        tables.append(_weights(check, bars=format in ("text", "markdown", "html")))
    tables += [_findings(check), _examples(check)] if format in FOR_PROGRAMS else [_listed_findings(check)]
    if check.origins:
        tables.append(_origins(check))
    return render_tables(tables, format, digits)


def _counts(check: ReferenceCheck) -> Table:
    columns = [
        Column("segments", kind="count"),
        Column("references", kind="count"),
        Column("fewest", "fewest a segment", "count"),
        Column("mean", kind="number"),
        Column("most", kind="count"),
    ]
    return Table("", columns, [(check.segments, check.references, check.fewest, check.mean, check.most)], name="counts")


def _weights(check: ReferenceCheck, *, bars: bool) -> Table:
    columns = [
        Column("low", "from", "signed", 1),
        Column("high", "to", "signed", 1),
        Column("references", kind="count"),
    ]
    rows: list[tuple[Any, ...]] = [(each.low, each.high, each.references) for each in check.weights]
    if bars:
        most = max(max(each.references for each in check.weights), 1)
        # Rounded up, so any non-zero count is visible.
        widths = [-(-each.references * _BAR // most) for each in check.weights]
        columns.append(Column("bar", " "))
        rows = [(*row, "█" * width) for row, width in zip(rows, widths, strict=True)]
    return Table("Weights", columns, rows, name="weights")


def _findings(check: ReferenceCheck) -> Table:
    columns = [Column("finding"), Column("references", kind="count"), Column("segments", kind="count")]
    rows = [(each.name, each.references, each.segments) for each in check.findings]
    return Table("Findings", columns, rows, name="findings")


def _examples(check: ReferenceCheck) -> Table:
    rows = [(each.name, name) for each in check.findings for name in each.ids]
    return Table("Examples", [Column("finding"), Column("id")], rows, name="examples")


def _listed_findings(check: ReferenceCheck) -> Table:
    columns = [Column("finding"), Column("references", kind="count"), Column("segments", kind="count")]
    rows = [(_TITLES[each.name], each.references, each.segments) for each in check.findings]
    # Below the table: ids may be long, and a column would be as wide as the longest list.
    notes = []
    for each in check.findings:
        more = f" and {each.segments - len(each.ids):,} more" if each.segments > len(each.ids) else ""
        if each.ids:
            notes.append(f"{_TITLES[each.name]}: {', '.join(each.ids)}{more}")
    return Table("Findings", columns, rows, notes, name="findings")


def _origins(check: ReferenceCheck) -> Table:
    columns = [Column("origin"), Column("references", kind="count")]
    return Table("Origins", columns, [(each.origin, each.references) for each in check.origins], name="origins")
