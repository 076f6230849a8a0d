"""Parse texts of the simulated world: their topics, their acts, and how good a response is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.simulate import grammar
from trubleu.simulate.grammar import PHRASES, Concept, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_DENIALS: Final = frozenset({"not", "never"})  # "no" may begin an answer
_NAME: Final = ("N",)  # a name may be addressed anywhere


class Found(NamedTuple):
    """The complete sentences of a text.

    Attributes
    ----------
    share
        The share of what was read that belongs to one; names outside of them, of whom is spoken to, do not count.
    acts
        The act of each sentence that has one.
    denied
        The acts of those that stand right behind a word such as *not*.
    """

    share: float
    acts: tuple[str, ...]
    denied: frozenset[str]


def whole_sentences(labels: Sequence[tuple[str, ...]]) -> Found:
    """Find the sentences that together cover as much of a text as possible.

    Parameters
    ----------
    labels
        The text as the reader sees it: for every meaning the slots that it may fill, for every other word that word.

    Examples
    --------
    >>> found = whole_sentences([("not",), ("i",), ("find",), ("it",), ("A",)])
    >>> found.share, found.acts, found.denied
    (0.8, ('give opinion',), frozenset({'give opinion'}))
    """
    # The best parse of each prefix of labels: most labels covered, then fewest sentences; and its last sentence, if one
    # ends there.
    best: list[tuple[int, int]] = [(0, 0)] * (len(labels) + 1)
    last: list[tuple[int, str] | None] = [None] * (len(labels) + 1)
    for begin in range(len(labels)):
        covered, few = best[begin]
        if best[begin] > best[begin + 1]:
            best[begin + 1], last[begin + 1] = best[begin], None
        for end, act in _beginning(labels, begin):
            if (covered + end - begin, few - 1) > best[end]:
                best[end], last[end] = (covered + end - begin, few - 1), (begin, act)
    acts: list[str] = []
    denied: set[str] = set()
    names, at = 0, len(labels)
    while at:
        if (sentence := last[at]) is None:
            at -= 1
            names += labels[at] == _NAME
            continue
        at, act = sentence
        if act:
            acts.append(act)
            before = at - 1
            while before >= 0 and labels[before] == _NAME:
                before -= 1
            if before >= 0 and labels[before][0] in _DENIALS and last[before + 1] is None:
                denied.add(act)
    return Found(best[-1][0] / max(1, len(labels) - names), tuple(reversed(acts)), frozenset(denied))


def _beginning(labels: Sequence[tuple[str, ...]], begin: int) -> Iterator[tuple[int, str]]:
    """Yield the ends of sentences that begin at a position, and their acts."""
    nodes = [_sentences()]
    for at in range(begin, len(labels)):
        nodes = [node[label] for node in nodes for label in labels[at] if label in node]
        if not nodes:
            return
        for node in nodes:
            if None in node:
                yield at + 1, node[None]


@cache
def _sentences() -> dict[str | None, Any]:
    """Return a trie of the labels of all sentences; None leads to the act of the sentence that ends there."""
    root: dict[str | None, Any] = {}
    for sentence in grammar.all_sentences():
        node = root
        for label in sentence.labels:
            node = node.setdefault(label, {})
        node[None] = node.get(None) or sentence.act
    return root


LOWEST: Final = 1.0
HIGHEST: Final = 5.0

_NOTHING_SAID, _OFF_TOPIC, _PARROT = 1.4, 1.2, 1.5
_DULL_ANSWER, _DULL_REMARK = 1.8, 2.2  # to a message that needs an answer, and to one that does not
_GENERAL, _GENERAL_FIT = 1.9, 1.7  # without a topic: base quality without a fitting act, and the bonus for one
_ON_TOPIC, _FIT = 2.4, 1.9  # the same with the topic
_SAME, _RICH, _ENOUGH = 0.5, 0.2, 3  # bonus for the same thing, and for this many concepts of the topic
_OFF_TOPIC_FIT = 0.5
_UNFIT = 0.05
_BROKEN = 0.9  # share of the quality above the minimum lost by a text without any valid word order
_REPEATED_BEFORE = 0.4  # tolerated share of repeated word pairs
_LITERAL_FROM, _LITERAL_TO = 0.65, 0.9  # shares of a response's word pairs that are copied from the message
_NEW = 0.5  # maximum bonus of a parrot for new content
_SHORTEST = 3  # a shorter message may occur in a response by chance
_LONG, _MANY_MORE = 45, 200  # words without penalty, and the excess with the full penalty
_EACH_MORE, _TOO_MUCH = 0.12, 0.6  # penalty per additional answer, and its maximum


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed meaning of a text.

    Attributes
    ----------
    words
        Its words in small letters.
    items
        The same with words that have a meaning replaced by it, without fillers.
    concepts
        What it speaks of, in order.
    acts
        What it does.
    topic
        The topic of most of what it speaks of; None without any.
    broken
        The share of neighbouring words that never stand beside each other in the made world.
    refers
        Whether a word such as *it* may stand for what was spoken of before.
    whole
        The share that belongs to whole sentences of the made world.
    answers
        How many of these do something.
    """

    words: tuple[str, ...]
    items: tuple[str | Concept, ...]
    concepts: tuple[Concept, ...]
    acts: frozenset[str]
    topic: str | None
    broken: float
    refers: bool
    whole: float
    answers: int

    @property
    def focus(self) -> frozenset[Concept]:
        """The things it mentions; without any, the verbs; without those, any concept of a topic."""
        for kinds in (("thing",), ("doing",), ("place", "good", "bad")):
            if found := frozenset(each for each in self.concepts if each.kind in kinds):
                return found
        return frozenset()


