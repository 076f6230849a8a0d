"""DSTC7: contexts with up to 1,009 references each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import trubleu
from tests.explain.kernel_row import row_of
from trubleu.data import References
from trubleu.explain import explain
from trubleu.render import render_explanation_page, render_explanation_text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")


def read(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")[1:]]


def test_a_thousand_references(real_data: Path) -> None:
    folder = real_data / "dstc7"
    golds = {row[0]: [text for text in row[1:] if text] for row in read(folder / "dstc7-task2-gold_responses.tsv")}
    said = {name: text for system, name, text in read(folder / "dstc7-task2-system_responses.tsv") if system == "TeamB"}
    names = [name for name, texts in golds.items() if texts and name in said]
    # Weights that repeat and change their sign; what people would give them does not matter here.
    weights = [[(place % 9 - 2) / 8 for place in range(len(golds[name]))] for name in names]
    references = References.from_lists([golds[name] for name in names], weights, names)
    outputs = [said[name] for name in names]
    for metric in map(
        trubleu.metric, ("bleu-4", "dbleu-4[no_positive=skip]", "dbleu-2[no_positive=skip,tokenize=chat]")
    ):
        rows, scores = metric.statistics(outputs, references), metric.segments(outputs, references)
        for place in range(0, len(names), 20):
            found = explain(metric, outputs[place], references, place)
            if not found.skipped:
                assert row_of(found) == rows[place].tolist()
                assert found.score == scores[place]
    most = max(names, key=lambda name: len(golds[name]))
    assert len(golds[most]) == 1009
    found = explain(trubleu.metric("dbleu-4"), said[most], references, most)
    page = render_explanation_page({"TeamB": [found]})
    assert len(page) < 1_000_000
    assert page.count("<li>") == 1009
    # What is unfolded at first fits on a screen or two.
    unfolded = page.partition("References that decide the score")[2].partition("<details>")[0]
    assert unfolded.count("<li>") < 40
    assert re.search(r"[\d,]+ more with a match that was credited elsewhere", page)
    assert len(render_explanation_text({"TeamB": [found]}).splitlines()) < 150
