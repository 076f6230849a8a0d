"""Polars and pandas frames and Parquet files as plain columns.

Parquet files that TruBLEU writes carry a checksum, as Polars neither writes nor verifies page checksums. It is stored
between the last page and the footer. Parquet readers ignore it there, as the footer gives the offset of each page, and
programs that copy metadata into their own files do not copy it.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias

import numpy as np

from trubleu.errors import DataError, shown
from trubleu.files.lines import PARQUET_MAGIC
from trubleu.files.paths import format_of, local_copy, reading
from trubleu.files.tables import FRAME, Table, check_titles
from trubleu.files.writer import atomic_writer
from trubleu.optional_deps import polars_module

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    import pandas as pd
    import polars as pl

    from trubleu.files.paths import PathLike

    Frame: TypeAlias = pl.DataFrame | pd.DataFrame

_DAMAGED: Final = "{}: the Parquet data is damaged or ends early; copy or write the file again"
_CHECKSUM = b"trubleu:sha256:"
_TAIL = 8  # bytes after the footer: its size and the magic bytes
_BLOCK = 1 << 20  # bytes per read


def table_of(frame: Frame, wanted: Collection[str] | None = None, source: str = FRAME) -> Table:
    """Select columns of a Polars or pandas frame; all if none are named.

    NaN is a missing value in a pandas frame, and a number in a Polars frame.

    Raises
    ------
    DataError
        If it is no such frame, or has a column twice.
    """
    # A caller who passes a frame has already imported its library, so no import is needed.
    polars, pandas = sys.modules.get("polars"), sys.modules.get("pandas")
    if polars is not None and isinstance(frame, polars.DataFrame):
        columns = {name: frame.get_column(name).to_list() for name in frame.columns if wanted is None or name in wanted}
        return Table(source, tuple(frame.columns), columns, frame.height)
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        names = [name for name in frame.columns if isinstance(name, str)]
        wanted = names if wanted is None else wanted
        check_titles(names, wanted, source)
        columns = {name: _pandas_values(frame[name]) for name in names if name in wanted}
        return Table(source, tuple(map(str, frame.columns)), columns, len(frame))
    hint = "; call its collect() first" if polars is not None and isinstance(frame, polars.LazyFrame) else ""
    raise DataError(f"a frame must be a Polars or pandas DataFrame, not {shown(type(frame).__name__)}{hint}")


def _pandas_values(series: Any) -> list[Any]:
    gone = series.isna().tolist()
    return [None if missing else _plain(value) for value, missing in zip(series.tolist(), gone, strict=True)]


def _plain(value: Any) -> Any:
    """Convert the NumPy types in which pandas returns nested columns to plain Python values."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value


def is_parquet(stream: io.BufferedReader, name: str) -> bool:
    """Return whether a newly opened file is Parquet, by its name or its first bytes."""
    return format_of(name) == "parquet" or stream.peek().startswith(PARQUET_MAGIC)


def check_parquet(stream: io.BufferedReader, name: str) -> None:
    """Raise an error for a newly opened file whose name says that it is Parquet, but whose first bytes do not."""
    if not stream.peek().startswith(PARQUET_MAGIC):
        raise DataError(f"{name} is not a Parquet file, though its name says so; rename it or write it again")


def read_parquet(stream: io.BufferedReader, name: str, wanted: Collection[str] | None) -> Table:
    """Read selected columns of a Parquet file; all if none are named.

    Raises
    ------
    DataError
        If it is no Parquet file, or damaged.
    MissingExtraError
        If Polars is not installed.
    """
    check_parquet(stream, name)
    data = stream.read()
    with damage_named(name) as polars:
        if not _check_sum(io.BytesIO(data), name):
            _try_in_a_process(data, name, wanted)
        # From memory: Polars would expand a path as a glob pattern, and a pipe cannot be read twice.
        names = tuple(polars.read_parquet_schema(io.BytesIO(data)))
        frame = polars.read_parquet(
            io.BytesIO(data), columns=[each for each in names if wanted is None or each in wanted]
        )
    return replace(table_of(frame, wanted, name), names=names)


