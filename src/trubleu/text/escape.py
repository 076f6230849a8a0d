"""Carry any token through a line that is split on white space.

The kernel gets a text as one line and splits it on white space. A callable may return tokens that would not survive
this: ``"New York"`` would become two, the empty token none. Such a token is written with escapes, and so is one that
contains the escape character itself; therefore two different tokens never become the same one. All others stay as they
are.

An escape is ``MARK``, the character's code point in hexadecimal, and ``;``. An empty token is ``MARK`` and ``;``, which
nothing else can produce because every code point has at least one digit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "\U0010fffd"
"""The last private-use code point: no standard gives it a meaning, and fonts with symbols of their own start lower."""

_UNSAFE = re.compile(rf"[\s{MARK}]")


def escape(token: str) -> str:
    """Write a token without white space, so that it stays one token and stays different from every other.

    Parameters
    ----------
    token
        Any string, also an empty one.

    Returns
    -------
    str
        A string that is not empty and has no white space; the token itself where it already is like this.

    Examples
    --------
    >>> escape("York")
    'York'
    >>> escape("New York") == f"New{MARK}20;York"
    True
    >>> escape("") == f"{MARK};"
    True
    """
    if not token:
        return f"{MARK};"
    return _UNSAFE.sub(lambda match: f"{MARK}{ord(match[0]):x};", token)


def join(tokens: Sequence[str]) -> str:
    """Join tokens by single spaces so that splitting on white space finds as many again, escaped where they need it.

    Parameters
    ----------
    tokens
        Any strings.

    Returns
    -------
    str
        One line; ``line.split()`` is ``[escape(token) for token in tokens]``.

    Raises
    ------
    TypeError
        If a token is not a string.

    Examples
    --------
    >>> join(["New", "York"])
    'New York'
    >>> len(join(["New York", "", "!"]).split())
    3
    """
    line = " ".join(tokens)
    # Nearly all lines need nothing, and one split in C is much cheaper than looking at each token.
    if MARK not in line and line.split() == list(tokens):
        return line
    return " ".join(map(escape, tokens))
