"""Notification when a study is complete: a request to a URL, or a command."""

from __future__ import annotations

import shlex
import subprocess
import threading
from typing import TYPE_CHECKING, Final

import httpx
from sqlalchemy import Connection, select

from trubleu.rating.store.database import get_meta, lock_study, put_meta
from trubleu.rating.store.schema import items
from trubleu.rating.web.security import log

if TYPE_CHECKING:
    from trubleu.rating.study import Study

_TOLD: Final = "told"  # setting: the ratings per item at the last notification
_SECONDS: Final = 30  # timeout of the request or command
_LEAST = select(items.c.load, items.c.wanted).where(items.c.role == "item").order_by(items.c.load).limit(1)
_OPEN = select(items.c.id).where(items.c.role == "item", items.c.counted < items.c.wanted).limit(1)


def tell_if_complete(study: Study) -> threading.Thread | None:
    """Notify once if every item has its ratings; return the thread, None if no notification is due.

    With several servers, one of them notifies. If the number of ratings per item is raised later, it notifies again.
    """
    told = study.config.on_complete
    if told is None or not study.store.read(_is_complete) or not study.store.write(_is_first):
        return None
    thread = threading.Thread(target=_tell, args=(study, told), name="complete", daemon=True)
    thread.start()
    return thread


def _is_complete(connection: Connection) -> bool:
    least = connection.execute(_LEAST).first()  # one index lookup, nearly always enough
    if least is None or least.load < least.wanted:
        return False
    return connection.execute(_OPEN).first() is None


def _is_first(connection: Connection) -> bool:
    lock_study(connection)
    wanted = get_meta(connection, "raters")
    if wanted is None or get_meta(connection, _TOLD) == wanted:
        return False
    put_meta(connection, _TOLD, wanted)
    return True


def _tell(study: Study, told: str) -> None:
    facts = {"study": study.config.title, "folder": str(study.folder), "state": "complete"}
    try:
        if told.startswith(("https://", "http://")):
            httpx.post(told, json=facts, timeout=_SECONDS, follow_redirects=True).raise_for_status()
        else:
            subprocess.run(  # noqa: S603 - the lead's own command, without a shell
                [*shlex.split(told), str(study.folder)], check=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
            )
    except (OSError, ValueError, subprocess.SubprocessError, httpx.HTTPError, httpx.InvalidURL) as error:
        log.error("the study is complete, but on_complete failed: %s", error)
    else:
        log.info("the study is complete, and on_complete was told")
