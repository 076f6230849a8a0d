"""LeBLEU equals its plain statement, whose Levenshtein is our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts
from tests.oracles.lebleu import lebleu
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.metrics import LeBleu, metric
from trubleu.metrics import lebleu as lebleu_module
from trubleu.stats import total
from trubleu.text import tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

# Spelt alike, written together or apart, and often the same twice.
forms = st.lists(st.sampled_from(("talo", "talon", "talossa", "auto", "autotalo", "a", "n", "ö", "𝔸")), max_size=6)
texts = forms.map(" ".join) | odd_texts(5) | plain_texts(6)


def plainly(ours: LeBleu, outputs: list[str], references: list[list[str]]) -> float:
    split = tokenizer(ours.tokenizer).tokens
    return lebleu(
        [split(text, ours.lowercase) for text in outputs],
        [[split(text, ours.lowercase) for text in row] for row in references],
        ours.order,
        ours.threshold,
    )


@st.composite
def metrics(draw: st.DrawFn) -> LeBleu:
    return LeBleu(
        draw(st.integers(1, 4)),
        threshold=draw(st.sampled_from((0.4, 0.0, 0.1, 0.2, 0.5, 0.75, 1.0))),
        tokenize=draw(st.sampled_from(("13a", "none", "words"))),
        lowercase=draw(st.booleans()),
    )


@given(corpora(texts, segments=3, references=3), metrics())
@settings(max_examples=120)
def test_equals_the_plain_statement(corpus: Corpus, ours: LeBleu) -> None:
    rows = ours.statistics(corpus.outputs, corpus.references)
    expected = plainly(ours, corpus.outputs, corpus.references)
    assert float(ours.score(total(rows))) == near(expected)
    alone = [plainly(ours, [text], [row]) for text, row in zip(corpus.outputs, corpus.references, strict=True)]
    assert ours.score(rows).tolist() == near(alone)
    assert np.array_equal(ours.statistics(corpus.outputs, [row[::-1] for row in corpus.references]), rows)


@given(corpora(texts, segments=6, references=3), metrics())
@settings(max_examples=30)
def test_threads_and_slices_change_nothing(corpus: Corpus, ours: LeBleu) -> None:
    whole = ours.statistics(corpus.outputs, corpus.references, threads=1)
    assert np.array_equal(ours.statistics(corpus.outputs, corpus.references, threads=3), whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lebleu_module, "SLICE", 2)
        assert np.array_equal(ours.statistics(corpus.outputs, corpus.references), whole)


# More letters than a machine word has bits, in n-grams and in single words.
long_words = st.lists(st.text("ab𝔸", min_size=1, max_size=8).map(lambda part: part * 9), max_size=5).map(" ".join)


@given(corpora(long_words, segments=2, references=2), metrics())
@settings(max_examples=60)
def test_long_words(corpus: Corpus, ours: LeBleu) -> None:
    expected = plainly(ours, corpus.outputs, corpus.references)
    assert float(ours.score(total(ours.statistics(corpus.outputs, corpus.references)))) == near(expected)


def test_letters_that_only_references_have_are_told_apart() -> None:
    # Two members of the pool that differ in such a letter count once each.
    ours = LeBleu(1, tokenize="none")
    assert ours.statistics(["abc abc abc"], [["abx aby"]])[0, 2] == near(4 / 3)
    assert ours.statistics(["abc abc abc"], [["abx abx"]])[0, 2] == near(4 / 3)
    assert ours.statistics(["abc abc abc"], [["abx", "abx"]])[0, 2] == near(2 / 3)


def test_only_equal_ngrams_match_at_the_highest_threshold() -> None:
    ours = LeBleu(2, threshold=1.0, tokenize="none")
    rows = ours.statistics(["the cat sat the"], [["the cats sat", "a cat the"]])
    # the (one in each reference), cat, sat; no pair of words.
    assert rows.tolist() == [[15.0, 12.0, 3.0, 0.0, 4.0, 3.0]]


def test_the_worked_example() -> None:
    """A compound meets its parts: docs/definitions.md."""
    ours = LeBleu(2)
    rows = ours.statistics(["kirja kauppa"], [["kirjakauppa"]])
    assert rows[0].tolist() == near([12, 11, 5 / 11 + 6 / 11, 11 / 12, 2, 1])
    assert float(ours.score(rows[0])) == near(100 * (1 / 2 + 11 / 12) / 2)


def test_a_similarity_that_equals_the_threshold_counts() -> None:
    # 1 − 4/5 is below 0.2 in floating point.
    assert LeBleu(1, threshold=0.2).corpus(["abcde"], [["a1234"]]).score == near(20)


def test_texts_that_would_take_minutes() -> None:
    ours, text = LeBleu(1), "a " * 12_000
    with pytest.raises(DataError, match=r"^segment 2 has an output of 12,000 words and a reference of 12,000"):
        ours.statistics(["a", text], [["a"], ["b", text]])
    assert ours.statistics(["a" * 20_000], [["a" * 20_000]])[0, 2] == 1.0  # one word


def test_texts_without_words() -> None:
    ours = LeBleu()
    assert ours.segments(["", "a", ""], [["a"], [""], [""]]).tolist() == [0.0, 0.0, 0.0]
    assert ours.corpus([], []).score == 0.0


def test_contract_and_names() -> None:
    ours = metric("lebleu-3[threshold=0.5,lowercase=true]")
    assert isinstance(ours, LeBleu)
    assert (ours.name, ours.threshold, ours.uses_weights) == ("lebleu-3", 0.5, False)
    signature = str(ours.signature([["a", "b"]]))
    assert signature.startswith("lebleu-3|nrefs:2|case:lc|tok:13a|threshold:0.5|version:")
    other = ours.with_order(2)
    assert (other.name, ours.name) == ("lebleu-2", "lebleu-3")
    fresh = LeBleu(2, threshold=0.5, lowercase=True)
    assert other.corpus(["A cat"], [["a cats"]]) == fresh.corpus(["A cat"], [["a cats"]])
    assert metric("lebleu").name == "lebleu-4"
    prepared = References.from_lists([["a cat"]])
    assert ours.corpus(["a cat"], prepared).score == 100.0


@pytest.mark.parametrize("shape", [(), (3, 9), (2, 11)])
def test_statistics_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="has no statistics of lebleu-4"):
        LeBleu().score(np.zeros(shape))


def test_progress_tells_every_segment() -> None:
    seen: list[int] = []
    LeBleu(1).statistics(["a"] * 150, [["a"]] * 150, progress=seen.append)
    assert seen == [150]
    LeBleu(1).statistics(["a"] * 300, [["a"]] * 300, progress=seen.append)
    assert seen == [150, 256, 44]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5}, "threshold=1.5 must be a number from 0 to 1"),
        ({"threshold": float("nan")}, "threshold=nan must be a number from 0 to 1"),
        ({"order": 0}, "the order is 0"),
        ({"lowercase": 1}, "lowercase=1 must be true or false"),
        ({"tokenize": "13b"}, "there is no tokenizer '13b'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LeBleu(**options)
