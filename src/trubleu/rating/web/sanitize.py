"""Make untrusted texts safe to show: visible control characters, Markdown without HTML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain

from markdown_it import MarkdownIt
from markupsafe import Markup

_ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    # Characters that reorder letters or are invisible: they could hide or disguise words.
    "\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff]"
    # Tag characters, which spell flags such as that of Wales.
    "|(?P<flag>\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f)|[\U000e0000-\U000e007f]"
    # Joiners are legitimate in emoji, and in words of scripts from Hebrew onwards.
    "|(?<![\u0590-\u1fff\u2070-\u2fff\u3001-\ud7ff\ufb1d-\ufdff\ufe00-\ufe0f\ufe70-\ufefc\U00010000-\U000dffff])[\u200c\u200d]"
)
_SAFE = re.compile(r"(?:https?://|mailto:|#|data:image/(?:png|gif|jpeg|webp);)", re.IGNORECASE)


def visible(text: str) -> str:
    r"""Make control characters visible, and the text safe to send to any browser.

    This includes characters that change the direction of text and those without width, except joiners where a script or
    an emoji needs them, and the direction marks of right-to-left languages.

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
    # Few fonts have Unicode's symbols for these.
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@lru_cache(maxsize=64)
def markdown(text: str) -> Markup:
    """Render Markdown as HTML: raw tags are shown as text, links may point to the web or mail and open a new page.

    Examples
    --------
    >>> print(markdown("**Read** <b>this</b>"), end="")
    <p><strong>Read</strong> &lt;b&gt;this&lt;/b&gt;</p>
    """
    reader = _reader()
    blocks = reader.parse(visible(text))
    for token in chain(blocks, *(block.children or () for block in blocks)):
        if token.type == "link_open":
            token.attrs |= {"rel": "noopener noreferrer", "target": "_blank"}
        elif token.type.startswith("heading_"):  # the page itself has the only first-level heading
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    made = reader.renderer.render(blocks, reader.options, {})
    return Markup(made)  # noqa: S704 - HTML is off, links are checked, everything is escaped


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        """Return whether a URL may be a link or an image; data URLs of images are not followed by browsers."""
        return _SAFE.match(url.strip()) is not None


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    return _Reader("commonmark", {"html": False}).enable("table")


def moment(milliseconds: int) -> str:
    """Format a time.

    Examples
    --------
    >>> moment(1_800_000_000_000)
    '2027-01-15 08:00 UTC'
    """
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def decimal(value: float | None, digits: int = 2) -> str:
    """Format a number with a true minus sign; a dash if there is none.

    Examples
    --------
    >>> decimal(-0.5), decimal(None), decimal(float("nan"))
    ('−0.50', '–', '–')
    """
    if value is None or value != value:
        return "–"
    return f"{value:,.{digits}f}".replace("-", "−")
