"""Files and frames of ratings as raw columns, and finding out which column holds what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from trubleu.data.reference_files import RATING_TITLES, REFERENCE_TITLES, check_kind, check_storable
from trubleu.errors import DataError, UsageError, nearest, shown, some
from trubleu.files.delimited import guarded, number, table_writer
from trubleu.files.jsonl import json_line, parse_objects
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.parquet import is_parquet, read_parquet, table_of, write_parquet
from trubleu.files.paths import format_of, format_to_write, name_of
from trubleu.files.tables import Table, check_titles, find_fields, read_table, table_rows, tell_fields, text_rows
from trubleu.files.writer import atomic_writer
from trubleu.optional_deps import pandas_module, polars_module

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from trubleu.data.reference_files import Kind
    from trubleu.files.parquet import Frame
    from trubleu.files.paths import PathLike


REQUIRED = ("item", "system", "rater", "score")
FIELDS = (*REQUIRED, "pair", "aspect")

MEAN: Final = "mean"
"""The rater of scores that name none, as they are means."""

TITLES: Final = {
    "item": ("id", "instance", "instanceid", *REFERENCE_TITLES["id"]),
    "system": ("system", "systemid", "systemname", "model", "modelid", "modelname"),
    "rater": ("rater", "raterid", "judge", "judgeid", "annotator", "annotatorid", "worker", "workerid", "assessor"),
    "score": ("score", "rating", "meanrating", "meanscore", "zscore", "mqm"),
    "pair": ("pair",),
    "aspect": ("aspect", "criterion", "dimension"),
}
"""What people call these columns, as `trubleu.files.tables.plain_title` writes it."""


class RatingColumns(NamedTuple):
    """Where ratings are in a table.

    Attributes
    ----------
    fields
        The name of the column that holds each field; without ``score`` and ``aspect`` in a wide table.
    scores
        The columns of a wide table that hold scores, one for each aspect or rater; empty in a long one.
    titled
        What the titles of these columns are.
    guessed
        Whether these were taken because nobody said which they are.
    required
        The fields that must be there.
    """

    fields: dict[str, str]
    scores: tuple[str, ...] = ()
    titled: Literal["aspect", "rater"] = "aspect"
    guessed: bool = False
    required: tuple[str, ...] = REQUIRED

    @classmethod
    def given(cls, columns: Mapping[str, str] | None, aspects: Sequence[str] | None) -> RatingColumns:
        """Take what a caller says; fields that are not mentioned have columns of their own names.

        Raises
        ------
        UsageError
            If it is no mapping of fields, or no sequence of names.
        """
        named = dict(columns or {})
        for field, column in named.items():
            if field not in FIELDS:
                raise UsageError(f"columns: there is no field {shown(field)}; {nearest(str(field), FIELDS)}")
            if not isinstance(column, str):
                raise UsageError(f"columns: the column of {field} must be a string, not {shown(column)}")
        if isinstance(aspects, str):
            raise UsageError(f"aspects must be several names, not the string {shown(aspects)}; write ({aspects!r},)")
        aspects = tuple(dict.fromkeys(aspects or ()))
        if aspects and (wrong := [field for field in ("score", "aspect") if field in named]):
            raise UsageError(
                f"columns has a {wrong[0]}, but aspects are given, each with scores of its own; leave one out"
            )
        taken = (*named.values(), *aspects)
        if repeated := [column for column in taken if taken.count(column) > 1]:
            raise UsageError(f"the column {shown(repeated[0])} is given twice; a column holds one thing only")
        fields = [field for field in FIELDS if not aspects or field not in ("score", "aspect")]
        return cls(
            {field: named.get(field, field) for field in fields if field in named or field not in taken}, aspects
        )

    def wanted(self) -> tuple[str, ...]:
        """Return the names of all columns that may be needed."""
        return (*self.fields.values(), *self.scores)


def find_columns(
    titles: Sequence[str],
    columns: Mapping[str, str] | None,
    aspects: Sequence[str] | None,
    place: str,
    required: Sequence[str] = REQUIRED,
) -> RatingColumns:
    """Find the columns of a table by their titles.

    What the caller says goes first, then the fields' own names, then what else people call them. Where there is nothing
    for ``score``, every column that is left holds the scores of an aspect.

    Raises
    ------
    DataError
        If a column is missing, there twice, or two could be meant.
    UsageError
        As in `RatingColumns.given`.
    """
    said = RatingColumns.given(columns, aspects)
    free = [title for title in titles if title not in said.scores]
    several = {} if said.scores else RATING_TITLES
    found = find_fields(free, {field: TITLES[field] for field in said.fields}, columns, place, several)
    people = found.pop("ratings", ())
    fields = {field: title for field, (title,) in found.items()}
    for title in said.scores:
        if title not in titles:
            raise DataError(f"{place}: there is no column {shown(title)}; {nearest(title, titles)}")
    layout = RatingColumns(fields, said.scores)
    if "rater" not in fields and "score" not in fields and people:
        layout = RatingColumns(fields, people, "rater")
    elif not said.scores and "score" not in fields and "aspect" not in fields:
        scores = tuple(title for title in dict.fromkeys(titles) if title not in fields.values())
        layout = RatingColumns(fields, scores, guessed=True)
    for field in required:
        if field not in (*fields, layout.titled) and not (field == "score" and layout.scores):
            raise DataError(
                f"{place}: the column {field} must be there; columns found: {some(titles)}; say which it is: "
                f"--columns {field}=TITLE"
            )
    check_titles(titles, layout.wanted(), place)
    return layout


def long_table(table: Table, layout: RatingColumns) -> Table:
    """Give the fields their own names, and every score of a row of a wide table a row of its own.

    Raises
    ------
    DataError
        If a column that is required is missing.
    """
    table.require(*_required(layout))
    named = {field: table.columns[title] for field, title in layout.fields.items() if title in table.columns}
    if not layout.scores:
        return replace(table, columns=named)
    count = len(layout.scores)
    long: dict[str, Sequence[Any]] = {
        field: [value for value in column for _ in range(count)] for field, column in named.items()
    }
    scores = zip(*(table.columns[title] for title in layout.scores), strict=True)
    long["score"] = [score for row in scores for score in row]
    long[layout.titled] = list(layout.scores) * table.height
    places = [f"{table.place(row)}, column {title}" for row in range(table.height) for title in layout.scores]
    found = replace(table, columns=long, height=len(places), places=places)
    # Not everybody rates everything.
    return found if layout.titled == "aspect" else found.take([score != "" for score in long["score"]])


def _required(layout: RatingColumns) -> list[str]:
    return [*(layout.fields[name] for name in layout.required if name in layout.fields), *layout.scores]


def frame_ratings(frame: Frame, layout: RatingColumns) -> Table:
    """Take the ratings of a frame (see `Ratings.from_frame`)."""
    return long_table(table_of(frame, layout.wanted()), layout)


def gather(records: Iterable[tuple[str, Any]], source: str, layout: RatingColumns) -> Table:
    """Put records, each with its place, into columns."""
    required = _required(layout)
    found = list(records)
    for place, record in found:
        if not isinstance(record, Mapping):
            raise DataError(
                f"{place}: a rating must be a mapping with the fields {some(required)}, not {shown(record)}"
            )
        for name in required:
            if name not in record:
                raise DataError(f"{place}: the field {name} is missing; a rating has {some(required)}")
    columns = {name: [record.get(name) for _, record in found] for name in layout.wanted()}
    return long_table(Table(source, tuple(columns), columns, len(found), [place for place, _ in found]), layout)


def read_ratings(
    path: PathLike,
    columns: Mapping[str, str] | None = None,
    aspects: Sequence[str] | None = None,
    system: str | None = None,
    only: Collection[str] | None = None,
    *,
    means: bool = False,
) -> Table:
    """Read a file of ratings (see `Ratings.read`); ``means`` allows tables without raters."""
    name = name_of(path)
    required = tuple(name for name in REQUIRED if name != "system" or system is None)
    layout = RatingColumns.given(columns, aspects)._replace(required=required)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            raw = long_table(read_parquet(stream, name, layout.wanted()), layout)
        elif format_of(name) == "xlsx":
            raw = _tabular(table_rows(stream, name), name, required, columns, aspects, only, means)
        else:
            lines = chain.from_iterable(split_lines(stream, name, keep_ends=True))
            first = next(lines, "")
            lines = chain([first], lines) if first else lines
            if format_of(name) == "jsonl" or (format_of(name) is None and first.lstrip().startswith("{")):
                raw = gather(parse_objects(lines, name), name, layout)
            else:
                raw = _tabular(text_rows(lines, name), name, required, columns, aspects, only, means)
    if system is None:
        return raw
    named = raw.columns.get("system") or [None] * raw.height
    return replace(raw, columns={**raw.columns, "system": [system if each is None else each for each in named]})


def _tabular(
    rows: Iterator[tuple[str, list[str]]],
    name: str,
    required: Sequence[str],
    columns: Mapping[str, str] | None,
    aspects: Sequence[str] | None,
    only: Collection[str] | None,
    means: bool,
) -> Table:
    """Take ratings of rows with their places, the titles first, by which columns are found."""
    first, header = next(rows, ("", []))
    if not header:
        raise DataError(f"{name} is empty; its first line must name the columns {some(required)}")
    titles = [title.strip() for title in header]
    layout = find_columns(titles, columns, aspects, first, [each for each in required if each != "rater" or not means])
    table = read_table(chain([(first, header)], rows), name)
    if layout.guessed and only is not None and set(only) <= set(layout.scores):
        layout = layout._replace(scores=tuple(title for title in layout.scores if title in only))
    scores = [*filter(None, [layout.fields.get("score")]), *layout.scores]
    table = replace(
        table, columns={**table.columns, **{each: list(map(number, table.columns[each])) for each in scores}}
    )
    for title in layout.scores if layout.guessed else ():
        for row, value in enumerate(table.columns[title]):
            if isinstance(value, str):
                raise DataError(
                    f"{table.place(row)}: the column {title} holds {shown(value)}, but without a column score every "
                    "other column must hold the scores of an aspect; name the column of scores (--columns "
                    "score=TITLE), say which are aspects (--aspect NAME), or take this one out"
                )
    unnamed = "rater" not in layout.fields and layout.titled != "rater"
    told: dict[str, tuple[str, ...]] = {field: (title,) for field, title in layout.fields.items()}
    told |= {f"{layout.titled}s": layout.scores} if layout.scores else {}
    tell_fields(told, name, ", each score the mean of unnamed raters" if unnamed else "")
    raw = long_table(table, layout._replace(required=()))
    return replace(raw, columns={**raw.columns, "rater": [MEAN] * raw.height}) if unnamed else raw


def write_ratings(path: PathLike, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write checked columns in the format that the path asks for (see `Ratings.write`)."""
    form = format_to_write(path, ["csv", "tsv", "jsonl", "parquet"])
    columns = _storable(columns)
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
    texts = (value for name, column in columns.items() if name != "score" for value in column if value)
    with atomic_writer(path) as stream:
        writer = table_writer(stream, form, texts)
        writer.writerow(columns)
        # Whoever gave a name to a rater or a system must not give orders to the spreadsheet that shows it.
        writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)


def ratings_frame(columns: Mapping[str, Sequence[Any]], kind: Kind) -> Any:
    """Make a frame of checked columns (see `Ratings.to_frame`)."""
    check_kind(kind)
    columns = _storable(columns)
    _check_columns(columns)
    if kind == "pandas":
        return pandas_module().DataFrame({name: list(column) for name, column in columns.items()})
    polars = polars_module()
    whole = all(isinstance(score, int) for score in columns["score"])
    scores = polars.Int64 if whole else polars.Float64
    types = {name: scores if name == "score" else polars.String for name in columns}
    return polars.DataFrame(dict(columns), schema=types)


def _storable(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return columns whose scores are numbers that files know."""
    return {**columns, "score": [float(each) if isinstance(each, Fraction) else each for each in columns["score"]]}


def _check_columns(columns: Mapping[str, Sequence[Any]]) -> None:
    for name, column in columns.items():
        if name != "score":
            check_storable(column, name)
