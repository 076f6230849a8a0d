"""Building an index and adding to one: shard after shard, so that a kill at any moment costs one shard at most.

A shard is written, then the journal says so, and when all are written the manifest lists them. Where shards are cut
depends on the triples alone: an index that was interrupted and continued has the same bytes as one that was not.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from trubleu.data.files import unreadable
from trubleu.data.records import kind_of
from trubleu.data.triples import Triple, TripleList
from trubleu.errors import CountedWarning, DataError, TrubleuError, UsageError, counted, some
from trubleu.mining.folder import (
    check_ours,
    check_outside,
    header_checksum,
    locked,
    make_folder,
    remove_all,
    remove_leftovers,
)
from trubleu.mining.journal import JOURNAL, GivenSource, Journal
from trubleu.mining.manifest import MANIFEST, IndexOptions, ListedShard, Manifest, Source, shard_name
from trubleu.mining.shard import ShardWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from trubleu.data.files import PathLike
    from trubleu.data.triples import TripleSource

Corpus: TypeAlias = "PathLike | Iterable[PathLike] | Iterable[Triple] | TripleSource"
"""What people give: files or folders of triples, or triples."""

Told: TypeAlias = "Callable[[int], object] | None"

BATCH: Final = 1024
"""Rows that are read at once: enough to be quick, and few enough where a text is as long as a book."""

MOST_MEMORY: Final = 768 * 2**20
"""Bytes at which a shard is written though it has room for more triples: texts may be long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a corpus is read, and whether earlier work is continued.

    Attributes
    ----------
    columns
        What the columns of TSV files are.
    skip_bad
        Leave out rows with a missing or wrong field.
    resume
        Continue what was interrupted.
    progress
        Told how much more has been read, in the source's own unit.
    """

    columns: str | None = None
    skip_bad: bool = False
    resume: bool = False
    progress: Told = None


def corpus_source(corpus: Corpus, *, columns: str | None = None, skip_bad: bool = False) -> TripleSource:
    """Return where triples come from; files must exist, but nothing of them is read yet.

    Raises
    ------
    UsageError
        If the corpus is nothing of the kind.
    DataError
        If a file does not exist.
    """
    from trubleu.data.triple_files import TripleFiles

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


def build_index(path: Path, corpus: Corpus, options: IndexOptions, reading: Reading) -> None:
    """Build an index in a folder of its own (see `Index.build`)."""
    check_outside(path, corpus)
    source = corpus_source(corpus, columns=reading.columns, skip_bad=reading.skip_bad)
    if reading.resume and not path.exists():
        raise UsageError(f"there is nothing to resume in {path}; index without --resume")
    journal = _new_journal("", options, source, reading)
    made = make_folder(path)
    with locked(path):
        work = _Work(path, journal, None, way_out=f"remove the folder {path}", made=made)
        found, manifest = _found(path)
        if found is not None and found.base != (manifest.checksum if manifest else ""):
            (path / JOURNAL).unlink()
            if reading.resume:
                return  # all was done but for this
            found = None
        if reading.resume:
            if found is None:
                raise UsageError(
                    f"{path} is finished, there is nothing to resume"
                    if manifest
                    else f"there is nothing to resume in {path}; index without --resume"
                )
            if manifest is not None:
                raise UsageError(f"what was not finished in {path} is an addition; resume that with mine add")
            work.take_up(found)
        elif manifest is not None:
            raise UsageError(f"{path} is an index already; add to it, or choose another folder")
        elif found is not None:
            raise UsageError(f"{path} holds an index that was not finished; continue with --resume, or {work.way_out}")
        else:
            check_ours(path)
        work.run(source, reading.progress)


def add_to_index(path: Path, corpus: Corpus, reading: Reading) -> None:
    """Add triples to an index (see `Index.add`)."""
    check_outside(path, corpus)
    source = corpus_source(corpus, columns=reading.columns, skip_bad=reading.skip_bad)
    with locked(path):
        found, manifest = _found(path)
        if manifest is None:
            raise _missing(path)
        journal = _new_journal(manifest.checksum, manifest.options, source, reading)
        way_out = f"remove {path / JOURNAL} to give up what was to be added"
        work = _Work(path, journal, manifest, way_out=way_out, made=False)
        if found is not None and found.base != manifest.checksum:
            (path / JOURNAL).unlink()
            if reading.resume:
                return
            found = None
        if reading.resume:
            if found is None:
                raise UsageError(f"there is nothing to resume in {path}; add without --resume")
            work.take_up(found)
        elif found is not None:
            raise UsageError(f"an addition to {path} was not finished; continue it with --resume, or {way_out}")
        work.run(source, reading.progress)


def check_there(path: Path) -> None:
    """Refuse a path where there is no finished index.

    Raises
    ------
    DataError
        If there is none; the message says what there is instead.
    """
    try:
        (path / MANIFEST).stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(path) from None
    except OSError as error:
        raise DataError(unreadable(os.fspath(path), error)) from error


def _missing(path: Path) -> DataError:
    if not path.exists():
        return DataError(f"{path}: there is no such index; check the path")
    if not path.is_dir():
        return DataError(f"{path} is no index, which would be a folder; make one with trubleu mine index")
    if (path / JOURNAL).exists():
        return DataError(f"the index {path} is not finished; continue with trubleu mine index and --resume")
    return DataError(f"{path} is no index: {MANIFEST} is missing; make one with trubleu mine index")


def _found(path: Path) -> tuple[Journal | None, Manifest | None]:
    """Return what is in a folder."""
    manifest = Manifest.read(path) if (path / MANIFEST).exists() else None
    journal = Journal.read(path) if (path / JOURNAL).exists() else None
    return journal, manifest


def _new_journal(base: str, options: IndexOptions, source: TripleSource, reading: Reading) -> Journal:
    sources = GivenSource.of_all(source.files)
    return Journal(base=base, options=options, columns=reading.columns, sources=sources, triples=(0,) * len(sources))


class _Work:
    """A build or an addition, from its beginning or from where it was interrupted to its end."""

    def __init__(self, path: Path, journal: Journal, base: Manifest | None, *, way_out: str, made: bool) -> None:
        self.way_out = way_out
        self._path = path
        self._journal = journal
        self._base = base
        self._before = base.shards if base else ()
        self._made = made
        options = journal.options
        self._writer = ShardWriter(options.tokenize, lowercase=options.lowercase, stop_words=options.stop_words)

    def take_up(self, found: Journal) -> None:
        """Go on from a journal, after checks that it is of the same work and its shards are still there."""
        found.check_same(self._journal, self.way_out)
        for shard in found.shards:
            check_listed(self._path, shard, f"resume is not possible; {self.way_out}")
        self._journal = found

    def run(self, source: TripleSource, progress: Told) -> None:
        """Write shards and, when there are no more triples, the manifest."""
        listed = {shard.file for shard in (*self._before, *self._journal.shards)}
        with self._tidied():
            remove_leftovers(self._path, listed)
            self._journal.write(self._path)
            self._write_shards(source, progress)
            journal = self._journal
            if not journal.shards:
                names = some((file.name for file in journal.sources), 3)
                left_out = journal.bad + journal.empty
                skipped = f" ({counted(left_out, 'row')} skipped)" if left_out else ""
                raise DataError(f"{names} holds no triples{skipped}; give some with a message and a response")
            self._commit()
        if journal.bad:
            what = "rows with a missing or wrong field, skipped"
            warnings.warn(CountedWarning(what, journal.bad), stacklevel=4)
        if journal.empty:
            what = "rows with a blank message or response, skipped"
            warnings.warn(CountedWarning(what, journal.empty), stacklevel=4)

    def _write_shards(self, source: TripleSource, progress: Told) -> None:
        start, writer = self._journal, self._writer
        most = start.options.shard_triples
        size = _batch_size(most)
        triples = list(start.triples)
        place = start.file, start.rows, start.bad, start.empty
        for batch in source.batches(size=size, start=(start.file, start.rows), contexts=False, progress=progress):
            if writer.triples and writer.triples + len(batch) > most:
                self._finish(place, triples)
            if len(batch):
                writer.add(batch)
            triples[batch.file] += len(batch)
            place = batch.file, batch.end, start.bad + source.bad, start.empty + source.empty
            if writer.triples == most or writer.memory >= MOST_MEMORY:
                self._finish(place, triples)
        if writer.triples:
            self._finish(place, triples)
        # Rows after the last triple may have been left out as well.
        self._journal = replace(self._journal, bad=start.bad + source.bad, empty=start.empty + source.empty)

    def _finish(self, place: tuple[int, int, int, int], triples: Sequence[int]) -> None:
        """Write a shard, and then that it is written and where to go on."""
        name = shard_name(len(self._before) + len(self._journal.shards))
        info = self._writer.write(self._path / name)
        shard = ListedShard(
            file=name,
            checksum=header_checksum(self._path / name),
            triples=info.triples,
            message_words=info.message_words,
            response_words=info.response_words,
            content=info.content,
        )
        file, rows, bad, empty = place
        shards = (*self._journal.shards, shard)
        journal = replace(
            self._journal, shards=shards, file=file, rows=rows, triples=tuple(triples), bad=bad, empty=empty
        )
        journal.write(self._path)
        self._journal = journal

    def _commit(self) -> None:
        journal, base = self._journal, self._base
        sources = (
            Source(name=source.name, triples=triples)
            for source, triples in zip(journal.sources, journal.triples, strict=True)
        )
        manifest = Manifest(
            options=journal.options,
            shards=(*self._before, *journal.shards),
            sources=(*(base.sources if base else ()), *sources),
            bad=journal.bad + (base.bad if base else 0),
            empty=journal.empty + (base.empty if base else 0),
        )
        manifest.write(self._path)
        (self._path / JOURNAL).unlink()

    @contextmanager
    def _tidied(self) -> Iterator[None]:
        """Say how to go on where that is possible, and leave nothing behind where it is not."""
        try:
            try:
                yield
            except OSError as error:  # what cannot be read is said by who reads
                raise DataError(f"{self._path} cannot be written: {error.strerror or error}") from error
        except BaseException as error:
            kept = self._journal.kept
            if not self._journal.shards:
                self._give_up()
                raise
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"interrupted; continue with --resume, or {self.way_out}") from error
            if isinstance(error, TrubleuError):
                said = f"{error}; {counted(kept, 'triple')} before that are kept, to continue with --resume"
                raise type(error)(said) from error
            raise

    def _give_up(self) -> None:
        if self._base is None:
            remove_all(self._path, made=self._made)
        else:
            remove_leftovers(self._path, {shard.file for shard in self._before})
            (self._path / JOURNAL).unlink(missing_ok=True)


def _batch_size(most: int) -> int:
    """Return how many rows to read at once so that shards, which hold whole batches, are filled best."""
    largest = min(most, BATCH)
    return min(range((largest + 1) // 2, largest + 1), key=lambda size: (most % size, -size))


def check_listed(path: Path, shard: ListedShard, remedy: str) -> None:
    """Refuse a shard that is not the one that was listed.

    Raises
    ------
    DataError
        If it is missing, or another one.
    """
    file = path / shard.file
    try:
        same = header_checksum(file) == shard.checksum
    except FileNotFoundError:
        raise DataError(f"{file} is missing; {remedy}") from None
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}; {remedy}") from error
    if not same:
        raise DataError(f"{file} is not the shard that was written there; {remedy}")
