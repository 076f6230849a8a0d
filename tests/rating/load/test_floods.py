"""Half-open requests without end, and a whole class behind one address."""

from __future__ import annotations

import re
import resource
import socket
import statistics
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from tests.rating.load.harness import SOAK, keep
from tests.rating.load.rig import ServerProcess
from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.config import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT = 60
HALF_OPEN, SECONDS = (1100, 60) if SOAK else (80, 2)
LIMITS = [] if SOAK else ["--connections", "60", "--per-address", "30"]
SOFT_LIMIT = 1024  # of open files: that of most systems
PEOPLE = 120


@contextmanager
def usual_file_limit() -> Iterator[None]:
    """What is started here may open as many files as usual, unless it asks for more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT_LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def half_open(address: tuple[str, int], source: str, over: threading.Event, cut: Counter[str]) -> None:
    """Hold a connection with half a request; whenever the server cuts it, make another."""
    while not over.is_set():
        try:
            with closing(socket.create_connection(address, timeout=1, source_address=(source, 0))) as connection:
                connection.sendall(b"POST /join HTTP/1.1\r\nHost: x\r\nX-Slow: ")
                connection.settimeout(0.5)
                while not over.is_set():
                    try:
                        said = connection.recv(1000)
                    except TimeoutError:
                        continue
                    cut[said[9:12].decode() or "closed"] += 1
                    break
        except OSError as error:
            cut[type(error).__name__] += 1
        over.wait(0.2)


def memory(pid: int | None) -> int:
    """Return how many megabytes a process has in memory."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0


def test_half_open_requests_stop_nobody(tmp_path: Path) -> None:
    """The crowd comes from one address; people at another one notice nothing, and nothing fills the log."""
    items = [Item(f"k{at}", (f"text {at}",)) for at in range(3)]
    with Study.create(tmp_path / "study", StudyConfig("Test", "response"), items) as study:
        token = study.add_raters(1)[0].token
        with usual_file_limit():
            server = ServerProcess(study.folder, options=["--quiet", *LIMITS])
            server.start()
        try:
            host, _, port = server.url.removeprefix("http://").rpartition(":")
            over, cut = threading.Event(), Counter[str]()
            before, written = memory(server.pid), server.output.stat().st_size
            threading.stack_size(256 * 1024)
            crowd = [
                threading.Thread(target=half_open, args=((host, int(port)), "127.0.0.2", over, cut))
                for _ in range(HALF_OPEN)
            ]
            threading.stack_size(0)
            for each in crowd:
                each.start()
            took: list[float] = []
            most = before
            until = time.monotonic() + SECONDS
            try:
                while time.monotonic() < until:
                    began = time.monotonic()
                    page = httpx.get(f"{server.url}/health", timeout=TIMEOUT, trust_env=False)
                    assert (page.status_code, page.text) == (200, "ok\n")
                    took.append(time.monotonic() - began)
                    most = max(most, memory(server.pid))
                    time.sleep(0.1)
                page = httpx.get(f"{server.url}/r/{token}", timeout=TIMEOUT, trust_env=False, follow_redirects=True)
                assert page.status_code == 200
            finally:
                over.set()
                for each in crowd:
                    each.join()
            said = server.output.read_text("utf-8")
            assert "Traceback" not in said
            assert len(said) - written < 10_000
            assert cut["503"] > 0
            keep(
                "half-open requests",
                {
                    "connections": HALF_OPEN,
                    "seconds": SECONDS,
                    "asked for health": len(took),
                    "median ms": round(statistics.median(took) * 1000, 1),
                    "longest ms": round(max(took) * 1000, 1),
                    "bytes of log": len(said) - written,
                    "MB before": before,
                    "MB at most": most,
                    "cut": dict(cut),
                },
            )
        finally:
            server.stop()
            server.output.unlink()


def test_a_class_behind_one_address_comes_in(tmp_path: Path) -> None:
    config = StudyConfig("Test", "response", entry=Entry(code="open sesame"))
    with (
        Study.create(tmp_path / "study", config, [Item("k", ("text",))]) as study,
        ServerProcess(study.folder, options=["--quiet", "--requests", "300"]) as server,
        ThreadPoolExecutor(PEOPLE) as pool,
    ):
        ready = threading.Barrier(PEOPLE)

        def join(_: int) -> tuple[int, float]:
            with httpx.Client(base_url=server.url, timeout=TIMEOUT, trust_env=False, follow_redirects=True) as client:
                ready.wait(TIMEOUT)
                began = time.monotonic()
                form = client.get("/join")
                found = re.search(r'name="csrf" value="(\w+)"', form.text)
                assert found, form.status_code
                page = client.post("/join", data={"csrf": found[1], "code": "open sesame"})
                return page.status_code, time.monotonic() - began

        found = list(pool.map(join, range(PEOPLE)))
        assert Counter(status for status, _ in found) == {200: PEOPLE}
        assert len(study.raters()) == PEOPLE
        seconds = sorted(each for _, each in found)
        keep("a class behind one address", {"people": PEOPLE, "longest seconds": round(seconds[-1], 1)})
