"""JSON lines: one object a line, read with the place of every mistake and written so that any tool can read it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.columns import Columns
from trubleu.data.files import atomic_writer
from trubleu.data.weights import agrees, ratings_problem, shown, weight_from_ratings, weight_problem
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trubleu.data.files import PathLike
    from trubleu.data.segments import Segment

_SUFFIXES = (".jsonl", ".ndjson", ".json")
_READABLE = json.JSONEncoder(ensure_ascii=False)
_ASCII = json.JSONEncoder()


def is_json_name(name: str) -> bool:
    """Return whether a file's name says that it holds JSON lines, compressed or not.

    Examples
    --------
    >>> is_json_name("refs.jsonl"), is_json_name("refs.jsonl.gz"), is_json_name("refs.en")
    (True, True, False)
    """
    return name.lower().removesuffix(".gz").endswith(_SUFFIXES)


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
        yield place, record


def kind_of(value: object) -> str:
    """Return what a JSON value is, in JSON's words.

    Examples
    --------
    >>> kind_of(None), kind_of([1]), kind_of("hello")
    ('null', 'an array', "the string 'hello'")
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
    return f"the number {shown(value)}"


def text_field(record: dict[str, Any], field: str, place: str, path: str = "") -> str:
    """Return a field that must be a string; ``path`` leads to the record inside the line."""
    value = record.get(field)
    if type(value) is str:
        return value
    if field not in record:
        raise DataError(f'{place}: the field {path}{field} is missing; add a string, "" if it is empty')
    raise DataError(f"{place}: {path}{field} must be a string, not {kind_of(value)}")


def id_field(record: dict[str, Any], place: str) -> str | None:
    """Return the id as a string (an integer counts as its digits), None if there is none."""
    value = record.get("id")
    if type(value) is int:
        return str(value)
    if value is None or type(value) is str:
        return value
    raise DataError(f"{place}: id must be a string, not {kind_of(value)}")


def read_references(lines: Iterable[str], name: str) -> Columns:
    """Read the lines of a file of references (see `References.read`)."""
    texts: list[str] = []
    weights: list[float] = []
    origins: list[str | None] = []
    ends = [0]
    places: dict[str, str] = {}
    messages: list[str | None] = []
    contexts: list[tuple[str, ...] | None] = []
    weighted = False
    for place, record in parse_objects(lines, name):
        given = id_field(record, place)
        identity = place if given is None else given
        if (first := places.setdefault(identity, place)) is not place:
            raise DataError(
                f"{place}: the id {shown(identity)} is already used at {first}; every segment needs its own"
            )
        messages.append(_optional_text(record, "message", place))
        contexts.append(_context(record, place))
        for index, item in enumerate(_reference_items(record, place)):
            path = f"references[{index}]."
            if type(item) is not dict:
                raise DataError(f'{place}: {path[:-1]} must be an object with a "text", not {kind_of(item)}')
            texts.append(text_field(item, "text", place, path))
            origins.append(_optional_text(item, "origin", place, path))
            weights.append(_weight(item, place, path))
            weighted = weighted or "weight" in item or "ratings" in item
        ends.append(len(texts))
    return Columns(
        texts,
        np.array(ends, dtype=np.int64),
        np.array(weights, dtype=np.float64) if weighted else None,
        tuple(places),
        _unless_all_none(origins),
        _unless_all_none(messages),
        _unless_all_none(contexts),
        name,
    )


def _reference_items(record: dict[str, Any], place: str) -> list[Any]:
    items = record.get("references")
    if type(items) is not list:
        if "references" not in record:
            raise DataError(f"{place}: the field references is missing; add an array of objects, each with a text")
        raise DataError(f"{place}: references must be an array of objects, each with a text, not {kind_of(items)}")
    if not items:
        raise DataError(f"{place}: references is empty; give every segment at least one reference or leave it out")
    return items


def _weight(item: dict[str, Any], place: str, path: str) -> float:
    """Return the weight that an item's weight and ratings agree on, NaN if it is not rated yet."""
    weight = item.get("weight")
    if type(weight) is float and -1 <= weight <= 1 and "ratings" not in item:
        return weight  # by far the most frequent case, first
    if weight is not None:
        if type(weight) is not float and type(weight) is not int:
            raise DataError(f"{place}: {path}weight must be a number from -1 to 1 or null, not {kind_of(weight)}")
        if problem := weight_problem(weight, "write null for a reference that is not rated yet"):
            raise DataError(f"{place}: {path}weight {problem}")
    ratings = item.get("ratings")
    if not ratings and (ratings is None or type(ratings) is list):
        return math.nan if weight is None else float(weight)
    if type(ratings) is not list:
        raise DataError(f"{place}: {path}ratings must be an array of integers from 1 to 5, not {kind_of(ratings)}")
    if problem := ratings_problem(ratings):
        raise DataError(f"{place}: {path}ratings {problem}")
    if weight is None:
        return weight_from_ratings(ratings)
    if not agrees(weight, ratings):
        raise DataError(
            f"{place}: {path}weight is {shown(weight)} but its ratings give {weight_from_ratings(ratings):.6g}; "
            "correct one of them or leave the weight out"
        )
    return float(weight)


def _optional_text(record: dict[str, Any], field: str, place: str, path: str = "") -> str | None:
    value = record.get(field)
    if value is None or type(value) is str:
        return value
    raise DataError(f"{place}: {path}{field} must be a string, not {kind_of(value)}")


def _context(record: dict[str, Any], place: str) -> tuple[str, ...] | None:
    context = record.get("context")
    if context is None:
        return None
    if type(context) is not list:
        raise DataError(f"{place}: context must be an array of strings, one a turn, not {kind_of(context)}")
    for index, turn in enumerate(context):
        if type(turn) is not str:
            raise DataError(f"{place}: context[{index}] must be a string, not {kind_of(turn)}")
    return tuple(context)


def _unless_all_none(values: list[Any]) -> tuple[Any, ...] | None:
    return tuple(values) if any(value is not None for value in values) else None


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
