"""METEOR's score and contract: its formula, several references, NLTK where its greedy alignment is a best one."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.meteor_score import align_words, single_meteor_score

from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts
from tests.oracles.meteor import NoWordNet, Stems, best, chunks, score
from tests.oracles.tolerances import near
from trubleu.errors import DataError, MissingExtraError, UsageError
from trubleu.metrics import Meteor, metric
from trubleu.metrics.meteor import lexicon
from trubleu.stats import total
from trubleu.text import tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

WORDS = ("the", "a", "cat", "cats", "sleep", "sleeps", "sleeping", "slept", "on", ".")
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | plain_texts(5) | odd_texts(4)


parameters = st.fixed_dictionaries(
    {"alpha": st.sampled_from((0.9, 0.5, 0.0, 1.0)), "beta": st.sampled_from((3.0, 1.0, 0.0)), "gamma": st.floats(0, 1)}
)


@given(corpora(texts, segments=3, references=3), parameters, st.booleans())
@settings(max_examples=150)
def test_equals_the_plain_statement(corpus: Corpus, options: dict[str, Any], stemmed: bool) -> None:
    ours = Meteor(**options, stemmer="porter" if stemmed else "none")
    split = tokenizer("13a").tokens
    rows = ours.statistics(corpus.outputs, corpus.references)
    sums = np.zeros(4)
    for output, references, row in zip(corpus.outputs, corpus.references, rows, strict=True):
        words = split(output, True)
        found = []
        for reference in references:
            others = split(reference, True)
            exact, stems, _, runs = best(words, others, ours._stem, None)
            found.append((exact + stems, len(words), len(others), runs))
        values = [score(*counts, **options) for counts in found]
        mine = (int(row[:3].sum()), int(row[3]), int(row[4]), int(row[5]))
        assert mine in found
        assert float(ours.score(row)) == near(max(values))
        sums += mine
    assert float(ours.score(total(rows))) == near(score(*sums, **options))
    shuffled = [row[::-1] + row[:1] for row in corpus.references]
    assert np.array_equal(ours.statistics(corpus.outputs, shuffled), rows)


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.lists(st.sampled_from(WORDS), max_size=12), parameters)
@settings(max_examples=200)
def test_equals_nltk_where_its_alignment_has_no_more_chunks(
    words: list[str], reference: list[str], options: dict[str, Any]
) -> None:
    ours = Meteor(**options, tokenize="none")
    stems = Stems(ours)
    pairs, _, _ = align_words(words, reference, stems, NoWordNet())
    row = ours.statistics([" ".join(words)], [[" ".join(reference)]])[0]
    assert row[:3].sum() == len(pairs)
    runs = chunks(pairs)
    assert row[5] <= runs
    if row[5] == runs and options["alpha"] < 1:  # with α = 1 NLTK divides by 0 where nothing matches
        theirs = single_meteor_score(reference, words, stemmer=stems, wordnet=NoWordNet(), **options)
        assert float(ours.score(row)) == near(100 * theirs)


def test_nltk_finds_more_chunks_than_there_need_be() -> None:
    words, reference = ["very", "very", "good"], ["very", "good", "very"]
    ours = Meteor(tokenize="none")
    pairs, _, _ = align_words(words, reference, Stems(ours), NoWordNet())
    rows = ours.statistics([" ".join(words)], [[" ".join(reference)]])
    assert (chunks(pairs), rows[0].tolist()) == (3, [3, 0, 0, 3, 3, 2])


def test_the_worked_examples() -> None:
    """docs/definitions.md."""
    ours = Meteor()
    rows = ours.statistics(
        ["the cat sat on the mat", "cats are sleeping"], [["on the mat sat the cat"], ["the cat sleeps"]]
    )
    assert rows.tolist() == [[6, 0, 0, 6, 6, 3], [0, 2, 0, 3, 3, 2]]
    assert ours.score(rows).tolist() == near([93.75, 100 / 3])
    assert float(ours.score(total(rows))) == near(100 * 8 / 9 * (1 - 0.5 * (5 / 8) ** 3))


def test_the_best_reference_counts_and_among_equals_the_closest() -> None:
    ours = Meteor()
    assert ours.statistics(["a b c"], [["a b c d", "a b", "x"]]).tolist() == [[2, 0, 0, 3, 2, 1]]
    assert ours.statistics(["a b c"], [["x y z w v", "x y", "x y z w"]]).tolist() == [[0, 0, 0, 3, 2, 0]]


def test_texts_without_words() -> None:
    ours = Meteor()
    assert ours.segments(["", "a", ""], [["a"], [""], [""]]).tolist() == [0.0, 0.0, 0.0]
    assert ours.corpus([], []).score == 0.0


def test_stemmers_of_other_languages() -> None:
    german = metric("meteor[stemmer=german]")
    assert german.statistics(["katzen schlafen"], [["katze schläft"]])[0, :3].tolist() == [0, 1, 0]
    assert Meteor(stemmer="none").statistics(["cats"], [["cat"]])[0, :3].tolist() == [0, 0, 0]


def test_contract_and_names() -> None:
    ours = metric("meteor[alpha=0.8,beta=1,gamma=0.25,lowercase=false]")
    assert isinstance(ours, Meteor)
    assert (ours.name, ours.alpha, ours.beta, ours.gamma, ours.uses_weights) == ("meteor", 0.8, 1.0, 0.25, False)
    signature = str(ours.signature([["a"]]))
    assert "|nrefs:1|case:mixed|tok:13a|alpha:0.8|beta:1|gamma:0.25|stem:snowball-" in signature
    assert "-porter|syn:none|" in signature
    assert "case:lc" in str(Meteor().signature())
    assert "|stem:none|" in str(Meteor(stemmer="none").signature())
    again = pickle.loads(pickle.dumps(ours))  # noqa: S301 - our own
    assert again.corpus(["cats"], [["cat"]]) == ours.corpus(["cats"], [["cat"]])
    with pytest.raises(UsageError, match="meteor has no order"):
        metric("meteor-2")


@pytest.mark.parametrize("shape", [(), (3, 5), (2, 7)])
def test_statistics_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="has no statistics of meteor"):
        Meteor().score(np.zeros(shape))


def test_progress_tells_of_all_segments_in_small_steps() -> None:
    seen: list[int] = []
    Meteor().statistics(["a"] * 1500, [["a"]] * 1500, progress=seen.append)
    assert sum(seen) == 1500
    assert len(seen) > 1  # one segment may take long


def test_texts_that_are_too_long_are_refused() -> None:
    many = "the cat sat " * 11_000
    message = r"segment 2 has an output of 3 words and a reference of 33,000, too many to align them; split these texts"
    with pytest.raises(DataError, match=message):
        Meteor().statistics(["a", "a b c"], [["a"], ["a", many]])
    assert Meteor().statistics(["a", ""], [["a"], [many]])[1].tolist() == [0, 0, 0, 0, 33_000, 0]
    assert Meteor(stemmer="none").statistics([many], [["the cat sat on"]]).tolist() == [[3, 0, 0, 33_000, 4, 1]]


def test_no_number_depends_on_threads() -> None:
    outputs = [f"the cats {i % 7} slept on {i % 11} mats and {i % 3} rugs {i}" for i in range(9000)]
    references = [
        [f"a cat {i % 5} sleeps on the mat {i % 11}", f"{i} cats slept on {i % 13} rugs"] for i in range(9000)
    ]
    one, three = (Meteor().statistics(outputs, references, threads=threads) for threads in (1, 3))
    assert one.tobytes() == three.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha=1.5 must be a number from 0 to 1"),
        ({"gamma": -0.1}, "gamma=-0.1 must be a number from 0 to 1"),
        ({"beta": -1.0}, "beta=-1.0 must be a number, at least 0"),
        ({"beta": float("inf")}, "beta=inf must be a number, at least 0"),
        ({"stemmer": "prter"}, "stemmer=prter is not known; did you mean porter"),
        ({"stemmer": ""}, "stemmer= is not known"),
        ({"stemmer": ["porter"]}, r"stemmer=\['porter'\] is not known"),
        ({"synonyms": ""}, "synonyms='' is not known; write none, wordnet or the folder"),
        ({"lowercase": "no"}, "lowercase='no' must be true or false"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Meteor(**options)


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    lexicon._snowball.cache_clear()
    message = r"METEOR's stemmer needs the package PyStemmer; .* pip install 'trubleu\[meteor\]'"
    with pytest.raises(MissingExtraError, match=message):
        Meteor()
    assert Meteor(stemmer="none").corpus(["a"], [["a"]]).score == near(50)
