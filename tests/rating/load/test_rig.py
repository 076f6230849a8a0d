"""Simulated raters at the pages of a study: how they reach it, and what is said when they cannot."""

from __future__ import annotations

import socket
import threading
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from scipy.stats import spearmanr

from tests.rating.load.rig import Browser, Manners, Page, ServerProcess, simulate
from trubleu.errors import UsageError
from trubleu.rating import Item, Study
from trubleu.rating.audit import audit
from trubleu.rating.config import Gold, example
from trubleu.rating.simulated_ratings import true_qualities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Make = Callable[..., Study]


@pytest.fixture
def new_url() -> Callable[[], str | None]:
    """Which database there is matters under load, not here."""
    return lambda: None


def test_the_truth_is_found_again(make: Make) -> None:
    """Practice, gold and pairs included; the scores of a pair reach its texts whichever side they were on."""
    practice = (example("practice", ("good", "bad"), (), "hi", ((4, 5), (1, 2)), "yes"),)
    gold = Gold(0.2, tuple(example("gold", (f"g{n}", f"h{n}"), (), None, ((5, 5), (1, 1))) for n in range(1, 4)))
    items = [Item(f"k{n}", (f"a{n}", f"b{n}"), message=f"m{n}", systems=("A", "B")) for n in range(25)]
    study = make(items, kind="pair", raters=4, consent="ok?", practice=practice, gold=gold)
    with ServerProcess(study.folder) as server:
        done = simulate(study, 6, urls=[server.url], habits=Manners(noise=0.1, bias=0.0), at_once=3)
    assert done.missing == 0
    rows = study.table()
    assert len({row.rater for row in rows}) == 6
    assert {row.flipped for row in rows} == {False, True}
    assert sum(row.role == "practice" for row in rows) == 12
    assert {(row.part, row.score) for row in rows if row.role == "gold"} == {(0, 5), (1, 1)}
    scores = defaultdict(list)
    for row in rows:
        if row.counted:
            scores[row.key, row.part].append(row.score or 0)
    assert {len(each) for each in scores.values()} == {4}
    truth = {
        (item.key, part): quality for item in items for part, quality in enumerate(true_qualities(item, study.config))
    }
    correlation = spearmanr([fmean(scores[key]) for key in truth], list(truth.values())).statistic
    assert correlation > 0.9
    assert audit(study) == []


def test_a_text_is_judged_anew_in_every_pair_and_an_item_always_alike(make: Make) -> None:
    """Where pairs look alike, too, as B and C say the same; in another study of the same items nothing changes."""
    names = ("A:B", "A:C")
    items = [
        Item(f"{n}#{name}", (f"a{n}", f"b{n}"), message="m", systems=tuple(name.split(":")))
        for n in range(12)
        for name in names
    ]
    found = []
    for study in (make(items, kind="pair", raters=2), make(items[::-1], kind="pair", raters=2)):
        with ServerProcess(study.folder) as server:
            habits = Manners(noise=1.5, bias=0.0)
            done = simulate(study, 2, urls=[server.url], habits=habits, seed=5, quality=lambda _message, _text: 3.0)
        assert done.missing == 0
        place = {rater: at for at, rater in enumerate(done.raters)}
        found.append({(place[row.rater], row.key, row.part): row.score for row in study.table() if row.counted})
    assert found[0] == found[1]
    again = [
        (found[0][rater, f"{n}#A:B", part], found[0][rater, f"{n}#A:C", part])
        for rater in range(2)
        for n in range(12)
        for part in range(2)
    ]
    # Of two draws that are independent, the same score comes up in about a quarter of cases.
    assert 4 < sum(one == other for one, other in again) < 28


def test_the_least_time_is_kept(make: Make) -> None:
    study = make(2, raters=1, minimum_seconds=0.3)
    with ServerProcess(study.folder) as server:
        done = simulate(study, 1, urls=[server.url])
    assert len(done.answers) == 2
    assert min(row.milliseconds or 0 for row in study.table()) >= 300
    assert done.events["too fast"] == 0


def test_too_few_raters_leave_something_missing(make: Make) -> None:
    study = make(3, raters=5)
    with ServerProcess(study.folder) as server:
        done = simulate(study, 2, urls=[server.url])
    assert (len(done.answers), done.missing) == (6, 9)


@contextmanager
def answering(answers: list[tuple[int, dict[str, str]] | None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives these answers one after another, or hangs up where there is none; and what it was sent."""
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["content-length"])))
            answer = answers.pop(0)
            if answer is None:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(answer[0])
            for name, value in answer[1].items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


FORM = Page(200, '<form><input type="hidden" name="key" value="7-0"></form>')


def test_an_answer_is_sent_again_until_it_is_kept() -> None:
    soon = {"retry-after": "0"}
    answers: list[tuple[int, dict[str, str]] | None] = [(503, soon), None, (429, soon), (429, soon), (409, {})]
    with answering(answers) as (url, received):
        browser = Browser([url], patience=30, stopped=threading.Event())
        assert browser.send(FORM, "/answer", {"score_1": "4"}).status == 409
        browser.close()
    assert received == [b"key=7-0&score_1=4"] * 5
    assert browser.events == {"connections lost": 1, "not saved at first": 1, "too fast": 2}


@pytest.mark.parametrize("status", [403, 413, 422, 500, 502])
def test_answers_that_nobody_should_get(status: int) -> None:
    with answering([(status, {})]) as (url, _):
        browser = Browser([url], patience=30, stopped=threading.Event())
        with pytest.raises(UsageError, match=f"answers a simulated rater with status {status}; see what it prints"):
            browser.send(FORM, "/answer")
        browser.close()


def test_patience_ends() -> None:
    with answering([(503, {"retry-after": "0"})]) as (url, _):
        browser = Browser([url], patience=0, stopped=threading.Event())
        with pytest.raises(UsageError, match="answers a simulated rater with status 503"):
            browser.send(FORM, "/answer")
        browser.close()


def test_servers_that_are_not_there_or_serve_something_else(make: Make) -> None:
    study, other = make(1), make(1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(UsageError, match=rf"{free} does not answer: .*; start trubleu rate serve there"):
        simulate(study, 4, urls=[free], patience=0.2)
    with (
        ServerProcess(other.folder) as server,
        pytest.raises(UsageError, match="does not know the raters of this study; does it serve another one"),
    ):
        simulate(study, 4, urls=[server.url])
    study.pause()
    with ServerProcess(study.folder) as server, pytest.raises(UsageError, match="is paused; trubleu rate resume"):
        simulate(study, 1, urls=[server.url])


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not start: .* has no study"), ServerProcess(tmp_path):
        pass
