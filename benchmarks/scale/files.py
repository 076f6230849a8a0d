"""Large files: room for them, and what they hold."""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK: Final = 2**24
_ROOM: Final = 2 * 10**9  # bytes of the disk that stay free


def check_room(folder: Path, wanted: int) -> None:
    """Leave if the disk has not so many bytes, and some more."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < wanted + _ROOM:
        raise SystemExit(f"{folder} has {free / 1e9:.1f} GB left, but {(wanted + _ROOM) / 1e9:.1f} are needed")


def read_once(*paths: Path) -> None:
    """Read files, so that for every run as much of them is in memory as fits there."""
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while file.read(_CHUNK):
                pass


def digest(*paths: Path) -> str:
    """Return what differs if a name or a byte does."""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(paths):
        found.update(f"{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb", buffering=0) as file:
            while block := file.read(_CHUNK):
                found.update(block)
    return found.hexdigest()


def files_of(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def total_bytes(*paths: Path) -> int:
    """Return how large files are together."""
    return sum(path.stat().st_size for path in paths)
