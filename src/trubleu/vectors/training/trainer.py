"""Train n-gram vectors from text: skip-gram with negative sampling (Mikolov et al. 2013).

Checkpoints of a training run are a cache in a folder beside the store that it will become::

    V.training/
        order-N.ids   the corpus as numbers of n-grams of N words
        …             numbers of a count that is running (`trubleu.vectors.training.counts`)
        *.result      entries of the cache
        lock          held by the process that writes here

The entries (`trubleu.execution.cache.Entries`) are the vocabulary, which vouches for the numbers; the vectors of each
finished model; and the state of the model in training, replaced after every epoch. They are named by a hash of the
corpus, the options and the code, so nothing of another training is ever used. What is damaged is made again.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.execution.cache import SUFFIX, Cache, Entries
from trubleu.execution.local import InThisProcess
from trubleu.execution.serialization import typed
from trubleu.files import paths
from trubleu.files.lines import open_bytes
from trubleu.files.paths import check_standard_input_once, is_standard, name_of
from trubleu.files.writer import LOCK, check_writable, locked
from trubleu.native import resolve_threads
from trubleu.progress import Bars
from trubleu.text import tokenizer
from trubleu.vectors.store import VectorStore, number_type
from trubleu.vectors.training import counts
from trubleu.vectors.training.counts import Counted, Level, MappedNumbers, Vocabulary
from trubleu.vectors.training.model import Material, Model, matrix_rows, new_rows
from trubleu.vectors.training.options import TrainingOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.vectors.store import Precision
    from trubleu.vectors.training.model import Rows

    Array = Callable[[str], NDArray[Any]]

_NUMBERS: Final = 1 << 22  # numbers per batch
_COLUMNS: Final = ("counts", "firsts", "seconds")
_BLOCKS_A_CALL: Final = 32  # a few tenths of a second; Ctrl-C and progress are handled in between
_BLOCKS_A_THREAD: Final = 16  # minimum: threads wait for each other at the end of a call
_ROWS: Final = 1 << 14  # matrix rows checked per batch


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The progress of a model.

    Attributes
    ----------
    epoch, block
        Which epoch it is at, and which part of the corpus comes next.
    pairs, loss
        Pairs trained in this epoch so far, and the sum of their losses.
    losses
        The mean loss of each epoch that is over.
    """

    epoch: int = 0
    block: int = 0
    pairs: int = 0
    loss: float = 0.0
    losses: tuple[float, ...] = ()

    def after_epoch(self) -> State:
        """Return the state at the beginning of the next epoch."""
        return State(epoch=self.epoch + 1, losses=(*self.losses, self.loss / self.pairs))


