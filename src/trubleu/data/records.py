"""What a record of a file or a row of a frame may hold, and the columns that references become from them.

JSON lines, Parquet and frames all pass through here, so that a rule about a field is written once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.columns import Columns
from trubleu.data.weights import agrees, ratings_problem, shown, weight_from_ratings, weight_problem
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping


def kind_of(value: object) -> str:
    """Return what a value is, in JSON's words as far as they go.

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


def text_field(record: Mapping[str, Any], field: str, place: str, path: str = "") -> str:
    """Return a field that must be a string; ``path`` leads to the record inside the line or row."""
    value = record.get(field)
    if type(value) is str:
        return value
    if field not in record:
        raise DataError(f'{place}: the field {path}{field} is missing; add a string, "" if it is empty')
    raise DataError(f"{place}: {path}{field} must be a string, not {kind_of(value)}")


def id_field(record: Mapping[str, Any], place: str, field: str = "id") -> str | None:
    """Return a name as a string (an integer counts as its digits), None if there is none."""
    value = record.get(field)
    if type(value) is int:
        return str(value)
    if value is None or type(value) is str:
        return value
    raise DataError(f"{place}: {field} must be a string, not {kind_of(value)}")


def optional_text(record: Mapping[str, Any], field: str, place: str, path: str = "") -> str | None:
    """Return a field that must be a string if it is there."""
    value = record.get(field)
    if value is None or type(value) is str:
        return value
    raise DataError(f"{place}: {path}{field} must be a string, not {kind_of(value)}")


def context_field(record: Mapping[str, Any], place: str) -> tuple[str, ...] | None:
    """Return the turns before a message, None if they are not known."""
    context = record.get("context")
    if context is None:
        return None
    if type(context) is not list:
        raise DataError(f"{place}: context must be an array of strings, one a turn, not {kind_of(context)}")
    for index, turn in enumerate(context):
        if type(turn) is not str:
            raise DataError(f"{place}: context[{index}] must be a string, not {kind_of(turn)}")
    return tuple(context)


def weight_field(item: Mapping[str, Any], place: str, path: str = "") -> float:
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


class SegmentCollector:
    """Checks records one by one, each with its place, and lays them flat.

    Parameters
    ----------
    source
        Where the records come from, for messages.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._texts: list[str] = []
        self._weights: list[float] = []
        self._origins: list[str | None] = []
        self._ends = [0]
        self._places: dict[str, str] = {}
        self._messages: list[str | None] = []
        self._contexts: list[tuple[str, ...] | None] = []
        self._weighted = False

    def add(self, record: Mapping[str, Any], place: str, default_id: str) -> None:
        """Add a segment from a record that holds an array of ``references``."""
        self.begin(record, place, default_id)
        for index, item in enumerate(_items(record, place)):
            path = f"references[{index}]."
            if type(item) is not dict:
                raise DataError(f'{place}: {path[:-1]} must be an object with a "text", not {kind_of(item)}')
            self.add_reference(item, place, path)
        self.end()

    def begin(self, record: Mapping[str, Any], place: str, default_id: str) -> None:
        """Begin a segment; `add_reference` and `end` follow."""
        given = id_field(record, place)
        identity = default_id if given is None else given
        if (first := self._places.setdefault(identity, place)) is not place:
            raise DataError(
                f"{place}: the id {shown(identity)} is already used at {first}; every segment needs its own"
            )
        self._messages.append(optional_text(record, "message", place))
        self._contexts.append(context_field(record, place))

    def add_reference(self, item: Mapping[str, Any], place: str, path: str = "") -> None:
        """Add a reference to the segment that was begun."""
        self._texts.append(text_field(item, "text", place, path))
        self._origins.append(optional_text(item, "origin", place, path))
        self._weights.append(weight_field(item, place, path))
        self._weighted = self._weighted or "weight" in item or "ratings" in item

    def end(self) -> None:
        """End the segment that was begun."""
        self._ends.append(len(self._texts))

    def columns(self) -> Columns:
        """Return all that was added."""
        return Columns(
            self._texts,
            np.array(self._ends, dtype=np.int64),
            np.array(self._weights, dtype=np.float64) if self._weighted else None,
            tuple(self._places),
            unless_all_none(self._origins),
            unless_all_none(self._messages),
            unless_all_none(self._contexts),
            self._source,
        )


def _items(record: Mapping[str, Any], place: str) -> list[Any]:
    items = record.get("references")
    if type(items) is not list:
        if "references" not in record:
            raise DataError(f"{place}: the field references is missing; add an array of objects, each with a text")
        raise DataError(f"{place}: references must be an array of objects, each with a text, not {kind_of(items)}")
    if not items:
        raise DataError(f"{place}: references is empty; give every segment at least one reference or leave it out")
    return items


def unless_all_none(values: list[Any]) -> tuple[Any, ...] | None:
    """Return a column, or None if there is nothing in it."""
    return tuple(values) if any(value is not None for value in values) else None
