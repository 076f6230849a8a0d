"""Ranges of lines hold what the whole files hold, wherever blocks and ranges are cut."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trubleu.data import LineStream, ranges, read_text_lines
from trubleu.data.ranges import CountedFile, LineRange, count_newlines, line_ranges, pieces
from trubleu.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.data.files import PathLike


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranges")


def counted(path: PathLike) -> CountedFile:
    return CountedFile(path, [(piece, count_newlines(piece)) for piece in pieces(path)])


@given(
    content=st.lists(st.sampled_from(["a", "é", "\n", "\r\n", "\u2028", "\ufeff"]), max_size=40).map("".join),
    block=st.integers(3, 12),  # a byte order mark fits into one
    rows=st.integers(1, 9),
    packed=st.booleans(),
)
@example(content="\ufeff", block=4, rows=1, packed=False)
@example(content="\ufeff\n\ufeffa\nb", block=3, rows=1, packed=True)
def test_ranges_hold_all_lines(folder: Path, content: str, block: int, rows: int, packed: bool) -> None:
    data = content.encode()
    (folder / "f").write_bytes(gzip.compress(data) if packed else data)
    lines = read_text_lines(folder / "f")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "BLOCK", block)
        patch.setattr(ranges, "BLOCKS_A_PIECE", 2)
        file = counted(folder / "f")
        assert file.lines == len(lines)
        found = [[line for some in each.spans[0].lines() for line in some] for each in line_ranges([file], rows)]
    assert [line for some in found for line in some] == lines
    assert all(len(some) == rows for some in found[:-1])


def three_ranges(folder: Path, second: bytes) -> list[LineRange]:
    (folder / "f").write_bytes(b"a\nb\n" + second + b"e\n")
    return line_ranges([counted(folder / "f")], 2)


def test_wrong_bytes_are_those_of_one_range_alone(tmp_path: Path) -> None:
    first, second, third = three_ranges(tmp_path, b"c\n\xff\n")
    assert list(first.spans[0].lines()) == [["a", "b"]]
    assert list(third.spans[0].lines()) == [["e"]]
    with pytest.raises(DataError, match=r"f:4: byte 6 \(0xff\) is not valid UTF-8"):
        list(second.spans[0].lines())
    assert str(second) == "lines 3 to 4"


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    first, _, third = three_ranges(tmp_path, b"c\nd\n")
    piece = pieces(tmp_path / "f")[0]
    (tmp_path / "f").write_bytes(b"a\nb\nc\n")
    assert list(first.spans[0].lines()) == [["a", "b"]]
    with pytest.raises(DataError, match="f changed while it was read"):
        list(third.spans[0].lines())
    with pytest.raises(DataError, match="f became 4 bytes shorter while it was read"):
        count_newlines(piece)
    (tmp_path / "f").unlink()
    with pytest.raises(DataError, match="f: there is no such file"):
        list(first.spans[0].lines())
    with pytest.raises(DataError, match="f: there is no such file"):
        pieces(tmp_path / "f")


def test_parts_know_their_lines(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a\nb\nc\nd\n")
    (tmp_path / "w").write_text("1\n1\n1\n7\n")
    (tmp_path / "s").write_text("A\nB\nC\nD\n")
    files = LineStream(references=[tmp_path / "r"], weights=[], systems={"s": tmp_path / "s"}, segments=4)
    later = line_ranges([counted(path) for path in files.paths], 2)[1]
    (part,) = later.parts(files)
    assert list(part.references.ids) == ["3", "4"]
    assert part.outputs == {"s": ["C", "D"]}
    weighted = LineStream(references=[tmp_path / "r"], weights=[tmp_path / "w"], systems={}, segments=4)
    later = line_ranges([counted(path) for path in weighted.paths], 2)[1]
    with pytest.raises(DataError, match="w:4: a weight must be from -1 to 1"):
        list(later.parts(weighted))
