"""Create the folder of a study, atomically, and sync its items with its settings."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.engine import URL

from trubleu.errors import DataError, UsageError, counted
from trubleu.files.writer import write_private
from trubleu.rating import raters
from trubleu.rating.answers import settle
from trubleu.rating.config import StudyConfig, config_text, gold_lines, parse_config, question_key
from trubleu.rating.items import Item, check_items
from trubleu.rating.raters import KEY, note
from trubleu.rating.scheduler import SHUFFLES
from trubleu.rating.secret import SECRET, new_secret, read_secret
from trubleu.rating.store.database import Store, get_meta, lock_study, put_meta, secret_of
from trubleu.rating.store.schema import MODELS_COUNT, items
from trubleu.rating.store.schema import raters as people
from trubleu.rating.store.updates import ITEM, ITEMS, QUESTIONS, TIP, row_mac

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path


def add_items(connection: Connection, config: StudyConfig, added: Iterable[Item], *, first_position: int = 0) -> None:
    """Add items in order, each with a random rank for assignment."""
    draw = Random(f"{config.seed}/items/{first_position}")  # noqa: S311 - an order, not a secret
    secret = secret_of(connection)
    first = (connection.execute(select(func.max(items.c.id))).scalar() or 0) + 1
    rows = []
    for at, item in enumerate(added):
        fixed = {"id": first + at, "key": item.key, "position": first_position + at, "role": item.role}
        fixed |= {"payload": item.to_json(), "parts": len(item.texts)}
        wanted = config.raters if item.role == "item" else 0
        made = row_mac(secret, "item", fixed, ITEM)
        rows.append({**fixed, "wanted": wanted, "shuffle": draw.randrange(SHUFFLES), "mac": made})
    if rows:
        connection.execute(items.insert(), rows)
    put_meta(connection, ITEMS, str(int(get_meta(connection, ITEMS) or 0) + len(rows)))


def in_step(connection: Connection, config: StudyConfig) -> bool:
    """Return whether the store matches the settings."""
    wanted = [(item.key, item.to_json(), at) for at, item in enumerate(config.examples)]
    there = [(row.key, row.payload, row.position) for row in _examples(connection) if row.role != "retired"]
    return not _changed(connection, config) and wanted == there


def _synced(config: StudyConfig) -> dict[str, str]:
    """Return the settings that the store keeps as they are now."""
    return {"raters": str(config.raters), MODELS_COUNT: str(config.models_count).lower()}


def _changed(connection: Connection, config: StudyConfig) -> dict[str, str]:
    """Return those of these that differ."""
    return {key: value for key, value in _synced(config).items() if value != get_meta(connection, key)}


def _examples(connection: Connection) -> list[Row[Any]]:
    return list(connection.execute(select(items).where(items.c.role != "item").order_by(items.c.position, items.c.id)))


def bring_in_step(connection: Connection, config: StudyConfig, *, now: int) -> None:
    """Sync the store with the settings: the number of ratings wanted, practice and gold items.

    Raises
    ------
    DataError
        If the settings ask for less than is there already.
    """
    lock_study(connection)
    if not in_step(connection, config):
        if changed := _changed(connection, config):
            _sync_wanted(connection, config, changed, now)
        _sync_examples(connection, config)


def _sync_wanted(connection: Connection, config: StudyConfig, changed: Mapping[str, str], now: int) -> None:
    before = int(get_meta(connection, "raters") or 0)
    most = connection.execute(select(func.max(items.c.load)).where(items.c.role == "item")).scalar() or 0
    if config.raters < before and most > config.raters:
        wanted = counted(config.raters, "rater")
        raise DataError(f"study.yaml asks for {wanted} per item, but some have {most}; write raters: {before} again")
    for key, value in changed.items():
        put_meta(connection, key, value)
        note(connection, {MODELS_COUNT: "models"}.get(key, key), None, now, value)
    connection.execute(items.update().where(items.c.role == "item").values(wanted=config.raters))
    settle(connection, connection.execute(select(items.c.id).where(items.c.role == "item")).scalars().all(), now=now)


def _sync_examples(connection: Connection, config: StudyConfig) -> None:
    """Add, change and retire practice and gold items; answers to retired ones are kept."""
    there = {row.key: row for row in _examples(connection)}
    for key in there.keys() - {item.key for item in config.examples}:
        if there[key].role != "retired":
            _set(connection, there[key], role="retired")
    for at, item in enumerate(config.examples):
        if item.key not in there:
            add_items(connection, config, [item], first_position=at)
        else:
            _set(connection, there[item.key], role=item.role, payload=item.to_json(), position=at)


def _set(connection: Connection, row: Row[Any], **changes: object) -> None:
    made = row_mac(secret_of(connection), "item", {**row._asdict(), **changes}, ITEM)
    connection.execute(items.update().where(items.c.id == row.id).values(**changes, mac=made))


SETTINGS, DATABASE, ADDRESS, LEAD, GOLD = "study.yaml", "store.db", "store.url", "lead.token", "gold.jsonl"


def found(
    target: Path,
    config: StudyConfig,
    items: Sequence[Item],
    *,
    store_url: str | None,
    secret: str | None = None,
    also: Callable[[Connection], object] | None = None,
) -> None:
    """Create the folder and the database of a study (see `Study.create`); if ``also`` fails, neither is created."""
    check_items(items, config.parts)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} already exists; name a folder that does not exist yet")
    # Created beside the target and moved there at the end, so a study is complete or absent.
    making = target.parent / f".trubleu-{secrets.token_hex(8)}.tmp"
    try:
        making.mkdir(0o700)  # it will hold personal data
        config = _write_settings(making, config)
        parse_config((making / SETTINGS).read_text("utf-8"), SETTINGS, making)  # fail now if it could not be read back
        url = store_url or _in_file(making)
        if store_url is None:
            os.close(os.open(making / DATABASE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        else:
            write_private(making / ADDRESS, store_url)
        secret = new_secret() if secret is None else secret
        write_private(making / SECRET, secret)

        def fill(connection: Connection) -> None:
            _fill(connection, config, items)
            if also is not None:
                also(connection)

        Store.create(url, fill, secret=secret).close()
        making.replace(target)
    except OSError as error:
        raise DataError(f"{target} cannot be created: {error.strerror or error}; check the path") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _in_file(folder: Path) -> URL:
    return URL.create("sqlite", database=str(folder / DATABASE))  # as a string, a ? in the path would end it


def store_url_of(folder: Path) -> str | URL:
    """Return the URL of a study's database."""
    address = folder / ADDRESS
    if not address.exists():
        return _in_file(folder)
    try:
        return address.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{address} cannot be read: {error}; check its permissions") from error


