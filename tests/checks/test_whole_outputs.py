"""Length, language, markup, and bad references."""

from __future__ import annotations

import pytest

from trubleu.checks import Checks, Item
from trubleu.checks.language import language
from trubleu.checks.markup import find_markup

LONG = "The parcel arrives on Monday and the driver rings at the door before noon. "


def kinds(output: str, *references: str, old: str | None = None, weights: list[float] | None = None) -> list[str]:
    return [found.kind for found in Checks().find(output, references, weights, old=old)]


def test_lengths_are_compared_with_the_old_output_or_the_references() -> None:
    assert "longer" in kinds(LONG * 5, LONG * 2)
    assert "longer" not in kinds(LONG * 5, LONG * 2, old=LONG * 4)
    assert "shorter" in kinds(LONG, LONG * 3)
    assert kinds("Yes, it does.", "Yes it does so.") == []
    assert "longer" not in [found.kind for found in Checks(longer=9).find(LONG * 5, [LONG * 2])]


def test_another_language_or_script_is_found() -> None:
    german = "Die Sendung kommt am Montag an und der Fahrer klingelt an der Tür, aber nicht vor dem Mittag."
    assert "language" in kinds(german, LONG)
    assert "language" not in kinds(german, LONG, german[:60])
    assert "language" in kinds("Посылка придёт в понедельник до полудня.", LONG)
    assert "language" not in kinds("Yes, Монтаг.", LONG)
    assert language("Tokyo Osaka Kyoto Nara Kobe Nagoya Sapporo Sendai") is None


@pytest.mark.parametrize(
    ("output", "reference", "broken"),
    [
        ('{"a": 1', '{"a": 2}', ["JSON"]),
        ("Sure: a is 1.", '{"a": 2}', ["JSON"]),
        ('```json\n{"a": 1}\n```', '{"a": 2}', []),
        ("```\nx = 1", "```\nx = 1\n```", ["code blocks"]),
        ("<b>Yes</i>", "<b>Yes</b>", ["tags"]),
        ("<p>Yes<br>no</p>", "<p>Yes</p>", []),
        ("a < b and c > d", "a < b", []),
        ("| a | b |\n|---|\n| 1 | 2 |", "yes", []),
        ("| a | b |\n|---|---|---|\n| 1 | 2 |", "yes", ["a table"]),
        ("**Yes, 5 days", "**Yes**, 5 days", ["bold text"]),
        ("**Yes, 5 days", "**Yes, 5 days or so", []),
    ],
)
def test_markup_must_parse_as_before(output: str, reference: str, broken: list[str]) -> None:
    assert [mark.content for mark in find_markup(Item(output, [reference]))] == broken


def test_an_output_nearer_to_a_bad_reference_is_found() -> None:
    good, bad = "The trial lasts 30 days and is free.", "The trial lasts 60 days and costs 5 euros."
    assert "closer to a bad reference" in kinds(
        "The trial lasts 60 days and costs a few euros.", good, bad, weights=[1, -1]
    )
    assert kinds("The trial is free and lasts 30 days.", good, bad, weights=[1, -1]) == []
