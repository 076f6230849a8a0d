"""The folder of an index: who may write there, what belongs to it, and what is left over."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from trubleu.data import places
from trubleu.errors import DataError, UsageError, some
from trubleu.mining.journal import JOURNAL
from trubleu.mining.making import RECORD_NAME, Made
from trubleu.mining.manifest import MANIFEST, SHARD_NAME

try:
    import fcntl
except ImportError:  # Windows, where a second writer is not noticed
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from trubleu.data.files import PathLike

LOCK: Final = "lock"

_TEMPORARY: Final = re.compile(r"\.trubleu-[0-9a-f]{16}\.tmp")  # as `atomic_writer` names what is not whole yet


def make_folder(path: str) -> bool:
    """Make a folder unless it is there, and return whether it was made.

    Raises
    ------
    DataError
        If it cannot be made.
    """
    try:
        if places.is_file(path):
            raise DataError(f"{path} is a file, but an index is a folder; choose another name")
        there = places.exists(path)
        places.make_folder(path)
    except FileNotFoundError as error:
        folder = places.parent(path)
        raise DataError(f"{path} cannot be made: there is no folder {folder}; create it first") from error
    except OSError as error:
        raise DataError(f"{path} cannot be made: {error.strerror or error}") from error
    return not there


def check_outside(path: str, corpus: object) -> None:
    """Refuse an index inside a folder that it is made from, where its own files would be taken for the corpus.

    Raises
    ------
    UsageError
        If it lies or would lie there.
    """
    given = corpus if isinstance(corpus, list | tuple) else [corpus]
    for folder in (os.fspath(item) for item in given if isinstance(item, str | os.PathLike)):
        if _lies_in(path, folder):
            if places.exists(path):
                raise UsageError(
                    f"{path} lies in {folder}, which is the corpus; move it elsewhere, or give the files one by one"
                )
            raise UsageError(f"{path} would lie in {folder}, which is the corpus; choose another place")


def _lies_in(path: str, folder: str) -> bool:
    if places.is_remote(path) != places.is_remote(folder) or folder == "-":
        return False
    inner, outer = PurePath(places.identity(path)), PurePath(places.identity(folder))
    return inner.is_relative_to(outer) and places.is_folder(folder)


@contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """Let nobody else write to an index meanwhile; at an address, where there are no locks, all may.

    Raises
    ------
    DataError
        If somebody else does, or nobody may.
    """
    if places.is_remote(path):
        yield
        return
    lock = Path(path, LOCK)
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


def check_ours(path: str) -> None:
    """Refuse a folder that holds anything else than what an earlier attempt left there.

    Raises
    ------
    UsageError
        If it does.
    """
    if strange := sorted(name for name in _names(path) if not _is_ours(name)):
        raise UsageError(f"{path} holds something else ({some(strange, 3)}); choose another folder for the index")


def remove_leftovers(path: str, listed: Collection[str], *, finished: bool = False) -> None:
    """Remove files that never became whole, shards that are not listed, and records of what is finished.

    Parameters
    ----------
    path
        The index.
    listed
        The names of its shards.
    finished
        Whether whatever was finished, to be gone on with, stays.
    """
    for name in _names(path):
        ours = RECORD_NAME.fullmatch(name) or (SHARD_NAME.fullmatch(name) and name not in listed)
        if _TEMPORARY.fullmatch(name) or (ours and not finished):
            with suppress(OSError):  # what stays does no harm
                places.remove(places.joined(path, name))


def remove_all(path: str, *, made: bool) -> None:
    """Remove what a build left that came to nothing, and the folder too if the build had made it."""
    remove_leftovers(path, ())
    places.remove(places.joined(path, JOURNAL))
    if made and not places.is_remote(path):
        Path(path, LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # somebody else has put something there
            Path(path).rmdir()


def finished_triples(path: str) -> int:
    """Return how many triples are in shards that were finished before the index is."""
    found = 0
    for name in _names(path):
        if RECORD_NAME.fullmatch(name):
            with suppress(DataError):
                found += Made.read(places.joined(path, name)).count
    return found


def _names(path: str) -> list[str]:
    """Return what a folder holds; of hidden files at addresses, those that are ours."""
    try:
        if not places.is_remote(path):
            return [item.name for item in Path(path).iterdir()]
        names = [file.removeprefix(path.rstrip("/") + "/") for file in places.files_below(path, hidden=True)]
        return [name for name in names if _TEMPORARY.fullmatch(name) or not name.startswith((".", "_"))]
    except FileNotFoundError:  # where there are no folders, one is there as soon as a file is
        return []


def _is_ours(name: str) -> bool:
    known = (MANIFEST, JOURNAL, LOCK)
    return name in known or any(kind.fullmatch(name) for kind in (SHARD_NAME, RECORD_NAME, _TEMPORARY))
