"""Compression: detected by the first bytes when reading, chosen by the file name when writing."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from trubleu.errors import DataError, UsageError, shown
from trubleu.optional_deps import zstandard_module

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".gz", ".zst")
MAX_EXPANSION = "TRUBLEU_MAX_EXPANSION"

_MOST_DIGITS = 15
_MAGIC = 4  # bytes needed to detect the compression
_GZIP = b"\x1f\x8b"
# A file may also begin with a skippable frame, as those of pzstd do; the last four bits of its magic number are free.
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([low, 0x2A, 0x4D, 0x18]) for low in range(0x50, 0x60)))
_PIECE = 1 << 14  # compressed bytes per read: even expanded 32,768 times, they fit into memory
# By default zstd refuses windows above 2**27; large public dialogue collections are packed with --long=31.
_WINDOW = 1 << 31
_EXPANSION = 200  # maximum ratio of decompressed to compressed size; texts have 3 to 20
_ALWAYS = 1 << 26  # decompressed bytes allowed for any file: the output of a constant system compresses very well


def limit_of(variable: str, default: int, least: int) -> int:
    """Return the integer limit set by an environment variable, or the default.

    Raises
    ------
    UsageError
        If it is something else, or below the least.

    Examples
    --------
    >>> limit_of("TRUBLEU_MAX_EXPANSION", 200, 1)
    200
    """
    text = os.environ.get(variable, "").strip() or str(default)
    if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) < least:
        raise UsageError(f"{variable} is {shown(text)}, but must be a whole number from {least} on")
    return int(text)


def without_suffix(name: str) -> str:
    """Return a file name without its compression suffix.

    Examples
    --------
    >>> without_suffix("refs.jsonl.zst"), without_suffix("s3://bucket/refs.txt.gz"), without_suffix(".gz")
    ('refs.jsonl', 's3://bucket/refs.txt', '.gz')
    """
    suffix = PurePath(name).suffix
    return name.removesuffix(suffix) if suffix.lower() in SUFFIXES else name


def is_packed(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a compressed file.

    Examples
    --------
    >>> import gzip
    >>> is_packed(gzip.compress(b"hello")), is_packed(b"hello")
    (True, False)
    """
    return head.startswith((_GZIP, *_ZSTD))


@contextmanager
def unpacked(stream: BinaryIO, name: str) -> Iterator[io.BufferedReader]:
    """Yield the content of a stream, decompressed if its first bytes say that it is compressed.

    Before the first read, ``peek`` returns up to four bytes.

    Raises
    ------
    DataError
        While reading, if compressed data is damaged or ends early, or if far too much comes out of it.
    MissingExtraError
        If it is compressed with zstd, and the package for that is missing.
    """
    head = stream.read(_MAGIC)
    source = _Rejoined(head, stream)
    whole: io.BufferedReader = io.BufferedReader(source)
    if head.startswith(_ZSTD):
        frames = io.BufferedReader(_ZstdReader(whole, name))
        yield io.BufferedReader(_Unpacked(frames, source, name))
    elif head.startswith(_GZIP):
        try:
            with gzip.GzipFile(fileobj=whole, mode="rb") as content:
                yield io.BufferedReader(_Unpacked(content, source, name))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(_damaged(name, "gzip")) from error
    else:
        yield whole


def check_packable(name: str) -> None:
    """Raise an error if the name asks for a compression whose package is not installed."""
    if name.lower().endswith(".zst"):
        zstandard_module()


def packed(stream: BinaryIO, name: str) -> BinaryIO:
    """Return a stream that compresses by the suffix of the name, or ``stream`` itself if there is none.

    It must be closed, which leaves ``stream`` open.
    """
    if name.lower().endswith(".gz"):
        # Without name and time the same text gives the same bytes. Level 9 is slow for no gain.
        return cast("BinaryIO", gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0))
    if name.lower().endswith(".zst"):
        # zstd writes no checksum by default, and damage could then pass for text.
        return cast(
            "BinaryIO", zstandard_module().ZstdCompressor(write_checksum=True).stream_writer(stream, closefd=False)
        )
    return stream


class _Rejoined(io.RawIOBase):
    """A stream with its peeked first bytes put back: a pipe cannot seek."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = memoryview(head)
        self._rest = rest
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            size = min(len(buffer), len(self._head))
            buffer[:size] = self._head[:size]
            self._head = self._head[size:]
        else:
            size = self._rest.readinto(buffer)
        self.taken += size
        return size


class _Unpacked(_Rejoined):
    """Decompressed bytes, with a limit on the expansion: a decompression bomb would fill the memory."""

    def __init__(self, content: Any, source: _Rejoined, name: str) -> None:
        super().__init__(content.read(_MAGIC), content)
        self._source = source
        self._name = name
        self._expansion = limit_of(MAX_EXPANSION, _EXPANSION, 1)

    def readinto(self, buffer: Any) -> int:
        size = super().readinto(buffer)
        if self.taken > max(_ALWAYS, self._expansion * self._source.taken):
            raise DataError(
                f"{self._name}: more than {self._expansion} times its size comes out of this compressed file; if that "
                f"is right, unpack it, or set {MAX_EXPANSION} to a larger number"
            )
        return size


class _ZstdReader(io.RawIOBase):
    """The content of all zstd frames of a stream, in order.

    The package's own reader takes a truncated stream for a complete one.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        zstandard = zstandard_module()
        self._new_frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj
        self._error: type[Exception] = zstandard.ZstdError
        self._stream = stream
        self._name = name
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            rest = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
            data = rest or self._stream.read(_PIECE)
            between = self._frame is None or self._frame.eof
            if not data:
                if not between:
                    raise DataError(_damaged(self._name, "zstd"))
                return 0
            if between:
                self._frame = self._new_frame()
            try:
                self._ready = memoryview(self._frame.decompress(data))
            except self._error as error:
                raise DataError(_damaged(self._name, "zstd")) from error
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _damaged(name: str, kind: str) -> str:
    return f"{name}: the {kind} data is damaged or ends early; copy or compress the file again"
