"""`trubleu.files.paths` at addresses of S3: the same answers and errors as for files of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trubleu.errors import DataError
from trubleu.files import paths, remote
from trubleu.files.lines import read_text_lines
from trubleu.files.writer import atomic_writer, check_writable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.remote.conftest import Store

MEGABYTE = 1 << 20


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Let fsspec forget its connections before the test, which changes how they are made, and after it."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    yield monkeypatch
    s3fs.S3FileSystem.clear_instance_cache()


def test_what_is_there(store: Store) -> None:
    file = store.put("folder/a.txt", "hello")
    assert (paths.exists(file), paths.is_file(file), paths.is_folder(file)) == (True, True, False)
    assert (paths.byte_size(file), paths.first_bytes(file, 2)) == (5, b"he")
    folder = store.address("folder")
    assert (paths.exists(folder), paths.is_file(folder), paths.is_folder(folder)) == (True, False, True)
    nothing = store.address("fold")
    assert (paths.exists(nothing), paths.is_file(nothing), paths.is_folder(nothing)) == (False, False, False)
    assert paths.first_bytes(store.put("empty", b""), 4) == b""
    paths.make_folder(store.address("new"))
    assert store.keys() == ["empty", "folder/a.txt"]


def test_files_below_are_those_of_a_local_folder(store: Store, tmp_path: Path) -> None:
    names = ["b.txt", "a/z.txt", "a.txt", "a/.hidden", "_SUCCESS", "_tmp/x", ".x/y", "a/b/c", "a-b"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
        store.put(f"top/{name}", "x")
    store.put("top/a/", b"")  # as consoles of object stores mark a folder
    store.put("topping", "x")
    local = [Path(path).relative_to(tmp_path).as_posix() for path in paths.files_below(tmp_path)]
    assert local == ["a/b/c", "a/z.txt", "a-b", "a.txt", "b.txt"]
    for folder in (store.address("top"), store.address("top/")):
        assert paths.files_below(folder) == [store.address(f"top/{name}") for name in local]


def test_a_written_file_is_another(store: Store) -> None:
    file = store.put("a", "one")
    before, copy = paths.modified(file), paths.local_copy(file)
    assert paths.modified(file) == before
    assert paths.local_copy(file) == copy
    assert copy.read_bytes() == b"one"
    store.put("a", "two")
    assert paths.modified(file) != before
    assert paths.local_copy(file).read_bytes() == b"two"
    paths.remove(file)
    paths.remove(file)
    assert store.keys() == []


def test_only_what_is_read_is_fetched(store: Store) -> None:
    content = bytes(range(256)) * (10 * MEGABYTE // 256)
    file = store.put("large", content)
    store.requests.clear()
    with paths.open_binary(file) as stream:
        stream.seek(3 * MEGABYTE + 1)
        assert stream.read(4 * MEGABYTE) == content[3 * MEGABYTE + 1 : 7 * MEGABYTE + 1]
        assert stream.tell() == 7 * MEGABYTE + 1
    ranges = [each for each in store.requests if each.method == "GET"]
    assert all(each.range for each in ranges)
    assert sum(each.sent for each in ranges) <= 5 * MEGABYTE
    store.requests.clear()
    assert paths.first_bytes(file, 4) == content[:4]
    assert sum(each.sent for each in store.requests if each.method == "GET") == 4
    with paths.open_binary(file) as stream:
        assert stream.seek(-3, os.SEEK_END) == len(content) - 3
        assert stream.read() == content[-3:]
    store.requests.clear()
    with paths.open_binary(file) as stream:
        assert stream.read() == content
    assert [each.method for each in store.requests].count("GET") <= 2
    assert len(store.requests) <= 3


def test_a_file_that_changes_meanwhile_is_refused(store: Store) -> None:
    file = store.put("a", b"1" * 9 * MEGABYTE)
    with paths.open_binary(file) as stream:
        stream.read(MEGABYTE)
        store.put("a", b"2" * 9 * MEGABYTE)
        with pytest.raises(OSError, match="no longer exists"):
            stream.read(8 * MEGABYTE)


def test_what_is_not_there(store: Store) -> None:
    store.put("folder/a", "x")
    for missing in ("none", "folder/b", "fold"):
        with pytest.raises(FileNotFoundError):
            paths.open_binary(store.address(missing))
        with pytest.raises(DataError, match=rf"^{store.address(missing)}: there is no such file; check the path$"):
            read_text_lines(store.address(missing))
    with pytest.raises(IsADirectoryError):
        paths.open_binary(store.address("folder"))
    with pytest.raises(DataError, match="is a folder, but a file is needed"):
        read_text_lines(store.address("folder"))
    with pytest.raises(FileNotFoundError):
        paths.files_below(store.address("none"))
    with pytest.raises(paths.NoBucketError):
        paths.byte_size("s3://no-such-bucket/a")
    with pytest.raises(DataError, match=r"^s3://no-such-bucket/a: there is no bucket no-such-bucket; check the path$"):
        read_text_lines("s3://no-such-bucket/a")
    with pytest.raises(DataError, match=r"there is no bucket no-such-bucket; create it first"):
        check_writable("s3://no-such-bucket/a")


def test_what_may_not_be_read_or_written(store: Store) -> None:
    file = store.put("a", "x")
    store.denied = {"HEAD", "GET"}
    with pytest.raises(PermissionError):
        paths.open_binary(file)
    with pytest.raises(DataError, match=rf"^{file} may not be read; check its permissions$"):
        read_text_lines(file)
    with pytest.raises(DataError, match=rf"^{file} may not be read; check its permissions$"):
        paths.is_file(file)
    store.denied = {"POST", "PUT"}
    with pytest.raises(DataError, match=rf"^{file} may not be written; check its permissions$"):
        check_writable(file)
    with (
        pytest.raises(DataError, match=rf"^{file} may not be written; check its permissions; nothing was changed$"),
        atomic_writer(file) as stream,
    ):
        stream.write("y")
    assert store.get("a") == b"x"


def test_a_busy_store_is_asked_again(store: Store, fresh: pytest.MonkeyPatch) -> None:
    file = store.put("a", "hello")
    fresh.setenv("AWS_MAX_ATTEMPTS", "1")
    fresh.setattr(remote, "_WAITS", [0.01, 0.01, 0.01])
    store.busy = 3
    with paths.open_binary(file) as stream:
        assert store.busy == 0
        assert stream.read() == b"hello"
    store.busy = 100
    with pytest.raises(DataError, match=rf"^{file} cannot be read: Service Unavailable$"):
        read_text_lines(file)
    assert store.busy == 96


def test_an_address_where_nobody_listens(store: Store, fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    fresh.setenv("AWS_MAX_ATTEMPTS", "1")
    file = store.address("a")
    with pytest.raises(DataError, match=rf"^{file} cannot be read: Could not connect to the endpoint URL"):
        read_text_lines(file)
    with pytest.raises(DataError, match=rf"^{file} cannot be written: Could not connect to the endpoint URL"):
        check_writable(file)


def test_without_credentials(store: Store, fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        fresh.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        fresh.setenv(name, str(tmp_path / "none"))
    fresh.setenv("AWS_EC2_METADATA_DISABLED", "true")
    file = store.put("a", "x")
    with pytest.raises(DataError, match=rf"^{file} cannot be read: no credentials were found; set AWS_ACCESS_KEY_ID"):
        read_text_lines(file)


def test_writing_is_whole_or_not_at_all(store: Store) -> None:
    file = store.put("a.txt", "old")
    check_writable(file)
    assert store.uploads() == 0
    with pytest.raises(KeyboardInterrupt), atomic_writer(file) as stream:  # noqa: PT012
        stream.write("half")
        raise KeyboardInterrupt
    assert (store.get("a.txt"), store.keys()) == (b"old", ["a.txt"])
    with atomic_writer(file) as stream:
        stream.write("new\n")
        assert store.get("a.txt") == b"old"
    assert read_text_lines(file) == ["new"]
    packed = store.address("b.txt.gz")
    with atomic_writer(packed) as stream:
        stream.write("one\ntwo\n")
    assert (store.get("b.txt.gz") or b"")[:2] == b"\x1f\x8b"
    assert read_text_lines(packed) == ["one", "two"]
    assert (store.keys(), store.uploads()) == (["a.txt", "b.txt.gz"], 0)


def test_folders_are_no_files_to_write(store: Store) -> None:
    store.put("folder/a", "x")
    for target in ("folder", "folder/", "new/", ""):
        with pytest.raises(DataError, match="cannot be written: it is a folder; give the name of a file"):
            check_writable(store.address(target))
