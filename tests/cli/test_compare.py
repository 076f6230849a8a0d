"""``trubleu compare`` as its users call it."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING

import pytest

import trubleu
from trubleu.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

GOOD = ["the food was great", "it was so loud", "we will be back"]
BAD = ["i do not know", "it was loud", "i do not know"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "id": "x",
            "topic": "food",
            "same": "all",
            "nothing": None,
            "references": [{"text": GOOD[0], "weight": 1.0}, {"text": BAD[0], "weight": -0.5}],
        },
        {"id": "y", "topic": "noise", "same": "all", "references": [{"text": "it was loud", "weight": 0.8}]},
        {"id": "z", "topic": "food", "same": "all", "references": [{"text": "we will come back", "weight": 0.9}]},
    ]
    (tmp_path / "refs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "good.txt").write_text("\n".join(GOOD) + "\n")
    (tmp_path / "bad.txt").write_text("\n".join(BAD) + "\n")
    (tmp_path / "topics.csv").write_text("id,topic,size\nz,late,1.5\nx,early,20\ny,late,3\n")
    (tmp_path / "other.csv").write_text("id,topic\nq,a\n")
    (tmp_path / "twice.csv").write_text("id,topic\nx,a\nx,b\n")
    (tmp_path / "short.csv").write_text("topic\na\nb\n")

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["compare", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


CALL = ("--refs", "refs.jsonl", "good.txt", "bad.txt", "--resamples", "200", "--seed", "7")


def test_scores_test_segments_and_ngrams(run: Run) -> None:
    code, out, err = run(*CALL, "-m", "dbleu-2", "-m", "chrf")
    assert (code, err) == (0, "")
    assert re.search(r"^good +\d+\.\d\d \[\d+\.\d\d, \d+\.\d\d\]", out, re.MULTILINE)
    assert re.search(r"^dbleu-2  good  bad  \+", out, re.MULTILINE)
    assert re.search(r"^chrf +good  bad  \+", out, re.MULTILINE)
    better = out.partition("Segments where good is better\n")[2]
    better, _, worse = better.partition("Segments where bad is better\n")
    assert re.findall(r"^  segment (\w)", better, re.MULTILINE) == ["x", "z"]
    assert re.search(r"^  segment y: good \S+, bad 100\.00 \(-\d", worse, re.MULTILINE)
    assert re.search(
        r"^    good +it was \[so\] loud\n    bad +it was loud\n    reference \+0.8  it was loud$", worse, re.M
    )
    assert max(map(len, (better + worse.partition(" by ")[0]).splitlines())) <= 80
    assert re.search(r"1  know +0\.00 +-0\.50 +\+0\.50 +0 +2$", out, re.MULTILINE)
    assert "segments, buckets and n-grams: by dbleu-2" in out
    assert "tests: paired randomisation, all swaps of the segments that differ, two-sided" in out


def test_json_and_csv_have_all_rows_in_full(run: Run) -> None:
    call = (*CALL, "-m", "dbleu-4")
    code, out, _ = run(*call, "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert list(document) == ["schema", "scores", "tests", "notes", "segments", "buckets", "ngrams"]
    assert {row["metric"] for row in document["scores"]} == {"dbleu-4"}
    metric = trubleu.metric("dbleu-4")
    references = trubleu.References.read("refs.jsonl")
    assert [row["score"] for row in document["scores"]] == [
        metric.corpus(texts, references).score for texts in (GOOD, BAD)
    ]
    scores = dict(zip("xyz", metric.segments(GOOD, references).tolist(), strict=True))
    assert all(row["score_a"] == scores[row["id"]] for row in document["segments"])
    rows = list(csv.DictReader(io.StringIO(run(*call, "--format", "csv")[1])))
    assert [row["ngram"] for row in rows if row["table"] == "ngrams"] == [row["ngram"] for row in document["ngrams"]]


@pytest.mark.parametrize(("name", "mark"), [("markdown", "| segment |"), ("latex", r"\toprule")])
def test_tables_for_papers(run: Run, name: str, mark: str) -> None:
    code, out, _ = run(*CALL, "--format", name)
    assert code == 0
    assert mark in out


def test_fewer_rows_and_a_metric_without_ngrams(run: Run) -> None:
    document = json.loads(run(*CALL, "--top", "1", "--ngrams", "2", "-m", "dbleu-2", "--format", "json")[1])
    assert [row["id"] for row in document["segments"]] == ["x", "y"]
    assert len(document["ngrams"]) <= 4
    assert "ngrams" not in json.loads(run(*CALL, "--ngrams", "0", "--format", "json")[1])
    code, out, err = run(*CALL, "-m", "ter", "--format", "json")
    assert (code, err) == (0, "")
    assert "ngrams" not in json.loads(out)


def test_buckets_by_a_field_of_the_references_and_by_a_table(run: Run) -> None:
    arguments = (*CALL, "-m", "bleu-2", "--by", "topic", "--by", "size=topics.csv", "--format", "json")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    rows = {(row["by"], row["bucket"], row["system"]): row for row in json.loads(out)["buckets"]}
    metric, references = trubleu.metric("bleu-2"), trubleu.References.read("refs.jsonl")
    for bucket, places in (("food", [0, 2]), ("noise", [1])):
        for system, texts in (("good", GOOD), ("bad", BAD)):
            row = rows["topic", bucket, system]
            score = metric.corpus([texts[place] for place in places], references.take(places)).score
            assert (row["segments"], row["score"]) == (len(places), score)
            assert row["low"] <= score <= row["high"]
    assert [bucket for by, bucket, system in rows if (by, system) == ("size", "bad")] == ["1.5", "3", "20"]
    # Outputs of a length are another system's other segments.
    assert (
        sum(row["segments"] for (by, _, system), row in rows.items() if (by, system) == ("output length", "bad")) == 3
    )


def test_more_than_two_systems_are_compared_with_the_first(run: Run) -> None:
    code, out, err = run(*CALL, "c=good.txt", "-m", "bleu-2", "--format", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert {(row["a"], row["b"]) for row in document["segments"]} == {("good", "bad")}  # c says what good says
    assert {(row["a"], row["b"]) for row in document["tests"]} == {("good", "bad"), ("good", "c"), ("bad", "c")}
    assert run(*CALL, "c=good.txt", "-m", "bleu-2")[1].startswith("By bleu-2, ")


def test_out_and_the_same_seed(run: Run, tmp_path: Path) -> None:
    assert run(*CALL, "--out", "table.txt")[:2] == (0, "")
    assert (tmp_path / "table.txt").read_text() == run(*CALL)[1]


BAD_CALLS: list[tuple[list[str], str]] = [
    (["--refs", "refs.jsonl", "good.txt"], "compare needs at least two systems; for one, use trubleu score"),
    (["--refs", "refs.jsonl", "good.txt", "good.txt"], "two systems are named good"),
    (["--refs", "refs.jsonl", "good.txt", "bad.txt", "--top", "-1"], "--top -1 must be 0 or more"),
    (["--refs", "refs.jsonl", "good.txt", "bad.txt", "--ngrams", "-1"], "--ngrams -1 must be 0 or more"),
    (["--refs", "missing.jsonl", "good.txt", "bad.txt", "-m", "blue"], "there is no metric 'blue'"),
    (["--refs", "missing.jsonl", "good.txt", "bad.txt"], "missing.jsonl: there is no such file"),
    (["--refs", "refs.jsonl", "good.txt", "bad.txt", "--resamples", "0"], "resamples must be 1 or more"),
    (["--refs", "refs.jsonl", "good.txt", "bad.txt", "--format", "word"], "--format.*invalid choice"),
    ([*CALL, "--by", "topik"], r"refs.jsonl has no column 'topik'; did you mean topic\?"),
    ([*CALL, "--by", "same"], "the column same has one value, 'all', in all segments, which gives no buckets"),
    ([*CALL, "--by", "nothing"], "the column nothing has no value in any segment"),
    ([*CALL, "--by", "references"], "references must be a text or a number to sort segments by, not an array"),
    (
        [*CALL, "--by", "topic=topics.csv", "--out", "topics.csv"],
        "topics.csv is read by this command and would be lost",
    ),
    ([*CALL, "--by", "=x"], "--by =x names no field"),
    ([*CALL, "--by", "topic", "--by", "topic"], "--by topic is given twice"),
    ([*CALL, "--by", "topic=good.txt"], "good.txt has no column 'topic', as it holds one text per line"),
    ([*CALL, "--by", "topic=other.csv"], "other.csv has no id of refs.jsonl"),
    ([*CALL, "--by", "topic=twice.csv"], "twice.csv:3: topic is 'b', but 'a' in another row of this segment"),
    ([*CALL, "--by", "topic=short.csv"], "short.csv has 2 rows for 3 segments; give one for each, or a column id"),
    (["--ref", "good.txt", "good.txt", "bad.txt", "--by", "topic"], "--by topic needs a file that has this field"),
    (["good.txt", "bad.txt"], "references are given with --refs FILE"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: list[str], message: str, run: Run) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert re.search(message, err)


@pytest.mark.parametrize("method", ["randomisation", "bootstrap"])
@pytest.mark.parametrize("style", ["text", "markdown", "latex", "json", "csv", "html"])
@pytest.mark.parametrize("segments", [1, 5])
def test_few_segments_give_no_verdict(tmp_path: Path, run: Run, method: str, style: str, segments: int) -> None:
    for name, text in (("r", "it was a great day"), ("a", "it was a great day"), ("b", "no idea at all")):
        (tmp_path / name).write_text(f"{text}\n" * segments)
    paths = [str(tmp_path / name) for name in "rab"]
    call = ("--ref", *paths, "-m", "trubleu", "--method", method, "--format", style, "--quiet")
    code, out, err = run(*call)
    assert (code, err) == (0, "")
    assert "significantly" not in out
    assert "too few segments differ" in out.replace("\n", " ")
    assert f"fewer than 20 segments are too narrow; these are from {segments}" in out.replace("\n", " ")
    assert not re.search(r"\d(\*|\\\*|\$\^\{\*)", out)


def test_findings_are_counted_listed_and_on_the_page(run: Run, tmp_path: Path) -> None:
    (tmp_path / "refs.txt").write_text("It takes 30 days.\nYes.\n")
    (tmp_path / "a.txt").write_text("It takes 60 days.\nYes.\n")
    (tmp_path / "b.txt").write_text("It takes 30 days.\nYes, in 5 hours.\n")
    call = ("--refs", "refs.txt", "a.txt", "b.txt", "-m", "bleu-1", "--resamples", "200", "--findings")
    _, out, _ = run(*call)
    assert re.search(r"outputs with +a +b\n.*\nnumber +1 +1\nmissing number +1 +0\n", out)
    _, out, _ = run(*call, "--format", "json")
    assert [(row["system"], row["id"], row["kind"]) for row in json.loads(out)["findings"]] == [
        ("a", "1", "number"),
        ("a", "1", "missing number"),
        ("b", "2", "number"),
    ]
    _, page, _ = run(*call, "--format", "html")
    assert '<option value="=number">number (2)</option>' in page
    _, out, _ = run("--refs", "a.txt", "a.txt", "a2=a.txt", *call[4:])
    assert "No findings." in out
