"""Pages and actions of the lead."""

from __future__ import annotations

import math
import tempfile
import threading
import warnings
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, TypeVar

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import func, select

from trubleu.errors import TrubleuWarning
from trubleu.rating.config import Prolific
from trubleu.rating.export import FORMATS, What, export_study, exports_of
from trubleu.rating.raters import RatersChangedError
from trubleu.rating.store.queries import comments
from trubleu.rating.store.schema import log
from trubleu.rating.summary import Summary, disputed_texts, summary
from trubleu.rating.web.rater import Csrf, TheSite, pages
from trubleu.rating.web.security import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.rating.store.queries import RatingRow
    from trubleu.rating.web.site import Site

router = APIRouter(default_response_class=HTMLResponse)

MOST_AT_ONCE: Final = 1000  # new raters
_FRESH: Final = 30_000  # maximum age of cached numbers in milliseconds if nothing has happened since

Number = Annotated[int, Form(ge=1, le=2**63 - 1, description="The rater's number.")]
Reason = Annotated[str, Form(max_length=200, description="Why; it stays in the log.")]

Counted = Annotated[int, Path(ge=1, le=2**63 - 1)]
Question = Annotated[int, Query(ge=1, le=100, description="The question that numbers are about.")]
Page = Annotated[int, Query(ge=1, le=10**6)]

T = TypeVar("T")

_REFRESH: Final = 30  # seconds after which the overview refreshes its numbers
_ON_A_PAGE: Final = 50
_ACTIONS: Final = ("pause", "resume", "exclude", "readmit", "raters", "leave")
_computing = threading.Lock()


@router.get("/lead", responses=pages(403))
def overview(request: Request, site: TheSite, question: Question = 1) -> Response:
    """Show the progress of the study."""
    _, csrf = site.lead(request)
    entry = site.study.config.entry
    prolific = "/join?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    secure = "secure external study URL" if isinstance(entry.prolific, Prolific) else "ids are not verified"
    ways = [
        (f"Prolific: the study's URL ({secure})", prolific, entry.prolific),
        ("Mechanical Turk: the ExternalURL (ids are not verified)", "/join", entry.mturk),
        ("Everybody who knows the code", "/join", entry.code is not None),
    ]
    found = current(site, _asked(site, question))
    return site.page(
        "lead.html",
        csrf=csrf,
        found=found,
        raters=sorted(found.raters, key=lambda person: not person.in_trouble),
        highest=max((weight.count for weight in found.weights), default=0),
        links=sum(rater.entry == "link" for rater in site.study.raters()),
        exports=exports(site),
        refresh=_REFRESH,
        ways=[(name, site.address(request, path)) for name, path, there in ways if there],
    )


@router.get("/lead/raters/{number}", responses=pages(403, 404))
def rater(request: Request, site: TheSite, number: Counted, page: Page = 1) -> Response:
    """Show the answers of one rater, who can be excluded there."""
    _, csrf = site.lead(request)
    found = current(site, 0)
    everybody = (*found.raters, *(model.person for model in found.models))
    person = next((each for each in everybody if each.rater.id == number), None)
    if person is None:
        raise Refusal(404, "There is no such rater", "Go back to the overview.")
    answers = list(_answers(site, lambda row: row.rater == number))
    shown, pages_there = _page(answers[::-1], page)
    return site.page(
        "lead_rater.html", person=person, answers=shown, total=len(answers), page=page, pages=pages_there, csrf=csrf
    )


@router.get("/lead/items/{number}", responses=pages(403, 404))
def item(request: Request, site: TheSite, number: Counted) -> Response:
    """Show the answers of all raters to one item."""
    site.lead(request)
    stored = next((each for each in site.study.items() if each.id == number), None)
    if stored is None:
        raise Refusal(404, "There is no such item", "Go back to the overview.")
    answers = list(_answers(site, lambda row: row.item.id == number))
    return site.page("lead_item.html", stored=stored, answers=answers)


@router.get("/lead/texts", responses=pages(403))
def texts(
    request: Request,
    site: TheSite,
    question: Question = 1,
    words: Annotated[str, Query(max_length=200, description="Only texts, messages and keys with these words.")] = "",
    least: Annotated[int, Query(ge=2, le=1000, description="Only texts with so many ratings.")] = 2,
    page: Page = 1,
) -> Response:
    """Show the texts with the largest disagreement first."""
    site.lead(request)
    asked = _asked(site, question)
    rows = [row for row in site.study.table() if row.role == "item" and row.counted and row.question == asked]
    wanted = words.casefold().split()
    found = [
        text
        for text in disputed_texts(rows)
        if len(text.scores) >= least
        and all(word in f"{text.key}\n{text.message or ''}\n{text.text}".casefold() for word in wanted)
    ]
    shown, pages_there = _page(found, page)
    return site.page(
        "lead_texts.html", found=shown, total=len(found), question=asked + 1, words=words, least=least, page=page,
        pages=pages_there,
    )  # fmt: skip


