"""The pages of a rating study in a browser: keys, lost connections, phones, dark mode, nothing but the keyboard."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from tests.browser.conftest import CONTRASTS, TIMEOUT, violations
from tests.rating.model_server import Reply, schema_of, served
from trubleu.errors import StoreError
from trubleu.rating import Item, ModelOptions, Study, StudyConfig, rate_with_model
from trubleu.rating.config import Completion, Entry, Gold, Question, example
from trubleu.rating.web import create_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page, Route

    Open = Callable[..., "Rater"]

SETTLED = 450  # milliseconds after which keys are meant for the task that is seen
NASTY = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"> \x00\x1b & "quoted" '
PARTS = {"response": 1, "pair": 2, "ranking": 3}
ARABIC = "فكرة رائعة، نلتقي هناك!"


@contextmanager
def serving(study: Study) -> Iterator[str]:
    """Serve a study from a thread."""
    config = uvicorn.Config(
        create_app(study, requests_a_minute=0), port=0, log_config=None, access_log=False, lifespan="off", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


class Rater:
    """Somebody in front of a browser."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.url = url
        self.problems: list[str] = []
        self.outside: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Page:
        self.page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on(
            "request", lambda request: None if request.url.startswith(self.url) else self.outside.append(request.url)
        )
        return self.page

    def start(self, token: str) -> None:
        self.page.goto(f"{self.url}/r/{token}")
        self.page.get_by_role("button", name="Start").click()
        self.at("task")
        self.page.wait_for_load_state()  # a task is seen before its script has come

    def at(self, state: str) -> None:
        self.page.locator(f"main[data-state={state}]").wait_for()

    def task(self, number: int) -> None:
        self.page.locator("h1", has_text=re.compile(f"^Task {number} of ")).wait_for()

    def press(self, *keys: str) -> None:
        self.page.wait_for_load_state()
        self.page.wait_for_timeout(SETTLED)
        for key in keys:
            self.page.keyboard.press(key)

    def overflow(self) -> int:
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide

    def contrasts(self, selector: str) -> list[float]:
        found: list[float] = self.page.locator(selector).locator("visible=true").evaluate_all(CONTRASTS)
        return found

    def focused(self) -> str:
        name: str = self.page.evaluate("document.activeElement.tagName + ':' + (document.activeElement.value ?? '')")
        return name


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., tuple[Study, str]]]:
    """Return a function that makes a study and serves it."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def make(count: int = 5, **options: Any) -> tuple[Study, str]:
            kind = options.pop("kind", "response")
            number = PARTS[kind]
            systems = ("A", "B", "C")[:number] if number > 1 else ()
            items = options.pop("items", None) or [
                Item(
                    f"i{n}",
                    (f"{NASTY}{n}", ARABIC, "fine")[:number],
                    context=("hello", ARABIC),
                    message="how are you? " * 20,
                    systems=systems,
                )
                for n in range(count)
            ]
            if kind == "ranking":
                options.setdefault("outputs", number)
            study = stack.enter_context(
                Study.create(tmp_path / "study", StudyConfig("A study", kind, **options), items)
            )
            return study, stack.enter_context(serving(study))

        yield make


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Return a function that opens a browser window of its own on a served study."""
    contexts = []

    def open_window(url: str, *, width: int = 1280, scheme: Any = "light", scripts: bool = True) -> Rater:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        return Rater(context, url)

    yield open_window
    for context in contexts:
        context.close()


def scores(study: Study) -> list[int | None]:
    return [row.score for row in sorted(study.table(), key=lambda row: row.answered_at) if row.role == "item"]


