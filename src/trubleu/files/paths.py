"""Local paths and URLs such as ``s3://bucket/key``; ``-`` for standard streams; formats by file name.

Use these functions instead of `pathlib` for files that users name. URLs go through fsspec, which is imported on first
use; local paths go straight to the operating system. Both raise the same kinds of `OSError`.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, TypeAlias

from trubleu.errors import DataError
from trubleu.files.compression import SUFFIXES, without_suffix

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from types import ModuleType


PathLike: TypeAlias = str | os.PathLike[str]

# A single letter is a Windows drive.
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class NoBucketError(FileNotFoundError):
    """The bucket does not exist."""


def unreadable(name: str, error: OSError) -> str:
    """Return why a file cannot be read, and what to do.

    Examples
    --------
    >>> unreadable("refs.txt", FileNotFoundError())
    'refs.txt: there is no such file; check the path'
    """
    match error:
        case NoBucketError():
            return f"{name}: {error.strerror}; check the path"
        case FileNotFoundError():
            return f"{name}: there is no such file; check the path"
        case IsADirectoryError():
            return f"{name} is a folder, but a file is needed"
        case PermissionError():
            return f"{name} may not be read; check its permissions"
    return f"{name} cannot be read: {error.strerror or error}"


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn an `OSError` into a `DataError` that says why this file cannot be read, and what to do."""
    try:
        yield
    except OSError as error:
        raise DataError(unreadable(name, error)) from error


def is_remote(path: PathLike) -> bool:
    """Return whether a path is a URL of another file system.

    Examples
    --------
    >>> is_remote("s3://bucket/refs.txt"), is_remote("refs.txt"), is_remote("-"), is_remote("C://refs.txt")
    (True, False, False, False)
    """
    return _ADDRESS.match(os.fspath(path)) is not None


def absolute(path: PathLike) -> str:
    """Return an absolute path, valid from other folders and machines.

    Examples
    --------
    >>> absolute("s3://bucket/refs.txt"), absolute("/data/refs.txt")
    ('s3://bucket/refs.txt', '/data/refs.txt')
    """
    return os.fspath(path) if is_remote(path) else str(Path(path).absolute())


def joined(folder: PathLike, name: str) -> str:
    """Join a folder and a file name.

    Examples
    --------
    >>> joined("s3://bucket/index/", "manifest.json"), joined("index", "manifest.json")
    ('s3://bucket/index/manifest.json', 'index/manifest.json')
    """
    return f"{os.fspath(folder).rstrip('/')}/{name}" if is_remote(folder) else str(Path(folder, name))


def parent(path: PathLike) -> str:
    """Return the folder of a file.

    Examples
    --------
    >>> parent("s3://bucket/index/manifest.json"), parent("s3://bucket/refs.txt"), parent("refs.txt")
    ('s3://bucket/index', 's3://bucket', '.')
    """
    if not is_remote(path):
        return str(Path(path).parent)
    scheme, _, rest = os.fspath(path).partition("://")
    return f"{scheme}://{rest.rstrip('/').rpartition('/')[0] or rest}"


def base_name(path: PathLike) -> str:
    """Return the last component of a path.

    Examples
    --------
    >>> base_name("s3://bucket/outputs/first.txt.gz"), base_name("outputs/first.txt.gz")
    ('first.txt.gz', 'first.txt.gz')
    """
    return os.fspath(path).rstrip("/").rpartition("/")[2] if is_remote(path) else Path(path).name


def labels(files: Sequence[str]) -> list[str]:
    """Return labels for generated ids: file names, or paths below the common folder where two names are equal.

    Examples
    --------
    >>> labels(["/home/ann/a.tsv", "/home/ann/b.tsv"]), labels(["/data/2011/a.tsv", "/data/2012/a.tsv"])
    (['a.tsv', 'b.tsv'], ['2011/a.tsv', '2012/a.tsv'])
    """
    names = [base_name(name_of(file)) for file in files]
    if len(set(names)) == len(names):
        return names
    folder = os.path.commonprefix(list(files)).rpartition("/")[0]  # noqa: RUF071 - addresses, too
    return [file[len(folder) + 1 :] if folder else file for file in files]


