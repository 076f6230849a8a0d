"""The folder of an index: who may write there, what belongs to it, and what is left over."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trubleu.errors import DataError, UsageError, some
from trubleu.mining.journal import JOURNAL
from trubleu.mining.manifest import MANIFEST, SHARD_NAME

try:
    import fcntl
except ImportError:  # Windows, where a second writer is not noticed
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LOCK: Final = "lock"

_TEMPORARY: Final = re.compile(r"\.trubleu-[0-9a-f]{16}\.tmp")  # as `atomic_writer` names what is not whole yet
_CHECKSUM: Final = slice(8, 16)  # of the header of an array file, which has the checksums of all arrays


def make_folder(path: Path) -> bool:
    """Make a folder unless it is there, and return whether it was made.

    Raises
    ------
    DataError
        If it cannot be made.
    """
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise DataError(f"{path} is a file, but an index is a folder; choose another name") from None
        return False
    except FileNotFoundError as error:
        raise DataError(f"{path} cannot be made: there is no folder {path.parent}; create it first") from error
    except OSError as error:
        raise DataError(f"{path} cannot be made: {error.strerror or error}") from error
    return True


def check_outside(path: Path, corpus: object) -> None:
    """Refuse an index inside a folder that it is made from, where its own files would be taken for the corpus.

    Raises
    ------
    UsageError
        If it lies or would lie there.
    """
    given = corpus if isinstance(corpus, list | tuple) else [corpus]
    folders = (Path(item) for item in given if isinstance(item, str | os.PathLike))
    for folder in folders:
        if folder.is_dir() and path.resolve().is_relative_to(folder.resolve()):
            if path.exists():
                raise UsageError(
                    f"{path} lies in {folder}, which is the corpus; move it elsewhere, or give the files one by one"
                )
            raise UsageError(f"{path} would lie in {folder}, which is the corpus; choose another place")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let nobody else write to an index meanwhile.

    Raises
    ------
    DataError
        If somebody else does, or nobody may.
    """
    lock = path / LOCK
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise DataError(f"{path} may not be written: {error.strerror or error}; check its permissions") from error
    try:
        try:
            if fcntl:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held the lock before may have removed the file, and then somebody else has a new one.
            mine = os.path.samestat(os.fstat(descriptor), os.stat(lock))  # noqa: PTH116
        except OSError:
            mine = False
        if not mine:
            raise DataError(f"{path} is being written by another process; wait until that is done")
        yield
    finally:
        os.close(descriptor)


def check_ours(path: Path) -> None:
    """Refuse a folder that holds anything else than what an earlier attempt left there.

    Raises
    ------
    UsageError
        If it does.
    """
    if strange := sorted(item.name for item in path.iterdir() if not _is_ours(item.name)):
        raise UsageError(f"{path} holds something else ({some(strange, 3)}); choose another folder for the index")


def remove_leftovers(path: Path, listed: Collection[str]) -> None:
    """Remove shards that are not listed, and files that never became whole."""
    for item in path.iterdir():
        left = SHARD_NAME.fullmatch(item.name) and item.name not in listed
        if left or _TEMPORARY.fullmatch(item.name):
            with suppress(OSError):  # what stays is written over later
                item.unlink()


def remove_all(path: Path, *, made: bool) -> None:
    """Remove what a build left that came to nothing, and the folder too if the build had made it."""
    remove_leftovers(path, ())
    for name in (JOURNAL, *([LOCK] if made else [])):
        (path / name).unlink(missing_ok=True)
    if made:
        with suppress(OSError):  # somebody else has put something there
            path.rmdir()


def header_checksum(path: Path) -> str:
    """Return the checksum of a shard's header, by which the manifest recognises the file, or nothing if it has none."""
    with path.open("rb") as stream:
        return stream.read(_CHECKSUM.stop)[_CHECKSUM].hex()


def _is_ours(name: str) -> bool:
    known = (MANIFEST, JOURNAL, LOCK)
    return name in known or bool(SHARD_NAME.fullmatch(name) or _TEMPORARY.fullmatch(name))
