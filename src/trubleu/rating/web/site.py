"""Shared by all pages of a study: templates, cookies, sessions, and refusals."""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from fastapi import Request, Response  # noqa: TC002 - FastAPI looks at the annotation
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import Connection, func, select

from trubleu.rating.config import Prolific, check_url
from trubleu.rating.raters import Rater, token_hash
from trubleu.rating.secret import mac
from trubleu.rating.store.database import get_meta, put_meta
from trubleu.rating.store.schema import items as items_table
from trubleu.rating.store.schema import meta
from trubleu.rating.store.schema import raters as raters_table
from trubleu.rating.web.prolific import Tokens
from trubleu.rating.web.sanitize import decimal, markdown, moment, visible
from trubleu.rating.web.security import Buckets, Refusal, network_of, same
from trubleu.style import TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.rating.study import Study
    from trubleu.rating.summary import Summary

T = TypeVar("T")

HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"
LEAD_IDLE: Final = 12 * 3600  # seconds after which the lead has to sign in again
_AGE: Final = {"rater": 180 * 86400, "lead": 30 * 86400, "visit": 86400}  # lifetime of cookies in seconds
_PATH: Final = {"rater": "", "lead": "/lead", "visit": "/join"}
_LONGEST_TOKEN: Final = 200
_MOST_KNOWN: Final = 100_000  # cached valid tokens
_PEOPLE: Final = ("link", "open", "prolific", "mturk")  # entries of raters who use the pages
_SESSION: Final = "lead "  # prefix of the keys of the lead's sessions in the store
_MOST_SESSIONS: Final = 20  # browsers in which the lead is signed in
_TOUCHED: Final = 60_000  # milliseconds between two updates of a session's last use


@dataclass(frozen=True, slots=True)
class Session:
    """An authenticated request: the rater, their token, and the CSRF word of their forms."""

    rater: Rater
    token: str
    csrf: str


