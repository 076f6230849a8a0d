"""The store is checked before anything is said about a study; what is erased is gone; looking writes nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from tests.rating.flips import varied_study
from trubleu.cli import main
from trubleu.errors import DataError, StoreError, TrubleuWarning, UsageError
from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.audit import audit
from trubleu.rating.store import database

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., Study]

NAME = "Zacharias Unverwechselbar"


def rated(make: Make) -> Study:
    study = make(3, raters=2)
    for new in study.add_raters(2, labels=["ann", "bob"], now=0):
        for _ in range(2):
            task = study.assign(new.rater.id, now=0)
            assert task is not None
            study.answer(new.rater.id, task.assignment, (4,), key=task.client_key, now=5)
    study.pause(now=9)
    return study


UNGUARD = {
    "sqlite": ["DROP TRIGGER log_refuses_update", "DROP TRIGGER log_refuses_delete"],
    "postgresql": ["ALTER TABLE log DISABLE TRIGGER USER"],
}


def tamper(study: Study, *statements: str) -> None:
    """Change the store as somebody does who may write to the database but does not have the secret."""
    for statement in (*UNGUARD[study.store.dialect], *statements):
        study.store.write(lambda connection, said=statement: connection.execute(text(said)))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE items SET payload = replace(payload, 'text 1', 'text 7') WHERE id = 2",
            "item 2 does not fit its hash",
        ),
        ("UPDATE items SET position = 7 WHERE id = 3", "item 3 does not fit its hash"),
        ("UPDATE items SET wanted = 1", "item 1 (ratings wanted, counted, counted in the log, and load) is (1, "),
        ("UPDATE meta SET value = '1' WHERE key = 'raters'", "the setting 'raters' does not fit its hash"),
        ("UPDATE meta SET value = 'running' WHERE key = 'state'", "the setting 'state' does not fit its hash"),
        ("DELETE FROM meta WHERE key = 'state'", "the setting 'state' is not there"),
        ("UPDATE raters SET excluded = NOT excluded WHERE id = 1", "rater 1 does not fit its hash"),
        ("UPDATE raters SET label = 'eve' WHERE id = 2", "rater 2 does not fit its hash"),
        (
            "UPDATE ratings SET score = 1 WHERE id = 1",
            "is [(0, 0, 1, True, 5, 5, None)], but by the log [(0, 0, 4, ",
        ),
        ("UPDATE ratings SET milliseconds = 7 WHERE id = 1", "but by the log [(0, 0, 4, True, 5, 5, None)]"),
        ("UPDATE log SET scores = '[1]' WHERE id = 3", "entry 3 of the log, or one before it"),
        ("UPDATE log SET at = 1 WHERE id = 7", "entry 7 of the log, or one before it"),
        ("UPDATE log SET note = 'x' WHERE id = 1", "entry 1 of the log, or one before it"),
        ("DELETE FROM log WHERE id = 7", "the log of the study does not end as it should"),
        ("DELETE FROM log WHERE id = 2", "the log of rater 2 does not end as it should"),
        ("DELETE FROM log WHERE id = 6", "does not end as it should: entries are missing or were added"),
        (
            "UPDATE assignments SET state = 'gone' WHERE id = 1",
            "is ('gone', False), but by the log ('answered'",
        ),
    ],
)
def test_what_was_changed_from_outside_is_refused(make: Make, statement: str, message: str) -> None:
    study = rated(make)
    assert audit(study) == []
    tamper(study, statement)
    faults = audit(study)
    assert [fault for fault in faults if message in fault], faults
    with pytest.raises(StoreError) as raised:
        Study.open(study.folder, copy=True)
    said = f"{study.store.name} is damaged or was changed from outside: {faults[0]}; "
    assert str(raised.value) == f"{said}trubleu rate audit lists all faults, restore the study from a backup"
    with pytest.raises(StoreError, match="is damaged or was changed from outside"):
        Study.open(study.folder, sync=True)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            "UPDATE items SET id = -id WHERE id < 3; UPDATE items SET id = 3 + id WHERE id < 0",
            "item 1 does not fit its",
        ),
        ("DELETE FROM items WHERE id = 2", "the log has entries about item 2, which is not there"),
        ("DELETE FROM items WHERE id = 9", "there are 10 items; right is 11"),
        ("DELETE FROM raters WHERE id = 4", "the log has entries about rater 4, which is not there"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*asks for other ratings")
def test_nothing_changes_places_or_goes(tmp_path: Path, statements: str, message: str) -> None:
    varied_study(tmp_path / "study", items=8)
    sqlite3.connect(tmp_path / "study/store.db").executescript(statements)
    with Study.open(tmp_path / "study", copy=True, check=False) as study:
        faults = audit(study)
    assert [fault for fault in faults if message in fault], faults


@pytest.mark.parametrize("what", ["status", "export", "serve", "audit", "exclude"])
def test_every_command_refuses_with_one_sentence(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    varied_study(tmp_path / "study", items=8)
    sqlite3.connect("study/store.db").executescript("UPDATE ratings SET score = 6 - score WHERE id IN (1, 2)")
    commands = {
        "status": ["status", "study"],
        "export": ["export", "study", "--as", "references", "--out", "refs.jsonl"],
        "serve": ["serve", "study", "--port", "0"],
        "audit": ["audit", "study"],
        "exclude": ["exclude", "study", "1", "--reason", "x"],
    }
    assert main(["rate", *commands[what]]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"trubleu: {'study/store.db'} is damaged or was changed from outside: ")
    assert len(said.out.splitlines()) == (2 if what == "audit" else 0)
    assert not (tmp_path / "refs.jsonl").exists()


def test_audit_says_that_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    varied_study(tmp_path / "study", items=8)
    assert main(["rate", "audit", str(tmp_path / "study")]) == 0
    said = capsys.readouterr().out
    assert "entries in the log, 11 items, 6 raters: all hashes are right, all tables match the log" in said


def test_a_store_and_its_secret_belong_together(make: Make) -> None:
    study = rated(make)
    path = study.folder / "secret.key"
    secret = path.read_text()
    path.write_text("another\n")
    with pytest.raises(StoreError, match=r"it and secret\.key do not belong together"):
        Study.open(study.folder)
    path.unlink()
    with pytest.raises(
        DataError, match=r"secret\.key is not there, .*; copy it from the folder that the study was made"
    ):
        Study.open(study.folder)
    path.write_text("")
    with pytest.raises(DataError, match=r"secret\.key is empty; restore it from a backup"):
        Study.open(study.folder)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"secret\.key cannot be read"):
        Study.open(study.folder)
    path.write_text(secret)
    Study.open(study.folder).close()
    settings = study.store.read(lambda connection: str(connection.execute(text("SELECT * FROM meta")).all()))
    assert secret.strip() not in settings


# What is erased


def holding(folder: Path, *names: str) -> list[str]:
    """Return the files of a study that hold one of some names."""
    return [path.name for path in folder.iterdir() for name in names if name.encode() in path.read_bytes()]


def test_no_file_holds_who_was_erased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    study = Study.create(tmp_path / "s", StudyConfig("T", "response"), [Item("k", ("t",))])
    with study:
        # Many others, so that rows have moved from page to page.
        numbers = []
        for number in range(40):
            study.add_raters(1, labels=[f"{NAME} {number} {'x' * number}"])
            numbers.append(study.enter("prolific", external=f"id-{NAME.replace(' ', '')}-{number}").rater.id)
        reader = sqlite3.connect(study.folder / "store.db", isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM raters").fetchone()
        with pytest.warns(TrubleuWarning, match=r"rater 1 is erased, but .*store\.db-wal may still hold the identity"):
            study.erase(1)
        reader.close()
        for rater in study.raters():
            study.erase(rater.id)
        assert holding(study.folder, NAME, NAME.replace(" ", "")) == []
        assert audit(study) == []
    assert holding(study.folder, NAME, NAME.replace(" ", "")) == []
    Study.open(study.folder).close()


def test_the_command_says_what_is_left_to_do(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    study = rated(make)
    assert main(["rate", "erase", str(study.folder), "ann"]) == 0
    said = capsys.readouterr().out
    assert "rater 1: the identity is erased, the ratings stay" in said
    assert ("let the owner of the tables run VACUUM (FULL, ANALYZE) raters" in said) == (
        study.store.dialect == "postgresql"
    )


# Looking


def as_nobody(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody who may not write to other people's folders; root may write anywhere."""
    who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.run([*who, *command], capture_output=True, text=True, check=False)


