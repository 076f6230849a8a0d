"""Some rows of a file of triples, which can be read alone: by another process, or on another machine."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trubleu.data.compression import is_packed
from trubleu.data.files import unreadable
from trubleu.data.formats import format_of
from trubleu.data.line_reader import LineReader, opened, size_of
from trubleu.data.places import first_bytes, open_binary
from trubleu.data.tables import PARQUET_MAGIC
from trubleu.data.triple_lines import LOOKED_AT, TsvLayout, add_json, check_ids
from trubleu.data.triple_parquet import ParquetTriples, check_magic
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.data.line_reader import Size
    from trubleu.data.triple_rows import TripleRows


@dataclass(frozen=True, slots=True)
class Form:
    """What a file of triples was found to be.

    Attributes
    ----------
    parquet
        Whether it is Parquet; otherwise it has lines.
    layout
        The columns of its lines; None for JSON.
    """

    parquet: bool
    layout: TsvLayout | None = None


@dataclass(frozen=True, slots=True)
class TripleRange:
    """Rows of a file that follow each other: all of them, unless they were counted before.

    Attributes
    ----------
    file
        Which of the files it is, counted from 0.
    path, name
        The file wherever it is read from, and as messages and made-up ids call it.
    first, count
        How many rows went before, and how many these are; None for all that follow.
    byte, skip
        Where to begin to read lines, and how many of them to pass over there.
    form
        What the file is, if somebody has looked.
    size
        About how many bytes of the file these rows are.
    """

    file: int
    path: str
    name: str
    first: int = 0
    count: int | None = None
    byte: int = 0
    skip: int = 0
    form: Form | None = None
    size: int = 0

    def __str__(self) -> str:
        if self.count is None:
            return self.name
        return f"{self.name}, rows {self.first + 1:,} to {self.first + self.count:,}"


def read_range(
    part: TripleRange,
    rows: TripleRows,
    size: Size,
    *,
    passed: int = 0,
    columns: Sequence[str] | None = None,
    tell: Callable[[int], object],
) -> Iterator[int]:
    """Add triples to ``rows``, and yield after every batch how many rows of the file have been read.

    Parameters
    ----------
    part
        What to read.
    rows
        Takes the triples.
    size
        How many rows a batch has at most; a function is asked before each.
    passed
        How many rows of the range to pass over, which are not looked at.
    columns
        What the columns of tab-separated files hold, if that was said.
    tell
        Told how many more bytes of a file have been read, unless its rows were counted.

    Raises
    ------
    DataError
        If the file cannot be read, or a row cannot be used and is not to be skipped, with its line.
    """
    if part.form is not None and part.form.parquet:
        table = ParquetTriples(part.path, rows.name)
        yield from table.batches(rows, size, passed, first=part.first, count=part.count)
    elif part.form is not None:
        with _from_byte(part, lenient=rows.skip_bad) as reader:
            yield from _add_lines(reader, part, rows, size, passed, _adder(part.form.layout))
    else:
        yield from _read_whole(part, rows, size, passed, columns, tell)


def form_of(path: str, name: str, columns: Sequence[str] | None, *, lenient: bool) -> tuple[Form, int | None] | None:
    """Return what a file is, with the number of its rows if it says so; None for one that cannot be entered midway.

    Raises
    ------
    DataError
        If it cannot be read, or is not what its name says.
    LayoutError
        If its columns are not known.
    """
    try:
        if is_packed(first_bytes(path, 4)):
            return None
    except OSError as error:
        raise DataError(unreadable(name, error)) from error
    with opened(path, name) as (stream, _):
        if _is_parquet(stream.peek(), name):
            return Form(parquet=True), ParquetTriples(path, name).height
        reader = LineReader(stream, name, lenient=lenient)
        return Form(parquet=False, layout=_layout(reader, name, columns)), None


class LayoutError(DataError):
    """Nobody knows what the columns of a file hold: a matter of options, whatever else is to be skipped."""


def _read_whole(
    part: TripleRange,
    rows: TripleRows,
    size: Size,
    passed: int,
    columns: Sequence[str] | None,
    tell: Callable[[int], object],
) -> Iterator[int]:
    reached = 0
    with opened(part.path, rows.name) as (stream, raw):
        if _is_parquet(stream.peek(), rows.name):
            # Slices need the file itself, unless it is packed in another or comes through a pipe.
            whole = stream.read() if raw is None or not _is_plain_parquet(part.path) else None
            table = ParquetTriples(part.path if whole is None else whole, rows.name)
            bytes_ = (size_of(part.path) or 0) if whole is None else len(whole)
            for end in table.batches(rows, size, passed):
                yield end
                at = bytes_ * end // table.height
                tell(at - reached)
                reached = at
            tell(bytes_ - reached)
            return
        reader = LineReader(stream, rows.name, lenient=rows.skip_bad)
        add = _adder(_layout(reader, rows.name, columns))
        for end in _add_lines(reader, part, rows, size, passed, add):
            yield end
            at = reader.taken if raw is None else raw.tell()
            tell(at - reached)
            reached = at
        tell((reader.taken if raw is None else raw.tell()) - reached)


def _add_lines(
    reader: LineReader,
    part: TripleRange,
    rows: TripleRows,
    size: Size,
    passed: int,
    add: Callable[[TripleRows, Sequence[str | None], int], None],
) -> Iterator[int]:
    end = part.first + passed
    left = None if part.count is None else part.count - passed
    for lines in reader.batches(size, part.skip + passed, left):
        add(rows, lines, end)
        end += len(lines)
        yield end


@contextmanager
def _from_byte(part: TripleRange, *, lenient: bool) -> Iterator[LineReader]:
    try:
        with open_binary(part.path) as stream:
            stream.seek(part.byte)
            yield LineReader(stream, part.name, lenient=lenient, offset=part.byte, number=part.first - part.skip)
    except OSError as error:
        raise DataError(unreadable(part.name, error)) from error


def _layout(reader: LineReader, name: str, columns: Sequence[str] | None) -> TsvLayout | None:
    """Return the layout of a tab-separated file, None if it is JSON lines."""
    form, first = format_of(name), reader.first()
    if form != "tsv" and (form == "jsonl" or first.lstrip().startswith("{")):
        return None
    try:
        layout = TsvLayout.of(first, columns, name)
        if layout.guessed_id:
            check_ids(reader.head(LOOKED_AT), name)
    except DataError as error:
        raise LayoutError(str(error)) from error
    return layout


def _adder(layout: TsvLayout | None) -> Callable[[TripleRows, Sequence[str | None], int], None]:
    return add_json if layout is None else layout.add


def _is_parquet(head: bytes, name: str) -> bool:
    if format_of(name) != "parquet" and not head.startswith(PARQUET_MAGIC):
        return False
    check_magic(head, name)
    return True


def _is_plain_parquet(path: str) -> bool:
    return first_bytes(path, len(PARQUET_MAGIC)) == PARQUET_MAGIC
