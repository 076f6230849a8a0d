"""Studies of the first version of the tables go on in the second one."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from tests.rating.version1 import ROWS, SECRET, make_version_1
from trubleu.errors import DataError, StoreError
from trubleu.rating import Study
from trubleu.rating.audit import audit
from trubleu.rating.store import Store
from trubleu.rating.store.database import put_meta

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection


@pytest.fixture
def older(new_url: Callable[[], str | None], tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    make_version_1(folder, new_url())
    return folder


def version(folder: Path) -> str | None:
    url = folder / "store.url"
    store = Store.open(url.read_text() if url.exists() else f"sqlite:///{folder / 'store.db'}")
    try:
        return store.get("schema")
    finally:
        store.close()


def test_everything_comes_along_and_rating_goes_on(older: Path) -> None:
    with Study.open(older) as study:
        assert audit(study) == []
        assert study.secret == SECRET  # cookies and links go on working
        assert study.store.get("secret") is None
        assert stat.S_IMODE((older / "secret.key").stat().st_mode) == 0o600
        said = [
            (row.id, row.at, row.kind, row.rater, row.item, row.client_milliseconds, row.note) for row in study.log()
        ]
        assert said == [(row[0], row[1], row[2], row[3], row[4], row[8], row[12]) for row in ROWS["log"]]
        assert {row.milliseconds for row in study.log()} == {None}  # nobody measured then
        counting = [(row.key, row.rater, row.system, row.score) for row in study.table() if row.counted]
        assert counting == [("s0#A:B", 1, "A", 1), ("s0#A:B", 1, "B", 5), ("s0#A:B", 5, "A", 3), ("s0#A:B", 5, "B", 3)]
        # What a rater had before them is still there, the other way round as it was shown.
        task = study.assign(1, now=10_000)
        assert task is not None
        assert (task.assignment, task.item.texts, task.flipped) == (5, ("b1", "a1"), True)
        assert study.answer(1, 5, (2, 4), key=task.client_key, milliseconds=1, now=11_000).counted
        assert study.log()[-1].milliseconds == 1400  # since 9600, when the older version showed it
        study.readmit(2, reason="a mistake", now=12_000)
        new = study.add_raters(1, now=13_000)[0].rater.id
        study.consent(new, now=13_000)
        while (task := study.assign(new, now=13_000)) is not None:
            study.answer(new, task.assignment, (3, 3), key=task.client_key, now=14_000)
        assert audit(study) == []
    with Study.open(older, sync=True) as study:
        assert sum(row.counted for row in study.table()) == 12
        study.store.put("schema", "3")  # as it is: hashed like all others
    assert version(older) == "3"


def test_looking_changes_nothing(older: Path) -> None:
    if (older / "store.url").exists():
        with pytest.raises(DataError, match="has tables of version 1; trubleu rate serve brings them up to date"):
            Study.open(older, copy=True)
    else:
        before = {path.name: path.read_bytes() for path in older.iterdir()}
        with Study.open(older, copy=True) as study:
            assert len(study.log()) == 23
            assert audit(study) == []
        assert {path.name: path.read_bytes() for path in older.iterdir()} == before
    assert version(older) == "1"
    assert not (older / "secret.key").exists()


def test_a_server_of_the_older_version_cannot_add_to_the_log_any_more(older: Path) -> None:
    with Study.open(older) as study:
        add = text("INSERT INTO log (at, kind, rater) VALUES (1, 'joined', 1)")
        with pytest.raises(StoreError, match=r"was updated for a newer TruBLEU|violates not-null"):
            study.store.write(lambda connection: connection.execute(add))
        with pytest.raises(StoreError, match="the log of a study only grows"):
            study.store.write(lambda connection: connection.execute(text("UPDATE log SET at = 1")))
        assert len(study.log()) == 23


def test_tables_that_do_not_say_what_the_log_says_stay_as_they_are(older: Path) -> None:
    url = older / "store.url"
    store = Store.open(url.read_text() if url.exists() else f"sqlite:///{older / 'store.db'}")
    store.write(lambda connection: connection.execute(text("UPDATE ratings SET score = 4 WHERE id = 1")))
    store.close()
    with pytest.raises(
        StoreError, match=r"the rating of item 1 by rater 1 is \(\(4, 5\), .* but the log has \(\(1, 5\)"
    ):
        Study.open(older)
    assert version(older) == "1"


def make_version_2(study: Study) -> None:
    """Give a study the tables of the second version, as far as they differ from those of today."""

    def work(connection: Connection) -> None:
        if study.store.dialect == "sqlite":
            statements = [
                "DROP INDEX ratings_by_rater",
                "ALTER TABLE ratings RENAME TO newer",
                """CREATE TABLE ratings (id INTEGER NOT NULL, item INTEGER NOT NULL, rater INTEGER NOT NULL,
                part SMALLINT NOT NULL, score SMALLINT NOT NULL, counted BOOLEAN NOT NULL, answered_at BIGINT NOT NULL,
                client_milliseconds BIGINT, milliseconds BIGINT, PRIMARY KEY (id), UNIQUE (item, rater, part))""",
                "CREATE INDEX ratings_by_rater ON ratings (rater)",
                """INSERT INTO ratings SELECT id, item, rater, part, score, counted, answered_at, client_milliseconds,
                milliseconds FROM newer""",
                "DROP TABLE newer",
            ]
        else:
            statements = [
                "ALTER TABLE ratings DROP COLUMN question",  # and the constraint with it
                "ALTER TABLE ratings ALTER COLUMN score SET NOT NULL",
                "ALTER TABLE ratings ADD UNIQUE (item, rater, part)",
            ]
        statements += [
            "ALTER TABLE assignments DROP COLUMN before",
            "ALTER TABLE raters DROP COLUMN break_at",
            "DELETE FROM meta WHERE key = 'questions'",
        ]
        for statement in statements:
            connection.exec_driver_sql(statement)
        put_meta(connection, "schema", "2")

    study.store.write(work)
    study.close()


def test_a_study_of_the_second_version_goes_on(make: Callable[..., Study]) -> None:
    study = make(3, raters=2, kind="pair")
    first, second = (new.rater.id for new in study.add_raters(2, now=0))
    for rater in (first, second):
        task = study.assign(rater, now=0)
        assert task is not None
        study.answer(rater, task.assignment, (1, 5), key=task.client_key, now=1)
    before = [(row.key, row.part, row.rater, row.score, row.counted) for row in study.table()]
    log = study.log()
    last = study.rater(first).last
    make_version_2(study)
    with Study.open(study.folder) as migrated:
        assert migrated.store.get("schema") == "3"
        assert audit(migrated) == []
        assert [(row.key, row.part, row.rater, row.score, row.counted) for row in migrated.table()] == before
        assert {row.question for row in migrated.table()} == {0}
        assert migrated.log() == log
        undone = migrated.undo(first, now=2)
        assert undone is not None
        assert (undone.assignment, undone.earlier and undone.earlier.scores) == (last, (1, 5))
        for rater in (first, second):
            while (task := migrated.assign(rater, now=3)) is not None:
                migrated.answer(rater, task.assignment, (2, 4), key=task.client_key, now=4)
        assert sum(row.counted for row in migrated.table()) == 12
        assert audit(migrated) == []


def test_another_secret_is_not_overwritten(older: Path) -> None:
    (older / "secret.key").write_text("that of another study\n")
    with pytest.raises(DataError, match=r"secret\.key is not that of this study; remove it if it belongs to another"):
        Study.open(older)
    assert version(older) == "1"