def same_file(one: PathLike, other: PathLike) -> bool:
    """Return whether two paths are the same existing file; URLs are compared as text.

    Examples
    --------
    >>> same_file("s3://bucket/refs.txt", "refs.txt"), same_file("s3://bucket/a//b", "s3://bucket/a//b")
    (False, True)
    """
    if is_remote(one) or is_remote(other):
        return identity(one) == identity(other)
    return exists(one) and exists(other) and Path(one).samefile(other)


def identity(path: PathLike) -> str:
    """Return a canonical name of a file: the path with symbolic links resolved, or the URL without a trailing slash.

    Examples
    --------
    >>> identity("s3://bucket/folder/")
    's3://bucket/folder'
    """
    return os.fspath(path).rstrip("/") if is_remote(path) else os.path.realpath(path)


def open_binary(path: PathLike) -> BinaryIO:
    """Open a file for reading, with seek; of a URL, only the requested bytes are fetched.

    Raises
    ------
    OSError
        As `pathlib.Path.open` raises it, for both kinds; also while reading.
    """
    return _remote().open_binary(os.fspath(path)) if is_remote(path) else Path(path).open("rb")


def first_bytes(path: PathLike, count: int) -> bytes:
    """Return the first bytes of a file, fetching only these.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    if is_remote(path):
        found: bytes = _remote().first_bytes(os.fspath(path), count)
        return found
    with Path(path).open("rb") as stream:
        return stream.read(count)


def read_whole(path: PathLike) -> bytes:
    """Return the content of a file, which must not be a device or a pipe: these may have no end.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    if not is_remote(path) and exists(path) and not is_file(path) and not is_folder(path):
        raise DataError(f"{name_of(path)} is a device or a pipe, but a file is needed")
    with reading(name_of(path)), open_binary(path) as stream:
        return stream.read()


def byte_size(path: PathLike) -> int:
    """Return the size of a file in bytes.

    Raises
    ------
    OSError
        If it is not there or may not be seen.
    """
    return _remote().byte_size(os.fspath(path)) if is_remote(path) else Path(path).stat().st_size


def exists(path: PathLike) -> bool:
    """Return whether a file or folder exists; False for a path that cannot be queried, such as an overlong name."""
    # Unlike these, pathlib may raise an exception.
    return _remote().kind(os.fspath(path)) is not None if is_remote(path) else os.path.exists(path)  # noqa: PTH110


def is_file(path: PathLike) -> bool:
    """Return whether a path is a regular file, not a folder or pipe."""
    return _remote().kind(os.fspath(path)) == "file" if is_remote(path) else os.path.isfile(path)  # noqa: PTH113


def is_folder(path: PathLike) -> bool:
    """Return whether a path is a folder; on object stores such as S3, whether a file lies below it."""
    return _remote().is_folder(os.fspath(path)) if is_remote(path) else os.path.isdir(path)  # noqa: PTH112


def files_below(folder: PathLike, *, hidden: bool = False) -> list[str]:
    """Return all files in a folder and its subfolders, sorted by name.

    Files and folders whose names begin with a dot or an underscore are excluded by default: hidden files, and markers
    that other tools write beside data, such as ``_SUCCESS``.

    Raises
    ------
    OSError
        If the folder cannot be listed.
    """
    inside = _remote().names_below(os.fspath(folder)) if is_remote(folder) else _local_names(os.fspath(folder))
    parts = (name.split("/") for name in inside)
    return [joined(folder, "/".join(each)) for each in sorted(parts) if hidden or not any(map(_is_hidden, each))]


def modified(path: PathLike) -> int | str:
    """Return a value that changes when a file is written: the time in nanoseconds, or the remote system's tag.

    Raises
    ------
    OSError
        If it is not there or may not be seen.
    """
    return _remote().modified(os.fspath(path)) if is_remote(path) else Path(path).stat().st_mtime_ns


def remove(path: PathLike) -> None:
    """Remove a file if it exists.

    Raises
    ------
    OSError
        If it may not be removed.
    """
    if is_remote(path):
        _remote().remove(os.fspath(path))
    else:
        Path(path).unlink(missing_ok=True)


def make_folder(path: PathLike) -> None:
    """Create a folder if it does not exist; on object stores such as S3, do nothing.

    Raises
    ------
    OSError
        If it cannot be made, for example because the folder around it is missing.
    """
    if is_remote(path):
        _remote().make_folder(os.fspath(path))
    else:
        Path(path).mkdir(exist_ok=True)


