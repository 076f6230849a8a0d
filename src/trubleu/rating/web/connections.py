"""Limits on connections to the server: their number, and the time for a request to arrive.

uvicorn only closes connections that idle between two requests: half a request keeps its connection forever. Its
concurrency limit counts requests, after their headers were read.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from trubleu.rating.web.security import network_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

BACKLOG: Final = 128
"""Connections waiting to be accepted. asyncio accepts as many at once before it processes any of them."""

_OTHER_FILES: Final = 640  # files of the store, and connections that asyncio accepts before one is refused
_LEAST: Final = 16
_ALL: Final = "all"
_LINES_A_MINUTE: Final = 10
_MOST_MESSAGES: Final = 1000


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum connections per process, and the timeout of a request.

    Attributes
    ----------
    connections, per_address
        In all, and from one address (one network of 64 bits with IPv6).
    header_seconds, body_seconds
        From the first byte, or from the connection, to the end of the headers; from there to the end of the body.
    proxies
        Addresses and networks of web servers in front, which connect for many people: there is no limit for each of
        them.
    """

    connections: int = 1000
    per_address: int = 300
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    proxies: tuple[str, ...] = ()


def raise_file_limit(connections: int) -> int:
    """Raise the process's limit on open files; return how many connections fit, at most those requested."""
    try:
        import resource
    except ImportError:  # not on Windows, where sockets are not files
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return connections
    wanted = connections + _OTHER_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(connections, max(soft - _OTHER_FILES, _LEAST))


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with limits on connections and on the arrival time of requests."""

    limits: ClassVar[Limits] = Limits()
    taken: ClassVar[Counter[str]] = Counter()  # connections, total and by network, without those being refused

    _counted: tuple[str, ...] = ()
    _deadline: asyncio.TimerHandle | None = None
    _awaited: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or answer 503 and close it."""
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        network = network_of(host)
        too_many = self.taken[network] >= self.limits.per_address and not self._is_proxy(host)
        if too_many or self.taken[_ALL] >= self.limits.connections:
            self._refuse("503 Service Unavailable", "Retry-After: 5\r\n")
            return
        self._counted = (_ALL, network)
        self.taken.update(self._counted)
        self._await(h11.IDLE)

    def data_received(self, data: bytes) -> None:
        """Receive part of a request."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        state = self.conn.their_state
        self._await(state if state in (h11.IDLE, h11.SEND_BODY) else None)

    def on_response_complete(self) -> None:
        """Wait for the next request, up to uvicorn's keep-alive timeout."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self._await(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release a connection."""
        self._await(None)
        for name in self._counted:
            self.taken[name] -= 1
            if not self.taken[name]:
                del self.taken[name]
        self._counted = ()
        super().connection_lost(exc)

    def _is_proxy(self, host: str) -> bool:
        try:
            return any(ip_address(host) in ip_network(proxy) for proxy in self.limits.proxies)
        except ValueError:
            return False

    def _await(self, what: object) -> None:
        """Start the timeout for the next event; partial data does not extend it."""
        if what is self._awaited:
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._awaited = what
        if what is not None:
            seconds = self.limits.header_seconds if what is h11.IDLE else self.limits.body_seconds
            self._deadline = self.loop.call_later(seconds, self._refuse, "408 Request Timeout")

    def _refuse(self, status: str, more: str = "") -> None:
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(
                    f"HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
                )
            self.transport.close()


class SparingLog(logging.Filter):
    """Logs a message a few times per minute, with a count of suppressed ones, so a flood cannot fill the disk.

    Parameters
    ----------
    a_minute
        How often.
    clock
        Seconds.

    Examples
    --------
    >>> at = 0.0
    >>> sparing = SparingLog(1, clock=lambda: at)
    >>> line = lambda: logging.LogRecord("x", logging.ERROR, "x.py", 1, "no room", (), None)
    >>> [sparing.filter(line()) for _ in range(3)]
    [True, False, False]
    >>> at, last = 61.0, line()
    >>> sparing.filter(last), last.getMessage()
    (True, 'no room (and 2 more times in the minute before)')
    """

    def __init__(self, a_minute: int = _LINES_A_MINUTE, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._a_minute = a_minute
        self._clock = clock
        self._seen: defaultdict[str, list[float]] = defaultdict(lambda: [self._clock(), 0])

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a message."""
        message = str(record.msg)[:200]
        now = self._clock()
        if len(self._seen) > _MOST_MESSAGES:
            self._seen.clear()
        since, times = self._seen[message]
        if now - since > 60:
            since, before, times = now, max(0, int(times) - self._a_minute), 0
            if before:
                record.msg = f"{record.getMessage()} (and {before:,} more times in the minute before)"
                record.args = ()
        self._seen[message] = [since, times + 1]
        return times < self._a_minute
