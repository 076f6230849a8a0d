"""Columns with few distinct strings: each string is stored once and rows are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class Labels(Sequence[str]):
    """A sequence of strings, each distinct one kept once.

    Attributes
    ----------
    names
        The distinct strings, in the order in which they first appear.
    codes
        For each row the place of its string in ``names``; cannot be written to.

    Examples
    --------
    >>> column = Labels(["b", "a", "b"])
    >>> column.names, column.codes.tolist(), list(column)
    (('b', 'a'), [0, 1, 0], ['b', 'a', 'b'])
    """

    __slots__ = ("codes", "names")

    names: tuple[str, ...]
    codes: NDArray[np.int64]

    def __init__(self, values: Iterable[str] = ()) -> None:
        builder = LabelBuilder()
        builder.add(values if isinstance(values, list | tuple) else list(values))
        self.names, self.codes = builder.names(), builder.codes()

    @classmethod
    def of_codes(cls, names: Sequence[str], codes: NDArray[np.int64]) -> Labels:
        """Make a column of codes into any names; names without a row are dropped, the others put into order."""
        order, renumbered = in_order(codes, len(names))
        made = cls()
        made.names = tuple(names[code] for code in order.tolist())
        made.codes = renumbered
        return made

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Labels:
        """Return the column of some rows."""
        return Labels.of_codes(self.names, self.codes[rows])

    def code(self, name: str) -> int:
        """Return the place of a name, or -1 if no row has it."""
        return self.names.index(name) if name in self.names else -1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Labels: ...
    def __getitem__(self, index: int | slice) -> str | Labels:
        if isinstance(index, slice):
            return Labels.of_codes(self.names, self.codes[index])
        return self.names[int(self.codes[index])]

    def __len__(self) -> int:
        return len(self.codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.codes, other.codes)

    def __hash__(self) -> int:
        return hash((self.names, self.codes.tobytes()))

    def __repr__(self) -> str:
        return f"<Labels: {len(self)} of {len(self.names)} names>"


class LabelBuilder:
    """Gathers a column piece by piece."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._pieces: list[NDArray[np.int64]] = []

    def add(self, values: Sequence[str]) -> NDArray[np.int64]:
        """Add some rows, and return the places of their names."""
        places = self._places
        for name in dict.fromkeys(values):
            places.setdefault(name, len(places))
        codes = np.fromiter(map(places.__getitem__, values), np.int64, len(values))
        self._pieces.append(codes)
        return codes

    def names(self) -> tuple[str, ...]:
        """Return the distinct strings so far, in the order in which they came."""
        return tuple(self._places)

    def codes(self) -> NDArray[np.int64]:
        """Return the places of all rows."""
        return frozen(np.concatenate(self._pieces) if self._pieces else np.zeros(0, np.int64))

    def build(self) -> Labels:
        """Return the column."""
        made = Labels()
        made.names, made.codes = self.names(), self.codes()
        return made


def in_order(codes: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number codes below ``count`` anew by their first appearance.

    Returns
    -------
    order, renumbered
        The codes that appear, in order, and for each row the place of its code there.

    Examples
    --------
    >>> in_order(np.array([7, 2, 7]), 8)
    (array([7, 2]), array([0, 1, 0]))
    """
    first = np.full(count, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last assignment to a code stays, which is its first row
    used = np.flatnonzero(first < len(codes))
    order = used[np.argsort(first[used])]
    place = np.zeros(count, np.int64)
    place[order] = np.arange(len(order))
    return order, frozen(place[codes])


def frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Forbid writing to an array, and return it."""
    array.setflags(write=False)
    return array
