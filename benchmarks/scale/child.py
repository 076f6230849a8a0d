"""Commands run in processes of their own, and what they took."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_EVERY = 0.05  # seconds between looks at a process's own memory


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took.

    Attributes
    ----------
    command
        Its arguments, as they would be typed.
    wall_seconds, cpu_seconds
        Time that passed, and that of all its threads (user and system).
    peak_bytes
        The most memory that was resident at once, as the kernel kept it (``wait4``): pages of mapped files count.
    peak_own_bytes
        The most without mapped files (``RssAnon``), which the kernel can drop at any time: looked up every 50 ms.
    """

    command: str
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    peak_own_bytes: int


def trubleu(*arguments: str) -> Cost:
    """Run the command line in a new process.

    Stays small itself, because a process is counted as large as the one that started it.
    """
    shown = " ".join(["trubleu", *arguments])
    print(shown, file=sys.stderr, flush=True)
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "trubleu", *arguments])
    done = threading.Event()
    peaks = [0]
    watch = threading.Thread(target=_watch, args=(process.pid, peaks, done))
    watch.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    done.set()
    watch.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shown} left with code {process.returncode}")
    return Cost(shown, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, peaks[0])


def _watch(pid: int, peaks: list[int], done: threading.Event) -> None:
    while not done.wait(_EVERY):
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        except OSError:  # it has just ended
            return
        if found := re.search(r"^RssAnon:\s*(\d+) kB$", status, re.MULTILINE):
            peaks[0] = max(peaks[0], int(found[1]) * 1024)
