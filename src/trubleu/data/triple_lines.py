"""Triples from lines: JSON lines and tab-separated columns, read nearly as fast as Python can split them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trubleu.data.jsonl import parse_object
from trubleu.data.triple_rows import FIELDS
from trubleu.data.weights import shown
from trubleu.errors import DataError, UsageError, counted, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trubleu.data.line_reader import Line
    from trubleu.data.triple_rows import TripleRows

LOOKED_AT = 1024
"""So many lines at the beginning of a file show whether its first column is an id."""

_CHUNK = 1024  # lines that are looked at together; if one is not in order, all of them are gone through one by one

PASSED_OVER = "-"
BY_WIDTH = {2: FIELDS[2:], 3: FIELDS[1:], 4: FIELDS}

_decode_json = json.JSONDecoder().raw_decode


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
        decoded = list(map(_decode_json, lines))
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
    def of(cls, first: str, columns: Sequence[str] | None, name: str) -> TsvLayout:
        """Tell the layout of a file from its first line and from what the user says.

        Raises
        ------
        DataError
            If the first line names a column twice, or has a number of columns that tells nothing.
        """
        cells = [cell.strip().lower() for cell in first.split("\t")]
        header = "message" in cells and "response" in cells
        if columns is not None:
            return cls(tuple(columns), header)
        if header:
            for field in FIELDS:
                if cells.count(field) > 1:
                    raise DataError(f"{name}:1: there are {cells.count(field)} columns {field}; leave only one of them")
            return cls(tuple(cells), header)
        if first and len(cells) not in BY_WIDTH:
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
                f"{place}: {counted(len(cells), 'column')}, but there must be {len(self.names)}; a text in it may hold "
                "a tab, or the line is cut short"
            )
        record: dict[str, Any] = dict(zip(self.names, cells, strict=True))
        record["context"] = [turn] if (turn := record.get("context")) else []
        rows.add_record(record, place, number)


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
                f"{name}:{number}: the id {shown(identity)} is used already at {name}:{seen[identity]}; if the first "
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
    """Return names of columns, given as a sequence or with commas between them.

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
    for name in names:
        if name != PASSED_OVER and name not in FIELDS:
            raise UsageError(f"columns: there is no {shown(name)}; {nearest(name, [*FIELDS, PASSED_OVER])}")
        if name != PASSED_OVER and names.count(name) > 1:
            raise UsageError(f"columns: {name} is given {names.count(name)} times; give it once")
    for name in ("message", "response"):
        if name not in names:
            raise UsageError(f'columns: {name} must be one of them, as in columns="-,context,message,response"')
    return names
