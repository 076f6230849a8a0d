"""A made-up language: words that can be pronounced, how often they occur, topics, and stock phrases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.simulate.alias import AliasTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_WORDS: Final = 1_000
MOST_WORDS: Final = 10_000_000
LARGEST_EXPONENT: Final = 3.0

FUNCTION_WORDS: Final = 200
"""The most frequent words belong to no topic, like *the* and *you*."""

CELL: Final = 16
"""Bytes of a word's cell: one for what stands before the word, 14 for the word, one for what stands after it."""

_TOPIC_WORDS = 200  # or a few less
_PHRASES = 1_000
_PHRASE_LENGTHS = (2, 5)
_PHRASE_WORDS = 2_000  # stock phrases are made of the most frequent words
_PHRASE_SHIFT = 10  # flattens their frequencies: the first has some 2 % of all uses
_NAMES = 16  # one in so many words of topics is always written with a capital

# Words are open syllables and a last one that may be closed. No word can be read in two ways, hence none comes twice:
# a vowel ends a syllable, only the last syllable ends in consonants, and no onset is a vowel's beginning.
_ONSETS = [*"bcdfghjklmnprstvwyz", "ch", "sh", "th", "br", "st", "tr", "pl", "gr", "kl"]
_VOWELS = [*"aeiou", "ai", "ea", "ou", "oo"]
_CODAS = ["", *"nrsltmkd", "ng", "st"]


