"""Read lines of text files: all at once, in blocks, or from any line on.

Files are UTF-8, plain or compressed with gzip or zstd, local or at a URL such as ``s3://bucket/key``. Only ``\n`` ends
a line: Python's ``splitlines`` would also split at U+2028, U+0085 or a form feed inside a sentence, and shift every
line after it.
"""

from __future__ import annotations

import codecs
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

import numpy as np

from trubleu.errors import DataError
from trubleu.files.compression import limit_of, unpacked
from trubleu.files.paths import PathLike as PathLike
from trubleu.files.paths import byte_size, identity, is_file, is_standard, name_of, open_binary, reading

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Line = str | None  # None: not valid UTF-8
    Size = int | Callable[[], int]

Text = TypeVar("Text", str, "str | None")
Some = TypeVar("Some")

MAX_LINE = "TRUBLEU_MAX_LINE"
_MEGABYTES = 64  # limit for a line that spans several blocks
_BLOCK = 1 << 24  # bytes per read: large enough for C speed, small beside the lines
BOM = b"\xef\xbb\xbf"
PARQUET_MAGIC = b"PAR1"


def iterate_lines(path: PathLike) -> Iterator[str]:
    r"""Yield the lines of a text file without their ends, using little memory.

    Follows the rules of `read_text_lines`; errors are raised when the iteration reaches them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "hello.txt"
    >>> _ = path.write_bytes(b"hello\r\nworld\xe2\x80\xa8still world")
    >>> list(iterate_lines(path))
    ['hello', 'world\u2028still world']
    """
    return chain.from_iterable(line_blocks(path))


def read_text_lines(path: PathLike) -> list[str]:
    r"""Read the lines of a text file, without their ends.

    Parameters
    ----------
    path
        A UTF-8 file, plain or compressed with gzip or zstd (told apart by its first bytes, whatever its name), or ``-``
        for standard input.

    Returns
    -------
    list of str
        Lines end at ``\n`` only; one ``\r`` before it and a byte order mark at the start of the file are dropped. A
        last line without ``\n`` counts. An empty file has no lines.

    Raises
    ------
    DataError
        If the file cannot be read, is damaged, or is not UTF-8 (with the line and the offset of the first wrong byte,
        counted after decompression).
    MissingExtraError
        If it is compressed with zstd, and the package for that is missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "hello.txt"
    >>> _ = path.write_bytes(b"hello\n\nworld")
    >>> read_text_lines(path)
    ['hello', '', 'world']
    """
    return list(iterate_lines(path))


def line_blocks(path: PathLike) -> Iterator[list[str]]:
    """Yield the lines of a text file in lists of arbitrary length."""
    with open_bytes(path) as stream:
        yield from split_lines(stream, name_of(path))


def split_lines(stream: BinaryIO, name: str, *, keep_ends: bool = False) -> Iterator[list[str]]:
    """Yield the lines of an open file as `line_blocks` does; ``keep_ends`` keeps the line ends."""
    blocks = ((0, block) for block in iter(partial(stream.read, _BLOCK), b""))
    return lines_of_blocks(blocks, name, partial(decode_lines, keep_ends=keep_ends))


def lines_of_blocks(
    blocks: Iterable[tuple[int, bytes]],
    name: str,
    decode: Callable[[bytes, str, int, int], list[Text]],
    number: int = 0,
) -> Iterator[list[Text]]:
    """Yield decoded lines from blocks of bytes, each given with its offset in the file.

    Parameters
    ----------
    blocks
        Bytes that follow each other, each with where they begin; only that of the first is looked at.
    name
        What messages call the file.
    decode
        Makes lines of bytes, as `decode_lines`.
    number
        How many lines of the file come before.
    """
    pieces = LinePieces(name)
    offset: int | None = None
    for start, block in blocks:
        offset = start if offset is None else offset
        cut = block.rfind(b"\n") + 1
        if cut:
            data = pieces.joined(block[:cut])
            lines = decode(data, name, offset, number)
            offset += len(data)
            number += len(lines)
            yield lines
        pieces.add(block[cut:], number)
    if last := pieces.joined(b""):
        yield decode(last, name, offset or 0, number)


