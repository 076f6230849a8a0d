"""Build shards: split a corpus into parts, and turn a part into shards on a worker.

The split depends on the files and options alone. Rows are collected, also across files, until a shard is full; skipped
rows count, so the rows before a part need not be read. A compressed file is read from its beginning by one worker,
which fills one shard after the other; small ones are grouped.

A shard is written atomically, followed by a small record that it is finished, named by a hash of the part's content. A
worker that gets the same rows again resumes after it. None of this is an index until the manifest lists it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.data.triple_formats import TripleRows, read_range, triple_file
from trubleu.data.triples import TripleBatch
from trubleu.errors import DataError, UsageError, some
from trubleu.execution.hashing import code_digest, stream_digest
from trubleu.files.paths import is_remote, joined, keep_copies, open_binary, reading
from trubleu.mining.manifest import (
    ListedShard,
    SealedKind,
    altered,
    read_sealed,
    record,
    shard_name,
    write_sealed,
)
from trubleu.mining.shard import Shard, ShardWriter
from trubleu.text import tokenizer
from trubleu.text.unspaced import many_unsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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
    key
        What differs if its shards would.
    piece
        Which of the pieces, from 1 on, of the part with this number, if that was taken apart.
    """

    number: int
    ranges: tuple[Span, ...]
    key: str
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


class Planner:
    """Splits a corpus into parts.

    Parameters
    ----------
    files
        The files, in their order.
    options
        What the index is made with.
    first
        The number of the first part.
    """

    def __init__(self, files: Iterable[FileIndex], options: IndexOptions, *, first: int) -> None:
        self._files = {file.file: file for file in files}
        self._options, self._first = options, first

    def parts(self) -> list[Part]:
        """Return all parts, in the order of the corpus."""
        groups: list[list[Span]] = []
        room = 0  # rows that still fit into the last group
        packed = 0  # bytes of compressed files in the last group, if it holds such files
        for file in self._files.values():
            if file.file.form is None:
                if not packed or packed + file.file.size > PACKED_BYTES:
                    groups.append([])
                    packed = 0
                groups[-1].append(file.span())
                packed += max(1, file.file.size)
                room = 0
                continue
            at = 0
            while at < file.rows:
                if not room:
                    groups.append([])
                    room = self._options.shard_triples
                count = min(room, file.rows - at)
                groups[-1].append(file.span(at, count))
                at, room, packed = at + count, room - count, 0
        return [self._part(number, group) for number, group in enumerate(groups, self._first)]

    def apart(self, part: Part) -> list[Part]:
        """Split a part into one part per range."""
        return [self._part(part.number, [each], piece) for piece, each in enumerate(part.ranges, 1)]

    def _part(self, number: int, ranges: Iterable[Span], piece: int = 0) -> Part:
        ranges = tuple(ranges)
        model = tokenizer(self._options.tokenize).model
        how = [code_digest(), model, number, piece, asdict(self._options)]
        depends = hashlib.blake2b(json.dumps(how).encode(), digest_size=16)
        for each in ranges:
            file, content = triple_file(each), self._files[each.file].content(each)
            rows = [each.first, each.count, each.byte, each.skip]
            depends.update(json.dumps([file.label, file.columns, rows, repr(file.form), content]).encode())
        return Part(number, ranges, depends.hexdigest(), piece)


