"""``trubleu rate`` as its users call it: from a file of candidates to a score."""

from __future__ import annotations

import csv
import json
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main, rate_study
from trubleu.data import Ratings, References
from trubleu.rating import Study
from trubleu.rating.export import FORMATS, WEIGHTS_FROM, WHATS
from trubleu.rating.imports import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., tuple[int, str, str]]

CANDIDATES = [
    {
        "id": f"s{n}",
        "context": ["hi"],
        "message": f"message {n}",
        "references": [{"text": f"good answer {n}", "origin": "seed"}, {"text": f"bad reply {n}", "origin": "mined"}],
    }
    for n in range(3)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(record) + "\n" for record in CANDIDATES))
    triples = [{"id": f"t{n}", "context": [], "message": "m", "response": f"r{n}"} for n in range(2)]
    (tmp_path / "triples.jsonl").write_text("".join(json.dumps(record) + "\n" for record in triples))
    ratings = [
        f"s{n}#{reference},{rater},{score}\n"
        for n in range(3)
        for reference, scores in ((1, (5, 4)), (2, (1, 2)))
        for rater, score in zip(("ann", "bob"), scores, strict=True)
    ]
    (tmp_path / "ratings.csv").write_text("item,rater,score\n" + "".join(ratings))
    for system in "AB":
        (tmp_path / f"{system}.txt").write_text("".join(f"{system} answers {n}\n" for n in range(3)))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def refused(result: tuple[int, str, str]) -> str:
    """Return the one sentence that a refusal consists of."""
    code, out, err = result
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.removeprefix("trubleu: ").removesuffix("\n")


def done(result: tuple[int, str, str]) -> str:
    """Return what a command without warnings says."""
    code, out, err = result
    assert (code, err) == (0, "")
    return out


def test_from_candidates_to_a_score(run: Run) -> None:
    said = done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2", "--title", "Answers"))
    assert said.splitlines()[0] == "study: 6 items, 2 ratings each, 12 ratings in all"
    said = done(run("rate", "import", "study", "ratings.csv"))
    assert said == "ratings.csv: 12 answers, 12 new, 12 of them count; 6 items, 2 new raters\n"
    assert "12 there already" in done(run("rate", "import", "study", "ratings.csv"))
    said = done(run("rate", "export", "study", "--as", "references", "--out", "refs.jsonl"))
    assert said == "refs.jsonl: 3 segments with 6 references, weighted by 12 ratings\n"
    assert [each.weight for each in References.read("refs.jsonl")[0].references] == [0.75, -0.75]
    scores = json.loads(done(run("score", "--refs", "refs.jsonl", "A.txt", "-m", "dbleu-1", "--format", "json")))
    assert scores["scores"][0]["score"] > 0


def test_which_references_to_rate_next(run: Run) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2"))
    done(run("rate", "import", "study", "ratings.csv"))
    plan = ("rate", "plan", "study", "--systems", "A.txt", "-m", "dbleu-1")
    said = done(run(*plan, "--interval", "1000"))
    assert said.endswith("wide: no more ratings are needed for 1000.\n")
    assert said.startswith("The interval of A is ")
    both = ("rate", "plan", "study", "--systems", "A.txt", "B.txt", "--metric=dbleu-1")
    made = json.loads(done(run(*both, "--most", "2", "--format", "json")))
    assert set(made["plan"][0]) == {"schema", "width", "wanted", "planned", "same_raters", "least", "ratings"}
    assert done(run(*plan, "--format", "csv")).startswith("segment,text,ratings,more")
    assert "--interval goes with --systems" in refused(run("rate", "plan", "study", "--interval", "2"))
    assert "bleu-4 does not use weights" in refused(run(*plan[:-1], "bleu-4"))


