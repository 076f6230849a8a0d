"""JSON with a key twice: Python would keep the last one, and nobody would know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import DialogueFiles, Ratings, References, read_outputs, read_published, read_triples
from trubleu.data.sets import find_set
from trubleu.errors import DataError
from trubleu.files.jsonl import parse_json
from trubleu.files.lines import read_text_lines
from trubleu.files.ranges import json_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFERENCES = References.from_lists([["a"], ["b"]], ids=["1", "2"])
TWICE = r"this JSON cannot be read: an object has the key 'text' twice; keep one of them$"

READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "references": ('{"id": "1", "references": [{"text": "a"}, {"text": "a", "text": "b"}]}', References.read),
    "outputs": ('{"id": "1", "text": "a", "text": "b"}', lambda path: read_outputs([path], REFERENCES)),
    "triples": (
        '{"id": "1", "message": "a", "response": "b", "text": 1, "te\\u0078t": 2}',
        lambda path: list(read_triples(path)),
    ),
    "triples with spaces": (
        '{"message": "a", "response": "b", "text" : 1, "text": 2}',
        lambda path: list(read_triples(path)),
    ),
    "dialogues": (
        '{"turns": ["a", "b", "c"], "text": 1, "text": 2}',
        lambda path: list(DialogueFiles([path]).triples()),
    ),
    "ratings": ('{"item": "1", "system": "A", "rater": "r", "score": 3, "text": 1, "text": 2}', Ratings.read),
    "ranges of rows": ('{"id": "1", "text": "a", "text": "b"}', lambda path: json_rows(read_text_lines(path), path, 0)),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_key_twice_is_refused(tmp_path: Path, kind: str) -> None:
    line, read = READERS[kind]
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"x\.jsonl:1: {TWICE}"):
        read(str(path))


def test_a_key_twice_in_a_document(tmp_path: Path) -> None:
    (tmp_path / "tc_usr_data.json").write_text('[{"context": "a", "responses": [], "text": 1, "text": 2}]')
    with pytest.raises(DataError, match=r"json: this is not JSON: an object has the key 'text' twice; keep one of"):
        read_published("usr", tmp_path)


@pytest.mark.parametrize("line", ['{"id": "1", "text": ', '{"id": "1", "references": '])
@pytest.mark.parametrize("name", ["x.jsonl", "x.txt"])
def test_deep_nesting_is_no_crash(tmp_path: Path, line: str, name: str) -> None:
    path = tmp_path / name
    path.write_text(line + "[" * 100_000 + "\n", encoding="utf-8")
    if name == "x.txt":  # then it is a text
        (found,) = read_outputs([str(path)], References.from_lists([["a"]]))
        assert list(found.texts) == [path.read_text(encoding="utf-8").rstrip()]
    else:
        with pytest.raises(DataError, match=r"x\.jsonl:1: this JSON cannot be read: maximum recursion depth exceeded"):
            read_outputs([str(path)], REFERENCES)


keys = st.sampled_from(["a", "b", 'a"', "a:", "", "\u00e4"])


@given(st.lists(st.tuples(keys, st.integers(0, 9)), max_size=4), st.booleans())
def test_all_others_are_as_ever(pairs: list[tuple[str, int]], ascii_only: bool) -> None:
    fields = [f"{json.dumps(key, ensure_ascii=ascii_only)}: {value}" for key, value in pairs]
    text = '[{"in": {' + ", ".join(fields) + "}}]"
    if len(dict(pairs)) == len(pairs):
        assert parse_json(text) == json.loads(text)
    else:
        with pytest.raises(ValueError, match=r"^an object has the key .* twice; keep one of them$"):
            parse_json(text)


def test_deep_nesting_describes_no_set(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"set\.json does not describe a set; import the set again$"):
        find_set(str(tmp_path))
