"""Exact top-k search of an index for many queries at once.

Shards are searched one after the other, and the queries within a shard in parallel, so every shard is mapped and read
once for any number of queries. See ``mine_search.hpp`` for how most rows are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from heapq import merge
from itertools import accumulate, groupby, islice, pairwise
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, overload

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import DataError, UsageError
from trubleu.execution.cache import Cache
from trubleu.execution.output_parts import prepare_folder
from trubleu.execution.serialization import Packing
from trubleu.files import paths
from trubleu.mining.bm25 import Bm25, check_number
from trubleu.mining.manifest import REMEDY
from trubleu.mining.shard import FIELDS, MOST_TRIPLES, Shard
from trubleu.native import kernels, resolve_threads
from trubleu.signature import make_signature
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.mining.index import Index
    from trubleu.mining.manifest import ListedShard
    from trubleu.mining.shard import ShardInfo
    from trubleu.progress import Progress
    from trubleu.signature import Signature
    from trubleu.text import Tokenizer
    from trubleu.text.tokenizers import Spec


try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


_FEWEST, _USUAL, _MOST = 8, 256, 16_384  # minimum, default and maximum of shards open at once


def open_shard(folder: PathLike, listed: ListedShard) -> Shard:
    """Open a shard and check that it is the one listed in the manifest.

    Raises
    ------
    DataError
        If it is missing, damaged, or another one.
    """
    path, remedy = paths.joined(folder, listed.file), f"copy the index again, or {REMEDY}"
    # Opening comes first if the file exists, because it gives the best message for a damaged file.
    shard = Shard(path) if paths.exists(path) else None
    listed.check(folder, remedy)
    if shard is None or shard.info != listed.info:
        raise DataError(f"{path} is not the shard that was written there; {remedy}")
    return shard


def most_open() -> int:
    """Return how many shards may be open at once, given the limit on file descriptors."""
    if not resource:
        return _USUAL
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if limit == resource.RLIM_INFINITY else min(max(_FEWEST, limit // 4), _MOST)


class ShardsOnDemand(Sequence[Shard]):
    """The shards of an index, opened on demand within the limit on open files.

    Remote shards are copied to this machine on first use.

    Parameters
    ----------
    folder
        The index.
    listed
        Its shards.
    """

    def __init__(self, folder: str, listed: Sequence[ListedShard]) -> None:
        self._count = len(listed)
        self._opened = lru_cache(most_open())(lambda number: open_shard(folder, listed[number]))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Shard: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Shard, ...]: ...
    def __getitem__(self, index: int | slice) -> Shard | tuple[Shard, ...]:
        numbers = range(self._count)[index]
        return self._opened(numbers) if isinstance(numbers, int) else tuple(map(self._opened, numbers))


class OpenShards:
    """The shards that a worker has open: only those of its last request.

    Parameters
    ----------
    folder
        The index.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._shards: dict[str, Shard] = {}

    def __call__(self, listed: Sequence[ListedShard]) -> list[Shard]:
        """Return shards, reusing those that are already open."""
        before, self._shards = self._shards, {}
        for each in listed:
            there = before.get(each.file)
            self._shards[each.file] = open_shard(self._folder, each) if there is None else there
        for file in before.keys() - self._shards.keys():  # the local disk may be too small for both
            paths.forget(paths.joined(self._folder, file))
        return list(self._shards.values())


