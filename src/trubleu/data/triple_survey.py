"""What files of triples hold before any triple is read: how many rows, near which bytes, and checksums of it all.

Stretches of files are looked at in any order and by anybody. Compressed files are not unpacked for it, as they can be
read only from their beginning anyway.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.data.files import BOM, unreadable
from trubleu.data.line_reader import newlines_in
from trubleu.data.places import absolute, open_binary
from trubleu.data.triple_parquet import go_over_to
from trubleu.data.triple_ranges import LayoutError, TripleRange, form_of
from trubleu.errors import ChangedError, DataError, some
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from trubleu.data.triple_ranges import Form

BLOCK: Final = 4 * 2**20
"""Bytes of a block, the lines of which are counted together."""

BLOCKS_A_STRETCH: Final = 16
"""Blocks that are looked at in one go."""

FILES_AT_ONCE: Final = 256
"""Small files that are looked at in one go, if they are not larger together than a stretch."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some blocks of a file.

    Attributes
    ----------
    file
        Which of the files it is, counted from 0.
    path, name
        The file wherever it is read from, and as messages call it.
    start, size, whole
        Which bytes of it, and how many it has in all.
    columns, lenient
        What tab-separated columns hold, if that was said, and whether bad rows are skipped.
    """

    file: int
    path: str
    name: str
    start: int
    size: int
    whole: int
    columns: tuple[str, ...] | None
    lenient: bool

    def __str__(self) -> str:
        return self.name if self.size == self.whole else f"{self.name} from byte {self.start:,}"


@dataclass(frozen=True, slots=True)
class Stretches:
    """What is looked at in one go: a stretch of a large file, or small files."""

    each: tuple[Stretch, ...]

    def __str__(self) -> str:
        return some(self.each, 3)

    @property
    def size(self) -> int:
        """How many bytes it is."""
        return sum(stretch.size for stretch in self.each)


@dataclass(frozen=True, slots=True)
class Look:
    """What was found in a stretch.

    Attributes
    ----------
    newlines, checksums
        Of each block.
    unended
        Whether it ends, but not with a new line.
    form, rows
        What the file is, and how many rows it says it has; both of a first stretch only. No form stands for a file that
        can be read only from its beginning.
    refusal
        Why the file cannot be read with these options, if so.
    """

    newlines: tuple[int, ...]
    checksums: tuple[int, ...]
    unended: bool
    form: Form | None = None
    rows: int | None = None
    refusal: str = ""


def stretches(files: Sequence[tuple[str, int]], *, columns: tuple[str, ...] | None, skip_bad: bool) -> list[Stretch]:
    """Cut files, given as they are called with their sizes, into stretches; an empty file is one, too."""
    step = BLOCK * BLOCKS_A_STRETCH
    return [
        Stretch(number, absolute(name), name, start, min(step, size - start), size, columns, skip_bad)
        for number, (name, size) in enumerate(files)
        for start in range(0, size or 1, step)
    ]


def together(found: Iterable[Stretch]) -> list[Stretches]:
    """Put stretches that follow each other together where they are whole files, and small ones."""
    step = BLOCK * BLOCKS_A_STRETCH
    groups: list[list[Stretch]] = []
    room = 0  # bytes that fit into the last group
    for stretch in found:
        small = stretch.size == stretch.whole <= room
        if not groups or not small or len(groups[-1]) == FILES_AT_ONCE:
            groups.append([])
            room = step if stretch.size == stretch.whole else 0
        groups[-1].append(stretch)
        room -= stretch.size
    return [Stretches(tuple(group)) for group in groups]


def look(stretches: Stretches, _state: None = None) -> tuple[Look, ...]:
    """Look at stretches of files.

    Raises
    ------
    DataError
        If one cannot be read, or is not what its name says.
    """
    return tuple(_look(stretch) for stretch in stretches.each)


def _look(stretch: Stretch) -> Look:
    newlines, checksums = [], []
    last = b"\n"
    for number, block in enumerate(_blocks(stretch)):
        newlines.append(newlines_in(block))
        checksums.append(kernels.checksum(np.frombuffer(block, np.uint8)))
        # A file with nothing but a byte order mark has no line.
        text = block if stretch.start or number else block.removeprefix(BOM)
        last = text[-1:] or last
    found = tuple(newlines), tuple(checksums), last != b"\n"
    if stretch.start:
        return Look(*found)
    go_over_to(stretch.path)
    try:
        known = form_of(stretch.path, stretch.name, stretch.columns, lenient=stretch.lenient)
    except LayoutError as error:
        return Look(*found, refusal=str(error))
    return Look(*found) if known is None else Look(*found, *known)


def _blocks(stretch: Stretch) -> Iterator[bytes]:
    try:
        with open_binary(stretch.path) as stream:
            stream.seek(stretch.start)
            for first in range(0, stretch.size, BLOCK):
                wanted = min(BLOCK, stretch.size - first)
                block = stream.read(wanted)
                if len(block) < wanted:
                    raise ChangedError(f"{stretch.name} became shorter while it was read; do not write to it meanwhile")
                yield block
    except OSError as error:
        raise DataError(unreadable(stretch.name, error)) from error


class SurveyedFile:
    """A file all stretches of which were looked at.

    Parameters
    ----------
    looks
        What was found in each stretch, in their order.

    Attributes
    ----------
    rows
        How many it has; None if it can be read only from its beginning, so that nobody knows.
    number
        Which of the files it is.
    size
        Its bytes.
    """

    def __init__(self, looks: Sequence[tuple[Stretch, Look]]) -> None:
        self._stretch, first = looks[0]
        self._form = first.form
        self._lines = first.form is not None and not first.form.parquet
        self._before = [0, *accumulate(count for _, each in looks for count in each.newlines)]
        self._checksums = [checksum for _, each in looks for checksum in each.checksums]
        self.number = self._stretch.file
        self.size = self._stretch.whole
        self.rows: int | None = None
        if first.form is not None:
            self.rows = self._before[-1] + looks[-1][1].unended if first.rows is None else first.rows

    def whole(self) -> TripleRange:
        """Return all rows without counting them."""
        where = self._stretch
        return TripleRange(where.file, where.path, where.name, size=self.size)

    def some(self, first: int, count: int) -> TripleRange:
        """Return some rows of a file whose rows are known."""
        where, rows = self._stretch, self.rows or 1
        # The block in which the row before ends.
        block = max(0, bisect_left(self._before, first) - 1) if self._lines else 0
        skip = first - self._before[block] if self._lines else 0
        size = self.size * (first + count) // rows - self.size * first // rows
        return TripleRange(where.file, where.path, where.name, first, count, block * BLOCK, skip, self._form, size)

    def content(self, part: TripleRange) -> list[int]:
        """Return numbers that differ if rows of this file do; at least if they, or rows close to them, do."""
        if not self._lines or part.count is None:
            return self._checksums
        end = bisect_left(self._before, part.first + part.count)
        # Where a line of the range ends is in the last of these blocks.
        return self._checksums[part.byte // BLOCK : end]
