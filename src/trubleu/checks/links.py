"""Links, e-mail addresses and code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.checks.marks import Mark, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.checks.item import Item

FENCE: Final = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# Two backticks open a quotation in ``old texts''; code needs the same number of backticks at both ends.
_SPAN: Final = re.compile(r"(?<!`)(`{1,2})(?!`)(?P<code>(?:(?!\'\')[^\n])+?)(?<!`)\1(?!`)")
_LINK: Final = re.compile(
    r"(?:https?://|ftp://|www\.)[^\s<>\"'`\])}|*]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w@./-])(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|dev|ai|app|info)(?:/[^\s<>\"'`\])}|*]*)?(?![\w-])",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A link or a piece of code and its place."""

    content: str
    start: int
    end: int


def links(text: str) -> list[Place]:
    """Return web and e-mail addresses, without scheme, ``www.`` and closing punctuation.

    Examples
    --------
    >>> [link.content for link in links("See https://www.Example.org/a?b=1, or mail help@example.org.")]
    ['example.org/a?b=1', 'help@example.org']
    """
    found = []
    for match in _LINK.finditer(text):
        link = match[0].rstrip(".,;:!?")
        host, slash, path = re.sub(r"^(?:\w+://)?(?:www\.)?", "", link, flags=re.IGNORECASE).partition("/")
        found.append(Place(f"{host.lower()}{slash}{path}".rstrip("/"), match.start(), match.start() + len(link)))
    return found


def code(text: str) -> list[Place]:
    """Return code in backticks and in fenced blocks, with white space joined.

    Examples
    --------
    >>> [part.content for part in code("Run `pip  install x` in ``Settings''.")]
    ['pip install x']
    """
    blocks = [Place(" ".join(match["code"].split()), *match.span()) for match in FENCE.finditer(text)]
    outside = FENCE.sub(lambda match: " " * len(match[0]), text)
    spans = [Place(" ".join(match["code"].split()), *match.span()) for match in _SPAN.finditer(outside)]
    return sorted((part for part in [*blocks, *spans] if part.content), key=lambda part: part.start)


def find_links(item: Item) -> list[Mark]:
    """Return links that no known text has."""
    known = {link.content for text in item.known for link in links(text)}
    return _missing_from(links(item.output), known, item.known, "link")


def find_code(item: Item) -> list[Mark]:
    """Return code that no known text has, as code or as plain text."""
    known = {part.content for text in item.known for part in code(text)}
    return _missing_from(code(item.output), known, item.known, "code")


def _missing_from(places: list[Place], known: set[str], texts: Sequence[str], kind: str) -> list[Mark]:
    plain = [" ".join(text.split()) for text in texts] if kind == "code" else []
    found: dict[str, list[tuple[int, int]]] = {}
    for place in places:
        if place.content not in known and not any(_stands_in(place.content, text) for text in plain):
            found.setdefault(place.content, []).append((place.start, place.end))
    return [
        Mark(kind, content, f'"{shortened(content)}" is in no good reference', tuple(spans))
        for content, spans in found.items()
    ]


def _stands_in(content: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(content)}(?!\w)", text) is not None
