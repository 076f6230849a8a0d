"""Making the folder of a study: all of it or nothing."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import URL

from trubleu.errors import DataError, UsageError
from trubleu.rating import people
from trubleu.rating.config import StudyConfig, parse_config
from trubleu.rating.config_text import config_text, gold_lines
from trubleu.rating.identity import KEY
from trubleu.rating.items import check_items
from trubleu.rating.store.opening import Store, put_meta
from trubleu.rating.syncing import add_items

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from trubleu.rating.items import Item

SETTINGS, DATABASE, ADDRESS, LEAD, GOLD = "study.yaml", "store.db", "store.url", "lead.token", "gold.jsonl"


def found(
    target: Path,
    config: StudyConfig,
    items: Sequence[Item],
    *,
    store_url: str | None,
    also: Callable[[Connection], object] | None = None,
) -> None:
    """Make the folder and the database of a study (see `Study.create`); if ``also`` fails, neither is made."""
    check_items(items, config.parts)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already; name a folder that does not exist yet")
    # All is made beside the target and moved there at the end: there is a whole study or none.
    making = target.parent / f".trubleu-{secrets.token_hex(8)}.tmp"
    try:
        making.mkdir(0o700)  # it will hold what identifies people
        config = _write_settings(making, config)
        parse_config((making / SETTINGS).read_text("utf-8"), SETTINGS, making)  # what cannot be read is not made
        url = store_url or _in_file(making)
        if store_url is None:
            os.close(os.open(making / DATABASE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        else:
            _write_private(making / ADDRESS, store_url)

        def fill(connection: Connection) -> None:
            _fill(connection, config, items)
            if also is not None:
                also(connection)

        Store.create(url, fill).close()
        making.replace(target)
    except OSError as error:
        raise DataError(f"{target} cannot be made: {error.strerror or error}; check the path") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _in_file(folder: Path) -> URL:
    return URL.create("sqlite", database=str(folder / DATABASE))  # as text, a ? in the path would end it


def store_url_of(folder: Path) -> str | URL:
    """Return the address of a study's database."""
    address = folder / ADDRESS
    if not address.exists():
        return _in_file(folder)
    try:
        return address.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{address} cannot be read: {error}; check its permissions") from error


def check_kind(store: Store, config: StudyConfig, folder: Path) -> None:
    """Refuse settings of another kind than the study was made as."""
    kind = store.get("kind")
    if kind != config.kind:
        raise DataError(
            f"{folder / SETTINGS} says kind: {config.kind}, but the study was made as {kind}; change it back"
        )


def _write_settings(folder: Path, config: StudyConfig) -> StudyConfig:
    if config.gold.file is not None:
        config = replace(config, gold=replace(config.gold, file=GOLD))
        (folder / GOLD).write_text(gold_lines(config.gold.items), "utf-8", newline="\n")
    (folder / SETTINGS).write_text(config_text(config), "utf-8", newline="\n")
    _write_private(folder / LEAD, people.new_token())
    return config


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text + "\n")


def _fill(connection: Connection, config: StudyConfig, items: Sequence[Item]) -> None:
    settings: dict[str, Any] = {
        "study": secrets.token_hex(8),
        "kind": config.kind,
        "secret": secrets.token_urlsafe(32),
        KEY: secrets.token_urlsafe(32),
        "state": "running",
        "raters": config.raters,
    }
    for key, value in settings.items():
        put_meta(connection, key, str(value))
    add_items(connection, config, items)
    add_items(connection, config, [*config.practice, *config.gold.items])