class FoundTriple(NamedTuple):
    """A triple found for a query."""

    row: int
    score: float
    message_score: float
    response_score: float
    id: str
    message: str
    response: str

    @property
    def order(self) -> tuple[float, int]:
        """Sort key, best first."""
        return -self.score, self.row


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Triples found, by query, best first.

    Attributes
    ----------
    query
        Which query each is for; queries without a hit are not there.
    row
        Which triple, counted over the whole index.
    score
        message_score · (α · response_score + (1 − α) · ε)
    message_score, response_score
        BM25 of the message and of the response.
    texts
        The id, message and response of each.
    """

    query: NDArray[np.int64]
    row: NDArray[np.int64]
    score: NDArray[np.float64]
    message_score: NDArray[np.float64]
    response_score: NDArray[np.float64]
    texts: list[tuple[str, str, str]]

    def by_query(self) -> Iterator[tuple[int, list[FoundTriple]]]:
        """Yield each query that has hits, with its hits, best first."""
        columns = (self.query, self.row, self.score, self.message_score, self.response_score)
        rows = zip(*(column.tolist() for column in columns), self.texts, strict=True)
        for query, its in groupby(rows, key=itemgetter(0)):
            yield query, [FoundTriple(*numbers, *texts) for _, *numbers, texts in its]


class Best:
    """The best triples of each query so far, merged from parts in any order.

    Parameters
    ----------
    queries
        How many queries there are.
    top
        How many triples to keep for each.

    Attributes
    ----------
    triples
        The best triples of each query.
    """

    def __init__(self, queries: int, top: int) -> None:
        self._top = top
        self.triples: list[list[FoundTriple]] = [[] for _ in range(queries)]

    def add(self, hits: Hits, first: int = 0) -> None:
        """Merge the hits in a part of the index; its queries are numbered from ``first``."""
        for query, triples in hits.by_query():
            kept = self.triples[first + query]
            if len(kept) == self._top and triples[0].order > kept[-1].order:
                continue
            if kept:
                both = merge(kept, triples, key=attrgetter("order"))
                triples = list(islice(_distinct(both), self._top))
            self.triples[first + query] = triples

    def floors(self, first: int, last: int) -> NDArray[np.float64]:
        """Return the score that a triple must exceed to enter the top k of each query; 0 while there are fewer."""
        return np.array(
            [kept[-1].score if len(kept) == self._top else 0.0 for kept in self.triples[first:last]], np.float64
        )


def _distinct(triples: Iterable[FoundTriple]) -> Iterator[FoundTriple]:
    """Yield triples, skipping repeated responses."""
    seen = set()
    for triple in triples:
        if (response := folded(triple.response)) not in seen:
            seen.add(response)
            yield triple


class FieldWords(NamedTuple):
    """The words of a field, in CSR layout by query.

    ``begins`` are the offsets of the queries, ``places`` the positions in `Queries.words`, and ``weights`` the counts
    in the query, multiplied by idf once document frequencies are known.
    """

    begins: NDArray[np.uint64]
    places: NDArray[np.uint32]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries for a search.

    Attributes
    ----------
    responses
        What is left out where it is found; None leaves nothing out.
    words
        All words of all queries, each once.
    fields
        Which of them messages and responses have.
    """

    responses: tuple[str | None, ...]
    words: tuple[str, ...]
    fields: tuple[FieldWords, FieldWords]

    def __len__(self) -> int:
        return len(self.responses)

    @classmethod
    def of_bags(cls, responses: Sequence[str | None], bags: Sequence[list[Counter[str]]]) -> Queries:
        """Return the queries with these words in their messages and responses, as from `query_bags`."""
        places: dict[str, int] = {}
        for word in (word for field in bags for bag in field for word in bag):
            places.setdefault(word, len(places))
        of_messages, of_responses = (
            FieldWords(
                np.cumsum([0, *map(len, field)], dtype=np.uint64),
                np.array([places[word] for bag in field for word in bag], np.uint32),
                np.array([count for bag in field for count in bag.values()], np.float64),
            )
            for field in bags
        )
        return cls(tuple(responses), tuple(places), (of_messages, of_responses))

    def weighted(self, known: Mapping[str, tuple[int, int]], documents: int, bm25: Bm25) -> Queries:
        """Return the queries with idf weights, given in how many messages and responses each word is."""
        frequencies = np.array([known[word] for word in self.words], np.int64).reshape(-1, len(FIELDS)).T
        of_messages, of_responses = (
            field._replace(weights=field.weights * bm25.idf(its, documents)[field.places])
            for field, its in zip(self.fields, frequencies, strict=True)
        )
        return replace(self, fields=(of_messages, of_responses))

    def content(self) -> list[object]:
        """Return the content, for hashing."""
        arrays = [np.ascontiguousarray(array).tobytes() for field in self.fields for array in field]
        return [self.words, self.responses, *arrays]


def word_frequencies(shards: Iterable[Shard], words: Sequence[str]) -> NDArray[np.int64]:
    """Return the document frequency of each word in messages and responses of these shards, as two rows."""
    total = np.zeros((len(FIELDS), len(words)), np.int64)
    for shard in shards:
        numbers = shard.numbers(words)
        for row, field in enumerate(FIELDS):
            total[row] += shard.frequencies(field, numbers)
    return total


