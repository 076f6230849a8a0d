"""The cache behind every ``--resume``: finished parts of a long computation, sealed with a key.

Without the key, sealed files cannot be forged or changed, even by users who can write to the folder. The key is the
user's own, stored in the configuration folder, or read from a file, for a folder that several users or clusters share.

Cached results are looked up by a hash of everything they depend on: the content of the partition, the options and the
code. Workers write each result to its own file, atomically. Files are never changed, only replaced, so the folder needs
no lock, and unused files do no harm. A large result can be a file of its own, whose hash the sealed entry holds.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic

from trubleu.errors import DataError, EngineError, TrubleuError, UsageError, counted
from trubleu.execution.base import Partition, Result, State, mapped
from trubleu.execution.hashing import file_digest, result_hash
from trubleu.files import paths
from trubleu.files.arrays import ArrayFile, Kind, write_arrays
from trubleu.files.writer import write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.execution.base import Engine
    from trubleu.files.paths import PathLike

KIND: Final = Kind(magic=b"TBresult", version=3, name="a kept result", remedy="remove it")
SUFFIX: Final = ".result"
"""How the names of entries end."""

KEY_NAME: Final = "cache.key"
"""File name of the user's key, in the folder ``trubleu`` of their configuration."""

_LEAST_KEY: Final = 16  # minimum size of a key file in bytes
_MOST_KEY: Final = 1 << 16
_UNFIT: Final = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)
"""Exceptions raised when parsing values of an unexpected type or structure."""

Packed = tuple[dict[str, Any], "Mapping[str, NDArray[Any]]"]
"""A result as stored in a file: plain values, and one-dimensional arrays."""


