"""Copies of remote files on this machine, for what must be mapped into memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Final

from trubleu.data import remote

try:
    import fcntl
except ImportError:  # Windows, where copies of processes that were killed stay until somebody removes them
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "trubleu-copies-"
_LOCK: Final = "in-use"
_YOUNG: Final = 60  # seconds in which a folder without a lock may belong to somebody who is about to take it

_guard = threading.Lock()
_folders: dict[int, Path] = {}  # by process, as a process that was forked must not use its parent's
_copies: dict[tuple[int, str], set[Path]] = {}  # by process and address


def copied(address: str) -> Path:
    """Return a copy of a remote file, made once a process, and again if the file has changed."""
    state = f"{address}\n{remote.modified(address)}"
    with _guard:
        target = _folder() / hashlib.blake2b(state.encode(), digest_size=16).hexdigest()
        if not target.exists():
            half = target.with_suffix(".half")
            try:
                remote.fetch(address, str(half))
                half.replace(target)
            finally:
                half.unlink(missing_ok=True)
        _copies.setdefault((os.getpid(), address), set()).add(target)
        return target


def forget(address: str) -> None:
    """Remove the copies of a remote file that this process has made."""
    with _guard:
        for copy in _copies.pop((os.getpid(), address), ()):
            with suppress(OSError):  # Windows keeps a file that is in use, until the process ends
                copy.unlink(missing_ok=True)


def _folder() -> Path:
    process = os.getpid()
    if process not in _folders:
        _remove_abandoned()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if fcntl:
            # Held until the process ends, however it ends.
            fcntl.flock(os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
        _folders[process] = folder
        # Unlike what atexit calls, this also happens at the end of a process that multiprocessing started.
        Finalize(None, _remove_own, args=(process, folder), exitpriority=0)
    return _folders[process]


def _remove_own(process: int, folder: Path) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """Remove the copies of processes that were killed."""
    if not fcntl:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # that of another user, or already gone
            if time.time() - folder.stat().st_mtime < _YOUNG:
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
