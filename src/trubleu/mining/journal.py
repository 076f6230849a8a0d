"""The journal of a build or an addition that is under way: how far it is, so that it can go on after a kill."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from trubleu.data.files import is_standard, name_of, unreadable
from trubleu.errors import DataError, UsageError, counted, some
from trubleu.mining.manifest import IndexOptions, ListedShard, record, texts, whole
from trubleu.mining.sealed import SealedKind, altered, read_sealed, write_sealed

JOURNAL: Final = "building.json"
KIND: Final = SealedKind(what="a journal of indexing", version=1, remedy="remove it and begin again")
PYTHON: Final = "<triples>"
"""What stands for triples that no file holds."""

_PASSING: Final = -1  # the size of what can be read only once


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSource:
    """A file as it was when the work began, to tell whether it is still the same.

    Attributes
    ----------
    name
        The file as it was given.
    size
        Its bytes; negative for what can be read only once, such as a pipe.
    modified
        When it was last written, in nanoseconds.
    """

    name: str
    size: int
    modified: int

    @classmethod
    def of(cls, name: str) -> Self:
        """Look at a file."""
        path = Path(name)
        try:
            if is_standard(name) or not path.is_file():
                return cls(name=name_of(name), size=_PASSING, modified=0)
            found = path.stat()
        except OSError as error:
            raise DataError(unreadable(name, error)) from error
        return cls(name=name, size=found.st_size, modified=found.st_mtime_ns)

    @classmethod
    def of_all(cls, names: tuple[str, ...]) -> tuple[Self, ...]:
        """Look at all files; without any, triples come from Python."""
        return tuple(map(cls.of, names)) or (cls(name=PYTHON, size=_PASSING, modified=0),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """How far a build or an addition is.

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
        What is indexed.
    shards
        What is finished.
    file, rows
        Where to go on: after so many rows of that source.
    triples
        How many of each source are in the finished shards.
    bad, empty
        How many rows before that place were left out.
    """

    base: str
    options: IndexOptions
    columns: str | None
    sources: tuple[GivenSource, ...]
    shards: tuple[ListedShard, ...] = ()
    file: int = 0
    rows: int = 0
    triples: tuple[int, ...]
    bad: int = 0
    empty: int = 0

    @property
    def kept(self) -> int:
        """How many triples are in the finished shards."""
        return sum(self.triples)

    def write(self, folder: Path) -> None:
        """Write it in place of the one before.

        Raises
        ------
        DataError
            If it cannot be written; the one before stays.
        """
        write_sealed(folder / JOURNAL, KIND, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the journal in an index's folder.

        Raises
        ------
        DataError
            If it is not what was written.
        """
        path = folder / JOURNAL
        found, _ = read_sealed(path, KIND)
        try:
            options = record(IndexOptions, found["options"])
            found["options"] = replace(options, stop_words=texts(options.stop_words))
            found["sources"] = tuple(record(GivenSource, item) for item in found["sources"])
            found["shards"] = tuple(record(ListedShard, item) for item in found["shards"])
            found["triples"] = tuple(map(whole, found["triples"]))
            numbers = [whole(found[name]) for name in ("file", "rows", "bad", "empty")]
            journal = cls(**found)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise altered(path, KIND, "it has fields that cannot be") from None
        plain = type(journal.base) is str and isinstance(journal.columns, str | None)
        fits = len(journal.triples) == len(journal.sources) > numbers[0]
        if not plain or not fits or journal.kept != sum(shard.triples for shard in journal.shards):
            raise altered(path, KIND, "its fields do not fit each other")
        return journal

    def check_same(self, now: Journal, way_out: str) -> None:
        """Refuse to go on with other options, or with sources that are not what they were.

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
        for source in self.sources:
            if source.size == _PASSING:
                raise UsageError(f"{source.name} can be read only once, so there is no going on; {way_out}")
        before, given = _options(self), _options(now)
        for name, value in given.items():
            if value != before[name]:
                began, goes_on = _typed(name, before[name]), _typed(name, value)
                raise UsageError(
                    f"the work began {began} and would go on {'with others' if goes_on == began else goes_on}; "
                    f"continue with the same options, or {way_out}"
                )
        names = [source.name for source in self.sources]
        if names != [source.name for source in now.sources]:
            others = some((source.name for source in now.sources), 3)
            raise UsageError(
                f"the work began with the files {some(names, 3)} and not with {others}; "
                f"continue with the same files in the same order, or {way_out}"
            )
        for old, new in zip(self.sources, now.sources, strict=True):
            if old != new:
                what = f"{old.size:,} bytes then, {new.size:,} now" if old.size != new.size else "written to since"
                raise UsageError(f"{old.name} has changed since the work began ({what}); {way_out}")


def _options(journal: Journal) -> dict[str, Any]:
    return {**asdict(journal.options), "columns": journal.columns}


def _typed(name: str, value: Any) -> str:
    """Say with which option, as it is typed, the work began or goes on."""
    if name == "lowercase":
        return f"{'without' if value else 'with'} --keep-case"
    option = f"--{name.replace('_', '-')}"
    if value is None or value == ():
        return f"without {option}"
    return f"with {counted(len(value), 'word')} in {option}" if name == "stop_words" else f"with {option} {value}"
