"""Synthetic triples in any number: an artificial language, drawn in blocks from a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.data import Triple
from trubleu.errors import UsageError
from trubleu.files.paths import format_to_write
from trubleu.files.writer import atomic_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from trubleu.files.paths import PathLike


_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


class AliasTable:
    """Alias tables: one distribution over columns per matrix row, with two lookups per draw.

    A draw is an integer function of 64 random bits, so the same bits give the same draws everywhere.

    Parameters
    ----------
    weights
        Not negative, with something positive in every row; a single row may be given without its axis.

    Examples
    --------
    >>> table = AliasTable([3.0, 0.0, 1.0])
    >>> bits = np.random.PCG64(1).random_raw(1000)
    >>> np.bincount(table.draw(bits), minlength=3).tolist()
    [765, 0, 235]
    """

    def __init__(self, weights: ArrayLike) -> None:
        matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        rows = [_filled(row) for row in matrix]
        self._width = matrix.shape[1]
        self._kept = np.concatenate([kept for kept, _ in rows])
        self._other = np.concatenate([other for _, other in rows])

    def draw(self, bits: NDArray[np.uint64], rows: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """Return a column per 64 bits, from the first row or from those given."""
        columns = (((bits >> _HALF) * np.uint64(self._width)) >> _HALF).astype(np.int64)
        cells = columns if rows is None else rows * self._width + columns
        return np.where((bits & _LOW) < self._kept[cells], columns, self._other[cells])


def _filled(weights: NDArray[np.float64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the alias table: how many of 2**32 draws keep a column, and the column the others go to."""
    shares = weights * (len(weights) / weights.sum())
    small, large = np.flatnonzero(shares < 1), np.flatnonzero(shares >= 1)
    other = np.arange(len(shares))
    if not len(large):  # all are 1 but for rounding
        return np.full(len(shares), 2**32, dtype=np.uint64), other
    # The deficits of small columns are laid end to end beside the surpluses of large ones. A small column takes from
    # the large one in which its own interval begins. If the interval exceeds that column's surplus, the large column
    # has a deficit in turn, and takes it from the next large one.
    lacking = np.concatenate([[0.0], np.cumsum(1 - shares[small])])
    spare = np.cumsum(shares[large] - 1)
    giver = np.searchsorted(spare, lacking[:-1], side="right")
    other[small] = large[np.minimum(giver, len(large) - 1)]
    other[large[:-1]] = large[1:]
    shares[large] = 1 + spare - lacking[np.searchsorted(lacking[:-1], spare, side="left")]
    shares[large[-1]] = 1
    return (np.clip(shares, 0, 1) * 2.0**32).astype(np.uint64), other


FEWEST_WORDS: Final = 1_000
MOST_WORDS: Final = 10_000_000
LARGEST_EXPONENT: Final = 3.0

FUNCTION_WORDS: Final = 200
"""The most frequent words, which belong to no topic, like *the* and *you*."""

CELL: Final = 16
"""Bytes of a word's cell: one for the preceding character, 14 for the word, one for the following character."""

_TOPIC_WORDS = 200  # or slightly fewer
_PHRASES = 1_000
_PHRASE_LENGTHS = (2, 5)
_PHRASE_WORDS = 2_000  # stock phrases consist of the most frequent words
_PHRASE_SHIFT = 10  # flattens their frequencies: the first has about 2 % of all uses
_NAMES = 16  # one in this many topic words is always capitalised

# Words are open syllables and a last one that may be closed. Each word has a unique reading, so no word occurs twice: a
# vowel ends a syllable, only the last syllable ends in consonants, and no onset starts with a vowel.
_ONSETS = [*"bcdfghjklmnprstvwyz", "ch", "sh", "th", "br", "st", "tr", "pl", "gr", "kl"]
_VOWELS = [*"aeiou", "ai", "ea", "ou", "oo"]
_CODAS = ["", *"nrsltmkd", "ng", "st"]