def test_pairs(run: Run) -> None:
    made = ("--kind", "pair", "--from", "c.jsonl", "--outputs", "A.txt", "other=B.txt")
    assert done(run("rate", "new", "p1", *made, "--quiet")) == ""
    done(run("rate", "new", "p2", *made, "--pairs", "other:A", "--raters", "1"))
    with Study.open("p1") as study:
        assert [stored.item.key for stored in study.items()] == [f"s{n}#A:other" for n in range(3)]
        assert study.items()[0].item.texts == ("A answers 0", "B answers 0")
    rows = [f"s{n},{system},ann,{score}" for n in range(3) for system, score in (("A", 4), ("other", 2))]
    Path("pairs.csv").write_text("\n".join(["item,system,rater,score,pair", *(f"{row},A:other" for row in rows)]))
    assert "3 answers, 3 new, 3 of them count" in done(run("rate", "import", "p2", "pairs.csv"))
    done(run("rate", "export", "p2", "--as", "ratings", "--labels", "--out", "out.csv"))
    read = Ratings.read("out.csv")
    assert (read.pair, read.systems(), read.raters()) == (("other:A",) * 6, ("other", "A"), 1)
    assert read.means()["s0", "A"] == 4
    assert "without references; export --as ratings" in refused(run("rate", "export", "p2", "--as", "references"))
    assert refused(run("rate", "new", "p3", "--kind", "pair", "--from", "c.jsonl")) == (
        "--kind pair needs --outputs of two systems at least, but 0 are given"
    )
    assert "unknown system 'C'" in refused(run("rate", "new", "p3", *made, "--pairs", "A:C"))
    assert "--from - is for" in refused(run("rate", "new", "p3", "--kind", "pair", "--from", "-", *made[4:]))


def test_carry(run: Run) -> None:
    done(run("rate", "new", "first", "--from", "triples.jsonl", "--raters", "1"))
    Path("r.csv").write_text("item,rater,score\nt0,ann,4\nt1,ann,5\n")
    done(run("rate", "import", "first", "r.csv"))
    said = done(run("rate", "new", "second", "--from", "triples.jsonl", "--raters", "3", "--carry", "first"))
    assert said.splitlines()[1] == "carried over: 2 answers to 2 items, 2 of them count, 1 rater"
    plan = json.loads(done(run("rate", "plan", "second", "--format", "json")))["plan"][0]
    assert (plan["wanted"], plan["there"], plan["missing"], plan["people"]) == (6, 2, 4, 2)
    pair = ("--kind", "pair", "--from", "c.jsonl", "--outputs", "A.txt", "B.txt")
    assert "is a study of kind response, and third of kind pair" in refused(
        run("rate", "new", "third", *pair, "--carry", "first")
    )
    assert "has no study" in refused(run("rate", "new", "third", "--from", "c.jsonl", "--carry", "nowhere"))


def test_settings(run: Run, folder: Path) -> None:
    (folder / "s.yaml").write_text("title: Mine\nkind: response\nraters: 4\nseed: 9\n")
    done(run("rate", "new", "a", "--from", "c.jsonl", "--config", "s.yaml"))
    done(run("rate", "new", "b", "--from", "c.jsonl", "--config", "s.yaml", "--raters", "2"))
    with Study.open("a") as a, Study.open("b") as b:
        assert (a.config.title, a.config.raters, b.config.raters, b.config.seed) == ("Mine", 4, 2, 9)
    (folder / "s.yaml").write_text("title: Mine\nkind: response\nrater: 4\n")
    said = refused(run("rate", "new", "c", "--from", "c.jsonl", "--config", "s.yaml"))
    assert said.startswith("s.yaml:3: rater is not a setting; did you mean raters")
    (folder / "s.yaml").write_text("title: Mine\nkind: response\n")
    assert "does not fit s.yaml" in refused(
        run("rate", "new", "c", "--from", "c.jsonl", "--config", "s.yaml", "--kind", "pair")
    )
    assert not (folder / "c").exists()


