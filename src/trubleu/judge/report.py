"""What reports of several protocols share: flat rows by name, and the sentences of verdicts."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Final

from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRow:
    """What a reader must know, in one sentence."""

    schema: int = SCHEMA
    note: str


class RowsReport:
    """A report that is made of flat rows.

    Attributes
    ----------
    kinds
        The dataclass of the rows of each part, in order; parts are attributes.
    """

    __slots__ = ()
    kinds: ClassVar[Mapping[str, type[Any]]]
    notes: tuple[str, ...]

    def parts(self) -> dict[str, Sequence[Any]]:
        """Return all rows by what they are."""
        return {name: self._rows(name) for name in self.kinds}

    def _rows(self, name: str) -> Sequence[Any]:
        if name == "notes":
            return [NoteRow(note=note) for note in self.notes]
        found = getattr(self, name)
        return (found,) if name == "setting" else found

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values, ready for JSON; ``notes`` and ``setting`` are rows as well."""
        parts = {name: [{"schema": SCHEMA, **asdict(row)} for row in rows] for name, rows in self.parts().items()}
        return {"schema": SCHEMA, **parts}


POWER: Final = 1.96 + 0.84
"""Standard errors that a difference must have for a two-sided test at 5 % to find it with a power of 80 %."""

HOPELESS: Final = 100
"""How many times as much data as there is is too much to ask for."""

_NAMED: Final = 4


def data_needed(now: int, difference: float, spread: float) -> int | None:
    """Return how much data it takes to find a difference with a power of 80 %; None if no amount does.

    Parameters
    ----------
    now
        How much there is.
    difference, spread
        What was found with it, and its standard error.

    Examples
    --------
    >>> data_needed(100, 0.02, 0.02), data_needed(100, 0.0, 0.02)
    (784, None)
    """
    if difference == 0.0 or spread == 0.0:
        return None
    return max(now, math.ceil(now * (POWER * spread / difference) ** 2))


def standard_error(low: float, high: float, confidence: float) -> float:
    """Return the standard error of what has this interval, as if it were normal.

    Examples
    --------
    >>> round(standard_error(-1.96, 1.96, 0.95), 3)
    1.0
    """
    return (high - low) / (2 * NormalDist().inv_cdf((1 + confidence) / 2))


def settling(now: int, needed: int | None, what: str, other: str, difference: float, p: float | None) -> str:
    """Say how much data would settle a difference that is not significant.

    Examples
    --------
    >>> settling(100, 784, "rated items", "chrf", 0.02, 0.31)
    'About 790 rated items would settle the difference to chrf, .020 (p = .310).'
    >>> settling(100, 100, "rated items", "chrf", 0.02, 0.06)
    'A little more data or more draws would settle the difference to chrf, .020 (p = .060).'
    >>> settling(100, 20_000, "rated items", "chrf", 0.001, None)
    'The difference to chrf is .001: no realistic amount of data would settle it.'
    """
    of = f"{brief(difference)}{'' if p is None else f' (p = {brief_p(p)})'}"
    if needed is None or needed > HOPELESS * now:
        return f"The difference to {other} is {of}: no realistic amount of data would settle it."
    if needed <= now:
        return f"A little more data or more draws would settle the difference to {other}, {of}."
    step = 10 ** max(len(str(needed)) - 2, 0)  # two digits that count
    return f"About {-(-needed // step) * step:,} {what} would settle the difference to {other}, {of}."


def brief(value: float) -> str:
    """Return a value of a measure as sentences have it.

    Examples
    --------
    >>> brief(0.5), brief(-0.25), brief(1.0)
    ('.500', '−.250', '1.000')
    """
    return f"{value:z.3f}".replace("0.", ".", 1).replace("-", "−")


def brief_p(value: float) -> str:
    """Return a p-value as sentences have it."""
    return brief(max(value, 0.001))


def listed(names: Sequence[str]) -> str:
    """Join names for a sentence, only the first few of many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdefg"))
    ('a', 'a and b', 'a, b, c, d and 3 others')
    """
    shown = list(names) if len(names) <= _NAMED + 1 else [*names[:_NAMED], f"{len(names) - _NAMED} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
