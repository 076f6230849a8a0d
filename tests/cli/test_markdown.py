"""``--markdown strip``: marks of Markdown are not scored, and signatures say so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from pathlib import Path

MARKED = "1. Open **My orders**.\n2. Press `Return`."
PLAIN = "Open My orders.\nPress Return."
STRIP = ("--markdown", "strip")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("marked", MARKED), ("plain", PLAIN)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "1", "text": text}) + "\n")
    references = {"id": "1", "references": [{"text": PLAIN}]}
    (tmp_path / "refs.jsonl").write_text(json.dumps(references) + "\n")


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--refs", "refs.jsonl", "--format", "json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def test_scores_without_marks_are_those_of_plain_texts(capsys: pytest.CaptureFixture[str]) -> None:
    rows = found(capsys, "score", "marked.jsonl", "plain.jsonl", "-m", "chrf", *STRIP)["scores"]
    assert [row["score"] for row in rows] == [100.0, 100.0]
    assert all("|markdown:strip|version:" in row["signature"] for row in rows)
    kept = found(capsys, "score", "marked.jsonl", "-m", "chrf")["scores"][0]
    assert kept["score"] < 100
    assert "markdown" not in kept["signature"]


def test_compare_and_explain_take_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    compared = found(capsys, "compare", "marked.jsonl", "plain.jsonl", "-m", "trubleu", "--resamples", "50", *STRIP)
    assert [row["score"] for row in compared["scores"]] == [100.0, 100.0]
    assert all("|markdown:strip|" in row["signature"] for row in compared["scores"])
    explained = json.dumps(found(capsys, "explain", "marked.jsonl", "--segment", "1", *STRIP))
    assert "|markdown:strip|" in explained
    assert "**" not in explained


def test_it_needs_whole_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--refs", "refs.jsonl", "marked.jsonl", "--engine", "local", *STRIP]) == 2
    assert "--markdown strip needs files that are read whole; leave --engine out" in capsys.readouterr().err
