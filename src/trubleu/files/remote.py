"""Remote files through fsspec, and local copies of those that must be memory-mapped.

Used by `trubleu.files.paths` and the modules beside it; fsspec is imported on first use. Every failure becomes an
`OSError`, whatever the package behind a scheme raises.
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
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal
from weakref import WeakSet

from trubleu.errors import DataError, MissingExtraError, TrubleuError
from trubleu.files.paths import NoBucketError, reading
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


# Bytes fetched ahead: few at first, as many readers need only a little, then doubled while reading continues, as a
# request takes as long as transferring a megabyte.
_LEAST, _MOST = 1 << 18, 1 << 23
_S3: Final = ("s3", "s3a")
# Stores where a file appears only once it was uploaded completely, so no temporary name is needed.
_OBJECT_STORES: Final = (*_S3, "gs", "gcs", "abfs", "abfss", "az", "oss", "memory")
# Seconds and attempts. By default, the packages retry for minutes when a server does not respond.
_CONNECT, _READ, _ATTEMPTS = 5, 20, 2
# Retries by s3fs around those attempts, once the server has responded: a hiccup must not end a long job.
_RETRIES: Final = 6
# Seconds to wait for a store that reports it is busy, as under many concurrent workers.
_WAITS: Final = [0.2, 0.5, 1, 2, 5, 10]

_dice = secrets.SystemRandom()  # jitter, so rejected workers do not retry at the same moment
_answered: WeakSet[Any] = WeakSet()  # file systems that have responded


def open_binary(address: str) -> BinaryIO:
    """Open a file for reading; fetches the requested bytes and a little read-ahead."""
    files, _ = _system(address)
    stream = _call(address, "open", "rb", cache_type="none")
    details = getattr(stream, "details", None)
    if isinstance(details, dict) and details.get("type") == "directory":  # S3 would open it as an empty file
        raise IsADirectoryError(errno.EISDIR, "it is a folder", address)
    return io.BufferedReader(_Stream(stream, files, address), _LEAST)


def first_bytes(address: str, count: int) -> bytes:
    """Return the first bytes of a file, in one request if the file system supports it."""
    # An empty file has no range to request.
    return bytes(_call(address, "cat_file", start=0, end=count)) if byte_size(address) else b""


def byte_size(address: str) -> int:
    """Return the size of a file in bytes."""
    details = _call(address, "info")
    if details["type"] == "directory":
        raise IsADirectoryError(errno.EISDIR, "it is a folder", address)
    if details["size"] is None:
        raise OSError(errno.EIO, "its size is not known beforehand", address)
    return int(details["size"])


def kind(address: str) -> Literal["file", "folder"] | None:
    """Return the kind of path; `DataError` if it is unknown, because callers of a query do not expect an `OSError`."""
    with reading(address), suppress(FileNotFoundError):
        return "folder" if _call(address, "info")["type"] == "directory" else "file"
    return None


def is_folder(address: str) -> bool:
    """Return whether a folder exists; on object stores a file name can also be a prefix of other files."""
    with reading(address):
        return bool(_call(address, "isdir"))


def names_below(folder: str) -> list[str]:
    """Return the relative paths of all files below a folder."""
    if not _call(folder, "isdir"):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", folder)
    begin = _system(folder)[1].rstrip("/") + "/"
    names = [name.removeprefix(begin) for name in _call(folder, "find")]
    return [name for name in names if name and not name.endswith("/")]  # "folder/" is only a marker of the folder


def modified(address: str) -> str:
    """Return a value that changes when a file is written."""
    tag = _call(address, "info").get("ETag")
    return str(tag).strip('"') if tag else str(_call(address, "ukey"))


def remove(address: str) -> None:
    """Remove a file if it exists."""
    with suppress(FileNotFoundError):
        _call(address, "rm_file")


def make_folder(address: str) -> None:
    """Create a folder, if the file system has folders."""
    if not _in_objects(address):
        _call(address, "makedirs", exist_ok=True)


def fetch(address: str, target: str) -> None:
    """Download a file."""
    _call(address, "get_file", target)


def send(source: str, address: str) -> None:
    """Upload a file atomically."""
    files, path = _system(address)
    if _in_objects(address):
        _ask(files, address, lambda: files.put_file(source, path))
        return
    temporary = f"{path.rpartition('/')[0]}/.trubleu-{secrets.token_hex(8)}.tmp"
    try:
        _ask(files, address, lambda: files.put_file(source, temporary))
        _ask(files, address, lambda: files.mv(temporary, path))
    except BaseException:
        with suppress(Exception):  # a failed removal must not hide the first error
            files.rm_file(temporary)
        raise


def check_target(address: str) -> None:
    """Raise an error for a URL that cannot be written, as far as can be checked without writing.

    Raises
    ------
    DataError
        If it is a folder, or there is no bucket or folder for it, or it may not be written.
    """
    files, path = _system(address)
    try:
        no_name = address.endswith("/") or "/" not in path.strip("/")
        if no_name or _call(address, "isdir"):
            raise DataError(f"{address} cannot be written: it is a folder; give the name of a file")
        if address.partition("://")[0] in _S3:
            _ask(files, address, lambda: _try_upload(files, path))
        elif not _in_objects(address) and not _ask(files, address, lambda: files.isdir(path.rpartition("/")[0])):
            raise DataError(f"{address} cannot be written: there is no folder for it; create it first")
    except OSError as error:
        raise DataError(unwritable(address, error)) from error


def unwritable(address: str, error: OSError) -> str:
    """Return why a URL cannot be written, and what to do."""
    match error:
        case NoBucketError():
            return f"{address} cannot be written: {error.strerror}; create it first, or check the path"
        case PermissionError():
            return f"{address} may not be written; check its permissions"
    return f"{address} cannot be written: {error.strerror or error}"


def _try_upload(files: Any, path: str) -> None:
    """Start an upload and abort it: this checks write permission and leaves nothing visible."""
    bucket, key, _ = files.split_path(path)
    begun = files.call_s3("create_multipart_upload", Bucket=bucket, Key=key)
    with suppress(Exception):  # the unfinished upload is invisible and empty
        files.call_s3("abort_multipart_upload", Bucket=bucket, Key=key, UploadId=begun["UploadId"])


class _Stream(io.RawIOBase):
    """An fsspec file with read-ahead that raises operating system errors."""

    def __init__(self, stream: Any, files: Any, address: str) -> None:
        self._stream = stream
        self._files = files
        self._address = address
        self._place = 0
        self._ready = memoryview(b"")  # bytes read ahead
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

    def readall(self) -> bytes:  # the default would request 8 kB at a time
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


def _call(address: str, method: str, *arguments: object, **options: object) -> Any:
    """Call a method of the file system of a URL with the path in it."""
    files, path = _system(address)
    return _ask(files, address, lambda: getattr(files, method)(path, *arguments, **options))


def _in_objects(address: str) -> bool:
    return address.partition("://")[0] in _OBJECT_STORES


def _system(address: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    scheme = address.partition("://")[0]
    purpose = f"an address that begins with {scheme}://"
    fsspec = needed("fsspec", purpose, "trubleu[s3]" if scheme in _S3 else "fsspec")
    if scheme in _S3:
        needed("s3fs", purpose, "trubleu[s3]")
    options = _s3_options(fsspec) if scheme in _S3 else {}
    try:
        # Listings cached by fsspec would hide files that other workers write.
        files, path = fsspec.core.url_to_fs(address, use_listings_cache=False, **options)
    except ImportError as error:
        raise MissingExtraError(f"{purpose} needs another package, which pip installs: {_said(error)}") from error
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


def _s3_options(fsspec: Any) -> dict[str, Any]:
    """Return timeouts for S3; the user's own settings take precedence."""
    config: dict[str, Any] = {"connect_timeout": _CONNECT, "read_timeout": _READ}
    if "AWS_MAX_ATTEMPTS" not in os.environ:
        config["retries"] = {"total_max_attempts": _ATTEMPTS}
    return {"config_kwargs": {**config, **fsspec.config.conf.get("s3", {}).get("config_kwargs", {})}}


