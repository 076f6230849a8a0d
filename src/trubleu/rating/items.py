"""Items to rate, from candidates, references or triples, and pairs of the outputs of systems."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from trubleu.data.reference_files import SegmentCollector, context_field, id_field, optional_text, text_field
from trubleu.data.seeds import SEED_SYSTEM
from trubleu.data.titles import REFERENCE_TITLES
from trubleu.errors import DataError, TrubleuWarning, UsageError, counted, nearest, shown
from trubleu.files.jsonl import kind_of, parse_object, parse_objects
from trubleu.files.lines import iterate_lines, open_bytes, split_lines
from trubleu.files.parquet import is_parquet, read_parquet
from trubleu.files.paths import PathLike, base_name, format_of, is_standard, name_of
from trubleu.files.tables import Table, read_table, table_rows, tell_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.data.outputs import Outputs
    from trubleu.data.references import References


Role = Literal["item", "gold", "practice"]

UNKNOWN_SYSTEM = "reference"
"""Who wrote a text of which the study knows neither the system nor the origin."""

POINTS = 5  # default points of a scale
_LONGEST_KEY = 2000  # bytes; slightly below the limit of PostgreSQL's indexes


@dataclass(frozen=True, slots=True)
class Item:
    """Texts to rate in their context.

    Attributes
    ----------
    key
        Its name, the same in every study that is made from the same files: ``SEGMENT``, ``SEGMENT#REFERENCE`` or
        ``SEGMENT#A:B``.
    texts
        What is rated: one text, the two of a pair, or those of a ranking.
    context
        The turns before the message, oldest first.
    message
        What the texts answer to, if known.
    segment
        The id of the segment or triple.
    reference
        The reference's id in its segment, or its number there, counted from 1; None if the item is no reference.
    systems
        The names of the systems of a pair or a ranking, in the order of the texts.
    accepted
        For gold and practice items: the lowest and highest score that is right, for each text and question; None for
        a question to which any answer will do.
    feedback
        For practice items: what the rater is told after answering, as Markdown.
    role
        ``item``, ``gold`` (a known answer, mixed in unseen) or ``practice`` (before the start, with feedback).
    extra
        What else the file says about the reference, to be written again by an export.

    Examples
    --------
    >>> item = Item("7#1", ("fine",), message="how are you?", segment="7", reference="1")
    >>> Item.from_json(item.key, item.to_json()) == item
    True
    """

    key: str
    texts: tuple[str, ...]
    context: tuple[str, ...] = ()
    message: str | None = None
    segment: str = ""
    reference: str | None = None
    systems: tuple[str, ...] = ()
    accepted: tuple[tuple[int, int] | None, ...] | None = None
    feedback: str = ""
    role: Role = "item"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def writer(self, part: int) -> str:
        """Return the system that wrote a text, or else where it comes from, as far as the study knows."""
        if self.systems:
            return self.systems[part]
        if self.reference is None:
            return SEED_SYSTEM
        origin = self.extra.get("origin")
        return origin if isinstance(origin, str) and origin.strip() else UNKNOWN_SYSTEM

    def accepted_at(self, part: int, question: int) -> tuple[int, int] | None:
        """Return the range of accepted scores for a question about a text, None if any is accepted."""
        if self.accepted is None:
            return None
        return self.accepted[part * (len(self.accepted) // len(self.texts)) + question]

    def same_texts(self, other: Item) -> bool:
        """Return whether raters see the same content in another item.

        Examples
        --------
        >>> Item("1", ("fine",)).same_texts(Item("2", ("fine",)))
        True
        """
        return (self.texts, self.context, self.message) == (other.texts, other.context, other.message)

    def to_json(self) -> str:
        """Return everything except the key as ASCII JSON, which every database can store."""
        usual = {each.name: each.default for each in fields(self)} | {"key": self.key, "extra": {}}
        record = {name: getattr(self, name) for name in usual} | {"extra": dict(self.extra)}
        return json.dumps({name: value for name, value in record.items() if value != usual[name]})

    @classmethod
    def from_json(cls, key: str, payload: str) -> Item:
        """Restore an item from `to_json`."""
        record = json.loads(payload)
        for name in ("texts", "context", "systems"):
            record[name] = tuple(record.get(name, ()))
        if "accepted" in record:
            record["accepted"] = tuple(pair and (pair[0], pair[1]) for pair in record["accepted"])
        return cls(key, **record)


def parse_pairs(text: str, systems: Sequence[str]) -> list[tuple[str, str]]:
    """Parse ``A:B,A:C``, or return all pairs of the systems for ``all``.

    Raises
    ------
    UsageError
        If a pair cannot be read, names an unknown system, one system twice, or comes twice.

    Examples
    --------
    >>> parse_pairs("A:B,C:A", ["A", "B", "C"]), parse_pairs("all", ["A", "B", "C"])
    ([('A', 'B'), ('C', 'A')], [('A', 'B'), ('A', 'C'), ('B', 'C')])
    """
    if text.strip() == "all":
        return [(first, second) for at, first in enumerate(systems) for second in systems[at + 1 :]]
    pairs: list[tuple[str, str]] = []
    for part in text.split(","):
        first, colon, second = (piece.strip() for piece in part.partition(":"))
        if not colon:
            raise UsageError(f"the pair {shown(part)} cannot be read; write pairs as A:B,A:C")
        for name in (first, second):
            if name not in systems:
                hint = nearest(name, systems)
                raise UsageError(f"the pair {shown(part)} names an unknown system {shown(name)}; {hint}")
        if first == second:
            raise UsageError(f"the pair {shown(part)} is one system with itself; name two")
        if (first, second) in pairs or (second, first) in pairs:
            raise UsageError(f"the pair {shown(part)} is given twice; give it once")
        pairs.append((first, second))
    return pairs


def output_items(segments: References, outputs: Sequence[Outputs], groups: Sequence[tuple[str, ...]]) -> list[Item]:
    """Create an item per segment and group of systems: their outputs, to be rated side by side or ranked.

    Parameters
    ----------
    segments
        The contexts and messages (see `read_segments`).
    outputs
        What the systems wrote (see `trubleu.data.read_outputs`).
    groups
        The names of the systems of each pair (see `parse_pairs`) or ranking.

    Examples
    --------
    >>> from trubleu.data import Outputs, References
    >>> segments = References.from_lists([["fine"]]).with_messages(["how are you?"])
    >>> items = output_items(segments, [Outputs("A", ["good"], ""), Outputs("B", ["bad"], "")], [("A", "B")])
    >>> items[0].key, items[0].texts, items[0].systems
    ('1#A:B', ('good', 'bad'), ('A', 'B'))
    """
    by_name = {system.name: system.texts for system in outputs}
    items = [
        Item(
            f"{segment.id}#{':'.join(names)}",
            tuple(by_name[name][index] for name in names),
            context=segment.context or (),
            message=segment.message,
            segment=segment.id,
            systems=names,
        )
        for index, segment in enumerate(segments)
        for names in groups
    ]
    if not items:
        raise DataError(f"{segments.source} and the pairs make nothing to rate; give segments and at least one pair")
    for item in items:
        check_key(item.key, segments.source)
    return items


def competition_ranks(ranks: Sequence[int]) -> tuple[int, ...]:
    """Return competition ranks: 1 plus the number of texts that are better.

    Examples
    --------
    >>> competition_ranks((2, 1, 1, 4)), competition_ranks((2, 2))
    ((3, 1, 1, 4), (1, 1))
    """
    return tuple(1 + sum(other < rank for other in ranks) for rank in ranks)


def check_items(items: Sequence[Item], parts: int) -> None:
    """Raise an error for items that do not have ``parts`` texts or are otherwise invalid.

    Raises
    ------
    DataError
        If there are none, two have one key, or one has too many or too few texts.
    """
    if not items:
        raise DataError("there is nothing to rate; give at least one item")
    seen: set[str] = set()
    for item in items:
        check_key(item.key, "the items")
        if item.key in seen:
            raise DataError(f"two items have the key {shown(item.key)}; every item needs its own")
        seen.add(item.key)
        if len(item.texts) != parts:
            texts = counted(len(item.texts), "text")
            raise DataError(f"the item {shown(item.key)} has {texts}, but this study rates {parts}")
        if item.role != "item":
            raise DataError(f"the item {shown(item.key)} is a {item.role} item; put these into the study's settings")


def check_key(key: str, place: str) -> None:
    """Raise an error for a key that a database cannot store."""
    if problem := unstorable(key):
        raise DataError(f"{place}: the id {shown(key)} {problem}; give it another one")
    if len(key.encode()) > _LONGEST_KEY:
        raise DataError(f"{place}: the id {shown(key)} is longer than {_LONGEST_KEY:,} bytes; give it a shorter one")


def unstorable(text: str) -> str | None:
    r"""Return why PostgreSQL cannot store a text, None if it can.

    Examples
    --------
    >>> unstorable("a"), unstorable("a\0b")
    (None, 'holds a NUL character')
    """
    if "\0" in text:
        return "holds a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "holds half a surrogate pair"
    return None


_KEPT_ELSEWHERE = {"id", "text", "weight", "ratings"}


def read_items(path: PathLike) -> list[Item]:
    r"""Read items of one text each from a file of candidates (or references) or of triples.

    A record with ``references`` becomes one item per reference; one with a ``response`` becomes one item.

    Parameters
    ----------
    path
        JSON lines, plain or compressed with gzip or zstd, or ``-`` for standard input; a table with a row per
        text; references in Parquet, of which texts and origins are kept; triples also tab-separated or in Parquet.

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
                other = f"another piece of conversation at {first_place}"
                raise DataError(f"{place}: the id {shown(segment)} is that of {other}; every segment needs its own")
        rated += sum(_is_rated(each) for each in record.get("references") or ())
    if not items:
        raise DataError(f"{name} holds nothing to rate; give a file of candidates or triples with one line per segment")
    if rated:
        told = f"{name} has ratings or weights of {counted(rated, 'reference')}, left out, as nobody knows whose"
        remedy = "carry them over from their study (--carry), or add them with trubleu rate import"
        warnings.warn(f"{told} they are; {remedy}", TrubleuWarning, stacklevel=2)
    return items


