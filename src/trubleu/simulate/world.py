"""The simulated world: conversations whose meaning can be parsed, so quality is known; its systems and files."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from trubleu.data import Triple, write_triples
from trubleu.errors import DataError, UsageError
from trubleu.files.jsonl import parse_json
from trubleu.files.writer import atomic_writer, new_folder
from trubleu.progress import Progress, Steps, no_steps
from trubleu.simulate import reader
from trubleu.simulate.grammar import Speaker, tokens
from trubleu.simulate.reader import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.files.paths import PathLike


CONSTANT: Final = "i don't know ."
"""Response of the constant responder."""

SEARCHED: Final = 20_000
"""Default number of conversations known to the random and the retrieval responder."""

SPECS: Final = ("skill:SHARE", "retrieval", "random", "dull", "constant", "parrot")

_FREQUENT: Final = 0.1  # words in a larger share of messages are ignored
_MANY: Final = 1000  # messages below which all words count


@dataclass(frozen=True)
class Responder:
    """A system that answers messages; create one with `responder`.

    Its response depends only on the world, its own options, and the id and message of the triple.

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

    def respond(self, triples: Iterable[Triple]) -> list[str]:
        """Return a response to the message of each triple, ignoring the triple's own response."""
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
        good = draws.random() < float(self.spec.partition(":")[2] or 0)
        speaker = Speaker(self.world.seed, draws)
        scene = speaker.scene_of(read(triple.message))
        if self.spec == "dull":
            return speaker.response(scene, "dull")
        return speaker.good(scene) if good else speaker.faulty(scene)

    @cached_property
    def _memory(self) -> _Memory:
        return _Memory(_conversations(self.world, self.memory))


