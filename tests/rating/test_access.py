"""Intruders at a server as it really runs: bytes that no browser would send, other people's answers, floods, logs."""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

from tests.rating.load.rig import ServerProcess
from trubleu.rating import Item, Study, StudyConfig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from trubleu.rating import NewRater

TIMEOUT = 120  # seconds that an answer may take: a test fails, it does not hang


class Scene(NamedTuple):
    """A study that is served, with two raters who have begun."""

    study: Study
    server: ServerProcess
    victim: NewRater
    intruder: NewRater


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    config = StudyConfig("Test", "response", raters=2)
    items = [Item(f"key{n}", (f"text {n}",), message=f"message {n}") for n in range(30)]
    folder = tmp_path_factory.mktemp("intruders") / "study"
    with Study.create(folder, config, items) as study:
        people = study.add_raters(2, labels=["Victoria", "Iago"])
        with ServerProcess(folder) as server:
            # A token that the log could show, whichever tests follow.
            httpx.get(f"{server.url}/r/{people[0].token}", trust_env=False, timeout=TIMEOUT)
            yield Scene(study, server, *people)
            said = server.output.read_text("utf-8", "replace")
        # Whatever the tests of this file have sent, the server has told no secret and had no fault.
        secrets = [study.lead_token, study.secret, *(each.token for each in people)]
        assert not [secret for secret in secrets if secret in said]
        assert "a fault in the pages" not in said
        assert "Traceback" not in said
        assert "GET /r/{token} 303" in said


@contextmanager
def browser(scene: Scene, who: NewRater) -> Iterator[httpx.Client]:
    """A browser in which somebody has opened their link and read the instructions."""
    with httpx.Client(base_url=scene.server.url, follow_redirects=True, trust_env=False, timeout=TIMEOUT) as client:
        page = client.get(f"/r/{who.token}")
        if "/instructed" in page.text:
            client.post("/instructed", data={"csrf": csrf(page)})
        yield client


def csrf(page: httpx.Response) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', page.text)
    assert found, page.text
    return found.group(1)


