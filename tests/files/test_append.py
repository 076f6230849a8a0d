"""Appending lines to a file that several processes write to."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from trubleu.errors import DataError, UsageError
from trubleu.files.writer import append_text

if TYPE_CHECKING:
    from pathlib import Path


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    append_text(path, "one")
    append_text(path, "two\nthree\n")
    assert path.read_text() == "one\ntwo\nthree\n"


def test_a_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("cut short")
    append_text(path, "whole")
    assert path.read_text() == "cut short\nwhole\n"


def test_processes_that_append_at_once_keep_all_lines(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    code = (
        "import sys\nfrom trubleu.files.writer import append_text\n"
        "for at in range(50): append_text(sys.argv[1], sys.argv[2] * 2000)"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(path), letter]) for letter in "abc"]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert sorted(path.read_text().splitlines()) == sorted(letter * 2000 for letter in "abc" for _ in range(50))


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("one\n")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="cannot be written: No space left on device; nothing was changed"):
        append_text(path, "two")
    assert path.read_text() == "one\n"


def test_what_cannot_be_appended_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        append_text(tmp_path / "no" / "runs.jsonl", "one")
    with pytest.raises(DataError, match="it is a folder"):
        append_text(tmp_path, "one")
    with pytest.raises(UsageError, match="give a local file"):
        append_text("s3://bucket/runs.jsonl", "one")
