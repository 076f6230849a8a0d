"""What the lead of a study sees and does."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from tests.rating.web.conftest import state
from trubleu.rating.config import Entry
from trubleu.rating.store.schema import meta
from trubleu.rating.web import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from httpx2 import Response

    from tests.rating.web.conftest import Visitor
    from trubleu.rating import Study

    Make = Callable[..., Study]
    Visit = Callable[..., Visitor]


def fact(page: Response, name: str) -> str:
    found = re.search(rf"<dt>{name}</dt><dd>(.*?)<", page.text)
    assert found, name
    return unescape(found.group(1))


def rated(study: Study, *raters: dict[str, int]) -> None:
    """Let new raters answer, each with scores of their own; those without a score for an item stop there."""
    for person, given in zip(study.add_raters(len(raters)), raters, strict=True):
        now = study.now()
        while (task := study.assign(person.rater.id, now=now - 3000)) is not None and task.item.key in given:
            score = given[task.item.key]
            study.answer(person.rater.id, task.assignment, (score,), key=task.client_key, now=now)


def test_the_numbers(make: Make, visit: Visit) -> None:
    study = make(2, raters=3)
    rated(study, {"k0": 5, "k1": 1}, {"k0": 5, "k1": 1}, {"k0": 4})
    page = visit(study).lead(study)
    assert (page.status_code, page.url.path, state(page)) == (200, "/lead", "lead")
    counted = len(study.table())
    assert counted in {4, 5}  # the third rater may be asked about k1 first
    assert fact(page, "Ratings") == f"{counted} of 6"
    assert fact(page, "Items complete") == f"{counted - 4} of 2"
    assert fact(page, "In the last hour") == f"{counted} ratings"
    assert fact(page, "With raters now") == "1"
    assert 0 < float(fact(page, "Krippendorff’s α, ordinal")) <= 1
    assert "95 % interval" in page.text
    assert 0 < float(fact(page, "Quadratic κ between raters")) <= 1
    assert len(re.findall(r'<tr id="rater-\d+"', page.text)) == 3
    assert "rater 2" in page.text
    assert "3.0</td>" in page.text
    columns = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page.text.partition('class="raters"')[2])
    row = re.search(r'<tr id="rater-2".*?</tr>', page.text, re.DOTALL)
    assert row
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row.group(), re.DOTALL)
    assert len(columns) == len(cells)
    assert cells[columns.index("Number")] == "2"
    assert cells[columns.index("Shared texts")] == "2"
    assert re.search(r"mean of \d pairs?, weighted by shared texts", page.text)


def test_an_empty_study(make: Make, visit: Visit) -> None:
    study = make(2)
    page = visit(study).lead(study)
    assert page.status_code == 200
    assert fact(page, "Ratings") == "0 of 10"
    assert fact(page, "Krippendorff’s α, ordinal") == "–"
    assert "there are no ratings" in page.text
    assert "Nobody yet" in page.text


def test_exclude_and_readmit(make: Make, visit: Visit) -> None:
    study = make(1, raters=2)
    rated(study, {"k0": 5}, {"k0": 1})
    visitor = visit(study)
    page = visitor.lead(study)
    page = visitor.send(page, "/lead/exclude", rater=2, reason="<b>fails</b> gold")
    assert (page.status_code, page.url.path) == (200, "/lead")
    assert 'excluded: <span dir="auto">&lt;b&gt;fails&lt;/b&gt; gold' in page.text
    assert fact(page, "Ratings") == "1 of 2"
    assert [rater.excluded for rater in study.raters()] == [False, True]
    assert study.raters()[1].reason == "<b>fails</b> gold"
    page = visitor.send(page, "/lead/readmit", rater=2, reason="gold was wrong")
    assert fact(page, "Ratings") == "2 of 2"
    assert [rater.excluded for rater in study.raters()] == [False, False]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"reason": ""}, 422),
        ({"reason": "   "}, 422),
        ({"reason": None}, 422),
        ({"reason": "x" * 201}, 422),
        ({"reason": "a\x00b"}, 422),
        ({"reason": "x", "rater": 99}, 422),
        ({"reason": "x", "rater": 0}, 422),
        ({"reason": "x", "rater": 2**63}, 422),
        ({"reason": "x", "rater": "one"}, 422),
        ({"reason": "x", "csrf": "1"}, 403),
    ],
)
def test_exclusions_that_cannot_be_made(fields: dict[str, object], status: int, make: Make, visit: Visit) -> None:
    study = make(1)
    rated(study, {"k0": 5})
    visitor = visit(study)
    page = visitor.send(visitor.lead(study), "/lead/exclude", **fields)
    assert page.status_code == status
    assert [rater.excluded for rater in study.raters()] == [False]


def test_pause_and_resume(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    page = visitor.send(visitor.lead(study), "/lead/pause")
    assert study.store.get("state") == "paused"
    page = visitor.send(page, "/lead/resume")
    assert study.store.get("state") == "running"
    assert "/lead/pause" in page.text


def links_in(page: Response) -> list[str]:
    return re.findall(r"\t(http\S+)", unescape(page.text))


def test_new_raters_and_their_links_once(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study, url="https://rate.example.org")
    overview = visitor.lead(study)
    page = visitor.send(overview, "/lead/raters", count=3)
    links = links_in(page)
    assert len(set(links)) == 3
    assert all(link.startswith("https://rate.example.org/r/") for link in links)
    assert state(visit(study, url="https://rate.example.org").get(links[1])) == "instructions"
    again = visitor.send(overview, "/lead/raters", count=3)  # the page was loaded again
    assert again.status_code == 409
    assert len(study.raters()) == 3
    page = visitor.send(visitor.get("/lead"), "/lead/raters", names="Ada\n\n <b>Grace</b> \n")
    assert [rater.label for rater in study.raters()[3:]] == ["Ada", "<b>Grace</b>"]
    assert len(links_in(page)) == 2
    assert "<b>" not in page.text
    assert not any(link.rpartition("/")[2] in visitor.get("/lead").text for link in links)


def test_a_double_click_adds_once(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    app = create_app(study)
    visitor = visit(study, app)
    overview = visitor.lead(study)
    assert 'class="add" data-once>' in overview.text
    both, true_adding = threading.Barrier(2), study.add_raters

    def adding(*given: object, **more: object) -> object:
        both.wait(300)  # until the other request is here too
        return true_adding(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(study, "add_raters", adding)
    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(lambda _: visitor.send(overview, "/lead/raters", count=2), range(2)))
    assert sorted(page.status_code for page in pages) == [200, 409]
    assert len(study.raters()) == 2
    assert "--renew" in next(page.text for page in pages if page.status_code == 409)


@pytest.mark.parametrize(
    "fields", [{}, {"count": 0}, {"count": 1001}, {"names": "\n".join("x" * 1001)}, {"names": "x" * 201}]
)
def test_raters_that_cannot_be_added(fields: dict[str, object], make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    assert visitor.send(visitor.lead(study), "/lead/raters", **fields).status_code == 422
    assert study.raters() == []


def test_other_ways_in_are_told(make: Make, visit: Visit) -> None:
    study = make(1, entry=Entry(links=False, code="open sesame", prolific=True))
    page = visit(study).lead(study)
    assert "/lead/raters" not in page.text
    assert "/join?PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID=" in page.text
    assert "open sesame" in page.text
    assert "Mechanical Turk" not in page.text


def test_nobody_else_comes_in(make: Make, visit: Visit) -> None:
    study = make(1)
    new = study.add_raters(1)[0]
    rater = visit(study)
    page = rater.start(new.token)
    csrf = re.search(r'name="csrf" value="(\w+)"', page.text)
    assert csrf
    assert rater.get("/lead").status_code == 403
    assert rater.get(f"/lead/{new.token}").status_code == 404
    assert rater.get(f"/r/{study.lead_token}").status_code == 404
    for action in ("pause", "resume", "exclude", "readmit", "raters", "leave"):
        data = {"csrf": csrf.group(1), "rater": "1", "reason": "x", "count": "1", "links": "1"}
        assert rater.client.post(f"/lead/{action}", data=data).status_code == 403
    assert not study.paused
    assert len(study.raters()) == 1


def test_the_address_of_a_form_leads_back(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    visitor.lead(study)
    assert state(visitor.get("/lead/raters")) == "lead"
    visitor.start(study.add_raters(1)[0].token)
    assert state(visitor.get("/answer")) == "task"


def test_signing_out_ends_the_session_everywhere(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor, other, thief = visit(study), visit(study), visit(study)
    page = visitor.lead(study)
    other.lead(study)
    thief.client.cookies.update(visitor.client.cookies)
    assert not any(study.lead_token in value for value in visitor.client.cookies.values())
    assert thief.get("/lead").status_code == 200
    assert "Sign out" in page.text
    visitor.send(page, "/lead/leave")
    assert visitor.get("/lead").status_code == 403
    assert thief.get("/lead").status_code == 403
    assert thief.send(page, "/lead/pause").status_code == 403
    assert not study.paused
    # Who signed in elsewhere stays; the link goes on working.
    assert other.get("/lead").status_code == 200
    assert visitor.lead(study).status_code == 200


def test_an_idle_lead_is_signed_out(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    visitor = visit(study)

    def later(hours: float) -> None:
        monkeypatch.setattr(type(study), "now", lambda _: 10**13 + round(hours * 3_600_000))

    later(0)
    visitor.lead(study)
    for hours in (11.9, 23.8, 35.7):
        later(hours)
        assert visitor.get("/lead").status_code == 200
    later(35.7 + 12.1)
    assert visitor.get("/lead").status_code == 403
    visit(study).lead(study)
    assert len([key for key in meta_keys(study) if key.startswith("lead ")]) == 1  # what has ended is cleared away


def test_the_lead_is_signed_in_to_so_many_browsers(make: Make, visit: Visit) -> None:
    study = make(1)
    visitors = [visit(study) for _ in range(22)]
    for visitor in visitors:
        assert visitor.lead(study).status_code == 200
    assert [visitor.get("/lead").status_code for visitor in visitors].count(403) == 1
    assert len([key for key in meta_keys(study) if key.startswith("lead ")]) == 21


def meta_keys(study: Study) -> list[str]:
    return study.store.read(lambda connection: list(connection.execute(select(meta.c.key)).scalars()))


def test_another_token_in_the_file_signs_everybody_out(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    visitor.lead(study)
    (study.folder / "lead.token").write_text("another long random word\n")
    assert visitor.get("/lead").status_code == 403
    assert visitor.get("/lead/another%20long%20random%20word").status_code == 200


def test_numbers_follow_what_happens(make: Make, visit: Visit) -> None:
    study = make(3, raters=1)
    visitor = visit(study)
    assert fact(visitor.lead(study), "Ratings") == "0 of 3"
    rated(study, {"k0": 5, "k1": 2, "k2": 4})
    assert fact(visitor.get("/lead"), "Ratings") == "3 of 3"
