"""A folder of parts is seen whole or not at all, and never mixes two jobs."""

from __future__ import annotations

import errno
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trubleu.errors import DataError, EngineError
from trubleu.execution import engine, local
from trubleu.execution.output_parts import MANIFEST, PartsFolder, lines_of_parts, read_manifest

if TYPE_CHECKING:
    from trubleu.execution.output_parts import WrittenPart


def made(folder: Path, job: str = "a job") -> PartsFolder:
    parts = PartsFolder.of(folder, "numbers", job)
    parts.prepare()
    return parts


def write(parts: PartsFolder, number: int, *lines: str) -> WrittenPart:
    with parts.part(number) as part:
        part.write([f"{line}\n" for line in lines[:1]])
        part.write([f"{line}\n" for line in lines[1:]])
        return part.finish()


def test_parts_are_seen_in_order_once_all_are_there(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    parts = made(folder)
    second = write(parts, 1, "3")
    first = write(parts, 0, "1", "é\u2028")
    assert (first.rows, first.bytes) == (2, len("1\né\u2028\n".encode()))
    with pytest.raises(DataError, match=r"out has no manifest.json: what is written there is not finished"):
        list(lines_of_parts(folder))
    parts.commit([first, second], {"who": "me"})
    assert list(lines_of_parts(folder)) == ["1", "é\u2028", "3"]
    manifest = json.loads((folder / MANIFEST).read_text())
    assert {key: manifest[key] for key in ("what", "who", "rows")} == {"what": "numbers", "who": "me", "rows": 3}
    assert (
        [part["name"] for part in manifest["parts"]] == [first.name, second.name] == sorted([second.name, first.name])
    )
    # Whoever lists the folder gets the parts in their order.
    assert b"".join(path.read_bytes() for path in sorted(folder.glob("part-*"))) == "1\né\u2028\n3\n".encode()


def test_a_part_that_fails_is_not_there(tmp_path: Path) -> None:
    parts = made(tmp_path / "out")

    def fail() -> None:
        with parts.part(0) as part:
            part.write(["1\n"])
            raise error

    for error in (ZeroDivisionError(), DataError("line 1 is bad")):
        with pytest.raises(type(error)):
            fail()
        assert list((tmp_path / "out").iterdir()) == []


def test_what_cannot_be_written_is_no_fault_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = made(tmp_path / "out")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(EngineError, match=r"a file in .*out cannot be written: No space left on device"):
            write(parts, 0, "1")
    assert list((tmp_path / "out").iterdir()) == []
    (tmp_path / "out").rmdir()
    with pytest.raises(EngineError, match=r"cannot be written: there is no folder"):
        write(parts, 0, "1")


def slow_part(number: int, parts: PartsFolder) -> None:
    """Write a part for ever, or wait until somebody does."""
    begun = Path(parts.folder, "begun")
    while number == 0 and not begun.exists():
        time.sleep(0.01)
    if number == 1:
        with parts.part(number) as part:
            part.write(["1\n"])
            begun.touch()
            time.sleep(600)


def test_workers_that_are_stopped_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_SECONDS_TO_END", 300.0)  # who is slow to clear away is not killed
    parts = made(tmp_path / "out")
    with engine("local:2") as two:
        found = two.map(slow_part, [0, 1], state=partial(PartsFolder, parts.folder, parts.what, parts.job))
        next(found)
        found.close()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["begun"]


def test_the_same_job_replaces_its_result(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    parts = made(folder)
    old = [write(parts, number, str(number)) for number in range(2)]
    parts.commit(old, {})
    again = made(folder)
    assert write(again, 1, "1") == old[1]
    new = write(again, 0, "new")
    (folder / ".trubleu-0123.tmp").touch()  # of a worker that was killed
    os.utime(folder / ".trubleu-0123.tmp", (0, 0))
    (folder / ".trubleu-4567.tmp").touch()  # maybe of one that still writes
    assert list(lines_of_parts(folder)) == ["0", "1"]  # until all is there
    again.commit([new, old[1]], {})
    assert list(lines_of_parts(folder)) == ["new", "1"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [".trubleu-4567.tmp", MANIFEST, new.name, old[1].name]
    )


def test_other_jobs_keep_their_folders(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    parts = made(folder)
    written = write(parts, 0, "1")
    with pytest.raises(DataError, match=r"out is not empty: part-0{8}-\w+-\w+.jsonl is not of this work"):
        made(folder, "another")
    made(folder)
    parts.commit([written], {})
    with pytest.raises(DataError, match="out holds the finished result of other work; name another folder"):
        made(folder, "another")
    (tmp_path / "other" / "sub").mkdir(parents=True)
    (tmp_path / "other" / "sub" / MANIFEST).touch()
    with pytest.raises(DataError, match=r"other is not empty: sub/manifest.json is not of this work"):
        made(tmp_path / "other")
    with pytest.raises(DataError, match=r"the folder .*none/out cannot be created: No such file"):
        made(tmp_path / "none" / "out")


def test_damage_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    parts = made(folder)
    written = write(parts, 0, "1", "2")
    assert parts.holds(written)
    path = folder / written.name
    path.write_text("1\n3\n")
    parts.commit([written], {})
    with pytest.raises(DataError, match=r"\.jsonl is not what was written"):
        list(lines_of_parts(folder))
    path.write_text("1\n")
    assert not parts.holds(written)
    path.unlink()
    assert not parts.holds(written)
    with pytest.raises(DataError, match=r"part-0{8}-.* has gone from .*out"):
        parts.commit([written], {})
    for damaged in ("{", "{}", '{"job": 1, "parts": [{}]}', "[" * 100_000, '{"job": 1, "job": 2, "parts": []}'):
        (folder / MANIFEST).write_text(damaged)
        with pytest.raises(DataError, match=r"manifest.json is not a manifest, or damaged"):
            read_manifest(folder)
