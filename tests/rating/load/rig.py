"""Simulated raters who answer a study over HTTP, like browsers without JavaScript, and a server for them."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, TypeAlias

import httpx
from sqlalchemy import func, select

from trubleu.errors import UsageError
from trubleu.rating.simulated_ratings import given_scores, true_qualities
from trubleu.rating.store.schema import assignments, items
from trubleu.rating.web.sanitize import visible
from trubleu.simulate.raters import Habits, simulated_raters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from sqlalchemy import Connection

    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress
    from trubleu.rating.items import Item
    from trubleu.rating.study import Study
    from trubleu.simulate.raters import SimulatedRater

    Quality: TypeAlias = Callable[[str, str], float]
    _Shown: TypeAlias = Mapping[tuple[tuple[str, ...], frozenset[str]], Mapping[str, tuple[Item, tuple[float, ...]]]]


@dataclass(frozen=True, slots=True)
class Manners(Habits):
    """How simulated raters use the pages, besides how they rate.

    Attributes
    ----------
    clumsy
        The share of those who send answers twice, lose the connection while sending, take answers back and say that
        they cannot judge.
    slow
        The share of those who keep a task open while they do something else, and answer it later.
    leaving
        The share of those who at some time take a task and never come back.
    """

    clumsy: float = 0.0
    slow: float = 0.0
    leaving: float = 0.0


_STARTED = re.compile(r"listening at (http://\S+:(\d+))")
_PATIENCE = 60.0  # seconds until a server has started


class ServerProcess:
    """Run ``trubleu rate serve`` on a free local port, until the block ends.

    Parameters
    ----------
    folder
        The study.
    options
        More options of ``trubleu rate serve``; there is no limit on requests unless they set one.

    Attributes
    ----------
    url
        Where it is.
    output
        The temporary file with all that it prints.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> Study.create(folder, StudyConfig("Good answers", "response"), [Item("7", ("fine",))]).close()
    >>> with ServerProcess(folder) as server:
    ...     print(server.url.rpartition(":")[0])
    http://127.0.0.1
    """

    def __init__(self, folder: PathLike, *, options: Sequence[str] = ()) -> None:
        self._folder = folder
        self._options = ["--requests", "0", *options]
        handle, output = tempfile.mkstemp(prefix="trubleu-serve-", suffix=".log")
        os.close(handle)
        self.output = Path(output)
        self.url = ""
        self._port = "0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, on its previous port if it was killed, and wait until it listens.

        Raises
        ------
        UsageError
            If it does not start, with what it says.
        """
        # It ends with this process, even if that is killed.
        served = ("rate", "serve", str(self._folder), "--port", self._port, *self._options)
        command = [sys.executable, "-u", str(Path(__file__).with_name("run_with_parent.py")), str(os.getpid()), *served]
        with self.output.open("ab") as stream:
            before = stream.tell()
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT)
        until = time.monotonic() + _PATIENCE
        while True:
            ended = self._process.poll() is not None
            with self.output.open("rb") as stream:
                stream.seek(before)
                said = stream.read().decode("utf-8", "replace")
            if (found := _STARTED.search(said)) is not None:
                self.url, self._port = found.groups()
                return
            if ended or time.monotonic() > until:
                self.kill()
                reason = said.strip().splitlines()[-1].removeprefix("trubleu: ") if said.strip() else "it says nothing"
                raise UsageError(f"the server of {self._folder} does not start: {reason}")
            time.sleep(0.02)

    @property
    def pid(self) -> int | None:
        """Its process id, None if it is not running."""
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        """Kill it immediately, as a power failure would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop it gracefully."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            self.output.unlink(missing_ok=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.output.unlink(missing_ok=True)


_STATE = re.compile(r'<main [^>]*data-state="(\w+)"')
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
_TURN = re.compile(r'<div class="turn" dir="auto">(.*?)</div>', re.DOTALL)
_TEXT = re.compile(r'<div class="response" dir="auto" id="text-\d">(.*?)</div>', re.DOTALL)
_SECONDS: Final = 60.0  # timeout of a server response


@dataclass(frozen=True, slots=True)
class Page:
    """A page received by a browser.

    Attributes
    ----------
    status
        Of HTTP.
    html
        The page.

    Examples
    --------
    >>> page = Page(200, '<main id="main" data-state="task"><div class="turn" dir="auto">1 &lt; 2?</div></main>')
    >>> page.state, page.turns
    ('task', ('1 < 2?',))
    """

    status: int
    html: str

    @property
    def state(self) -> str:
        """The kind of page."""
        found = _STATE.search(self.html)
        return found.group(1) if found else ""

    @property
    def turns(self) -> tuple[str, ...]:
        """The conversation."""
        return tuple(map(unescape, _TURN.findall(self.html)))

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts to rate."""
        return tuple(map(unescape, _TEXT.findall(self.html)))

    def fields(self, path: str = "") -> dict[str, str]:
        """Return the preset fields of the form whose URL ends with ``path``, else of the first form."""
        found = re.search(rf'<form [^>]*action="[^"]*{re.escape(path)}".*?</form>', self.html, re.DOTALL)
        found = found or re.search(r"<form.*?</form>", self.html, re.DOTALL)
        return {name: unescape(value) for name, value in _HIDDEN.findall(found.group() if found else "")}

    @property
    def can_undo(self) -> bool:
        """Whether there is an undo button."""
        return "data-undo" in self.html


