"""Checkpoints of a training run: a cache in a folder beside the store that it will become.

::

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
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.execution.cache import SUFFIX, Entries
from trubleu.execution.serialization import typed
from trubleu.files import paths
from trubleu.files.writer import LOCK, locked
from trubleu.vectors.training.counts import Counted, Level, Vocabulary
from trubleu.vectors.training.model import matrix_rows, new_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.execution.cache import Cache
    from trubleu.files.paths import PathLike
    from trubleu.vectors.training.model import Material, Rows
    from trubleu.vectors.training.options import TrainingOptions

    Array = Callable[[str], NDArray[Any]]

_NUMBERS: Final = 1 << 22  # numbers per batch
_COLUMNS: Final = ("counts", "firsts", "seconds")


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
