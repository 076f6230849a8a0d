"""Files of numbers between the stages of counting; each is complete or absent, and says what it was made from.

Workers write parts into one folder, which all of them find under the same path. A part is a file of arrays whose header
has the ``job``, all that it depends on; some have a file of numbers beside them. What is there from the same job, with
the right checksums, is not made again.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import platform
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.files.arrays import ArrayFile, Kind, write_arrays
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]

NO_ENTRY: Final = 2**32 - 2
"""Stands where no frequent n-gram begins."""

SENTENCE_END: Final = 2**32 - 1
"""Follows the last word of each sentence."""

PART: Final = Kind(magic=b"TBcount\n", version=1, name="part of a count", remedy="remove it")

_CHUNK: Final = 1 << 22  # numbers worked on at once
_SUMMED: Final = 1 << 24  # numbers whose checksum is made at once


class MappedNumbers:
    """A file of numbers, mapped into memory.

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
        """Give back the memory of what has been read; the file stays mapped."""
        if hasattr(mmap, "MADV_DONTNEED"):  # Windows does not have it
            self._memory.madvise(mmap.MADV_DONTNEED)

    def checksum(self) -> str:
        """Return what differs if the numbers do."""
        sums = []
        for first in range(0, len(self.numbers), _SUMMED):
            sums.append(kernels.checksum(self.numbers[first : first + _SUMMED].view(np.uint8)))
            self.release()
        return f"{kernels.checksum(np.array(sums, '<u8').view(np.uint8)):016x}"


def checksum_of(path: Path) -> str:
    """Return the checksum of a file of numbers, which may have none and could then not be mapped."""
    return MappedNumbers(path).checksum() if path.stat().st_size else "no numbers"


def chunks(path: Path, first: int = 0, count: int | None = None, *, overlap: int = 0) -> Iterator[Numbers]:
    """Yield some numbers of a file in chunks, each followed by the ``overlap`` next ones, as far as there are any.

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


def job_of(*depends_on: object) -> str:
    """Return what is the same for two jobs if all that they depend on is.

    Examples
    --------
    >>> job_of("13a", 5) == job_of("13a", 5), job_of("13a", 5) == job_of("13a", 6)
    (True, False)
    """
    return hashlib.blake2b(json.dumps(depends_on).encode(), digest_size=32).hexdigest()


def check_reachable(folder: str) -> None:
    """Refuse to work where the folder of a training is not.

    Raises
    ------
    UsageError
        If it is not there, which is so on every partition.
    """
    if not Path(folder).is_dir():
        raise UsageError(
            f"the folder {folder} is not there on {platform.node()}; put the store where all workers find it under the "
            "same path"
        )


def finished(path: Path, job: Callable[[], str]) -> ArrayFile | None:
    """Return a part if it was made from the same job and nothing of it was damaged since.

    Parameters
    ----------
    path
        The part; its numbers, if it has any, lie beside it.
    job
        What it depends on; asked for only if there is a part.
    """
    if not path.exists():
        return None
    try:
        file = ArrayFile(path, PART)
        for name in file.lengths:
            file.array(name)
        if file.header["job"] != job():
            return None
        if "checksum" in file.header and checksum_of(numbers_of(path)) != file.header["checksum"]:
            return None
    except (DataError, OSError, ValueError, KeyError):  # ValueError for numbers that were cut off
        return None
    return file


def open_part(path: Path, job: str) -> ArrayFile:
    """Open a part that was found or made from this job.

    Raises
    ------
    DataError
        If it cannot be read, or was replaced since.
    """
    part = ArrayFile(path, PART)
    if part.header.get("job") != job:
        raise DataError(f"{path} was replaced by another count; let one training at a time write to that folder")
    return part


def numbers_of(part: Path) -> Path:
    """Return the file of numbers beside a part."""
    return part.with_name(f"{part.name}.ids")


def write_part(path: Path, job: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a part; its numbers must be there already.

    Raises
    ------
    UsageError
        If it cannot be written: no other part could be, so all work stops.
    """
    try:
        write_arrays(path, PART, {"job": job, **header}, arrays)
    except DataError as error:
        if isinstance(error.__cause__, OSError):
            raise _unwritable(path, error.__cause__) from error
        raise UsageError(f"{error}; continue with --resume") from error


@contextmanager
def writing(path: Path) -> Iterator[Callable[[Numbers], None]]:
    """Yield what writes numbers to a file that appears whole or not at all.

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
    return UsageError(f"{path} cannot be written: {error.strerror or error}; make room, and continue with --resume")
