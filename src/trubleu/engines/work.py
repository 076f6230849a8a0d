"""One partition's work, the same on every engine: what is called, and what came of it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from trubleu.errors import DataError, MissingExtraError, TrubleuError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

Partition = TypeVar("Partition")
State = TypeVar("State")
Result = TypeVar("Result")

Outcome = Literal["done", "bad", "refused", "failed"]

_REFUSALS: Final[dict[str, type[TrubleuError]]] = {"UsageError": UsageError, "MissingExtraError": MissingExtraError}


@dataclass(frozen=True, slots=True)
class Status:
    """What came of a partition; plain values, as an exception need not survive the way from another process.

    Attributes
    ----------
    outcome
        ``done``, ``bad`` for data that cannot be used, ``refused`` for what would be refused anywhere, and ``failed``.
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
            function: Callable[[Partition, Any], Result] = self._function
            return Status(), function(partition, self._state)
        except DataError as error:
            return _status("bad", error), None
        except (UsageError, MissingExtraError) as error:
            return _status("refused", error), None
        except Exception as error:
            return _status("failed", error), None


def _status(outcome: Outcome, error: Exception) -> Status:
    kind = next((name for name, refusal in _REFUSALS.items() if isinstance(error, refusal)), type(error).__name__)
    return Status(outcome, str(error), kind, "".join(traceback.format_exception(error)), _about_a_missing_file(error))


def _about_a_missing_file(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
            return True
        error = error.__cause__ or error.__context__
    return False
