"""What can go wrong, as one tree.

::

    TrubleuError
    ├── UsageError          an option, a metric or a tokenizer that does not exist or does not fit
    ├── DataError           a file, a line, a field or a list that cannot be used as it is
    │   ├── BadPartitionsError  that of some partitions; the others were worked on
    │   └── ChangedError    a file that was written to while it was read
    ├── EngineError         work that was spread over processes or a cluster could not be finished
    ├── EndpointError       a model that rates cannot be asked (any more); what it rated before is kept
    ├── MissingExtraError   something optional is not installed; the message gives the pip command
    └── StoreError          a store of ratings cannot be used; nothing of what was asked for was done
        ├── StoreBusyError  it is locked or cannot be reached at the moment; trying again may help
        └── StoreFullError  there is no room left on its disk
    TrubleuWarning          a number was computed, but something about the data should be known
    └── CountedWarning      the same with a number of cases, which adds up over the parts of a large corpus

Every message is one sentence that names the place (file, line, field, segment) and what to do about it.
The command line prints it after ``trubleu:`` and leaves with exit code 2.
"""

from __future__ import annotations

import difflib
import re
from numbers import Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class TrubleuError(Exception):
    """The base of every error that TruBLEU raises on purpose."""


class UsageError(TrubleuError, ValueError):
    """An option, a metric or a tokenizer that does not exist or does not fit."""


class DataError(TrubleuError, ValueError):
    """A file, a line, a field or a list that cannot be used as it is."""


class BadPartitionsError(DataError):
    """The data of some partitions cannot be used as it is; the others were worked on.

    Attributes
    ----------
    partitions
        What is wrong with each of them, by its name.
    """

    def __init__(self, message: str, partitions: dict[str, str]) -> None:
        super().__init__(message)
        self.partitions = partitions

    def __reduce__(self) -> tuple[type[BadPartitionsError], tuple[str, dict[str, str]]]:
        return type(self), (str(self), self.partitions)


class ChangedError(DataError):
    """A file was written to while it was read: nothing is wrong with it, so that nothing of it should be skipped."""


class EngineError(TrubleuError, RuntimeError):
    """Work that was spread over processes or a cluster could not be finished."""


class EndpointError(TrubleuError, RuntimeError):
    """A model that rates cannot be asked, or not any more; what it rated before is kept."""


class MissingExtraError(TrubleuError, ImportError):
    """Something optional is not installed; the message gives the command that installs it."""


class StoreError(TrubleuError, RuntimeError):
    """A store of ratings cannot be used; nothing of what was asked for was done."""


class StoreBusyError(StoreError):
    """A store of ratings is locked or cannot be reached at the moment; trying again may help."""


class StoreFullError(StoreError):
    """There is no room left on the disk of a store of ratings."""


class TrubleuWarning(UserWarning):
    """A number was computed, but something about the data should be known."""


class Notice(TrubleuWarning):
    """Something that was decided for the user, who may want to know; nothing is wrong."""


class CountedWarning(TrubleuWarning):
    """A warning about a number of cases, which add up over the parts of a large corpus.

    Examples
    --------
    >>> str(CountedWarning("empty references in refs.txt", 3))
    'empty references in refs.txt: 3'
    """

    def __init__(self, what: str, count: int) -> None:
        super().__init__(what, count)
        self.what = what
        self.count = count

    def __str__(self) -> str:
        return f"{self.what}: {self.count}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the known words closest to a wrong one, to end an error message with.

    Examples
    --------
    >>> nearest("dbleau", ["bleu", "dbleu", "chrf"])
    'did you mean dbleu or bleu?'
    >>> nearest("qqq", ["bleu", "chrf"])
    'known: bleu, chrf'
    """
    choices = list(known)
    close = difflib.get_close_matches(word, choices, n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(choices)}"


def some(items: Iterable[object], limit: int = 10) -> str:
    """Join up to ``limit`` items for a message and say how many more there are.

    Examples
    --------
    >>> some(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    listed = [" ".join(str(item).splitlines()) for item in items]  # a message is one line
    shown = ", ".join(listed[:limit])
    hidden = len(listed) - limit
    return f"{shown} and {hidden} more" if hidden > 0 else shown


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which gets an s unless there is one of them.

    Examples
    --------
    >>> counted(1, "segment"), counted(2114, "segment")
    ('1 segment', '2,114 segments')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def without_secrets(address: str) -> str:
    """Return an address as a message quotes it: without a user, a password, a query or a fragment.

    Examples
    --------
    >>> without_secrets("https://ann:secret@example.org/v1?key=1")
    'https://…@example.org/v1…'
    """
    bare = re.sub(r"(?s)^(\w*://)?.*@", r"\1…@", address)
    return re.sub(r"(?s)[?#].*", "…", bare)


def shown(value: object, limit: int = 40) -> str:
    """Return a value as a message quotes it: its repr, cut short.

    Examples
    --------
    >>> shown("a" * 100, limit=8)
    "'aaaaaaa..."
    """
    try:
        text = str(value) if isinstance(value, Real) else repr(value)
    except ValueError:  # Python refuses to print integers of more than 4,300 digits
        text = "a huge integer"
    return text if len(text) <= limit else text[:limit] + "..."
