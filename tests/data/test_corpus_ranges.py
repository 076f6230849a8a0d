"""Ranges of lines hold what the whole files hold, wherever blocks and ranges are cut."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trubleu.data import LineStream
from trubleu.data.corpus import CountedColumn, LineRange, counted_columns, files_of, line_ranges
from trubleu.errors import ChangedError, DataError
from trubleu.files import ranges as file_ranges
from trubleu.files.lines import read_text_lines

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.data.corpus import Role
    from trubleu.files.paths import PathLike


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranges")


def column(*paths: PathLike) -> CountedColumn:
    return counted_columns(paths)[0]


def lines_of(lines: LineRange, number: int = 0) -> list[str]:
    return [line for span in lines.spans[number] for some in span.rows() for line in some]


CONTENTS = st.lists(st.sampled_from(["a", "é", "\n", "\r\n", "\u2028", "\ufeff"]), max_size=40).map("".join)


@given(content=CONTENTS, block=st.integers(3, 12), rows=st.integers(1, 9))  # a byte order mark fits into a block
@example(content="\ufeff", block=4, rows=1)
@example(content="\ufeff\n\ufeffa\nb", block=3, rows=1)
def test_ranges_hold_all_lines(folder: Path, content: str, block: int, rows: int) -> None:
    (folder / "f").write_bytes(content.encode())
    lines = read_text_lines(folder / "f")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_ranges, "BLOCK", block)
        patch.setattr(file_ranges, "BLOCKS_A_PIECE", 2)
        file = column(folder / "f")
        assert file.rows == len(lines)
        found = [lines_of(each) for each in line_ranges([file], rows)]
    assert [line for some in found for line in some] == lines
    assert all(len(some) == rows for some in found[:-1])


@given(
    first=st.lists(st.tuples(CONTENTS, st.booleans()), min_size=1, max_size=4),
    second=st.lists(st.booleans(), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 40), max_size=3),
    rows=st.integers(1, 9),
)
def test_parts_of_columns_may_be_cut_and_compressed_apart(
    folder: Path, first: list[tuple[str, bool]], second: list[bool], cuts: list[int], rows: int
) -> None:
    """Two columns with the same lines in different files; a range is whole files of one that is compressed."""
    work = folder / "columns"
    shutil.rmtree(work, ignore_errors=True)
    lines: list[str] = []
    for number, (content, packed) in enumerate(first):
        path = work / "a" / f"part-{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
        lines += read_text_lines(path)
    bounds = [0, *sorted(min(cut, len(lines)) for cut in cuts), len(lines)]
    (work / "b").mkdir()
    for number, (begin, end) in enumerate(pairwise(bounds)):
        data = "".join(f"{line}\n" for line in lines[begin:end]).encode()
        (work / "b" / f"{number}").write_bytes(gzip.compress(data) if second[number % len(second)] else data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_ranges, "BLOCK", 5)
        columns = counted_columns([work / "a", work / "b"])
        ranges = line_ranges(columns, rows)
        assert [line for each in ranges for line in lines_of(each)] == lines
        # A byte order mark at the start of a line is dropped where the line begins a file, so that both may differ.
        assert [line.lstrip("\ufeff") for each in ranges for line in lines_of(each, 1)] == [
            line.lstrip("\ufeff") for line in lines
        ]
    if compressed := [each for each in columns if each.packed]:
        whole = min(compressed, key=lambda each: len(each.files))
        assert {each.first for each in ranges} <= {0, *whole.starts}
        assert all(each.count >= rows for each in ranges[:-1])
    else:
        assert all(each.count == rows for each in ranges[:-1])


def test_a_compressed_file_is_read_up_to_the_lines_of_a_range(tmp_path: Path) -> None:
    for name, cut in (("a", 3), ("b", 5)):
        (tmp_path / name).mkdir()
        for number, some in enumerate((b"0\n1\n2\n3\n4\n5\n6\n7\n"[: 2 * cut], b"0\n1\n2\n3\n4\n5\n6\n7\n"[2 * cut :])):
            (tmp_path / name / f"{number}.gz").write_bytes(gzip.compress(some))
    one, two = line_ranges(counted_columns([tmp_path / "a", tmp_path / "b"]), 1)
    assert [lines_of(one, 1), lines_of(two, 1)] == [["0", "1", "2"], ["3", "4", "5", "6", "7"]]
    assert [len(each.spans[1]) for each in (one, two)] == [1, 2]
    assert one.spans[1][0].digest() != two.spans[1][0].digest()


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    with pytest.raises(DataError, match=r"parts is a folder without files"):
        column(tmp_path / "parts")
    for name in ("b.txt", "a.txt", "deep/c.txt", "_SUCCESS", ".hidden"):
        (tmp_path / "parts" / name).write_text(f"{name}\n")
    (whole,) = line_ranges([column(tmp_path / "parts")], 10)
    assert lines_of(whole) == ["a.txt", "b.txt", "deep/c.txt"]
    (tmp_path / "parts" / "d.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"the files of .*parts do not hold the same: .*a.txt, .*d.jsonl; name a file"):
        column(tmp_path / "parts")


def three_ranges(folder: Path, second: bytes) -> list[LineRange]:
    (folder / "f").write_bytes(b"a\nb\n" + second + b"e\n")
    return line_ranges([column(folder / "f")], 2)


def test_wrong_bytes_are_those_of_one_range_alone(tmp_path: Path) -> None:
    first, second, third = three_ranges(tmp_path, b"c\n\xff\n")
    assert list(first.spans[0][0].rows()) == [["a", "b"]]
    assert list(third.spans[0][0].rows()) == [["e"]]
    with pytest.raises(DataError, match=r"f:4: byte 6 \(0xff\) is not valid UTF-8"):
        list(second.spans[0][0].rows())
    assert str(second) == "lines 3 to 4"


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    first, _, third = three_ranges(tmp_path, b"c\nd\n")
    (file,) = files_of(tmp_path / "f")
    (piece,) = file.look().pieces()
    (tmp_path / "f").write_bytes(b"a\nb\nc\n")
    for each in (first, third):
        with pytest.raises(ChangedError, match="f changed while it was read"):
            list(each.spans[0][0].rows())
    with pytest.raises(ChangedError, match="f changed while it was read"):
        file_ranges.count(piece)
    with pytest.raises(ChangedError, match="f changed while it was read"):
        file_ranges.count(file_ranges.Piece(replace(piece.file, state=None), 0, piece.size))
    (tmp_path / "f").unlink()
    with pytest.raises(DataError, match="f: there is no such file"):
        list(first.spans[0][0].rows())
    with pytest.raises(DataError, match="f: there is no such file"):
        column(tmp_path / "f")


@pytest.mark.parametrize("form", ["plain", "packed", "parquet"])
def test_a_file_of_the_same_size_that_was_rewritten_is_refused(tmp_path: Path, form: str) -> None:
    """It has as many lines, but they begin elsewhere."""
    path = tmp_path / ("f.parquet" if form == "parquet" else "f")

    def rewrite(lines: list[str], time: int) -> None:
        if form == "parquet":
            pl.DataFrame({"text": lines}).write_parquet(path)
        else:
            data = "".join(f"{line}\n" for line in lines).encode()
            path.write_bytes(gzip.compress(data, mtime=0) if form == "packed" else data)
        os.utime(path, ns=(time, time))

    rewrite(["aaa", "b", "c"], 1)
    *_, last = line_ranges(counted_columns([path], roles=["outputs"]), 2)
    (span,) = last.spans[0]
    before = span.digest()
    rewrite(["a", "bbb", "c"], 2)
    for read in (span.rows, span.digest):
        with pytest.raises(ChangedError, match=f"{path.name} changed while it was read"):
            list(read())
    rewrite(["aaa", "b", "c"], 1)
    assert span.digest() == before


def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(DataError, match=r"pipe is a pipe, which cannot be cut into ranges; put it into a file, or"):
            files_of(path)


def test_what_stands_behind_standard_input_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n")
    code = "from trubleu.data.corpus import files_of; print(files_of('/dev/stdin')[0].path)"
    with (tmp_path / "f").open() as stream:
        found = subprocess.run([sys.executable, "-c", code], stdin=stream, capture_output=True, text=True, check=True)
    assert found.stdout == f"{tmp_path / 'f'}\n"
    found = subprocess.run([sys.executable, "-c", code], input="a\n", capture_output=True, text=True, check=False)
    assert "DataError: /dev/stdin is a pipe" in found.stderr


def test_what_a_file_is_depends_on_what_it_is_for(tmp_path: Path) -> None:
    references, output = '{"id": "1", "references": ["a"]}\n', '{"id": "1", "text": "a"}\n'
    (tmp_path / "r").write_text(references)
    (tmp_path / "o").write_text(output)
    (tmp_path / "t.jsonl").write_text(output)
    paths = [tmp_path / name for name in ("r", "o", "r", "o", "r", "o", "t.jsonl")]
    roles: list[Role] = ["references", "references", "outputs", "outputs", "text", "text", "text"]
    forms = [each.form for each in counted_columns(paths, roles=roles)]
    assert forms == ["jsonl", "text", "text", "jsonl", "text", "text", "text"]


def test_parts_know_their_lines(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a\nb\nc\nd\n")
    (tmp_path / "w").write_text("1\n1\n1\n7\n")
    (tmp_path / "s").write_text("A\nB\nC\nD\n")
    files = LineStream(references=[tmp_path / "r"], weights=[], systems={"s": tmp_path / "s"}).counted()
    later = files.ranges(2)[1]
    (part,) = later.parts(files)
    assert list(part.references.ids) == ["3", "4"]
    assert part.outputs == {"s": ["C", "D"]}
    weighted = LineStream(references=[tmp_path / "r"], weights=[tmp_path / "w"], systems={}).counted()
    later = weighted.ranges(2)[1]
    with pytest.raises(DataError, match="w:4: a weight must be from -1 to 1"):
        list(later.parts(weighted))