@lru_cache(maxsize=1 << 16)
def read(text: str) -> Reading:
    """Parse a text.

    Parameters
    ----------
    text
        Any text.

    Examples
    --------
    >>> reading = read("well , i think the gig is catchy")
    >>> reading.topic, reading.acts, [concept.name for concept in reading.concepts]
    ('music', frozenset({'give opinion'}), ['concert', 'catchy'])
    """
    return _read(tuple(grammar.tokens(text)))


def _read(words: tuple[str, ...]) -> Reading:
    found: list[Concept] = []
    items: list[str | Concept] = []
    acts: set[str] = set()
    labels: list[tuple[str, ...]] = []
    for begin, end, entry in spans(words):
        if entry is not None and entry.concept is not None:
            found.append(entry.concept)
            items.append(entry.concept)
            labels.append(entry.labels)
        elif entry is None or entry.act is not None:
            items += words[begin:end]
            labels += [(word,) for word in words[begin:end]]
            if entry is not None and entry.act is not None:
                acts.add(entry.act)
    if len(acts) > 1:
        acts.discard("be dull")
    elif words and not labels:  # such as a mere "haha"
        acts.add("be dull")
    topics = Counter(concept.topic for concept in found if concept.topic is not None)
    topic = topics.most_common(1)[0][0] if topics else None
    refers = any(label[0] in PHRASES.referring for label in labels)
    sentences = whole_sentences(labels)
    return Reading(
        words,
        tuple(items),
        tuple(found),
        frozenset(acts - sentences.denied),
        topic,
        _broken(labels),
        refers,
        sentences.share,
        len(sentences.acts),
    )


def spans(words: tuple[str, ...]) -> list[tuple[int, int, Entry | None]]:
    """Split words into known entries, longest first, and unknown single words."""
    entries, lengths = grammar.entries(), grammar.lengths()
    found: list[tuple[int, int, Entry | None]] = []
    at = 0
    while at < len(words):
        entry, end = None, at + 1
        for length in lengths.get(words[at], ()):
            entry = entries.get(words[at : at + length])
            if entry is not None:
                end = min(at + length, len(words))  # a slice beyond the end is shorter
                break
        found.append((at, end, entry))
        at = end
    return found


def quality(message: str, response: str) -> float:
    """Return the quality of a response to a message, from 1 to 5 (see `trubleu.simulate.World.quality`)."""
    asked, answered = read(message), read(response)
    value = _quality(asked, answered)
    if (rest := _without(asked, answered)) is None:
        return value
    return min(value, max(_PARROT + _NEW, (_PARROT + _quality(asked, rest)) / 2))


def _quality(asked: Reading, answered: Reading) -> float:
    """Return the quality of a response that does not contain the whole message."""
    if not answered.words:
        return LOWEST
    left = (1 - _BROKEN * max(answered.broken, _repeated(answered))) * (1 - _too_much(answered))
    return min(LOWEST + (_meant(asked, answered) - LOWEST) * left, _cap(asked, answered))


def fit(message: Reading, act: str) -> float:
    """Return how well an act answers a message, from 0 to 1."""
    if not message.acts:
        return 0.05 if act == "be dull" else 0.6
    return max(_fit(each, act) for each in message.acts)


def _fit(asked: str, act: str) -> float:
    if act in PHRASES.messages:  # such as asking for an opinion, which continues the topic but is not an answer
        return 0.1 if asked in PHRASES.asking or act == asked else 0.5
    return PHRASES.fit.get(asked, {}).get(act, _UNFIT)


