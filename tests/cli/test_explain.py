"""``trubleu explain`` as its users call it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import trubleu
from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

REFERENCES: list[dict[str, Any]] = [
    {
        "id": "talk-1",
        "context": ["hi", "hello"],
        "message": "how was it?",
        "references": [{"text": "the food was great", "weight": 1.0}, {"text": "i do not know", "weight": -0.5}],
    },
    {"id": "talk-2", "references": [{"text": "it was loud", "weight": 0.8}, {"text": "so so loud", "weight": 0.6}]},
    {"id": "talk-3", "references": [{"text": "we will <b>come</b> back", "weight": 0.9}]},
]
GOOD = ["the food was great", "it was so loud", "we will be back"]
BAD = ["i do not know", "it was loud", "i do not know"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "refs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in REFERENCES))
    (tmp_path / "good.txt").write_text("\n".join(GOOD) + "\n")
    (tmp_path / "bad.txt").write_text("\n".join(BAD) + "\n")
    (tmp_path / "plain.txt").write_text("the food was good\nit was loud\nwe will be back\n")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["explain", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def explanations(out: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(out)["explanations"]
    return rows


def test_one_segment_as_text(run: Run) -> None:
    code, out, err = run("--refs", "refs.jsonl", "good.txt", "--segment", "talk-1", "-m", "dbleu-2")
    assert (code, err) == (0, "")
    assert out.startswith(
        "segment talk-1\ncontext   hi\ncontext   hello\nmessage   how was it?\n\ngood: dbleu-2 = 100.00"
    )
    assert "output    [the food was great]+1" in out


def test_json_has_every_number_of_the_score(run: Run) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "B=bad.txt", "--segment", "talk-3", "--segment", "talk-1")
    code, out, _ = run(*call, "-m", "dbleu-2", "--format", "json")
    assert code == 0
    assert json.loads(out)["schema"] == 1
    rows = explanations(out)
    assert [(row["segment"], row["system"]) for row in rows] == [
        ("talk-3", "good"),
        ("talk-3", "B"),
        ("talk-1", "good"),
        ("talk-1", "B"),
    ]
    metric = trubleu.metric("dbleu-2")
    references = trubleu.References.read("refs.jsonl")
    for row in rows:
        texts = GOOD if row["system"] == "good" else BAD
        place = references.ids.index(row["segment"])
        assert row["score"] == metric.segments(texts, references)[place]
        statistics = [row["hypothesis_length"], row["reference_length"]]
        for field in ("numerator", "denominator", "count"):
            statistics += [order[field] for order in row["orders"]]
        assert statistics == metric.statistics(texts, references)[place].tolist()
    fields = """schema system segment metric signature message context output tokens score brevity_penalty
        hypothesis_length reference_length length_from best_weight orders references"""
    assert rows[0].keys() == {*fields.split()}
    gram = rows[3]["orders"][1]["ngrams"][0]
    assert gram == {
        "tokens": ["i", "do"],
        "positions": [0],
        "count": 1,
        "credit": -0.5,
        "possible": 1.0,
        "weight": -0.5,
        "weight_from": 2,
        "count_from": 2,
        "matches": [{"reference": 2, "count": 1, "clipped": 1, "weight": -0.5}],
    }


def test_the_metric_of_similarities(run: Run, folder: Path) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "bad.txt", "-m", "trubleu")
    code, out, err = run(*call, "--segment", "talk-2")
    assert (code, err) == (0, "")
    assert out.startswith("segment talk-2\n\ngood: trubleu = ")
    assert re.search(r"^loud +\d+\.\d\d +=    loud +=    loud$", out, re.MULTILINE)
    metric = trubleu.metric("trubleu")
    references = trubleu.References.read("refs.jsonl")
    code, out, _ = run(*call, "--differ", "2", "--format", "json")
    rows = explanations(out)
    assert [(row["segment"], row["system"]) for row in rows[:2]] == [("talk-1", "good"), ("talk-1", "bad")]
    for row in rows:
        scores = metric.segments(GOOD if row["system"] == "good" else BAD, references)
        assert row["score"] == scores[references.ids.index(row["segment"])]
        assert row["score"] == 100 * row["earned"] * (1 - row["cut"])
    assert rows[1]["cut_from"] == 2
    code, out, err = run(*call, "--segment", "talk-3", "--format", "html", "--out", "page.html")
    assert (code, out, err) == (0, "", "")
    assert "<b>" not in (folder / "page.html").read_text()
    assert [
        row["segment"]
        for row in explanations(run(*call[:2], "bad.txt", "-m", "trubleu-2", "--worst", "1", "--format", "json")[1])
    ] == ["talk-1"]


def test_the_metric_if_none_is_named(run: Run) -> None:
    out = run("--refs", "refs.jsonl", "good.txt", "--segment", "talk-1", "--format", "json")[1]
    assert explanations(out)[0]["metric"] == "trubleu"
    out = run("--ref", "plain.txt", "good.txt", "--segment", "1", "--format", "json")[1]
    assert explanations(out)[0]["metric"] == "trubleu"
    out = run("--ref", "plain.txt", "good.txt", "--segment", "1", "--tokenize", "words", "--format", "json")[1]
    assert "tok:words-3|" in explanations(out)[0]["signature"]


def test_the_worst_come_first(run: Run) -> None:
    call = ("--refs", "refs.jsonl", "bad.txt", "--worst", "2", "-m", "dbleu-1", "--format", "json")
    assert [row["segment"] for row in explanations(run(*call)[1])] == ["talk-1", "talk-3"]
    call = ("--refs", "refs.jsonl", "bad.txt", "--worst", "20", "-m", "sdbleu-1", "--format", "json")
    assert len(explanations(run(*call)[1])) == 3


def test_where_two_systems_differ_most(run: Run) -> None:
    call = ("--refs", "refs.jsonl", "good.txt", "bad.txt", "--differ", "1", "-m", "dbleu-1", "--format", "json")
    code, out, _ = run(*call)
    assert code == 0
    assert [(row["segment"], row["system"]) for row in explanations(out)] == [("talk-1", "good"), ("talk-1", "bad")]


def test_a_page_is_written_whole_and_texts_are_escaped(folder: Path, run: Run) -> None:
    (folder / "page.html").write_text("old")
    call = ("--refs", "refs.jsonl", "good.txt", "bad.txt", "--differ", "9", "-m", "dbleu-2")
    code, out, err = run(*call, "--format", "html", "--out", "page.html")
    assert (code, out, err) == (0, "", "")
    page = (folder / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<b>" not in page
    assert page.count("<article") == 3
    assert "&lt;" in page


def test_half_a_surrogate_pair_is_no_traceback(folder: Path, run: Run) -> None:
    (folder / "half.jsonl").write_text('{"id": "h", "references": [{"text": "a \\ud83d b"}]}\n')
    (folder / "one.jsonl").write_text('{"id": "h", "text": "a \\ud83d"}\n')
    for name in ("text", "json", "html"):
        code, _, err = run("--refs", "half.jsonl", "one.jsonl", "--segment", "h", "--format", name, "--out", "o")
        assert (code, err) == (0, "")
        assert "\\ud83d" in (folder / "o").read_bytes().decode()
        if name == "json":
            assert explanations((folder / "o").read_text())[0]["output"] == "a \ud83d"


def test_a_single_segment_needs_no_choice(folder: Path, run: Run) -> None:
    (folder / "r").write_text("the food was great\n")
    (folder / "one").write_text("the food was good\n")
    for more in ((), ("two=one",)):
        code, out, err = run("--ref", "r", "one", *more, "-m", "bleu-2")
        assert (code, err) == (0, "")
        assert out == run("--ref", "r", "one", *more, "-m", "bleu-2", "--segment", "1")[1]


BAD_CALLS: list[tuple[list[str], str]] = [
    (["--refs", "refs.jsonl", "good.txt", "--segment", "talk-9"], "'talk-9' in refs.jsonl; did you mean talk-"),
    (["--refs", "refs.jsonl", "good.txt", "--segment", "zzz"], "no segment 'zzz' in refs.jsonl; known: talk-1, talk-2"),
    (["--refs", "refs.jsonl", "good.txt"], "say which segments to explain, .* and --differ N; there are 3"),
    (["--refs", "refs.jsonl", "good.txt", "--segment", "talk-1", "--worst", "2"], "say which segments to explain"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "0"], "--worst 0 shows nothing"),
    (["--refs", "refs.jsonl", "good.txt", "bad.txt", "--differ", "-1"], "--differ -1 shows nothing"),
    (["--refs", "refs.jsonl", "good.txt", "--differ", "3"], "--differ needs two systems, not 1"),
    (["--refs", "refs.jsonl", "good.txt", "bad.txt", "--worst", "3"], "--worst takes one system"),
    (["--refs", "refs.jsonl", "good.txt", "c=good.txt", "--differ", "3"], "good and c have the same score in every"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "1", "-m", "chrf"], "chrf cannot be .* bleu, sbleu, dbleu, sd"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "1", "-m", "ibleu-2"], "ibleu-2 cannot be explained"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "1", "-m", "bleu", "-m", "dbleu"], "one metric is explained"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "1", "-m", "blue"], "there is no metric 'blue'"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "x"], "--worst.*invalid int value"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "1", "--format", "pdf"], "--format.*invalid choice"),
    (["--refs", "refs.jsonl", "good.txt", "--worst", "1", "--out", "no/where.html"], "no/where.html cannot be written"),
    (["--refs", "refs.jsonl", "missing.txt", "--worst", "1"], "missing.txt: there is no such file"),
    (["good.txt", "--worst", "1"], "references are given with --refs FILE"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: list[str], message: str, folder: Path, run: Run) -> None:
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert re.search(message, err)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_page_without_jinja_is_refused_before_files_are_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from trubleu.render.pages import load_page_templates

    load_page_templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, _, err = run("--refs", "missing.jsonl", "good.txt", "--worst", "1", "--format", "html")
    assert code == 2
    assert "pip install 'trubleu[report]'" in err


def test_help_is_light() -> None:
    code = (
        "import sys\nfrom trubleu.cli import main\n"
        "try:\n    main(['explain', '--help'])\n"
        "except SystemExit:\n    print('numpy' in sys.modules, 'jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--worst N" in done.stdout
    assert done.stdout.endswith("False False\n")


def test_findings_are_shown_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "refs.txt").write_text("It takes 30 days.\nYes.\n")
    (tmp_path / "sys.txt").write_text("It takes 60 days.\nYes.\n")
    command = ["explain", "--refs", str(tmp_path / "refs.txt"), str(tmp_path / "sys.txt"), "-m", "bleu-1", "--findings"]
    assert main([*command, "--segment", "1", "--segment", "2"]) == 0
    shown = capsys.readouterr().out
    assert 'warn  number: "60 days" is in no good reference\n' in shown
    assert "findings: none\n" in shown
    assert main([*command, "--segment", "1", "--format", "json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["explanations"]
    assert [found["kind"] for found in row["findings"]] == ["number", "missing number"]
    assert main([*command, "--segment", "1", "--segment", "2", "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert "number: &#34;60 days&#34;" in page
    assert "<p>No findings.</p>" in page
