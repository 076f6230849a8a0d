"""What a check found, before the settings give it a level."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_SHOWN: Final = 80
"""The longest text that a message repeats."""


class Mark(NamedTuple):
    """What a check found: a `Finding` without a level."""

    kind: str
    content: str
    message: str
    spans: tuple[tuple[int, int], ...] = ()


def shortened(text: str, most: int = MOST_SHOWN) -> str:
    """Return a text on one line, cut at a word if it is long.

    Examples
    --------
    >>> shortened("one two three", 9)
    'one two …'
    """
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    return f"{line[: most - 1].rpartition(' ')[0] or line[: most - 2]} …"