class Folder:
    """The folder of a training run.

    Parameters
    ----------
    out
        The store that the training will become.
    options
        What is trained.
    cache
        Knows the key.
    resume
        Whether to continue what is there.

    Attributes
    ----------
    path
        Where it is.
    corpus
        The identity of the corpus, which tells the training from others, as the options do.
    """

    def __init__(self, out: PathLike, options: TrainingOptions, cache: Cache, *, resume: bool = False) -> None:
        # Its files are memory-mapped, so it is local even if the store is remote.
        self.path = Path(f"{paths.base_name(out) if paths.is_remote(out) else os.fspath(out)}.training")
        self.corpus: Sequence[tuple[str, str]] = ()
        self._options = options
        self._cache = cache
        self._resume = resume

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other processes; unless resuming, create it and remove the files of an earlier run.

        Raises
        ------
        UsageError
            If there is nothing to continue, or without resuming a checkpoint, which may have taken days, unless all is
            to be computed anew.
        DataError
            If another process writes there, or nobody may.
        """
        if self._resume and not self._holds_entries():
            raise UsageError(f"there is no checkpoint in {self.path}; train without --resume")
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise DataError(f"the folder {self.path} cannot be created: {error.strerror or error}") from error
        with locked(self.path):
            if not self._resume:
                self._clear()
            yield

    def _clear(self) -> None:
        if self._holds_entries() and not self._cache.anew:
            raise UsageError(
                f"{self.path} holds a training that was not finished; continue it with --resume, or remove that folder"
            )
        try:
            for path in sorted(self.path.iterdir(), key=lambda path: path.suffix != SUFFIX):  # entries first
                if path.name != LOCK:
                    path.unlink()
        except OSError as error:
            raise DataError(f"the folder {self.path} cannot be emptied: {error.strerror or error}") from error

    def remove(self) -> None:
        """Remove the folder and its contents."""
        shutil.rmtree(self.path, ignore_errors=True)

    def numbers(self, order: int) -> Path:
        """Return the file with the corpus as n-grams of this length."""
        return self.path / f"order-{order}.ids"

    def write_counts(self, counted: Counted) -> None:
        """Write what was counted, once for all epochs, and remove the numbers of orders that are not trained."""
        self.corpus = counted.corpus
        vocabulary, orders = counted.vocabulary, self._options.orders
        arrays: dict[str, NDArray[Any]] = {"heap": vocabulary.heap, "begins": vocabulary.begins}
        for level in counted.levels:
            arrays |= {f"{name}-{level.order}": getattr(level, name) for name in _COLUMNS}
        files = [self.numbers(order).name for order in orders]
        self._entries.put(self._depends("counts"), {"total": vocabulary.total}, arrays, files)
        for level in counted.levels:
            if level.order not in orders:
                self.numbers(level.order).unlink(missing_ok=True)

    def read_counts(self) -> Counted:
        """Read what `write_counts` wrote.

        Raises
        ------
        UsageError
            If there is none of this training, or it is damaged.
        """

        def unpack(header: dict[str, Any], array: Array) -> Counted:
            levels: list[Level] = []
            for order in range(1, self._options.orders[-1] + 1):
                level = Level(order=order, **{name: array(f"{name}-{order}") for name in _COLUMNS})
                level.check(len(levels[-1].counts) if levels else 0)
                levels.append(level)
            vocabulary = Vocabulary(heap=array("heap"), begins=array("begins"), total=header["total"])
            vocabulary.check(len(levels[0].counts))
            return Counted(vocabulary, levels, self.corpus)

        found = self._entries.find(self._depends("counts"), unpack)
        if found is None:
            raise UsageError(
                f"{self.path} holds no training of this text with these options, this version of TruBLEU and this key, "
                "or it is damaged; continue with the same, or begin again with --no-cache"
            )
        return found

    def write_model(self, model: int, vectors: Rows, losses: tuple[float, ...]) -> None:
        """Write the vectors of a finished model, and the mean loss of each epoch."""
        self._entries.put(self._depends("model", model), {"losses": losses}, {"vectors": vectors.reshape(-1)})

    def read_model(self, model: int, rows: int) -> tuple[Rows, tuple[float, ...]] | None:
        """Read what `write_model` wrote; None if the model is not finished, or damaged."""

        def unpack(header: dict[str, Any], array: Array) -> tuple[Rows, tuple[float, ...]]:
            return _matrix(array("vectors"), rows, self._options.dim), typed(tuple[float, ...], header["losses"])

        return self._entries.find(self._depends("model", model), unpack)

    def write_state(self, model: int, state: State, matrices: tuple[Rows, Rows]) -> None:
        """Write the state of the model in training, atomically replacing the one before.

        Raises
        ------
        DataError
            If it cannot be written, for instance because the disk is full; the one before stays.
        """
        arrays = {f"matrix-{number}": matrix.reshape(-1) for number, matrix in enumerate(matrices)}
        self._entries.put(self._depends("state"), {"model": model, "state": asdict(state)}, arrays)

    def read_state(self, model: int, material: Material) -> tuple[State, tuple[Rows, Rows] | None]:
        """Read the state of a model: its beginning, without matrices, if none was written, or it is damaged."""
        options = self._options

        def unpack(header: dict[str, Any], array: Array) -> tuple[State, tuple[Rows, Rows]]:
            state: State = typed(State, header["state"])
            numbers = (state.loss, *state.losses)
            if header["model"] != model or state.epoch >= options.epochs or state.block > material.blocks:
                raise ValueError("it is the state of something else")
            if len(state.losses) != state.epoch or not all(map(math.isfinite, numbers)):
                raise ValueError("its losses cannot be")
            first, second = (new_rows(rows, options.dim) for rows in matrix_rows(material, options))
            for number, matrix in enumerate((first, second)):
                matrix[:] = _matrix(array(f"matrix-{number}"), *matrix.shape)
            return state, (first, second)

        return self._entries.find(self._depends("state"), unpack) or (State(), None)

    def _depends(self, *what: object) -> list[object]:
        return [*what, tuple(self._options.to_dict().items()), tuple(self.corpus)]

    @cached_property
    def _entries(self) -> Entries:
        return Entries(str(self.path.absolute()), self._cache.key(self.path, resume=self._resume))

    def _holds_entries(self) -> bool:
        return any(self.path.glob(f"*{SUFFIX}"))


def _matrix(numbers: NDArray[Any], rows: int, columns: int) -> Rows:
    """Return numbers as a matrix; they must be finite."""
    if numbers.dtype != np.float32:
        raise TypeError("its numbers are of another type")
    for first in range(0, len(numbers), _NUMBERS):
        if not np.isfinite(numbers[first : first + _NUMBERS]).all():
            raise ValueError("its numbers are not finite")
    return numbers.reshape(rows, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The result of a training run.

    Attributes
    ----------
    path
        The store; a string if it is an address.
    entries
        How many n-grams of each length it holds.
    words
        How many words the corpus has.
    losses
        The mean loss of each epoch; in mode separate, order after order.
    """

    path: Path | str
    entries: dict[int, int]
    words: int
    losses: tuple[float, ...]


