"""``trubleu mine index``, ``add`` and ``info`` as their users call them."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.mining.example import files, shards, triples, write
from trubleu.cli import main
from trubleu.mining import Index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "c.jsonl", triples(25))

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["mine", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_index_add_info(run: Run, tmp_path: Path) -> None:
    code, out, err = run("index", "c.jsonl", "--out", "x.index", "--shard-triples", "10")
    assert (code, err) == (0, "")
    header, _line, row = out.splitlines()
    assert header.split("  ")[0] == "index"
    assert row.split()[:2] == ["x.index", "25"]
    assert row.split()[-2] == "3"
    (tmp_path / "more.tsv").write_text("one\ttwo words\nthree words here\tfour\n")
    code, out, err = run("add", "x.index", "more.tsv", "--columns", "response,message")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split()[:2] == ["x.index", "27"]
    code, out, err = run("info", "x.index", "--format", "json", "--check")
    assert (code, err) == (0, "")
    found = json.loads(out)
    index = Index.open("x.index")
    assert index.triple(26) == ("more.tsv:2", "four", "three words here")
    size = sum(path.stat().st_size for path in tmp_path.glob("x.index/*.tbx"))
    assert found["index"] == [
        {
            "schema": 1, "name": "x.index", "triples": 27, "message_words": index.message_words,
            "mean_message": index.message_words / 27, "response_words": index.response_words,
            "mean_response": index.response_words / 27, "shards": 4, "bytes": size,
        }
    ]  # fmt: skip
    assert {row["option"]: row["value"] for row in found["options"]} == {
        "tokenize": "13a", "case": "ignored", "stop words": "0", "triples in a shard": "10", "skipped as bad": "0",
        "skipped as blank": "0", "fingerprint": index.content,
    }  # fmt: skip
    assert [(row["name"], row["triples"]) for row in found["sources"]] == [("c.jsonl", 25), ("more.tsv", 2)]


@pytest.mark.parametrize("engine", [[], ["--engine", "local:2"]])
def test_a_table_is_a_corpus(run: Run, tmp_path: Path, engine: list[str]) -> None:
    (tmp_path / "t.csv").write_text('no,prompt,reply\n1,"how, then?",so\n2,where,"here\nand there"\n')
    code, _, err = run("index", "t.csv", "--out", "t.index", *engine)
    assert (code, err) == (0, "trubleu: columns of t.csv: message ← prompt, response ← reply\n")
    assert Index.open("t.index").triple(1) == ("t.csv:3", "where", "here\nand there")
    code, out, err = run("index", "t.csv", "--columns", "message=question", "--out", "u.index", *engine)
    assert (code, out) == (2, "")
    assert err == "trubleu: t.csv:1: there is no column 'question'; known: no, prompt, reply\n"
    assert not (tmp_path / "u.index").exists()


def test_an_index_inside_the_corpus_is_not_added_to_itself(run: Run, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    write(tmp_path / "corpus" / "c.jsonl", triples(3))
    assert run("index", "corpus/c.jsonl", "--out", "corpus/x", "--quiet") == (0, "", "")
    assert run("add", "corpus/x", "corpus") == (
        2,
        "",
        "trubleu: corpus/x lies in corpus, which is the corpus; move it elsewhere, or give the files one by one\n",
    )


def test_every_option_reaches_the_index(run: Run, tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Rain\n\n the\n")
    code, out, err = run(
        "index", "--out", "x", "c.jsonl", "--tokenize", "words", "--keep-case", "--stop-words", "stop.txt", "--quiet"
    )
    assert (code, out, err) == (0, "", "")
    index = Index.open("x")
    assert (index.tokenize, index.lowercase, index.stop_words) == ("words", False, ("Rain", "the"))
    code, out, _ = run("info", "x")
    assert code == 0
    assert "Every byte is in order." not in out
    assert ["case", "kept"] in [line.split() for line in out.splitlines()]
    code, out, _ = run("info", "x", "--check")
    assert "Every byte is in order." in out


def test_skipped_rows_are_said(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path / "d.jsonl", [{"message": "hi"}, {"message": "hi", "response": " "}, {"message": 7, "response": "x"}]
    )
    code, out, err = run("index", "c.jsonl", "d.jsonl", "--out", "x")
    assert (code, out) == (2, "")
    assert err == 'trubleu: d.jsonl:1: the field response is missing; add a string, "" if it is empty\n'
    assert not (tmp_path / "x").exists()
    code, out, err = run("index", "c.jsonl", "d.jsonl", "--out", "x", "--skip-bad")
    assert code == 0
    assert err.splitlines() == [
        "trubleu: warning: rows with a missing or wrong field, skipped: 2",
        "trubleu: warning: rows with a blank message or response, skipped: 1",
    ]
    assert run("add", "x", "d.jsonl", "c.jsonl", "--skip-bad", "--quiet") == (0, "", "")
    found = json.loads(run("info", "x", "--format", "json")[1])["options"]
    assert [row["value"] for row in found if row["option"].startswith("skipped")] == ["4", "2"]


def test_resume(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "d.jsonl", [*triples(15, 2), {"message": "hi"}])
    whole = ("index", "c.jsonl", "d.jsonl", "--out", "y", "--shard-triples", "10", "--skip-bad", "--quiet")
    assert run(*whole)[0] == 0
    begun = ("index", "c.jsonl", "d.jsonl", "--out", "x", "--shard-triples", "10")
    code, _, err = run(*begun)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("trubleu: d.jsonl:16: the field response is missing; ")
    assert err.endswith("; finished shards are kept, to continue with --resume\n")
    assert run(*begun)[2] == (
        "trubleu: x holds an index that was not finished; continue with --resume, or discard it with --no-cache\n"
    )
    assert run(*begun, "--resume", "--skip-bad", "--quiet") == (0, "", "")
    assert files(tmp_path / "x") == files(tmp_path / "y")
    assert run(*begun, "--resume")[2] == "trubleu: x is finished, there is nothing to resume\n"


def test_standard_input_can_be_a_corpus(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ttwo\nthree\tfour\n")))
    code, _, err = run("index", "-", "--out", "x")
    assert (code, err) == (0, "")
    assert Index.open("x").triple(1) == ("<stdin>:2", "three", "four")


def test_progress_is_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("trubleu.progress.DELAY_SECONDS", 0.0)
    assert run("index", "c.jsonl", "--out", "x")[0] == 0
    assert run("add", "x", "c.jsonl")[0] == 0
    assert run("info", "x", "--check")[0] == 0
    for stage in ("indexing", "adding", "checking"):
        assert stage in shown.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index", "--out", "x"], "mine index needs a CORPUS: files of triples, or folders of them; give it"),
        (["index", "c.jsonl"], "the following arguments are required: --out"),
        (["index", "no.jsonl", "--out", "x"], "no.jsonl: there is no such file; check the path"),
        (["index", "c.jsonl", "--out", "no/x"], "the folder no/x cannot be created: No such file or directory"),
        (["index", "c.jsonl", "--out", "c.jsonl"], "the folder c.jsonl cannot be created: File exists; check the path"),
        (["index", "c.jsonl", "--out", "."], ". holds something else (c.jsonl); choose another folder for the index"),
        (["index", "c.jsonl", "--out", "x", "--tokenize", "13b"], "there is no tokenizer '13b'; did you mean 13a"),
        (["index", "c.jsonl", "--out", "x", "--stop-words", "no.txt"], "no.txt: there is no such file"),
        (["index", "c.jsonl", "--out", "x", "--stop-words", "c.jsonl"], "c.jsonl:1: "),
        (["index", "c.jsonl", "--out", "x", "--shard-triples", "0"], "shard-triples is 0, but must be between 1 and"),
        (["index", "c.jsonl", "--out", "x", "--columns", "message"], "columns: response must be one of them"),
        (["index", "c.jsonl", "--out", "x", "--resume"], "there is nothing to resume in x; index without --resume"),
        (["index", ".", "--out", "x"], "x would lie in ., which is the corpus; choose another place"),
        (["add"], "mine add needs INDEX MORE: an index, and files of triples or folders of them"),
        (["add", "x"], "mine add needs INDEX MORE"),
        (["add", "x", "c.jsonl"], "x: there is no such index; check the path"),
        (["add", "c.jsonl", "c.jsonl"], "c.jsonl is not an index, which would be a folder"),
        (["info"], "mine info needs one INDEX; give it"),
        (["info", "x", "y"], "mine info needs one INDEX, not 2 arguments"),
        (["info", "x"], "x: there is no such index; check the path"),
        (["info", "."], ". is not an index: index.json is missing; create one with trubleu mine index"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"trubleu: {message}")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path.name != "lock"] == ["c.jsonl"]


def test_damage_is_one_sentence(run: Run, tmp_path: Path) -> None:
    assert run("index", "c.jsonl", "--out", "x", "--quiet")[0] == 0
    (shard,) = shards(tmp_path / "x")
    data = shard.read_bytes()
    shard.write_bytes(data[:-100] + bytes(100))
    assert run("info", "x")[0] == 0  # which reads nothing but headers
    code, out, err = run("info", "x", "--check")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"trubleu: x/{shard.name} was altered or damaged (the checksum of ")
    (tmp_path / "x" / "index.json").write_text("{}")
    code, out, err = run("info", "x")
    assert (code, out) == (2, "")
    assert err == (
        "trubleu: x/index.json was altered or damaged (it is not whole); copy it again, or remove "
        "the folder and index the corpus again\n"
    )
