"""ROUGE equals rouge-score's, number by number, under the contract of all metrics."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.metrics import Metric, Rouge, RougeL, RougeLsum, metric
from trubleu.stats import total

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

NAMES = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-4": "rouge4", "rouge-l": "rougeL", "rouge-lsum": "rougeLsum"}
# Sentences, inflected forms, and few words often.
lines = st.lists(
    st.sampled_from(("the", "cat", "Cats", "running", "runs", "a", "don't", "news", "agreed", "\n", "\n", "3.5", "é")),
    max_size=25,
).map(" ".join)
texts = lines | odd_texts(6) | plain_texts(8)


def theirs(scorer: RougeScorer, name: str, outputs: list[str], references: list[list[str]]) -> list[list[float]]:
    """Return precision, recall and F of each segment, and 1."""
    found = (scorer.score_multi(row, output)[name] for output, row in zip(outputs, references, strict=True))
    return [[score.precision, score.recall, score.fmeasure, 1.0] for score in found]


@given(corpora(texts), st.sampled_from(sorted(NAMES)), st.booleans())
@settings(max_examples=300)
def test_rows_are_those_of_rouge_score(corpus: Corpus, name: str, stem: bool) -> None:
    scorer = RougeScorer([NAMES[name]], use_stemmer=stem)
    ours = metric(name, stem=stem)
    expected = theirs(scorer, NAMES[name], corpus.outputs, corpus.references)
    for threads in (1, 2):
        assert ours.statistics(corpus.outputs, corpus.references, threads=threads).tolist() == expected
    result = ours.corpus(corpus.outputs, corpus.references)
    means = 100 * np.array(expected).mean(axis=0)
    assert [getattr(result, part) for part in ("precision", "recall", "score")] == near(means[:3].tolist())
    assert ours.segments(corpus.outputs, corpus.references).tolist() == near([100 * row[2] for row in expected])


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("name", sorted(NAMES))
def test_long_texts(name: str, stem: bool) -> None:
    generator = np.random.default_rng(5)

    def text(words: int, sentences: int) -> str:
        parts = np.array_split(generator.integers(0, 40, words), sentences)
        return "\n".join(" ".join(f"word{number}ing" for number in part) for part in parts)

    outputs = [text(300, 3), text(65, 1), text(64, 2), text(1, 1)]
    references = [[text(200, 4), text(128, 1)], [text(63, 1)], [text(400, 2)], [text(70, 1)]]
    scorer = RougeScorer([NAMES[name]], use_stemmer=stem)
    assert metric(name, stem=stem).statistics(outputs, references).tolist() == theirs(
        scorer, NAMES[name], outputs, references
    )


def test_texts_too_long_for_whole_tables() -> None:
    # The peer would take minutes, so a common subsequence of known length is hidden in words that differ.
    common = [f"c{number}" for number in range(2_500)]
    output, reference = (
        " ".join(chain.from_iterable((word, f"{letter}{place}") for place, word in enumerate(common)))
        for letter in "xy"
    )
    for name in ("rouge-l", "rouge-lsum"):
        assert metric(name).statistics([output], [[reference]]).tolist() == [[0.5, 0.5, 0.5, 1.0]]
        assert metric(name).statistics([output + " z"], [["c0 c1 z"]])[0, 1] == 1.0


def test_a_million_characters() -> None:
    text = " ".join(str(number) for number in range(145_000))
    assert len(text) > 900_000
    for name in ("rouge-2", "rouge-l", "rouge-lsum"):
        assert metric(name).statistics([text], [[text]])[0, 2] == 1.0


def test_summaries_with_rows_computed_again() -> None:
    generator = np.random.default_rng(6)
    texts = [" ".join(f"w{number}" for number in generator.integers(0, 700, 3_000)) for _ in range(2)]
    scorer = RougeScorer(["rougeLsum"], use_stemmer=False)
    expected = theirs(scorer, "rougeLsum", texts[:1], [texts[1:]])
    assert RougeLsum().statistics(texts[:1], [texts[1:]]).tolist() == expected


def test_rows_add_up() -> None:
    outputs, references = ["the cat", "a dog ran", ""], [["the cat"], ["a dog", "dogs ran far"], ["x"]]
    for name in NAMES:
        ours = metric(name)
        rows = ours.statistics(outputs, references)
        assert float(ours.score(total(rows[:2]))) == near(ours.corpus(outputs[:2], references[:2]).score)
        assert ours.score(np.stack([rows, rows[::-1]])).shape == (2, 3)
        whole, summed = ours.result(rows).parts, ours.result(total(rows)[np.newaxis]).parts
        assert summed == near(whole)
        with pytest.raises(DataError, match=f"has no statistics of {name}"):
            ours.score(rows[:, :3])


def test_names_and_signatures() -> None:
    made: dict[str, Metric] = {
        "rouge": Rouge(),
        "rouge-1": Rouge(),
        "ROUGE-2": Rouge(2),
        "rouge2": Rouge(2),
        "rougeL": RougeL(),
        "rouge-L": RougeL(),
        "rougeLsum": RougeLsum(),
        "rouge-lsum[stem=true]": RougeLsum(stem=True),
    }
    for text, ours in made.items():
        assert str(metric(text).signature()) == str(ours.signature())
    assert str(Rouge(2, stem=True).signature([["a"]])).startswith("rouge-2|nrefs:1|stem:porter-nltk|version:")
    assert str(RougeL().signature()).startswith("rouge-l|stem:none|version:")
    assert Rouge(2).with_order(3).name == "rouge-3"
    assert RougeL().with_order(3) is None


@pytest.mark.parametrize(
    ("factory", "options", "message"),
    [
        (Rouge, {"order": 0}, "the order is 0"),
        (Rouge, {"order": 10}, "the order is 10"),
        (RougeL, {"stem": 1}, "stem=1 must be true or false"),
    ],
)
def test_bad_options(factory: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        factory(**options)


@pytest.mark.filterwarnings("error")
def test_texts_without_a_letter_from_a_to_z() -> None:
    with pytest.warns(TrubleuWarning, match=r"outputs without a letter from a to z or a digit.*: 2$"):
        assert Rouge().corpus(["猫", "…", "cat", " "], [["猫"], ["a"], ["cat"], ["b"]]).score == 25.0
    assert Rouge().corpus(["", "cat"], [["a"], ["cat"]]).score == 50.0


def test_edges() -> None:
    for name in NAMES:
        assert metric(name).corpus([], []).score == 0.0
        references = References.from_lists([["a b", "a"]])
        assert metric(name).corpus(["a b"], references) == metric(name).corpus(["a b"], references.prepare())
    with pytest.raises(DataError, match="output 2 is of type int"):
        Rouge().corpus(["a", 1], [["a"], ["b"]])  # type: ignore[list-item]


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trubleu.metrics.matching.SLICE", 64)
    seen: list[int] = []
    Rouge().statistics(["a"] * 150, [["a"]] * 150, progress=seen.append)
    assert seen == [64, 64, 22]
