"""Files compressed with zstd, read and written like any other."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import References, read_outputs
from trubleu.errors import DataError, MissingExtraError, UsageError
from trubleu.files import compression as compression_module
from trubleu.files.lines import iterate_lines, read_text_lines
from trubleu.files.writer import atomic_writer, check_writable

if TYPE_CHECKING:
    from collections.abc import Callable

MISSING = r"^a file compressed with zstd needs the package zstandard; install it with: pip install 'trubleu\[zst\]'$"


def pack(data: bytes, *, checksum: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(data)


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4), st.integers(1, 20))
def test_frames_one_after_the_other(parts: list[bytes], piece: int) -> None:
    data = b"".join(parts).replace(b"\n", b"").hex().encode() + b"\nend"
    cut = len(data) // 2
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compression_module, "_PIECE", piece)
        path = Path(folder) / "misnamed.gz"  # only the bytes count
        path.write_bytes(pack(data[:cut]) + pack(b"") + pack(data[cut:]))
        assert read_text_lines(path) == list(iterate_lines(path)) == data.decode().split("\n")


def test_frames_to_be_skipped(tmp_path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00more"
    path = tmp_path / "a"
    path.write_bytes(skipped + pack(b"a\nb") + skipped + pack(b"c\n"))
    assert read_text_lines(path) == ["a", "bc"]


def test_a_long_window(tmp_path: Path) -> None:
    options = zstandard.ZstdCompressionParameters(window_log=28)
    path = tmp_path / "long.zst"
    writer = zstandard.ZstdCompressor(compression_params=options).compressobj()  # of unknown size, hence a full window
    path.write_bytes(writer.compress(b"a\n") + writer.flush())
    assert zstandard.get_frame_parameters(path.read_bytes()).window_size == 1 << 28
    assert read_text_lines(path) == ["a"]


def test_standard_input_and_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(b"a\nb\n")), encoding="ascii"))
    assert read_text_lines("-") == ["a", "b"]
    read, write = os.pipe()
    with os.fdopen(write, "wb") as stream:
        stream.write(pack(b"c\n"))
    try:
        assert read_text_lines(f"/dev/fd/{read}") == ["c"]
    finally:
        os.close(read)


def test_a_pipe_that_delivers_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self._bytes = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            byte = self._bytes.read(1)
            buffer[: len(byte)] = byte
            return len(byte)

    for data in (b"ab\ncd", gzip.compress(b"ab\ncd"), pack(b"ab\ncd")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Slow(data)), encoding="ascii"))
        assert read_text_lines("-") == ["ab", "cd"]


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[:-20],
    "cut to its magic": lambda data: data[:4],
    "without its checksum": lambda data: data[:-4],
    "a byte altered": lambda data: data[:-30] + bytes([data[-30] ^ 1]) + data[-29:],
    "more after it": lambda data: data + b"more",
    "a second frame cut short": lambda data: data + data[:50],
}


@pytest.mark.parametrize("harm", HARMS)
def test_damaged(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "refs.zst"
    path.write_bytes(HARMS[harm](pack(os.urandom(1000).hex().encode())))
    with pytest.raises(
        DataError, match=r"refs\.zst: the zstd data is damaged or ends early; copy or compress the file again$"
    ):
        read_text_lines(path)


def test_written(tmp_path: Path) -> None:
    for name in ("a.txt.zst", "b.txt.ZST"):
        with atomic_writer(tmp_path / name) as stream:
            stream.write("ä\r\n" * 10_000)
    first, second = ((tmp_path / name).read_bytes() for name in ("a.txt.zst", "b.txt.ZST"))
    assert first == second
    assert zstandard.get_frame_parameters(first).has_checksum
    assert read_text_lines(tmp_path / "a.txt.zst") == ["ä"] * 10_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt.zst", "b.txt.ZST"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_writer(path) as stream:  # noqa: PT012
        stream.write("new" * 100_000)
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.zst"]


def test_references_and_outputs(tmp_path: Path) -> None:
    (tmp_path / "refs.jsonl.zst").write_bytes(pack(b'{"id": "x", "references": [{"text": "a"}]}'))
    (tmp_path / "refs").write_bytes(pack(b"a\nb\n"))
    (tmp_path / "out.jsonl.zst").write_bytes(pack(b'{"id": "x", "text": "o"}'))
    (tmp_path / "out.txt.zst").write_bytes(pack(b"o\n"))
    references = References.read(tmp_path / "refs.jsonl.zst")
    assert references.ids == ("x",)
    assert References.read(tmp_path / "refs").texts == ("a", "b")
    systems = [f"1={tmp_path / 'out.jsonl.zst'}", f"2={tmp_path / 'out.txt.zst'}"]
    assert [system.texts for system in read_outputs(systems, references)] == [["o"], ["o"]]


def test_the_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt.zst"
    path.write_bytes(pack(b"a\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    for attempt in (read_text_lines, References.read, check_writable, atomic_writer):
        with pytest.raises(MissingExtraError, match=MISSING):
            attempt(path)
    assert path.read_bytes() == pack(b"a\n")


@pytest.mark.parametrize("packed", [gzip.compress, pack])
def test_what_unpacks_to_far_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(compression_module, "_ALWAYS", 1 << 16)
    path = tmp_path / "refs.packed"
    path.write_bytes(packed(b"\n" * (1 << 16)))
    assert len(read_text_lines(path)) == 1 << 16  # little comes out of it, though it is much for its size
    path.write_bytes(packed(b"\n" * (1 << 20)))
    with pytest.raises(
        DataError,
        match=r"refs\.packed: more than 200 times its size comes out of this compressed file; if that is right, unpack "
        r"it, or set TRUBLEU_MAX_EXPANSION to a larger number$",
    ):
        read_text_lines(path)
    monkeypatch.setenv("TRUBLEU_MAX_EXPANSION", "100000")
    assert len(read_text_lines(path)) == 1 << 20


def test_a_limit_that_is_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUBLEU_MAX_EXPANSION", "much")
    path = tmp_path / "refs.zst"
    path.write_bytes(pack(b"a"))
    with pytest.raises(UsageError, match=r"^TRUBLEU_MAX_EXPANSION is 'much', but must be a whole number from 1 on$"):
        read_text_lines(path)
