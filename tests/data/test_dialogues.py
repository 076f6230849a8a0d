"""Conversations cut into triples."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import DialogueFiles, Triple
from trubleu.errors import CountedWarning, DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

words = st.text("abc \u2028é", min_size=1, max_size=4).filter(lambda text: text.strip() == text)


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
                name = f"{path}:{line}:{number + 1}"
                expected.append(Triple(name, tuple(kept), turns[number - 1], turns[number]))
    source = DialogueFiles(path)
    told: list[int] = []
    assert list(source.triples(context=context, progress=told.append)) == expected
    assert sum(told) == source.total == path.stat().st_size
    assert source.dialogues == len(dialogues)
    assert source.short == sum(len(turns) < (3 if context else 2) for turns in dialogues)


def test_turns_may_be_objects_in_a_field_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl.gz"
    records = [{"id": 7, "said": [{"text": " a ", "who": 1}, "b", {"text": "c"}]}, {"id": "", "said": ["a", "b", "c"]}]
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, records)).encode()))
    assert list(DialogueFiles(path, turns="said").triples()) == [
        Triple("7:3", ("a",), "b", "c"),
        Triple(f"{path}:3:3", ("a",), "b", "c"),
    ]


def test_a_separator_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("a | b | c\n")
    assert [triple.response for triple in DialogueFiles(tmp_path / "d.txt", separator="|").triples()] == ["c"]
    # Without it, a line is one turn.
    source = DialogueFiles(tmp_path / "d.txt")
    assert list(source.triples()) == []
    with pytest.warns(CountedWarning, match="dialogues too short for a triple: 1"):
        source.warn_of_skipped()


BAD = [
    ("d.txt", b"a __eou__ __eou__ b __eou__", "d.txt:1: turn 2 is blank; write what was said, or take the dialogue"),
    ("d.txt", b"__eou__ a", "d.txt:1: turn 1 is blank"),
    ("d.jsonl", b'{"turns": ["a", " ", "b"]}', "d.jsonl:1: turn 2 is blank"),
    ("d.jsonl", b'{"turns": ["a", 1]}', r"d.jsonl:1: turns\[1\] must be a string or an object with a text, not the"),
    ("d.jsonl", b'{"turns": ["a", {}]}', r"d.jsonl:1: turns\[1\].text must be a string, not null"),
    ("d.jsonl", b'{"turns": "a"}', "d.jsonl:1: turns must be an array, one string a turn, not the string 'a'"),
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
    assert list(source.triples()) == [Triple(f"{path}:2:3", ("a",), "b", "c")]
    assert (source.dialogues, source.bad, source.short) == (2, 1, 0)
    with pytest.warns(CountedWarning, match="dialogues that could not be used and were skipped: 1"):
        source.warn_of_skipped()


def test_no_turns_are_a_short_conversation(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"turns": []}\n')
    source = DialogueFiles(tmp_path / "d.jsonl")
    assert list(source.triples()) == []
    assert (source.dialogues, source.short) == (1, 1)


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
