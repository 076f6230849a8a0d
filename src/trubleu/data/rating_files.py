"""Files and frames of ratings, as columns that nobody has looked at yet; `trubleu.data.ratings` checks them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from trubleu.data.delimited import check_width, delimited_rows, guarded, unguarded, whole
from trubleu.data.extras import pandas_module, polars_module
from trubleu.data.files import atomic_writer, name_of, open_bytes, split_lines
from trubleu.data.formats import format_of, format_to_write
from trubleu.data.frames import check_kind, check_storable
from trubleu.data.jsonl import json_line, parse_objects
from trubleu.data.rating_columns import REQUIRED, RatingColumns, find_columns, widened
from trubleu.data.tables import FRAME, Table, is_parquet, read_parquet, table_of, write_parquet
from trubleu.data.weights import shown
from trubleu.errors import DataError, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from trubleu.data.files import PathLike
    from trubleu.data.frames import Kind
    from trubleu.data.tables import Frame


class RawRatings(NamedTuple):
    """Columns as they were found, where they come from, and how to name one of their rows."""

    columns: dict[str, Sequence[Any]]
    source: str
    place: Callable[[int], str]

    @classmethod
    def of_columns(
        cls, columns: Mapping[str, Sequence[Any]], layout: RatingColumns, source: str, place: Callable[[int], str]
    ) -> RawRatings:
        """Take the columns of a table, long or wide."""
        if not layout.aspects:
            return cls(widened(columns, layout), source, place)
        count = len(layout.aspects)

        def in_column(row: int) -> str:
            return f"{place(row // count)}, column {layout.aspects[row % count]}"

        return cls(widened(columns, layout), source, in_column)

    @classmethod
    def of_table(cls, table: Table, layout: RatingColumns) -> RawRatings:
        """Take the columns of a table, none of the required ones missing."""
        table.require(*(layout.fields[name] for name in layout.required if name in layout.fields), *layout.aspects)
        return cls.of_columns(table.columns, layout, table.source, table.place)


def frame_ratings(frame: Frame, layout: RatingColumns) -> RawRatings:
    """Take the ratings of a frame (see `Ratings.from_frame`)."""
    return RawRatings.of_table(table_of(frame, layout.wanted(), FRAME), layout)


def gather(records: Iterable[tuple[str, Any]], source: str, layout: RatingColumns) -> RawRatings:
    """Put records, each with its place, into columns."""
    required = [layout.fields[name] for name in layout.required if name in layout.fields] + list(layout.aspects)
    columns: dict[str, list[Any]] = {name: [] for name in layout.wanted()}
    places: list[str] = []
    for place, record in records:
        if not isinstance(record, Mapping):
            raise DataError(
                f"{place}: a rating must be a mapping with the fields {some(required)}, not {shown(record)}"
            )
        for name in required:
            if name not in record:
                raise DataError(f"{place}: the field {name} is missing; a rating has {some(required)}")
        for name, column in columns.items():
            column.append(record.get(name))
        places.append(place)
    return RawRatings.of_columns(columns, layout, source, places.__getitem__)


def read_ratings(
    path: PathLike,
    columns: Mapping[str, str] | None = None,
    aspects: Sequence[str] | None = None,
    system: str | None = None,
) -> RawRatings:
    """Read a file of ratings (see `Ratings.read`)."""
    if system is None:
        return _read(path, columns, aspects, REQUIRED)
    raw = _read(path, columns, aspects, tuple(name for name in REQUIRED if name != "system"))
    named = raw.columns.get("system") or [None] * len(raw.columns["item"])
    raw.columns["system"] = [system if name is None else name for name in named]
    return raw


def _read(
    path: PathLike, columns: Mapping[str, str] | None, aspects: Sequence[str] | None, required: tuple[str, ...]
) -> RawRatings:
    name = name_of(path)
    layout = RatingColumns.given(columns, aspects)._replace(required=required)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            return RawRatings.of_table(read_parquet(stream, name, layout.wanted()), layout)
        lines = chain.from_iterable(split_lines(stream, name, keep_ends=True))
        first = next(lines, "")
        lines = chain([first], lines) if first else lines
        form = format_of(name) or ("jsonl" if first.lstrip().startswith("{") else "tsv" if "\t" in first else "csv")
        if form == "jsonl":
            return gather(parse_objects(lines, name), name, layout)
        delimiter = "\t" if form == "tsv" else ","
        rows = delimited_rows(lines, name, delimiter)
        line, header = next(rows, (1, []))
        if not header:
            raise DataError(f"{name} is empty; its first line must name the columns {some(required)}")
        header = [title.strip() for title in header]
        return _delimited(rows, header, name, find_columns(header, columns, aspects, f"{name}:{line}", required))


def _delimited(
    rows: Iterator[tuple[int, list[str]]], header: Sequence[str], name: str, layout: RatingColumns
) -> RawRatings:
    numbers: list[int] = []
    wanted = [(title, header.index(title)) for title in layout.wanted()]
    columns: dict[str, list[Any]] = {title: [] for title, _ in wanted}
    scores = {layout.fields.get("score"), *layout.aspects}
    for number, row in rows:
        check_width(row, header, f"{name}:{number}")
        for title, index in wanted:
            columns[title].append(whole(row[index]) if title in scores else unguarded(row[index]))
        numbers.append(number)
    if layout.guessed:
        for title in layout.aspects:
            _check_guess(columns[title], title, lambda row: f"{name}:{numbers[row]}")
    return RawRatings.of_columns(columns, layout, name, lambda row: f"{name}:{numbers[row]}")


def _check_guess(values: Sequence[Any], title: str, place: Callable[[int], str]) -> None:
    for row, value in enumerate(values):
        if not isinstance(value, int):
            raise DataError(
                f"{place(row)}: the column {title} holds {shown(value)}, but without a column score every other column "
                "must hold the scores of an aspect, integers; rename the column of scores to score, say which columns "
                "are aspects (aspects=...), or take this one out"
            )


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
        # Whoever gave a name to a rater or a system must not give orders to the spreadsheet that shows it.
        writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


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
