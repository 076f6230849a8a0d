"""Triples of a conversation: a message, the response to it, and the turns before it."""

from __future__ import annotations

import warnings
from collections.abc import Sized
from dataclasses import dataclass
from itertools import chain, compress, islice
from typing import TYPE_CHECKING, Any, Protocol

from trubleu.data.reference_files import context_field, id_field
from trubleu.errors import CountedWarning, DataError, shown
from trubleu.files.jsonl import kind_of
from trubleu.files.paths import base_name, is_standard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from trubleu.files.lines import Size


if TYPE_CHECKING:
    Columns = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...]]

FIELDS = ("id", "context", "message", "response")


class TripleRows:
    """Gathers the rows of one file, and counts those that are left out.

    Parameters
    ----------
    name
        The file's name, for messages.
    label
        What ids of rows that have none call the file; its name without the folder if left out.
    contexts
        Whether contexts are wanted.
    skip_bad
        Whether a row that cannot be used is counted instead of an error.

    Attributes
    ----------
    bad, empty
        How many rows could not be used, and how many had a blank message or response.
    """

    def __init__(self, name: str, label: str = "", *, contexts: bool = True, skip_bad: bool = False) -> None:
        self.name = name
        self._label = label or base_name(name)
        self.contexts = contexts
        self.skip_bad = skip_bad
        self.bad = 0
        self.empty = 0
        self._ids: list[str] = []
        self._contexts: list[tuple[str, ...]] = []
        self._messages: list[str] = []
        self._responses: list[str] = []

    def add(
        self,
        ids: Sequence[str],
        contexts: Sequence[tuple[str, ...]],
        messages: Sequence[str],
        responses: Sequence[str],
    ) -> None:
        """Add rows that are known to be strings; those with a blank message or response are left out."""
        blank = not all(messages) or not all(responses)
        if blank or any(map(str.isspace, messages)) or any(map(str.isspace, responses)):
            keep = [
                bool(message and response) and not message.isspace() and not response.isspace()
                for message, response in zip(messages, responses, strict=True)
            ]
            self.empty += keep.count(False)
            ids, contexts = list(compress(ids, keep)), list(compress(contexts, keep))
            messages, responses = list(compress(messages, keep)), list(compress(responses, keep))
        self._ids += ids
        self._contexts += contexts
        self._messages += messages
        self._responses += responses

    def add_columns(
        self,
        ids: Sequence[Any],
        contexts: Sequence[Any],
        messages: Sequence[Any],
        responses: Sequence[Any],
        before: int,
    ) -> bool:
        """Add rows nobody has looked at, if all of them are in order; ``before`` is the number of rows before them."""
        if set(map(type, messages)) != {str} or set(map(type, responses)) != {str}:
            return False
        kinds = set(map(type, ids))
        if kinds != {str} or not all(ids):
            if not kinds <= {str, int, type(None)}:
                return False
            ids = self.named(ids, before, len(messages))
        if not self.contexts:
            contexts = [()] * len(messages)
        elif any(contexts):
            if not set(map(type, contexts)) <= {list, type(None)}:
                return False
            if not set(map(type, chain.from_iterable(filter(None, contexts)))) <= {str}:
                return False
            contexts = [tuple(turns or ()) for turns in contexts]
        elif set(map(type, contexts)) <= {list, type(None)}:
            contexts = [()] * len(messages)
        else:
            return False
        self.add(ids, contexts, messages, responses)
        return True

    def add_record(self, record: Mapping[str, Any], place: str, number: int) -> None:
        """Check and add one row, which is the ``number``-th of the file.

        Raises
        ------
        DataError
            If a field is missing or wrong; see `refuse`.
        """
        for field in ("message", "response"):
            value = record.get(field)
            if type(value) is not str:
                if field not in record:
                    raise DataError(f"{place}: the field {field} is missing; a triple has a message and a response")
                raise DataError(f"{place}: {field} must be a string, not {kind_of(value)}")
        identity = self._id(id_field(record, place), number)
        turns = context_field(record, place) or () if self.contexts else ()
        self.add([identity], [turns], [record["message"]], [record["response"]])

    def refuse(self, error: DataError) -> None:
        """Count a row that cannot be used, or raise what is wrong with it."""
        if not self.skip_bad:
            raise error
        self.bad += 1

    def taken(self) -> Columns:
        """Return what has been gathered, and begin anew; the counts go on."""
        columns = tuple(self._ids), tuple(self._contexts), tuple(self._messages), tuple(self._responses)
        self._ids, self._contexts, self._messages, self._responses = [], [], [], []
        return columns

    def named(self, ids: Sequence[str | int | None], before: int, count: int) -> Sequence[str]:
        """Return ids of rows, made up where there is none; no ``ids`` at all stand for ``count`` rows without."""
        if not ids:
            return [f"{self._label}:{number}" for number in range(before + 1, before + count + 1)]
        return [self._id(given, number) for number, given in enumerate(ids, before + 1)]

    def _id(self, given: str | int | None, number: int) -> str:
        return f"{self._label}:{number}" if given is None or given == "" else str(given)