def _is_rated(reference: Any) -> bool:
    return isinstance(reference, dict) and bool(reference.get("ratings") or reference.get("weight") is not None)


def _records(path: PathLike) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the records of a file, each with its place and default id."""
    name = name_of(path)
    kind = _kind(path)
    if kind == "lines":
        with open_bytes(path) as stream:
            for place, record in parse_objects(chain.from_iterable(split_lines(stream, name)), name):
                yield place, base_name(place), record
    elif kind == "table":
        with open_bytes(path) as stream:
            yield from _from_rows(read_table(table_rows(stream, name), name))
    elif kind == "triples":
        from trubleu.data.triples import read_triples

        for number, triple in enumerate(read_triples(path), 1):
            record = {"message": triple.message, "context": list(triple.context), "response": triple.response}
            yield f"{name}: triple {number}", triple.id, record
    else:
        from trubleu.data.references import References

        for segment in References.read(path):
            references = [
                {"text": each.text, "weight": each.weight} | ({"origin": each.origin} if each.origin else {})
                for each in segment.references
            ]
            head = {"message": segment.message, "context": list(segment.context or ())}
            yield f"{name}: segment {segment.id}", segment.id, head | {"references": references}


def _from_rows(table: Table) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the segments of a table with one row per text, in the columns id, text, message and origin."""
    titles = {field: REFERENCE_TITLES[field] for field in ("id", "text", "message", "origin")}
    found = table.find(titles, option="")
    tell_fields(found, table.source)
    columns = {field: table.columns[names[0]] for field, names in found.items()}
    segments: dict[str, tuple[str, dict[str, Any]]] = {}
    for row in range(table.height):
        place = table.place(row)
        identity = columns["id"][row] if "id" in columns else table.default_id(row)
        message = columns["message"][row] or None if "message" in columns else None
        first, record = segments.setdefault(identity, (place, {"message": message, "references": []}))
        if message is not None and record["message"] != message:
            raise DataError(f"{place}: the message is not that at {first}, which has the same id; give them the same")
        reference = {"text": columns["text"][row]}
        if origin := columns["origin"][row] if "origin" in columns else "":
            reference["origin"] = origin
        record["references"].append(reference)
    for identity, (place, record) in segments.items():
        yield place, identity, record


