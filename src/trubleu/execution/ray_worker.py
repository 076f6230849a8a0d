"""Code that runs on a Ray worker: state kept between partitions, and pickling."""

from __future__ import annotations

import os
import pickle
import socket
from contextlib import suppress
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from trubleu.errors import UsageError
from trubleu.execution.base import Status
from trubleu.execution.hashing import sources_digest as sources_digest
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from trubleu.execution.base import Work

# Only the last map's: a worker serves one job, and a job runs one map at a time.
_works: dict[str, Work[Any, Any, Any]] = {}


def work_on(token: str, folder: str, work: bytes, partition: bytes) -> tuple[tuple[Any, ...], bytes | None]:
    """Process a partition and return its status, as plain values, and its pickled result.

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
            _works[token] = loaded(work)
        content = loaded(partition)
    except Exception as error:
        return astuple(Status("failed", f"what was sent cannot be read: {error}", type(error).__name__)), None
    status, result = _works[token](content)
    if status.outcome == "trouble":
        remedy = ": every node must reach files by the same path" if status.missing else ""
        status = replace(status, message=f"{status.message} (on the node {socket.gethostname()}{remedy})")
    if status.outcome != "done":
        return astuple(status), None
    try:
        return astuple(status), pickled(result, "its result")
    except UsageError as error:
        return astuple(Status("failed", str(error), "UsageError")), None


def pickled(thing: object, what: str) -> bytes:
    """Pickle an object; raise an error if it cannot be sent."""
    try:
        try:
            content = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError):
            content = b"__main__"
        if b"__main__" in content:  # objects from a script or notebook cannot be imported by name elsewhere
            content = needed("ray.cloudpickle", "the engine ray", "trubleu[ray]").dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"{what} cannot be sent to a cluster: {error}") from error
    return content


def loaded(content: bytes) -> Any:
    """Unpickle an object."""
    return pickle.loads(content)  # noqa: S301 - between a driver and its workers, which run its code anyway
