"""Pages for raters: joining, consent, instructions, practice, tasks, the end."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from trubleu.errors import StoreError, UsageError
from trubleu.rating import scheduler
from trubleu.rating.config import LONGEST_REASON, StudyConfig
from trubleu.rating.raters import has_ended
from trubleu.rating.scheduler import Answer, NoConsentError, Outcome, ScoresError, Task, TooEarlyError
from trubleu.rating.study import Study
from trubleu.rating.web.on_complete import tell_if_complete
from trubleu.rating.web.sanitize import visible
from trubleu.rating.web.security import POLICY, Refusal, log, not_saved, same
from trubleu.rating.web.site import Session, Site, came_from, site_of

_LONGEST_TIME: Final = 2**53 - 1
_LARGEST_NUMBER: Final = 2**63 - 1

router = APIRouter(default_response_class=HTMLResponse)

TheSite = Annotated[Site, Depends(site_of)]
Csrf = Annotated[str, Form(max_length=100, description="The word that the page's form carries.")]
Text = Annotated[str, Form(max_length=20_000)]


def pages(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of a route's other responses."""
    text = {
        303: "To the next page",
        400: "Not a form",
        403: "Nobody that is known, or a form that is out of date",
        404: "No such link",
        409: "There is nothing to do that to",
        413: "Too long",
        422: "A field that cannot be used",
        429: "Too many requests, or an answer that came too early",
        503: "Not saved, try again",
    }
    content = {"text/html": {"schema": {"type": "string"}}}
    always = (400, 413, 422, 429, 503)
    return {
        status: {"description": text[status]} | ({} if status == 303 else {"content": content})
        for status in sorted({*statuses, *always})
    }


async def scores_of(request: Request, site: TheSite) -> tuple[int | None, ...]:
    """Return the scores in a form, None for missing ones."""
    form, config = await request.form(), site.study.config
    found: list[int | None] = []
    for name, _, question in config.slots:
        text, points = str(form.get(name) or ""), question.points
        if text and (not text.isascii() or not text.isdecimal() or len(text) > 2 or not 1 <= int(text) <= points):
            raise Refusal(422, "This cannot be used", f"Nothing was saved: {name} must be from 1 to {points}.")
        found.append(int(text) if text else None)
    return tuple(found)


@router.get("/r/{token}", status_code=303, responses=pages(404), response_class=RedirectResponse)
def enter(request: Request, site: TheSite, token: Annotated[str, Path(max_length=200)]) -> Response:
    """Enter with a personal link; the token then disappears from the address bar."""
    if site.find(request, token) is None:
        text = "It is not complete, or a newer one has replaced it. Check it, or ask the sender for a new one."
        raise Refusal(404, "This link does not work", text)
    return site.redirect("/rate", rater=token)


@router.get("/rate", responses=pages(403))
def rate(request: Request, site: TheSite, kept: Annotated[int, Query(ge=0, le=1)] = 0) -> Response:
    """Show the next step: consent, instructions, a task, a break, or the end."""
    session = site.session(request)
    study, rater = site.study, session.rater
    if has_ended(study, rater):
        return site.page("excluded.html", session=session)
    if study.config.consent is not None and rater.consented_at is None:
        return site.page("consent.html", session=session)
    if rater.instructed_at is None:
        return site.page("instructions.html", session=session, again=False, link=_own_link(request, site, session))
    if rater.break_at is not None:
        return site.page("break.html", session=session)
    task = study.assign(rater.id)
    if task is not None:
        return _task(site, session, task, message=_KEPT if kept else "")
    if study.paused:
        return site.page("paused.html", session=session)
    now = study.now()
    stands = study.store.read(lambda connection: scheduler.standing(connection, study.config, rater.id, now=now))
    return site.page("done.html", session=session, stands=stands)


@router.get("/instructions", responses=pages(403))
def instructions(request: Request, site: TheSite) -> Response:
    """Show the instructions again."""
    session = site.session(request)
    return site.page("instructions.html", session=session, again=True, link=_own_link(request, site, session))


def step(request: Request, site: TheSite, csrf: Csrf) -> Response:
    """Give consent, confirm that the instructions were read, take a break or come back from it."""
    session = site.session(request, csrf=csrf)
    _STEPS[request.scope["route"].path](site.study, session.rater.id)
    return site.redirect("/rate")


def onwards(site: TheSite) -> Response:
    """Redirect from the URL of a form; some pages are the response to one."""
    return site.redirect("/rate")


