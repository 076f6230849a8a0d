"""One model in training: two matrices, and the kernel that works on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.native import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.vectors.training.counts import Counts
    from trubleu.vectors.training.number_files import MappedNumbers, Numbers
    from trubleu.vectors.training.options import TrainingOptions

    Rows = NDArray[np.float32]

_LANES: Final = 8  # rows are filled up to a multiple of it
_CACHE_LINE: Final = 64
_ALWAYS: Final = 2**32 - 1
_NOISE_POWER: Final = 0.75
_BLOCKS: Final = 64  # cut at once, to count units


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a model is trained on.

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
        """How many words and ends of sentences the corpus has."""
        return len(self.files[0].numbers)

    @property
    def blocks(self) -> int:
        """Into how many parts the kernel cuts the corpus."""
        return kernels.training_blocks(self.places)


@dataclass(slots=True)
class Model:
    """Vectors in training.

    Rows of the matrices are longer than vectors: filled up with zeros, which stay zeros.
    """

    input: Rows
    output: Rows
    _kernel: kernels.SkipGram
    _material: Material
    _options: TrainingOptions
    _steps: int = field(init=False)

    def __post_init__(self) -> None:
        self._steps = self._options.epochs * self._material.blocks

    @classmethod
    def build(cls, material: Material, options: TrainingOptions, matrices: tuple[Rows, Rows] | None = None) -> Model:
        """Make a model, or continue with matrices that a checkpoint holds.

        Parameters
        ----------
        material
            What it is trained on.
        options
            How.
        matrices
            Input and output so far, as `new_rows` makes them.
        """
        entries = len(material.counts)
        stream = 0 if options.mode == "joint" else material.orders[0]
        words_out = options.output == "words"
        if matrices is None:
            matrices = (
                new_rows(entries, options.dim),
                new_rows(material.listed[0] if words_out else entries, options.dim),
            )
            kernels.fill_first_vectors(matrices[0], options.dim, options.seed, stream)
            matrices[1].fill(0)
        join = join_thresholds(material.counts, options.beta)

        def kernel(units: NDArray[np.float64]) -> kernels.SkipGram:
            noise = units[: len(matrices[1])] ** _NOISE_POWER
            keep = keep_thresholds(units, options.sample)
            return kernels.SkipGram(
                *matrices,
                noise,
                keep,
                join,
                options.dim,
                options.window,
                options.negative,
                words_out,
                options.seed,
                stream,
            )

        counts = material.counts.astype(np.float64)
        model = cls(*matrices, kernel(counts), material, options)
        if options.mode == "joint":
            units = model.count_units(options.epochs)
            if words_out:  # single words are predicted wherever they stand, inside n-grams too
                units[: material.listed[0]] = counts[: material.listed[0]]
            model._kernel = kernel(units)
        return model

    def count_units(self, epoch: int) -> NDArray[np.float64]:
        """Count how often each entry comes when the corpus is cut as in one epoch; at least once."""
        units = np.zeros(len(self._material.counts))
        for first in range(0, self._material.blocks, _BLOCKS):
            last = min(first + _BLOCKS, self._material.blocks)
            entries, _ = self.segment(epoch, first, last)
            units += np.bincount(entries, minlength=len(units))
            self._release()
        return np.maximum(units, 1)

    def segment(self, epoch: int, first: int, last: int) -> tuple[Numbers, Counts]:
        """Return the entries into which an epoch cuts some blocks of the corpus, and where each begins."""
        return self._kernel.segment(*self._levels, epoch, first, last)

    def train(self, epoch: int, first: int, last: int, threads: int) -> tuple[int, int, float]:
        """Train on some blocks of the corpus.

        Returns
        -------
        tuple of int, int and float
            Entries seen, pairs trained, and the sum of their losses.
        """
        options = self._options
        step = (options.alpha - options.least_alpha) / self._steps
        done = self._kernel.train(*self._levels, epoch, first, last, options.alpha, step, threads)
        self._release()
        return done

    def _release(self) -> None:
        """Keep no more of the corpus in memory than what is being worked on."""
        for file in self._material.files:
            file.release()

    @property
    def _levels(self) -> tuple[list[Numbers], list[int], list[int]]:
        numbers = [file.numbers for file in self._material.files]
        return numbers, list(self._material.orders), self._material.listed


def new_rows(rows: int, dimensions: int) -> Rows:
    """Return a matrix with room for vectors, every row aligned as the kernel wants it; its numbers are arbitrary."""
    stride = -(-dimensions // _LANES) * _LANES
    room = np.empty(rows * stride + _CACHE_LINE // 4, np.float32)
    first = -room.ctypes.data % _CACHE_LINE // 4
    return room[first : first + rows * stride].reshape(rows, stride)


def keep_thresholds(counts: NDArray[np.float64], sample: float) -> Numbers:
    """Return with which probability, times 2³², each entry is kept, as word2vec computes it.

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
    """Return with which probability, times 2³², an n-gram seen so often is a candidate for one entry.

    Examples
    --------
    >>> (join_thresholds(np.array([50, 10_000]), 0.125) / 2**32).round(3).tolist()
    [0.613, 0.316]
    """
    return _thresholds(counts.astype(np.float64) ** -beta)


def _thresholds(probabilities: NDArray[np.float64]) -> Numbers:
    return np.minimum(np.floor(probabilities * 2**32), _ALWAYS).astype(np.uint32)
