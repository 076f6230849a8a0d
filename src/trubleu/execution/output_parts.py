"""Output written in parts by workers, with a manifest written last.

Readers of such a folder follow its manifest, so they see the complete result or none. A part is named by a hash of its
content and never changed: the same computation writes the same file again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import DataError, EngineError
from trubleu.execution.hashing import stream_digest
from trubleu.files import paths
from trubleu.files.jsonl import parse_json
from trubleu.files.lines import iterate_lines, open_bytes
from trubleu.files.paths import name_of
from trubleu.files.writer import atomic_writer, check_writable, named_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from trubleu.files.paths import PathLike

MANIFEST: Final = "manifest.json"
SCHEMA: Final = 1

_DIGITS: Final = 16  # of the hash in a file name
_SECONDS_UNTIL_OLD: Final = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPart:
    """A part that was written.

    Attributes
    ----------
    name
        The file in the folder.
    rows, bytes
        How many lines and bytes it has.
    checksum
        BLAKE2b of 32 bytes, in hexadecimal digits.
    """

    name: str
    rows: int
    bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class PartsFolder:
    """A folder for the parts of one result; it must have the same path on all workers.

    Attributes
    ----------
    folder
        Where it is.
    what
        What it holds, in words.
    job
        What tells this work from other work: a hash in hexadecimal digits.
    """

    folder: str
    what: str
    job: str

    @classmethod
    def of(cls, folder: PathLike, what: str, job: str) -> PartsFolder:
        """Create one; ``job`` is any text that identifies the computation."""
        return cls(paths.absolute(folder), what, hashlib.blake2b(job.encode(), digest_size=8).hexdigest())

    def prepare(self) -> None:
        """Create the folder; raise an error if another computation has written to it.

        Raises
        ------
        DataError
            If it cannot be made, or holds anything that is not of this work.
        """
        prepare_folder(self.folder)
        try:
            files = self._files()
        except OSError as error:
            raise DataError(f"the folder {self.folder} cannot be listed: {error.strerror or error}") from error
        if MANIFEST in files and read_manifest(self.folder)["job"] != self.job:
            raise DataError(
                f"{self.folder} holds the finished result of other work; name another folder, or remove this one"
            )
        if other := next((name for name in files if name != MANIFEST and not self._is_own(name)), None):
            raise DataError(
                f"{self.folder} is not empty: {other} is not of this work; name another folder, or empty this one"
            )

    @contextmanager
    def part(self, number: int) -> Iterator[PartWriter]:
        """Open part ``number``, which is written atomically when the block ends.

        Raises
        ------
        EngineError
            If it cannot be written, which says nothing about the data: no part may be left out for that.
        """
        of_block: DataError | None = None
        try:
            with named_writer(self.folder, lambda: part.name) as stream:
                part = PartWriter(f"part-{number:08}-{self.job}", stream.write)
                try:
                    yield part
                except DataError as error:
                    of_block = error
                    raise
        except DataError as error:
            if error is of_block:
                raise
            raise EngineError(str(error)) from error

    def holds(self, part: WrittenPart) -> bool:
        """Return whether a part still exists with the same bytes."""
        path = paths.joined(self.folder, part.name)
        if not paths.is_file(path) or paths.byte_size(path) != part.bytes:
            return False
        with open_bytes(path) as stream:
            return stream_digest(stream) == part.checksum

    def commit(self, parts: Sequence[WrittenPart], about: Mapping[str, Any]) -> None:
        """Write the manifest with all parts in this order, and remove other files of this computation.

        Raises
        ------
        DataError
            If a part is gone, and nothing is seen then.
        """
        files = self._files()
        listed = {part.name for part in parts}
        if gone := sorted(listed - files.keys()):
            raise DataError(f"{gone[0]} has gone from {self.folder} while others were written; start again")
        manifest = {
            "schema": SCHEMA,
            "what": self.what,
            "job": self.job,
            **about,
            "rows": sum(part.rows for part in parts),
            "parts": [asdict(part) for part in parts],
        }
        with atomic_writer(paths.joined(self.folder, MANIFEST)) as stream:
            json.dump(manifest, stream, ensure_ascii=False, indent=1)
            stream.write("\n")
        for name in files.keys() - listed:
            if self._is_own(name):
                paths.remove(files[name])
        if not paths.is_remote(self.folder):
            _clear_away(Path(self.folder))

    def _files(self) -> dict[str, str]:
        """Return the existing files by relative path; a URL prefix without files is not a folder yet."""
        found = paths.files_below(self.folder) if paths.is_folder(self.folder) else []
        return {file.removeprefix(f"{self.folder.rstrip('/')}/"): file for file in found}

    def _is_own(self, name: str) -> bool:
        return name.startswith("part-") and f"-{self.job}-" in name


def _clear_away(folder: Path) -> None:
    """Remove files left by killed workers; recent ones may still be in use."""
    for half in folder.glob(".trubleu-*.tmp"):
        with suppress(OSError):
            if time.time() - half.stat().st_mtime > _SECONDS_UNTIL_OLD:
                half.unlink()


class PartWriter:
    """Writes the lines of a part.

    Parameters
    ----------
    name
        How the name of its file begins.
    write
        Takes bytes.
    """

    def __init__(self, name: str, write: Callable[[bytes], object]) -> None:
        self._begin = name
        self._write = write
        self._rows = self._bytes = 0
        self._checksum = hashlib.blake2b(digest_size=32)

    @property
    def name(self) -> str:
        """The file name, from the content written so far."""
        return f"{self._begin}-{self._checksum.hexdigest()[:_DIGITS]}.jsonl"

    def write(self, lines: Sequence[str]) -> None:
        """Write lines, each with its line end."""
        data = "".join(lines).encode()
        self._write(data)
        self._checksum.update(data)
        self._rows += len(lines)
        self._bytes += len(data)

    def finish(self) -> WrittenPart:
        """Return the written part; its file appears when the block of `PartsFolder.part` ends."""
        return WrittenPart(name=self.name, rows=self._rows, bytes=self._bytes, checksum=self._checksum.hexdigest())


def prepare_folder(folder: PathLike) -> None:
    """Create a folder if needed; raise an error if it is not writable, before work is spent on it.

    Raises
    ------
    DataError
        If it cannot be made or written to.
    """
    try:
        paths.make_folder(folder)
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be created: {error.strerror or error}; check the path") from error
    check_writable(paths.joined(folder, MANIFEST))


def read_manifest(folder: PathLike) -> dict[str, Any]:
    """Read the manifest of a folder.

    Raises
    ------
    DataError
        If there is none, as the work was not finished, or it cannot be read.
    """
    path = paths.joined(folder, MANIFEST)
    if not paths.exists(path):
        raise DataError(f"{name_of(folder)} has no {MANIFEST}: what is written there is not finished; finish it first")
    text = "\n".join(iterate_lines(path))
    try:
        manifest = parse_json(text)
        parts = [WrittenPart(**{**part, "name": str(part["name"])}) for part in manifest["parts"]]
        return {**manifest, "job": str(manifest["job"]), "parts": parts}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path} is not a manifest, or damaged; make the folder again") from error


def lines_of_parts(folder: PathLike) -> Iterator[str]:
    """Yield the lines of all parts of a finished folder, in order; each part is verified before its first line.

    Raises
    ------
    DataError
        If the folder is not finished, or a part is not what was written.
    """
    manifest = read_manifest(folder)
    parts = PartsFolder(os.fspath(folder), "", manifest["job"])
    for part in manifest["parts"]:
        path = paths.joined(folder, part.name)
        if not parts.holds(part):
            raise DataError(f"{path} is not what was written; copy it again, or make the folder again")
        yield from iterate_lines(path)
