"""Untrusted texts made safe to show: control characters made visible, Markdown without HTML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

_ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    # What changes the order of letters, and what cannot be seen: it could hide words or make others of them.
    "\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff]"
    # Letters of tags, which flags such as that of Wales are spelt with.
    "|(?P<flag>\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f)|[\U000e0000-\U000e007f]"
    # Joiners belong into emoji, and into words of scripts from the Hebrew one onwards.
    "|(?<![\u0590-\u1fff\u2070-\u2fff\u3001-\ud7ff\ufb1d-\ufdff\ufe00-\ufe0f\ufe70-\ufefc\U00010000-\U000dffff])[\u200c\u200d]"
)
_SAFE = re.compile(r"(?:https?://|mailto:|#|data:image/(?:png|gif|jpeg|webp);)", re.IGNORECASE)


def visible(text: str) -> str:
    r"""Return a text in which control characters can be seen, and which every browser can be sent.

    So are characters that change the direction of others and those without width, but for joiners where a script or
    an emoji needs them, and for the marks of direction that languages written from right to left use.

    Examples
    --------
    >>> visible("a\x00b\x1b[31m\x7f\x85\ud83d"), visible("two\r\nlines\tπ")
    ('a\\x00b\\x1b[31m\\x7f\\x85�', 'two\nlines\tπ')
    >>> visible("not\u200b so \u202edab"), visible("👩\u200d🔬") == "👩\u200d🔬"
    ('not\\u200b so \\u202edab', True)
    """
    return _ODD.sub(_picture, text.replace("\r\n", "\n").replace("\r", "\n"))


def _picture(match: re.Match[str]) -> str:
    if match["flag"]:
        return match.group()
    code = ord(match.group())
    if 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF):
        return "�"
    # Few fonts have the symbols that Unicode has for these.
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@lru_cache(maxsize=64)
def markdown(text: str) -> Markup:
    """Return Markdown as HTML: tags in it are shown, links go to the web or to mail and to a page of their own.

    Examples
    --------
    >>> print(markdown("**Read** <b>this</b>"), end="")
    <p><strong>Read</strong> &lt;b&gt;this&lt;/b&gt;</p>
    """
    return Markup(_reader().render(visible(text)))  # noqa: S704 - HTML is off, links are checked, everything is escaped


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        """Return whether an address may be a link or a picture; browsers follow no link to what holds a picture."""
        return _SAFE.match(url.strip()) is not None


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    reader = _Reader("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("link_open", _link)
    # The page has the only heading of the first level.
    reader.add_render_rule("heading_open", _heading)
    reader.add_render_rule("heading_close", _heading)
    return reader


def _link(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer")
    tokens[at].attrSet("target", "_blank")
    return renderer.renderToken(tokens, at, options, env)


def _heading(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    tokens[at].tag = f"h{min(int(tokens[at].tag[1]) + 1, 6)}"
    return renderer.renderToken(tokens, at, options, env)


def moment(milliseconds: int) -> str:
    """Return a time as people write it.

    Examples
    --------
    >>> moment(1_800_000_000_000)
    '2027-01-15 08:00 UTC'
    """
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a number with a true minus sign, a dash if there is none.

    Examples
    --------
    >>> decimal(-0.5), decimal(None), decimal(float("nan"))
    ('−0.50', '–', '–')
    """
    if value is None or value != value:
        return "–"
    return f"{value:,.{digits}f}".replace("-", "−")
