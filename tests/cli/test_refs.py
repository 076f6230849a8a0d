"""``trubleu refs`` as its users call it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from trubleu.cli import main
from trubleu.data import References
from trubleu.scoring import check_references

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

REFERENCES: list[dict[str, Any]] = [
    {
        "id": "x",
        "references": [
            {"text": "the food was great", "weight": 1.0, "origin": "seed"},
            {"text": "the food was great", "weight": -0.3, "origin": "mined"},
            {"text": "so so", "weight": 0.1, "origin": "mined"},
        ],
    },
    {"id": "y", "references": [{"text": "it was loud", "weight": -0.9}, {"text": "", "weight": -1.0}]},
    {"id": "z", "references": [{"text": "bye", "weight": None}, {"text": "bye", "weight": None}]},
    {"id": "w", "references": [{"text": "fine", "ratings": [5, 4, 5]}]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in REFERENCES))
    (tmp_path / "a.txt").write_text("hello\nbye\n")
    (tmp_path / "b.txt").write_text("hi\n\n")
    (tmp_path / "wa.txt").write_text("1\n0.5\n")
    (tmp_path / "wb.txt").write_text("0.7\n\n")
    (tmp_path / "sys.txt").write_text("hello there\nbye\n")
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


# check


def test_check_prints_counts_weights_findings_and_origins(run: Run) -> None:
    code, out, err = run("refs", "check", "refs.jsonl")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2].split() == ["4", "8", "1", "2.00", "3"]
    weights = {tuple(line.split()[:2]): line.split()[2:] for line in lines[7:27]}
    assert weights["-1.0", "-0.9"] == ["1", "█" * 40]
    assert weights["-0.9", "-0.8"] == ["1", "█" * 40]
    assert weights["-0.3", "-0.2"] == ["1", "█" * 40]
    assert weights["+0.1", "+0.2"] == ["1", "█" * 40]
    assert weights["+0.9", "+1.0"] == ["1", "█" * 40]
    assert weights["+0.0", "+0.1"] == ["0"]
    findings = out[out.index("Findings") : out.index("Origins")]
    for line in (
        "no positive weight                      4         2\n",
        "not rated yet                           2         1\n",
        "same text again, same weight            2         1\n",
        "same text again, other weight           2         1\n",
        "empty text                              1         1\n",
        "no positive weight: y, z\n",
        "not rated yet: z\n",
        "same text again, same weight: z\n",
        "same text again, other weight: x\n",
        "empty text: y\n",
    ):
        assert line in findings
    assert out[out.index("Origins") :].split()[-6:] == ["–", "5", "mined", "2", "seed", "1"]


def test_check_as_json(run: Run) -> None:
    code, out, _ = run("refs", "check", "--format", "json", "refs.jsonl")
    assert code == 0
    found = json.loads(out)
    assert found["schema"] == 1
    assert found["counts"] == [{"schema": 1, "segments": 4, "references": 8, "fewest": 1, "mean": 2.0, "most": 3}]
    assert len(found["weights"]) == 20
    assert sum(row["references"] for row in found["weights"]) == 6
    assert {row["finding"]: (row["references"], row["segments"]) for row in found["findings"]} == {
        "no_positive": (4, 2),
        "unrated": (2, 1),
        "repeated": (2, 1),
        "contradicted": (2, 1),
        "empty": (1, 1),
    }
    assert [row["id"] for row in found["examples"] if row["finding"] == "no_positive"] == ["y", "z"]
    assert {row["origin"]: row["references"] for row in found["origins"]} == {None: 5, "mined": 2, "seed": 1}


@pytest.mark.parametrize("name", ["csv", "markdown", "latex"])
def test_check_in_other_formats(run: Run, name: str) -> None:
    code, out, _ = run("refs", "check", "refs.jsonl", "--format", name)
    assert code == 0
    assert ("█" in out) == (name == "markdown")
    if name == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert {row["table"] for row in rows} == {"counts", "weights", "findings", "examples", "origins"}


def test_check_goes_to_a_file(run: Run, folder: Path) -> None:
    assert run("refs", "check", "refs.jsonl", "--out", "report.txt") == (0, "", "")
    assert "no positive weight" in (folder / "report.txt").read_text(encoding="utf-8")


def test_check_lists_ten_ids_at_most(run: Run, folder: Path) -> None:
    (folder / "many.txt").write_text("\n" * 1200)
    _, out, _ = run("refs", "check", "many.txt")
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1,190 more" in out
    assert "Weights" not in out
    assert "Origins" not in out


def test_check_of_nothing(run: Run, folder: Path) -> None:
    (folder / "none.txt").write_text("")
    code, out, _ = run("refs", "check", "none.txt")
    assert code == 0
    assert out.splitlines()[2].split() == ["0", "0", "0", "0.00", "0"]


def test_tenths_begin_a_bin() -> None:
    tenths = [number / 10 for number in range(-10, 11)]
    check = check_references(References.from_lists([["a"]] * 21, [[weight] for weight in tenths]))
    assert [bin_.references for bin_ in check.weights] == [1] * 19 + [2]
    assert [bin_.low for bin_ in check.weights] == tenths[:-1]
    assert [bin_.high for bin_ in check.weights] == tenths[1:]
    assert json.loads(json.dumps(check.to_dict()))["segments"] == 21
    assert check.finding("no_positive").segments == 11


def test_a_prepared_file_is_checked_like_any_other(run: Run) -> None:
    expected = run("refs", "check", "refs.jsonl")
    run("refs", "prepare", "refs.jsonl", "--out", "refs.tbp")
    assert run("refs", "check", "refs.tbp") == expected


# convert


@pytest.mark.parametrize("target", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"])
def test_convert_and_back(run: Run, folder: Path, target: str) -> None:
    assert run("refs", "convert", "refs.jsonl", target) == (0, "", "")
    assert list(References.read(folder / target)) == list(References.read(folder / "refs.jsonl"))
    assert run("refs", "convert", target, "back.jsonl") == (0, "", "")
    assert list(References.read(folder / "back.jsonl")) == list(References.read(folder / "refs.jsonl"))


def test_convert_plain_files(run: Run, folder: Path) -> None:
    arguments = ("--ref", "a.txt", "--ref", "b.txt", "--weight", "wa.txt", "--weight", "wb.txt")
    assert run("refs", "convert", *arguments, "out.jsonl.gz") == (0, "", "")
    lines = gzip.decompress((folder / "out.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line)["references"] for line in lines] == [
        [{"text": "hello", "weight": 1.0}, {"text": "hi", "weight": 0.7}],
        [{"text": "bye", "weight": 0.5}],
    ]
    assert run("refs", "convert", "other.jsonl", *arguments)[0] == 0  # files may stand anywhere
    assert list(References.read("other.jsonl")) == list(References.read("out.jsonl.gz"))


def test_tables_with_other_titles_and_scales(run: Run, folder: Path) -> None:
    (folder / "odd.csv").write_text("conv,words,ann,bob\n1,a,50,100\n1,b,0,0\n")
    columns = ["--columns", "id=conv,text=words,ratings=ann+bob"]
    code, _, err = run("refs", "check", "odd.csv")
    assert code == 2
    assert "say which it is: --columns text=TITLE" in err
    code, _, err = run("refs", "check", "odd.csv", *columns)
    assert code == 2
    assert "say on which scale they are: --scale LOW:HIGH" in err
    assert run("refs", "convert", "odd.csv", *columns, "--scale", "0:100", "refs.jsonl")[0] == 0
    assert References.read(folder / "refs.jsonl").weights.tolist() == [0.5, -1.0]  # type: ignore[union-attr]
    code, _, err = run("refs", "check", "--ref", "odd.csv", "--scale", "0:100")
    assert (code, err) == (
        2,
        "trubleu: --columns and --scale go with a table, and --ref names plain text; leave them out\n",
    )


def test_convert_only_good_ones(run: Run, folder: Path) -> None:
    assert run("refs", "convert", "refs.jsonl", "good.jsonl", "--min-weight", "0.1") == (0, "", "")
    rows = [json.loads(line) for line in (folder / "good.jsonl").read_text("utf-8").splitlines()]
    kept = {row["id"]: [(one["text"], one["weight"]) for one in row["references"]] for row in rows}
    assert kept == {
        "x": [("the food was great", 1.0), ("so so", 0.1)],
        "y": [("it was loud", -0.9)],  # none is good enough, and this is the best
        "z": [("bye", None)],
        "w": [("fine", pytest.approx(5 / 6))],
    }


def test_convert_from_a_prepared_file(run: Run) -> None:
    run("refs", "prepare", "refs.jsonl", "--out", "refs.tbp", "--tokenize", "none")
    assert run("refs", "convert", "refs.tbp", "back.jsonl") == (0, "", "")
    assert list(References.read("back.jsonl")) == list(References.read("refs.jsonl"))


# prepare


def test_prepare_and_score(run: Run, folder: Path) -> None:
    (folder / "good.txt").write_text("the food was great\nloud\nbye\nfine\n")
    arguments = ("good.txt", "-m", "bleu-2", "-m", "chrf", "-m", "sbleu-2[tokenize=chat]", "--quiet")
    expected = run("score", "--refs", "refs.jsonl", *arguments)
    assert expected[0] == 0
    assert run("refs", "prepare", "refs.jsonl", "--out", "refs.tbp") == (0, "", "")
    assert run("score", "--refs", "refs.tbp", *arguments) == expected


def test_prepare_takes_a_tokenizer(run: Run) -> None:
    assert run("refs", "prepare", "refs.jsonl", "--out", "r.tbp", "--tokenize", "chat", "--lowercase")[0] == 0
    prepared = References.read("r.tbp").prepare(tokenize="chat", lowercase=True)
    assert repr(prepared) == "<PreparedReferences: 4 segments, chat, lower case>"


def test_prepare_plain_files(run: Run) -> None:
    assert run("refs", "prepare", "--ref", "a.txt", "--ref", "b.txt", "--out", "ab.tbp")[0] == 0
    assert References.read("ab.tbp").texts == ("hello", "hi", "bye", "")
    assert run("score", "--refs", "ab.tbp", "sys.txt", "--quiet")[0] == 0


# What goes wrong is said in one sentence, and nothing is written


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("check",), "references are given as one file or with one or more --ref FILE, not as none"),
        (("check", "refs.jsonl", "a.txt"), "not as 2 files"),
        (("check", "refs.jsonl", "--ref", "a.txt"), "not as both"),
        (("check", "no.jsonl"), "no.jsonl: there is no such file; check the path"),
        (("check", "a.txt", "--weight", "wa.txt"), "--weight goes with --ref"),
        (("check", "refs.jsonl", "--nothing"), "there is no option --nothing"),
        (("check", "refs.jsonl", "--format", "xml"), "invalid choice"),
        (("convert",), "needs the file to write"),
        (("convert", "refs.jsonl"), "not as none"),
        (("convert", "refs.jsonl", "a.txt", "out.jsonl"), "not as 2 files"),
        (("convert", "refs.jsonl", "out.jsonl", "--min-weight", "2"), "--min-weight 2 must be between -1 and 1"),
        (("convert", "a.txt", "out.jsonl", "--min-weight", "0"), "a.txt have no weights; leave out --min-weight"),
        (("convert", "refs.jsonl", "no/out.jsonl"), "there is no folder no; create it first"),
        (("convert", "refs.jsonl", "out.docx"), "out.docx"),
        (("prepare", "refs.jsonl"), "--out"),
        (("prepare", "refs.jsonl", "--out", "-"), "cannot go to standard output"),
        (("prepare", "refs.jsonl", "--out", "out.tbp", "--tokenize", "13b"), "there is no tokenizer '13b'"),
        (("prepare", "--out", "out.tbp"), "not as none"),
        ((), "COMMAND"),
        (("chekc", "refs.jsonl"), "invalid choice"),
    ],
)
def test_wrong_arguments(run: Run, folder: Path, arguments: tuple[str, ...], wanted: str) -> None:
    before = sorted(folder.iterdir())
    code, out, err = run("refs", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert wanted in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", [("refs", "check", "refs.tbp"), ("score", "--refs", "refs.tbp", "sys.txt")])
def test_prepared_files_that_cannot_be_used(run: Run, folder: Path, command: tuple[str, ...]) -> None:
    run("refs", "prepare", "--ref", "a.txt", "--out", "refs.tbp")
    content = (folder / "refs.tbp").read_bytes()
    remedy = "prepare the references again with trubleu refs prepare\n"
    for changed, wanted in (
        (content[:-64], "refs.tbp ends early"),
        (b"hello\n", "refs.tbp is not a prepared file"),
        (content[:16] + bytes([content[16] + 1]) + content[17:], "refs.tbp was made by a newer TruBLEU"),
        (content[:16] + bytes([content[16] - 1]) + content[17:], "refs.tbp was made by an older TruBLEU"),
        (content.replace(b"hello", b"hallo"), "refs.tbp was altered or damaged"),
        (content.replace(b"hello", b"hallo").replace(b"olleh", b"ollah"), "refs.tbp was altered or damaged"),
    ):
        (folder / "refs.tbp").write_bytes(changed)
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert err.startswith(f"trubleu: {wanted}")
        assert err.endswith(remedy)


def test_help_names_the_commands(run: Run) -> None:
    code, out, _ = run("refs", "--help")
    assert code == 0
    for command in ("check", "convert", "prepare"):
        assert f"    {command}" in out
        assert run("refs", command, "--help")[0] == 0
