"""The vocabulary of a corpus: its frequent words, and its frequent n-grams of each order.

An n-gram is a pair of overlapping (n−1)-grams, so an order is a list of pairs of numbers of the order below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.vectors.training.number_files import Numbers

    Counts = NDArray[np.uint64]
    Tell = Callable[[int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The frequent words of a corpus, most frequent first; of equals, the one that came first.

    Attributes
    ----------
    heap, begins
        The words as bytes, one after the other, and where each begins.
    total
        How many words the corpus has, frequent ones and others.
    """

    heap: NDArray[np.uint8]
    begins: Counts
    total: int

    def check(self, words: int) -> None:
        """Raise ValueError unless there are so many words, one after the other."""
        ends_fit = len(self.begins) == words + 1 and self.begins[0] == 0 and self.begins[-1] == len(self.heap)
        if not ends_fit or (self.begins[1:] < self.begins[:-1]).any() or type(self.total) is not int:
            raise ValueError("its words do not follow each other")
        self.words()

    def words(self) -> tuple[str, ...]:
        """Return the words as strings."""
        return kernels.unpack_texts(self.heap, self.begins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The frequent n-grams of one order, most frequent first.

    Attributes
    ----------
    order
        How many words they have.
    counts
        How often each was seen.
    firsts, seconds
        The (n−1)-grams that each consists of; empty for words.
    """

    order: int
    counts: Counts
    firsts: Numbers
    seconds: Numbers

    def check(self, below: int) -> None:
        """Raise ValueError unless all are pairs of so many (n−1)-grams, or words."""
        for pairs in (self.firsts, self.seconds):
            if len(pairs) != (len(self.counts) if self.order > 1 else 0) or (pairs >= below).any():
                raise ValueError("its n-grams are not those of the order below")
        if (self.counts[1:] > self.counts[:-1]).any():
            raise ValueError("its n-grams are not sorted by their counts")

    def at_least(self, count: int) -> int:
        """Return how many were seen that often; they are the first ones."""
        return int((self.counts >= count).sum())


def spell(words: Sequence[str], levels: Sequence[Level], order: int, count: int) -> list[str]:
    """Return the first n-grams of an order as words joined by a space.

    Parameters
    ----------
    words
        The frequent words.
    levels
        All levels up to the order.
    order, count
        Which n-grams.
    """
    if order == 1:
        return list(words[:count])
    level = levels[order - 1]
    # A long n-gram's last word is the last one of its second half, all the way down.
    last = level.seconds[:count]
    for below in reversed(levels[1 : order - 1]):
        last = below.seconds[last]
    firsts = level.firsts[:count]
    heads = spell(words, levels, order - 1, int(firsts.max()) + 1) if count else []
    return [f"{heads[first]} {words[word]}" for first, word in zip(firsts.tolist(), last.tolist(), strict=True)]