def open_store(folder: Path, *, copy: bool) -> Store:
    """Open a study's database.

    Raises
    ------
    DataError
        If there is no study in it, it has tables of another version, or the secret is not there.
    StoreError
        If the database cannot be used, or is damaged.
    """
    store = Store.open(store_url_of(folder), copy=copy)
    try:
        store.secret = read_secret(folder)
    except BaseException:
        store.close()
        raise
    return store


def check_kind(store: Store, config: StudyConfig, folder: Path) -> None:
    """Raise an error for settings of another study type, or with changed questions once there are raters."""
    settings, kind = folder / SETTINGS, store.get("kind")
    if kind != config.kind:
        raise DataError(f"{settings} says kind: {config.kind}, but the study was made as {kind}; change it back")
    parts = store.read(lambda connection: connection.execute(select(items.c.parts).limit(1)).scalar())
    if parts != config.parts:
        raise DataError(f"{settings} says outputs: {config.parts}, but items have {parts}; change it back")
    store.read(lambda connection: check_questions(connection, config))


def check_questions(connection: Connection, config: StudyConfig) -> None:
    """Raise an error for questions other than those fixed by the first rater."""
    made = get_meta(connection, QUESTIONS)
    if made == question_key(config) or not connection.execute(select(func.count()).select_from(people)).scalar():
        return
    said = ", ".join(f"{name or 'the question'} ({points} points)" for name, points in json.loads(made or "[]"))
    remedy = "change them back (wording, labels and required may change), or make a new study with rate new --config"
    raise DataError(f"study.yaml has other questions than when raters were added: {said}; {remedy}")


def fix_questions(connection: Connection, config: StudyConfig) -> None:
    """Fix the questions before a rater is added: they must not change from the first rater on."""
    if get_meta(connection, QUESTIONS) != question_key(config):
        lock_study(connection)
        check_questions(connection, config)
        put_meta(connection, QUESTIONS, question_key(config))


def _write_settings(folder: Path, config: StudyConfig) -> StudyConfig:
    if config.gold.file is not None:
        config = replace(config, gold=replace(config.gold, file=GOLD))
        (folder / GOLD).write_text(gold_lines(config), "utf-8", newline="\n")
    (folder / SETTINGS).write_text(config_text(config), "utf-8", newline="\n")
    write_private(folder / LEAD, raters.new_token())
    return config


def _fill(connection: Connection, config: StudyConfig, items: Sequence[Item]) -> None:
    settings = {"study": secrets.token_hex(8), "kind": config.kind, KEY: secrets.token_urlsafe(32), "state": "running"}
    settings |= {**_synced(config), QUESTIONS: question_key(config), TIP: ""}
    for key, value in settings.items():
        put_meta(connection, key, value)
    add_items(connection, config, items)
    add_items(connection, config, config.examples)
