"""Which language texts are in, where it is another than those that a model knows: by script and by function words."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

ENGLISH: Final = ("English",)

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ACCENT: Final = re.compile("[\u00df-\u024f\u1e00-\u1eff]")
_LATIN: Final = "LATIN"

_MOST_TEXTS: Final = 200
_MOST_CHARACTERS: Final = 300
_ENOUGH_TEXTS: Final = 50
_ENOUGH_LETTERS: Final = 1_000  # where there are fewer texts

_OTHER_SCRIPT: Final = 0.25  # share of letters; names and quotations in English text have fewer
_KANA: Final = 0.05  # share of kana in Japanese letters
_FUNCTION_WORDS: Final = 0.08  # share of words; English has some 40 %, Finnish and Turkish some 15 %
_DISTINCT: Final = 6
_TELLING: Final = 5  # of these, neither letters, which code has, nor parts of names
_IN_NAMES: Final = frozenset(
    [
        *("de", "la", "las", "le", "les", "los", "el", "del", "di", "da", "dal", "do", "dos", "das", "du", "des"),
        *("al", "van", "der", "den", "ten", "von", "zu"),
    ]
)
_ACCENTED: Final = 0.12  # share of words in lower case with letters beyond a to z
_ACCENTED_DISTINCT: Final = 8
_LOWER: Final = 0.5
_NO_ENGLISH: Final = 0.1


class _Tables(NamedTuple):
    """Function words by language, how many languages each is of, and scripts with one well-known language."""

    words: dict[str, frozenset[str]]
    shared: Counter[str]
    scripts: dict[str, str]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    words = {language: frozenset(text.split()) for language, text in found["words"].items()}
    return _Tables(words, Counter(chain.from_iterable(words.values())), found["scripts"])


def unknown_language(texts: Sequence[str], known: Collection[str] = ENGLISH) -> str | None:
    """Name the language, or the script, that texts are in if it is not a known one; None if it is or cannot be told.

    Letters tell the script. In Latin script, the most frequent function words of some 35 languages tell the language;
    code, names and short messages have too few of any. A few hundred texts are examined. With fewer than 50 texts and
    less than about 200 words, nothing is said.

    Parameters
    ----------
    texts
        The texts, such as the references.
    known
        Languages in Latin script, by their English names, and others by what this function returns for them.

    Examples
    --------
    >>> unknown_language(["Wir haben das Haus nicht gesehen, weil es zu dunkel war."] * 50)
    'German'
    >>> unknown_language(["Это очень хорошая книга."] * 50)
    'Cyrillic script'
    >>> unknown_language(["We have not seen the house, because it was too dark."] * 50)
    """
    step = max(1, len(texts) // _MOST_TEXTS)
    parts = [text[:_MOST_CHARACTERS] for text in texts[::step]]
    whole = "\n".join(parts)
    letters = Counter[str]()
    for character, count in Counter(whole).items():
        if character.isalpha():
            letters[_script(character)] += count
    total = letters.total()
    if len(texts) < _ENOUGH_TEXTS and total < _ENOUGH_LETTERS:
        return None
    others = {script: count for script, count in letters.items() if script != _LATIN}
    if total and sum(others.values()) >= _OTHER_SCRIPT * total:
        name = _named(others)
        return None if name in known else name
    return _latin_language(_WORD.findall(whole), known)


def _latin_language(found: list[str], known: Collection[str]) -> str | None:
    words = len(found)
    counts = Counter(word.replace("’", "'").lower() for word in found)
    languages, shared, _ = _tables()
    ours = frozenset[str]().union(*(languages.get(name, ()) for name in known))
    of_known = sum(counts[word] for word in ours)
    found_of: dict[str, float] = {}
    for name, own in languages.items():
        there = [word for word in own - ours if word in counts]
        number = sum(counts[word] for word in there)
        if (
            name not in known
            and len(there) >= _DISTINCT
            and number >= _FUNCTION_WORDS * words
            and 2 * number > of_known
        ):
            found_of[name] = sum(counts[word] / shared[word] for word in there)
    if found_of:
        return max(found_of, key=found_of.__getitem__)
    if of_known >= _NO_ENGLISH * words:
        return None
    lower = [word for word in found if word[0].islower()]
    accented = [word for word in lower if _ACCENT.search(word)]
    if (
        len(lower) >= _LOWER * words
        and len(accented) >= _ACCENTED * len(lower)
        and len({*accented}) >= _ACCENTED_DISTINCT
    ):
        return f"a language other than {' or '.join(known)}"
    return None


@lru_cache(maxsize=1 << 14)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    # Mathematical, full-width and other forms of letters are what people decorate Latin text with.
    return name if name in _tables().scripts or name in _SCRIPTS else _LATIN


_SCRIPTS: Final = frozenset(
    [
        *("CYRILLIC", "ARABIC", "SYRIAC", "THAANA", "NKO", "ADLAM", "VAI", "TIFINAGH", "COPTIC", "GOTHIC", "OSMANYA"),
        *("DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM"),
        *("SINHALA", "TIBETAN", "MONGOLIAN", "JAVANESE", "BALINESE", "BOPOMOFO", "YI", "CANADIAN", "CHEROKEE"),
    ]
)


def _named(letters: dict[str, int]) -> str:
    scripts = _tables().scripts
    japanese = sum(letters.get(name, 0) for name in ("HIRAGANA", "KATAKANA"))
    merged = dict(letters)
    if japanese > _KANA * (japanese + letters.get("CJK", 0)):
        merged["HIRAGANA"] = japanese + merged.pop("CJK", 0)
    script = max(merged, key=merged.__getitem__)
    return scripts.get(script) or f"{script.title()} script"
