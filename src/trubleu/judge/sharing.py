"""Work shared out among workers, who leave no trace in the result: draws depend on their numbers only."""

from __future__ import annotations

import os
import socket
import warnings
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from trubleu.data import places
from trubleu.engines.content import content_digest, held_digest
from trubleu.engines.keeping import Kept
from trubleu.engines.output import prepare_folder
from trubleu.engines.packing import Packing
from trubleu.engines.work import Partition, Result, State
from trubleu.errors import CountedWarning, DataError
from trubleu.judge.kept import Told, ToldPacking, Warned
from trubleu.report.learning_ranges import check_same, signatures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from trubleu.data.files import PathLike
    from trubleu.engines import Engine
    from trubleu.metrics import Metric


@dataclass(frozen=True, slots=True)
class Where:
    """Where work is done, and where what comes of it is kept.

    Attributes
    ----------
    engine
        No number depends on it.
    keep
        A folder, as workers find it; None to keep nothing.
    """

    engine: Engine
    keep: str | None = None

    @classmethod
    def of(cls, engine: Engine, keep: PathLike | None) -> Where:
        """Return the same for a folder that need not be there yet.

        Raises
        ------
        DataError
            If it cannot be made or written to.
        """
        if keep is None:
            return cls(engine)
        prepare_folder(keep)
        return cls(engine, places.absolute(keep))


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
    if where.keep is not None:
        key = _Key(*_parts(function, state, signatures, partitions, content))
        told = ToldPacking(Packing(records))
        work = Kept(function=work, folder=where.keep, content=key, pack=told.pack, unpack=told.unpack)
    with closing(where.engine.map(work, partitions, state=state, progress=progress)) as results:
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
