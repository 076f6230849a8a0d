"""What was kept is used if it is whole, made again if it is damaged, and left alone if it cannot be read now."""

from __future__ import annotations

import errno
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trubleu.errors import EngineError
from trubleu.execution import hashing
from trubleu.execution.cache import KIND, Entries, Kept
from trubleu.files import arrays as array_file
from trubleu.files import paths, remote

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray


KEY = b"a key of tests"


def kept(folder: str) -> tuple[Callable[[int, list[int]], int], list[int]]:
    """Return a function that squares, and the numbers that it has worked on."""
    worked: list[int] = []

    def squared(number: int, worked: list[int]) -> int:
        worked.append(number)
        return number**2

    def unpacked(_header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> int:
        return int(array("square")[0])

    function = Kept(
        function=squared,
        entries=Entries(folder, KEY),
        content=lambda number: [b"%d" % number],
        pack=lambda square: ({}, {"square": np.array([square], np.uint64)}),
        unpack=unpacked,
    )

    def found(number: int, worked: list[int]) -> int:
        return function(number, worked)[0]

    return found, worked


def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    squared, worked = kept(str(tmp_path))
    assert [squared(3, worked), squared(3, worked), worked] == [9, 9, [3]]
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-64] + bytes(64), whole[:70], b""):
        path.write_bytes(damaged)
        assert squared(3, worked) == 9
        assert path.read_bytes() == whole
    assert worked == [3] * 4


def test_what_nobody_kept_this_way_is_made_again(tmp_path: Path) -> None:
    squared, worked = kept(str(tmp_path))
    squared(3, worked)
    (path,) = tmp_path.iterdir()
    squared(4, worked)
    (other,) = set(tmp_path.iterdir()) - {path}
    whole = path.read_bytes()
    path.write_bytes(other.read_bytes())  # as a file that was renamed
    assert squared(3, worked) == 9
    assert path.read_bytes() == whole
    for arrays in ({}, {"square": np.zeros(0, np.uint64)}):
        array_file.write_arrays(path, KIND, {"key": path.stem, "files": {}}, arrays, key=KEY)
        assert squared(3, worked) == 9
        assert path.read_bytes() == whole
    assert worked == [3, 4, 3, 3, 3]


def test_what_cannot_be_read_at_the_moment_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squared, worked = kept(str(tmp_path))
    squared(3, worked)
    (path,) = tmp_path.iterdir()

    with monkeypatch.context() as patch:
        patch.setattr(array_file, "local_copy", broken)
        with pytest.raises(EngineError, match=r"\.result cannot be read: Input/output error"):
            squared(3, worked)
    assert path.exists()
    assert [squared(3, worked), worked] == [9, [3]]


def test_results_kept_elsewhere_leave_no_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(remote, "_folders", {})
    squared, worked = kept("memory://kept-results")
    try:
        assert [squared(3, worked), squared(3, worked), worked] == [9, 9, [3]]
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["in-use"]  # the lock

        def busy(_address: str, _target: str) -> None:
            raise OSError(errno.EBUSY, "the store is busy")

        monkeypatch.setattr(remote, "fetch", busy)
        with pytest.raises(EngineError, match=r"^memory://kept-results/.*\.result cannot be read: the store is busy"):
            squared(3, worked)
    finally:
        for file in paths.files_below("memory://kept-results"):
            paths.remove(file)


def header_of(header: dict[str, Any], _array: object) -> dict[str, Any]:
    return header


def test_an_entry_vouches_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries, depends = Entries(str(tmp_path), KEY, "built-"), ["shard", 3, b"bytes"]
    shard = tmp_path / "shard"
    shard.write_bytes(b"content")
    assert entries.find(depends, header_of) is None
    entries.put(depends, {"rows": 7}, files=["shard"])
    assert entries.find(depends, header_of) == {"rows": 7}
    (path,) = tmp_path.glob("built-*.result")
    for others in (Entries(str(tmp_path), KEY), Entries(str(tmp_path), b"another key", "built-")):
        assert others.find(depends, header_of) is None
    path.rename(tmp_path / path.name.removeprefix("built-"))  # as an entry of something else
    assert Entries(str(tmp_path), KEY).find(depends, header_of) is None
    entries.put(depends, {"rows": 7}, files=["shard"])
    for content in (b"Content", b"", None):
        shard.unlink() if content is None else shard.write_bytes(content)
        assert entries.find(depends, header_of) is None
    shard.write_bytes(b"content")
    with monkeypatch.context() as patch:
        patch.setattr(hashing, "code_digest", lambda: "other code")
        assert entries.find(depends, header_of) is None
    for other in (["shard", 3, b"byte", b"s"], ["shard", 3, "bytes"], ["shard", 33, b"bytes"]):
        assert entries.find(other, header_of) is None
    assert entries.find(depends, header_of) == {"rows": 7}
    with monkeypatch.context() as patch:
        patch.setattr(hashing, "open_binary", broken)
        with pytest.raises(EngineError, match=r"shard cannot be read: Input/output error"):
            entries.find(depends, header_of)


def broken(_path: object) -> Path:
    raise OSError(errno.EIO, "Input/output error")