@dataclass(frozen=True)
class Language:
    """An artificial language, determined by its options.

    A word is a number, its frequency rank less 1: word `r` occurs in proportion to ``(r + 1) ** -exponent``. Words
    after the first `FUNCTION_WORDS` belong to one topic each. A topic is as frequent as its words together, so texts
    that take words from their topics still follow Zipf's law.

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
            raise UsageError(f"words is {self.words}, but must be between {FEWEST_WORDS:,} and {MOST_WORDS:,}")
        if not 0 <= self.exponent <= LARGEST_EXPONENT:
            raise UsageError(f"exponent is {self.exponent}, but must be between 0 and {LARGEST_EXPONENT:g}")
        if self.seed < 0:
            raise UsageError(f"language is {self.seed}, but must not be negative")

    @property
    def topics(self) -> int:
        """Number of topics."""
        return math.ceil((self.words - FUNCTION_WORDS) / _TOPIC_WORDS)

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """Relative frequency of each word."""
        weights: NDArray[np.float64] = np.arange(1, self.words + 1, dtype=np.float64) ** -self.exponent
        return weights / float(weights.sum())

    def topic_of(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the topics of words that are not function words: every topic has frequent and rare words."""
        return (words - FUNCTION_WORDS) % self.topics

    def is_name(self, words: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which words are always capitalised."""
        return np.asarray((words >= FUNCTION_WORDS) & (words % _NAMES == 0))

    def draw_topic_words(self, bits: NDArray[np.uint64], topics: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a word of each topic."""
        return FUNCTION_WORDS + topics + self.topics * self._topic_word_table.draw(bits, topics)

    @cached_property
    def phrases(self) -> NDArray[np.int64]:
        """The words of stock phrases, one row each, padded with -1."""
        shortest, longest = _PHRASE_LENGTHS
        frequent = AliasTable(self.frequencies[:_PHRASE_WORDS])
        bits = self._generator().random_raw(_PHRASES * (longest + 1)).reshape(_PHRASES, longest + 1)
        lengths = shortest + bits[:, :1] % np.uint64(longest - shortest + 1)
        words = frequent.draw(bits[:, 1:].ravel()).reshape(_PHRASES, longest)
        return np.where(np.arange(longest) < lengths.astype(np.int64), words, -1)

    @cached_property
    def cells(self) -> NDArray[np.uint8]:
        """The bytes of each word in a row of `CELL`, after a space, zero-padded; ASCII."""
        texts = np.zeros((self.words, CELL), dtype=np.uint8)
        texts[:, 0] = ord(" ")
        written = texts[:, 1:-1]
        written[:] = self._spellings().view(np.uint8).reshape(self.words, CELL - 2)
        written[self.is_name(np.arange(self.words)), 0] &= 0xDF  # to upper case
        return texts

    def spelled(self, word: int) -> str:
        """Return a word as written inside a sentence."""
        return bytes(self.cells[word, 1:-1]).rstrip(b"\0").decode("ascii")

    def _spellings(self) -> NDArray[np.bytes_]:
        open_syllables = np.array([onset + vowel for onset in _ONSETS for vowel in _VOWELS], dtype="S4")
        codas = np.array(_CODAS, dtype="S2")
        spellings = np.zeros(self.words, dtype=f"S{CELL - 2}")
        generator = self._generator(1)
        first, syllables = 0, 1
        while first < self.words:
            # Words of this many syllables are numbered, and a fixed stride through them reaches each once. The most
            # frequent words have the fewest syllables.
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
    def word_table(self) -> AliasTable:
        """Alias table of words."""
        return AliasTable(self.frequencies)

    @cached_property
    def _by_topic(self) -> NDArray[np.float64]:
        """The frequencies of topics' words, one row each."""
        frequencies = self.frequencies[FUNCTION_WORDS:]
        padded = np.zeros(self.topics * math.ceil(len(frequencies) / self.topics))
        padded[: len(frequencies)] = frequencies
        return padded.reshape(-1, self.topics).T

    @cached_property
    def topic_table(self) -> AliasTable:
        """Alias table of topics."""
        return AliasTable(self._by_topic.sum(axis=1))

    @cached_property
    def _topic_word_table(self) -> AliasTable:
        return AliasTable(self._by_topic)

    @cached_property
    def phrase_table(self) -> AliasTable:
        """Alias table of stock phrases (rows of `phrases`)."""
        return AliasTable(1 / (_PHRASE_SHIFT + np.arange(_PHRASES, dtype=np.float64)))


def _stride(generator: np.random.PCG64, number: int) -> tuple[int, int]:
    """Return a stride coprime to ``number``, at least a third of it, and a starting point."""
    start, step = (int(bits) % number for bits in generator.random_raw(2))
    step = number // 3 + step // 3
    while math.gcd(step, number) > 1:
        step += 1
    return step, start


BLOCK: Final = 8192
"""Triples per block. Each block has its own random bits, so the first triples do not depend on the total number."""

FIELDS: Final = 3
"""A triple is three texts: context, message, response."""

MARKS: Final = (b"\1", b"\2", b"\3", b"\4", b"\5")
"""Placeholders before a triple's number, context, message and response, and after it, until a format is chosen."""

_MEDIAN_LENGTH, _LENGTH_SPREAD, _LONGEST = 9.0, 0.6, 48  # in words; log-normal, approximately as in chat
_TOPICAL = 0.5  # share of topic words that come from the triple's topic
_WITH_PHRASE = 0.25  # share of texts that begin or end with a stock phrase
_CAPITAL = 0.8  # share of texts that begin with a capital
_WITHIN = {",": 0.06, ".": 0.04, "?": 0.01, "!": 0.01}  # probability of a mark after a word,
_AT_END = {".": 0.45, "?": 0.2, "!": 0.12}  # and after a text's last word

# Groups of triples by what is copied: both, the message or the response; exact, altered; nothing.
_COPIED = np.array([[0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
_ALTERED = np.array([0, 0, 0, 1, 1, 1, 0], dtype=bool)

# A word of a text as one number: its rank, the following mark, and whether it is capitalised.
_MARK, _CAPITAL_BIT = 24, 31
_WORD = (1 << _MARK) - 1


@dataclass(frozen=True, slots=True)
class Texts:
    """Concatenated texts: `words` of text `i` begin at ``begins[i]``; and whether each one is an original."""

    words: NDArray[np.uint32]
    begins: NDArray[np.int64]
    original: NDArray[np.bool_]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of words of each text."""
        return np.diff(self.begins)


@dataclass(frozen=True)
class BlockMaker:
    """Generates blocks of triples as bytes; see `trubleu.simulate.triples.TripleSimulation` for the options."""

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
        # Moving sixteen bytes as one value is faster.
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
        """Block 0, whose texts are repeated throughout the corpus."""
        return self._copied(0, self._drawn(0))

    def _drawn(self, number: int) -> Texts:
        """Draw all texts of a block."""
        generator = self._generator(number, 0)
        lengths = _LENGTHS[_small(generator, BLOCK * FIELDS) >> 4]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        words = self.language.word_table.draw(generator.random_raw(begins[-1]))
        chance = _small(generator, begins[-1])
        marks = _WITHIN_MARKS[chance >> 8]
        topics = self.language.topic_table.draw(generator.random_raw(BLOCK))
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
        """Put stock phrases at the beginning or end of some texts."""
        chance = _small(generator, len(begins) - 1)
        texts = np.flatnonzero(chance < _WITH_PHRASE * 2**16)
        phrases = self.language.phrases[self.language.phrase_table.draw(generator.random_raw(len(texts)))]
        sizes = (phrases >= 0).sum(axis=1)
        room = (begins[1:] - begins[:-1])[texts] - sizes
        first = begins[texts] + np.where(chance[texts] % 2 == 0, room, 0)
        for place in range(phrases.shape[1]):
            there = (room >= 0) & (sizes > place)
            words[first[there] + place] = phrases[there, place]
            inside = there & (sizes > place + 1)
            marks[first[inside] + place] = 0

    def _copied(self, number: int, drawn: Texts) -> Texts:
        """Replace some messages and responses by copies, exact or altered, from this block or the first."""
        generator = self._generator(number, 1)
        chance, pick, where, edit = generator.random_raw(4 * BLOCK).reshape(4, BLOCK)
        # Each share applies to messages and to responses, and half of either is copied together with the other.
        bounds = np.cumsum([self.duplicates / 2] * 3 + [self.near_duplicates / 2] * 3)
        group = np.searchsorted(bounds, _unit(chance), side="right")
        original = ~_COPIED[group]
        # Only complete originals are copied: the original text of a copy is not in the corpus.
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
        # Both copies of a triple are altered in the same way, at different words.
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
        """Turn copies into near-duplicates: another word, another final mark, another case."""
        fresh = self.language.word_table.draw(generator.random_raw(len(begins)))
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
        # The raw bits of a named generator are the same in all versions of NumPy; its distributions may not be.
        return np.random.PCG64([self.seed, number, purpose])


def _small(generator: np.random.PCG64, count: int) -> NDArray[np.uint16]:
    """Return numbers of 16 random bits."""
    bits = generator.random_raw(-(-count // 4)).astype("<u8", copy=False)
    return bits.view("<u2")[:count]


def _unit(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return numbers in [0, 1): integers below 2**53 convert to floats exactly."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _numbers(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return cells with integers in decimal digits."""
    cells = np.zeros((len(numbers), CELL), dtype=np.uint8)
    cells[:, 0] = MARKS[0][0]
    digits = len(str(numbers[-1]))
    for place in range(1, digits + 1):
        high, digit = np.divmod(numbers // 10 ** (digits - place), 10)
        cells[:, place] = np.where((high > 0) | (digit > 0) | (place == digits), digit + ord("0"), 0)
    return cells


def _lengths() -> NDArray[np.int64]:
    """Return 4,096 text lengths in words, equally likely."""
    normal = NormalDist(math.log(_MEDIAN_LENGTH), _LENGTH_SPREAD)
    quantiles = [math.exp(normal.inv_cdf((place + 0.5) / 4096)) for place in range(4096)]
    return np.clip(np.rint(quantiles), 1, _LONGEST).astype(np.int64)


def _marks(shares: dict[str, float]) -> NDArray[np.uint8]:
    """Return 256 marks in the given shares; 0 for none."""
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


MOST_TRIPLES: Final = 10**12

# Text before a triple's number, context, message and response, and after it.
_JSON = ('{"id": "sSEED-', '", "context": ["', '"], "message": "', '", "response": "', '"}\n')
_TSV = ("sSEED-", "\t", "\t", "\t", "\n")
_HEADER = "id\tcontext\tmessage\tresponse\n"


@dataclass(frozen=True, kw_only=True)
class TripleSimulation:
    """Generator of synthetic triples. The first triples are the same for any total number.

    Texts have a median of 9 words and at most 48, with capitals and marks. A quarter of them begin or end with a stock
    phrase. The three texts of a triple share a topic, and half of their topic words come from it.

    Parameters
    ----------
    seed
        Of the texts.
    language
        Seed of the language: how words are written, which phrases are stock phrases. Texts of other seeds and the same
        language have the same words with the same frequencies.
    words
        How many words the language has.
    exponent
        Of Zipf's law: the word of rank `r` occurs in proportion to ``r ** -exponent``.
    duplicates
        The share of messages that are copies of earlier ones, and just as many responses. In half of these triples the
        response comes from the same triple as the message. One half of the sources are in the same block of 8,192
        triples, the other half in the first block, so copies lie both close together and far apart.
    near_duplicates
        The share, likewise, of copies that differ: half of them in one word, the others in the mark at their end or in
        the case of their first letter.

    Raises
    ------
    UsageError
        If an option is out of bounds.

    Examples
    --------
    >>> simulation = TripleSimulation(seed=7, words=5000)
    >>> [triple.message for triple in simulation.triples(2)][1]
    'stain Dung Shin sai grik boul kus, sai.'
    """

    seed: int = 1
    language: int = 1
    words: int = 200_000
    exponent: float = 1.0
    duplicates: float = 0.02
    near_duplicates: float = 0.05

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise UsageError(f"seed is {self.seed}, but must not be negative")
        for name in ("duplicates", "near_duplicates"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}, but a share must be between 0 and 1")
        # Copies then take part in three triples out of four, and the fourth is their source.
        if self.duplicates + self.near_duplicates > 1 / 2:
            raise UsageError(
                f"duplicates and near_duplicates are {self.duplicates + self.near_duplicates:g} together, but must not "
                "be more than a half"
            )
        Language(words=self.words, exponent=self.exponent, seed=self.language)

    def triples(self, n: int) -> Iterator[Triple]:
        """Yield the first ``n`` triples.

        Parameters
        ----------
        n
            How many.

        Raises
        ------
        UsageError
            If ``n`` is negative or beyond a million millions.
        """
        _check_number(n)
        return self._triples(n)

    def _triples(self, n: int) -> Iterator[Triple]:
        for block, _ in self._blocks(n):
            for line in self._lines(block, _TSV).splitlines():
                number, context, message, response = line.split("\t")
                yield Triple(number, (context,), message, response)

    def write(self, path: PathLike, n: int, *, progress: Callable[[int], object] | None = None) -> None:
        """Write the first triples to a file, atomically.

        Memory does not grow with ``n``.

        Parameters
        ----------
        path
            JSONL, TSV or Parquet by its name, compressed with ``.gz`` or ``.zst``; ``-`` for JSONL on standard output.
        n
            How many.
        progress
            Called with the number of triples each time some are written.

        Raises
        ------
        UsageError
            If ``n`` is out of bounds, or the name does not say what kind of file it is.
        DataError
            If the file cannot be written.
        """
        _check_number(n)
        form = format_to_write(path, ("jsonl", "tsv", "parquet"))
        if form == "parquet":
            from trubleu.data.triples import write_triples

            write_triples(path, self._triples(n), progress=progress)
            return
        # Synthetic texts need no escaping, and creating a Python object for each would dominate the running time.
        header, around = ("", _JSON) if form == "jsonl" else (_HEADER, _TSV)
        with atomic_writer(path) as file:
            file.write(header)
            for block, count in self._blocks(n):
                file.write(self._lines(block, around))
                if progress is not None:
                    progress(count)

    def _lines(self, block: bytes, around: Sequence[str]) -> str:
        """Return a block with its placeholders replaced by text."""
        for mark, text in zip(MARKS, around, strict=True):
            block = block.replace(mark, text.replace("SEED", str(self.seed)).encode())
        return block.decode("ascii")

    def _blocks(self, n: int) -> Iterator[tuple[bytes, int]]:
        """Yield blocks from `BlockMaker.spelled`, and their numbers of triples."""
        for first in range(0, n, BLOCK):
            count = min(BLOCK, n - first)
            yield self._maker.spelled(first // BLOCK, count), count

    @cached_property
    def _maker(self) -> BlockMaker:

        language = Language(words=self.words, exponent=self.exponent, seed=self.language)
        return BlockMaker(language, self.seed, self.duplicates, self.near_duplicates)


def simulated_triples(n: int, **options: Any) -> Iterator[Triple]:
    """Yield ``n`` synthetic triples; the options are those of `TripleSimulation`.

    Examples
    --------
    >>> from trubleu.simulate import simulated_triples
    >>> [triple.id for triple in simulated_triples(3, seed=2, words=5000)]
    ['s2-0', 's2-1', 's2-2']
    """
    return TripleSimulation(**options).triples(n)


def _check_number(n: int) -> None:
    if not 0 <= n <= MOST_TRIPLES:
        raise UsageError(f"n is {n}, but must be between 0 and {MOST_TRIPLES:,}")
