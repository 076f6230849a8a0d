"""When a rater who gets no more tasks is done, and when it is worth looking again later."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, exists, func, select

from trubleu.rating.people import get_rater
from trubleu.rating.store.schema import assignments, items, ratings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from trubleu.rating.config import StudyConfig


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with a rater to whom no task can be given at the moment.

    Attributes
    ----------
    finished
        Whether they are done, and get the completion code.
    judged
        Whether they rated anything in this study: not for practice, not only "cannot judge", not in another study.
    open
        Whether tasks may still come: items lack ratings that this rater has not answered, but others have them now.
    minutes_left
        In how many minutes they are done even if tasks may still come, None if they are not or have rated nothing.
    """

    finished: bool
    judged: bool
    open: bool
    minutes_left: int | None


_OWN = assignments.c.rater == bindparam("rater")
_JUDGED = (
    select(assignments.c.id)
    .join(items, items.c.id == assignments.c.item)
    .where(
        _OWN,
        assignments.c.state == "answered",
        items.c.role.in_(("item", "gold")),
        # Of answers from another study or a file the time is that of the answer, as nobody was ever given a task.
        assignments.c.lease_until > assignments.c.created_at,
    )
    .limit(1)
)
_OPEN = (
    select(items.c.id)
    .where(
        items.c.role == "item",
        items.c.counted < items.c.wanted,
        ~exists().where(assignments.c.item == items.c.id, _OWN, assignments.c.state.in_(("answered", "unable"))),
    )
    .limit(1)
)
_LAST_AT = select(func.max(ratings.c.answered_at)).where(ratings.c.rater == bindparam("rater"))


def standing(connection: Connection, config: StudyConfig, rater: int, *, now: int) -> Standing:
    """Return how it stands with a rater who was just given no task.

    Who rated something is done if they have rated as many items as the settings let them, if nothing is open to them,
    or if others have had what is open for as long as a task is kept, counted from this rater's last rating: nobody has
    to wait longer for people who do not go on.

    Parameters
    ----------
    connection
        To the store.
    config
        The settings.
    rater
        The rater's number.
    now
        The time in milliseconds since 1970.
    """
    who = {"rater": rater}
    judged = connection.execute(_JUDGED, who).first() is not None
    most = config.most_ratings_per_rater
    reached = most is not None and get_rater(connection, rater).rated >= most
    is_open = not reached and connection.execute(_OPEN, who).first() is not None
    if not judged or not is_open:
        return Standing(judged, judged, is_open, None)
    last_at = connection.execute(_LAST_AT, who).scalar() or 0
    left = last_at + round(config.lease_minutes * 60_000) - now
    return Standing(left <= 0, True, True, max(1, math.ceil(left / 60_000)) if left > 0 else None)
