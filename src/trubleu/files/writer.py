"""Atomic writes, and a lock on a folder."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import stat
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, TextIO, cast, overload

from trubleu.errors import DataError, UsageError, some
from trubleu.files.compression import check_packable, packed
from trubleu.files.paths import PathLike as PathLike
from trubleu.files.paths import base_name, is_remote, is_standard, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

try:
    import fcntl
except ImportError:  # Windows, where a second writer is not detected
    fcntl = None  # type: ignore[assignment]

LOCK: Final = "lock"
"""Name of a folder's lock file."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # raised by writes, without a file name


def check_writable(path: PathLike) -> None:
    """Raise an error for a path that cannot be written, before work is spent on its content.

    Raises
    ------
    DataError
        If the path is a folder, its folder or bucket does not exist, or either may not be written.
    MissingExtraError
        If its name ends in ``.zst`` or it is an address, and the package for that is missing.

    Examples
    --------
    >>> check_writable("no/such/out.json")
    Traceback (most recent call last):
    trubleu.errors.DataError: no/such/out.json cannot be written: there is no folder no/such; create it first
    """
    if is_standard(path):
        return
    shown = os.fspath(path) or "''"
    check_packable(shown)
    if is_remote(path):
        from trubleu.files.remote import check_target

        check_target(shown)
        return
    try:
        folder, target = Path(path).parent, _target(path)
        if target.is_dir():
            raise DataError(f"{shown} cannot be written: it is a folder; give the name of a file")
        if not target.parent.is_dir():
            raise DataError(f"{shown} cannot be written: there is no folder {folder}; create it first")
        # Replacing the file needs no write permission on it, but a read-only file is meant to stay.
        if target.exists() and not os.access(target, os.W_OK):
            raise DataError(f"{shown} may not be written; check its permissions")
        if not _is_special(target) and not os.access(target.parent, os.W_OK | os.X_OK):
            raise DataError(f"{shown} cannot be written: the folder {folder} may not be written; check its permissions")
    except OSError as error:  # such as an overlong name
        raise DataError(f"{shown} cannot be written: {error.strerror or error}") from error


@overload
def atomic_writer(path: PathLike, mode: Literal["w"] = "w") -> AbstractContextManager[TextIO]: ...
@overload
def atomic_writer(path: PathLike, mode: Literal["wb"]) -> AbstractContextManager[BinaryIO]: ...
def atomic_writer(path: PathLike, mode: Literal["w", "wb"] = "w") -> AbstractContextManager[TextIO | BinaryIO]:
    r"""Open a file that is written atomically.

    The content goes to a temporary file in the same folder, which replaces the target when the block ends without an
    exception. After an exception or Ctrl-C it is removed, and an older file stays unchanged. For a URL, the temporary
    file is local and is uploaded when the block ends.

    Parameters
    ----------
    path
        The target, or ``-`` for standard output. A link is followed. A device or a pipe is written to directly.
    mode
        ``"w"`` for text: UTF-8, ``\n`` as given, compressed if the name ends in ``.gz`` or ``.zst``. ``"wb"`` for bytes
        as they are.

    Raises
    ------
    DataError
        If the target cannot be written (see `check_writable`) or the disk is full.
    MissingExtraError
        If its name ends in ``.zst`` or it is an address, and the package for that is missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with atomic_writer(path) as stream:
    ...     _ = stream.write("1\n")
    >>> path.read_text()
    '1\n'
    """
    if is_standard(path):
        return _standard_output(mode)
    if is_remote(path):
        check_packable(os.fspath(path))
        return _sent(lambda: os.fspath(path), mode, base_name(path))
    check_writable(path)
    target = _target(path)
    if _is_special(target):
        return _opened(target, "wb", mode)
    return _replacing(target.parent, lambda: target, os.fspath(path), mode, target.name)


def named_writer(folder: PathLike, name: Callable[[], str]) -> AbstractContextManager[BinaryIO]:
    """Open a binary file in a folder that is written atomically and named once its content is complete.

    Raises
    ------
    DataError
        If the folder cannot be written (see `check_writable`) or the disk is full.
    """
    if is_remote(folder):
        return cast("AbstractContextManager[BinaryIO]", _sent(lambda: joined(folder, name()), "wb"))
    check_writable(joined(folder, "part"))
    inside = Path(os.path.realpath(folder))
    shown = f"a file in {os.fspath(folder)}"
    return cast("AbstractContextManager[BinaryIO]", _replacing(inside, lambda: inside / name(), shown, "wb"))


@contextmanager
def new_folder(folder: PathLike) -> Iterator[Path]:
    """Yield a temporary folder that gets its final name on success and is removed on failure.

    Raises
    ------
    UsageError
        If the folder holds something, or cannot be one.
    DataError
        If it cannot be written.
    """
    target = Path(folder)
    if is_standard(folder) or not target.name:
        raise UsageError(f"{str(folder)!r} is not a name for a new folder")
    if target.is_dir():
        if inside := sorted(path.name for path in target.iterdir()):
            raise UsageError(f"{target} already holds something ({some(inside)}); give another folder")
    elif target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists and is not a folder; give another name")
    made = target.with_name(f".trubleu-{secrets.token_hex(8)}.tmp")  # the name of all temporary files and folders
    try:
        try:
            made.mkdir(parents=True)
            yield made
            if target.is_dir():
                target.rmdir()
            made.rename(target)
        except OSError as error:
            raise DataError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _replacing(
    folder: Path, name: Callable[[], Path], shown: str, mode: str, packed_as: str = ""
) -> Iterator[TextIO | BinaryIO]:
    # Not tempfile, which creates private files (0600): a new file should have the permissions of the umask.
    temporary = folder / f".trubleu-{secrets.token_hex(8)}.tmp"
    try:
        with _opened(temporary, "xb", mode, packed_as=packed_as) as stream:
            yield stream
        target = name()
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):  # a failed removal must not hide the first error
            temporary.unlink()
        # Only errors about this file: the block may have failed because of another one.
        if isinstance(error, OSError) and (error.errno in _FULL or str(error.filename) == str(temporary)):
            raise DataError(f"{shown} cannot be written: {error.strerror}; nothing was changed") from error
        raise


