"""Split files into ranges of lines that can be read independently.

An index counts the lines in each block of a file. A range is read from the block in which it begins, skipping the lines
before it. A compressed file can only be read from its start, so it counts as one block.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.errors import ChangedError
from trubleu.files import paths
from trubleu.files.lines import BOM, newlines_in, open_bytes
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

BLOCK: Final = 2**20
"""Bytes per block of the line index."""

BLOCKS_A_PIECE: Final = 64
"""Blocks counted per task."""

State = tuple[int | str, ...]
"""Compared to detect that a file was written to."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that is read in ranges, possibly on several machines.

    Attributes
    ----------
    path
        Where it is read from.
    name
        What messages call it.
    state
        How it was when it was looked at; whoever reads it later must find it like that.
    """

    path: str
    name: str
    state: State | None = None

    def __str__(self) -> str:
        return self.name

    def check_unchanged(self) -> None:
        """Raise an error if the file was written to since it was indexed.

        Raises
        ------
        DataError
            If it was, or cannot be found.
        """
        with paths.reading(self.name):
            if self.state is not None and state_of(self.path) != self.state:
                raise self.changed()

    def changed(self) -> ChangedError:
        """Return the error for a file that was written to."""
        return ChangedError(
            f"{self.name} changed while it was read; do not write to it meanwhile, and start again "
            "(copies on several machines must have one time, as rsync -t gives them)"
        )

    def blocks(self, start: int = 0, size: int | None = None, *, packed: bool = False) -> Iterator[bytes]:
        """Yield the content from an offset on in blocks, to the end of the file if no size is given.

        Parameters
        ----------
        start, size
            Which bytes.
        packed
            Whether to decompress the file; it is then read whole.

        Raises
        ------
        DataError
            If it cannot be read, or is no longer what it was.
        """
        if packed:
            with open_bytes(self.path, self.name) as content:
                self.check_unchanged()
                yield from iter(lambda: content.read(BLOCK), b"")
            return
        with paths.reading(self.name), paths.open_binary(self.path) as stream:
            self.check_unchanged()  # after opening, because network file systems refresh their attributes then
            stream.seek(start)
            yield from self._limited(stream, size)

    def _limited(self, stream: BinaryIO, left: int | None) -> Iterator[bytes]:
        while left is None or left > 0:
            block = stream.read(BLOCK if left is None else min(BLOCK, left))
            if not block:
                if left is not None:
                    raise shorter(self.name)
                return
            left = None if left is None else left - len(block)
            yield block


def shorter(name: str) -> ChangedError:
    """Return the error for a truncated file."""
    return ChangedError(f"{name} became shorter while it was read; do not write to it meanwhile, and start again")


def state_of(path: str) -> State:
    """Return the current state of a file."""
    if paths.is_remote(path):
        return (paths.modified(path),)
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def pieces(size: int) -> list[tuple[int, int]]:
    """Split a file of this size into pieces to count; return the offset and size of each."""
    step = BLOCK * BLOCKS_A_PIECE
    return [(start, min(step, size - start)) for start in range(0, size or 1, step)]


class LineCount(NamedTuple):
    """Line counts of a piece of a file."""

    newlines: tuple[int, ...]
    """Per block."""
    checksums: tuple[int, ...] = ()
    """Per block."""
    unended: bool = False
    """Whether the file ends in this piece without a newline."""


def count_lines(file: SourceFile, start: int = 0, size: int | None = None, *, packed: bool = False) -> LineCount:
    """Count the lines of a piece, per block; a compressed file is counted as one block."""
    newlines, checksums = [], []
    last = b"\n"
    for number, block in enumerate(file.blocks(start, size, packed=packed)):
        newlines.append(newlines_in(block))
        checksums.append(kernels.checksum(np.frombuffer(block, np.uint8)))
        # A file with only a byte order mark has no line.
        text = block if start or number else block.removeprefix(BOM)
        last = text[-1:] or last
    return LineCount((sum(newlines),) if packed else tuple(newlines), tuple(checksums), last != b"\n")


class LineIndex:
    """Index of the line positions in a file.

    Parameters
    ----------
    counts
        What was counted in each of its `pieces`.
    whole
        Whether the file can be read only from its start.

    Attributes
    ----------
    rows
        How many lines it has.
    """

    def __init__(self, counts: Sequence[LineCount], *, whole: bool = False) -> None:
        self._whole = whole
        self._before = [0, *accumulate(newlines for count in counts for newlines in count.newlines)]
        self._checksums = [checksum for count in counts for checksum in count.checksums]
        self.rows = self._before[-1] + (bool(counts) and counts[-1].unended)

    def begin(self, row: int) -> tuple[int, int]:
        """Return the offset at which to start reading for a row, and the number of line ends to skip there."""
        if self._whole:
            return 0, row
        block = self._block(row)
        return block * BLOCK, row - self._before[block]

    def content(self, first: int = 0, count: int | None = None) -> list[int]:
        """Return the checksums of the blocks that hold some rows; of all rows if no count is given."""
        if self._whole or count is None:
            return self._checksums
        # The last of these blocks holds the end of the range's last line.
        return self._checksums[self._block(first) : bisect_left(self._before, first + count)]

    def _block(self, row: int) -> int:
        """Return the block that holds the end of the previous line."""
        return max(0, bisect_left(self._before, row) - 1)


def digest_of(blocks: Iterable[tuple[int, bytes]]) -> bytes:
    """Return a hash of the bytes of a range."""
    found = hashlib.blake2b(digest_size=32)
    for _, block in blocks:
        found.update(block)
    return found.digest()
