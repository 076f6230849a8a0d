"""Train n-gram vectors from text: skip-gram with negative sampling (Mikolov et al. 2013)."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.execution.cache import Cache
from trubleu.execution.local import InThisProcess
from trubleu.files import paths
from trubleu.files.lines import open_bytes
from trubleu.files.paths import check_standard_input_once, is_standard, name_of
from trubleu.files.writer import check_writable
from trubleu.native import resolve_threads
from trubleu.progress import Bars
from trubleu.text import tokenizer
from trubleu.vectors.store import VectorStore, number_type
from trubleu.vectors.training.checkpoint import Folder
from trubleu.vectors.training.counts import (
    MappedNumbers,
    comes_once,
    corpus_identity,
    count_corpus,
    spell,
    text_ranges,
)
from trubleu.vectors.training.model import Material, Model
from trubleu.vectors.training.options import TrainingOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.execution import Engine
    from trubleu.files.paths import PathLike
    from trubleu.vectors.store import Precision
    from trubleu.vectors.training.checkpoint import State
    from trubleu.vectors.training.counts import Counted, Level
    from trubleu.vectors.training.model import Rows

_BLOCKS_A_CALL: Final = 32  # a few tenths of a second; Ctrl-C and progress are handled in between
_BLOCKS_A_THREAD: Final = 16  # minimum: threads wait for each other at the end of a call
_ROWS: Final = 1 << 14  # matrix rows checked per batch


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
        if comes_once(path):
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
        ranges = text_ranges(self.corpus, engine)
        self.folder.corpus = corpus_identity(ranges, engine, self.shown.stage("comparing", len(ranges), " ranges"))
        return self.folder.read_counts()

    def count(self, engine: Engine) -> Counted:
        """Count words and n-grams, and write the first checkpoint."""
        try:
            counted = count_corpus(self.corpus, self.folder, self.options, engine, self.shown)
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
        counts, entries = [], {}
        for order, least in zip(options.orders, options.min_count, strict=True):
            entries[order] = levels[order - 1].at_least(least)
            ngrams += spell(words, levels, order, entries[order])
            counts.append(levels[order - 1].counts[: entries[order]])
        names = ", ".join(paths.base_name(name_of(path)) for path in self.corpus)
        VectorStore.write(
            self.out,
            ngrams,
            self._all_vectors(rows),
            counts=np.concatenate(counts),
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
        counts = [levels[order - 1].counts[:count] for order, count in zip(orders, listed, strict=True)]
        materials.append(
            Material(
                orders=orders,
                files=[MappedNumbers(folder.numbers(order)) for order in orders],
                listed=listed,
                counts=np.concatenate(counts),
            )
        )
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
