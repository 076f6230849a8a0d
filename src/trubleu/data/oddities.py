"""What is odd about outputs beside their references: a sentence for each kind, and nothing about good data."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.errors import TrubleuWarning, counted, some

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trubleu.data.references import References

_MOST_TEXTS: Final = 300
"""Texts of a system that are searched for marks; all are counted where they are empty or copies."""

_FEWEST: Final = 20  # texts, or marks, from which a share means something
_MOST_CHARACTERS: Final = 500

_TOKENISED: Final = 0.5
_PLAIN: Final = 0.1

_COPIES: Final = 0.8
_OF_SOURCE: Final = 0.5

_MARKS: Final = {
    "marks of subwords (@@)": ("@@", re.compile(r"[^\W\d_]@@(?=\s|$)")),
    "marks of subwords (▁)": ("▁", re.compile("▁[^\\W\\d_]")),
    "marks of subwords (##)": (" ##", re.compile(r"\w ##\w")),
    "HTML entities such as &quot;": ("&", re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,5});")),
}
"""What subword tokenizers and HTML leave behind: a part of it that is quickly looked for, and the pattern."""

_MARKED: Final = 0.02

_OFFSETS: Final = (-2, -1, 1, 2)
_SHIFTED: Final = 0.15
"""By how much the overlap of words must be larger a line or two away, and by half of itself."""


class _Texts(NamedTuple):
    """The outputs of a system beside their references, as far as there is an output."""

    name: str
    outputs: Sequence[str]
    places: Sequence[int]


def warn_of_oddities(outputs: Mapping[str, Sequence[str | None]], references: References) -> None:
    """Warn of what `oddities` finds."""
    for sentence in oddities(outputs, references):
        warnings.warn(sentence, TrubleuWarning, stacklevel=2)


def oddities(outputs: Mapping[str, Sequence[str | None]], references: References) -> list[str]:
    """Say what is odd about outputs: empty, equal to the reference or the source, tokenised, escaped, or shifted.

    Parameters
    ----------
    outputs
        The texts of each system, None where it has none.
    references
        Their references, with messages where the source is known.

    Examples
    --------
    >>> from trubleu.data import References
    >>> texts = [f"line {number} , the one ." for number in range(30)]
    >>> oddities({"A": texts[:29] + [""]}, References.from_lists([[text.replace(" ,", ",")] for text in texts]))
    ['empty outputs: 1 of A']
    """
    systems = []
    for name, given in outputs.items():
        places = [place for place, text in enumerate(given) if text is not None]
        systems.append(_Texts(name, [given[place] or "" for place in places], places))
    found = [_empty(systems, references), _copies(systems, references), _copies_of_source(systems, references)]
    texts, plain = {system.name: _sample(system.outputs) for system in systems}, _sample(references.texts)
    found += [*_tokenised(texts, plain), *_marked(texts, plain), _shifted(systems, references)]
    return [sentence for sentence in found if sentence]


def _empty(systems: Sequence[_Texts], references: References) -> str:
    offsets, texts = references.offsets.tolist(), references.texts
    counts = {}
    for system in systems:
        blank = [place for place, text in zip(system.places, system.outputs, strict=True) if not text.strip()]
        if len(blank) == len(system.outputs):
            continue  # whoever scores them says so
        counts[system.name] = sum(any(texts[i].strip() for i in range(offsets[p], offsets[p + 1])) for p in blank)
    return _listed("empty outputs: ", {name: f"{count:,} of {name}" for name, count in counts.items() if count})


def _copies(systems: Sequence[_Texts], references: References) -> str:
    offsets, texts = references.offsets.tolist(), references.texts

    def is_reference(place: int, text: str) -> bool:
        return text in texts[offsets[place] : offsets[place + 1]]

    return _mostly(systems, is_reference, _COPIES, "are references of their own segment: these are no system's")


def _copies_of_source(systems: Sequence[_Texts], references: References) -> str:
    messages = references.messages
    if messages is None:
        return ""
    offsets, texts = references.offsets.tolist(), references.texts

    def is_source(place: int, text: str) -> bool:
        return text == messages[place] and text not in texts[offsets[place] : offsets[place + 1]]

    return _mostly(systems, is_source, _OF_SOURCE, "are copies of the source")


def _mostly(systems: Sequence[_Texts], like: Callable[[int, str], bool], share: float, what: str) -> str:
    told = {}
    for system in systems:
        count = sum(map(like, system.places, system.outputs))
        if len(system.places) >= _FEWEST and count >= share * len(system.places):
            told[system.name] = f"{count:,} of {counted(len(system.places), 'output')} of {system.name}"
    return _listed("", told, f" {what}")


def _tokenised(texts: Mapping[str, str], references: str) -> list[str]:
    theirs = _tokenised_share(references)
    if theirs is None:
        return []
    shares = {name: _tokenised_share(text) for name, text in texts.items()}
    spaced = [name for name, share in shares.items() if share is not None and share >= _TOKENISED]
    plain = [name for name, share in shares.items() if share is not None and share <= _PLAIN]
    if theirs <= _PLAIN and spaced:
        return [f"outputs of {some(spaced)} have spaces before . and , but the references have none; detokenise them"]
    if theirs >= _TOKENISED and plain:
        return [f"the references have spaces before . and , but outputs of {some(plain)} have none; treat both alike"]
    return []


def _tokenised_share(text: str) -> float | None:
    """Return how many commas and full stops at the ends of words have a space before them; None if there are few."""
    ends = [mark + end for mark in ",." for end in " \n"]
    marks, spaced = sum(map(text.count, ends)), sum(text.count(f" {end}") for end in ends)
    return spaced / marks if marks >= _FEWEST else None


def _marked(texts: Mapping[str, str], references: str) -> list[str]:
    told = []
    for what, (part, pattern) in _MARKS.items():
        having = [name for name, text in texts.items() if _lines_with(part, pattern, text) >= _MARKED]
        if having and _lines_with(part, pattern, references) < _MARKED / 4:
            told.append(f"outputs of {some(having)} have {what}, and the references have none; remove them")
    return told


def _lines_with(part: str, pattern: re.Pattern[str], text: str) -> float:
    """Return the share of lines in which a pattern is found; 0 for fewer than three."""
    if part not in text:
        return 0.0
    lines = text.split("\n")
    number = sum(part in line and pattern.search(line) is not None for line in lines)
    return number / len(lines) if number >= 3 else 0.0


def _shifted(systems: Sequence[_Texts], references: References) -> str:
    firsts = references.offsets[:-1].tolist()
    known: dict[int, frozenset[str]] = {}

    def words_of(place: int) -> frozenset[str]:
        if place not in known:
            known[place] = _words(references.texts[firsts[place]])
        return known[place]

    told = {}
    for system in systems:
        if len(system.places) < len(references) or len(references) < 2 * _FEWEST:
            continue
        half = len(references) // 2
        for first, last in ((0, half), (half, len(references))):
            step = max(1, (last - first) // 40)
            chosen = range(max(first, 2), min(last, len(references) - 2), step)
            own = [_words(system.outputs[place]) for place in chosen]
            here, *others = (
                fmean(_overlap(words, words_of(place + offset)) for words, place in zip(own, chosen, strict=True))
                for offset in (0, *_OFFSETS)
            )
            best = max(others)
            if best > here + _SHIFTED and best > 1.5 * here:
                offset = _OFFSETS[others.index(best)]
                lines = f"{counted(abs(offset), 'line')} {'below' if offset > 0 else 'above'}"
                told[system.name] = f"outputs of {system.name} from {first + 1} on fit the references {lines} better"
                break
    return _listed("", told, "; a line is missing or too many")


def _words(text: str) -> frozenset[str]:
    words = text[:_MOST_CHARACTERS].lower().split()
    if len(words) < 3:  # a script without spaces, or little to compare
        return frozenset(map("".join, pairwise(text)))
    return frozenset(words)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def _sample(texts: Sequence[str]) -> str:
    step = max(1, len(texts) // _MOST_TEXTS)
    return "\n".join(text[:_MOST_CHARACTERS].replace("\n", " ") for text in texts[::step])


def _listed(begin: str, told: Mapping[str, str], end: str = "") -> str:
    return f"{begin}{some(told.values(), 5)}{end}" if told else ""