def test_with_keys_alone(made: Any, opened: Open) -> None:
    practice = (example("practice", ("fine",), (), "how are you?", ((4, 5),), "Good."),)
    study, url = made(5, practice=practice, consent="We keep answers.", completion=Completion("CODE-7"))
    rater = opened(url)
    page = rater.page
    page.goto(f"{url}/r/{study.add_raters(1)[0].token}")
    rater.at("consent")
    page.keyboard.press("Enter")  # nobody agrees by accident
    for _ in range(5):
        if rater.focused().startswith("BUTTON"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    rater.at("instructions")
    page.wait_for_load_state()
    page.keyboard.press("Enter")  # starts
    rater.at("task")
    rater.press("5")
    rater.at("feedback")
    assert page.locator("h1").inner_text() == "We agree"
    page.keyboard.press("Enter")
    rater.task(1)
    rater.press("4")
    rater.task(2)
    assert page.url == f"{url}/rate"
    assert rater.focused().startswith("H1")  # where a screen reader goes on reading
    rater.press("c", "2")  # why: the second reason
    rater.task(3)
    rater.press("2")
    rater.task(4)
    rater.press("u")
    rater.task(3)
    rater.press("u")
    rater.task(2)
    assert "you said that you cannot judge: The text is incomplete" in page.locator(".earlier").inner_text()
    rater.press("c", "c")  # without a reason
    rater.task(3)
    assert page.locator(":checked").get_attribute("value") == "2"
    rater.press("c", "Escape", "c", "1")
    rater.task(4)
    rater.press("1")
    rater.task(5)
    # The slow way: tab to the choices, arrows, Enter.
    page.keyboard.press("Tab")
    while not rater.focused().startswith("INPUT"):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    rater.at("done")
    assert "CODE-7" in page.inner_text("main")
    assert scores(study) == [4, 1, 2]
    notes = [row.note for row in study.log() if row.kind == "unable"]
    assert notes == ["The text is incomplete or unreadable", None, "I cannot follow the conversation"]
    rows = sorted(study.table(), key=lambda row: row.answered_at)
    times = [row.client_milliseconds for row in rows if row.role == "item"]
    assert all(value is not None and SETTLED <= value < 60_000 for value in times[:2])
    assert page.evaluate("window.ran") is None
    assert rater.problems == []
    assert rater.outside == []


def test_keys_for_pairs(made: Any, opened: Open) -> None:
    study, url = made(2, kind="pair")
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.press("5", "3")  # the second one saves
    rater.task(2)
    first = {row.part: (row.score, row.flipped) for row in study.table()}
    flipped = first[0][1]
    assert [first[part][0] for part in (0, 1)] == ([3, 5] if flipped else [5, 3])
    rater.press("4", "Enter")  # incomplete: the browser says so
    rater.page.wait_for_timeout(100)
    assert len(study.table()) == 2
    rater.press("u")
    rater.task(1)  # with what was chosen, of which one is changed
    rater.press("1")
    rater.page.wait_for_timeout(100)
    assert len(study.table()) == 0
    assert rater.page.locator(":checked").evaluate_all("all => all.map(one => one.value)") == ["1", "3"]
    rater.press("Enter")
    rater.task(2)
    rater.press("1", "2")
    rater.at("done")
    assert len(study.table()) == 4
    assert rater.problems == []


def test_keys_can_be_switched_off(made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.page.get_by_role("button", name="Keys").click()
    rater.press("4")
    rater.page.reload()
    rater.press("4")
    assert rater.page.get_by_role("button", name="Keys").get_attribute("aria-pressed") == "false"
    assert scores(study) == []
    rater.page.get_by_role("button", name="Keys").click()
    rater.press("4")
    rater.task(2)
    assert scores(study) == [4]


def test_a_key_that_is_held_answers_one_task(made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.press()
    for _ in range(20):
        rater.page.keyboard.down("4")
    rater.task(2)
    rater.page.wait_for_timeout(SETTLED)
    rater.page.keyboard.down("4")
    rater.page.keyboard.up("4")
    rater.page.wait_for_timeout(300)
    assert scores(study) == [4]


def test_a_key_that_is_pressed_twice_answers_one_task(made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    # The second time comes from the page itself, as soon as the next task is there: from here it might come too late.
    rater.page.evaluate(
        """() => new MutationObserver((_, observer) => {
          observer.disconnect();
          window.pressed = document.querySelector("h1").textContent;
          document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "4", bubbles: true, cancelable: true}));
        }).observe(document.body, {childList: true})"""
    )
    rater.press("4")
    rater.task(2)
    rater.page.wait_for_timeout(300)
    assert rater.page.evaluate("window.pressed").startswith("Task 2 of")
    assert scores(study) == [4]


def test_with_the_mouse_and_without_scripts(made: Any, opened: Open) -> None:
    study, url = made(3)
    rater = opened(url, scripts=False)
    rater.start(study.add_raters(1)[0].token)
    rater.page.get_by_text("very good").click()
    rater.page.get_by_role("button", name="Submit").click()
    rater.task(2)
    assert not rater.page.get_by_role("button", name="Keys").is_visible()
    rater.page.get_by_role("button", name="Undo").click()
    rater.task(1)
    rater.page.get_by_label("2 bad").check()
    rater.page.get_by_role("button", name="Submit").click()
    rater.task(2)
    rater.page.locator(".unable summary").click()
    rater.page.get_by_label("Another reason").fill("in Finnish")
    rater.page.get_by_role("button", name="Send").click()
    rater.task(3)
    assert scores(study) == [2]


LABELS = ("not at all", "partly", "fully")
TWO = (Question("Relevant?", LABELS, "relevance"), Question("Interesting?", (), "interest", False, 11))


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 780), (320, 640)])
@pytest.mark.parametrize("kind", ["response", "pair"])
@pytest.mark.parametrize("questions", [(Question(),), TWO], ids=["one", "two"])
def test_one_tap_answers_and_buttons_stay_where_they_are(
    kind: str, questions: tuple[Question, ...], width: int, height: int, made: Any, opened: Open
) -> None:
    texts = ["short", "long " * 600, "x" * 10_000]
    items = [Item(f"i{n}", (text, "b")[: 2 if kind == "pair" else 1], message="m") for n, text in enumerate(texts)]
    study, url = made(items=items, kind=kind, questions=questions)
    rater = opened(url, width=width)
    rater.page.set_viewport_size({"width": width, "height": height})
    rater.start(study.add_raters(1)[0].token)
    places = []
    for number in (1, 2, 3):
        rater.task(number)
        rater.page.wait_for_timeout(SETTLED)
        rater.page.evaluate("window.scrollTo(0, 0)")
        boxes = [one.bounding_box() for one in rater.page.locator(".choice, .answer .button:visible").all()]
        places.append([box and (round(box["x"]), round(box["y"])) for box in boxes if box][: 3 * len(questions)])
        for group in rater.page.locator("fieldset").all():
            assert len(study.table()) == (number - 1) * len(questions) * (2 if kind == "pair" else 1)
            group.locator(".choice").nth(2).click()
        rater.page.locator("h1", has_text=re.compile(f"^Task {number} of ")).wait_for(state="detached")
    # Whatever is said above the texts of one task only may move them, but not their length.
    assert places[0] == places[1] == places[2]
    rater.at("done")
    assert set(scores(study)) == {3}
    rater.page.get_by_role("button", name="Undo").click()
    rater.task(3)
    rater.page.wait_for_timeout(SETTLED)
    first = rater.page.locator(".choice").nth(0)
    first.click()
    if len(study.config.slots) > 1:  # one of several is changed: others may follow
        rater.page.get_by_role("button", name="Submit").click()
    rater.at("done")
    assert scores(study).count(1) == 1
    assert rater.problems == []


def test_two_questions_with_keys(made: Any, opened: Open) -> None:
    study, url = made(4, questions=TWO, comments=True)
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.press("2", "0")  # ten
    rater.task(2)
    rater.press("u")
    rater.task(1)  # where both answers are selected
    rater.press("1", "9")  # the second key saves
    rater.task(2)
    rater.press("u")
    rater.task(1)
    rater.press("2", "0")
    rater.task(2)
    rater.press("3", "-")  # eleven
    rater.task(3)
    rater.press("1", "Enter")  # the second one may be left out
    rater.task(4)
    assert sorted((row.question, row.score or 0) for row in study.table()) == [
        (0, 1), (0, 2), (0, 3), (1, 0), (1, 10), (1, 11),
    ]  # fmt: skip
    rater.press("u")
    rater.task(3)
    rater.press("u")
    rater.task(2)
    rater.page.get_by_text("change them, then save").wait_for()
    rater.press("1", "Enter")  # the second answer is there already
    rater.task(3)
    rater.press("Enter")
    rater.task(4)
    rater.page.get_by_text("Add a comment").click()
    rater.page.get_by_label("What should we know").fill("12 u c")  # these are letters, not keys
    rater.page.locator("fieldset").nth(0).locator(".choice").nth(0).click()
    rater.page.locator("fieldset").nth(1).locator(".choice").nth(0).click()
    rater.page.wait_for_timeout(200)
    rater.task(4)  # who writes a comment says when it is complete
    rater.page.get_by_role("button", name="Submit").click()
    rater.at("done")
    assert [row.note for row in study.log() if row.kind == "answered"] == [None] * 7 + ["12 u c"]
    assert sorted((row.question, row.score or 0) for row in study.table()) == [
        (0, 1), (0, 1), (0, 1), (0, 2), (1, 0), (1, 1), (1, 10), (1, 11),
    ]  # fmt: skip
    assert rater.problems == []


def test_a_break_in_a_browser(made: Any, opened: Open) -> None:
    study, url = made(2)
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.page.get_by_role("button", name="Take a break").click()
    rater.at("break")
    rater.page.goto(f"{url}/rate")
    rater.at("break")
    rater.page.wait_for_load_state()
    rater.page.keyboard.press("Enter")
    rater.task(1)


def test_a_lost_connection_keeps_the_answer(made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.context.set_offline(True)
    rater.press("4")
    notice = rater.page.locator("#notice")
    notice.filter(has_text="No connection. Your answer is kept").wait_for()
    assert rater.page.locator("input:checked").get_attribute("value") == "4"
    assert scores(study) == []
    rater.context.set_offline(False)
    rater.task(2)
    assert notice.inner_text() == ""
    assert scores(study) == [4]
    rater.press("2")
    rater.task(3)
    assert scores(study) == [4, 2]


def test_an_answer_that_arrived_unheard_counts_once(made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    lost: list[object] = []

    def lose_the_reply(route: Route) -> None:
        if not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.continue_()

    rater.page.route("**/answer", lose_the_reply)
    rater.press("4")
    rater.task(2)
    assert len(lost) == 1
    assert scores(study) == [4]
    assert [row.kind for row in study.log()].count("answered") == 1


def test_an_answer_outlives_the_page(made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.page.route("**/answer", lambda route: route.abort())
    rater.press("5")
    rater.page.locator("#notice", has_text="No connection").wait_for()
    rater.page.close()
    assert scores(study) == []
    rater.new_page().goto(f"{url}/rate")
    rater.task(2)
    assert scores(study) == [5]


def test_an_answer_is_never_sent_in_somebody_elses_name(made: Any, opened: Open) -> None:
    study, url = made()
    first, second = study.add_raters(2)
    rater = opened(url)
    rater.start(first.token)
    rater.page.route("**/answer", lambda route: route.abort())
    rater.press("5")
    rater.page.locator("#notice", has_text="No connection").wait_for()
    rater.page.close()
    rater.new_page()
    rater.start(second.token)
    rater.press("1")
    rater.task(2)
    assert [(row.rater, row.score) for row in study.table()] == [(second.rater.id, 1)]


@pytest.mark.parametrize("status", [502, 503, 200])
def test_servers_that_do_not_save(status: int, made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    tries = []
    held: list[Route] = []

    def refuse_once(route: Route) -> None:
        tries.append(1)
        if len(tries) == 1:  # such as a proxy, or a network that wants a login first
            route.fulfill(
                status=status,
                body="<h1>Welcome to the hotel</h1>",
                content_type="text/html",
                headers={"Retry-After": "1"},
            )
        else:
            held.append(route)  # until the test has seen that nothing is saved

    rater.page.route("**/answer", refuse_once)
    rater.press("3")
    rater.page.locator("#notice", has_text="Not saved").wait_for()
    assert scores(study) == []
    while not held:
        rater.page.wait_for_timeout(50)
    held[0].continue_()
    rater.task(2)
    assert len(tries) == 2
    assert scores(study) == [3]


def test_too_early_says_so(made: Any, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    study, url = made(2, minimum_seconds=2)
    now = study.now()
    monkeypatch.setattr(Study, "now", lambda _: now)
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    rater.press("3")
    rater.page.get_by_role("alert").filter(has_text="That was quick").wait_for()
    assert rater.page.locator("input:checked").get_attribute("value") == "3"
    rater.page.wait_for_timeout(2000)
    now += 2000
    rater.page.get_by_role("button", name="Submit").click()
    rater.task(2)
    (row,) = study.table()
    assert row.score == 3
    assert (row.client_milliseconds or 0) >= 2000  # since the task was seen first
    assert row.milliseconds == 2000


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"), (320, "light")]
)
@pytest.mark.parametrize("kind", PARTS)
def test_every_width_and_colour(kind: str, width: int, scheme: str, made: Any, opened: Open) -> None:
    gold = Gold(0.1, (example("gold", ("x", "y", "z")[: PARTS[kind]], (), None, ((1, 1),) * PARTS[kind]),))
    study, url = made(4, kind=kind, gold=gold, entry=Entry(code="open sesame"))
    rater = opened(url, width=width, scheme=scheme)
    rater.page.goto(f"{url}/join")
    assert rater.overflow() == 0
    rater.page.goto(f"{url}/r/{study.add_raters(1)[0].token}")
    assert rater.overflow() == 0
    assert min(rater.contrasts("main p, main li, .button")) >= 4.5
    rater.page.get_by_role("button", name="Start").click()
    rater.at("task")
    assert rater.overflow() == 0
    text = ".turn, .response, legend, .choice .number, .choice .label, .button, .faint, .title, h1, h2, kbd"
    assert min(rater.contrasts(text)) >= 4.5
    boxes = [one.bounding_box() for one in rater.page.locator(".response").all()]
    if kind == "pair":
        assert all(boxes)
        side_by_side = boxes[0]["y"] == boxes[1]["y"]  # type: ignore[index]
        assert side_by_side is (width == 1280)
    sizes = [one.bounding_box() for one in rater.page.locator(".choice").all()]
    assert all(size is not None and size["height"] >= 44 for size in sizes)
    dark = rater.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark is (scheme == "dark")
    rater.page.locator(".choice input").first.focus()
    rater.page.keyboard.press("Space")
    assert min(rater.contrasts(".choice:has(:checked) .label")) >= 4.5
    rater.page.goto(f"{url}/lead/{study.lead_token}")
    rater.at("lead")
    assert rater.overflow() == 0
    assert min(rater.contrasts("main th, main td, main dt, main dd, .note, .button, label, summary, .state")) >= 4.5
    assert rater.problems == []
    assert rater.outside == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
@pytest.mark.parametrize("kind", PARTS)
def test_axe_finds_nothing(kind: str, width: int, scheme: str, made: Any, opened: Open) -> None:
    questions: tuple[Question, ...] = (
        Question("Relevant?", ("no", "partly", "yes"), "relevance"),
        Question("Fun?", name="fun", required=False),
    )
    if kind == "ranking":
        questions = (Question("Which is best?"),)
    study, url = made(2, kind=kind, questions=questions, consent="We keep your *answers*.", comments=True)
    new = study.add_raters(1)[0]
    rater = opened(url, width=width, scheme=scheme)
    pages = {}

    def look(name: str) -> None:
        pages[name] = violations(rater.page)

    rater.page.goto(f"{url}/r/{new.token}")
    look("consent")
    rater.page.locator("main button").first.click()
    rater.page.get_by_role("button", name="Start").click()
    rater.at("task")
    look("task")
    rater.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    look("task, all open")
    while task := study.assign(new.rater.id):
        scores = (3, 2, 1) if kind == "ranking" else (3, 2) * PARTS[kind]
        study.answer(new.rater.id, task.assignment, scores, key=task.client_key)
    raters = [new.rater.id]
    if kind != "ranking":  # which models do not make
        with served(lambda body, _number: Reply(json.dumps(dict.fromkeys(schema_of(body)["properties"], 2)))) as server:
            raters.append(rate_with_model(study, ModelOptions(url=server.url, model="tiny")).rater.id)
    rater.page.goto(f"{url}/r/{new.token}")
    look("done")
    rater.page.goto(f"{url}/lead/{study.lead_token}")
    look("lead")
    if kind != "ranking":
        rater.page.get_by_role("heading", name="Models beside people").wait_for()
    for number in raters:
        rater.page.goto(f"{url}/lead/raters/{number}")
        look(f"rater {number}")
    rater.page.goto(f"{url}/lead/items/1")
    look("item")
    assert {name: found for name, found in pages.items() if found} == {}


@pytest.mark.parametrize("kind", PARTS)
def test_at_200_percent_nothing_is_cut_off(kind: str, made: Any, opened: Open) -> None:
    """A window of 1280 × 800 pixels at 200 % has 640 × 400 of those that pages are laid out in."""
    questions = (Question("Which is best?" if kind == "ranking" else "Good?"),)
    study, url = made(2, kind=kind, questions=questions, comments=True, consent="We keep answers.")
    rater = opened(url, width=640)
    rater.page.set_viewport_size({"width": 640, "height": 400})
    new = study.add_raters(1)[0]

    def look() -> None:
        assert rater.overflow() == 0
        for one in rater.page.locator("button:visible, a:visible:not(.skip), summary:visible, .choice").all():
            one.scroll_into_view_if_needed()
            reached, cut = one.evaluate(REACHED)
            assert reached, one.inner_text()
            assert not cut, one.inner_text()

    rater.page.goto(f"{url}/r/{new.token}")
    look()
    rater.page.locator("main button").first.click()
    rater.at("instructions")
    look()
    rater.page.get_by_role("button", name="Start").click()
    rater.at("task")
    look()
    rater.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    look()
    while task := study.assign(new.rater.id):
        study.answer(new.rater.id, task.assignment, (1,) * PARTS[kind], key=task.client_key)
    for path in (f"/r/{new.token}", f"/lead/{study.lead_token}", f"/lead/raters/{new.rater.id}", "/lead/items/1"):
        rater.page.goto(url + path)
        look()


REACHED = """element => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const on = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return [element.contains(on), element.scrollWidth > element.clientWidth + 1 || left < 0 || right > innerWidth];
}"""


def test_a_ranking_by_keys_and_by_taps(made: Any, opened: Open) -> None:
    study, url = made(3, kind="ranking")
    rater = opened(url)
    page = rater.page
    rater.start(study.add_raters(1)[0].token)
    texts = page.locator(".response").all_inner_texts()
    assert page.get_by_role("group", name="Rank of response 2").get_by_role("radio").count() == 3
    assert page.get_by_role("radio", name="1 best").count() == 3
    rater.press("2", "1")
    assert page.locator("[data-order]").inner_text() == "Your order so far: 2, then 1."
    rater.press("2")
    assert page.locator("[data-order]").inner_text() == "Your order: 2, then 1 and 3."
    assert study.table() == []
    assert rater.focused().startswith("BUTTON")
    page.keyboard.press("Enter")
    rater.task(2)
    assert rater.focused().startswith("H1")
    by_text = {row.item.item.texts[row.part]: row.score for row in study.table()}
    assert [by_text[text] for text in ("fine", ARABIC)] == [
        2 if texts.index(text) in (0, 2) else 1 for text in ("fine", ARABIC)
    ]
    for group, rank in ((0, 2), (1, 2), (2, 1)):
        page.locator("fieldset").nth(group).locator(".choice").nth(rank - 1).click()
    page.wait_for_timeout(100)
    assert len(study.table()) == 3, "a ranking is saved by its button"
    page.get_by_role("button", name="Submit").click()
    rater.task(3)
    rater.press("u")
    rater.task(2)
    assert page.locator(":checked").evaluate_all("all => all.map(one => one.value)") == ["2", "2", "1"]
    assert page.locator("[data-order]").inner_text() == "Your order: 3, then 1 and 2."
    rater.press("c", "1")
    rater.task(3)
    assert rater.problems == []


@pytest.mark.parametrize("width", [320, 640, 1280])
def test_eight_ranks_have_room(width: int, made: Any, opened: Open) -> None:
    items = [Item("i", ("long " * 80, *"bcdefgh"), message="m", systems=tuple("ABCDEFGH"))]
    study, url = made(items=items, kind="ranking", outputs=8)
    rater = opened(url, width=width)
    rater.start(study.add_raters(1)[0].token)
    assert rater.overflow() == 0
    for group in rater.page.locator("fieldset").all():
        boxes = [box for one in group.locator(".choice").all() if (box := one.bounding_box())]
        assert all(box["width"] >= 44 and box["height"] >= 44 for box in boxes)
        assert len({(round(box["x"]), round(box["y"])) for box in boxes}) == 8
        assert all(b["x"] >= a["x"] + a["width"] or b["y"] > a["y"] for a, b in pairwise(boxes)), "they overlap"
    rater.press(*"12345678", "Enter")
    rater.at("done")
    assert sorted(row.score or 0 for row in study.table()) == [*range(1, 9)]


def test_a_ranking_without_scripts(made: Any, opened: Open) -> None:
    study, url = made(1, kind="ranking")
    rater = opened(url, scripts=False, width=320)
    rater.start(study.add_raters(1)[0].token)
    directions = rater.page.locator(".response").evaluate_all("all => all.map(one => getComputedStyle(one).direction)")
    assert sorted(directions) == ["ltr", "ltr", "rtl"]
    for group, rank in ((0, 3), (1, 1), (2, 1)):
        rater.page.locator("fieldset").nth(group).locator(".choice").nth(rank - 1).click()
    rater.page.get_by_role("button", name="Submit").click()
    rater.at("done")
    assert sorted(row.score or 0 for row in study.table()) == [1, 1, 3]


def test_focus_can_be_seen(made: Any, opened: Open) -> None:
    study, url = made()
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    seen = []
    for _ in range(12):
        rater.page.keyboard.press("Tab")
        outline = rater.page.evaluate(
            """() => {
              const on = document.activeElement;
              const shown = on.closest(".choice") ?? on;
              return [on.tagName, on.tagName === "BODY" ? 3 : parseFloat(getComputedStyle(shown).outlineWidth)];
            }"""
        )
        seen.append(outline)
    assert {name for name, _ in seen} >= {"A", "INPUT", "BUTTON"}
    assert all(width >= 3 for _, width in seen)


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 780), (320, 640)])
def test_nothing_moves_when_undo_or_the_reasons_appear(width: int, height: int, made: Any, opened: Open) -> None:
    study, url = made(3, questions=TWO, comments=True)
    rater = opened(url, width=width)
    page = rater.page
    page.set_viewport_size({"width": width, "height": height})
    rater.start(study.add_raters(1)[0].token)
    all_of_them = page.locator(".choice, .comment > summary, .actions > .button, .unable > summary")

    def places() -> list[Any]:
        # On the page, whatever its scroll position: all in one step, as the page may be scrolling.
        found: list[Any] = all_of_them.evaluate_all(
            """all => all.map(one => {
              const box = one.getBoundingClientRect();
              return [box.x + scrollX, box.y + scrollY, box.width, box.height];
            })"""
        )
        return found

    before = places()
    page.get_by_text("Cannot judge", exact=True).click()
    panel = page.get_by_role("group", name="Why can you not judge this?")
    panel.wait_for()
    box = panel.bounding_box()
    assert box is not None
    assert min(box["x"], box["y"]) >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= height
    assert places() == before
    page.get_by_role("heading", level=1).click()
    panel.wait_for(state="hidden")  # as a tap beside it closes it
    rater.press("3", "1")
    rater.task(2)
    assert page.get_by_role("button", name="Undo").is_visible()
    assert places()[: len(before)] == before
    rater.press("u")
    rater.task(1)
    assert places()[: len(before)] == before


def test_keys_scroll_a_long_text(made: Any, opened: Open) -> None:
    study, url = made(items=[Item("long", ("long " * 2000,), message="m")], questions=TWO)
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    for key in ("End", "Home", "PageDown"):
        before = rater.page.locator(".response").bounding_box()
        rater.page.keyboard.press(key)
        rater.page.wait_for_timeout(300)
        after = rater.page.locator(".response").bounding_box()
        assert before is not None
        assert after is not None
        assert abs(before["y"] - after["y"]) > 100
    assert rater.page.get_by_role("button", name="Submit").bounding_box()
    assert rater.page.evaluate("scrollY") == 0


BROKEN = """all => all.flatMap(one => [...one.textContent.matchAll(/\\S+/g)].filter(word => {
  const range = document.createRange();
  range.setStart(one.firstChild, word.index);
  range.setEnd(one.firstChild, word.index + word[0].length);
  return range.getClientRects().length > 1;
}).map(word => word[0]))"""


@pytest.mark.parametrize("width", [320, 360, 1280])
@pytest.mark.parametrize("kind", ["response", "pair"])
def test_answers_are_in_rows_and_words_stay_whole(kind: str, width: int, made: Any, opened: Open) -> None:
    long = ("strongly disagree", "disagree", "undecided", "agree", "strongly agree")
    questions = (
        Question("Good?", name="quality"),
        Question("Relevant?", ("not at all", "partly", "completely"), "relevance"),
        Question("Interesting?", ("dull", "fascinating"), "interest", points=7),
        Question("Do you agree?", long, "consent"),
    )
    study, url = made(1, kind=kind, questions=questions)
    rater = opened(url, width=width)
    rater.start(study.add_raters(1)[0].token)
    page = rater.page
    page.locator(".choice").nth(2).click()
    assert page.locator(".choice .label, .ends span, .which, .actions > .button").evaluate_all(BROKEN) == []
    number = PARTS[kind]
    for at, most in enumerate((1, 1, 1 if width > 320 else 2, 1 if width == 1280 else 3)):
        for group in page.locator("fieldset").all()[at * number : (at + 1) * number]:
            rows = {round((one.bounding_box() or {"y": 0})["y"]) for one in group.locator(".choice").all()}
            assert len(rows) <= most
    for ends in page.locator(".ends").all():
        assert ends.inner_text().split("\n") == ["1 – dull", "7 – fascinating"]
    assert page.get_by_role("radio", name="7 fascinating").count() == number


TAB_ORDER = {
    "response": ["score_1_1", "score_1_2", "Add a comment", "Submit"],
    "pair": [*(f"score_{n}_{q}" for q in (1, 2) for n in (1, 2)), "Add a comment", "Submit"],
    "ranking": ["score_1", "score_2", "score_3", "Add a comment", "Submit"],
}


@pytest.mark.parametrize("kind", PARTS)
def test_the_order_of_the_keyboard_and_of_a_screen_reader(kind: str, made: Any, opened: Open) -> None:
    questions = (Question("Which is best?"),) if kind == "ranking" else TWO
    study, url = made(3, kind=kind, questions=questions, comments=True)
    rater = opened(url, width=390)
    page = rater.page
    rater.start(study.add_raters(1)[0].token)
    rater.press(*("1", "2", "1", "2")[: len(study.config.slots)], *(["Enter"] if kind == "ranking" else []))
    rater.task(2)
    seen: list[str] = []
    while "Undo" not in seen:
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => { const on = document.activeElement;
                  return on.name || on.getAttribute("aria-label") || on.textContent.trim(); }"""
            )
        )
        assert len(seen) < 20
    assert seen == [*TAB_ORDER[kind], "Cannot judge", "Take a break", "Undo"]
    read = page.locator("main").aria_snapshot()
    wanted = ["Task 2 of", "progressbar", 'region "Conversation"', "how are you?"]
    texts = [f'region "Response {n}"' for n in range(1, PARTS[kind] + 1)] if kind != "response" else ["Response"]
    asked = [question.text for question in questions]
    wanted += [*asked, *texts] if kind == "ranking" else [*texts, *asked]
    found = [read.index(each) for each in [*wanted, "Submit", "Cannot judge", "Take a break", "Undo"]]
    assert found == sorted(found)


PERSIAN = "این پاسخ چقدر خوب است؟"
HEBREW = ("גרוע", "סביר", "מצוין")


def test_a_study_from_right_to_left(made: Any, opened: Open) -> None:
    questions = (Question(PERSIAN, HEBREW, "a"), Question(PERSIAN, HEBREW[::2], "b", points=5))
    study, url = made(1, questions=questions, instructions=PERSIAN, consent=HEBREW[2], reasons=(ARABIC,))
    rater = opened(url, width=320)
    page = rater.page
    page.goto(f"{url}/r/{study.add_raters(1)[0].token}")

    def directions(selector: str) -> set[str]:
        return set(page.locator(selector).evaluate_all("all => all.map(one => getComputedStyle(one).direction)"))

    assert directions(".prose") == {"rtl"}
    page.locator("main button").first.click()
    assert directions(".prose, main h2, .scale, .scale li") == {"rtl"}
    assert page.locator(".scale").first.evaluate("list => parseFloat(getComputedStyle(list).paddingRight)") > 20
    page.get_by_role("button", name="Start").click()
    rater.at("task")
    assert directions("legend, .label, .reasons button > :last-child") == {"rtl"}
    assert directions(".number, .actions, .response") == {"ltr"}
    assert rater.overflow() == 0


@pytest.mark.parametrize(("width", "height", "scheme"), [(320, 640, "dark"), (640, 400, "light"), (1280, 800, "dark")])
def test_every_other_page(
    width: int, height: int, scheme: str, made: Any, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice = (example("practice", ("fine", "no"), (), "how are you?", ((3, 3), None) * 2, "**Good.**"),)
    study, url = made(
        1, kind="pair", questions=TWO, practice=practice, entry=Entry(code="open sesame", mturk=True), comments=True
    )
    rater = opened(url, width=width, scheme=scheme)
    page = rater.page
    page.set_viewport_size({"width": width, "height": height})
    one, two, three = study.add_raters(3)
    looked = []

    def look(state: str) -> None:
        rater.at(state)
        looked.append(state)
        assert rater.overflow() == 0
        assert violations(page) == []
        assert page.locator("main h1").count() == 1

    page.goto(f"{url}/join")
    page.get_by_label("Study code").fill("wrong")
    page.locator("main button").first.click()
    page.get_by_role("alert").wait_for()
    look("join")
    for worker in ("assignmentId=A&workerId=W", "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"):
        page.goto(f"{url}/join?{worker}")
        look("mturk")
    for path in ("rate", "r/expired", "lead", "lead/expired", "nothing"):
        page.goto(f"{url}/{path}")
        look("refused")
        assert page.locator("main .button").count() == 0
    rater.start(one.token)
    rater.press("1", "2", "3", "3")
    look("feedback")
    page.get_by_role("link", name="Continue").click()
    rater.task(1)
    page.locator("form[data-answer]").evaluate("form => { form.noValidate = true; form.requestSubmit(); }")
    page.get_by_role("alert").wait_for()
    look("task")
    page.get_by_role("button", name="Take a break").click()
    look("break")
    study.pause()
    page.goto(f"{url}/r/{two.token}")
    page.get_by_role("button", name="Start").click()
    look("paused")
    study.exclude(two.rater.id, reason="a rehearsal")
    page.reload()
    look("excluded")
    study.resume()
    page.goto(f"{url}/lead/{study.lead_token}")
    look("lead")
    page.goto(f"{url}/lead/texts?words=nothing")
    look("texts")
    page.goto(f"{url}/lead/items/99")
    look("refused")
    page.get_by_role("link", name="Overview").click()
    page.get_by_label("How many").fill("2")
    page.get_by_role("button", name="Add and show").click()
    look("links")

    def away(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    page.goto(f"{url}/r/{three.token}")
    page.get_by_role("button", name="Start").click()
    rater.at("task")
    monkeypatch.setattr(Study, "answer", away)
    for group in page.locator("fieldset").all():
        group.locator("input").first.check(force=True)
    page.locator("form[data-answer]").evaluate("form => form.submit()")  # as without scripts
    look("unsaved")
    assert len(set(looked)) == 12


def test_what_a_screen_reader_is_told(made: Any, opened: Open) -> None:
    study, url = made(2, kind="pair")
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    page = rater.page
    for part in (1, 2):
        group = page.get_by_role("group", name=re.compile(rf"How good is each.*Response {part}$"))
        assert group.get_by_role("radio").count() == 5
        assert group.get_by_role("radio", name="4 good").count() == 1
        assert page.get_by_role("region", name=f"Response {part}").count() == 1
    assert page.get_by_role("region", name="Conversation").get_by_role("listitem").count() == 3
    assert page.get_by_role("progressbar", name="Progress").count() == 1
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("status").count() == 1


def test_text_from_right_to_left(made: Any, opened: Open) -> None:
    study, url = made(1, kind="pair")
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    directions = {
        ARABIC in one.inner_text(): one.evaluate("element => getComputedStyle(element).direction")
        for one in rater.page.locator(".response").all()
    }
    assert directions == {True: "rtl", False: "ltr"}


def test_very_long_texts(made: Any, opened: Open) -> None:
    items = [Item("long", ("x" * 20_000,), context=("word " * 4000,), message="😀" * 5000)]
    study, url = made(items=items)
    rater = opened(url, width=390)
    rater.start(study.add_raters(1)[0].token)
    assert rater.overflow() == 0
    assert len(rater.page.locator(".response").inner_text()) == 20_000
    rater.press("3")
    rater.at("done")
    assert scores(study) == [3]


def test_the_lead_in_a_browser(made: Any, opened: Open) -> None:
    study, url = made(2, raters=2)
    lead = opened(url)
    lead.page.goto(f"{url}/lead/{study.lead_token}")
    assert lead.page.url == f"{url}/lead"
    lead.page.get_by_label("How many").fill("2")
    lead.page.get_by_role("button", name="Add and show").click()
    lead.at("links")
    links = re.findall(r"http\S+", lead.page.locator("textarea").input_value())
    assert len(links) == 2
    rater = opened(url)
    rater.page.goto(links[0])
    rater.page.get_by_role("button", name="Start").click()
    rater.press("4")
    rater.task(2)
    lead.page.get_by_role("link", name="Back").click()
    lead.at("lead")
    row = lead.page.locator("tr#rater-1")
    row.get_by_text("Exclude").first.click()
    row.get_by_label("Reason").fill("a rehearsal")
    row.get_by_role("button", name="Exclude").click()
    lead.page.get_by_text("excluded: a rehearsal").wait_for()
    rater.page.goto(f"{url}/rate")
    rater.at("excluded")
    lead.page.get_by_role("button", name="Pause").click()
    lead.page.get_by_role("button", name="Resume").wait_for()
    assert study.paused
    assert lead.problems == []
    assert lead.outside == []


def test_a_double_click_still_shows_the_new_links(made: Callable[..., tuple[Study, str]], opened: Open) -> None:
    study, url = made(1)
    lead = opened(url)
    lead.page.goto(f"{url}/lead/{study.lead_token}")
    for wanted in (2, 4):
        lead.page.get_by_label("How many").fill("2")
        lead.page.get_by_role("button", name="Add and show the links once").dblclick()
        lead.at("links")
        assert len(lead.page.locator("textarea").input_value().split("/r/")) == 3
        assert len(study.raters()) == wanted
        lead.page.go_back()  # to a form that can be sent again once the page is fresh
        lead.page.get_by_role("link", name="Reload").click()
        lead.at("lead")
    assert lead.problems == []


def test_texts_keep_their_direction_to_themselves(made: Callable[..., tuple[Study, str]], opened: Open) -> None:
    study, url = made(items=[Item("i", (f"{ARABIC} 1",), context=("a \u202eb",), message="c")])
    rater = opened(url)
    rater.start(study.add_raters(1)[0].token)
    assert rater.page.locator(".turn").first.inner_text() == "a \\u202eb"
    kept: list[str] = rater.page.locator("[dir=auto]").evaluate_all(
        "all => all.map(one => getComputedStyle(one).unicodeBidi)"
    )
    assert len(kept) > 5
    assert set(kept) == {"isolate"}


@pytest.mark.parametrize("kind", ["response", "pair", "ranking"])
def test_the_response_is_seen_at_once_below_a_long_conversation(kind: str, made: Any, opened: Open) -> None:
    number = PARTS[kind]
    texts = ("fine", "good", "okay")[:number]
    systems = ("A", "B", "C")[:number] if number > 1 else ()
    said = tuple(f"turn {number} of a long conversation" for number in range(30))
    items = [Item(f"i{n}", texts, context=said, message="how are you?", systems=systems) for n in range(2)]
    study, url = made(kind=kind, items=items)
    rater = opened(url, width=390)
    rater.start(study.add_raters(1)[0].token)
    seen = """all => all.map(one => {
      const [text, box] = [one, one.closest(".reading")].map(each => each.getBoundingClientRect());
      return text.top >= box.top && text.bottom <= box.bottom + 1;
    })"""
    for task in (1, 2):
        rater.task(task)
        shown: list[bool] = rater.page.locator(".turn, .response").evaluate_all(seen)
        assert all(shown[30 : 32 if kind == "ranking" else None])
        assert not shown[0]
        rater.page.wait_for_timeout(SETTLED)
        for place in range(number):
            rater.page.locator("fieldset").nth(place).locator(".choice").first.click()
        if kind == "ranking":
            rater.page.get_by_role("button", name="Submit").click()
    rater.at("done")
    rater.page.get_by_role("button", name="Undo").click()  # what was undone is said at the top
    assert rater.page.locator(".earlier").bounding_box()["y"] < 300  # type: ignore[index]


CHATS = [
    ((), "Any plans for the weekend?", "We are driving up to the lake if the weather holds."),
    (
        ("Hi, how was your trip?", "Long, but worth it."),
        "What did you like most about it?",
        "The food, honestly. Every evening we found another little place by the harbour.",
    ),
    (
        (),
        "My printer says it is offline although the cable is in.",
        (
            "Turn it off, wait ten seconds and turn it on again. If it is still offline, remove it in the settings and "
            "add it again."
        ),
    ),
    (
        ("I failed my driving test again.", "Oh no, I am sorry to hear that."),
        "It is the third time now, and I do not know if I should try again at all.",
        "Third time was the charm for my sister, so for you it will be the fourth. What went wrong this time?",
    ),
    ((), "Is the museum open on Mondays?", "No."),
    (
        ("Which phone should I buy?", "What is your budget?"),
        "Around 300, and the camera matters most to me.",
        (
            "Then look at last year's models: they cost much less now, and their cameras are nearly as good. Ask for "
            "one with optical stabilisation."
        ),
    ),
    (
        (),
        "Can you recommend a book for a long flight?",
        "If you like crime novels, take something by Tana French; they are long and hard to put down.",
    ),
    (("We need milk.", "Anything else?"), "Eggs, and something for dinner tomorrow.", "Fish?"),
    (
        (),
        "Why is the sky blue?",
        "Air scatters blue light more than red light, so blue reaches your eyes from everywhere in the sky.",
    ),
    (
        ("Hello, I ordered shoes last week.", "Welcome! How can I help you?"),
        "They came in the wrong size and I would like to change them for a pair of 42, if you still have them.",
        (
            "I am sorry about that. We still have them in 42. I have sent you a label by mail; put the old pair in the "
            "box and drop it at any post office."
        ),
    ),
    (
        (),
        "I think my flatmate is angry with me.",
        "What makes you think so? Did something happen between the two of you?",
    ),
    (
        ("Do you play any instrument?", "I used to play the cello."),
        "Why did you stop?",
        "No time, mostly. I keep saying that I will start again next year.",
    ),
]
FIT = Question("How well does it fit what was said?", ("not at all", "a little", "partly", "mostly", "fully"), "fit")
HIDDEN = """() => {
  const inside = (one, top, bottom) => {
    const box = one.getBoundingClientRect();
    return box.top >= top - 0.5 && box.bottom <= bottom + 0.5;
  };
  const head = document.querySelector(".progress").getBoundingClientRect().bottom;
  const end = document.querySelector(".reading").getBoundingClientRect().bottom;
  const read = [...document.querySelectorAll(".chat li:last-child, .response")].filter(one => !inside(one, head, end));
  const used = [...document.querySelectorAll(".choice, .actions .button")].filter(one => one.checkVisibility())
    .filter(one => !inside(one, 0, innerHeight));
  return [...read, ...used].map(one => one.textContent.trim());
}"""


@pytest.mark.parametrize(("width", "height"), [(360, 640), (390, 664)])
def test_on_phones_the_response_and_two_scales_are_seen_without_scrolling(
    width: int, height: int, made: Any, opened: Open
) -> None:
    items = [Item(f"i{n}", (text,), context=said, message=last) for n, (said, last, text) in enumerate(CHATS)]
    study, url = made(items=items, questions=(Question(name="quality"), FIT))
    rater = opened(url, width=width)
    rater.page.set_viewport_size({"width": width, "height": height})
    rater.start(study.add_raters(1)[0].token)
    for number in range(1, len(CHATS) + 1):
        rater.task(number)
        assert rater.page.evaluate(HIDDEN) == []
        rater.page.wait_for_timeout(SETTLED)
        for group in rater.page.locator("fieldset").all():
            group.locator(".choice").nth(2).click()
    rater.at("done")


def test_cards_of_the_lead_keep_their_labels_at_the_start(made: Any, opened: Open) -> None:
    study, url = made(items=[Item("i", (ARABIC,))])
    rater = study.add_raters(1)[0].rater.id
    task = study.assign(rater)
    study.answer(rater, task.assignment, (4,), key=task.client_key)
    lead = opened(url, width=390)
    lead.page.goto(f"{url}/lead/{study.lead_token}")
    lead.page.goto(f"{url}/lead/raters/{rater}")
    directions: list[str] = lead.page.locator("td").evaluate_all(
        "all => all.map(one => getComputedStyle(one).direction)"
    )
    assert set(directions) == {"ltr"}
    lead.page.get_by_text("Exclude").first.click()
    lead.page.get_by_label("Reason").fill("a rehearsal")
    lead.page.get_by_role("button", name="Exclude").click()
    lead.at("lead")
    assert study.rater(rater).excluded
    assert lead.problems == []


@pytest.mark.parametrize("width", [320, 1280])
def test_the_lead_sees_trouble_first_and_fresh_numbers(width: int, made: Any, opened: Open) -> None:
    study, url = made(15, raters=3)
    people = [new.rater.id for new in study.add_raters(3)]

    def answer(rater: int, score: int) -> None:
        task = study.assign(rater)
        study.answer(rater, task.assignment, (score,), key=task.client_key)

    for at in range(12):
        answer(people[0], 1 + at % 5)
        answer(people[1], 3)  # always the same
    lead = opened(url, width=width)
    page = lead.page
    page.clock.install()
    page.goto(f"{url}/lead/{study.lead_token}")
    lead.at("lead")
    page.wait_for_load_state()
    rows = page.locator("table.raters tbody tr")
    order = [f"rater-{people[at]}" for at in (1, 0, 2)]
    assert rows.evaluate_all("all => all.map(one => one.id)") == order
    lines: list[int] = page.locator("table.raters td.when").evaluate_all(
        """all => all.map(one => {
          const range = document.createRange();
          range.selectNodeContents(one);
          return range.getClientRects().length;
        })"""
    )
    assert lines == [1, 1, 1]
    assert lead.overflow() == 0
    assert violations(page) == []
    page.locator(f"#rater-{people[1]} summary").click()
    page.get_by_label("Reason").first.fill("a rehearsal")
    answer(people[2], 4)
    page.clock.run_for(31_000)
    page.get_by_text("25 of 45").wait_for()
    assert page.get_by_label("Reason").first.input_value() == "a rehearsal"  # what somebody writes stays
    page.locator(f"#rater-{people[1]} summary").click()
    page.locator("h1").click()
    answer(people[2], 4)
    page.clock.run_for(31_000)
    page.locator(f"#rater-{people[2]} [data-label=Ratings]", has_text="2").wait_for()
    assert lead.problems == []
