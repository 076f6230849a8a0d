"""Plain files read side by side, part by part, so that a corpus need not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
        files = cls(references=references, weights=weights, systems=systems, source=source, segments=0)
        return files.of_lengths([count_lines(path) for path in files.paths])

    @property
    def paths(self) -> list[PathLike]:
        """All files: those of references, weights, outputs and messages."""
        sources = [] if self.source is None else [self.source]
        return [*self.references, *self.weights, *self.systems.values(), *sources]

    def of_lengths(self, lengths: Sequence[int]) -> LineStream:
        """Return the same files with the number of segments, from the number of lines of each of `paths`.

        Raises
        ------
        DataError
            If the files have different numbers of lines.
        """
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
        return replace(self, segments=segments)

    def __iter__(self) -> Iterator[Part]:
        return self.parts([line_blocks(path) for path in self.paths])

    def parts(self, columns: Sequence[Iterable[list[str]]], before: int = 0) -> Iterator[Part]:
        """Yield the parts that lines make up, given those of each of `paths` and how many went before."""
        names, weight_names = [name_of(path) for path in self.references], [name_of(path) for path in self.weights]
        for batches in zip(*(batched_lines(blocks, PART) for blocks in columns), strict=True):
            references = batches[: len(names)]
            weights = batches[len(names) : len(names) + len(weight_names)]
            texts = batches[len(names) + len(weight_names) :]
            outputs = dict(zip(self.systems, texts, strict=self.source is None))
            messages = None if self.source is None else texts[-1]
            flat = parallel_columns(references, weights, names, weight_names, before)
            yield Part(References(**flat._replace(before=before, messages=messages)._asdict()), outputs)
            before += len(batches[0])


def batched_lines(blocks: Iterable[list[str]], size: int) -> Iterator[list[str]]:
    """Yield lines that come in lists of any length in lists of ``size``, the last one shorter."""
    waiting: list[str] = []
    for block in blocks:
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
    if not all(map(_is_file, paths)) or sum(Path(path).stat().st_size for path in paths) < WORTH_STREAMING:
        return False
    return not_plain(paths) is None


def not_plain(paths: Sequence[PathLike]) -> PathLike | None:
    """Return the first file that is not plain text, one line a segment; None if all are."""
    return next(
        (path for path in paths if not (_is_file(path) and _is_text(path) and not _looks_like_json(path))), None
    )


def _is_file(path: PathLike) -> bool:
    return not (is_standard(path) or is_json_name(name_of(path))) and Path(path).is_file()


def _is_text(path: PathLike) -> bool:
    """Tell text from tables, which begin with their own mark, and from prepared sets, whose first bytes hold a zero."""
    head = next(byte_blocks(path), b"")[:64]
    return not head.startswith(PARQUET_MAGIC) and b"\0" not in head


def _looks_like_json(path: PathLike) -> bool:
    first = next(chain.from_iterable(line_blocks(path)), "")
    return is_references_record(first) or is_output_record(first)
