"""A training that can be continued: a folder beside the store that it will become.

::

    V.training/
        vocabulary    words, and n-grams as pairs; checksums of the corpus as numbers
        order-N.ids   the corpus as numbers of n-grams of N words
        …             parts of a count that is not finished (`trubleu.vectors.training.corpus_counts`)
        model-N.done  vectors of a model that is finished
        checkpoint    options, how far the training is, and the two matrices

`vocabulary`, `model-N.done` and `checkpoint` are files of `trubleu.files.arrays`, so each of them is whole or is the
one before. The folder is a checkpoint from the moment when `checkpoint` is there.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.files import paths
from trubleu.files.arrays import ArrayFile, Kind, write_arrays
from trubleu.files.paths import is_standard, name_of
from trubleu.vectors.training.model import new_rows
from trubleu.vectors.training.number_files import MappedNumbers
from trubleu.vectors.training.vocabulary import Level, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.files.paths import PathLike
    from trubleu.vectors.training.model import Rows
    from trubleu.vectors.training.options import TrainingOptions

KIND: Final = Kind(
    magic=b"\x89TBT\r\n\x1a\n",
    version=2,
    name="part of a training of vectors",
    remedy="remove its folder and train again",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far a training is.

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
    """The folder of a training.

    Parameters
    ----------
    out
        The store that the training will become.
    """

    def __init__(self, out: PathLike) -> None:
        # Files in it are mapped into memory, so it is here even if the store is elsewhere.
        self.path = Path(f"{paths.base_name(out) if paths.is_remote(out) else os.fspath(out)}.training")
        self._kind = replace(KIND, remedy=f"remove the folder {self.path} and train again")
        self._checkpoint = self.path / "checkpoint"
        self._vocabulary = self.path / "vocabulary"

    def has_checkpoint(self) -> bool:
        """Return whether there is something to continue from."""
        return self._checkpoint.exists()

    def is_begun(self) -> bool:
        """Return whether an earlier training was here, even if it got no further than counting."""
        return self.path.is_dir()

    def begin(self) -> None:
        """Make the folder, without what an earlier training left there before its first checkpoint.

        Raises
        ------
        UsageError
            If there is a checkpoint, which may have taken days.
        DataError
            If the folder cannot be made.
        """
        if self.has_checkpoint():
            raise UsageError(
                f"{self.path} holds a training that was not finished; continue it with --resume, or remove that folder"
            )
        try:
            if self.path.is_dir():
                shutil.rmtree(self.path)
            self.path.mkdir()
        except OSError as error:
            raise DataError(f"the folder {self.path} cannot be made: {error.strerror or error}") from error

    def sweep(self) -> bool:
        """Remove what nobody finished writing, and return whether there is anything else."""
        if not self.path.is_dir():
            return False
        for path in self.path.glob(".trubleu-*.tmp"):
            path.unlink(missing_ok=True)
        return any(self.path.iterdir())

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def numbers(self, order: int) -> Path:
        """Return the file with the corpus as n-grams of this length."""
        return self.path / f"order-{order}.ids"

    def map_numbers(self, order: int) -> MappedNumbers:
        """Map the corpus as n-grams of this length.

        Raises
        ------
        DataError
            If the file is not there, or is not what was written.
        """
        header = self._open(self._vocabulary).header
        path = self.numbers(order)
        try:
            mapped = MappedNumbers(path)
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read; {self._kind.remedy}") from error
        fits = len(mapped.numbers) == header["places"]
        if not fits or mapped.checksum() != header["checksums"][str(order)]:
            what = "its checksum" if fits else "its size"
            raise DataError(f"{path} was altered or damaged ({what} does not fit); {self._kind.remedy}")
        return mapped

    def write_vocabulary(self, vocabulary: Vocabulary, levels: Sequence[Level], checksums: Mapping[int, str]) -> None:
        """Write the vocabulary, once for all epochs, with the checksums of the orders that are trained."""
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
        write_arrays(self._vocabulary, KIND, header, arrays)

    def tidy(self, orders: Sequence[int]) -> None:
        """Remove what was needed for counting only, once there is a checkpoint; these orders are trained."""
        kept = {self._vocabulary, self._checkpoint, *(self.numbers(order) for order in orders)}
        for path in self.path.iterdir():
            if path not in kept:
                path.unlink(missing_ok=True)

    def read_vocabulary(self) -> tuple[Vocabulary, list[Level]]:
        """Read what `write_vocabulary` wrote."""
        file = self._open(self._vocabulary)
        levels = [
            Level(
                order=order,
                counts=file.array(f"counts-{order}"),
                firsts=file.array(f"firsts-{order}"),
                seconds=file.array(f"seconds-{order}"),
            )
            for order in range(1, file.header["orders"] + 1)
        ]
        vocabulary = Vocabulary(heap=file.array("heap"), begins=file.array("begins"), total=file.header["total"])
        return vocabulary, levels

    def write_finished(self, model: int, vectors: Rows) -> None:
        """Write the vectors of a model that is finished."""
        write_arrays(self._finished(model), KIND, {"rows": len(vectors)}, {"vectors": vectors.reshape(-1)})

    def read_finished(self, model: int) -> Rows:
        """Map what `write_finished` wrote."""
        file = self._open(self._finished(model))
        vectors: Rows = file.array("vectors").reshape(file.header["rows"], -1)
        return vectors

    def write(
        self, options: TrainingOptions, corpus: Sequence[PathLike], state: State, matrices: Sequence[Rows] = ()
    ) -> None:
        """Write the checkpoint, which takes the place of the one before when it is whole.

        Raises
        ------
        DataError
            If it cannot be written, for instance because the disk is full; the one before stays.
        """
        header = {"options": options.to_dict(), "corpus": fingerprints(corpus), "state": asdict(state)}
        arrays = {f"matrix-{number}": matrix.reshape(-1) for number, matrix in enumerate(matrices)}
        write_arrays(self._checkpoint, KIND, header, arrays)

    def read(self, options: TrainingOptions, corpus: Sequence[PathLike]) -> tuple[State, tuple[Rows, Rows] | None]:
        """Read the checkpoint of a training with the same options.

        Raises
        ------
        UsageError
            If there is none, or it was made with other options or another corpus.
        """
        if not self.has_checkpoint():
            raise UsageError(f"there is no checkpoint in {self.path}; train without --resume")
        file = self._open(self._checkpoint)
        before, now = file.header["options"], options.to_dict()
        for name, value in now.items():
            if value != before.get(name):
                raise UsageError(
                    f"--{name.replace('_', '-')} is {value}, but {self.path} was made with {before.get(name)}; "
                    "continue with the same options"
                )
        if file.header["corpus"] != fingerprints(corpus):
            given = ", ".join(f"{name} ({size} bytes)" for name, size in file.header["corpus"])
            raise UsageError(f"{self.path} was made from another corpus; continue with the same files: {given}")
        state = State(**(file.header["state"] | {"losses": tuple(file.header["state"]["losses"])}))
        if not file.lengths:
            return state, None
        matrices = []
        for number in range(2):
            flat = file.array(f"matrix-{number}")
            stride = new_rows(1, options.dim).shape[1]
            matrix = new_rows(len(flat) // stride, options.dim)
            matrix.reshape(-1)[:] = flat
            matrices.append(matrix)
        return state, (matrices[0], matrices[1])

    def _open(self, path: Path) -> ArrayFile:
        if not path.exists():
            raise DataError(f"{path} is missing; {self._kind.remedy}")
        return ArrayFile(path, self._kind)

    def _finished(self, model: int) -> Path:
        return self.path / f"model-{model}.done"


def fingerprints(corpus: Sequence[PathLike]) -> list[list[str | int]]:
    """Return what tells one corpus from another without reading it: the files' names and sizes."""
    return [
        [name_of(path), 0] if is_standard(path) else [paths.base_name(path), paths.byte_size(path)] for path in corpus
    ]
