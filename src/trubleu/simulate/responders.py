"""Systems of the made world that answer messages, each with known faults."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from random import Random
from typing import TYPE_CHECKING, Final

from trubleu.errors import UsageError
from trubleu.simulate.grammar import tokens
from trubleu.simulate.reader import read
from trubleu.simulate.speech import Speaker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.data import Triple
    from trubleu.simulate.world import World

CONSTANT: Final = "i don't know ."
"""What the constant responder says."""

SEARCHED: Final = 20_000
"""How many conversations the random and the retrieving responder have read, unless told otherwise."""

SPECS: Final = ("skill:SHARE", "retrieval", "random", "dull", "constant", "parrot")

_FREQUENT: Final = 0.1  # words of more messages than this share tell nothing
_MANY: Final = 1000  # messages, below which all words count


@dataclass(frozen=True)
class Responder:
    """Something that answers messages; make one with `responder`.

    What it says to a message depends on nothing but the world, its own options and the id and message of the triple.

    Attributes
    ----------
    world
        Whose language it speaks.
    spec
        What it is like (see `responder`), the share written as short as can be.
    memory
        How many conversations it has read, if it repeats what others said.
    seed
        Of what it draws.
    """

    world: World
    spec: str
    memory: int = SEARCHED
    seed: int = 0
    _skill: float | None = field(default=None, repr=False)

    def respond(self, triples: Iterable[Triple]) -> list[str]:
        """Return a response to the message of each triple, whose own response is not looked at."""
        return [self._response(triple) for triple in triples]

    def _response(self, triple: Triple) -> str:
        match self.spec:
            case "constant":
                return CONSTANT
            case "parrot":
                return triple.message
            case "retrieval":
                return self._memory.nearest(triple.message)
        draws = Random(f"{self.world.seed}/{self.seed}/{self.spec}/{triple.id}/{triple.message}")  # noqa: S311
        if self.spec == "random":
            heard = _conversations(self.world, self.memory)
            return heard[int(draws.random() * len(heard))].response
        good = draws.random() < (self._skill or 0.0)
        speaker = Speaker(self.world.seed, draws)
        scene = speaker.scene_of(read(triple.message))
        if self.spec == "dull":
            return speaker.response(scene, "dull")
        return speaker.good(scene) if good else speaker.faulty(scene)

    @cached_property
    def _memory(self) -> _Memory:
        return _Memory(_conversations(self.world, self.memory))


def responder(world: World, spec: str, *, memory: int = SEARCHED, seed: int = 0) -> Responder:
    """Make a system that answers messages of a world.

    Parameters
    ----------
    world
        The world.
    spec
        ``skill:0.8``: that share of good responses, and otherwise a fault: three in ten are dull, three in ten about
        another topic, a quarter do what does not fit, the others say the message in other words. ``retrieval``: the
        response that the most similar message got in the conversations it has read. ``random``: any response of these.
        ``dull``: always something dull. ``constant``: always the same dull thing. ``parrot``: the message said back.
    memory
        How many conversations of `World.memories` the random and the retrieving one have read.
    seed
        Another one makes another system of the same kind.

    Raises
    ------
    UsageError
        If there is no such kind, the share does not lie between 0 and 1, or nothing has been read.

    Examples
    --------
    >>> from trubleu.simulate import World, responder
    >>> world = World(seed=1)
    >>> seeds = list(world.seeds(100))
    >>> for spec in ("skill:0.9", "skill:0.3", "parrot"):
    ...     outputs = responder(world, spec).respond(seeds)
    ...     print(spec, sum(world.quality(seed.message, text) for seed, text in zip(seeds, outputs)) > 350)
    skill:0.9 True
    skill:0.3 False
    parrot False
    """
    if type(memory) is not int or memory < 1:
        raise UsageError(f"a responder must have read at least one conversation, not {memory}")
    kind, colon, share = spec.partition(":")
    if kind != "skill":
        if spec not in SPECS[1:]:
            raise UsageError(f"there is no responder {spec!r}; choose among {', '.join(SPECS)}, as in skill:0.8")
        return Responder(world, spec, memory, seed)
    try:
        skill = float(share)
    except ValueError:
        skill = math.nan
    if not colon or not 0 <= skill <= 1:
        raise UsageError(f"the responder {spec!r} needs a share of good responses between 0 and 1, as in skill:0.8")
    # One number may be written in many ways, and what is drawn follows from the spec.
    return Responder(world, f"skill:{repr(skill + 0.0).removesuffix('.0')}", memory, seed, skill)


@lru_cache(maxsize=2)
def _conversations(world: World, count: int) -> tuple[Triple, ...]:
    """Return what the responders of a world have read, which is the same for all of them."""
    return tuple(world.memories(count))


class _Memory:
    """Conversations to look for similar messages in."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self._responses = [triple.response for triple in triples]
        bags = [set(tokens(triple.message)) for triple in triples]
        self._lengths = [len(bag) for bag in bags]
        self._rows: dict[str, list[int]] = {}
        for row, bag in enumerate(bags):
            for word in bag:
                self._rows.setdefault(word, []).append(row)
        self._common = max(_MANY, _FREQUENT * len(triples))

    def nearest(self, message: str) -> str:
        """Return the response of the message that shares most words, rare ones counting more; the first of equals."""
        scores: dict[int, float] = {}
        # In the order of the words, so that sums of floats are the same in every process.
        for word in sorted(set(tokens(message))):
            rows = self._rows.get(word, ())
            if rows and len(rows) <= self._common:
                weight = math.log(1 + len(self._responses) / len(rows))
                for row in rows:
                    scores[row] = scores.get(row, 0.0) + weight
        if not scores:
            return self._responses[0]
        return self._responses[min(scores, key=lambda row: (-scores[row] / math.sqrt(1 + self._lengths[row]), row))]
