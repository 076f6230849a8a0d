"""Which format a file has, or is to have, by its name."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias

from trubleu.data.compression import SUFFIXES, without_suffix
from trubleu.data.files import PathLike, is_standard, name_of
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

Format: TypeAlias = Literal["jsonl", "parquet", "csv", "tsv"]

_ENDINGS: dict[Format, tuple[str, ...]] = {
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
}


def format_of(name: str) -> Format | None:
    """Return the format that a file's name tells, compressed or not; None if it tells nothing.

    Examples
    --------
    >>> format_of("refs.jsonl.zst"), format_of("refs.PQ"), format_of("refs.en")
    ('jsonl', 'parquet', None)
    """
    ending = PurePath(without_suffix(name)).suffix.lower()
    return next((form for form, endings in _ENDINGS.items() if ending in endings), None)


def format_to_write(path: PathLike, allowed: Sequence[Format]) -> Format:
    """Return the format that a path asks for; standard output gets JSON lines.

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
    trubleu.errors.DataError: refs.doc: the name does not tell a format; let it end in .jsonl or .parquet
    """
    if is_standard(path):
        return "jsonl"
    name = name_of(path)
    form = format_of(name)
    if form is None or form not in allowed:
        endings = [_ENDINGS[each][0] for each in allowed]
        choices = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise DataError(f"{name}: the name does not tell a format; let it end in {choices}")
    if form == "parquet" and name.lower().endswith(SUFFIXES):
        raise DataError(f"{name}: Parquet is compressed inside; leave {PurePath(name).suffix} off its name")
    return form
