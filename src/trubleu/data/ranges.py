"""A corpus cut into ranges of rows, each of which can be read alone.

From the rows counted in each block of a file follows near which byte a line begins. A range is read from there on, less
the lines before it. A compressed file can only be read from its start, so ranges of compressed files are whole files.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from trubleu.data.counted import changed, check_readable, file_blocks
from trubleu.data.files import lines_of_blocks
from trubleu.data.line_reader import after_line, newlines_in
from trubleu.data.record_rows import forget_copies, json_rows, parquet_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.data.counted import CountedColumn, NamedFile
    from trubleu.data.record_rows import Form
    from trubleu.data.stream import LineStream, Part


@dataclass(frozen=True, slots=True)
class Span:
    """Where some rows of a range are in one file: so many after some that are skipped, which begin at a byte.

    Attributes
    ----------
    file
        The file.
    form, packed
        What its rows are, and whether it is compressed.
    byte, skip
        Where to begin, and how many lines to skip there.
    first, count
        The number of rows of the file before those of the range, and how many these are.
    """

    file: NamedFile
    form: Form
    packed: bool
    byte: int
    skip: int
    first: int
    count: int

    def rows(self, fields: Sequence[str] = ()) -> Iterator[list[Any]]:
        """Yield the rows in lists of any length: lines of text, or records of which some fields are looked at.

        Raises
        ------
        DataError
            If they cannot be read, or are no longer all there.
        """
        found = 0
        for rows in self._rows(fields):
            found += len(rows)
            yield rows
        if found != self.count:
            raise changed(self.file)

    def digest(self) -> bytes:
        """Return what differs if the rows do."""
        found = hashlib.blake2b(digest_size=32)
        if self.form == "parquet":
            for rows in self._rows(()):
                found.update(repr([row.record for row in rows]).encode("utf-8", "surrogatepass"))
            return found.digest()
        for block in self._lines():
            found.update(block)
        return found.digest()

    def content(self) -> bytes:
        """Return the lines as they are."""
        return b"".join(self._lines())

    def _lines(self) -> Iterator[bytes]:
        blocks = self._own_blocks()
        next(blocks)
        yield from blocks  # type: ignore[misc]

    def _rows(self, fields: Sequence[str]) -> Iterator[list[Any]]:
        name = self.file.name
        if self.form == "parquet":
            check_readable(self.file)
            yield from parquet_rows(self.file.path, name, fields, self.first, self.count)
            return
        blocks = self._own_blocks()
        offset = next(blocks)
        number = self.first
        for lines in lines_of_blocks(blocks, name, offset=offset, number=number):  # type: ignore[arg-type]
            yield lines if self.form == "text" else json_rows(lines, name, number)
            number += len(lines)

    def _own_blocks(self) -> Iterator[int | bytes]:
        """Yield the byte at which the lines begin, and then what is theirs and nothing of their neighbours'."""
        skip, left, offset = self.skip, self.count, self.byte
        begun = False
        for block in file_blocks(self.file, self.byte, None, packed=self.packed):
            rest = block
            if skip:
                newlines = newlines_in(block)
                if newlines < skip:
                    skip -= newlines
                    offset += len(block)
                    continue
                cut = after_line(block, skip)
                rest, skip, offset = block[cut:], 0, offset + cut
            if not begun:
                begun = True
                yield offset
            newlines = newlines_in(rest)
            if newlines >= left:
                yield rest[: after_line(rest, left)]
                return
            left -= newlines
            yield rest
        if not begun:
            yield offset


@dataclass(frozen=True, slots=True)
class LineRange:
    """Some rows of all columns of a corpus, which can be read alone.

    Attributes
    ----------
    first, count
        How many rows went before, and how many these are.
    spans
        Where they are in each of the corpus' columns: in one file or in several.
    """

    first: int
    count: int
    spans: tuple[tuple[Span, ...], ...]

    def __str__(self) -> str:
        return f"lines {self.first + 1:,} to {self.first + self.count:,}"

    def __len__(self) -> int:
        return self.count

    def parts(self, stream: LineStream) -> Iterator[Part]:
        """Yield the parts of the range, its columns being those of the corpus."""
        # Who works on one range after the other must not hold all tables in the end.
        forget_copies(but=[span.file.path for spans in self.spans for span in spans])
        columns = [_rows(spans, fields) for spans, fields in zip(self.spans, stream.fields, strict=True)]
        return stream.parts(columns, self.first)


def _rows(spans: Sequence[Span], fields: Sequence[str]) -> Iterator[list[Any]]:
    for span in spans:
        yield from span.rows(fields)


def line_ranges(columns: Sequence[CountedColumn], rows: int) -> list[LineRange]:
    """Cut columns of the same number of rows into ranges of ``rows`` rows, the last one shorter.

    Where a column is compressed, ranges are whole files of it, as many as have ``rows`` rows at least; if several are,
    those of the one with the fewest files, so that hardly any file is unpacked more than twice.
    """
    end = columns[0].rows
    packed = [column for column in columns if column.packed]
    bounds = [*range(0, end, rows), end] if not packed else _bounds(min(packed, key=_file_count), rows)
    return [
        LineRange(first, last - first, tuple(spans(column, first, last) for column in columns))
        for first, last in pairwise(bounds)
        if last > first
    ]


def spans(column: CountedColumn, first: int, last: int) -> tuple[Span, ...]:
    """Return where some rows of a column are."""
    found = []
    for number in range(max(0, bisect_right(column.starts, first) - 1), len(column.files)):
        file, start = column.files[number], column.starts[number]
        if start >= last:
            break
        begin, end = max(first - start, 0), min(last - start, file.rows)
        if begin < end:
            byte, skip = file.begin(begin)
            found.append(Span(file.file, column.form, file.look.packed, byte, skip, begin, end - begin))
    return tuple(found)


def _file_count(column: CountedColumn) -> int:
    return len(column.files)


def _bounds(column: CountedColumn, rows: int) -> list[int]:
    bounds = [0]
    for start in column.starts:
        if start - bounds[-1] >= rows:
            bounds.append(start)
    return [*bounds, column.rows]
