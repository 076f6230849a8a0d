"""Counting words and pairs against ``collections.Counter``."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS
from tests.oracles.skipgram import NO_ENTRY, SENTENCE_END
from trubleu.native import kernels

TOKENS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(lambda text: text.split() == [text])


@pytest.mark.parametrize("build", BUILDS)
@given(st.lists(st.lists(TOKENS, max_size=6), max_size=8))
def test_words_get_numbers_as_they_come(build: str, sentences: list[list[str]]) -> None:
    counter = BUILDS[build].WordCounter()
    numbers = [
        number for sentence in sentences for number in counter.add((" ".join(sentence),), "none", False).tolist()
    ]
    heap, begins, counts = counter.words()
    known = kernels.unpack_texts(heap, begins)
    expected = Counter(word for sentence in sentences for word in sentence)
    assert known == tuple(expected)
    assert dict(zip(known, counts.tolist(), strict=True)) == expected
    place = {word: number for number, word in enumerate(known)}
    assert numbers == [
        number for sentence in sentences if sentence for number in [*(place[word] for word in sentence), SENTENCE_END]
    ]


def test_many_words_and_lower_case() -> None:
    counter = kernels.WordCounter()
    texts = tuple(f"W{i} É{i % 7} a-rather-long-word-{i % 5_000}" for i in range(100_000))
    numbers = counter.add(texts, "none", True)
    heap, begins, counts = counter.words()
    expected = Counter(word for text in texts for word in text.lower().split())
    assert dict(zip(kernels.unpack_texts(heap, begins), counts.tolist(), strict=True)) == expected
    assert (numbers == SENTENCE_END).sum() == len(texts)


def test_the_tokenizer_is_that_of_scoring() -> None:
    counter = kernels.WordCounter()
    counter.add(("Hello, world.",), "13a", False)
    assert kernels.unpack_texts(*counter.words()[:2]) == ("Hello", ",", "world", ".")
    with pytest.raises(ValueError, match="13a and none"):
        counter.add(("x",), "words", False)


@pytest.mark.parametrize("build", BUILDS)
@given(st.lists(st.lists(TOKENS, max_size=6), max_size=8), st.integers(0, 8))
def test_merging_equals_having_counted_all(build: str, sentences: list[list[str]], cut: int) -> None:
    whole = BUILDS[build].WordCounter()
    whole.add(tuple(map(" ".join, sentences)), "none", False)
    merged = BUILDS[build].WordCounter()
    for some in (sentences[:cut], sentences[cut:]):
        part = BUILDS[build].WordCounter()
        part.add(tuple(map(" ".join, some)), "none", False)
        heap, begins, counts = part.words()
        numbers = merged.merge(heap, begins, counts)
        known = kernels.unpack_texts(*merged.words()[:2])
        assert tuple(known[number] for number in numbers) == kernels.unpack_texts(heap, begins)
        # Zero times more: looked up.
        np.testing.assert_array_equal(merged.merge(heap, begins, np.zeros_like(counts)), numbers)
    for ours, theirs in zip(merged.words(), whole.words(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("heap", "begins", "counts", "message"),
    [
        (b"ab", [0, 1], [1, 1], "every word needs a begin and a count"),
        (b"ab", [], [], "every word needs a begin and a count"),
        (b"ab", [1, 2], [1], "words must fill their heap"),
        (b"ab", [0, 1], [1], "words must fill their heap"),
        (b"ab", [0, 0, 2], [1, 1], "words must follow each other and have bytes"),
        (b"ab", [0, 9, 2], [1, 1], "words must follow each other and have bytes"),
        (b"ab", [0, 2, 1, 2], [1, 1, 1], "words must follow each other and have bytes"),
    ],
)
def test_words_that_nobody_counted(heap: bytes, begins: list[int], counts: list[int], message: str) -> None:
    counter = kernels.WordCounter()
    with pytest.raises(ValueError, match=message):
        counter.merge(np.frombuffer(heap, np.uint8), np.array(begins, np.uint64), np.array(counts, np.uint64))
    assert len(counter.words()[2]) == 0


NUMBERS = st.lists(st.sampled_from([*range(6), NO_ENTRY, SENTENCE_END]), max_size=80)


@pytest.mark.parametrize("build", BUILDS)
@given(
    numbers=NUMBERS,
    usable=st.integers(0, 6),
    least=st.integers(1, 4),
    most=st.integers(1, 40),
    cut=st.integers(1, 30),
)
def test_pairs_are_counted_exactly_in_any_room(
    build: str, numbers: list[int], usable: int, least: int, most: int, cut: int
) -> None:
    array = np.array(numbers, np.uint32)
    counter = BUILDS[build].PairCounter(usable, least, most)
    more = True
    while more:
        for first in range(0, len(array), cut):
            counter.add(array[first : first + cut + 1])
        more = counter.finish_pass()
    firsts, seconds, counts = (column.tolist() for column in counter.pairs())
    pairs = Counter(pair for pair in pairwise(numbers) if max(pair) < usable)
    expected = {pair: count for pair, count in pairs.items() if count >= least}
    found = list(zip(firsts, seconds, strict=True))
    assert len(set(found)) == len(found)
    assert dict(zip(found, counts, strict=True)) == expected

    index = BUILDS[build].PairIndex(np.array(firsts, np.uint32), np.array(seconds, np.uint32))
    places = {pair: number for number, pair in enumerate(found)}
    output = np.empty(max(len(array) - 1, 0), np.uint32)
    index.encode(np.append(array, np.uint32(SENTENCE_END))[: len(output) + 1], output)
    for at, number in enumerate(output.tolist()):
        pair = numbers[at], numbers[at + 1]
        assert number == (SENTENCE_END if pair[0] == SENTENCE_END else places.get(pair, NO_ENTRY))


@pytest.mark.parametrize("build", BUILDS)
def test_many_pairs_in_little_room(build: str) -> None:
    array = np.random.default_rng(1).integers(0, 400, 300_000).astype(np.uint32)
    results = []
    for most in (1_000, 10_000_000):
        counter = BUILDS[build].PairCounter(400, 3, most)
        passes, more = 0, True
        while more:
            counter.add(array)
            more = counter.finish_pass()
            passes += 1
        firsts, seconds, counts = counter.pairs()
        results.append(dict(zip(zip(firsts.tolist(), seconds.tolist(), strict=True), counts.tolist(), strict=True)))
        assert (passes > 50) == (most == 1_000)
    pairs = Counter(pairwise(array.tolist()))
    assert results[0] == results[1] == {pair: count for pair, count in pairs.items() if count >= 3}


@pytest.mark.parametrize("build", BUILDS)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**32 - 1)), max_size=40),
    usable=st.integers(0, 7),
    least=st.integers(1, 2**33),
    most=st.integers(1, 20),
)
def test_pairs_that_others_counted_are_added_up(
    build: str, pairs: list[tuple[int, int, int]], usable: int, least: int, most: int
) -> None:
    counter = BUILDS[build].PairCounter(usable, least, most)
    columns = [np.array(column, np.uint32) for column in zip(*pairs, strict=True)] or [np.empty(0, np.uint32)] * 3
    more = True
    while more:
        counter.add_counted(*columns)
        more = counter.finish_pass()
    firsts, seconds, counts = (column.tolist() for column in counter.pairs())
    expected: Counter[tuple[int, int]] = Counter()
    for first, second, count in pairs:
        if max(first, second) < usable:
            expected[first, second] += count
    found = dict(zip(zip(firsts, seconds, strict=True), counts, strict=True))
    assert found == {pair: count for pair, count in expected.items() if count >= least}


def test_pairs_with_columns_of_different_lengths() -> None:
    two, one = np.zeros(2, np.uint32), np.zeros(1, np.uint32)
    for columns in ((two, one, two), (two, two, one)):
        with pytest.raises(ValueError, match="every pair needs two numbers and a count"):
            kernels.PairCounter(1, 1, 1).add_counted(*columns)
