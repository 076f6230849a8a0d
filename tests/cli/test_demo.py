"""``trubleu demo``: interrupted, run again to the end, and refused where it would remove files of others."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trubleu.cli import main
from trubleu.cli.demo import MADE, MARK, NAME, SCRIPT, clear_folder
from trubleu.files.writer import LOCK, locked
from trubleu.rating import Study

if TYPE_CHECKING:
    import pytest

SMALL = ("--segments", "4", "--raters", "2")

# The size of the corpus proves nothing here.
SMALL_SCRIPT = SCRIPT.replace("simulate world world", "simulate world world --corpus 500")

# A demo that sends itself Ctrl-C when ratings are imported.
INTERRUPTED = f"""
import os, signal, sys
from trubleu.cli import demo, main
import trubleu.rating.imports

def interrupted(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)

sys.modules["trubleu.rating.imports"].import_answers = interrupted
demo.SCRIPT = {SMALL_SCRIPT!r}
sys.exit(main(sys.argv[1:]))
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_after_an_interruption_it_runs_again_to_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trubleu.cli.demo.SCRIPT", SMALL_SCRIPT)
    folder = Path("my demo")
    command = [sys.executable, "-c", INTERRUPTED, "demo", str(folder), *SMALL, "--seed", "7"]
    stopped = subprocess.run(command, capture_output=True, text=True, check=False)
    assert stopped.returncode == 128 + signal.SIGINT, stopped
    assert stopped.stderr == "trubleu: interrupted; run the same command again to start over\n"
    assert names(folder) == {NAME, LOCK, "world", "index", "candidates.jsonl", "study", "study.csv"}

    (folder / "notes.txt").write_text("mine")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)  # returns None: no browser
    assert main(["demo", str(folder), *SMALL, "--open"]) == 0
    printed, said = capsys.readouterr()
    assert said.startswith("trubleu: warning: 100 % of the outputs of parrot equal a reference;")
    assert said.count("\n") == 1
    assert opened == [(tmp_path / folder / "report.html").as_uri()]
    assert names(folder) == {*MADE, NAME, LOCK, "notes.txt"}
    with Study.open(folder / "study") as study:
        assert sorted(item.counted for item in study.items()) == [2] * 4 * 8
    report = (folder / "report.html").read_text("utf-8")
    assert report.startswith("<!doctype html>")
    assert "parrot" in report

    # What is printed is the script in the folder, which a shell would run.
    script = (folder / NAME).read_text("utf-8").removeprefix(MARK)
    lines = printed.splitlines()
    typed = [line.removeprefix("$ ") for line in lines if line.startswith(("$ trubleu", "    --"))]
    assert typed == [line for line in script.splitlines() if line and not line.startswith("#")]
    assert lines[0] == "$ cd 'my demo'"
    assert not any(line.startswith("then:") for line in lines)
    judged = (folder / "judge.txt").read_text("utf-8")
    assert "agrees best with people: Spearman's ρ" in lines[-3]
    assert lines[-3:] == [
        judged.splitlines()[0],
        "The report: my demo/report.html",
        "No browser could be opened here; open the report by hand.",
    ]
    assert "bleu-4" in judged


def test_only_what_a_demo_made_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "elsewhere"
    kept.mkdir()
    (kept / "file").touch()
    Path("demo").mkdir()
    monkeypatch.chdir("demo")
    for name in ("world", "trial"):
        Path(name).mkdir()
        Path(name, "file").touch()
    Path("index").symlink_to(kept)
    for name in ("report.html", "thesis.tex", ".trubleu-0123456789abcdef.tmp"):
        Path(name).touch()
    clear_folder(SCRIPT)
    assert names(Path()) == {NAME, "trial", "thesis.tex"}
    assert names(kept) == {"file"}


def test_bad_input_is_one_sentence_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("mine", "thesis"), ("others", "echo demo"), ("bytes", "\udcff")):
        Path(name, "world").mkdir(parents=True)
        Path(name, NAME if name != "mine" else "thesis.tex").write_text(content, "utf-8", "surrogateescape")
    Path("file").touch()
    Path("busy").mkdir()
    Path("busy", NAME).write_text(MARK)
    before = sorted(tmp_path.rglob("*"))
    for arguments, said in (
        (["mine"], "mine holds something other than a demo (thesis.tex, world); name another folder, or remove it"),
        (["others"], "others holds something other than a demo (demo.sh, world); name another folder, or remove it"),
        (["bytes"], "bytes cannot be used for a demo: 'utf-8' codec"),
        (["file"], "file cannot be used for a demo: File exists; name another folder"),
        (["file/demo"], "file/demo cannot be used for a demo: Not a directory; name another folder"),
        (["-"], "- is not a folder on this machine; name one for the demo"),
        (["s3://bucket/demo"], "s3://bucket/demo is not a folder on this machine; name one for the demo"),
        (["a", "b"], "demo does not take b; leave it out"),
        (["--segments", "1"], "--segments 1 must be between 4 and 2,000"),
        (["--raters", "0"], "--raters 0 must be between 1 and 50"),
        (["--seed", "-1"], "--seed -1 must be between 0 and 2,147,483,646"),
    ):
        assert main(["demo", *arguments]) == 2
        printed, error = capsys.readouterr()
        assert (printed, error.count("\n")) == ("", 1)
        assert error.startswith(f"trubleu: {said}")
    assert sorted(tmp_path.rglob("*")) == before
    with locked("busy"):
        assert main(["demo", "busy"]) == 2
    assert capsys.readouterr().err == "trubleu: busy is being written by another process; wait until that is done\n"
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["demo", "new"]) == 2
    assert capsys.readouterr().err.endswith("; install with: pip install 'trubleu[rate,ready]'\n")
    assert not Path("new").exists()
