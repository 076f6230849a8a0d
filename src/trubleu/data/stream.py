"""Plain files read side by side, part by part, so that a corpus need not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.data.files import BOM, byte_blocks, is_standard, line_blocks, name_of
from trubleu.data.jsonl import is_json_name
from trubleu.data.outputs import is_output_record
from trubleu.data.plain import check_length, is_references_record, parallel_columns
from trubleu.data.references import References
from trubleu.data.tables import PARQUET_MAGIC
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.data.files import PathLike

PART: Final = 65_536
"""Segments of a part; sums run over chunks of this size anyway."""

WORTH_STREAMING: Final = 64 * 2**20
"""Bytes of files below which it is simpler to hold everything."""


class Part(NamedTuple):
    """Some segments: their references, and the outputs of each system."""

    references: References
    outputs: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStream:
    """Parallel plain files of references, weights and outputs, iterated part by part.

    Attributes
    ----------
    references, weights
        Files as for `References.read_parallel`.
    systems
        The file of outputs of each system.
    source
        The file of messages, if there is one.
    segments
        How many lines every file has.
    """

    references: Sequence[PathLike]
    weights: Sequence[PathLike]
    systems: Mapping[str, PathLike]
    source: PathLike | None = None
    segments: int

    @classmethod
    def open(
        cls,
        references: Sequence[PathLike],
        weights: Sequence[PathLike],
        systems: Mapping[str, PathLike],
        source: PathLike | None = None,
    ) -> LineStream:
        """Count the lines of all files.

        Raises
        ------
        DataError
            If the files have different numbers of lines.
        """
        first = references[0]
        segments = count_lines(first)
        sources = [] if source is None else [source]
        for path in [*references[1:], *weights, *sources]:
            check_length(name_of(path), count_lines(path), name_of(first), segments)
        for path in systems.values():
            if (lines := count_lines(path)) != segments:
                raise DataError(
                    f"{name_of(path)} has {lines} lines but {name_of(first)} has {segments} segments; "
                    "outputs need one line a segment"
                )
        return cls(references=references, weights=weights, systems=systems, source=source, segments=segments)

    def __iter__(self) -> Iterator[Part]:
        names, weight_names = [name_of(path) for path in self.references], [name_of(path) for path in self.weights]
        files = [
            *self.references,
            *self.weights,
            *self.systems.values(),
            *([] if self.source is None else [self.source]),
        ]
        before = 0
        for batches in zip(*(line_batches(path, PART) for path in files), strict=True):
            columns = batches[: len(names)]
            weights = batches[len(names) : len(names) + len(weight_names)]
            texts = batches[len(names) + len(weight_names) :]
            outputs = dict(zip(self.systems, texts, strict=self.source is None))
            messages = None if self.source is None else texts[-1]
            flat = parallel_columns(columns, weights, names, weight_names, before)
            yield Part(References(**flat._replace(before=before, messages=messages)._asdict()), outputs)
            before += len(batches[0])


def line_batches(path: PathLike, size: int) -> Iterator[list[str]]:
    """Yield the lines of a file in lists of ``size``, the last one shorter."""
    waiting: list[str] = []
    for block in line_blocks(path):
        lines = waiting + block if waiting else block
        whole = len(lines) // size * size
        for start in range(0, whole, size):
            yield lines[start : start + size]
        waiting = lines[whole:]
    if waiting:
        yield waiting


def count_lines(path: PathLike) -> int:
    """Count the lines of a file as `read_text_lines` would return them, without holding any."""
    lines, last = 0, b"\n"
    for number, block in enumerate(byte_blocks(path)):
        text = block if number else block.removeprefix(BOM)
        lines += text.count(b"\n")
        last = text[-1:] or last
    return lines + (last != b"\n")


def worth_streaming(references: Sequence[PathLike], others: Sequence[PathLike]) -> bool:
    """Return whether files are large enough and all plain text, one line a segment."""
    paths = [*references, *others]
    if any(is_standard(path) or is_json_name(name_of(path)) or not Path(path).is_file() for path in paths):
        return False
    if sum(Path(path).stat().st_size for path in paths) < WORTH_STREAMING:
        return False
    return all(_is_text(path) for path in paths) and not any(map(_looks_like_json, paths))


def _is_text(path: PathLike) -> bool:
    """Tell text from tables, which begin with their own mark, and from prepared sets, whose first bytes hold a zero."""
    head = next(byte_blocks(path), b"")[:64]
    return not head.startswith(PARQUET_MAGIC) and b"\0" not in head


def _looks_like_json(path: PathLike) -> bool:
    first = next(chain.from_iterable(line_blocks(path)), "")
    return is_references_record(first) or is_output_record(first)
