"""Excel files: only cells that exist are read, and what would fill the memory is refused before it is unpacked."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest

from trubleu.errors import DataError
from trubleu.files.tables import table_rows

if TYPE_CHECKING:
    from pathlib import Path


def rows(path: Path) -> list[list[str]]:
    with path.open("rb") as stream:
        return [row for _, row in table_rows(stream, str(path))]


def write(path: Path, cells: dict[str, Any]) -> Path:
    book = openpyxl.Workbook()
    assert book.active is not None
    for place, value in cells.items():
        book.active[place] = value
    book.save(path)
    return path


def test_rows_far_away_cost_nothing(tmp_path: Path) -> None:
    cells = {"A1": "id", "B1": "text", "A2": 1, "B2": "a", "A1048576": 2, "B1048576": "b"}
    assert rows(write(tmp_path / "x.xlsx", cells)) == [["id", "text"], ["1", "a"], ["2", "b"]]


def test_a_cell_in_the_last_corner(tmp_path: Path) -> None:
    found = rows(write(tmp_path / "x.xlsx", {"A1": "id", "B1": "text", "A2": 1, "B2": "a", "XFD1048576": "x"}))
    assert [len(row) for row in found] == [2, 2, 16384]  # which whoever reads the table refuses by its place


def test_many_wide_rows_are_refused(tmp_path: Path) -> None:
    cells = {"A1": "id", "XFD1": "text"} | {f"A{row}": row for row in range(2, 1000)}
    with pytest.raises(DataError, match=r"x\.xlsx has a cell in column 16384, far from all others; delete"):
        rows(write(tmp_path / "x.xlsx", cells))


def test_merged_cells_are_not_filled(tmp_path: Path) -> None:
    path = write(tmp_path / "x.xlsx", {"A1": "id"})
    merge = '</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    harm(path, "xl/worksheets/sheet1.xml", "</sheetData>", merge)
    with pytest.raises(DataError, match=r"the cells A1:XFD1048576 are merged"):
        rows(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = write(tmp_path / "x.xlsx", {"A1": "id", "A2": "a"})
    harm(path, "xl/worksheets/sheet1.xml", "</sheetData>", "<row/>" * (8 << 20) + "</sheetData>")
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError, match=r"x\.xlsx expands to \d+ times its size; save it as CSV"):
        rows(path)


def harm(path: Path, member: str, old: str, new: str) -> None:
    """Replace a text in one of the files that a workbook consists of."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in contents[member]
    contents[member] = contents[member].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
