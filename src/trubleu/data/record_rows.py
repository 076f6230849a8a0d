"""Rows of large files that are records, JSON lines or Parquet, in the same order in all files of a corpus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from trubleu.data import places
from trubleu.data.extras import polars_module
from trubleu.data.files import open_bytes, unreadable
from trubleu.data.formats import format_of
from trubleu.data.frames import WANTED
from trubleu.data.jsonl import is_json_name, parse_object
from trubleu.data.outputs import is_output_record
from trubleu.data.plain import is_references_record
from trubleu.data.records import SegmentCollector, id_field, text_field
from trubleu.data.tables import PARQUET_MAGIC
from trubleu.data.weights import shown
from trubleu.errors import DataError, UsageError, some

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from trubleu.data.columns import Columns

Form: TypeAlias = Literal["text", "jsonl", "parquet"]
"""What the rows of a file are."""

Role: TypeAlias = Literal["references", "outputs", "text"]
"""What a file holds; weights and messages are text whatever they look like."""

REFERENCE_FIELDS: Final = WANTED
OUTPUT_FIELDS: Final = ("id", "text")
"""What is looked at in records of references, and in those of outputs."""

SLICE: Final = 1 << 14
"""Rows of a Parquet file that are decoded at once."""

_copied: set[str] = set()  # addresses of tables of which this process has copies

_HEAD: Final = 64
_BLOCK: Final = 1 << 16


class Row(NamedTuple):
    """A record, where it is, and the id that it has if it does not say one."""

    place: str
    default_id: str
    record: dict[str, Any]


def form_of_file(path: str, name: str, role: Role, *, packed: bool) -> Form | None:
    """Find out what the rows of a file are, from its name and its beginning; None if it is empty.

    The same as when whole files are read.

    Raises
    ------
    DataError
        If they are nothing that could be cut into ranges.
    """
    with open_bytes(path, name) as stream:
        head = stream.read(_HEAD)
        if (format_of(name) == "parquet" and role != "text") or head.startswith(PARQUET_MAGIC):
            if packed:
                raise DataError(f"{name} is a Parquet file that was compressed again; unpack it")
            return "parquet"
        if role == "text":
            return "text" if head else None
        if b"\0" in head:
            raise DataError(
                f"{name} is neither text nor Parquet; prepared references are read as a whole, so give single files "
                "without --engine, or the file that they were made from"
            )
        if is_json_name(name):
            return "jsonl"
        if not head:
            return None
        blocks = [head]
        while b"\n" not in blocks[-1] and (block := stream.read(_BLOCK)):
            blocks.append(block)
    # Only the first line: wrong bytes elsewhere are the business of whoever reads them.
    first = b"".join(blocks).partition(b"\n")[0].decode("utf-8-sig", "replace")
    is_record = is_references_record if role == "references" else is_output_record
    return "jsonl" if is_record(first) else "text"


def json_rows(lines: Sequence[str], name: str, before: int) -> list[Row]:
    """Return the records of some lines, so many having gone before.

    Raises
    ------
    DataError
        If a line is no object, or blank: which record comes with which is then no longer known.
    """
    rows = []
    for number, line in enumerate(lines, before + 1):
        place = f"{name}:{number}"
        if not line or line.isspace():
            raise DataError(f"{place} is blank, but here every line must hold one record; remove blank lines")
        rows.append(Row(place, place, parse_object(line, place)))
    return rows


def parquet_height(path: str, name: str) -> int:
    """Return how many rows a Parquet file has."""
    polars = polars_module()
    copy = _copy(path, name)
    try:
        return int(_scanned(copy, polars).select(polars.len()).collect().item())
    except _damage(polars) as error:
        raise DataError(_damaged(name)) from error


def parquet_rows(path: str, name: str, fields: Sequence[str], first: int, count: int) -> Iterator[list[Row]]:
    """Yield some rows of a Parquet file with those of the fields that are there, all if none are named, in slices.

    Raises
    ------
    DataError
        If it cannot be read, or its rows are not what fields are asked of.
    """
    polars = polars_module()
    copy = _copy(path, name)
    try:
        lazy = _scanned(copy, polars)
        there = list(lazy.collect_schema())
        needed = "references" if fields == REFERENCE_FIELDS else "text"
        if fields and needed not in there:
            long = "; with one row a reference, give single files without --engine, or have one row a segment with "
            hint = f"{long}trubleu refs convert" if needed == "references" and "text" in there else ""
            raise DataError(f"{name}: the column {needed} must be there; columns found: {some(there) or 'none'}{hint}")
        wanted = lazy.select([field for field in there if field in fields or not fields])
        for begin in range(first, first + count, SLICE):
            frame = wanted.slice(begin, min(SLICE, first + count - begin)).collect()
            yield [
                Row(f"{name}: row {number}", f"{name}:{number}", record)
                for number, record in enumerate(frame.iter_rows(named=True), begin + 1)
            ]
    except _damage(polars) as error:
        raise DataError(_damaged(name)) from error


def segments_of(rows: Sequence[Row], source: str, *, weighted: bool) -> Columns:
    """Lay records of references flat; ``weighted`` says whether the corpus has weights at all.

    Raises
    ------
    DataError
        If a record cannot be used.
    UsageError
        If there is a weight where there should be none.
    """
    collector = SegmentCollector(source)
    for row in rows:
        collector.add(row.record, row.place, row.default_id)
    columns = collector.columns()
    if columns.weights is None and weighted:
        return columns._replace(weights=np.full(len(columns.texts), np.nan))
    if columns.weights is not None and not weighted:
        first = next(row for row in rows if has_weights(row.record))
        raise UsageError(
            f"{first.place} has weights, but the first segments of {source} have none; give those null for a weight, "
            "or read the file as a whole, without --engine"
        )
    return columns


def has_weights(record: object) -> bool:
    """Return whether a record of references, whatever else is wrong with it, has a weight or ratings, be they null."""
    items = record.get("references") if isinstance(record, dict) else None
    return isinstance(items, list) and any(
        isinstance(item, dict) and not {"weight", "ratings"}.isdisjoint(item) for item in items
    )


def json_has_weights(line: bytes) -> bool:
    """Return the same of a line that may hold such a record; what is wrong with it is said when it is read."""
    try:
        return has_weights(json.loads(line))
    except (ValueError, RecursionError):
        return False


def texts_of(rows: Sequence[Row], ids: Sequence[str], source: str, *, form: Form) -> list[str]:
    """Return the texts of records of outputs, which must come in the order of the references' ids.

    A table without a column of ids is in order.

    Raises
    ------
    DataError
        If a record cannot be used.
    UsageError
        If an id is not that of the references' record in its place.
    """
    for row, identity in zip(rows, ids, strict=True):
        if form == "parquet" and "id" not in row.record:
            break
        found = id_field(row.record, row.place)
        if found is None:
            raise DataError(f"{row.place}: the field id is missing; outputs are joined with references by id")
        if found != identity:
            raise UsageError(
                f"{row.place} has the id {shown(found)} where {source} has {shown(identity)}: files that are cut into "
                "ranges must have their records in the same order; sort both, or give whole files without --engine, "
                "whose records may come in any order"
            )
    return [text_field(row.record, "text", row.place) for row in rows]


def forget_copies(but: Collection[str]) -> None:
    """Remove copies of tables elsewhere that this process has made and no longer needs: all but some."""
    for address in _copied - set(but):
        from trubleu.data.copies import forget

        forget(address)
        _copied.remove(address)


def _copy(path: str, name: str) -> Path:
    if places.is_remote(path):
        _copied.add(path)
    try:
        return places.local_copy(path)
    except OSError as error:
        raise DataError(unreadable(name, error)) from error


def _scanned(path: Path, polars: Any) -> Any:
    # A name is not a pattern of several files, whatever is in it.
    return polars.scan_parquet(path, glob=False, hive_partitioning=False)


def _damage(polars: Any) -> tuple[type[BaseException], ...]:
    return polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError


def _damaged(name: str) -> str:
    return f"{name}: the Parquet data is damaged or ends early; copy or write the file again"
