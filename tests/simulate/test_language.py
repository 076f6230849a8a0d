"""The made-up language: spellings, frequencies, topics, draws."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trubleu.errors import UsageError
from trubleu.simulate import Language
from trubleu.simulate.triples import FUNCTION_WORDS, AliasTable

DRAWS = 200_000


def bits(count: int, seed: int = 1) -> np.ndarray:
    return np.random.PCG64(seed).random_raw(count)


# Draws


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30).filter(any), st.integers(0, 2**32))
def test_an_alias_table_holds_the_distribution_it_was_given(weights: list[int], seed: int) -> None:
    # Exactly: of all pairs of a column and a threshold, how many lead to which column.
    table = AliasTable(weights)
    kept = np.minimum(table._kept / 2.0**32, 1)
    shares = np.zeros(len(weights))
    for column, share in enumerate(kept):
        shares[column] += share / len(weights)
        shares[table._other[column]] += (1 - share) / len(weights)
    np.testing.assert_allclose(shares, np.array(weights) / sum(weights), atol=1e-9)
    assert all(weights[column] > 0 for column in table.draw(bits(1000, seed)))


def test_draws_follow_the_weights_of_their_rows() -> None:
    weights = np.array([[5.0, 1.0, 0.0, 2.0], [0.0, 1.0, 1.0, 0.0]])
    table = AliasTable(weights)
    rows = np.arange(DRAWS) % 2
    drawn = table.draw(bits(DRAWS), rows)
    for row in (0, 1):
        seen = np.bincount(drawn[rows == row], minlength=4)
        there = weights[row] > 0
        assert not seen[~there].any()
        expected = weights[row, there] / weights[row].sum() * seen.sum()
        assert stats.chisquare(seen[there], expected).pvalue > 0.001


# Words


def test_words_are_all_different_and_can_be_pronounced() -> None:
    language = Language(words=50_000, seed=3)
    words = [language.spelled(rank) for rank in range(language.words)]
    assert len({word.lower() for word in words}) == language.words
    assert all(re.fullmatch(r"([A-Za-z][a-z]?[aeiou]{1,2}){1,3}[a-z]{0,2}", word) for word in words)
    assert all(word.islower() for word in words[:FUNCTION_WORDS])
    assert 0.05 < np.mean([word[0].isupper() for word in words]) < 0.08


def test_frequent_words_are_short() -> None:
    language = Language(words=20_000)
    lengths = np.array([len(language.spelled(rank)) for rank in range(language.words)])
    assert lengths[:2000].mean() + 1.5 < lengths[-2000:].mean()
    assert language.cells.shape == (20_000, 16)
    assert not language.cells[:, -1].any()


def test_words_follow_from_the_seed_alone() -> None:
    one, same, other = (Language(words=words, seed=seed) for words, seed in ((3000, 1), (4000, 1), (3000, 2)))
    assert np.array_equal(one.cells, same.cells[:3000])
    assert np.array_equal(one.phrases, Language(words=3000, seed=1).phrases)
    assert not np.array_equal(one.cells, other.cells)
    assert not np.array_equal(one.phrases, other.phrases)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5])
def test_words_and_words_of_topics_have_zipfs_frequencies(exponent: float) -> None:
    language = Language(words=1000, exponent=exponent)
    expected = np.arange(1, 1001) ** -exponent
    expected /= expected.sum()
    seen = np.bincount(language.word_table.draw(bits(DRAWS)), minlength=1000)
    assert stats.chisquare(seen, expected * DRAWS).pvalue > 0.001
    # A topic at random and then a word of it, as often as words of topics are drawn outright.
    topics = language.topic_table.draw(bits(DRAWS, 2))
    words = language.draw_topic_words(bits(DRAWS, 3), topics)
    assert np.array_equal(language.topic_of(words), topics)
    seen = np.bincount(words, minlength=1000)
    assert not seen[:FUNCTION_WORDS].any()
    expected = expected[FUNCTION_WORDS:] / expected[FUNCTION_WORDS:].sum()
    assert stats.chisquare(seen[FUNCTION_WORDS:], expected * DRAWS).pvalue > 0.001


def test_phrases_have_two_to_five_words() -> None:
    phrases = Language(words=1000).phrases
    sizes = (phrases >= 0).sum(axis=1)
    assert set(sizes.tolist()) == {2, 3, 4, 5}
    assert all((row[:size] >= 0).all() for row, size in zip(phrases, sizes, strict=True))
    assert phrases.max() < 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 999}, "words is 999, but must be between 1,000 and 10,000,000"),
        ({"words": 10_000_001}, "words is 10000001, but must be between 1,000 and 10,000,000"),
        ({"exponent": -0.1}, "exponent is -0.1, but must be between 0 and 3"),
        ({"exponent": float("nan")}, "exponent is nan, but must be between 0 and 3"),
        ({"seed": -1}, "language is -1, but must not be negative"),
    ],
)
def test_options_out_of_bounds(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Language(**options)  # type: ignore[arg-type]
