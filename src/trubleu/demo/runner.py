"""Running the steps of the demo, from where an earlier attempt stopped, with a journal in its folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

from trubleu._version import __version__
from trubleu.demo.steps import DemoOptions, Surroundings, demo_steps
from trubleu.errors import DataError, MissingExtraError, UsageError, some
from trubleu.files.writer import atomic_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from trubleu.demo.steps import Command, Step


try:
    import fcntl
except ImportError:  # Windows, where a second demo in the same folder is not noticed
    fcntl = None  # type: ignore[assignment]

JOURNAL: Final = "demo.json"
MARK: Final = "trubleu demo"
"""The field with the version, by which a journal is told from any other JSON."""

LOCK: Final = "demo.lock"
SCHEMA: Final = 2

_TEMPORARY: Final = re.compile(r"\.trubleu-[0-9a-f]{16}\.tmp")  # as `atomic_writer` names what is not whole yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A step that is done.

    Attributes
    ----------
    step
        Its name.
    commands
        As they were printed.
    at
        When it was done, in ISO 8601.
    seconds
        How long it took, the attempt that came to its end.
    """

    step: str
    commands: tuple[str, ...]
    at: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """What a demo has done.

    Attributes
    ----------
    options
        What it was begun with.
    done
        The steps that are done, in their order.
    begun
        How often each step was begun.
    """

    options: DemoOptions
    done: tuple[Done, ...] = ()
    begun: dict[str, int] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the names of the steps that are done."""
        return [each.step for each in self.done]


class DemoFolder:
    """The folder of a demo, which nobody else uses meanwhile; get it from `demo_folder`.

    Attributes
    ----------
    path
        Where it is.
    journal
        What is done.
    gone
        A file of a step that was done, which is not there any more; empty if all are there.
    """

    def __init__(self, path: Path, journal: Journal, steps: Sequence[Step], gone: str = "") -> None:
        self.path = path
        self.journal = journal
        self.gone = gone
        self._order = [step.name for step in steps]

    def begin(self, step: Step) -> int:
        """Make ready for a step and return how often it was begun before.

        What an interrupted attempt left is removed, unless the step goes on with it. Steps after one that is made anew
        are made anew as well, as if they had never been begun.
        """
        begun = dict(self.journal.begun)
        if not step.continues:
            for name in step.makes:
                _remove(self.path / name)
            for later in self._order[self._order.index(step.name) + 1 :]:
                begun.pop(later, None)
        before = begun.get(step.name, 0)
        self._keep(replace(self.journal, begun={**begun, step.name: before + 1}))
        return before

    def finish(self, done: Done) -> None:
        """Write down that a step is done."""
        self._keep(replace(self.journal, done=(*self.journal.done, done)))

    def _keep(self, journal: Journal) -> None:
        write_journal(self.path, journal)
        self.journal = journal


@contextmanager
def demo_folder(path: Path, options: DemoOptions, steps: Sequence[Step]) -> Iterator[DemoFolder]:
    """Open the folder of a demo, or make it, and let nobody else use it until the block ends.

    Parameters
    ----------
    path
        Where it is.
    options
        What the demo is begun with, or was.
    steps
        What is to be done. Steps whose files are gone count as not done, and so do those after them.

    Raises
    ------
    UsageError
        If the folder holds something else, or a demo that was begun with other options or another version; nothing is
        touched then.
    DataError
        If it cannot be made, its journal cannot be read, or another demo uses it.
    """
    _check(path)
    _journal(path, options)  # nothing is touched, not even for the lock, if it is not this demo
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be made: {error.strerror or error}; name another folder") from error
    with _locked(path):
        journal, gone = _journal(path, options), ""
        if journal is None:
            journal = Journal(options=options)
            write_journal(path, journal)
        else:
            done, gone = _still_there(path, journal, steps)
            journal = replace(journal, done=done)
        for item in path.iterdir():
            if _TEMPORARY.fullmatch(item.name):
                _remove(item)
        yield DemoFolder(path, journal, steps, gone)


def _journal(path: Path, options: DemoOptions) -> Journal | None:
    """Return the journal, None if there is none yet; refuse one of a demo with other options."""
    if not (path / JOURNAL).exists():
        return None
    journal = read_journal(path)
    if journal.options != options:
        raise UsageError(
            f"{path} holds a demo that was begun with {_written(journal.options)}, not with {_written(options)}; "
            "give these again, or name another folder"
        )
    return journal


def read_journal(path: Path) -> Journal:
    """Read the journal of a demo.

    Raises
    ------
    UsageError
        If another version has made it, or the same one before the steps were changed.
    DataError
        If it is no journal.
    """
    at = path / JOURNAL
    try:
        found: dict[str, Any] = json.loads(at.read_text("utf-8"))
        made_by = str(found[MARK])
        if found["schema"] == SCHEMA and made_by == __version__:
            done = tuple(
                Done(step=row["step"], commands=tuple(row["commands"]), at=row["at"], seconds=float(row["seconds"]))
                for row in found["done"]
            )
            return Journal(options=DemoOptions(**found["options"]), done=done, begun=dict(found["begun"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{at} cannot be read as the journal of a demo; remove the folder {path}, or name another"
        ) from error
    if made_by == __version__:
        raise UsageError(f"{path} holds a demo with other steps than today’s; remove the folder, or name another")
    raise UsageError(
        f"{path} holds a demo of trubleu {made_by}, and this is trubleu {__version__}; "
        "remove the folder, or name another"
    )


def write_journal(path: Path, journal: Journal) -> None:
    """Write the journal, whole or not at all."""
    content = {MARK: __version__, "schema": SCHEMA, **asdict(journal)}
    with atomic_writer(path / JOURNAL) as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def _check(path: Path) -> None:
    """Refuse what is no folder, and a folder with anything in it that is no demo."""
    try:
        if not path.exists():
            return
        if not path.is_dir():
            raise UsageError(f"{path} is a file, but a demo is a folder; name another")
        there = sorted(item.name for item in path.iterdir())
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}; name another folder") from error
    strange = [name for name in there if name != LOCK and not _TEMPORARY.fullmatch(name)]
    if strange and JOURNAL not in there:
        raise UsageError(f"{path} holds something else than a demo ({some(strange, 3)}); name another folder")


def _still_there(path: Path, journal: Journal, steps: Sequence[Step]) -> tuple[tuple[Done, ...], str]:
    """Return the steps that are done up to the first of whose files one is gone, and that file."""
    done: list[Done] = []
    for record, step in zip(journal.done, steps, strict=False):
        if record.step != step.name:
            break
        for name in step.makes:
            if not (path / name).exists():
                return tuple(done), name
        done.append(record)
    return tuple(done), ""


def _written(options: DemoOptions) -> str:
    return " ".join(f"--{name} {value}" for name, value in asdict(options).items())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise DataError(f"{path} may not be written: {error.strerror or error}; name another folder") from error
    try:
        if fcntl:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise DataError(
                    f"{path} is used by another demo at the moment; wait until that is done, or name another folder"
                ) from None
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)


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
