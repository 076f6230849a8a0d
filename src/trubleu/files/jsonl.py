"""JSON Lines: one object per line; errors name the file and the line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import DataError, shown
from trubleu.files.paths import format_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def kind_of(value: object) -> str:
    """Return the type of a value, in JSON terms where possible.

    Examples
    --------
    >>> kind_of(None), kind_of([1]), kind_of("hello"), kind_of(2), kind_of(b"x")
    ('null', 'an array', "the string 'hello'", 'the number 2', "b'x'")
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the string {shown(value)}"
        case list():
            return "an array"
        case dict():
            return "an object"
        case int() | float():
            return f"the number {shown(value)}"
    return shown(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has the key {shown(twice)} twice; keep one of them")
    return record


parse_json: Final = json.JSONDecoder(object_pairs_hook=_object).decode
"""Parse JSON as ``json.loads`` does, but raise ValueError for a duplicate key instead of keeping the last value."""


_READABLE = json.JSONEncoder(ensure_ascii=False)
_ASCII = json.JSONEncoder()


def is_json_name(name: str) -> bool:
    """Return whether a file name has a JSON Lines suffix, compressed or not.

    Examples
    --------
    >>> is_json_name("refs.jsonl"), is_json_name("refs.jsonl.zst"), is_json_name("refs.en")
    (True, True, False)
    """
    return format_of(name) == "jsonl"


def parse_objects(lines: Iterable[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object with its place ``FILE:LINE``; blank lines are skipped but counted.

    Raises
    ------
    DataError
        If a line is not JSON (with the column) or not an object.
    """
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        place = f"{name}:{number}"
        yield place, parse_object(line, place)


def parse_object(line: str, place: str) -> dict[str, Any]:
    """Parse the object on a line.

    Raises
    ------
    DataError
        If the line is not JSON (with the column) or not an object, or an object has a key twice.
    """
    try:
        record = parse_json(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}: this is not JSON: {error.msg} at column {error.colno}; every line must hold one JSON object"
        ) from error
    except (RecursionError, ValueError) as error:  # a duplicate key; nesting or a number that Python refuses to parse
        raise DataError(f"{place}: this JSON cannot be read: {error}") from error
    if type(record) is not dict:
        raise DataError(
            f"{place}: a line must hold one JSON object, not {kind_of(record)}; give each record its own line"
        )
    return record


def json_line(record: dict[str, Any]) -> str:
    r"""Return an object as one line of JSON, escaping only what files or tools cannot handle.

    Lone surrogates cannot be encoded as UTF-8, and some tools take a raw U+2028 or U+0085 for a line end.

    Examples
    --------
    >>> print(json_line({"text": "\u00fcber"}))
    {"text": "über"}
    >>> print(json_line({"text": "\u00fcber\u2028"}))
    {"text": "\u00fcber\u2028"}
    """
    line = _READABLE.encode(record)
    if not line.isascii():
        try:
            line.encode()
        except UnicodeEncodeError:
            return _ASCII.encode(record)
        if len(line.splitlines()) > 1:
            return _ASCII.encode(record)
    return line