class Site:
    """The pages of one study.

    Parameters
    ----------
    study
        The study.
    url
        How people reach the pages from outside, such as ``https://rate.example.org/chat``; None to take what the
        browser says.
    requests_a_minute
        How many requests a rater may make; 0 for no limit.
    """

    def __init__(self, study: Study, *, url: str | None, requests_a_minute: float) -> None:
        self.study = study
        self.url = None if url is None else check_url(url)
        self.prefix = "" if self.url is None else urlsplit(self.url).path
        self.secure = self.url is not None and self.url.startswith("https://")
        self.requests = Buckets(requests_a_minute, at_once=max(60, int(requests_a_minute // 4)))
        # A whole class may join at the same moment, from one address.
        self.joins = Buckets(requests_a_minute, at_once=max(300, int(requests_a_minute)))
        self.guesses = Buckets(30, at_once=30)
        self._guessing = threading.Lock()
        self._known: set[str] = set()
        prolific = study.config.entry.prolific
        self.tokens = Tokens(prolific, study.folder, self.url) if isinstance(prolific, Prolific) else None
        self.numbers: dict[int, tuple[int | None, int, Summary]] = {}  # by question
        study_id = study.id
        self._items, self._wanted = _work(study)
        # Cookies are shared by all ports of a host, so other studies there need other names.
        self._names = {kind: f"trubleu-{kind}-{study_id[:8]}" for kind in _AGE}
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,  # texts are untrusted: <script> in a response is shown, not run
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.filters.update(visible=visible, markdown=markdown, moment=moment, decimal=decimal)
        static = (TOKENS, *sorted(STATIC.iterdir()))
        self._templates.globals.update(
            config=study.config,
            prefix=self.prefix,
            study_id=study_id,
            version=hashlib.sha256(b"".join(path.read_bytes() for path in static)).hexdigest()[:12],
            time_now=study.now,
        )
        # Load all of them now: upgrading the package under a running server must not mix old and new pages.
        for name in self._templates.list_templates():
            self._templates.get_template(name)

    def word(self, purpose: str, session: str) -> str:
        """Return the word of a session for a purpose, unpredictable without the study's secret."""
        return mac(self.study.secret, "word", purpose, session)

    # Pages

    def page(
        self, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> HTMLResponse:
        """Render a page."""
        values.setdefault("session", None)
        values["page_id"] = self.word("page", values["session"].token)[:16] if values["session"] else ""
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text, status, headers)

    def refusal(self, refusal: Refusal, request: Request | None = None) -> HTMLResponse:
        """Return the page that explains a refusal, and how to continue."""
        path = "" if request is None else request.url.path.removeprefix(self.prefix)
        is_lead = request is not None and self.cookie(request, "lead") is not None  # sent to the lead's pages only
        back = "/lead" if is_lead else None if path.startswith(("/join", "/lead")) else "/"
        headers = {} if refusal.retry_after is None else {"retry-after": str(refusal.retry_after)}
        return self.page("refusal.html", status=refusal.status, headers=headers, refusal=refusal, back=back)

    def redirect(self, path: str, **cookies: str) -> RedirectResponse:
        """Redirect a browser to another page, with GET, and set cookies."""
        response = RedirectResponse(self.prefix + path, 303)
        for kind, value in cookies.items():
            self.keep(response, kind, value)
        return response

    def address(self, request: Request, path: str) -> str:
        """Return an absolute URL."""
        return (self.url or str(request.base_url).rstrip("/")) + path

    # Cookies

    def cookie(self, request: Request, kind: str) -> str | None:
        """Return a cookie."""
        value = request.cookies.get(self._names[kind])
        return value if value and len(value) <= _LONGEST_TOKEN and value.isascii() else None

    def keep(self, response: Response, kind: str, value: str) -> None:
        """Set a cookie: for this site only, not readable by scripts, not sent from other sites."""
        response.set_cookie(self._names[kind], value, max_age=_AGE[kind], **self._scope(kind))

    def forget(self, response: Response, kind: str) -> None:
        """Delete a cookie."""
        response.delete_cookie(self._names[kind], **self._scope(kind))

    def _scope(self, kind: str) -> dict[str, Any]:
        path = self.prefix + _PATH[kind] or "/"
        return {"path": path, "secure": self.secure, "httponly": True, "samesite": "lax"}

    # Who is there

    def session(self, request: Request, *, csrf: str | None = None) -> Session:
        """Return the session of a request, checking the form's CSRF word if there is one.

        Raises
        ------
        Refusal
            If it is nobody we know, the form is not ours, or there are too many requests.
        """
        if (token := self.cookie(request, "rater")) is not None:
            self.check_form(request, csrf, "rater", token)
            self.slow_down(self.requests, f"rater:{token}")
            if (rater := self.find(request, token)) is not None:
                return Session(rater, token, self.word("rater", token))
        text = "Open your link to this study again. If it no longer works, ask for a new one."
        raise Refusal(403, "We do not know who you are", text)

    def find(self, request: Request, token: str) -> Rater | None:
        """Return the rater with a token, from a link or a cookie; guessing is throttled."""
        return self._looked_up(request, "link", token, self.study.find_rater)

    def _looked_up(self, request: Request, what: str, token: str, look_up: Callable[[str], T | None]) -> T | None:
        """Look up a token in the store; guessing is throttled.

        A token that was valid before is not a guess, so active raters are not blocked by a guesser at the same address.
        """
        if token in self._known and (found := look_up(token)) is not None:
            return found
        self._known.discard(token)
        readable = token.isascii() and len(token) <= _LONGEST_TOKEN
        found = self.tried(request, what, lambda: look_up(token) if readable else None)
        if found is not None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add(token)
        return found

    def tried(self, request: Request, what: str, look: Callable[[], T | None]) -> T | None:
        """Look up something unguessable; after too many failures, refuse without looking."""
        who = f"{what} {came_from(request)}"
        if wait := self.guesses.peek(who):
            raise _too_many(wait)
        found = look()
        if found is None:
            self.slow_down(self.guesses, who)
        return found

    def knows(self, request: Request, what: str, is_right: Callable[[], bool]) -> bool:
        """Return whether a caller knows a secret.

        Guessing is throttled: during the waiting time, even the right word is refused, otherwise guessing could
        continue at any pace. Checks run one at a time, so parallel guesses are no way around it; a right word costs
        nothing, so many people can join at once.
        """
        with self._guessing:
            return self.tried(request, what, lambda: is_right() or None) is not None

    # The lead signs in with the token of their link and gets a session, of which the store keeps a checksum: a copy in
    # a browser or proxy is worthless once the lead has signed out or was idle for long.

    def sign_in(self, request: Request, token: str) -> str | None:
        """Return a new session if a token is the lead's."""
        if not self.knows(request, "lead", lambda: token.isascii() and self.study.is_lead(token)):
            return None
        session = secrets.token_urlsafe(24)
        now = self.study.now()

        def work(connection: Connection) -> None:
            there = connection.execute(select(meta).where(meta.c.key.startswith(_SESSION))).all()
            lasting = sorted((row.value, row.key) for row in there if self._lasts(row.value, now))[-_MOST_SESSIONS:]
            ended = {row.key for row in there} - {key for _, key in lasting}
            connection.execute(meta.delete().where(meta.c.key.in_(ended)))
            put_meta(connection, _session_key(session), self._lasting(now))

        self.study.store.write(work)
        return session

    def sign_out(self, session: str) -> None:
        """End a session of the lead, wherever its cookie is."""
        self._known.discard(session)
        end = meta.delete().where(meta.c.key == _session_key(session))
        self.study.store.write(lambda connection: connection.execute(end))

    def lead(self, request: Request, *, csrf: str | None = None) -> tuple[str, str]:
        """Return the lead's session and the CSRF word of its forms; refuse anyone else.

        Raises
        ------
        Refusal
            If it is not, or the form is not ours.
        """
        session = self.cookie(request, "lead")
        by_itself = "x-refresh" in request.headers  # which does not keep an idle lead signed in
        look_up = self._last_use if by_itself else self._used
        if session is None or self._looked_up(request, "lead", session, look_up) is None:
            raise Refusal(403, "This page is the study lead's", "Open the lead's link again.")
        self.check_form(request, csrf, "lead", session)
        return session, self.word("lead", session)

    def _last_use(self, session: str) -> int | None:
        """Return the last use of a lead's session, None if it has ended."""
        value = self.study.store.get(_session_key(session))
        if value is None or not self._lasts(value, self.study.now()):
            return None
        return int(value.partition(" ")[0])

    def _used(self, session: str) -> int | None:
        """Return the last use of a lead's session, None if it has ended; renews it."""
        key, now = _session_key(session), self.study.now()
        used = self._last_use(session)
        if used is not None and now - used > _TOUCHED:

            def touch(connection: Connection) -> None:
                # Not if the lead has signed out meanwhile.
                if get_meta(connection, key) is not None:
                    put_meta(connection, key, self._lasting(now))

            self.study.store.write(touch)
        return used

    def _lasting(self, now: int) -> str:
        # A new token in the lead's file ends all sessions.
        return f"{now} {self.word('lead token', self.study.lead_token)}"

    def _lasts(self, value: str, now: int) -> bool:
        used, _, word = value.partition(" ")
        recent = used.isdecimal() and abs(now - int(used)) <= LEAD_IDLE * 1000
        return recent and same(word, self.word("lead token", self.study.lead_token))

    def check_form(self, request: Request, given: str | None, purpose: str, session: str) -> None:
        """Refuse a form that another site submits in a user's name (CSRF)."""
        if request.method != "POST":
            return
        elsewhere = request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
        if elsewhere or given is None or not same(given, self.word(purpose, session)):
            text = "Nothing was saved. Go back to the page, load it again and try again."
            raise Refusal(403, "This form is out of date", text)

    def slow_down(self, buckets: Buckets, who: str) -> None:
        """Refuse requests over the rate limit."""
        if wait := buckets.take(who):
            raise _too_many(wait)

    def share(self) -> tuple[int, bool]:
        """Return how many tasks a rater gets, and whether that is only about so many.

        It is an equal share of the work for everybody who is invited or has joined, up to the most that the study
        allows. Gold items are included: a progress bar that skipped them would reveal them.
        """
        person = ~raters_table.c.excluded & raters_table.c.entry.in_(_PEOPLE)
        number = select(func.count()).select_from(raters_table).where(person)
        people = self.study.store.read(lambda connection: connection.execute(number).scalar()) or 1
        share = min(self._items, math.ceil(self._wanted / people))
        most = self.study.config.most_ratings_per_rater
        is_most = most is not None and most <= share
        share = most if most is not None and is_most else share
        return share + round(self.study.config.gold.beside(share)), not is_most

    def visit(self, request: Request) -> str:
        """Return the id of a browser before anyone has joined from it."""
        return self.cookie(request, "visit") or secrets.token_urlsafe(16)


def site_of(request: Request) -> Site:
    """Return the site of a request."""
    site: Site = request.app.state.site
    return site


def came_from(request: Request) -> str:
    """Return the rate-limiting key of an unknown caller: everyone at that address."""
    return network_of(request.client.host if request.client else "")


def _session_key(session: str) -> str:
    return _SESSION + token_hash(session)[:32]


def _too_many(wait: float) -> Refusal:
    text = "Nothing was saved. Wait a moment and try again."
    return Refusal(429, "Too many requests", text, retry_after=max(1, math.ceil(wait)))


def _work(study: Study) -> tuple[int, int]:
    """Return the number of items, and of the ratings that they want."""
    number = select(func.count(), func.sum(items_table.c.wanted)).where(items_table.c.role == "item")
    count, wanted = study.store.read(lambda connection: connection.execute(number).one())
    return count, wanted or 0