def train_vectors(
    corpus: Sequence[PathLike],
    out: PathLike,
    options: TrainingOptions | None = None,
    *,
    resume: bool = False,
    threads: int | None = None,
    dtype: Precision = "float32",
    engine: Engine | None = None,
    after_counting: Callable[[], object] | None = None,
    cache: Cache | None = None,
    progress: Bars | None = None,
) -> Training:
    r"""Train vectors of words and n-grams from text, and write them to a store.

    The corpus is read once and need not fit into memory. Ctrl-C, a full disk or a lost machine costs at most the work
    since the last checkpoint, which is written after counting, after every epoch and on Ctrl-C.

    Parameters
    ----------
    corpus
        Files of one sentence per line, plain or compressed with gzip or zstd.
    out
        The store to be written. Checkpoints lie beside it, or in the folder one is in if it is an address.
    options
        What the vectors depend on.
    resume
        Continue from the checkpoint of an earlier call with the same files, which are compared byte by byte, and the
        same options.
    threads
        How many to use; all cores if not given. With one, the same text, options and seed give the same bytes.
    dtype
        Numbers of the store: ``float32`` or ``float16``.
    engine
        Where words and n-grams are counted; in this process if not given. Workers must find the corpus, and the folder
        that the store goes to, under the same paths. Training itself is done here, and no number depends on the
        engine.
    after_counting
        Called once all is counted, before training begins: ``engine.close``, if the engine is to hold nothing then.
    cache
        With which key checkpoints are sealed, and whether what is there is used.
    progress
        Shows how far it is.

    Returns
    -------
    Training
        What was made. Open it with `VectorStore.open`.

    Raises
    ------
    DataError, EngineError
        If a file cannot be read or written, or the text is too small for the options.
    UsageError
        If options do not fit, or there is nothing to continue from.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "text.txt").write_text("we do not like rain\nthey do not like snow\n" * 50)
    >>> options = TrainingOptions(orders=(1, 2), dim=8, epochs=1)
    >>> made = train_vectors([folder / "text.txt"], folder / "tiny.store", options, threads=1)
    >>> made.entries, made.words
    ({1: 7, 2: 6}, 500)
    >>> VectorStore.open(made.path).ngrams([7, 8])
    ('do not', 'not like')
    """
    options = options or TrainingOptions()
    workers = resolve_threads(threads, 1, worth=1)
    number_type(dtype)
    _check_paths(corpus, out)
    tokenizer(options.tokenize)
    cache = cache or Cache()
    resume = resume and not cache.anew
    folder = Folder(out, options, cache, resume=resume)
    run = _Run(corpus, out, options, folder, workers, dtype, progress or Bars(quiet=True), cache)
    with cache.checked(), folder.locked():
        counted = run.resumed(engine or InThisProcess()) if resume else run.count(engine or InThisProcess())
        if after_counting is not None:
            after_counting()
        try:
            return run.train(counted)
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt(f"interrupted; continue with --resume, or remove {folder.path}") from stop