_STEPS: Final = {
    "/consent": Study.consent,
    "/instructed": Study.instructed,
    "/break": Study.take_break,
    "/back": Study.come_back,
}
for _path in _STEPS:
    router.post(_path, status_code=303, responses=pages(403), response_class=RedirectResponse)(step)
for _path in (*_STEPS, "/answer", "/undo"):
    router.get(_path, include_in_schema=False)(onwards)


@router.post("/answer", responses=pages(303, 403, 409))
def answer(
    request: Request,
    site: TheSite,
    csrf: Csrf,
    task: Annotated[int, Form(ge=1, le=_LARGEST_NUMBER, description="The number of the task.")],
    key: Annotated[str, Form(min_length=1, max_length=100, description="What makes an answer count once.")],
    scores: Annotated[tuple[int | None, ...], Depends(scores_of)],
    unable: Annotated[int | None, Form(ge=0, le=1, description="1 if the rater cannot judge.")] = None,
    reason: Text = "",
    other: Text = "",
    comment: Text = "",
    milliseconds: Annotated[int | None, Form(ge=0, le=_LONGEST_TIME, description="How long the page was seen.")] = None,
) -> Response:
    """Store an answer: once it is on disk, go to the next task; after practice, show feedback first."""
    is_unable = bool(unable or reason.strip())
    note = (reason or other) if is_unable else comment if site.study.config.comments else ""
    given = Answer(task, key, None if is_unable else scores, milliseconds, visible(note.strip()))
    try:
        session = site.session(request, csrf=csrf)
        return _keep(site, session, given)
    except StoreError as error:
        log.error("an answer was not saved: %s", error)
        headers = {"retry-after": str(not_saved().retry_after)}
        return site.page("unsaved.html", status=503, headers=headers, given=given, csrf=csrf)


def _keep(site: Site, session: Session, given: Answer) -> Response:
    study, rater = site.study, session.rater
    if has_ended(study, rater) and not rater.excluded:
        return site.redirect("/rate")
    longest = LONGEST_REASON if given.scores is None else scheduler.LONGEST_NOTE
    if len(given.note) > longest:
        problem = f"what you wrote has {len(given.note):,} characters, and may have {longest:,}"
        return _again(site, session, given, f"Nothing was saved yet: {problem}.", 422)
    practised = study.assign(rater.id) if not rater.practice_done else None
    try:
        outcome = study.answer(
            rater.id, given.task, given.scores, key=given.key, milliseconds=given.milliseconds, note=given.note or None
        )
    except ScoresError as error:
        return _again(site, session, given, _missing(site.study.config, given.scores or ()) or f"{error}.", 422)
    except TooEarlyError:
        return _again(site, session, given, "That was quick. Read everything, then answer again.", 429)
    except NoConsentError as error:
        raise Refusal(403, "Your consent comes first", "Nothing was saved. Agree first, then answer.") from error
    except UsageError as error:
        raise _gone() from error
    has_ended(study, rater)  # now, as the rater may never come back
    if outcome.counted and not outcome.repeated:
        tell_if_complete(study)
    if outcome.practice:
        shown = practised if practised is not None and practised.assignment == given.task else None
        return _feedback(site, session, given, outcome, shown)
    return site.redirect("/rate?kept=1" if outcome.different else "/rate")


_KEPT = "You had already answered that task, perhaps in another tab. Your first answer was kept; Undo changes it."


def _missing(config: StudyConfig, scores: tuple[int | None, ...]) -> str:
    """Return what an answer lacks, as raters see it: they know the texts of questions, and not their names."""
    pairs = zip(config.slots, scores, strict=True)
    missing = [slot.question.text for slot, score in pairs if score is None and slot.question.required]
    if missing and config.kind == "ranking":
        return "Give every response a rank first. Responses that are equally good get the same rank."
    if missing and config.parts > 1 and len(config.questions) == 1:
        return "Choose an answer for every response first."
    if missing:
        return "Choose an answer first." if len(config.questions) == 1 else f"Choose an answer first: {missing[0]}"
    return "" if any(scores) else "Answer at least one question, or say that you cannot judge."


def _gone() -> Refusal:
    return Refusal(409, "This task is no longer there", "Nothing was saved. Continue with the next one.")


def _again(site: Site, session: Session, given: Answer, message: str, status: int) -> Response:
    """Show a task again with the answers so far."""
    task = site.study.assign(session.rater.id)
    if task is None or task.assignment != given.task:
        raise _gone()
    return _task(site, session, task, given, message, status)


