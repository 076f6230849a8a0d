"""Sentences that say the opposite of the sentence of a reference that they match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.checks.marks import Mark, shortened
from trubleu.checks.words import word_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.checks.item import Item
    from trubleu.checks.vectors import Cover, TextVectors, Words

# Chosen on talks and news of benchmarks/real/findings.py.
MATCHES: Final = 0.35
"""Two sentences match if each covers this share of the other."""
SAME_WORD: Final = 0.5
"""Negated words are the same from this similarity on."""
SCOPE: Final = 4
"""So many words after a negation are negated."""

LIMITED: Final = 7
"""A negation that "until" or "unless" limits within so many words says when, and is not compared."""

_LISTS: Final = word_lists("negation")
_NEGATIONS: Final = frozenset(_LISTS["words"].split())
_IMPLIED: Final = frozenset(_LISTS["implied"].split())
_AFTER_NOT: Final = frozenset(_LISTS["after_not"].split())
_AFTER_NO: Final = frozenset(_LISTS["after_no"].split())
_BOUNDS: Final = frozenset(_LISTS["bounds"].split())
_UNTIL: Final = frozenset(_LISTS["limits"].split())
_FUNCTION_WORDS: Final = frozenset(word_lists("languages")["en"].split())
_ENDS_CLAUSE: Final = re.compile(r"[,;:()–—]|\s-+\s")


class Negation(NamedTuple):
    """A negation.

    Attributes
    ----------
    word
        Which word it is.
    scope
        The words that it negates, without function words.
    sentence
        The sentence.
    """

    word: int
    scope: tuple[int, ...]
    sentence: int


def negations(words: Words, text: str) -> list[Negation]:
    """Return the negations of a text, except in "not only", "no heavier than" and the like."""
    found = []
    for place, word in enumerate(words.words):
        if word in _NEGATIONS or word.endswith(("n't", "n’t")):
            sentence = int(words.sentence_of[place])
            last = int(words.firsts[sentence] + words.counts[sentence])
            if not _negates_nothing(words.words[place:last]) and _UNTIL.isdisjoint(
                words.words[place : place + LIMITED]
            ):
                found.append(Negation(place, _scope(words, text, place, last), sentence))
    return found


def _negates_nothing(words: Sequence[str]) -> bool:
    """Return whether what begins with a negation is a phrase that negates nothing.

    Examples
    --------
    >>> [_negates_nothing(text.split()) for text in ("not only this", "no heavier than 5 kg", "no dog")]
    [True, True, False]
    """
    following = words[1:2]
    if not following:
        return True  # "Why not?", "or not"
    after = following[0]
    if words[0] == "no":
        return after in _AFTER_NO or after.isdigit() or "than" in words[2:4]
    return words[0] == "not" and (after in _AFTER_NOT or "than" in words[2:4])


def _scope(words: Words, text: str, place: int, last: int) -> tuple[int, ...]:
    scope: list[int] = []
    for following in range(place + 1, min(last, place + 1 + 2 * SCOPE)):
        before = int(words.starts[following - 1])
        if words.words[following] in _BOUNDS or _ENDS_CLAUSE.search(text, before, int(words.starts[following])):
            break
        if words.words[following] not in _FUNCTION_WORDS:
            scope.append(following)
        if len(scope) == SCOPE:
            break
    return tuple(scope)


def find_negation(item: Item, vectors: TextVectors) -> list[Mark]:
    """Return sentences that say the opposite of the sentence that they match, in each good reference that has one."""
    words = vectors.words(item.output)
    texts = [text for text in (*item.good, *item.old) if vectors.words(text).words]
    if not words.words or not texts:
        return []
    own = negations(words, item.output)
    votes: dict[int, list[str | None]] = {}
    for text in texts:
        others = vectors.words(text)
        there = negations(others, text)
        cover, back = vectors.cover(item.output, text), vectors.cover(text, item.output)
        match = np.minimum(cover.sentences, back.sentences.T)
        for place in range(len(words.sentences)):
            other = int(np.argmax(match[place]))
            if match[place, other] >= MATCHES:
                opposite = _opposite(place, other, own, there, cover)
                said = text[others.sentences[other].start : others.sentences[other].end]
                votes.setdefault(place, []).append(said if opposite else None)
    marks = []
    for place, given in sorted(votes.items()):
        if given[0] is not None and all(given):
            part = words.sentences[place]
            said = item.output[part.start : part.end]
            message = f'"{shortened(said, 60)}" may say the opposite of "{shortened(given[0], 60)}"'
            marks.append(Mark("negation", " ".join(said.lower().split()), message, ((part.start, part.end),)))
    return marks


def _opposite(place: int, other: int, own: Sequence[Negation], there: Sequence[Negation], cover: Cover) -> bool:
    """Return whether one of two matching sentences negates what the other one says."""
    here = [each for each in own if each.sentence == place]
    beside = [each for each in there if each.sentence == other]
    if len(here) == len(beside) or _implies(place, cover.words) != _implies(other, cover.other):
        return False
    similarity = cover.similarity
    if len(here) > len(beside):
        return any(_says(each, other, there, similarity, cover.other) for each in here)
    return any(_says(each, place, own, similarity.T, cover.words) for each in beside)


def _implies(sentence: int, words: Words) -> bool:
    first = int(words.firsts[sentence])
    return not _IMPLIED.isdisjoint(words.words[first : first + int(words.counts[sentence])])


def _says(
    negation: Negation,
    sentence: int,
    others: Sequence[Negation],
    similarity: NDArray[np.floating[Any]],
    words: Words,
) -> bool:
    """Return whether a sentence has what is negated elsewhere, and no negation of its text denies it."""
    if not negation.scope:
        return False
    first = int(words.firsts[sentence])
    last = first + int(words.counts[sentence])
    near = similarity[list(negation.scope), first:last]
    if near.max(axis=1)[0] < SAME_WORD and near.max(axis=1).mean() < SAME_WORD:
        return False
    for each in others:
        if abs(each.sentence - sentence) <= 1 and each.scope:
            denied = similarity[np.ix_(list(negation.scope), list(each.scope))]
            if float(denied.max()) >= SAME_WORD:
                return False
    return True
