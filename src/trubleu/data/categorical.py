"""Columns with few distinct strings: each string is stored once and rows are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from trubleu.errors import DataError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
        values = values if isinstance(values, list | tuple) else list(values)
        self.names = tuple(dict.fromkeys(values))
        place_of = {name: place for place, name in enumerate(self.names)}
        self.codes = frozen(np.fromiter(map(place_of.__getitem__, values), np.int64, len(values)))

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


def check_names(column: Labels, what: str, place: Callable[[int], str], blank: str | None = None) -> None:
    """Raise an error for what is not a string, or blank; ``blank`` says what such a row should have."""
    names: tuple[Any, ...] = column.names
    for code, name in enumerate(names):
        wrong = None
        if not isinstance(name, str):
            wrong = f"{what} must be a string, not {shown(name)}"
        elif blank and not name.strip():
            wrong = f"{what} is empty; {blank}"
        if wrong:
            raise DataError(f"{place(int((column.codes == code).argmax()))}: {wrong}")


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
