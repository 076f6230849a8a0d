"""Files of triples: what is written is read back, and appears whole or not at all."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trubleu.data import Triple, read_triples, write_triples
from trubleu.data import triples as triples_module
from trubleu.data.triples import write_together
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A = Triple("a", ("hi",), "how are you ?", "fine")
B = Triple("b", (), "bye", "see you")

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=5)
said = words.filter(lambda text: not text.isspace())
one_turn = st.builds(Triple, words, st.lists(words, max_size=1).map(tuple), said, said)
many_turns = st.builds(Triple, words, st.lists(st.text(max_size=3), max_size=3).map(tuple), said, said)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@settings(max_examples=30)
@given(
    st.sampled_from(["c.jsonl", "c.jsonl.zst"]),
    st.lists(many_turns, max_size=7),
)
def test_lines_are_read_back(folder: Path, name: str, triples: list[Triple]) -> None:
    told: list[int] = []
    assert write_triples(folder / name, iter(triples), progress=told.append) == len(triples) == sum(told)
    assert read_triples(folder / name) == triples


plain = st.builds(
    Triple,
    words,
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=3).map(tuple),
    said,
    said,
)


@settings(max_examples=20)
@given(st.lists(plain, max_size=7))
def test_parquet_is_read_back(folder: Path, triples: list[Triple]) -> None:
    assert write_triples(folder / "c.parquet", iter(triples)) == len(triples)
    assert read_triples(folder / "c.parquet") == triples
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("name", "triple", "message"),
    [
        ("c.parquet", Triple("x", ("\ud83d",), "m", "r"), "half of a surrogate pair, which only JSON lines can hold"),
        ("c.doc", A, "c.doc: the name does not show a format; let it end in .jsonl or .parquet"),
        ("c.tsv", A, "c.tsv: tsv cannot be written here; let it end in .jsonl or .parquet"),
        ("c.parquet.gz", A, "Parquet is compressed inside"),
        ("no/c.jsonl", A, "there is no folder"),
        ("no/c.parquet", A, "there is no folder"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_left(
    tmp_path: Path, name: str, triple: Triple, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        write_triples(tmp_path / name, [A, triple])
    assert list(tmp_path.iterdir()) == []


def test_json_lines_hold_everything(tmp_path: Path) -> None:
    odd = Triple("x", ("a\tb\nc\r", ""), "\ud83d", "\u2028 r")
    write_triples(tmp_path / "c.jsonl", [odd])
    assert read_triples(tmp_path / "c.jsonl") == [odd]


def broken(kind: type[BaseException]) -> Iterator[Triple]:
    yield A
    raise kind


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz", "c.parquet"])
def test_an_interruption_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    write_triples(tmp_path / name, [B])
    before = (tmp_path / name).read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_triples(tmp_path / name, broken(KeyboardInterrupt))
    assert (tmp_path / name).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_files_that_are_written_together_appear_together(tmp_path: Path) -> None:
    first, second = str(tmp_path / "a.jsonl"), str(tmp_path / "b.parquet")
    with pytest.raises(KeyboardInterrupt):
        write_together([(first, [A]), (second, broken(KeyboardInterrupt))])
    assert list(tmp_path.iterdir()) == []
    write_together([(first, [A]), (second, [B])])
    assert (read_triples(first), read_triples(second)) == ([A], [B])
    (tmp_path / "a.jsonl").chmod(0o600)
    write_together([(first, [B]), (second, [A])])
    assert (read_triples(first), read_triples(second)) == ([B], [A])
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o600
    with pytest.raises(DataError, match="half of a surrogate pair"):
        write_together([(first, [A]), (str(tmp_path / "c.parquet"), [Triple("x", ("\ud83d",), "m", "r")])])
    assert read_triples(first) == [B]
    assert len(list(tmp_path.iterdir())) == 2


def test_files_that_cannot_be_written_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cases: list[tuple[str, str, str]] = [
        ("a.jsonl", "-", "none can be standard output"),
        ("a.jsonl", "./a.jsonl", "a.jsonl and ./a.jsonl are the same file"),
        ("a.jsonl", "a.doc", "the name does not show a format"),
        ("a.jsonl", "no/b.jsonl", "there is no folder no"),
    ]
    for first, second, message in cases:
        with pytest.raises((UsageError, DataError), match=message):
            write_together([(first, [A]), (second, [B])])
    os.mkfifo("pipe.jsonl")
    with pytest.raises(UsageError, match=r"pipe\.jsonl is not a file that could be replaced"):
        write_together([("a.jsonl", [A]), ("pipe.jsonl", [B])])
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.jsonl"]


def test_a_full_disk_is_said_with_the_name_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: Any, _target: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(triples_module, "copy_parquet", full)
    with pytest.raises(DataError, match=r"/b\.parquet cannot be written: No space left on device; nothing was changed"):
        write_together([(str(tmp_path / "a.jsonl"), [A]), (str(tmp_path / "b.parquet"), [B])])
    assert list(tmp_path.iterdir()) == []