def query_bags(
    messages: Sequence[str],
    responses: Sequence[str | None],
    *,
    tokenize: Spec | Tokenizer,
    lowercase: bool,
    stop_words: Iterable[str] = (),
) -> list[list[Counter[str]]]:
    """Return the word counts of each message and of each response, in order of first occurrence, as in the index."""
    how, found = tokenizer(tokenize), []
    stopped = {word.lower() if lowercase else word for word in stop_words}
    for texts in (messages, [text or "" for text in responses]):
        given = kernel_texts(texts, how, lowercase)  # the words that the kernel was given
        lines = (kernels.tokens(text, *given[1:]) for text in given[0])
        found.append([Counter(word for word in line if word not in stopped) for line in lines])
    return found


LARGEST_EPSILON: Final = 1e6
"""From there on the response has no influence."""

_QUERIES: Final = 256  # queries per batch; Ctrl-C and progress are handled in between
_WORTH_THREADS: Final = 100_000  # queries times triples from which threads pay off


def folded(text: str) -> str:
    """Fold case and white space; responses are considered equal if their folded texts are.

    Examples
    --------
    >>> folded("  Me  TOO! ")
    'me too!'
    """
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Ranking:
    """How triples are scored, and how many are kept.

    Attributes
    ----------
    top
        How many triples to find for each query.
    alpha, epsilon
        The score is message · (α · response + (1 − α) · ε).
    bm25
        The variant of BM25; document frequencies and mean lengths are those of the whole index.

    Raises
    ------
    UsageError
        If an option is out of its range.
    """

    top: int
    alpha: float
    epsilon: float
    bm25: Bm25

    def __post_init__(self) -> None:
        if type(self.top) is not int or self.top < 1:
            raise UsageError(f"top must be a whole number from 1 on, not {self.top!r}")
        check_number("alpha", self.alpha, 1.0)
        check_number("epsilon", self.epsilon, LARGEST_EPSILON)
        if self.alpha == 0 and self.epsilon == 0:
            raise UsageError("with alpha=0 and epsilon=0 every score is 0; raise one of them")

    def numbers(self, infos: Iterable[ShardInfo]) -> tuple[float, ...]:
        """Return k1, b, the scale, the mean lengths of messages and responses in all shards, α and (1 − α) · ε."""
        counts = [(info.triples, info.message_words, info.response_words) for info in infos]
        triples, message_words, response_words = map(sum, zip(*counts, strict=True)) if counts else (0, 0, 0)
        means = (message_words / triples, response_words / triples) if triples else (0.0, 0.0)
        return self.bm25.k1, self.bm25.b, self.bm25.scale, *means, self.alpha, (1.0 - self.alpha) * self.epsilon

    def signature(self, index: Index, **pairs: object) -> Signature:
        """Return the signature of candidates from an index."""
        return make_signature(
            "mine",
            alpha=float(self.alpha),
            epsilon=float(self.epsilon),
            bm25=self.bm25.variant,
            k1=float(self.bm25.k1),
            b=float(self.bm25.b),
            top=self.top,
            **pairs,
            **dict(index.signature),
        )


