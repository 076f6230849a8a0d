"""METEOR's alignment of two texts: as many words as possible stage by stage, in as few chunks as possible."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


LONGEST: Final = 16
"""Runs are told apart up to this length; longer ones are as good as it, until they are taken and go on to their end."""


class Words(Protocol):
    """Which words may be matched with which; see `trubleu.metrics.meteor.alignment`."""

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


NARROW: Final = 16
"""How many partial alignments are kept at each word to begin with; most texts never have more."""

WIDE: Final = 2000
"""How many are kept at most, in texts that have more and where a better alignment is still possible."""

STEPS: Final = 300_000
"""How many steps from one partial alignment to another are made at most: it bounds the time that a pair takes."""

FEW: Final = 12
"""How many places a word is tried at where there are too many partial alignments to try all."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """How many words are matched in each stage, and in how many chunks.

    Attributes
    ----------
    exact, stem, synonym
        Matches of equal words, of words with the same stem, of words that share a meaning.
    chunks
        Runs of matches that are neighbours in both texts, in the same order.
    """

    exact: int
    stem: int
    synonym: int
    chunks: int


def align(
    words: Sequence[str],
    reference: Sequence[str],
    *,
    stem: Callable[[str], str] | None = None,
    meanings: Callable[[str], Collection[str]] | None = None,
    wide: int = WIDE,
    steps: int = STEPS,
) -> Alignment:
    """Align an output with a reference.

    A word is matched at most once. Among all such alignments those with the most exact matches are kept, of these those
    with the most matches of stems, of these those with the most synonyms; of what is left, one with the fewest chunks.

    Parameters
    ----------
    words, reference
        The words of the output and of the reference.
    stem
        From a word to its stem; None for no such stage.
    meanings
        From a word to what it may mean: words that share something are synonyms. None for no such stage.
    wide
        How many partial alignments are kept at each word. The result is the best one unless there are more.
    steps
        How many steps are made at most. If neither this nor `wide` is enough, the result is still no worse than taking
        the longest runs of equal words first.

    Examples
    --------
    >>> align("the cat sat on the mat".split(), "on the mat sat the cat".split())
    Alignment(exact=6, stem=0, synonym=0, chunks=3)
    """
    types = _Types(words, reference, stem, meanings)
    if not any(types.candidates):
        return Alignment(0, 0, 0, 0)
    search = _Search(types)
    best = search.all_of(NARROW)
    if best is None:
        synonym, links = tiling(types)
        best = search.beam(wide, synonym * search.unit + links, steps)
    synonym, links = divmod(best, search.unit)
    return Alignment(types.exact, types.stemmed, synonym, chunks=types.matches + synonym - links)


class _Types:
    """Which words may be matched with which, once it is settled how many matches the first two stages have.

    A word that the output has more often than the reference has a surplus there; its equals in the reference are then
    all matched. So only a surplus of the output can be matched with a surplus of the reference by stem, and what is
    left of both by meaning.
    """

    def __init__(
        self,
        words: Sequence[str],
        reference: Sequence[str],
        stem: Callable[[str], str] | None,
        meanings: Callable[[str], Collection[str]] | None,
    ) -> None:
        self.words = words
        ours, theirs = Counter(words), Counter(reference)
        self.counts = ours
        self.masks: dict[str, int] = defaultdict(int)
        """For each word the places in the reference where it stands, as bits."""
        for place, word in enumerate(reference):
            self.masks[word] |= 1 << place
        self.exact = sum(min(count, theirs[word]) for word, count in ours.items())
        # By word, the words of the reference that it may be matched with beyond itself.
        self.same_stem: dict[str, list[str]] = {}
        self.synonyms: dict[str, list[str]] = {}
        self.stems: dict[str, str] = {}
        # By stem, the words with a surplus.
        self.our_surplus: dict[str, list[str]] = defaultdict(list)
        self.their_surplus: dict[str, list[str]] = defaultdict(list)
        self.stemmed = 0
        if stem is not None or meanings is not None:
            self._add_surpluses(ours, theirs, stem or str)
            if stem is not None:
                self._match_stems(ours, theirs)
        if meanings is not None:
            self._match_meanings(ours, theirs, meanings)
        self.matches = self.exact + self.stemmed
        # For each word of the output, the places in the reference that it may be matched with.
        partners = {word: self._partners(word) for word in ours}
        self.candidates = [partners[word] for word in words]

    def _add_surpluses(self, ours: Counter[str], theirs: Counter[str], stem: Callable[[str], str]) -> None:
        for counts, others, surplus in ((ours, theirs, self.our_surplus), (theirs, ours, self.their_surplus)):
            for word, count in counts.items():
                if count > others[word]:
                    self.stems[word] = stem(word)
                    surplus[self.stems[word]].append(word)

    def _match_stems(self, ours: Counter[str], theirs: Counter[str]) -> None:
        for stem in self.our_surplus.keys() & self.their_surplus.keys():
            self.stemmed += min(
                _surplus(self.our_surplus[stem], ours, theirs), _surplus(self.their_surplus[stem], theirs, ours)
            )
            for word in self.our_surplus[stem]:
                self.same_stem[word] = self.their_surplus[stem]

    def _match_meanings(
        self, ours: Counter[str], theirs: Counter[str], meanings: Callable[[str], Collection[str]]
    ) -> None:
        def left(
            mine: dict[str, list[str]], other: dict[str, list[str]], a: Counter[str], b: Counter[str]
        ) -> list[str]:
            return [
                word
                for stem, words in mine.items()
                if _surplus(words, a, b) > _surplus(other.get(stem, ()), b, a)
                for word in words
            ]

        by_meaning: dict[str, list[str]] = defaultdict(list)
        for word in left(self.their_surplus, self.our_surplus, theirs, ours):
            for meaning in meanings(word):
                by_meaning[meaning].append(word)
        for word in left(self.our_surplus, self.their_surplus, ours, theirs):
            found = dict.fromkeys(other for meaning in meanings(word) for other in by_meaning.get(meaning, ()))
            if found:
                self.synonyms[word] = sorted(found)  # sets have another order in every run

    def _partners(self, word: str) -> int:
        mask = self.masks.get(word, 0)
        for other in (*self.same_stem.get(word, ()), *self.synonyms.get(word, ())):
            mask |= self.masks[other]
        return mask


class _Search:
    """Word by word of the output, the partial alignments that differ in what can still come of them.

    Such a state is the places of the reference that are taken, as far as a later word might want them, and the place of
    the last match, if the next word might go on from it. Its value is the number of synonyms, and after it that of
    links: pairs of matches that are neighbours in both texts. Each link saves a chunk.
    """

    def __init__(self, types: _Types) -> None:
        self.types = types
        candidates = types.candidates
        count = len(candidates)
        self.unit = count + 1
        # Per word: places that it or later ones might want; places whose use by a later word might make a link; and
        # the most that this and later words can add to the value.
        self.wanted = [0] * (count + 1)
        self.alive = [0] * (count + 1)
        self.potential = [0] * (count + 1)
        for i in reversed(range(count)):
            before = candidates[i - 1] << 1 if i else 0
            after = candidates[i + 1] >> 1 if i + 1 < count else 0
            self.wanted[i] = self.wanted[i + 1] | candidates[i]
            self.alive[i] = self.alive[i + 1] | (candidates[i] & (before | after))
            gain = int(candidates[i] & before != 0) + self.unit * (types.words[i] in types.synonyms)
            self.potential[i] = self.potential[i + 1] + gain

    @cached_property
    def runs(self) -> list[list[int]]:
        """For each length and word, the places where a run of so many possible matches begins."""
        return runs(self.types.candidates)

    def all_of(self, width: int) -> int | None:
        """Return the best value if there are never more states than so many."""
        self._begin()
        states = {(0, -1): 0}
        for i, word in enumerate(self.types.words):
            self.left[word] -= 1
            if not self.types.candidates[i]:
                continue  # no state says that the last match goes on here, and none wants anything else
            reached: dict[tuple[int, int], int] = {}
            for state, value in states.items():
                self._expand(i, state, value, reached, -1)
                if len(reached) > width:
                    return None
            states = reached
        return max(states.values())

    def beam(self, width: int, floor: int, steps: int) -> int:
        """Return the best value that is found above the floor, or the floor."""
        if self.potential[0] <= floor or (not self.types.synonyms and floor == self.types.matches - 1):
            return floor  # nothing can be better
        self._begin()
        states = {(0, -1): 0}
        count = len(self.types.words)
        for i, word in enumerate(self.types.words):
            self.left[word] -= 1
            candidates = self.types.candidates[i]
            if not candidates:
                continue
            # What earlier words left over is shared by all that come.
            share = steps // (count - i)
            # Stems and synonyms must be counted to see what may be taken.
            counting = 4 * (len(self.types.same_stem.get(word, ())) + len(self.types.synonyms.get(word, ())))
            self.hurried = len(states) * (candidates.bit_count() + counting) > share
            if self.hurried or len(states) > width:
                most = max(share // (FEW + counting), 1) if self.hurried else width
                states = dict(sorted(states.items(), key=lambda item: self._rank(i, *item))[: min(width, most)])
            reached: dict[tuple[int, int], int] = {}
            for state, value in states.items():
                steps -= counting + self._expand(i, state, value, reached, floor - self.potential[i + 1])
            states = reached
        return max(states.values(), default=floor)

    def _begin(self) -> None:
        self.left = Counter(self.types.counts)
        self.hurried = False

    def _rank(self, i: int, state: tuple[int, int], value: int) -> tuple[int, int, tuple[int, int]]:
        """Return what puts the states before a word in order: those first that will have most if they go on."""
        ahead, place = 0, state[1] + 1
        if place:
            for begins in self.runs:
                if not begins[i] >> place & 1:
                    break
                ahead += 1
        return -value - ahead, -value, state

    def _expand(
        self, i: int, state: tuple[int, int], value: int, reached: dict[tuple[int, int], int], least: int
    ) -> int:
        """Add the states that a word leads to and that are worth more than the least; return how many were tried."""
        taken, last = state
        candidates = self.types.candidates
        following = candidates[i + 1] if i + 1 < len(candidates) else 0
        wanted = self.wanted[i + 1]
        tried = 0
        for place, gain in self._choices(i, self.types.words[i], taken, last, following):
            tried += 1
            worth = value + gain
            if worth <= least:
                continue
            if place < 0:
                state = (taken & wanted, -1)
            else:
                now = taken | 1 << place
                goes_on = following >> (place + 1) & ~now >> (place + 1) & 1
                state = (now & wanted, place if goes_on else -1)
            if reached.get(state, -1) < worth:
                reached[state] = worth
        return tried

    def _choices(self, i: int, word: str, taken: int, last: int, following: int) -> Iterator[tuple[int, int]]:
        """Yield places of the reference for a word, −1 for none, and what each adds to the value."""
        types, left = self.types, self.left
        own = types.masks.get(word, 0) & ~taken
        if own:
            yield from self._places(i, own, last, following, 0)
        if left[word] < own.bit_count():
            return  # its later equals cannot take all of them: it must be matched
        for other in types.same_stem.get(word, ()):
            if free := self._spare(other, taken):
                yield from self._places(i, free, last, following, 0)
        if word in types.same_stem:
            stem = types.stems[word]
            if self._spares(stem, taken) > self._surplus(stem, taken):
                return
        yield -1, 0
        for other in types.synonyms.get(word, ()):
            if free := self._spare(other, taken):
                wanting = self._surplus(types.stems[other], taken)
                if not wanting or self._spares(types.stems[other], taken) > wanting:
                    yield from self._places(i, free, last, following, self.unit)

    def _places(self, i: int, free: int, last: int, following: int, gain: int) -> Iterator[tuple[int, int]]:
        """Yield the places of one word in the reference that must be told apart."""
        if last >= 0 and free >> (last + 1) & 1:
            yield last + 1, gain + 1
            free ^= 1 << (last + 1)
        linking = free & following >> 1
        others = free ^ linking
        # A place that makes no link here or later is as good as any other without a link here, or better.
        if dead := others & ~self.alive[i + 1]:
            others = dead & -dead
        masks = (linking, others)
        if self.hurried and free.bit_count() > FEW:
            masks = self._few(i, linking, others)
        for mask in masks:
            while mask:
                lowest = mask & -mask
                yield lowest.bit_length() - 1, gain
                mask ^= lowest

    def _few(self, i: int, linking: int, others: int) -> tuple[int, int]:
        """Return a few of the places, those first where the longest runs begin."""
        chosen = 0
        for begins in reversed(self.runs):
            while (more := begins[i] & linking & ~chosen) and chosen.bit_count() < FEW:
                chosen |= more & -more
        rest = 0
        while others & ~rest and (chosen | rest).bit_count() < FEW:
            rest |= others & ~rest & -(others & ~rest)
        return chosen, rest

    def _spare(self, word: str, taken: int) -> int:
        """Return the free places of a word in the reference if its later equals in the output leave one over."""
        free = self.types.masks[word] & ~taken
        return free if free.bit_count() > self.left[word] else 0

    def _spares(self, stem: str, taken: int) -> int:
        """Return how many free places with a stem are left over by later equals."""
        masks, left = self.types.masks, self.left
        return sum((masks[word] & ~taken).bit_count() - left[word] for word in self.types.their_surplus.get(stem, ()))

    def _surplus(self, stem: str, taken: int) -> int:
        """Return how many later words with a stem find no equal; the reference's other words are theirs to take."""
        masks, left = self.types.masks, self.left
        return sum(
            left[word] - (masks.get(word, 0) & ~taken).bit_count()
            for word in self.types.our_surplus.get(stem, ())
            if left[word]
        )


def _surplus(words: Collection[str], counts: Counter[str], others: Counter[str]) -> int:
    return sum(counts[word] - others[word] for word in words)
