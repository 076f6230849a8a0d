"""Checks of the options that metrics share; every message names the option and what it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from trubleu.errors import UsageError, nearest
from trubleu.native import MAX_ORDER
from trubleu.signature import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable

SMOOTHING_VALUES: Final[dict[str, float | None]] = {"exp": None, "none": None, "floor": 0.1, "add-k": 1.0}
"""Kinds of smoothing and the value that each takes if none is given, as in sacreBLEU."""

REFERENCE_LENGTHS: Final = ("closest", "shortest", "longest", "average")


def check_order(order: int) -> int:
    """Return the order if n-grams of that length can be counted."""
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= MAX_ORDER:
        raise UsageError(f"the order is {order}, but must be a whole number from 1 to {MAX_ORDER}")
    return order


def check_choice(option: str, value: str, choices: Iterable[str]) -> str:
    """Return the value if it is one of the choices."""
    choices = list(choices)
    if value not in choices:
        raise UsageError(f"{option}={value} is not known; {nearest(str(value), choices)}")
    return value


def check_flag(option: str, value: bool) -> bool:
    """Return the value if it is True or False; 0, 1 and words are usually a slip."""
    if not isinstance(value, bool):
        raise UsageError(f"{option}={value!r} must be true or false")
    return value


def check_share(option: str, value: float) -> float:
    """Return the value if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"{option}={value} must be a number from 0 to 1")
    return float(value)


def check_smoothing(smoothing: str, value: float | None) -> tuple[str, float | None]:
    """Return the kind of smoothing and its value, the usual one if none is given."""
    check_choice("smoothing", smoothing, SMOOTHING_VALUES)
    usual = SMOOTHING_VALUES[smoothing]
    if value is None:
        return smoothing, usual
    if usual is None:
        raise UsageError(f"smoothing={smoothing} takes no value; leave smoothing_value out, or use floor or add-k")
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"smoothing_value={value} must be a number that is not below 0")
    return smoothing, float(value)


def smoothing_text(smoothing: str, value: float | None) -> str:
    """Return smoothing as it stands in a signature.

    Examples
    --------
    >>> smoothing_text("floor", 0.1), smoothing_text("exp", None)
    ('floor[0.1]', 'exp')
    """
    return smoothing if value is None else f"{smoothing}[{number_text(value)}]"
