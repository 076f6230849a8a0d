"""The words and sentences of the simulated world, the tables for parsing them, and the speakers who use them.

Words and sentences are in ``words.toml`` and ``sentences.toml``.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, pairwise, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from trubleu.simulate.reader import Reading


Kind: TypeAlias = Literal["thing", "doing", "place", "good", "bad", "praise", "blame", "name", "time"]


@dataclass(frozen=True, slots=True, eq=False)
class Concept:
    """A meaning and its words.

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
        """The first form of its first expression."""
        return self.ways[0][0]


@cache
def topics() -> dict[str, dict[Kind, tuple[Concept, ...]]]:
    """Return the concepts of every topic by kind.

    Examples
    --------
    >>> topics()["music"]["thing"][0].ways
    (('guitar',), ('acoustic',))
    """
    return {topic: _concepts(topic, kinds) for topic, kinds in _read("words.toml")["topics"].items()}


@cache
def general() -> dict[Kind, tuple[Concept, ...]]:
    """Return the concepts without a topic by kind: names, times, and words of praise and blame."""
    return _concepts(None, _read("words.toml")["general"])


def concepts() -> Iterator[Concept]:
    """Yield all concepts."""
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
    """The sentences of `sentences.toml`, where each field is described."""

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


TOPICAL: Final = frozenset("TVDGP+-")
"""Slots whose words belong to a topic."""

_KINDS: Final[dict[str, Kind]] = {
    "T": "thing", "V": "doing", "D": "doing", "G": "doing", "P": "place", "+": "good", "-": "bad", "g": "praise",
    "b": "blame", "N": "name", "W": "time",
}  # fmt: skip
_LABELS: Final = {
    "thing": "T", "place": "P", "name": "N", "time": "W", "good": "A", "bad": "A", "praise": "A", "blame": "A",
}  # fmt: skip
DOING: Final = "VDG"
"""Slot letters of verbs, by form."""

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CONTRACTED: Final = {short: full.split() for full, short in reversed(PHRASES.contractions.items())}
_STEEPNESS: Final = 0.3  # of the frequencies of sentences, in file order


class Slot(NamedTuple):
    """A slot in a sentence: the kind of concept it takes and which form of it."""

    kind: Kind
    form: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """One variant of a sentence.

    Attributes
    ----------
    text
        With ``%s`` for every slot.
    slots
        What is put there, in order.
    act
        What it does; empty for sentences that just tell something.
    cues
        The words that show it, as tokens.
    labels
        The sentence as the reader sees it: a letter for every slot, the other words as they are.
    """

    text: str
    slots: tuple[Slot, ...]
    act: str
    cues: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Sentences to draw from, with their cumulative weights."""

    sentences: tuple[Sentence, ...]
    up_to: tuple[float, ...]


def tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, with contractions split.

    Examples
    --------
    >>> tokens("I don't think so, haha!")
    ['i', 'do', 'not', 'think', 'so', 'haha']
    """
    words = _TOKEN.findall(text.lower())
    if not any("'" in word or "’" in word for word in words):
        return words
    return [each for word in words for each in _CONTRACTED.get(word.replace("’", "'"), (word.replace("’", "'"),))]


def up_to(weights: Iterable[float]) -> tuple[float, ...]:
    """Return the cumulative sums of weights, normalised to 1."""
    sums = list(accumulate(weights))
    return (*(each / sums[-1] for each in sums[:-1]), 1.0)


@cache
def messages() -> dict[str, Choice]:
    """Return the sentences of every message act."""
    return {act: _choice(act, lines) for act, lines in PHRASES.messages.items()}


@cache
def responses() -> dict[str, dict[Kind | None, Choice]]:
    """Return the sentences of every response act by what they are about: a thing, a verb, or any topic (None).

    An act without sentences of a kind uses all of its sentences.
    """
    return {act: _by_focus(act, lines) for act, lines in PHRASES.responses.items()}


@cache
def details() -> dict[Kind | None, Choice]:
    """Return the sentences that add a detail, by what they are about."""
    return _by_focus("", PHRASES.details)


@cache
def phrases(kind: Literal["greetings", "openers", "tails"]) -> Choice:
    """Return opening turns without a topic, or phrases that may precede or follow a sentence."""
    return _choice("", getattr(PHRASES, kind))


