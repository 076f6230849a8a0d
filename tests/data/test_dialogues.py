"""Conversations cut into triples."""

from __future__ import annotations

import gzip
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import DialogueFiles, Triple
from trubleu.errors import CountedWarning, DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

words = st.text("abc \u2028é", min_size=1, max_size=4).map(lambda text: text.strip() or "a")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dialogues")


@given(st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=4), st.integers(0, 3), st.booleans())
def test_every_turn_answers_the_one_before(
    folder: Path, dialogues: list[list[str]], context: int, as_text: bool
) -> None:
    if as_text:
        path = folder / "dialogues.txt"
        path.write_text("".join(" __eou__ ".join(turns) + " __eou__\n" for turns in dialogues))
    else:
        path = folder / "dialogues.jsonl"
        path.write_text("".join(json.dumps({"turns": turns}) + "\n" for turns in dialogues))
    expected = []
    for line, turns in enumerate(dialogues, 1):
        for number in range(1, len(turns)):
            before = turns[: number - 1]
            if before or context == 0:
                kept = before[-context:] if context else []
                name = f"{path.name}:{line}:{number + 1}"
                expected.append(Triple(name, tuple(kept), turns[number - 1], turns[number]))
    source = DialogueFiles(path)
    told: list[int] = []
    if expected:
        assert list(source.triples(context=context, progress=told.append)) == expected
    else:
        with pytest.raises(DataError, match=r"no dialogue gives a triple, for which it needs \d turns at least; "):
            list(source.triples(context=context, progress=told.append))
    assert sum(told) == source.total == path.stat().st_size
    assert source.dialogues == len(dialogues)
    assert source.short == sum(len(turns) < (3 if context else 2) for turns in dialogues)


def test_turns_may_be_objects_in_a_field_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl.gz"
    records = [{"id": 7, "said": [{"text": " a ", "who": 1}, "b", {"text": "c"}]}, {"id": "", "said": ["a", "b", "c"]}]
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, records)).encode()))
    assert list(DialogueFiles(path, turns="said").triples()) == [
        Triple("7:3", ("a",), "b", "c"),
        Triple(f"{path.name}:3:3", ("a",), "b", "c"),
    ]


def test_a_separator_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("a | b | c\n")
    assert [triple.response for triple in DialogueFiles(tmp_path / "d.txt", separator="|").triples()] == ["c"]
    # Without it, a line is one turn.
    with pytest.raises(
        DataError,
        match=r"d\.txt: no dialogue gives a triple, for which it needs 3 turns at least; the separator '__eou__' "
        r"occurs nowhere, so say what stands between turns \(--separator\)$",
    ):
        list(DialogueFiles(tmp_path / "d.txt").triples())


BAD = [
    ("d.txt", b"a __eou__ __eou__ b __eou__", "d.txt:1: turn 2 is blank; write what was said, or take the dialogue"),
    ("d.txt", b"__eou__ a", "d.txt:1: turn 1 is blank"),
    ("d.jsonl", b'{"turns": ["a", " ", "b"]}', "d.jsonl:1: turn 2 is blank"),
    ("d.jsonl", b'{"turns": ["a", 1]}', r"d.jsonl:1: turns\[1\] must be a string or an object with a text, not the"),
    (
        "d.jsonl",
        b'{"turns": ["a", {}]}',
        r"d.jsonl:1: turns\[1\] must be a string or .*, not an object whose text is null",
    ),
    ("d.jsonl", b'{"turns": "a"}', "d.jsonl:1: turns must be an array, one string per turn, not the string 'a'"),
    ("d.jsonl", b'{"turn": []}', r"d.jsonl:1: the field turns is missing; say which one holds the turns \(--turns\)"),
    ("d.jsonl", b'{"turns": ["a", "b"], "id": []}', "d.jsonl:1: id must be a string, not an array"),
    ("d.jsonl", b"a __eou__ b", "d.jsonl:1: this is not JSON"),
    ("d.txt", b"a __eou__ \xff", r"d.txt:1: byte 10 \(0xff\) is not valid UTF-8"),
]