def hidden(page: httpx.Response, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found, page.text
    return found.group(1)


def raw(server: ServerProcess, data: bytes, *, rest: bytes = b"") -> bytes:
    """Send bytes as they are, and return what comes back until the server closes or has said its headers and body."""
    host, port = server.url.removeprefix("http://").split(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=TIMEOUT) as connection:
        connection.sendall(data)
        try:
            if rest:
                connection.sendall(rest)
            while part := connection.recv(65536):
                received += part
        except (ConnectionError, TimeoutError):
            pass
    return received


def get(server: ServerProcess, path: str, more: str = "") -> bytes:
    return raw(server, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{more}\r\n".encode("latin-1"))


UP = ["..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..%00", "..;", "%c0%ae%c0%ae", "...."]
SLASHES = ["/", "%2f", "%5c", "\\", "//", "%252f"]


@pytest.mark.parametrize("up", UP)
@pytest.mark.parametrize("slash", SLASHES)
def test_no_path_leads_out_of_static(up: str, slash: str, scene: Scene) -> None:
    folder = str(scene.study.folder)
    root = slash.join([up] * 20)
    for target in ("app.py", f"{root}/etc/passwd", f"{root}{folder}/lead.token", f"{root}{folder}/store.db"):
        for start in ("/static/", "/static", "/", "/r/", "/lead/"):
            answer = get(scene.server, start + up + slash + target)
            assert re.match(rb"HTTP/1.1 (4\d\d|303) ", answer), (start, target, answer[:200])
            for inside in (b"def create_app", b"root:x:", b"SQLite format 3", scene.study.lead_token.encode()):
                assert inside not in answer


def test_static_gives_static(scene: Scene) -> None:
    """Without this the test before could pass because nothing works at all."""
    assert get(scene.server, "/static/rate.css").startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "request_line", ["GET http://evil.example/rate HTTP/1.1", "GET //evil.example/rate HTTP/1.1", "TRACE / HTTP/1.1",
                     "CONNECT evil.example:80 HTTP/1.1", "GET /rate HTTP/9.9", "GET\t/rate HTTP/1.1", "\x00\x01\x02",
                     "PUT /answer HTTP/1.1", "DELETE /lead HTTP/1.1", "OPTIONS * HTTP/1.1"],
)  # fmt: skip
def test_odd_requests_are_refused(request_line: str, scene: Scene) -> None:
    answer = raw(scene.server, f"{request_line}\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode("latin-1"))
    assert re.match(rb"HTTP/1.1 (4\d\d|303) ", answer), answer[:200]
    assert b"evil" not in answer


def test_a_strange_host_is_not_believed(scene: Scene) -> None:
    """Links that a page shows are made from what the server knows, not from what somebody claims."""
    for more in ("X-Forwarded-Host: evil.example\r\n", "Forwarded: host=evil.example\r\n"):
        assert b"evil" not in get(scene.server, f"/r/{scene.victim.token}", more)


def test_nothing_of_others_is_seen(scene: Scene) -> None:
    study = scene.study
    with browser(scene, scene.victim) as victim, browser(scene, scene.intruder) as intruder:
        page = victim.get("/rate")
        task, key = hidden(page, "task"), hidden(page, "key")
        assert victim.post("/answer", data={"csrf": csrf(page), "task": task, "key": key, "score_1": "5"}).is_success
        theirs = victim.get("/rate")
        mine = intruder.get("/rate")
        before = (study.table(), study.log())

        # Somebody else's finished task, and the one that they have open.
        for stolen in (task, hidden(theirs, "task")):
            data = {"csrf": csrf(mine), "task": stolen, "key": hidden(theirs, "key"), "score_1": "1"}
            assert intruder.post("/answer", data=data).status_code == 409
        # With the word of their form, and without a cookie at all.
        data = {"csrf": csrf(theirs), "task": hidden(theirs, "task"), "key": hidden(theirs, "key"), "score_1": "1"}
        assert intruder.post("/answer", data=data).status_code == 403
        assert httpx.post(f"{scene.server.url}/answer", data=data, timeout=TIMEOUT).status_code == 403
        assert intruder.post("/undo", data={"csrf": csrf(theirs)}).status_code == 403
        assert intruder.post("/undo", data={"csrf": csrf(mine)}).status_code == 409
        assert (study.table(), study.log()) == before

        seen = "".join(intruder.get(path).text for path in ("/rate", "/instructions", "/", "/lead", "/openapi.json"))
        for private in ("Victoria", scene.victim.token, study.lead_token, "key0", study.secret):
            assert private not in seen


def test_nobody_becomes_the_lead(scene: Scene) -> None:
    study = scene.study
    lead = {"pause": {}, "resume": {}, "leave": {}, "exclude": {"rater": "1", "reason": "x"},
            "readmit": {"rater": "1", "reason": "x"}, "raters": {"links": "2", "count": "5"}}  # fmt: skip
    with browser(scene, scene.intruder) as intruder:
        word = csrf(intruder.get("/rate"))
        token = scene.intruder.token
        names = [name.replace("rater", "lead") for name in intruder.cookies]
        before = study.log()
        for cookie in (None, token, "", study.lead_token[:-1], study.lead_token + "x", study.lead_token.swapcase()):
            headers = {} if cookie is None else {"cookie": f"{names[0]}={cookie}"}
            assert intruder.get("/lead", headers=headers).status_code in {403, 429}
            for path, fields in lead.items():
                found = intruder.post(f"/lead/{path}", data={"csrf": word, **fields}, headers=headers)
                assert found.status_code in {403, 429}, path
        assert study.log() == before
        for guess in (token, study.lead_token[:-1], study.lead_token + "/x", "%00", "."):
            assert intruder.get(f"/lead/{guess}").status_code in {403, 404, 429}
        # The lead is no rater either.
        assert intruder.get(f"/r/{study.lead_token}").status_code in {404, 429}


def test_bodies_without_end(scene: Scene) -> None:
    start = b"POST /answer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\n"
    announced = start + form + b"Content-Length: 99999999999\r\n\r\n"
    assert raw(scene.server, announced, rest=b"a=" + b"x" * 1000).startswith(b"HTTP/1.1 413 ")
    chunked = start + form + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert raw(scene.server, chunked, rest=chunk * 2).startswith(b"HTTP/1.1 413 ")
    for length in (b"-1", b"1e3", b"0x10", b"9" * 5000):
        answer = raw(scene.server, start + form + b"Content-Length: " + length + b"\r\n\r\nx")
        assert re.match(rb"HTTP/1.1 4(00|13|31) ", answer), answer[:100]
    # Headers have an end too.
    answer = raw(scene.server, start + b"X-Long: " + b"x" * 200_000 + b"\r\n\r\n")
    assert answer == b"" or re.match(rb"HTTP/1.1 4\d\d ", answer)
    assert get(scene.server, "/health").startswith(b"HTTP/1.1 200 ")


def test_floods_are_slowed_down(tmp_path: Path) -> None:
    items = [Item("k", ("text",))]
    with Study.create(tmp_path / "study", StudyConfig("Test", "response"), items) as study:
        token = study.add_raters(1)[0].token
        with (
            # Sixty at once and then one a minute, so that a slow machine has no time to earn many more.
            ServerProcess(study.folder, options=["--requests", "1"]) as server,
            httpx.Client(base_url=server.url, trust_env=False, timeout=TIMEOUT) as client,
        ):
            client.get(f"/r/{token}")
            answers = [client.get("/rate") for _ in range(90)]
            assert [answer.status_code for answer in answers[:50]] == [200] * 50
            refused = [answer for answer in answers if answer.status_code == 429]
            assert refused
            assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
            assert client.get("/health").status_code == 200
            said = server.output.read_text("utf-8")
            assert token not in said
            assert "GET /rate 429" in said
