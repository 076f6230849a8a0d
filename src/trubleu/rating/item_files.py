"""Items and segments from files of candidates, references or triples."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from trubleu.data.files import iterate_lines, name_of, open_bytes, split_lines
from trubleu.data.formats import format_of
from trubleu.data.jsonl import parse_objects
from trubleu.data.records import SegmentCollector, context_field, id_field, kind_of, optional_text, text_field
from trubleu.data.tables import is_parquet, read_parquet
from trubleu.data.weights import shown
from trubleu.errors import DataError, TrubleuWarning, counted, some
from trubleu.rating.items import Item, check_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from trubleu.data.files import PathLike
    from trubleu.data.references import References

_FIELDS = ("id", "context", "message", "references", "response")
_KEPT_ELSEWHERE = {"id", "text", "weight", "ratings"}


def read_items(path: PathLike) -> list[Item]:
    r"""Read items of one text each from a file of candidates (or references) or of triples.

    What has ``references`` becomes one item a reference; what has a ``response`` becomes one item.

    Parameters
    ----------
    path
        JSON lines, plain or compressed with gzip or zstd, or ``-`` for standard input; Parquet with the same fields as
        columns; triples may also be tab-separated (see `trubleu.data.TripleFiles`).

    Raises
    ------
    DataError
        If a line cannot be used, or there are none, with the line and the field; or if two pieces of conversation have
        one id.

    Warns
    -----
    TrubleuWarning
        If references have ratings or weights already: these are left out, as nobody knows whose they are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "candidates.jsonl"
    >>> _ = path.write_text('{"id": "7", "message": "hi", "references": [{"text": "hello"}, {"text": "yo"}]}\n')
    >>> [(item.key, item.texts) for item in read_items(path)]
    [('7#1', ('hello',)), ('7#2', ('yo',))]
    """
    name = name_of(path)
    items: list[Item] = []
    places: dict[str, str] = {}
    heads: dict[str, tuple[str, Item]] = {}
    rated = 0
    for place, default, record in _records(path):
        given = id_field(record, place)
        segment = default if given is None else given
        for item in _items_of(record, segment, place):
            check_key(item.key, place)
            if item.key in places:
                raise DataError(f"{place}: {shown(item.key)} is already used at {places[item.key]}; choose another id")
            places[item.key] = place
            items.append(item)
            first_place, first = heads.setdefault(segment, (place, item))
            if (first.context, first.message) != (item.context, item.message):
                raise DataError(
                    f"{place}: the id {shown(segment)} is that of another piece of conversation at {first_place}; "
                    "every segment needs its own"
                )
        rated += sum(_is_rated(each) for each in record.get("references") or ())
    if not items:
        raise DataError(f"{name} holds nothing to rate; give a file of candidates or triples with a line a segment")
    if rated:
        warnings.warn(
            f"{name} has ratings or weights of {counted(rated, 'reference')}, which are left out: it does not say "
            "whose they are; carry them over from the study that they come from (--carry), or add them with trubleu "
            "rate import as a table of item, rater and score",
            TrubleuWarning,
            stacklevel=2,
        )
    return items


def _is_rated(reference: Mapping[str, Any]) -> bool:
    return bool(reference.get("ratings")) or reference.get("weight") is not None


def _records(path: PathLike) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what a file holds, each with its place and the id it has if it names none."""
    name = name_of(path)
    form = format_of(name)
    if form == "csv":
        raise DataError(
            f"{name}: items are not read from CSV; write them as JSON lines or Parquet, triples also as TSV"
        )
    if form == "tsv":
        from trubleu.data.triple_files import read_triples

        for number, triple in enumerate(read_triples(path), 1):
            record = {"message": triple.message, "context": list(triple.context), "response": triple.response}
            yield f"{name}: triple {number}", triple.id, record
        return
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            table = read_parquet(stream, name, _FIELDS)
            if not {"references", "response"} & set(table.names):
                raise DataError(
                    f"{name}: there is neither a column references (candidates, a row a segment) nor response "
                    f"(triples); columns found: {some(table.names) or 'none'}"
                )
            for row, record in enumerate(table.rows()):
                yield table.place(row), table.default_id(row), _from_parquet(record)
            return
        for place, record in parse_objects(chain.from_iterable(split_lines(stream, name)), name):
            yield place, place, record


