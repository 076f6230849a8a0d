"""What the lead of a study sees and does."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Form, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import func, select

from trubleu.rating.config import Prolific
from trubleu.rating.raters import RatersChangedError
from trubleu.rating.store.schema import log
from trubleu.rating.summary import summary
from trubleu.rating.web.rater import Csrf, TheSite, pages
from trubleu.rating.web.security import Refusal

if TYPE_CHECKING:
    from trubleu.rating.summary import Summary
    from trubleu.rating.web.site import Site

router = APIRouter(default_response_class=HTMLResponse)

MOST_AT_ONCE: Final = 1000  # new raters
_FRESH: Final = 30_000  # milliseconds that numbers may be old if nothing has happened since

Number = Annotated[int, Form(ge=1, le=2**63 - 1, description="The rater's number.")]
Reason = Annotated[str, Form(max_length=200, description="Why; it stays in the log.")]

_ACTIONS: Final = ("pause", "resume", "exclude", "readmit", "raters", "leave")
_computing = threading.Lock()


@router.get("/lead/{token}", status_code=303, responses=pages(404), response_class=RedirectResponse)
def enter(request: Request, site: TheSite, token: Annotated[str, Path(max_length=200)]) -> Response:
    """Come in with the lead's link; the token then leaves the address bar."""
    if token in _ACTIONS:  # the address of a form, which some pages are the answer to
        return site.redirect("/lead")
    session = site.sign_in(request, token)
    if session is None:
        raise Refusal(404, "This link does not work", "trubleu rate serve prints the lead's link when it starts.")
    response = site.redirect("/lead")
    site.keep(response, "lead", session)
    return response


@router.get("/lead", responses=pages(403))
def overview(request: Request, site: TheSite) -> Response:
    """Show how the study goes."""
    _, csrf = site.lead(request)
    return _overview(request, site, csrf)


@router.post("/lead/pause", status_code=303, responses=pages(403), response_class=RedirectResponse)
def pause(request: Request, site: TheSite, csrf: Csrf) -> Response:
    """Hand out no more tasks."""
    site.lead(request, csrf=csrf)
    site.study.pause()
    return site.redirect("/lead")


@router.post("/lead/resume", status_code=303, responses=pages(403), response_class=RedirectResponse)
def resume(request: Request, site: TheSite, csrf: Csrf) -> Response:
    """Hand out tasks again."""
    site.lead(request, csrf=csrf)
    site.study.resume()
    return site.redirect("/lead")


@router.post("/lead/exclude", status_code=303, responses=pages(403), response_class=RedirectResponse)
def exclude(request: Request, site: TheSite, csrf: Csrf, rater: Number, reason: Reason = "") -> Response:
    """Leave a rater's ratings out."""
    site.lead(request, csrf=csrf)
    site.study.exclude(rater, reason=_reason(reason))
    return site.redirect(f"/lead#rater-{rater}")


@router.post("/lead/readmit", status_code=303, responses=pages(403), response_class=RedirectResponse)
def readmit(request: Request, site: TheSite, csrf: Csrf, rater: Number, reason: Reason = "") -> Response:
    """Take a rater's ratings in again."""
    site.lead(request, csrf=csrf)
    site.study.readmit(rater, reason=_reason(reason))
    return site.redirect(f"/lead#rater-{rater}")


@router.post("/lead/raters", responses=pages(303, 403, 409))
def add_raters(
    request: Request,
    site: TheSite,
    csrf: Csrf,
    links: Annotated[int, Form(ge=0, le=10**9, description="How many raters have links, as the page says.")],
    count: Annotated[int | None, Form(ge=1, le=MOST_AT_ONCE)] = None,
    names: Annotated[str, Form(max_length=50_000, description="One name a line, instead of a number.")] = "",
) -> Response:
    """Add raters and show their links, once."""
    site.lead(request, csrf=csrf)
    labels = [name.strip() for name in names.splitlines() if name.strip()]
    if len(labels) > MOST_AT_ONCE or (not labels and count is None):
        raise Refusal(422, "How many raters?", f"Nobody was added. Give a number or names, at most {MOST_AT_ONCE}.")
    # The page that shows the links is the answer to this form: loading it again must not add everybody again.
    try:
        new = site.study.add_raters(len(labels) or count or 1, labels=labels, links=links)
    except RatersChangedError as error:
        raise Refusal(
            409,
            "Raters were added meanwhile",
            "Nobody was added now. Go back to the overview and look. "
            "For links that were not copied, trubleu rate links --renew gives new ones.",
        ) from error
    shown = [(entry.rater.name, site.address(request, f"/r/{entry.token}")) for entry in new]
    return site.page("links.html", links=shown)


@router.post("/lead/leave", status_code=303, responses=pages(403), response_class=RedirectResponse)
def leave(request: Request, site: TheSite, csrf: Csrf) -> Response:
    """Sign out."""
    session, _ = site.lead(request, csrf=csrf)
    site.sign_out(session)
    response = site.redirect("/")
    site.forget(response, "lead")
    return response


def _reason(reason: str) -> str:
    if not reason.strip():
        raise Refusal(422, "Why?", "Nothing was changed. Give a reason; it stays in the log.")
    return reason.strip()


def _links(site: Site) -> int:
    return sum(rater.entry == "link" for rater in site.study.raters())


def _overview(request: Request, site: Site, csrf: str) -> Response:
    entry = site.study.config.entry
    prolific = "/join?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    secure = "secure external study URL" if isinstance(entry.prolific, Prolific) else "ids are not verified"
    ways = [
        (f"Prolific: the study's URL ({secure})", prolific, entry.prolific),
        ("Mechanical Turk: the ExternalURL (ids are not verified)", "/join", entry.mturk),
        ("Everybody who knows the code", "/join", entry.code is not None),
    ]
    found = current(site)
    return site.page(
        "lead.html",
        csrf=csrf,
        found=found,
        highest=max((weight.count for weight in found.weights), default=0),
        links=_links(site),
        ways=[(name, site.address(request, path)) for name, path, there in ways if there],
    )


def current(site: Site) -> Summary:
    """Return the numbers: one computation at a time, and none if nothing has happened."""
    with _computing:
        now = site.study.now()
        last = site.study.store.read(lambda connection: connection.execute(select(func.max(log.c.id))).scalar())
        if site.numbers is None or site.numbers[0] != last or now - site.numbers[1] > _FRESH:
            site.numbers = (last, now, summary(site.study, now))
        return site.numbers[2]
