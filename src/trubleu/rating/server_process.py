"""A study's server in a separate process, for simulated raters."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from trubleu.files.paths import PathLike

_STARTED = re.compile(r"listening at (http://\S+:(\d+))")
_PATIENCE = 60.0  # seconds


class ServerProcess:
    """Run ``trubleu rate serve`` on a free local port, until the block ends.

    Parameters
    ----------
    folder
        The study.
    options
        More options of ``trubleu rate serve``; there is no limit on requests unless they set one.

    Attributes
    ----------
    url
        Where it is.
    output
        The temporary file with all that it prints.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> Study.create(folder, StudyConfig("Good answers", "response"), [Item("7", ("fine",))]).close()
    >>> with ServerProcess(folder) as server:
    ...     print(server.url.rpartition(":")[0])
    http://127.0.0.1
    """

    def __init__(self, folder: PathLike, *, options: Sequence[str] = ()) -> None:
        self._folder = folder
        self._options = ["--requests", "0", *options]
        handle, output = tempfile.mkstemp(prefix="trubleu-serve-", suffix=".log")
        os.close(handle)
        self.output = Path(output)
        self.url = ""
        self._port = "0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, on its previous port if it was killed, and wait until it listens.

        Raises
        ------
        UsageError
            If it does not start, with what it says.
        """
        # It ends with this process, even if that is killed.
        served = ("rate", "serve", str(self._folder), "--port", self._port, *self._options)
        command = [sys.executable, "-u", "-m", "trubleu.cli.run_with_parent", str(os.getpid()), *served]
        with self.output.open("ab") as stream:
            before = stream.tell()
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
            )
        until = time.monotonic() + _PATIENCE
        while True:
            ended = self._process.poll() is not None
            with self.output.open("rb") as stream:
                stream.seek(before)
                said = stream.read().decode("utf-8", "replace")
            if (found := _STARTED.search(said)) is not None:
                self.url, self._port = found.groups()
                return
            if ended or time.monotonic() > until:
                self.kill()
                reason = said.strip().splitlines()[-1].removeprefix("trubleu: ") if said.strip() else "it says nothing"
                raise UsageError(f"the server of {self._folder} does not start: {reason}")
            time.sleep(0.02)

    @property
    def pid(self) -> int | None:
        """Its process id, None if it is not running."""
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        """Kill it immediately, as a power failure would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop it gracefully."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            self.output.unlink(missing_ok=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.output.unlink(missing_ok=True)
