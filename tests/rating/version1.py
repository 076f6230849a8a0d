"""A study as the first version of the tables kept it, made by SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine

from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.config import Gold, example

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "ijp_rD7F8-F6c4-EEQONEK7Ykfg9VS_uGYnTqr6aA5M"  # noqa: S105
NAMES = ("meta", "items", "raters", "known", "assignments", "ratings", "log")

TABLES = """
CREATE TABLE items (id {id}, key TEXT NOT NULL, position INTEGER NOT NULL, role VARCHAR(10) NOT NULL,
  payload TEXT NOT NULL, parts SMALLINT NOT NULL, wanted INTEGER NOT NULL, counted INTEGER NOT NULL,
  load INTEGER NOT NULL, shuffle INTEGER NOT NULL, PRIMARY KEY (id), UNIQUE (key));
CREATE INDEX items_by_load ON items (role, load, shuffle);
CREATE TABLE meta (key VARCHAR(40) NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key));
CREATE TABLE raters (id {id}, token_hash VARCHAR(64), label TEXT, entry VARCHAR(10) NOT NULL, external TEXT,
  consented_at BIGINT, instructed_at BIGINT, practice_done BOOLEAN NOT NULL, excluded BOOLEAN NOT NULL, reason TEXT,
  created_at BIGINT NOT NULL, erased_at BIGINT, had INTEGER NOT NULL, answered INTEGER NOT NULL, rated INTEGER NOT NULL,
  last BIGINT, PRIMARY KEY (id), UNIQUE (entry, external), UNIQUE (token_hash));
CREATE TABLE assignments (id {id}, item {ref} NOT NULL, rater {ref} NOT NULL, state VARCHAR(10) NOT NULL,
  flipped BOOLEAN NOT NULL, turn INTEGER NOT NULL, lease_until BIGINT NOT NULL, created_at BIGINT NOT NULL,
  PRIMARY KEY (id), UNIQUE (item, rater), FOREIGN KEY(item) REFERENCES items (id),
  FOREIGN KEY(rater) REFERENCES raters (id));
CREATE INDEX assignments_by_rater ON assignments (rater, state);
CREATE INDEX assignments_by_lease ON assignments (state, lease_until);
CREATE TABLE known (hash VARCHAR(64) NOT NULL, rater {ref} NOT NULL, PRIMARY KEY (hash),
  FOREIGN KEY(rater) REFERENCES raters (id));
CREATE TABLE log (id {id}, at BIGINT NOT NULL, kind VARCHAR(12) NOT NULL, rater {ref}, item {ref}, assignment BIGINT,
  scores TEXT, flipped BOOLEAN, milliseconds BIGINT, answered_at BIGINT, client_key VARCHAR(140), counted BOOLEAN,
  note TEXT, PRIMARY KEY (id), FOREIGN KEY(rater) REFERENCES raters (id), FOREIGN KEY(item) REFERENCES items (id),
  UNIQUE (client_key));
CREATE TABLE ratings (id {id}, item {ref} NOT NULL, rater {ref} NOT NULL, part SMALLINT NOT NULL,
  score SMALLINT NOT NULL, counted BOOLEAN NOT NULL, answered_at BIGINT NOT NULL, milliseconds BIGINT,
  PRIMARY KEY (id), UNIQUE (item, rater, part), FOREIGN KEY(item) REFERENCES items (id),
  FOREIGN KEY(rater) REFERENCES raters (id));
