"""A full disk and a locked database: raters are told that nothing was saved, and what they sent again is kept."""

from __future__ import annotations

import resource
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from tests.rating.load.harness import SIZE, Killer, Refusals, check, new_study, rate, report
from tests.rating.load.rig import Manners, ServerProcess
from tests.rating.web.conftest import Visitor, state
from trubleu.rating.audit import audit
from trubleu.rating.store import database
from trubleu.rating.web import create_app

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from trubleu.rating import Study

    Make = Callable[..., Study]


def visitor_of(study: Study) -> Visitor:
    return Visitor(TestClient(create_app(study, requests_a_minute=0), raise_server_exceptions=False))


def answered_while_broken(study: Study, break_it: Callable[[], object], mend: Callable[[], object]) -> None:
    """Answer a task, and go on with the page that says it was not saved."""
    visitor = visitor_of(study)
    page = visitor.start(study.add_raters(1)[0].token)
    page = visitor.answer(page, 2)
    before = study.table()
    break_it()
    try:
        found = visitor.answer(page, 4)
        assert (found.status_code, state(found)) == (503, "unsaved")
        assert "Not saved, try again" in found.text
        assert int(found.headers["retry-after"]) > 0
        again = visitor.send(found, "/answer")
        assert again.status_code == 503
        assert study.table() == before
    finally:
        mend()
    assert visitor.send(again, "/answer").status_code == 200
    assert sorted(row.score or 0 for row in study.table()) == [2, 4]
    assert audit(study) == []


@pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
def test_sqlite_has_no_room(make: Make) -> None:
    """The limit is SQLite's own, so its error is the one that a full disk gives."""
    study = make(400)
    full = False

    @event.listens_for(study.store._engine, "checkout")
    def limit(connection: sqlite3.Connection, _record: object, _proxy: object) -> None:
        # It cannot be set below the present size: the next page that is needed is one too many.
        connection.execute(f"PRAGMA max_page_count={1 if full else 2**30}")

    visitor = visitor_of(study)
    page = visitor.start(study.add_raters(1)[0].token)
    full = True
    sent = 0
    # Tables have some room in their last pages; sooner or later an answer needs one more.
    while (found := visitor.answer(page, 4)).status_code == 200 and state(found) == "task":
        page = found
        sent += 1
    assert found.status_code == 503
    assert "Not saved, try again" in found.text
    rows = len(study.table())
    full = False
    if state(found) == "unsaved":  # else it was the next task that could not be handed out
        assert rows == sent
        assert visitor.send(found, "/answer").status_code == 200
        assert len(study.table()) == sent + 1
    else:
        assert rows == sent + 1
        assert state(visitor.get("/rate")) == "task"
    assert audit(study) == []


def test_the_disk_is_full_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's files may not grow for a while, until somebody makes room."""
    refusals = Refusals(monkeypatch)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # cached modules must not end at the limit
    with new_study(tmp_path / "study", None) as study, ServerProcess(study.folder, options=["--quiet"]) as server:

        def no_room_for_a_while() -> None:
            # The journal of SQLite is a file that grows with every answer, up to the next checkpoint.
            assert server.pid is not None
            usual = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
            refusals.forget()
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (4096, usual[1]))
            time.sleep(1)
            refusals.wait()
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, usual)

        killer = Killer(no_room_for_a_while, every=SIZE.kill_every, most=2)
        with killer.at_work():
            done = rate(study, [server.url], Manners(clumsy=0.25), progress=killer.progress)
        assert killer.kills == 2
        assert done.events["not saved at first"] > 0
        check(study, done)
        report("sqlite, disk full twice", study, done)


@pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
def test_sqlite_is_locked(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.2)
    study = make(5)
    with closing(sqlite3.connect(study.folder / "store.db", isolation_level=None)) as other:
        answered_while_broken(study, lambda: other.execute("BEGIN IMMEDIATE"), lambda: other.execute("ROLLBACK"))


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_postgresql_is_locked(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    monkeypatch.setattr(database, "_PATIENCE", 1.0)
    study = make(5)
    address = study.store._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as other:
        lock = "LOCK TABLE assignments IN SHARE MODE"  # readers go on
        answered_while_broken(study, lambda: other.execute(lock), other.rollback)
