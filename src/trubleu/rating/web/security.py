"""Web security: separation of raters, protection against guessing, and logs without tokens."""

from __future__ import annotations

import hmac
import logging
import threading
import time
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY: Final = 64 * 1024
"""Bytes; the longest form, the names of new raters, stays far below."""

_MOST_BUCKETS: Final = 20_000

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action {forms}; base-uri 'none'; frame-ancestors {frames}"
)

HEADERS: Final = {
    "content-security-policy": POLICY.format(forms="'self'", frames="'none'"),
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-robots-tag": "noindex, nofollow",
}

log = logging.getLogger("trubleu.rate")
access_log = logging.getLogger("trubleu.rate.access")


class Refusal(Exception):  # noqa: N818 - not always an error of ours
    """A request that is refused with a page that says why.

    Attributes
    ----------
    status
        The HTTP status.
    title, message
        What the page says.
    retry_after
        In how many seconds to try again, if that helps.
    """

    def __init__(self, status: int, title: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(title, message)
        self.status = status
        self.title = title
        self.message = message
        self.retry_after = retry_after


def not_saved() -> Refusal:
    """Return the refusal shown when the store does not respond."""
    return Refusal(503, "Not saved, try again", "The server cannot save at the moment.", retry_after=3)


def same(given: str, wanted: str) -> bool:
    """Compare two secrets in constant time.

    Examples
    --------
    >>> same("abc", "abc"), same("abc", "abd")
    (True, False)
    """
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode("utf-8", "surrogatepass"))


def network_of(host: str) -> str:
    """Return the rate-limiting key of an address: the address itself, or for IPv6 a customer's whole network.

    Examples
    --------
    >>> network_of("192.0.2.7") == network_of("::ffff:192.0.2.7") != network_of("192.0.2.8")
    True
    """
    try:
        address = ip_address(host)
    except ValueError:
        return f"from:{host}"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            # A customer has at least that many addresses, and could use a new one for every guess.
            return f"from:{int(address) >> 64:x}"
        address = address.ipv4_mapped
    return f"from:{address}"


class Buckets:
    """Rate limiter per key: a burst, and then a steady rate.

    Parameters
    ----------
    a_minute
        The pace; 0 for no limit.
    at_once
        How many times without waiting.
    clock
        Seconds.

    Examples
    --------
    >>> at = 0.0
    >>> buckets = Buckets(60, at_once=2, clock=lambda: at)
    >>> [buckets.take("me") for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> at = 1.0
    >>> buckets.peek("me"), buckets.take("me"), buckets.peek("me")
    (0.0, 0.0, 1.0)
    """

    def __init__(self, a_minute: float, *, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = a_minute / 60
        self._at_once = at_once
        self._clock = clock
        self._free_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def take(self, who: str) -> float:
        """Take a slot: return 0, or the seconds to wait if the limit is exceeded."""
        if not self._pace:
            return 0.0
        with self._lock:
            now = self._clock()
            if len(self._free_at) >= _MOST_BUCKETS:
                self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            free_at, wait = self._due(who, now)
            if not wait:
                self._free_at[who] = free_at + 1 / self._pace
            return wait

    def peek(self, who: str) -> float:
        """Return 0, or the seconds to wait if the limit would be exceeded, without taking a slot."""
        if not self._pace:
            return 0.0
        with self._lock:
            return self._due(who, self._clock())[1]

    def _due(self, who: str, now: float) -> tuple[float, float]:
        # When all slots taken so far are refilled.
        free_at = max(self._free_at.get(who, now), now)
        wait = free_at - now - (self._at_once - 1) / self._pace
        return free_at, wait if wait > 1e-9 else 0.0


class Guard:
    """Middleware: limits request bodies, sets response headers, and logs without secrets.

    Parameters
    ----------
    app
        The pages.
    prefix
        The path under which a proxy has them, which it may leave in or take away.
    refuse
        Makes the page of a refusal.
    """

    def __init__(self, app: ASGIApp, *, prefix: str, refuse: Callable[[Refusal], Response]) -> None:
        self._app = app
        self._prefix = prefix
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._prefix and (scope["path"] + "/").startswith(self._prefix + "/"):
            scope = {**scope, "path": scope["path"][len(self._prefix) :] or "/"}
        began = time.monotonic()
        status = 0

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            body = await _body(Headers(scope=scope), receive)
            if body is None:
                refusal = Refusal(413, "Too much at once", "What was sent is too long. Nothing was saved.")
                await self._refuse(refusal)(scope, receive, guarded)
            else:
                await self._app(scope, _replay(body, receive), guarded)
        except ClientDisconnect:
            return  # an incomplete form is dropped
        except Exception:
            log.exception("a fault in the pages")
            if not status:
                refusal = Refusal(
                    500, "Something is wrong here", "It was not saved. Please tell the lead of the study."
                )
                await self._refuse(refusal)(scope, receive, guarded)
        finally:
            # The route and never the path, which may contain a token. No query, no address, no cookie.
            other = "/static" if scope["path"].startswith("/static/") else "(none)"
            route = getattr(scope.get("route"), "path", other)
            milliseconds = (time.monotonic() - began) * 1000
            method = scope["method"] if scope["method"].isalpha() else "(odd)"
            access_log.info("%s %s %s %.0f ms", method, route, status or "(gone)", milliseconds)


async def _body(headers: Headers, receive: Receive) -> bytes | None:
    """Return the request body, None if it is too long."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > LARGEST_BODY:
        return None
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        parts += message.get("body", b"")
        if len(parts) > LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
