"""Files of triples: parsers of JSON lines, TSV, CSV, Excel and Parquet, and ranges of rows.

Ranges of rows are those of `trubleu.files.ranges`. Compressed files, CSV and Excel are read from the beginning.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from trubleu.data.reference_files import context_field, id_field, text_field
from trubleu.data.titles import TRIPLE_TITLES
from trubleu.errors import DataError, UsageError, counted, nearest, shown, some
from trubleu.files.jsonl import parse_object
from trubleu.files.lines import in_batches, open_bytes
from trubleu.files.parquet import check_parquet, is_parquet, open_parquet
from trubleu.files.paths import base_name, format_of
from trubleu.files.ranges import SourceFile, Span
from trubleu.files.tables import check_titles, check_width, find_fields, plain_title, table_rows, tell_fields
from trubleu.optional_deps import polars_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from trubleu.files.lines import Size
    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress

    Columns = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...]]
    ToRecord = Callable[[Any, str], Mapping[str, Any] | None]


FIELDS = ("id", "context", "message", "response")

PASSED_OVER = "-"
BY_WIDTH = {2: FIELDS[2:], 3: FIELDS[1:]}


class TripleRows:
    """Collects the triples of one file, and counts the rows that are skipped.

    Parameters
    ----------
    name
        The file's name, for messages.
    label
        The file's name in generated ids; its name without the folder if left out.
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
        self._rows: list[tuple[str, tuple[str, ...], str, str]] = []

    def add(self, rows: Sequence[Any], before: int, record: ToRecord) -> None:
        """Check and add raw rows, lines or tuples that begin with a place; ``before`` is how many came before.

        Raises
        ------
        DataError
            If one cannot be used, unless such rows are counted.
        """
        if not any(rows) and None not in rows:  # only blank lines, of which there may be millions
            return
        for number, row in enumerate(rows, before + 1):
            if row is None:  # not valid UTF-8, which only `skip_bad` lets through
                self.bad += 1
                continue
            place = f"{self.name}:{number}" if type(row) is str else row[0]
            try:
                if (found := record(row, place)) is not None:
                    self._add(found, place, number)
            except DataError:
                if not self.skip_bad:
                    raise
                self.bad += 1

    def _add(self, record: Mapping[str, Any], place: str, number: int) -> None:
        message, response = (text_field(record, field, place) for field in ("message", "response"))
        identity = id_field(record, place) or f"{self._label}:{number}"
        turns = context_field(record, place) or () if self.contexts else ()
        self.append(identity, turns, message, response)

    def append(self, identity: str, context: tuple[str, ...], message: str, response: str) -> None:
        """Add a checked triple; one with a blank message or response is counted as empty instead."""
        if message.strip() and response.strip():
            self._rows.append((identity, context, message, response))
        else:
            self.empty += 1

    def taken(self) -> Columns:
        """Return the triples collected so far as columns, and clear them; the counts continue."""
        rows, self._rows = self._rows, []
        return tuple(zip(*rows, strict=True)) if rows else ((), (), (), ())  # type: ignore[return-value]


def _one_turn(record: dict[str, Any]) -> dict[str, Any]:
    """Convert the context of a table row, a single text, to a list of turns."""
    if type(turn := record.get("context")) is str:
        record["context"] = [turn] if turn else []
    return record


def _json_record(line: str, place: str) -> Mapping[str, Any] | None:
    return parse_object(line, place) if line and not line.isspace() else None


_RECORDS: Final[dict[str, ToRecord]] = {"jsonl": _json_record, "parquet": lambda row, _place: _one_turn(row.record)}


