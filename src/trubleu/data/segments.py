"""One segment and its references, as people look at them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference of a segment.

    Attributes
    ----------
    text
        The text; an empty string is a reference of length 0.
    weight
        From -1 to +1; None if it is not rated yet or no reference has a weight.
    origin
        Where it comes from, such as ``seed``, ``mined`` or ``system:NAME``.
    """

    text: str
    weight: float | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment: its references and what they answer to.

    Attributes
    ----------
    id
        Its name in files, different from every other segment's.
    references
        At least one.
    message
        What the references answer to, if known.
    context
        The turns before the message, oldest first, if known.
    """

    id: str
    references: tuple[Reference, ...]
    message: str | None = None
    context: tuple[str, ...] | None = None