def _check_paths(corpus: Sequence[PathLike], out: PathLike) -> None:
    """Raise an error for paths that cannot be read or written, before hours are spent."""
    if isinstance(corpus, str | Path) or not corpus:
        raise UsageError("the corpus is a list of files; give at least one")
    check_standard_input_once(corpus)
    if is_standard(out):
        raise UsageError("vectors cannot go to standard output; give a file")
    check_writable(out)
    for path in corpus:
        if counts.comes_once(path):
            continue
        with open_bytes(path):
            pass
        if paths.same_file(path, out):
            raise UsageError(f"{name_of(out)} is part of the corpus and would be lost; write to another file")


@dataclass(slots=True)
class _Run:
    """One training run, from counting to the store."""

    corpus: Sequence[PathLike]
    out: PathLike
    options: TrainingOptions
    folder: Folder
    threads: int
    dtype: Precision
    shown: Bars
    cache: Cache

    def resumed(self, engine: Engine) -> Counted:
        """Read the corpus only to identify it, and return what was counted of it."""
        ranges = counts.text_ranges(self.corpus, engine)
        self.folder.corpus = counts.corpus_identity(
            ranges, engine, self.shown.stage("comparing", len(ranges), " ranges")
        )
        return self.folder.read_counts()

    def count(self, engine: Engine) -> Counted:
        """Count words and n-grams, and write the first checkpoint."""
        try:
            counted = counts.count_corpus(self.corpus, self.folder, self.options, engine, self.shown)
            self.folder.write_counts(counted)
        except BaseException:
            self.folder.remove()
            raise
        return counted

    def train(self, counted: Counted) -> Training:
        """Train all models that are not finished, and write the store."""
        materials = _materials(self.folder, counted.levels, self.options)
        losses: tuple[float, ...] = ()
        for number, material in enumerate(materials):
            if finished := self.folder.read_model(number, len(material.counts)):
                self.cache.count(self.options.epochs, self.options.epochs)
            else:
                finished = self._train_model(number, material)
                self.folder.write_model(number, *finished)
            losses += finished[1]
            del finished  # one at a time, to save memory
        made = self._write_store(counted, [len(material.counts) for material in materials], losses)
        self.folder.remove()
        return made

    def _train_model(self, number: int, material: Material) -> tuple[Rows, tuple[float, ...]]:
        """Train one model to completion, and return its vectors and losses."""
        state, matrices = self.folder.read_state(number, material)
        model = Model(material, self.options, matrices)
        del matrices
        blocks, places, epochs = material.blocks, material.places, self.options.epochs
        self.cache.count(state.epoch, epochs)
        a_call = max(_BLOCKS_A_CALL, _BLOCKS_A_THREAD * self.threads)
        name = "training" if self.options.mode == "joint" else f"training, order {material.orders[0]}"
        tell = self.shown.stage(name, epochs * places, " words")
        tell(state.epoch * places + state.block * places // blocks)
        with _interrupts() as interrupted:
            while state.epoch < epochs:
                while state.block < blocks:
                    last = min(state.block + a_call, blocks)
                    _, pairs, loss = model.train(state.epoch, state.block, last, self.threads)
                    tell(last * places // blocks - state.block * places // blocks)
                    self.shown.note(f"epoch {state.epoch + 1} of {epochs}, loss {loss / max(pairs, 1):.3f}")
                    state = replace(state, block=last, pairs=state.pairs + pairs, loss=state.loss + loss)
                    if interrupted.is_set():
                        self.folder.write_state(number, state, (model.input, model.output))
                        raise KeyboardInterrupt
                if problem := _problem(model, material, state):
                    self.folder.remove()  # it cannot be continued usefully
                    raise DataError(problem)
                state = state.after_epoch()
                if state.epoch < epochs:
                    self.folder.write_state(number, state, (model.input, model.output))
        return model.input[:, : self.options.dim], state.losses

    def _write_store(self, counted: Counted, rows: Sequence[int], losses: tuple[float, ...]) -> Training:
        self.shown.stage("writing", None, "")
        options, levels, total = self.options, counted.levels, counted.vocabulary.total
        words = counted.vocabulary.words()
        ngrams: list[str] = []
        seen, entries = [], {}
        for order, least in zip(options.orders, options.min_count, strict=True):
            entries[order] = levels[order - 1].at_least(least)
            ngrams += counts.spell(words, levels, order, entries[order])
            seen.append(levels[order - 1].counts[: entries[order]])
        names = ", ".join(paths.base_name(name_of(path)) for path in self.corpus)
        VectorStore.write(
            self.out,
            ngrams,
            self._all_vectors(rows),
            counts=np.concatenate(seen),
            orders=options.orders,
            options=options.to_dict() | {"corpus": names, "words": total},
            dtype=self.dtype,
        )
        path = os.fspath(self.out) if paths.is_remote(self.out) else Path(self.out)
        return Training(path=path, entries=entries, words=total, losses=losses)

    def _all_vectors(self, rows: Sequence[int]) -> Rows:
        """Return the vectors of all models, concatenated, given the rows of each."""
        vectors, first = np.empty((sum(rows) if len(rows) > 1 else 0, self.options.dim), np.float32), 0
        for number, count in enumerate(rows):
            finished = self.folder.read_model(number, count)  # one at a time, to save memory
            if finished is None:
                raise DataError(f"a model in {self.folder.path} was altered or damaged; continue with --resume")
            if len(rows) == 1:
                return finished[0]
            vectors[first : first + count] = finished[0]
            first += count
        return vectors


def _materials(folder: Folder, levels: Sequence[Level], options: TrainingOptions) -> list[Material]:
    """Return the training data of each model."""
    groups = [options.orders] if options.mode == "joint" else [(order,) for order in options.orders]
    least = dict(zip(options.orders, options.min_count, strict=True))
    materials = []
    for orders in groups:
        listed = [levels[order - 1].at_least(least[order]) for order in orders]
        seen = [levels[order - 1].counts[:count] for order, count in zip(orders, listed, strict=True)]
        files = [MappedNumbers(folder.numbers(order)) for order in orders]
        materials.append(Material(orders=orders, files=files, listed=listed, counts=np.concatenate(seen)))
    return materials


def _problem(model: Model, material: Material, state: State) -> str | None:
    """Return the problem after an epoch that more epochs could not solve, if any."""
    if state.pairs == 0:
        orders = ", ".join(map(str, material.orders))
        return (
            f"no two frequent n-grams of order {orders} stand in one line, so there is nothing to learn from; "
            "give whole sentences a line, or a smaller min-count"
        )
    for first in range(0, len(model.input), _ROWS):
        if not np.isfinite(model.input[first : first + _ROWS]).all():
            return f"the vectors grew without bounds in epoch {state.epoch + 1}; train again with a smaller alpha"
    return None


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Defer Ctrl-C to a safe point; a second one takes effect immediately. Only the main thread receives it."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def wait(_signal: int, _frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    usual = signal.signal(signal.SIGINT, wait)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, usual)
