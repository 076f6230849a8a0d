"""``python -m trubleu.cli.run_with_parent PROCESS COMMAND …``: a command that ends with the process that started it.

A server that runs beside a command is ended by that command. If the command is killed it cannot do so, and nobody would
know of the server any more.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

_LOOKS_EVERY = 0.5  # seconds


def main(arguments: list[str]) -> int:
    """Run a command until it ends, or the process with the given number has."""
    from trubleu.cli import main as run

    threading.Thread(target=_watch, args=(int(arguments[0]),), daemon=True).start()
    return run(arguments[1:])


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOKS_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
