"""The store: versions, durability, and what is said when the database fails."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from tests.rating.postgres import Server
from trubleu.errors import DataError, StoreBusyError, StoreError, StoreFullError, TrubleuError, UsageError
from trubleu.rating import Item, Study, StudyConfig, read_config
from trubleu.rating.audit import audit
from trubleu.rating.store import SCHEMA, Store, database

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    Make = Callable[..., Study]

CONFIG = StudyConfig("T", "response")
ITEMS = [Item("k", ("text",))]


def test_a_study_is_a_folder_with_private_tokens(make: Make) -> None:
    study = make(1, secret=None)
    files = {path.name for path in study.folder.iterdir() if not path.name.startswith("store.db-")}
    mine = "store.db" if study.store.dialect == "sqlite" else "store.url"
    assert files == {"study.yaml", "lead.token", "secret.key", mine}
    for name in ("lead.token", "secret.key", mine):
        assert stat.S_IMODE((study.folder / name).stat().st_mode) == 0o600
    assert study.is_lead(study.lead_token)
    assert not study.is_lead("")
    assert not study.is_lead(study.lead_token + "é")
    assert len(study.secret) > 30
    with Study.open(study.folder) as again:
        assert (again.id, again.secret, again.config) == (study.id, study.secret, study.config)


@pytest.mark.parametrize("statement", ["UPDATE log SET note = 'x'", "DELETE FROM log"])
def test_the_log_refuses_changes(make: Make, statement: str) -> None:
    study = make(1)
    study.add_raters(1)
    with pytest.raises(StoreError, match="the log of a study only grows"):
        study.store.write(lambda connection: connection.execute(text(statement)))
    assert [row.kind for row in study.log()] == ["joined"]


def test_the_log_in_postgresql_cannot_be_emptied_either(make: Make) -> None:
    study = make(1)
    if study.store.dialect == "postgresql":
        with pytest.raises(StoreError, match="the log of a study only grows"):
            study.store.write(lambda connection: connection.execute(text("TRUNCATE log")))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            str(SCHEMA + 1),
            f"has tables of version {SCHEMA + 1}, not {SCHEMA} as this TruBLEU; update TruBLEU",
        ),
        (
            str(SCHEMA - 1),
            (
                f"has tables of version {SCHEMA - 1}, not {SCHEMA} as this TruBLEU; export its ratings with "
                "the TruBLEU that made it, and trubleu rate import them into a new study"
            ),
        ),
        ("x", "does not say which version its tables have; restore it from a backup"),
    ],
)
def test_other_versions_are_refused(make: Make, version: str, message: str) -> None:
    study = make(1)
    study.store.put("schema", version)
    for copy in (False, True):
        with pytest.raises(DataError) as raised:
            Study.open(study.folder, copy=copy)
        assert str(raised.value) == f"{study.store.name} {message}"
    assert study.store.get("schema") == version


def test_an_entry_without_a_hash_is_refused(make: Make) -> None:
    study = make(1)
    add = text("INSERT INTO log (at, kind) VALUES (1, 'joined')")
    with pytest.raises(StoreError, match=r"NOT NULL constraint failed: log\.mac|violates not-null"):
        study.store.write(lambda connection: connection.execute(add))
    assert study.log() == []


def test_what_is_no_study_is_refused(tmp_path: Path, make: Make) -> None:
    with pytest.raises(DataError, match=r"has no study: there is no study.yaml; create one with trubleu rate new"):
        Study.open(tmp_path)
    study = make(1)
    with pytest.raises(UsageError, match=r"already holds something .*; give another folder"):
        Study.create(study.folder, CONFIG, ITEMS)
    settings = study.folder / "study.yaml"
    settings.write_text(settings.read_text().replace("kind: response", "kind: pair"))
    with pytest.raises(DataError, match="says kind: pair, but the study was made as response; change it back"):
        Study.open(study.folder)
    with pytest.raises(DataError, match=r"cannot be created: there is no folder .*; create it first"):
        Study.create(tmp_path / "no" / "such", CONFIG, ITEMS)
    with pytest.raises(DataError, match=r"study.yaml:9: raters must be a whole number from 1 to 1,000, not '0'"):
        Study.create(tmp_path / "zero", StudyConfig("T", "response", raters=0), ITEMS)
    assert not (tmp_path / "zero").exists()
    assert not list(tmp_path.glob(".trubleu*"))


def test_a_database_holds_one_study(make: Make, tmp_path: Path) -> None:
    study = make(1)
    if study.store.dialect == "sqlite":
        url = f"sqlite:///{study.folder / 'store.db'}"
    else:
        url = (study.folder / "store.url").read_text().strip()
    with pytest.raises(UsageError, match="already holds a study; give every study a database of its own"):
        Study.create(tmp_path / "other", CONFIG, ITEMS, store_url=url)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "the store's URL cannot be read; write postgresql"),
        ("mysql://a/b", "a store cannot be kept in mysql; use SQLite"),
        ("postgresql+asyncpg://a/b", "a store cannot be kept in postgresql+asyncpg; use SQLite"),
        ("postgresql://u:hunter2@127.0.0.1:1/x", "cannot be reached"),
    ],
)
def test_addresses_that_cannot_be_used_are_refused_without_the_password(tmp_path: Path, url: str, message: str) -> None:
    with pytest.raises(TrubleuError) as raised:
        Study.create(tmp_path / "s", CONFIG, ITEMS, store_url=url)
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert not (tmp_path / "s").exists()


def test_files_that_are_no_database_are_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="cannot be used: file is not a database; check who may"):
        Store.open(f"sqlite:///{tmp_path / 'store.db'}")
    with pytest.raises(DataError, match=r"none.db: there is no such file; check the path of the study"):
        Store.open(f"sqlite:///{tmp_path / 'none.db'}")
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE a (b)").connection.close()
    with pytest.raises(DataError, match="has no study; create one with trubleu rate new"):
        Store.open(f"sqlite:///{tmp_path / 'empty.db'}")


def test_any_folder_can_hold_a_study(tmp_path: Path) -> None:
    folder = tmp_path / "a?b=c#d%20 é"
    Study.create(folder, CONFIG, ITEMS).close()
    with Study.open(folder) as study:
        assert study.store.name == str(folder / "store.db")
        assert len(study.items()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_of_gold_items_comes_along(tmp_path: Path) -> None:
    (tmp_path / "known answers.jsonl").write_text('{"response": "a\u2028b", "accepted": [1, 2]}\n')
    (tmp_path / "settings.yaml").write_text("title: T\nkind: response\ngold: {share: 0.5, file: known answers.jsonl}\n")
    config = read_config(tmp_path / "settings.yaml")
    Study.create(tmp_path / "s", config, ITEMS).close()
    (tmp_path / "known answers.jsonl").unlink()
    with Study.open(tmp_path / "s") as study:
        assert study.config.gold.items == config.gold.items
        assert study.config.gold.file == "gold.jsonl"
        assert [stored.item for stored in study.items() if stored.role == "gold"] == list(config.gold.items)


def sqlite_study(tmp_path: Path, items: int = 2) -> tuple[Study, int]:
    study = Study.create(tmp_path / "s", CONFIG, [Item(f"k{n}", ("t" * 500,)) for n in range(items)])
    return study, study.add_raters(1)[0].rater.id


def test_a_locked_database_is_said_to_be_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    study, rater = sqlite_study(tmp_path)
    study.close()
    with Study.open(study.folder) as study:
        task = study.assign(rater)
        assert task is not None
        blocker = sqlite3.connect(study.folder / "store.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match=r"is locked or cannot be reached: database is locked; try again"):
            study.answer(rater, task.assignment, (3,), key=task.client_key)
        assert study.table() == []  # reading goes on
        blocker.close()
        assert study.answer(rater, task.assignment, (3,), key=task.client_key).counted


def test_threads_that_wait_too_long_are_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, rater = sqlite_study(tmp_path)
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    inside, leave = threading.Event(), threading.Event()

    def hold(_connection: Connection) -> None:
        inside.set()
        leave.wait(300)

    with study:
        thread = threading.Thread(target=study.store.write, args=(hold,))
        thread.start()
        assert inside.wait(300)
        with pytest.raises(StoreBusyError, match="is busy: others are writing to it; try again"):
            study.assign(rater)
        leave.set()
        thread.join()
        assert study.assign(rater) is not None


def test_a_full_disk_is_said_and_leaves_what_was_there(tmp_path: Path) -> None:
    study, rater = sqlite_study(tmp_path, items=3)
    with study:
        task = study.assign(rater)
        assert task is not None

        def fill(connection: Connection) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
            for number in range(10_000):
                connection.exec_driver_sql("INSERT INTO meta (key, value) VALUES (?, ?)", (f"fill{number}", "x" * 3000))

        with pytest.raises(StoreFullError, match="cannot grow: database or disk is full; make room on its disk"):
            study.store.write(fill)
        assert audit(study) == []
        assert study.answer(rater, task.assignment, (3,), key=task.client_key).counted


def test_sqlite_waits_for_the_disk(tmp_path: Path) -> None:
    study, _ = sqlite_study(tmp_path)
    with study:
        settings = study.store.read(
            lambda connection: [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
            ]
        )
    assert settings == ["wal", 2, 1, 1]


WORKER = """
import sys
from trubleu.rating import Study
study = Study.open(sys.argv[1])
rater = int(sys.argv[2])
while sys.stdin.read(1) and (task := study.assign(rater)) is not None:
    study.answer(rater, task.assignment, (3,), key=task.client_key)
    print(task.item.key, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(make: Make) -> None:
    study = make(200, raters=1)
    rater = study.add_raters(1)[0].rater.id
    told: list[str] = []
    for _ in range(3):
        command = [sys.executable, "-c", WORKER, str(study.folder), str(rater)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            # It may do some more than it is killed after, but never all, however late that is seen here.
            process.stdin.write("." * 20)
            process.stdin.flush()
            for number, line in enumerate(process.stdout, 1):
                told.append(line.strip())
                if number == 10:
                    os.kill(process.pid, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
    kept = {row.key for row in study.table()}
    assert set(told) <= kept
    assert len(kept) <= len(told) + 3  # at most the answer that nobody was told of, each time
    assert audit(study) == []


def test_what_was_acknowledged_survives_a_crash_of_postgresql(tmp_path: Path, postgres: Server) -> None:
    server = Server.make(durable=True)
    try:
        server.start()
        study = Study.create(tmp_path / "s", StudyConfig("T", "response"), [Item(f"k{n}", ("t",)) for n in range(9)],
                             store_url=server.url())  # fmt: skip
        rater = study.add_raters(1)[0].rater.id
        told = []
        for number in range(9):
            if number == 5:
                server.stop(signal.SIGQUIT)
                with pytest.raises(StoreBusyError, match="cannot be reached") as raised:
                    study.assign(rater)
                assert "\n" not in str(raised.value)
                server.start()
            task = study.assign(rater)
            assert task is not None
            study.answer(rater, task.assignment, (3,), key=task.client_key)
            told.append(task.item.key)
        assert sorted(row.key for row in study.table()) == sorted(told)
        assert len(told) == 9
        assert audit(study) == []
        study.close()
    finally:
        server.remove()


def test_what_is_read_in_one_go_is_of_one_moment(make: Make) -> None:
    study = make(2)

    def count_twice(connection: Connection) -> tuple[int, int]:
        first = connection.execute(text("SELECT count(*) FROM raters")).scalar_one()
        study.add_raters(1)
        return first, connection.execute(text("SELECT count(*) FROM raters")).scalar_one()

    assert study.store.read(count_twice) == (0, 0)
    assert len(study.raters()) == 1
