"""The journal of a build or an addition that is under way: what it is made of, so that it goes on after a kill."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

from trubleu.data.places import joined
from trubleu.errors import UsageError, counted, some
from trubleu.mining.manifest import IndexOptions, record, texts
from trubleu.mining.sealed import SealedKind, altered, read_sealed, write_sealed

if TYPE_CHECKING:
    from trubleu.data.files import PathLike

JOURNAL: Final = "building.json"
KIND: Final = SealedKind(what="a journal of indexing", version=2, remedy="remove it and begin again")


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

    def write(self, folder: PathLike) -> None:
        """Write it in place of the one before.

        Raises
        ------
        DataError
            If it cannot be written; the one before stays.
        """
        write_sealed(joined(folder, JOURNAL), KIND, asdict(self))

    @classmethod
    def read(cls, folder: PathLike) -> Self:
        """Read the journal in an index's folder.

        Raises
        ------
        DataError
            If it is not what was written.
        """
        path = joined(folder, JOURNAL)
        found, _ = read_sealed(path, KIND)
        try:
            options = record(IndexOptions, found["options"])
            found["options"] = replace(options, stop_words=texts(options.stop_words))
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
    option = f"--{name.replace('_', '-')}"
    if value is None or value == ():
        return f"without {option}"
    return f"with {counted(len(value), 'word')} in {option}" if name == "stop_words" else f"with {option} {value}"
