"""The studies on real judgements that commands do not make."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import trubleu
from benchmarks.real import context, findings, gaming, known_bad, sets
from trubleu.data import EvaluationSet, Reference, Segment
from trubleu.data.sets import RatingRow

if TYPE_CHECKING:
    import pytest


def test_outputs_are_made_worse_the_same_way_each_time() -> None:
    outputs = ["The cat sat on the mat.", "Is it, really?", "word", ""]
    found = gaming.gamed(outputs)
    assert found == gaming.gamed(outputs)
    assert found["words shuffled"] != gaming.gamed(outputs, seed=1)["words shuffled"]
    assert found["doubled"][2] == "word word"
    assert found["first half"] == ["The cat sat", "Is it,", "word", ""]
    assert found["without function words"] == ["cat sat mat.", "really?", "word", ""]
    assert found["its function words only"] == ["The on the", "Is it,", "", ""]
    assert sorted(found["another's output"]) == sorted(outputs)
    assert all(other != own for other, own in zip(found["another's output"], outputs, strict=True))
    assert found["another's appended"][2] == "word " + found["another's output"][2]
    assert sorted(found["words shuffled"][0].split()) == sorted(outputs[0].split())
    assert [len(text.split()) for text in found["padded with function words"]] == [12, 6, 2, 0]
    assert set(found["padded with function words"][0].split()[6:]) <= set(gaming.FUNCTION_WORDS)
    assert gaming.most_common(["x", "y", "y", "x"]) == "x"


def test_other_systems_rated_outputs_are_references() -> None:
    texts = {"A": {"1": "good", "2": "fine"}, "B": {"1": "bad", "2": "Gold!"}}
    scores = {("1", "A"): 5, ("1", "B"): 1, ("2", "A"): 4, ("2", "B"): 5}
    found = EvaluationSet(
        name="x",
        title="x",
        task="dialogue",
        licence="none",
        segments=[Segment("1", (Reference("gold"), Reference("more"))), Segment("2", (Reference("gold!"),))],
        outputs=texts,
        ratings=[RatingRow(item, system, "r", score, "overall") for (item, system), score in scores.items()],
        scales={"overall": (1, 5)},
    )
    rows = context.judged(found, 1, None, pooled=True)
    assert [(row.text, row.references, row.weights, row.rating) for row in rows] == [
        ("good", ["gold", "bad"], [1.0, -1.0], 5.0),
        ("bad", ["gold", "good"], [1.0, 1.0], 1.0),
        ("fine", ["gold!", "Gold!"], [1.0, 1.0], 4.0),  # and the other output equals the only gold reference
    ]
    assert [row.references for row in context.judged(found, None, 1, pooled=False)] == [["gold", "more"]] * 2


def test_options_go_to_metrics_that_have_them() -> None:
    assert "lc" in str(gaming.build("bleu-4", **gaming.DIALOGUE).signature())
    assert gaming.build("chrf", **gaming.DIALOGUE).name


def test_the_figure_of_sets_has_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Path(__file__).parents[2] / "docs" / "assets" / "sets.csv"
    monkeypatch.setattr("sys.argv", ["sets", str(table), str(tmp_path / "sets.svg")])
    assert sets.main() == 0
    drawn = re.findall(r">(\.\d{3})<", (tmp_path / "sets.svg").read_text(encoding="utf-8"))
    rows = [row for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()) if row["table"] == "values"]
    assert sorted(drawn) == sorted(f"{float(row['value']):.3f}"[1:] for row in rows)
    monkeypatch.setattr("sys.argv", ["sets"])
    assert sets.main() == 2


def test_a_known_bad_answer_helps_to_prefer_the_right_one(tmp_path: Path) -> None:
    row = {
        "id": "q",
        "reference": "Send the jacket back within 30 days.",
        "good": "You have 30 days to return the jacket.",
        "bad": {"number": "You have 60 days to return the jacket.", "refusal": "I cannot help."},
        "bad_copy": {"number": "Send the jacket back within 60 days."},
    }
    (tmp_path / "planted.jsonl").write_text(json.dumps(row) + "\n")
    found = list(known_bad.pairs(tmp_path))
    assert [(pair.kind, pair.known) for pair in found] == [
        ("reworded", "Send the jacket back within 60 days."),
        ("refusal", None),
        ("a copy", "Send the jacket back within 60 days."),
    ]
    rows = {row.kind: row for row in known_bad.measure(found, trubleu.metric("trubleu"))}
    assert rows["a copy"] == ("a copy", 1, 0, 1)
    assert rows["refusal"] == ("refusal", 1, 1, None)


def test_copies_of_references_with_errors_are_wrong_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = findings.Case("talks", "it takes thirty days", ("it takes 30 days",))
    copy = findings.Case(
        "talks (copies)", case.references[0], case.references, planted=(("number", "it takes 60 days"),)
    )
    monkeypatch.setattr(known_bad, "cases", lambda _root: [case, copy])
    (pair,) = known_bad.copies(tmp_path)
    assert pair == ("talks", "it takes 30 days", "it takes thirty days", "it takes 60 days", "it takes 60 days")
