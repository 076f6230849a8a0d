from __future__ import annotations

import errno
import gzip
import io
import os
import secrets
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import References
from trubleu.data.sets import find_set
from trubleu.errors import DataError, UsageError
from trubleu.files import lines as files_module
from trubleu.files.lines import iterate_lines, read_text_lines
from trubleu.files.paths import check_standard_input_once
from trubleu.files.ranges import SourceFile, Span
from trubleu.files.writer import atomic_writer, check_writable
from trubleu.mining import Index
from trubleu.vectors.ready import SubwordVectors

if TYPE_CHECKING:
    from collections.abc import Callable

AS_ROOT = os.geteuid() == 0


def stdin_of(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="ascii")


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\r", ["a\r", "b"]),
        (b"a\n\r", ["a", ""]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("a\u2028b\x0bc\x0cd\x85e\x1cf\u2029g\n".encode(), ["a\u2028b\x0bc\x0cd\x85e\x1cf\u2029g"]),
        (b"\x00\n", ["\x00"]),
    ],
)
@pytest.mark.parametrize("block", [4, 5, 7, 1 << 24])
def test_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, lines: list[str], block: int) -> None:
    monkeypatch.setattr(files_module, "_BLOCK", block)
    plain, packed = tmp_path / "plain.gz", tmp_path / "packed.txt"  # names that lie: only the bytes count
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    for path in (plain, packed):
        assert read_text_lines(path) == lines
        assert list(iterate_lines(path)) == lines
    monkeypatch.setattr(sys, "stdin", stdin_of(data))
    assert read_text_lines("-") == lines
    monkeypatch.setattr(sys, "stdin", stdin_of(gzip.compress(data)))
    assert read_text_lines("-") == lines


@given(st.binary(max_size=40), st.integers(4, 9))
def test_any_bytes_are_lines_or_a_data_error_with_the_place(data: bytes, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files_module, "_BLOCK", block)
        path = Path(folder) / "x"
        path.write_bytes(b"a" + data)  # so that it is neither gzip nor marked
        try:
            text = (b"a" + data).decode()
        except UnicodeDecodeError as error:
            line = (b"a" + data).count(b"\n", 0, error.start) + 1
            with pytest.raises(DataError, match=rf"x:{line}: byte {error.start} "):
                read_text_lines(path)
        else:
            expected = text.split("\n")
            if text.endswith("\n"):
                expected.pop()
            assert read_text_lines(path) == [line.removesuffix("\r") for line in expected]


def test_gzip_of_several_members(tmp_path: Path) -> None:
    path = tmp_path / "two.gz"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n"))
    assert read_text_lines(path) == ["a", "bc"]


def test_pipe(tmp_path: Path) -> None:
    read, write = os.pipe()
    with os.fdopen(write, "wb") as stream:
        stream.write(gzip.compress(b"a\nb\n"))
    try:
        assert read_text_lines(f"/dev/fd/{read}") == ["a", "b"]
    finally:
        os.close(read)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"ok\nna\xffve\n", r":2: byte 5 \(0xff\)"),
        (b"\xef\xbb\xbfok\n\xc3", r":2: byte 6 \(0xc3\)"),
        (b"\xed\xa0\x80", r":1: byte 0 \(0xed\)"),
    ],
)
def test_invalid_utf8(tmp_path: Path, pack: type[bytes], data: bytes, place: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(pack(data))
    with pytest.raises(DataError, match=rf"bad\.txt{place} is not valid UTF-8; convert"):
        read_text_lines(path)


def test_invalid_utf8_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "_BLOCK", 4)
    path = tmp_path / "bad.txt"
    path.write_bytes(b"one\ntwo\nthree\nfo\xffr\n")
    with pytest.raises(DataError, match=r"bad\.txt:4: byte 16 \(0xff\)"):
        read_text_lines(path)


def test_stdin_is_named_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", stdin_of(b"\xff"))
    with pytest.raises(DataError, match=r"<stdin>:1: byte 0"):
        read_text_lines("-")


def test_closed_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="standard input is closed"):
        read_text_lines("-")


def test_stdin_twice() -> None:
    check_standard_input_once(["-", "a"])
    with pytest.raises(DataError, match="more than once"):
        check_standard_input_once(["-", "a", "-"])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.txt: there is no such file"):
        read_text_lines(tmp_path / "nothing.txt")


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path} is a folder"):
        read_text_lines(tmp_path)


def test_no_permission_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("a")
    path.chmod(0)
    if AS_ROOT:  # root reads everything

        def refuse(self: Path, mode: str) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"secret\.txt may not be read"):
        read_text_lines(path)


def test_other_trouble(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: File name too long"):
        read_text_lines(tmp_path / ("x" * 300))


@pytest.mark.parametrize("harm", ["cut", "flip", "tail"])
def test_damaged_gzip(tmp_path: Path, harm: str) -> None:
    data = bytearray(gzip.compress(os.urandom(1000).hex().encode()))
    if harm == "cut":
        del data[-20:]
    elif harm == "flip":
        data[-6] ^= 1
    else:
        data += b"more"
    path = tmp_path / "refs.gz"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"refs\.gz: the gzip data is damaged or ends early"):
        read_text_lines(path)


def test_an_abandoned_iteration_closes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\nb\n")
    assert next(iterate_lines(path)) == "a"  # a file left open would be a ResourceWarning, hence an error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_atomic_text(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with atomic_writer(path) as stream:
        stream.write("ä\n\r\n\u2028")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_bytes() == "ä\n\r\n\u2028".encode()
    assert names(tmp_path) == ["out.txt"]


