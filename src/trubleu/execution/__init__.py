"""Engines: run work in this process, in worker processes on this machine, or on a Ray cluster.

An engine maps a function over partitions, such as ranges of lines or shards, and yields results in the order of the
partitions. The function and its results are the same on every engine.
"""

from __future__ import annotations

import os
import sys

from trubleu.errors import BadPartitionsError, EngineError, UsageError
from trubleu.execution.base import Engine

__all__ = ["BadPartitionsError", "Engine", "EngineError", "engine"]


def engine(name: str = "local", *, threads: int | None = None) -> Engine:
    """Return an engine by name; use it as a context manager to stop its workers.

    Parameters
    ----------
    name
        ``local`` for this process, ``local:8`` for eight processes on this machine, ``local:all`` for one per core,
        ``ray`` for the Ray cluster that ``RAY_ADDRESS`` names, or else that this user began or joined on this machine
        (with neither, one is started here and ended with the engine, which a warning says), ``ray://HOST:PORT`` for a
        Ray cluster elsewhere (10001 if there is no port). A process of its own connects to it, but ``ray`` uses the
        connection of this one if there is one.
    threads
        How many threads the work on a partition may use: one if nothing is said, and in this process as many as there
        are cores. A cluster puts no more partitions on a node than it has cores for.

    Raises
    ------
    UsageError
        If there is no such engine.
    MissingExtraError
        If Ray is not installed.

    Examples
    --------
    >>> with engine("local") as here:
    ...     list(here.map(lambda number, power: number**power, [3, 1, 2], state=lambda: 2))
    [(3, 9), (1, 1), (2, 4)]
    """
    kind, colon, rest = name.partition(":")
    if kind == "local":
        if not colon:
            from trubleu.execution.local import InThisProcess

            return InThisProcess(threads)
        workers = (os.cpu_count() or 1) if rest == "all" else int(rest) if rest.isascii() and rest.isdigit() else 0
        if workers:
            from trubleu.execution.local import Processes

            return Processes(workers, threads or 1)
    elif name == "ray" or (name.startswith("ray://") and len(name) > len("ray://")):
        if name == "ray" and _connected_to_ray():
            from trubleu.execution.ray_tasks import OnRay

            return OnRay(None, threads=threads or 1)
        from trubleu.execution.ray_connection import RayProcess

        return RayProcess(None if name == "ray" else name, threads=threads or 1)
    raise UsageError(f"there is no engine {name!r}; known: local, local:N, local:all, ray, ray://HOST:PORT")


def _connected_to_ray() -> bool:
    """Return whether this process is already connected to a cluster, without importing Ray."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())
