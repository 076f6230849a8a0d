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
