"""How often n-grams were found, apart from where: what metrics learn, which adds up over parts of a corpus."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.metrics.ngram_table import NgramTable, ReferenceTable

Counted = Literal["occurrences", "segments_with"]
"""What is counted: how often an n-gram occurs, or in how many segments."""


AT_ONCE: Final = 8
"""How many counts are added up at once."""


class KnownNgrams(Protocol):
    """What is known of n-grams before outputs are scored."""

    @property
    def tokens(self) -> int:
        """How many words all references have."""

    @property
    def segments(self) -> int:
        """How many segments there are."""

    def often(self, order: int) -> NDArray[np.int64]:
        """Return the count of each n-gram of one length by its number."""

    def numbers_of(self, table: NgramTable) -> Iterator[NDArray[np.int64]]:
        """Yield order by order the number here of each n-gram of a table, −1 for one that is not here."""


@dataclass(frozen=True, slots=True)
class CountedTable:
    """What the references of a table let know.

    Attributes
    ----------
    table
        The n-grams of all references.
    counted
        What is counted.
    """

    table: ReferenceTable
    counted: Counted

    @property
    def tokens(self) -> int:
        """How many words all references have."""
        return int(self.table.lengths.sum())

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return self.table.segments

    def often(self, order: int) -> NDArray[np.int64]:
        """Return the count of each n-gram of one length by its number."""
        return self.table.occurrences(order) if self.counted == "occurrences" else self.table.segments_with(order)

    def numbers_of(self, table: NgramTable) -> Iterator[NDArray[np.int64]]:
        """Yield order by order the number here of each n-gram of a table, −1 for one that is not here."""
        return table.numbers_in(self.table)


class NgramCounts:
    """Counts of n-grams that can be added to those of other references.

    Parameters
    ----------
    words
        All words, in the order of their numbers.
    keys
        For each length, what tells its n-grams (see `trubleu.metrics.ngram_table.Level`).
    counts
        For each length, the count of each n-gram.
    tokens, segments
        How many words and segments there are.
    """

    def __init__(
        self,
        words: tuple[str, ...],
        keys: Sequence[NDArray[np.int64]],
        counts: Sequence[NDArray[np.int64]],
        tokens: int,
        segments: int,
    ) -> None:
        self.words = words
        self.tokens = tokens
        self.segments = segments
        self._keys = list(keys)
        self._counts = list(counts)

    @classmethod
    def of(cls, table: ReferenceTable, orders: int, counted: Counted) -> NgramCounts:
        """Take the counts of a table, up to n-grams of a length."""
        known = CountedTable(table, counted)
        lengths = range(1, orders + 1)
        return cls(table.words, [*map(table.keys, lengths)], [*map(known.often, lengths)], known.tokens, known.segments)

    @classmethod
    def summed(cls, parts: Sequence[NgramCounts]) -> NgramCounts:
        """Add up the counts of several sets of references, no segment being in two of them.

        Examples
        --------
        >>> one = np.array([0])
        >>> a, b = (NgramCounts((word,), [one], [one + 1], 1, 1) for word in ("hi", "hello"))
        >>> both = NgramCounts.summed([a, b, a])
        >>> both.words, both.often(1).tolist(), both.segments
        (('hi', 'hello'), [2, 1], 3)
        """
        number_of: dict[str, int] = {}
        for part in parts:
            for word in part.words:
                number_of.setdefault(word, len(number_of))
        words = [np.array([number_of[word] for word in part.words], dtype=np.int64) for part in parts]
        # By part: the number in the sum of each of its n-grams of the last length.
        numbers = words
        keys: list[NDArray[np.int64]] = []
        counts: list[NDArray[np.int64]] = []
        for order in range(1, len(parts[0]._keys) + 1):  # noqa: SLF001 - they are of us
            if order == 1:
                keys.append(np.arange(len(number_of)))
            else:
                moved = [
                    before[part.keys(order) // max(len(part.words), 1)] * len(number_of)
                    + last[part.keys(order) % max(len(part.words), 1)]
                    for part, before, last in zip(parts, numbers, words, strict=True)
                ]
                found, places = np.unique(np.concatenate(moved), return_inverse=True)
                keys.append(found)
                numbers = np.split(places, np.cumsum([len(each) for each in moved])[:-1])
            total = np.zeros(len(keys[-1]), dtype=np.int64)
            for part, mine in zip(parts, numbers, strict=True):
                total[mine] += part.often(order)  # an n-gram comes once in a part, so that none is lost
            counts.append(total)
        tokens, segments = sum(part.tokens for part in parts), sum(part.segments for part in parts)
        return cls(tuple(number_of), keys, counts, tokens, segments)

    def without_rare(self) -> NgramCounts:
        """Return the same without n-grams that were counted once, as those that are not there count as much.

        All parts of an n-gram are there at least as often as it is, so that what is left is whole.
        """
        kept = [np.flatnonzero(counts > 1) for counts in self._counts]
        words = tuple(self.words[number] for number in kept[0])
        # The new number of each n-gram of the last length.
        numbers = renumbered = _places(kept[0], len(self.words))
        keys = [np.arange(len(words))]
        for order, mine in enumerate(kept[1:], 2):
            old = self.keys(order)[mine]
            heads, lasts = renumbered[old // len(self.words)], numbers[old % len(self.words)]
            keys.append(heads * len(words) + lasts)
            renumbered = _places(mine, len(self.keys(order)))
        counts = [counts[mine] for counts, mine in zip(self._counts, kept, strict=True)]
        return NgramCounts(words, keys, counts, self.tokens, self.segments)

    @property
    def size(self) -> int:
        """How many n-grams there are."""
        return sum(map(len, self._keys))

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def keys(self, order: int) -> NDArray[np.int64]:
        """Return what tells the n-grams of one length, ascending."""
        return self._keys[order - 1]

    def often(self, order: int) -> NDArray[np.int64]:
        """Return the count of each n-gram of one length by its number."""
        return self._counts[order - 1]

    def numbers_of(self, table: NgramTable) -> Iterator[NDArray[np.int64]]:
        """Yield order by order the number here of each n-gram of a table, −1 for one that is not here."""
        return table.numbers_in(self)

    def plain(self) -> tuple[dict[str, int], dict[str, NDArray[Any]]]:
        """Return all as plain values and arrays of unsigned numbers, ready for a file."""
        arrays: dict[str, NDArray[Any]] = {"words": np.frombuffer(json.dumps(self.words).encode(), np.uint8)}
        for order, (keys, counts) in enumerate(zip(self._keys, self._counts, strict=True), 1):
            arrays |= {f"keys {order}": keys.astype(np.uint64), f"counts {order}": counts.astype(np.uint64)}
        return {"orders": len(self._keys), "tokens": self.tokens, "segments": self.segments}, arrays

    @classmethod
    def from_plain(cls, values: Mapping[str, int], array: Callable[[str], NDArray[Any]]) -> NgramCounts:
        """Return what `plain` made plain."""
        orders = range(1, values["orders"] + 1)
        keys, counts = ([array(f"{name} {order}").astype(np.int64) for order in orders] for name in ("keys", "counts"))
        words = tuple(json.loads(array("words").tobytes()))
        return cls(words, keys, counts, values["tokens"], values["segments"])

    def digest(self) -> str:
        """Return what differs if the counts do."""
        found = hashlib.blake2b(repr((self.words, self.tokens, self.segments)).encode(), digest_size=16)
        for array in (*self._keys, *self._counts):
            found.update(array.tobytes())
        return found.hexdigest()


class CountsOfParts:
    """Adds up counts as they come, several of like size at once, so that none is added again and again."""

    def __init__(self) -> None:
        # By how often they were added up.
        self._waiting: list[list[NgramCounts]] = [[]]

    def add(self, counts: NgramCounts) -> None:
        """Take the counts of the next part."""
        self._waiting[0].append(counts)
        for level, waiting in enumerate(self._waiting):
            if len(waiting) == AT_ONCE:
                if level + 1 == len(self._waiting):
                    self._waiting.append([])
                self._waiting[level + 1].append(NgramCounts.summed(waiting))
                waiting.clear()

    def finish(self) -> NgramCounts:
        """Return the sum of all."""
        rest = [counts for waiting in self._waiting for counts in waiting]
        return rest[0] if len(rest) == 1 else NgramCounts.summed(rest)


def _places(kept: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the place of each of so many numbers among those that were kept; those of others mean nothing."""
    places = np.zeros(size, dtype=np.int64)
    places[kept] = np.arange(len(kept))
    return places
