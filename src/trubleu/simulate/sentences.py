"""Finding whole sentences of the made world in what the reader sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.simulate import grammar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DENIALS: Final = frozenset({"not", "never"})  # "no" may begin an answer
_NAME: Final = ("N",)  # which may be said to somebody anywhere


class Found(NamedTuple):
    """Whole sentences of a text.

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
    """Find the sentences that together make up as much of a text as can be.

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
    # The best way to read the first so many labels: how many are covered (the more, the better), then by how few
    # sentences; and the last sentence of it, if one ends there.
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


@dataclass(slots=True)
class _Node:
    """Where the labels of sentences have led so far; ``act`` is that of the sentence which ends here, if one does."""

    after: dict[str, _Node] = field(default_factory=dict)
    act: str | None = None


def _beginning(labels: Sequence[tuple[str, ...]], begin: int) -> Iterator[tuple[int, str]]:
    """Yield where sentences that begin there end, and their acts."""
    nodes = [_sentences()]
    for at in range(begin, len(labels)):
        nodes = [node.after[label] for node in nodes for label in labels[at] if label in node.after]
        if not nodes:
            return
        for node in nodes:
            if node.act is not None:
                yield at + 1, node.act


@cache
def _sentences() -> _Node:
    root = _Node()
    for sentence in grammar.all_sentences():
        node = root
        for label in sentence.labels:
            node = node.after.setdefault(label, _Node())
        if not node.act:
            node.act = sentence.act
    return root
