"""Doing the steps one after the other, from where an earlier attempt stopped."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol

from trubleu.demo.folder import Done, demo_folder
from trubleu.demo.steps import Surroundings, demo_steps
from trubleu.errors import MissingExtraError, UsageError, some

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from trubleu.demo.steps import Command, DemoOptions, Step

PACKAGES: Final = (
    "fastapi", "httpx", "jinja2", "markdown_it", "python_multipart", "sqlalchemy", "uvicorn", "yaml",
    "safetensors", "tokenizers", "wordllama",
)  # fmt: skip
"""What the demo needs besides TruBLEU itself."""

EXTRAS: Final = "trubleu[rate,ready]"

REPORT: Final = "report.html"


class Runner(Protocol):
    """What runs commands and tells people about it."""

    def run(self, command: Command) -> None:
        """Run a command to its end."""
        ...

    def beside(self, command: Command, log: Path) -> AbstractContextManager[object]:
        """Run a command that serves pages until the block ends."""
        ...

    def take_back(self, study: Path) -> None:
        """Hand the tasks of raters who were interrupted, and do not come back, to others."""
        ...

    def tell_step(self, number: int, count: int, step: Step) -> None:
        """Tell which step begins."""
        ...

    def tell_command(self, command: str) -> None:
        """Tell which command is run next."""
        ...

    def tell(self, text: str) -> None:
        """Tell anything else."""
        ...


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that has come to its end.

    Attributes
    ----------
    report
        The page.
    fresh
        How many steps were done in this call; 0 if all of them were done before.
    """

    report: Path
    fresh: int


def run_demo(
    path: Path,
    options: DemoOptions,
    runner: Runner,
    *,
    write_report: Callable[[Path], None],
    port: int = 8000,
    quiet: bool = False,
) -> Demo:
    """Do what is not done yet.

    Parameters
    ----------
    path
        The folder, which may hold an interrupted demo.
    options
        What changes numbers.
    runner
        What runs commands.
    write_report
        Writes the page of a folder in which everything else is done.
    port
        Where pages are served; another is taken if it is in use.
    quiet
        Whether the commands print nothing.

    Raises
    ------
    UsageError, DataError
        If the folder cannot be used (see `demo_folder`).
    """
    planned = demo_steps(path, options)
    with demo_folder(path, options, planned) as folder:
        done = len(folder.journal.done)
        where = f"step {done + 1} of {len(planned)}"
        if folder.gone:
            runner.tell(f"{path / folder.gone} is gone; it is made again with all that rests on it, from {where}.")
        elif done and done < len(planned):
            runner.tell(f"{path} holds a demo that was interrupted; it goes on with {where}.")
        chosen = _Port(port, runner)
        for number in range(done, len(planned)):
            attempt = folder.begin(planned[number])
            serves = any(command.beside for command in planned[number].commands)
            around = Surroundings(port=chosen.free() if serves else port, quiet=quiet, attempt=attempt)
            step = demo_steps(path, options, around)[number]
            runner.tell_step(number + 1, len(planned), step)
            began = time.monotonic()
            if attempt and step.continues:
                runner.take_back(path / step.makes[0])
            try:
                _do(step, path, runner, write_report)
            except UsageError:
                # Between the look for a free port and the start of the server somebody else may have taken it.
                if not serves or free_port(around.port) == around.port:
                    raise
                step = demo_steps(path, options, replace(around, port=chosen.free()))[number]
                _do(step, path, runner, write_report)
            folder.finish(
                Done(
                    step=step.name,
                    commands=step.typed,
                    at=datetime.now(UTC).isoformat(timespec="seconds"),
                    seconds=round(time.monotonic() - began, 2),
                )
            )
    return Demo(path / REPORT, len(planned) - done)


def _do(step: Step, path: Path, runner: Runner, write_report: Callable[[Path], None]) -> None:
    if not step.commands:
        write_report(path)
        return
    with ExitStack() as stack:
        for command in step.commands:
            runner.tell_command(str(command))
            if command.beside:
                stack.enter_context(runner.beside(command, path / "serve.log"))
            else:
                runner.run(command)
        for ending in step.typed[len(step.commands) :]:
            runner.tell_command(ending)


class _Port:
    """Where pages are served: where one wants them, or else where there is room, which is said once."""

    def __init__(self, wanted: int, runner: Runner) -> None:
        self._wanted = wanted
        self._runner = runner
        self._told = False

    def free(self) -> int:
        port = free_port(self._wanted)
        if port != self._wanted and self._wanted and not self._told:
            self._told = True
            self._runner.tell(f"Port {self._wanted} is in use, so pages are served at port {port}.")
        self._wanted = port
        return port


def free_port(wanted: int) -> int:
    """Return a port of this machine that nobody listens at: the one that is wanted, if that is free.

    Examples
    --------
    >>> free_port(0) > 0
    True
    """
    for port in (wanted, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trying:
            try:
                # As the server does: a port that was in use a moment ago can be taken again.
                trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trying.bind(("127.0.0.1", port))
                trying.listen()
            except OSError:
                continue
            return int(trying.getsockname()[1])
    raise UsageError("there is no free port on this machine; end a server that is not needed")


def check_packages() -> None:
    """Say at once all that is to be installed for the demo.

    Raises
    ------
    MissingExtraError
        If anything is missing.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        them = "it" if len(missing) == 1 else "them"
        raise MissingExtraError(
            f"the demo needs {'the package' if len(missing) == 1 else 'packages that are not installed:'} "
            f"{some(missing)}; install {them} with: pip install '{EXTRAS}'"
        )
