"""Shards of rows that a test makes up."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from trubleu.mining.search import Hits, Queries, Ranking, query_bags, search_shards, word_frequencies
from trubleu.mining.shard import Shard, ShardWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.oracles.mining import Row
    from trubleu.mining.bm25 import Bm25
    from trubleu.progress import Progress


def columns(rows: Sequence[Row]) -> Any:
    """Return rows as columns, as shards take them."""
    return SimpleNamespace(
        ids=tuple(row.id for row in rows),
        messages=tuple(row.message for row in rows),
        responses=tuple(row.response for row in rows),
    )


def shards_of(
    folder: Path, rows: Sequence[Row], cuts: Sequence[int] = (), tokenize: str = "none", **options: Any
) -> list[Shard]:
    """Write rows as shards, cut before these rows, and open them."""
    writer = ShardWriter(tokenize, lowercase=options.pop("lowercase", False), **options)
    shards = []
    for number, (first, last) in enumerate(pairwise([0, *sorted(cuts), len(rows)])):
        writer.add(columns(rows[first:last]))
        path = folder / f"{number}.tbx"
        writer.write(path)
        shards.append(Shard(path))
    return shards


def known_words(shards: Sequence[Shard], queries: Queries) -> dict[str, tuple[int, int]]:
    """Return in how many messages and responses of these shards each word of queries is."""
    frequencies = word_frequencies(shards, queries.words).tolist()
    return dict(zip(queries.words, zip(*frequencies, strict=True), strict=True))


def search(
    shards: Sequence[Shard],
    messages: Sequence[str],
    responses: Sequence[str | None],
    *,
    bm25: Bm25,
    alpha: float,
    epsilon: float,
    top: int,
    threads: int | None = None,
    progress: Progress | None = None,
    **words: Any,
) -> Hits:
    """Search shards that are a whole index."""
    queries = Queries.of_bags(responses, query_bags(messages, responses, **words))
    queries = queries.weighted(known_words(shards, queries), sum(shard.triples for shard in shards), bm25)
    ranking = Ranking(top, alpha, epsilon if alpha or epsilon else 1.0, bm25)
    numbers = (*ranking.numbers([shard.info for shard in shards])[:-1], (1 - alpha) * epsilon)
    return search_shards(shards, queries, numbers, top, threads=threads, progress=progress)