class Browser:
    """A browser, used by one rater after another.

    Parameters
    ----------
    urls
        Where the study is served.
    patience
        For how many seconds a server that does not answer is tried again.
    stopped
        Is set when nobody needs an answer any more.

    Attributes
    ----------
    url
        The server that is being used.
    events
        What went wrong, and how often.
    """

    def __init__(self, urls: Sequence[str], *, patience: float, stopped: threading.Event) -> None:
        self._urls = urls
        self.events: Counter[str] = Counter()
        self._patience = patience
        self._stopped = stopped
        self._cookies: dict[str, str] = {}
        self.url = urls[0]
        # Without its own cookie jar: each rater has one, and passes it in.
        self._client = httpx.Client(verify=_certificates(), timeout=_SECONDS, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def take_over(self, cookies: dict[str, str], number: int) -> None:
        """Switch to a rater's cookies, at one of the servers."""
        self._cookies = cookies
        self.url = self._urls[number % len(self._urls)]

    def enter(self, token: str) -> Page:
        """Open a rater's link."""
        if self._ask("GET", f"/r/{token}").status == 404:
            raise UsageError(f"{self.url} does not know the raters of this study; does it serve another one?")
        return self.open("/rate")

    def open(self, path: str) -> Page:
        """Open a page."""
        return self._ask("GET", path)

    def send(self, page: Page, path: str, fields: Mapping[str, str] | None = None) -> Page:
        """Submit the form of a page, retrying until it is stored, and open the next page."""
        kept = self._ask("POST", path, {**page.fields(path), **(fields or {})})
        return self.open("/rate") if kept.status == 303 else kept

    def send_and_hang_up(self, page: Page, path: str, fields: Mapping[str, str]) -> None:
        """Submit the form of a page and drop the connection before the response."""
        wait = httpx.Timeout(_SECONDS, read=0.0001)
        try:
            self._request("POST", path, {**page.fields(), **fields}, wait)
        except httpx.TransportError:
            self.events["connections lost"] += 1

    def _request(self, method: str, path: str, fields: Mapping[str, str] | None, wait: object = None) -> httpx.Response:
        self._client.cookies.clear()
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        timeout = wait if isinstance(wait, httpx.Timeout) else httpx.USE_CLIENT_DEFAULT
        response = self._client.request(
            method, self.url + path, data=fields, headers=headers if self._cookies else None, timeout=timeout
        )
        self._cookies.update(response.cookies)
        return response

    def _ask(self, method: str, path: str, fields: Mapping[str, str] | None = None) -> Page:
        until = time.monotonic() + self._patience
        while not self._stopped.is_set():
            try:
                response = self._request(method, path, fields)
            except httpx.InvalidURL as error:
                raise UsageError(f"{self.url} is not the address of a server; write http://HOST:PORT") from error
            except httpx.TransportError as error:
                self.events["connections lost"] += 1
                if time.monotonic() > until:
                    raise UsageError(f"{self.url} does not answer: {error}; start trubleu rate serve there") from error
                self._stopped.wait(0.1)
                continue
            match response.status_code:
                case 200 | 303 | 404 | 409:
                    return Page(response.status_code, response.text)
                case 429:
                    self.events["too fast"] += 1
                    self._stopped.wait(_retry_after(response, 1.0))
                    until = time.monotonic() + self._patience
                case 503 if time.monotonic() < until:
                    self.events["not saved at first"] += 1
                    self._stopped.wait(min(0.5, _retry_after(response, 0.5)))
                case status:
                    raise UsageError(f"{self.url} answers a simulated rater with status {status}; see what it prints")
        raise UsageError("the simulation was stopped")


def _retry_after(response: httpx.Response, usual: float) -> float:
    try:
        return float(response.headers.get("retry-after", usual))
    except ValueError:
        return usual


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return the TLS context; slow to create, so all browsers share one."""
    return ssl.create_default_context()


LABEL = "simulated"
_SESSION = 10  # tasks before a rater takes a break and comes back with the same cookie
_LONGEST_WAIT = 60.0  # seconds to wait for the tasks of raters who left


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """An answer that the server confirmed.

    Attributes
    ----------
    rater
        The rater's number in the study.
    task
        The number of the assignment.
    scores
        In the order in which the texts were shown; None for "cannot judge".
    """

    rater: int
    task: int
    scores: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Simulation:
    """The results of a simulation.

    Attributes
    ----------
    raters
        Their numbers in the study.
    tokens
        The tokens of their links.
    answers
        Every answer that the server said it has kept, practice and those taken back included.
    events
        What happened on the way, and how often: answers taken back, sent twice or too late, raters who left, lost
        connections, answers that were not saved at first, raters who were too fast.
    missing
        How many ratings the study still lacks.
    seconds
        How long it took.
    """

    raters: tuple[int, ...]
    tokens: tuple[str, ...] = field(repr=False)
    answers: tuple[SentAnswer, ...] = field(repr=False)
    events: Counter[str]
    missing: int
    seconds: float


def simulate(
    study: Study,
    raters: int,
    *,
    urls: Sequence[str],
    habits: Manners | None = None,
    at_once: int = 8,
    seed: int = 1,
    seconds: float = 0.0,
    patience: float = 60.0,
    quality: Quality | None = None,
    progress: Progress = lambda _done: None,
) -> Simulation:
    """Let simulated raters answer a study until nothing is left for them.

    They are added to the study under labels that begin with ``simulated``, and use it as people do: with the cookie of
    their link, through forms, in sessions between which others come.

    Parameters
    ----------
    study
        The study.
    raters
        How many.
    urls
        Where it is served; with several servers of one study, raters change between them.
    habits
        What they are like.
    at_once
        How many are there at the same time.
    seed
        Of all that is drawn. The same raters give the same scores to the same texts of the same items; who gets which
        item also depends on who is faster.
    seconds
        How long a task takes on average; never less than the settings of the study ask for.
    patience
        For how many seconds a server that does not answer is tried again.
    quality
        Tells how good a text is from 1 to 5, given the message and the text, such as `trubleu.simulate.World.quality`;
        without it, the truth is made up (see `trubleu.rating.simulated_ratings.true_qualities`).
    progress
        Is told how many answers were kept since the last time.

    Raises
    ------
    UsageError
        If an option is wrong, a server does not answer, or it serves another study.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> config = StudyConfig("Good answers", "response", raters=2)
    >>> with Study.create(folder, config, [Item("7", ("fine",), message="how are you?")]) as study:
    ...     with ServerProcess(folder) as server:
    ...         done = simulate(study, 3, urls=[server.url])
    ...     len(done.answers), done.missing, len(study.table())
    (2, 0, 2)
    """
    habits = Manners() if habits is None else habits
    people = simulated_raters(raters, habits, seed=seed)
    before = sum((person.label or "").startswith(f"{LABEL} ") for person in study.raters())
    new = study.add_raters(raters, labels=[f"{LABEL} {before + number}" for number in range(1, raters + 1)])
    pause = max(seconds, study.config.minimum_seconds)
    crowd = _Crowd(
        study, [url.rstrip("/") for url in urls], _by_what_is_shown(study, seed, quality), pause, patience, progress
    )
    draw = Random(f"manners/{seed}")
    clumsy, slow, leaving = (
        draw.sample(range(raters), round(share * raters)) for share in (habits.clumsy, habits.slow, habits.leaving)
    )
    visitors = [
        _Visitor(
            person,
            each.rater.id,
            each.token,
            Random(f"{person.name}/habits"),
            number in clumsy,
            number in slow,
            draw.randint(1, 12) if number in leaving else None,
        )
        for number, (person, each) in enumerate(zip(people, new, strict=True))
    ]
    began = time.monotonic()
    crowd.rate(visitors, at_once)
    crowd.events["raters left"] = sum(visitor.left for visitor in visitors)
    return Simulation(
        tuple(each.rater.id for each in new),
        tuple(each.token for each in new),
        tuple(crowd.answers),
        +crowd.events,
        study.store.read(_missing),
        time.monotonic() - began,
    )


@dataclass(slots=True)
class _Visitor:
    """An active rater: their cookies, and the page they have open."""

    person: SimulatedRater
    number: int
    token: str
    draw: Random
    clumsy: bool
    slow: bool
    leaves_after: int | None
    cookies: dict[str, str] = field(default_factory=dict)
    kept: Page | None = None
    answered: int = 0
    sessions: int = 0
    done: bool = False
    left: bool = False


@dataclass(slots=True)
class _Crowd:
    """All raters of a simulation, and what they have seen of the study."""

    study: Study
    urls: Sequence[str]
    shown: _Shown
    pause: float
    patience: float
    progress: Progress
    events: Counter[str] = field(default_factory=Counter)
    answers: list[SentAnswer] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _error: BaseException | None = None

    def rate(self, visitors: Sequence[_Visitor], at_once: int) -> None:
        """Let all raters rate until nothing is left."""
        while True:
            before = len(self.answers)
            staying = [visitor for visitor in visitors if not visitor.left]
            for visitor in staying:
                visitor.done = False
            self._round(staying, at_once)
            if not self.study.store.read(_missing):
                return
            # The rest may be leased to raters who left, or a returned task may have become open to others.
            until = self.study.store.read(_next_lease_ends)
            if until is not None:
                wait = (until - self.study.now()) / 1000 + 0.05
                if wait > _LONGEST_WAIT:
                    return
                time.sleep(max(0.0, wait))
            elif len(self.answers) == before:
                return

    def _round(self, visitors: Sequence[_Visitor], at_once: int) -> None:
        waiting = deque(visitors)

        def work() -> None:
            browser = Browser(self.urls, patience=self.patience, stopped=self._stopped)
            try:
                while not self._stopped.is_set():
                    try:
                        visitor = waiting.popleft()
                    except IndexError:
                        return
                    self._session(visitor, browser)
                    if not visitor.done and not visitor.left:
                        waiting.append(visitor)
            except BaseException as error:
                with self._lock:  # raters that are stopped because of it have errors of their own
                    self._error = self._error or error
                self._stopped.set()
            finally:
                browser.close()
                with self._lock:
                    self.events += browser.events

        threads = min(at_once, len(visitors))
        with ThreadPoolExecutor(max(1, threads)) as pool:
            working = [pool.submit(work) for _ in range(threads)]
            try:
                for each in working:
                    each.result()
            except BaseException:  # such as Ctrl-C
                self._stopped.set()
                raise
        if self._error is not None:
            raise self._error

    def _session(self, visitor: _Visitor, browser: Browser) -> None:
        browser.take_over(visitor.cookies, visitor.number + visitor.sessions)
        visitor.sessions += 1
        page, visitor.kept = visitor.kept, None
        if page is None:
            page = browser.open("/rate") if visitor.cookies else browser.enter(visitor.token)
        for number in range(_SESSION):
            match page.state:
                case "consent" | "instructions":
                    page = browser.send(page, "/consent" if page.state == "consent" else "/instructed")
                case "task":
                    if visitor.answered == visitor.leaves_after:
                        visitor.left = True
                        return
                    if visitor.slow and number and visitor.draw.random() < 0.2:
                        visitor.kept = page
                        return
                    page = self._answer(visitor, browser, page)
                case "feedback":
                    page = browser.open("/rate")
                case "paused":
                    raise UsageError(f"{self.study.folder} is paused; trubleu rate resume continues it")
                case "done" | "excluded":
                    visitor.done = True
                    return
                case _:
                    raise UsageError(f"{browser.url} shows a page that no study has; check the address")

    def _answer(self, visitor: _Visitor, browser: Browser, page: Page) -> Page:
        person, draw = visitor.person, visitor.draw
        if self.pause:
            least = self.study.config.minimum_seconds
            self._stopped.wait(max(least, self.pause * draw.uniform(0.5, 1.5)))
        clumsy = visitor.clumsy
        scores = None if clumsy and draw.random() < 0.03 else self._scores(person, page, browser.url)
        names = [slot.name for slot in self.study.config.slots]
        fields = {"unable": "1"} if scores is None else dict(zip(names, map(str, scores), strict=True))
        if clumsy and draw.random() < 0.2:
            browser.send_and_hang_up(page, "/answer", fields)
        answer = browser.send(page, "/answer", fields)
        if answer.status == 409:
            self._happened("too late")
            return browser.open("/rate")
        with self._lock:
            self.answers.append(SentAnswer(visitor.number, int(page.fields()["task"]), scores))
            self.progress(1)
        visitor.answered += 1
        if clumsy and draw.random() < 0.2:
            browser.send(page, "/answer", fields)
            self._happened("sent twice")
        if clumsy and answer.can_undo and draw.random() < 0.05:
            answer = browser.send(answer, "/undo")
            self._happened("taken back")
        return answer

    def _happened(self, what: str) -> None:
        with self._lock:
            self.events[what] += 1

    def _scores(self, person: SimulatedRater, page: Page, url: str) -> tuple[int, ...]:
        by_key = self.shown.get((page.turns, frozenset(page.texts)))
        if by_key is None:
            raise UsageError(f"{url} shows a text that {self.study.folder} does not have; is it another study?")
        # Pages do not name their item; this only matters if several look alike.
        key = next(iter(by_key)) if len(by_key) == 1 else self._key(int(page.fields()["task"]))
        if key is None or key not in by_key:
            raise UsageError(f"{url} shows another item than {self.study.folder} has there; is it another study?")
        item, qualities = by_key[key]
        given = given_scores(person, self.study.config, item, qualities)
        each = len(given) // len(item.texts)
        parts = {visible(text): given[each * at : each * (at + 1)] for at, text in enumerate(item.texts)}
        return tuple(score for text in page.texts for score in parts[text])

    def _key(self, task: int) -> str | None:
        shown = select(items.c.key).join(assignments, items.c.id == assignments.c.item).where(assignments.c.id == task)
        return self.study.store.read(lambda connection: connection.execute(shown).scalar())


def _by_what_is_shown(study: Study, seed: int, quality: Quality | None) -> _Shown:
    """Return items with the quality of their texts, by the visible content and key."""
    found: dict[tuple[tuple[str, ...], frozenset[str]], dict[str, tuple[Item, tuple[float, ...]]]] = {}
    for item in (stored.item for stored in study.items()):
        turns = tuple(map(visible, (*item.context, *(() if item.message is None else (item.message,)))))
        good = true_qualities(item, study.config, seed=seed, quality=quality)
        found.setdefault((turns, frozenset(map(visible, item.texts))), {})[item.key] = (item, good)
    return found


def _missing(connection: Connection) -> int:
    lacking = select(func.coalesce(func.sum(items.c.wanted - items.c.counted), 0)).where(items.c.role == "item")
    return int(connection.execute(lacking).scalar_one())


def _next_lease_ends(connection: Connection) -> int | None:
    """Return when the next lease expires."""
    out = select(func.min(assignments.c.lease_until)).join(items, items.c.id == assignments.c.item)
    return connection.execute(out.where(assignments.c.state == "leased", items.c.role == "item")).scalar()
