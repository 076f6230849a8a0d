"""Estimate the effort of a study: ratings, hours, money, people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from trubleu.errors import UsageError

if TYPE_CHECKING:
    from trubleu.rating.config import StudyConfig

MINUTES = 60.0
MOST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The estimated effort of a study.

    Attributes
    ----------
    items
        Items to be rated.
    wanted, there, missing
        Ratings asked for, those that the study has, and what is left.
    gold, practice
        Answers to gold items to be expected, and to practice items.
    tasks
        All answers that are left: missing ratings, gold and practice.
    hours
        How long that takes all people together.
    people, items_each
        How many people it takes if nobody works longer than is asked of them, and how many items each of them rates at
        most. Nobody rates an item twice, so there are at least as many people as ratings per item.
    minutes_each
        How long each of them is busy at most.
    cost, currency
        What the hours cost.
    seconds_per_item, per_hour
        What all of this follows from: how long a task takes, and what an hour costs.
    """

    items: int
    wanted: int
    there: int
    missing: int
    gold: int
    practice: int
    tasks: int
    hours: float
    people: int
    items_each: int
    minutes_each: float
    cost: float
    currency: str
    seconds_per_item: float
    per_hour: float


def make_plan(
    config: StudyConfig,
    items: int,
    *,
    there: int = 0,
    least_people: int | None = None,
    seconds_per_item: float | None = None,
    per_hour: float | None = None,
    minutes: float = MINUTES,
) -> Plan:
    """Estimate the effort of a study.

    Gold items are added to a rater's items: with a share of s, s / (1 − s) of them per item on average, but each at
    most once per rater. Practice is done once per rater.

    Parameters
    ----------
    config
        The settings: ratings per item, gold, practice, the most ratings per rater, pay.
    items
        How many items there are.
    there
        How many ratings that count there are already.
    least_people
        How many different people an item still needs; if not given, as many as there are ratings per item.
    seconds_per_item
        How long a task takes; as the settings say if not given.
    per_hour
        What an hour costs; as the settings say if not given.
    minutes
        How long nobody should work for more than, practice included.

    Raises
    ------
    UsageError
        If a number cannot be used, or nobody could rate anything in the time.

    Examples
    --------
    >>> from trubleu.rating import StudyConfig
    >>> plan = make_plan(StudyConfig("Answers", "response", raters=5), 1000, seconds_per_item=18, per_hour=12)
    >>> plan.wanted, plan.hours, plan.cost, plan.people
    (5000, 25.0, 300.0, 25)
    """
    seconds = _checked(seconds_per_item, config.pay.seconds_per_item, "seconds per item", 0.1, MOST_SECONDS)
    pay = _checked(per_hour, config.pay.per_hour, "pay", 0.0, 1e6)
    limit = _checked(minutes, MINUTES, "minutes", 0.1, 1e6)
    wanted = items * config.raters
    missing = max(wanted - there, 0)
    practice = len(config.practice)
    room = math.floor(Fraction(limit) * 60 / Fraction(seconds))  # tasks that a person has time for
    most = _most_items(config, room - practice)
    if missing and most < 1:
        first = f"{practice} practice items of {seconds:g} seconds"
        raise UsageError(f"in {limit:g} minutes nobody gets beyond {first}; allow more minutes")
    most = min(most, config.most_ratings_per_rater or most, items)
    least = config.raters if least_people is None else least_people
    people = max(-(-missing // most), least) if missing else 0
    few, more = divmod(missing, max(people, 1))  # work is shared evenly: some have one item more
    each = few + bool(more)
    gold = math.ceil(config.gold.beside(few) * (people - more) + config.gold.beside(few + 1) * more)
    tasks = missing + gold + people * practice
    longest = each + math.ceil(config.gold.beside(each)) + practice if people else 0
    hours = Fraction(tasks) * Fraction(seconds) / 3600
    return Plan(
        items=items,
        wanted=wanted,
        there=there,
        missing=missing,
        gold=gold,
        practice=people * practice,
        tasks=tasks,
        hours=float(hours),
        people=people,
        items_each=each,
        minutes_each=float(longest * Fraction(seconds) / 60),
        cost=float(hours * Fraction(pay)),
        currency=config.pay.currency,
        seconds_per_item=seconds,
        per_hour=pay,
    )


def _checked(given: float | None, usual: float, name: str, low: float, high: float) -> float:
    value = usual if given is None else given
    if not low <= value <= high:  # also rejects NaN
        raise UsageError(f"{name} must be from {low:g} to {high:,.0f}, not {value:g}")
    return float(value)


def _most_items(config: StudyConfig, room: int) -> int:
    """Return how many items fit into this many tasks, including gold."""
    if room < 1:
        return 0
    share = Fraction(str(config.gold.share))
    # Either all gold items are used, or gold is a share of all tasks; rounded up, as minutes are.
    most = max(room - len(config.gold.items), math.floor(room * (1 - share)))
    while most > 0 and most + math.ceil(config.gold.beside(most)) > room:
        most -= 1
    return most
