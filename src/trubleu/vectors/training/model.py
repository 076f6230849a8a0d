"""One model in training: its two matrices, and the kernel that updates them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.native import kernels
from trubleu.vectors.training.options import LEAST_ALPHA

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.vectors.training.counts import Counts, MappedNumbers, Numbers
    from trubleu.vectors.training.options import TrainingOptions

    Rows = NDArray[np.float32]

_LANES: Final = 8  # rows are padded to a multiple of this
_CACHE_LINE: Final = 64
_ALWAYS: Final = 2**32 - 1
_NOISE_POWER: Final = 0.75
_BLOCKS: Final = 64  # segmented per batch, to count units


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The training data of a model.

    Attributes
    ----------
    orders
        The lengths of its n-grams: one, or 1 and others.
    files
        For each order, the number of the n-gram that begins at each place of the corpus.
    listed
        For each order, how many n-grams are in the vocabulary: numbers below that.
    counts
        How often each n-gram was seen, those of all orders one after the other.
    """

    orders: tuple[int, ...]
    files: list[MappedNumbers]
    listed: list[int]
    counts: Counts

    @property
    def places(self) -> int:
        """Number of words and sentence ends in the corpus."""
        return len(self.files[0].numbers)

    @property
    def blocks(self) -> int:
        """Number of blocks into which the kernel splits the corpus."""
        return kernels.training_blocks(self.places)


class Model:
    """Vectors in training.

    Parameters
    ----------
    material
        What they are trained on.
    options
        How.
    matrices
        Input and output so far, as `new_rows` makes them, from a checkpoint; None to begin.

    Attributes
    ----------
    input, output
        The matrices. Their rows are longer than vectors: padded with zeros, which stay zeros.
    """

    def __init__(self, material: Material, options: TrainingOptions, matrices: tuple[Rows, Rows] | None = None) -> None:
        stream = 0 if options.mode == "joint" else material.orders[0]
        words_out = options.output == "words"
        if matrices is None:
            rows, output_rows = matrix_rows(material, options)
            matrices = new_rows(rows, options.dim), new_rows(output_rows, options.dim)
            kernels.fill_first_vectors(matrices[0], options.dim, options.seed, stream)
            matrices[1].fill(0)
        join = join_thresholds(material.counts, options.beta)

        def kernel(units: NDArray[np.float64]) -> kernels.SkipGram:
            noise = units[: len(self.output)] ** _NOISE_POWER
            keep = keep_thresholds(units, options.sample)
            sizes = options.dim, options.window, options.negative
            return kernels.SkipGram(*matrices, noise, keep, join, *sizes, words_out, options.seed, stream)

        self.input, self.output = matrices
        self._material = material
        self._options = options
        self._levels = [file.numbers for file in material.files], list(material.orders), material.listed
        counts = material.counts.astype(np.float64)
        self._kernel = kernel(counts)
        if options.mode == "joint":
            units = self.count_units(options.epochs)
            if words_out:  # single words are predicted everywhere, also inside n-grams
                units[: material.listed[0]] = counts[: material.listed[0]]
            self._kernel = kernel(units)

    def count_units(self, epoch: int) -> NDArray[np.float64]:
        """Count how often each entry occurs in the segmentation of one epoch; at least once."""
        units = np.zeros(len(self._material.counts))
        for first in range(0, self._material.blocks, _BLOCKS):
            last = min(first + _BLOCKS, self._material.blocks)
            entries, _ = self.segment(epoch, first, last)
            units += np.bincount(entries, minlength=len(units))
            self._release()
        return np.maximum(units, 1)

    def segment(self, epoch: int, first: int, last: int) -> tuple[Numbers, Counts]:
        """Return the entries into which an epoch segments some blocks of the corpus, and their offsets."""
        return self._kernel.segment(*self._levels, epoch, first, last)

    def train(self, epoch: int, first: int, last: int, threads: int) -> tuple[int, int, float]:
        """Train on a range of blocks of the corpus.

        Returns
        -------
        tuple of int, int and float
            Entries seen, pairs trained, and the sum of their losses.
        """
        options = self._options
        step = (options.alpha - LEAST_ALPHA) / (options.epochs * self._material.blocks)
        done = self._kernel.train(*self._levels, epoch, first, last, options.alpha, step, threads)
        self._release()
        return done

    def _release(self) -> None:
        """Release the memory of the corpus except the current block."""
        for file in self._material.files:
            file.release()


def matrix_rows(material: Material, options: TrainingOptions) -> tuple[int, int]:
    """Return the number of rows of the two matrices of a model."""
    entries = len(material.counts)
    return entries, material.listed[0] if options.output == "words" else entries


def new_rows(rows: int, dimensions: int) -> Rows:
    """Return an uninitialised matrix for vectors, with rows aligned for the kernel."""
    stride = -(-dimensions // _LANES) * _LANES
    room = np.empty(rows * stride + _CACHE_LINE // 4, np.float32)
    first = -room.ctypes.data % _CACHE_LINE // 4
    return room[first : first + rows * stride].reshape(rows, stride)


def keep_thresholds(counts: NDArray[np.float64], sample: float) -> Numbers:
    """Return the probability, times 2³², of keeping each entry, as in word2vec's subsampling.

    Examples
    --------
    >>> (keep_thresholds(np.array([900.0, 90.0, 10.0]), 0.01) / 2**32).round(3).tolist()
    [0.117, 0.444, 1.0]
    """
    if sample == 0:
        return np.full(len(counts), _ALWAYS, np.uint32)
    enough = sample * counts.sum()
    return _thresholds((np.sqrt(counts / enough) + 1) * enough / counts)


def join_thresholds(counts: Counts, beta: float) -> Numbers:
    """Return the probability, times 2³², that an n-gram with this count is a candidate for one entry.

    Examples
    --------
    >>> (join_thresholds(np.array([50, 10_000]), 0.125) / 2**32).round(3).tolist()
    [0.613, 0.316]
    """
    return _thresholds(counts.astype(np.float64) ** -beta)


def _thresholds(probabilities: NDArray[np.float64]) -> Numbers:
    return np.minimum(np.floor(probabilities * 2**32), _ALWAYS).astype(np.uint32)
