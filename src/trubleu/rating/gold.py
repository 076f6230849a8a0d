"""Gold scores of raters, and the rule that excludes raters by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from trubleu.rating.items import Item
from trubleu.rating.raters import rater_of, set_excluded
from trubleu.rating.store.schema import items, raters, ratings

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from trubleu.rating.config import GoldRule
    from trubleu.rating.raters import Rater
    from trubleu.rating.study import Study


class GoldScore(NamedTuple):
    """Number of gold items, and how many of them the rater got right."""

    right: int
    total: int


def gold_scores(connection: Connection, rater: int | None = None) -> dict[int, GoldScore]:
    """Return the gold scores of one rater, or of all raters who have any; skipped questions do not count."""
    query = (
        select(ratings, items.c.key, items.c.payload)
        .join(items, items.c.id == ratings.c.item)
        .where(items.c.role == "gold")
    )
    known: dict[int, Item] = {}
    right: dict[tuple[int, int], bool] = {}
    for row in connection.execute(query if rater is None else query.where(ratings.c.rater == rater)):
        if row.item not in known:
            known[row.item] = Item.from_json(row.key, row.payload)
        span = known[row.item].accepted_at(row.part, row.question)
        if span is not None and row.score is not None:
            pair = (row.rater, row.item)
            right[pair] = right.get(pair, True) and span[0] <= row.score <= span[1]
    found: dict[int, GoldScore] = {}
    for (who, _), is_right in right.items():
        before = found.get(who, GoldScore(0, 0))
        found[who] = GoldScore(before.right + is_right, before.total + 1)
    return found


def broken_rule(rule: GoldRule | None, rater: Rater, score: GoldScore | None) -> str | None:
    """Return how a rater breaks the rule; None if they do not, or if the lead has readmitted them since."""
    readmitted = rater.reason is not None and not rater.excluded
    if rule is None or score is None or readmitted or not rule.is_broken(*score):
        return None
    return rule.reason(*score)


def has_ended(study: Study, rater: Rater) -> bool:
    """Return whether a rater's participation has ended, excluding them if the gold rule says so."""
    rule = study.config.gold.rule
    # One more than they had answered when the caller looked.
    if rater.excluded or rule is None or rule.then == "flag" or rater.answered + 1 < rule.at_least:
        return rater.excluded
    score = study.store.read(lambda connection: gold_scores(connection, rater.id)).get(rater.id)
    reason = broken_rule(rule, rater, score)
    if reason is not None and rule.then == "exclude":
        study.exclude(rater.id, reason=reason)
    return reason is not None


def exclude_by_rule(connection: Connection, rule: GoldRule | None, numbers: Collection[int], *, now: int) -> int:
    """Exclude those of the given raters who break the rule, and return their number."""
    if rule is None or rule.then != "exclude":
        return 0
    scores = gold_scores(connection)
    excluded = 0
    for row in connection.execute(select(raters).order_by(raters.c.id)).all():
        reason = broken_rule(rule, rater_of(row), scores.get(row.id)) if row.id in numbers else None
        if reason is not None and not row.excluded:
            set_excluded(connection, row.id, True, reason=reason, now=now)
            excluded += 1
    return excluded
