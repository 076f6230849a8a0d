"""The folder of an index: its lock, its leftovers, and the journal of a build that is under way."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Self

from trubleu.errors import DataError, UsageError, counted, some
from trubleu.files import paths
from trubleu.files.paths import joined
from trubleu.files.writer import LOCK
from trubleu.mining.checksummed_json import SealedKind, altered, read_sealed, write_sealed
from trubleu.mining.manifest import MANIFEST, SHARD_NAME, IndexOptions, texts
from trubleu.mining.shard_builder import RECORD_NAME, Made

if TYPE_CHECKING:
    from collections.abc import Collection

    from trubleu.files.paths import PathLike


JOURNAL: Final = "building.json"
KIND: Final = SealedKind(what="a journal of indexing", version=3, remedy="begin again with --no-cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """What a build or an addition is made of. What of it is finished, records of shards say.

    Attributes
    ----------
    base
        The checksum of the manifest that is added to; empty while there is none. As soon as the manifest is another
        one, the work is done.
    options
        What the index is made with.
    columns
        What the columns of a source are, if that was said.
    sources
        The files, as they were given.
    """

    base: str
    options: IndexOptions
    columns: str | None
    sources: tuple[str, ...]

    def write(self, folder: PathLike, key: bytes) -> None:
        """Write it in place of the one before.

        Raises
        ------
        DataError
            If it cannot be written; the one before stays.
        """
        write_sealed(joined(folder, JOURNAL), KIND, asdict(self), key)

    @classmethod
    def read(cls, folder: PathLike, key: bytes) -> Self:
        """Read the journal in an index's folder.

        Raises
        ------
        DataError
            If it is not what was written.
        """
        path = joined(folder, JOURNAL)
        found, _ = read_sealed(path, KIND, key)
        try:
            found["options"] = IndexOptions.of(found["options"])
            found["sources"] = texts(found["sources"])
            journal = cls(**found)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise altered(path, KIND, "it has fields that cannot be") from None
        if type(journal.base) is not str or not isinstance(journal.columns, str | None):
            raise altered(path, KIND, "it has fields that cannot be")
        return journal

    def check_same(self, now: Journal, way_out: str) -> None:
        """Refuse to go on with other options or other files.

        Parameters
        ----------
        now
            What is asked for.
        way_out
            What else could be done, to end a message with.

        Raises
        ------
        UsageError
            If something differs; the message says what.
        """
        before, given = _options(self), _options(now)
        for name, value in given.items():
            if value != before[name]:
                began, goes_on = _typed(name, before[name]), _typed(name, value)
                raise UsageError(
                    f"the work began {began} and would go on {'with others' if goes_on == began else goes_on}; "
                    f"continue with the same options, or {way_out}"
                )
        if self.sources != now.sources:
            raise UsageError(
                f"the work began with the files {some(self.sources, 3)} and not with {some(now.sources, 3)}; "
                f"continue with the same files in the same order, or {way_out}"
            )


def _options(journal: Journal) -> dict[str, Any]:
    return {**asdict(journal.options), "columns": journal.columns}


def _typed(name: str, value: Any) -> str:
    """Say with which option, as it is typed, the work began or goes on."""
    if name == "lowercase":
        return f"{'without' if value else 'with'} --keep-case"
    option = "--tokenize" if name == "tokenizer" else f"--{name.replace('_', '-')}"
    if value is None or value == ():
        return f"without {option}"
    return f"with {counted(len(value), 'word')} in {option}" if name == "stop_words" else f"with {option} {value}"


_TEMPORARY: Final = re.compile(r"\.trubleu-[0-9a-f]{16}\.tmp")  # as `atomic_writer` names what is not whole yet


def make_folder(path: str) -> bool:
    """Make a folder unless it is there, and return whether it was made.

    Raises
    ------
    DataError
        If it cannot be made.
    """
    try:
        if paths.is_file(path):
            raise DataError(f"{path} is a file, but an index is a folder; choose another name")
        there = paths.exists(path)
        paths.make_folder(path)
    except FileNotFoundError as error:
        folder = paths.parent(path)
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
            if paths.exists(path):
                raise UsageError(
                    f"{path} lies in {folder}, which is the corpus; move it elsewhere, or give the files one by one"
                )
            raise UsageError(f"{path} would lie in {folder}, which is the corpus; choose another place")


def _lies_in(path: str, folder: str) -> bool:
    if paths.is_remote(path) != paths.is_remote(folder) or folder == "-":
        return False
    inner, outer = PurePath(paths.identity(path)), PurePath(paths.identity(folder))
    return inner.is_relative_to(outer) and paths.is_folder(folder)


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
                paths.remove(paths.joined(path, name))


def remove_all(path: str, *, made: bool) -> None:
    """Remove what a build left that came to nothing, and the folder too if the build had made it."""
    remove_leftovers(path, ())
    paths.remove(paths.joined(path, JOURNAL))
    if made and not paths.is_remote(path):
        Path(path, LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # somebody else has put something there
            Path(path).rmdir()


def finished_triples(path: str, key: bytes) -> int:
    """Return how many triples are in shards that were finished before the index is."""
    found = 0
    for name in _names(path):
        if RECORD_NAME.fullmatch(name):
            with suppress(DataError):
                found += Made.read(paths.joined(path, name), key).count
    return found


def _names(path: str) -> list[str]:
    """Return what a folder holds; of hidden files at addresses, those that are ours."""
    try:
        if not paths.is_remote(path):
            return [item.name for item in Path(path).iterdir()]
        names = [file.removeprefix(path.rstrip("/") + "/") for file in paths.files_below(path, hidden=True)]
        return [name for name in names if _TEMPORARY.fullmatch(name) or not name.startswith((".", "_"))]
    except FileNotFoundError:  # where there are no folders, one is there as soon as a file is
        return []


def _is_ours(name: str) -> bool:
    known = (MANIFEST, JOURNAL, LOCK)
    return name in known or any(kind.fullmatch(name) for kind in (SHARD_NAME, RECORD_NAME, _TEMPORARY))
