"""CSV, TSV and Excel tables: rows of text with their places, columns found by title, and numbers in cells."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import re
import warnings
import zipfile
from dataclasses import dataclass, replace
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from trubleu.errors import DataError, Notice, UsageError, counted, nearest, shown, some
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.paths import base_name, format_of, name_of
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized

    from trubleu.files.paths import Format, PathLike

FRAME: Final = "frame"  # name of a frame in messages

TABLES: Final[tuple[Format, ...]] = ("csv", "tsv", "xlsx")

MOST_UNPACKED: Final = 1 << 30
"""Maximum decompressed size of an Excel file, in bytes."""

_EXPANSION: Final = 40  # maximum ratio of unpacked to packed size of a larger workbook; tables have 5 to 20
_ALWAYS_UNPACKED: Final = 32 << 20
_MOST_PADDED: Final = 10_000_000  # cells of a table, empty ones included
_PADDED_RATIO: Final = 100  # of all cells of a larger table to those that exist
_NO_WORKBOOK: Final = "{} is not an Excel workbook, or it is damaged; save it again as .xlsx or .csv"
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)
_RUN = re.compile(
    "'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"
)  # prefixes that a spreadsheet may take for a formula, guarded or not
_MOST_DIGITS = 18  # longer integers are neither counts nor ratings, and Python refuses to parse thousands of digits
_JOINERS: Final = str.maketrans("", "", "_- .")


def is_table_name(name: str) -> bool:
    """Return whether a file name has the suffix of a table.

    Examples
    --------
    >>> is_table_name("ratings.xlsx"), is_table_name("refs.csv.gz"), is_table_name("refs.txt")
    (True, True, False)
    """
    return format_of(name) in TABLES


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of a file or a frame.

    Attributes
    ----------
    source
        The file's name, or ``frame``.
    names
        The titles of all columns, without white space around them.
    columns
        Those that were asked for and are there, as lists: of texts if the file is a text, else of plain Python values,
        None for a missing one.
    height
        How many rows there are.
    places
        Where each row is, for messages; None if it is the row of that number.
    """

    source: str
    names: tuple[str, ...]
    columns: Mapping[str, Sequence[Any]]
    height: int
    places: Sequence[str] | None = None

    def place(self, row: int) -> str:
        """Name a row for messages; ``row`` counts from 0, messages from 1."""
        return f"{self.source}: row {row + 1}" if self.places is None else self.places[row]

    def default_id(self, row: int) -> str:
        """Return the default id of a row: FILE:ROW, or the row number if there is no file."""
        return str(row + 1) if self.source == FRAME else f"{base_name(self.source)}:{row + 1}"

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every row as a dict, with its place."""
        columns = zip(*self.columns.values(), strict=True) if self.columns else ((),) * self.height
        for row, values in enumerate(columns):
            yield self.place(row), dict(zip(self.columns, values, strict=True))

    def require(self, *names: str) -> None:
        """Raise an error if columns are missing, naming them."""
        if missing := [name for name in names if name not in self.columns]:
            columns = "column" if len(missing) == 1 else "columns"
            there = some(self.names) or "none"
            raise DataError(f"{self.source}: the {columns} {some(missing)} must be there; columns found: {there}")

    def take(self, kept: Sequence[bool]) -> Table:
        """Return some of the rows."""
        columns = {name: list(compress(column, kept)) for name, column in self.columns.items()}
        places = [self.place(row) for row, keep in enumerate(kept) if keep]
        return Table(self.source, self.names, columns, len(places), places)

    def find(
        self,
        synonyms: Mapping[str, Sequence[str]],
        given: Mapping[str, str] | None = None,
        several: Mapping[str, str] | None = None,
        *,
        option: str = "--columns",
    ) -> dict[str, tuple[str, ...]]:
        """Match columns to fields, one of which must be ``text`` (see `find_fields`).

        Raises
        ------
        DataError
            If there is no column of texts.
        """
        place = f"{self.source}: the first row"
        found = find_fields(self.names, synonyms, given, place, several, option=option)
        if "text" not in found:
            remedy = f"say which it is: {option} text=TITLE" if option else "call it text"
            if option and any(not title or finite(title) is not None for title in self.names):
                remedy = "that is data, so put a row above it that names the columns, such as id,text"
            raise DataError(f"{place} names no column of texts, only {some(self.names)}; {remedy}")
        return found


def table_rows(stream: io.BufferedReader, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a CSV, TSV or Excel file with their places, header first; blank rows are skipped.

    Raises
    ------
    DataError
        If the file cannot be read as what its name says.
    """
    if format_of(name) == "xlsx":
        if not stream.peek().startswith(b"PK"):  # /dev/zero would fill the memory
            raise DataError(_NO_WORKBOOK.format(name))
        return _excel_rows(stream.read(MOST_UNPACKED + 1), name)
    return text_rows(chain.from_iterable(split_lines(stream, name, keep_ends=True)), name)


