"""Options of metrics that count near misses; every message names the option and what it takes."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Final

from trubleu.errors import TrubleuWarning, UsageError
from trubleu.metrics.options import SMOOTHING_VALUES, check_choice, check_smoothing

if TYPE_CHECKING:
    from trubleu.vectors import VectorSource

UNKNOWN: Final = 0.001
"""The similarity of a pair of which one has no vector, as released."""

COMPOSED: Final = "composed"
LIN_OCH: Final = "lin-och"
USUAL_ORDER: Final = 3
"""The longest n-grams that vectors usually hold."""

Unknown = str | float
"""A number, also as it is written, or ``composed``."""


def check_soft_smoothing(smoothing: str, value: float | None) -> tuple[str, float | None]:
    """Return the kind of smoothing and its value."""
    if smoothing == LIN_OCH:
        if value is not None:
            raise UsageError(f"smoothing={LIN_OCH} takes no value; leave smoothing_value out, or use floor or add-k")
        return smoothing, None
    check_choice("smoothing", smoothing, (LIN_OCH, *SMOOTHING_VALUES))
    return check_smoothing(smoothing, value)


def parse_similarity(similarity: str) -> tuple[str, float]:
    """Split ``raw``, ``clamp`` or ``shift:S`` into the kind and its number.

    Examples
    --------
    >>> parse_similarity("shift:0.3"), parse_similarity("raw")
    (('shift', 0.3), ('raw', 0.0))
    """
    kind, separator, number = str(similarity).partition(":")
    if kind in ("raw", "clamp") and not separator:
        return kind, 0.0
    if kind == "shift" and separator:
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if 0 <= value < 1:
            return kind, value
    raise UsageError(f"similarity={similarity} is not known; it is raw, clamp or shift:S with S from 0 to below 1")


def parse_oov(oov: Unknown) -> Unknown:
    """Return ``composed`` or a number from 0 to 1.

    Examples
    --------
    >>> parse_oov("composed"), parse_oov("0.01")
    ('composed', 0.01)
    """
    if oov == COMPOSED:
        return COMPOSED
    try:
        value = math.nan if isinstance(oov, bool) else float(oov)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= 1:
        raise UsageError(f"oov={oov} is not known; it is a number from 0 to 1, or {COMPOSED}")
    return value


def check_orders(source: VectorSource, order: int) -> None:
    """Refuse n-grams longer than usual that the vectors do not hold."""
    if source.orders is not None and order > USUAL_ORDER and order not in source.orders:
        raise UsageError(
            f"{source.name} has no n-grams of {order} words; use an order of at most {USUAL_ORDER}, other vectors, "
            f"or oov={COMPOSED}"
        )


def warn_of_orders(source: VectorSource, order: int) -> None:
    """Say it if the vectors hold no n-grams of some length."""
    missing = [] if source.orders is None else [n for n in range(1, order + 1) if n not in source.orders]
    if missing:
        what = (
            f"{source.name} has no n-grams of {' and '.join(map(str, missing))} words, of which only exact matches "
            f"count; use other vectors, or oov={COMPOSED}"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=3)
