"""The kernels of mining in both builds, also with arrays that nobody could have written."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS
from tests.oracles.mining import Found, Row, idf, mined

WORDS = st.lists(st.sampled_from("aaabbcdefgh"), max_size=10).map(" ".join)
ROWS = st.lists(st.builds(Row, st.just("i"), WORDS, WORDS), max_size=30)


def built(kernels: Any, rows: list[Row], *, stop_words: tuple[str, ...] = ()) -> dict[str, Any]:
    builder = kernels.MineBuilder(stop_words)
    ids, messages, responses = (tuple(row[i] for row in rows) for i in range(3))
    builder.add(ids, messages, responses, messages, responses, "none", False)
    assert builder.rows == len(rows)
    arrays: dict[str, Any] = builder.finish()
    return arrays


def hits_of(
    kernels: Any, arrays: dict[str, Any], rows: list[Row], message: str, response: str, *, top: int = 5
) -> list[Found]:
    """Search with lucene's BM25 for one query."""
    shard = kernels.MineShard(arrays, len(rows))
    words = tuple(dict.fromkeys([*message.split(), *response.split()]))
    numbers = shard.numbers(words)
    means = [sum(len(row[i].split()) for row in rows) / max(len(rows), 1) for i in (1, 2)]
    kernel = kernels.MineSearch((response,), np.array([1.2, 0.75, 1.0, *means, 0.5, 0.05]), top)
    for field, text in enumerate((message, response)):
        counts = Counter(text.split())
        frequencies = shard.frequencies(field, numbers).tolist()
        weights = [counts[word] * idf("lucene", frequencies[words.index(word)], len(rows)) for word in counts]
        places = np.array([words.index(word) for word in counts], np.uint32)
        kernel.set_words(field, np.array([0, len(counts)], np.uint64), places, np.array(weights, np.float64))
    kernel.run(shard, numbers, 0, 0, 1, 1)
    return [Found(*values) for values in zip(*(array.tolist() for array in kernel.hits()), strict=True)]


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, message=WORDS, response=WORDS)
def test_both_builds_find_what_the_plain_statement_finds(rows: list[Row], message: str, response: str) -> None:
    expected = mined(rows, [(message, response)], str.split, top=5)
    for kernels in BUILDS.values():
        assert hits_of(kernels, built(kernels, rows), rows, message, response) == expected


def test_both_builds_write_the_same_arrays() -> None:
    rows = [Row(f"é{i}", f"w{i % 7} x w{i % 3}", f"Y{i % 5}\u2003ß") for i in range(2_000)]
    one, *others = (built(kernels, rows, stop_words=("x",)) for kernels in BUILDS.values())
    for other in others:
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def many_rows() -> list[Row]:
    generator = np.random.default_rng(5)
    drawn = (generator.zipf(1.3, (17_000, 16)) % 500).tolist()
    return [Row("i", " ".join(map(str, row[:8])), " ".join(map(str, row[8:]))) for row in drawn]


def test_several_windows() -> None:
    rows = many_rows()
    queries = [(rows[100].message, rows[200].response), (rows[16_999].message, "1 2 3"), ("1 1 2", "499 498")]
    for message, response in queries:
        expected = mined(rows, [(message, response)], str.split, top=5)
        assert len(expected) == 5
        for kernels in BUILDS.values():
            assert hits_of(kernels, built(kernels, rows), rows, message, response) == expected


NAMES = (
    "word_begins",
    "word_slots",
    "message_begins",
    "message_postings",
    "message_limits",
    "response_begins",
    "response_postings",
    "response_limits",
    "bags",
    "bag_begins",
    "response_hashes",
    "response_text_bytes",
    "response_text_begins",
)


@pytest.mark.parametrize("name", NAMES)
def test_no_contents_lead_outside(name: str) -> None:
    rows = [*many_rows()[:9_000], Row("i", "1 2", "ä 1"), Row("i", "1 2", "Ä 1")]
    generator = np.random.default_rng(3)
    for kernels in BUILDS.values():
        arrays = built(kernels, rows)
        for _ in range(12):
            crafted = np.array(arrays[name])
            size = int(generator.integers(1, len(crafted)))
            places = generator.integers(0, len(crafted), size)
            most = np.iinfo(crafted.dtype).max
            crafted[places] = generator.integers(0, most, size, crafted.dtype, endpoint=True)
            try:
                hits_of(kernels, arrays | {name: crafted}, rows, "1 2 3 77", "1 Ä 5")
            except ValueError:  # refused, which is as good as a wrong number
                continue


