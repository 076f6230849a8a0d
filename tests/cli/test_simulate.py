"""``trubleu simulate`` as its users call it."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.data import read_triples
from trubleu.progress import Bars
from trubleu.simulate import simulated_triples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["simulate", "triples", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_triples_go_to_standard_output_as_json_lines(run: Run) -> None:
    code, out, err = run("--n", "3", "--words", "1000", "--out", "-")
    assert (code, err) == (0, "")
    records = [json.loads(line) for line in out.splitlines()]
    assert [list(record) for record in records] == [["id", "context", "message", "response"]] * 3
    assert [record["id"] for record in records] == ["s1-0", "s1-1", "s1-2"]


def test_every_option_reaches_the_simulation(run: Run) -> None:
    code, out, err = run("--n", "50", "--seed", "7", "--words", "2000", "--out", "t.jsonl")
    assert (code, out, err) == (0, "", "")
    assert read_triples(["t.jsonl"]) == list(simulated_triples(50, seed=7, words=2000))


def test_a_bar_shows_how_far_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = []

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def stage(self: Bars, name: str, total: int | None, unit: str = "it") -> Callable[[int], object]:
        stages.append((name, total, unit))
        return told.append

    told: list[int] = []
    monkeypatch.setattr(Bars, "stage", stage)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert run("--n", "10000", "--words", "1000", "--out", "t.jsonl")[0] == 0
    assert stages == [("simulating", 10_000, " triples")]
    assert sum(told) == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n", "-1"], "n is -1, but must be between 0 and 1,000,000,000,000"),
        (["--n", "1", "--words", "999"], "words is 999, but must be between 1,000 and 10,000,000"),
        (["--n", "1", "--seed", "-1"], f"seed is -1, but must be between 0 and {2**63:,}"),
        (
            ["--n", "1", "--out", "t.doc"],
            "t.doc: the name does not show a format; let it end in .jsonl or .parquet",
        ),
        (["--n", "1", "--out", "no/t.jsonl"], "no/t.jsonl cannot be written: there is no folder no; create it first"),
        (
            ["--n", "1", "other.jsonl"],
            "simulate triples does not take other.jsonl; leave it out",
        ),
        (["--n", "some"], "argument --n: invalid int value: 'some'; see trubleu simulate triples --help"),
    ],
)
def test_bad_options_are_one_sentence(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    code, out, err = run("--out", "t.jsonl", *arguments)
    assert (code, out, err) == (2, "", f"trubleu: {message}\n")
    assert list(tmp_path.iterdir()) == []
