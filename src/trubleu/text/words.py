"""``words``: runs of letters, digits and marks with inner hyphens and apostrophes; every other symbol on its own.

Marks are accents, vowel signs and whatever else is written on or around a letter. Chinese, Japanese, Thai, Lao, Khmer
and Burmese have no spaces between words: each extended grapheme cluster, a letter with its marks, is a token.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from trubleu.native import kernels
from trubleu.text.unspaced import CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGNATURE = "words-3"
"""Name in signatures; it changes whenever tokens change. ``words`` did not split scripts without spaces, ``words-2``
separated marks from their letters."""

# Nothing that follows can fail, so possessive quantifiers find the same words, a little faster.
PATTERN = re.compile(r"\w++(?:[-'’]\w++)*+|[^\w\s]")

# Anything but Latin, Greek, Cyrillic, Hebrew, Arabic and Korean letters, punctuation and emoji, all without marks:
# `PATTERN` can split these.
_COMPLEX = re.compile(
    r"[^\0-\u02ff\u0370-\u0482\u048a-\u0590\u05be\u05d0-\u05f4\u0606-\u060f\u061b-\u064a\u0660-\u066f\u0671-\u06d5"
    r"\u1e00-\u200b\u2010-\u20cf\u2100-\u2cee\u2e00-\u2e7f\uac00-\ud7a3\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
)


def split(text: str) -> list[str]:
    """Split a text into words and single symbols.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    list of str
        The tokens, in order. White space is dropped; every other character is in exactly one token.

    Examples
    --------
    >>> split("It's a well-known fact, isn't it?")
    ["It's", 'a', 'well-known', 'fact', ',', "isn't", 'it', '?']
    >>> split("我用Python写。 ที่นี่")
    ['我', '用', 'Python', '写', '。', 'ที่', 'นี่']
    >>> split("मैं ठीक हूँ ❤️")
    ['मैं', 'ठीक', 'हूँ', '❤️']
    """
    if text.isascii() or not _COMPLEX.search(text):
        return PATTERN.findall(text)
    return _complex_pattern().findall(text)  # type: ignore[no-any-return]


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
def _complex_pattern() -> Any:
    """Return the pattern for texts of any script; on texts without marks and complex scripts it equals `PATTERN`."""
    import regex  # slow to import, and few texts need it

    # Zero-width joiners and non-joiners are part of words in Persian and Indic scripts. A prepended sign would take the
    # next character into its cluster, be it white space, so it is a token of its own.
    word = rf"[[\p{{L}}\p{{N}}\p{{M}}_\u200c\u200d]--[{CHARACTERS}]]++"
    space = r"\s\x1c-\x1f"
    # Two letters make a flag. \X would count all those before it, which takes quadratic time.
    flag = r"[\U0001f1e6-\U0001f1ff]{1,2}+[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+"
    cluster = rf"(?=[^{space}\p{{GCB=Prepend}}])\X"
    return regex.compile(rf"{word}(?:[-'’]{word})*+|{flag}|{cluster}|[^{space}]", regex.V1)