@pytest.mark.parametrize(("name", "line", "message"), BAD)
def test_what_cannot_be_used_is_refused_or_counted(tmp_path: Path, name: str, line: bytes, message: str) -> None:
    path = tmp_path / name
    good = b'{"turns": ["a", "b", "c"]}' if name == "d.jsonl" else b"a__eou__b__eou__c"
    path.write_bytes(line + b"\n" + good)
    with pytest.raises(DataError, match=message):
        list(DialogueFiles(path).triples())
    source = DialogueFiles(path, skip_bad=True)
    assert list(source.triples()) == [Triple(f"{path.name}:2:3", ("a",), "b", "c")]
    assert (source.dialogues, source.bad, source.short) == (2, 1, 0)
    with pytest.warns(CountedWarning, match="dialogues that could not be used and were skipped: 1"):
        source.warn_of_skipped()


def test_no_turns_are_a_short_conversation(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"turns": []}\n{"turns": ["a", "b", "c"]}\n')
    source = DialogueFiles(path)
    assert len(list(source.triples())) == 1
    assert (source.dialogues, source.short) == (2, 1)
    with pytest.warns(CountedWarning, match="dialogues too short for a triple: 1"):
        source.warn_of_skipped()


@pytest.mark.parametrize(
    ("name", "content", "context", "message"),
    [
        ("d.jsonl", '{"turns": ["a", "b"]}\n', 1, r"; give longer ones, or ask for no context \(--context 0\)$"),
        ("d.jsonl", '{"turns": ["a"]}\n', 0, r"triple, for which it needs 2 turns at least; give longer ones$"),
        ("d.txt", "a __eou__ b __eou__\n", 1, r"3 turns at least; give longer ones, or ask for no context"),
        ("d.txt", "a __eou__\n", 0, r"2 turns at least; give longer ones$"),
        ("d.jsonl", "{}\n", 1, r"jsonl: no dialogue gives a triple \(1 dialogue skipped\), for which it needs 3 turns"),
        ("d.txt", "\n\n", 1, r"d\.txt has no dialogues; give some, one per line$"),
    ],
)
def test_no_triples_at_all_are_an_error(tmp_path: Path, name: str, content: str, context: int, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        list(DialogueFiles(tmp_path / name, skip_bad=True).triples(context=context))


def test_an_id_is_used_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def line(identity: object, *turns: str) -> str:
        return json.dumps({"id": identity, "turns": turns}) + "\n"

    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_text(
        line("a", "x", "y", "z") + line("", "x", "y", "z") + line("7", "x", "y", "z") + line("", "x", "y", "z")
    )
    two.write_text(line("b", "x", "y", "z") + line(7, "u", "v", "w"))
    source = DialogueFiles([one, two])
    for _ in range(2):
        with pytest.raises(DataError) as told:
            list(source.triples())
        assert str(told.value) == f"{two}:2: the id '7' is already used at {one}:3; every dialogue needs its own"
    lenient = DialogueFiles([one, two], skip_bad=True)
    for _ in range(2):
        assert [triple.id for triple in lenient.triples()] == [
            "a:3",
            f"{one.name}:2:3",
            "7:3",
            f"{one.name}:4:3",
            "b:3",
        ]
        assert lenient.bad == 1
    # One that cannot be used takes no id from another.
    one.write_text(line("a", "x", "", "z") + line("a", "x", "y", "z"))
    assert [triple.id for triple in DialogueFiles(one, skip_bad=True).triples()] == ["a:3"]
    # What was read cannot be read again to find the line.
    both = line("a", "x", "y", "z") * 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(both.encode())))
    with pytest.raises(DataError, match=r"<stdin>:2: the id 'a' is already used at <stdin>:1; every"):
        list(DialogueFiles("-").triples())
    with pytest.raises(DataError, match=r"1\.jsonl is given twice"):
        DialogueFiles([one, tmp_path / "." / ".." / tmp_path.name / "1.jsonl"])


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("a __eou__ b\n")
    with pytest.raises(UsageError, match="no conversations are given"):
        DialogueFiles([])
    with pytest.raises(UsageError, match="the separator ' ' is blank"):
        DialogueFiles(path, separator=" ")
    with pytest.raises(UsageError, match="the field of turns '' is blank"):
        DialogueFiles(path, turns="")
    with pytest.raises(UsageError, match="a context of -1 turns is too short; give 0 or more"):
        list(DialogueFiles(path).triples(context=-1))
    with pytest.raises(DataError, match="there is no such file"):
        list(DialogueFiles(tmp_path / "none.txt").triples())
    with pytest.raises(DataError, match="given more than once"):
        DialogueFiles(["-", "-"])