def text_rows(lines: Iterator[str], name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of lines that are CSV or TSV, as `table_rows` does."""
    first = next(lines, "")
    rows = delimited_rows(chain([first], lines) if first else lines, name, _delimiter(first, name))
    return ((f"{name}:{number}", row) for number, row in rows)


def _delimiter(first: str, name: str) -> str:
    form = format_of(name)
    if form == "tsv" or (form is None and "\t" in first):
        return "\t"
    # Spreadsheets separate by semicolons in locales with a decimal comma.
    return ";" if ";" in first and "," not in first else "," if "," in first or "\t" not in first else "\t"


def _excel_rows(data: bytes, name: str) -> Iterator[tuple[str, list[str]]]:
    needed("openpyxl", "an Excel file", "trubleu[excel]")
    try:
        _check_unpacked(data, name)
        sheets = _sheets(data)
    except DataError:
        raise
    except Exception as error:  # openpyxl raises anything for a damaged workbook
        raise DataError(_NO_WORKBOOK.format(name)) from error
    if not sheets:
        raise DataError(f"{name} has no sheet with anything in it; save the sheet that holds the table")
    if len(sheets) > 1:
        titles = some(sheet.title for sheet in sheets)
        raise DataError(f"{name} has {len(sheets)} sheets that are not empty ({titles}); save the one you mean alone")
    (sheet,) = sheets
    if sheet.merged:
        raise DataError(f"{name}: the cells {sheet.merged} are merged; unmerge them, so each row has cells of its own")
    width = padded = filled = 0
    for number, values in sheet.rows.items():
        last = max(column for column, value in values.items() if value not in (None, ""))
        width = width or last
        padded, filled = padded + max(width, last), filled + len(values)
        if padded > max(_MOST_PADDED, _PADDED_RATIO * filled):
            far = max(max(each) for each in sheet.rows.values())
            raise DataError(f"{name} has a cell in column {far}, far from all others; delete what is in that column")
        cells = [""] * max(width, last)
        for column, value in values.items():
            text = _cell_text(value, f"{name}: row {number}, column {column}")
            if column <= len(cells):  # columns that were only formatted follow
                cells[column - 1] = text
        yield f"{name}: row {number}", cells


def _check_unpacked(data: bytes, name: str) -> None:
    """Raise an error for a workbook that would fill the memory."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())  # zipfile reads no more than that
    if unpacked > MOST_UNPACKED:
        raise DataError(f"{name} holds more than {MOST_UNPACKED >> 20:,} MB when it is unpacked; save it as CSV")
    if unpacked > max(_ALWAYS_UNPACKED, _EXPANSION * len(data)):
        raise DataError(f"{name} expands to {unpacked / len(data):.0f} times its size; save it as CSV")


class _Sheet(NamedTuple):
    """The cells of a sheet: in each row that is not empty, the values by column, from 1."""

    title: str
    rows: dict[int, dict[int, Any]]
    merged: str


def _sheets(data: bytes) -> list[_Sheet]:
    """Read the sheets of a workbook that are not empty.

    Only cells that exist are read: the rows of openpyxl's sheets are as wide and as many as the last cell is far away,
    and a sheet that is not read-only fills merged cells.
    """
    from openpyxl import load_workbook
    from openpyxl.worksheet._reader import WorkSheetParser

    sheets = []
    with warnings.catch_warnings(action="ignore"):  # openpyxl warns about workbook features that do not matter here
        book = load_workbook(io.BytesIO(data), data_only=True, read_only=True)
        for sheet in book.worksheets:
            with sheet._get_source() as source:  # noqa: SLF001 - there is no public way to existing cells alone
                parser = WorkSheetParser(
                    source,
                    sheet._shared_strings,  # noqa: SLF001
                    data_only=True,
                    epoch=book.epoch,
                    date_formats=book._date_formats,  # noqa: SLF001
                    timedelta_formats=book._timedelta_formats,  # noqa: SLF001
                )
                rows = {
                    number: {cell["column"]: cell["value"] for cell in cells}
                    for number, cells in parser.parse()
                    if any(cell["value"] not in (None, "") for cell in cells)
                }
            if rows:
                merged = parser.merged_cells.mergeCell if parser.merged_cells is not None else ()
                sheets.append(_Sheet(sheet.title, rows, str(merged[0].ref) if merged else ""))
    return sheets


def _cell_text(value: Any, place: str) -> str:
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        raise DataError(f"{place} is a date, {value}; format the cells as text or numbers, and enter the value again")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def read_table(rows: Iterator[tuple[str, list[str]]], name: str) -> Table:
    """Read a whole table of texts.

    Parameters
    ----------
    rows
        As `table_rows` yields them.
    name
        The file's.

    Raises
    ------
    DataError
        If it is empty, has a title twice or a row of another width.
    """
    place, header = next(rows, ("", []))
    titles = tuple(title.strip().removeprefix("\ufeff") for title in header)
    if not titles:
        raise DataError(f"{name} is empty; its first line must name the columns")
    check_titles(titles, filter(None, titles), place)
    cells, places = [], []
    for where, row in rows:
        check_width(row, titles, where)
        cells.append(row)
        places.append(where)
    found = zip(*cells, strict=True) if cells else repeat(())
    texts = {title: list(column) for title, column in zip(titles, found, strict=False)}
    return Table(name, titles, texts, len(places), places)


def table_titles(path: PathLike) -> tuple[str, ...]:
    """Return the column titles of a table."""
    name = name_of(path)
    with open_bytes(path) as stream:
        _, header = next(table_rows(stream, name), ("", []))
    return tuple(title.strip() for title in header)


def plain_title(title: str) -> str:
    """Return a title in lower case, without word separators.

    Examples
    --------
    >>> plain_title("Conv_ID "), plain_title("mean-rating")
    ('convid', 'meanrating')
    """
    return title.strip().lower().translate(_JOINERS)


def find_fields(
    titles: Sequence[str],
    synonyms: Mapping[str, Sequence[str]],
    given: Mapping[str, str] | None,
    place: str,
    several: Mapping[str, str] | None = None,
    *,
    option: str = "--columns",
) -> dict[str, tuple[str, ...]]:
    """Match columns to fields.

    The caller's choice takes precedence, then the fields' own names, then synonyms.

    Parameters
    ----------
    titles
        Of the columns.
    synonyms
        What each field may be called, as `plain_title` writes it.
    given
        The titles of some fields; several for one field are separated by ``+``.
    place
        Where the titles are, for messages.
    several
        Patterns of the titles of fields that several columns may hold, such as ratings.
    option
        The option that says which column it is, for messages; empty if there is none.

    Returns
    -------
    dict
        The titles of each field that was found.

    Raises
    ------
    DataError
        If two columns could be meant, or one that was named is not there.
    UsageError
        If there is no such field.
    """
    found: dict[str, tuple[str, ...]] = {}
    fields = [*synonyms, *(several or {})]
    for field, text in (given or {}).items():
        if field not in fields:
            raise UsageError(f"columns: there is no field {shown(field)}; {nearest(field, fields)}")
        found[field] = tuple(text.split("+")) if field in (several or {}) else (text,)
        for title in found[field]:
            if title not in titles:
                raise DataError(f"{place}: there is no column {shown(title)}; {nearest(title, titles)}")
    free = [title for title in titles if title not in chain.from_iterable(found.values())]
    for field, names in synonyms.items():
        if field in found:
            continue
        meant = [field] if field in free else []
        for called in ([plain_title(field)], [field, *names]):
            meant = meant or [title for title in dict.fromkeys(free) if plain_title(title) in called]
        if len(meant) > 1:
            raise DataError(
                f"{place}: the columns {' and '.join(meant)} could both be the {field}; rename one of them to {field}"
                + (f", or say which it is, such as {option} {field}={meant[0]}" if option else "")
            )
        if meant:
            found[field] = (meant[0],)
            free.remove(meant[0])
    for field, pattern in (several or {}).items():
        if field not in found and (these := [title for title in free if re.fullmatch(pattern, plain_title(title))]):
            found[field] = tuple(these)
    return found


def check_titles(titles: Sequence[str], wanted: Iterable[str], place: str) -> None:
    """Raise an error if a column that is wanted is there twice."""
    for title in wanted:
        if titles.count(title) > 1:
            raise DataError(f"{place}: there are {titles.count(title)} columns {title}; leave only one of them")


def find_required(
    titles: Sequence[str], synonyms: Mapping[str, Sequence[str]], place: str, optional: Sequence[str] = ()
) -> dict[str, int]:
    """Return the position of the column of each field, as `find_fields` matches them.

    Raises
    ------
    DataError
        If a field that is not optional has no column, or a column is there twice.
    """
    found = find_fields(titles, synonyms, None, place, option="")
    if missing := [field for field in synonyms if field not in found and field not in optional]:
        columns = "column" if len(missing) == 1 else "columns"
        raise DataError(f"{place}: the {columns} {', '.join(missing)} must be there; columns found: {some(titles)}")
    plain = [*map(plain_title, titles)]
    for field, (title,) in found.items():
        if (count := plain.count(plain_title(title))) > 1:
            raise DataError(f"{place}: there are {count} columns {field}; leave only one of them")
    return {field: titles.index(title) for field, (title,) in found.items()}


def check_lengths(columns: Mapping[str, Sized | None], source: str, row: str = "row") -> None:
    """Raise an error for columns that have not one value each for every row; None is a column that is not there."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{count} of {name}" for name, count in lengths.items())
        raise DataError(f"{source}: columns differ in length ({counts}); give one value of each for a {row}")


def tell_fields(found: Mapping[str, Sequence[str]], name: str, more: str = "", unread: Sequence[str] = ()) -> None:
    """Report which columns were matched to which fields, if that was guessed or columns are left."""
    if any(tuple(map(plain_title, titles)) != (field,) for field, titles in found.items()) or more or unread:
        told = ", ".join(f"{field} ← {' '.join(titles)}" for field, titles in found.items())
        more += f"; not read: {some(unread)}" if unread else ""
        warnings.warn(f"columns of {base_name(name)}: {told}{more}", Notice, stacklevel=3)


def check_no_table(name: str, lines: Sequence[str], known: Iterable[str], more: str = "") -> None:
    """Raise an error for plain text that is a table with a header: its first line names columns and all lines have as
    many cells.

    Parameters
    ----------
    name
        The file's.
    lines
        All its lines, or many.
    known
        What columns may be called, as `plain_title` writes it.
    more
        What else to do than to rename it.
    """
    if len(lines) < 2:
        return
    words = set(known)
    for delimiter, ending in ((",", "csv"), ("\t", "tsv"), (";", "csv")):
        titles = lines[0].split(delimiter)
        if len(titles) < 2 or not all(plain_title(title.strip('"')) in words for title in titles):
            continue
        width = len(titles) - 1
        if 10 * sum(line.count(delimiter) >= width for line in lines) >= 9 * len(lines):
            raise DataError(
                f"{name} is a table with the columns {some(titles)}, not one text per line; "
                f"rename it to end in .{ending}{more}"
            )


def delimited_rows(lines: Iterable[str], name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the number of their first line, skipping blank lines.

    Raises
    ------
    DataError
        If a line is not CSV, or TSV.
    """
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


def check_width(row: Sequence[str], header: Sequence[str], place: str) -> None:
    """Raise an error for a row with more or fewer fields than the header."""
    if len(row) != len(header):
        more = len(row) > len(header)
        remedy = "put a field that holds the separator into quotation marks"
        raise DataError(
            f"{place}: this line has {counted(len(row), 'field')} but the first has {len(header)}; "
            + (remedy if more else "add what is missing, and separate fields as the first line does")
        )


def table_writer(stream: TextIO, form: str, texts: Iterable[str]) -> Any:
    """Return a writer for ``csv`` or ``tsv`` rows, given all texts that it will write."""
    # Only newer versions of Python quote a carriage return.
    bare = any("\r" in text for text in texts)
    return csv.writer(
        stream,
        delimiter="\t" if form == "tsv" else ",",
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if bare else csv.QUOTE_MINIMAL,
    )


def guarded(text: str) -> str:
    """Escape a text that a spreadsheet would run as a formula by prefixing an apostrophe.

    `unguarded` reverses this for every text.

    Examples
    --------
    >>> [guarded(text) for text in ("=1+1", "-5", "'=1+1", "it's", "'tis")]
    ["'=1+1", "'-5", "''=1+1", "it's", "'tis"]
    """
    return f"'{text}" if _RUN.match(text) else text


def unguarded(text: str) -> str:
    """Reverse `guarded`.

    Examples
    --------
    >>> [unguarded(text) for text in ("'=1+1", "=1+1", "'tis")]
    ['=1+1', '=1+1', "'tis"]
    """
    return text[1:] if text.startswith("'") and _RUN.match(text) else text


def without_guards(table: Table) -> Table:
    """Reverse `guarded` in a table with the titles of one that TruBLEU writes.

    Where a cell begins as a formula does and is no number, somebody else wrote the table, and nothing is changed.

    Examples
    --------
    >>> table = Table("ratings.csv", ("item",), {"item": ["'=1", "'tis", "-5"]}, 3)
    >>> without_guards(table).columns
    {'item': ['=1', "'tis", '-5']}
    >>> without_guards(replace(table, columns={"item": ["'- no way", "- yes"]})).columns
    {'item': ["'- no way", '- yes']}
    """
    for column in table.columns.values():
        if any(_RUN.match(cell) and cell[0] != "'" and finite(cell) is None for cell in column):
            return table
    return replace(table, columns={title: list(map(unguarded, column)) for title, column in table.columns.items()})


def whole(text: str) -> int | str:
    """Parse an integer; return the text unchanged if it is none, for the error message.

    Examples
    --------
    >>> whole(" +4 "), whole("4.0"), whole("1_0")
    (4, '4.0', '1_0')
    """
    return int(text) if len(text) <= _MOST_DIGITS and _WHOLE.fullmatch(text) else text


def number(text: str) -> float | str:
    """Parse an integer or a finite number; return the text unchanged if it is neither, for the error message.

    Examples
    --------
    >>> number(" +4 "), number("-0.5"), number("nan"), number("1_0")
    (4, -0.5, 'nan', '1_0')
    """
    if isinstance(found := whole(text), int):
        return found
    return text if (real := finite(text)) is None else real


def comma_hint(text: object) -> str:
    """Return a hint about a decimal comma to append to a message; empty if there is none.

    Examples
    --------
    >>> comma_hint("3,5"), comma_hint("three")
    ('; write a point for the decimal comma', '')
    """
    comma = isinstance(text, str) and finite(text) is None and finite(text.replace(",", ".", 1)) is not None
    return "; write a point for the decimal comma" if comma else ""


def finite(text: str) -> float | None:
    """Parse a finite number; None if the text is none.

    Examples
    --------
    >>> finite("-1.5e-3"), finite("nan"), finite("1e999"), finite("1_0")
    (-0.0015, None, None, None)
    """
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return None
