"""A good alignment without a search: the longest runs of equal words first, then what is left by stem and meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LONGEST: Final = 16
"""Runs are told apart up to this length; longer ones are as good as it, until they are taken and go on to their end."""


class Words(Protocol):
    """Which words may be matched with which; see `trubleu.metrics.meteor_alignment`."""

    words: Sequence[str]
    masks: dict[str, int]
    same_stem: dict[str, list[str]]
    synonyms: dict[str, list[str]]


def runs(places: Sequence[int]) -> list[list[int]]:
    """Return for lengths from 1 on, and for each word, the places where a run of so many matches begins.

    Parameters
    ----------
    places
        For each word the places in the other text that it may be matched with, as bits.

    Examples
    --------
    >>> runs([0b101, 0b010])
    [[5, 2], [1, 0]]
    """
    found = [list(places)]
    while len(found) < LONGEST:
        shorter = found[-1]
        longer = [here & after >> 1 for here, after in zip(places, [*shorter[1:], 0], strict=False)]
        if not any(longer):
            break
        found.append(longer)
    return found


def tiling(types: Words) -> tuple[int, int]:
    """Return how many synonyms and links a greedy alignment has.

    It has as many exact matches and matches of stems as there can be: what is left of a word after all matches with its
    equals is its surplus, wherever it stands, and any two with one stem can be matched.
    """
    tiles = _Tiles(types)
    tiles.lay()
    tiles.fill(types.same_stem)
    synonyms = tiles.fill(types.synonyms)
    partner = tiles.partner
    return synonyms, sum(partner.get(i + 1) == place + 1 for i, place in partner.items())


class _Tiles:
    """Matches that are settled, and what is still free."""

    def __init__(self, types: Words) -> None:
        self.types = types
        self.own = [types.masks.get(word, 0) for word in types.words]
        self.partner: dict[int, int] = {}
        self.free_words = (1 << len(self.own)) - 1
        self.free_places = 0
        for mask in types.masks.values():
            self.free_places |= mask

    def lay(self) -> None:
        """Match equal words, the longest runs first, of equally long ones those that come first."""
        for length, begins in reversed(list(enumerate(runs(self.own), 1))):
            words, places = _blocks(self.free_words, length), _blocks(self.free_places, length)
            for i, mask in enumerate(begins):
                if mask & places and words >> i & 1:
                    there = mask & places
                    self._take(i, (there & -there).bit_length() - 1)
                    words, places = _blocks(self.free_words, length), _blocks(self.free_places, length)

    def _take(self, i: int, place: int) -> None:
        """Match a word, and the words after it as far as they go on."""
        while self.free_words >> i & self.free_places >> place & 1 and self.own[i] >> place & 1:
            self._match(i, place)
            i, place = i + 1, place + 1

    def _match(self, i: int, place: int) -> None:
        self.partner[i] = place
        self.free_words ^= 1 << i
        self.free_places ^= 1 << place

    def fill(self, related: Mapping[str, Iterable[str]]) -> int:
        """Match what is left with words that it is related to, next to other matches if possible; return how many."""
        count = 0
        for i, word in enumerate(self.types.words):
            if word not in related or not self.free_words >> i & 1:
                continue
            free = 0
            for other in related[word]:
                free |= self.types.masks[other]
            free &= self.free_places
            if free:
                beside = (self.partner.get(i - 1, -2) + 1, self.partner.get(i + 1, 0) - 1)
                lowest = (free & -free).bit_length() - 1
                self._match(i, next((place for place in beside if place >= 0 and free >> place & 1), lowest))
                count += 1
        return count


def _blocks(free: int, length: int) -> int:
    """Return where so many free ones in a row begin."""
    found = free
    for step in range(1, length):
        found &= free >> step
    return found
