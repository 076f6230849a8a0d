"""Plain files of references, one a line, with weights beside them or without; and telling them from other formats."""

from __future__ import annotations

from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np

from trubleu.data.columns import Columns
from trubleu.data.files import (
    PathLike,
    check_standard_input_once,
    name_of,
    open_bytes,
    read_text_lines,
    split_lines,
)
from trubleu.data.frames import WANTED, segments_from_table
from trubleu.data.jsonl import is_json_name, read_references
from trubleu.data.tables import is_parquet, read_parquet
from trubleu.data.weights import shown, weight_problem
from trubleu.errors import DataError, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def read_any(path: PathLike) -> Columns:
    """Read one file of references, whichever form it has (see `References.read`)."""
    name = name_of(path)
    with open_bytes(path) as stream:
        if is_parquet(stream, name):
            return segments_from_table(read_parquet(stream, name, WANTED))
        lines = chain.from_iterable(split_lines(stream, name))
        first = next(lines, None)
        if first is None:
            return Columns([], np.zeros(1, dtype=np.int64), source=name)
        lines = chain([first], lines)
        if is_json_name(name) or is_references_record(first):
            return read_references(lines, name)
        texts = list(lines)
    return Columns(texts, np.arange(len(texts) + 1), source=name)


def is_references_record(line: str) -> bool:
    """Return whether a line is one segment as JSON, though the file's name does not say so."""
    return line.lstrip().startswith("{") and '"references"' in line


def check_plain(name: str, lines: Sequence[str] = ()) -> None:
    """Refuse a file that is not one reference a line, by its name or its first line."""
    structured = is_json_name(name) or name.endswith((".parquet", ".pq", ".tbp"))
    if structured or (len(lines) and is_references_record(lines[0])):
        raise DataError(f"{name} holds whole segments, not one reference a line; give it with --refs (References.read)")


def read_parallel(references: Sequence[PathLike], weights: Sequence[PathLike] = ()) -> Columns:
    """Read parallel files of references and of weights (see `References.read_parallel`)."""
    for paths in (references, weights):
        # A string is a sequence of strings to every type checker, so only this says it.
        if isinstance(paths, str):
            raise DataError(f"files must be given as a list, not as the string {shown(paths)}; wrap it in a list")
    if not references:
        raise DataError("there are no files of references; give at least one")
    if weights and len(weights) != len(references):
        raise DataError(
            f"there are {len(references)} files of references but {len(weights)} of weights "
            f"({some(map(name_of, weights))}); give one for each or none at all"
        )
    check_standard_input_once([*references, *weights])
    for path in references:
        check_plain(name_of(path))  # by the name, before a table is taken for text that is no UTF-8
    names, weight_names = [name_of(path) for path in references], [name_of(path) for path in weights]
    columns, weight_columns = (
        [read_text_lines(path) for path in references],
        [read_text_lines(path) for path in weights],
    )
    for name, column in zip(names, columns, strict=True):
        check_plain(name, column)
        check_length(name, len(column), names[0], len(columns[0]))
    for weight_name, column, name in zip(weight_names, weight_columns, names, strict=False):
        check_length(weight_name, len(column), name, len(columns[0]))
    return parallel_columns(columns, weight_columns, names, weight_names)


def parallel_columns(
    columns: Sequence[list[str]],
    weights: Sequence[list[str]],
    names: Sequence[str],
    weight_names: Sequence[str],
    before: int = 0,
) -> Columns:
    """Lay parallel lines flat, all columns being of one length; ``before`` is the number of lines that went before."""
    segments = len(columns[0])
    source = ", ".join(names)
    texts = columns[0] if len(columns) == 1 else list(chain.from_iterable(zip(*columns, strict=True)))
    if not weights:
        return Columns(texts, np.arange(segments + 1) * len(columns), source=source)
    table = np.empty((segments, len(columns)))
    for index, (name, lines) in enumerate(zip(weight_names, weights, strict=True)):
        table[:, index] = _weights(lines, name, before)
    there = ~np.isnan(table)
    counts = there.sum(axis=1)
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        word = "line" if len(empty) == 1 else "lines"
        raise DataError(
            f"{some(weight_names)}: no reference has a weight on {word} {some((empty + before + 1).tolist())}; "
            "give each segment at least one or leave the line out everywhere"
        )
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return Columns(list(compress(texts, there.ravel().tolist())), offsets, table[there], source=source)


def _weights(lines: list[str], name: str, before: int) -> NDArray[np.float64]:
    """Return one weight a line, NaN for an empty line; ``before`` is the number of lines that went before."""
    try:
        weights = np.fromiter((float(line) if line else np.nan for line in lines), np.float64, len(lines))
    except ValueError:
        weights = None
    # A line "nan" is a number to float() but not a weight, so NaN must come from empty lines alone.
    if weights is not None and np.count_nonzero(np.abs(weights) <= 1) + lines.count("") == len(lines):
        return weights
    return np.array([_weight(line, f"{name}:{number}") for number, line in enumerate(lines, before + 1)])


def _weight(line: str, place: str) -> float:
    if not line.strip():
        return float("nan")
    try:
        weight = float(line)
    except ValueError:
        raise DataError(
            f"{place}: a weight must be a number from -1 to 1, not {shown(line)}; "
            "leave the line empty where there is no reference"
        ) from None
    if problem := weight_problem(weight, "leave the line empty if there is no reference"):
        raise DataError(f"{place}: a weight {problem}")
    return weight


def check_length(name: str, length: int, other: str, expected: int) -> None:
    """Refuse a file that does not have as many lines as another one."""
    if length != expected:
        raise DataError(f"{name} has {length} lines but {other} has {expected}; every file needs one line a segment")