def _from_parquet(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as a line of JSON lines would have it."""
    # Where candidates and triples are in one file, a row has one of the two.
    made = {field: value for field, value in record.items() if value is not None}
    if isinstance(made.get("context"), str):
        made["context"] = [made["context"]] if made["context"] else []
    if isinstance(made.get("references"), list):
        made["references"] = [_flat(each) if isinstance(each, dict) else each for each in made["references"]]
    return made


def _flat(reference: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reference without what Parquet needs to hold it: lists of words, and JSON in ``extra``."""
    made = dict(reference)
    words = made.pop("words", None)
    if isinstance(words, dict):
        made["words"] = {
            field: {each["word"]: each["contribution"] for each in found} if _are_words(found) else found
            for field, found in words.items()
        }
    extra = made.get("extra")
    with suppress(ValueError, RecursionError):
        if isinstance(extra, str) and isinstance(more := json.loads(extra), dict):
            made |= {field: value for field, value in more.items() if made.get(field) is None}
            del made["extra"]
    if made.get("extra", "") is None:
        del made["extra"]
    return made


def _are_words(found: object) -> bool:
    return isinstance(found, list) and all(
        isinstance(each, dict) and {*each} == {"word", "contribution"} for each in found
    )


def _items_of(record: Mapping[str, Any], segment: str, place: str) -> Iterable[Item]:
    context = context_field(record, place) or ()
    message = optional_text(record, "message", place)
    references = record.get("references")
    if references is None:
        if "response" not in record:
            raise DataError(
                f"{place}: there is neither references (a file of candidates) nor response (a file of triples); add one"
            )
        text = text_field(record, "response", place)
        return [Item(segment, (text,), context=context, message=message, segment=segment)]
    if type(references) is not list:
        raise DataError(f"{place}: references must be an array of objects, each with a text, not {kind_of(references)}")
    return [
        _candidate(reference, number, segment, context, message, place)
        for number, reference in enumerate(references, 1)
    ]


def _candidate(
    reference: Any, number: int, segment: str, context: tuple[str, ...], message: str | None, place: str
) -> Item:
    path = f"references[{number - 1}]"
    if type(reference) is not dict:
        raise DataError(f'{place}: {path} must be an object with a "text", not {kind_of(reference)}')
    given = id_field(reference, f"{place}: {path}")
    name = str(number) if given is None else given
    return Item(
        f"{segment}#{name}",
        (text_field(reference, "text", place, f"{path}."),),
        context=context,
        message=message,
        segment=segment,
        reference=name,
        extra={field: value for field, value in reference.items() if field not in _KEPT_ELSEWHERE},
    )


def read_segments(path: PathLike) -> References:
    r"""Read the contexts and messages that outputs belong to, from candidates, references or triples.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triples.jsonl"
    >>> _ = path.write_text('{"id": "7", "context": ["hi"], "message": "how are you?", "response": "fine"}\n')
    >>> read_segments(path)[0].message
    'how are you?'
    """
    from trubleu.data.references import References

    if not _holds_triples(path):
        return References.read(path)
    collector = SegmentCollector(name_of(path))
    for place, default, record in _records(path):
        reference = {"text": text_field(record, "response", place)}
        collector.add(record | {"references": [reference]}, place, default)
    return References(**collector.columns()._asdict())


def _holds_triples(path: PathLike) -> bool:
    name = name_of(path)
    if format_of(name) == "tsv":
        return True
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            names = read_parquet(stream, name, ()).names
            return "response" in names and not {"references", "text"} & set(names)
    # References may also be plain text, or in a file of their own kind.
    first = next((line for line in iterate_lines(path) if line.strip()), "")
    records = list(parse_objects([first], name)) if first.lstrip().startswith("{") or format_of(name) == "jsonl" else []
    return bool(records) and "response" in records[0][1] and "references" not in records[0][1]