@dataclass(frozen=True, slots=True)
class TsvLayout:
    """The columns of a table of triples.

    Attributes
    ----------
    names
        ``id``, ``context``, ``message``, ``response``, or another name for a column to skip.
    header
        Whether the first line names the columns.
    """

    names: tuple[str, ...]
    header: bool

    @classmethod
    def of(
        cls, first: Sequence[str], columns: Sequence[str] | None, name: str, *, titled: bool = False, tell: bool = False
    ) -> TsvLayout:
        """Determine the layout of a file from the cells of its first line and the user's ``columns``.

        Parameters
        ----------
        first
            The cells.
        columns
            As `checked_columns` returns them.
        name
            Of the file.
        titled
            Whether a header or ``columns`` is required: two or three columns without one are not guessed.
        tell
            Whether to report columns that were found by synonyms.

        Raises
        ------
        DataError
            If the first line names a column twice, or the columns are unknown.
        """
        cells = [cell.strip() for cell in first]
        called = set(map(plain_title, cells))
        header = all(called & {field, *TRIPLE_TITLES[field]} for field in ("message", "response"))
        said = dict(column.split("=", 1) for column in columns or () if "=" in column)
        if columns is not None and not said:
            return cls(tuple(columns), header)
        if header or said:
            check_titles(cells, (title for title in cells if plain_title(title) in FIELDS), f"{name}:1")
            found = find_fields(cells, TRIPLE_TITLES, said, f"{name}:1")
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
        return cls(BY_WIDTH.get(len(cells), FIELDS[2:]), header)

    def record(self, row: str | tuple[str, Sequence[str]], place: str) -> Mapping[str, Any] | None:
        """Return the record of a line of tab-separated cells, or of the cells of another table; None if blank."""
        if isinstance(row, str):
            cells = row.split("\t")
            if len(cells) == 1 and not row.strip():
                return None
            if len(cells) != len(self.names):
                raise DataError(
                    f"{place}: {counted(len(cells), 'column')}, but there must be {len(self.names)}; a text may "
                    "contain a tab, or the line is cut short"
                )
        else:
            check_width(row[1], self.names, place)
            cells = list(row[1])
        return _one_turn(dict(zip(self.names, cells, strict=True)))