def _ask(files: Any, address: str, question: Callable[[], Any]) -> Any:
    """Call ``question``, retrying while the store is busy."""
    for wait in [*_WAITS, None]:
        try:
            answer = question()
            _answered.add(files)
        except (TrubleuError, MemoryError):
            raise
        except Exception as error:  # every package has its own exception classes
            # s3fs also reports a file as busy that has changed since it was opened.
            busy = isinstance(error, OSError) and error.errno == errno.EBUSY and type(error).__name__ != "FileExpired"
            if wait is None or not busy:
                raise _os_error(error, address) from error
        else:
            return answer
        time.sleep(wait * _dice.uniform(0.5, 1.5))
    raise AssertionError


def _os_error(error: Exception, address: str) -> OSError:
    match error:
        case FileNotFoundError():
            if bucket := _missing_bucket(address):
                return NoBucketError(errno.ENOENT, f"there is no bucket {bucket}", address)
            return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), address)
        case IsADirectoryError():
            return IsADirectoryError(errno.EISDIR, "it is a folder", address)
        case PermissionError():  # the errors of s3fs have a text and no errno
            return PermissionError(errno.EACCES, _said(error), address)
        case OSError(strerror=str(text)) if text:
            return OSError(error.errno, text, address)
    return OSError(errno.EIO, _said(error), address)


