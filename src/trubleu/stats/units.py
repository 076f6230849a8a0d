"""Random groups of segments (units), and the sums of each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from trubleu.errors import DataError, UsageError, counted, nearest
from trubleu.native import kernels, resolve_threads
from trubleu.stats import checks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

UnitKind: TypeAlias = Literal["shuffle", "bootstrap"]

UNIT_KINDS: Final = ("shuffle", "bootstrap")

WORTH_THREADS: Final = 5_000_000
"""Additions (about a millisecond) below which starting threads costs more than it saves."""

DRAW_WORK: Final = 16
"""Cost of drawing a row, in additions."""

MOST_ITEMS: Final = 2**32 - 2
"""Maximum rows or items of the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDraws:
    """Random assignments of the rows of a table to units of a fixed number of rows.

    A *shuffle* puts all rows in a random order and splits it into units. A *bootstrap* replicate draws items with
    replacement, the same sequence for all tables that share the items: each table takes as many of them as it has rows,
    skipping items that it has no row for; then its rows are shuffled independently and split.

    Draw ``d`` of a table depends only on the seed, ``d``, the table's ``stream`` and, in the bootstrap, its items:
    neither threads nor slices of the draws change a number, and tables of one length with the same stream see the same
    draws. A unit's rows are added in the order in which they were drawn.

    Examples
    --------
    >>> draws = UnitDraws(unit=2, draws=3)
    >>> sums = draws.sums([[1.0, 1.0], [10.0, 1.0], [100.0, 1.0], [1000.0, 1.0], [10000.0, 1.0]], stream=0)
    >>> sums.shape, sums[:, :, 1].tolist()
    ((3, 2, 2), [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]])
    >>> draws.units(5), UnitDraws(unit=2, partial=True).sizes(5).tolist()
    (2, [2, 2, 1])
    """

    kind: UnitKind = "shuffle"
    """``"shuffle"`` or ``"bootstrap"``."""
    unit: int = 100
    """Rows per unit."""
    draws: int = 1000
    """Number of random assignments."""
    seed: int = 12345
    """Seed, from 0 to 2^64 − 1."""
    partial: bool = False
    """Keep the remaining rows, fewer than a unit, as the last unit."""
    threads: int | None = None
    """``None`` uses all available cores if there is enough work."""

    def __post_init__(self) -> None:
        if self.kind not in UNIT_KINDS:
            raise UsageError(f"there is no kind of draw {self.kind!r}; {nearest(str(self.kind), UNIT_KINDS)}")
        if self.unit < 1:
            raise UsageError(f"unit must be 1 or more, not {self.unit}")
        checks.at_least_one(self.draws, "draws")
        checks.seed_range(self.seed)
        resolve_threads(self.threads, 0)

    def units(self, n: int) -> int:
        """Return the number of units of ``n`` rows.

        Raises
        ------
        UsageError
            If there are fewer rows than make a unit.
        """
        if self.unit > n:
            raise UsageError(
                f"a unit of {counted(self.unit, 'segment')} is larger than the data, which has {n}; use a smaller one"
            )
        return -(-n // self.unit) if self.partial else n // self.unit

    def sizes(self, n: int) -> NDArray[np.int64]:
        """Return the number of rows of each unit: ``unit``, except for the last if ``partial``."""
        sizes = np.full(self.units(n), self.unit, dtype=np.int64)
        sizes[-1] = min(self.unit, n - self.unit * (len(sizes) - 1))
        return sizes

    def sums(
        self,
        rows: ArrayLike,
        *,
        stream: int,
        items: ArrayLike | None = None,
        universe: int | None = None,
        first: int = 0,
        count: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the sums of the rows of each unit, ``float64[count, units, K]``.

        Parameters
        ----------
        rows
            ``float64[n, K]``. Twice its memory is used for the time of the call.
        stream
            Which order of its own a table gets, a number from 0 to 2^64 − 1.
        items
            The item, from 0 to ``universe`` − 1, that each row belongs to, each at most once; without it, row i is of
            item i. Only the bootstrap looks at them.
        universe
            How many items there are in all tables together; without it, as many as there are rows.
        first, count
            Which of the draws to return; all of them unless told otherwise.

        Raises
        ------
        UsageError
            If a unit is larger than the table or there are no such draws.
        DataError
            If the table or the items cannot be used.
        """
        table = checks.usable(rows, "the table")
        n = len(table)
        units = self.units(n)
        number = self.draws - first if count is None else count
        if first < 0 or number < 0 or first + number > self.draws:
            raise UsageError(f"there are {self.draws} draws; {number} from number {first} on (counted from 0) are not")
        if not 0 <= stream < 2**64:
            raise UsageError(f"stream must be between 0 and 2^64 - 1, not {stream}")
        all_items = n if universe is None else universe
        numbered = self._items(items, n, all_items)
        if n > MOST_ITEMS or all_items > MOST_ITEMS:
            raise DataError(f"at most {counted(MOST_ITEMS, 'segment')} can be put into units")
        if number == 0:
            return np.empty((0, units, table.shape[1]))
        threads = resolve_threads(self.threads, number * n * (table.shape[1] + DRAW_WORK), WORTH_THREADS)
        return kernels.unit_sums(
            table, numbered, all_items, self.unit, self.partial, self.seed, stream, first, number, threads
        )

    def _items(self, items: ArrayLike | None, n: int, universe: int) -> NDArray[np.int64] | None:
        """Return the item of each row, or ``None`` if items do not matter."""
        if self.kind == "shuffle":
            return None
        numbers = np.arange(n) if items is None else np.asarray(items)
        valid = numbers.dtype.kind in "iu" and numbers.shape == (n,) and len(np.unique(numbers)) == n
        if not valid or (n and not 0 <= numbers.min() <= numbers.max() < universe):
            raise DataError(
                f"items must be {n} different whole numbers from 0 to {universe - 1}, the item of each row of the table"
            )
        return np.ascontiguousarray(numbers, dtype=np.int64)