def search_shards(
    shards: Sequence[Shard],
    queries: Queries,
    numbers: tuple[float, ...],
    top: int,
    *,
    first_row: int = 0,
    floors: NDArray[np.float64] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Hits:
    """Find the best triples of consecutive shards; the scores found in one shard prune the next.

    Skips responses that equal the query's, or a better triple's, ignoring case and white space. Only scores above 0
    count. Ties are broken by the order of the corpus.

    Parameters
    ----------
    shards
        Some shards of an index.
    queries
        With the weights that the words have in the whole index.
    numbers
        How triples are scored, from `Ranking.numbers`.
    top
        How many triples to find for each query.
    first_row
        How many triples the index has before these shards.
    floors
        For each query a score: triples that score less are left out. None leaves none out.
    threads
        How many threads; all cores by default. It changes nothing but the time.
    progress
        Told how many more queries were searched for, once for each shard.

    Raises
    ------
    DataError
        If a shard was altered or damaged.
    """
    several = len(shards) > 1
    begins = np.cumsum([first_row, *(shard.triples for shard in shards)])
    threads = resolve_threads(threads, int(begins[-1] - first_row) * len(queries), _WORTH_THREADS)
    kernel = kernels.MineSearch(queries.responses, np.array(numbers, np.float64), top)
    for position, field in enumerate(queries.fields):
        kernel.set_words(position, *field)
    if floors is not None:
        kernel.set_floors(floors)
    for shard, row in zip(shards, begins.tolist(), strict=False):
        words = shard.numbers(queries.words)
        for first in range(0, len(queries), _QUERIES):
            last = min(first + _QUERIES, len(queries))
            shard.sound(partial(kernel.run, shard.kernel(), words, row, first, last, threads))
            if progress:
                progress(last - first)
        if several:  # free memory for the next one
            shard.release()
    columns = kernel.hits()
    rows = columns[1]
    numbers_of_shards = np.searchsorted(begins, rows, side="right") - 1
    texts = [("", "", "")] * len(rows)
    for number in np.unique(numbers_of_shards).tolist():
        places = np.flatnonzero(numbers_of_shards == number)
        for place, each in zip(places.tolist(), shards[number].texts(rows[places] - begins[number]), strict=True):
            texts[place] = each
        if several:
            shards[number].release()
    return Hits(*columns, texts)


SEEDS_AT_ONCE: Final = 65_536
"""More seeds are searched in batches of this size."""

GROUP_TRIPLES: Final = MOST_TRIPLES
"""Maximum triples per group of shards; a group has at least one shard."""

GROUP_SHARDS: Final = 128
"""Maximum shards per group, as a worker opens them all."""

GROWTH: Final = 8
"""Factor by which the number of searched groups grows in each round."""

PARTS: Final = 64
"""Parts per round, if there are enough seeds, to keep workers busy to the end."""

LEAST_SEEDS: Final = 250
"""Minimum seeds per part, as each part scans all rows of its shards first."""

MOST_SEEDS: Final = 8_192
"""Maximum seeds per part, which bounds the size of its result."""


@dataclass(frozen=True, slots=True)
class SearchPart:
    """A group of consecutive shards, and a range of the seeds.

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
    row: int = 0
    chunk: int = 0
    seeds: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        first, last = self.shards[0].file, self.shards[-1].file
        files = first if first == last else f"{first} to {last}"
        seeds = f", seeds {self.seeds[0] + 1} to {self.seeds[1]}" if self.seeds[1] else ""
        return f"{self.index}: {files}{seeds}"

    @property
    def searches(self) -> int:
        """Number of searches: seeds times shards."""
        return (self.seeds[1] - self.seeds[0]) * len(self.shards)


Opened: TypeAlias = "Callable[[Sequence[ListedShard]], Sequence[Shard]]"
"""Opens shards; the state of a worker."""


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts document frequencies in a group."""

    words: tuple[str, ...]

    def __call__(self, part: SearchPart, opened: Opened) -> NDArray[np.int64]:
        return word_frequencies(opened(part.shards), self.words)

    def content(self, part: SearchPart) -> list[object]:
        return ["frequencies", [shard.checksum for shard in part.shards], self.words]


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Searches a group for a chunk of the seeds."""

    numbers: tuple[float, ...]
    top: int
    chunks: tuple[Queries, ...]
    floors: tuple[NDArray[np.float64], ...]
    threads: int | None
    progress: Progress | None = None

    def __call__(self, part: SearchPart, opened: Opened) -> Hits:
        how: Any = {"first_row": part.row, "floors": self.floors[part.chunk], "threads": self.threads}
        queries, shards = self.chunks[part.chunk], opened(part.shards)
        return search_shards(shards, queries, self.numbers, self.top, **how, progress=self.progress)

    def content(self, part: SearchPart) -> list[object]:
        checksums = [shard.checksum for shard in part.shards]
        queries = self.chunks[part.chunk].content()
        return ["search", self.numbers, self.top, part.row, checksums, *queries, self.floors[part.chunk].tobytes()]


def find(
    index: Index,
    messages: Sequence[str],
    responses: Sequence[str | None],
    ranking: Ranking,
    *,
    engine: Engine | None = None,
    keep: PathLike | None = None,
    cache: Cache | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[list[FoundTriple]], dict[str, tuple[int, int]]]:
    """Find the triples of an index that best match messages and responses; see `search_shards`.

    Parameters
    ----------
    index, messages, responses, ranking
        What is searched, for what, and how triples are scored.
    engine, keep, cache, threads, progress
        As for `Index.candidates`.

    Returns
    -------
    tuple of list and dict
        The best triples of each query, and the document frequencies of all query words in messages and responses.

    Raises
    ------
    DataError
        If a shard is damaged, which is named: leaving it out would change the frequencies, and so every score.
    """
    listed, packing = index.manifest.shards, Packing((Hits,))
    opened: Callable[[], Opened]
    alone = engine is None and keep is None
    if alone:  # one part, searched in the shards that the index has open
        groups, opened = [SearchPart(index.place, listed)], lambda: lambda _shards: index.shards
    else:
        place = paths.absolute(index.place)
        groups, opened = shard_groups(place, listed, GROUP_TRIPLES), partial(OpenShards, place)
    if keep is not None:
        prepare_folder(keep)
    if engine is not None:
        threads = engine.threads

    def tell(part: SearchPart) -> None:
        if progress is not None and not alone and part.searches:
            progress(part.searches)

    def mapped(work: _Count | _Search, parts: Sequence[SearchPart]) -> closing[Any]:
        how: Any = {"content": work.content, "pack": packing.pack, "unpack": packing.unpack}
        return closing((cache or Cache()).map(engine, work, parts, keep, state=opened, progress=tell, **how))

    top = min(ranking.top, len(index))  # no more can be found
    numbers = ranking.numbers(shard.info for shard in listed)
    triples: list[list[FoundTriple]] = []
    known: dict[str, tuple[int, int]] = {}
    for first in range(0, len(messages), SEEDS_AT_ONCE):
        texts = messages[first : first + SEEDS_AT_ONCE], responses[first : first + SEEDS_AT_ONCE]
        bags = query_bags(*texts, tokenize=index.tokenize, lowercase=index.lowercase, stop_words=index.stop_words)
        queries = Queries.of_bags(texts[1], bags)
        frequencies = np.zeros((len(FIELDS), len(queries.words)), np.int64)
        with mapped(_Count(queries.words), groups) as results:
            for _, counts in results:
                frequencies += counts
        known.update(zip(queries.words, zip(*frequencies.tolist(), strict=True), strict=True))
        best, done = Best(len(queries), top), 0
        while done < len(groups):
            round_groups = groups[done : max(1, GROWTH * done)]
            done += len(round_groups)
            cuts = list(pairwise([0, len(queries)] if alone else seed_cuts(len(queries), len(round_groups))))
            unweighted = [
                Queries.of_bags(texts[1][start:end], [field[start:end] for field in bags]) for start, end in cuts
            ]
            chunks = tuple(each.weighted(known, len(index), ranking.bm25) for each in unweighted)
            floors = tuple(best.floors(*cut) for cut in cuts)
            search = _Search(numbers, top, chunks, floors, threads, progress if alone else None)
            # All chunks of a group in sequence, so a worker can reuse its open shards.
            parts = [replace(each, chunk=chunk, seeds=cut) for each in round_groups for chunk, cut in enumerate(cuts)]
            with mapped(search, parts) as results:
                for part, hits in results:
                    best.add(hits, part.seeds[0])
        triples += best.triples
    return triples, known


def shard_groups(index: str, shards: Sequence[ListedShard], most: int) -> list[SearchPart]:
    """Group consecutive shards, limited by triples and `GROUP_SHARDS`, with at least one shard per group."""
    groups: list[list[ListedShard]] = []
    size = most
    for shard in shards:
        if size + shard.triples > most or len(groups[-1]) == GROUP_SHARDS:
            groups.append([])
            size = 0
        groups[-1].append(shard)
        size += shard.triples
    rows = accumulate((sum(shard.triples for shard in group) for group in groups), initial=0)
    return [SearchPart(index, tuple(group), row) for group, row in zip(groups, rows, strict=False)]


def seed_cuts(seeds: int, groups: int) -> list[int]:
    """Return the boundaries of chunks of seeds, for a round of this many groups.

    Examples
    --------
    >>> seed_cuts(1000, 28)
    [0, 333, 666, 1000]
    >>> seed_cuts(600, 1), seed_cuts(600, 100)
    ([0, 300, 600], [0, 600])
    """
    chunks = max(min(-(-PARTS // groups), seeds // LEAST_SEEDS), -(-seeds // MOST_SEEDS), 1)
    return [chunk * seeds // chunks for chunk in range(chunks + 1)]
