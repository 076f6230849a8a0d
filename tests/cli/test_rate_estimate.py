"""``trubleu rate estimate`` as its users call it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from trubleu.cli import main, rate_estimate
from trubleu.stats.prediction_powered import TARGETS, prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Run = Callable[..., tuple[int, str, str]]

SYSTEMS = {"A": 0.6, "B": 0.0}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(7)
    people, model, comet = ["item,system,rater,score"], ["item,system,rater,score"], []
    for number in range(300):
        for system, better in SYSTEMS.items():
            quality = 3 + better + draw.normal(0, 0.9)
            if number < 80:
                for rater in ("ann", "bob"):
                    score = min(max(round(quality + draw.normal(0, 0.5)), 1), 5)
                    people.append(f"{number},{system},{rater},{score}")
            model.append(f"{number},{system},judge,{quality + draw.normal(0.5, 0.4):.3f}")
            comet.append(f"COMET\ten-de\tset\t{system}\t{number}\t{draw.normal():.4f}")
    (tmp_path / "people.csv").write_text("\n".join(people) + "\n")
    (tmp_path / "model.csv").write_text("\n".join(model) + "\n")
    (tmp_path / "comet.seg.score").write_text("\n".join(comet) + "\n")

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["rate", "estimate", *arguments])
        except SystemExit as end:
            code = int(str(end.code))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_targets_are_those_of_the_statistics() -> None:
    assert rate_estimate.TARGETS == TARGETS


def test_a_good_and_a_useless_proxy(run: Run) -> None:
    code, out, err = run("--ratings", "people.csv", "--proxy", "model.csv", "comet.seg.score")
    assert (code, err) == (0, "")
    rows = {tuple(line.split("  ")[0::1][:1]): line for line in out.splitlines()}
    assert rows
    assert "A with judge: as if " in out
    assert "A, B, A − B: COMET was worth nothing: its scores do not follow people's" in out
    assert "as rated by these 2 raters; from 10 raters on, of raters like them" in out


def test_programs_get_every_number(run: Run) -> None:
    code, out, _ = run("--ratings", "people.csv", "--proxy", "model.csv", "--format", "json", "--target", "items")
    assert code == 0
    found = json.loads(out)
    assert [row["system"] for row in found["systems"]] == ["A", "B"]
    (difference,) = found["differences"]
    assert (difference["system"], difference["other"], difference["rated"], difference["unrated"]) == (
        "A",
        "B",
        80,
        220,
    )
    people = _table("people.csv")
    model = _table("model.csv")
    values, proxy = (
        {item: own["A"] - own["B"] for item, own in table.items() if len(own) == 2} for table in (people, model)
    )
    expected = prediction_powered_mean(
        [*values.values()], [proxy[item] for item in values],
        [proxy[item] for item in proxy if item not in values], target="items",
    )  # fmt: skip
    assert difference["powered_mean"] == pytest.approx(expected.powered.mean, rel=1e-9)
    assert difference["powered_low"] == pytest.approx(expected.powered.low, rel=1e-9)
    assert difference["effective"] == pytest.approx(expected.effective, rel=1e-9)
    assert difference["effective"] > 100
    assert difference["useful"] is True
    _, table, _ = run("--ratings", "people.csv", "--proxy", "model.csv", "--format", "csv")
    assert {row["table"] for row in csv.DictReader(io.StringIO(table))} == {"systems", "differences"}


def _table(path: str) -> Mapping[str, Mapping[str, float]]:
    sums: dict[str, dict[str, list[float]]] = {}
    with Path(path).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sums.setdefault(row["item"], {}).setdefault(row["system"], []).append(float(row["score"]))
    return {item: {system: sum(own) / len(own) for system, own in of.items()} for item, of in sums.items()}


def test_known_probabilities(run: Run, tmp_path: Path) -> None:
    table = "item,probability\n" + "".join(f"{n},{0.9 if n % 2 else 0.2}\n" for n in range(80))
    (tmp_path / "p.csv").write_text(table)
    options = ("--ratings", "people.csv", "--proxy", "model.csv", "--format", "json")
    _, equal, _ = run(*options)
    code, weighted, _ = run(*options, "--probabilities", "p.csv")
    assert code == 0
    means = [json.loads(each)["systems"][0]["people_mean"] for each in (equal, weighted)]
    scores = {item: own["A"] for item, own in _table("people.csv").items()}
    chances = {item: 0.9 if int(item) % 2 else 0.2 for item in scores}
    expected = sum(scores[each] / chances[each] for each in scores) / sum(1 / chances[each] for each in scores)
    assert means[1] == pytest.approx(expected)
    assert means[0] != means[1]


@pytest.mark.parametrize(
    ("arguments", "files", "message"),
    [
        ("--ratings people.csv", {}, "rate estimate needs a STUDY; or --ratings FILE, by people, and --proxy FILE"),
        (
            "--ratings few.csv --proxy model.csv",
            {"few.csv": "item,system,rater,score\n" + "".join(f"{n},A,ann,{1 + n % 5}\n" for n in range(19))},
            "few.csv: no estimate of 'A': people have rated 19 items that it has scored; rate at least 20",
        ),
        (
            "--ratings people.csv --proxy x.csv",
            {"x.csv": "item,system,score\n" + "".join(f"id{n},A,{n}\n" for n in range(30))},
            "x and people.csv have no item in common, such as id0, id1",
        ),
        (
            "--ratings people.csv --proxy x.csv",
            {"x.csv": "item,system,score\n1,C,2\n"},
            "x and people.csv have no system in common, such as C and A, B; use the same ids in both",
        ),
        (
            "--ratings people.csv --proxy x.csv",
            {"x.csv": "item,system,score\n299,A,2\n"},
            "x and people.csv have no item in common",
        ),
        (
            "--ratings people.csv --proxy x.csv --probabilities p.csv",
            {"x.csv": "item,system,score\n1,A,2\n", "p.csv": "item,probability\n1,0\n"},
            "p.csv:2: probability must be a number above 0 and at most 1, not '0'",
        ),
        (
            "--ratings people.csv --proxy model.csv --probabilities p.csv",
            {"p.csv": "item,probability\n1,0.5\n1,0.25\n"},
            "p.csv:3: the item '1' has another probability above",
        ),
        (
            "--ratings people.csv --proxy model.csv --probabilities p.csv",
            {"p.csv": "item,probability\n1,0.5\n"},
            "the rated item '0' has no probability; known: 1",
        ),
        (
            "--ratings people.csv --proxy model.csv judge=comet.seg.score",
            {},
            "comet.seg.score: another proxy is called 'judge'; name one with NAME=FILE",
        ),
        (
            "--ratings people.csv --proxy all=model.csv",
            {},
            "model.csv: all means all proxies together; name this one with NAME=FILE",
        ),
        ("--ratings people.csv --proxy model.csv --out model.csv", {}, "model.csv is read by this command"),
        ("--ratings people.csv --proxy model.csv --confidence 1", {}, "confidence must be between 0 and 1"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, tmp_path: Path, arguments: str, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    code, out, err = run(*arguments.split())
    assert (code, out) == (2, "")
    said = [line for line in err.splitlines() if line.startswith("trubleu: ") and "notice" not in line]
    assert message in said[-1]
    assert "Traceback" not in err


def test_what_a_proxy_cannot_be_worth_is_said(run: Run, tmp_path: Path) -> None:
    rows = [f"{n},{system},judge,3" for n in range(300) for system in SYSTEMS]
    (tmp_path / "same.csv").write_text("item,system,rater,score\n" + "\n".join(rows) + "\n")
    code, out, _ = run("--ratings", "people.csv", "--proxy", "same.csv", "people=people.csv")
    assert code == 0
    assert "judge was worth nothing: its scores are all the same" in out
    assert "was worth nothing: people have rated all items that it has scored" in out


def test_one_rating_an_item_is_said(run: Run, tmp_path: Path) -> None:
    rows = [line for line in (tmp_path / "people.csv").read_text().splitlines() if "bob" not in line]
    (tmp_path / "one.csv").write_text("\n".join(rows) + "\n")
    code, out, _ = run("--ratings", "one.csv", "--proxy", "model.csv")
    assert code == 0
    assert "each item has one rating, so how far raters differ is not known" in out