def local_copy(path: PathLike) -> Path:
    """Return a local path, for memory-mapping: the path itself, or a copy of a remote file.

    A remote file is copied once per process, again if it has changed, and the copy is removed when the process ends.

    Raises
    ------
    OSError
        If it cannot be copied.
    """
    return _remote().copied(os.fspath(path)) if is_remote(path) else Path(path)


def forget(path: PathLike) -> None:
    """Remove the copy made by `local_copy`, if any; open handles stay readable."""
    if is_remote(path):
        _remote().forget(os.fspath(path))


def keep_copies(paths: Collection[PathLike]) -> None:
    """Remove the copies that this process made with `local_copy`, except of some; open handles stay readable.

    A process that reads one remote file after the other needs only one copy at a time, and all may not fit on its disk.
    """
    if remote := sys.modules.get("trubleu.files.remote"):
        remote.keep_copies({os.fspath(path) for path in paths})


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _local_names(folder: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_raise):
        real = os.path.realpath(place)
        if real in seen:  # a symbolic link may form a cycle
            folders[:] = []
            continue
        seen.add(real)
        folders[:] = [each for each in folders if not _is_hidden(each)]
        found += [Path(place, each).relative_to(folder).as_posix() for each in names]
    return found


def _raise(error: OSError) -> None:
    raise error


def _remote() -> ModuleType:
    from trubleu.files import remote

    return remote


STDIN = "<stdin>"


def is_standard(path: PathLike) -> bool:
    """Return whether a path means standard input or output."""
    return os.fspath(path) == "-"


def name_of(path: PathLike) -> str:
    """Return a path as shown in messages.

    Examples
    --------
    >>> name_of("refs.txt"), name_of("-")
    ('refs.txt', '<stdin>')
    """
    return STDIN if is_standard(path) else os.fspath(path) or "''"


def check_standard_input_once(paths: Iterable[PathLike]) -> None:
    """Raise an error if ``-`` is given for more than one input: the second reader would find nothing left.

    Raises
    ------
    DataError
        If ``-`` is there twice.
    """
    if sum(map(is_standard, paths)) > 1:
        raise DataError(
            "- (standard input) is given more than once but can be read only once; put the others into files"
        )


Format: TypeAlias = Literal["jsonl", "parquet", "csv", "tsv", "xlsx"]

_ENDINGS: dict[Format, tuple[str, ...]] = {
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "xlsx": (".xlsx",),
}


def format_of(name: str) -> Format | None:
    """Return the format by the suffix of a file name, compressed or not; None if unknown.

    Examples
    --------
    >>> format_of("refs.jsonl.zst"), format_of("refs.PQ"), format_of("refs.en")
    ('jsonl', 'parquet', None)
    """
    ending = PurePath(without_suffix(name)).suffix.lower()
    return next((form for form, endings in _ENDINGS.items() if ending in endings), None)


def format_to_write(path: PathLike, allowed: Sequence[Format]) -> Format:
    """Return the output format by the suffix of a path; JSON Lines for standard output.

    Raises
    ------
    DataError
        If its name tells none of the allowed formats.

    Examples
    --------
    >>> format_to_write("refs.jsonl.gz", ["jsonl", "parquet"])
    'jsonl'
    >>> format_to_write("refs.doc", ["jsonl", "parquet"])
    Traceback (most recent call last):
    trubleu.errors.DataError: refs.doc: the name does not show a format; let it end in .jsonl or .parquet
    """
    if is_standard(path):
        return "jsonl"
    name = name_of(path)
    form = format_of(name)
    if form is None or form not in allowed:
        endings = [_ENDINGS[each][0] for each in allowed]
        choices = " or ".join(filter(None, [", ".join(endings[:-1]), endings[-1]]))
        problem = "the name does not show a format" if form is None else f"{form} cannot be written here"
        raise DataError(f"{name}: {problem}; let it end in {choices}")
    if form == "parquet" and name.lower().endswith(SUFFIXES):
        raise DataError(f"{name}: Parquet is compressed inside; leave {PurePath(name).suffix} off its name")
    return form
