"""The kernel of training against its restatement in plain Python, bit by bit, and against what draws must look like."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tests.oracles import skipgram
from tests.oracles.builds import BUILDS
from tests.oracles.skipgram import NO_ENTRY, SENTENCE_END
from trubleu.vectors.training.model import join_thresholds, new_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALWAYS = 2**32 - 1


def aligned(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    rows = new_rows(*matrix.shape)
    rows[:] = matrix
    return rows


def random_levels(
    rng: np.random.Generator, sentences: int, listed: Sequence[int], longest: int = 12
) -> list[list[int]]:
    """Made-up numbers of n-grams of 1, 2, … words; some words and most n-grams are not in the vocabulary."""
    levels: list[list[int]] = [[] for _ in listed]
    for _ in range(sentences):
        length = int(rng.integers(1, longest + 1))
        for level, entries in enumerate(listed):
            known = rng.random(length) < (0.9 if level == 0 else 0.4)
            numbers = [int(rng.integers(entries)) if here else NO_ENTRY for here in known]
            if level:
                numbers[max(length - level, 0) :] = [NO_ENTRY] * min(level, length)
            levels[level] += [*numbers, SENTENCE_END]
    return levels


def trained_both_ways(build: str, **choice: Any) -> tuple[Any, Any, tuple[int, int, float]]:
    """Train two epochs by the kernel and by the restatement; return matrices of both and what the kernel tells."""
    kernels = BUILDS[build]
    rng = np.random.default_rng(choice.get("seed", 5))
    listed = choice.get("listed", (30,))
    levels = choice.get("levels") or random_levels(rng, choice.get("sentences", 25), listed)
    dimensions, words_out = choice.get("dimensions", 20), choice.get("words_out", False)
    entries, targets = sum(listed), listed[0] if words_out else sum(listed)
    window, negative = choice.get("window", 3), choice.get("negative", 5)
    noise = rng.random(targets) + 0.01
    keep = rng.integers(2**31, 2**32, entries, dtype=np.uint32)
    keep[::3] = ALWAYS
    join = rng.integers(2**31, 2**32, entries, dtype=np.uint32)
    seed, stream = choice.get("seed", 5), choice.get("stream", 2)
    vectors = new_rows(entries, dimensions)
    kernels.fill_first_vectors(vectors, dimensions, seed, stream)
    outputs = np.zeros((targets, vectors.shape[1]), np.float32)
    outputs[:, :dimensions] = rng.normal(0, choice.get("spread", 0.5), (targets, dimensions))
    outputs = aligned(outputs)
    vectors *= choice.get("scale", 40)
    plain = skipgram.SkipGram(
        vectors, outputs, noise.tolist(), keep.tolist(), join.tolist(), window, negative, words_out, seed, stream
    )
    model = kernels.SkipGram(vectors, outputs, noise, keep, join, dimensions, window, negative, words_out, seed, stream)
    arrays = [np.array(level, np.uint32) for level in levels]
    lengths = list(range(1, len(levels) + 1))
    blocks, told = kernels.training_blocks(len(levels[0])), (0, 0, 0.0)
    for epoch in range(2):
        done = model.train(arrays, lengths, list(listed), epoch, 0, blocks, 0.3, 0.05, 1)
        told = told[0] + done[0], told[1] + done[1], told[2] + done[2]
        plain.train(levels, lengths, listed, epoch, 0.3, 0.05)
    return (vectors, outputs), plain, told


def assert_same(build: str, **choice: Any) -> None:
    (vectors, outputs), plain, (units, pairs, loss) = trained_both_ways(build, **choice)
    assert pairs > 0
    np.testing.assert_array_equal(vectors, plain.vectors)
    np.testing.assert_array_equal(outputs, plain.outputs)
    assert (units, pairs) == (plain.units, plain.pairs)
    assert loss == pytest.approx(plain.loss, rel=1e-6)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("dimensions", [1, 8, 20, 33])
def test_one_order_equals_its_restatement_bit_by_bit(build: str, dimensions: int) -> None:
    assert_same(build, dimensions=dimensions)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("negative", [1, 2, 3, 4, 5, 6, 7, 8, 20])
def test_any_number_of_negatives(build: str, negative: int) -> None:
    # So few entries that negatives often repeat, and often are the target.
    assert_same(build, negative=negative, listed=(4,), sentences=6)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("words_out", [False, True])
@pytest.mark.parametrize("listed", [(20, 15), (20, 10, 5), (10, 5, 5, 5)])
def test_words_and_ngrams_together(build: str, words_out: bool, listed: tuple[int, ...]) -> None:
    assert_same(build, words_out=words_out, listed=listed)


@pytest.mark.parametrize("build", BUILDS)
def test_products_beyond_the_sigmoid(build: str) -> None:
    assert_same(build, spread=20.0, sentences=8)


@pytest.mark.parametrize("build", BUILDS)
def test_blocks_end_with_sentences_unless_one_is_endless(build: str) -> None:
    rng = np.random.default_rng(3)
    endless = rng.integers(0, 3000, 40_000)
    endless[rng.random(40_000) < 0.985] = NO_ENTRY  # few units, so that the restatement is done in time
    levels = [[*endless.tolist(), SENTENCE_END, 1, 2, SENTENCE_END, 5, 1, SENTENCE_END]]
    assert_same(build, levels=levels, listed=(3000,), dimensions=8)


@pytest.mark.parametrize("build", BUILDS)
def test_first_vectors(build: str) -> None:
    matrix = np.full((6, 16), np.nan, np.float32)
    BUILDS[build].fill_first_vectors(matrix, 11, 9, 3)
    np.testing.assert_array_equal(matrix, skipgram.first_vectors(6, 11, 9, 3))
    assert np.abs(matrix).max() <= 0.5 / 11


def test_the_sigmoid_is_close() -> None:
    places = np.linspace(-7.99, 7.99, 5001, dtype=np.float32)
    exact = 1 / (1 + np.exp(-places.astype(np.float64)))
    assert np.abs([skipgram.sigmoid(x) for x in places] - exact).max() < 4e-6


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=40))
def test_alias_tables_hold_the_weights(weights: list[float]) -> None:
    shares = [0.0] * len(weights)
    for number, (threshold, other) in enumerate(skipgram.alias_table(weights)):
        shares[number] += threshold / 2**32
        shares[other] += 1 - threshold / 2**32
    np.testing.assert_allclose(np.array(shares) / len(weights), np.array(weights) / sum(weights), rtol=1e-5, atol=1e-8)


def segmenter(build: str, counts: Sequence[int], beta: float, seed: int = 1) -> Any:
    rows = new_rows(len(counts), 8)
    rows.fill(0)
    ones = np.ones(len(counts))
    keep = np.full(len(counts), ALWAYS, np.uint32)
    join = join_thresholds(np.array(counts, np.uint64), beta)
    return BUILDS[build].SkipGram(rows, aligned(rows), ones, keep, join, 8, 5, 5, False, seed, 0)


@pytest.mark.parametrize("build", BUILDS)
def test_ngrams_are_joined_with_the_probability_of_their_frequency(build: str) -> None:
    # Sentences of two words, each one listed bigram: it becomes one entry with probability f^-β, whatever else is.
    frequencies = [50, 300, 2_000, 10_000]
    rng = np.random.default_rng(0)
    bigrams = rng.permutation(np.repeat(np.arange(4), frequencies))
    words = np.full(3 * len(bigrams), SENTENCE_END, np.uint32)
    words[0::3], words[1::3] = 0, 1
    pairs = np.full(3 * len(bigrams), SENTENCE_END, np.uint32)
    pairs[0::3], pairs[1::3] = bigrams, NO_ENTRY
    model = segmenter(build, [1, 1, *frequencies], beta=0.125)
    blocks = BUILDS[build].training_blocks(len(words))
    epochs = 12
    joined = np.zeros(4)
    for epoch in range(epochs):
        entries, _ = model.segment([words, pairs], [1, 2], [2, 4], epoch, 0, blocks)
        joined += np.bincount(entries, minlength=6)[2:]
    expected = np.array([frequency**-0.125 for frequency in frequencies])
    trials = epochs * np.array(frequencies)
    statistic = (((joined - trials * expected) ** 2) / (trials * expected * (1 - expected))).sum()
    assert scipy_stats.chi2.sf(statistic, 4) > 1e-3
    assert math.isclose(expected[0], 0.613, abs_tol=5e-4)


@pytest.mark.parametrize("build", BUILDS)
def test_candidates_that_overlap_are_taken_in_random_order(build: str) -> None:
    # a b c d with the bigrams ab, bc, cd, all of them candidates: the first taken decides. ab first or cd first leaves
    # room for the other one; bc first leaves a and d.
    sentences = 30_000
    words = np.tile(np.array([0, 1, 2, 3, SENTENCE_END], np.uint32), sentences)
    pairs = np.tile(np.array([0, 1, 2, NO_ENTRY, SENTENCE_END], np.uint32), sentences)
    model = segmenter(build, [1] * 7, beta=0.0, seed=4)
    blocks = BUILDS[build].training_blocks(len(words))
    entries, places = model.segment([words, pairs], [1, 2], [4, 3], 0, 0, blocks)
    cuts = Counter[tuple[int, ...]]()
    for sentence in np.split(entries, np.flatnonzero(np.diff(places // 5)) + 1):
        cuts[tuple(sentence.tolist())] += 1
    assert cuts.keys() == {(4, 6), (0, 5, 3)}
    assert scipy_stats.binomtest(cuts[0, 5, 3], sentences, 1 / 3).pvalue > 1e-3


@pytest.mark.parametrize("build", BUILDS)
def test_each_epoch_draws_anew_and_again_the_same(build: str) -> None:
    rng = np.random.default_rng(8)
    levels = [np.array(level, np.uint32) for level in random_levels(rng, 3000, (10, 8, 6))]
    model = segmenter(build, [100] * 24, beta=0.125)
    blocks = BUILDS[build].training_blocks(len(levels[0]))
    assert blocks > 1
    first, again, other = (model.segment(levels, [1, 2, 3], [10, 8, 6], epoch, 0, blocks) for epoch in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first[0].tolist() != other[0].tolist()


@pytest.mark.parametrize("build", BUILDS)
def test_more_threads_do_the_same_amount_of_work(build: str) -> None:
    rng = np.random.default_rng(2)
    levels = [np.array(level, np.uint32) for level in random_levels(rng, 20_000, (200,))]
    blocks = BUILDS[build].training_blocks(len(levels[0]))
    done = []
    for threads in (1, 3):
        model = segmenter(build, [100] * 200, beta=0.125)
        done.append(model.train(levels, [1], [200], 0, 0, blocks, 0.025, 0.0, threads)[:2])
    assert done[0] == done[1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"noise": np.ones(2)}, "every entry"),
        ({"noise": np.array([1.0, 0.0, 1.0])}, "above 0"),
        ({"keep": np.ones(2, np.uint32)}, "every entry"),
        ({"negative": 0}, "negatives"),
        ({"negative": 64}, "negatives"),
        ({"window": 0}, "window"),
        ({"inputs": np.zeros((3, 9), np.float32)}, "aligned"),
        ({"outputs": new_rows(3, 16)}, "aligned"),
    ],
)
def test_wrong_arguments(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "inputs": new_rows(3, 8),
        "outputs": new_rows(3, 8),
        "noise": np.ones(3),
        "keep": np.ones(3, np.uint32),
        "join": np.ones(3, np.uint32),
        "dimensions": 8,
        "window": 5,
        "negative": 5,
        "words_out": False,
        "seed": 1,
        "stream": 1,
    }
    with pytest.raises(ValueError, match=message):
        BUILDS["baseline"].SkipGram(**given | wrong)


def test_levels_that_do_not_fit() -> None:
    model = segmenter("baseline", [1, 1, 1], 0.0)
    short, long = np.array([0, SENTENCE_END], np.uint32), np.array([0, 0, SENTENCE_END], np.uint32)
    for levels, lengths, listed in [
        ([], [], []),
        ([short], [1, 2], [3]),
        ([short, long], [1, 2], [2, 1]),
        ([short], [1], [4]),
    ]:
        with pytest.raises(ValueError):
            model.train(levels, lengths, listed, 0, 0, 1, 0.1, 0.0, 1)
    with pytest.raises(IndexError):
        model.train([short], [1], [3], 0, 0, 2, 0.1, 0.0, 1)
