"""TER's edits and shifts, segment by segment, are sacreBLEU's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

from tests.oracles.corpora import odd_texts, streams
from trubleu.metrics import Ter

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

OPTIONS = ("normalized", "no_punct", "asian_support", "case_sensitive")
MIXED = "aB'.,-01 &;\n<>?!()\"'s\u3042\u30a2\u4e00\u31f0\u3002\uff0e\uff61\u0301\ud800Σİ"


def same_rows(outputs: list[str], references: list[list[str]], **options: Any) -> None:
    theirs = TER(**options)._extract_corpus_statistics(outputs, streams(references))
    for threads in (1, 3):
        assert Ter(**options).statistics(outputs, references, threads=threads).tolist() == theirs


def edited(words: list[int], generator: random.Random, vocabulary: int) -> list[int]:
    """Return words of which some runs were moved and some words replaced or dropped."""
    words = list(words)
    for _ in range(generator.randrange(6)):
        start, length = generator.randrange(len(words) + 1), generator.randrange(1, 13)
        run = words[start : start + length]
        del words[start : start + length]
        place = generator.randrange(len(words) + 1)
        words[place:place] = run
    for _ in range(generator.randrange(5)):
        place = generator.randrange(len(words) + 1)
        words[place : place + generator.randrange(2)] = [generator.randrange(vocabulary)] * generator.randrange(2)
    return words


@pytest.mark.parametrize("seed", range(4))
def test_words_that_moved(seed: int) -> None:
    generator = random.Random(seed)
    outputs, references = [], []
    for _ in range(25):
        vocabulary, longest = generator.choice([2, 4, 10, 200]), generator.choice([4, 12, 40, 90])
        reference = [generator.randrange(vocabulary) for _ in range(generator.randrange(longest))]
        output = edited(reference, generator, vocabulary)
        others = [edited(output, generator, vocabulary) for _ in range(generator.randrange(2))]
        outputs.append(" ".join(map(str, output)))
        references.append([" ".join(map(str, words)) for words in (reference, *others)])
    same_rows(outputs, references)


@pytest.mark.parametrize(("words", "reference"), [(1, 60), (2, 130), (60, 1), (130, 2), (3, 151), (40, 400), (5, 251)])
def test_lengths_so_far_apart_that_the_beam_widens(words: int, reference: int) -> None:
    generator = random.Random(words)
    made = [" ".join(str(generator.randrange(9)) for _ in range(size)) for size in (words, reference)]
    same_rows([made[0]], [[made[1]]])


def test_more_shifts_than_are_tried() -> None:
    generator = random.Random(1)
    words = [str(generator.randrange(3)) for _ in range(80)]
    same_rows([" ".join(words), " ".join(reversed(words))], [[" ".join(reversed(words))], [" ".join(words)]])


texts = st.text(MIXED, max_size=30) | odd_texts(8)


@given(st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=4), st.data())
@settings(max_examples=150)
def test_any_text_with_any_options(segments: list[tuple[str, list[str]]], data: st.DataObject) -> None:
    options: dict[str, Any] = {name: data.draw(st.booleans()) for name in OPTIONS}
    same_rows([output for output, _ in segments], [references for _, references in segments], **options)


@given(st.lists(st.integers(0, 6), max_size=30), st.lists(st.integers(0, 6), max_size=30))
@settings(max_examples=150)
def test_few_words_often(output: list[int], reference: list[int]) -> None:
    same_rows([" ".join(map(str, output))], [[" ".join(map(str, reference))]])
