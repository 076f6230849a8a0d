"""Paths and addresses: the same answers for both, and nothing of fsspec where there is no address."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import DataError, MissingExtraError
from trubleu.files import paths, remote
from trubleu.files.lines import check_once, read_text_lines, size_of
from trubleu.files.writer import atomic_writer, check_writable
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = count(1)

SEGMENT = st.text(st.characters(codec="utf-8", exclude_characters="/\0", exclude_categories=["Cc"]), min_size=1)


@pytest.fixture(params=["local", "memory", "file"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield a folder of this machine, one of fsspec's in memory, and one of this machine through fsspec."""
    match request.param:
        case "local":
            yield str(tmp_path)
        case "file":
            yield f"file://{tmp_path}"
        case _:
            memory = needed("fsspec", "a test", "fsspec").filesystem("memory")
            name = f"/test-{next(_numbers)}"
            memory.mkdir(name)
            yield f"memory:/{name}"
            memory.rm(name, recursive=True)


def write(path: str, text: str) -> str:
    with atomic_writer(path) as stream:
        stream.write(text)
    return path


def test_both_kinds_answer_alike(folder: str) -> None:
    file = write(paths.joined(folder, "a.txt"), "hello\n")
    assert read_text_lines(file) == ["hello"]
    assert (paths.exists(file), paths.is_file(file), paths.is_folder(file)) == (True, True, False)
    assert (paths.exists(folder), paths.is_file(folder), paths.is_folder(folder)) == (True, False, True)
    assert (paths.byte_size(file), size_of(file), paths.first_bytes(file, 3)) == (6, 6, b"hel")
    assert paths.local_copy(file).read_text() == "hello\n"
    with paths.open_binary(file) as stream:
        assert (stream.seek(-2, os.SEEK_END), stream.read(), stream.read()) == (4, b"o\n", b"")
    assert paths.same_file(file, file)
    assert paths.parent(file) == folder
    paths.remove(file)
    paths.remove(file)
    assert not paths.exists(file)
    with pytest.raises(FileNotFoundError):
        paths.open_binary(file)
    with pytest.raises(FileNotFoundError):
        paths.byte_size(file)
    with pytest.raises(DataError, match=r"a\.txt: there is no such file; check the path$"):
        read_text_lines(file)


@given(st.data())
def test_reading_ahead_changes_nothing(data: st.DataObject) -> None:
    content = bytes(range(256)) * 8
    file = "memory://reading-ahead"
    with atomic_writer(file, "wb") as stream:
        stream.write(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "_LEAST", 16)
        patch.setattr(remote, "_MOST", 128)
        with paths.open_binary(file) as there, io.BytesIO(content) as here:
            for _ in range(data.draw(st.integers(1, 12))):
                match data.draw(st.sampled_from(["read", "seek", "from the end", "on", "all"])):
                    case "read":
                        size = data.draw(st.integers(0, 300))
                        assert there.read(size) == here.read(size)
                    case "seek":
                        place = data.draw(st.integers(0, 2100))
                        assert there.seek(place) == here.seek(place)
                    case "from the end":
                        place = -data.draw(st.integers(0, 2048))
                        assert there.seek(place, os.SEEK_END) == here.seek(place, os.SEEK_END)
                    case "on":
                        step = data.draw(st.integers(0, 100))
                        assert there.seek(step, os.SEEK_CUR) == here.seek(step, os.SEEK_CUR)
                    case "all":
                        assert there.read() == here.read()
                assert there.tell() == here.tell()


def test_folders(folder: str) -> None:
    below = paths.joined(folder, "below")
    paths.make_folder(below)
    paths.make_folder(below)
    for name in ("c", "_a", ".a"):
        write(paths.joined(folder, name), "x")
    write(paths.joined(below, "d"), "x")
    assert paths.files_below(folder) == [paths.joined(folder, "below/d"), paths.joined(folder, "c")]
    with pytest.raises(DataError, match="is a folder"):
        read_text_lines(below)
    with pytest.raises(DataError, match="cannot be written: it is a folder; give the name of a file"):
        check_writable(below)
    with pytest.raises(FileNotFoundError):
        paths.files_below(paths.joined(folder, "none"))


