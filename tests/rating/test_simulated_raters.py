"""Simulated raters: what they answer, how they reach a study, and what is said when they cannot."""

from __future__ import annotations

import socket
import threading
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from trubleu.cli import main
from trubleu.errors import UsageError
from trubleu.rating import Item, Study
from trubleu.rating.audit import audit
from trubleu.rating.config import Gold, example
from trubleu.rating.simulated_raters import Browser, Page, ServerProcess, simulate, true_qualities
from trubleu.simulate import World, write_world
from trubleu.simulate.raters import Habits, SimulatedRater, simulated_raters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Make = Callable[..., Study]


@pytest.fixture
def new_url() -> Callable[[], str | None]:
    """Which database there is matters under load, not here."""
    return lambda: None


@given(
    noise=st.floats(0, 100),
    bias=st.floats(-10, 10),
    lazy=st.sampled_from([None, "constant", "random"]),
    text=st.text(),
    quality=st.floats(1, 5),
)
def test_scores_are_on_the_scale_and_follow_from_the_text(
    noise: float, bias: float, lazy: object, text: str, quality: float
) -> None:
    rater = SimulatedRater("1/1", bias, noise, lazy)  # type: ignore[arg-type]
    assert rater.score(text, quality) in range(1, 6)
    assert rater.score(text, quality) == rater.score(text, quality)


def test_who_is_exact_says_what_is_true() -> None:
    rater = SimulatedRater("1/1", noise=0.0)
    assert [rater.score("x", quality) for quality in (1, 2.2, 3, 3.9, 5)] == [1, 2, 3, 4, 5]
    strict = SimulatedRater("1/1", bias=-1.0, noise=0.0)
    assert [strict.score("x", quality) for quality in (1, 3, 5)] == [1, 2, 4]


def test_who_is_lazy_does_not_read() -> None:
    people = simulated_raters(20, Habits(lazy=0.5, clumsy=0.1, slow=0.2, leaving=0.3))
    by_kind = defaultdict(list)
    for person in people:
        by_kind[person.lazy].append({person.score(f"text {n}", 5 if n % 2 else 1) for n in range(60)})
    assert {kind: len(found) for kind, found in by_kind.items()} == {None: 10, "constant": 5, "random": 5}
    assert all(len(scores) == 1 for scores in by_kind["constant"])
    assert all(scores == {1, 2, 3, 4, 5} for scores in by_kind["random"])
    assert sum(person.clumsy for person in people) == 2
    assert sum(person.slow for person in people) == 4
    assert sum(person.leaves_after is not None for person in people) == 6
    assert people != simulated_raters(20, Habits(lazy=0.5, clumsy=0.1, slow=0.2, leaving=0.3), seed=2)


def test_what_is_known_about_texts_decides_how_good_they_are() -> None:
    def mean(**extra: object) -> float:
        return fmean(true_qualities(Item(f"k{n}", ("x",), extra=extra))[0] for n in range(200))

    found = [mean(origin="seed"), mean(origin="mined"), mean(origin="parrot")]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(4.3, abs=0.1)
    assert true_qualities(Item("k", ("x",), accepted=((4, 5),))) == (4.5,)
    assert all(1 <= true_qualities(Item(f"k{n}", ("x",)))[0] <= 5 for n in range(200))
    systems = {
        name: fmean(true_qualities(Item(f"k{n}", ("x", "y"), systems=(name, "B")))[0] for n in range(200))
        for name in "CDEF"
    }
    assert max(systems.values()) - min(systems.values()) > 0.5
    assert true_qualities(Item("k", ("x",)), seed=1) != true_qualities(Item("k", ("x",)), seed=2)


def test_a_known_truth_decides_for_each_text_on_its_own() -> None:
    def length(message: str, text: str) -> float:
        return float(f"{len(message)}.{len(text)}")

    pair = Item("k", ("abc", "de"), message="m", systems=("A", "B"))
    assert true_qualities(pair, quality=length) == (1.3, 1.2)
    assert true_qualities(Item("k", ("abc",), extra={"origin": "seed"}), quality=length) == (0.3,)
    assert true_qualities(Item("k", ("abc",), message="m", accepted=((4, 5),)), quality=length) == (4.5,)


