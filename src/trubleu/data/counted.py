"""Large files looked at and their rows counted, piece by piece, which many can do at once.

A column of a corpus, such as the outputs of a system, is a file or a folder of files, one after the other in the order
of their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.data import places
from trubleu.data.compression import is_packed
from trubleu.data.files import BOM, is_standard, name_of, open_bytes, unreadable
from trubleu.data.line_reader import newlines_in
from trubleu.data.record_rows import Form, Role, forget_copies, form_of_file, parquet_height
from trubleu.errors import BadPartitionsError, ChangedError, DataError, counted, some

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from trubleu.data.files import PathLike

State = tuple[int | str, ...]
"""What differs once a file was written to."""

BLOCK: Final = 2**20
"""Bytes of a block, the lines of which are counted together."""

BLOCKS_A_PIECE: Final = 64
"""Blocks that are counted in one go."""

_WITHOUT_RANGES: Final = "put it into a file, or give single files without --engine"

Mapped = Callable[[str, Callable[[Any, None], Any], Sequence[Any]], Iterable[tuple[Any, Any]]]
"""Calls a function for each of some things, wherever that is done, and yields both, in order; a stage has a name."""


def mapped_here(_stage: str, function: Callable[[Any, None], Any], things: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Call a function for each of some things, one after the other."""
    return ((thing, function(thing, None)) for thing in things)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a column.

    Attributes
    ----------
    path
        Where it is read from.
    name
        What messages call it.
    role
        What the column is.
    state
        How it was when it was looked at; whoever reads it later must find it like that.
    """

    path: str
    name: str
    role: Role = "references"
    state: State | None = None

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
    state: State
    """How it is now."""


def files_of(path: PathLike, role: Role = "references") -> list[NamedFile]:
    """Return a file, or the files of a folder in the order of their names.

    Raises
    ------
    DataError
        If the folder has no files, or cannot be listed, or a file is a pipe.
    """
    name = name_of(path)
    if is_standard(path):
        raise DataError(f"- (standard input) cannot be cut into ranges; {_WITHOUT_RANGES}")
    try:
        if not places.is_folder(path):
            return [NamedFile(_reachable(path, name), name, role)]
        found = places.files_below(path)
    except OSError as error:
        raise DataError(unreadable(name, error)) from error
    if not found:
        raise DataError(f"{name} is a folder without files; put the parts of a column there, or name a file")
    return [NamedFile(_reachable(each, each), each, role) for each in found]


def _reachable(path: PathLike, name: str) -> str:
    """Return where others, who need not have this process' standard input, find a file."""
    whole = places.absolute(path)
    if places.is_remote(path):
        return whole
    if places.exists(whole) and not places.is_file(whole):
        raise DataError(f"{name} is a pipe, which cannot be cut into ranges; {_WITHOUT_RANGES}")
    # Behind /dev/stdin may be a file, but in each process another one.
    return os.path.realpath(whole) if whole.startswith(("/dev/", "/proc/")) else whole


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
        state = _state_of(file.path)
    except OSError as error:
        raise DataError(unreadable(file.name, error)) from error
    return Look(form_of_file(file.path, file.name, file.role, packed=packed), packed, size, state)


def check_unchanged(file: NamedFile) -> None:
    """Refuse a file that was written to since it was looked at: what was counted no longer holds.

    Raises
    ------
    DataError
        If it was.
    OSError
        If it is not there or may not be seen.
    """
    if file.state is not None and _state_of(file.path) != file.state:
        raise changed(file)


def changed(file: NamedFile) -> ChangedError:
    """Return the error about a file that was written to."""
    return ChangedError(
        f"{file.name} changed while it was read; do not write to it meanwhile, and begin again "
        "(copies on several machines must have one time, as rsync -t gives them)"
    )


def _state_of(path: str) -> State:
    if places.is_remote(path):
        return (places.modified(path),)
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


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
        check_readable(piece.file)
        forget_copies(but=[piece.file.path])
        return Count([parquet_height(piece.file.path, piece.file.name)], unended=False)
    newlines: list[int] = []
    last = b"\n"
    for number, block in enumerate(file_blocks(piece.file, piece.start, piece.size, packed=piece.size is None)):
        newlines.append(newlines_in(block))
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


def counted_columns(
    paths: Sequence[PathLike], mapped: Mapped = mapped_here, roles: Sequence[Role] = ()
) -> list[CountedColumn]:
    """Count the rows of all files of some columns, which are of references if nothing is said.

    Raises
    ------
    DataError
        If a file cannot be used.
    """
    roles = roles or ["references"] * len(paths)
    given = [(name_of(path), role) for path, role in zip(paths, roles, strict=True)]
    files = {key: files_of(path, key[1]) for key, path in zip(given, paths, strict=True)}
    every = list(dict.fromkeys(file for each in files.values() for file in each))
    looks = dict(_seen(mapped("look at files", look_at, every)))
    seen = {file: replace(file, state=looks[file].state) for file in every}
    cut = [piece for file in every for piece in pieces(seen[file], looks[file])]
    counts = mapped("count lines", count_rows, cut)
    found = {file: [count for _, count in group] for file, group in groupby(counts, key=lambda each: each[0].file)}
    columns = {
        key: CountedColumn(key[0], [CountedFile(seen[file], looks[file], found.get(seen[file], [])) for file in each])
        for key, each in files.items()
    }
    return [columns[key] for key in given]


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
            check_unchanged(file)
            yield from iter(lambda: content.read(BLOCK), b"")
        return
    try:
        with places.open_binary(file.path) as stream:
            check_unchanged(file)  # once it is open, when systems of files in a network have asked how it is
            stream.seek(start)
            yield from _limited(stream, file.name, size)
    except OSError as error:
        raise DataError(unreadable(file.name, error)) from error


def check_readable(file: NamedFile) -> None:
    """Refuse what cannot be found, or is not as it was looked at (see `check_unchanged`)."""
    try:
        check_unchanged(file)
    except OSError as error:
        raise DataError(unreadable(file.name, error)) from error


def _limited(stream: BinaryIO, name: str, size: int | None) -> Iterator[bytes]:
    left = size
    while left is None or left > 0:
        block = stream.read(BLOCK if left is None else min(BLOCK, left))
        if not block:
            if left is not None:
                raise ChangedError(f"{name} became {counted(left, 'byte')} shorter while it was read; begin again")
            return
        left = None if left is None else left - len(block)
        yield block