def checked_columns(columns: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Validate column names in order, or ``FIELD=TITLE`` pairs, given as a sequence or comma-separated.

    Raises
    ------
    UsageError
        If a name is unknown or given twice, or message or response is missing.

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


def parquet_height(path: PathLike, name: str) -> int:
    """Return the number of rows of a Parquet file of triples, whose columns are checked.

    Raises
    ------
    DataError
        If it is no Parquet file, is damaged, or has no column ``message`` or ``response`` of texts.
    MissingExtraError
        If Polars is not installed.
    """
    _, schema, height = open_parquet(path, name)
    polars = polars_module()
    texts = (polars.String, polars.Categorical, polars.Enum)
    for field in ("message", "response"):
        if field not in schema:
            raise DataError(f"{name}: the column {field} must be there; columns found: {some(schema) or 'none'}")
    for field in ("id", "message", "response"):
        kind = schema.get(field)
        numbered = field == "id" and kind is not None and kind.is_integer()
        if kind is not None and kind.base_type() not in texts and not numbered:
            what = "texts or whole numbers" if field == "id" else "texts"
            raise DataError(f"{name}: the column {field} must hold {what}, not {kind}")
    context: Any = schema.get("context")
    lists = context is not None and context.base_type() is polars.List and context.inner.base_type() in texts
    if context is not None and not lists and context.base_type() not in (*texts, polars.Null):
        raise DataError(f"{name}: the column context must hold lists of texts, or texts, not {context}")
    return height


_READ_WHOLE: Final = ("csv", "xlsx")  # a row may have several lines
_ROWS: Final = 1024  # of such a file at once

Form: TypeAlias = TsvLayout | Literal["jsonl", "parquet"]
"""The form of a file of triples: the columns of its lines, JSON lines or Parquet."""


@dataclass(frozen=True, slots=True)
class TripleFile(SourceFile):
    """A file of triples.

    Attributes
    ----------
    number
        Which of the files it is, from 0.
    label
        Its name in generated ids.
    columns, lenient
        The columns of tables, if the user named them, and whether bad rows are skipped.
    """

    number: int = 0
    label: str = ""
    columns: tuple[str, ...] | None = None
    lenient: bool = False

    def find_form(self) -> tuple[Form | None, int | None]:
        """Return the form, and the number of rows of a Parquet file; None if it can only be read from the start.

        Raises
        ------
        DataError
            If it cannot be read, or is not what its name says.
        UsageError
            If its columns are not known.
        """
        if self.packed or format_of(self.name) in _READ_WHOLE:
            return None, None
        with open_bytes(self.path, self.name) as stream:
            if is_parquet(stream, self.name):
                check_parquet(stream, self.name)
                return "parquet", parquet_height(self.path, self.name)
        return self.form_of_lines(self.first_line(lenient=self.lenient)), None

    def form_of_lines(self, first: str) -> Form:
        """Return the form of text that begins with this line."""
        form = format_of(self.name)
        if form != "tsv" and (form == "jsonl" or first.lstrip().startswith("{")):
            return "jsonl"
        return self.layout(first.split("\t"))

    def layout(self, first: Sequence[str], *, titled: bool = False) -> TsvLayout:
        """Return `TsvLayout.of` the first row; unknown columns are an error of the options, which nothing skips."""
        try:
            return TsvLayout.of(first, self.columns, self.name, titled=titled)
        except DataError as error:
            raise UsageError(str(error)) from error


def triple_file(part: Span) -> TripleFile:
    """Return the file of some rows of triples."""
    return cast("TripleFile", part.file)


def read_range(part: Span, rows: TripleRows, size: Size, *, passed: int = 0, tell: Progress) -> Iterator[int]:
    """Add triples to ``rows``, and yield the number of rows read so far after every batch.

    Parameters
    ----------
    part
        Rows of a `TripleFile`.
    rows
        Takes the triples.
    size
        Maximum rows per batch; a function is called before each.
    passed
        How many rows of the range to skip without parsing them.
    tell
        Called with the number of bytes read since the last call.

    Raises
    ------
    DataError
        If the file cannot be read, or a row cannot be used and is not to be skipped, with its line.
    """
    file, rest = triple_file(part), part.after(passed)
    end, told = rest.first, 0
    with ExitStack() as stack:
        form: Form | None = file.form
        if form is None and format_of(file.name) in _READ_WHOLE:
            stream = stack.enter_context(open_bytes(file.path, file.name))
            file.check_unchanged()  # after opening, as in `SourceFile.blocks`
            form, lists = _table(table_rows(stream, file.name), file, passed)
            tell(file.size)
        elif form == "parquet":
            lists = rest.rows([name for name in FIELDS if rows.contexts or name != "context"])
        else:
            lists = rest.lines(lenient=rows.skip_bad, progress=tell)
            if form is None:
                head = next(lists, [])
                first = file.first_line(lenient=rows.skip_bad) if passed else (head or [""])[0] or ""
                form, lists = file.form_of_lines(first), chain([head], lists)
        record = form.record if isinstance(form, TsvLayout) else _RECORDS[form]
        for batch in in_batches(lists, size):
            header = isinstance(form, TsvLayout) and form.header and end == 0
            rows.add(batch[header:], end + header, record)
            end += len(batch)
            yield end
            if part.count and file.height:
                reached = part.size * (end - part.first) // part.count
                tell(reached - told)
                told = reached


def _table(
    rows: Iterator[tuple[str, list[str]]], file: TripleFile, passed: int
) -> tuple[TsvLayout, Iterator[list[Any]]]:
    """Return the layout of a CSV or Excel file, and its rows after some of them, in lists."""
    first = next(rows, None)
    if first is None:
        return TsvLayout(FIELDS, header=True), iter(())
    rest = islice(chain([first], rows), passed, None)
    return file.layout(first[1], titled=True), iter(lambda: list(islice(rest, _ROWS)), [])
