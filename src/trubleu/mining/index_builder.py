"""Build an index or add to one, part by part; resumable after a kill at any moment.

The corpus is split into parts, an engine builds shards from them, and finally the manifest lists all shards. The split
and the content of each shard depend on the files and options alone, so the index is bit-identical for any number of
workers, any order and any number of interruptions.

Rows are collected, also across files, until a shard is full; skipped rows count, so the rows before a part need not be
read. A compressed file is read from its beginning by one worker, which fills one shard after the other; small ones are
grouped.

A shard is written atomically, followed by its record, an entry of the cache (`trubleu.execution.cache.Entries`). A
worker that gets the same rows again resumes after it. None of this is an index until the manifest lists it.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from trubleu.data.triple_formats import TripleFile, TripleRows, read_range, triple_file
from trubleu.data.triples import Triple, TripleBatch, TripleFiles, TripleList
from trubleu.errors import (
    BadPartitionsError,
    CountedWarning,
    DataError,
    TrubleuError,
    TrubleuWarning,
    UsageError,
    counted,
    some,
)
from trubleu.execution.base import is_bad
from trubleu.execution.cache import Cache, Entries
from trubleu.execution.local import InThisProcess
from trubleu.execution.output_parts import prepare_folder
from trubleu.execution.serialization import typed
from trubleu.files import paths, ranges
from trubleu.files.jsonl import kind_of
from trubleu.files.paths import absolute, name_of, unreadable
from trubleu.files.writer import LOCK, locked
from trubleu.mining.manifest import MANIFEST, SHARD_NAME, IndexOptions, ListedShard, Manifest, Source, shard_name
from trubleu.mining.shard import ShardWriter
from trubleu.text import tokenizer
from trubleu.text.unspaced import many_unsplit, unsplit_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.data.triples import TripleSource
    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.files.ranges import FileIndex, Span
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
        info = self._writer.write(paths.joined(self._folder, name))
        self._shards += 1
        return ListedShard.of(self._folder, name, info)


def make_shards(
    entries: Entries, options: IndexOptions, skip_bad: bool, tell: Progress | None, part: Part, how: Tokenizer
) -> tuple[tuple[Made, ...], int]:
    """Build the shards of a part; mapped over parts by an engine, with the tokenizer as state.

    Parameters
    ----------
    entries
        Where shards and their records are kept.
    options
        What they are made with.
    skip_bad
        Whether rows that cannot be used are counted instead of an error.
    tell
        Told how many bytes of the part have been read, where somebody in this process listens.
    part
        What they are made of.
    how
        The tokenizer.

    Returns
    -------
    tuple
        The records of the part, those finished earlier first, and the number of those.

    Raises
    ------
    DataError
        If its rows cannot be used, or a shard cannot be written.
    """
    done: list[Made] = []
    depends = part.depends(options)
    while not done or not done[-1].last:
        found = entries.find([*depends, len(done)], Made.unpack)
        if found is None or (found.bad and not skip_bad):
            break
        done.append(found)
    reused = len(done)
    if not done or not done[-1].last:
        cutter = Cutter(entries.folder, options, how, part, done)
        for made in cutter.cut(_steps(part, cutter.room, *cutter.place, skip_bad, tell)):
            files = [made.shard.file] if made.shard else []
            entries.put([*depends, len(done)], asdict(made), files=files)
            done.append(made)
    return tuple(done), reused


def _steps(
    part: Part, room: Callable[[], int], start: int, passed: int, skip_bad: bool, tell: Progress | None
) -> Iterator[Step]:
    """Read a part, from some place on."""
    read = sum(each.size for each in part.ranges[:start])
    for number, each in enumerate(part.ranges[start:], start):
        file = triple_file(each)
        rows = TripleRows(file.name, file.label, contexts=False, skip_bad=skip_bad)
        before = each.first + passed
        bad = empty = within = 0

        def told(more: int) -> None:
            nonlocal within
            within += more

        paths.keep_copies([file.path])
        for end in read_range(each, rows, room, passed=passed, tell=told):
            batch = TripleBatch(*rows.taken(), file=file.number, end=end)
            yield Step(batch, end - before, rows.bad - bad, rows.empty - empty, (number, end - each.first))
            before, bad, empty = end, rows.bad, rows.empty
            if tell is not None:
                tell(read + (each.size * (end - each.first) // each.count if each.count else within))
        read += each.size
        passed = 0


RECORD_NAME: Final = re.compile(r"built-([0-9a-f]{16})-[0-9a-f]{64}\.result")
"""File names of the records of finished shards: entries of the cache, with the checksum of the manifest they extend."""

_NO_MANIFEST: Final = "0" * 16  # in place of that checksum

_TEMPORARY: Final = re.compile(r"\.trubleu-[0-9a-f]{16}\.tmp")  # the temporary names of `atomic_writer`


def check_outside(path: str, corpus: object) -> None:
    """Raise an error for an index inside its own corpus folder, where its files would be read as input.

    Raises
    ------
    UsageError
        If it lies or would lie there.
    """
    given = corpus if isinstance(corpus, list | tuple) else [corpus]
    for folder in (os.fspath(item) for item in given if isinstance(item, str | os.PathLike)):
        if _lies_in(path, folder):
            if paths.exists(path):
                raise UsageError(
                    f"{path} lies in {folder}, which is the corpus; move it elsewhere, or give the files one by one"
                )
            raise UsageError(f"{path} would lie in {folder}, which is the corpus; choose another place")


def _lies_in(path: str, folder: str) -> bool:
    if paths.is_remote(path) != paths.is_remote(folder) or folder == "-":
        return False
    inner, outer = PurePath(paths.identity(path)), PurePath(paths.identity(folder))
    return inner.is_relative_to(outer) and paths.is_folder(folder)


def check_ours(path: str) -> None:
    """Raise an error for a folder that holds anything other than an earlier attempt.

    Raises
    ------
    UsageError
        If it does.
    """
    ours = (SHARD_NAME, RECORD_NAME, _TEMPORARY)
    strange = [name for name in _names(path) if name != LOCK and not any(kind.fullmatch(name) for kind in ours)]
    if strange:
        what = some(sorted(strange), 3)
        raise UsageError(f"{path} holds something else ({what}); choose another folder for the index")


def remove_leftovers(path: str, manifest: Manifest | None, *, finished: bool = False) -> None:
    """Remove everything that is not part of the index: temporary files, unlisted shards, and records of shards.

    Parameters
    ----------
    path
        The index.
    manifest
        Lists its shards.
    finished
        Whether whatever was finished, to be gone on with, stays.
    """
    listed = {shard.file for shard in manifest.shards} if manifest else set()
    names = set(_names(path)) - listed
    for kind in (_TEMPORARY,) if finished else (_TEMPORARY, SHARD_NAME, RECORD_NAME):  # records last
        for name in filter(kind.fullmatch, sorted(names)):
            paths.remove(paths.joined(path, name))


def unfinished(path: str, manifest: Manifest | None) -> tuple[int, int]:
    """Return the number of finished shards that would extend the manifest, and of those it has or will never have."""
    bases = [found[1] for name in _names(path) if (found := RECORD_NAME.fullmatch(name))]
    ours = bases.count(manifest.checksum if manifest else _NO_MANIFEST)
    return ours, len(bases) - ours


def _names(path: str) -> list[str]:
    """Return the files in a folder; at URLs, hidden files include only ours."""
    try:
        if not paths.is_remote(path):
            return [item.name for item in Path(path).iterdir()]
        names = [file.removeprefix(path.rstrip("/") + "/") for file in paths.files_below(path, hidden=True)]
        return [name for name in names if _TEMPORARY.fullmatch(name) or not name.startswith((".", "_"))]
    except FileNotFoundError:  # on object stores, a folder exists only once it holds a file
        return []


LOOKING: Final = 16
"""Surveying a file takes about this fraction (1/16) of the time of indexing it."""

SHOWN: Final = 5
"""Skipped parts named in a warning."""


FILES_AT_ONCE: Final = 256
"""Small files per task of the survey; together they are not larger than a piece."""


class Group(tuple[Any, ...]):
    """Small files, or pieces of files, for one task of the survey: a task of its own would take longer than most."""

    __slots__ = ()

    def __str__(self) -> str:
        return some(self, 3)


def grouped(things: Iterable[Any]) -> list[Group]:
    """Group neighbours that together are not larger than a piece."""
    groups: list[list[Any]] = []
    room = 0  # bytes that fit into the last group
    for thing in things:
        if not groups or _size(thing) > room or len(groups[-1]) == FILES_AT_ONCE:
            groups.append([])
            room = ranges.BLOCK * ranges.BLOCKS_A_PIECE
        groups[-1].append(thing)
        room -= _size(thing)
    return list(map(Group, groups))


def _size(thing: Any) -> int:
    size: int = thing.file.size if thing.size is None else thing.size  # a compressed file is a piece without a size
    return size


def try_each(function: Callable[[Any, None], Any], group: Group, _state: None) -> list[Any]:
    """Return the result for each of a group, or the error if its data cannot be used."""
    found: list[Any] = []
    for thing in group:
        try:
            found.append(function(thing, None))
        except DataError as error:
            if not is_bad(error):
                raise
            found.append(error)
    return found


class _Progress:
    """Converts progress reports of parts into bytes of the corpus."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress = progress
        self._left = total
        self._within = 0

    def looked(self, group: Group) -> None:
        """Report that lines were counted."""
        self.tell(sum(map(_size, group)) // LOOKING)

    def within(self, size: int) -> None:
        """Report how many bytes of the current part have been read."""
        now = size - size // LOOKING
        self.tell(max(0, now - self._within))
        self._within = max(self._within, now)

    def finished(self, part: Part) -> None:
        """Report that a part is finished."""
        self.within(part.size)
        self._within = 0

    def tell(self, more: int | None = None) -> None:
        """Report more bytes; if not said how many, all that are left."""
        more = self._left if more is None else min(more, self._left)
        self._left -= more
        if self.progress is not None and more:
            self.progress(more)


Corpus: TypeAlias = "PathLike | Iterable[PathLike] | Iterable[Triple] | TripleSource"
"""A corpus as callers pass it: files or folders of triples, or triples."""

PYTHON: Final = "<triples>"
"""Name of the source for triples passed from Python."""


def corpus_source(corpus: Corpus, *, columns: str | None = None, skip_bad: bool = False) -> TripleSource:
    """Return the source of triples; files must exist, but are not read yet.

    Raises
    ------
    UsageError
        If the corpus is nothing of the kind.
    DataError
        If a file does not exist.
    """
    if isinstance(corpus, str | os.PathLike):
        return TripleFiles([corpus], columns=columns, skip_bad=skip_bad)
    if not isinstance(corpus, Iterable):
        if not hasattr(corpus, "batches"):
            raise UsageError(f"a corpus is files or triples, not {kind_of(corpus)}")
        return corpus
    items = iter(corpus)
    first = list(islice(items, 1))
    if first and isinstance(first[0], str | os.PathLike):
        return TripleFiles([*first, *items], columns=columns, skip_bad=skip_bad)  # type: ignore[list-item]
    return TripleList(chain(first, items))  # type: ignore[arg-type]  # it says itself what is no triple


def write_index(
    path: str,
    corpus: Corpus,
    options: IndexOptions | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    skip_bad: bool = False,
    resume: bool = False,
    cache: Cache | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> None:
    """Build an index in its own folder, or add to one if no options are given (see `Index.build` and `Index.add`)."""
    check_outside(path, corpus)
    cache = cache or Cache()
    resume, anew = resume and not cache.anew, cache.anew
    columns = columns if columns is None or isinstance(columns, str) else ",".join(columns)
    source = corpus_source(corpus, columns=columns, skip_bad=skip_bad)
    nothing = UsageError(f"there is nothing to resume in {path}; {'index' if options else 'add'} without --resume")
    if options and resume and not paths.exists(path):
        raise nothing
    created = options is not None and not paths.exists(path)
    if options:
        prepare_folder(path)
    with locked(path):
        manifest = _read_manifest(path)
        begin = options or (manifest.options if manifest else None)
        if begin is None:
            raise _missing(path)
        kept, others = unfinished(path, manifest)
        if anew or (others and not kept):  # of work whose manifest is there: only the cleanup was missing
            with _writing(path):
                remove_leftovers(path, manifest)
            if others and resume:
                return
            kept = 0
        if options and manifest is not None:
            if not resume:
                raise UsageError(f"{path} is an index already; add to it, or choose another folder")
            if not kept:
                raise UsageError(f"{path} is finished, there is nothing to resume")
            raise UsageError(f"what was not finished in {path} is an addition; resume that with mine add")
        if resume and not kept:
            raise nothing
        if kept and not resume:
            what = "an index" if options else "an addition"
            raise UsageError(f"{path} holds {what} that was not finished; {_GO_ON}")
        if options and not kept:
            check_ours(path)
        how = engine or InThisProcess(), cache, _Progress(progress, source.total or 0)
        _Work(path, manifest, begin, source, *how, resume=resume, created=created).run()


_GO_ON: Final = "continue with --resume, or discard it with --no-cache"


def check_there(path: str) -> None:
    """Raise an error if a path has no finished index.

    Raises
    ------
    DataError
        If there is none; the message says what there is instead.
    """
    try:
        paths.byte_size(paths.joined(path, MANIFEST))
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path) from None
    except OSError as error:
        raise DataError(unreadable(path, error)) from error


def _read_manifest(path: str) -> Manifest | None:
    return Manifest.read(path) if paths.exists(paths.joined(path, MANIFEST)) else None


def _missing(path: str) -> DataError:
    if not paths.exists(path):
        return DataError(f"{path}: there is no such index; check the path")
    if not paths.is_folder(path):
        return DataError(f"{path} is not an index, which would be a folder; create one with trubleu mine index")
    if any(unfinished(path, None)):
        return DataError(f"the index {path} is not finished; continue with trubleu mine index and --resume")
    return DataError(f"{path} is not an index: {MANIFEST} is missing; create one with trubleu mine index")


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Report an index that cannot be written; read errors are reported by the reader."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


@dataclass(slots=True)
class _Work:
    """A build with some options, or an addition to the index of a manifest; started or resumed."""

    path: str
    base: Manifest | None
    options: IndexOptions
    source: TripleSource
    engine: Engine
    cache: Cache
    told: _Progress
    resume: bool
    created: bool
    bad: dict[str, str] = field(default_factory=dict)
    """Unusable files with their errors."""

    def run(self) -> None:
        """Build the shards and then write the manifest."""
        with self._tidied():
            remove_leftovers(self.path, self.base, finished=self.resume)
            made = self._made()
            bad, empty = sum(each.bad for each in made), sum(each.empty for each in made)
            if not any(each.shard for each in made):
                remove_leftovers(self.path, self.base)
                names = some(map(name_of, self.source.files), 3) or PYTHON
                skipped = f" ({counted(bad + empty, 'row')} skipped)" if bad + empty else ""
                raise DataError(f"{names} has no triples{skipped}; give triples with a message and a response")
            manifest = self._manifest(made, bad, empty)
            manifest.write(self.path)
        with suppress(OSError):  # the index is complete; the next writer removes leftovers
            remove_leftovers(self.path, manifest)
        for what, count in (("a missing or wrong field", bad), ("a blank message or response", empty)):
            if count:
                warnings.warn(CountedWarning(f"rows with {what}, skipped", count), stacklevel=4)
        if any(each.unsplit for each in made):
            what = unsplit_message(tokenizer(self.options.tokenize), "triples")
            warnings.warn(what, TrubleuWarning, stacklevel=4)

    def _made(self) -> list[Made]:
        """Build the shards, and return their records in the order of the corpus."""
        before = self.base.shards if self.base else ()
        first = 1 + max((shard.part for shard in before), default=-1)
        source, options = self.source, self.options
        if isinstance(source, TripleFiles) and source.total is not None:  # can be read again, and by workers
            return self._spread(source, first)
        if not isinstance(self.engine, InThisProcess):
            raise UsageError(
                f"{some(source.files, 3) or 'triples from Python'} can be read only once and only here, so no engine "
                "can help; write the triples to files first, or leave the engine out"
            )
        cutter = Cutter(self.path, options, tokenizer(options.tokenize), Part(first, ()))
        return list(cutter.cut(self._steps(cutter.room)))

    def _steps(self, room: Callable[[], int]) -> Iterator[Step]:
        """Read a source that can be read only once."""
        source = self.source
        file, end, bad, empty = -1, 0, 0, 0
        for batch in source.batches(size=room, contexts=False, progress=self.told.progress):
            rows = batch.end - (end if batch.file == file else 0)
            yield Step(batch, rows, source.bad - bad, source.empty - empty)
            file, end, bad, empty = batch.file, batch.end, source.bad, source.empty

    def _spread(self, source: TripleFiles, first: int) -> list[Made]:
        """Build the shards of files on an engine, all but what an earlier build finished."""
        key = self.cache.key(self.path, resume=self.resume)
        base = self.base.checksum if self.base else _NO_MANIFEST
        entries = Entries(absolute(self.path), key, f"built-{base}-")
        tell = self.told.within if isinstance(self.engine, InThisProcess) else None
        make = partial(make_shards, entries, self.options, source.skip_bad, tell)
        files = [
            TripleFile(
                absolute(name),
                name,
                size=size or 0,
                number=number,
                label=source.labels[number],
                columns=source.columns,
                lenient=source.skip_bad,
            )
            for number, (name, size) in enumerate(zip(source.files, source.sizes, strict=True))
        ]
        try:
            surveyed = ranges.surveyed(files, self._looked, contents=True)
        except UsageError as error:  # columns that are not known
            raise DataError(str(error)) from error
        parts = plan(surveyed, self.options, first=first)
        made, bad = self._mapped(make, parts)
        if bad and source.skip_bad:
            # In a bad part, only one of many files may be bad.
            parts = [each for part in parts for each in ([part] if part in made else part.apart())]
            more, bad = self._mapped(make, [part for part in parts if part not in made])
            made |= more
        self._leave_out(source, bad, len(parts))
        self.told.tell()
        return [each for part in parts for each in made.get(part, ())]

    def _looked(
        self, _stage: str, function: Callable[[Any, None], Any], things: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Map a step of the survey, and note the unreadable files."""
        progress = self.told.looked if function is ranges.count else None
        with closing(self.engine.map(partial(try_each, function), grouped(things), progress=progress)) as results:
            for thing, found in chain.from_iterable(zip(group, each, strict=True) for group, each in results):
                if isinstance(found, DataError):
                    file = thing.file if isinstance(thing, ranges.Piece) else thing
                    self.bad.setdefault(file.name, str(found))
                else:
                    yield thing, found

    def _mapped(
        self, make: Callable[[Part, Tokenizer], tuple[tuple[Made, ...], int]], parts: Sequence[Part]
    ) -> tuple[dict[Part, tuple[Made, ...]], dict[str, str]]:
        """Return the records of the parts that could be read, and the errors of the others."""
        found: dict[Part, tuple[Made, ...]] = {}
        mapped = self.engine.map(
            make, parts, state=partial(tokenizer, self.options.tokenize), progress=self.told.finished
        )
        try:
            with closing(mapped):  # stops the workers on any exit
                for part, (made, reused) in mapped:
                    self.cache.count(reused, len(made))
                    for shard in (each.shard for each in made if each.shard is not None):
                        shard.check(self.path, "workers must see the same folder under the same path")
                    found[part] = made
        except BadPartitionsError as error:
            return found, error.partitions
        return found, {}

    def _leave_out(self, source: TripleFiles, parts: dict[str, str], count: int) -> None:
        """Raise an error or warn about unusable input; a file with an unreadable stretch is skipped as a whole."""
        bad = {**self.bad, **parts}
        if bad and not source.skip_bad:
            what = f"{counted(len(bad), 'part')} of the corpus cannot be used: {_said(bad)}"
            raise BadPartitionsError(what if len(bad) > 1 else next(iter(bad.values())), bad)
        if self.bad:
            what = f"{len(self.bad)} of {counted(len(source.files), 'file')}"
            warnings.warn(f"left out {what} altogether: {_said(self.bad)}", TrubleuWarning, stacklevel=7)
        if parts:
            what = f"{len(parts)} of {counted(count, 'part')} of the corpus"
            warnings.warn(f"left out {what}: {_said(parts)}", TrubleuWarning, stacklevel=7)

    def _manifest(self, made: list[Made], bad: int, empty: int) -> Manifest:
        base = self.base or Manifest(options=self.options, shards=(), sources=(), bad=0, empty=0)
        triples: Counter[int] = Counter()
        for each in made:
            triples.update(dict(each.triples))
        names = tuple(map(name_of, self.source.files)) or (PYTHON,)
        sources = (Source(name=name, triples=triples[number]) for number, name in enumerate(names))
        shards = (*base.shards, *(each.shard for each in made if each.shard))
        if twice := [name for name, count in Counter(shard.file for shard in shards).items() if count > 1]:
            raise DataError(f"{self.path}: two shards would have the name {twice[0]}; index into another folder")
        return Manifest(
            options=self.options,
            shards=shards,
            sources=(*base.sources, *sources),
            bad=base.bad + bad,
            empty=base.empty + empty,
        )

    @contextmanager
    def _tidied(self) -> Iterator[None]:
        """On failure, say how to resume if that is possible; otherwise remove everything."""
        try:
            with _writing(self.path):
                yield
        except BaseException as error:
            if not self._is_kept():
                raise
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"interrupted; {_GO_ON}") from error
            if isinstance(error, TrubleuError):
                error.args = (f"{error}; finished shards are kept, to continue with --resume", *error.args[1:])
            raise

    def _is_kept(self) -> bool:
        """Return whether there are finished shards to resume with; if there are none, remove everything."""
        # A disk or network may still be failing; the first error is the one reported.
        with suppress(OSError, DataError):
            if unfinished(self.path, self.base)[0]:
                return True
            manifest = _read_manifest(self.path)  # it may have been replaced before the failure
            remove_leftovers(self.path, manifest)
            if self.created and manifest is None and not paths.is_remote(self.path):
                Path(self.path, LOCK).unlink(missing_ok=True)
                Path(self.path).rmdir()  # an OSError if it holds other files
        return False


def _said(bad: dict[str, str]) -> str:
    return some([f"{name} ({message})" for name, message in bad.items()], SHOWN)