def open_parquet(path: PathLike, name: str) -> tuple[pl.LazyFrame, pl.Schema, int]:
    """Open a Parquet file to read some of its rows; return it with its columns and its number of rows.

    The file is checked once per process, and again if it has changed.

    Raises
    ------
    DataError
        If it cannot be read, or is damaged.
    """
    with reading(name):
        file = local_copy(path)
    with damage_named(name) as polars:
        state = file.stat()
        _check_file(file, name, (state.st_ino, state.st_size, state.st_mtime_ns))
        # Prevents Polars from expanding the name as a glob pattern.
        lazy = polars.scan_parquet(file, glob=False, hive_partitioning=False)
        return lazy, lazy.collect_schema(), int(lazy.select(polars.len()).collect().item())


@contextmanager
def damage_named(name: str) -> Iterator[Any]:
    """Yield Polars for reading a Parquet file; its exceptions become a `DataError` that names the file."""
    polars = polars_module()
    try:
        yield polars
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        raise DataError(_DAMAGED.format(name)) from error


def write_parquet(path: PathLike, frame: pl.DataFrame) -> None:
    """Write a Polars frame to a Parquet file with a checksum, atomically."""
    buffer = io.BytesIO()  # Polars gives no reason when writing to a stream fails
    frame.write_parquet(buffer)
    with atomic_writer(path, "wb") as stream:
        copy_parquet(buffer, stream)


def copy_parquet(source: BinaryIO, target: BinaryIO) -> None:
    """Copy a Parquet file written by Polars and add a checksum."""
    end = source.seek(0, io.SEEK_END)
    begin, footer = _footer(source, end)
    checksum = sha256(footer)
    for block in _blocks(source, begin):
        checksum.update(block)
        target.write(block)
    target.write(_CHECKSUM + checksum.digest() + footer)


@lru_cache(maxsize=4096)
def _check_file(path: Path, name: str, state: tuple[int, ...]) -> None:  # noqa: ARG001 - the state is a key
    with path.open("rb") as stream:
        checked = _check_sum(stream, name)
    if not checked:
        _try_in_a_process(path, name, None)


_TRIAL: Final = """
import io, json, sys
sys.path[:] = json.loads(sys.argv[1])
import polars
try:
    import os, resource
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
except (ImportError, OSError, ValueError):
    pass
path, wanted = json.loads(sys.argv[2])
source = io.BytesIO(sys.stdin.buffer.read()) if path is None else path
rows = polars.scan_parquet(source, glob=False, hive_partitioning=False)
names = [name for name in rows.collect_schema() if wanted is None or name in wanted]
for begin in range(0, rows.select(polars.len()).collect().item(), 1 << 18):
    rows.slice(begin, 1 << 18).select(names).collect()
"""


def _try_in_a_process(content: bytes | Path, name: str, wanted: Collection[str] | None) -> None:
    """Raise an error if reading a file fails in another process, because Polars may abort the process that reads it.

    A flipped bit can make Polars allocate more memory than there is.
    """
    path = None if isinstance(content, bytes) else os.fspath(content)
    task = json.dumps([path, None if wanted is None else list(wanted)])
    done = subprocess.run(  # noqa: S603 - this Python, with a constant script
        [sys.executable, "-S", "-E", "-c", _TRIAL, json.dumps(sys.path), task],
        input=content if isinstance(content, bytes) else b"",
        capture_output=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        check=False,
    )
    if done.returncode != 0:
        raise DataError(_DAMAGED.format(name))


def _check_sum(stream: BinaryIO, name: str) -> bool:
    """Return whether a file has a checksum; raise an error if it does not match."""
    end = stream.seek(0, io.SEEK_END)
    begin, footer = _footer(stream, end)
    begin -= len(_CHECKSUM) + sha256().digest_size
    if begin < 0:
        return False
    stream.seek(begin)
    mark, digest = stream.read(len(_CHECKSUM)), stream.read(sha256().digest_size)
    if mark != _CHECKSUM:
        return False
    checksum = sha256(footer)
    for block in _blocks(stream, begin):
        checksum.update(block)
    if checksum.digest() != digest:
        raise DataError(f"{name} is damaged: its checksum does not match its content; copy or write the file again")
    return True


def _footer(stream: BinaryIO, end: int) -> tuple[int, bytes]:
    """Return the offset of a Parquet footer, and the bytes from there to the end of the file."""
    stream.seek(max(end - _TAIL, 0))
    size = int.from_bytes(stream.read(_TAIL)[:4], "little") + _TAIL
    begin = max(end - size, 0)
    stream.seek(begin)
    return begin, stream.read()


def _blocks(stream: BinaryIO, end: int) -> Iterator[bytes]:
    stream.seek(0)
    while block := stream.read(min(_BLOCK, end - stream.tell())):
        yield block