def test_atomic_bytes(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    with atomic_writer(path, "wb") as stream:
        stream.write(b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"


def test_atomic_gzip_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.txt.gz", "b.txt.gz"):
        with atomic_writer(tmp_path / name) as stream:
            stream.write("hello\n")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.txt.gz", "b.txt.gz"))
    assert gzip.decompress(first) == b"hello\n"
    assert first == second


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("existed", [True, False])
def test_atomic_failure(tmp_path: Path, error: type[BaseException], name: str, existed: bool) -> None:
    path = tmp_path / name
    if existed:
        path.write_text("old")
    with pytest.raises(error), atomic_writer(path) as stream:  # noqa: PT012
        stream.write("new" * 10_000)
        raise error
    assert names(tmp_path) == ([name] if existed else [])
    assert not existed or path.read_text() == "old"


def test_atomic_failure_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    path = tmp_path / "out.txt"
    with pytest.raises(KeyboardInterrupt), atomic_writer(path) as stream:
        stream.write("new")
    assert names(tmp_path) == []


def test_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(DataError, match=r"out\.txt cannot be written: No space left"), atomic_writer(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_failure_to_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _: "x" * 300)
    path = tmp_path / "out.txt"
    with pytest.raises(DataError, match=r"out\.txt cannot be written: File name too long"), atomic_writer(path):
        pass


def test_another_files_trouble_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_writer(tmp_path / "out.txt"):
        (tmp_path / "missing").read_text()
    assert names(tmp_path) == []


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_permissions_of_a_new_file(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with atomic_writer(tmp_path / "out.txt"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == 0o666 & ~umask


def test_permissions_of_an_old_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.touch()
    path.chmod(0o640)
    with atomic_writer(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "out.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_writer(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_not_replaced() -> None:
    check_writable("/dev/null")
    with atomic_writer("/dev/null") as stream:
        stream.write("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116


def test_a_pipe_by_its_path() -> None:
    read, write = os.pipe()
    check_writable(f"/dev/fd/{write}")
    with atomic_writer(f"/dev/fd/{write}") as stream:
        stream.write("through")
    os.close(write)
    with os.fdopen(read) as end:
        assert end.read() == "through"


def test_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    check_writable("-")
    print("first")
    with atomic_writer("-") as stream:
        stream.write("ä\n")
    with atomic_writer("-", "wb") as binary:
        binary.write(b"\xff\n")
    print("last")
    sys.stdout.flush()
    assert raw.getvalue() == b"first\n" + "ä\n".encode() + b"\xff\nlast\n"
    monkeypatch.undo()


def test_stdout_without_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    with atomic_writer("-") as stream:
        stream.write("ä\n")
    assert text.getvalue() == "ä\n"


def test_closed_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(DataError, match="standard output is closed"), atomic_writer("-"):
        pass


def test_a_folder_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path} cannot be written: it is a folder"):
        check_writable(tmp_path)


def test_a_name_too_long_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"xxx cannot be written: File name too long"):
        check_writable(tmp_path / ("x" * 300))


@pytest.mark.parametrize("parent", ["missing", "file"])
def test_a_missing_folder_cannot_be_written(tmp_path: Path, parent: str) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / parent / "out.txt"
    with pytest.raises(DataError, match=f"{path} cannot be written: there is no folder {path.parent}; create it first"):
        atomic_writer(path)  # already before the block begins


@pytest.mark.parametrize(
    ("locked", "message"), [("out.txt", r"out\.txt may not be written"), ("", "the folder .* may not be written")]
)
def test_no_permission_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locked: str, message: str) -> None:
    path = tmp_path / "out.txt"
    path.touch()
    # Root may write anywhere, so the answer of the system is replaced.
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != tmp_path / locked)
    with pytest.raises(DataError, match=message):
        check_writable(path)


ENDLESS = r"^/dev/zero:1: this line is longer than 16 MB, so it is hardly text; if it is, set TRUBLEU_MAX_LINE to more"


def lists_of(path: str) -> list[list[str]]:
    return list(Span(SourceFile(path, path, packed=True)).lines())


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize("read", [read_text_lines, lists_of])
def test_a_file_without_lines_ends(monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object]) -> None:
    monkeypatch.setenv("TRUBLEU_MAX_LINE", "16")
    with pytest.raises(DataError, match=ENDLESS):
        read("/dev/zero")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize("form", ["xlsx", "parquet"])
def test_a_file_without_an_end_is_no_table(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"x.{form}"
    path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match=rf"x\.{form} is not an? (Excel workbook|Parquet file)"):
        References.read(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize(
    ("name", "read"), [("set.json", find_set), ("index.json", Index.open), ("model.safetensors", SubwordVectors.read)]
)
def test_a_file_without_an_end_is_in_no_folder(tmp_path: Path, name: str, read: Callable[[str], object]) -> None:
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(DataError, match=rf"{name} is a device or a pipe, but a file is needed$"):
        read(str(tmp_path))


def test_long_lines_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"a\n" + b"b" * (20 << 20) + b"\nc\n")
    assert [len(line) for line in read_text_lines(path)] == [1, 20 << 20, 1]
    assert [len(line) for lines in lists_of(str(path)) for line in lines] == [1, 20 << 20, 1]
    monkeypatch.setenv("TRUBLEU_MAX_LINE", "8")
    with pytest.raises(UsageError, match=r"^TRUBLEU_MAX_LINE is '8', but must be a whole number from 16 on$"):
        read_text_lines(path)
