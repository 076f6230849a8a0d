"""Sentences of a text and their places; Markdown's list marks and headings are boundaries."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from trubleu.checks.links import FENCE
from trubleu.checks.words import word_lists

_ABBREVIATIONS: Final = frozenset(word_lists("sentences")["abbreviations"].split())
_MARK: Final = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:#{1,6}[ \t]+|[-*+•–][ \t]+|\(?\d{1,3}[.)][ \t]+|\(?[a-z]\)[ \t]+)?")
# A closing mark, quotes and brackets after it, and white space; no space is needed after Chinese and Japanese marks.
_END: Final = re.compile(r"(?:[.!?…]+[\"'’”»)\]*_]*(?=\s)|[。！？]+[”」』）]*)")
_LAST_WORD: Final = re.compile(r"[\w.]+$")
_RULE: Final = re.compile(r"[\s\W_]*")


class Sentence(NamedTuple):
    """A sentence and its place.

    Attributes
    ----------
    start, end
        Where it is in the text.
    paragraph
        The number of its line.
    """

    start: int
    end: int
    paragraph: int


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text; fenced code is one.

    Examples
    --------
    >>> text = "Ask Mrs. Keller at 9 a.m. on Monday. She knows!\\n\\n1. Open it.\\n- Close it"
    >>> [text[part.start : part.end] for part in sentences(text)]
    ['Ask Mrs. Keller at 9 a.m. on Monday.', 'She knows!', 'Open it.', 'Close it']
    """
    result: list[Sentence] = []
    at = number = 0
    for block in FENCE.finditer(text):
        result, number = _of_lines(text, at, block.start(), result, number)
        result.append(Sentence(*block.span(), number))
        at, number = block.end(), number + 1
    return _of_lines(text, at, len(text), result, number)[0]


def _of_lines(text: str, start: int, end: int, result: list[Sentence], number: int) -> tuple[list[Sentence], int]:
    at = start
    for line in text[start:end].splitlines(keepends=True):
        mark = _MARK.match(line)
        first = at + (mark.end() if mark else 0)
        last = at + len(line.rstrip())
        while first < last:
            stop = _sentence_end(text, first, last)
            if not _RULE.fullmatch(text, first, stop):
                result.append(Sentence(first, stop, number))
            first = stop
            while first < last and text[first].isspace():
                first += 1
        at, number = at + len(line), number + 1
    return result, number


def _sentence_end(text: str, start: int, end: int) -> int:
    """Return where the sentence ends that begins here."""
    for match in _END.finditer(text, start, end):
        if (
            match[0][0] != "."
            or match[0].startswith("..")
            or not _is_abbreviation(text, start, match.start(), match.end(), end)
        ):
            return match.end()
    return end


def _is_abbreviation(text: str, start: int, point: int, after: int, end: int) -> bool:
    """Return whether a point belongs to an abbreviation, an initial or a number, or a small letter follows."""
    following = text[after:end].lstrip()[:1]
    word = _LAST_WORD.search(text, start, point)
    if word is None:
        return following.islower()
    last = word[0].lower()
    if last in ("a.m", "p.m", "etc", "inc", "ltd", "co", "corp", "u.s", "u.k", "no"):
        # These can end a sentence; a capital letter then begins the next one.
        return (
            following.islower()
            or (last not in ("etc", "a.m", "p.m", "no") and not following.isupper())
            or (last == "no" and following.isdigit())
        )
    initial = len(last) == 1 and last.isalpha() and word[0].isupper()
    return last in _ABBREVIATIONS or initial or following.islower()
