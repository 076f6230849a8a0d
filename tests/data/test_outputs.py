from __future__ import annotations

import difflib
import gzip
import io
import sys
from pathlib import Path

import pytest

from trubleu.data import Outputs, References, parse_system, read_outputs
from trubleu.errors import DataError


@pytest.fixture
def references() -> References:
    return References.from_lists([["a"], ["b"], ["c"]], ids=["seg-1", "seg-2", "seg-3"])


@pytest.mark.parametrize(
    ("argument", "name", "path"),
    [
        ("base=out.txt", "base", "out.txt"),
        ("base=a=b.txt", "base", "a=b.txt"),
        ("base=-", "base", "-"),
        ("-", "stdin", "-"),
        ("runs/out.txt", "out", "runs/out.txt"),
        ("out.jsonl.gz", "out", "out.jsonl.gz"),
        ("out.en.zst", "out", "out.en.zst"),
        ("newstest2015.online-B.0.de-en", "newstest2015.online-B.0", "newstest2015.online-B.0.de-en"),
        ("out", "out", "out"),
        (".gz", ".gz", ".gz"),
        (".txt", ".txt", ".txt"),
    ],
)
def test_parse_system(argument: str, name: str, path: str) -> None:
    assert parse_system(argument) == (name, path)


def test_a_file_with_an_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lr=0.1.txt").touch()
    assert parse_system("lr=0.1.txt") == ("lr=0.1", "lr=0.1.txt")


@pytest.mark.parametrize(("argument", "what"), [("=out.txt", "name"), ("base=", "path"), ("", "name"), ("=", "name")])
def test_empty_parts(argument: str, what: str) -> None:
    with pytest.raises(DataError, match=f"the system '{argument}' has an empty {what}"):
        parse_system(argument)


def test_lines(tmp_path: Path, references: References) -> None:
    (tmp_path / "one.txt").write_text("x\n\nz\n")
    (tmp_path / "two.txt.gz").write_bytes(gzip.compress(b"1\r\n2\r\n3"))
    one, two = str(tmp_path / "one.txt"), str(tmp_path / "two.txt.gz")
    assert read_outputs([one, f"second={two}"], references) == [
        Outputs("one", ["x", "", "z"], one),
        Outputs("second", ["1", "2", "3"], two),
    ]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_joined_by_id(tmp_path: Path, references: References, name: str) -> None:
    data = b'{"id": "seg-3", "text": "z", "more": 1}\n\n{"id": "seg-1", "text": "x"}\n{"id": "seg-2", "text": ""}'
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    (outputs,) = read_outputs([str(tmp_path / name)], references)
    assert (outputs.name, outputs.texts) == ("out", ["x", "", "z"])


def test_integer_ids_join_with_default_ids(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"id": 2, "text": "y"}\n{"id": 1, "text": "x"}\n')
    (outputs,) = read_outputs([str(tmp_path / "out.jsonl")], References.from_lists([["a"], ["b"]]))
    assert outputs.texts == ["x", "y"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch, references: References) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\ny\nz\n"), "ascii"))
    assert read_outputs(["-"], references) == [Outputs("stdin", ["x", "y", "z"], "-")]


def test_standard_input_only_once(monkeypatch: pytest.MonkeyPatch, references: References) -> None:
    with pytest.raises(DataError, match=r"standard input.*more than once"):
        read_outputs(["a=-", "b=-"], references)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\n"), "ascii"))
    with pytest.raises(DataError, match=r"standard input.*more than once"):
        read_outputs(["a=-"], References.read("-"))


def test_no_systems(references: References) -> None:
    assert read_outputs([], references) == []


def test_a_string_instead_of_a_list(references: References) -> None:
    with pytest.raises(DataError, match=r"systems must be given as a list, not as the string 'out\.txt'"):
        read_outputs("out.txt", references)


def test_names_clash(references: References) -> None:
    with pytest.raises(
        DataError, match=r"two systems are named out \(a/out\.txt and b/out\.en\); name them with NAME=PATH"
    ):
        read_outputs(["a/out.txt", "b/out.en"], references)


def test_number_of_lines(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("x\n")
    (tmp_path / "refs.txt").write_text("a\nb\n")
    with pytest.raises(DataError, match=r"out\.txt has 1 line but .*refs\.txt has 2 segments"):
        read_outputs([str(tmp_path / "out.txt")], References.read(tmp_path / "refs.txt"))


FIRST = '{"id": "seg-1", "text": "x"}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "this is not JSON: .* at column 2"),
        ('"text"', "a line must hold one JSON object, not the string 'text'"),
        ('{"text": "x"}', "the field id is missing"),
        ('{"id": null, "text": "x"}', "the field id is missing"),
        ('{"id": true, "text": "x"}', "id must be a string, not true"),
        ('{"id": "seg-2"}', "the field text is missing"),
        ('{"id": "seg-2", "text": null}', "text must be a string, not null"),
        ('{"id": "seg-2", "text": 5}', "text must be a string, not the number 5"),
        (FIRST, "the id 'seg-1' was already used above"),
        ('{"id": "sge-2", "text": "x"}', "the id 'sge-2' is not in references; did you mean seg-2"),
        ('{"id": "???", "text": "x"}', r"the id '\?\?\?' is not in references; known: seg-1, seg-2, seg-3"),
    ],
)
def test_json_error(tmp_path: Path, references: References, line: str, message: str) -> None:
    (tmp_path / "out.jsonl").write_text(f"{FIRST}\n{line}\n")
    with pytest.raises(DataError, match=rf"out\.jsonl:2: {message}"):
        read_outputs([str(tmp_path / "out.jsonl")], references)


def test_missing_ids(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"id": "3", "text": "x"}\n')
    references = References.from_lists([["a"]] * 14)
    with pytest.raises(DataError, match=r"out\.jsonl has no output for 1, 2, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more;"):
        read_outputs([str(tmp_path / "out.jsonl")], references)


def test_an_id_for_no_segments(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text(FIRST)
    with pytest.raises(DataError, match="the id 'seg-1' is not in references; there are no segments"):
        read_outputs([str(tmp_path / "out.jsonl")], References.from_lists([]))


def test_a_wrong_id_is_not_compared_with_all_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    original = difflib.get_close_matches

    def spy(word: str, possibilities: list[str], n: int = 3) -> list[str]:
        compared.append(len(possibilities))
        return original(word, possibilities, n)

    monkeypatch.setattr(difflib, "get_close_matches", spy)
    count = 20_000
    references = References.from_lists([["a"]] * count, ids=[f"document-{number:05d}" for number in range(count)])
    (tmp_path / "out.jsonl").write_text('{"id": "document-12345x", "text": "x"}')
    with pytest.raises(DataError, match="did you mean document-12345"):
        read_outputs([str(tmp_path / "out.jsonl")], references)
    assert max(compared) <= 1000


def test_an_argument_too_long_for_a_file_name() -> None:
    assert parse_system("a=" + "x" * 300) == ("a", "x" * 300)
