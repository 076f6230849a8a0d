"""Which item comes next: gold in its share, else one at random among those with the fewest ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, exists, select

from trubleu.rating.store.schema import assignments, items

if TYPE_CHECKING:
    from random import Random

    from sqlalchemy import Connection, Row

    from trubleu.rating.config import StudyConfig

SHUFFLES = 2**31 - 1  # orders are drawn below this

ITEM_LOCKED = select(items).where(items.c.id == bindparam("item")).with_for_update(key_share=True)
_NOT_HAD = ~exists().where(assignments.c.item == items.c.id, assignments.c.rater == bindparam("rater"))
_LEAST = (
    select(items.c.load)
    .where(
        items.c.role == "item",
        items.c.wanted > items.c.load,
        items.c.load < bindparam("most"),  # bounds the part of the index that is read
        _NOT_HAD,
    )
    .order_by(items.c.load, items.c.shuffle)
    .limit(1)
)
_AT_LEVEL = (
    select(items)
    .where(items.c.role == "item", items.c.load == bindparam("level"), items.c.wanted > items.c.load, _NOT_HAD)
    .order_by(items.c.shuffle)
    .limit(1)
)
_FROM = _AT_LEVEL.where(items.c.shuffle >= bindparam("start"))
_BELOW = _AT_LEVEL.where(items.c.shuffle < bindparam("start"))
_FROM_FREE = _FROM.with_for_update(key_share=True, skip_locked=True)
_BELOW_FREE = _BELOW.with_for_update(key_share=True, skip_locked=True)
_NOT_HAD_OF_ROLE = (
    select(items).where(items.c.role == bindparam("role"), _NOT_HAD).order_by(items.c.position, items.c.id)
)
FIRST_OF_ROLE = _NOT_HAD_OF_ROLE.limit(1)


def gold_item(connection: Connection, config: StudyConfig, rater: int, draw: Random) -> Row[Any] | None:
    """Take a gold item that a rater has not had, as often as the settings say."""
    if not config.gold.items or draw.random() >= config.gold.share:
        return None
    left = connection.execute(_NOT_HAD_OF_ROLE, {"role": "gold", "rater": rater}).all()
    return draw.choice(left) if left else None


def least_loaded(connection: Connection, config: StudyConfig, rater: int, draw: Random) -> Row[Any] | None:
    """Take an item at random among those with the fewest ratings and leases, and keep others from changing it.

    An item that another transaction holds is passed over at first: waiting for it would make raters queue up. Only if
    nothing else is left is it waited for, because it may still have room afterwards.
    """
    open_to = {"rater": rater, "most": config.raters, "start": draw.randrange(SHUFFLES)}
    while (level := connection.execute(_LEAST, open_to).scalar()) is not None:
        here = {**open_to, "level": level}
        for free in (_FROM_FREE, _BELOW_FREE):
            if (item := connection.execute(free, here).first()) is not None:
                return item
        held = connection.execute(_FROM, here).first() or connection.execute(_BELOW, here).first()
        if held is not None:
            item = connection.execute(ITEM_LOCKED, {"item": held.id}).one()
            if item.role == "item" and item.load < item.wanted:
                return item
    return None
