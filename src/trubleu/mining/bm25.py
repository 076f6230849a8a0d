"""BM25 in three variants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import UsageError, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

VARIANTS: Final = ("lucene", "robertson", "atire")
"""Names of the variants."""

LARGEST_K1: Final = 1e6
"""From a few thousand on, a word simply counts as often as it occurs."""


def check_number(name: str, value: object, most: float) -> None:
    """Raise an error for an option that is not a number from 0 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise UsageError(f"{name} must be a number from 0 to {most:,.0f}, not {value!r}")


@dataclass(frozen=True, slots=True)
class Bm25:
    """A BM25 variant and its parameters.

    A query word contributes qf · idf · ``scale`` · tf / (tf + ``norm``), where qf and tf are its counts in the query
    and the document. No idf is negative.

    Attributes
    ----------
    variant
        ``lucene``: idf = ln(1 + (N − n + ½) / (n + ½)), where n of N documents have the word. ``robertson``:
        ln((N − n + ½) / (n + ½)), 0 for words that more than half of the documents have. ``atire``: ln(N / n), and
        everything times k1 + 1.
    k1
        How slowly further occurrences of a word stop to count: from 0, where only the first one counts.
    b
        How much long documents are held back: from 0, not at all, to 1.

    Raises
    ------
    UsageError
        If there is no such variant, or a number is out of its range.

    Examples
    --------
    >>> Bm25("lucene").idf([1], 2).tolist()
    [0.6931471805599453]
    >>> Bm25(k1=2.0, b=0.5).norm([4, 8], 4.0).tolist()
    [2.0, 3.0]
    """

    variant: str = "lucene"
    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UsageError(f"there is no BM25 variant {self.variant!r}; {nearest(str(self.variant), VARIANTS)}")
        for name, most in (("k1", LARGEST_K1), ("b", 1.0)):
            check_number(name, getattr(self, name), most)

    @property
    def scale(self) -> float:
        """Factor of every word's contribution."""
        return self.k1 + 1.0 if self.variant == "atire" else 1.0

    def idf(self, frequencies: NDArray[np.integer] | list[int], documents: int) -> NDArray[np.float64]:
        """Return the idf of words by document frequency; 0 for words in no document."""
        # Not NumPy's logarithm, whose last bit depends on the CPU.
        different, places = np.unique(np.asarray(frequencies, np.int64), return_inverse=True)
        return np.array([self._idf(frequency, documents) for frequency in different.tolist()], np.float64)[places]

    def norm(self, lengths: NDArray[np.integer] | list[int], mean: float) -> NDArray[np.float64]:
        """Return the length normalisation added to tf in the denominator."""
        relative = self.b * np.asarray(lengths, np.float64)
        return self.k1 * ((1.0 - self.b) + (relative / mean if mean > 0 else np.zeros_like(relative)))

    def _idf(self, frequency: int, documents: int) -> float:
        if frequency == 0:
            return 0.0
        if self.variant == "atire":
            return math.log(documents / frequency)
        odds = (documents - frequency + 0.5) / (frequency + 0.5)
        return math.log(1.0 + odds) if self.variant == "lucene" else max(math.log(odds), 0.0)