@router.get("/lead/export/{name}", responses=pages(403, 404), response_class=Response)
def export(request: Request, site: TheSite, name: Annotated[str, Path(max_length=40)]) -> Response:
    """Download an export."""
    site.lead(request)
    if (what := exports(site).get(name)) is None:
        raise Refusal(404, "There is no such export", "Go back to the overview.")
    # The overview shows what is missing.
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore", category=TrubleuWarning):
        path = FilePath(folder) / name
        export_study(site.study, what, path)
        data = path.read_bytes()
    kind = "text/csv; charset=utf-8" if name.endswith(".csv") else "application/x-ndjson"
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def exports(site: Site) -> dict[str, What]:
    """Return the available exports by the names of their files."""
    return {f"{what}.{FORMATS[what][0]}": what for what in exports_of(site.study.config.kind)}


@router.post("/lead/pause", status_code=303, responses=pages(403), response_class=RedirectResponse)
@router.post("/lead/resume", status_code=303, responses=pages(403), response_class=RedirectResponse)
def pause_or_resume(request: Request, site: TheSite, csrf: Csrf) -> Response:
    """Stop assigning tasks, or assign them again."""
    site.lead(request, csrf=csrf)
    (site.study.pause if request.scope["route"].path == "/lead/pause" else site.study.resume)()
    return site.redirect("/lead")


@router.post("/lead/exclude", status_code=303, responses=pages(403), response_class=RedirectResponse)
@router.post("/lead/readmit", status_code=303, responses=pages(403), response_class=RedirectResponse)
def exclude_or_readmit(request: Request, site: TheSite, csrf: Csrf, rater: Number, reason: Reason = "") -> Response:
    """Exclude a rater, or readmit one."""
    site.lead(request, csrf=csrf)
    if not reason.strip():
        raise Refusal(422, "Why?", "Nothing was changed. Give a reason; it stays in the log.")
    change = site.study.exclude if request.scope["route"].path == "/lead/exclude" else site.study.readmit
    change(rater, reason=reason.strip())
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
    # The page with the links is the response to this form: reloading it must not add the raters again.
    try:
        new = site.study.add_raters(len(labels) or count or 1, labels=labels, links=links)
    except RatersChangedError as error:
        text = "Nobody was added now. Look at the overview; trubleu rate links --renew replaces links that were lost."
        raise Refusal(409, "Raters were added meanwhile", text) from error
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


# Last, because a token may be any word.
@router.get("/lead/{token}", status_code=303, responses=pages(404), response_class=RedirectResponse)
def enter(request: Request, site: TheSite, token: Annotated[str, Path(max_length=200)]) -> Response:
    """Sign in with the lead's link; the token then disappears from the address bar."""
    if token in _ACTIONS:  # the URL of a form; some pages are the response to one
        return site.redirect("/lead")
    session = site.sign_in(request, token)
    if session is None:
        raise Refusal(404, "This link does not work", "trubleu rate serve prints the lead's link when it starts.")
    return site.redirect("/lead", lead=session)


class _Answer(NamedTuple):
    """An answer as shown to the lead: its first row, the scores of each text by question, and the comment."""

    row: RatingRow
    scores: tuple[tuple[int | None, ...], ...]
    note: str


def _answers(site: Site, wanted: Callable[[RatingRow], bool]) -> Iterator[_Answer]:
    """Yield answers in chronological order."""
    rows: dict[tuple[int, int], list[RatingRow]] = {}
    for row in site.study.table():
        if wanted(row):
            rows.setdefault((row.item.id, row.rater), []).append(row)
    notes = site.study.store.read(comments)
    number = len(site.study.config.questions)
    for (item, who), given in sorted(rows.items(), key=lambda entry: entry[1][0].answered_at):
        scores = [row.score for row in given]
        by_text = tuple(tuple(scores[at : at + number]) for at in range(0, len(scores), number))
        yield _Answer(given[0], by_text, notes.get((item, who), ""))


def _page(found: Sequence[T], page: int) -> tuple[Sequence[T], int]:
    """Return one page of a list, and the number of pages."""
    return found[(page - 1) * _ON_A_PAGE : page * _ON_A_PAGE], max(1, math.ceil(len(found) / _ON_A_PAGE))


def _asked(site: Site, question: int) -> int:
    """Return the index of a question of the study."""
    if question > len(site.study.config.questions):
        raise Refusal(422, "There is no such question", "Go back to the overview.")
    return question - 1


def current(site: Site, question: int = 0) -> Summary:
    """Return the summary; computed once at a time, and only if something has happened."""
    with _computing:
        now = site.study.now()
        last = site.study.store.read(lambda connection: connection.execute(select(func.max(log.c.id))).scalar())
        there = site.numbers.get(question)
        if there is None or there[0] != last or now - there[1] > _FRESH:
            there = site.numbers[question] = (last, now, summary(site.study, now, question=question))
        return there[2]
