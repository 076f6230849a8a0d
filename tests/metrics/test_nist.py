"""NIST equals its plain statement, and NLTK's where that follows the paper."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.nist_score import corpus_nist

from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts
from tests.oracles.corpus_weights import nist, nist_row
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.metrics import Nist, metric
from trubleu.stats import total
from trubleu.text import tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

REFERENCES = [["the cat sat"], ["the dog sat"]]
OUTPUTS = ["the cat", "the dog sat"]


@given(
    corpora(odd_texts(8) | plain_texts(12)),
    st.integers(1, 7),
    st.sampled_from(("13a", "none", "intl", "char", "chat")),
    st.booleans(),
)
@settings(max_examples=80)
def test_equals_the_statement(corpus: Corpus, order: int, tokenize: str, lowercase: bool) -> None:
    split = tokenizer(tokenize)
    outputs = [split.tokens(text, lowercase) for text in corpus.outputs]
    references = [[split.tokens(text, lowercase) for text in row] for row in corpus.references]
    rows = [nist_row(output, row, references, order) for output, row in zip(outputs, references, strict=True)]
    ours = Nist(order, tokenize=tokenize, lowercase=lowercase)
    assert ours.statistics(corpus.outputs, corpus.references) == near(
        np.array([[row.length, row.reference_length, *row.information, *row.totals] for row in rows])
    )
    assert ours.corpus(corpus.outputs, corpus.references).score == near(nist(rows))
    assert ours.segments(corpus.outputs, corpus.references).tolist() == near([nist([row]) for row in rows])


@pytest.mark.parametrize("words", [2, 9, 300])
def test_equals_the_statement_on_long_texts(words: int) -> None:
    random = np.random.default_rng(words)
    lengths = (0, 1, 63, 64, 65, 128, 129, 200)

    def text(length: int) -> list[str]:
        return list(map(str, (random.zipf(1.3, length) % words).tolist()))

    outputs = [text(length) for length in lengths]
    # Parts of the outputs are in their references, at other places.
    references = [[text(40) + output[20:], text(90), output[:70] + text(3)] for output in outputs]
    rows = [nist_row(output, row, references, 5) for output, row in zip(outputs, references, strict=True)]
    joined = [" ".join(output) for output in outputs], [[" ".join(each) for each in row] for row in references]
    assert Nist(5, tokenize="none").statistics(*joined) == near(
        np.array([[row.length, row.reference_length, *row.information, *row.totals] for row in rows])
    )


@given(corpora(plain_texts(14), references=1), st.integers(1, 5))
def test_equals_nltk_with_one_reference(corpus: Corpus, order: int) -> None:
    corpus = corpus._replace(outputs=[*corpus.outputs[1:], "a b"], references=[*corpus.references[1:], ["b a cat"]])
    outputs = [text.split() for text in corpus.outputs]
    references = [[text.split() for text in row] for row in corpus.references]
    # NLTK divides by the number of n-grams of every order and by the references' length, whatever they are.
    order = min(order, max(map(len, outputs)))
    ours = Nist(order, tokenize="none").corpus(corpus.outputs, corpus.references).score
    assert ours == near(corpus_nist(references, outputs, order))


def test_nltk_takes_one_reference_where_the_paper_takes_all() -> None:
    # Each word is in another reference. NLTK looks for the one best reference instead.
    outputs, references = ["a b"], [["a x", "b y"]]
    assert Nist(1).corpus(outputs, references).score == 2
    assert corpus_nist([[["a", "x"], ["b", "y"]]], [["a", "b"]], 1) == 1


def test_by_hand() -> None:
    # Of six words in the references "the" and "sat" are two each and the others one each; "the" is followed by "cat"
    # once in two, and "sat" always follows.
    common, rare = math.log2(6 / 2), math.log2(6 / 1)
    told = [common + rare, common + rare + common]
    ours = Nist(2)
    rows = ours.statistics(OUTPUTS, REFERENCES)
    assert rows == near(np.array([[2, 3, told[0], 1, 2, 1], [3, 3, told[1], 1, 3, 2]]))
    penalty = math.exp(math.log(0.5) * (math.log(5 / 6) / math.log(2 / 3)) ** 2)
    assert penalty == pytest.approx(0.869, abs=5e-4)
    score = ours.corpus(OUTPUTS, REFERENCES).score
    assert score == near(penalty * (sum(told) / 5 + 2 / 3))
    assert f"{score:.3f}" == "2.305"


def test_matches_are_clipped_to_the_largest_count_in_one_reference() -> None:
    rows = Nist(1).statistics(["go go go go"], [["go on", "go , go !"]])
    assert rows[0, 2] == near(2 * math.log2(6 / 3))


@pytest.mark.parametrize(("words", "penalty"), [(2, 0.5), (3, 1.0), (4, 1.0)])
def test_two_thirds_of_the_length_halve_the_score(words: int, penalty: float) -> None:
    row = np.array([words, 3.0, 10.0, words])
    assert float(Nist(1).score(row)) == near(penalty * 10 / words)


def test_nothing_said_scores_0() -> None:
    assert Nist().corpus(["", ""], [["a b"], [""]]).score == 0
    assert Nist().corpus(["a", "b"], [[""], [""]]).score == 0
    assert Nist().corpus([], []).score == 0


@given(corpora(plain_texts(12), segments=8), st.data())
def test_rows_add_up(corpus: Corpus, data: st.DataObject) -> None:
    ours = Nist(3)
    rows = ours.statistics(corpus.outputs, corpus.references)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=20))
    learned = ours.learned(References.from_lists(corpus.references))
    part = learned.corpus([corpus.outputs[i] for i in chosen], [corpus.references[i] for i in chosen])
    assert float(ours.score(total(rows[chosen]))) == part.score
    alone = [float(ours.score(row)) for row in rows]
    assert ours.score(rows).tolist() == alone
    assert ours.score(np.stack([rows, rows[::-1]])).tolist() == [alone, alone[::-1]]


def test_names_orders_and_signatures() -> None:
    assert metric("nist").name == "nist-5"
    assert metric("nist-3[lowercase=true]").signature(REFERENCES).to_dict() == {
        "metric": "nist-3",
        "nrefs": "1",
        "case": "lc",
        "tok": "13a",
        "info": "refs",
        "version": metric("nist").signature().to_dict()["version"],
    }
    other = Nist(5).with_order(2)
    assert other.signature() == Nist(2).signature()
    assert other.corpus(OUTPUTS, REFERENCES) == Nist(2).corpus(OUTPUTS, REFERENCES)


@pytest.mark.parametrize("shape", [(), (3, 5), (7,), (2, 0)])
def test_statistics_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="has no statistics of nist-2"):
        Nist(2).score(np.zeros(shape))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 10}, "the order is 10, but must be a whole number from 1 to 9"),
        ({"lowercase": "yes"}, "lowercase='yes' must be true or false"),
        ({"corpus": 5}, "corpus cannot be a int; give the path of a file, or References"),
        ({"tokenize": "13b"}, "there is no tokenizer '13b'"),
    ],
)
def test_options_are_checked(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Nist(**options)


def test_outputs_are_checked() -> None:
    with pytest.raises(DataError, match="outputs is one string"):
        Nist().corpus("a b", [["a"], ["b"], ["c"]])
    with pytest.raises(DataError, match="1 output but references for 2 segments"):
        Nist().corpus(["a"], References.from_lists(REFERENCES))
    with pytest.raises(DataError, match="output 2 is of type NoneType; make it a string"):
        Nist().corpus(["a", None], REFERENCES)  # type: ignore[list-item]
