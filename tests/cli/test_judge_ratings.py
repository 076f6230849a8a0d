"""``trubleu judge ratings`` and ``judge sets``: from files to a verdict, every format, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from tests.data.raw_files import ranking_files
from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

TEXTS = ["a dog runs in the park", "the cat sleeps on the mat", "it rains in the north today", "we went home by bus"]
FAST = ("--resamples", "20", "--trials", "50", "-m", "chrf", "-m", "bleu-2")


def task(systems: int = 5, items: int = 12) -> list[dict[str, object]]:
    """Systems that keep fewer and fewer words, and people who see it."""
    rows: list[dict[str, object]] = []
    for item in range(items):
        words = TEXTS[item % 4].split()
        for system in range(systems):
            kept = words[: len(words) - system]
            human = len(kept) - (item + system) % 3 * 0.5
            rows.append(
                {
                    "id": f"{item}|{system}",
                    "system": f"S{system}",
                    "seg": str(item),
                    "output": " ".join(kept),
                    "refs": [" ".join(words)],
                    "human": human,
                }
            )
    return rows


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main([*arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    for name, rows in (("good", task()), ("small", task(systems=3, items=10))):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert call("import", "tasks", f"{name}.jsonl", "--out", name)[0] == 0
    return call


def test_a_set_is_judged_and_the_verdict_comes_first(run: Run) -> None:
    code, out, _ = run("judge", "ratings", "good", *FAST)
    assert code == 0
    lines = out.splitlines()
    assert "agrees best with people on single outputs: acc*_eq ." in lines[0]
    assert "agrees best with people on systems: soft pairwise accuracy" in lines[1]
    assert "Segment level: acc*_eq" in out
    assert "good: 5 systems, 12 items, 60 outputs, 60 ratings (overall), means of raters" in out
    assert "Kendall τ-c by item" in out


@pytest.mark.parametrize("name", ["json", "csv", "markdown", "latex"])
def test_every_format(run: Run, name: str) -> None:
    code, out, _ = run("judge", "ratings", "good", *FAST, "--format", name)
    assert code == 0
    if name == "json":
        found = json.loads(out)
        assert [row["level"] for row in found["verdicts"]] == ["segment", "system"]
        assert {row["metric"] for row in found["measures"]} == {"chrf", "bleu-2"}
        assert found["setting"][0]["test"] == "perm-input"
    elif name == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert {row["table"] for row in rows} >= {"measures", "differences", "setting"}
    elif name == "markdown":
        assert "| cluster | metric |" in out.replace("|  |", "")
    else:
        assert out.startswith("% ")
        assert r"\begin{tabular}" in out


def test_a_page(run: Run, tmp_path: Path) -> None:
    assert run("judge", "ratings", "good", *FAST, "--format", "html", "--out", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "agrees best with people on single outputs" in page
    assert page.count("<figure") == 2
    assert page.count("</script>") == 1
    assert 'class="strip"' in page


def test_ratings_with_outputs_or_with_scores(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(
        "judge", "ratings", "good/ratings.csv", "--refs", "good/references.jsonl", "--aspect", "overall",
        *(f"good/outputs/S{system}.jsonl" for system in range(5)), *FAST, "--format", "json",
    )  # fmt: skip
    assert code == 0
    whole = json.loads(run("judge", "ratings", "good", *FAST, "--format", "json")[1])
    assert json.loads(out)["measures"] == whole["measures"]
    rows = ["metric,system,segment,score"]
    for line in (tmp_path / "good.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows.append(f"errors,{row['system']},{row['seg']},{-len(row['output'].split())}")
    (tmp_path / "scores.csv").write_text("\n".join(rows) + "\n")
    given = (
        "judge",
        "ratings",
        "good/ratings.csv",
        "--aspect",
        "overall",
        "--scores",
        "scores.csv",
        "--resamples",
        "9",
    )
    code, out, _ = run(*given, "--lower-is-better", "errors", "--format", "json")
    assert code == 0
    [pooled] = [row for row in json.loads(out)["measures"] if row["measure"] == "pearson-pooled"]
    assert pooled["value"] > 0.8


def test_some_systems_of_a_set(run: Run) -> None:
    code, out, _ = run("judge", "ratings", "good", "S0", "S1", "S2", *FAST, "--quiet")
    assert code == 0
    assert "the system level needs at least 5 systems; there are 3" in out


def test_rankings_are_known_by_their_columns(run: Run, tmp_path: Path) -> None:
    header = "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
    rows = [f"deu,eng,{n},{n},ann,S0,1,S1,2,{n}" for n in range(1, 5)]
    (tmp_path / "rankings.csv").write_text("\n".join([header, *rows]) + "\n")
    (tmp_path / "ref.txt").write_text("\n".join(TEXTS) + "\n")
    (tmp_path / "S0.txt").write_text("\n".join(TEXTS) + "\n")
    (tmp_path / "S1.txt").write_text("\n".join(text[:9] for text in TEXTS) + "\n")
    code, out, _ = run(
        "judge", "ratings", "rankings.csv", "--ref", "ref.txt", "S0.txt", "S1.txt", *FAST, "--format", "json", "--quiet"
    )
    assert code == 0
    found = json.loads(out)
    assert found["setting"][0]["kind"] == "rankings"
    assert {row["value"] for row in found["measures"]} == {1.0}


@pytest.fixture
def wmt(run: Run, tmp_path: Path) -> tuple[str, ...]:
    """Rankings, official scores and outputs of four systems, as WMT names them."""
    header = "srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
    rows = [
        f"deu,eng,{n},j{n % 2},news.S{a}.de-en.txt,{a + 1},news.S{b}.de-en.txt,{b + 1 if n % 5 else a + 1},{n}"
        for n in range(1, 13)
        for a in range(4)
        for b in range(a + 1, 4)
    ]
    (tmp_path / "rank.csv").write_text("\n".join([header, *rows]) + "\n")
    people = [f"news.S{n}.de-en.txt {0.9 - 0.2 * n * n / 3:.2f} (1, 2)\n" for n in range(4)]
    (tmp_path / "people.txt").write_text("+++\n".join(people))
    lines = [[" ".join(TEXTS[item % 4].split()[: 6 - n]) + f" {item * n}" for item in range(12)] for n in range(4)]
    (tmp_path / "ref.txt").write_text("\n".join(TEXTS * 3) + "\n")
    (tmp_path / "out").mkdir()
    for n, texts in enumerate(lines):
        (tmp_path / "out" / f"news.S{n}.de-en").write_text("\n".join(texts) + "\n")
    assert run("--version")[0] == 0
    return ("--ref", "ref.txt", *(f"out/news.S{n}.de-en" for n in range(4)), *FAST, "--quiet")


def test_official_scores_alone_beside_rankings_and_beside_ratings(
    run: Run, wmt: tuple[str, ...], tmp_path: Path
) -> None:
    code, out, err = run(
        "judge", "ratings", "rank.csv", "--human", "people.txt", *wmt, "--segment-measure", "tau-wmt14"
    )
    assert (code, err) == (0, "")
    assert " agrees best with people on single outputs: τ wmt14 ." in out.splitlines()[0]
    assert " agrees best with people on systems: Pearson r ." in out.splitlines()[1]
    assert "72 ranked pairs by 2 raters; official scores of 4 systems" in out
    code, both, _ = run("judge", "ratings", "--ratings", "rank.csv", "--human", "people.txt", *wmt, "-f", "json")
    assert code == 0
    code, alone, _ = run("judge", "ratings", "--human", "people.txt", *wmt, "-f", "json")
    assert code == 0
    rows = [row for row in json.loads(both)["measures"] if row["level"] == "system"]
    assert json.loads(alone)["measures"] == rows
    assert json.loads(alone)["setting"][0]["name"] == "people.txt"
    (tmp_path / "rated.csv").write_text("item,system,rater,score\n1,news.S0,ann,5\n1,news.S1,ann,3\n2,news.S0,ann,4\n")
    code, rated, err = run("judge", "ratings", "rated.csv", "--human", "people.txt", *wmt, "-f", "json")
    assert (code, err) == (0, "")
    assert [row for row in json.loads(rated)["measures"] if row["level"] == "system"] == rows
    code, out, _ = run("judge", "ratings", "--human", "people.txt", *wmt, "--test", "williams", "--format", "html")
    assert code == 0
    assert "williams" in out


def test_a_set_of_rankings_has_official_scores(run: Run, tmp_path: Path) -> None:
    ranking_files(tmp_path / "raw")
    assert run("import", "wmt-rr", "raw", "--out", "ranked")[0] == 0
    assert run("import", "wmt-rr", "raw", "--out", "again")[0] == 0
    code, out, _ = run(
        "judge", "sets", "ranked", "again", *FAST, "--segment-measure", "tau-wmt14", "--quiet", "-f", "json"
    )
    assert code == 0
    found = json.loads(out)
    assert {(row["level"], row["measure"], row["sets"]) for row in found["averages"]} == {
        ("segment", "tau-wmt14", 2), ("system", "pearson", 2),
    }  # fmt: skip
    assert {row["official"] for row in found["settings"]} == {3}
    code, _, err = run("judge", "pairs", "ranked", "-m", "chrf")
    assert code == 2
    assert err == (
        "trubleu: ranked/ratings.csv has rankings, which trubleu judge ratings judges by; give ratings of outputs\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rank.csv", "--human", "none.txt"), "none.txt"),
        (("rank.csv", "--human", "ref.txt"), "ref.txt:1: a line must be NAME SCORE (LOW, HIGH) or plus signs, not"),
        (("--human", "people.txt", "--segment-measure", "acc-eq"), "acc-eq needs ratings or rankings of outputs"),
        (("--human", "people.txt", "--aspect", "x"), "--aspect is about ratings, and there are none; leave it out"),
        (("--human", "people.txt", "--language-pair", "x"), "--language-pair changes nothing without rankings or --sc"),
        (
            ("rank.csv", "--language-pair", "de-en"),
            "has no rankings of the language pair 'de-en'; did you mean deu-eng",
        ),
        (("rank.csv", "--resample", "both"), "systems cannot be drawn or swapped; use segments"),
        (("rank.csv", "--test", "williams"), "williams compares Pearson's r, not acc-eq-calibrated; use pearson"),
        (("rank.csv", "--segment-measure", "tau-wmt11"), "there is no segment-level measure 'tau-wmt11'; did you mean"),
        (("rank.csv", "--identical", "merged"), "invalid choice: 'merged'"),
        (
            ("rank.csv", "--human", "people.txt", "--system-measure", "soft-pairwise-accuracy"),
            "needs ratings of outputs",
        ),
    ],
)
def test_what_official_scores_and_rankings_do_not_fit(
    run: Run, wmt: tuple[str, ...], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run("judge", "ratings", *arguments, *wmt)
    assert (code, out) == (2, "")
    assert message in err.strip().splitlines()[-1]
    assert "Traceback" not in err


def test_scores_may_name_the_language_pair_in_another_way(run: Run, wmt: tuple[str, ...], tmp_path: Path) -> None:
    rows = [f"m\t{pair}\tnews\tS{n}\t{s}\t{n * s}\n" for pair in ("de-en", "x") for n in range(4) for s in range(1, 13)]
    (tmp_path / "m.seg.score").write_text("".join(rows))
    code, out, _ = run(
        "judge", "ratings", "rank.csv", *wmt, "--scores", "m.seg.score", "--language-pair", "de-en", "-f", "json"
    )
    assert code == 0
    assert {row["metric"] for row in json.loads(out)["measures"]} == {"chrf", "bleu-2", "m"}


def test_the_older_command_is_gone(run: Run) -> None:
    code, _, err = run("judge", "wmt", "--tasks", "tasks.toml")
    assert code == 2
    assert "invalid choice: 'wmt'" in err


def test_systems_are_left_out_of_all_sets_or_of_one(run: Run) -> None:
    out = run(
        "judge", "sets", "good", "small", *FAST, "--without", "S0", "--without", "good:S1", "-f", "json", "--quiet"
    )[1]
    assert [row["systems"] for row in json.loads(out)["settings"]] == [3, 2]
    out = run("judge", "ratings", "good", *FAST, "--without", "S0", "--format", "json", "--quiet")[1]
    assert json.loads(out)["setting"][0]["systems"] == 4


def test_scores_of_other_programs_for_each_set(run: Run, tmp_path: Path) -> None:
    for name in ("good", "small"):
        code, out, err = run("score", name, "-m", "chrf", "--segments", "-f", "csv", "--quiet")
        assert (code, err) == (0, "")
        (tmp_path / f"{name}.csv").write_text(out)
    call = ("judge", "sets", "good", "small", *FAST, "-f", "json", "--quiet")
    code, out, err = run(*call, "--scores", "good:theirs=good.csv", "--scores", "small:theirs=small.csv")
    assert (code, err) == (0, "")
    values = {(row["set"], row["level"], row["metric"]): row["value"] for row in json.loads(out)["values"]}
    assert values["good", "segment", "theirs"] == values["good", "segment", "chrf"]
    for scores, message in (
        ("good.csv", "--scores good.csv must begin with a set, as in good:comet=FILE"),
        ("bad:x=good.csv", "--scores bad:x=good.csv must begin with a set, as in good:comet=FILE"),
    ):
        code, _, err = run(*call, "--scores", scores)
        assert code == 2
        assert message in err
    code, _, err = run(*call, "--scores", "good:theirs=good.csv", "--lower-is-better", "x")
    assert "lower is better for x, but no set has scores of it" in err


@pytest.mark.parametrize("name", ["svg", "pdf"])
def test_figures_of_many_sets(run: Run, tmp_path: Path, name: str) -> None:
    code, _, _ = run("judge", "sets", "good", "small", *FAST, "--format", name, "--out", f"sets.{name}", "--quiet")
    assert code == 0
    assert (tmp_path / f"sets.{name}").stat().st_size > 1000


@pytest.mark.parametrize("name", ["text", "json", "csv", "markdown", "latex", "html"])
def test_many_sets(run: Run, name: str) -> None:
    code, out, _ = run("judge", "sets", "first=good", "small", *FAST, "--format", name, "--quiet")
    assert code == 0
    if name == "json":
        found = json.loads(out)
        assert {(row["set"], row["level"]) for row in found["values"]} == {
            ("first", "segment"), ("first", "system"), ("small", "segment"),
        }  # fmt: skip
        assert {row["columns"] for row in found["regrets"]} == {3}
    elif name == "text":
        assert "is closest to the best over 2 sets" in out.splitlines()[0]
        assert "Distance from the best metric" in out
    elif name == "html":
        assert out.count("<figure") == 1
    else:
        assert "first" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ratings",), "there is nothing to judge by; give a set made by trubleu import, or a file of ratings"),
        (("ratings", "good", "--segment-measure", "pearson"), "there is no segment-level measure 'pearson'; did you"),
        (("ratings", "good", "--system-measure", "tau"), "there is no system-level measure 'tau'"),
        (("ratings", "good", "--test", "perm"), "there is no test 'perm'; did you mean"),
        (("ratings", "good", "--test", "perm-system"), "perm-system cannot compare acc-eq-calibrated"),
        (("ratings", "good", "--trials", "0"), "trials must be 1 or more, not 0"),
        (("ratings", "small", "--system-measure", "kendall"), "kendall needs 5 systems and there are 3; leave it out"),
        (("ratings", "good/ratings.csv", "--aspect", "overall"), "there are no outputs to score; name the"),
        (("ratings", "good", "--lower-is-better", "x"), "--lower-is-better changes nothing without --scores"),
        (("ratings", "nowhere.csv", "--scores", "x.csv"), "nowhere.csv"),
        (("ratings", "good", "S9"), "S9 is neither a system of good nor a file of outputs"),
        (("ratings", "good", "--without", "S00"), "there is no system 'S00' to leave out; did you mean S0?"),
        (("ratings", "good", *(f"--without=S{system}" for system in range(5))), "no system is left to judge by"),
        (("ratings", "good", "--language-pair", "de-en"), "--language-pair changes nothing without rankings or --sc"),
        (("sets", "good", "small", "--without", "S9"), "there is no system S9 in any of the sets; leave out SYSTEM"),
        (("sets", "good", "small", "--without", "god:S1"), "there is no system god:S1 in any of the sets"),
        (("sets", "good.jsonl"), "good.jsonl is not a set; create one with trubleu import"),
        (("sets", "good", "good"), "two sets are named good; name them with NAME=SET"),
        (("sets", "good", "--metric", "blue"), "there is no metric 'blue'"),
    ],
)  # fmt: skip
def test_what_is_refused_is_said_in_one_sentence(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("judge", *arguments)
    assert code == 2
    assert out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("trubleu: ")
    assert message in last


@pytest.mark.parametrize("option", ["--aspect=overall", "--scale=1:5", "--repeated-ratings=mean"])
def test_rankings_have_no_options_of_ratings(run: Run, tmp_path: Path, option: str) -> None:
    titles = "srclang,trglang,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
    (tmp_path / "rank.csv").write_text(f"{titles}\nde,en,1,ann,S0,1,S1,2,1\n")
    code, _, err = run("judge", "ratings", "rank.csv", "--scores", "scores.csv", option)
    assert code == 2
    assert f"{option.partition('=')[0]} is about ratings, but rank.csv has rankings; leave it out" in err


def test_names_are_escaped_on_pages(run: Run, tmp_path: Path) -> None:
    rows = [{**row, "system": f"{row['system']}&<b>x"} for row in task()]
    (tmp_path / "nasty.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("import", "tasks", "nasty.jsonl", "--out", "nasty")[0] == 0
    code, out, _ = run("judge", "ratings", "nasty", *FAST, "--format", "html", "--quiet")
    assert code == 0
    assert "<b>" not in out