CREATE INDEX ratings_by_rater ON ratings (rater)
"""

_REFUSAL = "the log of a study only grows"
_FUNCTION = f"""CREATE FUNCTION log_refuses() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"""
_TRIGGER = """CREATE TRIGGER log_refuses_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON log
FOR EACH STATEMENT EXECUTE FUNCTION log_refuses()"""
GUARDS = {
    "sqlite": [
        f"CREATE TRIGGER log_refuses_{each.lower()} BEFORE {each} ON log BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
        for each in ("UPDATE", "DELETE")
    ],
    "postgresql": [_FUNCTION, _TRIGGER],
}

_NO = (None,) * 7

# Two raters, of whom one is excluded; one is erased, one has not begun, one came with a file.
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "meta": [
        ("schema", "1"), ("study", "2b31a63943086061"), ("kind", "pair"), ("secret", SECRET),
        ("identity", "p0d4eLM1p5S9iijOYeEL7Ja2VdYMis0CfVUcGWa1Jvc"), ("state", "running"), ("raters", "2"),
    ],
    "items": [
        (1, "s0#A:B", 0, "item", '{"texts": ["a0", "b0"], "message": "m0", "segment": "s0", "systems": ["A", "B"]}',
         2, 2, 2, 2, 1772815560),
        (2, "s1#A:B", 1, "item", '{"texts": ["a1", "b1"], "message": "m1", "segment": "s1", "systems": ["A", "B"]}',
         2, 2, 0, 1, 1437472414),
        (3, "s2#A:B", 2, "item", '{"texts": ["a2", "b2"], "message": "m2", "segment": "s2", "systems": ["A", "B"]}',
         2, 2, 0, 0, 163420174),
        (4, "gold:3385f0750b22b975", 0, "gold",
         '{"texts": ["gold 0", "gold 1"], "accepted": [[4, 5], [1, 2]], "role": "gold"}', 2, 0, 0, 0, 1658802349),
    ],
    "raters": [
        (1, "ddf8" * 16, "ann", "link", None, 1100, 1200, True, False, None, 1000, None, 3, 2, 1, 2),
        (2, "2cfb" * 16, "bob", "link", None, 1100, 1200, True, True, "too fast", 1000, None, 2, 2, 2, 4),
        (3, None, None, "link", None, None, None, False, False, None, 1000, 9960, 0, 0, 0, None),
        (4, "1265" * 16, None, "prolific", "p1", None, None, False, False, None, 1300, None, 0, 0, 0, None),
        (5, "6291" * 16, "zoe", "import", "zoe", None, None, True, False, None, 9800, None, 1, 1, 1, None),
    ],
    "known": [("cd7e" * 16, 4), ("95c3" * 16, 5)],
    "assignments": [
        (1, 1, 1, "answered", False, 0, 1803000, 3000), (2, 3, 1, "unable", False, 1, 1809000, 4000),
        (3, 2, 2, "answered", True, 0, 1805000, 5000), (4, 3, 2, "answered", True, 0, 1806000, 6000),
        (5, 2, 1, "leased", True, 0, 1809600, 9600), (6, 1, 5, "answered", False, 0, 9800, 9800),
    ],
    "ratings": [
        (1, 1, 1, 0, 1, True, 3900, 700), (2, 1, 1, 1, 5, True, 3900, 700), (5, 2, 2, 0, 5, False, 5900, 700),
        (6, 2, 2, 1, 1, False, 5900, 700), (7, 3, 2, 0, 2, False, 6900, 701), (8, 3, 2, 1, 4, False, 6900, 701),
        (9, 1, 5, 0, 3, True, 9800, 12000), (10, 1, 5, 1, 3, True, 9800, 12000),
    ],
    "log": [
        (1, 1000, "joined", 1, None, *_NO, "link"), (2, 1000, "joined", 2, None, *_NO, "link"),
        (3, 1000, "joined", 3, None, *_NO, "link"), (4, 1100, "consented", 1, None, *_NO, None),
        (5, 1200, "instructed", 1, None, *_NO, None), (6, 1100, "consented", 2, None, *_NO, None),
        (7, 1200, "instructed", 2, None, *_NO, None), (8, 1300, "joined", 4, None, *_NO, "prolific"),
        (9, 3900, "answered", 1, 1, 1, "[1, 5]", False, 700, None, "1:1-0", True, None),
        (10, 4900, "answered", 1, 3, 2, "[4, 2]", False, 701, None, "1:2-0", True, None),
        (11, 5900, "answered", 2, 2, 3, "[5, 1]", True, 700, None, "2:3-0", True, None),
        (12, 6900, "answered", 2, 3, 4, "[2, 4]", True, 701, None, "2:4-0", True, None),
        (13, 9000, "undone", 1, 3, 2, None, False, None, None, None, None, None),
        (14, 9500, "unable", 1, 3, 2, None, False, 50, None, "1:2-1", False, None),
        (15, 9700, "excluded", 2, None, *_NO, "too fast"),
        (16, 9700, "uncounted", 2, 2, None, None, None, None, None, None, False, None),
        (17, 9700, "uncounted", 2, 3, None, None, None, None, None, None, False, None),
        (18, 9800, "joined", 5, None, *_NO, "import"),
        (19, 9800, "imported", 5, 1, None, "[3, 3]", False, 12000, 9800, None, False, "x.csv"),
        (20, 9800, "counted", 5, 1, None, None, None, None, None, None, True, None),
        (21, 9900, "paused", None, None, *_NO, None), (22, 9950, "resumed", None, None, *_NO, None),
        (23, 9960, "erased", 3, None, *_NO, None),
    ],
}  # fmt: skip


def make_version_1(folder: Path, url: str | None) -> None:
    """Make the folder and the store of a study as the first version did."""
    gold = (example("gold", ("gold 0", "gold 1"), (), None, ((4, 5), (1, 2))),)
    config = StudyConfig("Older", "pair", raters=2, gold=Gold(0.5, gold), consent="I agree.")
    Study.create(folder, config, [Item("k", ("a", "b"))]).close()  # for its settings
    for name in ("store.db", "secret.key"):
        (folder / name).unlink()
    if url is not None:
        (folder / "store.url").write_text(url)
    engine = create_engine(f"sqlite:///{folder / 'store.db'}" if url is None else url)
    dialect = engine.dialect.name
    types = {"id": "INTEGER NOT NULL", "ref": "INTEGER"} if url is None else {"id": "BIGSERIAL", "ref": "BIGINT"}
    mark = "?" if url is None else "%s"
    with engine.begin() as connection:
        for statement in TABLES.format(**types).split(";"):
            connection.exec_driver_sql(statement)
        for name in NAMES:
            for row in ROWS[name]:
                marks = ", ".join(mark for _ in row)
                connection.exec_driver_sql(f"INSERT INTO {name} VALUES ({marks})", row)  # noqa: S608
            if url is not None and name not in ("meta", "known"):
                connection.exec_driver_sql(f"SELECT setval('{name}_id_seq', (SELECT max(id) FROM {name}))")  # noqa: S608
        for statement in GUARDS[dialect]:
            connection.exec_driver_sql(statement)
        if url is None:
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            connection.exec_driver_sql("BEGIN")
    engine.dispose()