def test_what_cannot_be_made(run: Run, folder: Path) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl"))
    assert "study already holds something" in refused(run("rate", "new", "study", "--from", "c.jsonl"))
    assert "there is no such file" in refused(run("rate", "new", "x", "--from", "nothing.jsonl"))
    assert "must be between 1 and 1,000" in refused(run("rate", "new", "x", "--from", "c.jsonl", "--raters", "0"))
    assert "are for --kind pair" in refused(run("rate", "new", "x", "--from", "c.jsonl", "--pairs", "A:B"))
    assert "--title is empty" in refused(run("rate", "new", "x", "--from", "c.jsonl", "--title", " "))
    assert "mysql" in refused(run("rate", "new", "x", "--from", "c.jsonl", "--store", "mysql://host/db"))
    assert "does not take c.jsonl" in refused(run("rate", "status", "study", "c.jsonl"))
    (folder / "bad.jsonl").write_text('{"id": "1"}\n')
    assert refused(run("rate", "new", "x", "--from", "bad.jsonl")).startswith(
        "bad.jsonl:1: there is neither references"
    )
    (folder / "two.jsonl").write_text(
        "".join(json.dumps({"id": 1, "message": m, "references": [{"id": m, "text": m}]}) + "\n" for m in "ab")
    )
    assert refused(run("rate", "new", "x", "--from", "two.jsonl")) == (
        "two.jsonl:2: the id '1' is that of another piece of conversation at two.jsonl:1; every segment needs its own"
    )
    assert "there is no such file" in refused(run("rate", "new", "x", "--from", "c.csv"))
    assert "there is no such file" in refused(run("rate", "new", "x", "--from", "c.parquet"))
    assert not (folder / "x").exists()
    for command in ("status", "pause", "resume", "plan"):
        assert "has no study" in refused(run("rate", command, "nowhere"))
    assert "has no study" in refused(run("rate", "links", "nowhere", "--add", "1"))
    assert "has no study" in refused(run("rate", "export", "nowhere", "--as", "raw"))
    assert "has no study" in refused(run("rate", "import", "nowhere", "ratings.csv"))


def test_plan(run: Run) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2"))
    out = done(run("rate", "plan", "study", "--raters", "5", "--seconds-per-item", "36", "--pay", "10"))
    rows = {line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[1] for line in out.splitlines()[2:]}
    assert rows["ratings asked for"] == "30"
    assert (rows["hours"], rows["people"], rows["cost at 10 USD an hour"]) == ("0.30", "5", "3.00 USD")
    row = json.loads(done(run("rate", "plan", "study", "--raters", "3", "--format", "json")))["plan"][0]
    assert (row["wanted"], row["missing"], row["people"]) == (18, 18, 3)
    assert "seconds per item must be" in refused(run("rate", "plan", "study", "--seconds-per-item", "0"))


