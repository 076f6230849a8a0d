"""Small JSON files with a checksum of themselves: each is complete and unaltered, or refused.

With a key, nobody can make the checksum who does not have it.
"""

from __future__ import annotations

import hmac
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError
from trubleu.files.arrays import sealed, unsealed
from trubleu.files.paths import is_remote, open_binary, unreadable
from trubleu.files.writer import atomic_writer
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trubleu.files.paths import PathLike

_DIGITS: Final = 16
_DIGITS_SEALED: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedKind:
    """A kind of such a file.

    Attributes
    ----------
    what
        The field ``what`` of the file, by which it is recognised; messages say it with its article.
    version
        The version of the format that is written and read.
    remedy
        What to do about a file that cannot be used, to end a message with.
    """

    what: str
    version: int
    remedy: str


def write_sealed(path: PathLike, kind: SealedKind, fields: Mapping[str, Any], key: bytes | None = None) -> str:
    """Write a file that takes the place of an older one when it is whole, and return its checksum.

    Raises
    ------
    DataError
        If it cannot be written; an older one stays.
    """
    zeros = _zeros(key)
    head = {"what": kind.what, "version": kind.version, "checksum": zeros}
    blank = json.dumps({**head, **fields}, indent=1) + "\n"
    checksum = _checksum(blank, key)
    with atomic_writer(path) as stream:
        stream.write(blank.replace(zeros, checksum, 1))
    if not is_remote(path):
        sync_folder(Path(path).parent)
    return checksum


def read_sealed(path: PathLike, kind: SealedKind, key: bytes | None = None) -> tuple[dict[str, Any], str]:
    """Return a file's fields and its checksum.

    Raises
    ------
    DataError
        If it cannot be read, is something else or of another version, or any byte of it is not what was written.
    """
    try:
        with open_binary(path) as stream:
            data = stream.read()
    except OSError as error:
        raise DataError(unreadable(os.fspath(path), error)) from error
    try:
        text = data.decode()
        fields = json.loads(text)
        what, version, checksum = (fields.pop(name) for name in ("what", "version", "checksum"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise altered(path, kind, "it is not whole") from None
    if what != kind.what or type(version) is not int or type(checksum) is not str:
        raise altered(path, kind, f"it is not {kind.what}")
    if version != kind.version:
        age = "a newer" if version > kind.version else "an older"
        raise DataError(
            f"{os.fspath(path)} was made by {age} TruBLEU (its format is {version}, this one reads {kind.version}); "
            f"use that one, or {kind.remedy}"
        )
    zeros = _zeros(key)
    fits = len(checksum) == len(zeros) and hmac.compare_digest(
        _checksum(text.replace(checksum, zeros, 1), key).encode(), checksum.encode("utf-8", "replace")
    )
    if not fits and key is not None:
        raise DataError(unsealed(os.fspath(path), kind.remedy))
    if not fits:
        raise altered(path, kind, "its checksum does not fit")
    return fields, checksum


def altered(path: PathLike, kind: SealedKind, what: str) -> DataError:
    """Return the error for contents that nobody wrote this way."""
    return DataError(f"{os.fspath(path)} was altered or damaged ({what}); copy it again, or {kind.remedy}")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a power failure, where the system has a way to ask for it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that may be written but not listed; or a system that opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _zeros(key: bytes | None) -> str:
    """Return what stands in place of the checksum while it is computed."""
    return "0" * (_DIGITS if key is None else _DIGITS_SEALED)


def _checksum(text: str, key: bytes | None) -> str:
    if key is not None:
        return sealed(text.encode(), key)
    return f"{kernels.checksum(np.frombuffer(text.encode(), np.uint8)):016x}"
