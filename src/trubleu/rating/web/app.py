"""The web application of a study."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from trubleu._version import __version__
from trubleu.errors import StoreError, UsageError
from trubleu.rating.web import lead, rater
from trubleu.rating.web.security import Guard, Refusal, log, not_saved
from trubleu.rating.web.site import STATIC, Site
from trubleu.style import TOKENS

if TYPE_CHECKING:
    import os

    from starlette.types import Scope

    from trubleu.rating.study import Study

REQUESTS_A_MINUTE: Final = 300.0
_STORE_SECONDS: Final = 1.0  # timeout of the store check of /health

_TITLES: Final = {
    400: ("This cannot be read", "What was sent is not a form of this page. Nothing was saved."),
    404: ("There is no such page", "Check the address, or open your link again."),
    405: ("There is no such page", "Open your link again."),
}


def create_app(
    study: Study, *, url: str | None = None, requests_a_minute: float = REQUESTS_A_MINUTE, openapi: bool = False
) -> FastAPI:
    """Return the pages of a study as an ASGI application.

    Parameters
    ----------
    study
        The study, which the caller closes.
    url
        How people reach the pages, such as ``https://rate.example.org``. With https, cookies travel encrypted only.
    requests_a_minute
        How many requests a rater may make in each process; 0 for no limit.
    openapi
        Whether ``/openapi.json`` describes the pages for programs.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> study = Study.create(folder, StudyConfig("Good answers", "response"), [Item("7", ("fine",))])
    >>> app = create_app(study, url="https://rate.example.org")
    >>> "/answer" in app.openapi()["paths"]
    True
    >>> study.close()
    """
    site = Site(study, url=url, requests_a_minute=requests_a_minute)
    app = FastAPI(
        title="TruBLEU rating study",
        version=__version__,
        openapi_url="/openapi.json" if openapi else None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.site = site
    app.include_router(rater.router)
    app.include_router(lead.router)
    app.mount("/static", _Static(directory=STATIC), name="static")

    @app.get("/", include_in_schema=False)
    def start(request: Request) -> RedirectResponse:
        known = site.cookie(request, "rater") is not None
        return site.redirect("/rate" if known or study.config.entry.code is None else "/join")

    _add_health(app, study)
    _add_refusals(app, site)
    app.add_middleware(Guard, prefix=site.prefix, refuse=site.refusal)
    return app


def _add_health(app: FastAPI, study: Study) -> None:
    """Add /health: checks the store with a timeout, in its own thread, as all others may be waiting for it."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="health")
    asked: Future[bool] | None = None

    def answers() -> bool:
        try:
            study.store.get("schema")
        except StoreError as error:
            log.error("the store: %s", error)
            return False
        return True

    @app.get("/health", include_in_schema=False)
    async def health() -> PlainTextResponse:
        nonlocal asked
        if asked is None or asked.done():
            asked = thread.submit(answers)
        mine = asked
        await asyncio.wait({asyncio.wrap_future(mine)}, timeout=_STORE_SECONDS)
        if not mine.done() or not mine.result():
            return PlainTextResponse("the store does not answer\n", 503)
        return PlainTextResponse("ok\n")


def _add_refusals(app: FastAPI, site: Site) -> None:
    """Answer every error with a page, and a status that tells whose fault it is."""

    async def refuse(request: Request, error: Any) -> Response:
        response = site.refusal(_refusal_of(error), request)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    for kind in (Refusal, RequestValidationError, HTTPException, UsageError, StoreError):
        app.add_exception_handler(kind, refuse)


def _refusal_of(error: Any) -> Refusal:
    match error:
        case RequestValidationError():
            first = error.errors()[0]
            message = f"Nothing was saved: {first['loc'][-1]}: {first['msg'].lower()}."
            return Refusal(422, "This cannot be used", message)
        case HTTPException():
            title, message = _TITLES.get(error.status_code, ("This does not work", "Nothing was saved."))
            return Refusal(error.status_code, title, message)
        case UsageError():
            return Refusal(422, "This cannot be used", f"Nothing was saved: {error}.")
        case StoreError():
            log.error("the store: %s", error)
            return not_saved()
    refusal: Refusal = error
    return refusal


class _Static(StaticFiles):
    """Stylesheet and script, with long caching: their URLs change when they do."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Find a file; the stylesheet shared by all pages is elsewhere."""
        return (str(TOKENS), TOKENS.stat()) if path == TOKENS.name else super().lookup_path(path)

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["cache-control"] = "public, max-age=86400"
        return response

    async def get_response(self, path: str, scope: Scope) -> Response:
        if "\0" in path:  # rejected by the file system
            raise HTTPException(404)
        return await super().get_response(path, scope)
