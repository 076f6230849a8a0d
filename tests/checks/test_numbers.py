"""Figures and their units, and which of them are findings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.checks import Checks
from trubleu.checks.figures import figures


def contents(text: str) -> list[str]:
    return [figure.content for figure in figures(text)]


def kinds(output: str, *references: str, question: str | None = None, old: str | None = None) -> list[str]:
    return [found.kind for found in Checks().find(output, references, question=question, old=old)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 users", ["1000 user"]),
        ("1 000 users", ["1000 user"]),
        ("five users", ["5 user"]),
        ("twenty-five users", ["25 user"]),
        ("30 %", ["30 percent"]),
        ("30 percent and 30 per cent", ["30 percent", "30 percent"]),
        ("€49.90, 49.90 euros, EUR 49,90", ["49.9 euro"] * 3),
        ("$3.5 million, $3.5m and US$3.5mn", ["3500000 dollar"] * 3),
        ("two weeks, 14 days, 5 business days", ["1209600 second", "1209600 second", "432000 second"]),
        ("a year, 12 months", ["12 month", "12 month"]),
        ("half an hour, a quarter of an hour", ["1800 second", "900 second"]),
        ("3 to 7 days", ["259200 second", "604800 second"]),
        ("9.52 a.m., 9:52 am", ["9:52 time", "9:52 time"]),
        ("between 8 and 10 pm", ["8:00 time", "22:00 time"]),
        ("31 March 2020, March 31st, 2020-03-31", ["3-31 date", "2020", "3-31 date", "3-31 date", "2020"]),
        ("Sept. 11", ["9-11 date"]),
        ("v3.11.2 at 192.168.1.1", ["3.11.2 version", "192.168.1.1 version"]),
        ("Ring 0800 112 233", ["0800112233 phone"]),
        ("in the 1990s, 16-year-old", ["1990", "192 month"]),
        ("**30** days, **30 days**", ["2592000 second", "2592000 second"]),
        ("1. Open it.\n2. Close 3 lids.", ["3 lid"]),
        ("case number 88213, number 5", ["88213"]),
        ("COVID-19, 3-D, MP3, see step 2, no. 5", []),
        ("they may see it", []),
    ],
)
def test_figures_are_read_with_their_units(text: str, expected: list[str]) -> None:
    assert contents(text) == expected


def test_points_and_commas_have_two_readings() -> None:
    (one, other) = figures("0,46 and 762.172")
    assert one.values == ("0.46",)
    assert other.values == ("762.172", "762172")
    assert kinds("It has 762,172 people.", "It has 762.172 people.") == []


@pytest.mark.parametrize(
    ("output", "reference"),
    [
        ("It takes 1000 days.", "It takes 1,000 days."),
        ("It takes five days.", "It takes 5 days."),
        ("It costs 30 %.", "It costs 30 percent."),
        ("Wait two weeks.", "Wait 14 days."),
        ("Wait 15 minutes.", "Wait a quarter of an hour."),
        ("It opens at 21:30.", "It opens at 9.30 p.m."),
        ("It takes ten years.", "It takes a decade."),
        ("The completed one counts.", "What is completed counts."),
    ],
)
def test_equal_figures_are_no_findings(output: str, reference: str) -> None:
    assert kinds(output, reference) == []


def test_three_is_not_near_three_hundred() -> None:
    assert kinds("It takes 300 days.", "It takes 3 days.") == ["number", "missing number"]


def test_a_number_elsewhere_does_not_support_another_unit() -> None:
    assert "number" in kinds("You have 5 days and 5 projects.", "You have 30 days and 5 projects.")


def test_a_noun_with_another_number_contradicts() -> None:
    assert "number" in kinds("5 goals by 5 players", "3 goals by 5 players")
    assert kinds("5 kids by 5 players", "5 children by 5 players") == []


def test_the_question_and_the_old_answer_support_figures() -> None:
    assert kinds("After 60 days you pay.", "You pay.", question="What happens after 60 days?") == []
    assert kinds("After 60 days you pay.", "You pay.", old="You pay after 60 days.") == []


def test_a_number_fails_only_against_a_baseline() -> None:
    assert Checks().find("60 days", ["You pay."])[0].level == "warn"
    assert Checks().find("60 days", ["You pay."], old="You pay.")[0].level == "fail"


def test_all_places_of_a_figure_are_marked() -> None:
    text = "60 days, yes: **60 days**."
    found = Checks().find(text, ["You pay."])[0]
    assert [text[start:end] for start, end in found.spans] == ["60 days", "60 days"]


def test_only_figures_of_all_good_references_are_missing() -> None:
    assert kinds("You pay.", "You pay 5 euros.", "You pay.") == []
    assert kinds("You pay.", "You pay 5 euros.", "You pay €5.") == ["missing number"]


@given(st.integers(2101, 10**9))  # smaller ones may be years, which count nothing
def test_separators_change_nothing(value: int) -> None:
    assert contents(f"{value:,} things") == contents(f"{value} things")


@given(st.text(max_size=60))
def test_any_text_can_be_read_and_supports_itself(text: str) -> None:
    for figure in figures(text):
        assert 0 <= figure.start < figure.end <= len(text)
    assert not [kind for kind in kinds(text, text) if "number" in kind]
