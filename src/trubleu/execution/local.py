"""Engines on this machine: in this process, or in worker processes connected by pipes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import EngineError, UsageError
from trubleu.execution.base import TRIES, Engine, Partition, Result, Run, Status

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from trubleu.execution.base import Work


class InThisProcess(Engine):
    """Processes one partition at a time and buffers one result.

    Parameters
    ----------
    threads
        How many threads a partition may use; None for as many as there are cores.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads

    workers = 1

    def close(self) -> None:
        """Do nothing: no worker is running."""

    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        return _InTurn(work)


class _InTurn(Run[Partition, Result]):
    room = 1

    def __init__(self, work: Work[Partition, Any, Result]) -> None:
        self._work = work
        self._begun: Any = None
        self._result: Any = None

    def begin(self, number: int, partition: Partition) -> None:
        self._begun = number, partition

    def finished(self) -> list[tuple[int, Status]]:
        number, partition = self._begun
        status, self._result = self._work(partition)
        return [(number, status)]

    def take(self, _number: int) -> Result:
        result, self._result = self._result, None
        found: Result = result
        return found

    def close(self) -> None:
        self._result = None


RESULTS_A_WORKER: Final = 3
"""How many partitions a worker may be ahead of the one being collected."""

_SECONDS_TO_END: Final = 5.0

# Not forked: a fork would copy threads and locks in an undefined state.
_CONTEXT: Final = multiprocessing.get_context("spawn")


class Processes(Engine):
    """A pool of worker processes, started on first use and reused by later maps.

    Parameters
    ----------
    workers
        How many.
    threads
        How many threads each may use.
    """

    def __init__(self, workers: int, threads: int = 1) -> None:
        self._workers = workers
        self.threads = threads
        self.idle: list[_Worker] = []
        self.busy: dict[_Worker, int] = {}
        """Partition that each process is working on."""
        self._maps = 0
        self._current: Run[Any, Any] | None = None

    @property
    def workers(self) -> int:
        """Number of worker processes."""
        return self._workers

    def close(self) -> None:
        """End all processes."""
        busy, self.busy, idle, self.idle, self._current = self.busy, {}, self.idle, [], None
        _end([*idle, *busy])

    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        if self._current is not None:
            raise UsageError("the processes are busy with another map; finish it first, or make a second engine")
        self._maps += 1
        self._current = dispatch = _Dispatch(self, work, self._maps)
        return dispatch

    def leave(self, run: Run[Any, Any]) -> None:
        """End the processes that work on an abandoned map."""
        if self._current is run:
            busy, self.busy, self._current = self.busy, {}, None
            _end(list(busy))


class _Worker:
    """A process and our end of its pipe."""

    def __init__(self) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True, name="trubleu-worker")
        self.process.start()
        theirs.close()  # otherwise the end of the process would not be detected
        self.map = 0
        self.answered = False


def _end(workers: list[_Worker]) -> None:
    """End processes in parallel: each may have files to clean up."""
    for worker in workers:
        worker.connection.close()
        worker.process.terminate()
    last = time.monotonic() + _SECONDS_TO_END
    for worker in workers:
        worker.process.join(max(0.0, last - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


class _Dispatch(Run[Partition, Result]):
    """Assigns partitions to idle processes."""

    def __init__(self, engine: Processes, work: Work[Partition, Any, Result], number: int) -> None:
        self._engine = engine
        self._map = number
        self._work = _pickled(work, "the function")
        self._partitions: dict[int, tuple[str, bytes]] = {}
        self._waiting: deque[int] = deque()
        self._deaths: Counter[int] = Counter()
        self._results: dict[int, Any] = {}
        self._found: list[tuple[int, Status]] = []

    @property
    def room(self) -> int:
        return RESULTS_A_WORKER * self._engine.workers

    def begin(self, number: int, partition: Partition) -> None:
        self._partitions[number] = (str(partition), _pickled(partition, str(partition)))
        self._waiting.append(number)
        self._receive(0)  # keeps workers supplied while the caller collects results one by one
        self._hand_out()

    def finished(self) -> list[tuple[int, Status]]:
        while not self._found:
            self._hand_out()
            self._receive(None)
        self._hand_out()
        found, self._found = self._found, []
        return found

    def _receive(self, seconds: float | None) -> None:
        busy = self._engine.busy
        by_connection = {worker.connection: worker for worker in busy}
        for ready in wait(list(by_connection), seconds):
            worker = by_connection[ready]  # type: ignore[index]
            number = busy[worker]
            try:
                status, result = worker.connection.recv()
            except (EOFError, OSError):  # OSError if it died while sending a result
                self._died(worker, number)
                continue
            worker.answered = True
            del busy[worker]
            self._engine.idle.append(worker)
            del self._partitions[number]
            self._results[number] = result
            self._found.append((number, status))

    def take(self, number: int) -> Result:
        result: Result = self._results.pop(number)
        return result

    def close(self) -> None:
        self._engine.leave(self)

    def _hand_out(self) -> None:
        engine = self._engine
        while self._waiting and (engine.idle or len(engine.busy) < engine.workers):
            worker = engine.idle.pop() if engine.idle else _Worker()
            number = self._waiting.popleft()
            engine.busy[worker] = number
            try:
                if worker.map != self._map:
                    worker.connection.send(("work", self._work))
                    worker.map = self._map
                worker.connection.send(("partition", self._partitions[number][1]))
            except OSError:
                self._died(worker, number)

    def _died(self, worker: _Worker, number: int) -> None:
        del self._engine.busy[worker]
        _end([worker])
        self._deaths[number] += 1
        if self._deaths[number] >= TRIES:
            name, how = self._partitions[number][0], ended(worker.process.exitcode)
            hint = "try fewer workers if memory is short"
            if not worker.answered and how.startswith("left"):
                hint = "in a script, start the work under if __name__ == '__main__':"
            raise EngineError(f"{name}: {TRIES} workers died of it, the last one {how}; {hint}")
        self._waiting.appendleft(number)


def ended(code: int | None) -> str:
    """Describe how a process ended, by its exit code.

    Examples
    --------
    >>> ended(-9), ended(143), ended(1)
    ('killed by SIGKILL', 'killed by SIGTERM', 'left with code 1')
    """
    number = -code if code is not None and code < 0 else (code or 0) - 128  # as shells count, and `_leave` here
    with suppress(ValueError):
        return f"killed by {signal.Signals(number).name}"
    return f"left with code {code}"


def _pickled(thing: object, what: str) -> bytes:
    try:
        return pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{what} cannot be sent to another process: {error}; use functions and classes that can be imported"
        ) from error


def _serve(connection: Connection) -> None:
    """Process requests from the pipe until it is closed."""
    # Ctrl-C in a terminal reaches all processes; the main process decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)  # as an exception, so partly written files are removed
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with suppress(EOFError, OSError):
            _answer(connection)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # an exception while Python shuts down would be printed


def _answer(connection: Connection) -> None:
    work: Any = None
    while True:
        kind, content = connection.recv()
        try:
            thing = pickle.loads(content)  # noqa: S301 - from our own parent, through a pipe of its own
        except Exception as error:
            thing, work = None, _unreadable(error)
        if kind == "work":
            work = thing if thing is not None else work
            continue
        status, result = work(thing)
        try:
            answer = pickle.dumps((status, result), protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            status = Status("failed", f"its result cannot be sent: {error}", type(error).__name__)
            answer = pickle.dumps((status, None))
        connection.send_bytes(answer)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _unreadable(error: Exception) -> Any:
    status = Status("failed", f"what was sent cannot be read: {error}", type(error).__name__)
    return lambda _partition: (status, None)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
