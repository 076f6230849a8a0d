"""Files of any format: tables, Parquet, JSON lines or text, told apart by name and content."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from trubleu.files.jsonl import is_json_name, parse_objects
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.parquet import is_parquet, read_parquet
from trubleu.files.paths import name_of
from trubleu.files.tables import is_table_name, read_table, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from trubleu.files.paths import PathLike

Form: TypeAlias = Literal["table", "parquet", "jsonl", "text"]


@contextmanager
def open_rows(
    path: PathLike, fields: Collection[str] | None, is_record: Callable[[str], bool], *, keep_ends: bool = False
) -> Iterator[tuple[Form, Any]]:
    """Open a file of any format.

    Parameters
    ----------
    path
        The file, or ``-`` for standard input.
    fields
        The columns of Parquet that are wanted; None for all.
    is_record
        Whether the first line of a file shows that it is JSON lines, whatever its name.
    keep_ends
        Whether lines keep their ends.

    Yields
    ------
    form, content
        A `trubleu.files.tables.Table` for ``"table"`` and ``"parquet"``, records with their places for ``"jsonl"``, and
        the lines for ``"text"``.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    name = name_of(path)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            yield "parquet", read_parquet(stream, name, fields)
        elif is_table_name(name):
            yield "table", read_table(table_rows(stream, name), name)
        else:
            lines = chain.from_iterable(split_lines(stream, name, keep_ends=keep_ends))
            first = list(islice(lines, 1))
            lines = chain(first, lines)
            if is_json_name(name) or (first and is_record(first[0])):
                yield "jsonl", parse_objects(lines, name)
            else:
                yield "text", lines
