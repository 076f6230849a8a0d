"""Search on an engine: groups of shards are searched on their own, and the best of all are merged.

First every group counts how many of its triples have each word of the seeds, which adds up to the document frequencies
of the whole index. Then groups are searched, in rounds. The first round is one group; each later one is seven times as
many as were searched before it, and is told the worst score that each seed has kept so far, so that a worker passes
over most rows as a search from shard to shard would. Seeds are cut into chunks where a round has few groups. None of
this changes a result (see `trubleu.mining.search`), and all of it follows from the index and the number of seeds, so
that work that was kept is found again whatever the engine.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.errors import DataError
from trubleu.execution.cache import Cache
from trubleu.execution.hashing import code_digest
from trubleu.execution.local import InThisProcess
from trubleu.files import paths
from trubleu.mining.search import (
    Best,
    FoundHits,
    FoundTriple,
    Hits,
    Queries,
    Scoring,
    by_word,
    search,
    search_shards,
    with_texts,
    word_frequencies,
)
from trubleu.mining.shard import MOST_TRIPLES
from trubleu.mining.shard_cache import OpenShards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.execution.cache import Packed
    from trubleu.files.paths import PathLike
    from trubleu.mining.candidates import Ranking
    from trubleu.mining.index import Index
    from trubleu.mining.manifest import ListedShard

SEEDS_AT_ONCE: Final = 65_536
"""More seeds than that go through the index one lot after the other."""

GROUP_TRIPLES: Final = MOST_TRIPLES
"""A group has as many shards as have no more triples than that, and one at least."""

GROUP_SHARDS: Final = 128
"""Nor has it more shards than that, as a worker has all of a group open."""

GROWTH: Final = 8
"""After each round so many times as many groups have been searched as before it."""

PARTS: Final = 64
"""A round is cut into so many parts, if there are seeds enough, for workers to be busy to the end."""

LEAST_SEEDS: Final = 250
"""Of a part, as each has to look at all rows of its shards before it begins."""

MOST_SEEDS: Final = 8_192
"""Of a part, so that its result is small."""


class Found(NamedTuple):
    """The best triples of each query, and how many messages and responses of the index have each word of them all."""

    triples: list[list[FoundTriple]]
    frequencies: dict[str, tuple[int, int]]


class Where(NamedTuple):
    """How a search is done: on which engine (None for here and now) and with what kept in a folder."""

    engine: Engine | None = None
    keep: PathLike | None = None
    cache: Cache | None = None
    threads: int | None = None
    progress: Callable[[int], object] | None = None


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A group of shards that follow each other, and some of the seeds.

    Attributes
    ----------
    index
        The folder.
    shards
        The group.
    row
        How many triples come before it.
    chunk
        Which chunk of the seeds; 0 where it is about all of them.
    seeds
        The first of them, and one past the last.
    """

    index: str
    shards: tuple[ListedShard, ...]
    row: int
    chunk: int = 0
    seeds: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        first, last = self.shards[0].file, self.shards[-1].file
        files = first if first == last else f"{first} to {last}"
        seeds = f", seeds {self.seeds[0] + 1} to {self.seeds[1]}" if self.seeds[1] else ""
        return f"{self.index}: {files}{seeds}"

    @property
    def searches(self) -> int:
        """How many searches it is: seeds times shards."""
        return (self.seeds[1] - self.seeds[0]) * len(self.shards)


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts in how many triples of a group each word comes."""

    words: tuple[str, ...]

    def __call__(self, part: SearchPart, opened: OpenShards) -> NDArray[np.int64]:
        return word_frequencies(opened.take(part.shards), self.words)

    def content(self, part: SearchPart) -> Iterator[bytes]:
        yield f"frequencies {code_digest()}".encode()
        yield repr([shard.checksum for shard in part.shards]).encode()
        yield repr(self.words).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Searches a group for a chunk of the seeds."""

    scoring: Scoring
    chunks: tuple[Queries, ...]
    floors: tuple[NDArray[np.float64], ...]
    threads: int | None

    def __call__(self, part: SearchPart, opened: OpenShards) -> FoundHits:
        shards = opened.take(part.shards)
        queries, floors = self.chunks[part.chunk], self.floors[part.chunk]
        hits = search_shards(shards, queries, self.scoring, first_row=part.row, floors=floors, threads=self.threads)
        return with_texts(hits, shards, part.row)

    def content(self, part: SearchPart) -> Iterator[bytes]:
        yield f"search {code_digest()}".encode()
        yield repr((self.scoring, part.row, [shard.checksum for shard in part.shards])).encode()
        yield from self.chunks[part.chunk].content()
        yield self.floors[part.chunk].tobytes()


def find(
    index: Index,
    messages: Sequence[str],
    responses: Sequence[str | None],
    ranking: Ranking,
    where: Where,
) -> Found:
    """Find the triples of an index that fit messages and responses best (see `trubleu.mining.search.search`).

    Raises
    ------
    DataError
        If a shard is damaged, which is named: leaving it out would change the frequencies, and so every score.
    """
    if where.keep is not None:
        _make_folder(where.keep)
    if where.keep is not None and where.engine is None:
        where = where._replace(engine=InThisProcess(where.threads))
    top = min(ranking.top, len(index))  # there can be no more
    bm25, alpha, epsilon = ranking.bm25, ranking.alpha, ranking.epsilon
    infos = (shard.info for shard in index.manifest.shards)
    scoring = Scoring.of_corpus(infos, bm25, alpha=alpha, epsilon=epsilon, top=top)
    words: dict[str, Any] = {
        "tokenize": index.tokenize, "lowercase": index.lowercase, "stop_words": index.stop_words,
    }  # fmt: skip
    found = Found([], {})
    for first in range(0, len(messages), SEEDS_AT_ONCE):
        texts = messages[first : first + SEEDS_AT_ONCE], responses[first : first + SEEDS_AT_ONCE]
        best = Best(len(texts[0]), top)
        if where.engine is None:
            hits, known = search(
                index.shards, *texts, **words, bm25=bm25, alpha=alpha, epsilon=epsilon, top=top, threads=where.threads,
                progress=where.progress,
            )  # fmt: skip
            best.add(with_texts(hits, index.shards))
        else:
            queries = Queries.of_texts(*texts, **words)
            groups = shard_groups(paths.absolute(index.place), index.manifest.shards, GROUP_TRIPLES)
            frequencies = _counted(where.engine, where, groups, queries.words)
            known = by_word(queries, frequencies)
            queries = queries.weighted(frequencies, len(index), bm25)
            _search_all(where.engine, where, groups, queries, scoring, best)
        found.triples.extend(best.found())
        found.frequencies.update(known)
    return found


