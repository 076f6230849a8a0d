"""Addresses of pages: those that people reach a study at, and those that they are sent to."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from trubleu.errors import UsageError

# What ends a path in a cookie or an attribute, or is no part of an address at all.
_NEVER = re.compile(r"[\s\x00-\x20\x7f-\x9f;,\"<>\\^`{|}]")


def is_address(url: str) -> bool:
    """Return whether a text is an http or https address with a host, and with no user in it.

    Examples
    --------
    >>> is_address("https://example.org/done?code=1"), is_address("https://"), is_address("http://a@b")
    (True, False, False)
    >>> is_address("http://example.org:99999")
    False
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    right = parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    return right and _NEVER.search(url) is None


def check_url(url: str) -> str:
    """Return the address of the pages without a slash at its end.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> check_url("https://rate.example.org/chat/")
    'https://rate.example.org/chat'
    >>> check_url("rate.example.org")
    Traceback (most recent call last):
    trubleu.errors.UsageError: --url rate.example.org is no address of pages; write https://HOST or https://HOST/PATH
    """
    if not is_address(url) or "?" in url or "#" in url or "@" in url:
        raise UsageError(f"--url {url} is no address of pages; write https://HOST or https://HOST/PATH")
    return url.rstrip("/")
