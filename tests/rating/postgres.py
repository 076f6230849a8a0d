"""A PostgreSQL server of our own for tests: in a temporary folder, reached through a socket there, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

_SETTINGS = "listen_addresses='' \nmax_connections=120 \nshared_buffers=32MB \nlog_min_messages=fatal\n"


def binaries() -> Path | None:
    """Where the server's programs are: on Debian not on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def _as_other_user() -> list[str]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    msg = "PostgreSQL does not run as root, and there is neither a user postgres nor nobody"
    raise RuntimeError(msg)


@dataclass
class Server:
    """A server that can be started, stopped and killed."""

    folder: Path
    programs: Path
    durable: bool = False
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def make(cls, *, durable: bool = False) -> Server:
        programs = binaries()
        if programs is None:
            msg = "PostgreSQL is not installed"
            raise RuntimeError(msg)
        # Not pytest's folder: its name can be too long for a socket, and it is closed to other users.
        folder = Path(tempfile.mkdtemp(prefix="trubleu-pg-"))
        folder.chmod(0o777)
        server = cls(folder, programs, durable)
        command = [programs / "initdb", "-D", folder / "data", "-U", "rater", "-A", "trust", "-E", "UTF8", "--no-sync"]
        done = subprocess.run([*_as_other_user(), *map(str, command)], capture_output=True, cwd="/", check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return server

    def start(self) -> None:
        fsync = "on" if self.durable else "off"
        options = ["-k", str(self.folder), "-c", f"fsync={fsync}", "-c", f"full_page_writes={fsync}"]
        for line in _SETTINGS.split("\n"):
            if line.strip():
                options += ["-c", line.strip().replace("'", "")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*_as_other_user(), str(self.programs / "postgres"), "-D", str(self.folder / "data"), *options],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        ready = [str(self.programs / "pg_isready"), "-q", "-h", str(self.folder), "-d", "postgres"]
        until = time.monotonic() + 300
        while subprocess.run(ready, check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop at once, cleanly; or with SIGQUIT as if the power had failed."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, schema: str = "") -> str:
        """An address whose tables are in a schema of their own."""
        options = f"&options={quote(f'-csearch_path={schema}')}" if schema else ""
        return f"postgresql+psycopg://rater@/postgres?host={quote(str(self.folder))}{options}"

    def run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(host=str(self.folder), user="rater", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement)


def running(*, durable: bool = False) -> Iterator[Server]:
    """Yield a server that runs, and remove it in the end."""
    server = Server.make(durable=durable)
    try:
        server.start()
        yield server
    finally:
        server.remove()
