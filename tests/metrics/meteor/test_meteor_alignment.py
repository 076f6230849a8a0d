"""The alignment is the best of all alignments, each of which the oracle looks at."""

from __future__ import annotations

from dataclasses import astuple
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.meteor import best
from trubleu.metrics.meteor import alignment
from trubleu.metrics.meteor.alignment import LONGEST, align, tiling

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

# Few words, so that each has several places: the first letter is the stem.
WORDS = ("a1", "a2", "a3", "b1", "b2", "c1")
words = st.lists(st.sampled_from(WORDS), max_size=6)


def first_letter(word: str) -> str:
    return word[0]


stems = st.sampled_from((None, first_letter))
meanings = st.none() | st.fixed_dictionaries(
    {word: st.frozensets(st.sampled_from("xyz"), max_size=2) for word in WORDS}
)


@given(words, words, stems, meanings, st.sampled_from((1, 2, 16)))
@settings(max_examples=500)
def test_is_the_best_of_all(
    output: list[str],
    reference: list[str],
    stem: Callable[[str], str] | None,
    meaning: dict[str, Collection[str]] | None,
    narrow: int,
) -> None:
    known = None if meaning is None else meaning.__getitem__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "NARROW", narrow)
        found = align(output, reference, stem=stem, meanings=known)
    assert astuple(found) == best(output, reference, stem, known)


@given(st.lists(st.sampled_from("ab"), max_size=7), st.lists(st.sampled_from("abc"), max_size=7))
@settings(max_examples=60)
def test_is_the_best_of_all_when_words_repeat(output: list[str], reference: list[str]) -> None:
    assert astuple(align(output, reference)) == best(output, reference, None, None)


@given(words, words, stems, meanings)
@settings(max_examples=100)
def test_too_many_to_keep_gives_an_alignment_that_is_no_better(
    output: list[str],
    reference: list[str],
    stem: Callable[[str], str] | None,
    meaning: dict[str, Collection[str]] | None,
) -> None:
    known = None if meaning is None else meaning.__getitem__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "NARROW", 1)
        found = align(output, reference, stem=stem, meanings=known, wide=1)
    exact, stemmed, synonyms, runs = best(output, reference, stem, known)
    # The first two stages are counted, not searched for.
    assert (found.exact, found.stem) == (exact, stemmed)
    assert (found.synonym, -found.chunks) <= (synonyms, -runs)
    assert found.chunks <= found.exact + found.stem + found.synonym


@given(words, words, stems, meanings, st.integers(0, 30))
@settings(max_examples=150)
def test_few_steps_give_what_the_longest_runs_give_at_least(
    output: list[str],
    reference: list[str],
    stem: Callable[[str], str] | None,
    meaning: dict[str, Collection[str]] | None,
    steps: int,
) -> None:
    known = None if meaning is None else meaning.__getitem__
    synonyms, links = tiling(alignment._Types(output, reference, stem, known))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "NARROW", 0)
        patch.setattr(alignment, "FEW", 1)
        found = align(output, reference, stem=stem, meanings=known, steps=steps)
    exact, stemmed, most, runs = best(output, reference, stem, known)
    assert (found.exact, found.stem) == (exact, stemmed)
    greedy = (synonyms, links - synonyms - exact - stemmed)
    assert greedy <= (found.synonym, -found.chunks) <= (most, -runs)


def test_the_longest_runs_come_first() -> None:
    text = list("abcdefg")
    types = alignment._Types(text, ["a", "b", *text[2:6], "x", "b", "c", "g"], None, None)
    assert tiling(types) == (0, 5)  # a to f; g alone
    long = [str(number) for number in range(3 * LONGEST)]
    types = alignment._Types(long, ["x", *long], None, None)
    assert tiling(types) == (0, len(long) - 1)


@pytest.mark.parametrize("stem", [None, first_letter])
def test_the_work_is_bounded(stem: Callable[[str], str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    original = alignment._Search._expand

    def counting(self: Any, *given: Any) -> int:
        tried.append(original(self, *given))
        return tried[-1]

    monkeypatch.setattr(alignment._Search, "_expand", counting)
    random, length = Random(4), 24
    words = [*WORDS, "d1", "e1"]
    pairs = [(random.choices(words, k=length), random.choices(words, k=length)) for _ in range(10)]
    chunks = []
    for steps in (1, 20_000):
        chunks.append(0)
        for output, reference in pairs:
            tried.clear()
            chunks[-1] += align(output, reference, stem=stem, steps=steps).chunks
            # At each word one partial alignment may be followed, whatever it costs.
            assert sum(tried) <= steps + length * (length + alignment.NARROW)
    assert chunks[1] < chunks[0]


def test_texts_of_hundreds_of_words_are_aligned() -> None:
    text = ("the cat sat on the mat and the dog lay on the rug by the door of the house " * 20).split()
    assert astuple(align(text, text)) == (380, 0, 0, 1)
    halves = [*text[190:], "then", *text[:190]]
    assert astuple(align(text, halves)) == (380, 0, 0, 2)


def test_a_synonym_leaves_the_reference_to_a_later_stem() -> None:
    related = {"b1": "x", "a1": "x", "c1": "y", "a2": "y", "a3": ""}.__getitem__
    found = align(["b1", "c1", "a3"], ["a1", "a2"], stem=first_letter, meanings=related)
    assert astuple(found) == (0, 1, 1, 2)


def test_a_stem_may_go_to_a_word_that_has_equals() -> None:
    assert astuple(align(["a1", "a1", "c1", "a3"], ["a1", "a2"], stem=first_letter)) == (1, 1, 0, 1)


def test_matches_of_an_earlier_stage_come_first() -> None:
    # Both could be matched by stem and meaning; equal words leave one of each over, which are strangers.
    related = {"a1": "x", "b1": "x", "c1": ""}.__getitem__
    assert astuple(align(["a1", "b1"], ["a1", "c1"], stem=first_letter, meanings=related)) == (1, 0, 0, 1)
