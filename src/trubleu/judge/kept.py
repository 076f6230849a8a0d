"""What comes of a partition, and how it is kept in a file with what was warned of."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.errors import CountedWarning, DataError, TrubleuWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from trubleu.engines.keeping import Packed
    from trubleu.engines.packing import Packing

CATEGORIES: Final = {
    each.__name__: each
    for each in (*vars(builtins).values(), TrubleuWarning, CountedWarning)
    if isinstance(each, type) and issubclass(each, Warning)
}
"""Warnings that can be kept: Python's and ours."""

_LARGEST_LINE: Final = 2**31


class Warned(NamedTuple):
    """A warning, as it is sent."""

    message: Any
    category: type[Warning]
    filename: str
    line: int

    @property
    def what(self) -> tuple[object, ...]:
        """What two of the same kind have in common; messages are never equal."""
        return self.category, str(self.message), self.filename, self.line


class Told(NamedTuple):
    """What a function found, or what it has against the data, and what it warned of meanwhile."""

    found: Any
    warned: list[Warned]


@dataclass(frozen=True, slots=True)
class ToldPacking:
    """Packs all that was told, unless it is an error or somebody else's warning, which then come again.

    Attributes
    ----------
    packing
        Of what is found.
    """

    packing: Packing

    def pack(self, told: Told) -> Packed | None:
        """Return what a file holds, or None."""
        known = all(CATEGORIES.get(type(each.message).__name__) is type(each.message) for each in told.warned)
        if isinstance(told.found, DataError) or not known:
            return None
        warned = [(type(each.message).__name__, each.message.args, each.filename, each.line) for each in told.warned]
        return self.packing.pack((told.found, warned))

    def unpack(self, header: dict[str, Any], array: Callable[[str], NDArray[Any]]) -> Told:
        """Return what was told."""
        found, warned = self.packing.unpack(header, array)
        return Told(found, [_warned(*each) for each in warned])


def _warned(category: str, arguments: tuple[Any, ...], filename: str, line: int) -> Warned:
    kind = CATEGORIES[category]
    if not isinstance(filename, str) or type(line) is not int or not 0 <= line < _LARGEST_LINE:
        raise TypeError("this is no place in a file")
    return Warned(kind(*arguments), kind, filename, line)
