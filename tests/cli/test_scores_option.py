"""``--scores``: metrics that other programs computed, as columns of every command."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from trubleu.cli import main
from trubleu.stats import bootstrap_interval, compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    Run = Callable[..., tuple[int, str, str]]

COUNT = 40
GENERATOR = np.random.default_rng(5)
SCORES = {system: GENERATOR.normal(mean, 0.1, COUNT).round(6) for system, mean in (("A", 0.8), ("B", 0.74))}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "it", "rained", "all", "day"]
    texts = {name: [" ".join(GENERATOR.choice(words, 6)) for _ in range(COUNT)] for name in ("ref", "A", "B", "source")}
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    rows = [f"{system}\t{score}\n" for system, scores in SCORES.items() for score in scores]
    (tmp_path / "comet.seg.score").write_text("".join(rows))
    for system, scores in SCORES.items():
        records = [{"hypothesis": "h", "prediction": 25 * (1 - score)} for score in scores]
        (tmp_path / f"{system}.metricx.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main([*arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


CORPUS = ("--ref", "ref.txt", "A.txt", "B.txt", "-m", "chrf", "--resamples", "500", "--seed", "3")
COMET = ("--scores", "comet=comet.seg.score")
METRICX = ("--scores", "metricx=A.metricx.jsonl", "--scores", "metricx=B.metricx.jsonl")


def test_scores_intervals_and_tests_are_those_of_the_file(run: Run) -> None:
    code, out, err = run("score", *CORPUS, *COMET, "--ci", "--test", "--segments", "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    rows = {row["system"]: row for row in found["scores"] if row["metric"] == "comet"}
    statistics = {system: np.stack([scores, np.ones(COUNT)], axis=1) for system, scores in SCORES.items()}

    def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(sums[..., 0] / sums[..., 1])

    for system, scores in SCORES.items():
        interval = bootstrap_interval(statistics[system], mean, resamples=500, seed=3)
        assert rows[system]["score"] == pytest.approx(scores.mean(), abs=1e-12)
        assert (rows[system]["low"], rows[system]["high"]) == (interval.low, interval.high)
    [test] = [row for row in found["tests"] if row["metric"] == "comet"]
    [tested] = compare(statistics, mean, test=test["test"], resamples=500, seed=3)
    assert (test["p"], test["low"], test["high"]) == (tested.p, tested.low, tested.high)
    assert test["difference"] == pytest.approx((SCORES["A"] - SCORES["B"]).mean(), abs=1e-12)
    segments = {(row["system"], row["id"]): row["score"] for row in found["segments"] if row["metric"] == "comet"}
    assert segments == {
        (system, str(place)): score for system in SCORES for place, score in enumerate(SCORES[system], 1)
    }


@pytest.mark.parametrize("format_", ["text", "markdown", "latex", "csv", "json"])
@pytest.mark.parametrize("command", ["score", "compare"])
def test_every_format_has_the_columns(run: Run, command: str, format_: str) -> None:
    code, out, _ = run(command, *CORPUS, *COMET, *METRICX, "--format", format_)
    assert code == 0
    assert "comet" in out
    assert "metricx" in out


def test_the_first_metric_may_come_from_a_file(run: Run) -> None:
    code, out, _ = run("compare", *CORPUS[:4], "-m", "comet", "-m", "chrf", *COMET, "--resamples", "100", "-f", "json")
    found = json.loads(out)
    assert code == 0
    assert [row["metric"] for row in found["scores"]][:2] == ["comet", "chrf"]
    assert {row["metric"] for row in found["buckets"]} == {"comet"}
    largest = found["segments"][0]
    differences = SCORES["A"] - SCORES["B"]
    assert largest["id"] == str(differences.argmax() + 1)
    assert largest["difference"] == pytest.approx(differences.max(), abs=1e-12)


def test_the_page_has_the_columns(run: Run) -> None:
    code, out, _ = run("compare", *CORPUS, *COMET, *METRICX, "--format", "html")
    assert code == 0
    data = json.loads(out.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
    assert data["metrics"] == ["chrf", "comet", "metricx"]
    assert data["lower"] == [False, False, True]


def test_lower_is_better(run: Run) -> None:
    _, out, _ = run("compare", *CORPUS, *METRICX, "-m", "metricx", "--top", "0", "--ngrams", "0")
    assert "A (" in out.splitlines()[0].replace("\n", " ")  # A has fewer errors
    _, out, _ = run("score", *CORPUS, *COMET, "--lower-is-better", "comet", "-f", "json")
    assert [row["metric"] for row in json.loads(out)["scores"]][:2] == ["chrf", "comet"]
    _, out, _ = run("compare", *CORPUS[:4], "-m", "comet", *COMET, "--lower-is-better", "comet", "--resamples", "100")
    assert out.startswith("By comet, B (")


def test_the_signature(run: Run, tmp_path: Path) -> None:
    (tmp_path / "comet.seg.score.json").write_text('{"model": "Unbabel/wmt22-comet-da", "precision": "fp16"}')
    _, out, _ = run("score", *CORPUS, *COMET, "-f", "json")
    [signature] = {row["signature"] for row in json.loads(out)["scores"] if row["metric"] == "comet"}
    assert "comet|scores:given|number:80|sha256:" in signature
    assert "|model:Unbabel/wmt22-comet-da|precision:fp16|version:" in signature


def test_segments_go_to_a_folder(run: Run, tmp_path: Path) -> None:
    code, _, _ = run("score", *CORPUS, *COMET, "--segments-to", "out")
    assert code == 0
    parts = "".join(path.read_text() for path in sorted((tmp_path / "out").glob("*.jsonl")))
    rows = [json.loads(line) for line in parts.splitlines()]
    assert [row["score"] for row in rows if row["metric"] == "comet" and row["system"] == "A"] == [*SCORES["A"]]


def test_judged_beside_ours(run: Run, tmp_path: Path) -> None:
    rows = [
        ("item", "system", "rater", "score"),
        *(
            (place, system, "x", round(scores[place - 1], 1))
            for system, scores in SCORES.items()
            for place in range(1, COUNT + 1)
        ),
    ]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    (tmp_path / "ratings.csv").write_text(text.getvalue())
    call = ("judge", "ratings", "ratings.csv", "--ref", "ref.txt", "A.txt", "B.txt", "-m", "chrf", *COMET, *METRICX)
    code, out, _ = run(*call, "--resamples", "100", "--trials", "100", "-f", "json")
    assert code == 0
    pearson = {row["metric"]: row["value"] for row in json.loads(out)["measures"] if row["measure"] == "pearson-pooled"}
    rated = np.concatenate([np.round(scores, 1) for scores in SCORES.values()])
    expected = np.corrcoef(np.concatenate([*SCORES.values()]), rated)[0, 1]
    assert pearson["comet"] == pytest.approx(expected, abs=1e-9)
    assert pearson["metricx"] == pytest.approx(expected, abs=1e-9)  # the sign of errors is changed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scores", "comet=short.seg.score"), "short.seg.score has 39 scores of A, but there are 40 segments; give "),
        (("--scores", "comet=long.seg.score"), "long.seg.score has 41 scores of A, but there are 40 segments; give on"),
        (
            ("--scores", "c=missing.seg.score"),
            "missing.seg.score has no score of c for 1 segment of A, such as 7; give",
        ),
        (("--scores", "c=nan.seg.score"), "nan.seg.score:7: score must be a finite number, not 'nan'"),
        (("--scores", "c=other.seg.score"), "has no scores of the system A, only of X, B; use the same names"),
        (("--scores", "c=strange.csv"), "has scores of 1 segment that the references do not have, such as 'x1'; use "),
        (("--scores", "comet.seg.score", *COMET), "this has a score already at"),
        ((*COMET, "--lower-is-better", "ter"), "lower is better for ter, but no file has scores of it; known: comet"),
        (("--lower-is-better", "ter"), "--lower-is-better changes nothing without --scores; leave it out"),
        (("--scores", "chrf=comet.seg.score"), "there are two metrics named chrf; write --scores NAME=FILE with anoth"),
        (("--scores", "=comet.seg.score"), "--scores =comet.seg.score must be FILE, NAME=FILE or NAME:SYSTEM=FILE"),
        (("--scores", "nowhere.txt"), "nowhere.txt"),
        ((*COMET, "--out", "comet.seg.score"), "comet.seg.score is read by this command and would be lost; write to"),
        ((*COMET, "-m", "commet"), "commet"),
    ],
)
def test_mistakes(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    lines = (tmp_path / "comet.seg.score").read_text().splitlines(keepends=True)
    (tmp_path / "short.seg.score").write_text("".join(lines[1:]))
    (tmp_path / "long.seg.score").write_text("".join(lines[:1] + lines))
    (tmp_path / "missing.seg.score").write_text("".join([*lines[:6], "A\tNone\n", *lines[7:]]))
    (tmp_path / "nan.seg.score").write_text("".join([*lines[:6], "A\tnan\n", *lines[7:]]))
    (tmp_path / "other.seg.score").write_text("".join(lines).replace("A\t", "X\t"))
    rows = [f"{system},{place},0.5\n" for system in "AB" for place in [*range(1, COUNT + 1), "x1"]]
    (tmp_path / "strange.csv").write_text("system,id,score\n" + "".join(rows))
    code, out, err = run("score", *CORPUS, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert message in err


def test_explained_beside_ours(run: Run) -> None:
    call = ("explain", "--ref", "ref.txt", "A.txt", *COMET)
    code, out, _ = run(*call, "-m", "comet", "-m", "bleu-1", "--worst", "1", "-f", "json")
    assert code == 0
    [found] = json.loads(out)["explanations"]
    assert (found["segment"], found["metric"]) == (str(SCORES["A"].argmin() + 1), "bleu-1")
    assert found["others"] == {"comet": SCORES["A"].min()}
    code, out, _ = run(*call, "-m", "bleu-1", "--segment", "3")
    assert f"; comet = {SCORES['A'][2]:.2f}" in out
    code, out, _ = run(*call, "-m", "bleu-1", "--segment", "3", "-f", "html")
    assert f"; comet = {SCORES['A'][2]:.2f}" in out
    code, out, _ = run(
        *call[:3], "A.txt", "B.txt", *COMET, "-m", "comet", "-m", "bleu-1", "--differ", "1", "-f", "json"
    )
    places = {each["segment"] for each in json.loads(out)["explanations"]}
    assert places == {str(abs(SCORES["A"] - SCORES["B"]).argmax() + 1)}


@pytest.mark.parametrize("command", [("compare", "A.txt", "B.txt"), ("explain", "A.txt", "--segment", "1")])
def test_the_source_is_shown_whatever_the_metric(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    source = (tmp_path / "source.txt").read_text().splitlines()
    for format_ in ("text", "html"):
        code, out, err = run(*command, "--ref", "ref.txt", "--source", "source.txt", "-m", "bleu-1", "-f", format_)
        assert (code, err) == (0, "")
        assert any(line in out for line in source) if command[0] == "compare" else source[0] in out
