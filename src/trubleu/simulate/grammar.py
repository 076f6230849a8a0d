"""The words and sentences of the simulated world with all their variants, and the tables for parsing them.

They are in ``words.toml`` and ``sentences.toml``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot in a sentence: its letter, the kind of concept it takes and which form of it."""

    letter: str
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

    @property
    def topical(self) -> bool:
        """Whether it belongs to a topic."""
        return any(slot.letter in TOPICAL for slot in self.slots)

    @property
    def refers(self) -> bool:
        """Whether one of its words may refer to something mentioned before."""
        return not PHRASES.referring.isdisjoint(self.labels)


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
    sums, total = [], 0.0
    for weight in weights:
        total += weight
        sums.append(total)
    return (*(each / total for each in sums[:-1]), 1.0)


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
def greetings() -> Choice:
    """Return opening turns without a topic."""
    return _choice("", PHRASES.greetings)


@cache
def openers() -> Choice:
    """Return phrases that may precede a sentence."""
    return _choice("", PHRASES.openers)


@cache
def tails() -> Choice:
    """Return phrases that may follow a sentence."""
    return _choice("", PHRASES.tails)


def all_sentences() -> Iterator[Sentence]:
    """Yield all variants of all sentences, without meaningless ones."""
    for choice in messages().values():
        yield from choice.sentences
    for by_focus in (*responses().values(), details()):
        yield from dict.fromkeys(sentence for choice in by_focus.values() for sentence in choice.sentences)
    yield from greetings().sentences


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
        if letters.isdisjoint(TOPICAL):
            sorts[None].append(line)
        elif letters & set(DOING):
            sorts["doing"].append(line)
        else:
            sorts["thing"].append(line)
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
    slots = tuple(Slot(letter, _KINDS[letter], max(0, DOING.find(letter))) for letter in letters)
    cues = tuple(tuple(tokens(cue)) for cue in re.findall(r"\[([^]]*)\]", line))
    plain = re.sub(r"[\[\]]", "", line)
    labels: list[str] = []
    for part in re.split(r"(\{.\})", plain):
        if part.startswith("{"):
            labels.append("A" if part[1] in "+-gb" else part[1])
        else:
            labels += tokens(part)
    return Sentence(re.sub(r"\{.\}", "%s", plain), slots, act, cues, tuple(labels))
