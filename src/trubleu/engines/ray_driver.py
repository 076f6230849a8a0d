"""The process that holds the connection to a Ray cluster: ``python -m trubleu.engines.ray_driver``.

Ray ends the process that is connected when it loses its cluster, and prints what happens there on standard output. So
it gets a process of its own, started by `trubleu.engines.ray_process`, and what it prints goes to a file.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import astuple
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from trubleu.engines.contract import TRIES
from trubleu.engines.on_ray import OnRay
from trubleu.errors import TrubleuError

if TYPE_CHECKING:
    from trubleu.engines.on_ray import Tasks

_SECONDS_BETWEEN_LOOKS = 0.5


def main() -> None:
    """Connect to a cluster and do what comes through the pipe until that is closed."""
    # Ctrl-C in a terminal reaches all processes; the one that people look at decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ray would try for ever what it stops for want of memory. It reads this when it is imported.
    os.environ.setdefault("RAY_task_oom_retries", str(TRIES - 1))
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    with Connection(int(sys.argv[1])) as connection, suppress(EOFError, OSError):
        address, threads, script = connection.recv()
        sys.argv[:] = [script]  # Ray lets workers import what lies beside the script
        try:
            engine = OnRay(address, threads=threads)
        except TrubleuError as error:
            connection.send(("error", (type(error).__name__, str(error))))
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
                    continue
                case "finished":
                    found = [(number, astuple(status)) for number, status in maps[map_number].finished()]
                    answer = (found, maps[map_number].room)
                case "take":
                    result = maps[map_number].take_pickled(*content)
                    connection.send(("bytes", None))
                    connection.send_bytes(result)  # as it is: pickling it again would copy it twice
                    continue
                case "close":
                    maps.pop(map_number).close()
        except TrubleuError as error:
            connection.send(("error", (type(error).__name__, str(error))))
        else:
            connection.send(("done", answer))


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)  # the cluster ends what still runs of ours


if __name__ == "__main__":
    main()
