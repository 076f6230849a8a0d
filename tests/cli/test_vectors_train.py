"""``trubleu vectors train`` as its users call it."""

from __future__ import annotations

import io
import multiprocessing
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trubleu.cli import main
from trubleu.execution.local import Processes
from trubleu.progress import Bars
from trubleu.vectors.store import VectorStore
from trubleu.vectors.training import counts
from trubleu.vectors.training import trainer as training
from trubleu.vectors.training.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.execution.base import Work

    Run = Callable[..., tuple[int, str, str]]

TEXT = "We do not like rain .\nThey do not like snow .\n" * 60


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["vectors", "train", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_a_table_says_what_was_made(run: Run, tmp_path: Path) -> None:
    code, out, err = run("text.txt", "--out", "v.store", "--dim", "8", "--epochs", "2", "--threads", "1")
    assert (code, err) == (0, "")
    header, _line, *rows = out.splitlines()
    assert header.split() == ["words", "n-grams", "loss"]
    assert [row.split()[:2] for row in rows[:3]] == [["1", "8"], ["2", "8"], ["3", "7"]]
    assert "v.store: trained on 720 words" in out
    assert [path.name for path in tmp_path.iterdir() if "training" in path.name] == []


def test_every_option_reaches_the_store(run: Run) -> None:
    options = {
        "mode": "joint", "orders": "1,2", "dim": "9", "window": "4", "negative": "3", "epochs": "1",
        "min-count": "4,20", "beta": "0.25", "sample": "0.01", "alpha": "0.05", "seed": "7", "output": "words",
        "tokenize": "words",
    }  # fmt: skip
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    code, out, err = run("text.txt", *arguments, "--lowercase", "--out", "v", "--quiet", "--dtype", "float16")
    assert (code, out, err) == (0, "", "")
    store = VectorStore.open("v")
    kept = {name.replace("_", "-"): str(value) for name, value in store.options.items()}
    assert kept == options | {"tokenizer": "words-3", "lowercase": "True", "corpus": "text.txt", "words": "720"}
    assert store.precision == "float16"
    assert "we do" in store.ngrams()


def test_standard_input_can_be_a_corpus(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    code, _, err = run("-", "--out", "v", "--epochs", "1", "--dim", "8")
    assert (code, err) == (0, "")
    assert len(VectorStore.open("v")) == 23


def test_words_can_be_counted_elsewhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    usual_run = Processes._run
    spread: list[str] = []
    left: list[int] = []

    def recorded(self: Processes, work: Work[Any, Any, Any]) -> Any:
        spread.append(getattr(work._function, "func", work._function).__name__)
        return usual_run(self, work)

    def building(*arguments: Any) -> Model:
        left.append(len(multiprocessing.active_children()))
        return Model(*arguments)

    monkeypatch.setattr(counts, "RANGE", 1000)
    monkeypatch.setattr(counts, "PLACES", 300)
    monkeypatch.setattr(Processes, "_run", recorded)
    monkeypatch.setattr(training, "Model", building)
    options = ["--orders", "1-2", "--epochs", "1", "--dim", "8", "--threads", "1", "--quiet"]
    assert run("text.txt", "--out", "a", *options)[0] == 0
    assert spread == []
    assert run("text.txt", "--out", "b", *options, "--engine", "local:2")[0] == 0
    assert spread == ["look", "count", "read_words", "bucket_pairs", "sum_pairs", "encode_pairs"]
    assert left == [0, 0, 0, 0]  # two models each
    assert Path("a").read_bytes() == Path("b").read_bytes()


def test_ctrl_c_says_how_to_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Model, "train", interrupt)
        code, out, err = run("text.txt", "--out", "v", "--epochs", "1")
    assert (code, out) == (130, "")
    assert err == "trubleu: interrupted; continue with --resume, or remove v.training\n"
    assert run("text.txt", "--out", "v", "--epochs", "1", "--resume")[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(counts, "count_corpus", interrupt)
        code, _, err = run("text.txt", "--out", "w")
    assert (code, err) == (130, "trubleu: interrupted; nothing was written\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_stages_and_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr("trubleu.progress.DELAY_SECONDS", 0.0)
    assert run("text.txt", "--out", "v", "--epochs", "2", "--dim", "8")[0] == 0
    assert "reading" in shown.getvalue()
    assert "training, order 3" in shown.getvalue()
    assert " words/s" in shown.getvalue()


def test_notes_stand_beside_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with Bars(quiet=True) as bars:
        bars.stage("x", None)
        bars.note("loss 1.5")
    assert shown.getvalue() == ""
    monkeypatch.setattr("trubleu.progress.DELAY_SECONDS", 0.0)
    with Bars(quiet=False) as bars:
        bars.stage("x", 10, " words")
        bars.note("loss 1.5")
        bars._bar.refresh()
    assert "words/s, loss 1.5]" in shown.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "v"], "vectors train needs a CORPUS: files of text, one sentence per line; give it"),
        (["text.txt"], "the following arguments are required: --out"),
        (["nothing.txt", "--out", "v"], "nothing.txt: there is no such file; check the path"),
        (["text.txt", "--out", "no/v"], "no/v cannot be written: there is no folder no"),
        (["text.txt", "--out", "text.txt"], "text.txt is part of the corpus and would be lost"),
        (
            ["text.txt", "--out", "v", "--orders", "1-x"],
            "--orders 1-x is not a list of whole numbers; write it like 1-3",
        ),
        (["text.txt", "--out", "v", "--orders", "3-1"], "--orders 3-1 is not a list of whole numbers"),
        (["text.txt", "--out", "v", "--orders", "0-2"], "orders must be different whole numbers from 1 to 9"),
        (["text.txt", "--out", "v", "--min-count", "1,2"], "min-count has 2 numbers for 3 orders"),
        (["text.txt", "--out", "v", "--min-count", "999"], "no word was seen 999 times or more, so order 1 is empty"),
        (["text.txt", "--out", "v", "--beta", "0.5"], "beta is for mode joint: mode separate joins nothing at random"),
        (["text.txt", "--out", "v", "--mode", "both"], "mode must be separate or joint"),
        (["text.txt", "--out", "v", "--tokenize", "wrds"], "there is no tokenizer 'wrds'; did you mean words?"),
        (["text.txt", "--out", "v", "--threads", "0"], "threads must be a whole number"),
        (["text.txt", "--out", "v", "--dtype", "int8"], "dtype=int8 is not known"),
        (["text.txt", "--out", "v", "--engine", "spark"], "there is no engine 'spark'; known: local, local:N"),
        (["text.txt", "--out", "v", "--resume"], "there is no checkpoint in v.training; train without --resume"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"trubleu: {message}")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_an_empty_corpus(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    code, _, err = run("empty.txt", "--out", "v")
    assert (code, err) == (2, "trubleu: empty.txt has no words; give text, one sentence per line\n")
