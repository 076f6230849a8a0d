"""A driver that is connected to no cluster and does the work itself: ``python -m tests.execution.driver``."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, TypeVar

from trubleu.errors import EngineError
from trubleu.execution.base import Status
from trubleu.execution.ray_connection import serve
from trubleu.execution.ray_tasks import loaded, work_on

SLEPT: Final = 240.0
"""Seconds that nobody should wait for: many more than anything takes on a busy machine."""

Text = TypeVar("Text", str, bytes)


def doubled(text: Text, _state: object) -> Text:
    """Return a text twice."""
    return text + text


def length(text: bytes, _state: object) -> int:
    """Return how long a text is."""
    return len(text)


def slept(given: tuple[float, str], _state: object) -> float:
    """Return how long it was slept, and make a file before if one is named."""
    seconds, begun = given
    if begun:
        Path(begun).touch()
    time.sleep(seconds)
    return seconds


class Large(bytes):
    """A partition that does not fit into a pipe, and takes long to begin."""

    def __str__(self) -> str:
        return "slow"


class Tasks:
    """One map."""

    room = 2

    def __init__(self, work: bytes, folder: str) -> None:
        self._token = os.urandom(8).hex()
        self._rest = (folder, work)
        self._begun: dict[int, bytes] = {}
        self._results: dict[int, bytes | None] = {}

    def begin_pickled(self, number: int, name: str, partition: bytes) -> None:
        """Begin a partition, which the name may hinder."""
        if name == "slow":
            time.sleep(SLEPT)
        if name == "refused":
            raise EngineError("this cannot be begun")
        self._begun[number] = partition

    def finished(self) -> list[tuple[int, Status]]:
        """Work on all that was begun."""
        found = []
        for number, partition in self._begun.items():
            status, self._results[number] = work_on(self._token, *self._rest, partition)
            found.append((number, Status(*status)))
        self._begun.clear()
        return found

    def take_pickled(self, number: int) -> bytes | None:
        """Return a result."""
        return self._results.pop(number)

    def close(self) -> None:
        """Do nothing."""


class Engine:
    """What takes the place of a cluster."""

    workers = 2

    def tasks(self, work: bytes, folder: str) -> Tasks:
        """Begin a map, unless its function is a number."""
        if loaded(work)._function == 0:
            raise ZeroDivisionError("a bug\nand more about it")
        return Tasks(work, folder)


if __name__ == "__main__":
    with Connection(int(sys.argv[1])) as connection, suppress(EOFError, OSError):
        connection.recv()
        connection.send(False)
        serving: Any = Engine()
        serve(connection, serving)
