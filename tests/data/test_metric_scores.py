"""Scores that metrics gave: files of WMT and others, there and back, every mistake with its line."""

from __future__ import annotations

import csv
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import Labels, SegmentScores
from trubleu.errors import DataError
from trubleu.files import atomic_writer

_characters = st.characters(exclude_categories=["Cs"])
name = (
    st.text(_characters, min_size=1, max_size=4)
    | st.sampled_from(["a,b", 'say "hi"', "x y", " a ", "\u2028", "{", "7", "\r", "score", "system", "=", "a\r"])
).map(lambda text: text if text.strip() else f"<{text}>")
plain_name = name.filter(lambda text: not ({"\t", "\n"} & set(text)) and not text.startswith("\ufeff"))
number = st.floats(allow_nan=False, allow_infinity=False)


def table_of(names: st.SearchStrategy[str], labels: int) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(
        st.tuples(*[names] * labels, number), min_size=1, max_size=8, unique_by=lambda row: tuple(row[:labels])
    )


def segment_scores(rows: list[tuple[Any, ...]]) -> SegmentScores:
    metric, system, segment, language_pair, testset, score = zip(*rows, strict=True)
    return SegmentScores(metric, system, segment, score, language_pair, testset)


@given(table_of(plain_name, 5), st.sampled_from(["s.seg.score", "s", "s.seg.score.gz", "s.txt.zst"]))
def test_wmt_round_trip(rows: list[Any], file: str) -> None:
    before = segment_scores(rows)
    with tempfile.TemporaryDirectory() as folder:
        with atomic_writer(Path(folder) / file) as stream:
            for metric, system, segment, language_pair, testset, score in rows:
                stream.write("\t".join((metric, language_pair, testset, system, segment, repr(score))) + "\n")
        after = SegmentScores.read(Path(folder) / file)
    assert after == before
    assert after.score.tolist() == [row[-1] for row in rows]
    assert list(after.segment) == [row[2] for row in rows]


@given(table_of(name, 5), st.sampled_from(["s.csv", "s.tsv", "s.csv.gz"]), st.booleans())
def test_round_trip_with_names_of_columns(rows: list[Any], file: str, placed: bool) -> None:
    before = segment_scores(rows)
    if not placed:
        rows = list({tuple(row[:3]): (*row[:3], "", "", row[-1]) for row in rows}.values())
        before = segment_scores(rows)
    with tempfile.TemporaryDirectory() as folder:
        with atomic_writer(Path(folder) / file) as stream:
            writer = csv.writer(
                stream, delimiter="\t" if "tsv" in file else ",", lineterminator="\n", quoting=csv.QUOTE_ALL
            )
            names = ("metric", "system", "segment", "language_pair", "testset", "score")
            writer.writerows(row if placed else (*row[:3], row[-1]) for row in (names, *rows))
        assert SegmentScores.read(Path(folder) / file) == before


WMT = "METEOR\tde-en\tnewstest2015\tonline-A\t1\t0.25\nMETEOR  de-en newstest2015 online-A 2 -1e-3\tno\thttps://x\n"


def written(folder: Path, text: str, name: str = "s.seg.score") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_a_file_of_wmt(tmp_path: Path) -> None:
    text = "METEOR\tde-en\tnt15\tA\t1\t0.25\tno\tyes\r\n\nMETEOR  de-en nt15   A 2 -1e-3\nTER\tde-en\tnt15\tB\t1\t.5\n"
    found = SegmentScores.read(written(tmp_path, text))
    assert found.score.tolist() == [0.25, -0.001, 0.5]
    assert (found.metrics(), found.systems(), found.segments()) == (("METEOR", "TER"), ("A", "B"), ("1", "2"))
    assert (found.systems("TER"), found.segments("TER")) == (("B",), ("1",))
    assert (found.language_pairs(), found.testsets(), len(found)) == (("de-en",), ("nt15",), 3)
    assert repr(found) == f"<SegmentScores from {tmp_path}/s.seg.score: 3 of 2 metrics>"
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    with pytest.raises(ValueError, match="read-only"):
        found.score[0] = 1
    with pytest.raises(AttributeError):
        found.metric = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.csv", "metric,system,segment,score\nm,A,1,0.5\nm,B,1,\n"),
        ("s", "Score,Note,System,Metric,Item\n0.5,x,A,m,1\n"),
        ("s.tsv", "id\tmetric\tsystem\tscore\tid2\n1\tm\tA\t0.5\t\n"),
        ("s.csv", "table,system,metric,score,low,high,signature,id\nscores,A,m,7,,,x,\nsegments,A,m,0.5,,,,1\n"),
    ],
)
def test_named_columns(tmp_path: Path, name: str, text: str) -> None:
    found = SegmentScores.read(written(tmp_path, text, name))
    assert found == SegmentScores(["m"], ["A"], ["1"], [0.5])
    assert (found.language_pairs(), found.testsets()) == (("",), ("",))


