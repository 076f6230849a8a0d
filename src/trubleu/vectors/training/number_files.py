"""Files of numbers between the stages of counting, written atomically.

Workers write parts into one folder, which must have the same path on all of them. A part is a file of arrays, sealed
with the key; some have a file of numbers beside them.
"""

from __future__ import annotations

import hashlib
import mmap
import platform
import secrets
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.files.arrays import ArrayFile, Kind, write_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]

NO_ENTRY: Final = 2**32 - 2
"""Marks a position where no frequent n-gram begins."""

SENTENCE_END: Final = 2**32 - 1
"""Follows the last word of each sentence."""

PART: Final = Kind(magic=b"TBcount\n", version=2, name="part of a count", remedy="train again")

_CHUNK: Final = 1 << 22  # numbers per chunk
_SUMMED: Final = 1 << 24  # numbers per checksum step


class MappedNumbers:
    """A memory-mapped file of numbers.

    Attributes
    ----------
    numbers
        What it holds.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            self._memory = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        self.numbers: Numbers = np.frombuffer(self._memory, np.uint32)

    def release(self) -> None:
        """Release the memory of pages already read; the file stays mapped."""
        if hasattr(mmap, "MADV_DONTNEED"):  # not available on Windows
            self._memory.madvise(mmap.MADV_DONTNEED)

    def checksum(self) -> str:
        """Return a hash of the numbers: BLAKE2b, for which collisions cannot be forged."""
        found = hashlib.blake2b(digest_size=32)
        for first in range(0, len(self.numbers), _SUMMED):
            found.update(self.numbers[first : first + _SUMMED].data)
            self.release()
        return found.hexdigest()


def chunks(path: Path, first: int = 0, count: int | None = None, *, overlap: int = 0) -> Iterator[Numbers]:
    """Yield numbers of a file in chunks, each followed by up to ``overlap`` numbers of the next.

    Parameters
    ----------
    path
        The file.
    first, count
        Which numbers; all that follow if there is no count.
    overlap
        How many of the next chunk's come with each.
    """
    if path.stat().st_size == 0:
        return
    file = MappedNumbers(path)
    end = len(file.numbers) if count is None else first + count
    for begin in range(first, end, _CHUNK):
        yield np.array(file.numbers[begin : min(begin + _CHUNK, end) + overlap])
        file.release()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a count in the folder of a training run, as workers find it.

    Attributes
    ----------
    folder
        Where they are.
    key
        Seals them.
    """

    folder: str
    key: bytes = field(repr=False)

    def check_reachable(self) -> None:
        """Raise an error if the folder is not reachable from this machine.

        Raises
        ------
        UsageError
            If it is not there, which is so on every partition.
        """
        if not Path(self.folder).is_dir():
            raise UsageError(
                f"the folder {self.folder} is not there on {platform.node()}; put the store where all workers find it "
                "under the same path"
            )

    def path(self, name: str) -> Path:
        """Return the path of a part."""
        return Path(self.folder, name)

    def numbers(self, name: str) -> Path:
        """Return the file of numbers beside a part."""
        return Path(self.folder, f"{name}.ids")

    def open(self, name: str) -> ArrayFile:
        """Open a part.

        Raises
        ------
        DataError
            If it cannot be read.
        """
        return ArrayFile(self.path(name), PART, key=self.key)

    def write(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a part.

        Raises
        ------
        UsageError
            If it cannot be written: no other part could be, so all work stops.
        """
        path = self.path(name)
        try:
            write_arrays(path, PART, {}, arrays, key=self.key)
        except DataError as error:
            if isinstance(error.__cause__, OSError):
                raise _unwritable(path, error.__cause__) from error
            raise UsageError(str(error)) from error

    def remove(self, *kinds: str) -> None:
        """Remove the parts whose names begin with one of these words."""
        for kind in kinds:
            for part in Path(self.folder).glob(f"{kind}*"):
                part.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[Callable[[Numbers], None]]:
    """Yield a function that writes numbers to a file, atomically.

    Raises
    ------
    UsageError
        If it cannot be written: no other file could be, so all work stops.
    """
    temporary = path.with_name(f".trubleu-{secrets.token_hex(8)}.tmp")
    try:
        with _noticed(path):
            stream = temporary.open("xb")
        try:
            yield lambda numbers: _write(path, stream, numbers)
            with _noticed(path):
                stream.close()
                temporary.replace(path)
        finally:
            with suppress(OSError):
                stream.close()
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _write(path: Path, stream: BinaryIO, numbers: Numbers) -> None:
    with _noticed(path):
        stream.write(numbers.data)


@contextmanager
def _noticed(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror or error}; make room, and train again")
