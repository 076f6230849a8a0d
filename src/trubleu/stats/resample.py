"""Sums of resampled rows: the kernels, called slice by slice and for many systems side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from trubleu.native import kernels, resolve_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

Progress: TypeAlias = Callable[[int], object]
"""Called with the number of resamples just finished, so that the ``update`` of a tqdm bar fits."""

GROUP_BYTES: Final = 256 * 2**20
"""Systems are laid side by side until their columns and sums fill this much memory; then the next group begins."""

SLICE_WORK: Final = 250_000_000
"""Multiplications of one thread, some 50 ms, between two looks at Ctrl-C and two steps of progress."""

DRAW_WORK: Final = 8
"""What drawing a row costs, in multiplications."""

WORTH_THREADS: Final = 5_000_000
"""Multiplications (about a millisecond) below which starting threads costs more than it saves."""

LANES: Final = 8
"""Replicates that the kernels run together; a slice is a multiple of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """Draws that are the same for whatever they are applied to: rows of the bootstrap or bits of the randomisation.

    There are ``count`` replicates, from number ``first`` on. Replicate ``b`` depends on the seed, ``b`` and the number
    of rows only: systems see the same draws whether they lie in one array or in several, and neither threads nor slices
    change a number.
    """

    test: str
    count: int
    seed: int
    threads: int | None
    progress: Progress | None
    first: int = 0

    def sums_of_each(
        self, parts: Iterable[NDArray[np.float64]], number: int, shape: tuple[int, int]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield ``[count, k]`` sums for each of ``number`` parts of one shape ``[rows, k]``.

        Parts are taken from the iterable group by group, so they may be made only when they are needed.
        """
        rows, width = shape
        at_once = max(1, GROUP_BYTES // ((rows + self.count) * width * 8))
        waiting = iter(parts)
        finished = 0
        while group := list(islice(waiting, at_once)):
            columns = np.concatenate(group, axis=1) if len(group) > 1 else np.ascontiguousarray(group[0])
            sums = self._sums(columns, before=finished, here=len(group), number=number)
            for part in range(len(group)):
                yield sums[:, part * width : (part + 1) * width]
            finished += len(group)

    def _sums(self, columns: NDArray[np.float64], *, before: int, here: int, number: int) -> NDArray[np.float64]:
        """Return ``[count, K]`` sums for one group: the ``here`` parts after the first ``before`` of ``number``."""
        kernel = kernels.resample_sums if self.test == "bootstrap" else kernels.permute_sums
        work = columns.shape[0] * (columns.shape[1] + DRAW_WORK)
        threads = resolve_threads(self.threads, work * self.count, WORTH_THREADS)
        step = threads * max(LANES, SLICE_WORK // work // LANES * LANES)
        sums = np.empty((self.count, columns.shape[1]), dtype=np.float64)
        reported = self.count * before // number
        for start in range(0, self.count, step):
            end = min(start + step, self.count)
            sums[start:end] = kernel(columns, end - start, self.first + start, self.seed, threads)
            if self.progress is not None:
                finished = (self.count * before + end * here) // number
                self.progress(finished - reported)
                reported = finished
        return sums
