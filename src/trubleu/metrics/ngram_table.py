"""The n-grams of many texts as numbers: how often each occurs, where, and which ones two sets of texts share.

For metrics that must know all references before they count one segment. Nothing that is summed from a table depends on
which other texts are in it: an entry stands where its n-gram first begins in its text.
"""

from __future__ import annotations

from functools import cached_property
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
