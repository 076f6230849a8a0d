"""A memory-mapped container for NumPy arrays.

::

    bytes
     0 –  7   magic bytes: the kind of file
     8 – 15   checksum of all bytes from 16 to the end of the header
    16 – 19   format version
    20 – 23   length of the header
    24 –      header: a JSON object; "arrays" gives the name, dtype, length, offset and checksum of each array
              the arrays, one after the other

All numbers are little-endian. The header and every array are zero-padded to a multiple of 64 bytes. Checksums cover the
padding, so every byte of the file is covered by one. Offsets count from the end of the header. Checksums are computed
by `trubleu.native.kernels.checksum`.

A sealed file cannot be created or changed without its key: the checksums of its arrays are BLAKE2b with that key, and
the header has a checksum of itself, "seal", computed while that field was zeros.

Opening a file reads the header and the file size only, so it is fast for any size. An array's checksum is verified when
the array is first used.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import math
import mmap
import os
import struct
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from trubleu.errors import DataError
from trubleu.files.paths import first_bytes, is_file, is_remote, local_copy, name_of, reading, unreadable
from trubleu.files.writer import atomic_writer
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import BinaryIO

    from numpy.typing import NDArray

    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress

Made = TypeVar("Made")

ALIGNMENT: Final = 64
"""Alignment of every part: a cache line, and more than any kernel needs."""

_START: Final = struct.Struct("<8sQII")
_LONGEST_HEADER: Final = 1 << 20
_BLOCK: Final = 1 << 24  # bytes per write; Ctrl-C and progress are handled in between
_BLANK: Final = "0" * 64
_DTYPES: Final = ("|u1", "<u4", "<u8", "<f2", "<f4", "<f8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of file.

    Attributes
    ----------
    magic
        Its first eight bytes.
    version
        The version of the format that is written and read.
    name
        What messages call such a file, with its article.
    remedy
        What to do about a file that cannot be used, to end a message with.
    """

    magic: bytes
    version: int
    name: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Type and position of an array in the file."""

    name: str
    dtype: str
    length: int
    offset: int
    checksum: str

    @property
    def size(self) -> int:
        """Bytes of the array, without the padding."""
        return self.length * np.dtype(self.dtype).itemsize


def begins_with(path: PathLike, magic: bytes) -> bool:
    """Return whether a file begins with these bytes; False for a pipe, which could not be read again."""
    try:
        return (is_remote(path) or is_file(path)) and first_bytes(path, len(magic)) == magic
    except (OSError, ValueError) as error:
        # The reader of the file reports errors. A dead server is reported here, to avoid waiting for it twice.
        if is_remote(path) and isinstance(error, OSError) and error.errno == errno.EIO:
            raise DataError(unreadable(name_of(path), error)) from error
        return False


def write_arrays(
    path: PathLike,
    kind: Kind,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    progress: Callable[[float], object] | None = None,
    *,
    key: bytes | None = None,
) -> None:
    """Write a file of arrays atomically.

    Parameters
    ----------
    path
        The file.
    kind
        What it is.
    header
        What else `ArrayFile.header` is to hold; plain values.
    arrays
        The arrays by name, in the order in which they are written.
    progress
        Told which share of the file has been written.
    key
        Seals the file; None for a file that anybody may make.
    """
    _check_byte_order(kind)
    entries, parts, end = [], [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).view(np.uint8)
        entries.append(Entry(name, array.dtype.str, len(array), end, _checksum(data, key)))
        parts.append(data)
        end += _aligned(len(data))
    blank = {} if key is None else {"seal": _BLANK}
    table = {**blank, **header, "arrays": [asdict(entry) for entry in entries]}
    text = json.dumps(table, ensure_ascii=False).encode()
    if key is not None:
        text = text.replace(_BLANK.encode(), sealed(kind.magic + text, key).encode(), 1)
    rest = struct.pack("<II", kind.version, len(text)) + text
    rest += bytes(_aligned(_START.size + len(text)) - _START.size - len(text))
    written = 0
    with atomic_writer(path, "wb") as stream:
        stream.write(kind.magic + struct.pack("<Q", kernels.checksum(np.frombuffer(rest, np.uint8))) + rest)
        for data in parts:
            for first in range(0, len(data), _BLOCK):
                written += stream.write(data[first : first + _BLOCK].data)
                if progress:
                    progress(written / end)
            written += stream.write(bytes(_aligned(len(data)) - len(data)))
        if progress:
            progress(1.0)


class ArrayFile:
    """A memory-mapped file of arrays.

    Opening takes the same time for any size. The file must not be modified in place while it is in use; replacing it,
    as `write_arrays` does, is safe.

    Attributes
    ----------
    name
        The file, as messages show it.
    header
        What `write_arrays` was given.
    lengths
        The length of each array.

    Raises
    ------
    DataError
        If the file cannot be read, is not of this kind or version, or is not whole.
    """

    def __init__(self, path: PathLike, kind: Kind, *, key: bytes | None = None) -> None:
        _check_byte_order(kind)
        self.name = name_of(path)
        self._kind = kind
        self._key = key
        with reading(self.name), local_copy(path).open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            text, first = self._read_header(stream, size)
            self.header, self._entries = self._parse(text)
            self._check_size(size - first)
            self._bytes = np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)[first:]
        self.lengths = {name: entry.length for name, entry in self._entries.items()}
        self._found: dict[str, NDArray[Any]] = {}

    def array(self, name: str) -> NDArray[Any]:
        """Return an array as a read-only view of the file, after verifying its checksum.

        Use `unchecked` to read a small part of a large array.

        Raises
        ------
        DataError
            If its bytes are not those that were written.
        """
        if name not in self._found:
            entry = self._entries[name]
            whole = self._bytes[entry.offset : entry.offset + _aligned(entry.size)]
            if self._key is not None:  # a copy, which cannot change after its checksum was verified
                whole = whole.copy()
                whole.flags.writeable = False
            if _checksum(whole, self._key) != entry.checksum:
                raise self.altered(f"the checksum of {name} does not fit")
            self._found[name] = whole[: entry.size].view(entry.dtype)
        return self._found[name]

    def unchecked(self, name: str) -> NDArray[Any]:
        """Return an array as a read-only view of the file, without verifying its checksum."""
        entry = self._entries[name]
        return self._bytes[entry.offset : entry.offset + entry.size].view(entry.dtype)

    @property
    def content(self) -> str:
        """Eight hexadecimal digits that identify the content of the arrays, from the checksums in the header."""
        sums = ",".join(f"{entry.name}:{entry.dtype}:{entry.checksum}" for entry in self._entries.values())
        return f"{kernels.checksum(np.frombuffer(sums.encode(), np.uint8)):016x}"[:8]

    def dtype(self, name: str) -> str:
        """Return the dtype of an array, as NumPy writes it."""
        return self._entries[name].dtype

    def check_layout(self, expected: Mapping[str, tuple[Collection[str], int | None]]) -> None:
        """Raise `DataError` for arrays that are missing, or have an unexpected dtype or length (None: any length)."""
        if self.lengths.keys() != expected.keys():
            raise self.altered("its header has too few or too many arrays")
        for name, (dtypes, length) in expected.items():
            if self.dtype(name) not in dtypes or (length is not None and self.lengths[name] != length):
                raise self.altered(f"the array {name} does not fit the others")

    def sound(self, make: Callable[[], Made]) -> Made:
        """Return ``make()``; a ValueError about malformed contents becomes a `DataError` that names the file."""
        try:
            return make()
        except ValueError as error:  # from our code, the kernels, or Unicode decoding
            raise self.altered(str(error).partition(";")[0]) from error

    def altered(self, what: str) -> DataError:
        """Return the error for contents that were altered."""
        return DataError(f"{self.name} was altered or damaged ({what}); copy it again, or {self._kind.remedy}")

    def _read_header(self, stream: BinaryIO, size: int) -> tuple[bytes, int]:
        """Return the header and the offset of its end."""
        kind = self._kind
        start = stream.read(_START.size)
        if not start.startswith(kind.magic):
            raise DataError(f"{self.name} is not {kind.name}; {kind.remedy}")
        if len(start) < _START.size:
            raise self._cut_off()
        _, checksum, version, length = _START.unpack(start)
        if version != kind.version:
            age = "a newer" if version > kind.version else "an older"
            raise DataError(
                f"{self.name} was made by {age} TruBLEU (its format is {version}, this one reads {kind.version}); "
                f"use that one, or {kind.remedy}"
            )
        first = _aligned(_START.size + length)
        if length > _LONGEST_HEADER:
            raise self.altered("its header is too long")
        if first > size:
            raise self._cut_off()
        rest = start[16:] + stream.read(first - _START.size)
        if kernels.checksum(np.frombuffer(rest, np.uint8)) != checksum:
            raise self.altered("the checksum of its header does not fit")
        return rest[8 : 8 + length], first

    def _parse(self, text: bytes) -> tuple[dict[str, Any], dict[str, Entry]]:
        """Return the header and its table of arrays; the content is untrusted."""
        try:
            header = json.loads(text)
            seal = header.pop("seal", None) if self._key is not None else None
            entries = {item["name"]: Entry(**item) for item in header.pop("arrays")}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.altered("its header cannot be read") from None
        if self._key is not None:
            self._check_seal(text, seal, self._key)
        for entry in entries.values():
            whole = type(entry.length) is int and type(entry.offset) is int and entry.length >= 0
            if not whole or entry.dtype not in _DTYPES:
                raise self.altered("its header has an array that cannot be")
        return header, entries

    def _check_seal(self, text: bytes, seal: object, key: bytes) -> None:
        given = seal.encode("utf-8", "replace") if isinstance(seal, str) and seal else b"no seal"
        made = sealed(self._kind.magic + text.replace(given, _BLANK.encode(), 1), key)
        if not hmac.compare_digest(made.encode(), given):
            what = "was altered or damaged, or not made with this key; name its own (--cache-key), or"
            raise DataError(f"{self.name} {what} {self._kind.remedy}")

    def _check_size(self, there: int) -> None:
        ends = [0]
        for entry in self._entries.values():
            if entry.offset != ends[-1]:
                raise self.altered("its arrays do not follow each other")
            ends.append(entry.offset + _aligned(entry.size))
        if there < ends[-1]:
            raise self._cut_off()
        if there > ends[-1]:
            raise self.altered("there is something behind its end")

    def _cut_off(self) -> DataError:
        return DataError(f"{self.name} ends early; copy it again, or {self._kind.remedy}")


def shares_as_counts(total: int, progress: Progress) -> Callable[[float], object]:
    """Return a callback that converts fractions of the whole into increments of ``total``.

    Examples
    --------
    >>> seen = []
    >>> tell = shares_as_counts(10, seen.append)
    >>> _ = tell(0.55), tell(1.0)
    >>> seen
    [5, 5]
    """
    done = 0

    def tell(share: float) -> None:
        nonlocal done
        now = math.floor(share * total)
        progress(now - done)
        done = now

    return tell


def sealed(content: bytes | memoryview, key: bytes, more: bytes = b"") -> str:
    """Return a keyed checksum, which cannot be computed without the key."""
    found = hashlib.blake2b(content, key=key, digest_size=32)
    found.update(more)
    return found.hexdigest()


def _checksum(data: NDArray[np.uint8], key: bytes | None) -> str:
    """Return the checksum of an array including its padding, whether or not the padding is present."""
    if key is None:
        return f"{kernels.checksum(data):016x}"
    return sealed(data.data, key, bytes(_aligned(len(data)) - len(data)))


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _check_byte_order(kind: Kind) -> None:
    if sys.byteorder != "little":
        raise DataError(
            f"{kind.name} holds little-endian numbers, which this machine does not use; use JSON lines here"
        )
