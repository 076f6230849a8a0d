"""Building shards on the workers of an engine, or in this process where the corpus can be read only once."""

from __future__ import annotations

import warnings
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final, TypeGuard

from trubleu.data.triple_files import TripleFiles
from trubleu.data.triple_ranges import Stretches, SurveyedFile, look, stretches, together
from trubleu.errors import BadPartitionsError, DataError, TrubleuWarning, UsageError, counted, some
from trubleu.execution.local import InThisProcess
from trubleu.files.paths import absolute
from trubleu.mining.shard_builder import Cutter, Planner, ShardMaker, Step, check_listed, tokenizer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.data.triple_ranges import Look, Stretch
    from trubleu.data.triples import TripleSource
    from trubleu.execution import Engine
    from trubleu.mining.manifest import IndexOptions
    from trubleu.mining.shard_builder import Made, Part

    Told = Callable[[int], object] | None

LOOKING: Final = 16
"""To look at files takes about this part of the time that it takes to index them."""

SHOWN: Final = 5
"""How many parts that were left out a warning names."""


def are_files(source: TripleSource) -> TypeGuard[TripleFiles]:
    """Return whether a source can be read again, in pieces and by others; triples from Python and pipes cannot."""
    return isinstance(source, TripleFiles) and source.total is not None


def made_here(
    folder: str, source: TripleSource, options: IndexOptions, number: int, engine: Engine, progress: Told
) -> list[Made]:
    """Go through a source that can be read only once, and return what came of it.

    Raises
    ------
    UsageError
        If others were to do it.
    DataError
        If a row cannot be used, or a shard cannot be written.
    """
    if not isinstance(engine, InThisProcess):
        raise UsageError(
            f"{some(source.files, 3) or 'triples from Python'} can be read only once and only here, so no engine "
            "can help; write the triples to files first, or leave the engine out"
        )
    cutter = Cutter(folder, options, tokenizer_of(options), part=number)

    def steps() -> Iterator[Step]:
        file, end, bad, empty = -1, 0, 0, 0
        for batch in source.batches(size=cutter.room, contexts=False, progress=progress):
            rows = batch.end - (end if batch.file == file else 0)
            yield Step(batch, rows, source.bad - bad, source.empty - empty)
            file, end, bad, empty = batch.file, batch.end, source.bad, source.empty

    try:
        return list(cutter.cut(steps()))
    except UsageError as error:
        raise DataError(str(error)) from error


def made_of_files(
    folder: str,
    source: TripleFiles,
    options: IndexOptions,
    number: int,
    engine: Engine,
    progress: Told,
    key: bytes,
    count: Callable[[int, int], object],
) -> list[Made]:
    """Let an engine make shards of files, and return what came of them, in the order of the corpus.

    What an earlier build finished, by records that the key seals, is not made again; ``count`` is told how many shards
    that are, and how many there are.

    Raises
    ------
    DataError
        If something cannot be read or used, or a shard cannot be written.
    EngineError
        If the engine's workers fail.
    """
    spread = _Spread(folder, source, options, engine, progress, key, count)
    return spread.made(Planner(spread.surveyed(), options, first=number, columns=source.columns))


