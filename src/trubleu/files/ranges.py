"""Files cut into ranges of lines, each of which can be read alone.

The number of lines in each block of a file tells near which byte a line begins. A range is read from there on, less the
lines before it. A compressed file can only be read from its start, so it counts as one block.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.errors import ChangedError, DataError
from trubleu.files import paths
from trubleu.files.lines import BOM, newlines_in, open_bytes
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

BLOCK: Final = 2**20
"""Bytes of a block, the lines of which are counted together."""

BLOCKS_A_PIECE: Final = 64
"""Blocks that are counted in one go."""

State = tuple[int | str, ...]
"""What differs once a file was written to."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that is read in ranges, maybe on several machines.

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
        """Refuse a file that was written to since it was looked at: what was counted no longer holds.

        Raises
        ------
        DataError
            If it was, or cannot be found.
        """
        try:
            if self.state is not None and state_of(self.path) != self.state:
                raise self.changed()
        except OSError as error:
            raise DataError(paths.unreadable(self.name, error)) from error

    def changed(self) -> ChangedError:
        """Return the error about a file that was written to."""
        return ChangedError(
            f"{self.name} changed while it was read; do not write to it meanwhile, and start again "
            "(copies on several machines must have one time, as rsync -t gives them)"
        )

    def blocks(self, start: int = 0, size: int | None = None, *, packed: bool = False) -> Iterator[bytes]:
        """Yield what the file holds from a byte on, all that follows if there is no size, in blocks.

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
        try:
            with paths.open_binary(self.path) as stream:
                self.check_unchanged()  # once it is open, when systems of files in a network have asked how it is
                stream.seek(start)
                yield from self._limited(stream, size)
        except OSError as error:
            raise DataError(paths.unreadable(self.name, error)) from error

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
    """Return the error about a file that lost its end."""
    return ChangedError(f"{name} became shorter while it was read; do not write to it meanwhile, and start again")


def state_of(path: str) -> State:
    """Return how a file is now."""
    if paths.is_remote(path):
        return (paths.modified(path),)
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def pieces(size: int) -> list[tuple[int, int]]:
    """Cut a file of so many bytes into pieces to be counted, and return where each begins and how many bytes it has."""
    step = BLOCK * BLOCKS_A_PIECE
    return [(start, min(step, size - start)) for start in range(0, size or 1, step)]


class LineCount(NamedTuple):
    """What was counted in a piece of a file."""

    newlines: tuple[int, ...]
    """Of each block."""
    checksums: tuple[int, ...] = ()
    """Of each block."""
    unended: bool = False
    """Whether the piece ends, but not with a new line."""


def count_lines(file: SourceFile, start: int = 0, size: int | None = None, *, packed: bool = False) -> LineCount:
    """Count the lines of a piece, block by block; those of a compressed file together."""
    newlines, checksums = [], []
    last = b"\n"
    for number, block in enumerate(file.blocks(start, size, packed=packed)):
        newlines.append(newlines_in(block))
        checksums.append(kernels.checksum(np.frombuffer(block, np.uint8)))
        # A file with nothing but a byte order mark has no line.
        text = block if start or number else block.removeprefix(BOM)
        last = text[-1:] or last
    return LineCount((sum(newlines),) if packed else tuple(newlines), tuple(checksums), last != b"\n")


class LineIndex:
    """Where the lines of a file begin.

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
        """Return from which byte on a row is found, and how many ends of lines come before it there."""
        if self._whole:
            return 0, row
        block = self._block(row)
        return block * BLOCK, row - self._before[block]

    def content(self, first: int = 0, count: int | None = None) -> list[int]:
        """Return numbers that differ if rows, or other rows of their blocks, do; of all rows if no count is given."""
        if self._whole or count is None:
            return self._checksums
        # Where a line of the range ends is in the last of these blocks.
        return self._checksums[self._block(first) : bisect_left(self._before, first + count)]

    def _block(self, row: int) -> int:
        """Return the block with the end of the line before."""
        return max(0, bisect_left(self._before, row) - 1)


def digest_of(blocks: Iterable[tuple[int, bytes]]) -> bytes:
    """Return what differs if the bytes of a range do."""
    found = hashlib.blake2b(digest_size=32)
    for _, block in blocks:
        found.update(block)
    return found.digest()
