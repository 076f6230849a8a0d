"""Scripts written without spaces between words: Han, kana, Thai, Lao, Khmer and Myanmar."""

from __future__ import annotations

import re
from itertools import filterfalse
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.text.tokenizers import Tokenizer

# Letters, marks and signs. Decimal digits are excluded: a run of digits is a number in these scripts, too. Han includes
# script-neutral characters that Chinese and Japanese write between letters: 々, 〆, 〇 and ー.
CHARACTERS: Final = (
    # Thai
    "\u0e01-\u0e4f\u0e5a-\u0e5b"
    # Lao
    "\u0e81-\u0ecf\u0edc-\u0edf"
    # Myanmar
    "\u1000-\u103f\u104a-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
    # Khmer
    "\u1780-\u17df"
    # Han
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
    # kana
    "\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d\U0001aff0-\U0001b16f"
)
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
