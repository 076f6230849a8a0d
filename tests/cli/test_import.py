"""``trubleu import`` and what other commands do with a set, as their users type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.data.raw_files import dstc7_files, mqm_file, usr_file, wmt_files
from trubleu.cli import main
from trubleu.cli.published import KINDS
from trubleu.data.published import PUBLISHED


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    return tmp_path


def test_kinds_are_those_that_there_are() -> None:
    assert tuple(PUBLISHED) == KINDS


def test_counts_and_the_licence_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dstc7_files(folder / "raw")
    (folder / "raw" / "LICENSE.txt").write_text("O-UDA\n")
    assert main(["import", "dstc7", "raw", "--out", "set"]) == 0
    assert capsys.readouterr().out.split("\n") == [
        "set: DSTC7 task 2, 1 item, 2 references, 2 systems, 2 outputs, 4 ratings",
        "  left out: 1 item without a reference, 1 output without a reference, 4 ratings of outputs that are not here",
        f"  licence: {PUBLISHED['dstc7'].licence}; see LICENSE.txt",
        "",
    ]
    assert sorted(path.name for path in (folder / "set").iterdir()) == [
        "LICENSE.txt",
        "outputs",
        "ratings.csv",
        "references.jsonl",
        "set.json",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dstc7", "raw", "--out", "set"], "raw has no dstc7-task2-context.tsv; import dstc7 takes the folder of"),
        (["usr", "nowhere", "--out", "set"], "there is no nowhere; import usr takes tc_usr_data.json or"),
        (["usr", "raw", "--out", "full"], "raw holds nothing that import usr reads; it takes"),
        (["mqm", "mqm_made.tsv", "--out", "full"], "full already holds something (mine); give another folder"),
        (["mqm", "mqm_made.tsv", "other", "--out", "set"], "import does not take other; leave it out"),
        (["mqm", "mqm_made.tsv", "--out", "s3://b/set"], "s3://b/set is an address; a set is written to a folder of"),
        (["summeval", "mqm_made.tsv", "--out", "set"], "mqm_made.tsv:1: this is not JSON"),
        (["dstc9", "raw", "--out", "set"], "argument KIND: invalid choice: 'dstc9'"),
        (["mqm", "mqm_made.tsv"], "the following arguments are required: --out"),
    ],
)
def test_what_cannot_be_imported(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mqm_file(folder)
    (folder / "full").mkdir()
    (folder / "full" / "mine").touch()
    before = sorted(folder.rglob("*"))
    try:
        code = main(["import", *arguments])
    except SystemExit as leaving:
        code = leaving.code  # type: ignore[assignment]
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert message in printed.err
    assert sorted(folder.rglob("*")) == before


def test_an_interrupted_import_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mqm_file(folder)
    before = sorted(folder.rglob("*"))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trubleu.data.sets.write_ratings", interrupt)
    assert main(["import", "mqm", "mqm_made.tsv", "--out", "set"]) == 130
    assert sorted(folder.rglob("*")) == before


def scores(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    capsys.readouterr()
    assert main(["score", *arguments, "-m", "chrf", "--format", "json"]) == 0
    return {row["system"]: row["score"] for row in json.loads(capsys.readouterr().out)["scores"]}


def test_a_set_is_scored_with_all_or_some_of_its_systems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dstc7_files(folder / "raw")
    assert main(["import", "dstc7", "raw", "--out", "set"]) == 0
    by_file = scores(capsys, "--refs", "set/references.jsonl", "set/outputs/A.jsonl", "set/outputs/B.jsonl")
    assert scores(capsys, "set") == by_file
    assert scores(capsys, "set", "B") == {"B": by_file["B"]}
    Path("mine.txt").write_text("yes\n")
    assert scores(capsys, "set", "A", "mine=mine.txt") == {"A": by_file["A"], "mine": by_file["A"]}
    assert scores(capsys, "set", "-i", "mine.txt") == {"mine": by_file["A"]}
    Path("other.jsonl").write_text('{"id": "i1", "references": [{"text": "yes"}]}\n')
    assert scores(capsys, "set", "A", "--refs", "other.jsonl") == {"A": 100.0}


def test_a_set_is_compared_and_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dstc7_files(folder / "raw")
    assert main(["import", "dstc7", "raw", "--out", "set"]) == 0
    assert main(["compare", "set", "-m", "bleu", "--resamples", "10", "--quiet"]) == 0
    assert main(["explain", "set", "A", "--segment", "i1", "-m", "sbleu-2", "--quiet"]) == 0
    assert "segment i1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "set", "C"], "C is neither a system of set nor a file of outputs; known: A, B"),
        (["score", "set", "pairs/newstest.de-en"], "set and pairs/newstest.de-en are sets; give one at a time"),
        (["score", "pairs"], "pairs holds several sets: newstest.cs-en, newstest.de-en; name one, such as pairs/news"),
        (["score", "set", "--out", "set/outputs/A.jsonl"], "set/outputs/A.jsonl is read by this command and would be"),
        (
            ["judge", "pairs", "A.txt", "B.txt", "--ref", "r"],
            "there is no A.txt; give --ratings FILE with outputs and",
        ),
        (["judge", "pairs", "set/ratings.csv"], "there is nothing to judge by; give --ratings FILE with outputs and"),
        (["judge", "pairs", "usr", "--aspect", "Natural", "--aspect", "Overall"], "--aspect Natural and Overall have"),
        (["judge", "pairs", "usr", "--aspect", "Natura"], "usr/ratings.csv has no ratings of the aspect 'Natura'; did"),
    ],
)
def test_what_sets_are_refused(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dstc7_files(folder / "raw")
    usr_file(folder)
    mqm_file(folder)
    wmt_files(folder, "de-en")
    wmt_files(folder, "cs-en")
    for kind, source, out in (
        ("dstc7", "raw", "set"),
        ("usr", "tc_usr_data.json", "usr"),
        ("mqm", "mqm_made.tsv", "mqm"),
        ("wmt-da", ".", "pairs"),
    ):
        assert main(["import", kind, source, "--out", out]) == 0
    capsys.readouterr()
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"trubleu: {message}")
    assert printed.err.count("\n") == 1


def test_a_set_is_judged_by_its_ratings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = usr_file(folder)
    entry = json.loads(path.read_text())[0]
    entry["responses"][2]["Natural"] = [3, 3, 3]
    path.write_text(json.dumps([entry, entry]))
    assert main(["import", "usr", str(path), "--out", "set"]) == 0
    capsys.readouterr()
    judged = ["-m", "bleu-2", "--unit", "1", "--draws", "5", "--resamples", "5", "--sweeps", "none", "--quiet"]
    judged += ["--format", "json"]

    def rated(*more: str) -> list[float]:
        assert main(["judge", "pairs", "set", *more, *judged]) == 0
        return [row["mean_rating"] for row in json.loads(capsys.readouterr().out)["systems"]]

    assert rated() == [pytest.approx(7 / 3), pytest.approx(14 / 3)]
    assert rated("--aspect", "Natural", "--pairs", "New-Human:Nucleus-(p-=-0.3)") == [2, 3]


def test_the_real_dstc7_in_three_commands(real_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "dstc7", str(real_data / "dstc7"), "--out", "dstc7"]) == 0
    few = ["-m", "bleu-2", "--draws", "5", "--resamples", "5", "--sweeps", "none", "--quiet", "--browse", "5"]
    command = ["judge", "pairs", "dstc7", "--repeated-ratings", "keep", "--drop-equal", "Human", "--condition", "all"]
    assert main([*command, *few, "--report", "dstc7.html"]) == 0
    assert "TeamCE" in Path("dstc7.html").read_text(encoding="utf-8")
    assert "bleu-2" in capsys.readouterr().out
