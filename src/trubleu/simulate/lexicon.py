"""The words of the made world: topics, each with things, doings, places and describing words, and their synonyms.

A line of words is a list with commas between meanings and ``=`` between the ways to say one. A doing has three forms
with ``/`` between them, as in *sing/sang/singing*. All ways to say a meaning fit the same places of a sentence: things
are singular and come after *the* or *my*, places bring their preposition along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from trubleu.simulate import topics_indoors, topics_outdoors

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind: TypeAlias = Literal["thing", "doing", "place", "good", "bad", "praise", "blame", "name", "time"]

FORMS: Final = 3
"""Of a doing: *sing*, *sang*, *singing*."""

_NAMES: Final = (
    "anna, ben, carla, david, emma, felix, grace, henry, ivy, jack, kate, leo, maria, nick, olga, peter, quinn, rosa, "
    "sam, tina, umar, vera, wendy, yara, zoe, aisha, bruno, chloe, dan, ella"
)  # fmt: skip
_TIMES: Final = (
    "on monday, on tuesday, on wednesday, on thursday, on friday, on saturday, on sunday, tomorrow, tonight, "
    "next week, next month, at noon, at eight, at half past seven, this weekend=at the weekend, in the morning, "
    "in the evening, after lunch, in an hour, in may, in june, in autumn, at six, around nine"
)  # fmt: skip


_PRAISE: Final = (
    "great=brilliant, beautiful=lovely, cheap=affordable, perfect=ideal, special=unique, worth it=worth every penny, "
    "better than i thought=better than expected, fantastic=superb, really good=very good, the best=my favourite"
)  # fmt: skip
_BLAME: Final = (
    "awful=terrible, expensive=overpriced, boring=dull, disappointing=a let down, annoying=a pain, useless=no good, "
    "a waste of money=a waste of time, worse than before=getting worse, ugly=not pretty, strange=weird"
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Concept:
    """A meaning that has words.

    Attributes
    ----------
    topic
        What it belongs to; None for what belongs to all topics, such as names.
    kind
        Which places of a sentence it fits.
    ways
        The ways to say it, each with its forms: three for doings, one for all others.
    """

    topic: str | None
    kind: Kind
    ways: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """The first form of the first way to say it."""
        return self.ways[0][0]


@cache
def topics() -> dict[str, dict[Kind, tuple[Concept, ...]]]:
    """Return the meanings of every topic by their kind.

    Examples
    --------
    >>> topics()["music"]["thing"][0].ways
    (('guitar',), ('acoustic',))
    """
    return {
        topic: {kind: _concepts(topic, kind, line) for kind, line in cast("dict[Kind, str]", lines).items()}
        for topic, lines in (topics_indoors.TOPICS | topics_outdoors.TOPICS).items()
    }


@cache
def general() -> dict[Kind, tuple[Concept, ...]]:
    """Return the meanings that belong to no topic by their kind: names, times, and words of praise and blame."""
    lines: dict[Kind, str] = {"name": _NAMES, "time": _TIMES, "praise": _PRAISE, "blame": _BLAME}
    return {kind: _concepts(None, kind, line) for kind, line in lines.items()}


def concepts() -> Iterator[Concept]:
    """Yield all meanings there are."""
    for kinds in (*topics().values(), general()):
        for each in kinds.values():
            yield from each


def _concepts(topic: str | None, kind: Kind, line: str) -> tuple[Concept, ...]:
    return tuple(
        Concept(topic, kind, tuple(tuple(form.strip() for form in way.split("/")) for way in meaning.split("=")))
        for meaning in line.split(",")
    )
