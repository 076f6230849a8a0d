"""How time is taken: CPU time of all threads, the least of several runs."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

Clock = Callable[[], float]


def best(
    work: Callable[[], object],
    repeats: int,
    *,
    clock: Clock = time.process_time,
    before: Callable[[], object] | None = None,
) -> float:
    """Return the least time that one call takes.

    Parameters
    ----------
    work
        What is measured.
    repeats
        How often.
    clock
        CPU time of all threads if not given.
    before
        Called before each run, outside the measurement.
    """
    least = float("inf")
    gc.collect()
    for _ in range(repeats):
        if before:
            before()
        start = clock()
        result = work()
        least = min(least, clock() - start)
        del result  # taken apart outside the measurement, for both sides
    return least


def interpreter_seconds(codes: Sequence[Sequence[str]], repeats: int) -> list[float]:
    """Return the median CPU time of running Python with each list of arguments, in turns."""
    seconds: list[list[float]] = [[] for _ in codes]
    for _ in range(repeats):
        for arguments, taken in zip(codes, seconds, strict=True):
            taken.append(_child_seconds(arguments))
    return [median(taken) for taken in seconds]


def _child_seconds(arguments: Sequence[str]) -> float:
    command = [sys.executable, *arguments]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with code {child.returncode}")
    return usage.ru_utime + usage.ru_stime