@dataclass(frozen=True)
class Language:
    """A made-up language; everything in it follows from its options.

    A word is a number, its rank by frequency less 1: word `r` occurs in proportion to ``(r + 1) ** -exponent``. Words
    after the first `FUNCTION_WORDS` belong to one topic each. A topic is as frequent as its words together, so texts
    that take words from their topics still have Zipf's frequencies.

    Parameters
    ----------
    words
        How many different words there are.
    exponent
        Of Zipf's law.
    seed
        Of how words are written and which phrases are stock phrases.

    Raises
    ------
    UsageError
        If an option is out of bounds.

    Examples
    --------
    >>> language = Language(words=2000, seed=1)
    >>> [language.spelled(rank) for rank in (0, 1, 1000)]
    ['grik', 'sai', 'boos']
    """

    words: int = 200_000
    exponent: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not FEWEST_WORDS <= self.words <= MOST_WORDS:
            raise UsageError(f"words is {self.words}, but must lie between {FEWEST_WORDS:,} and {MOST_WORDS:,}")
        if not 0 <= self.exponent <= LARGEST_EXPONENT:
            raise UsageError(f"exponent is {self.exponent}, but must lie between 0 and {LARGEST_EXPONENT:g}")
        if self.seed < 0:
            raise UsageError(f"language is {self.seed}, but must not be negative")

    @property
    def topics(self) -> int:
        """How many topics there are."""
        return math.ceil((self.words - FUNCTION_WORDS) / _TOPIC_WORDS)

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """The share of each word."""
        weights: NDArray[np.float64] = np.arange(1, self.words + 1, dtype=np.float64) ** -self.exponent
        return weights / float(weights.sum())

    def topic_of(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the topics of words that are no function words: every topic has frequent words and rare ones."""
        return (words - FUNCTION_WORDS) % self.topics

    def is_name(self, words: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which words are always written with a capital."""
        return np.asarray((words >= FUNCTION_WORDS) & (words % _NAMES == 0))

    def draw_words(self, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return a word for each 64 random bits."""
        return self._word_table.draw(bits)

    def draw_topics(self, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return a topic for each 64 random bits."""
        return self._topic_table.draw(bits)

    def draw_topic_words(self, bits: NDArray[np.uint64], topics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a word of each topic."""
        return FUNCTION_WORDS + topics + self.topics * self._topic_word_table.draw(bits, topics)

    def draw_phrases(self, bits: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of a stock phrase, a row of `phrases`, for each 64 random bits."""
        return self._phrase_table.draw(bits)

    @cached_property
    def phrases(self) -> NDArray[np.int64]:
        """The words of stock phrases, a row each; -1 after its end."""
        shortest, longest = _PHRASE_LENGTHS
        frequent = AliasTable(self.frequencies[:_PHRASE_WORDS])
        bits = self._generator().random_raw(_PHRASES * (longest + 1)).reshape(_PHRASES, longest + 1)
        lengths = shortest + bits[:, :1] % np.uint64(longest - shortest + 1)
        words = frequent.draw(bits[:, 1:].ravel()).reshape(_PHRASES, longest)
        return np.where(np.arange(longest) < lengths.astype(np.int64), words, -1)

    @cached_property
    def cells(self) -> NDArray[np.uint8]:
        """The bytes of each word in a row of `CELL`, ended by zeros, after a space; ASCII, one byte a letter."""
        texts = np.zeros((self.words, CELL), dtype=np.uint8)
        texts[:, 0] = ord(" ")
        written = texts[:, 1:-1]
        written[:] = self._spellings().view(np.uint8).reshape(self.words, CELL - 2)
        written[self.is_name(np.arange(self.words)), 0] &= 0xDF  # from lower to upper case
        return texts

    def spelled(self, word: int) -> str:
        """Return a word as it is written inside a sentence."""
        return bytes(self.cells[word, 1:-1]).rstrip(b"\0").decode("ascii")

    def _spellings(self) -> NDArray[np.bytes_]:
        open_syllables = np.array([onset + vowel for onset in _ONSETS for vowel in _VOWELS], dtype="S4")
        codas = np.array(_CODAS, dtype="S2")
        spellings = np.zeros(self.words, dtype=f"S{CELL - 2}")
        generator = self._generator(1)
        first, syllables = 0, 1
        while first < self.words:
            # All words of so many syllables are numbered; steps of one length through them reach each once. The
            # most frequent words have the fewest syllables.
            number = len(codas) * len(open_syllables) ** syllables
            step, start = _stride(generator, number)
            count = min(number, self.words - first)
            left = (start + step * np.arange(count, dtype=np.int64)) % number
            left, coda = np.divmod(left, len(codas))
            text: Any = codas[coda]
            for _ in range(syllables):
                left, syllable = np.divmod(left, len(open_syllables))
                text = np.char.add(open_syllables[syllable], text)
            spellings[first : first + count] = text
            first, syllables = first + count, syllables + 1
        return spellings

    def _generator(self, purpose: int = 0) -> np.random.PCG64:
        return np.random.PCG64([self.seed, purpose])

    @cached_property
    def _word_table(self) -> AliasTable:
        return AliasTable(self.frequencies)

    @cached_property
    def _by_topic(self) -> NDArray[np.float64]:
        """The frequencies of topics' words, a row each."""
        frequencies = self.frequencies[FUNCTION_WORDS:]
        padded = np.zeros(self.topics * math.ceil(len(frequencies) / self.topics))
        padded[: len(frequencies)] = frequencies
        return padded.reshape(-1, self.topics).T

    @cached_property
    def _topic_table(self) -> AliasTable:
        return AliasTable(self._by_topic.sum(axis=1))

    @cached_property
    def _topic_word_table(self) -> AliasTable:
        return AliasTable(self._by_topic)

    @cached_property
    def _phrase_table(self) -> AliasTable:
        return AliasTable(1 / (_PHRASE_SHIFT + np.arange(_PHRASES, dtype=np.float64)))


def _stride(generator: np.random.PCG64, number: int) -> tuple[int, int]:
    """Return a step without a common divisor with ``number``, at least a third of it, and where to start."""
    start, step = (int(bits) % number for bits in generator.random_raw(2))
    step = number // 3 + step // 3
    while math.gcd(step, number) > 1:
        step += 1
    return step, start
