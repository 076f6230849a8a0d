"""Files of triples: parsers of JSON lines, tab-separated columns, CSV, Excel and Parquet, and ranges of rows.

Ranges of rows can be read on their own, from a survey of the file's blocks. Stretches of files are looked at in any
order and by anybody. Compressed files are not unpacked for it, as they can be read only from their beginning anyway.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, compress, islice
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.reference_files import REFERENCE_TITLES, context_field, id_field
from trubleu.errors import ChangedError, DataError, UsageError, counted, nearest, shown, some
from trubleu.files import ranges
from trubleu.files.compression import is_packed
from trubleu.files.delimited import check_width, unguarded
from trubleu.files.jsonl import kind_of, parse_beginning, parse_object
from trubleu.files.lines import LineReader, opened, size_of
from trubleu.files.parquet import PARQUET_MAGIC, damage_named, scan_parquet
from trubleu.files.paths import (
    absolute,
    base_name,
    first_bytes,
    forget,
    format_of,
    labels,
    local_copy,
    open_binary,
    unreadable,
)
from trubleu.files.ranges import LineCount, LineIndex, SourceFile, count_lines
from trubleu.files.tables import find_fields, plain_title, table_rows, tell_fields

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from trubleu.files.lines import Line, Size
    from trubleu.files.paths import PathLike

    Columns = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...]]


FIELDS = ("id", "context", "message", "response")

LOOKED_AT = 1024
"""So many lines at the beginning of a file show whether its first column is an id."""

_CHUNK = 1024  # lines that are looked at together; if one is not in order, all of them are gone through one by one

PASSED_OVER = "-"
BY_WIDTH = {2: FIELDS[2:], 3: FIELDS[1:], 4: FIELDS}

TITLES: Final[dict[str, tuple[str, ...]]] = {
    "id": REFERENCE_TITLES["id"],
    "context": ("history", "previousturn", "previous"),
    "message": (*REFERENCE_TITLES["message"], "utterance"),
    "response": ("answer", "reply", "target", "output", "completion"),
}
"""What columns of triples may be called, as `trubleu.files.tables.plain_title` writes it."""


class TripleRows:
    """Gathers the rows of one file, and counts those that are left out.

    Parameters
    ----------
    name
        The file's name, for messages.
    label
        What ids of rows that have none call the file; its name without the folder if left out.
    contexts
        Whether contexts are wanted.
    skip_bad
        Whether a row that cannot be used is counted instead of an error.

    Attributes
    ----------
    bad, empty
        How many rows could not be used, and how many had a blank message or response.
    """

    def __init__(self, name: str, label: str = "", *, contexts: bool = True, skip_bad: bool = False) -> None:
        self.name = name
        self._label = label or base_name(name)
        self.contexts = contexts
        self.skip_bad = skip_bad
        self.bad = 0
        self.empty = 0
        self._ids: list[str] = []
        self._contexts: list[tuple[str, ...]] = []
        self._messages: list[str] = []
        self._responses: list[str] = []

    def add(
        self,
        ids: Sequence[str],
        contexts: Sequence[tuple[str, ...]],
        messages: Sequence[str],
        responses: Sequence[str],
    ) -> None:
        """Add rows that are known to be strings; those with a blank message or response are left out."""
        blank = not all(messages) or not all(responses)
        if blank or any(map(str.isspace, messages)) or any(map(str.isspace, responses)):
            keep = [
                bool(message and response) and not message.isspace() and not response.isspace()
                for message, response in zip(messages, responses, strict=True)
            ]
            self.empty += keep.count(False)
            ids, contexts = list(compress(ids, keep)), list(compress(contexts, keep))
            messages, responses = list(compress(messages, keep)), list(compress(responses, keep))
        self._ids += ids
        self._contexts += contexts
        self._messages += messages
        self._responses += responses

    def add_columns(
        self,
        ids: Sequence[Any],
        contexts: Sequence[Any],
        messages: Sequence[Any],
        responses: Sequence[Any],
        before: int,
    ) -> bool:
        """Add rows nobody has looked at, if all of them are in order; ``before`` is the number of rows before them."""
        if set(map(type, messages)) != {str} or set(map(type, responses)) != {str}:
            return False
        kinds = set(map(type, ids))
        if kinds != {str} or not all(ids):
            if not kinds <= {str, int, type(None)}:
                return False
            ids = self.named(ids, before, len(messages))
        if not self.contexts:
            contexts = [()] * len(messages)
        elif any(contexts):
            if not set(map(type, contexts)) <= {list, type(None)}:
                return False
            if not set(map(type, chain.from_iterable(filter(None, contexts)))) <= {str}:
                return False
            contexts = [tuple(turns or ()) for turns in contexts]
        elif set(map(type, contexts)) <= {list, type(None)}:
            contexts = [()] * len(messages)
        else:
            return False
        self.add(ids, contexts, messages, responses)
        return True

    def add_record(self, record: Mapping[str, Any], place: str, number: int) -> None:
        """Check and add one row, which is the ``number``-th of the file.

        Raises
        ------
        DataError
            If a field is missing or wrong; see `refuse`.
        """
        for field in ("message", "response"):
            value = record.get(field)
            if type(value) is not str:
                if field not in record:
                    raise DataError(f"{place}: the field {field} is missing; a triple has a message and a response")
                raise DataError(f"{place}: {field} must be a string, not {kind_of(value)}")
        identity = self._id(id_field(record, place), number)
        turns = context_field(record, place) or () if self.contexts else ()
        self.add([identity], [turns], [record["message"]], [record["response"]])

    def refuse(self, error: DataError) -> None:
        """Count a row that cannot be used, or raise what is wrong with it."""
        if not self.skip_bad:
            raise error
        self.bad += 1

    def taken(self) -> Columns:
        """Return what has been gathered, and begin anew; the counts go on."""
        columns = tuple(self._ids), tuple(self._contexts), tuple(self._messages), tuple(self._responses)
        self._ids, self._contexts, self._messages, self._responses = [], [], [], []
        return columns

    def named(self, ids: Sequence[str | int | None], before: int, count: int) -> Sequence[str]:
        """Return ids of rows, made up where there is none; no ``ids`` at all stand for ``count`` rows without."""
        if not ids:
            return [f"{self._label}:{number}" for number in range(before + 1, before + count + 1)]
        return [self._id(given, number) for number, given in enumerate(ids, before + 1)]

    def _id(self, given: str | int | None, number: int) -> str:
        return f"{self._label}:{number}" if given is None or given == "" else str(given)


def add_json(rows: TripleRows, lines: Sequence[Line], before: int) -> None:
    """Add the triples of some lines of JSON; ``before`` is the number of lines before them.

    Raises
    ------
    DataError
        If a line cannot be used, unless such lines are counted.
    """
    _add(rows, lines, before, _json_at_once, _json_record)


def _json_at_once(rows: TripleRows, lines: Sequence[Any], before: int) -> bool:
    try:
        decoded = list(map(parse_beginning, lines))
        records = [record for record, _ in decoded]
        messages = [record["message"] for record in records]
        responses = [record["response"] for record in records]
        ids = [record.get("id") for record in records]
        contexts = [record.get("context") for record in records] if rows.contexts else ()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    if [end for _, end in decoded] != list(map(len, lines)):
        return False  # something stands behind an object: white space, or what makes it no JSON
    return rows.add_columns(ids, contexts, messages, responses, before)


def _json_record(rows: TripleRows, line: str, place: str, number: int) -> None:
    if line and not line.isspace():
        rows.add_record(parse_object(line, place), place, number)


@dataclass(frozen=True, slots=True)
class TsvLayout:
    """Which column of a tab-separated file holds what.

    Attributes
    ----------
    names
        ``id``, ``context``, ``message``, ``response``, or something else for a column to be passed over.
    header
        Whether the first line names the columns.
    guessed_id
        Whether it is only their number that makes a column the id; see `check_ids`.
    """

    names: tuple[str, ...]
    header: bool
    guessed_id: bool = False

    @classmethod
    def of(
        cls, first: Sequence[str], columns: Sequence[str] | None, name: str, *, titled: bool = False, tell: bool = False
    ) -> TsvLayout:
        """Tell the layout of a file from the cells of its first line and from what the user says.

        Parameters
        ----------
        first
            The cells.
        columns
            As `checked_columns` returns them.
        name
            Of the file.
        titled
            Whether only a header or ``columns`` can tell: two to four columns without one are not guessed.
        tell
            Whether to say which columns were found by other titles.

        Raises
        ------
        DataError
            If the first line names a column twice, or nothing tells what columns hold.
        """
        cells = [cell.strip() for cell in first]
        called = set(map(plain_title, cells))
        header = all(called & {field, *TITLES[field]} for field in ("message", "response"))
        said = dict(column.split("=", 1) for column in columns or () if "=" in column)
        if columns is not None and not said:
            return cls(tuple(columns), header)
        if header or said:
            for title in cells:
                if cells.count(title) > 1 and plain_title(title) in FIELDS:
                    raise DataError(f"{name}:1: there are {cells.count(title)} columns {title}; leave only one of them")
            found = find_fields(cells, TITLES, said, f"{name}:1")
            if "message" in found and "response" in found:
                if tell:
                    tell_fields(found, name)
                fields = {title: field for field, (title,) in found.items()}
                return cls(tuple(fields.get(title, PASSED_OVER) for title in cells), header=True)
        if said or titled:
            raise DataError(
                f"{name}:1: the first row names no column of messages, or none of responses, only {some(cells)}; say "
                "which they are: --columns message=TITLE,response=TITLE"
            )
        if cells != [""] and len(cells) not in BY_WIDTH:
            raise DataError(
                f"{name}:1: {counted(len(cells), 'column')} and no header that names message and response; say what "
                'they hold, such as columns="-,context,message,response" (--columns on the command line)'
            )
        names = BY_WIDTH.get(len(cells), FIELDS[2:])
        return cls(names, header, guessed_id="id" in names)

    def add(self, rows: TripleRows, lines: Sequence[Line], before: int) -> None:
        """Add the triples of some lines; ``before`` is the number of lines before them.

        Raises
        ------
        DataError
            If a line has another number of columns, unless such lines are counted.
        """
        if self.header and before == 0:
            lines, before = lines[1:], 1
        _add(rows, lines, before, self._at_once, self._record)

    def _at_once(self, rows: TripleRows, lines: Sequence[Any], before: int) -> bool:
        try:
            cells = [line.split("\t") for line in lines]
        except AttributeError:
            return False
        if set(map(len, cells)) != {len(self.names)}:
            return False
        values = dict(zip(self.names, zip(*cells, strict=True), strict=True))
        contexts: Sequence[tuple[str, ...]] = [()] * len(cells)
        if rows.contexts and "context" in values:
            contexts = [(turn,) if turn else () for turn in values["context"]]
        ids = values.get("id", ())
        rows.add(rows.named(ids, before, len(cells)), contexts, values["message"], values["response"])
        return True

    def _record(self, rows: TripleRows, line: str, place: str, number: int) -> None:
        cells = line.split("\t")
        if len(cells) == 1 and not line.strip():
            return
        if len(cells) != len(self.names):
            raise DataError(
                f"{place}: {counted(len(cells), 'column')}, but there must be {len(self.names)}; a text may contain "
                "a tab, or the line is cut short"
            )
        self.add_cells(rows, cells, place, number)

    def add_cells(self, rows: TripleRows, cells: Sequence[str], place: str, number: int) -> None:
        """Add the triple of one row."""
        record: dict[str, Any] = dict(zip(self.names, cells, strict=True))
        record["context"] = [turn] if (turn := record.get("context")) else []
        rows.add_record(record, place, number)


def table_batches(
    stream: io.BufferedReader, rows: TripleRows, size: Size, passed: int, columns: Sequence[str] | None
) -> Iterator[int]:
    """Add the triples of a CSV or Excel file, and yield after every ``size`` rows how many have been read.

    Raises
    ------
    LayoutError
        If its columns are not known.
    DataError
        If it cannot be read, or a row cannot be used, unless such rows are counted.
    """
    cells = table_rows(stream, rows.name)
    first = next(cells, None)
    if first is None:
        return
    try:
        layout = TsvLayout.of(first[1], columns, rows.name, titled=True)
    except DataError as error:
        raise LayoutError(str(error)) from error
    found = enumerate(cells if layout.header else chain([first], cells), 1 + layout.header)
    numbered = (row for row in found if row[0] > passed)
    room = size if callable(size) else lambda: size
    end = max(passed, int(layout.header))
    while batch := list(islice(numbered, room())):
        for number, (place, row) in batch:
            try:
                check_width(row, layout.names, place)
                layout.add_cells(rows, [unguarded(cell) for cell in row], place, number)
            except DataError as error:
                rows.refuse(error)
        end += len(batch)
        yield end


class LayoutError(DataError):
    """Nobody knows what the columns of a file hold: a matter of options, whatever else is to be skipped."""


def check_ids(lines: Sequence[str], name: str) -> None:
    """Refuse a file of four columns without a header whose first one is no id, as the same stands there again.

    Parameters
    ----------
    lines
        The first ones of the file, wherever reading begins.
    name
        The file's name.

    Raises
    ------
    DataError
        If two lines have the same id.
    """
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        identity, *others = line.split("\t")
        if identity and len(others) == len(FIELDS) - 1 and seen.setdefault(identity, number) != number:
            raise DataError(
                f"{name}:{number}: the id {shown(identity)} is already used at {name}:{seen[identity]}; if the first "
                'of the four columns is no id, say so with columns="-,context,message,response" '
                "(--columns=-,context,message,response on the command line)"
            )


def _add(
    rows: TripleRows,
    lines: Sequence[Line],
    before: int,
    at_once: Callable[[TripleRows, Sequence[Any], int], bool],
    one: Callable[[TripleRows, str, str, int], None],
) -> None:
    for begin in range(0, len(lines), _CHUNK):
        chunk = lines[begin : begin + _CHUNK]
        if at_once(rows, chunk, before + begin):
            continue
        for number, line in enumerate(chunk, before + begin + 1):
            place = f"{rows.name}:{number}"
            if line is None:
                rows.refuse(DataError(f"{place}: this is not valid UTF-8"))
                continue
            try:
                one(rows, line, place, number)
            except DataError as error:
                rows.refuse(error)


def checked_columns(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return names of columns in their order, or ``FIELD=TITLE``, given as a sequence or with commas between them.

    Raises
    ------
    UsageError
        If a name is unknown or given twice, or message or response is not there.

    Examples
    --------
    >>> checked_columns("-,context,message,response")
    ('-', 'context', 'message', 'response')
    """
    if columns is None:
        return None
    names = tuple(name.strip() for name in (columns.split(",") if isinstance(columns, str) else columns))
    if any("=" in name for name in names):
        for name in names:
            if "=" not in name or name.partition("=")[0] not in FIELDS:
                raise UsageError(f"columns: {shown(name)} is not FIELD=TITLE; fields: {', '.join(FIELDS)}")
        return names
    for name in names:
        if name != PASSED_OVER and name not in FIELDS:
            raise UsageError(f"columns: there is no {shown(name)}; {nearest(name, [*FIELDS, PASSED_OVER])}")
        if name != PASSED_OVER and names.count(name) > 1:
            raise UsageError(f"columns: {name} is given {names.count(name)} times; give it once")
    for name in ("message", "response"):
        if name not in names:
            raise UsageError(f'columns: {name} must be one of them, as in columns="-,context,message,response"')
    return names


