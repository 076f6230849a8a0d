"""Scripts written without spaces between words: Han, kana, Thai, Lao, Khmer and Myanmar."""

from __future__ import annotations

import re
from itertools import filterfalse
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.text.tokenizers import Tokenizer

# Letters, marks and signs. Decimal digits are excluded: a run of digits is a number in these scripts, too.
_RANGES: Final = {
    "Thai": ((0x0E01, 0x0E4F), (0x0E5A, 0x0E5B)),
    "Lao": ((0x0E81, 0x0ECF), (0x0EDC, 0x0EDF)),
    "Myanmar": (
        *((0x1000, 0x103F), (0x104A, 0x108F), (0x109A, 0x109F)),
        *((0xA9E0, 0xA9EF), (0xA9FA, 0xA9FE), (0xAA60, 0xAA7F)),
    ),
    "Khmer": ((0x1780, 0x17DF),),
    # Includes script-neutral characters that Chinese and Japanese write between letters: 々, 〆, 〇 and ー.
    "Han": (
        *((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303C), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)),
        *((0xF900, 0xFAFF), (0x20000, 0x3FFFD)),
    ),
    "kana": (
        *((0x3031, 0x3035), (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF)),
        *((0xFF66, 0xFF9D), (0x1AFF0, 0x1B16F)),
    ),
}

CHARACTERS: Final = "".join(f"{chr(first)}-{chr(last)}" for ranges in _RANGES.values() for first, last in ranges)
"""All characters of these scripts, as the body of a character class."""

# Most texts have no character outside these two ranges, and two comparisons are faster than a class lookup.
_ELSEWHERE: Final = re.compile(r"[^\0-\u0e00\u2000-\u2e7f]")
_ANY: Final = re.compile(f"[{CHARACTERS}]")


def has_unspaced(text: str) -> bool:
    """Return whether a text has a character of a script without spaces.

    Examples
    --------
    >>> has_unspaced("Zürich 北京"), has_unspaced("Zürich – 서울 😀")
    (True, False)
    """
    if text.isascii():
        return False
    found = _ELSEWHERE.search(text)
    return found is not None and _ANY.search(text, found.start()) is not None


_RUN: Final = re.compile(f"[{CHARACTERS}]{{5}}")
_LONG_RUN: Final = re.compile(f"[{CHARACTERS}]{{20}}")  # no word of text that was tokenized before is as long
_BY_MARKS: Final = ("13a", "intl", "chat", "tercom+normalized", "tercom+normalized+no_punct")
_BY_SPACES: Final = ("none", "tercom+no_punct", "tercom+no_punct+asian")
_MOST_TEXTS: Final = 1_000
_MOST_CHARACTERS: Final = 1_000


def many_unsplit(texts: Sequence[str], tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer leaves long runs of a script without spaces in at least one text in ten.

    Only the first thousand characters of the first thousand texts are examined. Tokenizers that split on white space
    alone may be given words, so a text with spaces is only counted if it has a very long run.

    Parameters
    ----------
    texts
        The texts.
    tokenizer
        The tokenizer. Those that split such scripts, and callables, are never to blame.

    Examples
    --------
    >>> from trubleu.text import tokenizer
    >>> [many_unsplit(["今天天气很好。", "ok"], tokenizer(name)) for name in ("13a", "words")]
    [True, False]
    """
    by_spaces = tokenizer.known_as in _BY_SPACES
    if not by_spaces and tokenizer.known_as not in _BY_MARKS:
        return False
    looked_at = texts[:_MOST_TEXTS]
    unsplit = 0
    for begin in (text[:_MOST_CHARACTERS] for text in filterfalse(str.isascii, looked_at)):
        if has_unspaced(begin):
            run = _LONG_RUN if by_spaces and len(begin.split(None, 1)) > 1 else _RUN
            unsplit += run.search(begin) is not None
    return unsplit > 0 and 10 * unsplit >= len(looked_at)


def unsplit_message(tokenizer: Tokenizer, what: str) -> str:
    """Return the warning for texts (``what``, a plural) that a tokenizer leaves unsplit; the same for all parts."""
    return (
        f"the tokenizer {tokenizer.name} does not split Chinese, Japanese, Thai, Lao, Khmer or Burmese, so clauses and "
        f"sentences of many {what} are one token each; use the tokenizer words or char, or zh for Chinese"
    )
