"""The alignment kernel: the same bits in both builds, texts of any length, arguments that do not fit."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tests.oracles.builds import BUILDS

NOTHING = 2**32 - 1


def sliced(
    kernels: Any, outputs: list[str], references: list[list[str]], order: int = 3, credit: str = "counts"
) -> Any:
    options = kernels.Options("none", False, order, credit, "closest", False)
    offsets = np.cumsum([0, *map(len, references)])
    flat = tuple(text for row in references for text in row)
    return kernels.SoftSlice(tuple(outputs), flat, offsets, options, 0, len(outputs))


def ngrams_of(kernels: Any, given: Any, first_only: bool = False) -> list[str]:
    """Return all n-grams that are left over."""
    found: list[str] = given.new_ngrams(kernels.SoftNames(), first_only)
    return found


def plain_scale(kernels: Any, rule: str = "plain") -> Any:
    return kernels.SoftScale("raw", 0.0, 0.001, rule, False)


def random_texts(seed: int, count: int, words: int, longest: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(f"w{n}" for n in random.zipf(1.3, random.integers(0, longest)) % words) for _ in range(count)]


@pytest.mark.parametrize("dimensions", [8, 24, 256])
@pytest.mark.parametrize("composed", [False, True])
def test_both_builds_give_the_same_bits(dimensions: int, composed: bool) -> None:
    texts = random_texts(1, 300, 90, 30)
    outputs, references = texts[:100], [texts[100 + i : 101 + i + i % 4] for i in range(100)]
    weights = np.random.default_rng(2).uniform(-1, 1, sum(map(len, references)))
    found = []
    for kernels in BUILDS.values():
        for threads in (1, 2):
            given = sliced(kernels, outputs, references, credit="products")
            names = given.words() if composed else ngrams_of(kernels, given)
            random = np.random.default_rng(3)
            matrix = random.normal(size=(len(names), dimensions)).astype(np.float32)
            if not composed:
                matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
            rows = random.permutation(len(names)).astype(np.uint32)
            rows[::9] = NOTHING
            scale = kernels.SoftScale("shift", 0.1, 0.001, "nearest", False)
            found.append(given.statistics(matrix, rows, composed, weights, scale, threads))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    assert len(np.unique(found[0][:, 2])) > 50


def test_words_and_ngrams() -> None:
    for kernels in BUILDS.values():
        given = sliced(kernels, ["a b a", "ü \ud800"], [["a b c", "b"], ["ü \ud800"]], order=2)
        assert given.words() == ["a", "b", "c", "ü", "\ud800"]
        # "a b" is matched in one reference, and the other has no bigram.
        assert sorted(ngrams_of(kernels, given)) == ["a", "b a", "b c", "c"]
        assert given.segments_with(np.array([0, 0, 0, 1, 0], np.uint8)).tolist() == [1]
        # With the first reference only; "a" is left over once in the output, "c" in the reference.
        assert sorted(ngrams_of(kernels, given, True)) == ["a", "b a", "b c", "c"]


def test_names_have_rows() -> None:
    for kernels in BUILDS.values():
        names = kernels.SoftNames()
        first = sliced(kernels, ["a b"], [["c d"]], order=1)
        assert sorted(first.new_ngrams(names, False)) == ["a", "b", "c", "d"]
        names.settle(np.array([5, 6, 7, 8], np.uint32))
        second = sliced(kernels, ["d x"], [["c b"]], order=1)
        assert second.new_ngrams(names, False) == ["x"]
        assert len(names) == 5
        names.settle(np.array([9], np.uint32))
        assert second.rows(names).tolist() == [8, 9, 7, 6]
        with pytest.raises(ValueError, match="not that many names"):
            names.settle(np.zeros(6, np.uint32))
        with pytest.raises(IndexError, match="names are others"):
            second.rows(kernels.SoftNames())


def test_words_without_rows() -> None:
    for kernels in BUILDS.values():
        given = sliced(kernels, ["a b c"], [["d e"]], order=2)
        names = ngrams_of(kernels, given)
        rows = np.array([0 if name in ("a", "e", "d e") else NOTHING for name in names], np.uint32)
        assert given.unknown_words(rows) == (5, 3)
        with pytest.raises(ValueError, match="one row is needed"):
            given.unknown_words(rows[1:])


@pytest.mark.parametrize("composed", [False, True])
def test_texts_too_long_to_keep_all_pairs(composed: bool) -> None:
    length, dimensions = 2_200, 16
    for kernels in BUILDS.values():
        left, right = ([f"{side}{i}" for i in range(length)] for side in "lr")
        order = np.random.default_rng(4).permutation(length)
        given = sliced(kernels, [" ".join(left)], [[" ".join(right[i] for i in order)]], order=1)
        names = given.words() if composed else ngrams_of(kernels, given)
        # Each word on the left has the vector of one on the right.
        vectors = np.random.default_rng(5).normal(size=(length, dimensions)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows = np.array([int(name[1:]) for name in names], np.uint32)
        row = given.statistics(vectors, rows, composed, None, plain_scale(kernels), 1)[0]
        assert row[2] == pytest.approx(length, abs=1e-2)
        pairs, values = given.pairs(vectors, rows, composed, None, plain_scale(kernels))
        assert [order[j] for j in pairs[:, 4]] == pairs[:, 3].tolist()
        assert values.min() > 0.9999


def test_the_order_of_words_does_not_matter_to_sums() -> None:
    random = np.random.default_rng(7)
    for kernels in BUILDS.values():
        for _ in range(50):
            vectors = random.normal(size=(6, 64)).astype(np.float32)
            references = [" ".join(words) for words in permutations("def")]
            for output in map(" ".join, permutations("abc")):
                given = sliced(kernels, [output], [references])
                rows = np.array(["abcdef".index(word) for word in given.words()], np.uint32)
                places, values = given.pairs(vectors, rows, True, None, plain_scale(kernels))
                assert len(set(values[places[:, 1] == 3])) == 1


def test_words_that_cancel_each_other_out_have_no_vector() -> None:
    for kernels in BUILDS.values():
        given = sliced(kernels, ["up down"], [["left left"]], order=2)
        assert given.words() == ["up", "down", "left"]
        vectors = np.zeros((3, 8), np.float32)
        vectors[:, 0] = [0.3, -0.3, 1.0]
        row = given.statistics(vectors, np.arange(3, dtype=np.uint32), True, None, plain_scale(kernels), 1)[0]
        assert row[2:4].tolist() == pytest.approx([0.0, 0.001], abs=1e-6)


@pytest.mark.parametrize("kernels", BUILDS.values(), ids=BUILDS)
def test_wrong_arguments(kernels: Any) -> None:
    given = sliced(kernels, ["a"], [["b"]])
    vectors, rows = np.zeros((2, 8), np.float32), np.zeros(len(ngrams_of(kernels, given)), np.uint32)
    scale = plain_scale(kernels)
    given.statistics(vectors, rows, False, None, scale, 1)
    for arguments, error, message in (
        ((vectors[:, :4].copy(), rows, False, None), ValueError, "multiple of 8"),
        ((vectors, rows[:1], False, None), ValueError, "one row is needed"),
        ((vectors, rows[:1], True, None), ValueError, "one row is needed"),
        ((vectors, rows + np.uint32(2), False, None), IndexError, "no such row"),
        ((vectors, rows, False, np.ones(1)), ValueError, "weights"),
    ):
        with pytest.raises(error, match=message):
            given.statistics(*arguments, scale, 1)
        with pytest.raises(error, match=message):
            given.pairs(*arguments, scale)
    with pytest.raises(ValueError, match="one mark"):
        given.segments_with(np.zeros(1, np.uint8))
    for wrong, message in (
        (("cosine", 0.0, 0.0, "plain"), "raw, clamp or shift"),
        (("raw", 0.0, 0.0, "most"), "earn, nearest or max"),
        (("shift", 1.0, 0.0, "plain"), "shift lies"),
        (("shift", np.nan, 0.0, "plain"), "shift lies"),
        (("raw", 0.0, -1.0, "plain"), "unknown lies"),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.SoftScale(*wrong, False)


@pytest.mark.parametrize("kernels", BUILDS.values(), ids=BUILDS)
def test_wrong_texts_and_weights(kernels: Any) -> None:
    vectors, scale = np.zeros((2, 8), np.float32), plain_scale(kernels)
    options = kernels.Options("none", False, 1, "products", "closest", False)
    weighted = kernels.SoftSlice(("a",), ("b",), np.array([0, 1]), options, 0, 1)
    with pytest.raises(ValueError, match="need weights"):
        weighted.statistics(vectors, np.zeros(2, np.uint32), True, None, scale, 1)
    with pytest.raises(ValueError, match="one weight a reference"):
        weighted.statistics(vectors, np.zeros(2, np.uint32), True, np.ones(2), scale, 1)
    for first, last, offsets, error in (
        (0, 2, [0, 1], IndexError),
        (1, 0, [0, 1], IndexError),
        (0, 1, [0, 2], ValueError),
        (0, 1, [1, 0], ValueError),
        (0, 1, [-1, 1], ValueError),
        (0, 0, [], IndexError),
    ):
        with pytest.raises(error):
            kernels.SoftSlice(("a",), ("b",), np.array(offsets, np.int64), options, first, last)
    with pytest.raises(TypeError):
        kernels.SoftSlice((None,), ("b",), np.array([0, 1]), options, 0, 1)
