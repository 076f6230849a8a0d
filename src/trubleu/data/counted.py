"""Large files looked at and their rows counted, piece by piece, which many can do at once.

A column of a corpus, such as the outputs of a system, is a file or a folder of files, one after the other in the order
of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.data import places
from trubleu.data.compression import is_packed
from trubleu.data.files import BOM, name_of, open_bytes, unreadable
from trubleu.data.record_rows import Form, form_of_file, parquet_height
from trubleu.errors import BadPartitionsError, DataError, counted, some

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from trubleu.data.files import PathLike

BLOCK: Final = 2**20
"""Bytes of a block, the lines of which are counted together."""

BLOCKS_A_PIECE: Final = 64
"""Blocks that are counted in one go."""

Mapped = Callable[[str, Callable[[Any, None], Any], Sequence[Any]], Iterable[tuple[Any, Any]]]
"""Calls a function for each of some things, wherever that is done, and yields both, in order; a stage has a name."""


def mapped_here(_stage: str, function: Callable[[Any, None], Any], things: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Call a function for each of some things, one after the other."""
    return ((thing, function(thing, None)) for thing in things)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file, wherever it is read from, and as messages call it."""

    path: str
    name: str

    def __str__(self) -> str:
        return self.name


class Look(NamedTuple):
    """What a look at a file tells."""

    form: Form | None
    """What a row is; None if there is nothing in the file."""
    packed: bool
    """Whether it is compressed."""
    size: int
    """In bytes, as it is."""


def files_of(path: PathLike) -> list[NamedFile]:
    """Return a file, or the files of a folder in the order of their names.

    Raises
    ------
    DataError
        If the folder has no files, or cannot be listed.
    """
    name = name_of(path)
    try:
        if not places.is_folder(path):
            return [NamedFile(places.absolute(path), name)]
        found = places.files_below(path)
    except OSError as error:
        raise DataError(unreadable(name, error)) from error
    if not found:
        raise DataError(f"{name} is a folder without files; put the parts of a column there, or name a file")
    return [NamedFile(places.absolute(each), each) for each in found]


def look_at(file: NamedFile, _state: None = None) -> Look:
    """Find out what a file holds.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    try:
        packed = is_packed(places.first_bytes(file.path, 4))
        size = places.byte_size(file.path)
    except OSError as error:
        raise DataError(unreadable(file.name, error)) from error
    return Look(form_of_file(file.path, file.name, packed=packed), packed, size)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some blocks of a file, to be counted; a compressed file and a Parquet file are one piece, of a single block.

    Attributes
    ----------
    file
        The file.
    form
        What its rows are.
    start, size
        Which bytes of it; no size for one that is a single block.
    """

    file: NamedFile
    form: Form
    start: int
    size: int | None

    def __str__(self) -> str:
        return self.file.name if self.size is None else f"{self.file.name} from byte {self.start}"


class Count(NamedTuple):
    """What is in a piece."""

    rows: list[int]
    """Of each block: ends of lines."""
    unended: bool
    """Whether the piece ends, but not with a new line."""


def pieces(file: NamedFile, look: Look) -> list[Piece]:
    """Cut a file into pieces."""
    if look.form is None:
        return []
    if look.packed or look.form == "parquet":
        return [Piece(file, look.form, 0, None)]
    step = BLOCK * BLOCKS_A_PIECE
    return [Piece(file, look.form, start, min(step, look.size - start)) for start in range(0, look.size, step)]


def count_rows(piece: Piece, _state: None = None) -> Count:
    """Count the rows of a piece, block by block."""
    if piece.form == "parquet":
        return Count([parquet_height(piece.file.path, piece.file.name)], unended=False)
    newlines: list[int] = []
    last = b"\n"
    for number, block in enumerate(file_blocks(piece.file, piece.start, piece.size, packed=piece.size is None)):
        newlines.append(block.count(b"\n"))
        # A file with nothing but a byte order mark has no line.
        text = block if piece.start or number else block.removeprefix(BOM)
        last = text[-1:] or last
    return Count([sum(newlines)] if piece.size is None else newlines, last != b"\n")


class CountedFile:
    """A file whose rows were counted.

    Parameters
    ----------
    file, look
        The file, and what it is.
    counts
        What was counted in each of its `pieces`.

    Attributes
    ----------
    rows
        How many rows it has.
    """

    def __init__(self, file: NamedFile, look: Look, counts: Sequence[Count]) -> None:
        self.file = file
        self.look = look
        newlines = [rows for count in counts for rows in count.rows]
        self._before = np.array([0, *accumulate(newlines)])
        self.rows = sum(newlines) + (bool(counts) and counts[-1].unended)

    def begin(self, row: int) -> tuple[int, int]:
        """Return from which byte on a row is found, and how many ends of lines come before it there."""
        if self.look.packed or self.look.form == "parquet":
            return 0, row
        # The block with the end of the line before.
        block = max(0, int(np.searchsorted(self._before, row, side="left")) - 1)
        return block * BLOCK, row - int(self._before[block])


class CountedColumn:
    """A column whose rows were counted.

    Parameters
    ----------
    name
        What it is called in messages.
    files
        Its files, one after the other.

    Attributes
    ----------
    form
        What its rows are; text if there are none.
    rows
        How many rows it has.
    starts
        The number of the first row of each file.
    packed
        Whether some file is compressed.

    Raises
    ------
    DataError
        If files are of different forms.
    """

    def __init__(self, name: str, files: Sequence[CountedFile]) -> None:
        self.name = name
        self.files = files
        *self.starts, self.rows = accumulate((file.rows for file in files), initial=0)
        self.packed = any(file.look.packed for file in files)
        forms = {form: file.file.name for file in files if (form := file.look.form) is not None}
        if len(forms) > 1:
            raise DataError(f"the files of {name} do not hold the same: {some(forms.values())}; give them one form")
        self.form: Form = next(iter(forms), "text")


def counted_columns(paths: Sequence[PathLike], mapped: Mapped = mapped_here) -> list[CountedColumn]:
    """Count the rows of all files of some columns.

    Raises
    ------
    DataError
        If a file cannot be used.
    """
    files = {name_of(path): files_of(path) for path in paths}
    every = list(dict.fromkeys(file for each in files.values() for file in each))
    looks = dict(_seen(mapped("look at files", look_at, every)))
    cut = [piece for file in every for piece in pieces(file, looks[file])]
    counts = mapped("count lines", count_rows, cut)
    found = {file: [count for _, count in group] for file, group in groupby(counts, key=lambda each: each[0].file)}
    columns = {
        name: CountedColumn(name, [CountedFile(file, looks[file], found.get(file, [])) for file in each])
        for name, each in files.items()
    }
    return [columns[name_of(path)] for path in paths]


def _seen(looks: Iterable[tuple[NamedFile, Look]]) -> Iterator[tuple[NamedFile, Look]]:
    try:
        yield from looks
    except BadPartitionsError as error:
        if len(error.partitions) > 1:
            raise
        raise DataError(next(iter(error.partitions.values()))) from error


def file_blocks(file: NamedFile, start: int, size: int | None, *, packed: bool) -> Iterator[bytes]:
    """Yield some of a file in blocks, all that follows if there is no size; decompressed if it is compressed."""
    if packed:
        with open_bytes(file.path, file.name) as content:
            yield from iter(lambda: content.read(BLOCK), b"")
        return
    try:
        with places.open_binary(file.path) as stream:
            stream.seek(start)
            yield from _limited(stream, file.name, size)
    except OSError as error:
        raise DataError(unreadable(file.name, error)) from error


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
