"""A corpus of parallel files, read part by part or by ranges of rows, so it need not fit into memory.

`trubleu.files.ranges` finds the lines of a range. A compressed file can only be read from its start, so ranges of
compressed files are whole files.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from operator import methodcaller
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from trubleu.data.outputs import is_output_record, output_id
from trubleu.data.reference_files import (
    WANTED,
    SegmentCollector,
    check_length,
    is_references_record,
    parallel_columns,
    text_field,
)
from trubleu.data.references import References
from trubleu.errors import DataError, UsageError, shown, some
from trubleu.files import paths as places
from trubleu.files.compression import without_suffix
from trubleu.files.jsonl import is_json_name
from trubleu.files.lines import PARQUET_MAGIC, in_batches, line_blocks, open_bytes
from trubleu.files.parquet import open_parquet
from trubleu.files.paths import format_of, is_standard, name_of, reading
from trubleu.files.ranges import FileIndex, SourceFile, Span, mapped_here, surveyed
from trubleu.files.tables import is_table_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.data.reference_files import Columns
    from trubleu.files.paths import PathLike
    from trubleu.files.ranges import Mapped, Row


Form: TypeAlias = Literal["text", "jsonl", "parquet"]
"""The form of a file's rows."""

Role: TypeAlias = Literal["references", "outputs", "text"]
"""The role of a file; weights and messages are text whatever they look like."""

REFERENCE_FIELDS: Final = WANTED
OUTPUT_FIELDS: Final = ("id", "text")
"""The fields read from records of references, and from those of outputs."""

_HEAD: Final = 64


@dataclass(frozen=True, slots=True)
class ColumnFile(SourceFile):
    """A file of a column.

    Attributes
    ----------
    role
        What the column is.
    """

    role: Role = "references"

    def find_form(self) -> tuple[Form | None, int | None]:
        """Determine the form from the name and the beginning, as readers of whole files do; None for an empty file.

        Raises
        ------
        DataError
            If the file cannot be split into ranges, or a Parquet file lacks the column of texts or references.
        """
        with open_bytes(self.path, self.name) as stream:
            head = stream.read(_HEAD)
            if (format_of(self.name) == "parquet" and self.role != "text") or head.startswith(PARQUET_MAGIC):
                if self.packed:
                    raise DataError(f"{self.name} is a Parquet file that was compressed again; unpack it")
                return "parquet", self._height()
            if self.role == "text":
                return "text" if head else None, None
            if b"\0" in head:
                raise DataError(
                    f"{self.name} is neither text nor Parquet; prepared references are read as a whole, so give single "
                    "files (no folder, no --engine), or the file that they were made from"
                )
            if is_json_name(self.name):
                return "jsonl", None
            if not head:
                return None, None
        first = self.first_line(lenient=True)  # the reader of the lines reports wrong bytes
        is_record = is_references_record if self.role == "references" else is_output_record
        return "jsonl" if is_record(first) else "text", None

    def _height(self) -> int:
        """Return the number of rows of a Parquet file."""
        _, there, height = open_parquet(self.path, self.name)
        needed = "references" if self.role == "references" else "text"
        if self.role != "text" and needed not in there:
            long = (
                "; with one row per reference, give single files (no folder, no --engine), or have one row per segment"
            )
            hint = f"{long} with trubleu refs convert" if needed == "references" and "text" in there else ""
            raise DataError(
                f"{self.name}: the column {needed} must be there; columns found: {some(there) or 'none'}{hint}"
            )
        return height


def segments_of(rows: Sequence[Row], source: str, *, weighted: bool) -> Columns:
    """Convert records of references to flat columns; ``weighted`` says whether the corpus has weights.

    Raises
    ------
    DataError
        If a record cannot be used.
    UsageError
        If a record of an unweighted corpus has a weight.
    """
    collector = SegmentCollector(source)
    for row in rows:
        collector.add(row.record, row.place, row.default_id)
    columns = collector.columns()
    if columns.weights is None and weighted:
        return columns._replace(weights=np.full(len(columns.texts), np.nan))
    if columns.weights is not None and not weighted:
        first = next(row for row in rows if has_weights(row.record))
        raise UsageError(
            f"{first.place} has weights, but the first segments of {source} have none; give those null for a weight, "
            "or read the file as a whole (no folder, no --engine)"
        )
    return columns


def has_weights(record: object) -> bool:
    """Return whether a record of references, valid or not, has a field for a weight or ratings, even if it is null."""
    items = record.get("references") if isinstance(record, dict) else None
    return isinstance(items, list) and any(
        isinstance(item, dict) and not {"weight", "ratings"}.isdisjoint(item) for item in items
    )


