"""``--format`` and ``--out``, and ``--source`` for iBLEU, as people call them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import trubleu
import trubleu.scoring.partitions  # makes sizes from PART, which a test below changes
from trubleu.cli import main
from trubleu.data import corpus

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS: list[dict[str, Any]] = [
    {"id": "x", "message": "how was it", "references": [{"text": "the food was great", "weight": 1.0}, {"text": "no"}]},
    {"id": "y", "message": "and the music", "references": [{"text": "it was loud", "weight": 0.8}]},
]
OUTPUTS = ["the food was great", "and the music was loud"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "sys_A.txt").write_text("\n".join(OUTPUTS) + "\n")
    (tmp_path / "source.txt").write_text("how was it\nand the music\n")
    (tmp_path / "plain.txt").write_text("the food was great\nit was loud\n")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["score", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def table(out: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out, newline=""), strict=True))


def test_csv_has_what_json_has(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "sys_A.txt", "-m", "bleu-2", "-m", "ibleu-2", "--ci", "--resamples", "50")
    lines = [line for line in table(run(*call, "--format", "csv")[1]) if line["table"] == "scores"]
    rows = json.loads(run(*call, "--format", "json")[1])["scores"]
    assert list(lines[0]) == ["table", "system", "metric", "score", "low", "high", "signature", "note"]
    for line, row in zip(lines, rows, strict=True):
        for name in ("score", "low", "high"):
            assert float(line[name]).hex() == row[name].hex()
        assert [line[name] for name in ("system", "metric", "signature")] == [
            row[name] for name in ("system", "metric", "signature")
        ]


def test_p_values_that_cannot_be_lower_say_so_in_every_format(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "sys_A.txt", "b=plain.txt", "-m", "bleu-2", "--test", "--method", "bootstrap")
    few = (*call, "--resamples", "50")
    notes = [row["note"] for row in json.loads(run(*few, "--format", "json")[1])["notes"]]
    assert "p (Holm) is at least 0.02 with 50 resamples and 1 test; --resamples 1000 lets it be lower" in notes
    assert any(note.startswith("too few segments differ for a verdict: ") for note in notes)
    assert [line["note"] for line in table(run(*few, "--format", "csv")[1]) if line["note"]] == notes
    for form in ("text", "markdown", "latex"):
        assert "is at least 0.02 with 50 resamples" in run(*few, "--format", form)[1]
    assert "lets it be lower" not in run(*call, "--resamples", "1000")[1]


def test_csv_of_scores_tests_and_segments_is_one_table(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "sys_A.txt", "b=plain.txt", "-m", "bleu-2", "--test", "--resamples", "50")
    lines = table(run(*call, "--segments", "--format", "csv")[1])
    assert [line["table"] for line in lines] == ["scores"] * 2 + ["tests"] + ["segments"] * 4 + ["notes"] * 2
    assert [(line["id"], line["system"]) for line in lines[3:-2]] == [
        (segment, system) for system in ("sys_A", "b") for segment in "xy"
    ]
    assert {line["table"] for line in table(run(*call, "--format", "csv")[1])} == {"scores", "tests", "notes"}


def test_markdown_and_latex(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "sys_A.txt", "a&b|=plain.txt", "-m", "bleu-1", "-m", "ter", "--digits", "1")
    code, out, err = run(*call, "--format", "markdown")
    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == [
        "| system | bleu-1 | ter ↓ |",
        "|:--|--:|--:|",
        "| sys_A | 66.7 | 54.5 |",
        r"| a&amp;b\| | 100.0 | 0.0 |",
    ]
    assert out.splitlines()[5].startswith("- bleu-1: bleu-1|nrefs:var|")
    code, out, err = run(*call, "--format", "latex")
    assert (code, err) == (0, "")
    assert out.splitlines()[1].startswith("% bleu-1: bleu-1|nrefs:var|")
    assert out.splitlines()[3:] == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"system & bleu-1 & ter $\downarrow$ \\",
        r"\midrule",
        r"sys\_A & 66.7 & 54.5 \\",
        r"a\&b\textbar{} & 100.0 & 0.0 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize("style", ["text", "json", "csv", "markdown", "latex"])
def test_out_holds_what_would_be_printed(style: str, folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "sys_A.txt", "-m", "bleu-4", "--format", style)
    printed = run(*call)[1]
    assert run(*call, "--out", "table") == (0, "", "")
    assert (folder / "table").read_bytes() == printed.encode()
    assert ("\r\n" in printed) == (style == "csv")


def test_help_lists_the_formats_and_loads_nothing() -> None:
    code = "import sys, trubleu.cli; trubleu.cli.build_parser(); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    shown = subprocess.run(
        [sys.executable, "-m", "trubleu", "score", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "text (default), json, csv, markdown or latex" in " ".join(shown.split())


# --source and ibleu


def score(out: str, metric: str) -> float:
    found: float = next(row["score"] for row in json.loads(out)["scores"] if row["metric"] == metric)
    return found


def test_the_source_is_the_message_or_a_file(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    references = [[reference["text"] for reference in row["references"]] for row in ROWS]
    sources = [[row["message"]] for row in ROWS]
    expected = (
        0.9 * trubleu.corpus_score(OUTPUTS, references, "bleu-2").score
        - 0.1 * trubleu.corpus_score(OUTPUTS, sources, "bleu-2").score
    )
    call = ("sys_A.txt", "-m", "ibleu-2", "--format", "json")
    assert score(run("--refs", "refs.jsonl", *call)[1], "ibleu-2") == pytest.approx(expected)
    (folder / "zipped.gz").write_bytes(gzip.compress((folder / "source.txt").read_bytes()))
    for source in ("source.txt", "zipped.gz"):
        out = run("--refs", "refs.jsonl", "--source", source, *call)[1]
        assert score(out, "ibleu-2") == pytest.approx(expected)
    # The file wins over the messages.
    (folder / "other.txt").write_text("x\ny\n")
    out = run("--refs", "refs.jsonl", "--source", "other.txt", *call)[1]
    assert score(out, "ibleu-2") == pytest.approx(0.9 * trubleu.corpus_score(OUTPUTS, references, "bleu-2").score)


def test_the_source_of_plain_references(
    folder: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("--ref", "plain.txt", "--source", "source.txt", "sys_A.txt", "-m", "ibleu-1", "-m", "bleu-1")
    code, whole, err = run(*call, "--format", "json")
    assert (code, err) == (0, "")
    # Large files come part by part.
    monkeypatch.setattr(corpus, "WORTH_STREAMING", 1)
    monkeypatch.setattr(corpus, "PART", 1)
    assert run(*call, "--format", "json") == (0, whole, "")
    (folder / "short.txt").write_text("x\n")
    code, _, err = run("--ref", "plain.txt", "--source", "short.txt", "sys_A.txt", "-m", "ibleu-1")
    assert code == 2
    assert "short.txt" in err


def test_standard_input_may_be_the_source(
    folder: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("--ref", "plain.txt", "sys_A.txt", "-m", "ibleu-1", "--format", "json")
    expected = run("--source", "source.txt", *call)[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "source.txt").read_bytes())))
    assert run("--source", "-", *call)[1] == expected


def test_alpha_for_all_metrics(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "sys_A.txt", "-m", "ibleu-2", "-m", "bleu-2", "--format", "json")
    out = run(*call, "--alpha", "1")[1]
    assert score(out, "ibleu-2") == score(out, "bleu-2")
    out = run(*call, "--alpha", "0")[1]  # 0 is a value, too
    assert score(out, "ibleu-2") < 0
    assert "|alpha:0|" in out


def test_alpha_is_not_that_of_meteor(run: Callable[..., tuple[int, str, str]]) -> None:
    call = ("--refs", "refs.jsonl", "sys_A.txt", "--alpha", "0.5", "--format", "json")
    code, out, err = run(*call, "-m", "meteor")
    assert (code, out) == (2, "")
    assert "--alpha has no effect" in err
    out = run(*call, "-m", "ibleu-2", "-m", "meteor", "-m", "meteor[alpha=0.4]")[1]
    assert [row["signature"].split("alpha:")[1].split("|")[0] for row in json.loads(out)["scores"]] == [
        "0.5",
        "0.9",
        "0.4",
    ]


def test_options_of_0_count(folder: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    (folder / "null.jsonl").write_text('{"references": [{"text": "a", "weight": 1}, {"text": "b", "weight": null}]}')
    (folder / "s.txt").write_text("b\n")
    code, out, _ = run("--refs", "null.jsonl", "s.txt", "-m", "dbleu-1", "--unrated-as", "0", "--format", "json")
    assert code == 0
    assert "|unrated:0|" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--ref", "plain.txt", "sys_A.txt", "-m", "ibleu-2"],
            "plain.txt has no message for segments 1, 2; .*--source FILE",
        ),
        (["--ref", "plain.txt", "sys_A.txt", "--source", "source.txt"], "--source has no effect"),
        (
            ["--ref", "plain.txt", "sys_A.txt", "--source", "three.txt", "-m", "ibleu"],
            "there are 3 lines in three.txt but plain.txt has 2 segments; give one text for each segment",
        ),
        (["--ref", "plain.txt", "sys_A.txt", "--source", "no.txt", "-m", "ibleu"], "no.txt: there is no such file"),
        (["--ref", "-", "sys_A.txt", "--source", "-", "-m", "ibleu"], "can be read only once"),
        (["--ref", "plain.txt", "-", "--source", "-", "-m", "ibleu"], "can be read only once"),
        (["--ref", "plain.txt", "sys_A.txt", "--alpha", "0.5"], "--alpha has no effect"),
        (["--ref", "plain.txt", "sys_A.txt", "-m", "ibleu", "--alpha", "2"], "alpha=2.0 must be a number from 0 to 1"),
        (["--ref", "plain.txt", "sys_A.txt", "--format", "html"], "--format.*invalid choice: 'html'"),
        (
            ["--ref", "plain.txt", "sys_A.txt", "--format", "csv", "--digits", "-1"],
            "--digits -1 must be between 0 and 17",
        ),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], message: str, folder: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    (folder / "three.txt").write_text("a\nb\nc\n")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_tables_fit_into_the_terminal_that_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("r.txt", "a-system-with-a-name.txt"):
        Path(name).write_text("a b c\n")
    command = ["score", "--ref", "r.txt", "a-system-with-a-name.txt"]
    command += ["-m", "bleu", "chrf", "sbleu-2", "bleu-1", "bleu-2", "bleu-3"]
    assert main(command) == 0
    plain = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(command) == 0
    narrow = capsys.readouterr().out
    headings = [line.split()[1:] for line in narrow.splitlines() if line.startswith("system ")]
    assert headings == [["bleu", "chrf", "sbleu-2"], ["bleu-1", "bleu-2", "bleu-3"]]
    assert main([*command, "--out", "o.txt"]) == 0
    assert Path("o.txt").read_text() == plain
