"""Ranges of rows of a file of triples that can be read on their own, from a survey of the file's blocks.

Stretches of files are looked at in any order and by anybody. Compressed files are not unpacked for it, as they can be
read only from their beginning anyway.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.data.triple_formats import (
    LOOKED_AT,
    LayoutError,
    ParquetTriples,
    TsvLayout,
    add_json,
    check_ids,
    check_magic,
    go_over_to,
    table_batches,
)
from trubleu.errors import DataError, some
from trubleu.files import ranges
from trubleu.files.compression import is_packed
from trubleu.files.lines import LineReader, opened, size_of
from trubleu.files.parquet import PARQUET_MAGIC
from trubleu.files.paths import absolute, first_bytes, format_of, labels, open_binary, unreadable
from trubleu.files.ranges import LineCount, LineIndex, SourceFile, count_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from trubleu.data.triples import TripleRows
    from trubleu.files.lines import Size


_READ_WHOLE: Final = ("csv", "xlsx")  # a row may have several lines


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
    path, name, label
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
    label: str = ""

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
        if format_of(name) in _READ_WHOLE or is_packed(first_bytes(path, 4)):
            return None
    except OSError as error:
        raise DataError(unreadable(name, error)) from error
    with opened(path, name) as (stream, _):
        if _is_parquet(stream.peek(), name):
            return Form(parquet=True), ParquetTriples(path, name).height
        reader = LineReader(stream, name, lenient=lenient)
        return Form(parquet=False, layout=_layout(reader, name, columns)), None


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
        if format_of(rows.name) in _READ_WHOLE:
            yield from table_batches(stream, rows, size, passed, columns)
            tell(size_of(part.path) or 0)
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
        layout = TsvLayout.of(first.split("\t"), columns, name)
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


FILES_AT_ONCE: Final = 256
"""Small files that are looked at in one go, if they are not larger together than a stretch."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some blocks of a file.

    Attributes
    ----------
    file
        Which of the files it is, counted from 0.
    path, name, label
        The file wherever it is read from, and as messages and made-up ids call it.
    start, size, whole
        Which bytes of it, and how many it has in all.
    columns, lenient
        What tab-separated columns hold, if that was said, and whether bad rows are skipped.
    """

    file: int
    path: str
    name: str
    start: int
    size: int
    whole: int
    columns: tuple[str, ...] | None
    lenient: bool
    label: str

    def __str__(self) -> str:
        return self.name if self.size == self.whole else f"{self.name} from byte {self.start:,}"


@dataclass(frozen=True, slots=True)
class Stretches:
    """What is looked at in one go: a stretch of a large file, or small files."""

    each: tuple[Stretch, ...]

    def __str__(self) -> str:
        return some(self.each, 3)

    @property
    def size(self) -> int:
        """How many bytes it is."""
        return sum(stretch.size for stretch in self.each)


@dataclass(frozen=True, slots=True)
class Look:
    """What was found in a stretch.

    Attributes
    ----------
    lines
        How many there are in each block.
    form, rows
        What the file is, and how many rows it says it has; both of a first stretch only. No form stands for a file that
        can be read only from its beginning.
    refusal
        Why the file cannot be read with these options, if so.
    """

    lines: LineCount
    form: Form | None = None
    rows: int | None = None
    refusal: str = ""


def stretches(files: Sequence[tuple[str, int]], *, columns: tuple[str, ...] | None, skip_bad: bool) -> list[Stretch]:
    """Cut files, given as they are called with their sizes, into stretches; an empty file is one, too."""
    called = labels([name for name, _ in files])
    return [
        Stretch(number, absolute(name), name, start, some_of_it, size, columns, skip_bad, called[number])
        for number, (name, size) in enumerate(files)
        for start, some_of_it in ranges.pieces(size)
    ]


def together(found: Iterable[Stretch]) -> list[Stretches]:
    """Put stretches that follow each other together where they are whole files, and small ones."""
    step = ranges.BLOCK * ranges.BLOCKS_A_PIECE
    groups: list[list[Stretch]] = []
    room = 0  # bytes that fit into the last group
    for stretch in found:
        small = stretch.size == stretch.whole <= room
        if not groups or not small or len(groups[-1]) == FILES_AT_ONCE:
            groups.append([])
            room = step if stretch.size == stretch.whole else 0
        groups[-1].append(stretch)
        room -= stretch.size
    return [Stretches(tuple(group)) for group in groups]


def look(stretches: Stretches, _state: None = None) -> tuple[Look, ...]:
    """Look at stretches of files.

    Raises
    ------
    DataError
        If one cannot be read, or is not what its name says.
    """
    return tuple(_look(stretch) for stretch in stretches.each)


def _look(stretch: Stretch) -> Look:
    found = count_lines(SourceFile(stretch.path, stretch.name), stretch.start, stretch.size)
    if stretch.start:
        return Look(found)
    go_over_to(stretch.path)
    try:
        known = form_of(stretch.path, stretch.name, stretch.columns, lenient=stretch.lenient)
    except LayoutError as error:
        return Look(found, refusal=str(error))
    return Look(found) if known is None else Look(found, *known)


class SurveyedFile:
    """A file all stretches of which were looked at.

    Parameters
    ----------
    looks
        What was found in each stretch, in their order.

    Attributes
    ----------
    rows
        How many it has; None if it can be read only from its beginning, so that nobody knows.
    number
        Which of the files it is.
    size
        Its bytes.
    """

    def __init__(self, looks: Sequence[tuple[Stretch, Look]]) -> None:
        self._stretch, first = looks[0]
        self._form = first.form
        self._index = LineIndex([each.lines for _, each in looks], whole=first.form is None or first.form.parquet)
        self.number = self._stretch.file
        self.size = self._stretch.whole
        self.rows: int | None = None
        if first.form is not None:
            self.rows = self._index.rows if first.rows is None else first.rows

    def whole(self) -> TripleRange:
        """Return all rows without counting them."""
        where = self._stretch
        return TripleRange(where.file, where.path, where.name, size=self.size, label=where.label)

    def some(self, first: int, count: int) -> TripleRange:
        """Return some rows of a file whose rows are known."""
        where, rows = self._stretch, self.rows or 1
        begin, skip = (0, 0) if self._form is None or self._form.parquet else self._index.begin(first)
        size = self.size * (first + count) // rows - self.size * first // rows
        return TripleRange(where.file, where.path, where.name, first, count, begin, skip, self._form, size, where.label)

    def content(self, part: TripleRange) -> list[int]:
        """Return numbers that differ if rows of this file do; at least if they, or rows close to them, do."""
        return self._index.content(part.first, part.count)