def test_only_our_own_apostrophes_are_taken_off(tmp_path: Path) -> None:
    ours = "table,system,metric,score,low,high,signature,id\nsegments,'=A,m,0.5,,,,'-1\n"
    assert SegmentScores.read(written(tmp_path, ours, "s.csv")) == SegmentScores(["m"], ["=A"], ["-1"], [0.5])
    theirs = "metric,system,segment,score\nm,'=A,'-1,0.5\n"
    assert SegmentScores.read(written(tmp_path, theirs, "s.csv")) == SegmentScores(["m"], ["'=A"], ["'-1"], [0.5])


def test_language_pairs_and_test_sets_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "metric,lp,test_set,system,segment,id,score\nm,de-en,nt,A,1,x,0.5\n", "s.csv")
    assert SegmentScores.read(path) == SegmentScores("m", ["A"], ["1"], [0.5], "de-en", "nt")


def test_what_the_command_prints(tmp_path: Path) -> None:
    for file, text in (("r.txt", "a b c\nd e\n"), ("A.txt", "a b c\nx\n"), ("B.txt", "a b\nd e\n")):
        (tmp_path / file).write_text(text)
    command = [
        sys.executable,
        "-m",
        "trubleu",
        "score",
        "--ref",
        "r.txt",
        "A.txt",
        "B.txt",
        "-m",
        "bleu-1",
        "-m",
        "chrf",
    ]
    printed = subprocess.run(
        [*command, "--segments", "--format", "csv"], cwd=tmp_path, capture_output=True, check=True
    ).stdout
    for file in ("s", "s.csv"):
        (tmp_path / file).write_bytes(printed)
        found = SegmentScores.read(tmp_path / file)
        assert (found.metrics(), found.systems()) == (("bleu-1", "chrf"), ("A", "B"))
        assert found.table("bleu-1", ["A", "B"], ["1", "2"])[:, 0].tolist() == pytest.approx([100, 60.653], abs=1e-3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "s.seg.score",
            "",
            " is empty; scores are read from what comet-score, comet-compare, bert-score and MetricX write, WMT's ",
        ),
        ("s.seg.score", "\n \n", " is empty; scores are read from "),
        ("s.seg.score", "m\tde-en\tnt\tA\t0.5\n", ":1: this line has 5 fields; it must have METRIC LANGUAGE_PAIR "),
        ("s.seg.score", "m x y A 1 0.5\nm x y A 2 nan\n", ":2: score must be a finite number, not 'nan'$"),
        ("s.seg.score", "m x y A 1 inf\n", ":1: score must be a finite number, not 'inf'$"),
        ("s.seg.score", "m x y A 1 1e999\n", ":1: score must be a finite number, not '1e999'$"),
        ("s.seg.score", "m x y A 1 1_0\n", ":1: score must be a finite number, not '1_0'$"),
        ("s.seg.score", "m x y A 1 ٣\n", ":1: score must be a finite number, not '٣'$"),
        ("s.seg.score", "m\tx\ty\tA\t1\t\n", ":1: score must be a finite number, not ''$"),
        ("s.seg.score", "m\tx\ty\t\t1\t1\n", ":1: system is empty; a score names its metric, its system and its seg"),
        (
            "s.seg.score",
            "m x y A 1 1\nm x y A 2 1\n\nm x y A 1 2\n",
            r":4: this has a score already at .*/s\.seg\.score:1 \(metric 'm', language pair 'x', .*\); leave one of",
        ),
        (
            "s.csv",
            "m,x,y,A,1,0.5\n",
            ":1: the column score must be there; columns found: m, x, y, A, 1, 0.5$",
        ),
        (
            "s.csv",
            "metric,system,score\n",
            " has no scores of segments; scores are read from ",
        ),
        (
            "s.csv",
            "metric,system,item,id,score\n",
            ":1: the columns item and id could both be the segment; rename one of them to segment$",
        ),
        ("s.csv", "metric,metric,system,id,score\n", ":1: there are 2 columns metric; leave only one of them$"),
        ("s.csv", "metric,system,id,score\nm,A,1\n", ":2: this line has 3 fields but the first has 4; add what"),
        ("s.csv", "metric,system,id,score\nm,A,1,x\n", ":2: score must be a finite number, not 'x'$"),
        ("s.csv", "metric,system,id,score\nm,A,1,\n", " has no scores of segments; scores are read from "),
        ("s.jsonl", '{"metric": "m", "system": "A", "id": 1}', " is JSON without scores of segments; scores are "),
        ("s", '{"segments": []}', ": a record must have one of score, prediction, COMET; scores are read from "),
        ("s.parquet", "PAR1", " is a Parquet file; scores are read from "),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"/{name}{message}") as caught:
        SegmentScores.read(written(tmp_path, text, name))
    assert "\n" not in str(caught.value)


