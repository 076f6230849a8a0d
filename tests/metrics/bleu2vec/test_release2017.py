"""``definition=release2017`` does what the released program does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import bleu2vec as oracle
from tests.oracles.bleu2vec_worlds import Nothing, World
from trubleu.errors import DataError, UsageError
from trubleu.metrics import Bleu2Vec
from trubleu.metrics.bleu2vec import bleu2vec as soft_release

texts = st.lists(st.sampled_from("abcde"), max_size=7).map(" ".join)
spoken = st.lists(st.sampled_from("abcde"), min_size=1, max_size=7).map(" ".join)


def released(vectors: Any) -> Bleu2Vec:
    return Bleu2Vec(vectors=vectors, definition="release2017", tokenize="none")


@given(
    segments=st.lists(st.tuples(texts, st.lists(spoken, min_size=1, max_size=3)), min_size=1, max_size=3),
    seed=st.integers(0, 30),
)
@settings(deadline=None)
def test_scores(segments: list[tuple[str, list[str]]], seed: int) -> None:
    world = World(seed)
    found = released(world).corpus([a for a, _ in segments], [b for _, b in segments]).score
    tokens = [(a.split(), [text.split() for text in b]) for a, b in segments]
    assert found == pytest.approx(oracle.release(tokens, world.cosine), abs=1e-9)


VECTORS = (
    ["good", "fine", "bad", "day", "good day", "fine day", "a good day", "a fine day"],
    np.array([[1, 0], [0.8, 0.6], [-1, 0], [0, 1], [1, 0], [0.6, 0.8], [0.28, 0.96], [1, 0]]),
)


def test_by_hand() -> None:
    # a and day are there, good goes with fine (0.8); "good day" with "fine day" (0.6), "a good" has no vector (0.001);
    # the trigrams have the cosine 0.28.
    p = (2.8 / 3, 0.601 / 2, 0.28)
    expected = math.prod(value**weight for value, weight in zip(p, (0.33, 0.34, 0.33), strict=True))
    assert released(VECTORS).corpus(["a good day"], [["a fine day"]]).score == pytest.approx(100 * expected, abs=1e-5)


def test_a_label_that_is_aligned_takes_its_duplicates_along() -> None:
    # good is left over twice and fine once: one pair. As in the paper the result is the same ...
    rows = released(VECTORS).statistics(["good good"], [["fine day"]])
    paper = Bleu2Vec(vectors=VECTORS, tokenize="none").statistics(["good good"], [["fine day"]])
    # ... but here the second good has gone, and day with it stays alone.
    assert rows[0, 2] == pytest.approx(0.8)
    assert paper[0, 2] == pytest.approx(0.8 + 0.0)
    rows = released(VECTORS).statistics(["good good"], [["fine fine"]])
    paper = Bleu2Vec(vectors=VECTORS, tokenize="none").statistics(["good good"], [["fine fine"]])
    assert rows[0, 2] == pytest.approx(0.8)
    assert paper[0, 2] == pytest.approx(1.6)


def test_only_the_first_reference_is_aligned_but_all_set_the_length() -> None:
    metric = released(VECTORS)
    row = metric.statistics(["good day"], [["fine day of days", "good day"]])[0]
    assert row[:3].tolist() == pytest.approx([2, 2, 1.8])
    assert metric.corpus(["good day"], [["fine day of days", "good day"]]).brevity_penalty == 1


def test_orders_from_the_first_without_matches_on_are_left_out() -> None:
    metric = released(VECTORS)
    # One word: there are no bigrams, and the one precision there is keeps its weight of .33.
    assert metric.corpus(["good"], [["fine"]]).score == pytest.approx(100 * 0.8**0.33, abs=1e-5)
    assert metric.corpus(["good"], [["day"]]).score == 0  # p = 0
    # Matches below 0 leave nothing but the brevity penalty.
    vectors = (["good", "evil"], np.array([[1, 0], [-0.6, 0.8]]))
    metric = released(vectors)
    with pytest.warns(UserWarning, match="no n-grams of 2 and 3 words"):
        assert metric.corpus(["good"], [["evil"]]).score == 100
    with pytest.warns(UserWarning, match="no n-grams of 2 and 3 words"):
        assert metric.corpus(["good"], [["evil evil"]]).score == pytest.approx(100 * math.exp(-1))


@pytest.mark.parametrize("dimensions", [2, 50, 300])
def test_opposite_vectors_are_not_aligned(dimensions: int) -> None:
    # Their cosine is -1 but for rounding, and the program looks for something above that.
    for seed in range(20):
        vector = np.random.default_rng(seed).normal(size=dimensions)
        metric = released((["good", "evil"], np.array([vector, -vector])))
        with pytest.warns(UserWarning, match="no n-grams of 2 and 3 words"):
            assert metric.statistics(["good"], [["evil"]])[0, 2] == 0
    almost = np.array([[1.0, 0.0], [-0.9999, math.sqrt(1 - 0.9999**2)]])
    with pytest.warns(UserWarning, match="no n-grams of 2 and 3 words"):
        row = released((["good", "evil"], almost)).statistics(["good"], [["evil"]])[0]
    assert row[2] == pytest.approx(-0.9999, abs=1e-6)


def test_what_it_settles() -> None:
    for options in (
        {"order": 2},
        {"smoothing": "exp"},
        {"effective_order": True},
        {"oov": 0},
        {"recall": True},
        {"negative": "error"},
        {"reference_length": "shortest"},
        {"similarity": "clamp"},
    ):
        (option,) = options
        with pytest.raises(UsageError, match=f"definition=release2017 settles {option}; leave it out"):
            Bleu2Vec(**{"vectors": Nothing(), "definition": "release2017", **options})  # type: ignore[arg-type]
    metric = Bleu2Vec(vectors=Nothing(), definition="release2017")
    assert metric.with_order(2) is None
    same = metric.with_order(3)
    assert same is not None
    assert same.signature() == metric.signature()
    assert str(metric.signature()).rpartition("|")[0] == (
        "bleu2vec-3|case:mixed|tok:trubleu.metrics.bleu2vec.bleu2vec.word_tokenize|vec:nothing|def:release2017"
    )


def test_nltk_and_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk, "word_tokenize", lambda text: [*text.split(), "."])
    assert soft_release.word_tokenize("good day") == ["good", "day", "."]
    row = Bleu2Vec(vectors=VECTORS, definition="release2017").statistics(["good day"], [["a day"]])[0]
    assert row[:2].tolist() == [3, 3]

    def missing(text: str) -> list[str]:
        raise LookupError("Resource punkt_tab not found")

    monkeypatch.setattr(nltk, "word_tokenize", missing)
    with pytest.raises(DataError, match=r"python -m nltk.downloader punkt_tab, or name another tokenizer"):
        Bleu2Vec(vectors=VECTORS, definition="release2017").corpus(["good day"], [["a day"]])
