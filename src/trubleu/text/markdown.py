"""Markdown as plain text: without list marks, headings, quotes, emphasis and code fences. Links stay as they are."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}[ \t]+", re.MULTILINE)
_LIST: Final = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_QUOTE: Final = re.compile(r"^ {0,3}(?:>[ \t]?)+", re.MULTILINE)
_RULE: Final = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*)$", re.MULTILINE)
_STRONG: Final = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS: Final = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)([^_\n]+?)(?<=\S)_(?!\w)")
_STRUCK: Final = re.compile(r"~~(?=\S)(.+?)(?<=\S)~~")
_CODE: Final = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def plain_text(text: str) -> str:
    """Return a text without Markdown; all words stay.

    Examples
    --------
    >>> plain_text("## Returns\\n\\n1. Open **My orders**\\n2. Press `Return`")
    'Returns\\n\\nOpen My orders\\nPress Return'
    >>> plain_text("3 * 4 * 5 costs snake_case_name")
    '3 * 4 * 5 costs snake_case_name'
    """
    if not any(mark in text for mark in "#*_`~->+=•.)"):
        return text
    text = _RULE.sub("", _FENCE.sub("", text))
    text = _LIST.sub("", _HEADING.sub("", _QUOTE.sub("", text)))
    for pattern, group in ((_CODE, r"\2"), (_STRONG, r"\2"), (_STRUCK, r"\1")):
        text = pattern.sub(group, text)
    return _EMPHASIS.sub(lambda match: match[1] or match[2], text)
