"""Practice and gold items, from the settings or from a file beside them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from trubleu.data.files import iterate_lines
from trubleu.data.jsonl import parse_objects
from trubleu.data.records import context_field, kind_of, optional_text, text_field
from trubleu.data.weights import shown
from trubleu.errors import DataError, nearest
from trubleu.rating.items import POINTS, Item, Role
from trubleu.rating.yaml_nodes import Value, optional

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

_EXAMPLE = ("context", "message", "response", "responses", "accepted", "feedback")


def read_examples(value: Value, parts: int, role: Role) -> tuple[Item, ...]:
    """Read a list of practice or gold items from the settings."""
    items: dict[str, Item] = {}
    for entry in value.entries():
        item = _example(entry, parts, role)
        if item.key in items:
            entry.fail("is there twice; remove one of them")
        items[item.key] = item
    return tuple(items.values())


def _example(value: Value, parts: int, role: Role) -> Item:
    fields = value.fields(_EXAMPLE if role == "practice" else _EXAMPLE[:-1])
    wanted, other = ("responses", "response") if parts == 2 else ("response", "responses")
    if other in fields:
        fields[other].fail(f"does not fit the kind of study; write {wanted}")
    for required in (wanted, *(("accepted",) if role == "gold" else ())):
        if required not in fields:
            value.fail(f"has no {required}; add it")
    texts = (fields[wanted].text(),) if parts == 1 else tuple(entry.text() for entry in fields[wanted].entries())
    if len(texts) != parts:
        fields[wanted].fail(f"must be {parts} texts, not {len(texts)}")
    nothing: tuple[str, ...] = ()
    context = optional(fields, "context", lambda value: tuple(turn.text() for turn in value.entries()), nothing)
    message = optional(fields, "message", Value.text, None)
    accepted = optional(fields, "accepted", lambda value: _accepted(value, parts), None)
    return example(role, texts, context, message, accepted, optional(fields, "feedback", Value.text, ""))


def _accepted(value: Value, parts: int) -> tuple[tuple[int, int], ...]:
    entries = value.entries()
    if parts == 2 and all(entry.is_sequence for entry in entries):
        if len(entries) != parts:
            value.fail(f"must be one range for each of the {parts} responses, as [[1, 2], [4, 5]]")
        return tuple(_range(entry) for entry in entries)
    return (_range(value),) * parts


def _range(value: Value) -> tuple[int, int]:
    entries = value.entries()
    if len(entries) != 2:
        value.fail("must be the lowest and the highest score, as [1, 2]")
    low, high = (entry.whole(1, POINTS) for entry in entries)
    if low > high:
        value.fail(f"must be the lowest and the highest score, but {low} is above {high}")
    return low, high


def example(
    role: Role,
    texts: tuple[str, ...],
    context: tuple[str, ...],
    message: str | None,
    accepted: tuple[tuple[int, int], ...] | None,
    feedback: str = "",
) -> Item:
    """Make a gold or practice item, whose key follows from what raters see."""
    digest = hashlib.sha256(repr((texts, context, message)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Item(f"{role}:{digest}", texts, context, message, accepted=accepted, feedback=feedback, role=role)


def read_gold(path: Path, parts: int) -> tuple[Item, ...]:
    """Read gold items from a file of JSON lines."""
    items: dict[str, Item] = {}
    for place, record in parse_objects(iterate_lines(path), str(path)):
        item = _gold_record(record, place, parts)
        if item.key in items:
            raise DataError(f"{place}: this gold item is there twice; remove one of them")
        items[item.key] = item
    if not items:
        raise DataError(f"{path} holds no gold items; add some or leave gold.file out")
    return tuple(items.values())


def _gold_record(record: Mapping[str, Any], place: str, parts: int) -> Item:
    known = ("id", *_EXAMPLE[:-1])
    if unknown := [name for name in record if name not in known]:
        raise DataError(f"{place}: {shown(unknown[0])} is no field of a gold item; {nearest(unknown[0], known)}")
    if parts == 1:
        texts: tuple[str, ...] = (text_field(record, "response", place),)
    else:
        responses = record.get("responses")
        if type(responses) is not list or len(responses) != parts or any(type(text) is not str for text in responses):
            raise DataError(f"{place}: responses must be an array of {parts} strings, not {kind_of(responses)}")
        texts = tuple(responses)
    ranges = record.get("accepted")
    if parts == 1 or (type(ranges) is list and ranges and type(ranges[0]) is not list):
        ranges = [ranges] * parts
    if type(ranges) is not list or len(ranges) != parts or not all(map(_is_range, ranges)):
        raise DataError(
            f"{place}: accepted must be the lowest and the highest score, from 1 to {POINTS}, as [1, 2]"
            + ("; for two responses also [[1, 2], [4, 5]]" if parts == 2 else "")
        )
    accepted = tuple((low, high) for low, high in ranges)
    return example("gold", texts, context_field(record, place) or (), optional_text(record, "message", place), accepted)


def _is_range(value: object) -> bool:
    return (
        type(value) is list
        and len(value) == 2
        and all(type(score) is int for score in value)
        and 1 <= value[0] <= value[1] <= POINTS
    )
