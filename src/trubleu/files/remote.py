"""Remote files through fsspec, for `trubleu.files.paths`, and local copies of those that must be memory-mapped.

Nothing but `trubleu.files.paths` and its neighbours need this; fsspec is imported when the first address is met.
Every failure becomes an `OSError`, whatever the package behind a scheme raises.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal
from weakref import WeakSet

from trubleu.errors import DataError, MissingExtraError, TrubleuError
from trubleu.files.paths import NoBucketError, unreadable
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# Bytes fetched at once when less is asked for: few at first, as many want only a little from somewhere, and twice as
# many each time that reading goes on, as a request takes as long as a megabyte.
_LEAST, _MOST = 1 << 18, 1 << 23
_S3: Final = ("s3", "s3a")
# Where a file appears when it has been sent whole, so that no name in between is needed.
_OBJECT_STORES: Final = (*_S3, "gs", "gcs", "abfs", "abfss", "az", "oss", "memory")
# Seconds and attempts. The packages' own defaults try for minutes at an address where nobody answers.
_CONNECT, _READ, _ATTEMPTS = 5, 20, 2
# Of s3fs, around those attempts, once there has been an answer: a hiccup must not end a long job.
_RETRIES: Final = 6
# Seconds to wait for a store that says it is busy, as one is when many workers ask at once.
_WAITS: Final = [0.2, 0.5, 1, 2, 5, 10]

_dice = secrets.SystemRandom()  # so that workers who were refused together do not come again together
_answered: WeakSet[Any] = WeakSet()  # file systems that can be reached


def open_binary(address: str) -> BinaryIO:
    """Open a file for reading; what is fetched is what is asked for, and a little ahead of it."""
    files, path = _system(address)
    stream = _ask(files, address, lambda: files.open(path, "rb", cache_type="none"))
    details = getattr(stream, "details", None)
    if isinstance(details, dict) and details.get("type") == "directory":  # which S3 opens as an empty file
        raise IsADirectoryError(errno.EISDIR, "it is a folder", address)
    return io.BufferedReader(_Stream(stream, files, address), _LEAST)


def first_bytes(address: str, count: int) -> bytes:
    """Return the first bytes of a file, in one request where the system can."""
    if byte_size(address) == 0:  # which has no range to ask for
        return b""
    files, path = _system(address)
    return bytes(_ask(files, address, lambda: files.cat_file(path, start=0, end=count)))


def byte_size(address: str) -> int:
    """Return how large a file is."""
    details = _info(address)
    if details["type"] == "directory":
        raise IsADirectoryError(errno.EISDIR, "it is a folder", address)
    if details["size"] is None:
        raise OSError(errno.EIO, "its size is not known beforehand", address)
    return int(details["size"])


def kind(address: str) -> Literal["file", "folder"] | None:
    """Return what is there; `DataError` if that cannot be told, as an answer is no place to look for an `OSError`."""
    try:
        return "folder" if _info(address)["type"] == "directory" else "file"
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(unreadable(address, error)) from error


def is_folder(address: str) -> bool:
    """Return whether there is a folder; on object stores one name may be a file and have files below it."""
    files, path = _system(address)
    try:
        return bool(_ask(files, address, lambda: files.isdir(path)))
    except OSError as error:
        raise DataError(unreadable(address, error)) from error


def names_below(folder: str) -> list[str]:
    """Return the paths of all files below a folder, as seen from there."""
    files, path = _system(folder)
    if not _ask(files, folder, lambda: files.isdir(path)):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", folder)
    found = _ask(files, folder, lambda: files.find(path))
    begin = path.rstrip("/") + "/"
    names = [name.removeprefix(begin) for name in found]
    return [name for name in names if name and not name.endswith("/")]  # "folder/" only says that there is one


def modified(address: str) -> str:
    """Return what changes when a file is written."""
    details = _info(address)
    if tag := details.get("ETag"):
        return str(tag).strip('"')
    files, path = _system(address)
    return str(_ask(files, address, lambda: files.ukey(path)))


def remove(address: str) -> None:
    """Remove a file if it is there."""
    files, path = _system(address)
    with suppress(FileNotFoundError):
        _ask(files, address, lambda: files.rm_file(path))


def make_folder(address: str) -> None:
    """Make a folder where the system has such things."""
    if not _in_objects(address):
        files, path = _system(address)
        _ask(files, address, lambda: files.makedirs(path, exist_ok=True))


def fetch(address: str, target: str) -> None:
    """Copy a file to this machine."""
    files, path = _system(address)
    _ask(files, address, lambda: files.get_file(path, target))


def send(source: str, address: str) -> None:
    """Copy a file of this machine to an address, where it appears whole or not at all."""
    files, path = _system(address)
    if _in_objects(address):
        _ask(files, address, lambda: files.put_file(source, path))
        return
    temporary = f"{path.rpartition('/')[0]}/.trubleu-{secrets.token_hex(8)}.tmp"
    try:
        _ask(files, address, lambda: files.put_file(source, temporary))
        _ask(files, address, lambda: files.mv(temporary, path))
    except BaseException:
        with suppress(Exception):  # whatever hinders the removal must not hide the first error
            files.rm_file(temporary)
        raise


def check_target(address: str) -> None:
    """Refuse an address that cannot be written, as far as can be told without writing.

    Raises
    ------
    DataError
        If it is a folder, or there is no bucket or folder for it, or it may not be written.
    """
    files, path = _system(address)
    try:
        no_name = address.endswith("/") or "/" not in path.strip("/")
        if no_name or _ask(files, address, lambda: files.isdir(path)):
            raise DataError(f"{address} cannot be written: it is a folder; give the name of a file")
        if address.partition("://")[0] in _S3:
            _ask(files, address, lambda: _try_upload(files, path))
        elif not _in_objects(address) and not _ask(files, address, lambda: files.isdir(path.rpartition("/")[0])):
            raise DataError(f"{address} cannot be written: there is no folder for it; create it first")
    except OSError as error:
        raise DataError(unwritable(address, error)) from error


def unwritable(address: str, error: OSError) -> str:
    """Say why an address cannot be written, and what to do."""
    match error:
        case NoBucketError():
            return f"{address} cannot be written: {error.strerror}; create it first, or check the path"
        case PermissionError():
            return f"{address} may not be written; check its permissions"
    return f"{address} cannot be written: {error.strerror or error}"


def _try_upload(files: Any, path: str) -> None:
    """Begin an upload and give it up: this asks for the right to write, and leaves nothing that anybody sees."""
    bucket, key, _ = files.split_path(path)
    begun = files.call_s3("create_multipart_upload", Bucket=bucket, Key=key)
    with suppress(Exception):  # it would lie there unseen, without a byte
        files.call_s3("abort_multipart_upload", Bucket=bucket, Key=key, UploadId=begun["UploadId"])


class _Stream(io.RawIOBase):
    """A file of fsspec that reads ahead, and whose failures are those of the operating system."""

    def __init__(self, stream: Any, files: Any, address: str) -> None:
        self._stream = stream
        self._files = files
        self._address = address
        self._place = 0
        self._ready = memoryview(b"")  # what comes next
        self._ahead = _LEAST

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = (0, self._place, self._stream.size)[whence]
        if base + offset < 0:
            raise OSError(errno.EINVAL, "it has no bytes before its first", self._address)
        if base + offset != self._place:
            self._place = base + offset
            self._ready = memoryview(b"")
            self._ahead = _LEAST
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            self._ready = memoryview(self._fetched(max(len(buffer), self._ahead)))
            self._ahead = min(2 * self._ahead, _MOST)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        self._place += count
        return count

    def readall(self) -> bytes:  # which would ask for 8 kB at a time
        return b"".join(iter(lambda: self.read(2 * _MOST) or b"", b""))

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    def _fetched(self, count: int) -> bytes:
        def read() -> bytes:
            self._stream.seek(self._place)
            return bytes(self._stream.read(count))

        data: bytes = _ask(self._files, self._address, read)
        return data


def _info(address: str) -> dict[str, Any]:
    files, path = _system(address)
    details: dict[str, Any] = _ask(files, address, lambda: files.info(path))
    return details


def _in_objects(address: str) -> bool:
    return address.partition("://")[0] in _OBJECT_STORES


def _system(address: str) -> tuple[Any, str]:
    """Return the file system that an address belongs to, and the path there."""
    scheme = address.partition("://")[0]
    purpose = f"an address that begins with {scheme}://"
    fsspec = needed("fsspec", purpose, "trubleu[s3]" if scheme in _S3 else "fsspec")
    if scheme in _S3:
        needed("s3fs", purpose, "trubleu[s3]")
    options = _s3_options(fsspec) if scheme in _S3 else {}
    try:
        # Listings that fsspec keeps would hide what other workers write.
        files, path = fsspec.core.url_to_fs(address, use_listings_cache=False, **options)
    except ImportError as error:
        package = _package(scheme, error)
        raise MissingExtraError(
            f"{purpose} needs the package {package}; install it with: pip install '{package}'"
        ) from error
    except ValueError as error:
        if scheme in fsspec.available_protocols():
            raise DataError(f"{address} cannot be used: {error}") from error
        raise DataError(
            f"{address}: {scheme}:// is not known to fsspec; use s3:// or another scheme of fsspec's, or a local path"
        ) from error
    except Exception as error:
        raise DataError(f"{address} cannot be used: {_said(error)}") from error
    if scheme in _S3:
        files.retries = _RETRIES if files in _answered else 1
    return files, path


def _package(scheme: str, error: ImportError) -> str:
    """Return what has to be installed for a scheme."""
    known = import_module("fsspec.registry").known_implementations
    package = str(known.get(scheme, {}).get("class", "")).partition(".")[0]
    if package and package != "fsspec":
        return package
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    return cause.name or package or scheme


def _s3_options(fsspec: Any) -> dict[str, Any]:
    """Return bounds on how long S3 is waited for; what users have set themselves comes first."""
    config: dict[str, Any] = {"connect_timeout": _CONNECT, "read_timeout": _READ}
    if "AWS_MAX_ATTEMPTS" not in os.environ:
        config["retries"] = {"total_max_attempts": _ATTEMPTS}
    return {"config_kwargs": {**config, **fsspec.config.conf.get("s3", {}).get("config_kwargs", {})}}


def _ask(files: Any, address: str, question: Callable[[], Any]) -> Any:
    """Return the answer, waiting for it while the store is busy."""
    for wait in [*_WAITS, None]:
        try:
            with _os_errors(files, address):
                return question()
        except OSError as error:
            # s3fs also calls a file busy that has changed since it was opened.
            if wait is None or error.errno != errno.EBUSY or type(error).__name__ == "FileExpired":
                raise
        time.sleep(wait * _dice.uniform(0.5, 1.5))
    raise AssertionError


@contextmanager
def _os_errors(files: Any, address: str) -> Iterator[None]:
    try:
        yield
        _answered.add(files)
    except (TrubleuError, MemoryError):
        raise
    except FileNotFoundError as error:
        if bucket := _missing_bucket(address):
            raise NoBucketError(errno.ENOENT, f"there is no bucket {bucket}", address) from error
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), address) from error
    except IsADirectoryError as error:
        raise IsADirectoryError(errno.EISDIR, "it is a folder", address) from error
    except PermissionError as error:  # s3fs gives its errors a text and no number
        raise PermissionError(errno.EACCES, _said(error), address) from error
    except OSError as error:
        if error.strerror:
            raise
        raise OSError(errno.EIO, _said(error), address) from error
    except Exception as error:  # every package has a tree of its own
        raise OSError(errno.EIO, _said(error), address) from error


def _missing_bucket(address: str) -> str | None:
    """Return the bucket of an address if there is none: an answer about a file does not tell it from a missing file."""
    if address.partition("://")[0] not in _S3:
        return None
    files, path = _system(address)
    bucket: str = files.split_path(path)[0]
    try:
        files.call_s3("head_bucket", Bucket=bucket)
    except FileNotFoundError:
        return bucket
    except Exception:  # whether it is there cannot be told
        return None
    return None


def _said(error: Exception) -> str:
    """Return what an error says, as a part of a sentence."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
        return (
            "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, "
            "as for any other program that uses S3"
        )
    return text


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
    state = f"{address}\n{modified(address)}"
    with _guard:
        target = _folder() / hashlib.blake2b(state.encode(), digest_size=16).hexdigest()
        if not target.exists():
            half = target.with_suffix(".half")
            try:
                fetch(address, str(half))
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
