"""``python run_with_parent.py PROCESS COMMAND …``: run a command of TruBLEU that ends with its parent process.

Tests that start a server also stop it. If they are killed, they cannot, and the server would stay behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

_LOOKS_EVERY = 0.5  # seconds


def main(arguments: list[str]) -> int:
    """Run a command until it ends, or until the process with the given number has ended."""
    from trubleu.cli import main as run

    threading.Thread(target=_watch, args=(int(arguments[0]),), daemon=True).start()
    return run(arguments[1:])


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOKS_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
