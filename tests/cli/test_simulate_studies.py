"""``trubleu simulate power`` as its users call it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

SMALL = ("--pool", "60", "--corpus", "600", "--resamples", "50", "--quiet")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["simulate", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_power_prints_a_column_for_each_size(run: Run) -> None:
    power = ("power", *SMALL, "--studies", "10", "--segments", "20,40", "--raters", "1,3", "--references", "1,3")
    code, out, err = run(*power, "--system", "good=skill:0.9", "--system", "bad=skill:0.1")
    assert (code, err) == (0, "")
    found, *_, alarms, notes = out.split("\n\n")
    assert "find the better system, %, by segments (p < 0.05)" in found
    assert "find a difference where there is none, %" in alarms
    table = found.splitlines()[1:]
    assert table[0].split() == ["metric", "references", "raters", "20", "40", "true", "difference"]
    assert [line.split()[:3] for line in table[2:]] == [
        ["bleu-2", "1", "–"],
        ["bleu-2", "3", "–"],
        ["dbleu-2", "1", "1"],
        ["dbleu-2", "1", "3"],
        ["dbleu-2", "3", "1"],
        ["dbleu-2", "3", "3"],
    ]
    assert "good is better than bad, mean quality" in notes
    assert "10 studies per number, each on segments drawn from 60; paired randomisation, 50 draws; seed 1" in notes


def test_power_for_programs_has_everything_in_flat_rows(run: Run) -> None:
    power = ("power", *SMALL, "--studies", "10", "--segments", "30", "--raters", "2", "--references", "all")
    systems = ("--system", "skill:0.9", "--system", "parrot")
    code, out, _ = run(*power, *systems, "--top", "3", "-m", "dbleu-1", "--format", "json")
    assert code == 0
    (row,) = json.loads(out)["power"]
    assert (row["metric"], row["references"], row["raters"], row["segments"]) == ("dbleu-1", 5, 2, 30)
    assert row["ratings"] == pytest.approx(30 * 5 * 2, rel=0.1)
    assert row["found"] > 0.5
    again = run(*power, *systems, "--top", "3", "-m", "dbleu-1", "--format", "json")[1]
    other = run(*power, *systems, "--top", "3", "-m", "dbleu-1", "--format", "json", "--seed", "2")[1]
    assert again == out != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("power", "--system", "skill:0.5"), "power is about two systems, not 1; give --system twice"),
        (("power", "--system", "parrot", "--system", "parrot"), "--system parrot is given twice"),
        (("power", "--system", "=skill:0.5", "--system", "parrot"), "--system =skill:0.5 has no name before the ="),
        (("power", "--system", "skill:0.5", "--system", "clever"), "clever"),
        (("power", "--segments", "10,x"), "--segments 10,x is not a list of whole numbers"),
        (("power", "--segments", "1"), "segments must be a whole number from 2 to"),
        (("power", "--references", "40"), "there are at most 17 candidates per segment, not 40"),
        (("power", "--references", "0"), "references must be a whole number from 1"),
        (("power", "--raters", "50"), "50 raters per text cannot come from a crowd of 40; raise --crowd"),
        (("power", "--noise", "-1"), "the noise of raters must be between 0 and 100, not -1"),
        (("power", "--lazy", "2"), "the share of lazy raters must be between 0 and 1, not 2"),
        (("power", "--studies", "0"), "the number of test sets must be a whole number from 1"),
        (("power", "--resamples", "0"), "resamples must be a whole number from 1"),
        (("power", "-m", "blue"), "did you mean bleu"),
        (("power", "--seed", "-1"), "seed must be a whole number from 0"),
        (("power", "--pool", "1"), "pool must be a whole number from 2"),
        (("power", "--corpus", "0"), "corpus must be a whole number from 1"),
        (("power", "--top", "0"), "top must be a whole number from 1"),
        (("power", "refs.jsonl"), "simulate power does not take refs.jsonl; leave it out"),
        (("power", "--digits", "99"), "--digits 99 must be between 0 and 17"),
    ],
)
def test_what_makes_no_study_is_refused_in_one_sentence(run: Run, arguments: tuple[str, ...], message: str) -> None:
    small = () if {"--pool", "--corpus"} & set(arguments) else ("--pool", "20", "--corpus", "100")
    code, out, err = run(*arguments, *small)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