def json_has_weights(line: bytes) -> bool:
    """Return `has_weights` of a line of JSON; errors in it are reported when it is read."""
    try:
        return has_weights(json.loads(line))
    except (ValueError, RecursionError):
        return False


def texts_of(rows: Sequence[Row], ids: Sequence[str], source: str, *, form: Form) -> list[str]:
    """Return the texts of records of outputs, which must come in the order of the references' ids.

    A table without a column of ids is in order.

    Raises
    ------
    DataError
        If a record cannot be used.
    UsageError
        If an id is not that of the references' record in its place.
    """
    for row, identity in zip(rows, ids, strict=True):
        if form == "parquet" and "id" not in row.record:
            break
        if (found := output_id(row.record, row.place)) != identity:
            raise UsageError(
                f"{row.place} has the id {shown(found)} where {source} has {shown(identity)}: files that are cut into "
                "ranges must have their records in the same order; sort both, or give whole files (no folder, no "
                "--engine), whose records may come in any order"
            )
    return [text_field(row.record, "text", row.place) for row in rows]


_WITHOUT_RANGES: Final = "put it into a file, or give single files (no folder, no --engine)"


def files_of(path: PathLike, role: Role = "references") -> list[ColumnFile]:
    """Return a file, or the files of a folder in the order of their names.

    Raises
    ------
    DataError
        If the folder has no files, or cannot be listed, or a file is a pipe.
    """
    name = name_of(path)
    if is_standard(path):
        raise DataError(f"- (standard input) cannot be cut into ranges; {_WITHOUT_RANGES}")
    with reading(name):
        if not places.is_folder(path):
            return [ColumnFile(_reachable(path, name), name, role=role)]
        _check_parts(path, name)
        found = places.files_below(path)
    if not found:
        raise DataError(f"{name} is a folder without files; put the parts of a column there, or name a file")
    return [ColumnFile(_reachable(each, each), each, role=role) for each in found]


def _check_parts(folder: PathLike, name: str) -> None:
    """Raise an error at the first file of a folder that cannot be a part of what the others hold."""
    if places.is_remote(folder):
        return
    kinds: dict[str, str] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "_"))]
        for each in sorted(names):
            if each.startswith((".", "_")):
                continue
            if is_table_name(each):
                raise DataError(
                    f"{name} holds tables ({each}), which are read whole; name one table, or use JSON lines"
                )
            suffix = PurePath(without_suffix(each)).suffix.lower()
            kinds.setdefault("" if suffix[1:].isdigit() else suffix, str(Path(place, each)))
            if len(kinds) > 1:
                raise DataError(
                    f"the files of {name} do not hold the same: {some(kinds.values())}; name a file, or a folder that "
                    "holds only the parts of one"
                )


def _reachable(path: PathLike, name: str) -> str:
    """Return a path that other processes, which have another standard input, can open."""
    whole = places.absolute(path)
    if places.is_remote(path):
        return whole
    if places.exists(whole) and not places.is_file(whole):
        raise DataError(f"{name} is a pipe, which cannot be cut into ranges; {_WITHOUT_RANGES}")
    # /dev/stdin may be a file, but another one in each process.
    return os.path.realpath(whole) if whole.startswith(("/dev/", "/proc/")) else whole


class CountedColumn:
    """A column whose rows were counted.

    Parameters
    ----------
    name
        What it is called in messages.
    files
        Its files, one after the other.

    Attributes
    ----------
    form
        What its rows are; text if there are none.
    rows
        How many rows it has.
    starts
        The number of the first row of each file.
    packed
        Whether some file is compressed.

    Raises
    ------
    DataError
        If files are of different forms.
    """

    def __init__(self, name: str, files: Sequence[FileIndex]) -> None:
        self.name = name
        self.files = files
        *self.starts, self.rows = accumulate((file.rows for file in files), initial=0)
        self.packed = any(file.file.packed for file in files)
        forms = {form: file.file.name for file in files if (form := file.file.form) is not None}
        if len(forms) > 1:
            raise DataError(f"the files of {name} do not hold the same: {some(forms.values())}; give them one form")
        self.form: Form = next(iter(forms), "text")