def _missing_bucket(address: str) -> str | None:
    """Return the bucket of a URL if it does not exist: the response for a file does not distinguish the two."""
    if address.partition("://")[0] not in _S3:
        return None
    files, path = _system(address)
    bucket: str = files.split_path(path)[0]
    try:
        files.call_s3("head_bucket", Bucket=bucket)
    except FileNotFoundError:
        return bucket
    except Exception:  # unknown whether it exists
        return None
    return None


def _said(error: Exception) -> str:
    """Return the text of an error, as part of a sentence."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError"):
        return (
            "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, "
            "as for any other program that uses S3"
        )
    return text


try:
    import fcntl
except ImportError:  # Windows: copies made by killed processes are not cleaned up
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "trubleu-copies-"
_LOCK: Final = "in-use"
_YOUNG: Final = 60  # seconds in which a folder without a lock may be new, its owner about to lock it

_guard = threading.Lock()
_folders: dict[int, Path] = {}  # by process id: a forked process must not use its parent's folder
_copies: dict[tuple[int, str], set[Path]] = {}  # by process id and URL


def copied(address: str) -> Path:
    """Return a local copy of a remote file, made once per process, and again if the file has changed."""
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
    """Remove the copies of a remote file made by this process."""
    with _guard:
        for copy in _copies.pop((os.getpid(), address), ()):
            with suppress(OSError):  # Windows keeps a file that is in use, until the process ends
                copy.unlink(missing_ok=True)


def keep_copies(addresses: Collection[str]) -> None:
    """Remove the copies made by this process, except those of some addresses."""
    for process, address in list(_copies):
        if process == os.getpid() and address not in addresses:
            forget(address)


def _folder() -> Path:
    process = os.getpid()
    if process not in _folders:
        _remove_abandoned()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if fcntl:
            # Held until the process ends, even if it is killed.
            fcntl.flock(os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
        _folders[process] = folder
        # Unlike atexit, this also runs at the end of a process started by multiprocessing.
        Finalize(None, _remove_own, args=(process, folder), exitpriority=0)
    return _folders[process]


def _remove_own(process: int, folder: Path) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    """Remove the copies left by killed processes."""
    if not fcntl:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # owned by another user, or already gone
            if time.time() - folder.stat().st_mtime < _YOUNG:
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
