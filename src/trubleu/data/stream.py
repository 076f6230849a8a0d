"""Files read side by side, part by part, so that a corpus need not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from trubleu.data import places
from trubleu.data.counted import counted_columns, mapped_here
from trubleu.data.files import byte_blocks, is_standard, line_blocks, name_of
from trubleu.data.jsonl import is_json_name
from trubleu.data.outputs import is_output_record
from trubleu.data.plain import check_length, is_references_record, parallel_columns
from trubleu.data.ranges import line_ranges, spans
from trubleu.data.record_rows import (
    OUTPUT_FIELDS,
    REFERENCE_FIELDS,
    has_weights,
    json_has_weights,
    segments_of,
    texts_of,
)
from trubleu.data.references import References
from trubleu.data.tables import PARQUET_MAGIC
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.data.counted import CountedColumn, Mapped
    from trubleu.data.files import PathLike
    from trubleu.data.ranges import LineRange, Span
    from trubleu.data.record_rows import Form, Role

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
        """Cut it into ranges of about as many rows; see `trubleu.data.ranges.line_ranges`."""
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
                    f"{name} has {lines} lines but {first} has {segments} segments; outputs need one line a segment"
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
    return not is_json_name(name_of(path)) and places.is_file(path)


def _is_text(path: PathLike) -> bool:
    """Tell text from tables, which begin with their own mark, and from prepared sets, whose first bytes hold a zero."""
    head = next(byte_blocks(path), b"")[:64]
    if head.startswith(PARQUET_MAGIC) or b"\0" in head:
        return False
    first = next(chain.from_iterable(line_blocks(path)), "")
    return not (is_references_record(first) or is_output_record(first))
