"""N-grams of a corpus are counted as a plain count does, on any number of threads and from any parts of it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS
from tests.oracles.corpora import odd_texts
from tests.oracles.statement import ngrams
from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPTIONS = kernels.Options("none", False, 1, "counts", "closest", False)

Segments = list[list[str]]
texts = st.lists(st.sampled_from("abcd"), max_size=12).map(" ".join) | odd_texts(6)
corpora = st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=6)


def word_texts(segments: Segments, threads: int = 1) -> tuple[kernels.WordTexts, NDArray[np.int64]]:
    flat = tuple(text for row in segments for text in row)
    offsets = np.cumsum([0, *map(len, segments)], dtype=np.int64)
    return kernels.WordTexts(flat, OPTIONS, 0, len(flat), None, threads), offsets


def counted(
    segments: Segments, orders: int, by_segment: bool, *, drop_rare: bool = False, threads: int = 1
) -> kernels.NgramCounts:
    counts = kernels.NgramCounts(orders, by_segment)
    counts.add(*word_texts(segments, threads), None, drop_rare, threads)
    return counts


def plain(counts: kernels.NgramCounts) -> dict[tuple[str, ...], int]:
    """Return the count of each n-gram that occurs."""
    heap, begins, word_counts, edges, edge_counts = counts.arrays()
    words = [heap[i:j].tobytes().decode("utf-8", "surrogatepass") for i, j in pairwise(begins)]
    level: list[tuple[str, ...]] = [(word,) for word in words]
    found = dict(zip(level, word_counts.tolist(), strict=True))
    for keys, often in zip(edges, edge_counts, strict=True):
        level = [(*level[key >> 32], words[key & 0xFFFFFFFF]) for key in keys.tolist()]
        assert len(set(level)) == len(level)
        found |= dict(zip(level, often.tolist(), strict=True))
    return found


def expected(segments: Segments, orders: int, by_segment: bool) -> Counter[tuple[str, ...]]:
    total: Counter[tuple[str, ...]] = Counter()
    for row in segments:
        grams: Counter[tuple[str, ...]] = Counter()
        for text in row:
            for n in range(1, orders + 1):
                grams += ngrams(text.split(), n)
        total += Counter(grams.keys()) if by_segment else grams
    return total


@given(corpora, st.integers(1, 5), st.booleans())
@settings(max_examples=150)
def test_counts_equal_a_plain_count(segments: Segments, orders: int, by_segment: bool) -> None:
    whole = expected(segments, orders, by_segment)
    counts = counted(segments, orders, by_segment)
    assert plain(counts) == whole
    assert counts.size == len(whole)
    assert counts.tokens == sum(len(text.split()) for row in segments for text in row)
    frequent = {gram: count for gram, count in whole.items() if count > 1}
    dropped = plain(counted(segments, orders, by_segment, drop_rare=True))
    assert {gram: count for gram, count in dropped.items() if count > 1} == frequent
    assert all(len(gram) == 1 for gram, count in dropped.items() if count == 1)  # words are kept
    for words in ({gram[0] for gram in whole}, {"x", "never"}):
        often = counts.counts_of(tuple(words)).tolist()
        assert often == [whole[word,] for word in words]


@given(corpora, corpora, st.integers(1, 4), st.booleans())
@settings(max_examples=100)
def test_parts_add_up(one: Segments, other: Segments, orders: int, by_segment: bool) -> None:
    whole = expected([*one, *other], orders, by_segment)
    added = counted(one, orders, by_segment)
    added.add(*word_texts(other), None, False, 2)
    merged, part = counted(one, orders, by_segment), counted(other, orders, by_segment)
    merged.merge(*part.arrays(), part.tokens, part.segments, 1)
    for counts in (added, merged):
        assert plain(counts) == whole
        assert counts.segments == len(one) + len(other)
    kept = kernels.NgramCounts(orders, by_segment)
    kept.merge(*merged.arrays(), merged.tokens, merged.segments, 2)
    assert plain(kept) == {gram: count for gram, count in whole.items() if count > 1}


@cache
def many(seed: int = 5) -> Segments:
    """Return more texts than one block of them has."""
    random = np.random.default_rng(seed)
    return [
        [" ".join(map(str, (random.zipf(1.3, random.integers(0, 20)) % 3000).tolist())) for _ in range(3)]
        for _ in range(1500)
    ]


@pytest.mark.parametrize("by_segment", [False, True])
@pytest.mark.parametrize("drop_rare", [False, True])
def test_no_bit_depends_on_threads_or_cpu(by_segment: bool, drop_rare: bool) -> None:
    flat = tuple(text for row in many() for text in row)
    offsets = np.cumsum([0, *map(len, many())], dtype=np.int64)
    outputs = tuple(row[0] for row in many(6))
    found = []
    for threads, build in product((1, 3, 40), BUILDS.values()):
        options = build.Options("none", False, 1, "counts", "closest", False)
        references = build.WordTexts(flat, options, 0, len(flat), None, threads)
        counts = build.NgramCounts(4, by_segment)
        counts.add(references, offsets, None, drop_rare, threads)
        said = build.WordTexts(outputs, options, 0, len(outputs), references, threads)
        given = (counts, said, references, offsets)
        norms = build.cider_norms(counts, references, offsets, None, 4, threads)
        rows = build.nist(*given, None, 0, 4, threads)
        cider = build.cider(*given, None, 0, norms, 6.0, threads)
        arrays = counts.arrays()
        bits = [array.tobytes() for array in (*arrays[:3], *arrays[3], *arrays[4], norms, rows, cider)]
        found.append((references.words(), bits))
    assert all(each == found[0] for each in found)


def test_stems_make_classes_of_words() -> None:
    references, offsets = word_texts([["a1 b a2", "a1 b"], ["a2 c"]])
    said = kernels.WordTexts(("a2 b a1", "a3 c"), OPTIONS, 0, 2, references, 1)
    stems = {"a1": "a", "a2": "a", "a3": "a"}
    of_references = tuple(stems.get(word, word) for word in references.words())
    of_all = (*of_references, *(stems.get(word, word) for word in said.words()))
    counts = kernels.NgramCounts(2, True)
    counts.add(references, offsets, of_references, False, 1)
    assert plain(counts) == expected([["a b a", "a b"], ["a c"]], 2, True)
    norms = kernels.cider_norms(counts, references, offsets, of_references, 2, 1)
    scores = kernels.cider(counts, said, references, offsets, of_all, 0, norms, 0.0, 1)
    folded, _ = word_texts([["a b a", "a b"], ["a c"]])
    outputs = kernels.WordTexts(("a b a", "a c"), OPTIONS, 0, 2, folded, 1)
    again = kernels.cider_norms(counts, folded, offsets, None, 2, 1)
    assert again.tobytes() == norms.tobytes()
    assert kernels.cider(counts, outputs, folded, offsets, None, 0, again, 0.0, 1).tobytes() == scores.tobytes()


def test_wrong_arguments_are_refused() -> None:
    references, offsets = word_texts([["a b", "c"], ["b"]])
    others, _ = word_texts([["a b", "c"], ["b"]])
    said = kernels.WordTexts(("a", "b"), OPTIONS, 0, 2, references, 1)
    counts = kernels.NgramCounts(2, True)
    with pytest.raises(ValueError, match="offsets do not fit"):
        counts.add(references, offsets[:-1], None, False, 1)
    with pytest.raises(ValueError, match="offsets do not fit"):
        counts.add(references, np.array([0, 3, 2, 3]), None, False, 1)
    with pytest.raises(ValueError, match="one stem is needed for each word"):
        counts.add(references, offsets, ("a",), False, 1)
    with pytest.raises(ValueError, match="a word must be one"):
        counts.add(references, offsets, ("a", "", "c"), False, 1)
    counts.add(references, offsets, None, False, 1)
    norms = kernels.cider_norms(counts, references, offsets, None, 2, 1)
    with pytest.raises(ValueError, match="n-grams of this length were not counted"):
        kernels.nist(counts, said, references, offsets, None, 0, 3, 1)
    with pytest.raises(ValueError, match="beside other references"):
        kernels.nist(counts, said, others, offsets, None, 0, 2, 1)
    with pytest.raises(IndexError, match="more outputs than segments"):
        kernels.nist(counts, said, references, offsets, None, 1, 2, 1)
    with pytest.raises(ValueError, match="the lengths of all references"):
        kernels.cider(counts, said, references, offsets, None, 0, norms[:1], 0.0, 1)
    heap, begins, words, edges, often = counts.arrays()
    wrong: list[tuple[Any, ...]] = [
        (heap[:-1], begins, words, edges, often),
        (heap, begins[::-1].copy(), words, edges, often),
        (heap, begins, words, edges, []),
        (heap, begins, words, [edges[0][:-1]], often),
        (heap, begins, words, [edges[0] + 2**40], often),
        (heap, begins, words, [edges[0] + 99], often),
    ]
    merge: Any = kernels.NgramCounts.merge
    for arrays in wrong:
        with pytest.raises(ValueError, match=r"do not fit each other|parts that are not there"):
            merge(kernels.NgramCounts(2, True), *arrays, 4, 2, 1)
    for orders in (0, 10):
        with pytest.raises(ValueError, match="between 1 and 9"):
            kernels.NgramCounts(orders, True)
