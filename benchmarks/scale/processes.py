"""A process and all that came of it, as Linux tells it: time and memory."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process holds at the moment, and the most it ever held.

    Attributes
    ----------
    own_bytes
        Without mapped files and memory that is shared (``RssAnon``).
    peak_bytes
        The most that was resident, with all that is mapped (``VmHWM``).
    """

    own_bytes: int
    peak_bytes: int


def tree(pid: int) -> list[int]:
    """Return a process and all of its descendants."""
    children = defaultdict(list)
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):  # the state, the parent, …
            children[int(fields[1])].append(int(entry.name))
    found = [pid]
    for parent in found:
        found += children[parent]
    return found


def cpu_seconds(pid: int) -> float:
    """Return the time that a process and its descendants have worked, those that have ended included."""
    return sum(_cpu(_stat(each)) for each in tree(pid))


def cpu_by_part(pid: int, engine: str) -> dict[str, float]:
    """Return the time that live processes have worked by what part they play.

    Parameters
    ----------
    pid
        The process that was asked: ``driver``.
    engine
        The name of its engine. With Ray, the process that holds the connection is the ``connection``, and what is no
        worker is the ``cluster``.
    """
    found = {"driver": 0.0, "connection": 0.0, "workers": 0.0, "cluster": 0.0}
    for each in tree(pid):
        found[_part(each, pid, engine)] += _cpu(_stat(each)[:13])
    return found


def _part(pid: int, driver: int, engine: str) -> str:
    if pid == driver:
        return "driver"
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        command = b""
    if command.startswith(b"ray::") or b"default_worker.py" in command:
        return "workers"
    if not engine.startswith("ray"):
        return "workers"
    return "connection" if b"trubleu.execution.ray_connection" in command else "cluster"


def memory(pid: int) -> Memory | None:
    """Return what a process holds; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    own, peak = (re.search(rf"^{name}:\s*(\d+) kB$", status, re.MULTILINE) for name in ("RssAnon", "VmHWM"))
    return Memory(int(own[1]) * 1024, int(peak[1]) * 1024) if own and peak else None


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` after the name, which may hold blanks; none if the process has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _cpu(fields: list[str]) -> float:
    # utime, stime, and the same of children that were waited for: fields 14 to 17, counted from 1.
    return sum(map(int, fields[11:15])) / _TICKS
