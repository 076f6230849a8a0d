"""CSV and TSV rows with their line numbers, and number parsing for cells."""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING, Any, TextIO

from trubleu.errors import DataError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)
_RUN = re.compile(
    "'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"
)  # prefixes that a spreadsheet may take for a formula, guarded or not
_MOST_DIGITS = 18  # longer integers are neither counts nor ratings, and Python refuses to parse thousands of digits


def delimited_rows(lines: Iterable[str], name: str, delimiter: str, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the number of their first line, skipping blank lines; ``first`` is the number of the first line.

    Raises
    ------
    DataError
        If a line is not CSV, or TSV.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        begin = reader.line_num + first
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