cells = st.lists(st.tuples(*[st.sampled_from("mn"), st.sampled_from("AB"), st.sampled_from("123")]), unique=True)


@given(cells, st.permutations("ABC"), st.permutations("1234"))
def test_table(given: list[tuple[str, str, str]], systems: list[str], segments: list[str]) -> None:
    metric_column, system, segment = ([key[index] for key in given] for index in range(3))
    scores = SegmentScores(metric_column, system, segment, [float(row) for row in range(len(given))])
    for metric in scores.metrics():
        expected = [
            [float(given.index(key)) if (key := (metric, a, b)) in given else np.nan for b in segments] for a in systems
        ]
        np.testing.assert_array_equal(scores.table(metric, systems, segments), np.array(expected))
        part = scores.select(metric=metric)
        assert part.metrics() == (metric,)
        assert part.score.tolist() == [float(row) for row, key in enumerate(given) if key[0] == metric]
        np.testing.assert_array_equal(part.table(metric, systems, segments), np.array(expected))


def test_several_collections() -> None:
    scores = SegmentScores("m", ["A", "A"], ["1", "1"], [1, 2], ["de-en", "en-ru"])
    with pytest.raises(
        DataError, match=r"^scores has scores of m for several language pairs or test sets; select one "
    ):
        scores.table("m", ["A"], ["1"])
    assert scores.select(language_pair="en-ru").table("m", ["A"], ["1"]).tolist() == [[2.0]]
    with pytest.raises(DataError, match=r"^scores has no scores of the language pair 'en-de'; did you mean "):
        scores.select(language_pair="en-de")
    with pytest.raises(DataError, match=r"^scores has no scores of the testset 'x'; no score has a testset$"):
        scores.select(testset="x")
    with pytest.raises(DataError, match=r"^scores has no scores of the metric 'n'; known: m$"):
        scores.table("n", ["A"], ["1"])
    with pytest.raises(DataError, match=r"^the system 'A' is asked for twice; name each once$"):
        scores.table("m", ["A", "A"], ["1"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((["m"], ["A"], ["1"], [1, 2]), r"columns differ in length \(1 of metric, 2 of language_pair, "),
        ((["m"], ["A"], ["1"], [[1]]), r"columns differ in length "),
        ((["m"], ["A"], [1], [1]), "row 1: segment must be a string, not 1$"),
        ((["m", " "], ["A", "A"], ["1", "1"], [1, 1]), "row 2: metric is empty; a score names "),
        ((["m", "m"], ["A", "A"], ["1", "2"], [1, float("nan")]), "row 2: score must be a finite number, not nan$"),
        ((["m", "m"], ["A", "A"], ["1", "1"], [1, 1]), "row 2: this has a score already at scores: row 1 "),
    ],
)
def test_columns_that_cannot_be_used(columns: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^scores: {message}"):
        SegmentScores(*columns)


def test_arrays_that_are_given_are_copied() -> None:
    array = np.array([1.0])
    scores = SegmentScores("m", ["A"], ["1"], array)
    array[0] = 2
    assert scores.score.tolist() == [1.0]


@given(st.lists(st.sampled_from("abc")), st.data())
def test_labels(values: list[str], data: st.DataObject) -> None:
    column = Labels(values)
    assert list(column) == values
    assert column.names == tuple(dict.fromkeys(values))
    assert column == Labels(iter(values))
    assert hash(column) == hash(Labels(values))
    assert column != Labels([*values, "a"])
    assert column != values
    rows = data.draw(st.lists(st.sampled_from(range(len(values))), unique=True)) if values else []
    taken = column.take(np.array(rows, np.int64))
    assert taken == Labels([values[row] for row in rows])
    assert column[1:] == Labels(values[1:])
    assert repr(column) == f"<Labels: {len(values)} of {len(set(values))} names>"