KIND: Final = SealedKind(what="a record of a finished shard", version=3, remedy="remove it")
RECORD_NAME: Final = re.compile(r"built-[0-9a-f]{32}-\d{5,}\.json")
"""Pattern of record file names."""

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
    digest
        BLAKE2b of the shard's file, in hexadecimal digits; empty if there is none.
    """

    shard: ListedShard | None
    triples: tuple[tuple[int, int], ...]
    bad: int
    empty: int
    place: tuple[int, int]
    rows: int
    last: bool
    unsplit: bool = False
    digest: str = ""

    @property
    def count(self) -> int:
        """Number of triples."""
        return sum(triples for _, triples in self.triples)

    def write(self, path: str, key: bytes) -> None:
        """Write the record."""
        write_sealed(path, KIND, asdict(self), key)

    @classmethod
    def read(cls, path: str, key: bytes) -> Made:
        """Read a record.

        Raises
        ------
        DataError
            If it is not there, or not what was written.
        """
        made = record(cls, read_sealed(path, KIND, key)[0], path, KIND)
        if made.count != (made.shard.triples if made.shard else 0):
            raise altered(path, KIND, "its fields do not fit each other")
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
    part, piece, rows
        The part's number, which piece of it this is, and how many rows that has if that is known.
    done
        What is finished of it.
    """

    def __init__(
        self,
        folder: str,
        options: IndexOptions,
        how: Tokenizer,
        *,
        part: int,
        piece: int = 0,
        rows: int | None = None,
        done: Sequence[Made] = (),
    ) -> None:
        self._folder = folder
        self._options = options
        self._part = part
        self._piece = piece
        self._all = rows
        self._rows = done[-1].rows if done else 0
        self._shards = sum(made.shard is not None for made in done)
        self._place = done[-1].place if done else (0, 0)
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
            self._place = step.place
            full = self._rows % self._options.shard_triples == 0 or self._writer.memory >= MOST_MEMORY
            if full and self._writer.triples:
                ended = self._rows == self._all
                yield self._made(last=ended)
        if not ended:
            yield self._made(last=True)

    def _made(self, *, last: bool) -> Made:
        shard = self._written() if self._writer.triples else None
        made = Made(
            shard=shard,
            digest="" if shard is None else file_digest(joined(self._folder, shard.file)),
            triples=tuple(sorted(self._triples.items())),
            bad=self._bad,
            empty=self._empty,
            place=self._place,
            rows=self._rows,
            last=last,
            unsplit=self._unsplit,
        )
        self._triples.clear()
        self._bad = self._empty = 0
        return made

    def _written(self) -> ListedShard:
        name = shard_name(self._part, self._shards, self._options, self._writer.info, piece=self._piece)
        path = joined(self._folder, name)
        with _refused(path):
            info = self._writer.write(path)
            checksum = header_checksum(path)
        self._shards += 1
        return ListedShard(file=name, checksum=checksum, **asdict(info))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardMaker:
    """Builds the shards of a part; mapped over parts by an engine, with the tokenizer as state.

    Attributes
    ----------
    folder
        Where the index is, as workers find it.
    options
        What it is made with.
    skip_bad
        Whether rows that cannot be used are counted instead of an error.
    key
        Seals records; those of other keys are not used.
    tell
        Told how many bytes of the part have been read, where somebody in this process listens.
    """

    folder: str
    options: IndexOptions
    skip_bad: bool
    key: bytes = field(repr=False)
    tell: Progress | None = None

    def __call__(self, part: Part, how: Tokenizer) -> tuple[tuple[Made, ...], int]:
        """Return the records of a part, those finished earlier first, and the number of those.

        Raises
        ------
        DataError
            If its rows cannot be used.
        UsageError
            If a shard cannot be written, which is no fault of the rows.
        """
        done = self._finished(part)
        reused = len(done)
        if done and done[-1].last:
            return tuple(done), reused
        cutter = Cutter(self.folder, self.options, how, part=part.number, piece=part.piece, rows=part.rows, done=done)
        place = done[-1].place if done else (0, 0)
        for made in cutter.cut(self._steps(part, cutter.room, *place)):
            path = self._record(part, len(done))
            with _refused(path):
                made.write(path, self.key)
            done.append(made)
        return tuple(done), reused

    def _finished(self, part: Part) -> list[Made]:
        done: list[Made] = []
        try:
            while not done or not done[-1].last:
                made = Made.read(self._record(part, len(done)), self.key)
                if made.shard is not None:
                    self._check(made.shard, made.digest)
                if made.bad and not self.skip_bad:
                    break
                done.append(made)
        except DataError:  # unfinished, or damaged and built again
            pass
        return done

    def _check(self, shard: ListedShard, digest: str) -> None:
        check_listed(self.folder, shard, "")
        path = joined(self.folder, shard.file)
        if file_digest(path) != digest:
            raise DataError(f"{path} is not the shard that was written there")
        if not is_remote(self.folder):
            Shard.open(path)

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

    def _record(self, part: Part, number: int) -> str:
        return joined(self.folder, f"built-{part.key}-{number:05}.json")


def tokenizer_of(options: IndexOptions) -> Tokenizer:
    """Return an index's tokenizer, which may be slow to load."""
    return tokenizer(options.tokenize)


def header_checksum(path: PathLike) -> str:
    """Return the checksum of a shard's header, by which the manifest identifies the file; empty if it has none."""
    with open_binary(path) as stream:
        return stream.read(_CHECKSUM.stop)[_CHECKSUM].hex()


def file_digest(path: PathLike) -> str:
    """Return BLAKE2b of a file's bytes.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    with reading(os.fspath(path)), open_binary(path) as stream:
        return stream_digest(stream)


@contextmanager
def _refused(path: str) -> Iterator[None]:
    """Report output that cannot be written as a usage error: no rows are at fault, so nothing is skipped."""
    try:
        yield
    except DataError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


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
