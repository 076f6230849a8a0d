"""What all pages of a study share: its templates, its cookies, who is there, and how to say no."""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from fastapi import Request  # noqa: TC002 - FastAPI looks at the annotation
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sqlalchemy import func, select

from trubleu.rating.config import check_url
from trubleu.rating.store.schema import items as items_table
from trubleu.rating.web.sanitize import decimal, markdown, moment, visible
from trubleu.rating.web.security import Buckets, Refusal, Signer

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Response

    from trubleu.rating.raters import Rater
    from trubleu.rating.study import Study
    from trubleu.rating.summary import Summary

HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"
_AGE: Final = {"rater": 180 * 86400, "lead": 30 * 86400, "visit": 86400}  # seconds that a cookie is kept
_PATH: Final = {"rater": "", "lead": "/lead", "visit": "/join"}
_LONGEST_TOKEN: Final = 200


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks: a rater, the token they came with, and what their forms must carry."""

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
        self.signer = Signer(study.secret)
        self.requests = Buckets(requests_a_minute, at_once=max(60, int(requests_a_minute // 4)))
        self.guesses = Buckets(30, at_once=30)
        self.numbers: tuple[int | None, int, Summary] | None = None
        study_id = study.id
        self.most_tasks = _most_tasks(study)
        # Cookies are shared by all ports of a host, so those of another study there must have other names.
        self._names = {kind: f"trubleu-{kind}-{study_id[:8]}" for kind in _AGE}
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,  # texts come from anywhere: <script> in a response is shown, not run
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.filters.update(visible=visible, markdown=markdown, moment=moment, decimal=decimal)
        self._templates.globals.update(
            config=study.config,
            prefix=self.prefix,
            study_id=study_id,
            version=_version_of_static(),
            most_tasks=self.most_tasks,
            time_now=study.now,
        )
        # All of them now: a package that is upgraded under a running server must not mix old pages with new ones.
        for name in self._templates.list_templates():
            self._templates.get_template(name)

    # Pages

    def page(
        self, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> HTMLResponse:
        """Return a page."""
        values.setdefault("session", None)
        values["page_id"] = self.signer.word("page", values["session"].token)[:16] if values["session"] else ""
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text, status, headers)

    def refusal(self, refusal: Refusal, request: Request | None = None) -> HTMLResponse:
        """Return the page that says why not, and how to go on from there."""
        path = "" if request is None else request.url.path.removeprefix(self.prefix)
        back = None if path.startswith("/join") else "/lead" if path.startswith("/lead") else "/"
        headers = {} if refusal.retry_after is None else {"retry-after": str(refusal.retry_after)}
        return self.page("refusal.html", status=refusal.status, headers=headers, refusal=refusal, back=back)

    def redirect(self, path: str) -> RedirectResponse:
        """Send a browser to another page, which it asks for with GET."""
        return RedirectResponse(self.prefix + path, 303)

    def address(self, request: Request, path: str) -> str:
        """Return an address that can be sent to people."""
        return (self.url or str(request.base_url).rstrip("/")) + path

    # Cookies

    def cookie(self, request: Request, kind: str) -> str | None:
        """Return what a browser keeps for us."""
        value = request.cookies.get(self._names[kind])
        return value if value and len(value) <= _LONGEST_TOKEN and value.isascii() else None

    def keep(self, response: Response, kind: str, value: str) -> None:
        """Let a browser keep something: for us alone, not for scripts, not for requests from other sites."""
        response.set_cookie(
            self._names[kind],
            value,
            max_age=_AGE[kind],
            path=self.prefix + _PATH[kind] or "/",
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )

    def forget(self, response: Response, kind: str) -> None:
        """Let a browser forget it."""
        response.delete_cookie(
            self._names[kind],
            path=self.prefix + _PATH[kind] or "/",
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )

    # Who is there

    def session(self, request: Request, *, csrf: str | None = None) -> Session:
        """Return who asks, with a form's word checked if there is one.

        Raises
        ------
        Refusal
            If it is nobody we know, the form is not ours, or there are too many requests.
        """
        token = self.cookie(request, "rater")
        if token is None:
            raise _nobody()
        self.check_form(request, csrf, "rater", token)
        self.slow_down(self.requests, f"rater:{token}")
        rater = self.study.find_rater(token)
        if rater is None:
            self.slow_down(self.guesses, f"link {came_from(request)}")
            raise _nobody()
        return Session(rater, token, self.signer.word("rater", token))

    def find(self, request: Request, token: str) -> Rater | None:
        """Return the rater with a token. Who guesses is slowed down, and the store is not asked meanwhile."""
        who = f"link {came_from(request)}"
        if wait := self.guesses.peek(who):
            raise _too_many(wait)
        rater = self.study.find_rater(token) if token.isascii() and len(token) <= _LONGEST_TOKEN else None
        if rater is None:
            self.slow_down(self.guesses, who)
        return rater

    def knows(self, request: Request, what: str, is_right: Callable[[], bool]) -> bool:
        """Return whether somebody knows a secret.

        Who guesses is slowed down: while it is too often, also the right word is refused, or guessing could go on at
        any pace. What is guessed is counted before it is looked at, so that many guesses at once are no way around.
        """
        who = f"{what} {came_from(request)}"
        self.slow_down(self.guesses, who)
        if not is_right():
            return False
        self.guesses.give_back(who)
        return True

    def lead(self, request: Request, *, csrf: str | None = None) -> str:
        """Return the word that the lead's forms must carry, if it is the lead who asks.

        Raises
        ------
        Refusal
            If it is not, or the form is not ours.
        """
        token = self.cookie(request, "lead")
        if token is None or not self.is_lead(request, token):
            raise Refusal(403, "This page is the study lead's", "Open the lead's link again.")
        self.check_form(request, csrf, "lead", token)
        return self.signer.word("lead", token)

    def is_lead(self, request: Request, token: str) -> bool:
        """Return whether a token is the lead's; who guesses is slowed down."""
        return self.knows(request, "lead", lambda: token.isascii() and self.study.is_lead(token))

    def check_form(self, request: Request, given: str | None, purpose: str, session: str) -> None:
        """Refuse a form that another site sends in somebody's name."""
        if request.method != "POST":
            return
        elsewhere = request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
        if elsewhere or given is None or not self.signer.is_word(given, purpose, session):
            raise Refusal(
                403, "This form is out of date", "Nothing was saved. Go back to the page, load it again and try again."
            )

    def slow_down(self, buckets: Buckets, who: str) -> None:
        """Refuse what comes too often."""
        if wait := buckets.take(who):
            raise _too_many(wait)

    def visit(self, request: Request) -> str:
        """Return what tells one browser from another before anybody has come in."""
        return self.cookie(request, "visit") or secrets.token_urlsafe(16)


