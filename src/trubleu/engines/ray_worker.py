"""What a worker of a Ray cluster keeps from one partition to the next."""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from trubleu.engines.work import Status

if TYPE_CHECKING:
    from trubleu.engines.work import Work

# The last map's only: a worker serves one job, and a job one map at a time.
_works: dict[str, Work[Any, Any, Any]] = {}


def work_on(token: str, folder: str, work: bytes, partition: bytes) -> tuple[tuple[str, ...], Any]:
    """Work on a partition and return its status, as plain strings, and its result.

    Parameters
    ----------
    token
        Which map it belongs to.
    folder
        Where the driver is, which relative paths start from; gone to if it is there.
    work, partition
        Both pickled; what is in them is looked at here, where it can be said what is wrong.
    """
    try:
        if token not in _works:
            with suppress(OSError):
                os.chdir(folder)
            _works.clear()
            _works[token] = pickle.loads(work)  # noqa: S301 - from the driver, which runs code here as it likes
        content = pickle.loads(partition)  # noqa: S301
    except Exception as error:
        return astuple(Status("failed", f"what was sent cannot be read: {error}", type(error).__name__)), None
    status, result = _works[token](content)
    return astuple(status), result
