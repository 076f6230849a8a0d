"""METEOR's alignment is the best of all alignments, each of which the oracle looks at."""

from __future__ import annotations

from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.meteor import best
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

LONGEST = 16
"""Runs are told apart up to this length."""

# Few words, so that each has several places: the first letter is the stem.
WORDS = ("a1", "a2", "a3", "b1", "b2", "c1")
words = st.lists(st.sampled_from(WORDS), max_size=6)


class Alignment(NamedTuple):
    """What the kernel found."""

    exact: int
    stem: int
    synonym: int
    chunks: int
    tried: int


def align(
    output: Sequence[str],
    reference: Sequence[str],
    stem: Callable[[str], str] | None = None,
    meanings: Callable[[str], Collection[str]] | None = None,
    **limits: int,
) -> Alignment:
    """Align words, which the kernel takes as numbers."""
    different = sorted({*output, *reference})
    stems = begins = flat = None
    if stem is not None:
        stems = numbered(map(stem, different))
    if meanings is not None:
        found = [sorted(meanings(word)) for word in different]
        begins = np.cumsum([0, *map(len, found)], dtype=np.uint64)
        flat = numbered(chain.from_iterable(found))
    ours, theirs = (np.array([different.index(word) for word in text], dtype=np.uint32) for text in (output, reference))
    kernel: Any = kernels.meteor_align
    return Alignment(*kernel(ours, theirs, stems, begins, flat, **limits))


def numbered(things: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(thing, len(numbers)) for thing in things], dtype=np.uint32)


def tiling(
    output: Sequence[str],
    reference: Sequence[str],
    stem: Callable[[str], str] | None = None,
    meanings: Callable[[str], Collection[str]] | None = None,
) -> Alignment:
    """Align the longest runs first and look no further."""
    return align(output, reference, stem, meanings, narrow=0, wide=0)


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
    assert align(output, reference, stem, known, narrow=narrow)[:4] == best(output, reference, stem, known)


@given(st.lists(st.sampled_from("ab"), max_size=7), st.lists(st.sampled_from("abc"), max_size=7))
@settings(max_examples=60)
def test_is_the_best_of_all_when_words_repeat(output: list[str], reference: list[str]) -> None:
    assert align(output, reference)[:4] == best(output, reference, None, None)


@given(words, words, stems, meanings)
@settings(max_examples=100)
def test_too_many_to_keep_gives_an_alignment_that_is_no_better(
    output: list[str],
    reference: list[str],
    stem: Callable[[str], str] | None,
    meaning: dict[str, Collection[str]] | None,
) -> None:
    known = None if meaning is None else meaning.__getitem__
    found = align(output, reference, stem, known, narrow=1, wide=1)
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
    greedy = tiling(output, reference, stem, known)
    found = align(output, reference, stem, known, narrow=0, few=1, steps=steps)
    exact, stemmed, most, runs = best(output, reference, stem, known)
    assert greedy[:2] == found[:2] == (exact, stemmed)
    assert (greedy.synonym, -greedy.chunks) <= (found.synonym, -found.chunks) <= (most, -runs)


def test_the_longest_runs_come_first() -> None:
    text = list("abcdefg")
    assert tiling(text, ["a", "b", *text[2:6], "x", "b", "c", "g"])[:4] == (7, 0, 0, 2)  # a to f; g alone
    long = [str(number) for number in range(3 * LONGEST)]
    assert tiling(long, ["x", *long])[:4] == (len(long), 0, 0, 1)


@pytest.mark.parametrize("stem", [None, first_letter])
def test_the_work_is_bounded(stem: Callable[[str], str] | None) -> None:
    random, length, narrow = Random(4), 24, 16
    words = [*WORDS, "d1", "e1"]
    pairs = [(random.choices(words, k=length), random.choices(words, k=length)) for _ in range(10)]
    chunks = []
    for steps in (1, 20_000):
        found = [align(output, reference, stem, steps=steps) for output, reference in pairs]
        # At each word one partial alignment may be followed, whatever it costs; before, a few are.
        assert max(each.tried for each in found) <= steps + length * (length + narrow * length)
        chunks.append(sum(each.chunks for each in found))
    assert chunks[1] < chunks[0]


@pytest.mark.parametrize("length", [63, 64, 65, 128, 129, 512, 513, 4096, 4097])
def test_texts_of_all_widths(length: int) -> None:
    """References are held in words of 64 bits; an alignment of parts that changed places has that many chunks."""
    text = [str(number) for number in range(length)]
    assert align(text, text)[:4] == (length, 0, 0, 1)
    third = length // 3
    moved = [*text[2 * third :], *text[third : 2 * third], *text[:third]]
    assert align(text, moved)[:4] == (length, 0, 0, 3)


def test_texts_of_hundreds_of_words_are_aligned() -> None:
    text = ("the cat sat on the mat and the dog lay on the rug by the door of the house " * 20).split()
    assert align(text, text)[:4] == (380, 0, 0, 1)
    halves = [*text[190:], "then", *text[:190]]
    assert align(text, halves)[:4] == (380, 0, 0, 2)


def test_a_synonym_leaves_the_reference_to_a_later_stem() -> None:
    related = {"b1": "x", "a1": "x", "c1": "y", "a2": "y", "a3": ""}.__getitem__
    found = align(["b1", "c1", "a3"], ["a1", "a2"], first_letter, related)
    assert found[:4] == (0, 1, 1, 2)


def test_a_stem_may_go_to_a_word_that_has_equals() -> None:
    assert align(["a1", "a1", "c1", "a3"], ["a1", "a2"], stem=first_letter)[:4] == (1, 1, 0, 1)


def test_matches_of_an_earlier_stage_come_first() -> None:
    # Both could be matched by stem and meaning; equal words leave one of each over, which are strangers.
    related = {"a1": "x", "b1": "x", "c1": ""}.__getitem__
    assert align(["a1", "b1"], ["a1", "c1"], stem=first_letter, meanings=related)[:4] == (1, 0, 0, 1)
