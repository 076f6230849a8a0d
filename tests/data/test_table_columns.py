"""Columns of reference tables that weigh: labels, good and bad answers, misspelt titles; ids from 0 and from 1."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from trubleu.data import References, read_outputs
from trubleu.data.outputs import check_numbering, read_common, read_segment_values
from trubleu.data.ratings import Ratings
from trubleu.errors import DataError, Notice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


def weighted(references: References) -> list[list[tuple[str, float | None]]]:
    return [[(each.text, each.weight) for each in segment.references] for segment in references]


GOOD_AND_BAD = [[("yes", 1.0), ("no", -1.0)], [("sure", 1.0)]]


@pytest.mark.parametrize(
    "cells", [("good", "bad"), ("Correct", "incorrect"), ("1", "0"), ("1.0", "-1"), ("true", "FALSE"), ("yes", "no")]
)
def test_labels_are_weights(write: Write, cells: tuple[str, str]) -> None:
    good, bad = cells
    path = write("refs.csv", f"id,text,label\n1,yes,{good}\n1,no,{bad}\n2,sure,{good}\n")
    assert weighted(References.read(path)) == GOOD_AND_BAD


def test_a_label_may_be_missing_and_have_another_title(write: Write) -> None:
    path = write("refs.csv", "id,answer,Verdict\n1,yes,good\n1,no,\n2,sure,good\n")
    with pytest.warns(Notice, match="label ← Verdict"):
        found = weighted(References.read(path))
    assert found == [[("yes", 1.0), ("no", None)], [("sure", 1.0)]]


def test_labels_of_something_else_are_told(write: Write) -> None:
    path = write("refs.csv", "id,text,label\n1,yes,greeting\n2,sure,thanks\n")
    with pytest.warns(Notice, match="columns of refs.csv: id ← id, text ← text; not read: label"):
        assert not References.read(path).weighted()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id,text,label\n1,yes,good\n2,sure,fine\n",
            "refs.csv:3: label must be good or bad (also correct or incorrect, 1 or 0), or empty, not 'fine'; if it is",
        ),
        ("id,text,label\n1,yes,1\n2,sure,5\n", "label must be good or bad"),
        (
            "id,text,wieght\n1,yes,1\n1,no,-1\n",
            "the column wieght would not be read, though it looks like a weight; call",
        ),
        ("id,text,Weigth\n1,yes,0.5\n", "call it weight (--columns weight=Weigth), or take it out of the table"),
        (
            "id,text,raiting\n1,yes,4\n1,no,1\n",
            "raiting would not be read, though it looks like a rating; call it rating (--columns score=raiting)",
        ),
        ("id,text,lable\n1,yes,good\n1,no,bad\n", "lable would not be read, though it looks like a label"),
        ("id,good_answers,bad_answers,weight\n1,yes,no,1\n", "has good or bad answers and also weight; take one"),
        ('id,good_answers\n1,"[1, 2]"\n', "good_answers must be one text, or an array of texts"),
    ],
)
def test_what_would_weigh_and_is_not_understood_is_an_error(write: Write, text: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        References.read(write("refs.csv", text))
    assert message in str(error.value)


def test_a_title_in_another_language(write: Write) -> None:
    with pytest.warns(Notice, match="weight ← Gewicht"):
        found = References.read(write("refs.csv", "id,text,Gewicht\n1,yes,1\n1,no,-1\n2,sure,1\n"))
    assert weighted(found) == GOOD_AND_BAD


def test_the_right_title_excuses_a_strange_one(write: Write) -> None:
    path = write("refs.csv", "id,text,weight,weigth\n1,yes,1,3\n1,no,-1,4\n2,sure,1,5\n")
    with pytest.warns(Notice, match="not read: weigth"):
        assert weighted(References.read(path)) == GOOD_AND_BAD


@pytest.mark.parametrize("title", ["height", "weights_file", "notes", "topic", "store", "label_id"])
def test_other_columns_are_named_and_not_read(write: Write, title: str) -> None:
    path = write("refs.csv", f"id,text,{title}\n1,yes,180\n2,sure,170\n")
    with pytest.warns(Notice, match=f"not read: {title}"):
        assert not References.read(path).weighted()


WIDE = [
    ("refs.csv", 'id,question,good_answers,bad_answers,answer\n1,q,"[""yes"", ""yep""]",no,x\n2,p,sure,,y\n'),
    ("refs.csv", "id,question,good_answer_1,good_answer_2,bad_answer_1\n1,q,yes,yep,no\n2,p,sure,,\n"),
    ("refs.jsonl", "\n".join(map(json.dumps, [
        {"id": "1", "question": "q", "good_answers": ["yes", "yep"], "bad_answers": ["no"], "answer": "x"},
        {"id": 2, "question": "p", "good_answers": ["sure"], "bad_answers": []},
    ])) + "\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), WIDE)
def test_good_and_bad_answers(write: Write, name: str, text: str) -> None:
    with pytest.warns(Notice, match="good ← good_answer"):
        found = References.read(write(name, text))
    assert weighted(found) == [[("yes", 1.0), ("yep", 1.0), ("no", -1.0)], [("sure", 1.0)]]
    assert found.ids == ("1", "2")
    assert found.messages == ("q", "p")


def test_a_reference_with_bad_answers_beside_it(write: Write) -> None:
    with pytest.warns(Notice, match="text ← reference, bad ← rejected"):
        found = References.read(write("refs.csv", "id,reference,rejected\n1,yes,no\n2,sure,\n"))
    assert weighted(found) == GOOD_AND_BAD


def test_long_records_with_labels(write: Write) -> None:
    rows = [{"id": 1, "text": "yes", "label": "good"}, {"id": 1, "text": "no", "label": "bad"}]
    rows += [{"id": 2, "text": "sure", "label": True}]
    found = References.read(write("refs.jsonl", "\n".join(map(json.dumps, rows))))
    assert weighted(found) == GOOD_AND_BAD


def test_labels_inside_segments(write: Write) -> None:
    items: list[dict[str, Any]] = [{"text": "yes", "label": "good"}, {"text": "no", "label": "bad"}]
    segments = [{"id": "1", "references": items}, {"id": "2", "references": [{"text": "sure", "label": 1}]}]
    assert weighted(References.read(write("r.jsonl", "\n".join(map(json.dumps, segments))))) == GOOD_AND_BAD
    items[1] = {"text": "no", "wieght": -1}
    with pytest.raises(DataError, match=r"references\[1\]\.wieght would not be read, though it looks like a weight"):
        References.read(write("r.jsonl", "\n".join(map(json.dumps, segments))))


def numbered(write: Write, name: str, first: int, count: int = 4) -> Path:
    rows = ({"id": str(number), "text": f"text {number}"} for number in range(first, first + count))
    return write(name, "\n".join(map(json.dumps, rows)) + "\n")


@pytest.mark.parametrize("start", [0, 1])
def test_ids_from_0_and_from_1_are_an_error(write: Write, start: int) -> None:
    path = write("refs.csv", "id,text\n" + "".join(f"{number},t\n" for number in range(start, start + 4)))
    references = References.read(path)
    outputs = numbered(write, "out.jsonl", 1 - start)
    for read in (read_outputs, read_common):
        with pytest.raises(
            DataError, match=rf"numbers its texts from {1 - start} and .*refs\.csv from {start}, so each"
        ):
            read([str(outputs)], references)
    topics = write("topics.csv", "id,topic\n" + "".join(f"{number},x\n" for number in range(1 - start, 5 - start)))
    with pytest.raises(DataError, match="numbers its texts from"):
        read_segment_values(topics, "topic", references)


def test_a_few_ids_too_many_are_no_shift() -> None:
    known = [*map(str, range(1, 11))]
    check_numbering("x", [*map(str, range(1, 12))], "y", known)  # one too many
    check_numbering("x", [*map(str, range(11))], "y", known)  # 0 and all others
    check_numbering("x", ["a", "b"], "y", known)
    check_numbering("x", [], "y", known)
    with pytest.raises(DataError, match="x numbers its texts from 0 and y from 1"):
        check_numbering("x", ["0", "3", "7"], "y", known)


def test_only_our_own_apostrophes_are_taken_off(write: Write) -> None:
    text = "'- no way"
    path = write("refs.csv", f"id,text\n1,{text}\n")
    assert weighted(References.read(path)) == [[(text, None)]]
    [outputs] = read_outputs([str(write("out.csv", f"id,text\n1,{text}\n"))], References.from_lists([["x"]]))
    assert outputs.texts == [text]
    with pytest.warns(Notice):
        theirs = Ratings.read(write("theirs.csv", f"segment,model,judge,rating\n{text},'=A,ann,4\n"))
    assert (theirs.item, theirs.system) == ((text,), ("'=A",))
    ours = Ratings(["=1", "'- no way", "- no"], ["@A"] * 3, ["'ann"] * 3, [4, 5, 1])
    ours.write(write("ours.csv", ""))
    assert "'=1,'@A,'ann,4" in (path.parent / "ours.csv").read_text()
    assert Ratings.read(path.parent / "ours.csv") == ours


def test_labels_in_parquet_and_frames(tmp_path: Path) -> None:
    columns = {"id": ["1", "1", "2"], "text": ["yes", "no", "sure"]}
    for label in (["good", "bad", "good"], [True, False, True], [1, 0, 1]):
        frame = pl.DataFrame({**columns, "label": label})
        assert weighted(References.from_frame(frame)) == GOOD_AND_BAD
        frame.write_parquet(tmp_path / "refs.parquet")
        assert weighted(References.read(tmp_path / "refs.parquet")) == GOOD_AND_BAD
    topics = pl.DataFrame({**columns, "label": ["a", "b", "c"]})
    assert not References.from_frame(topics).weighted()
    with pytest.raises(DataError, match="the column wieght would not be read; call it weight"):
        References.from_frame(pl.DataFrame({**columns, "wieght": [1.0, -1.0, 1.0]}))