def responder(world: World, spec: str, *, memory: int = SEARCHED, seed: int = 0) -> Responder:
    """Create a system that answers messages of a world.

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
    # A number can be written in many ways, and draws depend on the spec.
    return Responder(world, f"skill:{repr(skill + 0.0).removesuffix('.0')}", memory, seed)


@lru_cache(maxsize=2)
def _conversations(world: World, count: int) -> tuple[Triple, ...]:
    """Return the conversations that the responders of a world know, the same for all of them."""
    return tuple(world.memories(count))


class _Memory:
    """Conversations searchable by similar messages."""

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
        """Return the response to the most similar message by shared words, weighted by rarity; the first of equals."""
        scores: dict[int, float] = {}
        # In word order, so sums of floats are the same in every process.
        for word in sorted(set(tokens(message))):
            rows = self._rows.get(word, ())
            if rows and len(rows) <= self._common:
                weight = math.log(1 + len(self._responses) / len(rows))
                for row in rows:
                    scores[row] = scores.get(row, 0.0) + weight
        if not scores:
            return self._responses[0]
        return self._responses[min(scores, key=lambda row: (-scores[row] / math.sqrt(1 + self._lengths[row]), row))]


MOST_TRIPLES: Final = 10**9
_LARGEST_SEED: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class World:
    """A synthetic world, determined by a seed.

    People write each other simple English about topics such as music or gardening: they ask where a thing is from, tell
    good news, complain, invite. A text is an act expressed with synonyms and fillers, so its meaning can be parsed, and
    the quality of any response to any message is a function of the two texts.

    The seed determines what people say, and which topics and things they like most.

    Parameters
    ----------
    seed
        Not negative.

    Raises
    ------
    UsageError
        If the seed is out of bounds.

    Examples
    --------
    >>> world = World(seed=1)
    >>> world.quality("where did you get the guitar ?", "well , i got it in the vinyl shop .") > 4
    True
    >>> world.quality("where did you get the guitar ?", "i don't know .")
    1.8
    """

    seed: int = 1

    def __post_init__(self) -> None:
        if type(self.seed) is not int or not 0 <= self.seed <= _LARGEST_SEED:
            raise UsageError(f"the seed of a world must be a whole number from 0 to 2**63 - 1, not {self.seed!r}")

    def triples(self, n: int) -> Iterator[Triple]:
        """Yield conversations with responses of mixed quality, as in a corpus.

        The first ones are the same for any ``n``; so are those of `seeds` and `memories`.

        Raises
        ------
        UsageError
            If ``n`` is negative or more than a thousand million.
        """
        return self._conversations(n, "w", "corpus", good=False)

    def seeds(self, n: int) -> Iterator[Triple]:
        """Yield other conversations for testing; each has a good response.

        Examples
        --------
        >>> world = World(seed=7)
        >>> all(world.quality(seed.message, seed.response) > 4 for seed in world.seeds(50))
        True
        """
        return self._conversations(n, "t", "seeds", good=True)

    def memories(self, n: int) -> Iterator[Triple]:
        """Yield conversations like those of `triples`, but different ones: the training data of systems that repeat.

        A system that repeats responses of the corpus from which references are mined would score better than it is, so
        responders know a different corpus.
        """
        return self._conversations(n, "m", "memories", good=False)

    def quality(self, message: str, response: str) -> float:
        """Return the quality of a response to a message, from 1 (worst) to 5 (best).

        A response is parsed for its acts and topics, whoever wrote it. A fitting act about the same thing is worth
        nearly 5; the right topic with an unfitting act, about 3; a dull response about 2; repeating the message 1.5;
        another topic 1.2 to 1.7; meaningless words hardly more than 1. Invalid word order, rubbish at the end,
        repetition, several answers and excessive length cost some of it; a response that contains the whole message is
        at best half as good as the rest. Words are only compared with the message, to detect repetition.

        Parameters
        ----------
        message
            Any text.
        response
            Any text.

        Examples
        --------
        >>> world = World()
        >>> message = "bad news , the guitar is out of tune ."
        >>> texts = ("i am sorry to hear about the guitar .", "ok .", message, "")
        >>> [round(world.quality(message, text), 2) for text in texts]
        [4.87, 2.2, 1.5, 1.0]
        """
        return reader.quality(message, response)

    def _conversations(self, n: int, letter: str, purpose: str, *, good: bool) -> Iterator[Triple]:
        if type(n) is not int or not 0 <= n <= MOST_TRIPLES:
            raise UsageError(f"the number of conversations must be from 0 to {MOST_TRIPLES:,}, not {n}")
        speaker = Speaker(self.seed, Random(f"{purpose}/{self.seed}"))  # noqa: S311 - no secret
        return (Triple(f"{letter}{self.seed}-{number}", *speaker.conversation(good=good)) for number in range(n))


SCHEMA: Final = "trubleu.world/1"

SYSTEMS: Final = {
    "strong": "skill:0.85",
    "fair": "skill:0.6",
    "weak": "skill:0.3",
    "retrieval": "retrieval",
    "dull": "dull",
    "parrot": "parrot",
    "random": "random",
}
"""Default systems of a world."""

_VOICES: Final = 10
WORLD, CORPUS, SEEDS, OUTPUTS, TRUTH = "world.json", "corpus.jsonl", "seeds.jsonl", "outputs", "truth.csv"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class WrittenWorld:
    """A folder written by `write_world`.

    Attributes
    ----------
    folder
        Where it is.
    corpus, segments
        How many conversations there are in the corpus and to test on.
    qualities
        The true mean quality of every system, the best first.
    """

    folder: Path
    corpus: int
    segments: int
    qualities: dict[str, float]


def write_world(
    folder: PathLike,
    world: World,
    *,
    corpus: int = 20_000,
    segments: int = 200,
    systems: Mapping[str, str] = SYSTEMS,
    progress: Steps = no_steps,
) -> WrittenWorld:
    """Write a world into a folder, atomically.

    It holds ``world.json`` (the options), ``corpus.jsonl`` and ``seeds.jsonl`` (triples), ``outputs/NAME.txt`` (a
    system's responses, one per line in the order of the seeds) and ``truth.csv``: the true quality of each response as
    ``quality``, and as the integer ratings of ten simulated voices, whose mean is the quality rounded to a tenth.

    Parameters
    ----------
    folder
        Does not exist yet, or is empty.
    world
        The world.
    corpus
        How many conversations the corpus has.
    segments
        How many there are to test on.
    systems
        The names of systems and what they are like (see `responder`).
    progress
        Called with the name of a stage and its size as it begins; what it returns is told how much has been done.

    Raises
    ------
    UsageError
        If the folder holds something, or an option is wrong.
    DataError
        If something cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "world"
    >>> written = write_world(folder, World(seed=3), corpus=500, segments=20, systems={"a": "skill:1", "b": "parrot"})
    >>> sorted(path.name for path in folder.iterdir()), list(written.qualities)
    (['corpus.jsonl', 'outputs', 'seeds.jsonl', 'truth.csv', 'world.json'], ['a', 'b'])
    >>> read_world(folder)
    World(seed=3)
    """
    for name, number in (("corpus", corpus), ("segments", segments)):
        if type(number) is not int or number < 1:
            raise UsageError(f"{name} is {number}, but a world needs at least one conversation there")
    corpus_triples, seeds = world.triples(corpus), list(world.seeds(segments))
    responders = _responders(world, systems)
    with new_folder(folder) as made:
        write_triples(made / CORPUS, corpus_triples, progress=progress("simulating", corpus))
        write_triples(made / SEEDS, seeds)
        qualities = _write_systems(made, world, seeds, responders, progress("answering", segments * len(responders)))
        about = {"schema": SCHEMA, "seed": world.seed, "corpus": corpus, "segments": segments, "systems": dict(systems)}
        with atomic_writer(made / WORLD) as file:
            file.write(json.dumps(about, indent=2) + "\n")
    means = {name: sum(each) / len(each) for name, each in qualities.items()}
    return WrittenWorld(Path(folder), corpus, segments, dict(sorted(means.items(), key=lambda pair: -pair[1])))


def read_world(folder: PathLike) -> World:
    """Open the world of a folder written by `write_world`.

    Parameters
    ----------
    folder
        The folder; only its ``world.json`` is read.

    Raises
    ------
    DataError
        If there is none, or it is damaged or of another version.
    """
    path = Path(folder) / WORLD
    try:
        about = parse_json(path.read_text(encoding="utf-8"))
        schema = about["schema"]
        world = World(seed=about.get("seed")) if schema == SCHEMA else None
    except FileNotFoundError as error:
        raise DataError(f"{folder} has no {WORLD}; create a world with trubleu simulate world {folder}") from error
    except (OSError, ValueError, TypeError, KeyError, RecursionError, UsageError) as error:
        raise DataError(f"{path} does not describe a world ({error}); make the world again") from error
    if world is None:
        raise DataError(f"{path}: the field schema must be {SCHEMA!r}, not {schema!r}; make the world again")
    return world


def _responders(world: World, systems: Mapping[str, str]) -> dict[str, Responder]:
    """Create the systems; a second one of a kind uses different draws."""
    made: dict[str, Responder] = {}
    kinds: Counter[str] = Counter()
    for name, spec in systems.items():
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be the name of a system and its file; use at most 64 of a-z, 0-9, '.', '_' "
                "and '-', as in good=skill:0.8"
            )
        kind = responder(world, spec).spec
        made[name] = responder(world, spec, seed=kinds[kind])
        kinds[kind] += 1
    if not systems:
        raise UsageError("a world needs at least one system")
    if len({name.lower() for name in systems}) < len(systems):
        raise UsageError("names of systems must differ in more than upper and lower case, as files do; rename one")
    return made


def _write_systems(
    folder: Path,
    world: World,
    seeds: list[Triple],
    responders: Mapping[str, Responder],
    progress: Progress,
) -> dict[str, list[float]]:
    (folder / OUTPUTS).mkdir()
    qualities = {}
    for name, system in responders.items():
        texts = []
        for seed in seeds:
            texts += system.respond([seed])
            progress(1)
        with atomic_writer(folder / OUTPUTS / f"{name}.txt") as file:
            file.writelines(f"{text}\n" for text in texts)
        qualities[name] = [world.quality(seed.message, text) for seed, text in zip(seeds, texts, strict=True)]
    with atomic_writer(folder / TRUTH) as file:
        file.write("item,system,rater,score,quality\n")
        for at, seed in enumerate(seeds):
            for name, values in qualities.items():
                for voice, score in enumerate(_voices(values[at]), 1):
                    file.write(f"{seed.id},{name},truth-{voice},{score},{values[at]:.4f}\n")
    return qualities


def _voices(quality: float) -> list[int]:
    """Return integer points whose mean is the quality: rounding once could reverse the order of systems."""
    low, higher = divmod(round(quality * _VOICES), _VOICES)
    return [low + 1] * higher + [low] * (_VOICES - higher)
