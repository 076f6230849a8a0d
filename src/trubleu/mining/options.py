"""What an index is made with: checked once, when it is made."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from trubleu.data.files import iterate_lines, name_of
from trubleu.errors import DataError, TrubleuWarning, UsageError, some
from trubleu.mining.manifest import IndexOptions
from trubleu.mining.shard import MOST_TRIPLES
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.data.files import PathLike


def checked_options(tokenize: object, lowercase: bool, stop_words: Iterable[str], shard_triples: int) -> IndexOptions:
    """Return what an index is made with.

    Raises
    ------
    UsageError
        If something of it cannot be.

    Warns
    -----
    TrubleuWarning
        If a stop word can never be found, because the tokenizer cuts it.

    Examples
    --------
    >>> checked_options("13a", True, ["The", "a", "the"], 1000).stop_words
    ('a', 'the')
    """
    name = tokenizer(tokenize).known_as if isinstance(tokenize, str) else None
    if name is None:
        raise UsageError("an index must be opened elsewhere too, so its tokenizer is given by name, such as 13a")
    if type(shard_triples) is not int or not 1 <= shard_triples <= MOST_TRIPLES:
        raise UsageError(f"shard-triples is {shard_triples}, but must lie between 1 and {MOST_TRIPLES}")
    if isinstance(stop_words, str):
        raise UsageError("stop words are a list, not one string; put the string into a list, or read it from its file")
    words = sorted({word.lower() if lowercase else word for word in stop_words})
    for word in words:
        if not word or word.split() != [word]:
            raise UsageError(f"the stop word {word!r} is not one word; give words without white space")
    if words:
        tokens = tokenizer(name).tokens
        if cut := [word for word in words if tokens(word) != [word]]:
            warnings.warn(
                f"the tokenizer {name} never makes these stop words, so they change nothing: {some(cut)}",
                TrubleuWarning,
                stacklevel=3,
            )
    return IndexOptions(tokenize=name, lowercase=bool(lowercase), stop_words=tuple(words), shard_triples=shard_triples)


def read_stop_words(path: PathLike) -> list[str]:
    """Read a file of stop words, one a line; blank lines are passed over.

    Raises
    ------
    DataError
        If there is none, or a line has several.
    """
    words = []
    for number, line in enumerate(iterate_lines(path), 1):
        found = line.split()
        if len(found) > 1:
            raise DataError(f"{name_of(path)}:{number}: {len(found)} words stand here; give one stop word a line")
        words += found
    if not words:
        raise DataError(f"{name_of(path)} holds no stop words; give one a line, or leave the option out")
    return words


def fingerprint(words: tuple[str, ...]) -> str:
    """Return what stands for stop words in a signature: ``no``, or their number and eight hexadecimal digits.

    Examples
    --------
    >>> fingerprint(()), fingerprint(("a", "the"))[:2]
    ('no', '2.')
    """
    if not words:
        return "no"
    data = np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), np.uint8)
    return f"{len(words)}.{kernels.checksum(data):016x}"[:-8]
