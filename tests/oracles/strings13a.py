"""Random strings that are hard on 13a, and sacreBLEU's tokens of them."""

from __future__ import annotations

import random
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_none import NoneTokenizer
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALL_SPACES: Final = tuple(chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace())
"""Every character that `str.split` splits at."""

_ENTITIES = (
    "&quot;", "&amp;", "&lt;", "&gt;", "&amp;quot;", "&amp;amp;lt;", "&amp;gt;", "&apos;", "&#39;", "&nbsp;", "&quot",
    "&", "&&", "&q", "&am", "p;", "&lt;skipped&gt;", "&QUOT;",
)  # fmt: skip
_MARKUP = (
    "<skipped>",
    "<skip",
    "ped>",
    "<ski<skipped>pped>",
    "<SKIPPED>",
    "<",
    ">",
    "-\n",
    "--\n\n",
    "-",
    "\n",
    "-\r\n",
)
_NUMBERS = (
    "3...5", "a..5", "1-2", "1--2", ",,.", "3.5", "1,000.5", ".5", "5.", "5,,5", "a.5", "5.a", "-1", "1-", "a-1", "..",
    "...", "0", "9", "1.2.3", "5-.5", ".,.,5", "3.,5", "٣.٥", "५.५", "３．５", "1.²",
)  # fmt: skip
_WORDS = (
    "a",
    "the",
    "Don't",
    "x_y",
    "(a)",
    "[b]",
    "{c}",
    "a/b",
    "$%^*",
    "~`",
    "a@b",
    "#tag",
    "!",
    "?",
    "'",
    '"',
    "A:b;c",
)
_WIDE = (
    "é", "ß", "\x80", "\x85", "\xa0", "\xad", "\xff", "Ā", "İ", "ŉ", "ǰ", "Σ", "中", "文。", "、", "\u200b", "\u200d",
    "\u2028", "\u3000", "\ufeff", "\uffff", "\ud800", "\udfff", "\ud83d", "🙂", "𝒳", "\U0001d7d9", "\U0010ffff",
    "👩‍👩‍👧", "e\u0301", "\u180e", "’", "«", "…", "–",
)  # fmt: skip
_CONTROLS = (*map(chr, range(32)), "\x7f")

_LATIN = (*_ENTITIES, *_MARKUP, *_NUMBERS[:22], *_WORDS, *_CONTROLS, *(c for c in _WIDE if c <= "\xff"))
_POINTS = (".", ",", "-", "0", "1", "9", "a", " ", ".", ",", "5")
_EVERYTHING = (*_ENTITIES, *_MARKUP, *_NUMBERS, *_WORDS, *_WIDE, *_CONTROLS, *ALL_SPACES)
_ASCII = tuple(piece for piece in _LATIN if piece.isascii())
_BASIC = tuple(piece for piece in _EVERYTHING if all(c <= "\uffff" for c in piece))


def _any_characters(rng: random.Random, size: int) -> str:
    return "".join(chr(rng.randrange(rng.choice((0x80, 0x100, 0x3000, 0x110000)))) for _ in range(size))


def _pieces(rng: random.Random, pieces: tuple[str, ...], joints: tuple[str, ...], size: int) -> str:
    return "".join(rng.choice(pieces) + rng.choice(joints) for _ in range(size))


def string(rng: random.Random) -> str:
    """Return one string, short ones more often than long ones, of any width that Python keeps strings in."""
    size = min(rng.randrange(1, 12) * rng.randrange(1, 5), 40) if rng.random() < 0.95 else rng.randrange(40, 200)
    kind = rng.randrange(8)
    if kind == 0:
        return _any_characters(rng, size)
    if kind == 1:
        return "".join(rng.choices(_POINTS, k=2 * size))
    pieces = (_ASCII, _LATIN, _BASIC, _EVERYTHING, _EVERYTHING, _NUMBERS)[kind - 2]
    joints = rng.choice((("",), ("", " "), (" ",), ("", "", rng.choice(ALL_SPACES))))
    return _pieces(rng, pieces, joints, size)


def strings(seed: int, count: int) -> Iterator[str]:
    """Return that many strings, the same ones for the same seed."""
    rng = random.Random(seed)
    return (string(rng) for _ in range(count))


def _uncached_13a() -> Callable[[str], str]:
    # A cache of 65,536 strings never hits here, and only costs time and memory.
    classes: Any = (Tokenizer13a, TokenizerRegexp)
    outer, inner = (each() for each in classes)
    outer._post_tokenizer = partial(classes[1].__call__.__wrapped__, inner)
    return partial(classes[0].__call__.__wrapped__, outer)


_13A: Final = _uncached_13a()
_NONE: Final = NoneTokenizer()


def expected(text: str, tokenizer: str, *, lowercase: bool) -> list[str]:
    """Return the tokens that sacreBLEU's BLEU would count."""
    text = (text.lower() if lowercase else text).rstrip()
    line: str = _13A(text) if tokenizer == "13a" else _NONE(text)
    return line.split()
