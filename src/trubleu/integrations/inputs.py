"""Convert inputs from other packages to lists, with clear errors."""

from __future__ import annotations

from typing import Any

from trubleu.errors import DataError


def listed(what: str, given: Any) -> list[Any]:
    """Convert any iterable with one item per segment to a list.

    Examples
    --------
    >>> listed("outputs", (word for word in ("a", "b")))
    ['a', 'b']
    >>> listed("outputs", "a b")
    Traceback (most recent call last):
    trubleu.errors.DataError: outputs is one string; pass a list with one item for each segment
    """
    if isinstance(given, str):
        raise DataError(f"{what} is one string; pass a list with one item for each segment")
    try:
        return list(given)
    except TypeError:
        kind = type(given).__name__
        raise DataError(f"{what} is of type {kind}; pass a list with one item for each segment") from None


def listed_rows(what: str, given: Any) -> list[Any]:
    """Convert several items per segment to lists; a string or None in place of a list is left to later checks."""
    return [
        row if row is None or isinstance(row, str) else listed(f"a row of {what}", row) for row in listed(what, given)
    ]
