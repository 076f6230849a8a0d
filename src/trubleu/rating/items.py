"""What is rated, and pairs of the outputs of systems."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from trubleu.data.weights import shown
from trubleu.errors import DataError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.data.outputs import Outputs
    from trubleu.data.references import References

Role = Literal["item", "gold", "practice"]

POINTS = 5  # of the scale; weights are defined for five
_LONGEST_KEY = 2000  # bytes; PostgreSQL's indices take a little more


@dataclass(frozen=True, slots=True)
class Item:
    """Something to be rated in the light of what came before it.

    Attributes
    ----------
    key
        Its name, the same in every study that is made from the same files: ``SEGMENT``, ``SEGMENT#REFERENCE`` or
        ``SEGMENT#A:B``.
    texts
        What is rated: one text, or the two of a pair.
    context
        The turns before the message, oldest first.
    message
        What the texts answer to, if known.
    segment
        The id of the segment or triple.
    reference
        The reference's id in its segment, or its number there, counted from 1; None if the item is no reference.
    systems
        The names of the two systems of a pair, in the order of the texts.
    accepted
        For gold and practice items: the lowest and highest score that is right, for each text.
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
    accepted: tuple[tuple[int, int], ...] | None = None
    feedback: str = ""
    role: Role = "item"
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def practice(self) -> bool:
        """Whether this is a practice item."""
        return self.role == "practice"

    def same_texts(self, other: Item) -> bool:
        """Return whether raters see the same in another item.

        Examples
        --------
        >>> Item("1", ("fine",)).same_texts(Item("2", ("fine",)))
        True
        """
        return (self.texts, self.context, self.message) == (other.texts, other.context, other.message)

    def to_json(self) -> str:
        """Return all but the key as JSON in ASCII, which every database keeps."""
        record = {
            "texts": self.texts,
            "context": self.context,
            "message": self.message,
            "segment": self.segment,
            "reference": self.reference,
            "systems": self.systems,
            "accepted": self.accepted,
            "feedback": self.feedback,
            "role": self.role,
            "extra": dict(self.extra),
        }
        usual = {"segment": "", "feedback": "", "context": (), "systems": (), "extra": {}, "role": "item"}
        return json.dumps({name: value for name, value in record.items() if value != usual.get(name)})

    @classmethod
    def from_json(cls, key: str, payload: str) -> Item:
        """Return the item that `to_json` wrote."""
        record = json.loads(payload)
        for name in ("texts", "context", "systems"):
            record[name] = tuple(record.get(name, ()))
        if "accepted" in record:
            record["accepted"] = tuple((low, high) for low, high in record["accepted"])
        return cls(key, **record)


def parse_pairs(text: str, systems: Sequence[str]) -> list[tuple[str, str]]:
    """Read ``A:B,A:C``, or make all pairs of the systems if the text is ``all``.

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
                raise UsageError(
                    f"the pair {shown(part)} names an unknown system {shown(name)}; {nearest(name, systems)}"
                )
        if first == second:
            raise UsageError(f"the pair {shown(part)} is one system with itself; name two")
        if (first, second) in pairs or (second, first) in pairs:
            raise UsageError(f"the pair {shown(part)} is given twice; give it once")
        pairs.append((first, second))
    return pairs


def pair_items(segments: References, outputs: Sequence[Outputs], pairs: Sequence[tuple[str, str]]) -> list[Item]:
    """Make an item of each segment and pair of systems: both outputs, to be rated side by side.

    Parameters
    ----------
    segments
        The contexts and messages (see `read_segments`).
    outputs
        What the systems wrote (see `trubleu.data.read_outputs`).
    pairs
        The names of the systems of each pair (see `parse_pairs`).

    Examples
    --------
    >>> from trubleu.data import Outputs, References
    >>> segments = References.from_lists([["fine"]]).with_messages(["how are you?"])
    >>> items = pair_items(segments, [Outputs("A", ["good"], ""), Outputs("B", ["bad"], "")], [("A", "B")])
    >>> items[0].key, items[0].texts, items[0].systems
    ('1#A:B', ('good', 'bad'), ('A', 'B'))
    """
    by_name = {system.name: system.texts for system in outputs}
    items = [
        Item(
            f"{segment.id}#{first}:{second}",
            (by_name[first][index], by_name[second][index]),
            context=segment.context or (),
            message=segment.message,
            segment=segment.id,
            systems=(first, second),
        )
        for index, segment in enumerate(segments)
        for first, second in pairs
    ]
    if not items:
        raise DataError(f"{segments.source} and the pairs make nothing to rate; give segments and at least one pair")
    for item in items:
        check_key(item.key, segments.source)
    return items


def check_items(items: Sequence[Item], parts: int) -> None:
    """Refuse items that do not fit a study whose items have so many texts.

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
            raise DataError(f"the item {shown(item.key)} has {len(item.texts)} texts, but this study rates {parts}")
        if item.role != "item":
            raise DataError(f"the item {shown(item.key)} is a {item.role} item; put these into the study's settings")


def check_key(key: str, place: str) -> None:
    """Refuse a key that a database cannot keep."""
    if problem := unstorable(key):
        raise DataError(f"{place}: the id {shown(key)} {problem}; give it another one")
    if len(key.encode()) > _LONGEST_KEY:
        raise DataError(f"{place}: the id {shown(key)} is longer than {_LONGEST_KEY:,} bytes; give it a shorter one")


def unstorable(text: str) -> str | None:
    r"""Say what keeps a text from being stored as it is in PostgreSQL, None if nothing does.

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
