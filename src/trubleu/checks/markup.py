"""Markup that can be parsed in references or earlier outputs, and not in the output."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final

from trubleu.checks.links import FENCE, code
from trubleu.checks.marks import Mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.checks.item import Item

_FENCE_LINE: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_TAG: Final = re.compile(r"</?[a-zA-Z][\w-]*(?:\s[^<>]*)?/?>")
_EMPTY_TAGS: Final = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr", "col", "source", "area", "base"})
_TABLE_RULE: Final = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$", re.MULTILINE)


class _Tags(HTMLParser):
    """Whether all tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.balanced = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the base's
        """Remember an opened tag."""
        if tag not in _EMPTY_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Ignore a tag that closes itself."""

    def handle_endtag(self, tag: str) -> None:
        """Compare a closing tag with the last one opened."""
        if tag in _EMPTY_TAGS:
            return
        if not self.open or self.open.pop() != tag:
            self.balanced = False


def _json(text: str) -> bool | None:
    inner = text.strip()
    fenced = re.fullmatch(r"```(?:json)?\s*\n(.*?)\n?```", inner, re.DOTALL)
    inner = fenced[1].strip() if fenced else inner
    if not inner.startswith(("{", "[")):
        return None
    try:
        json.loads(inner)
    except (ValueError, RecursionError):
        return False
    return True


def _fences(text: str) -> bool | None:
    lines = _FENCE_LINE.findall(text)
    return len(lines) % 2 == 0 if lines else None


def _tags(text: str) -> bool | None:
    plain = FENCE.sub(" ", text)
    for part in reversed(code(plain)):
        plain = f"{plain[: part.start]} {plain[part.end :]}"
    if not _TAG.search(plain):
        return None
    parser = _Tags()
    parser.feed(plain)
    parser.close()
    return parser.balanced and not parser.open


def _table(text: str) -> bool | None:
    rule = _TABLE_RULE.search(text)
    if rule is None:
        return None
    before = text[: rule.start()].rstrip("\n").rpartition("\n")[2]
    return before.strip().strip("|").count("|") == rule[0].strip().strip("|").count("|")


def _emphasis(text: str) -> bool | None:
    plain = FENCE.sub(" ", text)
    count = plain.count("**")
    return count % 2 == 0 if count else None


_FORMS: Final[dict[str, Callable[[str], bool | None]]] = {
    "JSON": _json,
    "code blocks": _fences,
    "tags": _tags,
    "a table": _table,
    "bold text": _emphasis,
}
"""Whether a text parses as each form; None if it has nothing of the form."""


def find_markup(item: Item) -> list[Mark]:
    """Return the forms that the output breaks, and that no good reference and no earlier output breaks."""
    marks = []
    for name, parses in _FORMS.items():
        states = [parses(text) for text in (*item.good, *item.old)]
        own = parses(item.output)
        if own is False and False not in states:
            marks.append(Mark("markup", name, f"the output has {name} with an error in it"))
        elif name == "JSON" and own is None and states and all(states):
            marks.append(Mark("markup", name, "the output is not JSON, as the references are"))
    return marks