def own_lines(
    blocks: Iterable[bytes], offset: int, skip: int, count: int | None, short: Callable[[], Exception]
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a range of lines, without those of its neighbours, each block with its offset.

    Parameters
    ----------
    blocks
        The file from some byte on.
    offset
        That byte.
    skip
        How many lines come before, which are neither decoded nor split.
    count
        How many lines there are, all that follow if None. What comes after them is not looked at.
    short
        Makes the error for a file that has fewer lines.
    """
    left, last = count, b"\n"
    if left == 0:
        return
    for block in blocks:
        last = block[-1:]
        own = block
        if skip:
            ends = newlines_in(block)
            own = block[after_line(block, skip) :] if ends >= skip else b""
            skip -= min(ends, skip)
            offset += len(block) - len(own)
            if not own:
                continue
        if left is not None:
            ends = newlines_in(own)
            if ends >= left:
                yield offset, own[: after_line(own, left)]
                return
            left -= ends
        yield offset, own
        offset += len(own)
    unended = last != b"\n"
    if skip > unended or (left or 0) > (unended and not skip):
        raise short()


class LinePieces:
    """The pieces of an unfinished line: joined once, so one huge line takes linear time, and limited in size.

    Without the limit, a file without lines, such as /dev/zero, would be read until memory is full.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._megabytes = limit_of(MAX_LINE, _MEGABYTES, _BLOCK >> 20)
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes, number: int) -> None:
        """Add a piece of the line that follows ``number`` lines."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._megabytes << 20:
            raise DataError(
                f"{self._name}:{number + 1}: this line is longer than {self._megabytes} MB, so it is hardly text; "
                f"if it is, set {MAX_LINE} to more megabytes"
            )

    def joined(self, end: bytes) -> bytes:
        """Return the line with its last piece and start a new one."""
        data = b"".join([*self._pieces, end])
        self._pieces, self._size = [], 0
        return data


def decode_lines(data: bytes, name: str, offset: int, number: int, keep_ends: bool = False) -> list[str]:
    """Split bytes that hold whole lines; ``offset`` and ``number`` count the bytes and lines before them."""
    start = len(BOM) if offset == 0 and data.startswith(BOM) else 0
    try:
        text = data[start:].decode() if start else data.decode()
    except UnicodeDecodeError as error:
        if offset == 0 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise DataError(
                f"{name} is UTF-16, as Windows programs write it; save it as UTF-8, or: iconv -f UTF-16 -t UTF-8"
            ) from error
        if offset == 0 and data.startswith(PARQUET_MAGIC):
            raise DataError(
                f"{name} is Parquet in a pipe or a compressed file; give the Parquet file itself"
            ) from error
        if offset == 0 and data.startswith((b"\xd0\xcf\x11\xe0", b"PK\x03\x04")):
            raise DataError(
                f"{name} is a document of an office program, not text; save it as .xlsx (its name must end so), .csv "
                "or plain text"
            ) from error
        at = start + error.start
        line = number + data.count(b"\n", 0, at) + 1
        raise DataError(
            f"{name}:{line}: byte {offset + at} (0x{data[at]:02x}) is not valid UTF-8; convert the file to UTF-8"
        ) from error
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if keep_ends:
        return [line + "\n" for line in lines]
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


@contextmanager
def open_bytes(path: PathLike, name: str | None = None) -> Iterator[io.BufferedReader]:
    """Open a file or standard input for reading, decompressed; ``name`` replaces the path in messages.

    Before the first read, ``peek`` returns up to four bytes.

    Raises
    ------
    DataError
        If the file cannot be read or is damaged, also while reading.
    MissingExtraError
        If it is compressed with zstd, and the package for that is missing.
    """
    with opened(path, name) as (stream, _):
        yield stream


@contextmanager
def opened(path: PathLike, name: str | None = None) -> Iterator[tuple[io.BufferedReader, BinaryIO | None]]:
    """Open a file as `open_bytes` does, and also return the raw stream to measure progress; None for a pipe."""
    name = name_of(path) if name is None else name
    with reading(name), ExitStack() as stack:
        raw = _standard_input() if is_standard(path) else stack.enter_context(open_binary(path))
        whole = not is_standard(path) and raw.seekable()
        yield stack.enter_context(unpacked(raw, name)), raw if whole else None


def _standard_input() -> BinaryIO:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("standard input is closed, so - cannot be read; give a file instead")
    return cast("BinaryIO", stream)


_COMPARED_SLICE = 1 << 16  # bytes per comparison


def check_once(files: Sequence[str]) -> None:
    """Raise an error if a file is given twice, even under two names.

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
            raise DataError(f"{file} is given twice, so every triple in it would count twice; give it once")
        seen.add(real)


def size_of(file: str) -> int | None:
    """Return the size of a file; None if it is unknown before reading, as for a pipe."""
    return None if is_standard(file) or not is_file(file) else byte_size(file)


def total_size(sizes: Sequence[int | None]) -> int | None:
    """Return the sum of all sizes; None if one is unknown."""
    return None if None in sizes else sum(size or 0 for size in sizes)


def in_batches(lists: Iterable[list[Some]], size: Size) -> Iterator[list[Some]]:
    """Regroup lists into lists of ``size``, the last one shorter; a function is asked for the size of each."""
    room = size if callable(size) else lambda: size
    waiting: list[Some] = []
    begin = 0
    for some in lists:
        waiting, begin = (waiting[begin:] + some if begin < len(waiting) else some), 0
        while begin + (step := room()) <= len(waiting):
            yield waiting[begin : begin + step]
            begin += step
    if begin < len(waiting):
        yield waiting[begin:]


def decode_leniently(data: bytes, name: str, offset: int, number: int) -> list[Line]:
    """Split bytes as `decode_lines` does; a line that is not UTF-8 becomes None."""
    try:
        return list(decode_lines(data, name, offset, number))
    except DataError:
        if offset == 0 and data.startswith(PARQUET_MAGIC):
            raise
    lines: list[Line] = []
    for line in data.removesuffix(b"\n").split(b"\n"):
        try:
            lines += decode_lines(line, name, offset, number) or [""]
        except DataError:
            lines.append(None)
        offset += len(line) + 1
    return lines


def newlines_in(block: bytes) -> int:
    """Count line ends, several times as fast as ``bytes.count``.

    Examples
    --------
    >>> newlines_in(b"one\\ntwo\\n")
    2
    """
    data = np.frombuffer(block, np.uint8)
    # In slices that stay in the CPU cache.
    return sum(
        int(np.count_nonzero(data[at : at + _COMPARED_SLICE] == 10)) for at in range(0, len(data), _COMPARED_SLICE)
    )


def after_line(block: bytes, count: int) -> int:
    """Return the offset after the ``count``-th line end."""
    return int(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))[count - 1]) + 1