def test_links(run: Run, folder: Path) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl"))
    (first, second) = done(run("rate", "links", "study", "--add", "2", "--url", "https://x.org/r8/")).splitlines()
    name, link = first.split("\t")
    assert (name, link[: len("https://x.org/r8/r/")]) == ("rater 1", "https://x.org/r8/r/")
    (folder / "names.txt").write_text("ann\n\n=bob\n")
    code, out, err = run("rate", "links", "study", "--labels", "names.txt", "--out", "links.csv")
    assert (code, out) == (0, "")
    assert "links lead to http://127.0.0.1:8000, because the study was not served yet; give --url" in err
    assert stat.S_IMODE((folder / "links.csv").stat().st_mode) == 0o600
    with Path("links.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["rater"], row["name"]) for row in rows] == [("3", "ann"), ("4", "'=bob")]
    renewed = done(run("rate", "links", "study", "--renew", "ann")).split("\t")[1].strip()
    with Study.open("study") as study:
        tokens = [each.rsplit("/", 1)[1].strip() for each in (link, second, rows[0]["link"], rows[1]["link"], renewed)]
        found = [study.find_rater(token) for token in tokens]
    assert [rater and rater.id for rater in found] == [1, 2, None, 4, 3]
    assert "already exists" in refused(run("rate", "links", "study", "--add", "1", "--out", "links.csv"))
    assert "must end in .csv" in refused(run("rate", "links", "study", "--add", "1", "--out", "links.txt"))
    assert "there is no folder" in refused(run("rate", "links", "study", "--add", "1", "--out", "no/links.csv"))
    assert "needs --add N" in refused(run("rate", "links", "study"))
    assert "needs --add N" in refused(run("rate", "links", "study", "--add", "1", "--renew", "1"))
    assert "there are 2 labels for 3" in refused(run("rate", "links", "study", "--add", "3", "--labels", "names.txt"))
    assert "must be from 1" in refused(run("rate", "links", "study", "--add", "0", "--out", "new.csv"))
    assert not (folder / "new.csv").exists()
    assert "is not an address" in refused(run("rate", "links", "study", "--add", "1", "--url", "x.org"))
    assert "there is no rater 'cem'" in refused(run("rate", "links", "study", "--renew", "cem"))
    with Study.open("study") as study:
        assert len(study.raters()) == 4
    with Study.open("study") as study:
        study.store.put("url", "https://rate.example.org")  # as rate serve does
    assert done(run("rate", "links", "study", "--add", "1")).split("\t")[1].startswith("https://rate.example.org/r/")
    Path("twice.txt").write_text("eve\neve\n")
    assert "two raters would have the label 'eve'" in refused(run("rate", "links", "study", "--labels", "twice.txt"))


def test_people_and_pauses(run: Run) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2"))
    done(run("rate", "import", "study", "ratings.csv"))
    said = done(run("rate", "exclude", "study", "ann", "--reason", "fails gold items"))
    assert said == "ann (number 1) is excluded, and the ratings no longer count\n"
    code, out, err = run("rate", "export", "study", "--as", "ratings", "--out", "r.jsonl")
    assert (code, out) == (0, "r.jsonl: 6 ratings\n")
    assert err == "trubleu: warning: items with fewer ratings than asked for: 6 of 6, 0 of them without any\n"
    assert done(run("rate", "readmit", "study", "1", "--reason", "they were right")).endswith("is readmitted\n")
    assert done(run("rate", "export", "study", "--as", "ratings", "--out", "r.jsonl")) == "r.jsonl: 12 ratings\n"
    assert done(run("rate", "erase", "study", "ann")) == "rater 1: the identity is erased, the ratings stay\n"
    assert "there is no rater 'ann'" in refused(run("rate", "erase", "study", "ann"))
    assert "there is no rater '77'" in refused(run("rate", "exclude", "study", "77", "--reason", "x"))
    assert "--reason" in refused(run("rate", "exclude", "study", "2"))
    assert "the reason must have" in refused(run("rate", "exclude", "study", "2", "--reason", " "))
    assert done(run("rate", "pause", "study")) == "study is paused\n"
    with Study.open("study") as study:
        assert study.paused
    assert done(run("rate", "resume", "study")) == "study is running\n"
    with Study.open("study") as study:
        assert not study.paused


def test_status(run: Run) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2"))
    empty = json.loads(done(run("rate", "status", "study", "--format", "json")))
    assert empty["agreement"][0]["alpha"] is None
    assert empty["agreement"][0]["reason"] == "there are no ratings"
    done(run("rate", "import", "study", "ratings.csv"))
    text = done(run("rate", "status", "study"))
    for part in ("12 of 12 (100.0 %)", "6 of 6", "Krippendorff's α", "ann", "too few to rely on it", "disagree"):
        assert part in text
    record = json.loads(done(run("rate", "status", "study", "--format", "json", "--resamples", "20")))
    assert record["progress"][0]["counted"] == 12
    assert record["agreement"][0]["resamples"] == 20
    assert [row["name"] for row in record["raters"]] == ["ann", "bob"]
    assert [row["scores_5"] for row in record["raters"]] == [3, 0]
    assert sum(row["count"] for row in record["weights"]) == 6
    for form in ("csv", "markdown", "latex"):
        assert "ann" in done(run("rate", "status", "study", "--format", form))
    assert "--resamples" in refused(run("rate", "status", "study", "--resamples", "-1"))


def test_exports(run: Run, folder: Path) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2"))
    done(run("rate", "import", "study", "ratings.csv"))
    lines = done(run("rate", "export", "study", "--as", "raw")).splitlines()
    assert {json.loads(line)["kind"] for line in lines} >= {"joined", "imported"}
    assert done(run("rate", "export", "study", "--as", "raw", "--out", "raw.tsv")).startswith("raw.tsv: ")
    assert (
        done(run("rate", "export", "study", "--as", "mturk-tasks"))
        == '"key","missing","context","message","response"\n'
    )
    assert "the name does not show" in refused(run("rate", "export", "study", "--as", "raw", "--out", "raw.xls"))
    assert "there is no folder" in refused(run("rate", "export", "study", "--as", "raw", "--out", "no/raw.csv"))
    assert "invalid choice" in refused(run("rate", "export", "study", "--as", "weights"))
    (folder / "bad.csv").write_text("item,rater,score\ns0#1,cem,7\n")
    assert refused(run("rate", "import", "study", "bad.csv")) == (
        "bad.csv:2: score must be an integer from 1 to 5, not 7"
    )
    (folder / "batch.csv").write_text("WorkerId,Input.key,Answer.score\nW1,s0#1,3\nW2,s0#1,\n")
    said = done(run("rate", "import", "study", "batch.csv", "--as", "mturk"))
    assert said == "batch.csv: 1 answer, 1 new, 0 of them count; 1 item, 1 new rater; 1 without a score\n"


def test_help_has_examples(run: Run) -> None:
    commands = ("new", "plan", "links", "status", "export", "import", "exclude", "readmit", "erase", "pause", "resume")
    for command in commands:
        out = done(run("rate", command, "--help"))
        assert f"trubleu rate {command} " in out[out.index("examples:") :]
    assert "trubleu rate serve" in done(run("rate", "--help"))


def test_what_help_says_is_what_there_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # so no name is broken at its hyphen
    said = " ".join(done(run("rate", "export", "--help")).split())
    for what, formats in FORMATS.items():
        written = said[said.index("references: .") :].partition(f"{what}")[2].partition(": ")[2]
        assert re.match(r"(\.[a-z]+(, )?)+", written)[0].split(", ") == [f".{form}" for form in formats]  # type: ignore[index]
    assert rate_study.WHATS == WHATS
    assert rate_study.WEIGHTS_FROM == WEIGHTS_FROM
    assert rate_study.LAYOUTS == LAYOUTS


def test_candidates_may_come_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("c.jsonl").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        said = done(run("rate", "new", "study", "--from", "-", "--quiet"))
    assert said == ""
    with Study.open("study") as study:
        assert len(study.items()) == 6


@pytest.mark.parametrize("package", ["sqlalchemy", "yaml", "pydantic"])
def test_the_package_is_missing(folder: Path, package: str) -> None:
    commands = {
        "new": "--from c.jsonl", "plan": "", "status": "", "audit": "", "links": "--add 1 --url https://a.b",
        "export": "--as raw", "import": "ratings.csv", "exclude": "1 --reason x", "pause": "",
        "model": "--url http://localhost/v1 --model m", "serve": "",
    }  # fmt: skip
    program = "import sys\nfrom trubleu.cli import main\nsys.modules[sys.argv[1]] = None\n"
    calls = [["rate", name, "study", *options.split()] for name, options in commands.items()]
    program += f"for call in {calls}: assert main(call) == 2, call"
    made = subprocess.run([sys.executable, "-c", program, package], capture_output=True, text=True, cwd=folder)
    assert made.returncode == 0, made.stderr
    *first, last = made.stderr.splitlines()
    missing = f"needs the package {package}; install it with: pip install 'trubleu[rate]'"
    assert first == [f"trubleu: a rating study {missing}"] * (len(commands) - 1)
    assert last.endswith("install it with: pip install 'trubleu[rate]'")


def test_importing_its_own_export_changes_nothing(run: Run) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2"))
    done(run("rate", "import", "study", "ratings.csv"))
    with Study.open("study") as study:
        before = study.log()
    for labels in ((), ("--labels",)):
        done(run("rate", "export", "study", "--as", "ratings", "--out", "own.csv", *labels))
        said = done(run("rate", "import", "study", "own.csv"))
        assert said == "own.csv: 12 answers, 0 new, 0 of them count; 0 items, 0 new raters; 12 there already\n"
    with Study.open("study") as study:
        assert (study.log(), len(study.raters())) == (before, 2)


def test_imported_columns_have_any_titles(run: Run, folder: Path) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "2"))
    table = (folder / "ratings.csv").read_text().replace("item,rater,score", "what,rater,points")
    (folder / "odd.csv").write_text(table)
    code, _, err = run("rate", "import", "study", "odd.csv")
    assert (code, "say which it is: --columns item=TITLE" in err) == (2, True)
    code, said, err = run("rate", "import", "study", "odd.csv", "--columns", "item=what,score=points")
    assert err == "trubleu: columns of odd.csv: item ← what, score ← points, rater ← rater\n"
    assert (code, said) == (0, "odd.csv: 12 answers, 12 new, 12 of them count; 6 items, 2 new raters\n")
    code, _, err = run("rate", "import", "study", "odd.csv", "--columns", "item=what", "--as", "mturk")
    assert (code, err.count("\n"), "fixed columns; leave columns (--columns) out" in err) == (2, 1, True)


