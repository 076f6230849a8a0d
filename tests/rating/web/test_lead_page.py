"""What the lead of a study sees and does."""

from __future__ import annotations

import json
import re
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from tests.rating.web.conftest import state
from trubleu.errors import TrubleuWarning
from trubleu.rating import Imported, Item, export_study, import_answers
from trubleu.rating.config import Entry, Question
from trubleu.rating.store.schema import meta
from trubleu.rating.web import create_app
from trubleu.rating.web.on_complete import tell_if_complete

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def test_whether_there_are_enough_ratings(make: Make, visit: Visit) -> None:
    items = [Item(f"k{n}", (f"a {n}", f"b {n}"), segment=f"s{n}", systems=("<A>", "B")) for n in range(40)]
    study = make(items, kind="pair", raters=1)
    answers = [Imported(f"k{n}", "ann", (5 - n % 2, 2 + n % 3)) for n in range(35)]
    import_answers(study, answers[:20], source="test")
    early = visit(study).lead(study).text
    assert "Too early: 20 of 30 segments are complete." in early
    import_answers(study, answers, source="test")
    page = visit(study).lead(study).text
    assert "Enough: &lt;A&gt; is better than B." in page
    assert re.search(r"<dd>[+]?1\.5\d \[[+]?[01]\.\d\d, [+]?[12]\.\d\d\]<span", page)
    assert "<A>" not in page
    study = make(2)
    assert "Enough ratings?" not in visit(study).lead(study).text


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
    columns = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page.text.partition('class="raters cards"')[2])
    row = re.search(r'<tr id="rater-2".*?</tr>', page.text, re.DOTALL)
    assert row
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row.group(), re.DOTALL)
    assert len(columns) == len(cells)
    assert cells[columns.index("Number")] == "2"
    assert cells[columns.index("Shared texts")] == "2"
    assert re.search(r"mean of \d pairs?, weighted by shared texts", page.text)
    assert "α is computed from" in page.text  # not a capital alpha, which looks like the article


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
    study = make(1, entry=Entry(links=False, code="open sesame", prolific="unverified"))
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


TWO = (
    Question("Relevant?", ("no", "partly", "yes"), "relevance"),
    Question("Interesting?", (), "interest", required=False, points=7),
)


def test_answers_can_be_browsed_by_rater_and_by_item(make: Make, visit: Visit) -> None:
    items = [Item(f"i{n}#A:B", (f"<b>{n}</b>", "other"), message="m", systems=("Sys-A", "Sys-B")) for n in range(60)]
    study = make(items, kind="pair", raters=2, questions=TWO, comments=True)
    new = study.add_raters(2, labels=["Ada", "<i>Bob</i>"])
    for person in new:
        while (task := study.assign(person.rater.id)) is not None:
            given = (1, 7, 3, None) if task.flipped else (3, None, 1, 7)
            study.answer(person.rater.id, task.assignment, given, key=task.client_key, note="<u>so</u>")
    visitor = visit(study)
    overview = visitor.lead(study)
    assert "/lead/raters/2" in overview.text
    assert "120" in fact(overview, "Ratings")
    page = visitor.get("/lead/raters/2")
    assert (page.status_code, state(page)) == (200, "rater")
    assert "&lt;i&gt;Bob&lt;/i&gt;" in page.text
    assert "60 answers, newest first" in page.text
    assert page.text.count("<tr>") == 1 + 2 * 50
    assert "Page 1 of 2" in page.text
    assert visitor.get("/lead/raters/2?page=2").text.count("<tr>") == 1 + 2 * 10
    page = visitor.get("/lead/items/1")
    assert (page.status_code, state(page)) == (200, "item")
    first, second = page.text.split("Sys-B</h2>")
    assert "&lt;b&gt;0&lt;/b&gt;" in first
    assert first.count("3 – yes") == second.count("1 – no") == 2
    assert first.count("left out") == 2
    assert second.count('<span dir="auto">7</span>') == 2
    assert "&lt;u&gt;so&lt;/u&gt;" in page.text
    assert "<b>0</b>" not in page.text
    for nothing in ("/lead/raters/3", "/lead/items/99"):
        assert visitor.get(nothing).status_code == 404
    for wrong in ("/lead/raters/0", "/lead/items/x", "/lead?question=3", "/lead?question=0"):
        assert visitor.get(wrong).status_code == 422


def test_numbers_are_those_of_the_question(make: Make, visit: Visit) -> None:
    study = make(3, raters=2, questions=TWO)
    for person in study.add_raters(2):
        while (task := study.assign(person.rater.id)) is not None:
            study.answer(person.rater.id, task.assignment, (1 + task.assignment % 3, None), key=task.client_key)
    visitor = visit(study)
    page = visitor.lead(study)
    assert "Agreement on <bdi>relevance</bdi>" in page.text
    assert "nobody has answered it" in page.text
    page = visitor.get("/lead?question=2")
    assert "Agreement on <bdi>interest</bdi>" in page.text
    assert "Scores 1&nbsp;to&nbsp;7" in page.text
    assert "there are no ratings" in page.text


