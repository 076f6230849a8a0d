"""Synthetic triples in any number: an artificial language, drawn in blocks from a seed."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.data import Triple
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

BLOCK: Final = 8192
"""Triples per block. Each block has its own random numbers, so the first triples do not depend on the total number."""

FUNCTION_WORDS: Final = 200
"""The most frequent words, which belong to no topic, like *the* and *you*."""

_TOPIC_WORDS: Final = 8  # of a triple
_PHRASES, _PHRASE_WORDS = 1_000, 2_000  # stock phrases, of the most frequent words
_NAMES: Final = 16  # one in this many other words is always capitalised
_MEDIAN_LENGTH, _LENGTH_SPREAD, _LONGEST = 9, 0.6, 43  # in words; log-normal, approximately as in chat
_TOPICAL, _WITH_PHRASE, _CAPITAL = 0.5, 0.25, 0.8
_MARKS: Final = np.array([",", ".", "?", "!", ""], dtype=object)
_WITHIN, _AT_END = (0.06, 0.1, 0.11, 0.12), (0.0, 0.45, 0.65, 0.77)  # cumulative shares of marks, inside and at the end
_COPIED: Final = ((1, 2), (1,), (2,)) * 2  # message and response, or one of them: exact copies, then altered ones
_COPIES: Final = (0.01, 0.02, 0.03, 0.055, 0.08, 0.105)  # their cumulative shares of triples

# Words are open syllables and a last one that may be closed. Each word has a unique reading, so no word occurs twice: a
# vowel ends a syllable, only the last syllable ends in consonants, and no onset starts with a vowel.
_ONSETS: Final = [*"bcdfghjklmnprstvwyz", "ch", "sh", "th", "br", "st", "tr", "pl", "gr", "kl"]
_VOWELS: Final = [*"aeiou", "ai", "ea", "ou", "oo"]
_SYLLABLES: Final = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
_CODAS: Final = ["", *"nrsltmkd", "ng", "st"]
_STRIDE: Final = 7_368_787  # a prime, so that it reaches every word once


def simulated_triples(n: int, *, seed: int = 1, words: int = 200_000) -> Iterator[Triple]:
    """Yield ``n`` synthetic triples; the first ones are the same for any ``n``.

    Words follow Zipf's law. Texts have a median of 10 words, with capitals and marks; a quarter of them begin
    with a stock phrase. The three texts of a triple share words. 2 % of messages, and as many responses, are copies
    of earlier ones; 5 % nearly are: they differ in a word, in the mark at their end, or in the case of their first
    letter. Copies come from the same block of 8,192 triples or from the first one.

    Parameters
    ----------
    n
        How many.
    seed
        Of the texts; those of all seeds are in one language.
    words
        How many different words the language has.

    Raises
    ------
    UsageError
        If a number is out of bounds.

    Examples
    --------
    >>> from benchmarks.simulated.triples import simulated_triples
    >>> [triple.id for triple in simulated_triples(3, seed=2, words=5000)]
    ['s2-0', 's2-1', 's2-2']
    """
    for name, number, low, high in (("n", n, 0, 10**12), ("words", words, 1_000, 10**7), ("seed", seed, 0, 2**63)):
        if not low <= number <= high:
            raise UsageError(f"{name} is {number}, but must be between {low:,} and {high:,}")
    return _triples(n, seed, words)


def _triples(n: int, seed: int, words: int) -> Iterator[Triple]:
    language = _Language(words)
    popular: list[list[str]] = []  # the first block, whose texts are repeated throughout the corpus
    for first in range(0, n, BLOCK):
        block = _block(language, np.random.default_rng([seed, first // BLOCK]), popular)
        popular = popular or block
        for number, (context, message, response) in enumerate(block[: n - first], first):
            yield Triple(f"s{seed}-{number}", (context,), message, response)


@cache
def spelled(rank: int) -> str:
    """Return the word of a rank, counted from 0; frequent words are short.

    Examples
    --------
    >>> [spelled(rank) for rank in (0, 1, 100_000)]
    ['ba', 'led', 'Thoostoos']
    """
    left = rank
    for syllables in count(1):
        number = len(_CODAS) * len(_SYLLABLES) ** syllables
        if left < number:
            break
        left -= number
    left, coda = divmod(left * _STRIDE % number, len(_CODAS))
    word: str = _CODAS[coda]
    for _ in range(syllables):
        left, syllable = divmod(left, len(_SYLLABLES))
        word = _SYLLABLES[syllable] + word
    return word.capitalize() if rank >= FUNCTION_WORDS and rank % _NAMES == 0 else word


class _Language:
    """Words and stock phrases."""

    def __init__(self, words: int) -> None:
        self._base = words + 1
        self.vocabulary = np.array([spelled(rank) for rank in range(words)], dtype=object)
        draws = np.random.default_rng(0)
        frequent = self.vocabulary[self.draw(draws.random(5 * _PHRASES), 0, min(words, _PHRASE_WORDS))]
        self.phrases = [" ".join(frequent[5 * row : 5 * row + 2 + row % 4]) for row in range(_PHRASES)]

    def draw(self, chance: NDArray[np.float64], first: int = 0, end: int | None = None) -> NDArray[np.int64]:
        """Return the rank of a word for each number from 0 to 1.

        Logarithms of ranks are uniform, which is Zipf's law: rank r, counted from 1, has the share log(1 + 1/r).
        """
        last = self._base if end is None else end + 1
        return ((first + 1) * (last / (first + 1)) ** chance).astype(np.int64) - 1


def _block(language: _Language, draws: np.random.Generator, popular: list[list[str]]) -> list[list[str]]:
    """Return the texts of a block of triples."""
    drawn = np.rint(_MEDIAN_LENGTH * np.exp(_LENGTH_SPREAD * draws.standard_normal(3 * BLOCK)))
    ends = np.cumsum(np.clip(drawn, 1, _LONGEST).astype(np.int64))
    ranks = language.draw(draws.random(ends[-1]))
    # A triple is about a few words, which often stand where another content word would.
    topics = language.draw(draws.random((BLOCK, _TOPIC_WORDS)), FUNCTION_WORDS)
    topical = np.flatnonzero((ranks >= FUNCTION_WORDS) & (draws.random(len(ranks)) < _TOPICAL))
    triple = np.repeat(np.arange(BLOCK), np.diff(ends[2::3], prepend=0))[topical]
    ranks[topical] = topics[triple, draws.integers(_TOPIC_WORDS, size=len(topical))]
    marks = np.searchsorted(_WITHIN, draws.random(len(ranks)), side="right")
    marks[ends - 1] = 0
    begins = np.concatenate([[0], ends[:-1]])
    first = begins[draws.random(len(begins)) < _CAPITAL]
    capital = [*first.tolist(), *(np.flatnonzero(np.isin(marks, (1, 2, 3))) + 1).tolist()]
    marks[ends - 1] = np.searchsorted(_AT_END, draws.random(len(ends)), side="right")
    words = language.vocabulary[ranks]
    for place in capital:
        words[place] = words[place].capitalize()
    marked = np.flatnonzero(marks < 4)
    words[marked] += _MARKS[marks[marked]]
    spoken = words.tolist()
    texts = [" ".join(spoken[begin:end]) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    for place in np.flatnonzero(draws.random(len(texts)) < _WITH_PHRASE).tolist():
        texts[place] = f"{language.phrases[int(_PHRASES ** draws.random()) - 1].capitalize()}, {texts[place]}"
    block = [texts[place : place + 3] for place in range(0, len(texts), 3)]
    kinds = np.searchsorted(_COPIES, draws.random(BLOCK), side="right")
    for place in np.flatnonzero((kinds < len(_COPIES)) & (np.arange(BLOCK) > 0)).tolist():
        sources = popular if popular and draws.random() < 0.5 else block[:place]
        source = sources[int(draws.random() * len(sources))]
        for field in _COPIED[kinds[place]]:
            block[place][field] = source[field] if kinds[place] < 3 else _altered(source[field], language, draws)
    return block


def _altered(text: str, language: _Language, draws: np.random.Generator) -> str:
    """Return a near-duplicate: another word, another final mark, or another case."""
    words, chance = text.split(), draws.random()
    if chance < 0.5:
        words[int(2 * chance * len(words))] = language.vocabulary[language.draw(draws.random(1))[0]]
        return " ".join(words)
    if chance < 0.75:
        return text[0].swapcase() + text[1:]
    return f"{text.rstrip('.?!')}{'' if text[-1] == '!' else '!'}"