def counted_columns(
    paths: Sequence[PathLike], mapped: Mapped = mapped_here, roles: Sequence[Role] = ()
) -> list[CountedColumn]:
    """Count the rows of all files of some columns, which are of references if nothing is said.

    Raises
    ------
    DataError
        If a file cannot be used.
    """
    roles = roles or ["references"] * len(paths)
    given = [(name_of(path), role) for path, role in zip(paths, roles, strict=True)]
    files = {key: files_of(path, key[1]) for key, path in zip(given, paths, strict=True)}
    every = [file for each in files.values() for file in each]
    found = dict(zip(every, surveyed(every, mapped), strict=True))
    columns = {key: CountedColumn(key[0], [found[file] for file in each]) for key, each in files.items()}
    return [columns[key] for key in given]


@dataclass(frozen=True, slots=True)
class LineRange:
    """A range of rows of all columns of a corpus, which can be read independently.

    Attributes
    ----------
    first, count
        The number of rows before, and of these rows.
    spans
        The rows in each of the corpus' columns: in one file or in several.
    """

    first: int
    count: int
    spans: tuple[tuple[Span, ...], ...]

    def __str__(self) -> str:
        return f"lines {self.first + 1:,} to {self.first + self.count:,}"

    def __len__(self) -> int:
        return self.count

    def parts(self, stream: LineStream) -> Iterator[Part]:
        """Yield the parts of the range; ``stream`` is the corpus."""
        # A worker that reads many ranges must not keep copies of all tables.
        places.keep_copies([span.file.path for spans in self.spans for span in spans])
        columns = [
            chain.from_iterable(map(methodcaller("rows", fields), spans))  # a generator would take the last fields
            for spans, fields in zip(self.spans, stream.fields, strict=True)
        ]
        return stream.parts(columns, self.first)


def line_ranges(columns: Sequence[CountedColumn], rows: int) -> list[LineRange]:
    """Split columns of the same length into ranges of ``rows`` rows, the last one shorter.

    Where a column is compressed, ranges are whole files of it, as many as have ``rows`` rows at least; if several are,
    those of the one with the fewest files, so that hardly any file is unpacked more than twice.
    """
    end = columns[0].rows
    packed = sorted((column for column in columns if column.packed), key=lambda column: len(column.files))
    bounds = _bounds(packed[0], rows) if packed else [*range(0, end, rows), end]
    return [
        LineRange(first, last - first, tuple(spans(column, first, last) for column in columns))
        for first, last in pairwise(bounds)
        if last > first
    ]


def spans(column: CountedColumn, first: int, last: int) -> tuple[Span, ...]:
    """Return the spans of some rows of a column."""
    found = []
    for number in range(max(0, bisect_right(column.starts, first) - 1), len(column.files)):
        file, start = column.files[number], column.starts[number]
        if start >= last:
            break
        begin, end = max(first - start, 0), min(last - start, file.rows)
        if begin < end:
            found.append(file.span(begin, end - begin))
    return tuple(found)


def _bounds(column: CountedColumn, rows: int) -> list[int]:
    bounds = [0]
    for start in column.starts:
        if start - bounds[-1] >= rows:
            bounds.append(start)
    return [*bounds, column.rows]


PART: Final = 65_536
"""Segments of a part; sums run over chunks of this size anyway."""

HEAD: Final = 1_000
"""Records of references that are read to determine whether the corpus has weights."""

WORTH_STREAMING: Final = 64 * 2**20
"""Bytes of files below which it is simpler to hold everything."""


