"""A corpus cut into parts, each of which becomes a shard, or several, whoever makes it and in which order.

Where it is cut follows from the files and the options. Rows are gathered, also across files, until a shard is full;
skipped ones count, so that nobody need read the rows before. A compressed file is read from its beginning by one
worker, which fills one shard after the other; small ones go together.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING, Final

from trubleu._sources import code_digest
from trubleu.errors import some
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.data.triple_ranges import TripleRange
    from trubleu.data.triple_survey import SurveyedFile
    from trubleu.mining.manifest import IndexOptions

PACKED_BYTES: Final = 32 * 2**20
"""Bytes of compressed files that make one part; a larger file is one by itself."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that one worker makes shards of.

    Attributes
    ----------
    number
        Its place in the index.
    ranges
        Its rows.
    key
        What differs if its shards would.
    piece
        Which of the pieces, from 1 on, of the part with this number, if that was taken apart.
    """

    number: int
    ranges: tuple[TripleRange, ...]
    key: str
    piece: int = 0

    def __str__(self) -> str:
        return some(self.ranges, 3)

    @property
    def size(self) -> int:
        """About how many bytes of files it is."""
        return sum(each.size for each in self.ranges)

    @property
    def rows(self) -> int | None:
        """How many rows it has; None if that is not known."""
        counts = [each.count for each in self.ranges]
        return None if None in counts else sum(count or 0 for count in counts)


class Planner:
    """Cuts a corpus into parts.

    Parameters
    ----------
    files
        The files, in their order.
    options
        What the index is made with.
    first
        The number of the first part.
    columns
        What tab-separated columns hold, if that was said.
    """

    def __init__(
        self,
        files: Iterable[SurveyedFile],
        options: IndexOptions,
        *,
        first: int,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._files = {file.number: file for file in files}
        self._options = options
        self._first = first
        self._columns = columns

    def parts(self) -> list[Part]:
        """Return all parts, in the order of the corpus."""
        groups: list[list[TripleRange]] = []
        room = 0  # rows that fit into the last group
        packed = 0  # bytes of compressed files in the last group, if it is of these
        for file in self._files.values():
            if file.rows is None:
                if not packed or packed + file.size > PACKED_BYTES:
                    groups.append([])
                    packed = 0
                groups[-1].append(file.whole())
                packed += max(1, file.size)
                room = 0
                continue
            at = 0
            while at < file.rows:
                if not room:
                    groups.append([])
                    room = self._options.shard_triples
                count = min(room, file.rows - at)
                groups[-1].append(file.some(at, count))
                at, room, packed = at + count, room - count, 0
        return [self._part(number, group) for number, group in enumerate(groups, self._first)]

    def apart(self, part: Part) -> list[Part]:
        """Return the ranges of a part as parts."""
        return [self._part(part.number, [each], piece) for piece, each in enumerate(part.ranges, 1)]

    def _part(self, number: int, ranges: Iterable[TripleRange], piece: int = 0) -> Part:
        ranges = tuple(ranges)
        model = tokenizer(self._options.tokenize).model
        how = [code_digest(), model, number, piece, asdict(self._options), self._columns]
        depends = hashlib.blake2b(json.dumps(how).encode(), digest_size=16)
        for each in ranges:
            form = None if each.form is None else astuple(each.form)
            content = self._files[each.file].content(each)
            rows = [each.first, each.count, each.byte, each.skip]
            depends.update(json.dumps([each.name, rows, form, content]).encode())
        return Part(number, ranges, depends.hexdigest(), piece)
