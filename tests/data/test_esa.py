"""Ratings of Appraise, of Pearmut and of WMT25, from made files, and the real ones where they are."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from trubleu.data import Reference, Segment, read_published, write_sets
from trubleu.data.sets import RatingRow, find_set
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

ESA = """\
u1,tutorial,1,TGT,eng,jpn,0,en-tutorial1,False,[],1.0,2.0
u1,A,5,TGT,eng,jpn,20,d1,False,"[{""start_i"":0,""end_i"":3,""severity"":""major"",""error_type"":null}]",1.0,2.0
u1,A,5,TGT,eng,jpn,70,d1,False,[],3.0,4.0
u1,B,5,TGT,eng,jpn,66.5,d1#B,False,[],1.0,2.0
u1,B,6,BAD,eng,jpn,5,d1#bad,False,[],1.0,2.0
u1,B,7,TGT,eng,jpn,5,d1#dup,False,[],1.0,2.0
u2,A,5,TGT,eng,zho,1,d1,False,[],1.0,2.0
"""


def test_appraise(tmp_path: Path) -> None:
    (tmp_path / "wave.csv").write_text(ESA)
    japanese, chinese = read_published("esa", tmp_path / "wave.csv")
    assert (japanese.name, chinese.name) == ("wave.eng-jpn", "wave.eng-zho")
    assert japanese.ratings == [
        RatingRow("d1:5", "A", "u1", 70, "esa"),
        RatingRow("d1:5", "B", "u1", Fraction(133, 2), "esa"),
    ]
    assert japanese.left_out == {
        "ratings of a tutorial": 1,
        "ratings that the same rater gave again later": 1,
        "checks of attention": 1,
        "ratings of repeated and incomplete documents": 1,
    }
    assert read_published("esa", tmp_path, language_pair="eng-zho")[0].ratings == chinese.ratings
    with pytest.raises(UsageError, match="has no language pair 'eng-deu'; "):
        read_published("esa", tmp_path, language_pair="eng-deu")
    write_sets(tmp_path / "set", [japanese])
    files = find_set(str(tmp_path / "set"))
    assert files is not None
    assert (files.references, files.outputs) == (None, {})


def test_direct_assessments_by_appraise(tmp_path: Path) -> None:
    rows = ["u1,A,1,TGT,eng,deu,90,d,False,1.0,2.0", "u1,A,1,TGT,eng,deu,95,d,True,1.0,2.0"]
    (tmp_path / "da.csv").write_text("\n".join([*rows, ""]))
    [found] = read_published("wmt-da", tmp_path / "da.csv")
    assert found.ratings == [RatingRow("d:1", "A", "u1", 90, "da")]
    assert found.left_out == {"ratings of whole documents": 1}
    (tmp_path / "da.csv").write_text("u1,A,17,TGT,eng,deu,90,1.0,2.0\n")  # before documents were shown
    assert read_published("wmt-da", tmp_path / "da.csv")[0].ratings == [RatingRow("17", "A", "u1", 90, "da")]


def test_means_of_direct_assessments(tmp_path: Path) -> None:
    path = tmp_path / "ad-seg-scores-cs-en.csv"
    path.write_text("SYS SID RAW.SCR Z.SCR N \nA.6 1015 56 -0.342 4 \nB.7 1015 57.5 0.1 2 \n")
    [found] = read_published("wmt-da", path)
    assert found.ratings[:2] == [
        RatingRow("1015", "A.6", "mean", 56, "raw"),
        RatingRow("1015", "A.6", "mean", Fraction(-342, 1000), "z"),
    ]
    assert (found.aspects, found.counts()) == (("raw",), {"items": 1, "systems": 2, "ratings": 4})
    for text, message in (
        ("A 1 x 2 3\n", r"cs-en.csv:2: expected SYS SID RAW.SCR Z.SCR N, not 'A 1 x 2 3'"),
        ("A 1 1 2 3\nA 1 1 2 3\n", r"cs-en.csv:3: segment 1 of A has scores above; expected one row"),
        ("", "cs-en.csv has no scores; expected SYS SID"),
    ):
        path.write_text("SYS SID RAW.SCR Z.SCR N\n" + text)
        with pytest.raises(DataError, match=message):
            read_published("wmt-da", path)


def test_mqm_by_appraise(tmp_path: Path) -> None:
    def row(system: str, *errors: tuple[str, str]) -> str:
        spans = [{"severity": severity, "error_type": category.split("/")} for severity, category in errors]
        return f'u1,{system},1,TGT,eng,deu,0,d,False,"{json.dumps(spans).replace(chr(34), 2 * chr(34))}",1.0,2.0\n'

    text = row("A", ("major", "Accuracy/Omission"), ("minor", "Fluency/Punctuation")) + row("B")
    (tmp_path / "mqm.csv").write_text(text)
    [found] = read_published("esa", tmp_path / "mqm.csv")
    assert found.ratings == [
        RatingRow("d:1", "A", "u1", Fraction(-51, 10), "mqm"),
        RatingRow("d:1", "B", "u1", 0, "mqm"),
    ]


def entry(user: str, item_i: int | str, scores: dict[str, Any], **item: Any) -> dict[str, Any]:
    texts = {"item_id": "s1", "src": "one", "tgt": {"A": "ein", "B": "eins"}, **item}
    return {"user_id": user, "item_i": item_i, "item": [texts], "annotation": [scores], "actions": []}


LOG = [
    entry("eve", "welcome_0", {"A": {"score": 1}}),
    entry("eve", 0, {"A": {"score": 10}, "B": {"score": 10}}),
    entry("eve", 0, {"A": {"score": 70, "error_spans": []}, "B": {"score": 80.5, "error_spans": []}}),
    entry("eve", 1, {"A": {"score": 3}, "B": {"score": 4}}, validation={"A": {"score": [0, 5]}}),
    entry("bob", 0, {"A": {"score": None}, "B": {"score": 50}}),
    entry("dan", 0, {"A": {"score": 50}}),
    {"user_id": "dan", "item_i": 0, "item": [], "annotation": "__RESET__"},
]
PEARMUT = [
    RatingRow("s1", "A", "eve", 70, "esa"),
    RatingRow("s1", "B", "eve", Fraction(161, 2), "esa"),
    RatingRow("s1", "B", "bob", 50, "esa"),
]


def test_pearmut(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in LOG))
    [found] = read_published("esa", path)
    assert found.ratings == PEARMUT
    assert found.outputs == {"A": {"s1": "ein"}, "B": {"s1": "eins"}}
    assert (found.segments, found.aspects) == ([], ("esa",))
    assert found.left_out == {"ratings that the same rater gave again later": 3, "checks of attention": 3}
    path.write_text(json.dumps({"campaign 1": LOG, "empty": []}))
    [again] = read_published("esa", path)
    assert (again.name, again.ratings) == ("log.campaign-1", PEARMUT)
    path.write_text(json.dumps(entry("eve", 0, {"A": {"score": 1}, "B": {"score": 2}}, ref="eins")) + "\n")
    [with_references] = read_published("esa", path)
    assert with_references.segments == [Segment("s1", (Reference("eins", origin="ref"),), "one")]
    errors = [{"severity": "minor", "category": "Fluency/Punctuation"}, {"severity": "Major", "category": "Other"}]
    path.write_text(json.dumps(entry("eve", 0, {"A": {"score": None, "error_spans": errors}}, ref="eins")) + "\n")
    assert read_published("esa", path)[0].ratings == [RatingRow("s1", "A", "eve", Fraction(-51, 10), "mqm")]


def segment(number: int, **scores: Any) -> str:
    texts = {"refA": "eins", "A": "ein", "B": None}
    return json.dumps(
        {"doc_id": f"en-de_DE_#_news_#_d_#_{number}", "src_text": "one", "tgt_text": texts, "scores": scores}
    )


def test_wmt25(tmp_path: Path) -> None:
    given = [{"score": 70, "errors": [], "annotator": "x"}, {"score": None, "errors": []}, {"score": 5}]
    lines = [segment(0, A=given, refA=[{"score": 99}]), segment(1, A={"human1": 60, "annotator1": "y", "human2": 50})]
    (tmp_path / "wmt25-genmt-humeval.jsonl").write_text("\n".join(lines) + "\n")
    [found] = read_published("esa", tmp_path)
    first, second = (f"en-de_DE_#_news_#_d_#_{number}" for number in (0, 1))
    assert found.name == "wmt25-genmt-humeval.en-de_DE"
    assert found.ratings == [
        RatingRow(first, "A", "x", 70, "esa"),
        RatingRow(first, "A", "rater3", 5, "esa"),
        RatingRow(second, "A", "y", 60, "esa"),
        RatingRow(second, "A", "rater2", 50, "esa"),
    ]
    assert found.segments[0] == Segment(first, (Reference("eins", origin="refA"),), "one")
    assert found.left_out == {"ratings of human translations": 1, "ratings without a score": 1}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "a,b\n", r"x.csv:1: expected USER,SYSTEM,SEGMENT,TYPE,.* as Appraise exports it, not 'a,b'"),
        ("x.csv", "u,A,1,TGT,eng,deu,good,d,False,1,2\n", r"x.csv:1: expected a score, not 'good'"),
        ("x.csv", ESA + "u,A,1,TGT,eng,deu,1,d,False,[,1,2\n", r"x.csv:8: expected error spans as JSON, not '\['"),
        ("x.json", "[1]", "x.json: expected an object, not an array"),
        ("x.json", '{"a": 1}', "x.json: expected the annotations of the campaign 'a', not the number 1"),
        ("x.json", "{", "x.json: this is not JSON"),
        ("x.jsonl", '{"annotation": [], "item_i": 1, "item": []}', "x.jsonl:1: the field user_id is missing"),
        ("x.jsonl", json.dumps({**LOG[1], "annotation": []}), "x.jsonl:1: expected an annotation for each of 1 item"),
        ("x.jsonl", json.dumps(entry("u", 0, {"C": {"score": 1}})), "x.jsonl:1: expected the text of 'C' in tgt"),
        ("x.jsonl", json.dumps(entry("u", 0, {"A": {"score": "1"}})), "x.jsonl:1: score must be a finite number"),
        ("x.jsonl", '{"tgt_text": {}, "doc_id": "a"}', "x.jsonl:1: the field src_text is missing"),
    ],
)
def test_files_that_do_not_fit(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_published("esa", tmp_path / name)


def test_the_real_files(real_data: Path) -> None:
    japanese, chinese = read_published("esa", real_data / "published" / "esa_generalMT2024_wave3.csv.gz")
    assert japanese.name == "esa_generalMT2024_wave3.eng-jpn"
    for found in (japanese, chinese):
        assert found.counts()["systems"] == 13
        left_out = sum(found.left_out.values())
        assert found.left_out["checks of attention"] > 600
        assert left_out + len(found.ratings) in (5653, 5646)
