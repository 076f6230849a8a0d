"""Simulated raters under load and faults: small in every run of the tests, at full size with TRUBLEU_SOAK=1."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tests.rating.load import rig
from tests.rating.load.rig import Manners, simulate
from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import httpx
    import pytest

    from tests.rating.load.rig import ServerProcess, Simulation

SOAK = bool(os.environ.get("TRUBLEU_SOAK"))
LEASE_MINUTES = 0.1  # the shortest that a study may have: those of raters who left must come back


@dataclass(frozen=True)
class Size:
    """How large a load is, and after how many answers something is killed again."""

    raters: int
    at_once: int
    items: int
    wanted: int
    kill_every: int

    @property
    def ratings(self) -> int:
        return self.items * self.wanted


SIZE = Size(200, 50, 5000, 5, 1000) if SOAK else Size(12, 6, 60, 3, 40)
# Few raters must be odd more often, so that everything happens.
HABITS = Manners(lazy=0.1, slow=0.25, clumsy=0.25 if SOAK else 0.5, leaving=0.1 if SOAK else 0.25)


def new_study(folder: Path, store_url: str | None, items: int = SIZE.items, **settings: object) -> Study:
    """A study of the size, whose leases are as short as can be."""
    config = StudyConfig("Load", "response", raters=SIZE.wanted, lease_minutes=LEASE_MINUTES)
    made = [
        Item(f"s{at // 15}#{at}", (f"response {at}",), message=f"message {at // 15}", extra={"origin": "mined"})
        for at in range(items)
    ]
    return Study.create(folder, replace(config, **settings), made, store_url=store_url)  # type: ignore[arg-type]


def rate(
    study: Study, urls: Sequence[str], habits: Manners = HABITS, progress: Callable[[int], object] = lambda _: None
) -> Simulation:
    return simulate(study, SIZE.raters, urls=urls, habits=habits, at_once=SIZE.at_once, patience=120, progress=progress)


def check(study: Study, done: Simulation, servers: Sequence[ServerProcess] = ()) -> None:
    """Everything acknowledged is there once, nothing else is, every item has what it needs, and no token is told."""
    assert done.missing == 0
    counted = Counter((row.item.id, row.rater) for row in study.table() if row.counted)
    assert set(counted.values()) == {1}
    assert Counter(item for item, _ in counted) == {item.id: item.wanted for item in study.items()}
    # Where an answer came late, but before that of whoever had the task by then, a lease is left, which ends with time.
    study.release(now=study.now() + round(LEASE_MINUTES * 60_000) + 1)
    assert {item.load for item in study.items()} == {SIZE.wanted}, "a lease is still out"

    sent: Counter[object] = Counter((answer.rater, answer.task, answer.scores) for answer in done.answers)
    kept: Counter[object] = Counter(
        (row.rater, row.assignment, row.scores) for row in study.log() if row.kind in {"answered", "unable"}
    )
    assert sent - kept == Counter(), "answers that were acknowledged are lost"
    assert kept - sent == Counter(), "there are answers that nobody was told of"
    assert sum(row.kind == "undone" for row in study.log()) == done.events["taken back"]
    assert audit(study) == []

    secrets = [study.lead_token, study.secret, *done.tokens]
    for server in servers:
        said = server.output.read_text("utf-8", "replace")
        assert "POST /answer" in said
        assert not [secret for secret in secrets if secret in said]
        assert "Traceback" not in said


class Killer:
    """Kills something whenever so many more answers were acknowledged, and starts it again."""

    def __init__(self, kill: Callable[[], object], *, every: int, most: int = 10**9) -> None:
        self._kill = kill
        self._every = every
        self._most = most
        self._acknowledged = 0
        self._more = threading.Condition()
        self._over = False
        self._error: BaseException | None = None
        self.kills = 0

    def progress(self, number: int) -> None:
        with self._more:
            self._acknowledged += number
            self._more.notify_all()

    def _work(self) -> None:
        try:
            while self.kills < self._most:
                with self._more:
                    goal = self._acknowledged + self._every
                    while self._acknowledged < goal and not self._over:
                        self._more.wait()
                    if self._over:
                        return
                self._kill()
                self.kills += 1
        except BaseException as error:
            self._error = error

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work)
        thread.start()
        try:
            yield
        finally:
            with self._more:
                self._over = True
                self._more.notify_all()
            thread.join()
        if self._error is not None:
            raise self._error


class Refusals:
    """Tells when the next rater hears that something was not saved: faults last until somebody has met them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._heard = threading.Event()
        usual = rig._retry_after

        def noted(response: httpx.Response, seconds: float) -> float:
            if response.status_code == 503:
                self._heard.set()
            return usual(response, seconds)

        patch.setattr(rig, "_retry_after", noted)

    def forget(self) -> None:
        self._heard.clear()

    def wait(self) -> None:
        assert self._heard.wait(300), "nobody was refused"


def kill_in_turn(servers: Sequence[ServerProcess]) -> Callable[[], None]:
    turns = count()

    def kill() -> None:
        server = servers[next(turns) % len(servers)]
        server.kill()
        server.start()

    return kill


def report(name: str, study: Study, done: Simulation, **more: object) -> None:
    """Keep the figures of a full run with raters."""
    figures = {
        "raters": len(done.raters),
        "items": len(study.items()),
        "ratings per item": study.config.raters,
        "answers": len(done.answers),
        "uncounted": sum(not row.counted for row in study.table()),
        "unable": sum(answer.scores is None for answer in done.answers),
        "seconds": round(done.seconds, 1),
        "answers a second": round(len(done.answers) / done.seconds, 1),
        **done.events,
        **more,
    }
    keep(name, figures)


def keep(name: str, figures: Mapping[str, object]) -> None:
    """Keep the figures of a full run."""
    path = os.environ.get("TRUBLEU_SOAK_OUT")
    if not path:
        return
    line = json.dumps({"run": name, **figures, "at": time.strftime("%Y-%m-%d", time.gmtime())})
    with Path(path).open("a") as stream:
        stream.write(line + "\n")
    print(line)
