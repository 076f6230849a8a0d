"""Build an index or add to one, part by part; resumable after a kill at any moment.

The corpus is split into parts, an engine builds shards from them, and finally the manifest lists all shards. The split
and the content of each shard depend on the files and options alone, so the index is bit-identical for any number of
workers, any order and any number of interruptions.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from trubleu.data.triple_formats import TripleFile
from trubleu.data.triples import Triple, TripleFiles, TripleList
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
from trubleu.execution.cache import Cache, Entries
from trubleu.execution.local import InThisProcess
from trubleu.files import paths, ranges
from trubleu.files.jsonl import kind_of
from trubleu.files.paths import absolute, name_of, unreadable
from trubleu.files.writer import LOCK, locked
from trubleu.mining.manifest import MANIFEST, SHARD_NAME, IndexOptions, Manifest, Source, part_number
from trubleu.mining.shard_builder import Cutter, Made, Part, Planner, ShardMaker, Step, check_listed, tokenizer_of
from trubleu.text.unspaced import unsplit_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.data.triples import TripleSource
    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress


RECORD_NAME: Final = re.compile(r"built-([0-9a-f]{16})-[0-9a-f]{64}\.result")
"""File names of the records of finished shards: entries of the cache, with the checksum of the manifest they extend."""

_NO_MANIFEST: Final = "0" * 16  # in place of that checksum

_TEMPORARY: Final = re.compile(r"\.trubleu-[0-9a-f]{16}\.tmp")  # the temporary names of `atomic_writer`


def make_folder(path: str) -> bool:
    """Create a folder if needed, and return whether it was created.

    Raises
    ------
    DataError
        If it cannot be made.
    """
    try:
        if paths.is_file(path):
            raise DataError(f"{path} is a file, but an index is a folder; choose another name")
        there = paths.exists(path)
        paths.make_folder(path)
    except FileNotFoundError as error:
        folder = paths.parent(path)
        raise DataError(f"{path} cannot be created: there is no folder {folder}; create it first") from error
    except OSError as error:
        raise DataError(f"{path} cannot be created: {error.strerror or error}") from error
    return not there


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
    if strange := sorted(name for name in _names(path) if not _is_ours(name)):
        raise UsageError(f"{path} holds something else ({some(strange, 3)}); choose another folder for the index")


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
    listed = {shard.file for shard in manifest.shards} if manifest else ()
    names = sorted(_names(path), key=lambda name: RECORD_NAME.fullmatch(name) is not None)  # records last
    for name in names:
        ours = RECORD_NAME.fullmatch(name) or (SHARD_NAME.fullmatch(name) and name not in listed)
        if _TEMPORARY.fullmatch(name) or (ours and not finished):
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


def _is_ours(name: str) -> bool:
    return name in (MANIFEST, LOCK) or any(kind.fullmatch(name) for kind in (SHARD_NAME, RECORD_NAME, _TEMPORARY))


LOOKING: Final = 16
"""Surveying a file takes about this fraction (1/16) of the time of indexing it."""

SHOWN: Final = 5
"""Skipped parts named in a warning."""


def are_files(source: TripleSource) -> TypeGuard[TripleFiles]:
    """Return whether a source can be read again, in pieces and by workers; Python iterables and pipes cannot."""
    return isinstance(source, TripleFiles) and source.total is not None


class _Spread:
    """Builds shards of files on an engine.

    Skips what an earlier build finished, according to the entries of the cache.
    """

    def __init__(self, entries: Entries, source: TripleFiles, options: IndexOptions, reading: Reading) -> None:
        self._count = reading.cache.count
        self._source = source
        self._engine = reading.engine
        self._bad: dict[str, str] = {}  # unusable files with their errors
        self._told = _Progress(reading.progress, source.total or 0)
        self._maker = ShardMaker(
            entries=entries,
            options=options,
            skip_bad=source.skip_bad,
            tell=self._told.within if isinstance(reading.engine, InThisProcess) else None,
        )

    def surveyed(self) -> list[ranges.FileIndex]:
        """Survey all files, and return the usable ones."""
        source = self._source
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
            return ranges.surveyed(files, self._looked, contents=True)
        except UsageError as error:  # columns that are not known
            raise DataError(str(error)) from error

    def _looked(
        self, _stage: str, function: Callable[[Any, None], Any], things: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Work on small files together, and note the unreadable ones."""
        found: dict[Any, Any] = {}
        bad = self._tried(function, ranges.grouped(things), found)
        if bad:  # one of several files may be bad
            alone = [ranges.Group((each,)) for each in things if each not in found and str(each) not in bad]
            bad |= self._tried(function, alone, found) if alone else {}
        for each in things:
            if each in found:
                yield each, found[each]
            else:
                file = each.file if isinstance(each, ranges.Piece) else each
                self._bad.setdefault(file.name, bad[str(each)])

    def _tried(
        self, function: Callable[[Any, None], Any], groups: Sequence[ranges.Group], found: dict[Any, Any]
    ) -> dict[str, str]:
        """Add the results of groups to those that were found, and return the errors of unreadable ones."""
        progress = self._told.looked if function is ranges.count else None
        try:
            with closing(self._engine.map(ranges.InGroups(function), groups, progress=progress)) as results:
                for group, seen in results:
                    found.update(zip(group.each, seen, strict=True))
        except BadPartitionsError as error:
            return dict(error.partitions)
        return {}

    def made(self, planner: Planner) -> list[Made]:
        """Build the shards of all parts."""
        parts = planner.parts()
        made, error = self._mapped(parts)
        if error is not None and self._source.skip_bad:
            # In a bad part, only one of many files may be bad.
            again = {part.key: planner.apart(part) for part in parts if part.key not in made and len(part.ranges) > 1}
            if again:
                parts = [each for part in parts for each in again.get(part.key, [part])]
                more, error = self._mapped([part for part in parts if part.key not in made])
                made |= more
        self._leave_out(error, len(parts))
        self._told.close()
        return [each for part in parts for each in made.get(part.key, ())]

    def _mapped(self, parts: Sequence[Part]) -> tuple[dict[str, tuple[Made, ...]], BadPartitionsError | None]:
        found: dict[str, tuple[Made, ...]] = {}
        folder, state = self._maker.entries.folder, partial(tokenizer_of, self._maker.options)
        mapped = self._engine.map(self._maker, parts, state=state, progress=self._told.finished)
        try:
            with closing(mapped):  # stops the workers on any exit
                for part, (made, reused) in mapped:
                    self._count(reused, len(made))
                    for shard in (each.shard for each in made if each.shard is not None):
                        check_listed(folder, shard, "workers must see the same folder under the same path")
                    found[part.key] = made
        except BadPartitionsError as error:
            return found, error
        return found, None

    def _leave_out(self, error: BadPartitionsError | None, count: int) -> None:
        """Raise an error or warn about unusable input; a file with an unreadable stretch is skipped as a whole."""
        parts = {} if error is None else error.partitions
        bad = {**self._bad, **parts}
        if bad and not self._source.skip_bad:
            what = f"{counted(len(bad), 'part')} of the corpus cannot be used: {_said(bad)}"
            raise BadPartitionsError(what if len(bad) > 1 else next(iter(bad.values())), bad) from error
        if self._bad:
            what = f"{len(self._bad)} of {counted(len(self._source.files), 'file')}"
            warnings.warn(f"left out {what} altogether: {_said(self._bad)}", TrubleuWarning, stacklevel=7)
        if parts:
            what = f"{len(parts)} of {counted(count, 'part')} of the corpus"
            warnings.warn(f"left out {what}: {_said(parts)}", TrubleuWarning, stacklevel=7)


