"""Rows of a file of vectors as they come: checked, counted, and put into one matrix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_FIRST_BYTES: Final = 1 << 24  # of the matrix, before anything has been read
_TOLD: Final = 1 << 12


class Rows:
    """The n-grams and the matrix of a file that is being read.

    Parameters
    ----------
    name
        The file, for messages.
    entries
        How many rows it promises; None if it does not say.
    dimensions
        How many numbers each has.
    joiner
        What joins the words of an n-gram in names; None for nothing.
    duplicates
        ``error`` or ``first``.
    dtype
        ``float32`` or ``float16``.
    progress
        Told how many more rows there are, now and then.
    """

    def __init__(
        self,
        name: str,
        entries: int | None,
        dimensions: int,
        *,
        joiner: str | None,
        duplicates: str,
        dtype: str,
        progress: Callable[[int], object] | None,
    ) -> None:
        if duplicates not in ("error", "first"):
            raise UsageError(f"duplicates={duplicates} is not known; known: error, first")
        self.name = name
        self.entries = entries
        self.dimensions = dimensions
        self._joiner = joiner
        self._keep_first = duplicates == "first"
        self._progress = progress
        self.in_lines = True  # where rows are is told in lines, or else in bytes
        self._places: dict[str, int] = {}
        self._seen = 0
        self._matrix: NDArray[np.floating] = np.zeros((max(1, _FIRST_BYTES // (4 * dimensions)), dimensions), dtype)

    def __len__(self) -> int:
        return self._seen

    def at(self, place: int) -> str:
        """Return a line or byte of the file as the beginning of a message."""
        return f"{self.name}:{place}" if self.in_lines else f"{self.name}: byte {place}"

    def add(self, name: bytes, vector: NDArray[np.float32], place: int) -> None:
        """Take one row; ``place`` is its line or byte."""
        if self._seen == self.entries:
            raise DataError(
                f"{self.at(place)}: the file promises {self.entries:,} vectors, but there are more; correct line 1"
            )
        self._seen += 1
        if self._progress and self._seen % _TOLD == 0:
            self._progress(_TOLD)
        try:
            ngram = unescaped(name.decode(), self._joiner)
        except UnicodeDecodeError:
            raise DataError(
                f"{self.at(place)}: the word {name[:40]!r} is not valid UTF-8; convert the file to UTF-8"
            ) from None
        if "\t" in ngram:
            raise DataError(
                f"{self.at(place)}: there is a tab in {ngram[:40]!r}; separate words and numbers by one space"
            )
        if not ngram or "" in ngram.split(" "):
            raise DataError(f"{self.at(place)}: there is no word before the numbers; remove the row")
        if ngram in self._places:
            if self._keep_first:
                return
            earlier = f"{'line' if self.in_lines else 'byte'} {self._places[ngram]}"
            raise DataError(
                f"{self.at(place)}: {ngram!r} is there again (first: {earlier}); remove one, or keep the first of them "
                "(--duplicates first)"
            )
        row = len(self._places)
        if row == len(self._matrix):
            # Grown in place, so that two matrices are never in memory; nobody else has a view of it.
            more = max(row + 1, row + row // 2)
            self._matrix.resize((min(more, self.entries or more), self.dimensions), refcheck=False)
        with np.errstate(over="ignore"):
            self._matrix[row] = vector
        if not np.isfinite(self._matrix[row]).all():
            finite = bool(np.isfinite(vector).all())
            what = "too large for float16; use float32" if finite else "not finite; remove the row"
            raise DataError(f"{self.at(place)}: the vector of {ngram!r} has a number that is {what}")
        self._places[ngram] = place

    def finish(self) -> tuple[list[str], NDArray[np.floating]]:
        """Return all n-grams and the matrix."""
        if self.entries is not None and self._seen < self.entries:
            raise DataError(
                f"{self.name} ends early: it promises {self.entries:,} vectors, but has {self._seen:,}; copy it again"
            )
        self._matrix.resize((len(self._places), self.dimensions), refcheck=False)
        return list(self._places), self._matrix


def unescaped(name: str, joiner: str | None) -> str:
    r"""Return the n-gram that a name in a word2vec file stands for.

    Examples
    --------
    >>> unescaped("do_not", "_"), unescaped(r"snake\_case", "_"), unescaped("_start", "_"), unescaped("do_not", None)
    ('do not', 'snake_case', '_start', 'do_not')
    """
    if joiner is None or (joiner not in name and "\\" not in name):
        return name
    pieces = re.findall(rf"\\[\\{re.escape(joiner)}]|.", name, re.DOTALL)
    plain = [piece[-1] for piece in pieces]
    words = "".join(" " if piece == joiner else letter for piece, letter in zip(pieces, plain, strict=True))
    return "".join(plain) if "" in words.split(" ") else words
