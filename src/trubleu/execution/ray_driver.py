"""The process that holds the connection to a Ray cluster: ``python -m trubleu.execution.ray_driver``.

Ray ends the connected process when the cluster is lost, and prints events to standard output. So the connection lives
in its own process, started by `trubleu.execution.ray_connection`, with its output redirected to a file.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
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
            connection.send(("error", _told(error)))
            return
        with engine:
            connection.send(("done", engine.begun_here))
            _serve(connection, engine)


def _serve(connection: Connection, engine: OnRay) -> None:
    maps: dict[int, Tasks[Any]] = {}
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
                    answer = (maps[map_number].finished(), maps[map_number].room)
                case "take":
                    answer = maps[map_number].take_pickled(*content)
                case "close":
                    maps.pop(map_number).close()
        except Exception as error:
            connection.send(("error", _told(error)))
            continue
        if what == "take":
            connection.send(("bytes", None))
            connection.send_bytes(answer)  # already pickled: doing it again would copy it twice
        else:
            connection.send(("done", answer))


def _told(error: Exception) -> tuple[str, str]:
    """Return the class name and the text of an error."""
    if isinstance(error, TrubleuError):
        return type(error).__name__, str(error)
    traceback.print_exception(error)  # to the log shown if this process ends
    return "EngineError", f"the Ray cluster cannot be used: {said(error)}"


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)  # the cluster ends our running tasks


if __name__ == "__main__":
    main()
