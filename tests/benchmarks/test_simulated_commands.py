"""``python -m benchmarks.simulated`` as it is called."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.simulated.__main__ import main
from benchmarks.simulated.triples import simulated_triples
from trubleu.data import read_triples
from trubleu.progress import Bars

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
            code = main(arguments)
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_coverage_writes_a_file(run: Run, tmp_path: Path) -> None:
    sizes = ("--segments", "10,30", "--sets", "20", "-m", "bleu-2", "-m", "ter", "--confidence", "0.8")
    code, out, err = run("coverage", *SMALL, *sizes, "--format", "csv", "--out", "coverage.csv")
    assert (code, out, err) == (0, "", "")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "coverage.csv").read_text())))
    assert [(row["metric"], row["segments"], row["sets"]) for row in rows] == [
        ("bleu-2", "10", "20"),
        ("bleu-2", "30", "20"),
        ("ter", "10", "20"),
        ("ter", "30", "20"),
    ]
    for row in rows:
        shares = [float(row[name]) for name in ("covered", "below", "above")]
        assert sum(shares) == pytest.approx(1.0)
        assert float(row["truth"]) > 0
    code, out, _ = run("coverage", *SMALL, *sizes, "--format", "markdown")
    assert "Intervals of 80 % from 50 resamples." in out


def test_order_takes_systems_and_random_references(run: Run) -> None:
    small = [each for each in SMALL if each not in ("--resamples", "50")]
    systems = ("--system", "a=skill:0.9", "--system", "b=skill:0.1", "--system", "c=random")
    sizes = ("--segments", "40", "--sets", "20", "--random", "2", "--raters", "3", "--top", "4")
    code, out, err = run("order", *small, *systems, *sizes)
    assert (code, err) == (0, "")
    assert [line.split()[:4] for line in out.splitlines()[2:8]] == [
        ["bleu-2", "1", "–", "40"],
        ["bleu-2", "8", "–", "40"],
        ["sbleu-2", "1", "–", "40"],
        ["sbleu-2", "8", "–", "40"],
        ["dbleu-2", "1", "3", "40"],
        ["dbleu-2", "8", "3", "40"],
    ]
    assert "dbleu-2, 8 references × 3 raters" in out
    found = json.loads(run("order", *small, *systems, *sizes, "--format", "json")[1])
    qualities = [row["quality"] for row in found["systems"]]
    assert qualities == sorted(qualities, reverse=True)
    assert found["systems"][0]["system"] == "a"
    assert all(-1 <= row["kendall"] <= 1 for row in found["order"])


def test_order_has_the_systems_of_a_world_by_default(run: Run) -> None:
    small = [each for each in SMALL if each not in ("--resamples", "50")]
    code, out, _ = run("order", *small, "--segments", "20", "--sets", "5", "-m", "bleu-2", "--format", "json")
    assert code == 0
    assert {row["system"] for row in json.loads(out)["systems"]} >= {"strong", "weak", "parrot", "random"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("coverage", "--confidence", "1"), "confidence must be between 0 and 1"),
        (("coverage", "--sets", "0"), "the number of test sets must be a whole number from 1"),
        (("coverage", "--out", "nowhere/x.csv"), "nowhere"),
        (("order", "--system", "parrot"), "an order needs at least two systems"),
    ],
)
def test_what_makes_no_study_is_refused_in_one_sentence(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run(*arguments, "--pool", "20", "--corpus", "100")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_triples_go_to_standard_output_as_json_lines(run: Run) -> None:
    code, out, err = run("triples", "--n", "3", "--words", "1000", "--out", "-")
    assert (code, err) == (0, "")
    records = [json.loads(line) for line in out.splitlines()]
    assert [list(record) for record in records] == [["id", "context", "message", "response"]] * 3
    assert [record["id"] for record in records] == ["s1-0", "s1-1", "s1-2"]


def test_every_option_reaches_the_simulation(run: Run) -> None:
    code, out, err = run("triples", "--n", "50", "--seed", "7", "--words", "2000", "--out", "t.jsonl")
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
    assert run("triples", "--n", "10000", "--words", "1000", "--out", "t.jsonl")[0] == 0
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
    ],
)
def test_bad_options_are_one_sentence(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    code, out, err = run("triples", "--out", "t.jsonl", *arguments)
    assert (code, out, err) == (2, "", f"trubleu: {message}\n")
    assert list(tmp_path.iterdir()) == []
