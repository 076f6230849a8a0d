"""The plain statement of trubleu gives what can be worked out by hand, and keeps what its definition promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from tests.oracles.corpora import ODD_WORDS, any_weights, odd_texts, plain_texts
from tests.oracles.statement import ngrams
from tests.oracles.tolerances import near
from tests.oracles.trubleu import CAP, Options, Pair, Vector, compare, frequencies, segment, tokens

# Lengths 1, 2, 2, 4 and 3. cos(cat, dog) = .6; kitten has the direction of cat; all others are 0.
VECTORS: dict[str, Vector] = {
    "the": np.array([0.0, 0.0, 1.0, 0.0]),
    "cat": np.array([2.0, 0.0, 0.0, 0.0]),
    "dog": np.array([1.2, 1.6, 0.0, 0.0]),
    "kitten": np.array([4.0, 0.0, 0.0, 0.0]),
    "sat": np.array([0.0, 0.0, 0.0, 3.0]),
}
vectors = VECTORS.get
NEAR = (0.6 - 0.15) / 0.85  # cat and dog, which is 9/17

# Of the words of random texts some have no vector, or one of zeros, and cosines of both signs are common.
DRAWN = np.random.default_rng(12345).normal(size=(len(ODD_WORDS), 3))
TABLE = {token: DRAWN[i] for i, word in enumerate(ODD_WORDS) for token in tokens(word, Options()) if i % 4}
TABLE["b"] = np.zeros(3)

texts = odd_texts(6) | plain_texts(7)
spoken = texts.map(lambda text: text if tokens(text, Options()) else f"{text} cat")
"""Texts with words."""

KNOWN = {word: vector for word, vector in TABLE.items() if vector.any()}
KNOWN_WORDS = [word for word in ODD_WORDS if all(token in KNOWN for token in tokens(word, Options()))]
known_texts = st.lists(st.sampled_from(KNOWN_WORDS), max_size=7).map(" ".join)
"""Texts of words with a vector."""
# How often words are in references does not have to fit the texts.
COUNTED = frequencies([["a b", "the cat"], ["a a"], ["The 3.5 cat"], ["a"]])
options = st.builds(
    Options,
    order=st.integers(1, 4),
    beta=st.sampled_from((2, 1, 3, 0.5)),
    shift=st.sampled_from((0.15, 0.0, 0.3, 0.65)),
    importance=st.sampled_from(("vector", "corpus", "none")),
    characters=st.booleans(),
    frequencies=st.just(COUNTED),
    split=st.just(Options().split),
    lowercase=st.just(True),
)


def about(expected: float) -> Any:
    """Return something that equals a number but for the rounding of cosines to 32 bits."""
    return pytest.approx(expected, rel=1e-6)


def test_a_near_miss_by_hand() -> None:
    found = compare("the cat", "the dog", vectors)
    # Words: "the" is equal, cat and dog have 9/17. They weigh 1 and 2 on both sides: P = R = (1 + 2·9/17)/3 = 35/51.
    first = found.orders[1]
    assert first.pairs == (Pair(0, 0, exact=True, similarity=1.0), Pair(1, 1, exact=False, similarity=about(NEAR)))
    assert (first.weights, first.reference_weights) == ((1.0, 2.0), (1.0, 2.0))
    assert (first.precision, first.recall, first.f) == (about(35 / 51), about(35 / 51), about(35 / 51))
    # Pairs of words: c = ((1 + 1)·1 + (2 + 2)·.6)/6 = 11/15, similarity (11/15 − .15)/.85 = 35/51; both weigh 3.
    assert found.orders[2].weights == (3.0,)
    assert found.orders[2].f == about(35 / 51)
    # Neither has three words.
    assert list(found.orders) == [1, 2]
    # "thecat" and "thedog" share 3 of 6, 2 of 5, 1 of 4, then none: (1/2 + 2/5 + 1/4)/6 = 23/120.
    assert found.characters == near(23 / 120)
    expected = (23 / 120) ** 0.25 * (35 / 51) ** 0.75  # .4989
    assert found.score == about(expected)
    result = segment("the cat", ["the dog"], vectors)
    assert (result.score, result.earned, result.cut) == (about(100 * expected), about(expected), 0.0)


def test_unknown_words_by_hand() -> None:
    found = compare("cat zzz", "the cat", vectors)
    # zzz weighs as much as the known words of its text on average, 2, and meets nothing; nor does "the".
    # P = 2/4, R = 2/3, F_2 = 5·(1/2)·(2/3)/(4·(1/2) + 2/3) = 5/8. Place by place "cat zzz" has nothing of "the cat".
    first, second = found.orders.values()
    assert first.pairs == (Pair(0, 1, exact=True, similarity=1.0),)
    assert (first.weights, first.precision, first.recall, first.f) == ((2.0, 2.0), 0.5, near(2 / 3), near(5 / 8))
    assert (second.pairs, second.f) == ((), 0.0)
    # "catzzz" and "thecat" share c, a, t, ca, at, cat: 23/120 as above. F_2 counts for .001.
    assert found.score == near((23 / 120) ** 0.25 * (5 / 8 * 0.001) ** (3 / 8))
    # The mean is over occurrences: (1 + 1 + 2)/3. Without known words it is 1.
    assert compare("the the cat zzz", "x", vectors).orders[1].weights == (1.0, 1.0, 2.0, near(4 / 3))
    assert compare("zzz yyy", "the", vectors).orders[1].weights == (1.0, 1.0)
    # An unknown word that is the same word has cosine 1: c = ((2 + 2) + (2 + 2)·.6)/8 = .8.
    assert compare("zzz cat", "zzz dog", vectors).orders[2].pairs[0].similarity == about(0.65 / 0.85)
    # It weighs 2 beside cat and 3 beside sat, where places have to be the same: c = (2 + 3)/(2 + 3 + 2 + 3) = .5.
    assert compare("zzz cat", "zzz sat", vectors).orders[2].pairs[0].similarity == about(0.35 / 0.85)
    # A vector of zeros is none.
    assert compare("o cat", "cat", {**VECTORS, "o": np.zeros(4)}.get).orders[1].weights == (2.0, 2.0)


def test_only_equal_words_have_similarity_one() -> None:
    # cat weighs 2, kitten 4, cosine 1, which is capped.
    expected = (CAP - 0.15) / 0.85
    found = compare("cat", "kitten", vectors).orders[1]
    assert found.pairs == (Pair(0, 0, exact=False, similarity=about(expected)),)
    assert found.f == about(expected)
    assert (found.weights, found.reference_weights) == ((2.0,), (4.0,))


def test_equal_ones_first_then_the_most_similar_pair_then_the_leftmost() -> None:
    # The second dog has only cat left, as the first has taken the reference's only dog.
    found = compare("dog dog", "cat dog", vectors).orders[1].pairs
    assert found == (Pair(0, 1, exact=True, similarity=1.0), Pair(1, 0, exact=False, similarity=about(NEAR)))
    # kitten is nearer to cat than dog is, although it stands behind it; nothing is left for dog.
    found = compare("dog kitten", "cat", vectors).orders[1].pairs
    assert found == (Pair(1, 0, exact=False, similarity=about((CAP - 0.15) / 0.85)),)
    # Ties: the output's first dog gets the reference's first cat.
    found = compare("dog dog", "cat cat cat", vectors).orders[1].pairs
    assert [pair[:2] for pair in found] == [(0, 0), (1, 1)]
    # A cosine not above the shift aligns nothing.
    assert compare("dog", "cat", vectors, Options(shift=0.7)).orders[1].pairs == ()


def test_words_that_are_moved_cost_in_higher_orders_only() -> None:
    found = compare("sat the cat", "the cat sat", vectors).orders
    assert found[1].f == 1.0
    # "the cat" is equal and weighs 3; "sat the" and "cat sat" (4 and 5) have no word at the same place. P = 3/7,
    # R = 3/8, F_2 = 5·(3/7)·(3/8)/(4·(3/7) + 3/8) = (45/56)/(117/56) = 5/13.
    assert (found[2].weights, found[2].reference_weights) == ((4.0, 3.0), (3.0, 5.0))
    assert found[2].f == near(5 / 13)
    assert found[3].f == 0.0


def test_importance() -> None:
    rows = [["the cat", "The cat sat"], ["the dog"], ["the the"]]
    held = frequencies(rows)
    assert (held.segments, held.words) == (3, {"the": 3, "cat": 1, "sat": 1, "dog": 1})
    by_corpus = Options(importance="corpus", frequencies=held)
    found = compare("the cat zzz", "the dog", vectors, by_corpus)
    # ln((3 + 1)/3), ln(4/1), and as much for a word in no reference, vector or not.
    common, rare = math.log(4 / 3), math.log(4)
    assert found.orders[1].weights == near((common, rare, rare))
    # P = (common + rare·9/17)/(common + 2·rare), and c of "the cat" and "the dog" = (common + .6·rare)/(common + rare).
    assert found.orders[1].precision == about((common + rare * NEAR) / (common + 2 * rare))
    c = (common + 0.6 * rare) / (common + rare)
    assert found.orders[2].pairs[0] == Pair(0, 0, exact=False, similarity=about((c - 0.15) / 0.85))
    # All alike: P = (1 + 9/17)/2, c = .8.
    found = compare("the cat", "the dog", vectors, Options(importance="none"))
    assert found.orders[1].precision == about((1 + NEAR) / 2)
    assert found.orders[2].f == about(0.65 / 0.85)


def test_shares_of_the_orders() -> None:
    f_c, f_n = 23 / 120, 35 / 51
    # Orders that are left out leave the characters' share alone.
    assert compare("the cat", "the dog", vectors, Options(order=2)).score == about(f_c ** (1 / 3) * f_n ** (2 / 3))
    assert compare("the cat", "the dog", vectors, Options(order=1)).score == about(f_c**0.5 * f_n**0.5)
    plain = compare("the cat", "the dog", vectors, Options(characters=False))
    assert (plain.score, plain.characters) == (about(f_n), None)


def test_several_references_by_hand() -> None:
    s = compare("the cat", "the dog", vectors).score  # .4989
    # p·s = .5 and s, of weights .5 and 1: near to one .5/1, near to all (.5 + s)/1.5.
    result = segment("the cat", ["the cat", "the dog"], vectors, [0.5, 1.0])
    assert (result.earned, result.cut) == (near((0.5 + (0.5 + s) / 1.5) / 2), 0.0)
    assert result.score == near(100 * result.earned)
    # A weight of 0 is neither good nor bad.
    assert segment("the cat", ["the cat", "the dog", "cat"], vectors, [0.5, 1.0, 0.0])[:3] == result[:3]
    # Equal to a bad one: cut = .5·(1 − s)/(1 − s).
    result = segment("the cat", ["the dog", "the cat"], vectors, [1.0, -0.5])
    assert (result.earned, result.cut, result.score) == (s, 0.5, near(50 * s))
    # Closer to the bad one than to the good one by some.
    other = compare("the cat", "sat", vectors).score
    assert other < s
    result = segment("the cat", ["sat", "the dog"], vectors, [0.3, -0.8])
    assert result.cut == near(0.8 * (s - other) / (1 - other))
    assert result.score == near(100 * other * (1 - result.cut))
    # Closer to the good one, or equal to it: no cut, even if the bad one is equal but for case.
    assert segment("the cat", ["the dog", "sat"], vectors, [1.0, -1.0]).cut == 0.0
    assert segment("the cat", ["the cat", "The cat"], vectors, [1.0, -1.0]).score == 100.0


def test_equal_references_are_one() -> None:
    once = segment("the cat", ["the dog", "cat"], vectors, [0.5, 1.0])
    assert segment("the cat", ["the dog", "cat", "the dog"], vectors, [0.5, 1.0, -1.0]) == once
    assert segment("the cat", ["the dog", "cat", "the dog"], vectors, [-1.0, 1.0, 0.5]) == once
    # They are equal as they were written: these are two.
    assert len(segment("the cat", ["the dog", "The dog"], vectors).references) == 2


def test_no_tokens() -> None:
    for output, reference in (("", ""), ("", "cat"), ("cat", ""), (" \n", "cat")):
        assert segment(output, [reference], vectors).score == 0.0
    # s of an empty reference is 0, without the floors, and counts in the mean.
    assert segment("cat", ["cat", ""], vectors).score == 75.0


def test_wrong_weights() -> None:
    for weights in ([-1.0], [0.0]):
        with pytest.raises(ValueError, match="above 0"):
            segment("cat", ["cat"], vectors, weights)
    for weight in (1.5, -1.5, math.nan):
        with pytest.raises(ValueError, match="not in"):
            segment("cat", ["cat", "dog"], vectors, [1.0, weight])


@given(spoken, options)
def test_equal_texts_score_100(text: str, chosen: Options) -> None:
    assert segment(text, [text], TABLE.get, None, chosen).score == 100.0
    assert segment(text, [f" {text.lower()}\n"], TABLE.get, [0.3], chosen).score == 100.0


@given(spoken, st.lists(texts, min_size=1, max_size=3), options)
def test_equal_to_a_bad_reference_scores_0(text: str, good: list[str], chosen: Options) -> None:
    good = [other if compare(text, other, TABLE.get, chosen).score < 1 else f"{other} other" for other in good]
    weights = [1.0] * len(good)
    result = segment(text, [*good, text], TABLE.get, [*weights, -1.0], chosen)
    assert (result.cut, result.score) == (1.0, 0.0)


@given(texts, st.lists(st.tuples(texts, any_weights), max_size=4), texts, options)
def test_the_range(text: str, others: list[tuple[str, float]], good: str, chosen: Options) -> None:
    rows = [(good, 1.0), *others]
    result = segment(text, [other for other, _ in rows], TABLE.get, [weight for _, weight in rows], chosen)
    assert 0 <= result.score <= 100
    assert 0 <= result.cut <= 1
    assert 0 <= result.earned <= 1
    for reference in result.references:
        for order in reference.comparison.orders.values():
            assert 0 <= order.f <= 1
            exact = [pair for pair in order.pairs if pair.exact]
            assert all(pair.similarity == 1 for pair in exact)
            assert all(0 < pair.similarity < 1 for pair in order.pairs if not pair.exact)
            complete = len(exact) == len(order.weights) == len(order.reference_weights)
            assert (order.f == 1) == complete


@given(spoken, spoken)
def test_without_vectors_words_are_counted(text: str, other: str) -> None:
    chosen = Options(order=1, importance="none", characters=False)
    mine, theirs = tokens(text, chosen), tokens(other, chosen)
    found = compare(text, other, lambda _: None, chosen).orders[1]
    shared = (ngrams(mine, 1) & ngrams(theirs, 1)).total()
    assert (found.precision, found.recall) == near((shared / len(mine), shared / len(theirs)))


@given(spoken, spoken, st.integers(1, 3))
def test_characters_are_chrf(text: str, other: str, beta: int) -> None:
    found = compare(text, other, TABLE.get, Options(beta=beta)).characters
    assert found == near(CHRF(beta=beta).sentence_score(text.lower(), [other.lower()]).score / 100)


@given(known_texts, st.lists(known_texts, min_size=1, max_size=3), st.sampled_from((0.25, 2.0, 1024.0)))
def test_the_unit_of_length_does_not_matter(text: str, references: list[str], factor: float) -> None:
    # Where all words are known; a word is otherwise 1 in a text without known ones, whatever the others are.
    assert all(word in KNOWN for each in (text, *references) for word in tokens(each, Options()))
    longer = {word: factor * vector for word, vector in KNOWN.items()}
    assert segment(text, references, longer.get).score == near(segment(text, references, KNOWN.get).score)