@contextmanager
def _sent(name: Callable[[], str], mode: str, packed_as: str = "") -> Iterator[TextIO | BinaryIO]:
    from trubleu.files.remote import send, unwritable

    with tempfile.TemporaryDirectory(prefix="trubleu-") as folder:
        temporary = Path(folder, "whole")
        try:
            with _opened(temporary, "xb", mode, packed_as=packed_as) as stream:
                yield stream
        except OSError as error:
            if error.errno in _FULL:
                raise DataError(
                    f"{name()} cannot be written: {error.strerror} in {folder}, where it is put together; "
                    "set TMPDIR to a folder with more room"
                ) from error
            raise
        address = name()
        try:
            send(str(temporary), address)
        except OSError as error:
            raise DataError(f"{unwritable(address, error)}; nothing was changed") from error


@contextmanager
def _opened(path: Path, flags: str, mode: str, packed_as: str = "") -> Iterator[TextIO | BinaryIO]:
    with ExitStack() as stack:
        binary = cast("BinaryIO", stack.enter_context(path.open(flags)))
        if mode == "wb":
            yield binary
            return
        content = packed(binary, packed_as)
        if content is not binary:
            stack.enter_context(content)
        yield stack.enter_context(io.TextIOWrapper(content, encoding="utf-8", newline="\n"))


@contextmanager
def _standard_output(mode: str) -> Iterator[TextIO | BinaryIO]:
    if sys.stdout is None:
        raise DataError("standard output is closed, so - cannot be written; give a file instead")
    sys.stdout.flush()  # keeps the order of earlier prints
    binary = getattr(sys.stdout, "buffer", None)
    if mode == "wb" and binary is not None:
        yield binary
        binary.flush()
    elif binary is not None:
        # A data file is UTF-8 whatever the terminal's encoding.
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
        try:
            yield text
        finally:
            text.detach()
    else:
        yield sys.stdout


def _target(path: PathLike) -> Path:
    # The target of a symbolic link, so the link stays; but /dev/stdout may be a pipe without a path.
    return Path(path) if _is_special(Path(path)) else Path(os.path.realpath(path))


def _is_special(target: Path) -> bool:
    """Return whether a path is a device or a pipe, such as /dev/null, which must be written to and never replaced."""
    return target.exists() and not target.is_file() and not target.is_dir()


@contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """Lock a folder against other writers; remote folders have no locks and are not protected.

    Raises
    ------
    DataError
        If somebody else does, or nobody may.
    """
    if is_remote(path):
        yield
        return
    lock = Path(path, LOCK)
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise DataError(f"{path} may not be written: {error.strerror or error}; check its permissions") from error
    try:
        try:
            if fcntl:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file, and another process may have created a new one.
            mine = os.path.samestat(os.fstat(descriptor), os.stat(lock))  # noqa: PTH116
        except OSError:
            mine = False
        if not mine:
            raise DataError(f"{path} is being written by another process; wait until that is done")
        yield
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Create a file readable by its owner only, atomically; if several processes do so at once, the first wins."""
    made = path.with_name(f".trubleu-{secrets.token_hex(8)}.tmp")
    try:
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(f"{text}\n")
            stream.flush()
            os.fsync(stream.fileno())
        try:
            path.hardlink_to(made)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def append_text(path: PathLike, text: str) -> None:
    """Append lines to a text file; processes that do so at once wait for each other, and all lines are kept.

    Raises
    ------
    DataError
        If the file cannot be written; it is then as it was.
    """
    if is_remote(path) or is_standard(path):
        raise UsageError(f"lines cannot be appended to {os.fspath(path)}; give a local file")
    check_writable(path)
    try:
        with open(path, "ab+", buffering=0) as stream:  # noqa: PTH123 - a path of any kind
            if fcntl:
                fcntl.flock(stream, fcntl.LOCK_EX)
            end = stream.seek(0, os.SEEK_END)
            stream.seek(max(end - 1, 0))
            unfinished = end > 0 and stream.read(1) != b"\n"
            content = f"{chr(10) * unfinished}{text.removesuffix(chr(10))}\n".encode("utf-8", "backslashreplace")
            try:
                complete = stream.write(content) == len(content)
                os.fsync(stream.fileno())
            except BaseException:
                stream.truncate(end)
                raise
            if not complete:
                stream.truncate(end)
                raise DataError(f"{os.fspath(path)} cannot be written: the disk is full; nothing was changed")
    except OSError as error:
        raise DataError(
            f"{os.fspath(path)} cannot be written: {error.strerror or error}; nothing was changed"
        ) from error
