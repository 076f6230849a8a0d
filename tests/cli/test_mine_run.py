"""``trubleu mine run`` and ``mine search`` as their users call them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.data import References, Triple
from trubleu.mining import Index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

CORPUS = [
    Triple("t1", (), "how was the match ?", "great , we won the cup !"),
    Triple("t2", (), "did you see the match ?", "yes , what a match"),
    Triple("t3", (), "where is the station ?", "two streets from here"),
    Triple("t4", (), "was it a good match ?", "we won | yes we won"),
]
SEEDS = [
    {"id": "s1", "context": ["hi"], "message": "was the match good ?", "response": "yes , we won"},
    {"id": "s2", "message": "where is it ?", "response": "two streets further"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Index.build("chat.index", CORPUS)
    (tmp_path / "seeds.jsonl").write_text("".join(json.dumps(seed) + "\n" for seed in SEEDS))
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(list(arguments))
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_run_writes_references_that_are_not_rated_yet(run: Run, folder: Path) -> None:
    code, out, err = run("mine", "run", "chat.index", "--seeds", "seeds.jsonl", "--top", "2", "--out", "c.jsonl")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()[:5]] == [
        ["origin", "candidates"],
        ["------", "----------"],
        ["seed", "2"],
        ["mined", "4"],
        ["parrot", "2"],
    ]
    assert "c.jsonl: candidates for 2 seeds" in out
    records = [json.loads(line) for line in (folder / "c.jsonl").read_text().splitlines()]
    assert [(record["id"], record["mined"], record["wanted"]) for record in records] == [("s1", 2, 2), ("s2", 2, 2)]
    assert records[0]["signature"] in out
    assert all(item["weight"] is None for record in records for item in record["references"])
    expected = Index.open("chat.index").candidates("seeds.jsonl", top=2)
    expected.write("python.jsonl")
    assert (folder / "python.jsonl").read_bytes() == (folder / "c.jsonl").read_bytes()


def test_what_was_mined_is_checked_and_scored_like_any_references(run: Run, folder: Path) -> None:
    for name in ("c.jsonl", "c.jsonl.gz"):
        arguments = ["mine", "run", "--seeds", "seeds.jsonl", "--out", name, "--top", "2", "--random", "1", "--explain"]
        assert run(*arguments, "--quiet", "chat.index") == (0, "", "")
        code, out, err = run("refs", "check", name, "--format", "json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert found["counts"][0]["segments"] == 2
        assert {each["origin"] for each in found["origins"]} == {"seed", "mined", "parrot", "random"}
        (folder / "sys.txt").write_text("yes , we won\ntwo streets further\n")
        code, out, err = run("score", "--refs", name, "sys.txt", "-m", "bleu-2", "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out)["scores"][0]["score"] == pytest.approx(100)
        # Weights are missing, and a metric that needs them says so.
        code, _, err = run("score", "--refs", name, "sys.txt", "-m", "dbleu-2")
        assert code == 2
        assert "--unrated-as" in err


def test_options_reach_the_mining(run: Run) -> None:
    arguments = ["mine", "run", "chat.index", "--seeds", "seeds.jsonl", "--out", "-", "--quiet"]
    scoring = ["--top", "1", "--alpha", "0.7", "--epsilon", "0.2", "--variant", "atire", "--k1", "0.9", "--b", "0.4"]
    options = [*scoring, "--random", "1", "--seed", "3", "--threads", "1"]
    code, out, err = run(*arguments, *options)
    assert (code, err) == (0, "")
    first = json.loads(out.splitlines()[0])
    assert "|alpha:0.7|epsilon:0.2|bm25:atire|k1:0.9|b:0.4|top:1|random:1|seed:3|" in first["signature"]
    assert [each["origin"] for each in first["references"]] == ["seed", "mined", "parrot", "random"]
    assert "words" not in first["references"][1]
    words = json.loads(run(*arguments, "--explain")[1].splitlines()[0])["references"][1]["words"]
    assert set(words) == {"message", "response"}


def test_warnings_are_sentences(run: Run, folder: Path) -> None:
    with (folder / "seeds.jsonl").open("a") as stream:
        stream.write(json.dumps({"id": "odd", "message": "zzz", "response": "qqq"}) + "\n\n")
        stream.write(json.dumps({"id": "blank", "message": " ", "response": "qqq"}) + "\n")
    code, _, err = run("mine", "run", "chat.index", "--seeds", "seeds.jsonl", "--out", "c.jsonl")
    assert code == 0
    assert err.splitlines() == [
        "trubleu: warning: rows with a blank message or response, skipped: 1",
        "trubleu: warning: no word of the message is in the index, so nothing was mined for 1 seed: odd",
        "trubleu: warning: seeds with fewer than 15 mined candidates, which their records say (mined, wanted): 3",
    ]
    odd = json.loads((folder / "c.jsonl").read_text().splitlines()[2])
    assert (odd["mined"], odd["wanted"]) == (0, 15)
    assert [each["origin"] for each in odd["references"]] == ["seed", "parrot"]
    assert run("mine", "run", "chat.index", "--seeds", "seeds.jsonl", "--out", "c.jsonl", "--quiet") == (0, "", "")


def test_tab_separated_seeds_and_bad_rows(run: Run, folder: Path) -> None:
    (folder / "seeds.tsv").write_text("test\t\twas it good ?\tyes\ntest\tonly this\n")
    arguments = ["mine", "run", "chat.index", "--seeds", "seeds.tsv", "--out", "c.jsonl", "--top", "1"]
    columns = ["--columns", "-,context,message,response"]
    code, out, err = run(*arguments, *columns)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: seeds.tsv:2: ")
    assert not (folder / "c.jsonl").exists()
    code, _, err = run(*arguments, *columns, "--skip-bad")
    assert (code, err) == (0, "trubleu: warning: rows that could not be used and were skipped: 1\n")
    assert References.read("c.jsonl").ids == ("seeds.tsv:1",)


def test_standard_input_and_output(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["mine", "run", "chat.index", "--seeds", "-", "--out", "-", "--quiet"]
    text = (folder / "seeds.jsonl").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["s1", "s2"]
    # What was read cannot be read again to find the lines.
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text + text)))
    assert run(*arguments) == (2, "", "trubleu: the id 's1' is used by two seeds; every seed needs its own\n")


def test_search_as_text(run: Run) -> None:
    code, out, err = run(
        "mine", "search", "chat.index", "was the match good ?", "--response", "yes , we won", "--explain"
    )
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split("  ")[0] == "rank"
    for heading in ("score", "of message", "of response", "message", "response", "source", "words of message"):
        assert heading in lines[0]
    assert lines[2].split()[0] == "1"
    assert "we won | yes we won" in lines[2]
    assert "t4" in lines[2]
    assert "won " in lines[2].split("t4")[1]
    assert "message alone" not in out


def test_search_by_the_message_alone_says_so(run: Run) -> None:
    code, out, _ = run("mine", "search", "chat.index", "was the match good ?", "--top", "1")
    assert code == 0
    assert "of response" not in out
    explained = run("mine", "search", "chat.index", "was the match good ?", "--top", "1", "--explain")[1]
    assert explained.splitlines()[0].endswith("words of message")
    assert out.splitlines()[-1] == (
        "ranked by the message alone, as no --response was given; the score is BM25's of the messages"
    )
    rows = json.loads(run("mine", "search", "chat.index", "was the match good ?", "--format", "json")[1])["candidates"]
    assert all(row["score"] == row["message_score"] for row in rows)
    assert "response_score" not in rows[0]


def test_search_for_programs(run: Run) -> None:
    arguments = ["mine", "search", "chat.index", "the match", "--response", "we won", "--explain", "--top", "2"]
    found = json.loads(run(*arguments, "--format", "json")[1])
    expected = Index.open("chat.index").search("the match", "we won", explain=True, top=2)
    assert [row["score"] for row in found["candidates"]] == [each.score for each in expected]
    assert [(row["message"], row["response"], row["source"]) for row in found["candidates"]] == [
        (each.source_message, each.text, each.source) for each in expected
    ]
    for each, row in zip(expected, found["candidates"], strict=True):
        parts = [one for one in found["words"] if one["rank"] == each.rank]
        for field in ("message", "response"):
            total = sum(one["contribution"] for one in parts if one["field"] == field)
            assert total == pytest.approx(row[f"{field}_score"], rel=1e-12)
    rows = list(csv.DictReader(io.StringIO(run(*arguments[:-3], "--format", "csv")[1])))
    assert rows[0]["source"] == expected[0].source
    assert "\\toprule" in run(*arguments, "--format", "latex")[1]
    assert run(*arguments, "--format", "markdown")[1].startswith("| rank | score |")


def test_search_that_finds_nothing(run: Run) -> None:
    code, out, err = run("mine", "search", "chat.index", "zzz", "--response", "we won", "--explain")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "no word of 'zzz' is indexed in a message of chat.index"
    assert json.loads(run("mine", "search", "chat.index", "zzz", "--format", "json")[1])["candidates"] == []


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("match", ["--response", "", "--epsilon", "0"]),
        ("match", ["--response", "zzz", "--alpha", "1"]),
        ("the ?", ["--response", "we won", "--variant", "robertson"]),
        ("station", ["--response", "TWO streets  from here"]),
    ],
)
def test_search_that_finds_what_counts_nothing(run: Run, message: str, options: list[str]) -> None:
    code, out, err = run("mine", "search", "chat.index", message, *options)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("every score is 0, or only your own response was found, which is left out; ")


RUN = ["mine", "run", "chat.index", "--seeds", "seeds.jsonl"]
LOOK = ["mine", "search", "chat.index", "the match"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine", "run", "--seeds", "seeds.jsonl", "--out", "c.jsonl"], "mine run needs one INDEX; give it"),
        ([*RUN, "other.index", "--out", "c.jsonl"], "mine run needs one INDEX, not 2 arguments"),
        (["mine", "run", "no.index", "--seeds", "seeds.jsonl", "--out", "c.jsonl"], "no.index"),
        (["mine", "run", "chat.index", "--seeds", "no.jsonl", "--out", "c.jsonl"], "no.jsonl: there is no such file"),
        (["mine", "run", "chat.index", "--out", "c.jsonl"], "--seeds"),
        (RUN, "--out"),
        ([*RUN, "--out", "c.txt"], "c.txt: the name does not show a format; let it end in .jsonl"),
        ([*RUN, "--out", "no/c.jsonl"], "there is no folder no; create it first"),
        ([*RUN, "--out", "seeds.jsonl"], "seeds.jsonl is read by this command and would be lost"),
        ([*RUN, "--out", "chat.index/c.jsonl"], "chat.index/c.jsonl lies inside the index chat.index"),
        ([*RUN, "--out", "c.jsonl", "--resume", "chat.index"], "chat.index is the index itself; write to another"),
        ([*RUN, "--out", "c.jsonl", "--resume", "chat.index/kept"], "chat.index/kept lies inside the index chat.index"),
        ([*RUN, "--out", "c.jsonl", "--top", "0"], "top must be a whole number from 1 on, not 0"),
        ([*RUN, "--out", "c.jsonl", "--alpha", "1.01"], "alpha must be a number from 0 to 1, not 1.01"),
        ([*RUN, "--out", "c.jsonl", "--alpha", "nan"], "alpha must be a number from 0 to 1, not nan"),
        ([*RUN, "--out", "c.jsonl", "--epsilon", "-0.1"], "epsilon must be a number from 0 to 1,000,000, not -0.1"),
        ([*RUN, "--out", "c.jsonl", "--variant", "atir"], "did you mean atire?"),
        ([*RUN, "--out", "c.jsonl", "--k1", "-1"], "k1 must be a number from 0"),
        ([*RUN, "--out", "c.jsonl", "--b", "2"], "b must be a number from 0 to 1, not 2.0"),
        ([*RUN, "--out", "c.jsonl", "--random", "-1"], "random must be a whole number from 0 on, not -1"),
        ([*RUN, "--out", "c.jsonl", "--seed", "-1"], "seed must be a whole number from 0 on, not -1"),
        ([*RUN, "--out", "c.jsonl", "--threads", "0"], "threads"),
        ([*RUN, "--out", "c.jsonl", "--columns", "message,response"], "there are none; leave them out"),
        (["mine", "search", "chat.index"], 'mine search needs INDEX "A MESSAGE", not 1 argument'),
        ([*LOOK, "more"], "not 3 arguments"),
        ([*LOOK, "--alpha", "0.5"], "--alpha is about the response, and there is none; give --response"),
        ([*LOOK, "--epsilon", "0.5"], "--epsilon is about the response, and there is none; give --response"),
        ([*LOOK, "--out", "chat.index/found.txt"], "lies inside the index"),
        ([*LOOK, "--variant", "okapi"], "known: lucene, robertson, atire"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, folder: Path, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert message in err
    assert not (folder / "c.jsonl").exists()


def test_seeds_of_a_folder_are_not_overwritten(run: Run, folder: Path) -> None:
    (folder / "seeds").mkdir()
    (folder / "seeds.jsonl").rename(folder / "seeds" / "a.jsonl")
    code, _, err = run("mine", "run", "chat.index", "--seeds", "seeds", "--out", "seeds/a.jsonl")
    assert code == 2
    assert "seeds/a.jsonl is read by this command and would be lost" in err


def test_duplicate_ids_name_both_places(run: Run, folder: Path) -> None:
    text = (folder / "seeds.jsonl").read_text()
    (folder / "seeds.jsonl").write_text(text + "\n" + text.splitlines()[0] + "\n")
    code, _, err = run(*RUN, "--out", "c.jsonl")
    assert code == 2
    assert err == "trubleu: seeds.jsonl:4: the id 's1' is already used at seeds.jsonl:1; every seed needs its own\n"
    (folder / "seeds.jsonl").write_text(json.dumps({"message": "the match"}) + "\n")
    code, _, err = run(*RUN, "--out", "c.jsonl")
    assert code == 2
    assert err.startswith("trubleu: seeds.jsonl:1: the field response is missing")


def test_help_needs_no_index(run: Run) -> None:
    for command in ("run", "search"):
        code, out, _ = run("mine", command, "--help")
        assert code == 0
        assert "--explain" in out
