"""Build shards: split a corpus into parts, and turn a part into shards on a worker.

The split depends on the files and options alone. Rows are collected, also across files, until a shard is full; skipped
rows count, so the rows before a part need not be read. A compressed file is read from its beginning by one worker,
which fills one shard after the other; small ones are grouped.

A shard is written atomically, followed by its record, an entry of the cache (`trubleu.execution.cache.Entries`). A
worker that gets the same rows again resumes after it. None of this is an index until the manifest lists it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.data.triple_formats import TripleRows, read_range, triple_file
from trubleu.data.triples import TripleBatch
from trubleu.errors import DataError, some
from trubleu.execution.serialization import typed
from trubleu.files.paths import joined, keep_copies, open_binary
from trubleu.mining.manifest import ListedShard, shard_name
from trubleu.mining.shard import ShardWriter
from trubleu.text import tokenizer
from trubleu.text.unspaced import many_unsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from trubleu.execution.cache import Entries
    from trubleu.files.paths import PathLike
    from trubleu.files.ranges import FileIndex, Span
    from trubleu.mining.manifest import IndexOptions
    from trubleu.progress import Progress
    from trubleu.text import Tokenizer


PACKED_BYTES: Final = 32 * 2**20
"""Bytes of compressed files per part; a larger file is a part of its own."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that one worker turns into shards.

    Attributes
    ----------
    number
        Its place in the index.
    ranges
        Its rows.
    contents
        Checksums of the blocks that hold each range.
    piece
        Which of the pieces, from 1 on, of the part with this number, if that was taken apart.
    """

    number: int
    ranges: tuple[Span, ...]
    contents: tuple[tuple[int, ...], ...] = ()
    piece: int = 0

    def __str__(self) -> str:
        return some(self.ranges, 3)

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return sum(each.size for each in self.ranges)

    @property
    def rows(self) -> int | None:
        """Number of rows; None if unknown."""
        counts = [each.count for each in self.ranges]
        return None if None in counts else sum(count or 0 for count in counts)

    def apart(self) -> list[Part]:
        """Split the part into one part per range."""
        pairs = enumerate(zip(self.ranges, self.contents, strict=True), 1)
        return [Part(self.number, (each,), (content,), piece) for piece, (each, content) in pairs]

    def depends(self, options: IndexOptions) -> list[object]:
        """Return all that its shards depend on, besides the code."""
        depends: list[object] = [tokenizer(options.tokenize).model, self.number, self.piece, options, self.contents]
        for each in self.ranges:
            file, rows = triple_file(each), (each.first, each.count, each.byte, each.skip)
            depends.append((file.label, file.columns, rows, file.form))
        return depends


def plan(files: Iterable[FileIndex], options: IndexOptions, *, first: int) -> list[Part]:
    """Split a corpus into parts.

    Parameters
    ----------
    files
        The files, in their order.
    options
        What the index is made with.
    first
        The number of the first part.
    """
    groups: list[list[tuple[Span, tuple[int, ...]]]] = []
    room = 0  # rows that still fit into the last group
    packed = 0  # bytes of compressed files in the last group, if it holds such files
    for file in files:
        if file.file.form is None:
            if not packed or packed + file.file.size > PACKED_BYTES:
                groups.append([])
                packed = 0
            groups[-1].append((file.span(), tuple(file.content(file.span()))))
            packed += max(1, file.file.size)
            room = 0
            continue
        at = 0
        while at < file.rows:
            if not room:
                groups.append([])
                room = options.shard_triples
            count = min(room, file.rows - at)
            span = file.span(at, count)
            groups[-1].append((span, tuple(file.content(span))))
            at, room, packed = at + count, room - count, 0
    return [
        Part(number, tuple(span for span, _ in group), tuple(content for _, content in group))
        for number, group in enumerate(groups, first)
    ]


BATCH: Final = 1024
"""Rows per batch: large enough to be fast, small enough for very long texts."""

MOST_MEMORY: Final = 768 * 2**20
"""A shard is written once it takes this much memory, even with room for more triples: texts may be long."""

_CHECKSUM: Final = slice(8, 16)  # of the header of an array file, which holds the checksums of all arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The result of building consecutive rows of a part.

    Attributes
    ----------
    shard
        What they became; None if all of them were left out.
    triples
        How many there are of each file, as pairs of its number and theirs.
    bad, empty
        How many rows were left out.
    place
        Where to go on: in which range of the part, and after how many rows of that.
    rows
        How many rows of the part have been read so far.
    last
        Whether the part is done.
    unsplit
        Whether the tokenizer leaves many of its texts unsplit.
    """

    shard: ListedShard | None
    triples: tuple[tuple[int, int], ...]
    bad: int
    empty: int
    place: tuple[int, int]
    rows: int
    last: bool
    unsplit: bool = False

    @classmethod
    def unpack(cls, header: dict[str, Any], _array: object) -> Made:
        """Return a record that was kept.

        Raises
        ------
        ValueError, TypeError, KeyError, AttributeError
            If it is not one.
        """
        made: Made = typed(cls, header)
        if sum(triples for _, triples in made.triples) != (made.shard.triples if made.shard else 0):
            raise ValueError("its numbers of triples do not fit each other")
        return made


class Step(NamedTuple):
    """A batch, how many rows were read and skipped for it, and the position after it."""

    batch: TripleBatch
    rows: int
    bad: int
    empty: int
    place: tuple[int, int] = (0, 0)