def test_raters_of_a_world_know_its_truth(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(seed=3)
    write_world(tmp_path / "world", world, corpus=1, segments=1, systems={"parrot": "parrot"})
    triples = list(world.triples(30))
    study = make([Item(each.id, (each.response,), message=each.message) for each in triples], raters=1)
    arguments = ["--world", str(tmp_path / "world"), "--raters", "2", "--noise", "0", "--bias", "0", "--anyway"]
    assert main(["rate", "simulate", str(study.folder), *arguments]) == 0
    capsys.readouterr()
    scores = {row.key: row.score for row in study.table() if row.counted}
    assert scores == {each.id: round(world.quality(each.message, each.response)) for each in triples}


def test_the_truth_is_found_again(make: Make) -> None:
    """Practice, gold and pairs included; the scores of a pair reach its texts whichever side they were on."""
    practice = (example("practice", ("good", "bad"), (), "hi", ((4, 5), (1, 2)), "yes"),)
    gold = Gold(0.2, tuple(example("gold", (f"g{n}", f"h{n}"), (), None, ((5, 5), (1, 1))) for n in range(1, 4)))
    items = [Item(f"k{n}", (f"a{n}", f"b{n}"), message=f"m{n}", systems=("A", "B")) for n in range(25)]
    study = make(items, kind="pair", raters=4, consent="ok?", practice=practice, gold=gold)
    with ServerProcess(study.folder) as server:
        done = simulate(study, 6, urls=[server.url], habits=Habits(noise=0.1, bias=0.0), at_once=3)
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
    truth = {(item.key, part): quality for item in items for part, quality in enumerate(true_qualities(item))}
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
            habits = Habits(noise=1.5, bias=0.0)
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"raters": 0}, "the number of simulated raters must be from 1 to 10,000, not 0"),
        ({"at_once": 0}, "the number of raters at once must be from 1 to 500, not 0"),
        ({"seconds": -1}, "the seconds that a task takes must be from 0 to 3,600, not -1"),
        ({"seconds": float("nan")}, "the seconds that a task takes must be from 0 to 3,600, not nan"),
        ({"urls": []}, "simulated raters need the address of a server"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], message: str, make: Make) -> None:
    study = make(1)
    given: dict[str, object] = {"raters": 1, "urls": ["http://127.0.0.1:1"]} | options
    with pytest.raises(UsageError) as raised:
        simulate(study, **given)  # type: ignore[arg-type]
    assert str(raised.value) == message
    assert study.raters() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -1.0}, "the noise of raters must be between 0 and 100, not -1"),
        ({"bias": float("nan")}, "the bias of raters must be between 0 and 100, not nan"),
        ({"slow": 1.01}, "the share of slow raters must be between 0 and 1, not 1.01"),
        ({"leaving": float("inf")}, "the share of leaving raters must be between 0 and 1, not inf"),
    ],
)
def test_habits_that_cannot_be(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        Habits(**options)
    assert str(raised.value) == message


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


def test_the_command(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(make(12, raters=3).folder)
    arguments = ["--raters", "5", "--noise", "0.5", "--clumsy", "1", "--seed", "3", "--anyway"]
    assert main(["rate", "simulate", folder, *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "5 simulated raters in " in out[0]
    assert out[1] == "every item has its ratings"
    assert out[2].startswith("on the way: ")
    assert out[-1] == f"then: trubleu rate status {folder}"
    with Study.open(folder) as study:
        assert {item.counted for item in study.items()} == {3}
        assert [rater.label for rater in study.raters()] == [f"simulated {n}" for n in range(1, 6)]
    # Simulated ones may be joined by others of their kind.
    assert main(["rate", "simulate", folder, "--raters", "1", "--quiet", "--anyway"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--raters", "0"], "the number of simulated raters must be from 1 to 10,000, not 0"),
        (["--raters", "2", "--noise", "-1"], "the noise of raters must be between 0 and 100, not -1"),
        (["--raters", "2", "--url", "nowhere"], "--url nowhere is not an address of pages"),
        (["--raters", "2", "--world", "nowhere"], "nowhere has no world.json; create a world with trubleu simulate"),
        (["--raters", "2", "more"], "rate simulate does not take more; leave it out"),
    ],
)
def test_the_command_with_bad_options(
    arguments: list[str], message: str, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make(1)
    assert main(["rate", "simulate", str(study.folder), "--anyway", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert study.raters() == []


def test_real_answers_are_not_mixed_with_simulated_ones(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    study = make(2, raters=2)
    rater = study.add_raters(1)[0].rater.id
    task = study.assign(rater)
    assert task is not None
    study.answer(rater, task.assignment, (4,), key=task.client_key)
    folder = str(study.folder)
    assert main(["rate", "simulate", folder, "--raters", "2"]) == 2
    said = {
        "sqlite": "has 1 answer of real raters, which simulated ones would be mixed with",
        # A copy of the folder would name the same database.
        "postgresql": "keeps its answers in the database that its store.url names, and so does every copy of",
    }
    assert said[study.store.dialect] in capsys.readouterr().err
    assert len(study.raters()) == 1
    assert main(["rate", "simulate", folder, "--raters", "2", "--anyway"]) == 0
    assert {item.counted for item in study.items()} == {2}
