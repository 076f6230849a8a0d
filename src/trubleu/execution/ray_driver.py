"""The process that holds the connection to a Ray cluster: ``python -m trubleu.execution.ray_driver``.

Ray ends the process that is connected when it loses its cluster, and prints what happens there on standard output. So
it gets a process of its own, started by `trubleu.execution.ray_connection`, and what it prints goes to a file.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import astuple
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trubleu.errors import TrubleuError
from trubleu.execution.base import TRIES
from trubleu.execution.ray_tasks import OnRay, said

if TYPE_CHECKING:
    from trubleu.execution.ray_tasks import Tasks

_SECONDS_BETWEEN_LOOKS = 0.5


def main() -> None:
    """Connect to a cluster and do what comes through the pipe until that is closed."""
    # Ctrl-C in a terminal reaches all processes; the one that people look at decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ray would try for ever what it stops for lack of memory. It reads this when it is imported.
    os.environ.setdefault("RAY_task_oom_retries", str(TRIES - 1))
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    with Connection(int(sys.argv[1])) as connection, suppress(EOFError, OSError):
        address, threads, same, script = connection.recv()
        if script is not None:  # Ray lets workers import what lies beside the script, if we could
            sys.argv[:] = [script]
            sys.path.append(str(Path(script).parent))
        try:
            engine = OnRay(address, threads=threads, same=same)
        except Exception as error:
            connection.send(("error", _told(error)))
            return
        with engine:
            connection.send(("done", engine.begun_here))
            _serve(connection, engine)


def _serve(connection: Connection, engine: OnRay) -> None:
    maps: dict[int, Tasks[Any]] = {}
    failed: dict[int, Exception] = {}  # maps of which a partition could not be begun: nobody waits for an answer then
    while True:
        what, map_number, *content = connection.recv()
        answer: Any = None
        try:
            match what:
                case "workers":
                    answer = engine.workers
                case "open":
                    maps[map_number] = engine.tasks(*content)
                    answer = maps[map_number].room
                case "begin":
                    maps[map_number].begin_pickled(*content)
                case "finished":
                    _check_begun(failed.get(map_number))
                    found = [(number, astuple(status)) for number, status in maps[map_number].finished()]
                    answer = (found, maps[map_number].room)
                case "take":
                    result = maps[map_number].take_pickled(*content)
                    connection.send(("bytes", None))
                    connection.send_bytes(result)  # as it is: pickling it again would copy it twice
                    continue
                case "close":
                    failed.pop(map_number, None)
                    maps.pop(map_number).close()
        except Exception as error:
            if what == "begin":
                failed.setdefault(map_number, error)
            else:
                connection.send(("error", _told(error)))
        else:
            if what != "begin":
                connection.send(("done", answer))


def _check_begun(error: Exception | None) -> None:
    if error is not None:
        raise error


def _told(error: Exception) -> tuple[str, str]:
    """Return an error as its kind and what it says."""
    if isinstance(error, TrubleuError):
        return type(error).__name__, str(error)
    traceback.print_exception(error)  # to the file that is shown if this process ends
    return "EngineError", f"the Ray cluster cannot be used: {said(error)}"


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)  # the cluster ends what still runs of ours


if __name__ == "__main__":
    main()
