"""Large files of lines, read from any line on, with a measure of how much has been read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from trubleu.data.compression import unpacked
from trubleu.data.files import decode_lines, is_standard, name_of, open_bytes, unreadable
from trubleu.data.places import byte_size, identity, is_file, open_binary
from trubleu.errors import DataError

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator, Sequence

    Line = str | None  # None: it is not UTF-8
    Size = int | Callable[[], int]

_BLOCK = 1 << 22  # bytes read at once
_SLICE = 1 << 16  # bytes compared at once


def check_once(files: Sequence[str]) -> None:
    """Refuse a file that is given twice, be it by two names.

    Raises
    ------
    DataError
        If there is one.
    """
    seen: set[str] = set()
    for file in files:
        if is_standard(file):
            continue
        if (real := identity(file)) in seen:
            raise DataError(f"{file} is given twice, so that every triple in it would count twice; give it once")
        seen.add(real)


def size_of(file: str) -> int | None:
    """Return a file's size, None if it has none before it is read, such as a pipe."""
    return None if is_standard(file) or not is_file(file) else byte_size(file)


def total_size(files: Sequence[str]) -> int | None:
    """Return the size of all files, None if that of one is not known."""
    sizes = [size for file in files if (size := size_of(file)) is not None]
    return sum(sizes) if len(sizes) == len(files) else None


@contextmanager
def opened(path: str, name: str | None = None) -> Iterator[tuple[io.BufferedReader, BinaryIO | None]]:
    """Open a file, decompressed, and as it is: how far that has been read says how much is left, except in a pipe.

    Messages may call it by another name.
    """
    name = name_of(path) if name is None else name
    if size_of(path) is None:
        with open_bytes(path, name) as stream:
            yield stream, None
        return
    try:
        with open_binary(path) as raw, unpacked(raw, name) as stream:
            yield stream, raw
    except OSError as error:
        raise DataError(unreadable(name, error)) from error


class LineReader:
    """The lines of an open file in batches, from any line on; what is passed over is neither decoded nor split.

    Parameters
    ----------
    stream, name
        The file, and what messages call it.
    lenient
        Whether a line that is not UTF-8 becomes None instead of an error.
    offset, number
        How many bytes and lines of the file lie before what the stream gives.

    Attributes
    ----------
    taken
        How many bytes have been read.
    """

    def __init__(self, stream: BinaryIO, name: str, *, lenient: bool, offset: int = 0, number: int = 0) -> None:
        self._stream = stream
        self._name = name
        self._lenient = lenient
        self._offset = offset
        self._number = number
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

    def batches(self, size: Size, passed: int, count: int | None = None) -> Iterator[list[Line]]:
        """Yield lines in lists of ``size``, the last one shorter, after the first ``passed`` ones.

        Parameters
        ----------
        size
            How many lines a list has; a function is asked before each.
        passed
            How many lines to pass over.
        count
            How many lines to read, all that follow if left out. What comes after them is not looked at.

        Raises
        ------
        DataError
            If a line is not UTF-8, or there are fewer lines than are to be passed over or read.
        """
        room = size if callable(size) else lambda: size
        waiting: list[Line] = []
        begin = 0
        for lines in self._lines(passed, count):
            waiting, begin = (waiting[begin:] + lines if begin < len(waiting) else lines), 0
            while begin + (step := room()) <= len(waiting):
                yield waiting[begin : begin + step]
                begin += step
        if begin < len(waiting):
            yield waiting[begin:]

    def _lines(self, passed: int, left: int | None) -> Iterator[list[Line]]:
        if left == 0:
            return
        offset, number = self._offset, self._number + passed
        pieces: list[bytes] = []  # of a line that has not ended yet; joined once, so that one huge line stays linear
        last = b"\n"
        for block in self._blocks():
            last = block[-1:]
            rest = block
            if passed:
                ends = newlines_in(block)
                at = after_line(block, passed) if ends >= passed else len(block)
                passed -= min(ends, passed)
                offset += at
                rest = block[at:]
                if not rest:
                    continue
            if left is not None and newlines_in(rest) >= left:
                yield self._decoded(b"".join([*pieces, rest[: after_line(rest, left)]]), offset, number)
                return
            cut = rest.rfind(b"\n") + 1
            if cut:
                data = b"".join([*pieces, rest[:cut]])
                lines = self._decoded(data, offset, number)
                offset += len(data)
                number += len(lines)
                left = None if left is None else left - len(lines)
                pieces = []
                yield lines
            pieces.append(rest[cut:])
        end = b"".join(pieces)
        if passed > (last != b"\n") or (left is not None and left > bool(end)):
            raise DataError(
                f"{self._name} has fewer rows than have been read from it before; it must have changed, so begin anew"
            )
        if end:
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


def newlines_in(block: bytes) -> int:
    """Count line ends, several times as fast as bytes do it.

    Examples
    --------
    >>> newlines_in(b"one\\ntwo\\n")
    2
    """
    data = np.frombuffer(block, np.uint8)
    # In slices, as what is compared at once should stay in the cache.
    return sum(int(np.count_nonzero(data[at : at + _SLICE] == 10)) for at in range(0, len(data), _SLICE))


def after_line(block: bytes, count: int) -> int:
    """Return where the line after the ``count``-th line end begins."""
    return int(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))[count - 1]) + 1
