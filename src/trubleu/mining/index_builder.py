"""Building an index and adding to one, part by part, resumable after a kill at any moment.

The corpus is cut into parts, an engine makes shards of them, and when all are there the manifest lists them. Where the
corpus is cut and what a shard holds follows from the files and options alone: whoever makes them, in which order and
after how many interruptions, the index has the same bytes.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from trubleu.data.triple_files import TripleFiles
from trubleu.data.triples import Triple, TripleList
from trubleu.errors import CountedWarning, DataError, TrubleuError, UsageError, counted, some
from trubleu.execution import engine
from trubleu.execution.cache import Cache
from trubleu.files import paths
from trubleu.files.jsonl import kind_of
from trubleu.files.paths import name_of, unreadable
from trubleu.files.writer import locked
from trubleu.mining.index_folder import (
    JOURNAL,
    Journal,
    check_ours,
    check_outside,
    finished_triples,
    make_folder,
    remove_all,
    remove_leftovers,
)
from trubleu.mining.manifest import MANIFEST, IndexOptions, Manifest, Source, part_number
from trubleu.mining.parallel_build import are_files, made_here, made_of_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trubleu.data.triples import TripleSource
    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.mining.shard_builder import Made

Corpus: TypeAlias = "PathLike | Iterable[PathLike] | Iterable[Triple] | TripleSource"
"""What people give: files or folders of triples, or triples."""

PYTHON: Final = "<triples>"
"""What stands for triples that no file holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a corpus is read, by whom, and whether earlier work is continued.

    Attributes
    ----------
    columns
        What the columns of TSV files are.
    skip_bad
        Leave out rows with a missing or wrong field, and damaged parts of the corpus.
    resume
        Continue what was interrupted.
    engine
        Where the work is done; None for this process.
    progress
        Told how much more has been read, in the source's own unit.
    cache
        Which key seals what can be continued, and whether it is.
    """

    columns: str | None = None
    skip_bad: bool = False
    resume: bool = False
    engine: Engine | None = None
    progress: Callable[[int], object] | None = None
    cache: Cache = field(default_factory=Cache)


def corpus_source(corpus: Corpus, *, columns: str | None = None, skip_bad: bool = False) -> TripleSource:
    """Return where triples come from; files must exist, but nothing of them is read yet.

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


def build_index(path: str, corpus: Corpus, options: IndexOptions, reading: Reading) -> None:
    """Build an index in a folder of its own (see `Index.build`)."""
    check_outside(path, corpus)
    reading = replace(reading, resume=reading.resume and not reading.cache.anew)
    source = corpus_source(corpus, columns=reading.columns, skip_bad=reading.skip_bad)
    if reading.resume and not paths.exists(path):
        raise UsageError(f"there is nothing to resume in {path}; index without --resume")
    work = _Work(path, _journal("", options, source, reading), None, source, reading)
    work.made = make_folder(path)
    with locked(path):
        found, manifest = _found(path, reading)
        if found is not None and found.base != (manifest.checksum if manifest else ""):
            _finish(path, manifest)
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
            found.check_same(work.journal, work.way_out)
        elif manifest is not None:
            raise UsageError(f"{path} is an index already; add to it, or choose another folder")
        elif found is not None:
            raise UsageError(f"{path} holds an index that was not finished; continue with --resume, or {work.way_out}")
        else:
            check_ours(path)
        work.run()


def add_to_index(path: str, corpus: Corpus, reading: Reading) -> None:
    """Add triples to an index (see `Index.add`)."""
    check_outside(path, corpus)
    reading = replace(reading, resume=reading.resume and not reading.cache.anew)
    source = corpus_source(corpus, columns=reading.columns, skip_bad=reading.skip_bad)
    with locked(path):
        found, manifest = _found(path, reading)
        if manifest is None:
            raise _missing(path)
        journal = _journal(manifest.checksum, manifest.options, source, reading)
        work = _Work(path, journal, manifest, source, reading)
        if found is not None and found.base != manifest.checksum:
            _finish(path, manifest)
            if reading.resume:
                return
            found = None
        if reading.resume:
            if found is None:
                raise UsageError(f"there is nothing to resume in {path}; add without --resume")
            found.check_same(journal, work.way_out)
        elif found is not None:
            raise UsageError(f"an addition to {path} was not finished; continue it with --resume, or {work.way_out}")
        work.run()


