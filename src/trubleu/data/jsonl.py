"""JSON lines: one object a line, read with the place of every mistake and written so that any tool can read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from trubleu.data.files import atomic_writer
from trubleu.data.formats import format_of
from trubleu.data.records import SegmentCollector, kind_of
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trubleu.data.columns import Columns
    from trubleu.data.files import PathLike
    from trubleu.data.segments import Segment

_READABLE = json.JSONEncoder(ensure_ascii=False)
_ASCII = json.JSONEncoder()


def is_json_name(name: str) -> bool:
    """Return whether a file's name says that it holds JSON lines, compressed or not.

    Examples
    --------
    >>> is_json_name("refs.jsonl"), is_json_name("refs.jsonl.zst"), is_json_name("refs.en")
    (True, True, False)
    """
    return format_of(name) == "jsonl"


def parse_objects(lines: Iterable[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object with its place ``FILE:LINE``; blank lines are passed over but counted.

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
    """Return the object that a line holds.

    Raises
    ------
    DataError
        If the line is not JSON (with the column) or not an object.
    """
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}: this is not JSON: {error.msg} at column {error.colno}; every line must hold one JSON object"
        ) from error
    except (RecursionError, ValueError) as error:  # nested, or an integer written, beyond what Python reads
        raise DataError(f"{place}: this JSON cannot be read: {error}") from error
    if type(record) is not dict:
        raise DataError(f"{place}: a line must hold one JSON object, not {kind_of(record)}")
    return record


def read_references(lines: Iterable[str], name: str) -> Columns:
    """Read the lines of a file of references (see `References.read`)."""
    collector = SegmentCollector(name)
    for place, record in parse_objects(lines, name):
        collector.add(record, place, place)
    return collector.columns()


def write_references(path: PathLike, segments: Iterable[Segment], *, weighted: bool) -> None:
    """Write segments as `read_references` reads them."""
    with atomic_writer(path) as stream:
        for segment in segments:
            record: dict[str, Any] = {"id": segment.id}
            if segment.context is not None:
                record["context"] = segment.context
            if segment.message is not None:
                record["message"] = segment.message
            items = []
            for reference in segment.references:
                item: dict[str, Any] = {"text": reference.text}
                if weighted:
                    item["weight"] = reference.weight
                if reference.origin is not None:
                    item["origin"] = reference.origin
                items.append(item)
            record["references"] = items
            stream.write(json_line(record) + "\n")


def json_line(record: dict[str, Any]) -> str:
    r"""Return an object as one line of JSON: readable where possible, escaped where a file or a tool would stumble.

    Lone surrogates have no UTF-8, and a raw U+2028 or U+0085 is the end of a line to some tools.

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
