"""Mining beside bm25s and tantivy: indexing from text, and the exact product of two fields against scores and sums."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks import mining_peers as peers
from benchmarks.mining_peers import Found, Texts
from benchmarks.real.files import dailydialog, data_folder
from benchmarks.rows import Row
from benchmarks.simulated.triples import simulated_triples
from benchmarks.timing import best
from trubleu.mining import Index
from trubleu.mining.bm25 import Bm25
from trubleu.mining.search import Queries, Ranking, query_bags, search_shards, word_frequencies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.cases import Bench
    from trubleu.data import Triple

SEED: Final = 13
TRIPLES: Final = 1_000_000
SEEDS: Final = 1_000
"""Queries for which our results must be those of the plain statement."""

TIMED: Final = 200
"""Queries, the first of them, that times are taken of."""


@dataclass(frozen=True)
class Data:
    """A corpus to mine from, and seeds, other rows of the same source, to mine for."""

    name: str
    corpus: list[Triple]
    seeds: list[Triple]
    held_to_bars: bool

    @property
    def texts(self) -> Texts:
        return _texts(self.corpus)

    @cached_property
    def numbered(self) -> peers.Corpus:
        return peers.Corpus(self.texts)


def mining_index(bench: Bench) -> Iterator[Row]:
    """Index messages and responses from text, one thread, beside bm25s from text and from ready numbers of words."""
    for data in _data(bench.quick):
        texts = data.texts
        peers.bm25s_from_texts(Texts(*(field[:100] for field in texts)))  # numba compiles
        # In turns, so that what else the machine does hits both alike.
        seconds = [(_build_seconds(data), _bm25s_seconds(texts)) for _ in range(bench.runs(3))]
        ours, theirs = (min(column) for column in zip(*seconds, strict=True))
        yield Row(
            name="mining, index",
            data=data.name,
            peer="bm25s",
            ours_seconds=ours,
            peer_seconds=theirs,
            bar=5.0 if data.held_to_bars else None,
            note="ours with the files, bm25s in memory",
        )
        yield Row(
            name="mining, index",
            data=data.name,
            peer="bm25s, builder",
            ours_seconds=ours,
            peer_seconds=_bm25s_builder_seconds(data.numbered, bench.runs(2)),
            note="bm25s from numbers of words, ours from text",
        )


def mining_search(bench: Bench) -> Iterator[Row]:
    """Mine the exact top 15 for seeds, one thread, beside what bm25s's scores and tantivy's sum take.

    Before, the results for all seeds must be those of a plain statement, and the scores those of bm25s.
    """
    for data in _data(bench.quick):
        with tempfile.TemporaryDirectory() as place:
            index = Index.build(Path(place, "ours"), data.corpus)
            yield from _searches(bench, data, index, Path(place, "tantivy"))


def _searches(bench: Bench, data: Data, index: Index, place: Path) -> Iterator[Row]:
    corpus, timed = data.numbered, data.seeds[:TIMED]
    queries = corpus.queries(_texts(data.seeds))
    found = ours(index, data.seeds)

    def row(peer: str, search: Callable[[Any], object], asked: Sequence[Any], bar: float | None, note: str) -> Row:
        """Search in turns, so that what else the machine does hits both alike."""
        runs = [
            (
                best(lambda: ours(index, timed), 1),
                best(lambda: [search(one) for one in asked], 1) * len(timed) / len(asked),
            )
            for _ in range(bench.runs(5))
        ]
        seconds, theirs = (min(column) for column in zip(*runs, strict=True))
        return Row(
            name="mining, top 15",
            data=f"{len(timed)} seeds, {data.name}",
            peer=peer,
            ours_seconds=seconds,
            peer_seconds=theirs,
            bar=bar if data.held_to_bars else None,
            note=note,
        )

    brute = peers.Brute(corpus)
    _check_same(found, [brute.top(query) for query in queries])
    some = queries[: max(1, len(timed) // 20)]
    yield row(
        "NumPy, all rows", brute.top, some, None, f"{len(found):,} results equal, ties too; a sample of {len(some)}"
    )
    del brute
    scores = peers.Bm25s(corpus)
    _check_close(found, [scores.top(query) for query in queries[: len(timed)]])
    yield row("bm25s, product", scores.top, queries[: len(timed)], 5.0, "bm25s from numbers of words, ours from text")
    del scores
    tantivy = peers.Tantivy(data.texts, place)
    asked = [tantivy.query(*words) for words in zip(*map(peers.split, _texts(timed)), strict=True)]
    segments = f"{tantivy.segments} segment{'s' * (tantivy.segments > 1)}"
    yield row("tantivy, sum", tantivy.top, asked, 2.0, f"tantivy from ready queries, {segments}, ours from text")


def ours(index: Index, seeds: Sequence[Triple], *, top: int = peers.TOP, threads: int = 1) -> list[Found]:
    """Search for seeds as `Index.candidates` does."""
    texts = [seed.message for seed in seeds], [seed.response for seed in seeds]
    bm25 = Bm25(k1=peers.K1, b=peers.B)
    bags = query_bags(*texts, tokenize=index.tokenize, lowercase=index.lowercase, stop_words=index.stop_words)
    queries = Queries.of_bags(texts[1], bags)
    frequencies = word_frequencies(index.shards, queries.words).tolist()
    known = dict(zip(queries.words, zip(*frequencies, strict=True), strict=True))
    queries = queries.weighted(known, len(index), bm25)
    numbers = Ranking(top, peers.ALPHA, peers.EPSILON, bm25).numbers(shard.info for shard in index.shards)
    hits = search_shards(index.shards, queries, numbers, top, threads=threads)
    bounds = np.searchsorted(hits.query, np.arange(len(seeds) + 1)).tolist()
    return [Found(hits.row[begin:end], hits.score[begin:end]) for begin, end in pairwise(bounds)]


def _build_seconds(data: Data) -> float:
    with tempfile.TemporaryDirectory() as place:
        return best(lambda: Index.build(Path(place, "index"), data.corpus), 1)


def _bm25s_seconds(texts: Texts) -> float:
    return best(lambda: peers.bm25s_from_texts(texts), 1)


def _bm25s_builder_seconds(corpus: peers.Corpus, runs: int) -> float:
    tokens = [(field.lists(), dict(corpus.vocabulary)) for field in (corpus.message, corpus.response)]
    return best(lambda: [peers.bm25s_index(each) for each in tokens], runs)


@cache
def _data(quick: bool) -> list[Data]:
    size, seeds = (TRIPLES // 50, SEEDS // 10) if quick else (TRIPLES, SEEDS)
    made = simulated_triples(size + seeds, seed=SEED)
    found = [Data(f"{size:,} triples", list(islice(made, size)), list(made), held_to_bars=True)]
    if source := data_folder("dailydialog"):
        split = dailydialog(source)
        found.append(Data("DailyDialog", split["train"], split["test"][:seeds], held_to_bars=False))
    return found


def _texts(triples: Sequence[Triple]) -> Texts:
    return Texts([triple.message for triple in triples], [triple.response for triple in triples])


def _check_same(ours: Sequence[Found], theirs: Sequence[Found]) -> None:
    """Refuse to compare the speed of different results: the same rows in the same order."""
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one.rows.tolist() != other.rows.tolist() or not np.allclose(one.scores, other.scores, rtol=1e-12, atol=0):
            raise AssertionError(f"seed {number}: ours found {one}, the plain statement {other}")


def _check_close(ours: Sequence[Found], theirs: Sequence[Found]) -> None:
    """The same scores as far as numbers of 32 bits can tell; rows that are as good may change places."""
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if len(one.rows) != len(other.rows) or not np.allclose(one.scores, other.scores, rtol=1e-5, atol=0):
            raise AssertionError(f"seed {number}: ours found {one}, bm25s {other}")