LOOK = """
import sys
from trubleu.rating import Study
from trubleu.rating.summary import summary
with Study.open(sys.argv[1], copy=True) as study:
    print(summary(study, 0, resamples=0).counted)
"""


@pytest.mark.parametrize("state", ["closed", "served", "killed"])
def test_status_writes_nothing_and_needs_no_right_to(state: str, tmp_path: Path) -> None:
    varied_study(tmp_path / "study", items=8)
    folder = tmp_path / "study"
    server = Study.open(folder) if state != "closed" else None
    if server is not None:
        server.resume()
        assert (folder / "store.db-wal").stat().st_size
    if state == "killed":  # on a medium of its own: the journal is there, the index of it is not
        shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("*-shm"))
        folder = tmp_path / "copy"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with Study.open(folder, copy=True) as study:
        counted = sum(stored.counted for stored in study.items())
        with pytest.raises(UsageError, match="was opened only to look at it; open the study without copy to change it"):
            study.pause()
        assert not study.paused or state == "closed"
    assert counted
    if state == "closed":
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    for path in (folder, *folder.iterdir()):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in (tmp_path, *tmp_path.parents):
        if path.is_relative_to(tempfile.gettempdir()) and path != Path(tempfile.gettempdir()):
            path.chmod(path.stat().st_mode | 0o555)
    if not os.access(sys.executable, os.X_OK) or as_nobody(sys.executable, "-c", "import trubleu").returncode:
        pytest.skip("others may not run this Python")
    done = as_nobody(sys.executable, "-c", LOOK, str(folder))
    assert (done.returncode, done.stdout) == (0, f"{counted}\n"), done.stderr
    folder.chmod(0o755)
    if server is not None:
        server.close()


@pytest.mark.parametrize(
    ("what", "name"),
    [("references", "r.jsonl.gz"), ("ratings", "r.parquet"), ("ratings", "r.csv"), ("raw", "r.jsonl")],
)
def test_a_disk_that_fills_up_during_an_export(tmp_path: Path, what: str, name: str) -> None:
    texts = [os.urandom(300).hex() for _ in range(200)]
    items = [Item(each[:90], (each,), segment=f"k{n}", reference="r") for n, each in enumerate(texts)]
    with Study.create(tmp_path / "study", StudyConfig("T", "response", raters=1), items) as study:
        rater = study.add_raters(1)[0].rater.id
        while what != "references" and (task := study.assign(rater)) is not None:
            study.answer(rater, task.assignment, (3,), key=task.client_key)
    command = [sys.executable, "-B", "-m", "trubleu", "rate", "export", "study", "--as", what, "--out", name, "--quiet"]
    limited = ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash", *command]  # kilobytes
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"trubleu: {name} cannot be written: File too large; nothing was changed\n"
    assert [path.name for path in tmp_path.iterdir()] == ["study"]
