"""``words``: runs of letters and digits with inner hyphens and apostrophes; every other character on its own.

Chinese, Japanese, Thai, Lao, Khmer and Burmese have no spaces between words. Their scripts are split into extended
grapheme clusters: a letter with its vowels, tone marks and other signs.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from trubleu.native import kernels
from trubleu.text.unspaced import CHARACTERS, has_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIGNATURE = "words-2"
"""Name in signatures; it changes whenever tokens change: ``words`` did not split scripts without spaces."""

# Nothing that follows can fail, so possessive quantifiers find the same words, a little faster.
PATTERN = re.compile(r"\w++(?:[-'’]\w++)*+|[^\w\s]")


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
    >>> split("我用Python写。 ที่นี่")
    ['我', '用', 'Python', '写', '。', 'ที่', 'นี่']
    """
    if not has_unspaced(text):
        return PATTERN.findall(text)
    tokens: list[str] = []
    for cluster, other in _pieces()(text):
        if cluster:
            tokens.append(cluster)
        else:
            tokens += PATTERN.findall(other)
    return tokens


def lines(texts: Sequence[str], lowercase: bool = False) -> list[str]:
    """Return the tokens of each text, separated by single spaces.

    Examples
    --------
    >>> lines(["It's a fact, isn't it?", "ÉTÉ!"], lowercase=True)
    ["it's a fact , isn't it ?", 'été !']
    """
    found = kernels.ascii_words(tuple(texts), lowercase)
    return [
        " ".join(split(text.lower() if lowercase else text)) if line is None else line
        for text, line in zip(texts, found, strict=True)
    ]


@functools.cache
def _pieces() -> Callable[[str], list[Any]]:
    """Return a function that splits a text into clusters of scripts without spaces and the text between them."""
    import regex  # slow to import, and few texts need it

    return regex.compile(rf"((?=[{CHARACTERS}])\X)|([^{CHARACTERS}]+)").findall  # type: ignore[no-any-return]
