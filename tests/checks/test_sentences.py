"""Sentences and their places."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.checks.sentences import sentences


def texts(text: str) -> list[str]:
    return [text[part.start : part.end] for part in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mrs. Keller will call. Then wait!", ["Mrs. Keller will call.", "Then wait!"]),
        ("It opened at 9.52 a.m. today. Fine.", ["It opened at 9.52 a.m. today.", "Fine."]),
        ("It opens at 9 a.m. Come early.", ["It opens at 9 a.m.", "Come early."]),
        ("J. K. Rowling, e.g. in Rome vs. Bonn.", ["J. K. Rowling, e.g. in Rome vs. Bonn."]),
        ("# Title\n\n1. Open it.\n2) Close it\n- Done", ["Title", "Open it.", "Close it", "Done"]),
        ('He said "Yes." Then he left.', ['He said "Yes."', "Then he left."]),
        ("今天很好。明天见！", ["今天很好。", "明天见！"]),
        ("Run:\n```\na. b. c\n```\nDone.", ["Run:", "```\na. b. c\n```", "Done."]),
        ("---\n\n***", []),
    ],
)
def test_sentences_end_where_people_end_them(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@given(st.text(max_size=100))
def test_sentences_are_in_order_and_hold_all_letters(text: str) -> None:
    parts = sentences(text)
    assert all(one.end <= other.start for one, other in itertools.pairwise(parts))
    assert all(part.start < part.end <= len(text) for part in parts)
