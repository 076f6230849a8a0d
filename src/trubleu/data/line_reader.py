"""Large files of lines, read from any line on, with a measure of how much has been read."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from trubleu.data.compression import unpacked
from trubleu.data.files import decode_lines, is_standard, open_bytes, unreadable
from trubleu.errors import DataError

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator, Sequence

    Line = str | None  # None: it is not UTF-8

_BLOCK = 1 << 22  # bytes read at once


def check_once(files: Sequence[str]) -> None:
    """Refuse a file that is given twice, be it by two names.

    Raises
    ------
    DataError
        If there is one.
    """
    seen: dict[str, str] = {}
    for file in files:
        if not is_standard(file) and seen.setdefault(os.path.realpath(file), file) is not file:
            raise DataError(f"{file} is given twice, so that every triple in it would count twice; give it once")


def size_of(file: str) -> int | None:
    """Return a file's size, None if it has none before it is read, such as a pipe."""
    return None if is_standard(file) or not Path(file).is_file() else Path(file).stat().st_size


def total_size(files: Sequence[str]) -> int | None:
    """Return the size of all files, None if that of one is not known."""
    sizes = [size for file in files if (size := size_of(file)) is not None]
    return sum(sizes) if len(sizes) == len(files) else None


@contextmanager
def opened(path: str) -> Iterator[tuple[io.BufferedReader, BinaryIO | None]]:
    """Open a file, decompressed, and as it is: how far that has been read says how much is left, except in a pipe."""
    if size_of(path) is None:
        with open_bytes(path) as stream:
            yield stream, None
        return
    try:
        with Path(path).open("rb") as raw, unpacked(raw, path) as stream:
            yield stream, raw
    except OSError as error:
        raise DataError(unreadable(path, error)) from error


class LineReader:
    """The lines of an open file in batches, from any line on; what is passed over is neither decoded nor split.

    Parameters
    ----------
    stream, name
        The file, and what messages call it.
    lenient
        Whether a line that is not UTF-8 becomes None instead of an error.

    Attributes
    ----------
    taken
        How many bytes have been read.
    """

    def __init__(self, stream: BinaryIO, name: str, *, lenient: bool) -> None:
        self._stream = stream
        self._name = name
        self._lenient = lenient
        self._ready: list[bytes] = []
        self.taken = 0

    def first(self) -> str:
        """Return the first line, which `batches` will give again."""
        while block := self._read():
            self._ready.append(block)
            if b"\n" in block:
                break
        head, _, _ = b"".join(self._ready).partition(b"\n")
        lines = self._decoded(head, 0, 0)
        return (lines[0] if lines else None) or ""

    def head(self, count: int) -> list[str]:
        """Return the first lines, ``count`` at most, which `batches` will give again; what is no UTF-8 is replaced."""
        ends = sum(block.count(b"\n") for block in self._ready)
        while ends < count and (block := self._read()):
            self._ready.append(block)
            ends += block.count(b"\n")
        lines = b"".join(self._ready).split(b"\n", count)[:count]
        return [line.decode("utf-8-sig", "replace").removesuffix("\r") for line in lines]

    def batches(self, size: int, passed: int) -> Iterator[list[Line]]:
        """Yield lines in lists of ``size``, the last one shorter, after the first ``passed`` ones.

        Raises
        ------
        DataError
            If a line is not UTF-8, or there are fewer lines than are to be passed over.
        """
        waiting: list[Line] = []
        for lines in self._lines(passed):
            waiting = waiting + lines if waiting else lines
            whole = len(waiting) // size * size
            for begin in range(0, whole, size):
                yield waiting[begin : begin + size]
            waiting = waiting[whole:]
        if waiting:
            yield waiting

    def _lines(self, passed: int) -> Iterator[list[Line]]:
        offset, number = 0, passed
        pieces: list[bytes] = []  # of a line that has not ended yet; joined once, so that one huge line stays linear
        last = b"\n"
        for block in self._blocks():
            last = block[-1:]
            rest = block
            if passed:
                ends = block.count(b"\n")
                at = _after_line(block, passed) if ends >= passed else len(block)
                passed -= min(ends, passed)
                offset += at
                rest = block[at:]
                if not rest:
                    continue
            cut = rest.rfind(b"\n") + 1
            if cut:
                data = b"".join([*pieces, rest[:cut]])
                lines = self._decoded(data, offset, number)
                offset += len(data)
                number += len(lines)
                pieces = []
                yield lines
            pieces.append(rest[cut:])
        if passed > (last != b"\n"):
            raise DataError(
                f"{self._name} has fewer rows than have been read from it before; it must have changed, so begin anew"
            )
        if end := b"".join(pieces):
            yield self._decoded(end, offset, number)

    def _blocks(self) -> Iterator[bytes]:
        yield from self._ready
        self._ready = []
        while block := self._read():
            yield block

    def _read(self) -> bytes:
        block = self._stream.read(_BLOCK)
        self.taken += len(block)
        return block

    def _decoded(self, data: bytes, offset: int, number: int) -> list[Line]:
        try:
            return list(decode_lines(data, self._name, offset, number, keep_ends=False))
        except DataError:
            if not self._lenient:
                raise
        lines: list[Line] = []
        for line in data.removesuffix(b"\n").split(b"\n"):
            try:
                lines += decode_lines(line, self._name, offset, number, keep_ends=False) or [""]
            except DataError:
                lines.append(None)
            offset += len(line) + 1
        return lines


def _after_line(block: bytes, count: int) -> int:
    """Return where the line after the ``count``-th line end begins."""
    return int(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))[count - 1]) + 1