def test_a_written_file_is_another(folder: str) -> None:
    file = write(paths.joined(folder, "a.txt"), "one\n")
    before = paths.modified(file)
    time.sleep(0.05)  # clocks of file systems are coarse, up to ten milliseconds
    write(file, "two\n")
    assert paths.modified(file) != before
    assert paths.local_copy(file).read_text() == "two\n"


def test_a_block_that_fails_leaves_the_old_file(folder: str) -> None:
    file = write(paths.joined(folder, "a.txt"), "old\n")
    with pytest.raises(KeyboardInterrupt), atomic_writer(file) as stream:  # noqa: PT012
        stream.write("half")
        raise KeyboardInterrupt
    assert read_text_lines(file) == ["old"]
    assert paths.files_below(folder) == [file]


def test_a_file_given_twice(folder: str) -> None:
    file = paths.joined(folder, "a.txt")
    check_once([file, paths.joined(folder, "b.txt")])
    with pytest.raises(DataError, match="is given twice"):
        check_once([file, file])


def test_links_that_lead_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    assert paths.files_below(tmp_path) == [str(tmp_path / "a.txt"), str(tmp_path / "link.txt")]
    assert paths.same_file(tmp_path / "a.txt", tmp_path / "link.txt")
    assert paths.identity(tmp_path / "link.txt") == str(tmp_path / "a.txt")


@given(st.lists(SEGMENT, min_size=1, max_size=4))
def test_addresses_fall_into_parts(names: list[str]) -> None:
    address = "s3://bucket"
    for name in names:
        above, address = address, paths.joined(address, name)
        assert (paths.parent(address), paths.base_name(address)) == (above, name)
    assert address == "s3://bucket/" + "/".join(names)
    assert paths.is_remote(address)
    assert paths.absolute(address) == paths.identity(address) == address


@given(SEGMENT)
def test_a_name_without_a_scheme_is_a_path(name: str) -> None:
    assert not paths.is_remote(name)
    assert not paths.is_remote(f"c://{name}")
    assert paths.absolute(name) == str(Path.cwd() / name)


def test_schemes_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"^nosuch://a/b: nosuch:// is not known to fsspec; use s3:// or another"):
        read_text_lines("nosuch://a/b")
    with pytest.raises(DataError, match=r"^nosuch://a/b: nosuch:// is not known to fsspec"):
        check_writable("nosuch://a/b")
    with pytest.raises(MissingExtraError, match=r"begins with gs:// needs another package, .*pip.*: .*gcsfs"):
        read_text_lines("gs://a/b")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingExtraError, match=r"s3:// needs the package s3fs; .*: pip install 'trubleu\[s3\]'$"):
        read_text_lines("s3://a/b")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"s3:// needs the package fsspec; .*: pip install 'trubleu\[s3\]'$"):
        check_writable("s3://a/b")


def test_no_folder_to_write_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot be written: there is no folder for it; create it first$"):
        check_writable(f"file://{tmp_path}/none/a.txt")


def test_paths_load_nothing_and_copies_end_with_their_process(tmp_path: Path) -> None:
    code = """
import sys
from trubleu.files import atomic_writer, read_text_lines
from trubleu.files.paths import local_copy
with atomic_writer("a.txt") as stream:
    stream.write("x")
assert read_text_lines("a.txt") == ["x"] and not {"fsspec", "trubleu.files.remote"} & set(sys.modules)
with atomic_writer("memory://a") as stream:
    stream.write("x")
assert local_copy("memory://a").read_text() == "x"
print(local_copy("memory://a"))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert Path(done.stdout).parent.name.startswith("trubleu-copies-")
    assert not Path(done.stdout).parent.exists()


def test_copies_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held = []
    for name in ("left", "used", "young"):
        folder = tmp_path / f"trubleu-copies-{name}"
        folder.mkdir()
        (folder / "in-use").touch()
        if name == "used":
            held.append((folder / "in-use").open())
            fcntl.flock(held[0], fcntl.LOCK_EX)
        if name != "young":
            os.utime(folder, (0, 0))
    remote._remove_abandoned()
    held[0].close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["trubleu-copies-used", "trubleu-copies-young"]
