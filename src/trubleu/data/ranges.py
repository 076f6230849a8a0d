"""Large plain files cut into ranges of lines, each of which can be read alone.

Lines are counted block by block, which many can do at once; from the counts follows near which byte a line begins. A
range is read from there, skipping the lines before it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.data.compression import is_packed
from trubleu.data.files import BOM, lines_of_blocks, name_of, open_bytes, unreadable
from trubleu.errors import DataError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from trubleu.data.files import PathLike
    from trubleu.data.stream import LineStream, Part

BLOCK: Final = 4 * 2**20
"""Bytes of a block, the lines of which are counted together."""

BLOCKS_A_PIECE: Final = 16
"""Blocks that are counted in one go."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some blocks of a file, to be counted; a compressed file is one piece, of a single block.

    Attributes
    ----------
    path, name
        The file, wherever it is read from, and as messages call it.
    start, size
        Which bytes of it; no size for a compressed one.
    """

    path: str
    name: str
    start: int
    size: int | None

    def __str__(self) -> str:
        return self.name if self.size is None else f"{self.name} from byte {self.start}"


class Count(NamedTuple):
    """What is in a piece."""

    newlines: list[int]
    """Of each block."""
    unended: bool
    """Whether the piece ends, but not with a new line."""


def pieces(path: PathLike) -> list[Piece]:
    """Cut a file into pieces.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    name, absolute = name_of(path), str(Path(path).absolute())
    try:
        with Path(path).open("rb") as stream:
            packed = is_packed(stream.read(4))
        size = Path(path).stat().st_size
    except OSError as error:
        raise DataError(unreadable(name, error)) from error
    if packed:
        return [Piece(absolute, name, 0, None)]
    step = BLOCK * BLOCKS_A_PIECE
    return [Piece(absolute, name, start, min(step, size - start)) for start in range(0, size, step)]


def count_newlines(piece: Piece, _state: None = None) -> Count:
    """Count the lines of a piece, block by block."""
    newlines: list[int] = []
    last = b"\n"
    for number, block in enumerate(_blocks(piece.path, piece.name, piece.start, piece.size)):
        newlines.append(block.count(b"\n"))
        # A file with nothing but a byte order mark has no line.
        text = block if piece.start or number else block.removeprefix(BOM)
        last = text[-1:] or last
    return Count([sum(newlines)] if piece.size is None else newlines, last != b"\n")


@dataclass(frozen=True, slots=True)
class Span:
    """Where the lines of a range are in one file: so many after some that are skipped, which begin at a byte.

    Attributes
    ----------
    path, name
        The file, wherever it is read from, and as messages call it.
    packed
        Whether it is compressed.
    byte, skip
        Where to begin, and how many lines to skip there.
    first, count
        The number of lines of the file before those of the range, and how many these are.
    """

    path: str
    name: str
    packed: bool
    byte: int
    skip: int
    first: int
    count: int

    def lines(self) -> Iterator[list[str]]:
        """Yield the lines in lists of any length.

        Raises
        ------
        DataError
            If they cannot be read, or are no longer all there.
        """
        found = 0
        blocks = self._own_blocks()
        offset = next(blocks)
        for lines in lines_of_blocks(blocks, self.name, offset=offset, number=self.first):  # type: ignore[arg-type]
            found += len(lines)
            yield lines
        if found != self.count:
            raise DataError(f"{self.name} changed while it was read; do not write to it meanwhile, and begin again")

    def digest(self) -> bytes:
        """Return what differs if the lines do."""
        found = hashlib.blake2b(digest_size=32)
        blocks = self._own_blocks()
        next(blocks)
        for block in blocks:
            found.update(block)  # type: ignore[arg-type]
        return found.digest()

    def _own_blocks(self) -> Iterator[int | bytes]:
        """Yield the byte at which the lines begin, and then what is theirs and nothing of their neighbours'."""
        skip, left, offset = self.skip, self.count, self.byte
        begun = False
        for block in _blocks(self.path, self.name, self.byte, None, packed=self.packed):
            rest = block
            if skip:
                newlines = block.count(b"\n")
                if newlines < skip:
                    skip -= newlines
                    offset += len(block)
                    continue
                cut = _after_line(block, skip)
                rest, skip, offset = block[cut:], 0, offset + cut
            if not begun:
                begun = True
                yield offset
            newlines = rest.count(b"\n")
            if newlines >= left:
                yield rest[: _after_line(rest, left)]
                return
            left -= newlines
            yield rest
        if not begun:
            yield offset


@dataclass(frozen=True, slots=True)
class LineRange:
    """Some lines of all files of a corpus, which can be read alone.

    Attributes
    ----------
    first, count
        How many lines went before, and how many these are.
    spans
        Where they are in each of the corpus' files.
    """

    first: int
    count: int
    spans: tuple[Span, ...]

    def __str__(self) -> str:
        return f"lines {self.first + 1:,} to {self.first + self.count:,}"

    def __len__(self) -> int:
        return self.count

    def parts(self, stream: LineStream) -> Iterator[Part]:
        """Yield the parts of the range, those files being its."""
        return stream.parts([span.lines() for span in self.spans], self.first)


class CountedFile:
    """A file whose lines were counted.

    Parameters
    ----------
    path
        The file.
    counts
        What was counted in each of its `pieces`.

    Attributes
    ----------
    lines
        How many lines it has.
    """

    def __init__(self, path: PathLike, counts: Sequence[tuple[Piece, Count]]) -> None:
        self._name, self._path = name_of(path), str(Path(path).absolute())
        newlines = list(chain.from_iterable(count.newlines for _, count in counts))
        self._before = np.array([0, *accumulate(newlines)])
        self._packed = any(piece.size is None for piece, _ in counts)
        self.lines = sum(newlines) + (bool(counts) and counts[-1][1].unended)

    def span(self, first: int, count: int) -> Span:
        """Return where some lines are."""
        # The block with the end of the line before.
        block = max(0, int(np.searchsorted(self._before, first, side="left")) - 1)
        skip = first - int(self._before[block])
        return Span(self._path, self._name, self._packed, 0 if self._packed else block * BLOCK, skip, first, count)


def line_ranges(files: Sequence[CountedFile], rows: int) -> list[LineRange]:
    """Cut files of the same number of lines into ranges of ``rows`` lines, the last one shorter."""
    lines = files[0].lines
    return [
        LineRange(first, count, tuple(file.span(first, count) for file in files))
        for first in range(0, lines, rows)
        for count in [min(rows, lines - first)]
    ]


def _blocks(path: str, name: str, start: int, size: int | None, *, packed: bool | None = None) -> Iterator[bytes]:
    """Yield some of a file in blocks, all that follows if there is no size, decompressed if need be."""
    if packed is None:
        packed = size is None
    if packed:
        with open_bytes(path, name) as content:
            yield from iter(lambda: content.read(BLOCK), b"")
        return
    try:
        with Path(path).open("rb") as stream:
            stream.seek(start)
            yield from _limited(stream, name, size)
    except OSError as error:
        raise DataError(unreadable(name, error)) from error


def _limited(stream: BinaryIO, name: str, size: int | None) -> Iterator[bytes]:
    left = size
    while left is None or left > 0:
        block = stream.read(BLOCK if left is None else min(BLOCK, left))
        if not block:
            if left is not None:
                raise DataError(f"{name} became {counted(left, 'byte')} shorter while it was read; begin again")
            return
        left = None if left is None else left - len(block)
        yield block


def _after_line(block: bytes, number: int) -> int:
    """Return where the line after so many ends of lines begins."""
    return int(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))[number - 1]) + 1
