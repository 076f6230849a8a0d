"""Build an index or add to one, part by part; resumable after a kill at any moment.

The corpus is split into parts, an engine builds shards from them, and finally the manifest lists all shards. The split
and the content of each shard depend on the files and options alone, so the index is bit-identical for any number of
workers, any order and any number of interruptions.
"""

from __future__ import annotations

import math
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
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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
from trubleu.execution.output_parts import prepare_folder
from trubleu.files import paths, ranges
from trubleu.files.jsonl import kind_of
from trubleu.files.paths import absolute, name_of, unreadable
from trubleu.files.writer import LOCK, locked
from trubleu.mining.manifest import MANIFEST, SHARD_NAME, IndexOptions, Manifest, Source, part_number
from trubleu.mining.shard_builder import Cutter, Made, Part, ShardMaker, Step, check_listed, plan, tokenizer_of
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


class _Progress:
    """Converts progress reports of parts into bytes of the corpus."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._left = total
        self._within = 0

    def looked(self, piece: ranges.Piece) -> None:
        """Report that lines were counted."""
        self.tell((piece.size or piece.file.size) // LOOKING)

    def within(self, size: int) -> None:
        """Report how many bytes of the current part have been read."""
        now = size - size // LOOKING
        self.tell(max(0, now - self._within))
        self._within = max(self._within, now)

    def finished(self, part: Part) -> None:
        """Report that a part is finished."""
        self.within(part.size)
        self._within = 0

    def tell(self, more: float = math.inf) -> None:
        """Report more bytes; if not said how many, all that are left."""
        more = min(more, self._left)
        self._left -= int(more)
        if self._progress is not None and more:
            self._progress(int(more))


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
    created = options is not None and not paths.exists(path)
    if options:
        prepare_folder(path)
    with locked(path):
        manifest = _read_manifest(path)
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
        self._bad: dict[str, str] = {}  # unusable files with their errors
        self._told = _Progress(reading.progress, source.total or 0)

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
        for what, count in (("a missing or wrong field", bad), ("a blank message or response", empty)):
            if count:
                warnings.warn(CountedWarning(f"rows with {what}, skipped", count), stacklevel=4)
        if any(each.unsplit for each in made):
            what = unsplit_message(tokenizer_of(self._options), "triples")
            warnings.warn(what, TrubleuWarning, stacklevel=4)

    def _made(self) -> list[Made]:
        """Build the shards, and return their records in the order of the corpus."""
        first = 1 + max((part_number(shard.file) for shard in self._before), default=-1)
        source, options = self._source, self._options
        if isinstance(source, TripleFiles) and source.total is not None:  # can be read again, and by workers
            return self._spread(source, first)
        if not isinstance(self._reading.engine, InThisProcess):
            raise UsageError(
                f"{some(source.files, 3) or 'triples from Python'} can be read only once and only here, so no engine "
                "can help; write the triples to files first, or leave the engine out"
            )
        cutter = Cutter(self._path, options, tokenizer_of(options), Part(first, ()))
        return list(cutter.cut(self._steps(cutter.room)))

    def _steps(self, room: Callable[[], int]) -> Iterator[Step]:
        """Read a source that can be read only once."""
        source = self._source
        file, end, bad, empty = -1, 0, 0, 0
        for batch in source.batches(size=room, contexts=False, progress=self._reading.progress):
            rows = batch.end - (end if batch.file == file else 0)
            yield Step(batch, rows, source.bad - bad, source.empty - empty)
            file, end, bad, empty = batch.file, batch.end, source.bad, source.empty

    def _spread(self, source: TripleFiles, first: int) -> list[Made]:
        """Build the shards of files on an engine, all but what an earlier build finished."""
        key = self._reading.cache.key(self._path, resume=self._reading.resume)
        base = self._base.checksum if self._base else _NO_MANIFEST
        maker = ShardMaker(
            entries=Entries(absolute(self._path), key, f"built-{base}-"),
            options=self._options,
            skip_bad=source.skip_bad,
            tell=self._told.within if isinstance(self._reading.engine, InThisProcess) else None,
        )
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
        parts = plan(surveyed, self._options, first=first)
        made, bad = self._mapped(maker, parts)
        if bad and source.skip_bad:
            # In a bad part, only one of many files may be bad.
            parts = [each for part in parts for each in ([part] if part in made else part.apart())]
            more, bad = self._mapped(maker, [part for part in parts if part not in made])
            made |= more
        self._leave_out(source, bad, len(parts))
        self._told.tell()
        return [each for part in parts for each in made.get(part, ())]

    def _looked(
        self, _stage: str, function: Callable[[Any, None], Any], things: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Map a step of the survey, and note the unreadable files."""
        progress = self._told.looked if function is ranges.count else None
        try:
            with closing(self._reading.engine.map(function, things, progress=progress)) as results:
                yield from results
        except BadPartitionsError as error:
            for each in things:
                if str(each) in error.partitions:
                    file = each.file if isinstance(each, ranges.Piece) else each
                    self._bad.setdefault(file.name, error.partitions[str(each)])

    def _mapped(self, maker: ShardMaker, parts: Sequence[Part]) -> tuple[dict[Part, tuple[Made, ...]], dict[str, str]]:
        """Return the records of the parts that could be read, and the errors of the others."""
        found: dict[Part, tuple[Made, ...]] = {}
        mapped = self._reading.engine.map(
            maker, parts, state=partial(tokenizer_of, self._options), progress=self._told.finished
        )
        try:
            with closing(mapped):  # stops the workers on any exit
                for part, (made, reused) in mapped:
                    self._reading.cache.count(reused, len(made))
                    for shard in (each.shard for each in made if each.shard is not None):
                        check_listed(self._path, shard, "workers must see the same folder under the same path")
                    found[part] = made
        except BadPartitionsError as error:
            return found, error.partitions
        return found, {}

    def _leave_out(self, source: TripleFiles, parts: dict[str, str], count: int) -> None:
        """Raise an error or warn about unusable input; a file with an unreadable stretch is skipped as a whole."""
        bad = {**self._bad, **parts}
        if bad and not source.skip_bad:
            what = f"{counted(len(bad), 'part')} of the corpus cannot be used: {_said(bad)}"
            raise BadPartitionsError(what if len(bad) > 1 else next(iter(bad.values())), bad)
        if self._bad:
            what = f"{len(self._bad)} of {counted(len(source.files), 'file')}"
            warnings.warn(f"left out {what} altogether: {_said(self._bad)}", TrubleuWarning, stacklevel=7)
        if parts:
            what = f"{len(parts)} of {counted(count, 'part')} of the corpus"
            warnings.warn(f"left out {what}: {_said(parts)}", TrubleuWarning, stacklevel=7)

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
        # A disk or network may still be failing; the first error is the one reported.
        with suppress(OSError, DataError):
            if unfinished(self._path, self._base)[0]:
                return True
            manifest = _read_manifest(self._path)  # it may have been replaced before the failure
            remove_leftovers(self._path, manifest)
            if self._created and manifest is None and not paths.is_remote(self._path):
                Path(self._path, LOCK).unlink(missing_ok=True)
                Path(self._path).rmdir()  # an OSError if it holds other files
        return False


def _said(bad: dict[str, str]) -> str:
    return some([f"{name} ({message})" for name, message in bad.items()], SHOWN)