def site_of(request: Request) -> Site:
    """Return the site that a request is for."""
    site: Site = request.app.state.site
    return site


def came_from(request: Request) -> str:
    """Return who is slowed down when nobody is known: everybody at that address."""
    host = request.client.host if request.client else ""
    try:
        address = ip_address(host)
    except ValueError:
        return f"from:{host}"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            # One customer has at least that many addresses, and could use another one for every guess.
            return f"from:{int(address) >> 64:x}"
        address = address.ipv4_mapped
    return f"from:{address}"


def _nobody() -> Refusal:
    return Refusal(403, "We do not know who you are", "Open the link again with which you came to this study.")


def _too_many(wait: float) -> Refusal:
    text = "Nothing was saved. Wait a moment and try again."
    return Refusal(429, "Too many requests", text, retry_after=max(1, math.ceil(wait)))


def _most_tasks(study: Study) -> int:
    """Return about how many tasks a rater can get, with gold items: a bar that skipped them would give them away."""
    config = study.config
    number = select(func.count()).select_from(items_table).where(items_table.c.role == "item")
    items = study.store.read(lambda connection: connection.execute(number).scalar()) or 0
    most = items if config.most_ratings_per_rater is None else min(items, config.most_ratings_per_rater)
    share = config.gold.share
    return most + min(len(config.gold.items), round(most * share / (1 - share)))


def _version_of_static() -> str:
    digest = hashlib.sha256()
    for path in sorted(STATIC.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
