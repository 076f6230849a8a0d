"""Checkpoints of a training run: a folder beside the store that it will become.

::

    V.training/
        vocabulary    words, and n-grams as pairs; checksums of the numbered corpus
        order-N.ids   the corpus as numbers of n-grams of N words
        …             parts of a count that is running (`trubleu.vectors.training.counts`)
        model-N.done  vectors of a finished model
        checkpoint    options, hashes of the corpus, the training state, and the two matrices
        lock          held by the process that writes here

`vocabulary`, `model-N.done` and `checkpoint` are files of `trubleu.files.arrays`, written atomically. They are sealed
with the key of `trubleu.execution.cache`, and contain a hash of the corpus and options, so files of different runs
cannot be confused. Training can be resumed once `checkpoint` exists.
"""

from __future__ import annotations

import math
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.files import paths
from trubleu.files.arrays import ArrayFile, Kind, write_arrays
from trubleu.files.writer import LOCK, locked
from trubleu.native import MAX_ORDER
from trubleu.vectors.training.counts import Level, Vocabulary
from trubleu.vectors.training.model import new_rows
from trubleu.vectors.training.number_files import MappedNumbers, Parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.execution.cache import Cache
    from trubleu.files.paths import PathLike
    from trubleu.vectors.training.model import Rows
    from trubleu.vectors.training.options import TrainingOptions

KIND: Final = Kind(
    magic=b"\x89TBT\r\n\x1a\n",
    version=3,
    name="part of a training of vectors",
    remedy="remove its folder and train again",
)


