"""The best rows of a whole index, merged from the best rows of its parts.

Each part hands over its best rows, ``top`` for each query at most, no two with the same response (case and white space
aside). These are enough. Call responses that are equal a class, and let a class be as good as its best row: the search
is for the ``top`` best classes. Take one of them, and the part in which its best row lies. A class that beats it in
this part has a row here that beats that row, and so beats it in the whole index, too. There are fewer than ``top`` of
those, so the part hands over the class, with its best row. Nothing else that is handed over can be better than it is in
the whole index, because every row is scored alike everywhere. So sorting what was handed over, score by score and then
row by row, and passing over responses that were there, gives what a search through all rows gives.

The same holds if a part leaves out what scores less than a floor, as long as ``top`` classes are known that reach the
floor: what is left out is worse than each of them. The worst score kept so far is such a floor.
"""

from __future__ import annotations

from heapq import merge
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trubleu.mining.search import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.mining.search import Hits
    from trubleu.mining.shard import Shard


class FoundTriple(NamedTuple):
    """A triple that was found for a query."""

    row: int
    score: float
    message_score: float
    response_score: float
    id: str
    message: str
    response: str

    @property
    def order(self) -> tuple[float, int]:
        """What sorts found triples, best first."""
        return -self.score, self.row


class FoundHits(NamedTuple):
    """Hits, and of each the id, the message and the response."""

    hits: Hits
    texts: list[tuple[str, str, str]]

    def by_query(self) -> Iterator[tuple[int, list[FoundTriple]]]:
        """Yield each query that has hits, and these, best first."""
        hits = self.hits
        columns = (hits.query, hits.row, hits.score, hits.message_score, hits.response_score)
        rows = zip(*(column.tolist() for column in columns), self.texts, strict=True)
        for query, its in groupby(rows, key=itemgetter(0)):
            yield query, [FoundTriple(*numbers, *texts) for _, *numbers, texts in its]


def with_texts(hits: Hits, shards: Sequence[Shard], first_row: int = 0) -> FoundHits:
    """Look up the texts of hits, which lie in these shards."""
    begins = np.cumsum([first_row, *(shard.triples for shard in shards)])
    numbers = np.searchsorted(begins, hits.row, side="right") - 1
    texts = [("", "", "")] * len(hits.row)
    for number in np.unique(numbers).tolist():
        places = np.flatnonzero(numbers == number)
        for place, each in zip(places.tolist(), shards[number].texts(hits.row[places] - begins[number]), strict=True):
            texts[place] = each
    return FoundHits(hits, texts)


class Best:
    """The best triples of each query among all that were handed over so far, in any order.

    Parameters
    ----------
    queries
        How many queries there are.
    top
        How many triples to keep for each.
    """

    def __init__(self, queries: int, top: int) -> None:
        self._top = top
        self._kept: list[list[FoundTriple]] = [[] for _ in range(queries)]

    def add(self, found: FoundHits, first: int = 0) -> None:
        """Take what was found in a part of the index, for queries that are counted from ``first``."""
        for query, triples in found.by_query():
            kept = self._kept[first + query]
            if len(kept) == self._top and triples[0].order > kept[-1].order:
                continue
            if kept:
                both = merge(kept, triples, key=attrgetter("order"))
                triples = list(islice(_distinct(both), self._top))
            self._kept[first + query] = triples

    def floors(self, first: int, last: int) -> NDArray[np.float64]:
        """Return for some queries what a triple must score to be among the best; 0 where there are too few yet."""
        return np.array(
            [kept[-1].score if len(kept) == self._top else 0.0 for kept in self._kept[first:last]], np.float64
        )

    def found(self) -> list[list[FoundTriple]]:
        """Return the best of each query."""
        return self._kept


def _distinct(triples: Iterable[FoundTriple]) -> Iterator[FoundTriple]:
    """Yield triples but for those whose response came before."""
    seen = set()
    for triple in triples:
        if (response := folded(triple.response)) not in seen:
            seen.add(response)
            yield triple
