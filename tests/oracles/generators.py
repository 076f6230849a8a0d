"""The generators of the kernels and what is drawn from them, restated in plain Python."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORD = 2**64 - 1
BOOTSTRAP, RANDOMISATION, UNITS, ITEMS, UNITS_OF_ITEMS = 1, 2, 3, 4, 5


def mix(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & WORD
    return word ^ (word >> 31)


def start_of(seed: int, purpose: int) -> int:
    return mix((mix(seed) + purpose) & WORD)


def words(start: int, number: int) -> Iterator[int]:
    """xoshiro256++ from words 4·number .. 4·number + 3 of a SplitMix64 sequence."""
    s = [mix((start + (4 * number + i + 1) * 0x9E3779B97F4A7C15) & WORD) for i in range(4)]

    def rotate(word: int, by: int) -> int:
        return (word << by | word >> (64 - by)) & WORD

    while True:
        yield (rotate((s[0] + s[3]) & WORD, 23) + s[0]) & WORD
        shifted = s[1] << 17 & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotate(s[3], 45)


def halves(start: int, number: int) -> Iterator[int]:
    """The low half of each word, then its high half."""
    for word in words(start, number):
        yield word & 0xFFFFFFFF
        yield word >> 32


def below(limit: int, source: Iterator[int]) -> int:
    """A number below the limit: 32 bits scaled down, unless they are among those that would favour some numbers."""
    while True:
        product = next(source) * limit
        if product % 2**32 >= 2**32 % limit:
            return product >> 32


def shuffled(numbers: Sequence[int], source: Iterator[int]) -> list[int]:
    result = list(numbers)
    for last in range(len(result) - 1, 0, -1):
        other = below(last + 1, source)
        result[last], result[other] = result[other], result[last]
    return result


def shuffle_order(rows: int, seed: int, stream: int, draw: int) -> list[int]:
    """The order of all rows in a draw."""
    return shuffled(range(rows), halves(mix((start_of(seed, UNITS) + stream) & WORD), draw))


def bootstrap_order(items: Sequence[int], universe: int, seed: int, stream: int, draw: int) -> list[int]:
    """The rows of items drawn with replacement, as many as there are rows, and then shuffled."""
    rows = {item: row for row, item in enumerate(items)}
    source = halves(start_of(seed, ITEMS), draw)
    sequence = (below(universe, source) for _ in iter(int, 1))
    taken = list(islice((rows[item] for item in sequence if item in rows), len(items)))
    return shuffled(taken, halves(mix((start_of(seed, UNITS_OF_ITEMS) + stream) & WORD), draw))
