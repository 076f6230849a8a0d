"""``trubleu check`` as its users call it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., tuple[int, str, str]]

QUESTIONS = [f"How long does delivery to region {chr(65 + number)} take?" for number in range(12)]
GOOD = [f"Delivery to region {chr(65 + number)} takes a few days, and we send you a link." for number in range(12)]
OLD = [f"It takes a few days to deliver to region {chr(65 + number)}; we send a link." for number in range(12)]
WORSE = ["I am afraid that nobody here could say anything about it."] * 12


def jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def answers(path: Path, texts: list[str]) -> None:
    jsonl(path, [{"id": f"q{at}", "answer": text} for at, text in enumerate(texts, 1)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    for name in ("GITHUB_SHA", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)
    rows: list[dict[str, object]] = [
        {"id": f"q{at}", "question": question, "good_answers": [good], "bad_answers": [WORSE[0]]}
        for at, (question, good) in enumerate(zip(QUESTIONS, GOOD, strict=True), 1)
    ]
    jsonl(tmp_path / "refs.jsonl", rows)
    answers(tmp_path / "old.jsonl", OLD)
    answers(tmp_path / "same.jsonl", OLD)
    answers(tmp_path / "better.jsonl", GOOD)
    answers(tmp_path / "worse.jsonl", WORSE)
    answers(tmp_path / "few.jsonl", [*WORSE[:2], *OLD[2:]])
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    assert folder

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["check", *arguments, "--resamples", "500"])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


BASE = ("--baseline", "old.jsonl", "--refs", "refs.jsonl", "--finding", "all=warn")


@pytest.mark.parametrize(
    ("new", "more", "code", "verdict"),
    [
        ("same.jsonl", (), 0, "PASSED: no evidence of a change: all answers score as before"),
        ("better.jsonl", (), 0, "PASSED: better: trubleu"),
        ("worse.jsonl", (), 1, "FAILED: worse: trubleu"),
        ("worse.jsonl", ("--tolerance", "99"), 0, "PASSED: no evidence of a change"),
        ("few.jsonl", (), 3, "UNSURE: not enough data"),
        ("few.jsonl", ("--unsure", "pass"), 0, "PASSED: not enough data"),
        ("few.jsonl", ("--unsure", "fail"), 1, "FAILED: not enough data"),
        ("better.jsonl", ("--min", "trubleu=99"), 0, "PASSED: better"),
        ("old.jsonl", ("--min", "trubleu=99"), 1, "FAILED: trubleu"),
    ],
)
def test_exit_codes_and_verdicts(run: Run, new: str, more: tuple[str, ...], code: int, verdict: str) -> None:
    found, out, _ = run(new, *BASE, *more)
    assert (found, out[: len(verdict)]) == (code, verdict)


def test_a_change_that_must_be_found_is_a_condition(run: Run, folder: Path) -> None:
    answers(folder / "mixed.jsonl", [a if at % 2 else b for at, (a, b) in enumerate(zip(OLD, GOOD, strict=True))])
    assert run("mixed.jsonl", *BASE, "--detect", "0.001")[0] in (0, 3)
    report = json_report(run, "same.jsonl", *BASE, "--detect", "0.001")
    assert report["verdict"] == "no evidence of a change", "nothing changed, so nothing could have been missed"


def json_report(run: Run, *arguments: str) -> dict[str, object]:
    run(*arguments, "--out", "report.json")
    found: dict[str, object] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("minimum", "code", "limit"), [("1", 0, "above"), ("99.9", 1, "below"), ("mean", 3, "not enough data")]
)
def test_a_threshold_needs_no_baseline(run: Run, minimum: str, code: int, limit: str) -> None:
    if minimum == "mean":
        metrics = json_report(run, "old.jsonl", "--refs", "refs.jsonl", "--min", "trubleu=1")["metrics"]
        assert isinstance(metrics, list)
        minimum = str(metrics[0]["score"])
    found, out, _ = run("old.jsonl", "--refs", "refs.jsonl", "--min", f"trubleu={minimum}", "--finding", "all=off")
    assert (found, limit in out) == (code, True)


def test_a_finding_fails_only_where_the_baseline_has_it_not(run: Run, folder: Path) -> None:
    answers(folder / "old.jsonl", [OLD[0] + " Ask within 30 days.", *OLD[1:]])
    answers(folder / "new.jsonl", [OLD[0] + " Ask within 30 days.", OLD[1] + " Ask within 60 days.", *OLD[2:]])
    code, out, _ = run("new.jsonl", "--baseline", "old.jsonl", "--refs", "refs.jsonl")
    assert code == 1
    assert "fail: q2: number" in out
    assert "q1" not in "".join(line for line in out.splitlines() if line.startswith(("fail", "warn")))


def test_a_kind_that_accepted_answers_have_too_only_warns(run: Run, folder: Path) -> None:
    usual = [f"{text} Ask within {number} hours." for number, text in enumerate(OLD[:2], 31)]
    answers(folder / "old.jsonl", [*usual, *OLD[2:]])
    answers(folder / "new.jsonl", [*usual, f"{OLD[2]} Ask within 60 days.", *OLD[3:]])
    call = ("new.jsonl", "--baseline", "old.jsonl", "--refs", "refs.jsonl", "--unsure", "pass")
    code, out, _ = run(*call)
    assert code == 0
    assert "warn: q3: number" in out
    said = "number: only warns, as 2 of 12 accepted answers have such a finding, too"
    assert said in str(json_report(run, *call)["notes"])
    code, out, _ = run(*call, "--finding", "number=fail")
    assert code == 1
    assert "fail: q3: number" in out


def test_what_comes_out(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(folder / "new.jsonl", [OLD[0] + " It takes 60 days | @all <b>#1</b>", *WORSE[1:]])
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    files = ("report.md", "report.junit.xml", "report.json", "report.html")
    outs = [part for name in files for part in ("--out", name)]
    code, out, err = run("new.jsonl", *BASE[:4], *outs)
    assert code == 1
    assert len((out + err).splitlines()) <= 15
    assert err.startswith("trubleu: read new.jsonl: JSON lines, one row an answer, 12 questions, 12 answers; old.")
    assert err.count("\n") == 1
    markdown = (folder / "report.md").read_text()
    assert len(markdown.splitlines()) <= 30
    assert markdown.startswith("> [!CAUTION]\n> **Failed.**")
    assert "<b>" not in markdown
    assert "@all" not in markdown
    assert (folder / "summary.md").read_text() == markdown
    suite = ET.parse(folder / "report.junit.xml").getroot()  # noqa: S314 - our own file
    assert suite.attrib["errors"] == "0"
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) >= 2
    report = json.loads((folder / "report.json").read_text())
    assert (report["outcome"], report["exit_code"], len(report["items"])) == ("failed", 1, 12)
    assert 'option value="=number"' in (folder / "report.html").read_text()


def test_texts_that_differ_wholly_stand_side_by_side(run: Run, folder: Path) -> None:
    run("worse.jsonl", *BASE[:4], "--out", "report.md")
    rows = [line for line in (folder / "report.md").read_text().splitlines() if line.startswith("| q") and "~~" in line]
    assert len(rows) == 5
    assert "~~It takes a few days to deliver to region" in rows[0]
    assert f"~~ **{WORSE[0]}**" in rows[0]
    assert "❌" in rows[0].split("|")[-2].split("<br>")[0], "what fails comes first"


def test_lines_are_few_however_much_is_found(run: Run, folder: Path) -> None:
    several = ("trubleu", "chrf", "bleu-1", "bleu-2", "bleu-4")
    answers(folder / "new.jsonl", [f"It takes {at + 60} days and costs €{at + 3}." for at in range(12)])
    metrics = [part for name in several for part in ("-m", name)]
    code, out, err = run("new.jsonl", *BASE[:4], *metrics, "--bless-anyway", "--out", "report.md")
    assert code == 1
    assert "… and 2 more metrics" in out
    assert len((out + err).splitlines()) <= 15
    assert len((folder / "report.md").read_text().splitlines()) <= 30


def test_twice_the_same_bytes(run: Run, folder: Path) -> None:
    files = ("a.md", "b.md", "a.html", "b.html", "a.json", "b.json")
    for which in "ab":
        outs = [part for name in files if name.startswith(which) for part in ("--out", name)]
        run("worse.jsonl", *BASE, *outs)
    for ending in ("md", "html", "json"):
        assert (folder / f"a.{ending}").read_bytes() == (folder / f"b.{ending}").read_bytes()


def test_repeats_are_averaged(run: Run, folder: Path) -> None:
    jsonl(
        folder / "new.jsonl",
        [{"id": f"q{at}", "answers": [a, b]} for at, (a, b) in enumerate(zip(OLD, GOOD, strict=True), 1)],
    )
    report = json_report(run, "new.jsonl", *BASE)
    single = [json_report(run, name, *BASE)["items"] for name in ("old.jsonl", "better.jsonl")]
    items = report["items"]
    assert isinstance(items, list)
    assert isinstance(single[0], list)
    assert isinstance(single[1], list)
    for item, one, other in zip(items, single[0], single[1], strict=True):
        mean = (one["scores"]["trubleu"] + other["scores"]["trubleu"]) / 2
        assert item["scores"]["trubleu"] == pytest.approx(mean, abs=1e-9)


def test_blessing_copies_after_a_pass_only(run: Run, folder: Path) -> None:
    before = (folder / "old.jsonl").read_bytes()
    run("worse.jsonl", *BASE, "--bless")
    assert (folder / "old.jsonl").read_bytes() == before
    code, out, _ = run("better.jsonl", *BASE, "--bless")
    assert code == 0
    assert out.endswith("old.jsonl is now a copy of better.jsonl\n")
    assert (folder / "old.jsonl").read_bytes() == (folder / "better.jsonl").read_bytes()
    run("worse.jsonl", *BASE, "--bless-anyway")
    assert (folder / "old.jsonl").read_bytes() == (folder / "worse.jsonl").read_bytes()


def test_the_history_gets_a_line_a_run(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SHA", "0123456789abcdef")
    for new in ("same.jsonl", "worse.jsonl", "better.jsonl"):
        run(new, *BASE, "--history", "runs.jsonl", "--out", "report.html")
    lines = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["passed", "failed", "passed"]
    assert {line["commit"] for line in lines} == {"0123456789abcdef"}
    assert "Scores of 3 runs by trubleu" in (folder / "report.html").read_text()


def test_two_runs_at_once_both_keep_their_line(folder: Path) -> None:
    command = [sys.executable, "-m", "trubleu", "check", "same.jsonl", *BASE, "--history", "runs.jsonl", "--quiet"]
    started = [subprocess.Popen(command, cwd=folder) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    assert len((folder / "runs.jsonl").read_text().splitlines()) == 2


def test_a_new_question_counts_for_findings_only(run: Run, folder: Path) -> None:
    answers(folder / "old.jsonl", OLD[:-1])
    code, out, _ = run("better.jsonl", *BASE)
    assert code == 0
    assert "1 new (findings only)" in out


def test_a_new_question_without_a_good_answer_does_not_fail(run: Run, folder: Path) -> None:
    answers(folder / "new.jsonl", [*GOOD, "We sell 12 bikes for €90."])
    report = json_report(run, "new.jsonl", *BASE[:4])
    assert (report["exit_code"], report["questions"], report["new_questions"]) == (0, 13, 1)
    (folder / "checks.toml").write_text('excludes = ["bikes"]\n')
    code, out, _ = run("new.jsonl", *BASE[:4], "--settings", "checks.toml")
    assert (code, "fail: q13: excludes" in out) == (1, True)


def test_only_common_leaves_out_what_is_gone(run: Run, folder: Path) -> None:
    answers(folder / "new.jsonl", GOOD[:-2])
    code, _, err = run("new.jsonl", *BASE)
    assert code == 2
    assert "new.jsonl lacks 2 questions" in err
    code, out, _ = run("new.jsonl", *BASE, "--only-common")
    assert (code, "10 questions" in out) == (0, True)


def _write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


BAD_INPUT = {
    "an id twice": (
        _write("new.jsonl", '{"id": 1, "answer": "a"}\n{"id": 1, "answer": "b"}\n'),
        ("new.jsonl", *BASE),
        "new.jsonl:2: the id '1' was already used at new.jsonl:1",
    ),
    "no good answer": (
        _write("refs.jsonl", '{"id": "q1", "good": "", "bad": "no"}\n'),
        ("same.jsonl", *BASE),
        "refs.jsonl:1: 'q1' has no good answer; add one, or remove it",
    ),
    "no question in common": (
        _write("old.jsonl", '{"id": "x", "answer": "a"}\n'),
        ("same.jsonl", *BASE),
        "share no question; give both the same ids",
    ),
    "JSON lines called CSV": (
        _write("new.csv", '{"id": "q1", "answer": "a"}\n'),
        ("new.csv", *BASE),
        "new.csv holds JSON, not a table; rename it to end in .jsonl",
    ),
    "CSV called JSON lines": (
        _write("new.jsonl", "id,answer\nq1,a\n"),
        ("new.jsonl", *BASE),
        "new.jsonl is not JSON, though its name says so",
    ),
    "a broken regex": (
        _write("checks.toml", 'regex = ["(open"]\n'),
        ("same.jsonl", *BASE, "--settings", "checks.toml"),
        "checks.toml: the regular expression '(open' is broken",
    ),
    "a history in no folder": (None, ("same.jsonl", *BASE, "--history", "no/runs.jsonl"), "there is no folder no"),
    "a history of something else": (
        _write("runs.jsonl", '{"id": 1}\n'),
        ("same.jsonl", *BASE, "--history", "runs.jsonl", "--out", "x.md"),
        "runs.jsonl:1: scores must be an array, and time, commit and outcome texts; this is no history",
    ),
    "an ending without a form": (None, ("same.jsonl", *BASE, "--out", "report.pdf"), "must end in .html, .md"),
    "an input as output": (None, ("same.json", *BASE, "--out", "same.json"), "would be lost"),
    "nothing to compare with": (None, ("same.jsonl", "--refs", "refs.jsonl"), "needs something to compare with"),
    "no references": (None, ("same.jsonl", "--baseline", "old.jsonl"), "no good answer for 12 questions"),
    "a threshold of another metric": (
        None,
        ("same.jsonl", *BASE, "--min", "bleu=3"),
        "--min bleu=3: bleu is not among the metrics",
    ),
    "a threshold without a number": (None, ("same.jsonl", *BASE, "--min", "trubleu"), "must be METRIC=N"),
    "a kind that does not exist": (None, ("same.jsonl", *BASE, "--finding", "nubmer=off"), "no kind of finding"),
    "a negative tolerance": (None, ("same.jsonl", *BASE, "--tolerance", "-1"), "tolerance is -1"),
    "blessing another form": (
        _write("new.csv", "id,answer\nq1,a\n"),
        ("new.csv", *BASE, "--bless"),
        "--bless would make old.jsonl a file of another form",
    ),
    "a column that no file has": (
        None,
        ("same.jsonl", *BASE, "--columns", "answer=text"),
        "--columns answer=text: no file has a column text",
    ),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_sentence_and_writes_nothing(run: Run, folder: Path, name: str) -> None:
    prepare, arguments, message = BAD_INPUT[name]
    if prepare is not None:
        prepare(folder)
    if "same.json" in arguments:
        (folder / "same.jsonl").rename(folder / "same.json")
    before = sorted(folder.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(re.findall("^trubleu: (?!warning)", err, re.MULTILINE)) == len(err.splitlines())
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


def test_scores_of_a_learned_metric_gate_too(run: Run, folder: Path) -> None:
    for name, low in (("new", 0.2), ("old", 0.7)):
        (folder / f"{name}.txt").write_text("".join(f"{low + at / 100}\n" for at in range(12)))
    files = ("--scores", "comet:new=new.txt", "--scores", "comet:baseline=old.txt")
    report = json_report(run, "better.jsonl", *BASE, *files)
    metrics = report["metrics"]
    assert isinstance(metrics, list)
    assert [(each["metric"], each["verdict"]) for each in metrics] == [("trubleu", "better"), ("comet", "worse")]
    assert metrics[1]["difference"] == pytest.approx(-0.5)
    assert report["exit_code"] == 1
    code, _, err = run("better.jsonl", *BASE, *files[:2])
    assert code == 2
    assert "no scores of the system baseline" in err
