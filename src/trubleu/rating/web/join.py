"""Joining without a personal link: with a code, from Prolific, from Mechanical Turk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from trubleu.rating.web.rater import Csrf, TheSite, pages
from trubleu.rating.web.security import POLICY, Refusal, same
from trubleu.rating.web.site import came_from

if TYPE_CHECKING:
    from trubleu.rating.web.site import Site

router = APIRouter(default_response_class=HTMLResponse)

PREVIEW: Final = "ASSIGNMENT_ID_NOT_AVAILABLE"
TURK: Final = ("https://www.mturk.com", "https://workersandbox.mturk.com")

Id = Annotated[str | None, Query(max_length=200)]


@router.get("/join", responses=pages(303, 403))
def join(
    request: Request,
    site: TheSite,
    code: Id = None,
    prolific: Annotated[str | None, Query(alias="PROLIFIC_PID", max_length=200)] = None,
    prolific_token: Annotated[str | None, Query(max_length=8000, description="Signed by Prolific.")] = None,
    worker: Annotated[str | None, Query(alias="workerId", max_length=200)] = None,
    assignment: Annotated[str | None, Query(alias="assignmentId", max_length=200)] = None,
    submit_to: Annotated[str | None, Query(alias="turkSubmitTo", max_length=200)] = None,
) -> Response:
    """Join from Prolific or Mechanical Turk, by the parameters they add to the URL, or ask for the code."""
    if prolific is not None or prolific_token is not None:
        return _enter(request, site, "prolific", _participant(request, site, prolific, prolific_token))
    if assignment is not None:
        return _turk(site, worker, assignment, submit_to)
    if worker is not None:
        return _enter(request, site, "mturk", worker)
    _need_code(site)
    return _form(request, site, code or "")


@router.post("/join", responses=pages(303, 403))
def join_with_code(
    request: Request,
    site: TheSite,
    csrf: Csrf,
    code: Annotated[str, Form(max_length=200)] = "",
    anew: Annotated[int | None, Form(ge=0, le=1, description="1 to be somebody else than before.")] = None,
) -> Response:
    """Join with the shared code."""
    wanted = _need_code(site)
    visit = site.cookie(request, "visit")
    if visit is None:
        raise Refusal(403, "Your browser keeps no cookies", "Allow cookies for this page and load it again.")
    site.check_form(request, csrf, "visit", visit)
    if not site.knows(request, "code", lambda: same(code.strip(), wanted)):
        return _form(request, site, code, message="That is not the code of this study.", status=403)
    token = site.cookie(request, "rater")
    if token is not None and not anew and site.study.find_rater(token) is not None:
        return site.redirect("/rate")
    site.slow_down(site.joins, came_from(request))
    response = site.redirect("/rate")
    site.keep(response, "rater", site.study.enter("open").token)
    return response


@router.get("/join/mturk", status_code=303, responses=pages(403), response_class=RedirectResponse)
def join_from_turk(
    request: Request, site: TheSite, worker: Annotated[str, Query(alias="workerId", max_length=200)]
) -> Response:
    """Join from Mechanical Turk, in a separate window."""
    return _enter(request, site, "mturk", worker)


def _participant(request: Request, site: Site, given: str | None, token: str | None) -> str:
    """Return the Prolific participant: from the signed token, if the study requires one, else from the URL."""
    _need(site, "prolific")
    if (tokens := site.tokens) is None:
        return given or ""
    found = site.tried(request, "prolific", lambda: tokens.participant(token or ""))
    if found is None or given not in (None, found):
        raise Refusal(
            403,
            "Prolific does not say who you are",
            "The address is not complete, or too old, or of another study. Open the study at Prolific again.",
        )
    return found


def _enter(request: Request, site: Site, entry: str, external: str) -> Response:
    _need(site, entry)
    if re.fullmatch(r"[A-Za-z0-9_.:-]{1,100}", external) is None:
        site.slow_down(site.guesses, f"id {came_from(request)}")
        raise Refusal(
            422, "This address is not complete", "It should carry your id. Open the study where you found it."
        )
    site.slow_down(site.joins, came_from(request))
    response = site.redirect("/rate")
    site.keep(response, "rater", site.study.enter(entry, external=external).token)
    return response


def _turk(site: Site, worker: str | None, assignment: str, submit_to: str | None) -> Response:
    """Show the page inside Mechanical Turk's frame. The study opens beside it, as browsers block cookies in frames."""
    _need(site, "mturk")
    target = submit_to if submit_to in TURK else TURK[0]
    headers = {"content-security-policy": POLICY.format(forms=target, frames="https://*.mturk.com")}
    preview = assignment == PREVIEW or worker is None
    return site.page(
        "mturk.html",
        headers=headers,
        preview=preview,
        assignment=assignment,
        start="" if preview else f"{site.prefix}/join/mturk?{urlencode({'workerId': worker})}",
        target=f"{target}/mturk/externalSubmit",
    )


def _need(site: Site, entry: str) -> None:
    allowed = site.study.config.entry.prolific if entry == "prolific" else site.study.config.entry.mturk
    if not allowed:
        name = "Prolific" if entry == "prolific" else "Mechanical Turk"
        raise Refusal(403, "There is no way in here", f"This study does not take people from {name}.")


def _need_code(site: Site) -> str:
    code = site.study.config.entry.code
    if code is None:
        raise Refusal(403, "There is no way in here", "This study needs a link of your own; ask for one.")
    return code


def _form(request: Request, site: Site, code: str, *, message: str = "", status: int = 200) -> Response:
    visit = site.visit(request)
    known = site.cookie(request, "rater") is not None
    response = site.page(
        "join.html", status=status, code=code, message=message, known=known, csrf=site.word("visit", visit)
    )
    site.keep(response, "visit", visit)
    return response
