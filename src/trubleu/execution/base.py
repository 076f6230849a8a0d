"""The engine interface: a function mapped over partitions, with results in the order of the partitions."""

from __future__ import annotations

import gzip
import traceback
import warnings
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeVar

from trubleu.errors import (
    BadPartitionsError,
    ChangedError,
    DataError,
    EngineError,
    MissingExtraError,
    TrubleuError,
    TrubleuWarning,
    UsageError,
    some,
)
from trubleu.user_code import mistake

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence


Partition = TypeVar("Partition")
State = TypeVar("State")
Result = TypeVar("Result")

Outcome = Literal["done", "bad", "refused", "trouble", "failed"]

_REFUSALS: Final[dict[str, type[TrubleuError]]] = {
    error.__name__: error for error in (UsageError, MissingExtraError, DataError)
}


@dataclass(frozen=True, slots=True)
class Status:
    """Outcome of a partition, in plain values, because an exception may not survive the transfer between processes.

    Attributes
    ----------
    outcome
        ``done``, ``bad`` for data that cannot be used, ``refused`` for what would be refused anywhere, ``trouble`` for
        what a disk, a node or a network did to data that may be good, and ``failed``.
    message
        What the exception said.
    kind
        The name of its class.
    trace
        Where it was raised.
    missing
        Whether a file was behind it that is not there or cannot be opened.
    """

    outcome: Outcome = "done"
    message: str = ""
    kind: str = ""
    trace: str = ""
    missing: bool = False

    def refusal(self) -> TrubleuError:
        """Return the exception for an error that does not depend on the partition."""
        return _REFUSALS[self.kind](self.message)


class Work(Generic[Partition, State, Result]):
    """A function and the factory of its per-worker state, which is called for the first partition.

    Parameters
    ----------
    function
        Takes a partition and the state.
    state
        Makes the state; None for none.
    """

    def __init__(
        self, function: Callable[[Partition, State], Result], state: Callable[[], State] | None = None
    ) -> None:
        self._function = function
        self._make_state = state
        self._state: State | None = None

    def __call__(self, partition: Partition) -> tuple[Status, Result | None]:
        """Process a partition; an exception becomes a status, except one that ends the process."""
        try:
            if self._make_state is not None:
                self._state, self._make_state = self._make_state(), None
        except Exception as error:
            # An error in the shared state is not the fault of any partition.
            return _status("refused" if isinstance(error, DataError) else "failed", error), None
        try:
            function: Callable[[Partition, Any], Result] = self._function
            return Status(), function(partition, self._state)
        except Exception as error:
            return _status("bad" if isinstance(error, DataError) else "failed", error), None


def _status(outcome: Outcome, error: Exception) -> Status:
    if not isinstance(error, TrubleuError) and (what := mistake(error)) is not None:
        return Status("refused", what, UsageError.__name__)
    system = _of_the_system(error)
    if isinstance(error, UsageError | MissingExtraError):
        outcome = "refused"
    elif isinstance(error, EngineError | ChangedError) or (isinstance(error, DataError) and system is not None):
        outcome = "trouble"
    kind = next((name for name, refusal in _REFUSALS.items() if isinstance(error, refusal)), type(error).__name__)
    missing = isinstance(system, FileNotFoundError | NotADirectoryError | PermissionError)
    return Status(outcome, str(error), kind, "".join(traceback.format_exception(error)), missing)


def is_bad(error: DataError) -> bool:
    """Return whether an error is about data that cannot be used, not about what happened to data that may be good."""
    return _status("bad", error).outcome == "bad"


def _of_the_system(error: BaseException | None) -> OSError | None:
    """Return the operating system's or store's error about a file; packages also raise OSError for damaged data."""
    while error is not None:
        # An OSError that a package raises has no errno, and mostly reports damaged data.
        if isinstance(error, OSError) and (error.errno is not None or type(error) not in (OSError, gzip.BadGzipFile)):
            return error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None


TRIES: Final = 3
"""Attempts per partition if its worker dies."""

SHOWN: Final = 5
"""Bad partitions named in a message."""


class Run(ABC, Generic[Partition, Result]):
    """A map in progress on an engine: partitions are submitted by number and collected when finished."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many partitions may be submitted and not yet collected; bounds the memory for results."""

    @abstractmethod
    def begin(self, number: int, partition: Partition) -> None:
        """Submit a partition; it may wait for a worker."""

    @abstractmethod
    def finished(self) -> list[tuple[int, Status]]:
        """Wait until a partition finishes, and return the statuses of the finished ones."""

    @abstractmethod
    def take(self, number: int) -> Result:
        """Return the result of a finished partition and release it."""

    @abstractmethod
    def close(self) -> None:
        """Stop all running partitions."""


class Engine(ABC):
    """Maps a function over partitions; create one with [`engine`][trubleu.execution.engine], as a context manager."""

    threads: int | None
    """Threads per partition; None for as many as there are cores."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many partitions run in parallel; on a cluster, the current number."""

    @abstractmethod
    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        """Start a map."""

    @abstractmethod
    def close(self) -> None:
        """Stop all workers; calling it again has no effect."""

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
        """Yield each partition with its result, in the order of the partitions.

        Only a few results per worker are buffered, so merging them as they come needs little memory. Ending the
        iteration early, Ctrl-C included, stops what is still running.

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


def mapped(
    engine: Engine | None,
    function: Callable[[Partition, State], Result],
    partitions: Sequence[Partition],
    *,
    state: Callable[[], State] | None = None,
    progress: Callable[[Partition], object] | None = None,
    skip_bad: bool = False,
) -> Generator[tuple[Partition, Result], None, None]:
    """Map as `Engine.map` does; without an engine in this process, where any error is raised at once and as it is."""
    if engine is not None:
        yield from engine.map(function, partitions, state=state, progress=progress, skip_bad=skip_bad)
        return
    made: Any = None if state is None else state()
    for partition in partitions:
        result = function(partition, made)
        if progress is not None:
            progress(partition)
        yield partition, result


def _check(status: Status, partition: object) -> None:
    if status.outcome == "refused":
        raise status.refusal()
    if status.outcome == "trouble":
        name = str(partition)
        raise EngineError(status.message if status.message.startswith(name) else f"{name}: {status.message}")
    if status.kind == "MemoryError":
        raise EngineError(f"{partition}: there is not enough memory for this; give it less at once")
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
        what = f"{len(bad)} of {count} partitions cannot be used, so there is no result: {what}"
        raise BadPartitionsError(what if count > 1 else bad[0][1], named)
    warnings.warn(f"{len(bad)} of {count} partitions were left out: {what}", TrubleuWarning, stacklevel=4)
