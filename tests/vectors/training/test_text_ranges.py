"""Ranges of a corpus hold every line once, wherever they are cut."""

from __future__ import annotations

import gzip
import os
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import DataError
from trubleu.files import ranges as file_ranges
from trubleu.files.lines import read_text_lines
from trubleu.vectors.training import counts as module
from trubleu.vectors.training.counts import TextRange, text_ranges

if TYPE_CHECKING:
    from pathlib import Path


def lines_of(ranges: list[TextRange]) -> list[str]:
    return [line for text in ranges for lines in text.span.lines() for line in lines]


@given(
    text=st.text(st.sampled_from("ab\né\r"), max_size=60),
    start=st.sampled_from(["", "\ufeff"]),
    size=st.integers(1, 30),
    block=st.integers(3, 9),  # a byte order mark fits into a block
)
def test_every_line_is_in_one_range(
    tmp_path_factory: pytest.TempPathFactory, text: str, start: str, size: int, block: int
) -> None:
    path = tmp_path_factory.mktemp("ranges") / "text"
    path.write_bytes((start + text).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RANGE", size)
        patch.setattr(file_ranges, "BLOCK", block)
        ranges = text_ranges([path])
        assert [each.number for each in ranges] == list(range(len(ranges)))
        assert lines_of(ranges) == read_text_lines(path)
        heard: list[bytes] = []
        for each in ranges:
            for _ in each.span.lines(heard.append):
                pass
    assert b"".join(heard) == (path.read_bytes() if text else b"")  # a byte order mark alone is no line


def test_numbers_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "RANGE", 4)
    (tmp_path / "a.txt").write_text("one\ntwo\n3\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"x\n" * 9))
    ranges = text_ranges(["a.txt", "b.gz", "-"])
    assert [str(each) for each in ranges] == [
        "a.txt, lines 1 to 1",
        "a.txt, lines 2 to 2",
        "a.txt, lines 3 to 3",
        "b.gz",
        "<stdin>",
    ]
    assert [each.number for each in ranges] == [0, 1, 2, 3, 4]
    assert [each.comes_once for each in ranges] == [False] * 4 + [True]
    assert ranges[0].span.file.path == str(tmp_path / "a.txt")
    monkeypatch.setattr(module, "RANGE", 1000)
    assert [str(each) for each in text_ranges(["a.txt"])] == ["a.txt"]
    with pytest.raises(DataError, match=r"^c\.txt: there is no such file; check the path"):
        text_ranges(["c.txt"])


def test_what_a_digest_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RANGE", 8)
    path = tmp_path / "text"
    path.write_text("one two\nthree 4\n")
    before = [each.span.digest() for each in text_ranges([path])]
    path.write_text("one two\nthree 5\n")
    after = [each.span.digest() for each in text_ranges([path])]
    assert before[0] == after[0]
    assert before[1] != after[1]
    (tmp_path / "packed").write_bytes(gzip.compress(b"one two\n"))
    assert text_ranges([tmp_path / "packed"])[0].span.digest() == before[0]


@pytest.mark.parametrize("size", [3, 8, 1000])
def test_a_wrong_byte_is_named_by_its_line_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(module, "RANGE", size)
    (tmp_path / "text").write_bytes(b"one\ntwo\nthree\nf\xffur\nfive\n")
    found = []
    for text in text_ranges([tmp_path / "text"]):
        try:
            lines_of([text])
        except DataError as error:
            found.append(str(error))
    assert len(found) == 1
    assert re.search(r"text:4: byte 15 \(0xff\) is not valid UTF-8", found[0])


def test_a_file_that_becomes_shorter(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("one\ntwo\n")
    ranges = text_ranges([path])
    os.truncate(path, 4)
    with pytest.raises(DataError, match=r"text changed while it was read; do not write to it meanwhile"):
        lines_of(ranges)
