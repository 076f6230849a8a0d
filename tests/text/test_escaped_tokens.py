"""Escapes keep tokens whole and apart."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from trubleu.text.tokenizers import MARK, escape_token, join_tokens

TOKENS = st.text(st.sampled_from([" ", "\n", "\u2003", "\x1c", MARK, ";", "2", "0", "a"]) | st.characters(), max_size=6)


def unescape(token: str) -> str:
    return re.sub(f"{MARK}([0-9a-f]*);", lambda match: chr(int(match[1], 16)) if match[1] else "", token)


@given(TOKENS)
@example("")
@example(MARK)
@example(f"{MARK}20;")
@example(f"{MARK};")
def test_escape_can_be_undone(token: str) -> None:
    escaped = escape_token(token)
    assert unescape(escaped) == token
    assert escaped.split() == [escaped]


@given(TOKENS, TOKENS)
def test_different_tokens_stay_different(one: str, other: str) -> None:
    assert (escape_token(one) == escape_token(other)) == (one == other)


@given(st.text(st.characters(exclude_characters=MARK), min_size=1).filter(lambda token: token.split() == [token]))
def test_ordinary_tokens_stay_as_they_are(token: str) -> None:
    assert escape_token(token) == token


@given(st.lists(TOKENS, max_size=6))
def test_join_is_split_into_the_escaped_tokens(tokens: list[str]) -> None:
    assert join_tokens(tokens).split() == [escape_token(token) for token in tokens]
    assert join_tokens(tuple(tokens)) == join_tokens(tokens)
