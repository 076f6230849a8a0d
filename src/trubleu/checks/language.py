"""The script and the language of a text."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Final

from trubleu.checks.links import FENCE
from trubleu.checks.marks import Mark
from trubleu.checks.words import word_lists
from trubleu.text.words import split

if TYPE_CHECKING:
    from trubleu.checks.item import Item

_FUNCTION_WORDS: Final = {language: frozenset(words.split()) for language, words in word_lists("languages").items()}
ENOUGH_WORDS: Final = 8
"""Of texts with fewer words the language is not looked at."""
ENOUGH_LETTERS: Final = 20
"""Of texts with fewer letters the script is not looked at."""
SHARE: Final = 0.15
"""What share of the words must be function words of a language."""
AHEAD: Final = 1.5
"""How many times as many they must be as those of the next language."""
_NAMES: Final = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "sv": "Swedish",
    "pl": "Polish",
    "tr": "Turkish",
}


def script(text: str) -> str | None:
    """Return the script that most letters of a text have.

    Examples
    --------
    >>> script("Hello, world"), script("Привет"), script("42")
    ('Latin', 'Cyrillic', None)
    """
    counts: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if char.isalpha():
            counts[_script_of(char)] += count
    return counts.most_common(1)[0][0] if counts else None


def _script_of(letter: str) -> str:
    name = unicodedata.name(letter, "unknown").split()[0].capitalize()
    return "Japanese" if name in ("Hiragana", "Katakana") else name


def language(text: str) -> str | None:
    """Return the language of a text, by its function words; None if that is not clear.

    Examples
    --------
    >>> language("The cat is on the mat, and it has been there for days.")
    'English'
    >>> language("Die Katze ist auf der Matte und sie ist noch da.")
    'German'
    """
    words = [word.lower() for word in split(FENCE.sub(" ", text)) if word[0].isalpha()]
    if len(words) < ENOUGH_WORDS:
        return None
    counts = [(sum(word in known for word in words), name) for name, known in _FUNCTION_WORDS.items()]
    shares = sorted(counts, reverse=True)
    (most, best), (next_most, _) = shares[:2]
    return _NAMES[best] if most >= SHARE * len(words) and most >= AHEAD * next_most else None


def find_language(item: Item) -> list[Mark]:
    """Return whether an output is in a script or a language that no good reference and no earlier output has."""
    texts = [*item.good, *item.old]
    scripts = {script(text) for text in texts}
    own = script(item.output)
    letters = sum(char.isalpha() for char in item.output)
    if own is not None and letters >= ENOUGH_LETTERS and None not in scripts and own not in scripts:
        # Japanese is written with Chinese characters, too.
        if not ({own, *scripts} <= {"Cjk", "Japanese"}):
            return [Mark("language", own, f"most letters are {own}, those of the references {_listed(scripts)}")]
        return []
    languages = {language(text) for text in texts}
    spoken = language(item.output)
    if spoken is not None and None not in languages and spoken not in languages:
        return [Mark("language", spoken, f"the output is in {spoken}, the references are in {_listed(languages)}")]
    return []


def _listed(names: set[str | None]) -> str:
    return " or ".join(sorted(name for name in names if name))
