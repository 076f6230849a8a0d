"""The words and sentences of the simulated world, which are in ``words.toml`` and ``sentences.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator


Kind: TypeAlias = Literal["thing", "doing", "place", "good", "bad", "praise", "blame", "name", "time"]

FORMS: Final = 3
"""Of a doing: *sing*, *sang*, *singing*."""


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
    return {topic: _concepts(topic, kinds) for topic, kinds in _read("words.toml")["topics"].items()}


@cache
def general() -> dict[Kind, tuple[Concept, ...]]:
    """Return the meanings that belong to no topic by their kind: names, times, and words of praise and blame."""
    return _concepts(None, _read("words.toml")["general"])


def concepts() -> Iterator[Concept]:
    """Yield all meanings there are."""
    for kinds in (*topics().values(), general()):
        for each in kinds.values():
            yield from each


def _concepts(topic: str | None, kinds: dict[Kind, list[str]]) -> dict[Kind, tuple[Concept, ...]]:
    return {
        kind: tuple(
            Concept(topic, kind, tuple(tuple(way.split("/")) for way in meaning.split("="))) for meaning in meanings
        )
        for kind, meanings in kinds.items()
    }


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


class Phrases:
    """The sentences of `sentences.toml`, which says what each of these is."""

    def __init__(self, read: dict[str, Any]) -> None:
        self.messages: Final[dict[str, list[str]]] = read["messages"]
        self.responses: Final[dict[str, list[str]]] = read["responses"]
        self.details: Final[list[str]] = read["details"]
        self.greetings: Final[list[str]] = read["greetings"]
        self.openers: Final[list[str]] = read["openers"]
        self.tails: Final[list[str]] = read["tails"]
        self.contractions: Final[dict[str, str]] = read["contractions"]
        self.fit: Final[dict[str, dict[str, float]]] = read["fit"]
        self.asking: Final = frozenset(read["asking"])
        self.referring: Final = frozenset(read["referring"])


PHRASES: Final = Phrases(_read("sentences.toml"))