def test_disputed_texts_are_filtered(make: Make, visit: Visit) -> None:
    items = [Item(f"k{n}", (f"text {n} {'Apple' if n % 2 else 'pear'}",), message="m") for n in range(6)]
    study = make(items, raters=3)
    answers = [Imported(f"k{n}", who, (score,)) for n in range(6) for who, score in (("a", 1), ("b", 1 + n % 5))]
    import_answers(study, [*answers, Imported("k1", "c", (5,))], source="test")
    visitor = visit(study)
    visitor.lead(study)
    page = visitor.get("/lead/texts")
    assert state(page) == "texts"
    assert "4 texts with different scores" in page.text
    spreads = [float(each) for each in re.findall(r"spread ([0-9.]+)", page.text)]
    assert spreads == sorted(spreads, reverse=True)
    assert "2 texts" in visitor.get("/lead/texts?words=APPLE").text
    page = visitor.get("/lead/texts?words=apple&least=3")
    assert "1 text with" in page.text
    assert re.findall(r'href="/lead/items/(\d)"', page.text) == ["2"]
    assert "0 texts" in visitor.get("/lead/texts?words=apple+pear").text
    assert "&lt;script&gt;" in visitor.get("/lead/texts?words=<script>").text
    assert visitor.get("/lead/texts?least=1").status_code == 422


def test_exports_from_the_page(make: Make, visit: Visit, tmp_path: Path) -> None:
    study = make(2, raters=1)
    rated(study, {"k0": 5, "k1": 2})
    visitor = visit(study)
    page = visitor.lead(study)
    names = re.findall(r'href="/lead/export/([^"]+)" download', page.text)
    assert names == ["references.jsonl", "ratings.csv", "wide.csv", "raw.csv"]
    for name in names:
        got = visitor.get(f"/lead/export/{name}")
        assert got.status_code == 200
        assert got.headers["content-disposition"] == f'attachment; filename="{name}"'
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrubleuWarning)
            export_study(study, name.partition(".")[0], tmp_path / name)
        assert got.content == (tmp_path / name).read_bytes()
    assert visitor.get("/lead/export/secret.key").status_code == 404
    stranger = visit(study)
    for path in ("/lead/export/raw.csv", "/lead/texts", "/lead/raters/1", "/lead/items/1"):
        assert stranger.get(path).status_code == 403
    pairs = make(1, kind="pair")
    lead = visit(pairs)
    assert "references.jsonl" not in lead.lead(pairs).text
    assert lead.get("/lead/export/references.jsonl").status_code == 404


def test_the_same_label_twice_is_refused(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    page = visitor.send(visitor.lead(study), "/lead/raters", names="Ada\nGrace\nAda")
    assert page.status_code == 422
    assert "two raters would have the label" in unescape(page.text)
    assert study.raters() == []
    visitor.send(visitor.get("/lead"), "/lead/raters", names="Ada")
    assert visitor.send(visitor.get("/lead"), "/lead/raters", names="Ada").status_code == 422
    assert [rater.label for rater in study.raters()] == ["Ada"]


def test_raters_are_flagged_with_the_reason(make: Make, visit: Visit) -> None:
    study = make(12, raters=2)
    answers = [Imported(f"k{n}", who, (4 if who == "a" else n % 5 + 1,)) for n in range(12) for who in "ab"]
    import_answers(study, answers, source="test")
    visitor = visit(study)
    said = '<div class="warning">always the same: 4 in 12 of 12 answers</div>'
    assert visitor.lead(study).text.count(said) == 1
    assert "always the same" in visitor.get("/lead/raters/1").text
    assert "always the same" not in visitor.get("/lead/raters/2").text


def test_a_command_runs_once_when_the_study_is_complete(make: Make, visit: Visit, tmp_path: Path) -> None:
    script = tmp_path / "told.py"
    script.write_text("import sys, pathlib\nwith open(sys.argv[1], 'a') as f: f.write(sys.argv[-1] + '\\n')\n")
    out = tmp_path / "out.txt"
    study = make(2, raters=1, on_complete=f"{sys.executable} {script} {out}")
    visitor = visit(study)
    page = visitor.answer(visitor.start(study.add_raters(1)[0].token), 4)
    assert study.store.get("told") is None
    page = visitor.answer(page, 5)
    for thread in threading.enumerate():
        if thread.name == "complete":
            thread.join(60)
    assert out.read_text() == f"{study.folder}\n"
    page = visitor.send(page, "/undo")
    visitor.answer(page, 3)  # complete again, but that was told
    assert tell_if_complete(study) is None
    assert out.read_text() == f"{study.folder}\n"


def test_an_address_is_told_when_the_study_is_complete(make: Make) -> None:
    got: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        study = make(1, raters=1, on_complete=f"http://127.0.0.1:{server.server_port}/done")
        assert tell_if_complete(study) is None
        rated(study, {"k0": 5})
        thread = tell_if_complete(study)
        assert thread is not None
        thread.join(60)
        assert json.loads(got[0]) == {"study": "Test", "folder": str(study.folder), "state": "complete"}
        assert tell_if_complete(study) is None
    finally:
        server.shutdown()
        server.server_close()


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
    later(47.6)
    assert visitor.client.get("/lead", headers={"X-Refresh": "1"}).status_code == 200  # by the page itself: no use
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
