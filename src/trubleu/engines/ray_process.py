"""A Ray cluster, to which another process is connected: whatever happens there, this one goes on and can say it."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu.engines.contract import Engine, Run
from trubleu.engines.on_ray import NOTHING_LOST
from trubleu.engines.ray_worker import loaded, pickled
from trubleu.engines.work import Partition, Result, Status
from trubleu.errors import EngineError, MissingExtraError, TrubleuWarning, UsageError

if TYPE_CHECKING:
    from trubleu.engines.work import Work

_ERRORS: Final = {error.__name__: error for error in (EngineError, MissingExtraError, UsageError)}
_SECONDS_TO_END: Final = 10.0
_SHOWN_OF_LOG: Final = 4000


class RayProcess(Engine):
    """An engine on Ray in a process of its own, which is started at once and ends with this engine.

    Parameters
    ----------
    address
        ``ray://HOST:PORT``; None for what Ray itself finds, a cluster that is started here if there is nothing else.
    threads
        How many cores a partition takes.
    """

    def __init__(self, address: str | None, *, threads: int = 1) -> None:
        self._threads = threads
        self._maps = count()
        self._waits = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the engine
        self._pipe, theirs = multiprocessing.Pipe()
        command = [sys.executable, "-m", "trubleu.engines.ray_driver", str(theirs.fileno())]
        # Not of our group: Ctrl-C in a terminal is for us alone.
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(  # noqa: S603
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        theirs.close()  # or nobody would notice that the process is gone
        try:
            begun_here = self.ask(address, threads, str(Path(sys.argv[0]).resolve()))
        except BaseException:
            self.close()
            raise
        if begun_here:
            warnings.warn(
                "there is no Ray cluster here, so that one was started on this machine, for this work only; to use "
                "another, name it with ray://HOST:PORT or in RAY_ADDRESS",
                TrubleuWarning,
                stacklevel=3,
            )

    @property
    def workers(self) -> int:
        """How many partitions the cluster has cores for."""
        found: int = self.ask("workers", 0)
        return found

    @property
    def threads(self) -> int | None:
        """As many as the cores that a partition takes."""
        return self._threads

    def close(self) -> None:
        """Leave the cluster, which ends what still runs of ours there."""
        process, self._process = self._process, None
        if process is None:
            return
        self._pipe.close()
        if self._waits:
            process.terminate()  # it is busy with the question that we left
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._log.close()

    def tell(self, *content: object) -> None:
        """Send something that needs no answer."""
        if self._process is None:
            raise EngineError("the engine was closed; make a new one")
        try:
            self._pipe.send(content)
        except OSError as error:
            raise self._gone() from error

    def ask(self, *content: object) -> Any:
        """Send something and wait for what comes of it."""
        self.tell(*content)
        self._waits = True
        try:
            kind, answer = self._pipe.recv()
            if kind == "bytes":
                answer = self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._gone() from error
        self._waits = False  # not if we are interrupted: the answer is still to come then
        if kind == "error":
            name, message = answer
            raise _ERRORS.get(name, EngineError)(message)
        return answer

    def answers(self) -> bool:
        """Tell whether something can be asked."""
        return self._process is not None and not self._waits

    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        return _Remote(self, next(self._maps), work)

    def _gone(self) -> EngineError:
        error = EngineError(
            f"the connection to the Ray cluster is lost, as its head or the node of this machine ended; {NOTHING_LOST}"
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
        self._engine.tell("begin", self._number, number, name, pickled(partition, name))

    def finished(self) -> list[tuple[int, Status]]:
        found, self._room = self._engine.ask("finished", self._number)
        return [(number, Status(*status)) for number, status in found]

    def take(self, number: int) -> Result:
        result: Result = loaded(self._engine.ask("take", self._number, number))
        return result

    def close(self) -> None:
        if self._engine.answers():
            with suppress(EngineError):  # a cluster that is gone has nothing left to stop
                self._engine.ask("close", self._number)
