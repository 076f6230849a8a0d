"""Faults in turn, as SQLite is tested: every call that changes a file fails, once or for good, or ends the process."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE: Final = Path(__file__).parent
ONCE, FROM_THEN_ON, KILLED = 1, 2, 3

FAULTS: Final = {
    "a full disk": (FROM_THEN_ON, errno.ENOSPC),
    "one error of the disk": (ONCE, errno.EIO),
    "a kill": (KILLED, 0),
}
"""What happens at a call: writes find no room, once half of their bytes were written; or the disk fails once; or
the process ends there and then, as by ``kill -9``."""


@contextmanager
def work_folder() -> Iterator[Path]:
    """Give a folder in memory where there is one, as thousands of syncs would wait for a disk otherwise."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


class Done(NamedTuple):
    """What came of a command: its exit code, all that it printed, and how many calls could have failed."""

    code: int
    said: str
    calls: int


class Server:
    """A process that runs commands in its children, one fault each.

    Parameters
    ----------
    folder
        Where the shim is put.
    """

    def __init__(self, folder: Path) -> None:
        shim = folder / "shim.so"
        compiler = shutil.which("g++") or shutil.which("c++")
        assert compiler is not None, "the shim needs a C++ compiler"
        command = [compiler, "-O1", "-fPIC", "-shared", "-std=c++17", "-o", str(shim), str(HERE / "shim.cpp"), "-ldl"]
        subprocess.run(command, check=True)
        environment = {**os.environ, "LD_PRELOAD": str(shim), "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def run(
        self,
        folder: Path,
        arguments: list[str],
        number: int = 0,
        fault: tuple[int, int] = (ONCE, 0),
        *,
        allocations: bool = False,
        here: bool = False,
    ) -> Done:
        """Run a command in a folder; the call with this number to that folder fails, or allocation of a kernel.

        With ``here`` there is no fault, and all children have what it leaves in memory.
        """
        mode, error = fault
        job = {
            "arguments": arguments,
            "folder": str(folder),
            "number": number,
            "mode": mode,
            "error": error,
            "allocations": allocations,
            "here": here,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Done(**json.loads(self._process.stdout.readline()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A command that changes files.

    Attributes
    ----------
    name, kind
        What it is called, and of which kind its files are.
    arguments
        The command.
    state
        Returns what the files of a folder say, in any form that can be compared; it may run commands, and fails if
        they cannot be used. What was not finished and can be gone on with counts as the state before.
    resume
        The command that goes on, if there is one; the state is then the new one.
    """

    name: str
    kind: str
    arguments: list[str]
    state: Callable[[Path, Server], object]
    resume: list[str] | None = None

    def __str__(self) -> str:
        return self.name


def leftovers(folder: Path) -> list[str]:
    """Return the files that were not finished."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".trubleu-*")]


def chosen(calls: int, most: int) -> Iterator[int]:
    """Yield numbers of calls, all of them or as many as there may be, spread over the whole."""
    if calls <= most:
        yield from range(1, calls + 1)
        return
    yield from sorted({1 + round(each * (calls - 1) / (most - 1)) for each in range(most)})
