"""A value for each segment, from a column of a table or a field of JSON lines."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from trubleu.data.reference_files import REFERENCE_TITLES, id_field
from trubleu.errors import DataError, nearest, shown
from trubleu.files.delimited import finite
from trubleu.files.jsonl import is_json_name, kind_of, parse_objects
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.parquet import is_parquet, read_parquet
from trubleu.files.paths import base_name, name_of
from trubleu.files.tables import find_fields, is_table_name, read_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.data.references import References
    from trubleu.files.paths import PathLike

Value: TypeAlias = str | float | None
"""What a segment has there; None for nothing."""


def read_segment_values(path: PathLike, field: str, references: References) -> list[Value]:
    """Read what each segment has in a column of a table, or in a field of JSON lines.

    Rows are joined with segments by id, or by their order if none has an id. Texts that are all numbers become numbers.

    Parameters
    ----------
    path
        The table (``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``) or the JSON lines, such as the file of the references.
    field
        The title of the column, or the name of the field.
    references
        Whose segments these are.

    Raises
    ------
    DataError
        If there is no such column, it fits no segment, or two rows of a segment disagree.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import References
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "topics.csv"
    >>> _ = path.write_text("id,topic\\n2,food\\n1,music\\n")
    >>> read_segment_values(path, "topic", References.from_lists([["hi"], ["bye"]]))
    ['music', 'food']
    """
    name = name_of(path)
    rows, known = _rows(path, name, field)
    if field not in known:
        raise DataError(f"{name} has no column {shown(field)}; {nearest(field, known)}")
    positions = references.positions()
    keys: Sequence[str] = [base_name(place) if identity is None else identity for place, identity, _ in rows]
    if all(identity is None for _, identity, _ in rows) and not any(key in positions for key in keys):
        if len(rows) != len(references):
            raise DataError(
                f"{name} has {len(rows):,} rows for {len(references):,} segments; give one for each, or a column id"
            )
        keys = references.ids
    values: list[Any] = [None] * len(references)
    fitted = False
    for key, (place, _, value) in zip(keys, rows, strict=True):
        if (at := positions.get(key)) is None:
            continue
        fitted = True
        if isinstance(value, list | dict):
            raise DataError(f"{place}: {field} must be a text or a number to sort segments by, not {kind_of(value)}")
        if isinstance(value, bool):
            value = str(value).lower()
        if value is None or value == "":
            continue
        if values[at] not in (None, value):
            raise DataError(
                f"{place}: {field} is {shown(str(value))}, but {shown(str(values[at]))} in another row of this segment"
            )
        values[at] = value
    if not fitted:
        raise DataError(f"{name} has no id of {references.source}; check which file --by names")
    return _numbers(values)


def _rows(path: PathLike, name: str, field: str) -> tuple[list[tuple[str, str | None, Any]], list[str]]:
    """Return the places, ids and values of all rows, and the names of all columns."""
    with open_bytes(path) as stream:
        if is_table_name(name):
            table = read_table(stream, name)
            titles = [*table.titles]
            found = find_fields(titles, {"id": REFERENCE_TITLES["id"]}, None, f"{name}: the first row")
            ids = table.column(found["id"][0]) if "id" in found else [None] * len(table.rows)
            cells = table.column(field) if field in titles else [""] * len(ids)
            return [*zip(table.places, ids, cells, strict=True)], titles
        if is_parquet(stream, name):
            columns = read_parquet(stream, name, {"id", field})
            return [
                (columns.place(row), id_field(record, columns.place(row)), record.get(field))
                for row, record in enumerate(columns.rows())
            ], [*columns.names]
        lines = chain.from_iterable(split_lines(stream, name))
        first = next(lines, "")
        if not is_json_name(name) and not first.lstrip().startswith("{"):
            raise DataError(
                f"{name} has no column {shown(field)}, as it holds one text per line; "
                f"name a table or JSON lines that has it: --by {field}=FILE"
            )
        rows, known = [], dict[str, None]()
        for place, record in parse_objects(chain([first], lines), name):
            rows.append((place, id_field(record, place), record.get(field)))
            known.update(dict.fromkeys(record))
        return rows, [*known]


def _numbers(values: Sequence[Any]) -> list[Value]:
    texts = [value for value in values if isinstance(value, str)]
    if all(finite(text) is not None for text in texts):
        return [
            finite(value) if isinstance(value, str) else None if value is None else float(value) for value in values
        ]
    return [value if value is None or isinstance(value, str) else f"{value:g}" for value in values]