_SLICE = 1 << 17  # rows decoded at once


class _Latest(threading.local):
    path = ""


_latest = _Latest()


def go_over_to(path: str) -> None:
    """Let go of the copy of the file that was gone over to before, unless it is the same one.

    Whoever reads one file after the other needs only one copy at a time, and all of them may not fit on this disk.
    """
    if _latest.path != path:
        forget(_latest.path)
        _latest.path = path


class ParquetTriples:
    """An open Parquet file of triples.

    Parameters
    ----------
    source
        A path, or the whole file's bytes.
    name
        What messages call it.

    Attributes
    ----------
    height
        How many rows there are.

    Raises
    ------
    DataError
        If it is no Parquet file, is damaged, or has no column ``message`` or ``response`` of texts.
    MissingExtraError
        If Polars is not installed.
    """

    def __init__(self, source: PathLike | bytes, name: str) -> None:
        self._name = name
        try:
            file = source if isinstance(source, bytes) else local_copy(source)
        except OSError as error:
            raise DataError(unreadable(name, error)) from error
        with damage_named(name) as self._polars:
            self._lazy = scan_parquet(file, name)
            schema = self._lazy.collect_schema()
            self.height = int(self._lazy.select(self._polars.len()).collect().item())
        self._columns = [field for field in FIELDS if field in schema]
        self._check(schema)

    def batches(
        self, rows: TripleRows, size: Size, passed: int, *, first: int = 0, count: int | None = None
    ) -> Iterator[int]:
        """Add the triples to ``rows``, and yield after every ``size`` rows how many of the file have been read.

        Parameters
        ----------
        rows
            Takes the triples.
        size
            How many rows to read at once at most; a function is asked before each time.
        passed
            How many rows to pass over, of those after ``first``.
        first, count
            Which rows to read, all of them if left out.

        Raises
        ------
        DataError
            If a row cannot be used, unless such rows are counted.
        """
        last = self.height if count is None else first + count
        if first + passed > self.height or last > self.height:
            raise ChangedError(
                f"{self._name} has fewer rows than have been read from it before; it must have changed, so start again"
            )
        wanted = [field for field in self._columns if rows.contexts or field != "context"]
        room = size if callable(size) else lambda: size
        at = first + passed
        while at < last:
            # Slices end at the same rows wherever reading begins, and so do the batches after that.
            end = min(first + ((at - first) // _SLICE + 1) * _SLICE, last)
            with damage_named(self._name):
                frame = self._lazy.select(wanted).slice(at, end - at).collect()
            columns = {field: frame.get_column(field).to_list() for field in wanted}
            begin = 0
            while begin < frame.height:
                step = room()
                part = {field: values[begin : begin + step] for field, values in columns.items()}
                self._add(rows, part, at + begin)
                begin += len(part["message"])
                yield at + begin
            at = end

    def _add(self, rows: TripleRows, part: dict[str, list[Any]], before: int) -> None:
        count = len(part["message"])
        nothing = [None] * count
        contexts = part.get("context", nothing)
        if contexts and any(type(turn) is str for turn in contexts):
            contexts = part["context"] = [None if turn is None else [turn] if turn else [] for turn in contexts]
        if rows.add_columns(part.get("id", nothing), contexts, part["message"], part["response"], before):
            return
        for index, values in enumerate(zip(*part.values(), strict=True)):
            number = before + index + 1
            try:
                rows.add_record(dict(zip(part, values, strict=True)), f"{self._name}: row {number}", number)
            except DataError as error:
                rows.refuse(error)

    def _check(self, schema: Any) -> None:
        polars = self._polars
        texts = (polars.String, polars.Categorical, polars.Enum)
        for field in ("message", "response"):
            if field not in schema:
                found = some(schema) or "none"
                raise DataError(f"{self._name}: the column {field} must be there; columns found: {found}")
        for field in ("id", "message", "response"):
            kind = schema.get(field)
            numbered = field == "id" and kind is not None and kind.is_integer()
            if kind is not None and kind.base_type() not in texts and not numbered:
                what = "texts or whole numbers" if field == "id" else "texts"
                raise DataError(f"{self._name}: the column {field} must hold {what}, not {kind}")
        context = schema.get("context")
        lists = context is not None and context.base_type() is polars.List and context.inner.base_type() in texts
        if context is not None and not lists and context.base_type() not in (*texts, polars.Null):
            raise DataError(f"{self._name}: the column context must hold lists of texts, or texts, not {context}")


def check_magic(head: bytes, name: str) -> None:
    """Refuse a file whose name says that it is Parquet, but whose first bytes do not."""
    if not head.startswith(PARQUET_MAGIC):
        raise DataError(f"{name} is not a Parquet file, though its name says so; rename it or write it again")


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
class FilePart:
    """Something of a file.

    Attributes
    ----------
    file
        Which of the files it is, counted from 0.
    path, name, label
        The file wherever it is read from, and as messages and made-up ids call it.
    """

    file: int
    path: str
    name: str
    label: str


@dataclass(frozen=True, slots=True)
class TripleRange(FilePart):
    """Rows of a file that follow each other: all of them, unless they were counted before.

    Attributes
    ----------
    first, count
        How many rows went before, and how many these are; None for all that follow.
    byte, skip
        Where to begin to read lines, and how many of them to pass over there.
    form
        What the file is, if somebody has looked.
    size
        About how many bytes of the file these rows are.
    """

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
class Stretch(FilePart):
    """Some blocks of a file.

    Attributes
    ----------
    start, size, whole
        Which bytes of it, and how many it has in all.
    columns, lenient
        What tab-separated columns hold, if that was said, and whether bad rows are skipped.
    """

    start: int
    size: int
    whole: int
    columns: tuple[str, ...] | None
    lenient: bool

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
        Stretch(number, absolute(name), name, called[number], start, some_of_it, size, columns, skip_bad)
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
        return TripleRange(where.file, where.path, where.name, where.label, size=self.size)

    def some(self, first: int, count: int) -> TripleRange:
        """Return some rows of a file whose rows are known."""
        where, rows = self._stretch, self.rows or 1
        begin, skip = (0, 0) if self._form is None or self._form.parquet else self._index.begin(first)
        size = self.size * (first + count) // rows - self.size * first // rows
        return TripleRange(where.file, where.path, where.name, where.label, first, count, begin, skip, self._form, size)

    def content(self, part: TripleRange) -> list[int]:
        """Return numbers that differ if rows of this file do; at least if they, or rows close to them, do."""
        return self._index.content(part.first, part.count)