class Cutter:
    """Collects batches of rows into shards.

    Parameters
    ----------
    folder
        Where shards are written.
    options
        What they are made with.
    how
        The tokenizer.
    part
        What they are made of.
    done
        What is finished of it.

    Attributes
    ----------
    place
        Where to go on, as `Made.place`.
    """

    def __init__(
        self, folder: str, options: IndexOptions, how: Tokenizer, part: Part, done: Sequence[Made] = ()
    ) -> None:
        self._folder = folder
        self._options = options
        self._part = part
        self._rows = done[-1].rows if done else 0
        self._shards = sum(made.shard is not None for made in done)
        self.place = done[-1].place if done else (0, 0)
        self._how = how
        self._unsplit = False
        self._writer = ShardWriter(how, lowercase=options.lowercase, stop_words=options.stop_words)
        self._triples: Counter[int] = Counter()
        self._bad = self._empty = 0

    def room(self) -> int:
        """Return the maximum number of rows to read next, so the shard ends at its limit."""
        most = self._options.shard_triples
        return min(BATCH, most - self._rows % most)

    def cut(self, steps: Iterable[Step]) -> Iterator[Made]:
        """Write shards, yielding a record for each, and a last one at the end of the rows."""
        ended = False
        for step in steps:
            if len(step.batch):
                if not self._writer.triples:
                    self._unsplit = many_unsplit(step.batch.messages, self._how)
                self._writer.add(step.batch)
                self._triples[step.batch.file] += len(step.batch)
            self._rows += step.rows
            self._bad += step.bad
            self._empty += step.empty
            self.place = step.place
            full = self._rows % self._options.shard_triples == 0 or self._writer.memory >= MOST_MEMORY
            if full and self._writer.triples:
                ended = self._rows == self._part.rows
                yield self._made(last=ended)
        if not ended:
            yield self._made(last=True)

    def _made(self, *, last: bool) -> Made:
        made = Made(
            shard=self._written() if self._writer.triples else None,
            triples=tuple(sorted(self._triples.items())),
            bad=self._bad,
            empty=self._empty,
            place=self.place,
            rows=self._rows,
            last=last,
            unsplit=self._unsplit,
        )
        self._triples.clear()
        self._bad = self._empty = 0
        return made

    def _written(self) -> ListedShard:
        part = self._part
        name = shard_name(part.number, self._shards, self._options, self._writer.info, piece=part.piece)
        path = joined(self._folder, name)
        info = self._writer.write(path)
        self._shards += 1
        return ListedShard(file=name, checksum=header_checksum(path), **asdict(info))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardMaker:
    """Builds the shards of a part; mapped over parts by an engine, with the tokenizer as state.

    Attributes
    ----------
    entries
        Where shards and their records are kept.
    options
        What it is made with.
    skip_bad
        Whether rows that cannot be used are counted instead of an error.
    tell
        Told how many bytes of the part have been read, where somebody in this process listens.
    """

    entries: Entries
    options: IndexOptions
    skip_bad: bool
    tell: Progress | None = None

    def __call__(self, part: Part, how: Tokenizer) -> tuple[tuple[Made, ...], int]:
        """Return the records of a part, those finished earlier first, and the number of those.

        Raises
        ------
        DataError
            If its rows cannot be used, or a shard cannot be written.
        """
        done: list[Made] = []
        depends = part.depends(self.options)
        while not done or not done[-1].last:
            found = self.entries.find([*depends, len(done)], Made.unpack)
            if found is None or (found.bad and not self.skip_bad):
                break
            done.append(found)
        reused = len(done)
        if not done or not done[-1].last:
            cutter = Cutter(self.entries.folder, self.options, how, part, done)
            for made in cutter.cut(self._steps(part, cutter.room, *cutter.place)):
                files = [made.shard.file] if made.shard else []
                self.entries.put([*depends, len(done)], asdict(made), files=files)
                done.append(made)
        return tuple(done), reused

    def _steps(self, part: Part, room: Callable[[], int], start: int, passed: int) -> Iterator[Step]:
        read = sum(each.size for each in part.ranges[:start])
        for number, each in enumerate(part.ranges[start:], start):
            file = triple_file(each)
            rows = TripleRows(file.name, file.label, contexts=False, skip_bad=self.skip_bad)
            before = each.first + passed
            bad = empty = within = 0

            def told(more: int) -> None:
                nonlocal within
                within += more

            keep_copies([file.path])
            for end in read_range(each, rows, room, passed=passed, tell=told):
                batch = TripleBatch(*rows.taken(), file=file.number, end=end)
                yield Step(batch, end - before, rows.bad - bad, rows.empty - empty, (number, end - each.first))
                before, bad, empty = end, rows.bad, rows.empty
                if self.tell is not None:
                    self.tell(read + (each.size * (end - each.first) // each.count if each.count else within))
            read += each.size
            passed = 0


def tokenizer_of(options: IndexOptions) -> Tokenizer:
    """Return an index's tokenizer, which may be slow to load."""
    return tokenizer(options.tokenize)


def header_checksum(path: PathLike) -> str:
    """Return the checksum of a shard's header, by which the manifest identifies the file; empty if it has none."""
    with open_binary(path) as stream:
        return stream.read(_CHECKSUM.stop)[_CHECKSUM].hex()


def check_listed(folder: PathLike, shard: ListedShard, remedy: str) -> None:
    """Raise an error for a shard that is not the listed one.

    Raises
    ------
    DataError
        If it is missing, or another one.
    """
    file = joined(folder, shard.file)
    try:
        same = header_checksum(file) == shard.checksum
    except FileNotFoundError:
        raise DataError(f"{file} is missing; {remedy}") from None
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}; {remedy}") from error
    if not same:
        raise DataError(f"{file} is not the shard that was written there; {remedy}")
