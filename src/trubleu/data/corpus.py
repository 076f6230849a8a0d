"""A corpus of parallel files, read part by part or by ranges of rows, so that it need not fit into memory.

From the rows counted in each block of a file follows near which byte a line begins. A range is read from there on, less
the lines before it. A compressed file can only be read from its start, so ranges of compressed files are whole files.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from trubleu.data.corpus_files import (
    OUTPUT_FIELDS,
    REFERENCE_FIELDS,
    counted_columns,
    forget_copies,
    has_weights,
    json_has_weights,
    json_rows,
    mapped_here,
    parquet_rows,
    segments_of,
    texts_of,
)
from trubleu.data.outputs import is_output_record
from trubleu.data.reference_files import check_length, is_references_record, parallel_columns
from trubleu.data.references import References
from trubleu.errors import DataError, counted
from trubleu.files import paths as places
from trubleu.files.jsonl import is_json_name
from trubleu.files.lines import byte_blocks, decode_lines, line_blocks, lines_of_blocks, own_lines
from trubleu.files.parquet import PARQUET_MAGIC
from trubleu.files.paths import is_standard, name_of
from trubleu.files.ranges import digest_of
from trubleu.files.tables import is_table_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.data.corpus_files import CountedColumn, Form, Mapped, NamedFile, Role
    from trubleu.files.paths import PathLike


@dataclass(frozen=True, slots=True)
class Span:
    """Where some rows of a range are in one file: so many after some that are skipped, which begin at a byte.

    Attributes
    ----------
    file
        The file.
    form, packed
        What its rows are, and whether it is compressed.
    byte, skip
        Where to begin, and how many lines to skip there.
    first, count
        The number of rows of the file before those of the range, and how many these are.
    """

    file: NamedFile
    form: Form
    packed: bool
    byte: int
    skip: int
    first: int
    count: int

    def rows(self, fields: Sequence[str] = ()) -> Iterator[list[Any]]:
        """Yield the rows in lists of any length: lines of text, or records of which some fields are looked at.

        Raises
        ------
        DataError
            If they cannot be read, or are no longer all there.
        """
        found = 0
        for rows in self._records(fields) if self.form == "parquet" else self._lines():
            found += len(rows)
            yield rows
        if found != self.count:
            raise self.file.changed()

    def digest(self) -> bytes:
        """Return what differs if the rows do."""
        if self.form != "parquet":
            return digest_of(self._own())
        records = (repr([row.record for row in rows]) for rows in self._records(()))
        return digest_of((0, text.encode("utf-8", "surrogatepass")) for text in records)

    def content(self) -> bytes:
        """Return the lines as they are."""
        return b"".join(block for _, block in self._own())

    def _records(self, fields: Sequence[str]) -> Iterator[list[Any]]:
        self.file.check_unchanged()
        return parquet_rows(self.file.path, self.file.name, fields, self.first, self.count)

    def _lines(self) -> Iterator[list[Any]]:
        number = self.first
        for lines in lines_of_blocks(self._own(), self.file.name, decode_lines, number):
            yield lines if self.form == "text" else json_rows(lines, self.file.name, number)
            number += len(lines)

    def _own(self) -> Iterator[tuple[int, bytes]]:
        blocks = self.file.blocks(self.byte, packed=self.packed)
        return own_lines(blocks, self.byte, self.skip, self.count, self.file.changed)


@dataclass(frozen=True, slots=True)
class LineRange:
    """Some rows of all columns of a corpus, which can be read alone.

    Attributes
    ----------
    first, count
        How many rows went before, and how many these are.
    spans
        Where they are in each of the corpus' columns: in one file or in several.
    """

    first: int
    count: int
    spans: tuple[tuple[Span, ...], ...]

    def __str__(self) -> str:
        return f"lines {self.first + 1:,} to {self.first + self.count:,}"

    def __len__(self) -> int:
        return self.count

    def parts(self, stream: LineStream) -> Iterator[Part]:
        """Yield the parts of the range, its columns being those of the corpus."""
        # Who works on one range after the other must not hold all tables in the end.
        forget_copies(but=[span.file.path for spans in self.spans for span in spans])
        columns = [_rows(spans, fields) for spans, fields in zip(self.spans, stream.fields, strict=True)]
        return stream.parts(columns, self.first)


def _rows(spans: Sequence[Span], fields: Sequence[str]) -> Iterator[list[Any]]:
    for span in spans:
        yield from span.rows(fields)


def line_ranges(columns: Sequence[CountedColumn], rows: int) -> list[LineRange]:
    """Cut columns of the same number of rows into ranges of ``rows`` rows, the last one shorter.

    Where a column is compressed, ranges are whole files of it, as many as have ``rows`` rows at least; if several are,
    those of the one with the fewest files, so that hardly any file is unpacked more than twice.
    """
    end = columns[0].rows
    packed = [column for column in columns if column.packed]
    bounds = [*range(0, end, rows), end] if not packed else _bounds(min(packed, key=_file_count), rows)
    return [
        LineRange(first, last - first, tuple(spans(column, first, last) for column in columns))
        for first, last in pairwise(bounds)
        if last > first
    ]


def spans(column: CountedColumn, first: int, last: int) -> tuple[Span, ...]:
    """Return where some rows of a column are."""
    found = []
    for number in range(max(0, bisect_right(column.starts, first) - 1), len(column.files)):
        file, start = column.files[number], column.starts[number]
        if start >= last:
            break
        begin, end = max(first - start, 0), min(last - start, file.rows)
        if begin < end:
            byte, skip = file.begin(begin)
            found.append(Span(file.file, column.form, file.look.packed, byte, skip, begin, end - begin))
    return tuple(found)


def _file_count(column: CountedColumn) -> int:
    return len(column.files)


def _bounds(column: CountedColumn, rows: int) -> list[int]:
    bounds = [0]
    for start in column.starts:
        if start - bounds[-1] >= rows:
            bounds.append(start)
    return [*bounds, column.rows]


Some = TypeVar("Some")

PART: Final = 65_536
"""Segments of a part; sums run over chunks of this size anyway."""

HEAD: Final = 1_000
"""Records of references that are looked at to see whether there are weights."""

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

    @classmethod
    def open(
        cls,
        references: Sequence[PathLike],
        weights: Sequence[PathLike],
        systems: Mapping[str, PathLike],
        source: PathLike | None = None,
    ) -> LineStream:
        """Count the rows of all files.

        Raises
        ------
        DataError
            If the files have different numbers of rows.
        """
        return cls(references=references, weights=weights, systems=systems, source=source).counted()

    @property
    def paths(self) -> list[PathLike]:
        """All files: those of references, weights, outputs and messages."""
        sources = [] if self.source is None else [self.source]
        return [*self.references, *self.weights, *self.systems.values(), *sources]

    @property
    def roles(self) -> list[Role]:
        """What each of `paths` is."""
        found: list[tuple[Role, int]] = [
            ("references", len(self.references)),
            ("text", len(self.weights)),
            ("outputs", len(self.systems)),
            ("text", self.source is not None),
        ]
        return [role for role, count in found for _ in range(count)]

    @property
    def fields(self) -> list[tuple[str, ...]]:
        """What is looked at in records of each of `paths`."""
        outputs = [OUTPUT_FIELDS] * (len(self.paths) - len(self.references))
        return [*[REFERENCE_FIELDS] * len(self.references), *outputs]

    def counted(self, mapped: Mapped = mapped_here) -> LineStream:
        """Return the same with its rows counted, wherever that is done.

        Raises
        ------
        DataError
            If a file cannot be used, or they have different numbers of rows.
        """
        columns = counted_columns(self.paths, mapped, self.roles)
        self._check_forms(columns)
        head = columns[0]
        weighted = bool(self.weights)
        if head.form != "text":
            weighted = any(map(_have_weights, spans(head, 0, min(head.rows, HEAD))))
        self._check_lengths([column.rows for column in columns])
        return replace(
            self,
            segments=head.rows,
            forms=tuple(column.form for column in columns),
            weighted=weighted,
            columns=tuple(columns),
        )

    def bare(self) -> LineStream:
        """Return the same without what was counted, to be sent elsewhere with ranges of it."""
        return replace(self, columns=())

    def ranges(self, rows: int) -> list[LineRange]:
        """Cut it into ranges of about as many rows; see `trubleu.data.corpus.line_ranges`."""
        return line_ranges(self.columns, rows)

    def __iter__(self) -> Iterator[Part]:
        for whole in self.ranges(max(self.segments, 1)):
            yield from whole.parts(self)

    def parts(self, columns: Sequence[Iterable[list[Any]]], before: int = 0) -> Iterator[Part]:
        """Yield the parts that rows make up, given those of each of `paths` and how many went before."""
        names, weight_names = [name_of(path) for path in self.references], [name_of(path) for path in self.weights]
        forms: Sequence[Form] = self.forms or ["text"] * len(columns)
        for batches in zip(*(batched_lines(blocks, PART) for blocks in columns), strict=True):
            given = batches[: len(names)]
            weights = batches[len(names) : len(names) + len(weight_names)]
            texts = batches[len(names) + len(weight_names) :]
            if forms[0] == "text":
                flat = parallel_columns(given, weights, names, weight_names, before)._replace(before=before)
            else:
                flat = segments_of(given[0], names[0], weighted=self.weighted)
            if self.source is not None:
                flat = flat._replace(messages=texts[-1])
            references = References(**flat._asdict())
            outputs = {
                system: rows if form == "text" else texts_of(rows, references.ids, names[0], form=form)
                for system, rows, form in zip(
                    self.systems, texts, forms[len(names) + len(weight_names) :], strict=self.source is None
                )
            }
            yield Part(references, outputs)
            before += len(batches[0])

    def _check_forms(self, columns: Sequence[CountedColumn]) -> None:
        """Refuse records where only texts can stand."""
        outputs = len(self.references) + len(self.weights)
        records = {*range(outputs, outputs + len(self.systems)), *([0] if outputs == 1 else [])}
        for number, column in enumerate(columns):
            if column.form != "text" and number not in records:
                raise DataError(f"{column.name} holds records, but here it must be text, one a line")

    def _check_lengths(self, lengths: Sequence[int]) -> None:
        """Refuse files with different numbers of rows."""
        first, segments = name_of(self.references[0]), lengths[0]
        outputs = range(len(self.references) + len(self.weights), len(lengths) - (self.source is not None))
        others = [number for number in range(1, len(lengths)) if number not in outputs]
        for number in [*others, *outputs]:
            name, lines = name_of(self.paths[number]), lengths[number]
            if number not in outputs:
                check_length(name, lines, first, segments)
            elif lines != segments:
                raise DataError(
                    f"{name} has {counted(lines, 'line')} but {first} has "
                    f"{counted(segments, 'segment')}; outputs need one line a segment"
                )


def batched_lines(blocks: Iterable[list[Some]], size: int) -> Iterator[list[Some]]:
    """Yield rows that come in lists of any length in lists of ``size``, the last one shorter."""
    waiting: list[Some] = []
    for block in blocks:
        waiting.extend(block)
        whole = len(waiting) // size * size
        for start in range(0, whole, size):
            yield waiting[start : start + size]
        del waiting[:whole]
    if waiting:
        yield waiting


def _have_weights(span: Span) -> bool:
    """Return whether some record of references has a weight or ratings, be they null."""
    if span.form == "parquet":
        return any(has_weights(row.record) for rows in span.rows(REFERENCE_FIELDS) for row in rows)
    return any(map(json_has_weights, span.content().split(b"\n")))


def worth_streaming(references: Sequence[PathLike], others: Sequence[PathLike]) -> bool:
    """Return whether files are large enough and all plain text, one line a segment, or some are folders of files."""
    paths = [*references, *others]
    if any(is_standard(path) for path in paths):
        return False
    if any(map(places.is_folder, paths)):
        return True
    if not all(map(_is_text_name, paths)) or sum(map(places.byte_size, paths)) < WORTH_STREAMING:
        return False
    return all(map(_is_text, paths))


def _is_text_name(path: PathLike) -> bool:
    return not is_json_name(name_of(path)) and not is_table_name(name_of(path)) and places.is_file(path)


def _is_text(path: PathLike) -> bool:
    """Tell text from tables, which begin with their own mark, and from prepared sets, whose first bytes hold a zero."""
    head = next(byte_blocks(path), b"")[:64]
    if head.startswith(PARQUET_MAGIC) or b"\0" in head:
        return False
    first = next(chain.from_iterable(line_blocks(path)), "")
    return not (is_references_record(first) or is_output_record(first))
