"""The connection to a Ray cluster, in a process of its own: ``python -m trubleu.execution.ray_connection``.

Ray ends the connected process when the cluster is lost, and prints events to standard output. So the connection lives
in its own process, which `RayProcess` starts, with its output redirected to a file.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.errors import EngineError, TrubleuError, TrubleuWarning
from trubleu.execution.base import TRIES, Engine, Partition, Result, Run, Status
from trubleu.execution.hashing import sources_digest
from trubleu.execution.local import ended
from trubleu.execution.ray_tasks import NOTHING_LOST, OnRay, loaded, pickled, said

if TYPE_CHECKING:
    from trubleu.execution.base import Work
    from trubleu.execution.ray_tasks import Tasks

# -P: do not import modules from the working directory.
DRIVER: Final = ("-P", "-m", "trubleu.execution.ray_connection")
"""Python arguments that start the driver process."""

_SECONDS_TO_END: Final = 10.0
_SECONDS_BETWEEN_LOOKS: Final = 0.5
_SHOWN_OF_LOG: Final = 4000


class RayProcess(Engine):
    """A Ray engine in a separate process, which starts immediately and ends with this engine.

    Parameters
    ----------
    address
        ``ray://HOST:PORT``; None for the one that RAY_ADDRESS names or this user began or joined here, or a new one.
    threads
        How many cores a partition takes.
    """

    def __init__(self, address: str | None, *, threads: int = 1) -> None:
        self.threads = threads
        self._maps = count()
        self._waits = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the engine
        self._pipe, theirs = multiprocessing.Pipe()
        command = [sys.executable, *DRIVER, str(theirs.fileno())]
        # In its own process group: Ctrl-C in a terminal is for this process alone.
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(  # noqa: S603
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        theirs.close()  # otherwise the end of the process would not be detected
        try:
            begun_here = self.ask(address, threads, (__version__, sources_digest()), _script())
        except BaseException:
            self.close()
            raise
        if begun_here:
            warnings.warn(
                "there is no Ray cluster here, so one was started on this machine, for this work only; to use "
                "another, name it with ray://HOST:PORT or in RAY_ADDRESS",
                TrubleuWarning,
                stacklevel=3,
            )

    @property
    def workers(self) -> int:
        """Number of partitions that the cluster has cores for."""
        found: int = self.ask("workers", 0)
        return found

    def close(self) -> None:
        """Disconnect from the cluster, which ends our running tasks."""
        process, self._process = self._process, None
        if process is None:
            return
        self._pipe.close()
        if self._waits:
            process.terminate()  # it is busy with an interrupted request
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._log.close()

    def ask(self, *content: object) -> Any:
        """Send a message and wait for the reply; raise it if it is an exception."""
        if self._process is None:
            raise EngineError("the engine was closed; make a new one")
        if self._waits:
            raise EngineError("the engine was interrupted in the middle of its work; make a new one")
        self._waits = True  # stays so if interrupted: the message may be half sent, or its reply still to come
        try:
            self._pipe.send(content)
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._waits = False
            raise self._gone() from error
        self._waits = False
        if isinstance(answer, Exception):
            raise answer
        return answer

    def leave(self, number: int) -> None:
        """End the tasks of a map; if a message was interrupted, by ending the process."""
        if self._process is not None and self._waits:
            self._process.terminate()
        elif self._process is not None:
            with suppress(EngineError):  # a lost cluster has nothing left to stop
                self.ask("close", number)

    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        return _Remote(self, next(self._maps), work)

    def _gone(self) -> EngineError:
        code = None
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(_SECONDS_TO_END)
        how = "does not answer" if code is None else ended(code)
        error = EngineError(
            "the connection to the Ray cluster is lost, perhaps because its head or the node of this machine ended "
            f"(the process that held it: {how}); {NOTHING_LOST}"
        )
        with suppress(OSError, ValueError):
            self._log.seek(0)
            error.add_note(self._log.read().decode(errors="replace")[-_SHOWN_OF_LOG:])
        return error


class _Remote(Run[Partition, Result]):
    def __init__(self, engine: RayProcess, number: int, work: Work[Partition, Any, Result]) -> None:
        self._engine = engine
        self._number = number
        self._room: int = engine.ask("open", number, pickled(work, "the function"), str(Path.cwd()))

    @property
    def room(self) -> int:
        return self._room

    def begin(self, number: int, partition: Partition) -> None:
        name = str(partition)
        self._engine.ask("begin", self._number, number, name, pickled(partition, name))

    def finished(self) -> list[tuple[int, Status]]:
        found: list[tuple[int, Status]]
        found, self._room = self._engine.ask("finished", self._number)
        return found

    def take(self, number: int) -> Result:
        result: Result = loaded(self._engine.ask("take", self._number, number))
        return result

    def close(self) -> None:
        self._engine.leave(self._number)


def _script() -> str | None:
    """Return the running script, if modules in its folder can be imported."""
    script = Path(sys.argv[0]).resolve()
    return str(script) if script.is_file() and str(script.parent) in map(os.path.realpath, sys.path) else None


def main() -> None:
    """Connect to a cluster and process requests from the pipe until it is closed."""
    # Ctrl-C in a terminal reaches all processes; the main process decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # By default, Ray retries tasks that ran out of memory forever. It reads this variable on import.
    os.environ.setdefault("RAY_task_oom_retries", str(TRIES - 1))
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    with Connection(int(sys.argv[1])) as connection, suppress(EOFError, OSError):
        address, threads, same, script = connection.recv()
        if script is not None:  # Ray then lets workers import from the script's folder, as this process could
            sys.argv[:] = [script]
            sys.path.append(str(Path(script).parent))
        try:
            engine = OnRay(address, threads=threads, same=same)
        except Exception as error:
            connection.send(_told(error))
            return
        with engine:
            connection.send(engine.begun_here)
            serve(connection, engine)


def serve(connection: Connection, engine: OnRay) -> None:
    """Answer requests, each the name of what is asked for, the number of a map, and more."""
    maps: dict[int, Tasks[Any]] = {}
    while True:
        what, number, *content = connection.recv()
        answer: Any = None
        try:
            match what:
                case "workers":
                    answer = engine.workers
                case "open":
                    maps[number] = engine.tasks(*content)
                    answer = maps[number].room
                case "begin":
                    maps[number].begin_pickled(*content)
                case "finished":
                    answer = (maps[number].finished(), maps[number].room)
                case "take":
                    answer = maps[number].take_pickled(*content)
                case "close":
                    maps.pop(number).close()
        except Exception as error:
            answer = _told(error)
        connection.send(answer)


def _told(error: Exception) -> TrubleuError:
    """Return an error as one of ours."""
    if isinstance(error, TrubleuError):
        return error
    traceback.print_exception(error)  # to the log shown if this process ends
    return EngineError(f"the Ray cluster cannot be used: {said(error)}")


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)  # the cluster ends our running tasks


if __name__ == "__main__":
    main()