class Part(NamedTuple):
    """Some segments: their references, and the outputs of each system."""

    references: References
    outputs: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStream:
    """Parallel files of references, weights and outputs, iterated part by part.

    A path is that of a file, or of a folder whose files follow each other in the order of their names. References may
    also be records, JSON lines or Parquet, and so may outputs, all in the same order.

    Attributes
    ----------
    references, weights
        Files as for `References.read_parallel`; or one file of records, which hold their weights themselves.
    systems
        The file of outputs of each system.
    source
        The file of messages, if there is one.
    segments
        How many rows every file has.
    forms
        What the rows of each of `paths` are, once that was looked at.
    weighted
        Whether records of references have weights.
    columns
        The rows of each of `paths`, once they were counted.
    """

    references: Sequence[PathLike]
    weights: Sequence[PathLike]
    systems: Mapping[str, PathLike]
    source: PathLike | None = None
    segments: int = 0
    forms: tuple[Form, ...] = ()
    weighted: bool = False
    columns: tuple[CountedColumn, ...] = field(default=(), repr=False)

    @property
    def given(self) -> list[tuple[PathLike, Role]]:
        """All files with their roles: references, weights, outputs and messages."""
        found: list[tuple[PathLike, Role]] = [(path, "references") for path in self.references]
        found += [(path, "text") for path in self.weights]
        found += [(path, "outputs") for path in self.systems.values()]
        return [*found, (self.source, "text")] if self.source is not None else found

    @property
    def paths(self) -> list[PathLike]:
        """All files: those of references, weights, outputs and messages."""
        return [path for path, _ in self.given]

    @property
    def fields(self) -> list[tuple[str, ...]]:
        """The fields read from records of each of `paths`."""
        return [REFERENCE_FIELDS if role == "references" else OUTPUT_FIELDS for _, role in self.given]

    def counted(self, mapped: Mapped = mapped_here) -> LineStream:
        """Return the corpus with its rows counted, in this process or as ``mapped`` does it.

        Raises
        ------
        DataError
            If a file cannot be used, or they have different numbers of rows.
        """
        roles = [role for _, role in self.given]
        columns = counted_columns([path for path, _ in self.given], mapped, roles)
        alone = len(self.references) == 1 and not self.weights
        for column, role in zip(columns, roles, strict=True):
            if column.form != "text" and role != "outputs" and not (role == "references" and alone):
                raise DataError(f"{column.name} holds records, but here it must be text, one per line")
        head = columns[0]
        weighted = bool(self.weights)
        if head.form != "text":
            weighted = any(map(_have_weights, spans(head, 0, min(head.rows, HEAD))))
        for _, column in sorted(zip(roles, columns, strict=True), key=lambda each: each[0] == "outputs"):
            check_length(column.name, column.rows, head.name, head.rows)
        return replace(
            self,
            segments=head.rows,
            forms=tuple(column.form for column in columns),
            weighted=weighted,
            columns=tuple(columns),
        )

    def bare(self) -> LineStream:
        """Return the corpus without its line counts, to be sent to workers with ranges of it."""
        return replace(self, columns=())

    def ranges(self, rows: int) -> list[LineRange]:
        """Split the corpus into ranges of about ``rows`` rows; see `line_ranges`."""
        return line_ranges(self.columns, rows)

    def __iter__(self) -> Iterator[Part]:
        for whole in self.ranges(max(self.segments, 1)):
            yield from whole.parts(self)

    def parts(self, columns: Sequence[Iterable[list[Any]]], before: int = 0) -> Iterator[Part]:
        """Yield parts, given the rows of each of `paths` and the number of rows before them."""
        names, weight_names = [name_of(path) for path in self.references], [name_of(path) for path in self.weights]
        forms: Sequence[Form] = self.forms or ["text"] * len(columns)
        for batches in zip(*(in_batches(blocks, PART) for blocks in columns), strict=True):
            given = batches[: len(names)]
            weights = batches[len(names) : len(names) + len(weight_names)]
            texts = batches[len(names) + len(weight_names) :]
            if forms[0] == "text":
                flat = parallel_columns(given, weights, names, weight_names, before)._replace(before=before)
            else:
                flat = segments_of(given[0], names[0], weighted=self.weighted)
            if self.source is not None:
                flat = flat._replace(messages=tuple(texts[-1]))
            references = References(**flat._asdict())
            outputs = {
                system: rows if form == "text" else texts_of(rows, references.ids, names[0], form=form)
                for system, rows, form in zip(
                    self.systems, texts, forms[len(names) + len(weight_names) :], strict=self.source is None
                )
            }
            yield Part(references, outputs)
            before += len(batches[0])


def _have_weights(span: Span) -> bool:
    """Return whether a record of references has a field for a weight or ratings, even if it is null."""
    if span.file.form == "parquet":
        return any(has_weights(row.record) for rows in span.rows(REFERENCE_FIELDS) for row in rows)
    return any(map(json_has_weights, span.content().split(b"\n")))


def worth_streaming(references: Sequence[PathLike], others: Sequence[PathLike]) -> bool:
    """Return whether files are large enough and all plain text, one line per segment, or some are folders of files."""
    paths = [*references, *others]
    if any(is_standard(path) for path in paths):
        return False
    if any(map(places.is_folder, paths)):
        return True
    named = [name_of(path) for path in paths]
    if any(map(is_json_name, named)) or any(map(is_table_name, named)) or not all(map(places.is_file, paths)):
        return False
    return sum(map(places.byte_size, paths)) >= WORTH_STREAMING and all(map(_is_text, paths))


def _is_text(path: PathLike) -> bool:
    """Return whether a file is text: neither Parquet, nor prepared references, nor JSON records."""
    with open_bytes(path) as stream:
        head = stream.read(64)
    if head.startswith(PARQUET_MAGIC) or b"\0" in head:
        return False
    first = next(chain.from_iterable(line_blocks(path)), "")
    return not (is_references_record(first) or is_output_record(first))
