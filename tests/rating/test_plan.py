"""What a study will take: against a plain count, task by task."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import UsageError
from trubleu.rating import StudyConfig, make_plan
from trubleu.rating.config import Gold, Pay, example


def settings(raters: int, gold: int, share: float, practice: int, most: int | None = None) -> StudyConfig:
    return StudyConfig(
        "Test",
        "response",
        raters=raters,
        gold=Gold(share, tuple(example("gold", (f"g{n}",), (), None, ((1, 2),)) for n in range(gold))),
        practice=tuple(example("practice", (f"p{n}",), (), None, None) for n in range(practice)),
        most_ratings_per_rater=most,
        pay=Pay("EUR", 12.0, 30.0),
    )


def test_a_plan_by_hand() -> None:
    # 100 items × 3 = 300 ratings of 30 s. An hour has room for 120 tasks: 10 of practice, 20 gold, 90 items; so there
    # are 4 people with 75 items each, and with gold items at a share of 1/5 18.75 of them each, 75 in all.
    plan = make_plan(settings(3, 20, 0.2, 10), 100)
    assert (plan.wanted, plan.missing, plan.people, plan.items_each) == (300, 300, 4, 75)
    assert (plan.gold, plan.practice, plan.tasks) == (75, 40, 415)
    assert plan.hours == 415 * 30 / 3600
    assert plan.cost == pytest.approx(415 * 30 / 3600 * 12)
    assert plan.currency == "EUR"
    assert plan.minutes_each == (75 + 19 + 10) / 2


def test_gold_comes_at_most_once_a_rater() -> None:
    assert make_plan(settings(1, 2, 0.5, 0), 100).gold == 2
    assert make_plan(settings(1, 0, 0.5, 0), 100).gold == 0
    assert make_plan(settings(1, 500, 0.5, 0), 60).gold == 60


def test_people() -> None:
    # Nobody rates an item twice, nobody more than the settings allow, nobody longer than asked.
    assert make_plan(settings(7, 0, 0.1, 0), 2).people == 7
    assert make_plan(settings(2, 0, 0.1, 0, most=5), 100).people == 40
    assert make_plan(settings(1, 0, 0.1, 0), 100, minutes=5).people == 10
    assert make_plan(settings(1, 0, 0.1, 0), 100, minutes=5, seconds_per_item=300).people == 100


def test_what_is_there_is_not_asked_again() -> None:
    plan = make_plan(settings(5, 0, 0.1, 3), 10, there=48, least_people=2)
    assert (plan.there, plan.missing, plan.people, plan.practice) == (48, 2, 2, 6)
    done = make_plan(settings(5, 0, 0.1, 3), 10, there=50, least_people=0)
    assert (done.tasks, done.people, done.hours, done.cost, done.minutes_each) == (0, 0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("given_numbers", "message"),
    [
        ({"seconds_per_item": 0}, "seconds per item must be from 0.1 to 86,400, not 0"),
        ({"seconds_per_item": math.nan}, "seconds per item must be from 0.1 to 86,400, not nan"),
        ({"per_hour": -1}, "pay must be from 0 to 1,000,000, not -1"),
        ({"minutes": 0}, "minutes must be from 0.1 to 1,000,000, not 0"),
        (
            {"minutes": 2},
            "in 2 minutes nobody gets beyond 4 practice items of 30 seconds; allow more minutes",
        ),
    ],
)
def test_numbers_that_cannot_be_used(given_numbers: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_plan(settings(3, 0, 0.1, 4), 10, **given_numbers)  # type: ignore[arg-type]
    assert str(error.value) == message


@given(
    items=st.integers(1, 60),
    raters=st.integers(1, 6),
    gold=st.integers(0, 12),
    share=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]),
    practice=st.integers(0, 4),
    room=st.integers(1, 80),
)
def test_the_fewest_people_that_do(items: int, raters: int, gold: int, share: float, practice: int, room: int) -> None:
    config = settings(raters, gold, share, practice)

    def tasks(number: int) -> int:
        """Tasks of a person who rates so many items."""
        exact = Fraction(str(share))
        return number + math.ceil(min(number * exact / (1 - exact), Fraction(gold))) + practice

    fitting = [number for number in range(1, items + 1) if tasks(number) <= room]
    if not fitting:
        with pytest.raises(UsageError, match="nobody gets beyond"):
            make_plan(config, items, minutes=room / 2)
        return
    plan = make_plan(config, items, minutes=room / 2)
    enough = [people for people in range(raters, raters * items + 1) if people * max(fitting) >= raters * items]
    assert plan.people == min(enough)
    assert plan.tasks == plan.missing + plan.gold + plan.practice
    assert plan.people * plan.items_each >= plan.missing > plan.people * (plan.items_each - 1)
    assert plan.minutes_each * 2 <= room
    assert 0 <= plan.gold <= plan.people * gold
    assert plan.hours * 3600 == pytest.approx(plan.tasks * 30)
