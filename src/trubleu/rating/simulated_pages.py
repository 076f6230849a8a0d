"""A browser without scripts: it opens pages, reads what they show, and sends their forms again until they are kept."""

from __future__ import annotations

import re
import ssl
import time
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING, Final

import httpx

from trubleu.errors import UsageError

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

_STATE = re.compile(r'<main [^>]*data-state="(\w+)"')
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
_TURN = re.compile(r'<div class="turn" dir="auto">(.*?)</div>', re.DOTALL)
_TEXT = re.compile(r'<div class="response" dir="auto" id="text-\d">(.*?)</div>', re.DOTALL)
_SECONDS: Final = 60.0  # that an answer of the server may take


@dataclass(slots=True)
class Trouble:
    """How often something went wrong, and was tried again.

    Attributes
    ----------
    connections
        The connection was lost, or the server not there.
    not_saved
        The server said that nothing was saved.
    too_fast
        The server asked to wait.
    """

    connections: int = 0
    not_saved: int = 0
    too_fast: int = 0

    def add(self, other: Trouble) -> None:
        """Add what went wrong elsewhere."""
        self.connections += other.connections
        self.not_saved += other.not_saved
        self.too_fast += other.too_fast


@dataclass(frozen=True, slots=True)
class Page:
    """What a browser got.

    Attributes
    ----------
    status
        Of HTTP.
    html
        The page.

    Examples
    --------
    >>> page = Page(200, '<main id="main" data-state="task"><div class="turn" dir="auto">1 &lt; 2?</div></main>')
    >>> page.state, page.turns
    ('task', ('1 < 2?',))
    """

    status: int
    html: str

    @property
    def state(self) -> str:
        """Which page it is."""
        found = _STATE.search(self.html)
        return found.group(1) if found else ""

    @property
    def turns(self) -> tuple[str, ...]:
        """The conversation."""
        return tuple(map(unescape, _TURN.findall(self.html)))

    @property
    def texts(self) -> tuple[str, ...]:
        """What is to be rated."""
        return tuple(map(unescape, _TEXT.findall(self.html)))

    @property
    def fields(self) -> dict[str, str]:
        """What the first form of the page sends by itself."""
        form = self.html[self.html.find("<form") :].partition("</form>")[0]
        return {name: unescape(value) for name, value in _HIDDEN.findall(form)}

    @property
    def can_undo(self) -> bool:
        """Whether there is a button that takes the last answer back."""
        return "data-undo" in self.html


class Browser:
    """What one rater after another uses.

    Parameters
    ----------
    urls
        Where the study is served.
    patience
        For how many seconds a server that does not answer is tried again.
    stopped
        Is set when nobody needs an answer any more.

    Attributes
    ----------
    url
        The server that is being used.
    trouble
        What went wrong.
    """

    def __init__(self, urls: Sequence[str], *, patience: float, stopped: threading.Event) -> None:
        self._urls = urls
        self.trouble = Trouble()
        self._patience = patience
        self._stopped = stopped
        self._cookies: dict[str, str] = {}
        self.url = urls[0]
        # Without a jar of its own: a browser has one for each rater, and theirs is handed over.
        self._client = httpx.Client(verify=_certificates(), timeout=_SECONDS, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def take_over(self, cookies: dict[str, str], number: int) -> None:
        """Become the browser of somebody, at one of the servers."""
        self._cookies = cookies
        self.url = self._urls[number % len(self._urls)]

    def enter(self, token: str) -> Page:
        """Open somebody's link."""
        if self._ask("GET", f"/r/{token}").status == 404:
            raise UsageError(f"{self.url} does not know the raters of this study; does it serve another one?")
        return self.open("/rate")

    def open(self, path: str) -> Page:
        """Open a page."""
        return self._ask("GET", path)

    def send(self, page: Page, path: str, fields: Mapping[str, str] | None = None) -> Page:
        """Send the form of a page, as often as it takes to have it kept, and open what comes next."""
        kept = self._ask("POST", path, {**page.fields, **(fields or {})})
        return self.open("/rate") if kept.status == 303 else kept

    def send_and_hang_up(self, page: Page, path: str, fields: Mapping[str, str]) -> None:
        """Send the form of a page and lose the connection before the answer is there."""
        wait = httpx.Timeout(_SECONDS, read=0.0001)
        try:
            self._request("POST", path, {**page.fields, **fields}, wait)
        except httpx.TransportError:
            self.trouble.connections += 1

    def _request(self, method: str, path: str, fields: Mapping[str, str] | None, wait: object = None) -> httpx.Response:
        self._client.cookies.clear()
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        timeout = wait if isinstance(wait, httpx.Timeout) else httpx.USE_CLIENT_DEFAULT
        response = self._client.request(
            method, self.url + path, data=fields, headers=headers if self._cookies else None, timeout=timeout
        )
        self._cookies.update(response.cookies)
        return response

    def _ask(self, method: str, path: str, fields: Mapping[str, str] | None = None) -> Page:
        until = time.monotonic() + self._patience
        while not self._stopped.is_set():
            try:
                response = self._request(method, path, fields)
            except httpx.InvalidURL as error:
                raise UsageError(f"{self.url} is no address of a server; write http://HOST:PORT") from error
            except httpx.TransportError as error:
                self.trouble.connections += 1
                if time.monotonic() > until:
                    raise UsageError(f"{self.url} does not answer: {error}; start trubleu rate serve there") from error
                self._stopped.wait(0.1)
                continue
            match response.status_code:
                case 200 | 303 | 404 | 409:
                    return Page(response.status_code, response.text)
                case 429:
                    self.trouble.too_fast += 1
                    self._stopped.wait(_retry_after(response, 1.0))
                    until = time.monotonic() + self._patience
                case 503 if time.monotonic() < until:
                    self.trouble.not_saved += 1
                    self._stopped.wait(min(0.5, _retry_after(response, 0.5)))
                case status:
                    raise UsageError(f"{self.url} answers a simulated rater with status {status}; see what it prints")
        raise UsageError("the simulation was stopped")


def _retry_after(response: httpx.Response, usual: float) -> float:
    try:
        return float(response.headers.get("retry-after", usual))
    except ValueError:
        return usual


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return what knows whom to trust; it takes long to make, so all browsers share one."""
    return ssl.create_default_context()
