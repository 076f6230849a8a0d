"""Blocks of simulated triples: drawn as arrays of numbers, then spelled out many at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.simulate.language import CELL, FUNCTION_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.simulate.language import Language

BLOCK: Final = 8192
"""Triples of a block. Each block has random bits of its own, so that the first of many triples do not depend on how
many there are."""

FIELDS: Final = 3
"""A triple is three texts: context, message, response."""

MARKS: Final = (b"\1", b"\2", b"\3", b"\4", b"\5")
"""What stands before a triple's number, context, message and response, and after it, until a format is chosen."""

_MEDIAN_LENGTH, _LENGTH_SPREAD, _LONGEST = 9.0, 0.6, 48  # words; a log-normal distribution, as that of chat nearly is
_TOPICAL = 0.5  # of the words that are no function words come from the triple's topic
_WITH_PHRASE = 0.25  # of texts begin or end with a stock phrase
_CAPITAL = 0.8  # of texts begin with a capital
_WITHIN = {",": 0.06, ".": 0.04, "?": 0.01, "!": 0.01}  # how often a mark follows a word,
_AT_END = {".": 0.45, "?": 0.2, "!": 0.12}  # and a text's last word

# Groups of triples by what is copied: both, the message or the response; the same, altered; nothing.
_COPIED = np.array([[0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
_ALTERED = np.array([0, 0, 0, 1, 1, 1, 0], dtype=bool)

# A word of a text as one number: its rank, what mark follows, whether it has a capital.
_MARK, _CAPITAL_BIT = 24, 31
_WORD = (1 << _MARK) - 1


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts one after the other: `words` of text `i` begin at ``begins[i]``; whether each one is an original."""

    words: NDArray[np.uint32]
    begins: NDArray[np.int64]
    original: NDArray[np.bool_]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many words each text has."""
        return np.diff(self.begins)


@dataclass(frozen=True)
class BlockMaker:
    """Makes blocks of triples as bytes; see `trubleu.simulate.triples.TripleSimulation` for the options."""

    language: Language
    seed: int
    duplicates: float
    near_duplicates: float

    def spelled(self, number: int, triples: int = BLOCK) -> bytes:
        """Return the first triples of a block, with `MARKS` between their parts."""
        texts = self._first if number == 0 else self._copied(number, self._drawn(number))
        lengths = np.ones((triples, FIELDS + 2), dtype=np.int64)  # the triple's number, three texts, an end
        lengths[:, 1:-1] = texts.lengths.reshape(-1, FIELDS)[:triples]
        ends = np.cumsum(lengths).reshape(lengths.shape)
        begins = ends - lengths
        count = texts.begins[FIELDS * triples]
        places = np.arange(count) + np.repeat(1 + 2 * np.arange(triples), lengths[:, 1:-1].sum(axis=1))
        words = texts.words[:count]
        cells = np.zeros((ends[-1, -1], CELL), dtype=np.uint8)
        # Sixteen bytes move faster as one thing than as sixteen.
        whole = cells.view(np.complex128).ravel()
        whole[places] = self.language.cells.view(np.complex128).ravel()[words & _WORD]
        cells[places, -1] = (words >> _MARK) & 0x7F
        cells[places[words >> _CAPITAL_BIT != 0], 1] &= 0xDF
        for field, mark in enumerate(MARKS[1:-1], 1):
            cells[begins[:, field], 0] = mark[0]
        cells[begins[:, 0]] = _numbers(number * BLOCK + np.arange(triples))
        cells[begins[:, -1], 0] = MARKS[-1][0]
        return cells.tobytes().translate(None, b"\0")

    @cached_property
    def _first(self) -> Texts:
        """Block 0, whose texts are repeated all over the corpus."""
        return self._copied(0, self._drawn(0))

    def _drawn(self, number: int) -> Texts:
        """Draw all texts of a block."""
        generator = self._generator(number, 0)
        lengths = _LENGTHS[_small(generator, BLOCK * FIELDS) >> 4]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        words = self.language.draw_words(generator.random_raw(begins[-1]))
        chance = _small(generator, begins[-1])
        marks = _WITHIN_MARKS[chance >> 8]
        topics = self.language.draw_topics(generator.random_raw(BLOCK))
        topical = np.flatnonzero((words >= FUNCTION_WORDS) & ((chance & 0xFF) < _TOPICAL * 256))
        of_triple = np.repeat(topics, lengths.reshape(-1, FIELDS).sum(axis=1))
        words[topical] = self.language.draw_topic_words(generator.random_raw(len(topical)), of_triple[topical])
        self._put_phrases(generator, words, marks, begins)
        capitals = np.zeros(len(words), dtype=bool)
        capitals[1:] = _ENDS_SENTENCE[marks[:-1]]
        packed = (words | (marks.astype(np.int64) << _MARK) | (capitals.astype(np.int64) << _CAPITAL_BIT)).astype("u4")
        chance = _small(generator, BLOCK * FIELDS)
        first, last = begins[:-1], begins[1:] - 1
        packed[last] &= ~np.uint32(0x7F << _MARK)
        packed[last] |= _END_MARKS[chance >> 8].astype(np.uint32) << np.uint32(_MARK)
        packed[first] &= np.uint32((1 << _CAPITAL_BIT) - 1)
        packed[first] |= ((chance & 0xFF) < _CAPITAL * 256).astype(np.uint32) << np.uint32(_CAPITAL_BIT)
        return Texts(packed, begins, np.ones(BLOCK * FIELDS, dtype=bool))

    def _put_phrases(
        self,
        generator: np.random.PCG64,
        words: NDArray[np.int64],
        marks: NDArray[np.uint8],
        begins: NDArray[np.int64],
    ) -> None:
        """Let some texts begin or end with a stock phrase."""
        chance = _small(generator, len(begins) - 1)
        texts = np.flatnonzero(chance < _WITH_PHRASE * 2**16)
        phrases = self.language.phrases[self.language.draw_phrases(generator.random_raw(len(texts)))]
        sizes = (phrases >= 0).sum(axis=1)
        room = (begins[1:] - begins[:-1])[texts] - sizes
        first = begins[texts] + np.where(chance[texts] % 2 == 0, room, 0)
        for place in range(phrases.shape[1]):
            there = (room >= 0) & (sizes > place)
            words[first[there] + place] = phrases[there, place]
            inside = there & (sizes > place + 1)
            marks[first[inside] + place] = 0

    def _copied(self, number: int, drawn: Texts) -> Texts:
        """Replace some messages and responses by copies of others, from this block or the first, as they are or not."""
        generator = self._generator(number, 1)
        chance, pick, where, edit = generator.random_raw(4 * BLOCK).reshape(4, BLOCK)
        # Each share is that of messages and that of responses, and half of either is copied together with the other.
        bounds = np.cumsum([self.duplicates / 2] * 3 + [self.near_duplicates / 2] * 3)
        group = np.searchsorted(bounds, _unit(chance), side="right")
        original = ~_COPIED[group]
        # Only whole originals are copied: a copy's own text is not in the corpus.
        sources = np.flatnonzero(original.all(axis=1))
        before = np.searchsorted(sources, np.arange(BLOCK))
        original[before == 0] = True
        share = _unit(pick)
        source = sources[(share * before).astype(np.int64)]
        pool = drawn.words
        text_begins, text_lengths = drawn.begins[:-1], drawn.lengths
        if number:
            popular = np.flatnonzero(self._first.original.reshape(-1, FIELDS).all(axis=1))
            elsewhere = where >> np.uint64(63) == 0
            source = np.where(elsewhere, BLOCK + popular[(share * len(popular)).astype(np.int64)], source)
            pool = np.concatenate([drawn.words, self._first.words])
            text_begins = np.concatenate([text_begins, self._first.begins[:-1] + len(drawn.words)])
            text_lengths = np.concatenate([text_lengths, self._first.lengths])
        own = np.arange(BLOCK * FIELDS).reshape(-1, FIELDS)
        text = np.where(original, own, FIELDS * source[:, None] + np.arange(FIELDS)).ravel()
        lengths = text_lengths[text]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        words = pool[np.arange(begins[-1]) + np.repeat(text_begins[text] - begins[:-1], lengths)]
        altered = np.flatnonzero(~original & _ALTERED[group, None])
        # A triple's two copies are altered in the same way, at different words.
        bits = edit[altered // FIELDS]
        kind = (bits & np.uint64(3)).astype(np.int64)
        share = (_unit(bits) + (altered % FIELDS) / FIELDS) % 1
        self._alter(words, begins[altered], lengths[altered], kind, share, generator)
        return Texts(words, begins, original.ravel())

    def _alter(
        self,
        words: NDArray[np.uint32],
        begins: NDArray[np.int64],
        lengths: NDArray[np.int64],
        kind: NDArray[np.int64],
        share: NDArray[np.float64],
        generator: np.random.PCG64,
    ) -> None:
        """Make near-duplicates of the copies that begin there: another word, another mark at the end, another case."""
        fresh = self.language.draw_words(generator.random_raw(len(begins)))
        places = begins + (share * lengths).astype(np.int64)
        case = (kind == 3) & ~self.language.is_name(words[begins] & _WORD)
        mark = (kind >= 2) & ~case
        word = kind < 2
        old = (words[places] & _WORD).astype(np.int64)
        new = np.where(fresh == old, (old + 1) % self.language.words, fresh).astype(np.uint32)
        words[places[word]] = (words[places] & ~np.uint32(_WORD) | new)[word]
        words[begins[case]] ^= np.uint32(1 << _CAPITAL_BIT)
        last = (begins + lengths - 1)[mark]
        after = _NEXT_END_MARK[(words[last] >> _MARK) & 0x7F].astype(np.uint32)
        words[last] = (words[last] & ~np.uint32(0x7F << _MARK)) | (after << np.uint32(_MARK))

    def _generator(self, number: int, purpose: int) -> np.random.PCG64:
        # The raw bits of a named generator are the same in all versions of NumPy; its distributions need not be.
        return np.random.PCG64([self.seed, number, purpose])


def _small(generator: np.random.PCG64, count: int) -> NDArray[np.uint16]:
    """Return numbers of 16 random bits."""
    bits = generator.random_raw(-(-count // 4)).astype("<u8", copy=False)
    return bits.view("<u2")[:count]


def _unit(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return numbers from 0 up to 1: whole numbers below 2**53 are floats without loss."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _numbers(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return cells with whole numbers in decimal digits."""
    cells = np.zeros((len(numbers), CELL), dtype=np.uint8)
    cells[:, 0] = MARKS[0][0]
    digits = len(str(numbers[-1]))
    for place in range(1, digits + 1):
        high, digit = np.divmod(numbers // 10 ** (digits - place), 10)
        cells[:, place] = np.where((high > 0) | (digit > 0) | (place == digits), digit + ord("0"), 0)
    return cells


def _lengths() -> NDArray[np.int64]:
    """Return lengths of texts in words, 4,096 of them in equal shares."""
    normal = NormalDist(math.log(_MEDIAN_LENGTH), _LENGTH_SPREAD)
    quantiles = [math.exp(normal.inv_cdf((place + 0.5) / 4096)) for place in range(4096)]
    return np.clip(np.rint(quantiles), 1, _LONGEST).astype(np.int64)


def _marks(shares: dict[str, float]) -> NDArray[np.uint8]:
    """Return marks, 256 of them in the shares given; 0 for none."""
    marks = np.zeros(256, dtype=np.uint8)
    done = 0
    for mark, share in shares.items():
        count = round(share * 256)
        marks[done : done + count] = ord(mark)
        done += count
    return marks


_LENGTHS = _lengths()
_WITHIN_MARKS = _marks(_WITHIN)
_END_MARKS = _marks(_AT_END)
_NEXT_END_MARK = np.zeros(128, dtype=np.uint8)
_NEXT_END_MARK[[0, *map(ord, _AT_END)]] = [*map(ord, _AT_END), 0]
_ENDS_SENTENCE = np.isin(np.arange(256), [ord(mark) for mark in ".?!"])