def check_there(path: str) -> None:
    """Refuse a path where there is no finished index.

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


def _missing(path: str) -> DataError:
    if not paths.exists(path):
        return DataError(f"{path}: there is no such index; check the path")
    if not paths.is_folder(path):
        return DataError(f"{path} is not an index, which would be a folder; make one with trubleu mine index")
    if paths.exists(paths.joined(path, JOURNAL)):
        return DataError(f"the index {path} is not finished; continue with trubleu mine index and --resume")
    return DataError(f"{path} is not an index: {MANIFEST} is missing; make one with trubleu mine index")


def _found(path: str, reading: Reading) -> tuple[Journal | None, Manifest | None]:
    """Return what is in a folder, from which work that was not finished is removed if all is to be computed anew."""
    manifest = Manifest.read(path) if paths.exists(paths.joined(path, MANIFEST)) else None
    if reading.cache.anew:
        _finish(path, manifest)
    there = paths.exists(paths.joined(path, JOURNAL))
    journal = Journal.read(path, reading.cache.key(path, resume=reading.resume)) if there else None
    return journal, manifest


def _journal(base: str, options: IndexOptions, source: TripleSource, reading: Reading) -> Journal:
    sources = tuple(map(name_of, source.files)) or (PYTHON,)
    columns = source.columns if isinstance(source, TripleFiles) else None
    given = reading.columns if columns is None else ",".join(columns)
    return Journal(base=base, options=options, columns=given, sources=sources)


def _tidy(path: str, manifest: Manifest | None) -> None:
    """Remove everything that does not belong to the index, the journal last: while it is there, not all is done."""
    remove_leftovers(path, {shard.file for shard in manifest.shards} if manifest else ())
    paths.remove(paths.joined(path, JOURNAL))


def _finish(path: str, manifest: Manifest | None) -> None:
    """Do the last step of a command that was stopped before it."""
    try:
        _tidy(path, manifest)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


class _Work:
    """A build or an addition, from its beginning or from where it was interrupted to its end."""

    def __init__(
        self, path: str, journal: Journal, base: Manifest | None, source: TripleSource, reading: Reading
    ) -> None:
        self.journal = journal
        self.made = False
        self.way_out = f"remove the folder {path}"
        if base is not None:
            self.way_out = f"remove {paths.joined(path, JOURNAL)} to give up what was to be added"
        self._path = path
        self._base = base
        self._before = base.shards if base else ()
        self._source = source
        self._reading = reading

    @cached_property
    def _key(self) -> bytes:
        return self._reading.cache.key(self._path, resume=self._reading.resume)

    def run(self) -> None:
        """Make shards and, when all are there, the manifest."""
        with self._tidied():
            listed = {shard.file for shard in self._before}
            remove_leftovers(self._path, listed, finished=self._reading.resume)
            if are_files(self._source):
                self.journal.write(self._path, self._key)
            made = self._made()
            bad, empty = sum(each.bad for each in made), sum(each.empty for each in made)
            if not any(each.shard for each in made):
                names = some(self.journal.sources, 3)
                skipped = f" ({counted(bad + empty, 'row')} skipped)" if bad + empty else ""
                raise DataError(f"{names} holds no triples{skipped}; give triples with a message and a response")
            manifest = self._manifest(made, bad, empty)
            manifest.write(self._path)
        with suppress(OSError):  # the index is there; what is left over, whoever writes to it next removes
            _tidy(self._path, manifest)
        if bad:
            what = "rows with a missing or wrong field, skipped"
            warnings.warn(CountedWarning(what, bad), stacklevel=4)
        if empty:
            what = "rows with a blank message or response, skipped"
            warnings.warn(CountedWarning(what, empty), stacklevel=4)

    def _made(self) -> list[Made]:
        first = 1 + max((part_number(shard.file) for shard in self._before), default=-1)
        options, where, progress = self.journal.options, self._reading.engine or engine(), self._reading.progress
        if are_files(self._source):
            return made_of_files(
                self._path, self._source, options, first, where, progress, self._key, self._reading.cache.count
            )
        return made_here(self._path, self._source, options, first, where, progress)

    def _manifest(self, made: list[Made], bad: int, empty: int) -> Manifest:
        base = self._base
        triples: Counter[int] = Counter()
        for each in made:
            triples.update(dict(each.triples))
        sources = (Source(name=name, triples=triples[number]) for number, name in enumerate(self.journal.sources))
        shards = (*self._before, *(each.shard for each in made if each.shard))
        if twice := [name for name, count in Counter(shard.file for shard in shards).items() if count > 1]:
            raise DataError(f"{self._path}: two shards would have the name {twice[0]}; index into another folder")
        return Manifest(
            options=self.journal.options,
            shards=shards,
            sources=(*(base.sources if base else ()), *sources),
            bad=bad + (base.bad if base else 0),
            empty=empty + (base.empty if base else 0),
        )

    @contextmanager
    def _tidied(self) -> Iterator[None]:
        """Say how to go on where that is possible, and leave nothing behind where it is not."""
        try:
            try:
                yield
            except OSError as error:  # what cannot be read is said by who reads
                raise DataError(f"{self._path} cannot be written: {error.strerror or error}") from error
        except BaseException as error:
            kept = self._kept()
            if not kept:
                raise
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"interrupted; continue with --resume, or {self.way_out}") from error
            if isinstance(error, TrubleuError):
                # Records may be there of what has changed since, or was made in other pieces.
                pieces = isinstance(self._source, TripleFiles) and self._source.skip_bad
                most = "up to " if self._reading.resume or pieces else ""
                error.args = (
                    f"{error}; {most}{counted(kept, 'triple')} are kept, to continue with --resume",
                    *error.args[1:],
                )
            raise

    def _kept(self) -> int:
        """Return how many triples there are to go on with; where there are none, leave nothing behind."""
        with suppress(OSError):  # a disk or a network may fail still, of which the first error tells
            if kept := finished_triples(self._path, self._key):
                return kept
            if not self._is_committed():
                self._give_up()
        return 0

    def _is_committed(self) -> bool:
        """Return whether the manifest was replaced, however soon after that something failed."""
        try:
            there = paths.exists(paths.joined(self._path, MANIFEST))
            checksum = Manifest.read(self._path).checksum if there else ""
        except DataError:  # what cannot be read is not nothing
            return True
        return checksum != (self._base.checksum if self._base else "")

    def _give_up(self) -> None:
        if self._base is None:
            remove_all(self._path, made=self.made)
        else:
            _tidy(self._path, self._base)