def test_arrays_that_do_not_fit_are_refused() -> None:
    for kernels in BUILDS.values():
        arrays = built(kernels, many_rows()[:50])
        kernels.MineShard(arrays, 50)
        for name in NAMES:
            if name in {"response_text_bytes", "bags"}:  # only looked at where they are needed
                continue
            with pytest.raises(ValueError, match="do not fit each other"):
                kernels.MineShard(arrays | {name: arrays[name][:-1]}, 50)
        with pytest.raises(ValueError, match="do not fit each other"):
            kernels.MineShard(arrays, 51)


def test_wrong_arguments() -> None:
    for kernels in BUILDS.values():
        builder = kernels.MineBuilder(())
        with pytest.raises(ValueError, match="as many texts of each kind"):
            builder.add(("1",), (), (), (), (), "none", False)
        with pytest.raises(TypeError, match="texts must be strings"):
            builder.add(("1",), (None,), ("a",), ("a",), ("a",), "none", False)
        with pytest.raises(ValueError, match="13a and none"):
            builder.add((), (), (), (), (), "words", False)
        arrays = builder.finish()
        with pytest.raises(ValueError, match="was finished"):
            builder.finish()
        with pytest.raises(ValueError, match="was finished"):
            builder.add((), (), (), (), (), "none", False)
        shard = kernels.MineShard(arrays, 0)
        none = np.empty(0, np.uint32)
        with pytest.raises(ValueError, match="fields are 0 and 1"):
            shard.frequencies(2, none)
        with pytest.raises(IndexError):
            shard.bag(0, 0)
        with pytest.raises(ValueError, match="no word of this number"):
            shard.word(0)
        with pytest.raises(ValueError, match="no word of this number"):
            shard.frequencies(0, np.array([3], np.uint32))
        scoring = np.ones(7)
        with pytest.raises(ValueError, match="seven numbers"):
            kernels.MineSearch((), scoring[:6], 1)
        with pytest.raises(ValueError, match="at least one row"):
            kernels.MineSearch((), scoring, 0)
        with pytest.raises(TypeError, match="strings or None"):
            kernels.MineSearch((1,), scoring, 1)
        search = kernels.MineSearch(("a",), scoring, 1)
        begins = np.array([0, 1], np.uint64)
        with pytest.raises(ValueError, match="words do not fit"):
            search.set_words(0, begins, none, np.empty(0))
        with pytest.raises(ValueError, match="fields are 0 and 1"):
            search.set_words(2, begins, np.zeros(1, np.uint32), np.ones(1))
        search.set_words(0, begins, np.array([4], np.uint32), np.ones(1))
        with pytest.raises(ValueError, match="every word needs a number"):
            search.run(shard, none, 0, 0, 1, 1)
        with pytest.raises(ValueError, match="no such queries"):
            search.run(shard, np.zeros(5, np.uint32), 0, 0, 2, 1)


def test_words_that_come_often_and_rows_that_are_long() -> None:
    rows = [
        Row("1", "a " * 7, "x"),
        Row("2", "a " * 8, "y"),
        Row("3", "a " * 900, "z"),
        Row("4", "a b " * 300, "u"),
        Row("5", "c " * 511 + "a", "v"),
        Row("6", "c " * 512 + "a", "w"),
        Row("7", "c " * 2_000 + "a a", "t"),
    ]
    expected = mined(rows, [("a b", "q")], str.split, top=7)
    assert len(expected) == 7
    for kernels in BUILDS.values():
        assert hits_of(kernels, built(kernels, rows), rows, "a b", "q", top=7) == expected


def test_queries_of_very_many_words() -> None:
    rows = many_rows()[:300]
    message = " ".join(map(str, range(5_000)))
    rows += [Row("i", message, "1 2"), Row("i", "4999 7", "2")]
    for query in [(message, "1 2 3"), ("4999 7", message)]:
        expected = mined(rows, [query], str.split, top=5)
        assert len(expected) == 5
        for kernels in BUILDS.values():
            assert hits_of(kernels, built(kernels, rows), rows, *query) == expected