BATCH = 8192
"""Rows that are read at once unless it is said otherwise."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A message and the response it got, in the context of the turns before.

    Attributes
    ----------
    id
        Its name in files.
    context
        The turns before the message, oldest first; often one, maybe none.
    message
        What was said.
    response
        What was answered.

    Examples
    --------
    >>> Triple("7", ("hi !",), "how are you ?", "fine , and you ?").response
    'fine , and you ?'
    """

    id: str
    context: tuple[str, ...]
    message: str
    response: str


@dataclass(frozen=True, slots=True)
class TripleBatch:
    """Some triples that follow each other in a file, as columns.

    Attributes
    ----------
    ids, contexts, messages, responses
        One of each for a triple; ``contexts`` are all empty if they were not asked for.
    file
        Which of the files they come from, counted from 0.
    end
        How many rows of that file have been read, skipped ones included: where to go on after this batch.

    Examples
    --------
    >>> batch = TripleBatch(("7",), ((),), ("how are you ?",), ("fine",), file=0, end=1)
    >>> len(batch), list(batch)
    (1, [Triple(id='7', context=(), message='how are you ?', response='fine')])
    """

    ids: tuple[str, ...]
    contexts: tuple[tuple[str, ...], ...]
    messages: tuple[str, ...]
    responses: tuple[str, ...]
    file: int
    end: int

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Triple]:
        return map(Triple, self.ids, self.contexts, self.messages, self.responses)


