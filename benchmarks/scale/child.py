"""Commands run in processes of their own, and what they took."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scale.processes import memory, tree

_EVERY = 0.05  # seconds between looks at a process's own memory
_EVERY_TREE = 0.25  # the same for all of its descendants, which takes longer
_ROOT = Path(__file__).parents[2]


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
    """Run the command line in a new process."""
    return run_module("trubleu", *arguments)


def run_module(module: str, *arguments: str) -> Cost:
    """Run a module in a new process.

    Stays small itself, because a process is counted as large as the one that started it.
    """
    shown = " ".join([module, *arguments])
    print(shown, file=sys.stderr, flush=True)
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", module, *arguments])
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
        found = memory(pid)
        if found is None:  # it has just ended
            return
        peaks[0] = max(peaks[0], found.own_bytes)


def trial(engine: str | None, arguments: list[str], *, workers: int, limit: float) -> dict[str, Any]:
    """Run a command with an engine that is ready before time is taken (see `benchmarks.scale.trial`).

    Parameters
    ----------
    engine
        Its name; None for a command without one. ``ray`` starts a cluster of its own, which ends with the command.
    arguments
        The command, without ``--engine``.
    workers
        How many cores a cluster has.
    limit
        Seconds after which the command and all its processes are killed.

    Returns
    -------
    dict
        What the trial found out, and the memory of the process that was asked (``driver``), of the largest other one
        (``worker``), and of all together, looked up every quarter of a second.
    """
    shown = " ".join(["trubleu", *arguments, *([] if engine is None else ["--engine", engine])])
    return {"command": shown, **measured("trial", [engine or "none"], arguments, shown, workers=workers, limit=limit)}


def measured(
    module: str, before: list[str], after: list[str], shown: str, *, workers: int, limit: float
) -> dict[str, Any]:
    """Run a module of this package in a new process, which writes a report of JSON; return that and its memory.

    Parameters
    ----------
    module
        Its name.
    before, after
        Its arguments before and after the name of the report.
    shown
        What messages call it.
    workers, limit
        As for `trial`.
    """
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit(1))  # or a cluster would be left behind
    print(shown, file=sys.stderr, flush=True)
    # Names of sockets are short, so what Ray keeps cannot lie below just any folder. Its last processes may still write
    # there when it is removed.
    with tempfile.TemporaryDirectory(prefix="tb", ignore_cleanup_errors=True) as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", f"benchmarks.scale.{module}", *before, str(report), *after]
        process = subprocess.Popen(command, env=_environment(folder, workers), cwd=_ROOT, stdout=sys.stderr)
        peaks = _Peaks(process.pid)
        try:
            _wait(process, peaks, limit, shown)
        finally:
            _end(process)
        if process.returncode or not report.exists():
            raise SystemExit(f"{shown} left with code {process.returncode}")
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return {**found, **peaks.to_dict()}


def _environment(folder: str, workers: int) -> dict[str, str]:
    """Return what a process needs to have a cluster for itself, and its workers to find the benchmarks."""
    given = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return given | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), given.get("PYTHONPATH")])),
        "RAY_TMPDIR": folder,
        "RAY_OVERRIDE_RESOURCES": json.dumps({"CPU": workers}),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }


class _Peaks:
    """The most memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._own: dict[int, int] = {}
        self._most: dict[int, int] = {}
        self._all = 0

    def look(self) -> None:
        together = 0
        for pid in tree(self._pid):
            if found := memory(pid):
                together += found.own_bytes
                self._own[pid] = max(self._own.get(pid, 0), found.own_bytes)
                self._most[pid] = max(self._most.get(pid, 0), found.peak_bytes)
        self._all = max(self._all, together)

    def to_dict(self) -> dict[str, int]:
        return {
            "driver_peak_bytes": self._most.get(self._pid, 0),
            "driver_own_bytes": self._own.get(self._pid, 0),
            "worker_peak_bytes": max((most for pid, most in self._most.items() if pid != self._pid), default=0),
            "worker_own_bytes": max((own for pid, own in self._own.items() if pid != self._pid), default=0),
            "all_own_bytes": self._all,
        }


def _wait(process: subprocess.Popen[bytes], peaks: _Peaks, limit: float, shown: str) -> None:
    end = time.monotonic() + limit
    while True:
        peaks.look()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_EVERY_TREE)
            return
        if time.monotonic() > end:
            raise SystemExit(f"{shown} was stopped after {limit:,.0f} s; give it more with --limit")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave none of its processes behind, if it is still there."""
    if process.poll() is None:
        for pid in reversed(tree(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
