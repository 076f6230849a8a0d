"""Colours for weights from −1 to +1: orange, grey, blue, distinct under every kind of colour vision."""

from __future__ import annotations

from typing import Final

STEPS: Final = 20
"""Steps between −1 and +1. Classes in place of colours in each element let the page do without inline styles."""

Colour = tuple[int, int, int]

# Lightness falls on both sides of the middle by the same amount; text on each of them keeps a contrast of 4.5 (a test).
LIGHT: Final[tuple[Colour, Colour, Colour]] = ((0xF2, 0x8E, 0x2B), (0xEC, 0xEC, 0xEF), (0x6A, 0xAE, 0xEA))
DARK: Final[tuple[Colour, Colour, Colour]] = ((0xA3, 0x56, 0x0A), (0x3C, 0x3C, 0x43), (0x1F, 0x66, 0xAD))

TEXT_ON_LIGHT: Final[Colour] = (0x1B, 0x1B, 0x1F)
TEXT_ON_DARK: Final[Colour] = (0xF4, 0xF4, 0xF6)


def step(weight: float) -> int:
    """Return the step of a weight, 0 for −1 and `STEPS` for +1.

    Examples
    --------
    >>> step(-1.0), step(0.0), step(0.04), step(0.8), step(1.0)
    (0, 10, 10, 18, 20)
    """
    return round((weight + 1) / 2 * STEPS)


def colour(number: int, scale: tuple[Colour, Colour, Colour]) -> Colour:
    """Return the colour of a step.

    Examples
    --------
    >>> colour(0, LIGHT) == LIGHT[0], colour(STEPS // 2, LIGHT) == LIGHT[1], colour(STEPS, LIGHT) == LIGHT[2]
    (True, True, True)
    """
    share = number / STEPS * 2 - 1
    end = scale[0] if share < 0 else scale[2]
    red, green, blue = (round(middle + abs(share) * (far - middle)) for middle, far in zip(scale[1], end, strict=True))
    return red, green, blue


def hexadecimal(value: Colour) -> str:
    """Return a colour as CSS has it.

    Examples
    --------
    >>> hexadecimal((255, 0, 16))
    '#ff0010'
    """
    return "#" + "".join(f"{part:02x}" for part in value)


def stylesheet() -> str:
    """Return a class for each step, ``.w0`` to ``.w20``, for light and for dark surroundings."""
    light, dark = (
        "".join(f".w{number}{{--w:{hexadecimal(colour(number, scale))}}}" for number in range(STEPS + 1))
        for scale in (LIGHT, DARK)
    )
    on_light, on_dark = hexadecimal(TEXT_ON_LIGHT), hexadecimal(TEXT_ON_DARK)
    return f":root{{--on-w:{on_light}}}{light}\n@media (prefers-color-scheme:dark){{:root{{--on-w:{on_dark}}}{dark}}}\n"