_NUMBERS: Final = 1 << 22  # numbers per batch


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The progress of a training run.

    Attributes
    ----------
    model
        Which model it is at; in mode separate there is one for each order.
    epoch, block
        Which epoch of that model, and which part of the corpus comes next.
    pairs, loss
        Pairs trained in this epoch so far, and the sum of their losses.
    losses
        The mean loss of each epoch that is over, model after model.
    """

    model: int = 0
    epoch: int = 0
    block: int = 0
    pairs: int = 0
    loss: float = 0.0
    losses: tuple[float, ...] = ()

    def after_epoch(self) -> State:
        """Return the state at the beginning of the next epoch."""
        losses = (*self.losses, self.loss / self.pairs)
        return State(model=self.model, epoch=self.epoch + 1, losses=losses)

    def after_model(self) -> State:
        """Return the state at the beginning of the next model."""
        return replace(self, model=self.model + 1, epoch=0)


class Folder:
    """The folder of a training run.

    Parameters
    ----------
    out
        The store that the training will become.
    cache
        Knows the key.

    Attributes
    ----------
    path
        Where it is.
    training
        What tells the training from another; the checkpoint has it.
    """

    def __init__(self, out: PathLike, cache: Cache) -> None:
        # Its files are memory-mapped, so it is local even if the store is remote.
        self.path = Path(f"{paths.base_name(out) if paths.is_remote(out) else os.fspath(out)}.training")
        self._kind = replace(KIND, remedy=f"remove the folder {self.path} and train again")
        self._checkpoint = self.path / "checkpoint"
        self._vocabulary = self.path / "vocabulary"
        self._cache = cache
        self._key: bytes | None = None
        self.training = ""
        self._resume = False

    @contextmanager
    def locked(self, *, resume: bool) -> Iterator[None]:
        """Lock the folder against other processes; it is created unless resuming.

        Raises
        ------
        UsageError
            If there is nothing to continue.
        DataError
            If another process writes there, or nobody may.
        """
        self._resume = resume
        if resume and not self._checkpoint.exists():
            raise UsageError(f"there is no checkpoint in {self.path}; train without --resume")
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise DataError(f"the folder {self.path} cannot be created: {error.strerror or error}") from error
        with locked(self.path):
            yield

    @property
    def key(self) -> bytes:
        """The key that seals all files."""
        if self._key is None:
            self._key = self._cache.key(self.path, resume=self._resume)
        return self._key

    def parts(self) -> Parts:
        """Return the parts of a count, as workers find them."""
        return Parts(str(self.path.absolute()), self.key)

    def begin(self) -> None:
        """Remove the files of an earlier run that has no checkpoint.

        Raises
        ------
        UsageError
            If there is a checkpoint, which may have taken days, unless all is to be computed anew.
        DataError
            If the folder cannot be emptied.
        """
        if self._checkpoint.exists() and not self._cache.anew:
            raise UsageError(
                f"{self.path} holds a training that was not finished; continue it with --resume, or remove that folder"
            )
        try:
            self._checkpoint.unlink(missing_ok=True)  # first, as it validates the others
            for path in self.path.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path.name != LOCK:
                    path.unlink()
        except OSError as error:
            raise DataError(f"the folder {self.path} cannot be emptied: {error.strerror or error}") from error

    def remove(self) -> None:
        """Remove the folder and its contents."""
        shutil.rmtree(self.path, ignore_errors=True)

    def numbers(self, order: int) -> Path:
        """Return the file with the corpus as n-grams of this length."""
        return self.path / f"order-{order}.ids"

    def map_numbers(self, order: int) -> MappedNumbers:
        """Memory-map the corpus as n-grams of this length.

        Raises
        ------
        DataError
            If the file is not there, or is not what was written.
        """
        file = self._open(self._vocabulary)
        path = self.numbers(order)
        try:
            mapped = MappedNumbers(path)
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read; {self._kind.remedy}") from error
        fits = len(mapped.numbers) == file.header.get("places")
        with _fields(file):
            checksum = file.header["checksums"][str(order)]
        if not fits or mapped.checksum() != checksum:
            what = "its checksum" if fits else "its size"
            raise DataError(f"{path} was altered or damaged ({what} does not fit); {self._kind.remedy}")
        return mapped

    def write_vocabulary(self, vocabulary: Vocabulary, levels: Sequence[Level], checksums: Mapping[int, str]) -> None:
        """Write the vocabulary, once for all epochs, with the checksums of the trained orders."""
        arrays: dict[str, Any] = {"heap": vocabulary.heap, "begins": vocabulary.begins}
        for level in levels:
            arrays |= {
                f"counts-{level.order}": level.counts,
                f"firsts-{level.order}": level.firsts,
                f"seconds-{level.order}": level.seconds,
            }
        size = self.numbers(len(levels)).stat().st_size
        header = {
            "orders": len(levels),
            "total": vocabulary.total,
            "places": size // np.dtype(np.uint32).itemsize,
            "checksums": {str(order): checksum for order, checksum in checksums.items()},
        }
        self._write(self._vocabulary, header, arrays)

    def tidy(self, orders: Sequence[int]) -> None:
        """Remove files only needed for counting, once there is a checkpoint; ``orders`` are the trained ones."""
        kept = {self._vocabulary, self._checkpoint, self.path / LOCK, *(self.numbers(order) for order in orders)}
        for path in self.path.iterdir():
            if path not in kept:
                path.unlink(missing_ok=True)

    def read_vocabulary(self) -> tuple[Vocabulary, list[Level]]:
        """Read what `write_vocabulary` wrote.

        Raises
        ------
        DataError
            If it is not what was written.
        """
        file = self._open(self._vocabulary)
        levels: list[Level] = []
        with _fields(file):
            for order in range(1, _whole(file.header["orders"], MAX_ORDER) + 1):
                names = (("counts", "<u8"), ("firsts", "<u4"), ("seconds", "<u4"))
                level = Level(order=order, **{name: _array(file, f"{name}-{order}", dtype) for name, dtype in names})
                level.check(len(levels[-1].counts) if levels else 0)
                levels.append(level)
            heap, begins = _array(file, "heap", "|u1"), _array(file, "begins", "<u8")
            vocabulary = Vocabulary(heap=heap, begins=begins, total=_whole(file.header["total"]))
            vocabulary.check(len(levels[0].counts))
        return vocabulary, levels

    def write_finished(self, model: int, vectors: Rows) -> None:
        """Write the vectors of a finished model."""
        self._write(self._finished(model), {"rows": len(vectors)}, {"vectors": vectors.reshape(-1)})

    def read_finished(self, model: int, rows: int, dimensions: int) -> Rows:
        """Read what `write_finished` wrote.

        Raises
        ------
        DataError
            If it is not what was written.
        """
        file = self._open(self._finished(model))
        with _fields(file):
            return _finite(_array(file, "vectors", "<f4")).reshape(rows, dimensions)

    def write(
        self, options: TrainingOptions, corpus: Sequence[tuple[str, str]], state: State, matrices: Sequence[Rows] = ()
    ) -> None:
        """Write the checkpoint, atomically replacing the previous one.

        Raises
        ------
        DataError
            If it cannot be written, for instance because the disk is full; the one before stays.
        """
        header = {"options": options.to_dict(), "corpus": corpus, "state": asdict(state)}
        arrays = {f"matrix-{number}": matrix.reshape(-1) for number, matrix in enumerate(matrices)}
        self._write(self._checkpoint, header, arrays)

    def check_options(self, options: TrainingOptions) -> None:
        """Raise an error when resuming with other options than those of the checkpoint.

        Raises
        ------
        UsageError
            If one differs, which is named.
        DataError
            If the checkpoint is not what was written.
        """
        file = self._open(self._checkpoint)
        with _fields(file):
            before = {**file.header["options"]}
        for name, value in options.to_dict().items():
            if name == "tokenizer" and value != before.get(name):  # its name does not differ, or that was said
                raise DataError(
                    f"{self.path} was made with the tokenizer {before.get(name)}, which is {value} now; "
                    f"{self._kind.remedy}"
                )
            if value != before.get(name):
                raise UsageError(
                    f"--{name.replace('_', '-')} is {value}, but {self.path} was made with {before.get(name)}; "
                    "continue with the same options"
                )

    def read(
        self, options: TrainingOptions, corpus: Sequence[tuple[str, str]]
    ) -> tuple[State, tuple[Rows, Rows] | None]:
        """Read the checkpoint of a run with these options and the same corpus, according to `fingerprints`.

        Raises
        ------
        UsageError
            If it was made from another corpus.
        DataError
            If it is not what was written.
        """
        file = self._open(self._checkpoint)
        with _fields(file):
            known = [(str(name), str(content)) for name, content in file.header["corpus"]]
        if known != [*corpus]:
            names = ", ".join(name for name, _ in known)
            raise UsageError(f"{self.path} was made from other text; continue with the same files, unchanged: {names}")
        with _fields(file):
            state = _state(file.header["state"], options)
            if not file.lengths:
                return state, None
            matrices = []
            for number in range(2):
                flat = _finite(_array(file, f"matrix-{number}", "<f4"))
                stride = new_rows(1, options.dim).shape[1]
                matrix = new_rows(len(flat) // stride, options.dim)
                matrix.reshape(-1)[:] = flat
                matrices.append(matrix)
        return state, (matrices[0], matrices[1])

    def check_fits(
        self, state: State, matrices: tuple[Rows, Rows] | None, models: Sequence[tuple[int, int, int]]
    ) -> None:
        """Raise an error for a checkpoint whose state or matrices do not fit these models.

        Parameters
        ----------
        state, matrices
            What `read` returned.
        models
            How many rows both matrices of each have, and how many blocks its corpus.

        Raises
        ------
        DataError
            If they are not.
        """
        *rows, blocks = models[state.model] if state.model < len(models) else (0, 0, 0)
        if state.block > blocks or (matrices is not None and [len(each) for each in matrices] != rows):
            raise DataError(
                f"{self._checkpoint} was altered or damaged (its matrices do not fit the vocabulary); "
                f"{self._kind.remedy}"
            )

    def _write(self, path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        own = {"part": path.name, "training": self.training}
        write_arrays(path, KIND, {**own, **header}, arrays, key=self.key)

    def _open(self, path: Path) -> ArrayFile:
        if not path.exists():
            raise DataError(f"{path} is missing; {self._kind.remedy}")
        file = ArrayFile(path, self._kind, key=self.key)
        if path == self._checkpoint:
            self.training = str(file.header.get("training"))
        if (file.header.get("part"), file.header.get("training")) != (path.name, self.training):
            raise file.altered("it is of another training")
        return file

    def _finished(self, model: int) -> Path:
        return self.path / f"model-{model}.done"


@contextmanager
def _fields(file: ArrayFile) -> Iterator[None]:
    """Raise an error for a sealed file with unexpected fields."""
    try:
        yield
    except DataError:
        raise
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        raise file.altered("it has fields that cannot be") from None


def _whole(found: Any, most: float = math.inf) -> int:
    if type(found) is not int or not 0 <= found <= most:
        raise ValueError
    return found


def _array(file: ArrayFile, name: str, dtype: str) -> NDArray[Any]:
    if file.dtype(name) != dtype:
        raise ValueError
    return file.array(name)


def _finite(numbers: NDArray[Any]) -> NDArray[Any]:
    for first in range(0, len(numbers), _NUMBERS):
        if not np.isfinite(numbers[first : first + _NUMBERS]).all():
            raise ValueError
    return numbers


def _state(found: Mapping[str, Any], options: TrainingOptions) -> State:
    models = 1 if options.mode == "joint" else len(options.orders)
    losses = tuple(found["losses"])
    if not all(type(each) is float and math.isfinite(each) for each in (found["loss"], *losses)):
        raise ValueError
    return State(
        model=_whole(found["model"], models),
        epoch=_whole(found["epoch"], options.epochs),
        block=_whole(found["block"]),
        pairs=_whole(found["pairs"]),
        loss=found["loss"],
        losses=losses,
    )