@dataclass(slots=True, kw_only=True)
class Cache:
    """How finished parts of a long computation are cached and reused.

    Attributes
    ----------
    key_file
        The file whose content is the key, for folders that several users or clusters share; the user's own key if left
        out, which is made when it is first needed.
    anew
        Use nothing that was kept before.
    reused, parts
        How many parts were used again so far, and how many there are.

    Examples
    --------
    >>> cache = Cache()
    >>> cache.count(7, 12)
    >>> str(cache)
    'reused 7 of 12 parts'
    """

    key_file: PathLike | None = None
    anew: bool = False
    reused: int = field(default=0, init=False)
    parts: int = field(default=0, init=False)
    _passing: bytes = field(default_factory=partial(secrets.token_bytes, 32), init=False, repr=False)

    def __str__(self) -> str:
        return f"reused {self.reused} of {counted(self.parts, 'part')}"

    def count(self, reused: int, parts: int = 1) -> None:
        """Count finished parts and how many of them were reused."""
        self.reused += reused
        self.parts += parts

    def key(self, folder: PathLike, *, resume: bool = True) -> bytes:
        """Return the key that seals the parts in a folder.

        Parameters
        ----------
        folder
            Which folder.
        resume
            Whether parts are to be used again; otherwise a key that nobody has afterwards will do.

        Raises
        ------
        UsageError
            If the key cannot be used, or if there is none and others may write to the folder.
        """
        if self.key_file is not None:
            return _read_key(Path(self.key_file))
        try:
            return _own_key()
        except (OSError, RuntimeError) as error:  # no home folder, or it is not writable
            if _is_private(folder):
                return b""  # the folder is private
            if not resume:
                return self._passing
            raise UsageError(
                f"{os.fspath(folder)} may be written by others, and you have no key that tells your results from "
                f"theirs ({error}); name one with --cache-key FILE"
            ) from error

    def map(
        self,
        engine: Engine | None,
        function: Callable[[Partition, State], Result],
        partitions: Sequence[Partition],
        folder: PathLike | None,
        *,
        content: Callable[[Partition], Iterable[object]],
        pack: Callable[[Result], Packed | None],
        unpack: Callable[[dict[str, Any], Callable[[str], NDArray[Any]]], Result],
        fits: Callable[[Partition, Result], bool] | None = None,
        **options: Any,
    ) -> Generator[tuple[Partition, Result], None, None]:
        """Map a function with results cached in a folder.

        Parameters
        ----------
        engine, function, partitions, options
            As for `trubleu.execution.base.mapped`.
        folder
            Where results are kept; workers must find it under the same path. None to keep nothing.
        content, pack, unpack, fits
            As for `Kept`.
        """
        if folder is None:
            yield from mapped(engine, function, partitions, **options)
            return
        entries = Entries(paths.absolute(folder), self.key(folder))
        kept = Kept(
            function=function, entries=entries, content=content, pack=pack, unpack=unpack, anew=self.anew, fits=fits
        )
        with closing(mapped(engine, kept, partitions, **options)) as results:
            for partition, (result, reused) in results:
                self.count(reused)
                yield partition, result

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Turn errors caused by cached results that do not fit this computation into a message with a remedy.

        Raises
        ------
        DataError
            If that is so.
        """
        try:
            yield
        except TrubleuError:
            raise
        except _UNFIT as error:
            if not self.reused:
                raise
            raise DataError(
                f"the cached results do not fit this work ({error}); compute again with --no-cache"
            ) from error


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a cache: sealed files in a folder, named by a hash of the code and of all else they depend on.

    Attributes
    ----------
    folder
        Where they are; workers must find it under the same path.
    key
        Seals entries; those of other keys are not used.
    prefix
        How their names begin.
    """

    folder: str
    key: bytes = field(repr=False)
    prefix: str = ""

    def find(
        self, depends: Iterable[object], unpack: Callable[[dict[str, Any], Callable[[str], NDArray[Any]]], Result]
    ) -> Result | None:
        """Return an entry; None if it is missing, damaged, renamed or of another key, or its content cannot be used.

        Parameters
        ----------
        depends
            As for `result_hash`.
        unpack
            Turns the header and the arrays into the result; it may raise DataError, or any of the errors that lists,
            dictionaries and numbers raise.

        Raises
        ------
        EngineError
            If it cannot be read now: it may be intact, so it must not be made again.
        """
        path, name = self._place(depends)
        try:
            kept = ArrayFile(path, KIND, key=self.key)
            if kept.header.pop("key", None) != name:
                return None
            for file, digest in kept.header.pop("files").items():
                if file_digest(paths.joined(self.folder, file)) != digest:
                    return None
            return unpack(kept.header, kept.array)
        except DataError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                raise EngineError(str(error)) from error
        except _UNFIT:
            pass  # the file is intact, but not such an entry
        finally:
            paths.forget(path)  # of a remote file: copies must not pile up
        return None

    def put(
        self,
        depends: Iterable[object],
        header: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]] | None = None,
        files: Iterable[str] = (),
    ) -> None:
        """Write an entry, atomically.

        Parameters
        ----------
        depends
            As for `result_hash`.
        header, arrays
            Plain values, and one-dimensional arrays.
        files
            Names of files in the folder that belong to the entry: without them, just as they are now, it is not found.

        Raises
        ------
        DataError
            If it cannot be written.
        """
        path, name = self._place(depends)
        digests = {file: file_digest(paths.joined(self.folder, file)) for file in files}
        write_arrays(path, KIND, {**header, "key": name, "files": digests}, arrays or {}, key=self.key)

    def _place(self, depends: Iterable[object]) -> tuple[str, str]:
        name = f"{self.prefix}{result_hash(depends)}"
        return paths.joined(self.folder, f"{name}{SUFFIX}"), name


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Generic[Partition, State, Result]):
    """A function with cached results, mapped in place of the original.

    Attributes
    ----------
    function
        Takes a partition and a state.
    entries
        Where results are kept.
    content
        Yields all that a partition's result depends on besides the code, as for `result_hash`.
    pack, unpack
        Turn a result into what a file holds, or None if it is not to be kept, and back, as for `Entries.find`.
    anew
        Whether no result is used that is there.
    fits
        Tells whether a result that was kept can be one of this partition; those that cannot are made again.
    """

    function: Callable[[Partition, State], Result]
    entries: Entries
    content: Callable[[Partition], Iterable[object]]
    pack: Callable[[Result], Packed | None]
    unpack: Callable[[dict[str, Any], Callable[[str], NDArray[Any]]], Result]
    anew: bool = False
    fits: Callable[[Partition, Result], bool] | None = None

    def __call__(self, partition: Partition, state: State) -> tuple[Result, bool]:
        """Return the cached result, or compute and cache it; and whether it was cached.

        Raises
        ------
        EngineError
            If it cannot be kept or read, which says nothing about the partition's data.
        """
        depends = list(self.content(partition))
        if not self.anew and (found := self.entries.find(depends, partial(self._unpacked, partition))):
            return found[0], True
        result = self.function(partition, state)
        if (packed := self.pack(result)) is not None:
            try:
                self.entries.put(depends, *packed)
            except DataError as error:
                raise EngineError(str(error)) from error
        return result, False

    def _unpacked(
        self, partition: Partition, header: dict[str, Any], array: Callable[[str], NDArray[Any]]
    ) -> tuple[Result] | None:
        result = self.unpack(header, array)
        return (result,) if self.fits is None or self.fits(partition, result) else None


def _own_key() -> bytes:
    """Return the user's key, creating it on first use."""
    path = _configuration() / "trubleu" / KEY_NAME
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, secrets.token_hex(32))
    return _read_key(path)


def _configuration() -> Path:
    """Return the user's configuration folder, by the conventions of the operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(given) if Path(given).is_absolute() else Path.home() / ".config"


def _read_key(path: Path) -> bytes:
    """Read a key file.

    Raises
    ------
    UsageError
        If it cannot be read, is too short, or everybody may read it.
    """
    try:
        with path.open("rb") as stream:
            rights = os.fstat(stream.fileno()).st_mode
            content = stream.read(_MOST_KEY + 1)
    except OSError as error:
        raise UsageError(
            f"the key {path} cannot be read: {error.strerror or error}; "
            f"make one with: (umask 077; head -c 32 /dev/urandom > {path})"
        ) from error
    if os.name == "posix" and rights & (stat.S_IRWXO | stat.S_IWGRP):
        raise UsageError(f"others may read or write the key {path}, so it proves nothing; chmod 600 {path}")
    if not _LEAST_KEY <= len(content) <= _MOST_KEY:
        raise UsageError(f"the key {path} has {len(content)} bytes; a key has {_LEAST_KEY} to {_MOST_KEY}")
    return hashlib.blake2b(content, digest_size=32, person=b"trubleu cache").digest()


def _is_private(folder: PathLike) -> bool:
    """Return whether only this user can write to a folder."""
    if paths.is_remote(folder) or os.name != "posix":
        return False
    found = Path(folder).stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