class _Spread:
    def __init__(
        self,
        folder: str,
        source: TripleFiles,
        options: IndexOptions,
        engine: Engine,
        progress: Told,
        key: bytes,
        count: Callable[[int, int], object],
    ) -> None:
        self._folder = folder
        self._count = count
        self._source = source
        self._engine = engine
        self._bad: dict[str, str] = {}  # files that cannot be used, with what is the matter
        self._told = _Progress(progress, source.total or 0)
        self._maker = ShardMaker(
            folder=absolute(folder),
            options=options,
            skip_bad=source.skip_bad,
            columns=source.columns,
            key=key,
            tell=self._told.within if isinstance(engine, InThisProcess) else None,
        )

    def surveyed(self) -> list[SurveyedFile]:
        """Look at all files, and return those that can be used."""
        source = self._source
        sizes = [(file, size or 0) for file, size in zip(source.files, source.sizes, strict=True)]
        todo = stretches(sizes, columns=source.columns, skip_bad=source.skip_bad)
        looks: dict[Stretch, Look] = {}
        bad = self._looked(together(todo), looks)
        if bad:  # one of several files may be
            alone = [Stretches((stretch,)) for stretch in todo if stretch not in looks and str(stretch) not in bad]
            bad |= self._looked(alone, looks) if alone else {}
        files: list[list[Stretch]] = [[] for _ in sizes]
        for stretch in todo:
            files[stretch.file].append(stretch)
            if stretch not in looks:
                self._bad.setdefault(stretch.name, bad[str(stretch)])
            elif looks[stretch].refusal:
                raise DataError(looks[stretch].refusal)
        whole = (file for file in files if file[0].name not in self._bad)
        return [SurveyedFile([(stretch, looks[stretch]) for stretch in file]) for file in whole]

    def _looked(self, todo: Sequence[Stretches], looks: dict[Stretch, Look]) -> dict[str, str]:
        """Look at stretches, and return what is the matter with those that cannot be read."""
        try:
            with closing(self._engine.map(look, todo, progress=self._told.looked)) as results:
                for found, seen in results:
                    looks.update(zip(found.each, seen, strict=True))
        except BadPartitionsError as error:
            return dict(error.partitions)
        return {}

    def made(self, planner: Planner) -> list[Made]:
        """Make all parts."""
        parts = planner.parts()
        made, error = self._mapped(parts)
        if error is not None and self._source.skip_bad:
            # What is bad of a part may be one of many files.
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
        state = partial(tokenizer_of, self._maker.options)
        mapped = self._engine.map(self._maker, parts, state=state, progress=self._told.finished)
        try:
            with closing(mapped):  # whatever happens, nobody works on when this is left
                for part, (made, reused) in mapped:
                    self._count(reused, len(made))
                    for shard in (each.shard for each in made if each.shard is not None):
                        check_listed(self._folder, shard, "workers must see the same folder under the same path")
                    found[part.key] = made
        except BadPartitionsError as error:
            return found, error
        except UsageError as error:  # what cannot be written
            raise DataError(str(error)) from error
        return found, None

    def _leave_out(self, error: BadPartitionsError | None, count: int) -> None:
        """Say what cannot be used, or that it is left out; of a file with a stretch that cannot be read, all is."""
        parts = {} if error is None else error.partitions
        bad = {**self._bad, **parts}
        if bad and not self._source.skip_bad:
            if len(bad) == 1:
                (message,) = bad.values()
                raise BadPartitionsError(message, bad) from error
            if error is not None and not self._bad:
                raise error
            raise BadPartitionsError(
                f"{counted(len(bad), 'part')} of the corpus cannot be used: {_said(bad)}", bad
            ) from error
        if self._bad:
            what = f"{len(self._bad)} of {counted(len(self._source.files), 'file')}"
            warnings.warn(f"left out {what} altogether: {_said(self._bad)}", TrubleuWarning, stacklevel=8)
        if parts:
            what = f"{len(parts)} of {counted(count, 'part')} of the corpus"
            warnings.warn(f"left out {what}: {_said(parts)}", TrubleuWarning, stacklevel=8)


def _said(bad: dict[str, str]) -> str:
    return some([f"{name} ({message})" for name, message in bad.items()], SHOWN)


class _Progress:
    """Turns what is told of parts, finished ones and the one that is worked on here, into bytes of the corpus."""

    def __init__(self, progress: Told, total: int) -> None:
        self._progress = progress
        self._left = total
        self._within = 0

    def looked(self, found: Stretches) -> None:
        """Note that stretches of files were looked at."""
        self._tell(found.size // LOOKING)

    def within(self, size: int) -> None:
        """Note how many bytes of a part have been read."""
        now = size - size // LOOKING
        self._tell(max(0, now - self._within))
        self._within = max(self._within, now)

    def finished(self, part: Part) -> None:
        """Note that a part is finished."""
        self.within(part.size)
        self._within = 0

    def close(self) -> None:
        """Note that all is done."""
        self._tell(self._left)

    def _tell(self, more: int) -> None:
        more = min(more, self._left)
        self._left -= more
        if self._progress is not None and more:
            self._progress(more)