def _kind(path: PathLike) -> Literal["lines", "table", "triples", "references"]:
    """Return how a file is read: as lines of JSON, a table, triples, or references in Parquet."""
    if is_standard(path):  # it can be read only once
        return "lines"
    form = format_of(name_of(path))
    if form in ("csv", "xlsx", "tsv"):
        return "triples" if form == "tsv" else "table"
    with open_bytes(path) as stream:
        if not is_parquet(stream, name_of(path)):
            return "lines"
        names = read_parquet(stream, name_of(path), ()).names
    return "triples" if "response" in names and not {"references", "text"} & set(names) else "references"


def _items_of(record: Mapping[str, Any], segment: str, place: str) -> Iterator[Item]:
    """Yield an item for each reference of a record, or for its response."""
    context, message = context_field(record, place) or (), optional_text(record, "message", place)
    references = record.get("references")
    if references is None:
        if "response" not in record:
            raise DataError(f"{place}: there is neither references (of candidates) nor response (of a triple); add one")
        yield Item(segment, (text_field(record, "response", place),), context, message, segment)
        return
    if type(references) is not list:
        raise DataError(f"{place}: references must be an array of objects, each with a text, not {kind_of(references)}")
    for number, given in enumerate(references, 1):
        path = f"references[{number - 1}]"
        reference = {"text": given} if type(given) is str else given
        if type(reference) is not dict:
            raise DataError(f'{place}: {path} must be a string or an object with a "text", not {kind_of(given)}')
        named = id_field(reference, f"{place}: {path}")
        name = str(number) if named is None else named
        text = text_field(reference, "text", place, f"{path}.")
        extra = {field: value for field, value in reference.items() if field not in _KEPT_ELSEWHERE}
        yield Item(f"{segment}#{name}", (text,), context, message, segment, name, extra=extra)


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

    if not _has_triples(path):
        return References.read(path)
    collector = SegmentCollector(name_of(path))
    for place, default, record in _records(path):
        reference = {"text": text_field(record, "response", place)}
        collector.add(record | {"references": [reference]}, place, default)
    return References(**collector.columns()._asdict())


def _has_triples(path: PathLike) -> bool:
    kind, name = _kind(path), name_of(path)
    if kind != "lines":
        return kind == "triples"
    # References may also be plain text, or in their own file format.
    first = next((line for line in iterate_lines(path) if line.strip()), "")
    is_json = first.lstrip().startswith("{") or (first and format_of(name) == "jsonl")
    record = parse_object(first, f"{name}:1") if is_json else {}
    return "response" in record and "references" not in record
