"""Intruders, floods and faults."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.rating.web.conftest import Visitor, state
from trubleu.cli import main
from trubleu.endpoint import is_address
from trubleu.errors import StoreBusyError, StoreError, StoreFullError, UsageError
from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.config import Entry, check_url
from trubleu.rating.web import create_app, lead
from trubleu.rating.web.security import HEADERS, LARGEST_BODY, Buckets, Refusal
from trubleu.rating.web.site import came_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastapi import FastAPI

    from trubleu.rating.web.site import Site

    Make = Callable[..., Study]
    Visit = Callable[..., Visitor]


def word(page: Any) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', page.text)
    assert found
    return found.group(1)


@pytest.mark.parametrize(
    "path", ["/rate", "/join", "/lead", "/nothing", "/r/x", "/static/rate.css", "/static/none", "/health"]
)
def test_headers_are_on_everything(path: str, make: Make, visit: Visit) -> None:
    page = visit(make(1)).get(path)
    for name, value in HEADERS.items():
        if not (name == "cache-control" and page.status_code == 200 and "static" in path):
            assert page.headers[name] == value
    assert "server" not in page.headers
    assert "unsafe" not in page.headers["content-security-policy"]


def test_pages_hold_nothing_that_the_policy_forbids() -> None:
    folder = Path(create_app.__code__.co_filename).parent
    templates = list((folder / "templates").glob("*.html"))
    assert len(templates) > 10
    for path in templates:
        text = path.read_text("utf-8")
        assert not re.search(r"\sstyle=|\son\w+=|<style|javascript:", text), path.name
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text)), path.name
        outside = re.findall(r'(?:src|href)="(?!\{\{|#)([^"]*)"', text)
        assert outside == [], path.name
        assert "|safe" not in text or path.name == "task.html"


@pytest.mark.parametrize("given", [None, "", "0" * 40, "é", "other"])
def test_forms_of_others_do_nothing(given: str | None, make: Make, visit: Visit) -> None:
    study = make(2)
    mine, other = study.add_raters(2)
    visitor = visit(study)
    page = visitor.start(mine.token)
    if given == "other":
        given = word(visit(study).start(other.token))
    found = visitor.answer(page, 4, csrf=given)
    assert found.status_code == (403 if given else 422)
    assert study.table() == []


def test_forms_sent_by_another_site_do_nothing(make: Make, visit: Visit) -> None:
    study = make(2)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    for origin, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
        visitor.client.headers["sec-fetch-site"] = origin
        assert visitor.answer(page, 4).status_code == status
    assert len(study.table()) == 1


def test_nobody_answers_or_undoes_for_others(make: Make, visit: Visit) -> None:
    study = make(3)
    mine, other = study.add_raters(2)
    first, second = visit(study), visit(study)
    page = first.start(mine.token)
    theirs = second.start(other.token)
    stolen = re.search(r'name="task" value="(\d+)"', page.text)
    assert stolen
    found = second.send(theirs, "/answer", task=stolen.group(1), score_1=1)
    assert found.status_code == 409
    assert study.table() == []
    first.answer(page, 5)
    assert second.client.post("/undo", data={"csrf": word(theirs)}).status_code == 409
    assert [row.score for row in study.table()] == [5]


ODD = ["", "0", "-1", "6", "1e3", "x", "é" * 50, "9" * 30, "\x00", "1;drop", " 1", "x" * 200]


@pytest.mark.parametrize("field", ["task", "key", "score_1", "milliseconds", "unable"])
def test_fields_of_every_kind(field: str, make: Make, visit: Visit) -> None:
    study = make(20)
    visitor = visit(study)
    visitor.start(study.add_raters(1)[0].token)
    for value in ODD:
        before = len(study.log())
        page = visitor.get("/rate")
        found = visitor.send(page, "/answer", **({"score_1": 3} | {field: value}))
        kept = len(study.log()) - before
        assert (found.status_code, kept) in {(200, 1), (409, 0), (422, 0)}, value
    assert {row.score for row in study.table()} <= {1, 3}  # 1 of " 1"


@pytest.mark.parametrize("chunked", [False, True])
def test_too_long(chunked: bool, make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)
    text = f"csrf={word(page)}&task=1&key=1-0&score_1=3&x=".encode()
    long = text + b"x" * (LARGEST_BODY + 1 - len(text))
    kind = {"content-type": "application/x-www-form-urlencoded"}
    body: Any = iter([long[:1000], long[1000:]]) if chunked else long
    found = visitor.client.post("/answer", content=body, headers=kind)
    assert found.status_code == 413
    assert found.headers["cache-control"] == "no-store"
    assert study.table() == []
    assert visitor.client.post("/answer", content=long[:-1], headers=kind).status_code == 200


def test_half_a_form_is_none(make: Make, visit: Visit) -> None:
    study = make(1)
    token = study.add_raters(1)[0].token
    app = create_app(study)
    page = visit(study, app).start(token)
    half = f"csrf={word(page)}&task=1&key=1-0&score_1=3&milliseconds=12".encode()
    messages = [
        {"type": "http.request", "body": half, "more_body": True},
        {"type": "http.disconnect"},
    ]
    cookie = f"{app.state.site._names['rater']}={token}".encode()
    kind = b"application/x-www-form-urlencoded"
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/answer",
        "query_string": b"",
        "headers": [(b"cookie", cookie), (b"content-type", kind)],
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    with ThreadPoolExecutor(1) as pool:  # in this thread a browser of other tests may have a loop running
        pool.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    assert sent == []
    assert study.table() == []


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_floods(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    first, second = study.add_raters(2)
    app, clock = create_app(study, requests_a_minute=60), Clock()
    monkeypatch.setattr(app.state.site.requests, "_clock", clock)
    visitor, other = visit(study, app), visit(study, app)
    visitor.start(first.token)
    other.start(second.token)
    statuses = [visitor.get("/rate").status_code for _ in range(80)]
    assert statuses == [200] * 57 + [429] * 23  # of the sixty at once, starting took three
    assert visitor.get("/rate").headers["retry-after"] == "1"
    assert other.get("/rate").status_code == 200  # who is not to blame goes on
    clock.now = 2.5
    assert [visitor.get("/rate").status_code for _ in range(4)] == [200, 200, 429, 429]


def test_no_limit(make: Make, visit: Visit) -> None:
    study = make(1)
    visitor = visit(study, requests_a_minute=0)
    visitor.start(study.add_raters(1)[0].token)
    assert {visitor.get("/rate").status_code for _ in range(100)} == {200}


def test_guessing_links_is_slow(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    app = create_app(study)
    monkeypatch.setattr(app.state.site.guesses, "_clock", Clock())
    visitor = visit(study, app)
    assert [visitor.get(f"/r/guess{n}").status_code for n in range(40)] == [404] * 30 + [429] * 10


@pytest.mark.parametrize("what", ["code", "lead", "lead's cookie", "link", "cookie"])
def test_what_is_right_is_refused_while_guessing_is_too_fast(
    what: str, make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(1, entry=Entry(code="open sesame"))
    seen, fresh = (new.token for new in study.add_raters(2))
    app, clock = create_app(study), Clock()
    site: Site = app.state.site
    visitor = visit(study, app)
    form = visitor.get("/join")
    if what == "lead's cookie":
        seen, fresh = signed_in(site), signed_in(site)
    elif what not in {"link", "cookie"}:
        seen = fresh = "open sesame" if what == "code" else study.lead_token
    site.guesses = Buckets(30, at_once=30, clock=clock)

    def attempt(guess: str) -> int:
        if what == "code":
            return visitor.send(form, "/join", code=guess).status_code
        if "cookie" in what:
            kind = "lead" if "lead" in what else "rater"
            cookie = {"cookie": f"{site._names[kind]}={guess}"}
            return visit(study, app).client.get("/lead" if kind == "lead" else "/rate", headers=cookie).status_code
        return visitor.get(f"/{'r' if what == 'link' else 'lead'}/{guess}").status_code

    wrong = 404 if what in {"lead", "link"} else 403
    # What is right costs nothing.
    assert {attempt(seen) for _ in range(40)} == {200}
    assert [attempt(f"guess{n}") for n in range(30)] == [wrong] * 30
    with monkeypatch.context() as watched:
        for method in ("find_rater", "is_lead"):
            watched.setattr(study, method, lambda _: pytest.fail("it was looked at"))
        assert {attempt(fresh), attempt("guess"), attempt(fresh)} == {429}
    # A token that was right before is no guess; a word that all share might be.
    assert attempt(seen) == (429 if seen == fresh else 200)
    clock.now = 1.9
    assert attempt(fresh) == 429
    clock.now = 2.1
    assert attempt("guess") == wrong
    assert attempt(fresh) == 429
    clock.now = 4.2
    assert {attempt(fresh) for _ in range(5)} == {200}
    assert attempt("guess") == wrong
    # Other doors stay open, and so do all of them for others.
    clock.now = 4.3
    token = study.add_raters(1)[0].token
    if what not in {"link", "cookie"}:
        assert visitor.get(f"/r/{token}").status_code == 200
    elsewhere = TestClient(app, client=("192.0.2.7", 1234))
    assert elsewhere.get(f"/r/{token}").status_code == 200
    assert elsewhere.get(f"/lead/{study.lead_token}").status_code == 200


def test_a_class_with_the_right_code_comes_in_at_once(make: Make) -> None:
    study = make(1, entry=Entry(code="open sesame"))
    app = create_app(study)
    site: Site = app.state.site
    for buckets in (site.requests, site.joins, site.guesses):
        buckets._clock = Clock()
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: _join(app, "open sesame"), range(120)))
    assert Counter(pages) == {200: 120}
    assert len(study.raters()) == 120


def _join(app: FastAPI, code: str) -> int:
    visitor = Visitor(TestClient(app))
    return visitor.send(visitor.get("/join"), "/join", code=code).status_code


def test_many_guesses_at_once_are_no_way_around(make: Make, visit: Visit) -> None:
    site: Site = create_app(make(1)).state.site
    site.guesses = Buckets(30, at_once=2, clock=Clock())
    request = cast("Any", SimpleNamespace(client=SimpleNamespace(host="192.0.2.7")))
    looked = 0

    def is_right() -> bool:
        nonlocal looked
        looked += 1
        time.sleep(0.01)  # while this one is being looked at, others come in
        return False

    def guess(_: int) -> None:
        with suppress(Refusal):
            site.knows(request, "code", is_right)

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(guess, range(10)))
    assert looked == 2


def test_who_is_slowed_down() -> None:
    def who(host: str | None) -> str:
        client = None if host is None else SimpleNamespace(host=host)
        return came_from(cast("Any", SimpleNamespace(client=client)))

    assert who("192.0.2.7") == who("::ffff:192.0.2.7") != who("192.0.2.8")
    # A customer has a network of addresses of version 6.
    assert who("2001:db8::1") == who("2001:db8:0:0:ffff::2") != who("2001:db8:0:1::1")
    assert who("testclient") == "from:testclient"
    assert who(None) == "from:"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd",
        "/static/%2e%2e%2f%2e%2e%2fstudy.py", "/static/\\..\\app.py", "/static/%00", "/static/rate.css%00.py",
        "/static/", "/static", "/../study.yaml", "/lead.token", "/r/..%2f..%2fetc%2fpasswd", "/lead/..%2flead.token",
    ],
)  # fmt: skip
def test_paths_outside(path: str, make: Make, visit: Visit) -> None:
    study = make(1)
    page = visit(study).get(path)
    assert page.status_code in {404, 405}
    assert "import" not in page.text
    assert study.lead_token not in page.text


CLIENTS = ("httpx", "httpx2")  # what visits, by the version of Starlette; not what serves


def test_tokens_never_reach_the_log(make: Make, visit: Visit, caplog: pytest.LogCaptureFixture) -> None:
    study = make(2, entry=Entry(code="open sesame", prolific="unverified"))
    secret = ["open sesame", "PID77", study.lead_token]
    secret += [new.token for new in study.add_raters(2)]
    visitor = visit(study)
    with caplog.at_level(logging.DEBUG):
        page = visitor.start(secret[3])
        secret.append(word(page))
        visitor.answer(page, 3)
        visitor.lead(study)
        visitor.get("/join?PROLIFIC_PID=PID77")
        visitor.get("/join?code=open%20sesame")
        for path in ("/r/{}/", "/r//{}", "/R/{}", "/x/{}", "/lead/{}x", "/static/{}", "/{}", "/rate?{}"):
            visitor.get(path.format(secret[4]))
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("trubleu")]
    assert sum("GET /r/{token} 303" in line for line in ours) == 1
    assert any(re.fullmatch(r"POST /answer 303 \d+ ms", line) for line in ours)
    written = "\n".join(record.getMessage() for record in caplog.records if record.name not in CLIENTS)
    assert not [word for word in secret if word in written]


@pytest.mark.parametrize("error", [StoreBusyError("locked"), StoreFullError("full"), StoreError("gone")])
@pytest.mark.parametrize("method", ["answer", "find_rater"])
def test_what_is_not_saved_is_said_and_kept(
    error: StoreError, method: str, make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(1, raters=1)
    visitor = visit(study)
    page = visitor.start(study.add_raters(1)[0].token)

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(study, method, fail)
        found = visitor.answer(page, 4, milliseconds=777)
        assert (found.status_code, state(found)) == (503, "unsaved")
        assert int(found.headers["retry-after"]) > 0
        assert "Not saved, try again" in found.text
        assert "4 – good" in found.text
        found = visitor.send(found, "/answer")
        assert found.status_code == 503
    assert study.table() == []
    assert state(visitor.send(found, "/answer")) == "done"
    assert [(row.score, row.client_milliseconds) for row in study.table()] == [(4, 777)]


@pytest.mark.parametrize(("method", "path"), [("assign", "/rate"), ("find_rater", "/rate"), ("undo", "/undo")])
def test_other_pages_without_a_store(
    method: str, path: str, make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(3)
    visitor = visit(study)
    page = visitor.answer(visitor.start(study.add_raters(1)[0].token), 3)

    def fail(*_: object, **__: object) -> None:
        raise StoreBusyError("locked")

    monkeypatch.setattr(study, method, fail)
    found = visitor.get(path) if path == "/rate" else visitor.send(page, path)
    assert found.status_code == 503
    assert "retry-after" in found.headers
    assert "locked" not in found.text


def test_faults_of_ours(
    make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    study = make(1)
    visitor = visit(study)
    visitor.start(study.add_raters(1)[0].token)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(study, "assign", fail)
    page = visitor.get("/rate")
    assert page.status_code == 500
    assert page.headers["content-security-policy"] == HEADERS["content-security-policy"]
    assert "secret detail" not in page.text
    assert "a fault in the pages" in caplog.text


def test_health(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    visitor = visit(study)
    assert visitor.get("/health").text == "ok\n"

    def fail(*_: object) -> None:
        raise StoreBusyError("locked")

    monkeypatch.setattr(study.store, "get", fail)
    assert visitor.get("/health").status_code == 503


def test_health_answers_while_the_store_does_not(make: Make, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    visitor, free = visit(study), threading.Event()
    monkeypatch.setattr(study.store, "get", lambda _: free.wait(60))
    for _ in range(2):  # one after the other: they do not pile up
        page = visitor.get("/health")
        assert (page.status_code, page.text) == (503, "the store does not answer\n")
    assert not free.is_set()
    free.set()
    monkeypatch.undo()
    assert visitor.get("/health").status_code == 200


def test_programs_are_told_nothing_unless_asked(make: Make, visit: Visit) -> None:
    study = make(1)
    assert visit(study).get("/openapi.json").status_code == 404
    assert "/answer" in visit(study, openapi=True).get("/openapi.json").json()["paths"]


@pytest.mark.parametrize("stripped", [False, True])
def test_below_a_path_of_a_proxy(stripped: bool, make: Make, visit: Visit) -> None:
    study = make(2)
    app = create_app(study, url="https://example.org/chat/")
    visitor = visit(study, app, url="https://example.org")
    visitor.client.follow_redirects = False
    before = "" if stripped else "/chat"
    page = visitor.get(f"{before}/r/{study.add_raters(1)[0].token}")
    assert page.headers["location"] == "/chat/rate"
    assert "path=/chat;" in page.headers["set-cookie"].lower()
    if not stripped:
        page = visitor.get("/chat/rate")
        assert 'action="/chat/instructed"' in page.text
        assert 'href="/chat/static/rate.css' in page.text
        assert visitor.get("/chat/static/rate.css").status_code == 200


@pytest.mark.parametrize(
    "url",
    [
        "", "rate.example.org", "ftp://x", "https://", "https://a b", "https://a:b", "https://u@h", "https://h?x",
        "http://a@b", "http://h:99999", "https://:80", "https://h/a;b", "https://h/\x00", "https://h#x", "https://h?",
        "https://[::1", "https://h/a,b", 'https://h/"',
    ],
)  # fmt: skip
def test_addresses_that_are_none(url: str, make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="is not an address of pages"):
        check_url(url)
    # The same for links as for the server.
    study = make(1)
    assert main(["rate", "links", str(study.folder), "--add", "1", "--url", url]) == 2
    assert "is not an address of pages; write https://HOST/PATH\n" in capsys.readouterr().err
    assert study.raters() == []


@pytest.mark.parametrize(
    "url", ["http://h", "https://h:65535/a/b-c_d~e", "http://[::1]:8000", "https://münchen.example"]
)
def test_addresses_that_are_some(url: str) -> None:
    assert check_url(url) == check_url(url + "/") == url
    assert is_address(url + "/?a=b&c#d")


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Study, str]]:
    config = StudyConfig(
        "Test", "pair", entry=Entry(code="open sesame", prolific="unverified", mturk=True), consent="ok?"
    )
    items = [Item(f"i{n}", ("a", "b"), systems=("A", "B")) for n in range(50)]
    with Study.create(tmp_path_factory.mktemp("fuzz") / "study", config, items) as study:
        token = study.add_raters(1)[0].token
        app = create_app(study, requests_a_minute=0)
        app.state.site.guesses = Buckets(0, at_once=1)
        with TestClient(app, raise_server_exceptions=False, follow_redirects=False) as client:
            yield client, study, token


def operations(app: FastAPI) -> list[tuple[str, str, list[str], list[str]]]:
    found = []
    description = app.openapi()
    for path, methods in description["paths"].items():
        for method, details in methods.items():
            fields: list[str] = []
            for content in details.get("requestBody", {}).get("content", {}).values():
                name = content["schema"]["$ref"].rpartition("/")[2]
                fields += description["components"]["schemas"][name]["properties"]
            queries = [one["name"] for one in details.get("parameters", []) if one["in"] == "query"]
            found.append((path, method, queries, fields))
    return found


def signed_in(site: Site) -> str:
    """Return a session of the lead."""
    request = cast("Any", SimpleNamespace(client=SimpleNamespace(host="192.0.2.7")))
    return site.sign_in(request, site.study.lead_token) or ""


VALUES = st.one_of(
    st.sampled_from(["", "0", "1", "2", "5", "-1", "true", "open sesame", "ASSIGNMENT_ID_NOT_AVAILABLE", "A1"]),
    st.integers(-(2**70), 2**70).map(str),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.text("ab", min_size=195, max_size=300),
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_nothing_makes_the_pages_fail(data: st.DataObject, fuzzed: tuple[TestClient, Study, str]) -> None:
    client, _, token = fuzzed
    app = cast("FastAPI", client.app)
    site: Site = app.state.site
    sessions = {"rater": token, "lead": signed_in(site), "visit": "somebody"}
    cookies = "; ".join(f"{site._names[kind]}={value}" for kind, value in sessions.items())
    path, method, queries, fields = data.draw(st.sampled_from(operations(app)))
    described = app.openapi()["paths"][path][method]["responses"]
    target = path.replace("{token}", data.draw(st.sampled_from(["x", "%00", "%ff", "..", "é", "a" * 300])))
    params = {name: data.draw(VALUES) for name in queries if data.draw(st.booleans())}
    sent = {name: data.draw(VALUES) for name in fields if data.draw(st.booleans())}
    if "csrf" in fields and data.draw(st.booleans()):
        kind = "lead" if path.startswith("/lead") else "visit" if path == "/join" else "rater"
        sent["csrf"] = site.word(kind, sessions[kind])
    options: dict[str, Any] = {"params": params, "headers": {"cookie": cookies}}
    if method == "post":
        options["data"] = sent
    found = client.request(method.upper(), target, **options)
    assert found.status_code < 500
    assert str(found.status_code) in {*described, "404"}  # what stands for the token may change the path


KINDS = [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "application/json",
    "",
]


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=300), kind=st.sampled_from(KINDS))
def test_no_body_makes_the_pages_fail(body: bytes, kind: str, fuzzed: tuple[TestClient, Study, str]) -> None:
    found = fuzzed[0].post("/answer", content=body, headers={"content-type": kind})
    assert 400 <= found.status_code < 500


def test_numbers_are_computed_once_if_nothing_happens(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    site = create_app(study).state.site
    assert lead.current(site) is lead.current(site)
    study.add_raters(1)
    assert len(lead.current(site).raters) == 1
