"""Words that the checks know, from ``words.toml``."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def _lists() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def word_lists(subject: str) -> dict[str, Any]:
    """Return the lists of words about a subject; the words of a list are joined by spaces.

    Examples
    --------
    >>> word_lists("numbers")["tens"].split()[0]
    'twenty'
    """
    return _lists()[subject]
