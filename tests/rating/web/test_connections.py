"""Half-open requests and crowds of connections, at a server with low limits."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, ClassVar

import httpx
import pytest
import uvicorn

from trubleu.rating.store import database
from trubleu.rating.web import connections, create_app
from trubleu.rating.web.connections import LimitedProtocol, Limits, raise_file_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trubleu.rating import Study

    Make = Callable[..., Study]

TIMEOUT = 60.0
HALF = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
WHOLE = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
FORM = b"POST /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ncsrf="


@contextmanager
def served(study: Study, **given: object) -> Iterator[tuple[str, int]]:
    """Serve a study in a thread, with some limits; yield where."""

    class Protocol(LimitedProtocol):
        limits = Limits(**given)  # type: ignore[arg-type]
        taken: ClassVar[Counter[str]] = Counter()

    app = create_app(study, requests_a_minute=0)
    server = uvicorn.Server(
        uvicorn.Config(app, http=Protocol, lifespan="off", ws="none", log_config=None, access_log=False)
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join()
    assert Protocol.taken == {}


def connect(address: tuple[str, int], sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(address, timeout=TIMEOUT)
    connection.sendall(sent)
    return connection


def answer(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    parts = b""
    try:
        while part := connection.recv(65536):
            parts += part
    except ConnectionResetError:
        pass
    return parts


@pytest.mark.parametrize("start", [b"", HALF[:3], HALF, FORM, WHOLE + HALF, FORM.replace(b"100", b"5") + HALF])
def test_half_a_request_has_its_time(start: bytes, make: Make) -> None:
    with (
        served(make(1), header_seconds=0.3, body_seconds=0.3) as address,
        closing(connect(address, start)) as connection,
        ThreadPoolExecutor(1) as pool,
    ):
        whole = pool.submit(answer, connection)
        while not whole.done():  # a byte now and then does not prolong it
            try:
                connection.sendall(b"x" if start else b"")
            except OSError:
                break
            time.sleep(0.05)
        assert whole.result().rpartition(b"HTTP/1.1 ")[2].startswith(b"408 ")


def test_whole_requests_take_the_time_they_take(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(1)
    monkeypatch.setattr(study, "find_rater", lambda _: time.sleep(2.5))
    with served(study, header_seconds=2.0, body_seconds=2.0) as address, closing(connect(address)) as connection:
        for _ in range(2):
            connection.sendall(WHOLE.replace(b"/health", b"/r/guess"))
            page = b""
            while not page.endswith(b"</html>"):
                page += connection.recv(65536) or b"closed</html>"
            assert page.startswith(b"HTTP/1.1 404 ")
            time.sleep(2.2)  # between two requests uvicorn's own patience counts


def test_limits_on_connections(make: Make) -> None:
    with served(make(1), connections=12, per_address=8) as address, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(closing(connect(address, HALF)))
        refused = answer(stack.enter_context(closing(connect(address))))
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 5\r\n" in refused
    with (
        served(make(1), connections=3, per_address=2, proxies=("10.0.0.1", "127.0.0.0/8")) as address,
        ExitStack() as stack,
    ):
        for _ in range(2):
            stack.enter_context(closing(connect(address, HALF)))
        first = stack.enter_context(closing(connect(address, WHOLE)))
        assert first.recv(65536).startswith(b"HTTP/1.1 200 ")  # many people come from the web server in front
        assert answer(stack.enter_context(closing(connect(address)))).startswith(b"HTTP/1.1 503 ")
        first.close()
        assert eventually(lambda: httpx.get(f"http://{address[0]}:{address[1]}/health").status_code == 200)


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + TIMEOUT
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_what_was_refused_makes_room(make: Make) -> None:
    with served(make(1), connections=5, per_address=5, header_seconds=5.0) as address:
        for _ in range(2):
            with ExitStack() as stack:
                half = [stack.enter_context(closing(connect(address, HALF))) for _ in range(9)]
                assert Counter(answer(each)[9:12] for each in half) == {b"408": 5, b"503": 4}


def test_health_answers_while_everybody_waits_for_the_store(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """More people than the server has threads want to be given a task, and the store is locked."""
    monkeypatch.setattr(database, "_PATIENCE", 120.0)
    study = make(1, raters=100)
    people = [new.token for new in study.add_raters(45)]
    for rater in study.raters():
        study.instructed(rater.id)
    with (
        served(study) as (host, port),
        closing(sqlite3.connect(study.folder / "store.db", isolation_level=None)) as other,
        ThreadPoolExecutor(len(people)) as pool,
    ):
        url = f"http://{host}:{port}"

        def ask(token: str) -> int:
            with httpx.Client(base_url=url, timeout=TIMEOUT, follow_redirects=True) as client:
                return client.get(f"/r/{token}").status_code

        other.execute("BEGIN IMMEDIATE")
        waiting = [pool.submit(ask, token) for token in people]
        time.sleep(1.5)
        assert httpx.get(f"{url}/health", timeout=TIMEOUT).text == "ok\n"
        assert sum(each.done() for each in waiting) == 0
        other.execute("ROLLBACK")
        assert Counter(each.result() for each in waiting) == {200: len(people)}


@pytest.mark.parametrize(
    ("soft", "hard", "fit", "then"),
    [
        (256, 100_000, 1000, 1640),
        (256, 1024, 384, 1024),
        (4096, 4096, 1000, 4096),
        (64, 64, 16, 64),
        (-1, -1, 1000, -1),
    ],
)
def test_files_that_may_be_open(soft: int, hard: int, fit: int, then: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now = (soft, hard)

    def set_limit(_: int, limit: tuple[int, int]) -> None:
        nonlocal now
        now = limit

    monkeypatch.setattr(resource, "getrlimit", lambda _: now)
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    assert raise_file_limit(1000) == fit
    assert now == (then, hard)


def test_a_log_is_not_flooded(caplog: pytest.LogCaptureFixture) -> None:
    at = 0.0
    sparing = connections.SparingLog(3, clock=lambda: at)
    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(sparing)
    try:
        for _ in range(1000):
            logger.warning("Invalid HTTP request received.")
            logger.warning("something else")
        assert Counter(caplog.messages) == {"Invalid HTTP request received.": 3, "something else": 3}
        at = 61.0
        logger.warning("something else")
    finally:
        logger.removeFilter(sparing)
    assert caplog.messages[-1] == "something else (and 997 more times in the minute before)"
