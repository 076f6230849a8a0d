"""Split files into ranges of rows that can be read independently, on any machine.

A survey determines what each file is and counts the lines in each of its blocks. A range is read from the block in
which it begins, skipping the lines before it. A compressed file can only be read from its start, so it counts as one
block. A Parquet file states its number of rows.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from trubleu.errors import BadPartitionsError, ChangedError, DataError
from trubleu.files import paths
from trubleu.files.compression import is_packed
from trubleu.files.jsonl import parse_object
from trubleu.files.lines import BOM, decode_leniently, decode_lines, lines_of_blocks, newlines_in, opened, own_lines
from trubleu.files.parquet import damage_named, open_parquet
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.progress import Progress

BLOCK: Final = 2**20
"""Bytes per block of the line index."""

BLOCKS_A_PIECE: Final = 64
"""Blocks counted per task."""

SLICE: Final = 1 << 14
"""Rows of a Parquet file that are decoded together."""

State = tuple[int | str, ...]
"""Compared to detect that a file was written to."""

Mapped = Callable[[str, Callable[[Any, None], Any], Sequence[Any]], Iterable[tuple[Any, Any]]]
"""Maps a function over things, here or on an engine, and yields both in order; the first argument names the stage."""


def mapped_here(_stage: str, function: Callable[[Any, None], Any], things: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Map a function over things in this process."""
    return ((thing, function(thing, None)) for thing in things)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that is read in ranges, possibly on several machines; all but its names is known after `look`.

    Attributes
    ----------
    path
        Where it is read from.
    name
        What messages call it.
    state
        How it was when it was looked at; whoever reads it later must find it like that.
    size
        Its bytes, compressed if it is.
    packed
        Whether it is compressed.
    form
        The form of its rows: ``"text"``, ``"jsonl"``, ``"parquet"`` or what a subclass knows. None if it has no rows,
        or can only be read as a whole.
    height
        The number of rows, if the file states it.
    """

    path: str
    name: str
    state: State | None = None
    size: int = 0
    packed: bool = False
    form: Any = None
    height: int | None = None

    def __str__(self) -> str:
        return self.name

    def look(self) -> Self:
        """Return the file with everything that is known before its lines are counted.

        Raises
        ------
        DataError
            If it cannot be read.
        """
        paths.keep_copies([self.path])
        with paths.reading(self.name):
            packed = is_packed(paths.first_bytes(self.path, 4))
            size, state = paths.byte_size(self.path), state_of(self.path)
        seen = replace(self, state=state, size=size, packed=packed)
        form, height = seen.find_form()
        return replace(seen, form=form, height=height)

    def find_form(self) -> tuple[Any, int | None]:
        """Return the form of the rows and their number, if the file states it; subclasses look into the file."""
        return None if self.packed else "text", None

    def pieces(self, *, contents: bool = False) -> list[Piece]:
        """Split the file into pieces to count; with ``contents``, also if only their checksums are wanted."""
        if self.form is None or self.height is not None:
            if not contents:
                return []
        elif self.packed:
            return [Piece(self, 0, None)]
        step = BLOCK * BLOCKS_A_PIECE
        return [Piece(self, start, min(step, self.size - start)) for start in range(0, self.size or 1, step)]

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

    def blocks(
        self, start: int = 0, size: int | None = None, *, packed: bool = False, progress: Progress | None = None
    ) -> Iterator[bytes]:
        """Yield the content from an offset on in blocks, to the end of the file if no size is given.

        Parameters
        ----------
        start, size
            Which bytes.
        packed
            Whether to decompress the file; it is then read whole.
        progress
            Told how many more bytes of the file have been read.

        Raises
        ------
        DataError
            If it cannot be read, or is no longer what it was.
        """
        tell = progress or (lambda _bytes: None)
        if packed:
            with opened(self.path, self.name) as (content, raw):
                self.check_unchanged()
                reached = 0
                while True:
                    block = content.read(BLOCK)
                    at = reached + len(block) if raw is None else raw.tell()
                    tell(at - reached)
                    reached = at
                    if not block:
                        return
                    yield block
        with paths.reading(self.name), paths.open_binary(self.path) as stream:
            self.check_unchanged()  # after opening, because network file systems refresh their attributes then
            stream.seek(start)
            while size is None or size > 0:
                block = stream.read(BLOCK if size is None else min(BLOCK, size))
                if not block:
                    if size is not None:
                        raise self.changed()
                    return
                size = None if size is None else size - len(block)
                tell(len(block))
                yield block

    def first_line(self, *, lenient: bool = False) -> str:
        """Return the first line; empty if there is none, or it is not UTF-8 and that is allowed."""
        lines = next(Span(self, count=1 if self.size else 0).lines(lenient=lenient), [])
        return (lines[0] or "") if lines else ""


def state_of(path: str) -> State:
    """Return the current state of a file."""
    if paths.is_remote(path):
        return (paths.modified(path),)
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Piece:
    """Blocks of a file, to be counted.

    Attributes
    ----------
    file
        The file.
    start, size
        Their offset and size in bytes; no size for a compressed file, which is a single block.
    """

    file: SourceFile
    start: int
    size: int | None

    def __str__(self) -> str:
        whole = self.size is None or self.size == self.file.size
        return self.file.name if whole else f"{self.file.name} from byte {self.start:,}"


class LineCount(NamedTuple):
    """Line counts of a piece of a file."""

    newlines: tuple[int, ...]
    """Per block."""
    checksums: tuple[int, ...] = ()
    """Per block."""
    unended: bool = False
    """Whether the file ends in this piece without a newline."""


def look(file: SourceFile, _state: None = None) -> SourceFile:
    """Return `SourceFile.look` of a file; a function that engines can map."""
    return file.look()


def count(piece: Piece, _state: None = None) -> LineCount:
    """Count the lines of a piece, per block; a compressed file is counted as one block."""
    packed = piece.size is None
    newlines, checksums = [], []
    last = b"\n"
    for number, block in enumerate(piece.file.blocks(piece.start, piece.size, packed=packed)):
        newlines.append(newlines_in(block))
        checksums.append(kernels.checksum(np.frombuffer(block, np.uint8)))
        # A file with only a byte order mark has no line.
        text = block if piece.start or number else block.removeprefix(BOM)
        last = text[-1:] or last
    return LineCount((sum(newlines),) if packed else tuple(newlines), tuple(checksums), last != b"\n")


class FileIndex:
    """A file that was looked at and whose lines were counted.

    Parameters
    ----------
    file
        The file.
    counts
        What was counted in each of its pieces.

    Attributes
    ----------
    rows
        How many rows it has; 0 if it has no form.
    """

    def __init__(self, file: SourceFile, counts: Sequence[LineCount]) -> None:
        self.file = file
        self._whole = file.packed or file.height is not None or file.form is None
        self._before = [0, *accumulate(newlines for each in counts for newlines in each.newlines)]
        self._checksums = [checksum for each in counts for checksum in each.checksums]
        self.rows = 0
        if file.form is not None:
            lines = self._before[-1] + (bool(counts) and counts[-1].unended)
            self.rows = lines if file.height is None else file.height

    def span(self, first: int = 0, count: int | None = None) -> Span:
        """Return some rows; without a count the whole file, whether its rows are known or not."""
        if count is None:
            return Span(self.file, size=self.file.size)
        byte, skip = 0, first
        if not self._whole:
            block = self._block(first)
            byte, skip = block * BLOCK, first - self._before[block]
        size, rows = self.file.size, self.rows or 1
        return Span(self.file, first, count, byte, skip, size * (first + count) // rows - size * first // rows)

    def spans(self, rows: int) -> list[Span]:
        """Return spans of ``rows`` rows, the last one shorter."""
        return [self.span(first, min(rows, self.rows - first)) for first in range(0, self.rows, rows)]

    def content(self, span: Span) -> list[int]:
        """Return the checksums of the blocks that hold a span."""
        if self._whole or span.count is None:
            return self._checksums
        # The last of these blocks holds the end of the range's last line.
        return self._checksums[self._block(span.first) : bisect_left(self._before, span.first + span.count)]

    def _block(self, row: int) -> int:
        """Return the block that holds the end of the previous line."""
        return max(0, bisect_left(self._before, row) - 1)


def surveyed(files: Sequence[SourceFile], mapped: Mapped = mapped_here, *, contents: bool = False) -> list[FileIndex]:
    """Look at files and count their lines.

    Parameters
    ----------
    files
        The files; one that is given several times is read once.
    mapped
        Does the work; files that it yields no result for are left out.
    contents
        Whether `FileIndex.content` is wanted of all files, also of those whose lines are not counted.

    Raises
    ------
    DataError
        If a file cannot be used.
    """
    try:
        looks = dict(mapped("look at files", look, list(dict.fromkeys(files))))
        pieces = {given: file.pieces(contents=contents) for given, file in looks.items()}
        counts = dict(mapped("count lines", count, [piece for each in pieces.values() for piece in each]))
    except BadPartitionsError as error:
        if len(error.partitions) > 1:
            raise
        raise DataError(next(iter(error.partitions.values()))) from error
    found = {
        given: FileIndex(looks[given], [counts[piece] for piece in each])
        for given, each in pieces.items()
        if all(piece in counts for piece in each)
    }
    return [found[file] for file in files if file in found]


class Row(NamedTuple):
    """A record with its place and its default id."""

    place: str
    default_id: str
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """Rows of a file that follow each other: all of them, unless they were counted.

    Attributes
    ----------
    file
        The file.
    first, count
        The number of rows of the file before, and of these rows; None for all.
    byte, skip
        The offset at which to start reading, and how many lines to skip there.
    size
        The approximate size of these rows in bytes.
    """

    file: SourceFile
    first: int = 0
    count: int | None = None
    byte: int = 0
    skip: int = 0
    size: int = 0

    def __str__(self) -> str:
        if self.count is None or self.size == self.file.size:
            return self.file.name
        rows = "lines" if self.file.height is None else "rows"
        return f"{self.file.name}, {rows} {self.first + 1:,} to {self.first + self.count:,}"

    def rows(self, fields: Sequence[str] = ()) -> Iterator[list[Any]]:
        """Yield the rows in lists of any length: lines of text, or records with some fields, all if none are given.

        Raises
        ------
        DataError
            If they cannot be read, or are no longer all there.
        """
        found = 0
        for rows in self._records(fields) if self.file.form == "parquet" else self._parsed():
            found += len(rows)
            yield rows
        if self.count is not None and found != self.count:
            raise self.file.changed()

    def lines(
        self, told: Callable[[bytes], object] = len, *, lenient: bool = False, progress: Progress | None = None
    ) -> Iterator[list[Any]]:
        """Yield the lines in lists of any length; ``told`` gets their bytes, ``progress`` counts those of the file.

        With ``lenient``, a line that is not UTF-8 is None.

        Raises
        ------
        DataError
            If they cannot be read, or are not UTF-8.
        """

        def heard() -> Iterator[tuple[int, bytes]]:
            for offset, block in self._own(progress):
                told(block)
                yield offset, block

        return lines_of_blocks(heard(), self.file.name, decode_leniently if lenient else decode_lines, self.first)

    def after(self, rows: int) -> Span:
        """Return the rows of a counted file after some of these."""
        left = None if self.count is None else self.count - rows
        return replace(self, first=self.first + rows, count=left, skip=self.skip + rows)

    def digest(self) -> bytes:
        """Return a hash of the rows."""
        found = hashlib.blake2b(digest_size=32)
        if self.file.form == "parquet":
            for rows in self._records(()):
                found.update(repr([row.record for row in rows]).encode("utf-8", "surrogatepass"))
        else:
            for _, block in self._own():
                found.update(block)
        return found.digest()

    def content(self) -> bytes:
        """Return the lines as they are."""
        return b"".join(block for _, block in self._own())

    def _own(self, progress: Progress | None = None) -> Iterator[tuple[int, bytes]]:
        blocks = self.file.blocks(self.byte, packed=self.file.packed, progress=progress)
        return own_lines(blocks, self.byte, self.skip, self.count, self.file.changed)

    def _parsed(self) -> Iterator[list[Any]]:
        number = self.first
        for lines in self.lines():
            yield lines if self.file.form == "text" else json_rows(lines, self.file.name, number)
            number += len(lines)

    def _records(self, fields: Sequence[str]) -> Iterator[list[Row]]:
        """Yield rows of a Parquet file in slices, with those of ``fields`` that exist."""
        self.file.check_unchanged()
        name, last = self.file.name, self.first + (self.count or 0)
        lazy, there, _ = open_parquet(self.file.path, name)
        wanted = lazy.select([field for field in there if field in fields or not fields])
        with damage_named(name):
            for begin in range(self.first, last, SLICE):
                frame = wanted.slice(begin, min(SLICE, last - begin)).collect()
                yield [
                    Row(f"{name}: row {number}", paths.base_name(f"{name}:{number}"), record)
                    for number, record in enumerate(frame.iter_rows(named=True), begin + 1)
                ]


def json_rows(lines: Sequence[str], name: str, before: int) -> list[Row]:
    """Return the records of some lines; ``before`` is the number of lines before them.

    Raises
    ------
    DataError
        If a line is no object, or blank: records could no longer be matched with those of other files.
    """
    rows = []
    for number, line in enumerate(lines, before + 1):
        place = f"{name}:{number}"
        if not line or line.isspace():
            raise DataError(f"{place} is blank, but here every line must hold one record; remove blank lines")
        rows.append(Row(place, paths.base_name(place), parse_object(line, place)))
    return rows
