"""What references answer to: given beside them, and as references of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trubleu.data import References
from trubleu.errors import DataError


def test_messages_take_the_place_of_others() -> None:
    references = References(
        ["a", "b", "c"], [0, 2, 3], [1, 0.5, -1], ids=["x", "y"], origins=["seed", None, None],
        messages=["old", None], contexts=[("before",), None], source="r.jsonl",
    )  # fmt: skip
    made = references.with_messages(["one", "two"])
    assert made.messages == ("one", "two")
    assert references.messages == ("old", None)
    assert [segment.references for segment in made] == [segment.references for segment in references]
    assert (made.ids, made.contexts, made.source) == (references.ids, references.contexts, references.source)


def test_prepared_references_know_the_new_messages() -> None:
    references = References.from_lists([["a"]])
    references.prepare()
    assert references.with_messages(["hi"]).prepare().references.messages == ("hi",)


def test_strings_of_numpy_become_plain() -> None:
    made = References.from_lists([["a"]]).with_messages(np.array(["hi"]))  # type: ignore[arg-type]
    assert made.messages == ("hi",)
    assert type(made.messages[0]) is str


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (["one"], "there are 1 messages but references has 2 segments; give one text for each segment"),
        (["one", "two", "three"], "there are 3 messages but references has 2 segments"),
        ("ab", "messages is one string"),
        (["one", None], "messages of segments 2 are not strings; give one for each"),
        ([5, None], "messages of segments 1, 2 are not strings"),
    ],
)
def test_messages_that_do_not_fit(messages: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        References.from_lists([["a"], ["b"]]).with_messages(messages)


def test_messages_as_references() -> None:
    references = References(["a", "b"], [0, 1, 2], ids=["x", "y"], messages=["hi", ""], source="r.jsonl")
    made = references.messages_as_references()
    assert made is references.messages_as_references()
    assert (made.texts, made.ids, made.offsets.tolist()) == (("hi", ""), ("x", "y"), [0, 1, 2])
    assert made.source == "the messages of r.jsonl"
    assert len(References.from_lists([]).messages_as_references()) == 0
