"""The program ``trubleu``, also ``python -m trubleu``: the command line as a process that signals may end."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_ENDING: Final = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


def main() -> int:
    """Run the command of ``sys.argv`` and return its exit code.

    A signal that ends the process does so as an exception, so that no half-written file stays behind. While Python
    still imports the commands, nothing is written yet and Ctrl-C ends the process at once.
    """
    interrupt = signal.getsignal(signal.SIGINT)  # ignored, if a shell started the process in the background
    if interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from trubleu.cli import main as run

    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    signal.signal(signal.SIGINT, interrupt)
    return run()


def _end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the signature of a handler
    for name in _ENDING:
        if hasattr(signal, name):  # a second signal must not interrupt the removal of files
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
