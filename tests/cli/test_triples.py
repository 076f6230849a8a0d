"""``trubleu triples`` as its users call it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.data import TripleList, read_triples, sample_triples
from trubleu.data import triples as triples_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

TEXT = "hi ! __eou__ how are you ? __eou__ fine . __eou__ good ! __eou__\nhello __eou__ bye __eou__\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dialogues.txt").write_text(TEXT)
    rows = [{"id": f"t{n}", "context": [], "message": f"m{n}", "response": f"r{n}"} for n in range(20)]
    (tmp_path / "triples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ratings = [f"t{n},{rater},{5 if n < 12 else 3}\n" for n in range(16) for rater in ("ann", "bob", "cem")]
    (tmp_path / "ratings.csv").write_text("item,rater,score\n" + "".join(ratings))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def refused(result: tuple[int, str, str]) -> str:
    """Return the one sentence that a refusal consists of."""
    code, out, err = result
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.removeprefix("trubleu: ").removesuffix("\n")


def test_make(run: Run) -> None:
    code, out, err = run("triples", "make", "dialogues.txt")
    assert (code, err) == (0, "trubleu: warning: dialogues too short for a triple: 1\n")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"id": "dialogues.txt:1:3", "context": ["hi !"], "message": "how are you ?", "response": "fine ."},
        {"id": "dialogues.txt:1:4", "context": ["how are you ?"], "message": "fine .", "response": "good !"},
    ]
    code, out, err = run("triples", "make", "dialogues.txt", "--context", "0", "--out", "pairs.jsonl.gz")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split("  ") == ["dialogues", "skipped", "too short", "triples"]
    assert out.splitlines()[-1].split() == ["2", "0", "0", "4"]
    assert [triple.context for triple in read_triples("pairs.jsonl.gz")] == [()] * 4
    assert run("triples", "make", "dialogues.txt", "--out", "q.jsonl", "--quiet") == (0, "", "")


def test_make_from_json_and_what_cannot_be_used(run: Run, folder: Path) -> None:
    lines = ['{"id": "d", "said": ["a", "b", "c", "d"]}', '{"id": "e", "said": ["a", "", "c"]}']
    (folder / "d.jsonl").write_text("\n".join(lines))
    assert refused(run("triples", "make", "d.jsonl", "--turns", "said", "--out", "t.jsonl")).startswith("d.jsonl:2: tu")
    assert not (folder / "t.jsonl").exists()
    code, out, err = run("triples", "make", "d.jsonl", "--turns", "said", "--context", "2", "--skip-bad")
    assert (code, err) == (0, "trubleu: warning: dialogues that could not be used and were skipped: 1\n")
    assert [json.loads(line)["context"] for line in out.splitlines()] == [["a"], ["a", "b"]]
    assert refused(run("triples", "make")) == "triples make needs DIALOGUES; give it"
    assert "would be lost" in refused(run("triples", "make", "d.jsonl", "--out", "d.jsonl"))
    assert "does not show a format" in refused(run("triples", "make", "d.jsonl", "--out", "d.txt"))
    (folder / "bars.txt").write_text("a|b|c")
    assert refused(run("triples", "make", "bars.txt", "--out", "bars.jsonl")).endswith(
        "the separator '__eou__' occurs nowhere, so say what stands between turns (--separator)"
    )
    assert not (folder / "bars.jsonl").exists()
    assert run("triples", "make", "bars.txt", "--separator", "|", "--out", "bars.jsonl")[0] == 0
    assert [triple.response for triple in read_triples("bars.jsonl")] == ["c"]


def test_sample(run: Run, folder: Path) -> None:
    code, out, err = run("triples", "sample", "triples.jsonl", "--n", "5", "--seed", "3", "--out", "seeds.jsonl")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].split() == ["5", "3", "0", "0"]
    expected = sample_triples(TripleList(read_triples("triples.jsonl")), 5, seed=3)
    assert read_triples("seeds.jsonl") == expected
    (folder / "corpus").mkdir()
    lines = (folder / "triples.jsonl").read_text().splitlines(keepends=True)
    (folder / "corpus" / "1.jsonl").write_text("".join(lines[:7]))
    (folder / "corpus" / "2.jsonl").write_text("".join(lines[7:]) + '{"message": "", "response": "x"}\n{}\n')
    code, out, err = run("triples", "sample", "--n", "5", "--seed", "3", "corpus", "--skip-bad")
    assert code == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == [triple.id for triple in expected]
    assert err.splitlines() == [
        "trubleu: warning: rows that could not be used and were skipped: 1",
        "trubleu: warning: rows with a blank message or response, skipped: 1",
    ]
    assert refused(run("triples", "sample", "corpus", "--n", "5")).startswith("corpus/2.jsonl:15: the field message")


def test_sample_refuses(run: Run, folder: Path) -> None:
    assert refused(run("triples", "sample", "triples.jsonl", "--n", "21")) == (
        "21 triples cannot be drawn from a corpus of 20; draw that many at most"
    )
    assert "draw 1 or more" in refused(run("triples", "sample", "triples.jsonl", "--n", "0"))
    assert "0 or more, not -1" in refused(run("triples", "sample", "triples.jsonl", "--n", "1", "--seed", "-1"))
    assert "needs CORPUS" in refused(run("triples", "sample", "--n", "1"))
    assert "there is no such file" in refused(run("triples", "sample", "none.tsv", "--n", "1"))
    (folder / "corpus").mkdir()
    (folder / "corpus" / "1.jsonl").write_text((folder / "triples.jsonl").read_text())
    target = "corpus/1.jsonl"
    assert "would be lost" in refused(run("triples", "sample", "corpus", "--n", "1", "--out", target))


def test_sample_from_columns(run: Run, folder: Path) -> None:
    (folder / "c.tsv").write_text("train\tc\tm\tr\n")
    code, out, _ = run("triples", "sample", "c.tsv", "--columns=-,context,message,response", "--n", "1")
    assert code == 0
    assert json.loads(out) == {"id": "c.tsv:1", "context": ["c"], "message": "m", "response": "r"}


SPLIT = (
    "triples",
    "split",
    "triples.jsonl",
    "--ratings",
    "ratings.csv",
    "--dev-out",
    "dev.jsonl",
    "--test-out",
    "t.jsonl",
)


def test_split(run: Run) -> None:
    code, out, err = run(*SPLIT, "--seed", "5", "--dev", "0.25", "--format", "json")
    assert (code, err) == (0, "trubleu: warning: triples without ratings, left out: 4\n")
    (row,) = json.loads(out)["triples"]
    assert row == {
        "schema": 1, "triples": 20, "unrated": 4, "rated": 16, "few": 0, "low": 4, "dropped": 4, "kept": 12, "dev": 3,
        "test": 9, "seed": 5,
    }  # fmt: skip
    dev, test = ([int(triple.id[1:]) for triple in read_triples(name)] for name in ("dev.jsonl", "t.jsonl"))
    assert (len(dev), len(test), sorted(dev + test)) == (3, 9, list(range(12)))
    assert (dev, test) == (sorted(dev), sorted(test))
    code, out, _ = run(*SPLIT, "--seed", "6", "--dev", "0.25")
    assert (code, out.splitlines()[-1].split()) == (0, ["20", "4", "16", "0", "4", "4", "12", "3", "9", "6"])
    assert [int(triple.id[1:]) for triple in read_triples("dev.jsonl")] != dev
    assert run(*SPLIT, "--least", "3", "--quiet") == (0, "", "")
    assert len(read_triples(["dev.jsonl", "t.jsonl"])) == 16


def test_split_refuses_and_writes_nothing(run: Run, folder: Path) -> None:
    before = sorted(folder.iterdir())
    code, out, err = run(*SPLIT, "--raters", "4")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(
        "trubleu: ratings.csv: none of 20 triples is rated 4 or more on average by 4"
    )
    assert "must be between 0 and 1" in refused(run(*SPLIT, "--dev", "1.5"))
    assert "must be between 1 and 5" in refused(run(*SPLIT, "--least", "7"))
    assert "are the same file" in refused(run(*SPLIT[:-1], "dev.jsonl"))
    assert "none can be standard output" in refused(run(*SPLIT[:-1], "-"))
    for used in ("triples.jsonl", "ratings.csv"):
        message = refused(run(*SPLIT[:-1], used))
        assert "would be lost" in message or "cannot be written here" in message
    assert "can be read only once" in refused(run("triples", "split", "-", "--ratings", "-", *SPLIT[5:]))
    rows = (folder / "triples.jsonl").read_text()
    (folder / "triples.jsonl").write_text(rows + "\n" + rows.splitlines()[4])
    assert refused(run(*SPLIT)) == (
        "triples.jsonl:22: the id 't4' is already used at triples.jsonl:5; every triple needs its own"
    )
    (folder / "ratings.csv").write_text("item,rater,score\nt1,ann,6\n")
    assert refused(run(*SPLIT)) == "ratings.csv:2: score must be a number from 1 to 5, not 6"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("triples", "make", "dialogues.txt", "--out", "out.jsonl"),
        ("triples", "sample", "triples.jsonl", "--n", "5", "--out", "out.jsonl"),
        (*SPLIT[:-1], "out.jsonl", "--quiet"),
    ],
)
def test_ctrl_c_leaves_nothing_half_written(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    before = sorted(folder.iterdir())
    left = iter([None])

    def interrupted(_triple: object) -> str:
        if next(left, "nothing") is None:
            return "{}"
        raise KeyboardInterrupt

    monkeypatch.setattr(triples_module, "json_line", interrupted)
    assert run(*arguments) == (130, "", "trubleu: interrupted; nothing was written\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", ["make", "sample", "split"])
def test_help_has_examples(run: Run, command: str) -> None:
    code, out, _ = run("triples", command, "--help")
    assert code == 0
    assert f"examples:\n  trubleu triples {command}" in out
