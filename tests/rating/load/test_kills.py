"""Servers and databases that die under load: what was acknowledged is there, and every lease comes back."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.rating.load.harness import SIZE, Killer, Refusals, check, kill_in_turn, new_study, rate, report
from tests.rating.load.rig import ServerProcess
from tests.rating.postgres import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.rating.postgres import Server

    NewUrl = Callable[[], str | None]


def test_servers_are_killed_again_and_again(new_url: NewUrl, tmp_path: Path) -> None:
    with new_study(tmp_path / "study", new_url()) as study, ExitStack() as stack:
        number = 1 if study.store.dialect == "sqlite" else 2
        servers = [stack.enter_context(ServerProcess(study.folder)) for _ in range(number)]
        killer = Killer(kill_in_turn(servers), every=SIZE.kill_every)
        with killer.at_work():
            done = rate(study, [server.url for server in servers], progress=killer.progress)
        # Where there are two servers, one goes on while the other one is started.
        assert killer.kills >= (SIZE.ratings // SIZE.kill_every // 2 if number == 1 else 1)
        assert done.events["connections lost"] > 0
        assert done.events["raters left"] > 0
        check(study, done, servers)
        report(f"{study.store.dialect}, servers killed", study, done, kills=killer.kills)


@pytest.fixture
def mortal(postgres: Server) -> Iterator[Server]:
    """A server that no other test needs; `postgres` says what to do where it is not installed."""
    yield from running(durable=True)


def test_postgresql_is_killed_once(mortal: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = Refusals(monkeypatch)

    def kill() -> None:
        mortal.stop(signal.SIGKILL)
        refusals.wait()
        until = time.monotonic() + 300
        while True:
            try:
                mortal.start()
            except RuntimeError:  # what it left behind is still going away
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return

    with new_study(tmp_path / "study", mortal.url()) as study, ServerProcess(study.folder) as server:
        killer = Killer(kill, every=SIZE.ratings // 2, most=1)
        with killer.at_work():
            done = rate(study, [server.url], progress=killer.progress)
        assert killer.kills == 1
        said = server.output.read_text("utf-8")
        assert done.events["not saved at first"] > 0, said[-2000:]
        check(study, done, [server])
        report("postgresql, killed once", study, done, kills=1)
