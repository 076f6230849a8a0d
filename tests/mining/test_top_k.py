"""The best rows of a whole index from those of its parts: every bit is that of a search through all rows."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.shards import known_words, search, shards_of
from tests.oracles.mining import Found, Row, mined
from trubleu.mining.bm25 import Bm25
from trubleu.mining.search import Best, Queries, Ranking, query_bags, search_shards, word_frequencies
from trubleu.native import kernels

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.mining.shard import Shard


def plain(best: Best) -> list[Found]:
    return [
        Found(query, each.row, each.score, each.message_score, each.response_score)
        for query, its in enumerate(best.triples)
        for each in its
    ]


def response(draw: Random) -> str:
    """Return one of few responses, spelt in one of many ways."""
    space = draw.choice([" ", "  ", "\u3000", "\x1c", "\x85", "\u2028"])
    text = space.join(draw.choices(["a", "b", "ß", "SS", "\ud800"], k=draw.randint(1, 2)))
    return text.upper() if draw.random() < 0.3 else text


def message(draw: Random) -> str:
    return " ".join(draw.choices("abc", k=draw.randint(1, 3)))


def cut(draw: Random, things: int, parts: int) -> list[tuple[int, int]]:
    return list(pairwise([0, *sorted(draw.sample(range(1, things), parts - 1)), things]))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_parts_handed_over_in_any_order(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    # Few words, so that scores tie and responses come again, and always several parts: drawn, not searched for.
    draw = Random(seed)
    rows = [Row("id", message(draw), response(draw)) for _ in range(draw.randint(6, 40))]
    queries = [(message(draw), draw.choice([None, response(draw)])) for _ in range(4)]
    top = draw.randint(1, 6)
    alpha, epsilon = draw.choice([(0.5, 0.1), (0.0, 1.0), (1.0, 0.0)])
    cuts = [first for first, _ in cut(draw, len(rows), draw.randint(2, 5))][1:]
    shards = shards_of(tmp_path_factory.mktemp("shards"), rows, cuts, tokenize="none")
    groups = cut(draw, len(shards), draw.randint(2, len(shards)))
    chunks = cut(draw, len(queries), draw.randint(1, 2))
    messages, responses = [query[0] for query in queries], [query[1] for query in queries]
    words: dict[str, Any] = {"tokenize": "none", "lowercase": False}
    scored: dict[str, Any] = {"alpha": alpha, "epsilon": epsilon, "top": top}

    bags = query_bags(messages, responses, **words)
    asked = Queries.of_bags(responses, bags)
    frequencies = sum(word_frequencies(shards[first:last], asked.words) for first, last in groups)
    assert isinstance(frequencies, np.ndarray)
    known = dict(zip(asked.words, zip(*frequencies.tolist(), strict=True), strict=True))
    numbers = Ranking(bm25=Bm25(), **scored).numbers(shard.info for shard in shards)
    best = Best(len(queries), top)
    parts = [(group, chunk) for group in groups for chunk in chunks]
    for group, chunk in draw.sample(parts, len(parts)):
        its = shards[group[0] : group[1]]
        before = sum(shard.triples for shard in shards[: group[0]])
        hits = search_shards(
            its,
            Queries.of_bags(responses[slice(*chunk)], [field[slice(*chunk)] for field in bags]).weighted(
                known, len(rows), Bm25()
            ),
            numbers,
            top,
            first_row=before,
            floors=best.floors(*chunk) if draw.random() < 0.7 else None,
            threads=1,
        )
        best.add(hits, chunk[0])

    assert plain(best) == mined(rows, queries, str.split, **scored)
    whole = search(shards, messages, responses, bm25=Bm25(), threads=1, **words, **scored)
    assert [each[:3] for each in plain(best)] == list(
        zip(whole.query.tolist(), whole.row.tolist(), whole.score.tolist(), strict=True)
    )
    assert all((each.id, each.message, each.response) == rows[each.row] for its in best.triples for each in its)


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    rows = [Row(str(number), " ".join(["a"] * (1 + number % 4)), f"answer {number}") for number in range(40)]
    return shards_of(tmp_path, rows)[0]


def test_a_floor_leaves_out_what_scores_less_and_nothing_else(shard: Shard) -> None:
    asked = Queries.of_bags([None], query_bags(["a"], [None], tokenize="none", lowercase=False))
    asked = asked.weighted(known_words([shard], asked), 40, Bm25())
    numbers = Ranking(40, 0.0, 1.0, Bm25()).numbers([shard.info])
    everything = search_shards([shard], asked, numbers, 40)
    assert len(everything.row) == 40
    scores = sorted(set(everything.score.tolist()))
    assert len(scores) == 4
    for floor in scores:
        found = search_shards([shard], asked, numbers, 40, floors=np.array([floor]))
        assert found.row.tolist() == everything.row[everything.score >= floor].tolist()
    above = np.nextafter(scores[-1], np.inf)
    assert len(search_shards([shard], asked, numbers, 40, floors=np.array([above])).row) == 0


def test_every_query_needs_a_floor() -> None:
    kernel = kernels.MineSearch((None, None), np.ones(7), 3)
    with pytest.raises(ValueError, match="every query needs a floor"):
        kernel.set_floors(np.zeros(1))
