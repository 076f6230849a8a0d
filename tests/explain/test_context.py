"""Explanations of trubleu-ctx: the metric's numbers, parts that add up to them, words and sentences."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import trubleu_ctx as oracle
from tests.render.test_explanations import HOSTILE, Page
from trubleu import References, TruBleuCtx
from trubleu.cli import main
from trubleu.errors import TrubleuWarning
from trubleu.explain import ContextExplanation, compare_systems, explain
from trubleu.render import render_explanation_json, render_explanation_page, render_explanation_text
from trubleu.vectors.encoders.encoder import Encoded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WORDS = ["the", "cat", "sat", "on", "a", "mat", ".", "!", "ü"]
texts = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)


@pytest.fixture(scope="module")
def metric(tmp_path_factory: pytest.TempPathFactory) -> TruBleuCtx:
    return TruBleuCtx(encoder=oracle.write_encoder(tmp_path_factory.mktemp("encoders") / "tiny"))


def explained(metric: TruBleuCtx, output: str, references: References) -> ContextExplanation:
    found = explain(metric, output, references)
    assert isinstance(found, ContextExplanation)
    return found


@given(
    output=texts,
    held=st.lists(texts, min_size=1, max_size=3),
    weights=st.lists(st.sampled_from((1.0, 0.4, -0.7)), min_size=3, max_size=3),
)
def test_all_parts_add_up_to_the_score(metric: TruBleuCtx, output: str, held: list[str], weights: list[float]) -> None:
    references = References.from_lists([held], [[1.0, *weights[1 : len(held)]]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        [score] = metric.segments([output], references)
        found = explained(metric, output, references)
    assert found.score == score
    assert found.earned is not None
    assert found.cut is not None
    assert found.score == pytest.approx(100 * found.earned * (1 - found.cut))
    for place, one in enumerate(found.references):
        if one.similarity is None or one.text_similarity is None:
            continue
        assert one.characters is not None
        [order] = one.orders
        assert order.f is not None
        parts = (one.characters, order.f, one.text_similarity)
        assert one.similarity == pytest.approx(1 if one.equal else sum(parts) / 3)
        reached = found.reached(place)
        assert sorted([*reached, *found.missed(place)]) == list(range(len(one.tokens)))
        own, others = (oracle.encoded(tokens)[1] for tokens in (found.tokens, one.tokens))
        for position, pair in found.met(place).items():
            cosines = [oracle.cosine(own[position], other) for other in others]
            assert cosines[pair.reference_position] == pytest.approx(max(cosines), abs=1e-5)
        for position, pair in reached.items():
            cosines = [oracle.cosine(others[position], each) for each in own]
            assert cosines[pair.position] == pytest.approx(max(cosines), abs=1e-5)


def test_as_text() -> None:
    output, reference = "That works for me. See you at noon.", "Sounds good! I will meet you at twelve."
    found = explained(TruBleuCtx(), output, References.from_lists([[reference]]))
    text = render_explanation_text({"A": [found]})
    lines = [line.rstrip() for line in text.splitlines()]
    for line in (
        "word   in #1",
        "you    0.59 you",
        "See you at noon.    I will meet you at twelve.       0.409",
        "similarity to #1: (0.260 + 0.186 + 0.307) / 3 = 0.251",
        "trubleu-ctx = 100 × 0.251 = 25.10",
    ):
        assert line in lines
    [row] = json.loads(render_explanation_json({"A": [found]}))["explanations"]
    [written] = row["references"]
    assert written["sentences"][1]["reference_sentence"] == "I will meet you at twelve."
    assert written["reached"][0]["reference_tokens"] == ["sounds"]
    assert "weighs" not in text
    same = explained(TruBleuCtx(), "a cat", References.from_lists([["A cat"]]))
    assert "similarity to #1: 1, as both have the same words" in render_explanation_text({"A": [same]})


def test_as_a_page(metric: TruBleuCtx) -> None:
    references = References(
        [f"{HOSTILE}. More.", "the cat"], [0, 2], [1.0, -1.0], ids=[HOSTILE], messages=[HOSTILE], contexts=[(HOSTILE,)]
    )
    page = render_explanation_page({HOSTILE: [explained(metric, f"{HOSTILE}! the cat.", references)]})
    assert not [tag for tag, _ in Page(page).tags if tag == "img"]
    assert "which sentence supports which in #1" in page
    assert ">weighs<" not in page


class Sentences:
    """An encoder without vectors of words."""

    name, baseline_file = "letters", None
    signed: dict[str, object] = {}  # noqa: RUF012

    def encode(self, batch: Sequence[Sequence[str]], threads: int) -> Sequence[Encoded]:  # noqa: ARG002
        rows = [[" ".join(words).count(letter) + 1.0 for letter in "aet"] for words in batch]
        return [Encoded(np.array(row, np.float32), None) for row in rows]


def test_without_vectors_of_words() -> None:
    found = explained(TruBleuCtx(encoder=Sentences()), "a tree", References.from_lists([["the trees"]]))
    [one] = found.references
    assert one.orders == ()
    assert one.characters is not None
    assert one.text_similarity is not None
    text = render_explanation_text({"A": [found]})
    assert f"({one.characters:.3f} + {one.text_similarity:.3f}) / 2 = {one.similarity:.3f}" in text
    assert "which word met which" in render_explanation_page({"A": [found]})


def test_compare_credits_words(metric: TruBleuCtx) -> None:
    systems = {"A": ["the cat sat", "a mat"], "B": ["the mat", "a mat"]}
    found = compare_systems(systems, [["the cat sat"], ["a cat"]], {"trubleu-ctx": metric})
    assert found.ngrams is not None
    credited: dict[tuple[str, ...], Any] = {gram.tokens: gram for gram in found.ngrams}
    assert credited["sat",].difference > 0


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("that works\n")
    (tmp_path / "other").write_text("no idea\n")
    (tmp_path / "ref").write_text("sounds good\n")
    systems = [str(tmp_path / name) for name in ("out", "other")]
    for command, more in (("explain", ["--differ", "1"]), ("compare", [])):
        arguments = [command, *more, "--ref", str(tmp_path / "ref"), *systems, "-m", "trubleu-ctx", "--format", "html"]
        assert main([*arguments, "--out", str(tmp_path / f"{command}.html")]) == 0
        assert "trubleu-ctx" in (tmp_path / f"{command}.html").read_text()
    assert capsys.readouterr().out == ""
