"""The n-grams of many texts as numbers: where each occurs, how often, and counts that add up over parts of a corpus.

For metrics that must know all references before they count one segment. Nothing that is summed from a table depends on
which other texts are in it: an entry stands where its n-gram first begins in its text.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.text import Tokenizer


Number = TypeVar("Number", np.int64, np.float64)

NOT_THERE: Final = -1
"""The number of an n-gram that is not in a table."""

_TEXT_END: Final = 2**32 - 1

# A table is shared by all who score against its references, and every level needs the one before. One lock for all
# tables, as one of its own could not be pickled.
_counting: Final = RLock()


class Level(NamedTuple):
    """The n-grams of one length.

    Attributes
    ----------
    keys
        What tells an n-gram, ascending: the number of all but its last word times the number of words, and its last
        word. An n-gram's number is its place here.
    texts, numbers, counts
        An entry for each n-gram of each text, in the order in which they first begin: the text, the n-gram's number,
        and how often it occurs there.
    """

    keys: NDArray[np.int64]
    texts: NDArray[np.int32]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int32]


class Numbered(Protocol):
    """N-grams by their numbers, wherever they come from."""

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in the order of their numbers."""

    @property
    def number_of(self) -> dict[str, int]:
        """The number of each word."""

    def keys(self, order: int) -> NDArray[np.int64]:
        """Return what tells the n-grams of one length, ascending."""


class NgramTable:
    """The n-grams of some texts, level by level, each counted when it is first asked for.

    Parameters
    ----------
    texts
        As kernels take them; see `trubleu.data.prepared.kernel_texts`.
    native
        The kernel's tokenizer.
    lowercase
        Whether the kernel is to lower-case.
    fold
        From a word to what it counts as, such as its stem.
    """

    def __init__(
        self, texts: tuple[str, ...], native: str, lowercase: bool, fold: Callable[[str], str] | None = None
    ) -> None:
        counter = kernels.WordCounter()
        flat = counter.add(texts, native, lowercase)
        ends = np.flatnonzero(flat == _TEXT_END)
        lengths = np.diff(ends, prepend=-1) - 1
        if len(lengths) != len(texts):  # the kernel says nothing of texts without words
            there = np.array([bool(kernels.tokens(text, native, lowercase)) for text in texts], dtype=bool)
            self.lengths = np.zeros(len(texts), dtype=np.int64)
            self.lengths[there] = lengths
        else:
            self.lengths = lengths
        heap, begins, _ = counter.words()
        self.words = kernels.unpack_texts(heap, begins)
        self._tokens = flat[flat != _TEXT_END].astype(np.int64)
        if fold is not None:
            stems: dict[str, int] = {}
            folded = np.array([stems.setdefault(fold(word), len(stems)) for word in self.words], dtype=np.int64)
            self.words = tuple(stems)
            self._tokens = folded[self._tokens]
        # For each place where an n-gram of the last level begins: the place, and the n-gram's number.
        self._places = np.arange(len(self._tokens))
        self._numbers = self._tokens
        self._text_of = np.repeat(np.arange(len(texts)), self.lengths)
        self._left = np.repeat(np.cumsum(self.lengths), self.lengths) - self._places
        self._levels: list[Level] = []

    @classmethod
    def of_outputs(
        cls, outputs: Sequence[str], tokenizer: Tokenizer, lowercase: bool, fold: Callable[[str], str] | None = None
    ) -> NgramTable:
        """Count the n-grams of outputs, one text a segment."""
        return cls(*kernel_texts(outputs, tokenizer, lowercase), fold)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def level(self, order: int) -> Level:
        """Return the n-grams of one length."""
        if len(self._levels) < order:
            with _counting:
                while len(self._levels) < order:
                    self._levels.append(self._next_level())
        return self._levels[order - 1]

    def keys(self, order: int) -> NDArray[np.int64]:
        """Return what tells the n-grams of one length, ascending."""
        return self.level(order).keys

    def totals(self, order: int) -> NDArray[np.int64]:
        """Return how many n-grams each text has."""
        return np.maximum(self.lengths - order + 1, 0)

    def occurrences(self, order: int) -> NDArray[np.int64]:
        """Return how often each n-gram occurs in all texts together."""
        level = self.level(order)
        return np.bincount(level.numbers, level.counts, len(level.keys)).astype(np.int64)

    def prefixes(self, order: int) -> NDArray[np.int64]:
        """Return the number of all but the last word of each n-gram; the order is at least 2."""
        return self.level(order).keys // max(len(self.words), 1)

    def numbers_in(self, other: Numbered) -> Iterator[NDArray[np.int64]]:
        """Yield order by order the number that each n-gram has elsewhere, −1 for one that is not there."""
        if other is self:
            yield from (np.arange(len(self.level(order).keys)) for order in count(1))
        known = other.number_of
        words = np.fromiter((known.get(word, NOT_THERE) for word in self.words), np.int64, len(self.words))
        yield (found := words)
        for order in count(2):
            heads, lasts = found[self.prefixes(order)], words[self.level(order).keys % max(len(words), 1)]
            found = places_of(heads * len(other.words) + lasts, other.keys(order))
            found[(heads == NOT_THERE) | (lasts == NOT_THERE)] = NOT_THERE
            yield found

    def _next_level(self) -> Level:
        order = len(self._levels) + 1
        if order == 1:
            keys = np.arange(len(self.words))
        else:
            whole = self._left[self._places] >= order
            self._places = self._places[whole]
            joined = self._numbers[whole] * len(self.words) + self._tokens[self._places + order - 1]
            keys, self._numbers = np.unique(joined, return_inverse=True)
        texts = self._text_of[self._places]
        pairs = joint_keys(texts, self._numbers, len(keys))
        by_pair = np.argsort(pairs, kind="stable")  # so that the first of equals is the first in the text
        begins = np.flatnonzero(np.diff(pairs[by_pair], prepend=-1))
        counts = np.zeros(len(pairs), dtype=np.int32)
        counts[by_pair[begins]] = np.diff(begins, append=len(pairs))
        first = counts > 0
        return Level(keys, texts[first].astype(np.int32), self._numbers[first].astype(np.int32), counts[first])


