"""Items from candidates, triples and outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import read_outputs
from trubleu.errors import DataError, UsageError
from trubleu.rating import Item, Study, StudyConfig, output_items, parse_pairs, read_items, read_segments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ANY_TEXT = st.text(st.characters(), max_size=20)  # half surrogate pairs and NUL included


@given(
    st.builds(
        Item,
        key=st.just("k"),
        texts=st.tuples(ANY_TEXT) | st.tuples(ANY_TEXT, ANY_TEXT),
        context=st.lists(ANY_TEXT, max_size=3).map(tuple),
        message=st.none() | ANY_TEXT.filter(bool),
        segment=ANY_TEXT,
        reference=st.none() | ANY_TEXT.filter(bool),
        systems=st.just(()) | st.tuples(ANY_TEXT, ANY_TEXT),
        accepted=st.none() | st.just(((1, 2), (3, 4))),
        feedback=ANY_TEXT,
        role=st.sampled_from(["item", "gold", "practice"]),
        extra=st.dictionaries(ANY_TEXT, st.integers() | ANY_TEXT, max_size=2),
    )
)
def test_items_come_back_from_json_that_is_plain_ascii(item: Item) -> None:
    written = item.to_json()
    assert written.isascii()
    assert "\0" not in written
    assert Item.from_json("k", written) == item


def test_an_empty_message_stays_a_message() -> None:
    assert Item.from_json("k", Item("k", ("",), message="").to_json()).message == ""


def test_candidates_become_an_item_each(tmp_path: Path) -> None:
    path = tmp_path / "candidates.jsonl"
    reference = {"id": "r9", "text": "fine", "origin": "mined", "rank": 3, "scores": {"d": 1.5}, "weight": None}
    lines = [
        {"id": "7", "context": ["hi"], "message": "how?", "references": [reference, {"text": "well"}]},
        {"id": 8, "references": [{"text": "bye"}]},
        {"references": [{"text": "x"}]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    items = read_items(path)
    assert [(item.key, item.segment, item.reference, item.texts) for item in items] == [
        ("7#r9", "7", "r9", ("fine",)),
        ("7#2", "7", "2", ("well",)),
        ("8#1", "8", "1", ("bye",)),
        (f"{path.name}:3#1", f"{path.name}:3", "1", ("x",)),
    ]
    assert items[0].context == ("hi",)
    assert items[0].message == "how?"
    assert items[0].extra == {"origin": "mined", "rank": 3, "scores": {"d": 1.5}}


def test_triples_become_an_item_each(tmp_path: Path) -> None:
    path = tmp_path / "triples.jsonl"
    path.write_text('{"id": "7", "context": ["hi"], "message": "how?", "response": "fine"}\n')
    assert read_items(path) == [Item("7", ("fine",), ("hi",), "how?", "7")]
    assert read_segments(path)[0].context == ("hi",)


def test_candidates_and_triples_of_other_formats(tmp_path: Path) -> None:
    corpus = [{"id": "7", "context": ["hi"], "message": "how?", "response": "fine"}, {"message": "a", "response": "b"}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in corpus))
    (tmp_path / "t.tsv").write_text("id\tcontext\tmessage\tresponse\n7\thi\thow?\tfine\n8\t\ta\tb\n")
    pl.DataFrame(corpus).write_parquet(tmp_path / "t.parquet")
    expected = [Item("7", ("fine",), ("hi",), "how?", "7"), Item("8", ("b",), (), "a", "8")]
    assert read_items(tmp_path / "t.tsv") == expected
    assert [(item.texts, item.context, item.message) for item in read_items(tmp_path / "t.parquet")] == [
        (item.texts, item.context, item.message) for item in expected
    ]
    assert [item.key for item in read_items(tmp_path / "t.parquet")] == ["7", "t.parquet:2"]
    for ending in ("jsonl", "tsv", "parquet"):
        segments = read_segments(tmp_path / f"t.{ending}")
        assert [(segment.message, segment.context or ()) for segment in segments] == [("how?", ("hi",)), ("a", ())]
        assert segments[0].id == "7"


@pytest.mark.parametrize("long", [False, True])
def test_references_in_parquet_keep_texts_and_origins(tmp_path: Path, long: bool) -> None:
    references = [{"text": "fine", "origin": "seed"}, {"text": "well", "origin": "mined"}]
    head = {"id": "7", "context": ["hi"], "message": "how?"}
    rows = [head | each for each in references] if long else [head | {"references": references}]
    pl.DataFrame(rows).write_parquet(tmp_path / "c.parquet")
    assert [
        (item.key, item.texts, item.context, item.message, item.extra) for item in read_items(tmp_path / "c.parquet")
    ] == [
        ("7#1", ("fine",), ("hi",), "how?", {"origin": "seed"}),
        ("7#2", ("well",), ("hi",), "how?", {"origin": "mined"}),
    ]
    assert [segment.message for segment in read_segments(tmp_path / "c.parquet")] == ["how?"]


def test_tables_that_cannot_be_rated_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="damaged"):
        read_items(tmp_path / "t.parquet")
    (tmp_path / "t.tsv").write_text("id\tmessage\tresponse\n7\ta\tb\n7\tc\td\n")
    with pytest.raises(DataError, match=r"t\.tsv: triple 2: '7' is already used at .*t\.tsv: triple 1"):
        read_items(tmp_path / "t.tsv")
    (tmp_path / "t.csv").write_text("message,id\na,b\n")
    with pytest.raises(DataError, match="names no column of texts, only message, id; call it text"):
        read_items(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("id,message,text\n1,a,b\n1,c,d\n")
    with pytest.raises(DataError, match=r"t\.csv:3: the message is not that at .*t\.csv:2, which has the same id"):
        read_items(tmp_path / "t.csv")


def test_tables_have_a_row_for_each_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("conv_id,prompt,response,origin\n1,hi,hello,seed\n2,bye,later,\n1,hi,what?,mined\n")
    with pytest.warns(match="id ← conv_id, text ← response, message ← prompt, origin ← origin"):
        items = read_items(tmp_path / "t.csv")
    assert [(item.key, item.texts, item.message) for item in items] == [
        ("1#1", ("hello",), "hi"),
        ("1#2", ("what?",), "hi"),
        ("2#1", ("later",), "bye"),
    ]
    (tmp_path / "n.csv").write_text("text\na\nb\n")
    assert [item.key for item in read_items(tmp_path / "n.csv")] == ["n.csv:1#1", "n.csv:2#1"]


def test_one_id_for_two_pieces_of_conversation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    records = [{"id": 1, "message": m, "references": [{"id": m, "text": m}]} for m in "aab"]
    path.write_text("".join(json.dumps(record) + "\n" for record in (records[0], records[2])))
    with pytest.raises(DataError, match=r":2: the id '1' is that of another piece of conversation at .*:1; every seg"):
        read_items(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "holds nothing to rate; give a file of candidates or triples with one line per segment"),
        ('{"id": "a"}', ":1: there is neither references (of candidates) nor response (of a triple)"),
        ('{"references": 3}', ":1: references must be an array of objects, each with a text, not the number 3"),
        ('{"references": [1]}', ':1: references[0] must be a string or an object with a "text", not the number 1'),
        ('{"references": [{"text": 1}]}', ":1: references[0].text must be a string, not the number 1"),
        ('{"references": [{"id": [], "text": ""}]}', ":1: references[0]: id must be a string, not an array"),
        ('{"response": null}', ":1: response must be a string, not null"),
        ('{"id": "a", "response": "x"}\n{"id": "a", "response": "y"}', ":2: 'a' is already used at "),
        ('{"id": "a", "references": [{"id": "r", "text": ""}, {"id": "r", "text": ""}]}', "'a#r' is already used"),
        ('{"id": "a\\u0000", "response": "x"}', ":1: the id 'a\\x00' holds a NUL character; give it another one"),
        ('{"id": "a\\ud800", "response": "x"}', "holds half a surrogate pair; give it another one"),
        (json.dumps({"id": "ä" * 1001, "response": ""}), "is longer than 2,000 bytes; give it a shorter one"),
        ("{", ":1: this is not JSON"),
    ],
)
def test_files_that_cannot_be_rated_are_refused(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(lines)
    with pytest.raises(DataError) as raised:
        read_items(path)
    assert message in str(raised.value)
    assert str(path) in str(raised.value)


def test_outputs_become_pairs_with_their_systems(tmp_path: Path) -> None:
    (tmp_path / "triples.jsonl").write_text(
        '{"id": "s1", "message": "m1", "response": "r"}\n{"id": "s2", "message": "m2", "response": "r"}\n'
    )
    for name in "ABC":
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    segments = read_segments(tmp_path / "triples.jsonl")
    outputs = read_outputs([str(tmp_path / f"{name}.txt") for name in "ABC"], segments)
    items = output_items(segments, outputs, parse_pairs("A:B, C:A", ["A", "B", "C"]))
    assert [(item.key, item.texts, item.systems, item.message, item.segment) for item in items] == [
        ("s1#A:B", ("A1", "B1"), ("A", "B"), "m1", "s1"),
        ("s1#C:A", ("C1", "A1"), ("C", "A"), "m1", "s1"),
        ("s2#A:B", ("A2", "B2"), ("A", "B"), "m2", "s2"),
        ("s2#C:A", ("C2", "A2"), ("C", "A"), "m2", "s2"),
    ]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("AB", "the pair 'AB' cannot be read; write pairs as A:B,A:C"),
        ("", "the pair '' cannot be read"),
        ("A:D", "the pair 'A:D' names an unknown system 'D'; known: A, B, C"),
        ("A:A", "the pair 'A:A' is one system with itself; name two"),
        ("A:B,B:A", "the pair 'B:A' is given twice; give it once"),
    ],
)
def test_pairs_that_cannot_be_are_refused(pairs: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_pairs(pairs, ["A", "B", "C"])
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "there is nothing to rate; give at least one item"),
        ([Item("a", ("x",)), Item("a", ("y",))], "two items have the key 'a'; every item needs its own"),
        ([Item("a", ("x", "y"))], "the item 'a' has 2 texts, but this study rates 1"),
        ([Item("a", ("x",), role="gold")], "the item 'a' is a gold item; put these into the study's settings"),
        ([Item("a\0", ("x",))], "holds a NUL character"),
    ],
)
def test_a_study_is_not_made_of_items_that_do_not_fit(tmp_path: Path, items: list[Item], message: str) -> None:
    with pytest.raises(DataError) as raised:
        Study.create(tmp_path / "s", StudyConfig("T", "response"), items)
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []


NASTY = ["<script>alert(1)</script>", "a\0b", "\ud800", "\u202eabc", "😀" * 50, "x" * 20_000, "", "\r\n\x1b[0m"]


def test_any_text_goes_through_a_store_unchanged(make: Callable[..., Study]) -> None:
    items = [Item(f"k{n}", (text,), context=(text,), message=text) for n, text in enumerate(NASTY)]
    study = make(items, raters=1)
    rater = study.add_raters(1)[0].rater.id
    seen = {}
    while (task := study.assign(rater)) is not None:
        seen[task.item.key] = task.item
        study.answer(rater, task.assignment, (1,), key=task.client_key)
    assert {item.key: (item.texts, item.context, item.message) for item in seen.values()} == {
        f"k{n}": ((text,), (text,), text) for n, text in enumerate(NASTY)
    }
