"""Some segments or some references of a set: the same texts, weights and tokens as in the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import References
from trubleu.errors import DataError
from trubleu.text import tokenizer


@given(
    segments=st.lists(st.lists(st.text("aB ,", max_size=6), min_size=1, max_size=4), min_size=1, max_size=5),
    data=st.data(),
)
def test_parts_know_the_tokens_of_the_whole(segments: list[list[str]], data: st.DataObject) -> None:
    words = tokenizer("words")
    whole = References.from_lists(segments)
    expected = dict(zip(whole.texts, whole.kernel_texts(words, True)[0], strict=True))
    kept = np.array([data.draw(st.booleans()) for _ in range(whole.count)])
    kept[whole.offsets[:-1]] = True
    order = data.draw(st.permutations(range(len(segments))))
    for part in (whole.take(order), whole.take(order, kept)):
        assert list(part.ids) == [whole.ids[place] for place in order]
        assert part.kernel_texts(words, True)[0] == tuple(expected[text] for text in part.texts)


def test_a_part_keeps_everything_else() -> None:
    whole = References(
        ["a", "b", "c"],
        [0, 2, 3],
        [0.5, 1.0, -1.0],
        ids=["x", "y"],
        origins=["seed", None, "mined"],
        messages=["m", None],
        contexts=[("t",), None],
        source="refs.jsonl",
    )
    part = whole.take([0, 1], [False, True, True])
    assert part.texts == ("b", "c")
    assert part.offsets.tolist() == [0, 1, 2]
    assert part.weights is not None
    assert part.weights.tolist() == [1.0, -1.0]
    assert (part.ids, part.origins, part.messages, part.contexts, part.source) == (
        ("x", "y"),
        (None, "mined"),
        ("m", None),
        (("t",), None),
        "refs.jsonl",
    )
    with pytest.raises(DataError, match="no reference for segment y"):
        whole.take([0, 1], [True, True, False])
