"""Files of scores in the forms that other tools write: each is read as it is, and every mistake has its sentence."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trubleu.data import SegmentScores
from trubleu.errors import DataError, UsageError
from trubleu.files import atomic_writer

if TYPE_CHECKING:
    from pathlib import Path

COMET_JSON = json.dumps(
    {
        "out/A.txt": [{"src": "s", "mt": "m", "ref": "r", "COMET": 0.5}, {"src": "s", "mt": "m", "COMET": 0.75}],
        "out/B.txt": [{"src": "s", "mt": "m", "COMET": 0.25}, {"src": "s", "mt": "m", "COMET": 1.0}],
    },
    indent=4,
)
COMPARE_JSON = json.dumps(
    {
        "model": "Unbabel/wmt22-comet-da",
        "statistical_results": [{"x_name": "out/A.txt", "y_name": "out/B.txt"}],
        "source": ["s", "s"],
        "translations": [
            {"name": "out/A.txt", "mt": ["m", "m"], "scores": [0.5, 0.75]},
            {"name": "out/B.txt", "mt": ["m", "m"], "scores": [0.25, 1.0]},
        ],
    },
    indent=4,
)
COMET_TEXT = (
    "Seed set to 1\n"
    "out/A.txt\tSegment 0\tscore: 0.5000\nout/B.txt\tSegment 0\tscore: 0.2500\n"
    "out/A.txt\tSegment 1\tscore: 0.7500\nout/B.txt\tSegment 1\tscore: 1.0000\n"
    "out/A.txt\tscore: 0.6250\nout/B.txt\tscore: 0.6250\n"
)
COMET_DROPOUT = COMET_TEXT.replace("00\nout", "00\tvariance: 0.0100\nout")
METRICX_SYSTEMS = "".join(
    json.dumps({"system_id": system, "segment_id": segment, "label": -1.0, "prediction": score}) + "\n"
    for system, scores in {"A": [0.5, 0.75], "B": [0.25, 1.0]}.items()
    for segment, score in enumerate(scores)
)
PAIRS = "A\t0.5\nA\t0.75\nB\t0.25\nB\t1.0\n"
TABLE = "system,id,score\nA,1,0.5\nA,2,0.75\nB,2,1\nB,1,0.25\n"
ROWS = "".join(
    json.dumps({"system": system, "score": score}) + "\n"
    for system, score in (("A", 0.5), ("A", 0.75), ("B", 0.25), ("B", 1))
)
OURS_JSON = json.dumps(
    {
        "schema": 1,
        "scores": [{"system": "A", "metric": "m", "score": 1.0}],
        "segments": [
            {"id": str(segment), "system": system, "metric": "m", "score": score}
            for system, scores in {"A": [0.5, 0.75], "B": [0.25, 1.0]}.items()
            for segment, score in enumerate(scores, 1)
        ],
    }
)


@pytest.mark.parametrize(
    ("name", "text", "metric"),
    [
        ("comet.json", COMET_JSON, "COMET"),
        ("compared.json", COMPARE_JSON, "COMET"),
        ("comet.txt", COMET_TEXT, "COMET"),
        ("comet.out", COMET_DROPOUT, "COMET"),
        ("metricx.jsonl", METRICX_SYSTEMS, "MetricX"),
        ("COMET-refA.seg.score", PAIRS, "COMET-refA"),
        ("COMET-refA.seg.score", PAIRS.replace("\t", " "), "COMET-refA"),
        ("t.csv", TABLE, "t"),
        ("t.tsv.gz", TABLE.replace(",", "\t"), "t"),
        ("s.csv", "A,B\n0.5,0.25\n0.75,1\n", "s"),
        ("s.tsv", "id\tA\tB\n2\t0.75\t1\n1\t0.5\t0.25\n", "s"),
        ("s.json", '{"A": [0.5, 0.75], "B": [0.25, 1]}', "s"),
        ("segments.json", OURS_JSON, "m"),
        ("rows.jsonl", ROWS, "rows"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", [None, "mine"])
def test_each_form_says_the_same(tmp_path: Path, name: str, text: str, metric: str, given: str | None) -> None:
    with atomic_writer(tmp_path / name) as file:
        file.write(text)
    scores = SegmentScores.read(tmp_path / name, metric=given).placed(["1", "2"])
    assert scores.metrics() == (given or metric,)
    theirs = scores.systems_of(["A", "B"])
    table = scores.table(given or metric, [theirs["A"], theirs["B"]], ["1", "2"])
    np.testing.assert_array_equal(table, [[0.5, 0.75], [0.25, 1.0]])
    assert scores.lower_is_better == (metric == "MetricX")
    assert scores.about["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert scores.about.get("model") == ("Unbabel/wmt22-comet-da" if name == "compared.json" else None)


BERT_SCORE = (
    "calculating scores...\nroberta-large_L17_no-idf_version=0.3.12(hug_trans=4.30.2) P: 0.6 R: 0.6 F1: 0.625\n"
    "0.9\t0.1\t0.500000\n0.9\t0.1\t0.750000\n"
)
METRICX = "".join(
    json.dumps({"source": "s", "hypothesis": "h", "reference": "r", "prediction": x}) + "\n" for x in (0.5, 0.75)
)


@pytest.mark.parametrize(
    ("name", "text", "metric"),
    [
        ("A.bertscore.txt", BERT_SCORE, "BERTScore"),
        ("A.metricx.jsonl", METRICX, "MetricX"),
        ("A.txt", "0.5\n0.75\n", None),
        ("A.json", "[0.5, 0.75]", None),
        ("A.json", '{"scores": [0.5, 0.75], "system_score": 0.625}', None),
        ("A.csv", "id,score\n2,0.75\n1,0.5\n", None),
    ],
)
def test_a_file_for_each_system(tmp_path: Path, name: str, text: str, metric: str | None) -> None:
    path = tmp_path / name
    path.write_text(text)
    scores = SegmentScores.read(path, metric="m")
    assert scores.unnamed
    assert scores.systems_of(["A", "B"])["A"] == scores.systems()[0]  # by the name of the file
    assert scores.systems_of(["other"])["other"] == scores.systems()[0]  # whatever it is called, there is one system
    assert scores.placed(["x", "y"] if "id" not in text else ["1", "2"]).score.tolist() in ([0.5, 0.75], [0.75, 0.5])
    assert SegmentScores.read(path, metric="m", system="B").systems() == ("B",)
    if metric:
        assert SegmentScores.read(path).metrics() == (metric,)
    else:
        with pytest.raises(UsageError, match=r" names no metric; name it, as in --scores comet="):
            SegmentScores.read(path)


def test_what_bert_score_says_of_its_model(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(BERT_SCORE)
    about = SegmentScores.read(tmp_path / "b.txt").about
    assert about["model"] == "roberta-large_L17_no-idf_version=0.3.12(hug_trans=4.30.2)"


def test_files_of_one_metric_are_joined(tmp_path: Path) -> None:
    for system, text in (("A", "0.5\n0.75\n"), ("B", "0.25\n1\n")):
        (tmp_path / f"{system}.txt").write_text(text)
    parts = [SegmentScores.read(tmp_path / f"{system}.txt", metric="m") for system in "AB"]
    joined = SegmentScores.join(parts)
    assert joined.placed(["x", "y"]).table("m", ["A", "B"], ["x", "y"]).tolist() == [[0.5, 0.75], [0.25, 1.0]]
    assert joined.about["sha256"] not in {part.about["sha256"] for part in parts}
    assert SegmentScores.join(parts[::-1]).about == joined.about
    with pytest.raises(DataError, match="this has a score already at "):
        SegmentScores.join([parts[0], parts[0]])
    (tmp_path / "B.txt.json").write_text('{"model": "big"}')
    with pytest.raises(DataError, match=r"A\.txt and .*B\.txt differ in model; give them different names$"):
        SegmentScores.join([parts[0], SegmentScores.read(tmp_path / "B.txt", metric="m")])


def test_names_of_systems(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(COMET_JSON)
    scores = SegmentScores.read(tmp_path / "c.json")
    assert scores.systems_of(["new", "B"], {"new": "elsewhere/A.txt", "B": "B.txt"}) == {
        "new": "out/A.txt",
        "B": "out/B.txt",
    }
    assert scores.systems_of(["A", "C"]) == {"A": "out/A.txt"}


def test_missing_scores_of_mt_metrics_eval(tmp_path: Path) -> None:
    (tmp_path / "m.seg.score").write_text("A\tNone\nA\t0.5\nB\t1\nB\tNone\n")
    scores = SegmentScores.read(tmp_path / "m.seg.score").placed(["x", "y"])
    np.testing.assert_array_equal(scores.table("m", ["A", "B"], ["x", "y"]), [[np.nan, 0.5], [1.0, np.nan]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.txt", "A.txt\tscore: 0.5\n", "has no scores of segments; run comet-score without --quiet, or with --to_"),
        ("c.txt", "=====\nx_name: A\ny_name: B\n", "has no scores of segments; give the file that comet-compare --"),
        ("c.txt", "A\tSegment 0\tscore: nan\n", ":1: score must be a finite number, not 'nan'$"),
        ("b.txt", BERT_SCORE.partition("0.9\t")[0], "has no scores of segments; run bert-score with -s$"),
        ("b.txt", BERT_SCORE + "1\t2\n", ":5: this line has 2 fields; bert-score prints precision, recall and F1$"),
        ("m.jsonl", '{"prediction": 1}\n{"hypothesis": "x"}\n', ":2: prediction is missing; the first record has it$"),
        ("m.jsonl", '{"prediction": NaN}\n{"prediction": 1}\n', ":1: score must be a finite number, not nan$"),
        ("m.jsonl", '{"prediction": "1"}\n', ":1: score must be a finite number, not '1'$"),
        ("m.jsonl", '{"prediction": 1}\n[2]\n', ":2: a line must hold one JSON object, not an array; "),
        ("m.json", '{"A": [1, 2], "B": 3}', "is JSON without scores of segments; scores are read from what comet-"),
        ("m.json", '{"A": [1, true]}', ": A, segment 2: score must be a finite number, not True$"),
        ("m.json", '{"A": [1, 1e999]}', ": A, segment 2: score must be a finite number, not inf$"),
        ("m.json", '{"A": [1,', r"m\.json:\d: this is not JSON: "),
        ("m.json", '{"translations": [{"name": "A", "scores": 1}]}', ": A: the scores must be an array of numbers, "),
        ("m.seg.score", "A\t1\nA 2\nB\t3\t4\n", ":3: this line has 3 fields, but the first has 2; it must have SYST"),
        ("m.seg.score", "A\tx\n", ":1: score must be a finite number, not 'x'$"),
        ("m.csv", "A,B\n1,2\n1\n", ":3: this line has 1 field but the first has 2; "),
        ("m.csv", "A,B\n1,2\n1,nan\n", ":3: score must be a finite number, not 'nan'$"),
    ],
)
def test_mistakes(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        SegmentScores.read(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_names_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "p.seg.score").write_text(PAIRS)
    (tmp_path / "w.seg.score").write_text("m x y A 1 0.5\nn x y A 1 0.5\n")
    with pytest.raises(UsageError, match=r"names its systems itself; write --scores NAME=FILE, without :A$"):
        SegmentScores.read(tmp_path / "p.seg.score", metric="m", system="A")
    with pytest.raises(UsageError, match=r"has scores of 2 metrics; give it without k=$"):
        SegmentScores.read(tmp_path / "w.seg.score", metric="k")
    with pytest.raises(DataError, match=r" has 2 scores of A, but there are 3 segments; give one score for each, in "):
        SegmentScores.read(tmp_path / "p.seg.score").placed(["1", "2", "3"])


@pytest.mark.parametrize(
    ("sidecar", "message"),
    [
        ("{", r"p\.seg\.score\.json is not JSON; write it again with trubleu scores describe$"),
        ("[1]", r" must hold one JSON object, not an array$"),
        ('{"sha256": "00"}', r" describes another file: its sha256 is not that of .*p\.seg\.score; write it again "),
        ('{"model": "a|b"}', r": model must be a number, or a text of one line without \|, not the string 'a\|b'$"),
        ('{"model": [1]}', r": model must be a number, or a text of one line without \|, not an array$"),
        ('{"a b": 1}', r": the name 'a b' must be of letters, digits, dots, hyphens and underscores$"),
    ],
)
def test_sidecars_that_cannot_be_used(tmp_path: Path, sidecar: str, message: str) -> None:
    (tmp_path / "p.seg.score").write_text(PAIRS)
    (tmp_path / "p.seg.score.json").write_text(sidecar)
    with pytest.raises(DataError, match=message):
        SegmentScores.read(tmp_path / "p.seg.score")


def test_a_sidecar(tmp_path: Path) -> None:
    (tmp_path / "p.seg.score").write_text(PAIRS)
    said: dict[str, Any] = {"model": "Unbabel/wmt22-comet-da", "torch": "2.4.1", "precision": "fp16", "layers": 17}
    (tmp_path / "p.seg.score.json").write_text(json.dumps(said))
    about = SegmentScores.read(tmp_path / "p.seg.score").about
    assert about == {"sha256": about["sha256"], **said, "layers": "17"}
