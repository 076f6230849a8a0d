"""The examples that Definitions works by hand come out as the program counts them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import trubleu
from tests.docs.blocks import ROOT
from trubleu.errors import TrubleuWarning
from trubleu.vectors import as_source

PAGE = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")

DAYS = as_source(
    (
        ["good", "fine", "good day", "fine day"],
        np.array([[1, 0, 0, 0], [0.8, 0.6, 0, 0], [0, 0, 1, 0], [0, 0, 0.6, 0.8]]),
    )
)
DAY = as_source((["good", "fine", "day"], np.array([[2, 0, 0], [1.2, 0.9, 0], [0, 0, 1]])))
BIG = as_source((["big", "large"], np.array([[1, 0], [0.8, 0.6]])))
VIEWS = as_source((["good", "great", "awful"], np.array([[1, 0, 0], [0.8, 0.6, 0], [0.6, 0, 0.8]])))

CAT = ["the cat sat on the mat"]
ANSWERS = ["fine , and you ?", "at seven tonight"]
POSSIBLE = [["fine , thanks !", "why do you ask ?"], ["at seven", "tonight"]]
BUSES = [["red bus", "big red bus"], ["red car"]]
WEIGHTS = [[0.9, -0.5], [1.0, 0.3]]

# Metric, options, outputs, references, weights, what the page says.
EXAMPLES: list[tuple[str, dict[str, Any], list[str], list[list[str]], list[list[float]] | None, str]] = [
    ("trubleu", {"vectors": DAY}, ["good day"], [["fine day"]], None, "56.16"),
    ("trubleu", {"vectors": DAY}, ["good day"], [["good"]], None, "0.8779"),
    ("trubleu", {"vectors": DAY}, ["good day"], [["fine day", "good"]], [[1.0, -0.5]], "35.90"),
    ("trubleu", {"vectors": DAY}, ["good day"], [["fine day", "good"]], [[1.0, 0.5]], "61.43"),
    ("bleu-1", {}, ["go go go"], [["go on", "go , go !"]], None, "2/3"),
    ("bleu-2", {}, [*CAT, "good night"], [["the cat is on the mat"], ["good night all"]], None, "67.40"),
    ("sbleu-4", {}, ["ok fine"], [["ok sure"]], None, "50.00"),
    ("sbleu-4", {"variant": "nakov"}, ["ok fine"], [["ok sure"]], None, "30.33"),
    ("sbleu-4", {"variant": "nakov-all"}, ["ok fine"], [["ok sure"]], None, "35.02"),
    ("dbleu-1", {}, ["a a"], [["a", "a a"]], [[1.0, 0.2]], "0.5"),
    ("dbleu-1", {"definition": "fork2019"}, ["a a"], [["a", "a a"]], [[1.0, 0.2]], "<i>p</i><sub>1</sub> = 1"),
    ("dbleu-2", {}, ANSWERS, POSSIBLE, WEIGHTS, "37.45"),
    ("sdbleu-2", {}, ANSWERS, POSSIBLE, WEIGHTS, "49.08"),
    ("sdbleu-2", {}, ANSWERS[:1], POSSIBLE[:1], WEIGHTS[:1], "26.67"),
    ("sdbleu-2", {}, ANSWERS[1:], POSSIBLE[1:], WEIGHTS[1:], "71.49"),
    ("lebleu-2", {}, ["kirja kauppa"], [["kirjakauppa"]], None, "70.83"),
    ("meteor", {}, CAT, [["on the mat sat the cat"]], None, "93.75"),
    ("meteor", {}, ["cats are sleeping"], [["the cat sleeps"]], None, "33.33"),
    ("meteor", {}, [*CAT, "cats are sleeping"], [["on the mat sat the cat"], ["the cat sleeps"]], None, "78.04"),
    ("meteor", {}, ["a b c d e"], [["a b c d e"]], None, "99.6"),
    ("bleu2vec", {"vectors": DAYS}, ["a good day"], [["a fine day"]], None, "62.94"),
    ("bleu2vec-1", {"vectors": BIG}, ["big big"], [["large"]], None, "0.8 / 2"),
    ("bleu2vec-f", {"vectors": BIG}, ["ok"], [["ok fine then"]], None, "50."),
    ("dbleu2vec-1", {"vectors": VIEWS}, ["it was good"], [["it was great", "it was awful"]], [[1.0, -0.5]], "2.8 / 3"),
    ("nist-2", {}, ["the cat", "the dog sat"], [["the cat sat"], ["the dog sat"]], None, "2.305"),
    ("cider-1", {}, ["bus bus stop", "red bike"], BUSES, None, "3.82"),
    ("cider-d-1", {}, ["bus bus stop", "red bike"], BUSES, None, "1.89"),
    ("lebleu-2", {}, ["kirja kauppa"], [["kirjakauppa"]], None, "70.83"),
    ("meteor", {}, CAT, [["on the mat sat the cat"]], None, "93.75"),
    ("meteor", {}, ["cats are sleeping"], [["the cat sleeps"]], None, "33.33"),
    ("meteor", {}, [*CAT, "cats are sleeping"], [["on the mat sat the cat"], ["the cat sleeps"]], None, "78.04"),
    ("chrf", {}, ["cat"], [["cats"]], None, "68.86"),
    ("chrf++", {}, ["cat"], [["cats"]], None, "51.65"),
    ("rouge-1", {}, ["the cat sat"], [["the cat is here"]], None, "57.14"),
    ("rouge-2", {}, ["the cat sat"], [["the cat is here"]], None, "40."),
    ("distinct-1", {}, ["i do not know", "i do"], [["no"], ["no"]], None, "66.67"),
    ("ter", {}, ["on the mat the cat sat"], [CAT], None, "16.67"),
    ("ter", {}, ["the cat sat"], [CAT], None, "50."),
    ("ter", {}, ["the cat sat"], [[*CAT, "a cat sat"]], None, "22.22"),
]


def number(said: str) -> float:
    """Return the score that a text of the page means: a score, or a precision as a fraction of 1."""
    said = said.split("=")[-1]
    if "/" in said:
        above, below = said.split("/")
        return 100 * float(above) / float(below)
    value = float(said)
    return 100 * value if value <= 1 else value


@pytest.mark.parametrize(("name", "options", "outputs", "references", "weights", "said"), EXAMPLES)
def test_example(
    name: str,
    options: dict[str, Any],
    outputs: list[str],
    references: list[list[str]],
    weights: list[list[float]] | None,
    said: str,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        metric = trubleu.metric(name, **options)
        result = metric.corpus(outputs, trubleu.References.from_lists(references, weights))
    assert said in PAGE
    assert result.score == pytest.approx(number(said), abs=0.005)


def test_ibleu() -> None:
    references = trubleu.References.from_lists([["how old are you"], ["fine thanks"]])
    result = trubleu.metric("ibleu-1").corpus(
        ["how old are you", "fine you"], references.with_messages(["what is your age", "how are you"])
    )
    assert "= 73.59" in PAGE
    assert result.score == pytest.approx(73.59, abs=0.005)


def test_the_parts_of_trubleu() -> None:
    references = trubleu.References.from_lists([["fine day", "good"]], [[1.0, -0.5]])
    parts = trubleu.TruBleu(vectors=DAY).parts("good day", references)
    near, bad = parts.references
    found = {
        "<i>F</i><sub>1</sub> = 0.8556": near.orders[0],
        "= 0.8503": near.orders[1],
        "(3/7 + 2/6 + 1/5) / 6 = 0.1603": near.characters,
        "= 0.5616, and": near.score,
        "<i>F</i><sub>1</sub> = 0.9091": bad.orders[0],
        "<i>F<sub>c</sub></i> = 0.7907": bad.characters,
        "similarity 0.8779": bad.score,
        "= 0.3608, and": parts.cut,
    }
    for said, value in found.items():
        assert said in PAGE
        assert value == pytest.approx(float(said.removesuffix(", and").split()[-1]), abs=0.00005), said
