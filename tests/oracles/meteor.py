"""METEOR as its papers state it, in plain Python: every alignment is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from trubleu.metrics import Meteor

Pair = tuple[int, int]


def alignments(
    words: Sequence[str], reference: Sequence[str], related: Callable[[str, str], bool], start: int = 0
) -> Iterator[list[Pair]]:
    """Yield every set of matches in which no word occurs twice."""
    if start == len(words):
        yield []
        return
    for rest in alignments(words, reference, related, start + 1):
        yield rest
        used = {place for _, place in rest}
        for place, other in enumerate(reference):
            if place not in used and related(words[start], other):
                yield [(start, place), *rest]


def chunks(matches: Collection[Pair]) -> int:
    """Count runs of matches that are neighbours in both texts."""
    return sum((i - 1, j - 1) not in set(matches) for i, j in matches)


def best(
    words: Sequence[str],
    reference: Sequence[str],
    stem: Callable[[str], str] | None,
    meanings: Callable[[str], Collection[str]] | None,
) -> tuple[int, int, int, int]:
    """Return exact matches, matches of stems, synonyms and chunks of the best alignment."""

    def stage(a: str, b: str) -> int:
        if a == b:
            return 0
        if stem is not None and stem(a) == stem(b):
            return 1
        return 2 if meanings is not None and set(meanings(a)) & set(meanings(b)) else 3

    found = (-1, 0, 0, 0)
    for matches in alignments(words, reference, lambda a, b: stage(a, b) < 3):
        stages = [stage(words[i], reference[j]) for i, j in matches]
        found = max(found, (stages.count(0), stages.count(1), stages.count(2), -chunks(matches)))
    return (*found[:3], -found[3])


def score(
    matches: float, length: float, reference_length: float, runs: float, *, alpha: float, beta: float, gamma: float
) -> float:
    """Return METEOR from its counts."""
    if not matches:
        return 0.0
    precision, recall = matches / length, matches / reference_length
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    return 100 * mean * float(1 - gamma * (runs / matches) ** beta)


class NoWordNet:
    """What NLTK asks for synonyms."""

    def synsets(self, _: str) -> list[Any]:
        return []


class Stems:
    """The metric's own stemmer as NLTK wants it: theirs has extensions of its own."""

    def __init__(self, ours: Meteor) -> None:
        self.stem = ours._stem