def test_seeds_are_carried_to_where_they_stand_among_candidates(run: Run, folder: Path) -> None:
    seeds = [{**record, "response": f"good answer {n}", "references": None} for n, record in enumerate(CANDIDATES)]
    (folder / "seeds.jsonl").write_text("".join(json.dumps(record) + "\n" for record in seeds))
    done(run("rate", "new", "seeds", "--from", "seeds.jsonl", "--raters", "3"))
    code, out, err = run("rate", "new", "early", "--from", "c.jsonl", "--carry", "seeds")
    assert (code, "carried over: 0 answers" in out) == (0, True)
    assert err == "trubleu: warning: nothing was carried over from seeds: nobody has rated anything there yet\n"
    rows = [f"s{n},{who},{score}\n" for n in range(3) for who, score in (("ann", 5), ("bob", 4), ("cem", 4))]
    (folder / "seeds.csv").write_text("item,rater,score\n" + "".join(rows))
    done(run("rate", "import", "seeds", "seeds.csv"))
    said = done(run("rate", "new", "all", "--from", "c.jsonl", "--raters", "5", "--carry", "seeds"))
    assert said.splitlines()[1] == "carried over: 9 answers to 3 items, 9 of them count, 3 raters"
    with Study.open("all") as study:
        assert [(each.item.key, each.counted) for each in study.items()][:2] == [("s0#1", 3), ("s0#2", 0)]


