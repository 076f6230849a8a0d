"""Draws and scorings of a meta-evaluation run on an engine, with the warnings and results that are cached."""

from __future__ import annotations

import os
import socket
import warnings
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple

from trubleu.errors import CountedWarning, DataError
from trubleu.execution.base import Partition, Result, State
from trubleu.execution.cache import Cache
from trubleu.execution.captured_warnings import CATEGORIES, Warned
from trubleu.execution.hashing import content_digest, held_digest
from trubleu.execution.output_parts import prepare_folder
from trubleu.execution.serialization import Packing
from trubleu.files import paths
from trubleu.scoring.partitions import check_same, signatures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.execution.cache import Packed
    from trubleu.files.paths import PathLike
    from trubleu.metrics import Metric


_LARGEST_LINE: Final = 2**31


class Told(NamedTuple):
    """What a function found, or what it has against the data, and what it warned of meanwhile."""

    found: Any
    warned: list[Warned]


@dataclass(frozen=True, slots=True)
class ToldPacking:
    """Packs all that was told, unless it is an error or somebody else's warning, which then come again.

    Attributes
    ----------
    packing
        Of what is found.
    """

    packing: Packing

    def pack(self, told: Told) -> Packed | None:
        """Return what a file holds, or None."""
        known = all(CATEGORIES.get(type(each.message).__name__) is type(each.message) for each in told.warned)
        if isinstance(told.found, DataError) or not known:
            return None
        warned = [(type(each.message).__name__, each.message.args, each.filename, each.line) for each in told.warned]
        return self.packing.pack((told.found, warned))

    def unpack(self, header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> Told:
        """Return what was told."""
        found, warned = self.packing.unpack(header, array)
        return Told(found, [_warned(*each) for each in warned])


def _warned(category: str, arguments: tuple[Any, ...], filename: str, line: int) -> Warned:
    kind = CATEGORIES[category]
    if not isinstance(filename, str) or type(line) is not int or not 0 <= line < _LARGEST_LINE:
        raise TypeError("this is no place in a file")
    return Warned(kind(*arguments), kind, filename, line)


@dataclass(frozen=True, slots=True)
class Where:
    """Where work is done, and where what comes of it is kept.

    Attributes
    ----------
    engine
        No number depends on it.
    keep
        A folder, as workers find it; None to keep nothing.
    cache
        How it is kept.
    """

    engine: Engine
    keep: str | None = None
    cache: Cache = field(default_factory=Cache)

    @classmethod
    def of(cls, engine: Engine, keep: PathLike | None, cache: Cache | None = None) -> Where:
        """Return the same for a folder that need not be there yet.

        Raises
        ------
        DataError
            If it cannot be made or written to.
        """
        if keep is None:
            return cls(engine)
        prepare_folder(keep)
        return cls(engine, paths.absolute(keep), cache or Cache())


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the draws, by their numbers from 0."""

    first: int
    count: int

    def __str__(self) -> str:
        return f"draws {self.first + 1:,} to {self.first + self.count:,}"


def slices_of(number: int, at_once: int) -> list[Slice]:
    """Return all of a number of draws in slices.

    Examples
    --------
    >>> [str(each) for each in slices_of(5, 2)]
    ['draws 1 to 2', 'draws 3 to 4', 'draws 5 to 5']
    """
    return [Slice(first, min(at_once, number - first)) for first in range(0, number, at_once)]


def shared(
    where: Where,
    function: Callable[[Partition, State, int | None], Result],
    partitions: Sequence[Partition],
    *,
    state: Callable[[], State] | None = None,
    metrics: Mapping[str, Metric] | None = None,
    content: Callable[[Partition], tuple[object, ...]] | None = None,
    records: tuple[type[Any], ...] = (),
    progress: Callable[[Partition], object] | None = None,
) -> Generator[Result, None, None]:
    """Yield the result of each partition, in order; what was warned of where it was made is warned of here, once.

    Only numbers of cases are told of as often as they come, for whoever adds them up.

    Parameters
    ----------
    where
        Where to work. What is kept there is known by all that the function, the state, the partition and the metrics
        hold, and by the code.
    function
        Takes a partition, a worker's state and how many threads to use, on which no result may depend.
    partitions, state, progress
        As for `Engine.map`.
    metrics
        Those that the function counts with: their vectors and the like may be sent as paths, but their signatures tell
        what is there, and must be the same wherever it is called.
    content
        Returns what the result of a partition depends on, if that is not all that the function and the metrics hold.
    records
        The dataclasses and named tuples that results hold.

    Raises
    ------
    DataError
        At once, if the function raised it: what a metric has against one draw it has against the data, and a sentence
        of its own says more than a list of draws.
    UsageError
        If metrics are others on some node, or if results are to be kept and cannot be known again, as the function is
        in no module.
    """
    seen: set[tuple[object, ...]] = set()
    metrics = metrics or {}
    signatures = signatures_of(metrics)
    work: Callable[[Partition, State], Told] = _Telling(
        function, where.engine.threads, metrics, signatures, _this_process()
    )
    told = ToldPacking(Packing(records))
    results: Generator[tuple[Partition, Told], None, None] = where.cache.map(
        lambda work: where.engine.map(work, partitions, state=state, progress=progress),
        work,
        where.keep,
        content=_Key("", {}) if where.keep is None else _Key(*_parts(function, state, signatures, partitions, content)),
        pack=told.pack,
        unpack=told.unpack,
    )
    with closing(results):
        for _, (found, warned) in results:
            for warning in warned:
                if warning.what not in seen or issubclass(warning.category, CountedWarning):
                    seen.add(warning.what)
                    warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.line)
            if isinstance(found, DataError):
                raise found
            yield found


def _this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _parts(
    function: object,
    state: object,
    signatures: object,
    partitions: Sequence[Partition],
    content: Callable[[Partition], tuple[object, ...]] | None,
) -> tuple[str, dict[Partition, tuple[str, ...]]]:
    """Return hashes of what all results depend on, and of what each does besides that."""
    if content is None:
        return content_digest(function, state, signatures), {}
    known: dict[int, str] = {}  # what many partitions have in common is one object, and looked at once

    def digest(thing: object) -> str:
        if id(thing) not in known:
            known[id(thing)] = content_digest(thing)
        return known[id(thing)]

    found = {partition: content(partition) for partition in partitions}
    each = {partition: tuple(map(digest, things)) for partition, things in found.items()}
    return content_digest(type(function), state), each


@dataclass(frozen=True, slots=True)
class _Key(Generic[Partition]):
    """Tells all that the result of a partition depends on."""

    job: str
    besides: Mapping[Partition, tuple[str, ...]]

    def __call__(self, partition: Partition) -> Iterator[bytes]:
        yield self.job.encode()
        yield held_digest(partition).encode()
        yield from (each.encode() for each in self.besides.get(partition, ()))


@dataclass(frozen=True, slots=True)
class _Telling(Generic[Partition, State, Result]):
    """A function that hands over what it warns of and what data it cannot use beside its results."""

    function: Callable[[Partition, State, int | None], Result]
    threads: int | None
    metrics: Mapping[str, Metric]
    signatures: tuple[tuple[str, str], ...]
    begun_in: tuple[str, int]

    def __call__(self, partition: Partition, state: State) -> Told:
        if self.begun_in != _this_process():
            check_same(self.metrics, self.signatures)
        found: Result | DataError
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = self.function(partition, state, self.threads)
            except DataError as error:
                found = error
        return Told(found, [Warned(each.message, each.category, each.filename, each.lineno) for each in caught])