def shard_groups(index: str, shards: Sequence[ListedShard], most: int) -> list[SearchPart]:
    """Put shards that follow each other into groups of at most so many triples and `GROUP_SHARDS`, or of one shard."""
    groups: list[list[ListedShard]] = []
    size = most
    for shard in shards:
        if size + shard.triples > most or len(groups[-1]) == GROUP_SHARDS:
            groups.append([])
            size = 0
        groups[-1].append(shard)
        size += shard.triples
    parts, row = [], 0
    for group in groups:
        parts.append(SearchPart(index, tuple(group), row))
        row += sum(shard.triples for shard in group)
    return parts


def _counted(engine: Engine, where: Where, groups: Sequence[SearchPart], words: tuple[str, ...]) -> NDArray[np.int64]:
    """Return how many messages and responses of the whole index have each word."""
    count = _Count(words)
    state = partial(OpenShards, groups[0].index)
    counted = (where.cache or Cache()).map(
        lambda work: engine.map(work, groups, state=state),
        count,
        where.keep,
        content=count.content,
        pack=_pack_counts,
        unpack=partial(_unpack_counts, len(words)),
    )
    total = np.zeros((2, len(words)), np.int64)
    with closing(counted) as results:
        for _, frequencies in results:
            total += frequencies
    return total


def _search_all(
    engine: Engine, where: Where, groups: Sequence[SearchPart], queries: Queries, scoring: Scoring, best: Best
) -> None:
    """Search all groups, round after round, and merge what comes."""

    def tell(part: SearchPart) -> None:
        if where.progress is not None:
            where.progress(part.searches)

    done = 0
    while done < len(groups):
        round_groups = groups[done : max(1, GROWTH * done)]
        done += len(round_groups)
        cuts = seed_cuts(len(queries), len(round_groups))
        chunks = tuple(queries.part(first, last) for first, last in pairwise(cuts))
        floors = tuple(best.floors(first, last) for first, last in pairwise(cuts))
        search = _Search(scoring, chunks, floors, engine.threads)
        # Chunk after chunk of a group, for which a worker then has its shards open.
        parts = [
            SearchPart(group.index, group.shards, group.row, chunk, seeds)
            for group in round_groups
            for chunk, seeds in enumerate(pairwise(cuts))
        ]
        state = partial(OpenShards, groups[0].index)
        mapped = (where.cache or Cache()).map(
            partial(engine.map, partitions=parts, state=state, progress=tell),
            search,
            where.keep,
            content=search.content,
            pack=_pack_found,
            unpack=_unpack_found,
        )
        with closing(mapped) as results:
            for part, found in results:
                best.add(found, part.seeds[0])


def seed_cuts(seeds: int, groups: int) -> list[int]:
    """Return where to cut seeds into chunks, for a round of so many groups.

    Examples
    --------
    >>> seed_cuts(1000, 28)
    [0, 333, 666, 1000]
    >>> seed_cuts(600, 1), seed_cuts(600, 100)
    ([0, 300, 600], [0, 600])
    """
    chunks = max(min(-(-PARTS // groups), seeds // LEAST_SEEDS), -(-seeds // MOST_SEEDS), 1)
    return [chunk * seeds // chunks for chunk in range(chunks + 1)]


def _make_folder(keep: PathLike) -> None:
    try:
        paths.make_folder(keep)
    except OSError as error:
        raise DataError(f"the folder {keep} cannot be made: {error.strerror or error}; check the path") from error


def _pack_counts(frequencies: NDArray[np.int64]) -> Packed:
    return {}, {"frequencies": frequencies.ravel().astype(np.uint64)}


def _unpack_counts(words: int, _header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> NDArray[np.int64]:
    return array("frequencies").astype(np.int64).reshape(2, words)


def _pack_found(found: FoundHits) -> Packed:
    texts = [text.encode("utf-8", "surrogatepass") for each in found.texts for text in each]
    hits = found.hits
    return {}, {
        "query": hits.query.astype(np.uint64),
        "row": hits.row.astype(np.uint64),
        "score": hits.score,
        "message_score": hits.message_score,
        "response_score": hits.response_score,
        "text_begins": np.cumsum([0, *map(len, texts)], dtype=np.uint64),
        "text_bytes": np.frombuffer(b"".join(texts), np.uint8),
    }


def _unpack_found(_header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> FoundHits:
    scores = (array(name).copy() for name in ("score", "message_score", "response_score"))
    hits = Hits(array("query").astype(np.int64), array("row").astype(np.int64), *scores)
    heap = array("text_bytes").tobytes()
    texts = [heap[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(array("text_begins").tolist())]
    return FoundHits(hits, list(zip(texts[::3], texts[1::3], texts[2::3], strict=True)))
