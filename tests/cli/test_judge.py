"""``trubleu judge pairs`` as its users type it."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from tests.judge.world import World, make_world
from trubleu.cli import judge, main
from trubleu.judge.pairs.reference_pool import CONDITIONS

FAST = ["--unit", "4", "--draws", "5", "--resamples", "5", "--sweep-draws", "3", "--sweep-resamples", "3"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = make_world(segments=24)
    monkeypatch.chdir(tmp_path)
    world.references.write("refs.jsonl")
    world.ratings.write("ratings.csv")
    for name, texts in world.systems.items():
        Path(f"{name}.txt").write_text("\n".join(texts) + "\n")
    return world


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["judge", "pairs", "--refs", "refs.jsonl", "--ratings", "ratings.csv", *FAST, *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.usefixtures("study")
def test_the_table_of_the_paper_and_its_sweeps(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("A.txt", "B.txt", "C.txt", capsys=capsys)
    assert (code, err) == (0, "")
    for metric in ("trubleu", "chrf", "bleu-4", "dbleu-2"):
        for condition in ("single", "w>=0.6", "all"):
            assert any(line.split()[:2] == [metric, condition] for line in out.splitlines())
    assert (
        "units of 4 segments, 18 in 3 pairs of systems, N = 36 with both signs; means over 5 draws, seed 12345" in out
    )
    assert "Spearman's ρ by minimum weight of references" in out
    assert "Spearman's ρ by segments per unit (references: all)" in out
    assert "Spearman's ρ by longest n-gram (references: all)" in out
    assert "w>=0.6:" in out  # how many segments keep their best-weighted reference


@pytest.mark.usefixtures("study")
def test_flat_rows_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("A.txt", "B.txt", "-m", "dbleu-1", "--condition", "all", "--format", "json", capsys=capsys)
    document = json.loads(out)
    (row,) = document["correlations"]
    assert list(row)[:9] == [
        *("schema", "metric", "condition", "unit", "units", "n"),
        *("spearman", "spearman_low", "spearman_high"),
    ]
    assert {"kendall", "kendall_low", "kendall_fisher_low", "kendall_fieller_high", "signature"} <= row.keys()
    assert (row["metric"], row["condition"], row["unit"], row["units"], row["n"]) == ("dbleu-1", "all", 4, 6, 12)
    assert row["signature"].startswith("dbleu-1|")
    assert "refs:all|unit:4|draws:5" in row["signature"]
    assert {name for name in document if name != "schema"} == {
        *("correlations", "comparisons", "sweeps", "systems", "system_scores", "pairs", "setting", "notes")
    }
    assert document["setting"][0]["seed"] == 12345
    _, out, _ = run("A.txt", "B.txt", "-m", "dbleu-1", "--condition", "all", "--format", "csv", capsys=capsys)
    rows = list(csv.DictReader(io.StringIO(out)))
    found = next(each for each in rows if each["table"] == "correlations")
    assert float(found["spearman"]) == row["spearman"]


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_other_formats(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("A.txt", "B.txt", "--format", form, capsys=capsys)
    assert code == 0
    assert "dbleu-2" in out


@pytest.mark.usefixtures("study")
def test_the_page_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(
        *("A.txt", "B.txt", "C.txt", "-m", "dbleu-2", "-m", "bleu-2", "--report", "out.html", "--browse", "5"),
        capsys=capsys,
    )
    assert (code, err) == (0, "")
    assert Path("out.html").read_text().startswith("<!doctype html>")


def test_scores_from_elsewhere_and_ones_own_metric(study: World, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["metric,system,segment,score"]
    lines += [f"comet,{name},s{segment},{float(mean)}" for (segment, name), mean in study.means.items()]
    Path("comet.csv").write_text("\n".join(lines) + "\n")
    Path("own_metric.py").write_text(
        "from trubleu import Bleu\nclass Own(Bleu):\n    def __init__(self):\n        super().__init__(1)\n"
    )
    code, out, err = run(
        *("A.txt", "B.txt", "C.txt", "-m", "own_metric:Own", "--scores", "comet.csv", "--format", "json"), capsys=capsys
    )
    assert (code, err) == (0, "")
    rows = {(row["metric"], row["condition"]): row for row in json.loads(out)["correlations"]}
    assert rows["comet", None]["spearman"] == pytest.approx(1)
    assert rows["own_metric:Own", "all"]["spearman"] is not None


@pytest.mark.usefixtures("study")
def test_pooled_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("A.txt", "B.txt", "C.txt", "--pool-outputs", "--condition", "given", "--condition", "all",
                       capsys=capsys)  # fmt: skip
    assert code == 0
    assert "ratings are shared" in out
    _, out, _ = run("A.txt", "B.txt", "C.txt", "--pool-outputs", "--sweeps", "none", "--format", "json", capsys=capsys)
    assert any(row["note"].startswith("ratings are shared") for row in json.loads(out)["notes"])
    assert {row["condition"] for row in json.loads(out)["correlations"]} == {"given", "all"}


@pytest.mark.usefixtures("study")
def test_references_without_weights_have_no_thresholds(capsys: pytest.CaptureFixture[str]) -> None:
    records = [json.loads(line) for line in Path("refs.jsonl").read_text().splitlines()]
    Path("gold.txt").write_text("".join(record["references"][0]["text"] + "\n" for record in records))
    arguments = ["judge", "pairs", "--ref", "gold.txt", "--ratings", "byline.csv", *FAST, "A.txt", "B.txt", "C.txt"]
    text = Path("ratings.csv").read_text()
    Path("byline.csv").write_text(re.sub(r"^s(\d+)", lambda found: str(int(found[1]) + 1), text, flags=re.M))
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "w>=0.6" not in out
    assert "dbleu" not in out
    assert "no sweep over thresholds: the references have no weights" in out


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A.txt"], "judging needs at least two systems to compare, not 1"),
        (["A.txt", "B.txt", "--pairs", "A:X"], "the pair A:X names no system 'X'"),
        (["A.txt", "B.txt", "--condition", "good"], "there is no condition 'good'"),
        (["A.txt", "B.txt", "C.txt", "--unit", "99"], "a unit of 99 segments is larger than the data"),
        (["A.txt", "B.txt", "--sweeps", "size"], "there is no sweep 'size'"),
        (["A.txt", "B.txt", "--scale", "five"], "the scale 'five' must be two numbers"),
        (["A.txt", "B.txt", "--scale", "1:3"], "score must be a number from 1 to 3, not "),
        (["A.txt", "B.txt", "--scale", "0.5:3"], "score must be a number from 0.5 to 3, not "),
        (["A.txt", "B.txt", "--columns", "rater=ratr"], "--columns: no table has a column 'ratr'; did you mean rater?"),
        (["A.txt", "B.txt", "--aspect", "style"], "has no ratings of the aspect 'style'; its ratings have no aspect"),
        (["A.txt", "B.txt", "-m", "blue"], "there is no metric 'blue'"),
        (["A.txt", "B.txt", "--scores", "none.csv"], "none.csv"),
        (["A.txt", "B.txt", "--report", "no/where.html"], "no/where.html"),
        (["A.txt", "B.txt", "--browse", "-5", "--report", "x.html"], "--browse -5 must be 0 or more"),
        (["A.txt", "B.txt", "--testset", "x"], "--testset changes nothing without --scores"),
        (["A.txt", "B.txt", "--report", "ratings.csv"], "is read by this command and would be lost"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("study")
def test_unrated_references_are_refused_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    records = [json.loads(line) for line in Path("refs.jsonl").read_text().splitlines()]
    records[0]["references"].append({"text": "new", "weight": None})
    Path("refs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    code, _, err = run("A.txt", "B.txt", capsys=capsys)
    assert code == 2
    assert "not rated yet" in err
    assert run("A.txt", "B.txt", "--unrated-as", "0", capsys=capsys)[0] == 0


@pytest.mark.usefixtures("study")
def test_a_rater_who_rated_twice(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("ratings.csv").read_text()
    Path("ratings.csv").write_text(text + text.splitlines()[1] + "\n")
    code, _, err = run("A.txt", "B.txt", "C.txt", capsys=capsys)
    assert code == 2
    assert "--repeated-ratings mean" in err
    said = {"mean": "the mean of each rater's counts", "first": "the first counts", "last": "the last counts"}
    for rule, told in (said | {"keep": "each counts"}).items():
        code, _, err = run("A.txt", "B.txt", "C.txt", "--repeated-ratings", rule, "--sweeps", "none", capsys=capsys)
        assert (code, err) == (0, f"trubleu: ratings.csv: 1 rating by raters of what they had rated before; {told}\n")


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("factor", "shift", "options", "said"),
    [
        ("0.25", "-0.25", ["--scale", "0:1"], ""),
        ("0.25", "-0.25", ["--pool-outputs"], "trubleu: ratings.csv: scores are on the scale 0:1\n"),
        ("6.25", "-31.25", ["--scale=-25:0", "--pool-outputs"], ""),
        ("6.25", "-31.25", ["--scale", "-25:0"], ""),
        (
            "1.7",
            "-4.123",
            [],
            "trubleu: ratings.csv: scores from -2.423 to 4.377 are taken as they are, on no fixed scale\n",
        ),
    ],
)
def test_any_scale_gives_the_same_coefficients(
    factor: str, shift: str, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = [each for each in options if each == "--pool-outputs"]
    command = ["A.txt", "B.txt", "C.txt", "--sweeps", "none"]
    plain = run(*command, *pool, capsys=capsys)
    rows = [line.split(",") for line in Path("ratings.csv").read_text().splitlines()]
    at = rows[0].index("score")
    for row in rows[1:]:
        row[at] = str(Decimal(row[at]) * Decimal(factor) + Decimal(shift))
    Path("ratings.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    code, out, err = run(*command, *options, capsys=capsys)
    assert (plain[0], code, err.removesuffix(plain[2])) == (0, 0, said)
    table = out.index("ρ"), plain[1].index("ρ")
    assert out[table[0] :].split("\n\n")[0] == plain[1][table[1] :].split("\n\n")[0]


@pytest.mark.usefixtures("study")
def test_scores_without_ends_cannot_join_the_references(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("ratings.csv").read_text().replace(",5", ",2.5").replace(",1", ",-1.5")
    Path("ratings.csv").write_text(text)
    code, out, err = run("A.txt", "B.txt", "C.txt", "--pool-outputs", "--condition", "all", capsys=capsys)
    assert (code, out) == (2, "")
    assert "ratings.csv has scores without a worst and a best, which cannot become weights; give them: " in err


@pytest.mark.usefixtures("study")
def test_columns_of_ratings_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    plain = run("A.txt", "B.txt", "C.txt", "--sweeps", "none", capsys=capsys)
    header, _, rest = Path("ratings.csv").read_text().partition("\n")
    Path("ratings.csv").write_text(header.replace("score", "points").replace("rater", "who") + "\n" + rest)
    named = run("A.txt", "B.txt", "C.txt", "--sweeps", "none", "--columns", "score=points,rater=who", capsys=capsys)
    assert (named[0], named[1]) == (0, plain[1])
    assert "rater ← who" in named[2]
    assert "score ← points" in named[2]


def test_the_default_conditions_are_those_of_python() -> None:
    assert judge.DEFAULT_CONDITIONS == CONDITIONS


@pytest.mark.usefixtures("study")
def test_what_judging_settles_itself_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run("A.txt", "B.txt", "--no-positive", "skip", capsys=capsys)
    assert left.value.code == 2
    assert "there is no option --no-positive" in capsys.readouterr().err