def all_sentences() -> Iterator[Sentence]:
    """Yield all variants of all sentences, without meaningless ones."""
    for choice in messages().values():
        yield from choice.sentences
    for by_focus in (*responses().values(), details()):
        yield from dict.fromkeys(sentence for choice in by_focus.values() for sentence in choice.sentences)
    yield from phrases("greetings").sentences


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Words that the parser knows: a concept, an act, or a filler.

    Attributes
    ----------
    concept
        What they mean, if they mean something; then ``labels`` are the slots that they may fill.
    act
        What they show, if they show something.
    """

    concept: Concept | None = None
    act: str | None = None
    labels: tuple[str, ...] = ()


@cache
def entries() -> dict[tuple[str, ...], Entry]:
    """Return all entries of the parser by their words."""
    found: dict[tuple[str, ...], Entry] = {}
    for concept in concepts():
        for way in concept.ways:
            for number, form in enumerate(way):
                words = tuple(tokens(form))
                label = DOING[number] if concept.kind == "doing" else _LABELS[concept.kind]
                known = found.get(words)
                labels = (*known.labels, label) if known is not None and known.concept is concept else (label,)
                found[words] = Entry(concept=concept, labels=labels)
    for sentence in all_sentences():
        for cue in sentence.cues:
            found[cue] = Entry(act=sentence.act)
    for filler in (*PHRASES.openers, *PHRASES.tails):
        words = tuple(tokens(filler.replace("{N}", "")))
        if words:
            found.setdefault(words, Entry())
    return found


@cache
def lengths() -> dict[str, tuple[int, ...]]:
    """Return for every first word of an entry the possible lengths in words, longest first."""
    found: dict[str, set[int]] = {}
    for words in entries():
        found.setdefault(words[0], set()).add(len(words))
    return {first: tuple(sorted(some, reverse=True)) for first, some in found.items()}


@cache
def neighbours() -> tuple[frozenset[tuple[str, str]], frozenset[str], frozenset[str]]:
    """Return which labels may be adjacent within sentences, which begin a sentence, and which end one."""
    pairs: set[tuple[str, str]] = set()
    first, last = set(), set()
    for sentence in all_sentences():
        pairs.update(pairwise(sentence.labels))
        first.add(sentence.labels[0])
        last.add(sentence.labels[-1])
    return frozenset(pairs), frozenset(first), frozenset(last)


def _by_focus(act: str, lines: Iterable[str]) -> dict[Kind | None, Choice]:
    sorts: dict[Kind | None, list[str]] = {"thing": [], "doing": [], None: []}
    for line in lines:
        letters = set(re.findall(r"\{(.)\}", line))
        focus: Kind | None = "doing" if letters & set(DOING) else "thing" if letters & TOPICAL else None
        sorts[focus].append(line)
    return {focus: _choice(act, some or list(lines)) for focus, some in sorts.items()}


def _choice(act: str, lines: Iterable[str]) -> Choice:
    sentences, weights = [], []
    for rank, line in enumerate(lines, 1):
        variants = list(dict.fromkeys(_written(line)))
        sentences += [_sentence(act, variant) for variant in variants]
        weights += [rank**-_STEEPNESS / len(variants)] * len(variants)
    return Choice(tuple(sentences), up_to(weights))


def _written(line: str) -> Iterator[str]:
    """Yield the variants of a line, in full and contracted."""
    parts = [part[1:-1].split("|") if part.startswith("(") else [part] for part in re.split(r"(\([^)]*\))", line)]
    for chosen in product(*parts):
        whole = " ".join("".join(chosen).replace("[ ", "[").replace(" ]", "]").split())
        yield whole
        together = whole
        for full, short in PHRASES.contractions.items():
            if full != "i have":  # often not an auxiliary
                together = re.sub(rf"\b{full}\b(?!\]? ?[.,!?\]])", short, together)
        yield together


def _sentence(act: str, line: str) -> Sentence:
    letters = re.findall(r"\{(.)\}", line)
    slots = tuple(Slot(_KINDS[letter], max(0, DOING.find(letter))) for letter in letters)
    cues = tuple(tuple(tokens(cue)) for cue in re.findall(r"\[([^]]*)\]", line))
    plain = re.sub(r"[\[\]]", "", line)
    labels: list[str] = []
    for part in re.split(r"(\{.\})", plain):
        if part.startswith("{"):
            labels.append("A" if part[1] in "+-gb" else part[1])
        else:
            labels += tokens(part)
    return Sentence(re.sub(r"\{.\}", "%s", plain), slots, act, cues, tuple(labels))


_ZIPF: Final = 0.9  # Zipf exponent of topic and concept frequencies
_SAME: Final = 0.85  # share of responses that name the same thing, if they name one of its kind
_OPENER, _TAIL, _MORE = 0.3, 0.15, 0.28  # share of responses with an opener, a tail, or a second sentence
_DULL_OF_TOPIC: Final = 0.3  # share of dull responses that still name something
_WITHOUT_CONTEXT, _GREETING = 0.25, 0.3
_FITS_WELL: Final = 0.8

_USUAL: Final = (("good", 0.42), ("dull", 0.25), ("general", 0.08), ("telling", 0.05), ("wrong act", 0.1),
                 ("off topic", 0.07), ("near parrot", 0.03))  # fmt: skip
_FAULTS: Final = (("dull", 0.3), ("off topic", 0.3), ("wrong act", 0.25), ("near parrot", 0.15))


@dataclass(slots=True)
class Scene:
    """The state of a conversation: the topic, the act of the message, and the concepts named so far, by kind."""

    topic: str
    act: str
    named: dict[Kind, Concept]
    focus: Kind | None = None


class Speaker:
    """Expresses acts in words, determined by the world's seed and the draws.

    Parameters
    ----------
    world
        The seed of the world, which decides how frequent topics and meanings are.
    draws
        Of everything else; only its ``random`` is used, which is the same in every version of Python.
    """

    def __init__(self, world: int, draws: Random) -> None:
        self._popular = _popularity(world)
        self._draw: Callable[[], float] = draws.random

    def scene(self) -> Scene:
        """Draw a topic and an act for a message."""
        act = self._one_of(_MESSAGE_ACTS)
        return Scene(self._popular.topic(self._draw()), act, {})

    def scene_of(self, message: Reading) -> Scene:
        """Return the scene of a parsed message; missing parts are drawn."""
        scene = self.scene()
        if message.topic is not None:
            scene.topic = message.topic
        acts = sorted(act for act in message.acts if act in PHRASES.messages)
        if acts:
            scene.act = acts[0]
        for concept in reversed(message.concepts):
            if concept.topic in (None, scene.topic):
                scene.named[concept.kind] = concept
        scene.focus = _focus(scene)
        return scene

    def conversation(self, *, good: bool) -> tuple[tuple[str, ...], str, str]:
        """Generate a context, a message and a response: a good one, or a typical one."""
        scene = self.scene()
        context, message = self.context(scene), self.message(scene)
        return context, message, self.good(scene) if good else self.response(scene, self._drawn(_USUAL))

    def context(self, scene: Scene) -> tuple[str, ...]:
        """Generate the turns before the message, if any."""
        draw = self._draw()
        if draw < _WITHOUT_CONTEXT:
            return ()
        if draw < _WITHOUT_CONTEXT + _GREETING:
            return (self._said(phrases("greetings"), scene),)
        focus: Kind = "thing" if self._draw() < 0.5 else "doing"
        return (self._with_fillers(self._said(details()[focus], scene), scene),)

    def message(self, scene: Scene) -> str:
        """Generate the message of a scene, and record the concepts it names."""
        text = self._said(messages()[scene.act], scene, remember=True)
        scene.focus = _focus(scene)
        if self._draw() < _MORE:
            text = f"{self._detail(scene, 1.0)} {text}"
        return self._with_fillers(text, scene)

    def faulty(self, scene: Scene) -> str:
        """Generate a bad response: dull, off-topic, with an unfitting act, or repeating the message."""
        return self.response(scene, self._drawn(_FAULTS))

    def good(self, scene: Scene) -> str:
        """Generate a good response: with a fitting act, about the topic of the message."""
        return self._with_fillers(self._fitting(scene, 1.0), scene)

    def response(self, scene: Scene, sort: str) -> str:
        """Generate a response of a given kind."""
        match sort:
            case "good":
                text = self._fitting(scene, _SAME)
            case "general":
                text = self._said(responses()[self._one_of(_FITTING[scene.act])][None], scene)
            case "dull":
                focus = scene.focus if self._draw() < _DULL_OF_TOPIC else None
                text = self._said(responses()["be dull"][focus], scene, _SAME)
            case "telling":
                text = self._detail(scene, _SAME)
            case "wrong act":
                text = self._topical(_UNFITTING[scene.act], scene, _SAME)
            case "off topic":
                other = self.scene()
                while other.topic == scene.topic:
                    other = self.scene()
                text = self._topical(_RESPONSE_ACTS, other)
            case _:
                text = self._said(messages()[scene.act], scene, 1.0)
        return self._with_fillers(text, scene)

    def _fitting(self, scene: Scene, same: float) -> str:
        text = self._topical(_FITTING[scene.act], scene, same)
        return f"{text} {self._detail(scene, same)}" if self._draw() < _MORE else text

    def _topical(self, acts: Sequence[str], scene: Scene, same: float = 0.0) -> str:
        """Express one of some acts in a sentence about the scene's topic."""
        return self._said(responses()[self._one_of(acts)][scene.focus or "thing"], scene, same)

    def _detail(self, scene: Scene, same: float) -> str:
        return self._said(details()[scene.focus or "thing"], scene, same)

    def _with_fillers(self, text: str, scene: Scene) -> str:
        if self._draw() < _OPENER:
            text = f"{self._said(phrases('openers'), scene)} {text}"
        if self._draw() < _TAIL:
            text = f"{text} {self._said(phrases('tails'), scene)}"
        return text

    def _said(self, choice: Choice, scene: Scene, same: float = 0.0, *, remember: bool = False) -> str:
        """Draw a sentence and its words; ``same`` is how often it names what was named, where it can."""
        draw, popular = self._draw, self._popular
        sentence = choice.sentences[bisect(choice.up_to, draw())]
        if not sentence.slots:
            return sentence.text
        words = []
        for slot in sentence.slots:
            kind = slot.kind
            concept = scene.named.get(kind) if kind == scene.focus and draw() < same else None
            if concept is None:
                concept = popular.concept(scene.topic, kind, draw())
                if remember:
                    scene.named[kind] = concept
            ways = concept.ways
            # The product of two draws favours small values, so the first expression is the most frequent.
            words.append(ways[int(draw() * draw() * len(ways))][slot.form])
        return sentence.text % tuple(words)

    def _one_of(self, acts: Sequence[str]) -> str:
        return acts[int(self._draw() * len(acts))]

    def _drawn(self, shares: tuple[tuple[str, float], ...]) -> str:
        draw = self._draw()
        for name, share in shares:
            draw -= share
            if draw < 0:
                return name
        return shares[0][0]