def _task(
    site: Site, session: Session, task: Task, given: Answer | None = None, message: str = "", status: int = 200
) -> Response:
    said = given if given and given.scores else task.earlier
    blank = (None,) * len(site.study.config.slots)
    share, about = site.share()
    return site.page(
        "task.html",
        status=status,
        headers={"retry-after": "1"} if status == 429 else {},
        session=session,
        task=task,
        chosen=said.scores if said and said.scores else blank,
        comment=said.note or "" if said and said.scores else "",
        message=message,
        total=max(share, task.answered + 1),
        about=about,
        long=[number for number in map(len, task.item.texts) if number >= _LONG],
        can_undo=session.rater.last is not None and not task.practice,
    )


_LONG: Final = 5000  # characters of a text from which its length is announced


def _feedback(site: Site, session: Session, given: Answer, outcome: Outcome, task: Task | None) -> Response:
    """Show the accepted scores of a practice item, in the order in which its texts were shown."""
    config, item = site.study.config, task.item if task else None
    known = next((each for each in config.practice if item and each.key == item.key), None)
    accepted = None
    if task and known and known.accepted is not None:
        accepted = [known.accepted_at(part, at) for part in task.order for at in range(len(config.questions))]
    return site.page("feedback.html", session=session, given=given, outcome=outcome, item=item, accepted=accepted)


@router.post("/undo", status_code=303, responses=pages(403, 409), response_class=RedirectResponse)
def undo(
    request: Request,
    site: TheSite,
    csrf: Csrf,
    task: Annotated[int | None, Form(ge=1, le=_LARGEST_NUMBER, description="The task to undo, once.")] = None,
) -> Response:
    """Undo the last answer; the next page has the number of the one before."""
    session = site.session(request, csrf=csrf)
    if has_ended(site.study, session.rater) or site.study.undo(session.rater.id, task=task) is None:
        raise Refusal(409, "There is nothing to undo", "You have no answer that can be undone.")
    return site.redirect("/rate")


def _own_link(request: Request, site: Site, session: Session) -> str | None:
    """Return the personal link with which a rater who joined with the shared code can come back."""
    return site.address(request, f"/r/{session.token}") if session.rater.entry == "open" else None


# Joining without a link of their own: with a code, from Prolific, from Mechanical Turk.

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
    if worker is not None:  # in a window of its own
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
    return site.redirect("/rate", rater=site.study.enter("open").token)


def _participant(request: Request, site: Site, given: str | None, token: str | None) -> str:
    """Return the Prolific participant: from the signed token, if the study requires one, else from the URL."""
    _need(site, "prolific")
    if (tokens := site.tokens) is None:
        return given or ""
    found = site.tried(request, "prolific", lambda: tokens.participant(token or ""))
    if found is None or given not in (None, found):
        text = "The address is not complete, or too old, or of another study. Open the study at Prolific again."
        raise Refusal(403, "Prolific does not say who you are", text)
    return found


def _enter(request: Request, site: Site, entry: str, external: str) -> Response:
    _need(site, entry)
    if re.fullmatch(r"[A-Za-z0-9_.:-]{1,100}", external) is None:
        site.slow_down(site.guesses, f"id {came_from(request)}")
        text = "It should contain your id. Open the study where you found it."
        raise Refusal(422, "This address is not complete", text)
    site.slow_down(site.joins, came_from(request))
    return site.redirect("/rate", rater=site.study.enter(entry, external=external).token)


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
        start="" if preview else f"{site.prefix}/join?{urlencode({'workerId': worker})}",
        target=f"{target}/mturk/externalSubmit",
    )


def _need(site: Site, entry: str) -> None:
    if not getattr(site.study.config.entry, entry):
        name = {"prolific": "Prolific", "mturk": "Mechanical Turk"}[entry]
        raise Refusal(403, "There is no way in here", f"This study does not take people from {name}.")


def _need_code(site: Site) -> str:
    code = site.study.config.entry.code
    if code is None:
        raise Refusal(403, "There is no way in here", "This study requires a personal link; ask for one.")
    return code


def _form(request: Request, site: Site, code: str, *, message: str = "", status: int = 200) -> Response:
    visit = site.visit(request)
    known = site.cookie(request, "rater") is not None
    response = site.page(
        "join.html", status=status, code=code, message=message, known=known, csrf=site.word("visit", visit)
    )
    site.keep(response, "visit", visit)
    return response
