"""How raters come in: links, a code, Prolific, Mechanical Turk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.rating.web.conftest import state
from trubleu.rating.config import Entry
from trubleu.rating.web import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.rating.web.conftest import Visitor
    from trubleu.rating import Study

    Make = Callable[..., Study]
    Visit = Callable[..., Visitor]


def test_the_token_leaves_the_address_bar(make: Make, visit: Visit) -> None:
    study = make(1)
    token = study.add_raters(1)[0].token
    visitor = visit(study)
    visitor.client.follow_redirects = False
    page = visitor.get(f"/r/{token}")
    assert (page.status_code, page.headers["location"]) == (303, "/rate")
    cookie = page.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie
    assert token not in page.text


def test_with_https_cookies_travel_encrypted_only(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study, url="https://rate.example.org")
    visitor.client.follow_redirects = False
    assert "secure" in visitor.get(f"/r/{study.add_raters(1)[0].token}").headers["set-cookie"].lower()
    assert "secure" in visitor.lead(study).headers["set-cookie"].lower()


@pytest.mark.parametrize("token", ["x", "..%2flead", "%00", "x/", "é", "a" * 190])
def test_links_that_do_not_work(token: str, make: Make, visit: Visit) -> None:
    page = visit(make(1)).get(f"/r/{token}")
    assert page.status_code == 404
    assert "set-cookie" not in page.headers


def test_old_links_do_not_work(make: Make, visit: Visit) -> None:
    study = make(1)
    new = study.add_raters(1)[0]
    visitor = visit(study)
    assert visitor.start(new.token).status_code == 200
    token = study.new_link(new.rater.id)
    assert visitor.get(f"/r/{new.token}").status_code == 404
    assert visitor.get("/rate").status_code == 403
    assert visitor.get(f"/r/{token}").status_code == 200


def test_without_a_link_nobody_is_known(make: Make, visit: Visit) -> None:
    page = visit(make(1)).get("/rate")
    assert page.status_code == 403
    assert "We do not know who you are" in page.text


def test_entry_with_the_code(make: Make, visit: Visit) -> None:
    study = make(3, entry=Entry(code="open sesame"))
    visitor = visit(study)
    page = visitor.get("/")
    assert page.url.path == "/join"
    wrong = visitor.send(page, "/join", code="open Sesame")
    assert wrong.status_code == 403
    assert "not the code" in wrong.text
    assert study.raters() == []
    page = visitor.send(wrong, "/join", code=" open sesame ")
    assert state(page) == "instructions"
    assert [rater.entry for rater in study.raters()] == ["open"]
    # The link to come back with elsewhere.
    link = re.search(r'value="http://testserver(/r/[\w-]+)"', page.text)
    assert link
    assert state(visit(study).get(link.group(1))) == "instructions"
    # The same browser is the same person, unless it says otherwise.
    page = visitor.get("/join?code=open+sesame")
    assert 'value="open sesame"' in page.text
    visitor.send(page, "/join", code="open sesame")
    assert len(study.raters()) == 1
    visitor.send(page, "/join", code="open sesame", anew=1)
    assert len(study.raters()) == 2


def test_codes_cannot_be_guessed_at_will(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1, entry=Entry(code="open sesame"))
    app = create_app(study)
    monkeypatch.setattr(app.state.site.guesses, "_clock", lambda: 0.0)  # with time, somebody may guess again
    visitor = visit(study, app)
    page = visitor.get("/join")
    statuses = [visitor.send(page, "/join", code=f"guess {n}").status_code for n in range(40)]
    assert statuses == [403] * 30 + [429] * 10


def test_the_code_needs_a_form_of_ours(make: Make, visit: Visit) -> None:
    study = make(1, entry=Entry(code="open sesame"))
    visitor = visit(study)
    page = visitor.get("/join")
    assert visitor.send(page, "/join", code="open sesame", csrf="0" * 40).status_code == 403
    assert visitor.send(page, "/join", code="open sesame", csrf=None).status_code == 422
    other = visit(study)
    assert other.send(page, "/join", code="open sesame").status_code == 403  # without the cookie that came with it
    assert study.raters() == []


@pytest.mark.parametrize(
    "path", ["/join", "/join?PROLIFIC_PID=p1", "/join?assignmentId=a&workerId=w", "/join?workerId=w"]
)
def test_ways_in_that_are_closed(path: str, make: Make, visit: Visit) -> None:
    study = make(1)
    page = visit(study).get(path)
    assert page.status_code == 403
    assert "no way in" in page.text
    assert study.raters() == []


def test_prolific(make: Make, visit: Visit) -> None:
    study = make(2, entry=Entry(prolific="unverified"))
    visitor = visit(study)
    page = visitor.get("/join?PROLIFIC_PID=5f0c&STUDY_ID=s&SESSION_ID=t")
    assert (page.url.path, page.url.query, state(page)) == ("/rate", b"", "instructions")
    assert "/r/" not in page.text  # they come back through Prolific
    page = visitor.answer(visitor.send(page, "/instructed"), 4)
    page = visit(study).get("/join?PROLIFIC_PID=5f0c&STUDY_ID=s&SESSION_ID=u")
    assert "Task 2 of" in page.text
    assert [(rater.entry, rater.external) for rater in study.raters()] == [("prolific", "5f0c")]


@pytest.mark.parametrize(
    "bad", ["", "%7B%7B%25PROLIFIC_PID%25%7D%7D", "a b", "a%00b", "%F0%9F%98%80", "x" * 150, "x" * 300]
)
def test_ids_that_are_none(bad: str, make: Make, visit: Visit) -> None:
    study = make(2, entry=Entry(prolific="unverified", mturk=True))
    visitor = visit(study)
    assert visitor.get(f"/join?PROLIFIC_PID={bad}").status_code == 422
    assert visitor.get(f"/join?workerId={bad}").status_code == 422
    assert study.raters() == []


def test_mechanical_turk(make: Make, visit: Visit) -> None:
    study = make(2, entry=Entry(mturk=True), instructions="Read *well*.")
    visitor = visit(study)
    page = visitor.get("/join?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H")
    assert "Accept the HIT" in page.text
    assert "<em>well</em>" in page.text
    assert "<form" not in page.text
    assert study.raters() == []
    sandbox = "https://workersandbox.mturk.com"
    page = visitor.get(f"/join?assignmentId=A1&hitId=H&workerId=W1&turkSubmitTo={sandbox}")
    assert f'action="{sandbox}/mturk/externalSubmit"' in page.text
    assert 'name="assignmentId" value="A1"' in page.text
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors https://*.mturk.com" in policy
    assert f"form-action {sandbox};" in policy
    assert study.raters() == []
    link = re.search(r'href="(/join\?workerId=W1)" target="_blank"', page.text)
    assert link
    assert state(visitor.get(link.group(1))) == "instructions"
    assert [(rater.entry, rater.external) for rater in study.raters()] == [("mturk", "W1")]


def test_answers_are_sent_to_mechanical_turk_and_nobody_else(make: Make, visit: Visit) -> None:
    page = visit(make(1, entry=Entry(mturk=True))).get(
        "/join?assignmentId=A1&workerId=W%22%3E%3Cb%3E&turkSubmitTo=https://evil.example"
    )
    assert "evil" not in page.text + page.headers["content-security-policy"]
    assert 'action="https://www.mturk.com/mturk/externalSubmit"' in page.text
    assert "<b>" not in page.text
