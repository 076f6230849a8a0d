"""Raw files of published data: their lines, rows and fields, with the place of each."""

from __future__ import annotations

import re
import tarfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias, cast

from trubleu.errors import DataError, counted, shown, some
from trubleu.files.jsonl import kind_of
from trubleu.files.lines import iterate_lines, open_bytes, split_lines
from trubleu.files.paths import base_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trubleu.files.paths import PathLike

ABOUT: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
)
"""What can be imported, by kind."""

_LARGEST: Final = 1e15
_QUOTED: Final = re.compile(r'"([^"]|"")*"')
_TAR_BLOCK: Final = 512

OutputTexts = defaultdict[str, dict[str, str]]
"""The texts of each system by item."""

Rows: TypeAlias = Iterator[tuple[str, dict[str, str]]]
"""Rows of a table, each with its place."""


def files_of(source: Path, pattern: str) -> list[Path]:
    """Return the one file that was given, or those of a folder."""
    if not source.is_dir():
        return [source]
    return sorted(path for path in source.glob(pattern) if path.is_file())


def file_within(folder: Path, name: str, kind: str) -> Path:
    """Return a file of a folder, plain or compressed."""
    for ending in ("", ".gz", ".zst"):
        if (path := folder / (name + ending)).is_file():
            return path
    raise DataError(f"{folder} has no {name}; import {kind} takes {ABOUT[kind]['files']}")


def stem(path: PathLike) -> str:
    """Return the name of a file without folders and endings."""
    return base_name(path).partition(".")[0]


def lines_below(path: Path, start: str) -> Iterator[tuple[str, str]]:
    """Yield the lines below the first, each with its place."""
    for number, line in enumerate(iterate_lines(path), 1):
        if number == 1 and not line.startswith(start):
            raise DataError(f"{path}:1: the first line must begin with {start.rstrip()}, not with {shown(line)}")
        if number > 1 and line:
            yield f"{path}:{number}", line


def table_rows(path: Path, wanted: Iterable[str]) -> Rows:
    """Yield the rows of a file as `rows_of` does."""
    lines = iterate_lines(path)
    return rows_of(str(path), next(lines, ""), lines, wanted)


def rows_of(name: str, first: str, lines: Iterable[str], wanted: Iterable[str]) -> Rows:
    """Yield the rows of a table with tabs and without quotation marks, each with its place.

    A field of the first line that begins with ``#`` is a comment, and titles no column.
    """
    header = first.split("\t")
    while header[-1].startswith("#"):
        header.pop()
    for title in wanted:
        if title not in header:
            raise DataError(f"{name}:1: the column {title} is missing; there are {some(header)}")
    for number, line in enumerate(lines, 2):
        if not line:
            continue
        row = line.split("\t")
        if len(row) != len(header):
            raise DataError(
                f"{name}:{number}: this line has {counted(len(row), 'field')} but the first has {len(header)}"
            )
        yield f"{name}:{number}", dict(zip(header, row, strict=True))


def unquoted(rows: Rows) -> list[tuple[str, dict[str, str]]]:
    """Return rows without the quotation marks of a spreadsheet, where all fields that begin with one are quoted.

    Examples
    --------
    >>> unquoted(iter([("f:2", {"a": '"say ""hi"" to me"'}), ("f:3", {"a": 'x "y"'})]))
    [('f:2', {'a': 'say "hi" to me'}), ('f:3', {'a': 'x "y"'})]
    >>> unquoted(iter([("f:2", {"a": '"say" hi'})]))
    [('f:2', {'a': '"say" hi'})]
    """
    table = list(rows)
    begun = [value for _, row in table for value in row.values() if value.startswith('"')]
    if not begun or not all(map(_QUOTED.fullmatch, begun)) or not any('""' in value for value in begun):
        return table
    return [
        (place, {title: _plain(value) if value.startswith('"') else value for title, value in row.items()})
        for place, row in table
    ]


def _plain(value: str) -> str:
    return value[1:-1].replace('""', '"')


def text_files(path: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name and the lines of a text file, or of each in a tar archive; read one before the next."""
    with open_bytes(path) as stream:
        if stream.read(_TAR_BLOCK)[257:262] != b"ustar":
            yield str(path), iterate_lines(path)
            return
    with open_bytes(path) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    content = archive.extractfile(member) if member.isfile() else None
                    if content is not None and not member.name.rpartition("/")[2].startswith("."):
                        name = f"{path}/{member.name}"
                        yield name, chain.from_iterable(split_lines(cast("BinaryIO", content), name))
        except tarfile.TarError as error:
            raise DataError(f"{path} is no intact tar archive: {error}") from error


def put_output(outputs: OutputTexts, system: str, item: str, text: str, place: str) -> None:
    """Note an output; raise an error for another output of the same system for the same item."""
    if not system.strip() or not item.strip():
        raise DataError(f"{place}: a system and an item must have names")
    if outputs[system].setdefault(item, text) != text:
        raise DataError(f"{place}: {system} has another output for {shown(item)} above; it must have one")


def field_of(record: Mapping[str, Any], name: str, kind: type, place: str) -> Any:
    """Return a field of a record that must be of a type; integers become strings where these are wanted."""
    value = record.get(name)
    if kind is str and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, kind):
        words = "a string" if kind is str else "an array"
        found = "is missing" if name not in record else f"must be {words}, not {kind_of(value)}"
        raise DataError(f"{place}: the field {name} {found}")
    return value


def strings_of(record: Mapping[str, Any], name: str, place: str) -> list[str]:
    """Return a field that must be an array of strings."""
    texts: list[str] = field_of(record, name, list, place)
    if not all(isinstance(text, str) for text in texts):
        raise DataError(f"{place}: {name} must be an array of strings")
    return texts


def object_of(value: Any) -> dict[str, Any]:
    """Return an object, empty for anything else."""
    return value if isinstance(value, dict) else {}


def number_of(record: Mapping[str, Any], name: str, place: str) -> float:
    """Return a field that must be a finite number."""
    if name not in record:
        raise DataError(f"{place}: the field {name} is missing")
    return finite_number(record[name], name, place)


def finite_number(value: Any, name: str, place: str) -> float:
    """Return a value that must be a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise DataError(f"{place}: {name} must be a finite number, not {kind_of(value)}")
    return value
