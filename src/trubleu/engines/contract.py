"""What an engine does: a function mapped over partitions, results handed over in the order of the partitions."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Generic, Self

from trubleu.engines.work import Partition, Result, State, Status, Work
from trubleu.errors import BadPartitionsError, EngineError, TrubleuWarning, some

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

TRIES: Final = 3
"""How often a partition is tried whose worker dies."""

SHOWN: Final = 5
"""How many bad partitions a message names."""


class Run(ABC, Generic[Partition, Result]):
    """One map in progress, as each engine does it: partitions go in by number, and come out when they are finished."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many partitions may be begun and not yet taken, so that results never pile up."""

    @abstractmethod
    def begin(self, number: int, partition: Partition) -> None:
        """Begin a partition, or let it wait for a worker."""

    @abstractmethod
    def finished(self) -> list[tuple[int, Status]]:
        """Wait until something is finished, and return what came of it."""

    @abstractmethod
    def take(self, number: int) -> Result:
        """Return the result of a finished partition and let go of it."""

    @abstractmethod
    def close(self) -> None:
        """Stop whatever still runs."""


class Engine(ABC):
    """Maps a function over partitions; made by [`engine`][trubleu.engines.engine] and closed as a context manager."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many partitions are worked on at the same time; on a cluster, at present."""

    @property
    @abstractmethod
    def threads(self) -> int | None:
        """How many threads the work on a partition should use; None for as many as there are cores."""

    @abstractmethod
    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        """Begin a map."""

    @abstractmethod
    def close(self) -> None:
        """Stop everything and leave nothing running; a second time does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def map(
        self,
        function: Callable[[Partition, State], Result],
        partitions: Sequence[Partition],
        *,
        state: Callable[[], State] | None = None,
        progress: Callable[[Partition], object] | None = None,
        skip_bad: bool = False,
    ) -> Generator[tuple[Partition, Result], None, None]:
        """Yield each partition with its result, in the order of the partitions, whichever is finished first.

        Only a few results a worker wait to be taken, so that what is merged as it comes needs little memory. Whatever
        ends the iteration early, Ctrl-C included, stops what still runs.

        Parameters
        ----------
        function
            Takes a partition and the worker's state. It and the partitions must be picklable unless everything runs in
            this process, and it may be called again for a partition whose worker died.
        partitions
            What to work on; ``str`` of one is its name in messages.
        state
            Makes what a worker keeps from one partition to the next, such as an open index; None for None.
        progress
            Told of each partition when it is finished, in any order.
        skip_bad
            Whether to leave out partitions whose data cannot be used, with a warning, and not to fail in the end.

        Raises
        ------
        BadPartitionsError
            After all others were yielded, if the function raised DataError for some.
        UsageError, MissingExtraError, DataError
            At once, if the function raised one of the first two, or ``state`` any of them.
        EngineError
            At once, if the function raised anything else, or a partition's workers died three times; also for a
            DataError that comes of an OSError, such as a missing file or a full disk, or says that a file has changed:
            the data may be good, so it is not left out.
        """
        bad: dict[int, str] = {}
        done: set[int] = set()
        begun = 0
        with closing(self._run(Work(function, state))) as run:
            for turn, partition in enumerate(partitions):
                while True:
                    while begun < min(turn + run.room, len(partitions)):
                        run.begin(begun, partitions[begun])
                        begun += 1
                    if turn in done or turn in bad:
                        break
                    for number, status in run.finished():
                        _check(status, partitions[number])
                        if status.outcome == "bad":
                            bad[number] = status.message
                        else:
                            done.add(number)
                        if progress is not None:
                            progress(partitions[number])
                if turn in done:
                    done.remove(turn)
                    yield partition, run.take(turn)
        if bad:
            _tell([(str(partitions[number]), bad[number]) for number in sorted(bad)], len(partitions), skip_bad)


def _check(status: Status, partition: object) -> None:
    if status.outcome == "refused":
        raise status.refusal()
    if status.outcome == "trouble":
        name = str(partition)
        raise EngineError(status.message if status.message.startswith(name) else f"{name}: {status.message}")
    if status.outcome == "failed":
        error = EngineError(f"{partition}: the work failed with {status.kind}: {status.message}")
        error.add_note(status.trace)
        raise error


def _tell(bad: list[tuple[str, str]], count: int, skip_bad: bool) -> None:
    what = some([f"{name} ({message})" for name, message in bad], SHOWN)
    if not skip_bad:
        named: dict[str, str] = {}
        for name, message in bad:
            same = sum(each == name or each.startswith(f"{name} #") for each in named)
            named[f"{name} #{same + 1}" if same else name] = message
        raise BadPartitionsError(
            f"{len(bad)} of {count} partitions cannot be used, so that there is no result: {what}", named
        )
    warnings.warn(f"{len(bad)} of {count} partitions were left out: {what}", TrubleuWarning, stacklevel=4)
