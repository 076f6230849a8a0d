"""One partition's work, the same on every engine: what is called, and what came of it."""

from __future__ import annotations

import gzip
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from trubleu.errors import ChangedError, DataError, EngineError, MissingExtraError, TrubleuError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

Partition = TypeVar("Partition")
State = TypeVar("State")
Result = TypeVar("Result")

Outcome = Literal["done", "bad", "refused", "trouble", "failed"]

_REFUSALS: Final[dict[str, type[TrubleuError]]] = {
    error.__name__: error for error in (UsageError, MissingExtraError, DataError)
}


@dataclass(frozen=True, slots=True)
class Status:
    """What came of a partition; plain values, as an exception need not survive the way from another process.

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
        """Return the exception of something that is refused whichever partition it is about."""
        return _REFUSALS[self.kind](self.message)


class Work(Generic[Partition, State, Result]):
    """A function and what makes a worker's state, which is made when the first partition comes.

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
        self._ready = state is None

    def __call__(self, partition: Partition) -> tuple[Status, Result | None]:
        """Work on a partition; whatever is raised, but what ends the process, becomes a status."""
        try:
            if not self._ready and self._make_state is not None:
                self._state = self._make_state()
                self._ready = True
        except Exception as error:
            # What every partition needs is the fault of none.
            return _status("refused" if isinstance(error, DataError) else "failed", error), None
        try:
            function: Callable[[Partition, Any], Result] = self._function
            return Status(), function(partition, self._state)
        except Exception as error:
            return _status("bad" if isinstance(error, DataError) else "failed", error), None


def _status(outcome: Outcome, error: Exception) -> Status:
    system = _of_the_system(error)
    if isinstance(error, UsageError | MissingExtraError):
        outcome = "refused"
    elif isinstance(error, EngineError | ChangedError) or (isinstance(error, DataError) and system is not None):
        outcome = "trouble"
    kind = next((name for name, refusal in _REFUSALS.items() if isinstance(error, refusal)), type(error).__name__)
    missing = isinstance(system, FileNotFoundError | NotADirectoryError | PermissionError)
    return Status(outcome, str(error), kind, "".join(traceback.format_exception(error)), missing)


def _of_the_system(error: BaseException | None) -> OSError | None:
    """Return what the operating system or a store had against a file; packages say OSError of damage, too."""
    while error is not None:
        # One that a package makes of a text has no number, and mostly says that what it reads is damaged.
        if isinstance(error, OSError) and (error.errno is not None or type(error) not in (OSError, gzip.BadGzipFile)):
            return error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None
