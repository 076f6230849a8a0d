"""Metrics that count near misses, on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.vec").write_text("3 2\ncat 1 0\ndog 0.6 0.8\nthe_cat 1 1\n")
    (tmp_path / "refs.jsonl").write_text(
        '{"id": "1", "references": [{"text": "the dog", "weight": 1}, {"text": "a cow", "weight": -1}]}\n'
    )
    (tmp_path / "r.txt").write_text("the dog\n")
    (tmp_path / "s.txt").write_text("the cat\n")
    return tmp_path


def scored(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    assert main(["score", *arguments, "--format", "json"]) == 0
    return {row["metric"]: round(row["score"], 3) for row in json.loads(capsys.readouterr().out)["scores"]}


def test_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["bleu2vec-1", "bleu2vec-f-1", "dbleu2vec-1[similarity=shift:0.2,credit=nearest]", "dbleu2vec-f-1"]
    metrics = [part for name in names for part in ("-m", name)]
    found = scored(capsys, "--refs", "refs.jsonl", "s.txt", *metrics, "--vectors", "words.vec")
    assert found == dict(zip(names, [80.0, 80.0, 75.0, 80.0], strict=True))
    inside = "bleu2vec-2[vectors=words.vec,oov=composed,smoothing=none]"
    assert 0 < scored(capsys, "--ref", "r.txt", "s.txt", "-m", inside)[inside] < 100
    found = scored(capsys, "--ref", "r.txt", "s.txt", "-m", "bleu2vec-1", "--vectors", "words.vec", "--oov", "0.5")
    assert found == {"bleu2vec-1": 80.0}


def test_weights_that_are_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--ref", "r.txt", "s.txt", "-m", "dbleu2vec-1[vectors=words.vec]"]) == 0
    err = capsys.readouterr().err
    assert "all weigh 1 and dbleu2vec-1[vectors=words.vec] is bleu2vec-1 with similarity=clamp\n" in err
    metric = "dbleu2vec-f-1[vectors=words.vec,similarity=shift:0.2]"
    assert main(["score", "--ref", "r.txt", "s.txt", "-m", metric]) == 0
    assert f"all weigh 1 and {metric} is bleu2vec-f-1 with similarity=shift:0.2\n" in capsys.readouterr().err


def test_vectors_that_do_not_fit_are_told_of_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "r.txt").write_text("\n".join(f"old{i}" for i in range(20)))
    (folder / "s.txt").write_text("\n".join(f"new{i}" for i in range(20)))
    (folder / "t.txt").write_text("\n".join(f"more{i}" for i in range(20)))
    metric = "bleu2vec-1[vectors=words.vec]"
    assert main(["score", "--ref", "r.txt", "s.txt", "t.txt", "-m", metric]) == 0
    assert capsys.readouterr().err.count("check tokenizer, case and language") == 1


def test_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric = "dbleu2vec-1[vectors=words.vec]"
    assert main(["explain", "--refs", "refs.jsonl", "s.txt", "-m", metric, "--segment", "1"]) == 0
    out = capsys.readouterr().out
    assert "similar to" in out
    assert "cat        dog         #1       0.600" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "bleu2vec[vectors=none.vec]"], "none.vec"),
        (["-m", "bleu2vec-9[vectors=words.vec]"], "has no n-grams of 9 words"),
        (["-m", "dbleu2vec[vectors=words.vec,similarity=raw]"], "similarity=raw is not known; it is clamp or shift:S"),
        (
            ["-m", "bleu-4", "-m", "bleu2vec[vectors=words.vec]", "--effective-order"],
            "give it to other metrics only, as in bleu-4[effective_order=true]",
        ),
        (["-m", "bleu2vec-f[recall=false]"], "bleu2vec-f settles recall"),
        (["-m", "bleu2vec-g"], "is not a metric"),
        (["-m", "bleu-4", "--vectors", "words.vec"], "--vectors has no effect"),
        (["-m", "bleu2vec[vectors=words.vec,oov=none]"], "oov=none is not known"),
    ],
)
def test_what_cannot_be_done(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["score", "--ref", "r.txt", "s.txt", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert message in err
