"""CIDEr and CIDEr-D equal their plain statement, whose numbers are those of the usual program."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts
from tests.oracles.corpus_weights import cider
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, MissingExtraError, UsageError
from trubleu.metrics import Cider, CiderD, metric
from trubleu.metrics.meteor import lexicon
from trubleu.metrics.meteor.lexicon import Stemmer
from trubleu.scoring import Sampling, score_systems
from trubleu.stats import bootstrap_interval
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from random import Random

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

REFERENCES = [["red bus", "big red bus"], ["red car"]]
OUTPUTS = ["bus bus stop", "red bike"]


@given(
    corpora(odd_texts(8) | plain_texts(12), smallest=2),
    st.integers(1, 5),
    st.sampled_from(("13a", "none", "intl", "char", "words")),
    st.booleans(),
    st.sampled_from((None, 6.0, 1.5)),
)
@settings(max_examples=80)
def test_equals_the_statement(corpus: Corpus, order: int, tokenize: str, lowercase: bool, sigma: float | None) -> None:
    split = tokenizer(tokenize)
    outputs = [split.tokens(text, lowercase) for text in corpus.outputs]
    references = [[split.tokens(text, lowercase) for text in row] for row in corpus.references]
    expected = [
        cider(output, row, references, order=order, sigma=sigma)
        for output, row in zip(outputs, references, strict=True)
    ]
    options: dict[str, Any] = {"tokenize": tokenize, "lowercase": lowercase}
    ours = Cider(order, **options) if sigma is None else CiderD(order, sigma=sigma, **options)
    assert ours.segments(corpus.outputs, corpus.references).tolist() == near(expected)
    result = ours.corpus(corpus.outputs, corpus.references)
    assert result.score == near(sum(expected) / len(expected))
    assert 0 <= result.score <= 10 + 1e-9


def test_figures_of_the_usual_program() -> None:
    # Made once with pycocoevalcap 1.2, whose "CIDEr" is CIDEr-D; it gives the mean and each segment.
    references = [
        ["a man is riding a brown horse", "a man rides a horse on the beach", "someone on a horse"],
        ["two dogs play in the snow", "dogs run through the snow"],
        ["a red bus on the street", "a bus parked at the side of a street", "a red bus"],
    ]
    outputs = ["a man riding a horse a horse", "two dogs in the snow", "the red car on a street"]
    figures = [1.6577761911156084, 3.2229397240222992, 1.2131931734022898]
    assert CiderD(tokenize="none").segments(outputs, references).tolist() == near(figures)
    assert CiderD(tokenize="none").corpus(outputs, references).score == near(sum(figures) / 3)


def test_by_hand() -> None:
    # "red" is in both segments and counts nothing; every other word is in one at most and counts log 2.
    plain = Cider(1).segments(OUTPUTS, REFERENCES)
    assert plain.tolist() == near([10 * (2 / math.sqrt(5) + 2 / math.sqrt(10)) / 2, 0])
    assert f"{plain[0]:.2f}" == "7.63"
    clipped = CiderD(1).segments(OUTPUTS, REFERENCES)
    assert clipped.tolist() == near([10 * (math.exp(-1 / 72) / math.sqrt(5) + 1 / math.sqrt(10)) / 2, 0])
    assert f"{clipped[0]:.2f}" == "3.79"
    assert f"{Cider(1).corpus(OUTPUTS, REFERENCES).score:.2f}" == "3.82"
    assert f"{CiderD(1).corpus(OUTPUTS, REFERENCES).score:.2f}" == "1.89"


def test_the_only_reference_scores_10_and_short_ones_less() -> None:
    references = [["one two three four"], ["five six"], ["seven eight nine ten"]]
    outputs = [row[0] for row in references]
    for ours in (Cider(), CiderD()):
        assert ours.segments(outputs, references).tolist() == [10, 5, 10]  # two words have no trigrams
        assert ours.segments(["x y"] * 3, references).tolist() == [0, 0, 0]


def test_repeating_words_and_other_lengths_pay_in_cider_only() -> None:
    references = [["a bus"], ["a car"]]
    good, padded = ["a bus", ""], ["bus bus bus bus bus bus bus bus", ""]
    assert Cider(1).corpus(padded, references).score == Cider(1).corpus(good, references).score == 5
    assert CiderD(1).corpus(padded, references).score < 0.1 * CiderD(1).corpus(good, references).score


@pytest.mark.parametrize("segments", [3, 9170, 19143])
def test_what_is_in_every_segment_counts_nothing(segments: int) -> None:
    # log(9170) of one library and of another may differ in the last digit.
    references = [["the"]] * segments
    for ours in (Cider(1), CiderD(1)):
        assert ours.segments(["the"] * segments, references).tolist() == [0] * segments
        assert ours.learned(References.from_lists(references)).segments(["the", "the cat"], [["the"], ["a"]]).sum() == 0


@given(corpora(odd_texts(8) | plain_texts(8), smallest=2, references=6), st.randoms(use_true_random=False))
def test_the_order_of_references_changes_no_digit(corpus: Corpus, random: Random) -> None:
    shuffled = [random.sample(row, len(row)) for row in corpus.references]
    for ours in (Cider(2), CiderD(2)):
        rows = ours.statistics(corpus.outputs, corpus.references)
        assert ours.statistics(corpus.outputs, shuffled).tobytes() == rows.tobytes()


def test_one_segment_is_refused_unless_there_is_a_corpus() -> None:
    message = "cider-4 weighs an n-gram by the share of segments that have it, and there is one segment only; score"
    with pytest.raises(DataError, match=message):
        Cider().corpus(["a b"], [["a b", "c d"]])
    assert Cider(1, corpus=References.from_lists([["x"], ["y"]])).corpus(["a b"], [["a b"]]).score == near(10)
    message = "and what it learns from has one segment only; let it learn from more"
    one = References.from_lists([["a b", "c d"]])
    for taught in (Cider(corpus=one), Cider().learned(one)):
        with pytest.raises(DataError, match=message):
            taught.corpus(["a b", "c"], [["a b"], ["c"]])
    assert Cider().corpus([], []).score == 0


def test_intervals_come_from_the_mean_of_segments() -> None:
    rng = np.random.default_rng(5)
    texts = [[" ".join(rng.choice(list("abcdefgh"), size=6)) for _ in range(40)] for _ in range(3)]
    references = References.from_streams(texts[:2])
    ours = CiderD()
    sampling = Sampling(interval=True, test="bootstrap", resamples=100)
    report = score_systems({"a": texts[2], "b": texts[0]}, references, {"c": ours}, sampling=sampling)
    row = report.score("a", "c")
    rows = ours.statistics(texts[2], references)
    assert rows[:, 1].tolist() == [1] * 40
    interval = bootstrap_interval(rows, ours.score, resamples=100, seed=12345)
    assert (row.low, row.high) == (interval.low, interval.high)
    assert row.score == near(ours.segments(texts[2], references).mean())


def test_stems() -> None:
    words = ["cats", "ponies", "running", "happily", "relational", "hopefulness", "adjustable", "bus"]
    peer = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    stem = Stemmer("porter", "a test")
    assert [stem(word) for word in words] == [peer.stem(word) for word in words]
    references = [["the cats are running"], ["a dog"]]
    outputs = ["the cat are run", "a dog"]
    stemmed = [["the cat are run"], ["a dog"]]
    assert Cider(stem=True).segments(outputs, references).tolist() == Cider().segments(outputs, stemmed).tolist()
    assert Cider(stem=True).corpus(outputs, references).score > Cider().corpus(outputs, references).score


def test_stems_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    lexicon._snowball.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'trubleu\[meteor\]'"):
        metric("cider[stem=true]")


def test_names_orders_and_signatures() -> None:
    assert metric("cider").name == "cider-4"
    assert metric("cider-d").name == "cider-d-4"
    assert metric("cider-d-2[sigma=3]").signature().to_dict() == {
        "metric": "cider-d-2",
        "case": "mixed",
        "tok": "13a",
        "stem": "none",
        "sigma": "3",
        "idf": "refs",
        "version": metric("cider").signature().to_dict()["version"],
    }
    assert "sigma" not in metric("cider").signature().to_dict()
    assert "porter" in metric("cider[stem=true]").signature().to_dict()["stem"]
    other = CiderD(4, sigma=3).with_order(2)
    assert other.signature() == CiderD(2, sigma=3).signature()
    assert other.corpus(OUTPUTS, REFERENCES) == CiderD(2, sigma=3).corpus(OUTPUTS, REFERENCES)


@pytest.mark.parametrize("sigma", [0, -1, math.nan, math.inf, True, "6"])
def test_sigma_is_a_number_above_0(sigma: Any) -> None:
    with pytest.raises(UsageError, match=r"sigma=.* must be a number above 0"):
        CiderD(sigma=sigma)


def test_other_options_are_checked() -> None:
    with pytest.raises(UsageError, match=r"cider\[sigma=2\] has no option sigma"):
        metric("cider[sigma=2]")
    with pytest.raises(UsageError, match="stem='yes' must be true or false"):
        Cider(stem="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(), (3, 5), (2, 0)])
def test_statistics_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="has no statistics of cider-d-4"):
        CiderD().score(np.zeros(shape))