class _Popularity:
    """Frequencies of topics and concepts: Zipf's law, in a seeded order."""

    def __init__(self, seed: int) -> None:
        draw = Random(f"popularity/{seed}").random  # noqa: S311 - no secret

        def shuffled(concepts: Iterable[Concept]) -> tuple[list[Concept], tuple[float, ...]]:
            order = sorted(concepts, key=lambda _: draw())
            return order, _zipf(len(order))

        self._topics = sorted(topics(), key=lambda _: draw())
        self._topics_up_to = _zipf(len(self._topics))
        everywhere = {kind: shuffled(some) for kind, some in general().items()}
        self._concepts = {
            topic: {kind: shuffled(some) for kind, some in kinds.items()} | everywhere
            for topic, kinds in topics().items()
        }

    def topic(self, draw: float) -> str:
        return self._topics[bisect(self._topics_up_to, draw)]

    def concept(self, topic: str, kind: Kind, draw: float) -> Concept:
        some, up_to = self._concepts[topic][kind]
        return some[bisect(up_to, draw)]


@lru_cache(maxsize=8)
def _popularity(seed: int) -> _Popularity:
    return _Popularity(seed)


def _focus(scene: Scene) -> Kind | None:
    kinds: tuple[Kind, ...] = ("thing", "doing")
    return next((kind for kind in kinds if kind in scene.named), None)


def _zipf(count: int) -> tuple[float, ...]:
    return up_to(rank**-_ZIPF for rank in range(1, count + 1))


_MESSAGE_ACTS: Final = tuple(PHRASES.messages)
_RESPONSE_ACTS: Final = tuple(act for act in PHRASES.responses if act != "be dull")
_FITTING: Final = {
    asked: tuple(act for act in _RESPONSE_ACTS if fits.get(act, 0) >= _FITS_WELL) for asked, fits in PHRASES.fit.items()
}
_UNFITTING: Final = {
    asked: tuple(act for act in _RESPONSE_ACTS if fits.get(act, 0) < 0.5) for asked, fits in PHRASES.fit.items()
}
