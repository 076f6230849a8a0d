"""Words and references as pages show them, whatever kind of explanation they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.render.palette import step

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIGNS: Final = {-1: "neg", 0: "zero", 1: "pos"}


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token; the numbers of the matches around it, which a script connects; what is said of it."""

    text: str
    grams: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    """Tokens with the same background; no classes if nothing matched."""

    tokens: Sequence[TokenView]
    classes: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A reference; its weight is an empty text if it has none."""

    number: int
    weight: str
    classes: str
    runs: Sequence[RunView]
    credit: str
    notes: Sequence[str]


def minus(number: str) -> str:
    """Return a number with the sign that is as wide as a plus.

    Examples
    --------
    >>> minus("-0.5")
    '−0.5'
    """
    return number.replace("-", "−")


def weight_classes(weight: float) -> str:
    """Return the classes that give an element the colour and the kind of line of a weight.

    Examples
    --------
    >>> weight_classes(-1.0), weight_classes(0.0), weight_classes(0.5)
    ('w0 neg', 'w10 zero', 'w15 pos')
    """
    return f"w{step(weight)} {_SIGNS[(weight > 0) - (weight < 0)]}"
