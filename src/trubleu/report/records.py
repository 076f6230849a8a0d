"""Tables as flat rows for programs: CSV and JSON."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from trubleu.report.tables import SCHEMA, Bounds, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.report.tables import Cell, Table

Value: TypeAlias = str | int | float | None

TABLE: Final = "table"
"""The column of a CSV file that tells rows of several tables apart."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:|-]*")
_QUOTED: Final = re.compile(r'[,"\r\n]|\A\s|\s\Z|\A\Z')
_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?!\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\Z)")


class Flat(NamedTuple):
    """A table with one plain value a field."""

    names: list[str]
    rows: list[list[Value]]


def flat(table: Table) -> Flat:
    """Return a table with intervals taken apart; a number that is not finite becomes nothing."""
    names: list[str] = []
    fields: list[list[Value]] = []
    for index, column in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        names.append(column.name)
        parts = [[_value(cell) for cell in cells]]
        if any(_has_interval(cell) for cell in cells):
            if all(isinstance(cell, Bounds) or cell is None for cell in cells):
                names.pop()
                parts.pop()
            names += [f"{column.name}_low", f"{column.name}_high"]
            parts += [[_end(cell, "low") for cell in cells], [_end(cell, "high") for cell in cells]]
        fields += parts
    return Flat(names, [list(row) for row in zip(*fields, strict=True)])


def _has_interval(cell: Cell) -> bool:
    return isinstance(cell, Bounds) or (isinstance(cell, Estimate) and cell.low is not None)


def _value(cell: Cell) -> Value:
    if isinstance(cell, Bounds):
        return None
    return _finite(cell.value if isinstance(cell, Estimate) else cell)


def _end(cell: Cell, which: str) -> Value:
    return _finite(getattr(cell, which)) if isinstance(cell, Bounds | Estimate) else None


def _finite(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def render_json(tables: Sequence[Table]) -> str:
    """Return one object: the schema, and the rows of each table under its name."""
    document: dict[str, object] = {"schema": SCHEMA}
    for table in tables:
        if table.key in document:
            raise ValueError(f"two tables are named {table.key!r}")
        names, rows = flat(table)
        document[table.key] = [{"schema": SCHEMA, **dict(zip(names, row, strict=True))} for row in rows]
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def render_csv(tables: Sequence[Table]) -> str:
    """Return one rectangular table as RFC 4180 has it; rows of several tables follow each other."""
    parts = [(table.key, flat(table)) for table in tables]
    names = list(dict.fromkeys(name for _, part in parts for name in part.names))
    several = len(parts) > 1
    lines = [_line([TABLE, *names] if several else names)]
    for key, part in parts:
        places = [part.names.index(name) if name in part.names else None for name in names]
        first = [key] if several else []
        lines += [_line([*first, *(None if at is None else row[at] for at in places)]) for row in part.rows]
    return "".join(lines)


def _line(values: Iterable[Value]) -> str:
    return ",".join(map(field, values)) + "\r\n"


def field(value: Value) -> str:
    """Return a value as it stands in CSV: nothing for None, numbers in full, texts safe from spreadsheets.

    Examples
    --------
    >>> [field(value) for value in (None, 0.1, 36.0, "a, b", "=1+1", "-5")]
    ['', '0.1', '36.0', '"a, b"', "'=1+1", '-5']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float.__repr__(value)  # the shortest form that reads back to the same bits, also of NumPy's numbers
    if isinstance(value, int):
        return str(value)
    if _PLAIN.fullmatch(value):  # most texts; the rest is slow for a million of them
        return value
    # A text that a spreadsheet would run as a formula gets an apostrophe; a number with a sign is none.
    text = f"'{value}" if _FORMULA.match(value) else value
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
