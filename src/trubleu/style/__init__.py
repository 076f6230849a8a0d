"""The style that all pages share: colours for light and dark, focus, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Final

TOKENS: Final = Path(__file__).parent / "tokens.css"
"""The style sheet."""


def tokens() -> str:
    """Return the style sheet that every page begins with.

    Examples
    --------
    >>> "--accent" in tokens()
    True
    """
    return TOKENS.read_text(encoding="utf-8")
