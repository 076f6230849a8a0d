"""Parsers of triples: JSON lines, tab-separated columns, CSV and Excel tables, and Parquet."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.reference_files import REFERENCE_TITLES
from trubleu.data.triples import FIELDS
from trubleu.errors import ChangedError, DataError, UsageError, counted, nearest, shown, some
from trubleu.files.delimited import check_width, unguarded
from trubleu.files.jsonl import parse_beginning, parse_object
from trubleu.files.parquet import PARQUET_MAGIC, damage_named, scan_parquet
from trubleu.files.paths import forget, local_copy, unreadable
from trubleu.files.tables import find_fields, plain_title, table_rows, tell_fields

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.data.triples import TripleRows
    from trubleu.files.lines import Line, Size
    from trubleu.files.paths import PathLike


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
