"""Everything in this process, one partition after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trubleu.engines.contract import Engine, Run
from trubleu.engines.work import Partition, Result

if TYPE_CHECKING:
    from trubleu.engines.work import Status, Work


class InThisProcess(Engine):
    """Works on one partition at a time and holds one result.

    Parameters
    ----------
    threads
        How many threads a partition may use; None for as many as there are cores.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads

    @property
    def workers(self) -> int:
        """One."""
        return 1

    @property
    def threads(self) -> int | None:
        """As many as were asked for."""
        return self._threads

    def close(self) -> None:
        """Do nothing: there is nothing to stop."""

    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        return _InTurn(work)


class _InTurn(Run[Partition, Result]):
    def __init__(self, work: Work[Partition, Any, Result]) -> None:
        self._work = work
        self._waiting: list[tuple[int, Partition]] = []
        self._results: dict[int, Any] = {}

    @property
    def room(self) -> int:
        return 1

    def begin(self, number: int, partition: Partition) -> None:
        self._waiting.append((number, partition))

    def finished(self) -> list[tuple[int, Status]]:
        number, partition = self._waiting.pop(0)
        status, self._results[number] = self._work(partition)
        return [(number, status)]

    def take(self, number: int) -> Result:
        result: Result = self._results.pop(number)
        return result

    def close(self) -> None:
        self._results.clear()
