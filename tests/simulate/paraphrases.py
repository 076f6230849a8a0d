"""Paraphrases of texts of the simulated world: the same meaning in other words, for tests of quality."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Final

from trubleu.simulate import grammar
from trubleu.simulate.grammar import PHRASES
from trubleu.simulate.reader import spans

if TYPE_CHECKING:
    from trubleu.simulate.grammar import Concept, Sentence

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_END: Final = re.compile(r"\s*[.!?]+")
_MOST_PARTS: Final = 2  # sentences with an end mark inside
_NOT_MORE: Final = 64  # combinations of words that share several forms


@dataclass(frozen=True, slots=True)
class _Item:
    """A known entry or an unknown word, with its position in the text."""

    begin: int
    end: int
    concept: Concept | None
    labels: tuple[str, ...]
    filler: bool


def paraphrased(text: str, seed: int = 0) -> str:
    """Say a text in other words, as far as it can be parsed; words without a meaning stay as they are."""
    draws = Random(f"paraphrase/1/{seed}/{text}")
    pieces: list[str] = []
    written = 0
    sentences = _sentences(text)
    at = 0
    while at < len(sentences):
        for parts in range(_MOST_PARTS, 0, -1):
            items = [item for sentence in sentences[at : at + parts] for item in sentence]
            if at + parts <= len(sentences) and (found := _known(items)):
                sentence, concepts, begin = found
                end = _END.match(text, items[-1].end)
                pieces += [text[written:begin], _said_otherwise(sentence, concepts, draws)]
                written = end.end() if end else items[-1].end
                at += parts
                break
        else:
            for item in sentences[at]:
                if item.concept is not None:
                    form = max(0, grammar.DOING.find(item.labels[0]))
                    pieces += [text[written : item.begin], _word(item.concept, form, draws)]
                    written = item.end
            at += 1
    return "".join([*pieces, text[written:]])


def _sentences(text: str) -> list[list[_Item]]:
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        for word in grammar.tokens(match.group()):
            words.append(word)
            places.append(match.span())
    sentences: list[list[_Item]] = [[]]
    last = 0
    for begin, end, entry in spans(tuple(words)):
        first, stop = places[begin][0], places[end - 1][1]
        if sentences[-1] and _END.search(text, last, first):
            sentences.append([])
        last = stop
        if entry is None or entry.act is not None:
            sentences[-1] += [_Item(*places[at], None, (words[at],), False) for at in range(begin, end)]
        else:
            sentences[-1].append(_Item(first, stop, entry.concept, entry.labels, entry.concept is None))
    return [sentence for sentence in sentences if sentence]


def _known(items: list[_Item]) -> tuple[Sentence, list[Concept], int] | None:
    """Return the matching sentence, its concepts, and its start after fillers."""
    fillers = next((at for at, item in enumerate(items) if not item.filler), len(items))
    with_name = fillers + 1 if 0 < fillers < len(items) and items[fillers].labels == ("N",) else fillers
    for first in dict.fromkeys((fillers, with_name)):
        core = items[first:]
        if found := _matching(core):
            return found, [item.concept for item in core if item.concept], core[0].begin
    return None


def _matching(items: list[_Item]) -> Sentence | None:
    if not items or any(item.filler for item in items):
        return None
    kinds = [item.concept.kind for item in items if item.concept]
    for tried, labels in enumerate(product(*(item.labels for item in items))):
        if tried >= _NOT_MORE:
            break
        for sentence in _by_labels().get(labels, ()):
            if [slot.kind for slot in sentence.slots] == kinds:
                return sentence
    return None


def _said_otherwise(sentence: Sentence, concepts: list[Concept], draws: Random) -> str:
    others = _by_meaning()[_meaning(sentence)]
    other = others[int(draws.random() * len(others))]
    left = list(concepts)
    words = []
    for slot in other.slots:
        concept = next(each for each in left if each.kind == slot.kind)
        left.remove(concept)
        words.append(_word(concept, slot.form, draws))
    return other.text % tuple(words)


def _word(concept: Concept, form: int, draws: Random) -> str:
    return concept.ways[int(draws.random() * len(concept.ways))][form]


def _meaning(sentence: Sentence) -> tuple[str, tuple[str, ...], bool]:
    return (
        sentence.act,
        tuple(sorted(slot.kind for slot in sentence.slots)),
        not PHRASES.referring.isdisjoint(sentence.labels),
    )


@cache
def _by_labels() -> dict[tuple[str, ...], list[Sentence]]:
    found: dict[tuple[str, ...], list[Sentence]] = {}
    for sentence in grammar.all_sentences():
        found.setdefault(sentence.labels, []).append(sentence)
    return found


@cache
def _by_meaning() -> dict[tuple[str, tuple[str, ...], bool], list[Sentence]]:
    found: dict[tuple[str, tuple[str, ...], bool], list[Sentence]] = {}
    for sentence in grammar.all_sentences():
        found.setdefault(_meaning(sentence), []).append(sentence)
    return found
