"""`words`: the expression that its documentation states."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.text import tokenizer


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's a well-known fact, isn’t it?", ["It's", "a", "well-known", "fact", ",", "isn’t", "it", "?"]),
        ("'tis rock-'n'-roll--", ["'", "tis", "rock", "-", "'", "n", "'", "-", "roll", "-", "-"]),
        ("3.5 a_b Zürich北京", ["3", ".", "5", "a_b", "Zürich北京"]),
        ("a\u2003b\x1fc\u00a0d", ["a", "b", "c", "d"]),
        ("", []),
        (" \n", []),
    ],
)
def test_examples(text: str, tokens: list[str]) -> None:
    assert tokenizer("words").tokens(text) == tokens
    assert tokenizer("words").lines([text]) == [" ".join(tokens)]


@given(st.text())
def test_is_the_documented_expression(text: str) -> None:
    words = tokenizer("words")
    tokens = re.findall(r"\w+(?:[-'’]\w+)*|[^\w\s]", text)
    assert words.tokens(text) == tokens == words.lines([text])[0].split()
    assert "".join(tokens) == "".join(text.split())


def test_lower_case() -> None:
    # 'İ' becomes two characters, of which the second is no letter for this expression; a sigma at the end of a word
    # is another one than inside it.
    assert tokenizer("words").tokens("İYİ ΟΔΟΣ", lowercase=True) == ["i", "̇", "yi", "̇", "οδος"]
