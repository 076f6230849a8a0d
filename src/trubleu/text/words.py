"""``words``: runs of letters and digits with inner hyphens and apostrophes, every other character on its own."""

from __future__ import annotations

import re

PATTERN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


def split(text: str) -> list[str]:
    """Split a text into words and single punctuation marks.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list of str
        The tokens, in order; white space is dropped, everything else is in exactly one token.

    Examples
    --------
    >>> split("It's a well-known fact, isn't it?")
    ["It's", 'a', 'well-known', 'fact', ',', "isn't", 'it', '?']
    """
    return PATTERN.findall(text)
