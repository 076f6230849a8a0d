"""Files and frames of ratings, as columns that nobody has looked at yet; `trubleu.data.ratings` checks them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from trubleu.data.extras import pandas_module, polars_module
from trubleu.data.files import atomic_writer, name_of, open_bytes, split_lines
from trubleu.data.formats import format_of, format_to_write
from trubleu.data.frames import check_kind, check_storable
from trubleu.data.jsonl import json_line, parse_objects
from trubleu.data.tables import Table, is_parquet, read_parquet, write_parquet
from trubleu.data.weights import shown
from trubleu.errors import DataError, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from trubleu.data.files import PathLike
    from trubleu.data.frames import Kind

REQUIRED = ("item", "system", "rater", "score")
FIELDS = (*REQUIRED, "pair", "aspect")

_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_MOST_DIGITS = 18  # more are no score, and Python refuses to read thousands


class RawRatings(NamedTuple):
    """Columns as they were found, where they come from, and how to name one of their rows."""

    columns: dict[str, Sequence[Any]]
    source: str
    place: Callable[[int], str]

    @classmethod
    def of_table(cls, table: Table) -> RawRatings:
        """Take the columns of a table, none of the required ones missing."""
        table.require(*REQUIRED)
        return cls(dict(table.columns), table.source, table.place)


def gather(records: Iterable[tuple[str, Any]], source: str) -> RawRatings:
    """Put records, each with its place, into columns."""
    columns: dict[str, list[Any]] = {name: [] for name in FIELDS}
    places: list[str] = []
    for place, record in records:
        if not isinstance(record, Mapping):
            raise DataError(
                f"{place}: a rating must be a mapping with the fields {some(REQUIRED)}, not {shown(record)}"
            )
        for name in REQUIRED:
            if name not in record:
                raise DataError(f"{place}: the field {name} is missing; a rating has {some(REQUIRED)}")
        for name in FIELDS:
            columns[name].append(record.get(name))
        places.append(place)
    return RawRatings(dict(columns), source, places.__getitem__)


def read_ratings(path: PathLike) -> RawRatings:
    """Read a file of ratings (see `Ratings.read`)."""
    name = name_of(path)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            return RawRatings.of_table(read_parquet(stream, name, FIELDS))
        lines = chain.from_iterable(split_lines(stream, name, keep_ends=True))
        first = next(lines, "")
        lines = chain([first], lines) if first else lines
        form = format_of(name) or ("jsonl" if first.lstrip().startswith("{") else "tsv" if "\t" in first else "csv")
        if form == "jsonl":
            return gather(parse_objects(lines, name), name)
        return _read_delimited(lines, name, "\t" if form == "tsv" else ",")


def _read_delimited(lines: Iterable[str], name: str, delimiter: str) -> RawRatings:
    rows = _delimited_rows(lines, name, delimiter)
    line, header = next(rows, (1, []))
    header = [title.strip() for title in header]
    if not header:
        raise DataError(f"{name} is empty; its first line must name the columns {some(REQUIRED)}")
    for title in FIELDS:
        if title in REQUIRED and title not in header:
            raise DataError(f"{name}:{line}: the column {title} must be there; columns found: {some(header)}")
        if header.count(title) > 1:
            raise DataError(f"{name}:{line}: there are {header.count(title)} columns {title}; leave only one of them")
    numbers: list[int] = []
    wanted = [(title, header.index(title)) for title in FIELDS if title in header]
    columns: dict[str, list[Any]] = {title: [] for title, _ in wanted}
    for number, row in rows:
        if len(row) != len(header):
            raise DataError(
                f"{name}:{number}: this line has {len(row)} fields but the first has {len(header)}; "
                "put a field that holds the separator into quotation marks"
            )
        for title, index in wanted:
            columns[title].append(_whole(row[index]) if title == "score" else row[index])
        numbers.append(number)
    return RawRatings(dict(columns), name, lambda row: f"{name}:{numbers[row]}")


def _delimited_rows(lines: Iterable[str], name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the line in which they begin, leaving out blank lines."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        begin = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            kind = "CSV" if delimiter == "," else "TSV"
            raise DataError(f"{name}:{begin}: this is not {kind}: {error}; write the file again") from error
        if row is None:
            return
        if row:
            yield begin, row


def _whole(text: str) -> int | str:
    """Return an integer, or the text as it is, for the message that refuses it."""
    return int(text) if len(text) <= _MOST_DIGITS and _WHOLE.fullmatch(text) else text


def write_ratings(path: PathLike, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write checked columns in the format that the path asks for (see `Ratings.write`)."""
    form = format_to_write(path, ["csv", "tsv", "jsonl", "parquet"])
    if form == "parquet":
        write_parquet(path, ratings_frame(columns, "polars"))
        return
    rows = zip(*columns.values(), strict=True)
    if form == "jsonl":
        with atomic_writer(path) as stream:
            for row in rows:
                record = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
                stream.write(json_line(record) + "\n")
        return
    _check_columns(columns)
    # A carriage return is put into quotation marks by newer versions of Python only.
    bare = any("\r" in value for name, column in columns.items() if name != "score" for value in column if value)
    with atomic_writer(path) as stream:
        writer = csv.writer(
            stream,
            delimiter="\t" if form == "tsv" else ",",
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL,
        )
        writer.writerow(columns)
        writer.writerows(rows)


def ratings_frame(columns: Mapping[str, Sequence[Any]], kind: Kind) -> Any:
    """Make a frame of checked columns (see `Ratings.to_frame`)."""
    check_kind(kind)
    _check_columns(columns)
    if kind == "pandas":
        return pandas_module().DataFrame({name: list(column) for name, column in columns.items()})
    polars = polars_module()
    types = {name: polars.Int64 if name == "score" else polars.String for name in columns}
    return polars.DataFrame(dict(columns), schema=types)


def _check_columns(columns: Mapping[str, Sequence[Any]]) -> None:
    for name, column in columns.items():
        if name != "score":
            check_storable(column, name)
