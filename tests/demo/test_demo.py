"""The demo for real, small: interrupted, killed and brought to its end, as a user would."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main, rate_serve
from trubleu.cli.demo import _USUAL, _as_typed, _is_new, _keep_serving, _Told, shortened
from trubleu.demo import runner
from trubleu.demo.runner import read_journal
from trubleu.demo.steps import SYSTEMS, DemoOptions, Surroundings, demo_steps
from trubleu.errors import DataError
from trubleu.rating import Study
from trubleu.rating.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = ("--segments", "4", "--raters", "2", "--port", "0")


# Runs a demo that sends itself a signal once some answers to a study are kept: all that follows may take less time than
# somebody who watches from outside needs to notice.
SIGNALLED = """
import os, sys
from trubleu.cli import main
from trubleu.rating.simulated_raters import Browser

study, number, sent, send = sys.argv[1], int(sys.argv[2]), [], Browser.send

def sending(self, page, path, fields=None):
    found = send(self, page, path, fields)
    if path == "/answer" and os.path.exists(study):
        sent.append(path)
        if len(sent) == 6:
            os.kill(os.getpid(), number)
    return found

Browser.send = sending
sys.exit(main(sys.argv[3:]))
"""


def signalled(study: Path, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SIGNALLED, str(study), str(int(number)), "demo", "my demo", *SMALL]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def waited_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 300
    while not what():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.02)


def answers(study: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{study}/store.db?mode=ro", uri=True)) as store:
            return int(store.execute("select count(*) from ratings").fetchone()[0])
    except sqlite3.Error:
        return 0


def port_of(printed: str) -> int:
    return int(re.findall(r"rate serve .* --port (\d+)", printed)[-1])


def listens(port: int) -> bool:
    with socket.socket() as trying:
        trying.settimeout(1)
        return trying.connect_ex(("127.0.0.1", port)) == 0


def test_from_an_interruption_and_a_kill_to_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("my demo")

    first = signalled(folder / "study", signal.SIGINT)
    assert first.returncode == 130, first
    again = "trubleu demo 'my demo' --segments 4 --raters 2"
    assert first.stderr == f"trubleu: interrupted; {again} goes on where it stopped\n"
    assert not listens(port_of(first.stdout))
    there = answers(folder / "study")
    assert there > 5

    second = signalled(folder / "pairs", signal.SIGKILL)
    assert second.returncode == -signal.SIGKILL, second
    assert "goes on with step 5 of 14" in second.stdout
    waited_for(lambda: not listens(port_of(second.stdout)))
    assert answers(folder / "pairs") > 5
    with Study.open(folder / "study") as study:
        by_rater = Counter(row.rater for row in study.table())
        assert sum(by_rater.values()) == 4 * 8 * 2
        assert sum(count for rater, count in by_rater.items() if rater <= 2) >= there

    opened: list[str] = []

    def opens(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", opens)
    assert main(["demo", str(folder), *SMALL, "--open"]) == 0
    printed, said = capsys.readouterr()
    assert "goes on with step 8 of 14" in printed
    assert said.startswith("trubleu: warning: 100 % of the outputs of parrot equal a reference;")
    assert said.count("\n") == 1
    assert printed.splitlines()[-1] == "The report: my demo/report.html"
    assert opened == [(tmp_path / folder / "report.html").as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda _address: False)
    assert main(["demo", str(folder), *SMALL, "--open"]) == 0
    assert capsys.readouterr().out.endswith("\nNo browser could be opened here; open the report by hand.\n")

    journal = read_journal(folder)
    steps = demo_steps(folder, journal.options)
    assert journal.begun == {step.name: 1 + (step.name in ("rate study", "rate pairs")) for step in steps}
    for step in steps:
        for name in step.makes:
            assert (folder / name).exists()
    assert not list(folder.glob(".trubleu-*"))
    # Every item has as many ratings as were asked for, each by somebody else.
    for name in ("study", "pairs"):
        with Study.open(folder / name) as study:
            assert all(item.counted == item.wanted == 2 for item in study.items())
    # What was printed is what a shell would run.
    typed = [line.removeprefix("$ ") for line in printed.splitlines() if line.startswith("$ ")]
    assert [shlex.split(line.removesuffix(" &"))[:2] for line in typed[:2]] == [["trubleu", "rate"]] * 2
    assert [command for done in journal.done[7:] for command in done.commands] == typed

    report = (folder / "report.html").read_text("utf-8")
    assert report.startswith("<!doctype html>")
    assert "The rating of references and of outputs was interrupted, and other raters went on with it" in report
    raters = {"study": 0, "pairs": 0}
    for name in raters:
        with Study.open(folder / name) as study:
            raters[name] = len({row.rater for row in study.table()})
    assert f"{raters['study']} simulated raters with moods" in report
    assert f"The people are {raters['pairs']} simulated ones" in report
    scores = json.loads((folder / "scores.json").read_text("utf-8"))["scores"]
    assert {row["system"] for row in scores} == set(SYSTEMS)
    parrot = {row["metric"]: row["score"] for row in scores if row["system"] == "parrot"}
    assert parrot["bleu-2"] == pytest.approx(100)
    assert parrot["dbleu-2"] < 5

    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert main(["demo", str(folder), *SMALL, "--quiet"]) == 0
    assert capsys.readouterr() == ("The report: my demo/report.html\n", "")
    assert main(["demo", str(folder), *SMALL]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(
        "my demo holds a demo that is done; for a fresh start remove it, or name another folder.\n"
    )
    assert "$ " not in printed
    assert main(["demo", str(folder), "--seed", "2", *SMALL]) == 2
    assert capsys.readouterr().err.startswith("trubleu: my demo holds a demo that was begun with --seed 1 ")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before

    # What somebody has damaged is named, with what to do.
    def text(name: str) -> str:
        return (folder / name).read_text("utf-8")

    for name, damaged in (
        ("scores.json", "{"),
        ("good-scores.json", text("good-scores.json").replace('"parrot"', '"carrot"')),
        ("judge.json", '{"systems": []}'),
        ("status.json", "[]"),
        ("ratings.csv", text("ratings.csv").replace("rater,", "who,", 1)),
        ("references.jsonl", text("references.jsonl").partition("\n")[2]),
        ("world/truth.csv", text("world/truth.csv").partition("\n")[0]),
        ("world/outputs/dull.txt", "i don't know\n"),
    ):
        whole = text(name)
        (folder / name).write_text(damaged, "utf-8")
        assert main(["demo", str(folder), *SMALL]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"trubleu: my demo/{name} is not as the demo made it (")
        assert said.endswith("); remove it, and the same command makes it again\n")
        assert said.count("\n") == 1
        (folder / name).write_text(whole, "utf-8")


def test_bad_input_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("")
    for arguments, said in (
        (["mine"], "mine holds something else than a demo (thesis.tex); name another folder"),
        (["-"], "demo needs the name of a folder, and - is none; name one"),
        ([""], "demo needs the name of a folder, and an empty one is none; name one"),
        (["a", "b"], "demo takes one FOLDER, but b is given too; leave it out"),
        (["--port", "70000"], "--port 70000 must lie between 0 and 65535"),
        (["--segments", "1"], "--segments 1 must lie between 4 and 2,000"),
    ):
        assert main(["demo", *arguments]) == 2
        assert capsys.readouterr() == ("", f"trubleu: {said}\n")
    monkeypatch.setattr(runner, "find_spec", lambda _name: None)
    assert main(["demo"]) == 2
    assert "pip install 'trubleu[rate,ready]'" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]


def test_the_server_is_started_as_it_is_printed(tmp_path: Path) -> None:
    steps = demo_steps(tmp_path, DemoOptions(), Surroundings(port=8123))
    commands = [command for step in steps for command in step.commands if command.beside]
    assert len(commands) == 2
    for command in commands:
        server = _Told(quiet=True).beside(command, tmp_path / "serve.log")
        assert isinstance(server, ServerProcess)
        assert server.arguments == command.arguments


def test_pages_to_try_are_served_with_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    line = json.dumps({"id": "a", "message": "hello ?", "references": [{"text": "hi", "weight": None}]})
    Path("demo/candidates.jsonl").write_text("".join(line.replace('"a"', f'"{name}"') + "\n" for name in "abcde"))
    served: list[str] = []
    monkeypatch.setattr(rate_serve, "_run", lambda _options, study, *_rest: served.append(str(study.folder)))
    for _ in range(2):
        _keep_serving(Path("demo"), 0, _Told(quiet=False))
    assert served == ["demo/trial"] * 2
    with Study.open("demo/trial") as study:
        assert [item.item.segment for item in study.items()] == ["a", "b", "c"]
        assert len(study.raters()) == 2
    printed = capsys.readouterr().out
    assert printed.count("$ head -n 3 demo/candidates.jsonl > demo/trial.jsonl\n$ trubleu rate new demo/trial") == 1
    assert len(re.findall(r"http://127\.0\.0\.1:\d+/r/\S+\n\$ trubleu rate serve demo/trial --port", printed)) == 2
    assert printed.count("The lead's page: ") == 2


def test_what_stands_in_the_way_of_the_pages_to_try(tmp_path: Path) -> None:
    trial = tmp_path / "trial"
    assert _is_new(trial)
    trial.mkdir()
    assert _is_new(trial)
    trial.mkdir()
    (trial / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"trial holds no study; remove it, and it is made again"):
        _is_new(trial)
    (trial / "study.yaml").write_text("")
    assert not _is_new(trial)


def test_a_folder_that_looks_like_an_option_is_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _as_typed(Path("./-dash")) == Path.cwd() / "-dash"
    assert _as_typed(Path.cwd() / "-dash") == Path.cwd() / "-dash"
    assert _as_typed(Path.cwd() / "demo") == _as_typed(Path("demo")) == Path("demo")


def test_as_many_systems_as_are_said() -> None:
    assert len(SYSTEMS) == 7
    assert "seven systems" in demo_steps(Path("demo"), DemoOptions())[0].title


def test_the_usual_sizes() -> None:
    assert asdict(DemoOptions()) == _USUAL


def test_what_commands_advise_is_left_out() -> None:
    assert shortened("study: 3 items\nsettings: study.yaml\nthen: trubleu rate plan study\n") == (
        "  study: 3 items\n  settings: study.yaml"
    )
    assert shortened("a  b\n\nx: candidates\nsignature: mine|x\n") == "  a  b\n\n  x: candidates"
    assert shortened("") == ""