class ReferenceTable(NgramTable):
    """The n-grams of references, which belong to segments; make one with `of_references`, which keeps it."""

    def __init__(
        self,
        texts: tuple[str, ...],
        native: str,
        lowercase: bool,
        fold: Callable[[str], str] | None,
        offsets: NDArray[np.int64],
    ) -> None:
        super().__init__(texts, native, lowercase, fold)
        self.segments = len(offsets) - 1
        self.reference_counts = np.diff(offsets)
        self.segment_of = np.repeat(np.arange(self.segments), self.reference_counts)
        self._most_often: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []

    @classmethod
    def of_references(
        cls, references: References, tokenizer: Tokenizer, lowercase: bool, fold: Callable[[str], str] | None = None
    ) -> ReferenceTable:
        """Return the n-grams of references, counted once however many systems and orders there are."""

        def make() -> ReferenceTable:
            return cls(*references.kernel_texts(tokenizer, lowercase), fold, references.offsets)

        return references.remembered((cls, tokenizer, lowercase, fold), make)

    def segment_keys(self, order: int) -> NDArray[np.int64]:
        """Return for each entry of a level what tells its segment and n-gram."""
        level = self.level(order)
        return joint_keys(self.segment_of[level.texts], level.numbers, len(level.keys))

    def most_often(self, order: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return what tells each n-gram of each segment, ascending, and the largest count in one reference of it."""
        with _counting:
            for length in range(len(self._most_often) + 1, order + 1):
                keys = self.segment_keys(length)
                by_key = np.argsort(keys, kind="stable")
                begins = np.flatnonzero(np.diff(keys[by_key], prepend=-1))
                counts = self.level(length).counts[by_key]
                self._most_often.append(
                    (keys[by_key[begins]], np.maximum.reduceat(counts, begins) if len(keys) else counts)
                )
        return self._most_often[order - 1]

    def segments_with(self, order: int) -> NDArray[np.int64]:
        """Return in how many segments each n-gram occurs in some reference."""
        size = len(self.level(order).keys)
        return np.bincount(self.most_often(order)[0] % max(size, 1), minlength=size)


def joint_keys(texts: NDArray[np.integer[Any]], numbers: NDArray[np.integer[Any]], ngrams: int) -> NDArray[np.int64]:
    """Return what tells a text or segment and an n-gram of so many together; the products outgrow 32 bits."""
    return texts.astype(np.int64) * max(ngrams, 1) + numbers


def values_at(values: NDArray[Number], numbers: NDArray[np.int64]) -> NDArray[Number]:
    """Return the value of each n-gram by its number, 0 for one that is not there."""
    found = np.zeros(len(numbers), dtype=values.dtype)
    there = numbers != NOT_THERE
    found[there] = values[numbers[there]]
    return found


def places_of(wanted: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of some numbers stands among others, −1 for one that is not there.

    Examples
    --------
    >>> places_of(np.array([5, 4, 9]), np.array([2, 5, 9])).tolist()
    [1, -1, 2]
    """
    if not len(ascending):
        return np.full(len(wanted), NOT_THERE)
    places = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    places[ascending[places] != wanted] = NOT_THERE
    return places


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