class TripleSource(Protocol):
    """Where triples come from, batch by batch: `TripleFiles` and `TripleList`."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files, in the order in which they are read."""

    @property
    def total(self) -> int | None:
        """What ``progress`` is told of all in all, if that is known."""

    @property
    def unit(self) -> str:
        """What ``progress`` is told of: bytes (``"B"``) or triples."""

    @property
    def bad(self) -> int:
        """How many rows could not be used, so far in the latest pass."""

    @property
    def empty(self) -> int:
        """How many rows had a blank message or response, so far in the latest pass."""

    def batches(
        self,
        *,
        size: Size = BATCH,
        start: tuple[int, int] = (0, 0),
        contexts: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> Iterator[TripleBatch]:
        """Yield all triples from a place on."""


class TripleList:
    """Triples that are in memory, or made one by one, with the interface of `TripleFiles`.

    Parameters
    ----------
    triples
        Any iterable of `Triple`; one that can be gone through only once gives its batches only once.

    Examples
    --------
    >>> source = TripleList([Triple("7", (), "how are you ?", "fine"), Triple("8", (), "how are you ?", " ")])
    >>> [batch.ids for batch in source.batches()], source.empty
    ([('7',)], 1)
    """

    files: tuple[str, ...] = ()
    unit = "triple"

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._triples = triples
        self.bad = 0
        self.empty = 0

    @property
    def total(self) -> int | None:
        """How many triples there are, if that is known."""
        return len(self._triples) if isinstance(self._triples, Sized) else None

    def batches(
        self,
        *,
        size: Size = BATCH,
        start: tuple[int, int] = (0, 0),
        contexts: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> Iterator[TripleBatch]:
        """Yield all triples from a place on (see `TripleFiles.batches`).

        Raises
        ------
        DataError
            If something is no triple, or one of its fields is not what it should be.
        """
        self.bad = self.empty = 0
        rows = TripleRows("triples", contexts=contexts)
        end = start[1]
        triples = islice(iter(self._triples), end, None)
        if progress is not None and end:
            progress(end)
        while some := list(islice(triples, size() if callable(size) else size)):
            for number, triple in enumerate(some, end + 1):
                _check(triple, f"triples: number {number}")
            end += len(some)
            rows.add(
                [triple.id for triple in some],
                [triple.context if contexts else () for triple in some],
                [triple.message for triple in some],
                [triple.response for triple in some],
            )
            self.empty = rows.empty
            yield TripleBatch(*rows.taken(), file=0, end=end)
            if progress is not None:
                progress(len(some))


def _check(triple: object, place: str) -> None:
    if type(triple) is not Triple:
        raise DataError(f"{place} must be a Triple, not {kind_of(triple)}")
    for name in ("id", "message", "response"):
        value = getattr(triple, name)
        if type(value) is not str:
            raise DataError(f"{place}: {name} must be a string, not {kind_of(value)}")
    if type(triple.context) is not tuple or any(type(turn) is not str for turn in triple.context):
        raise DataError(f"{place}: context must be a tuple of strings, one a turn, not {kind_of(triple.context)}")


def distinct_triples(
    source: TripleSource, *, noun: str = "triple", progress: Callable[[int], object] | None = None
) -> list[Triple]:
    """Read all triples of a source, each of which must have an id of its own.

    Parameters
    ----------
    source
        Where they come from.
    noun
        What messages call one of them.
    progress
        Told how much has been read.

    Raises
    ------
    DataError
        If two have the same id, with the lines of both, or a row cannot be used.

    Examples
    --------
    >>> distinct_triples(TripleList([Triple("7", (), "hi", "hello"), Triple("7", (), "bye", "see you")]))
    Traceback (most recent call last):
        ...
    trubleu.errors.DataError: triple 2: the id '7' is already used at triple 1; every triple needs its own
    """
    triples: list[Triple] = []
    seen: set[str] = set()
    for batch in source.batches(progress=progress):
        for triple in batch:
            if triple.id in seen:
                raise DataError(_twice(source, triple.id, noun))
            seen.add(triple.id)
            triples.append(triple)
    return triples


def _twice(source: TripleSource, identity: str, noun: str) -> str:
    """Say where an id is used twice; read again, one row at a time, as only then the rows of triples are known."""
    what = f"the id {shown(identity)} is"
    if not any(map(is_standard, source.files)):
        places: list[str] = []
        for batch in source.batches(size=1, contexts=False):
            if identity in batch.ids:
                places.append(f"{source.files[batch.file]}:{batch.end}" if source.files else f"{noun} {batch.end}")
            if len(places) > 1:
                return f"{places[1]}: {what} already used at {places[0]}; every {noun} needs its own"
    return f"{what} used by two {noun}s; every {noun} needs its own"


def warn_of_skipped(source: TripleSource, *, stacklevel: int = 2) -> None:
    """Warn of the rows that the latest pass over a source has left out, if there were any.

    Parameters
    ----------
    source
        What was read.
    stacklevel
        Whose line the warning names, as for `warnings.warn`.

    Warns
    -----
    CountedWarning
        One for rows that could not be used, one for rows with a blank message or response.

    Examples
    --------
    >>> source = TripleList([Triple("7", (), "how are you ?", " ")])
    >>> batches = list(source.batches())
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn_of_skipped(source)
    >>> str(told[0].message)
    'rows with a blank message or response, skipped: 1'
    """
    if source.bad:
        what = "rows that could not be used and were skipped"
        warnings.warn(CountedWarning(what, source.bad), stacklevel=stacklevel)
    if source.empty:
        what = "rows with a blank message or response, skipped"
        warnings.warn(CountedWarning(what, source.empty), stacklevel=stacklevel)
