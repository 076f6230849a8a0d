"""The connection to a Ray cluster, in a separate process, so losing the cluster cannot end this one."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.errors import EngineError, MissingExtraError, TrubleuWarning, UsageError
from trubleu.execution.base import Engine, Partition, Result, Run, Status
from trubleu.execution.hashing import sources_digest
from trubleu.execution.local import ended
from trubleu.execution.ray_tasks import NOTHING_LOST
from trubleu.execution.ray_worker import loaded, pickled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.execution.base import Work

# -P: do not import modules from the working directory.
DRIVER: Final = ("-P", "-m", "trubleu.execution.ray_driver")
"""Python arguments that start the driver process."""

_ERRORS: Final = {error.__name__: error for error in (EngineError, MissingExtraError, UsageError)}
_SECONDS_TO_END: Final = 10.0
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
        """Send a message and wait for the reply."""
        with self._whole():
            self._pipe.send(content)
            kind, answer = self._pipe.recv()
            if kind == "bytes":
                answer = self._pipe.recv_bytes()
        if kind == "error":
            name, message = answer
            raise _ERRORS.get(name, EngineError)(message)
        return answer

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Track whether a message was interrupted: it may be half sent, or its reply still to come."""
        if self._process is None:
            raise EngineError("the engine was closed; make a new one")
        if self._waits:
            raise EngineError("the engine was interrupted in the middle of its work; make a new one")
        self._waits = True
        try:
            yield
        except (EOFError, OSError) as error:
            self._waits = False
            raise self._gone() from error
        self._waits = False  # stays True if interrupted

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