def _said(bad: dict[str, str]) -> str:
    return some([f"{name} ({message})" for name, message in bad.items()], SHOWN)


class _Progress:
    """Converts progress reports of parts into bytes of the corpus."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._left = total
        self._within = 0

    def looked(self, found: ranges.Group) -> None:
        """Report that lines were counted."""
        self._tell(found.size // LOOKING)

    def within(self, size: int) -> None:
        """Report how many bytes of the current part have been read."""
        now = size - size // LOOKING
        self._tell(max(0, now - self._within))
        self._within = max(self._within, now)

    def finished(self, part: Part) -> None:
        """Report that a part is finished."""
        self.within(part.size)
        self._within = 0

    def close(self) -> None:
        """Report completion."""
        self._tell(self._left)

    def _tell(self, more: int) -> None:
        more = min(more, self._left)
        self._left -= more
        if self._progress is not None and more:
            self._progress(more)


Corpus: TypeAlias = "PathLike | Iterable[PathLike] | Iterable[Triple] | TripleSource"
"""A corpus as callers pass it: files or folders of triples, or triples."""

PYTHON: Final = "<triples>"
"""Name of the source for triples passed from Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a corpus is read: format, engine, and whether to resume.

    Attributes
    ----------
    columns
        What the columns of TSV files are.
    skip_bad
        Leave out rows with a missing or wrong field, and damaged parts of the corpus.
    resume
        Continue what was interrupted.
    engine
        Where the work is done.
    progress
        Told how much more has been read, in the source's own unit.
    cache
        Which key seals what can be continued, and whether it is.
    """

    columns: str | None = None
    skip_bad: bool = False
    resume: bool = False
    engine: Engine = field(default_factory=InThisProcess)
    progress: Progress | None = None
    cache: Cache = field(default_factory=Cache)


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


def write_index(path: str, corpus: Corpus, reading: Reading, options: IndexOptions | None = None) -> None:
    """Build an index in its own folder, or add to one if no options are given (see `Index.build` and `Index.add`)."""
    check_outside(path, corpus)
    resume, anew = reading.resume and not reading.cache.anew, reading.cache.anew
    source = corpus_source(corpus, columns=reading.columns, skip_bad=reading.skip_bad)
    nothing = UsageError(f"there is nothing to resume in {path}; {'index' if options else 'add'} without --resume")
    if options and resume and not paths.exists(path):
        raise nothing
    created = make_folder(path) if options else False
    with locked(path):
        manifest = Manifest.read(path) if paths.exists(paths.joined(path, MANIFEST)) else None
        if (begin := options or manifest) is None:
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
        _Work(path, begin, source, replace(reading, resume=resume), created=created).run()


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


class _Work:
    """A build with some options, or an addition to the index of a manifest; started or resumed."""

    def __init__(
        self, path: str, begin: IndexOptions | Manifest, source: TripleSource, reading: Reading, *, created: bool
    ) -> None:
        self._base = begin if isinstance(begin, Manifest) else None
        self._options = begin.options if isinstance(begin, Manifest) else begin
        self._sources = tuple(map(name_of, source.files)) or (PYTHON,)
        self._path = path
        self._created = created
        self._before = self._base.shards if self._base else ()
        self._source = source
        self._reading = reading

    def run(self) -> None:
        """Build the shards and then write the manifest."""
        with self._tidied():
            remove_leftovers(self._path, self._base, finished=self._reading.resume)
            made = self._made()
            bad, empty = sum(each.bad for each in made), sum(each.empty for each in made)
            if not any(each.shard for each in made):
                remove_leftovers(self._path, self._base)
                names = some(self._sources, 3)
                skipped = f" ({counted(bad + empty, 'row')} skipped)" if bad + empty else ""
                raise DataError(f"{names} has no triples{skipped}; give triples with a message and a response")
            manifest = self._manifest(made, bad, empty)
            manifest.write(self._path)
        with suppress(OSError):  # the index is complete; the next writer removes leftovers
            remove_leftovers(self._path, manifest)
        if bad:
            what = "rows with a missing or wrong field, skipped"
            warnings.warn(CountedWarning(what, bad), stacklevel=4)
        if empty:
            what = "rows with a blank message or response, skipped"
            warnings.warn(CountedWarning(what, empty), stacklevel=4)
        if any(each.unsplit for each in made):
            what = unsplit_message(tokenizer_of(self._options), "triples")
            warnings.warn(what, TrubleuWarning, stacklevel=4)

    def _made(self) -> list[Made]:
        """Build the shards, and return their records in the order of the corpus."""
        first = 1 + max((part_number(shard.file) for shard in self._before), default=-1)
        options, source, reading = self._options, self._source, self._reading
        if are_files(source):
            key = reading.cache.key(self._path, resume=reading.resume)
            base = self._base.checksum if self._base else _NO_MANIFEST
            spread = _Spread(Entries(absolute(self._path), key, f"built-{base}-"), source, options, reading)
            return spread.made(Planner(spread.surveyed(), options, first=first))
        if not isinstance(reading.engine, InThisProcess):
            raise UsageError(
                f"{some(source.files, 3) or 'triples from Python'} can be read only once and only here, so no engine "
                "can help; write the triples to files first, or leave the engine out"
            )
        cutter = Cutter(self._path, options, tokenizer_of(options), Part(first, (), ""))
        return list(cutter.cut(self._steps(cutter.room)))

    def _steps(self, room: Callable[[], int]) -> Iterator[Step]:
        """Read a source that can be read only once."""
        source = self._source
        file, end, bad, empty = -1, 0, 0, 0
        for batch in source.batches(size=room, contexts=False, progress=self._reading.progress):
            rows = batch.end - (end if batch.file == file else 0)
            yield Step(batch, rows, source.bad - bad, source.empty - empty)
            file, end, bad, empty = batch.file, batch.end, source.bad, source.empty

    def _manifest(self, made: list[Made], bad: int, empty: int) -> Manifest:
        base = self._base
        triples: Counter[int] = Counter()
        for each in made:
            triples.update(dict(each.triples))
        sources = (Source(name=name, triples=triples[number]) for number, name in enumerate(self._sources))
        shards = (*self._before, *(each.shard for each in made if each.shard))
        if twice := [name for name, count in Counter(shard.file for shard in shards).items() if count > 1]:
            raise DataError(f"{self._path}: two shards would have the name {twice[0]}; index into another folder")
        return Manifest(
            options=self._options,
            shards=shards,
            sources=(*(base.sources if base else ()), *sources),
            bad=bad + (base.bad if base else 0),
            empty=empty + (base.empty if base else 0),
        )

    @contextmanager
    def _tidied(self) -> Iterator[None]:
        """On failure, say how to resume if that is possible; otherwise remove everything."""
        try:
            with _writing(self._path):
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
        with suppress(OSError):  # a disk or network may still be failing; the first error is the one reported
            if unfinished(self._path, self._base)[0]:
                return True
            if not self._is_committed():
                self._give_up()
        return False

    def _is_committed(self) -> bool:
        """Return whether the manifest was replaced, even if a later step failed."""
        try:
            there = paths.exists(paths.joined(self._path, MANIFEST))
            checksum = Manifest.read(self._path).checksum if there else ""
        except DataError:  # unreadable does not mean absent
            return True
        return checksum != (self._base.checksum if self._base else "")

    def _give_up(self) -> None:
        remove_leftovers(self._path, self._base)
        if self._created and not paths.is_remote(self._path):
            Path(self._path, LOCK).unlink(missing_ok=True)
            with suppress(OSError):  # the folder holds other files
                Path(self._path).rmdir()