def _meant(asked: Reading, answered: Reading) -> float:
    """Return the quality of a response's meaning, whatever its form."""
    acts = sorted(answered.acts) or [""]  # sorted, so floats are summed in the same order in every process
    fitting = sum(fit(asked, act) for act in acts) / len(acts)
    dull = _DULL_ANSWER if asked.acts & PHRASES.asking else _DULL_REMARK
    topical = [concept for concept in answered.concepts if concept.topic is not None]
    if not topical:
        if answered.acts == {"be dull"}:
            return dull
        if not answered.acts:
            return _NOTHING_SAID
        return _GENERAL + _GENERAL_FIT * fitting
    same = _same(asked, answered)
    if answered.acts == {"be dull"}:
        on_topic = dull + _SAME * same
    else:
        rich = min(_ENOUGH, len(set(topical))) / _ENOUGH
        on_topic = _ON_TOPIC + _FIT * fitting + _SAME * same + _RICH * rich
        if not answered.acts:  # mere words of the topic are worth as much as a dull remark about it
            on_topic = min(on_topic, dull + _SAME * same + answered.whole * (HIGHEST - dull))
    off_topic = _OFF_TOPIC + _OFF_TOPIC_FIT * fitting
    if asked.topic is None:
        return (on_topic + off_topic) / 2
    share = sum(concept.topic == asked.topic for concept in topical) / len(topical)
    return off_topic + share * (on_topic - off_topic)


def _same(asked: Reading, answered: Reading) -> float:
    """Return how far an on-topic response is about the same thing, from 0 to 1."""
    focus = asked.focus
    if not focus.isdisjoint(answered.concepts):
        return 1.0
    kinds = {concept.kind for concept in focus}
    if any(concept.kind in kinds for concept in answered.concepts):
        return 0.0
    return 0.75 if answered.refers else 0.4


def _broken(labels: list[tuple[str, ...]]) -> float:
    """Return the share of invalid adjacent labels."""
    pairs, first, last = grammar.neighbours()
    if len(labels) == 1:
        return 0.0 if any(label in first or label in last for label in labels[0]) else 1.0
    bad = sum(
        not any((left, right) in pairs or (left in last and right in first) for left in lefts for right in rights)
        for lefts, rights in pairwise(labels)
    )
    return bad / max(1, len(labels) - 1)


def _repeated(answered: Reading) -> float:
    pairs = list(pairwise(answered.items))
    share = 1 - len(set(pairs)) / len(pairs) if pairs else 0.0
    return max(0.0, share - _REPEATED_BEFORE) / (1 - _REPEATED_BEFORE)


def _too_much(answered: Reading) -> float:
    """Return the share lost by excessive length, and by repeated answers."""
    long = max(0, len(answered.words) - _LONG) / _MANY_MORE
    return min(_TOO_MUCH, max(long, _EACH_MORE * max(0, answered.answers - 1)))


def _without(asked: Reading, answered: Reading) -> Reading | None:
    """Return the response with the message removed; None if it does not contain the message."""
    size = len(asked.items)
    if size < _SHORTEST or asked.items[0] not in answered.items:
        return None
    taken: set[int] = set()
    for first in range(len(answered.items) - size + 1):
        if answered.items[first : first + size] == asked.items:
            taken.update(range(first, first + size))
    if not taken:
        return None
    left: list[str] = []
    at = 0
    for begin, end, entry in spans(answered.words):
        if entry is not None and entry.concept is None and entry.act is None:
            continue  # a filler, not an item
        if at not in taken:
            left += answered.words[begin:end]
        at += 1 if entry is not None and entry.concept is not None else end - begin
    return _read(tuple(left))


def _cap(asked: Reading, answered: Reading) -> float:
    """Return the maximum quality of a response that repeats the message."""
    if answered.words == asked.words:
        return _PARROT
    topical = {concept for concept in answered.concepts if concept.topic is not None}
    old = topical.intersection(asked.concepts)
    if answered.acts and answered.acts <= asked.acts and (topical == old or not asked.focus.isdisjoint(topical)):
        return _PARROT + _NEW * (1 - len(old) / max(1, len(topical)))
    if answered.acts:
        return HIGHEST
    pairs = set(pairwise(asked.items))
    taken = [pair in pairs for pair in pairwise(answered.items)]
    if len(taken) < 3:
        return HIGHEST
    share = (sum(taken) / len(taken) - _LITERAL_FROM) / (_LITERAL_TO - _LITERAL_FROM)
    return HIGHEST - (HIGHEST - _PARROT) * min(1.0, max(0.0, share))