def test_an_old_copy_sets_nothing_back(run: Run, folder: Path) -> None:
    done(run("rate", "new", "study", "--from", "c.jsonl", "--raters", "3"))
    settings = folder / "study" / "study.yaml"
    settings.write_text(settings.read_text().replace("raters: 3", "raters: 2"))
    for command in (("status",), ("export", "--as", "raw", "--out", "log.csv"), ("plan",), ("pause",)):
        code, _, err = run("rate", command[0], "study", *command[1:])
        assert (code, err.count("they take effect when trubleu rate serve is restarted")) == (0, 1)
    assert run("rate", "status", "study", "--quiet")[2] == ""
    with pytest.warns(match="asks for other ratings"), Study.open("study") as study:
        assert {item.wanted for item in study.items()} == {3}


def test_ratings_in_the_file_are_not_dropped_in_silence(run: Run, folder: Path) -> None:
    references = [{"text": "a", "ratings": [4, 5]}, {"text": "b", "weight": None, "ratings": []}, {"text": "c"}]
    (folder / "r.jsonl").write_text(json.dumps({"id": 1, "references": references}) + "\n")
    code, _, err = run("rate", "new", "study", "--from", "r.jsonl")
    assert code == 0
    assert err == (
        "trubleu: warning: r.jsonl has ratings or weights of 1 reference, left out, as nobody knows whose they are; "
        "carry them over from their study (--carry), or add them with trubleu rate import\n"
    )
