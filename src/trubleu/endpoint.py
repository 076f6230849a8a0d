"""Endpoints that speak OpenAI's API: where texts are sent to, who allowed that, by which client, and what fails."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from trubleu.errors import UsageError, counted, shown, without_secrets

KEY: Final = "OPENAI_API_KEY"
"""The environment variable with the key."""

_BYTES_PER_TOKEN: Final = 4  # about, where nobody has counted
# What ends a path in a cookie or an attribute, or is no part of an address at all.
_NEVER: Final = re.compile(r"[\s\x00-\x20\x7f-\x9f;,\"<>\\^`{|}]")


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


def about_tokens(text: str) -> int:
    """Return about how many tokens a text has, by its length."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model behind an address.

    Attributes
    ----------
    url
        The address, usually ending in ``/v1``.
    model
        The model's name there.
    key
        The API key. It is sent to the endpoint and written nowhere.
    timeout
        Seconds that an answer may take.
    retries
        How often a request is sent again after a timeout, a lost connection, 429 or a failure of the server.
    url_name
        What messages call the setting of the address.
    if_slow, if_busy
        What to do about an endpoint that does not answer in time, or has too many requests.

    Examples
    --------
    >>> Endpoint(url="https://api.example.org/v1", model="m").host
    'api.example.org'
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60.0
    retries: int = 6
    url_name: str = "--url"
    if_slow: str = "raise --timeout"
    if_busy: str = "lower --concurrency"

    def __post_init__(self) -> None:
        if not is_address(self.url) or "?" in self.url or "#" in self.url:
            said = shown(without_secrets(self.url))
            raise UsageError(f"{self.url_name} {said} is not an endpoint; write https://HOST/v1")
        if not re.fullmatch("[!-~]*", self.key):  # as what a header cannot hold is shown by others' messages
            raise UsageError(f"{KEY} has spaces, line breaks or letters outside of ASCII; set it to a key")

    @property
    def host(self) -> str:
        """Where texts are sent to."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether texts stay on this machine."""
        return self.host in ("localhost", "127.0.0.1", "::1")

    def confirm(self, send_to: str | None, texts: str | None = None) -> None:
        """Check that texts may be sent.

        Parameters
        ----------
        send_to
            The host that somebody allowed.
        texts
            What would be sent, for a question on the terminal; None for no question.

        Raises
        ------
        UsageError
            If they may not.
        """
        if send_to is not None and send_to.lower() != self.host:
            raise UsageError(f"--send-to {send_to} is not the host of {self.url_name}, {self.host}; nothing was sent")
        if send_to is not None or self.is_local:
            return
        if texts is not None and sys.stdin.isatty() and sys.stderr.isatty():
            sys.stderr.write(f"Send the texts of {texts} to {self.host}? [y/N] ")
            sys.stderr.flush()
            if sys.stdin.readline().strip().lower() in ("y", "yes"):
                return
            raise UsageError(f"nothing was sent to {self.host}")
        raise UsageError(f"texts would be sent to {self.host}; add --send-to {self.host} if they may")

    def client(self, client: Any, transport: Any) -> Any:
        """Return a client of the package ``openai``, by its class and that of its transport.

        Texts go to this address and nowhere else: it follows no redirect, and no proxy for this machine.
        """
        return client(
            api_key=self.key or "none",
            base_url=self.url,
            timeout=self.timeout,
            max_retries=self.retries,
            http_client=transport(follow_redirects=False, trust_env=not self.is_local),
        )

    def problem(self, package: Any, error: Any) -> str:
        """Say what is wrong with the endpoint, in the beginning of a sentence without the key."""
        host = self.host
        tries = counted(self.retries + 1, "try").replace("trys", "tries")
        match error:
            case package.AuthenticationError() | package.PermissionDeniedError():
                return f"{host} refuses the key; set {KEY} to one that it accepts"
            case package.NotFoundError():
                return f"{host} has no model {shown(self.model)}, or {self.url_name} lacks its end, which is often /v1"
            case package.RateLimitError():
                return f"{host} answers that there are too many requests, after {tries}; {self.if_busy}"
            case package.APITimeoutError():
                return f"{host} did not answer within {self.timeout:g} seconds, in {tries}; {self.if_slow}"
            case package.APIConnectionError():
                cause = self.scrubbed(str(error.__cause__ or error)).partition("\n")[0][:200]
                return f"{host} cannot be reached, or breaks off its answers ({cause}), in {tries}"
            case package.APIStatusError() if 300 <= error.status_code < 400:
                return (
                    f"{host} sends requests on to another address, where nothing was sent; give that as {self.url_name}"
                )
            case package.APIStatusError():
                said = " ".join(self.scrubbed(message_of(error)).split())[:200]
                return f"{host} answers with status {error.status_code} ({said})"
        return f"{host} cannot be used ({' '.join(self.scrubbed(str(error)).split())[:200]})"

    def scrubbed(self, text: str) -> str:
        """Return a text without the key."""
        return text.replace(self.key, "…") if self.key else text


def message_of(error: Any) -> str:
    """Return what a server says is wrong, in whatever field."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return str(message or error.body or error)
