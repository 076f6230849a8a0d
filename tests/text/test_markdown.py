"""Markdown as plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.text.markdown import plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**30 days**", "30 days"),
        ("__30 days__ and *more* and _less_", "30 days and more and less"),
        ("***both***", "both"),
        ("# Title\ntext", "Title\ntext"),
        ("Title\n=====\ntext", "Title\n\ntext"),
        ("- one\n* two\n+ three\n1. four\n 2) five\n- [x] six", "one\ntwo\nthree\nfour\nfive\nsix"),
        ("> quoted\n> > twice", "quoted\ntwice"),
        ("run `pip install x`", "run pip install x"),
        ("```sh\nls -a\n```", "\nls -a\n"),
        ("~~gone~~", "gone"),
        ("[a link](https://x.example/a_b_c)", "[a link](https://x.example/a_b_c)"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("It costs 5 - 10 days.", "It costs 5 - 10 days."),
        ("2024. was a year", "2024. was a year"),
        ("C# and F#", "C# and F#"),
        ("", ""),
    ],
)
def test_marks_go_and_words_stay(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(st.lists(st.sampled_from(["one", "two,", "three.", "30", "days", "A-b"]), max_size=12).map(" ".join))
def test_text_without_markdown_stays_as_it_is(text: str) -> None:
    assert plain_text(text) == text
