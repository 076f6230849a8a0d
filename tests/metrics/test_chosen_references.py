"""Rows against any choice of references, from outputs compared with each reference once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trubleu
from trubleu.data import References

METRICS = (
    "bleu-4",
    "bleu-2[reference_length=shortest]",
    "bleu-1[reference_length=longest,lowercase=true]",
    "bleu-3[reference_length=average]",
    "dbleu-2[no_positive=skip]",
    "dbleu-3[length_references=positive,no_positive=skip]",
    "chrf",
    "chrf++",
    "cider",
    "cider-2",
    "cider-d",
    "trubleu[no_positive=skip]",
    "trubleu-1[no_positive=skip,characters=false]",
)

TEXTS = st.lists(st.sampled_from(["a", "b", "A", "the cat", "sat", "no", "zebra!", "dog"]), max_size=6).map(" ".join)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[str], References, np.ndarray]:
    counts = draw(st.lists(st.integers(1, 5), min_size=2, max_size=5))
    texts = [[draw(TEXTS) for _ in range(count)] for count in counts]
    weights = [[draw(st.sampled_from([-1.0, -0.5, 0.0, 0.3, 1.0])) for _ in range(count)] for count in counts]
    outputs = [draw(st.one_of(TEXTS, st.sampled_from(each))) for each in texts]
    chosen = np.array(draw(st.lists(st.booleans(), min_size=sum(counts), max_size=sum(counts))))
    return outputs, References.from_lists(texts, weights), chosen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METRICS)
@settings(max_examples=60, deadline=None)
@given(world=worlds())
def test_rows_of_a_choice_are_those_of_the_chosen_references(
    name: str, world: tuple[list[str], References, np.ndarray]
) -> None:
    outputs, references, chosen = world
    metric = trubleu.metric(name)
    kept = np.flatnonzero(np.logical_or.reduceat(chosen, references.offsets[:-1]))
    if len(kept) < 2:
        return
    compared = metric.by_reference(outputs, references)
    assert compared is not None
    expected = metric.statistics([outputs[place] for place in kept], references.take(kept, chosen))
    np.testing.assert_allclose(compared(chosen)[kept], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["cider[stem=true]", "dbleu-2[definition=fork2019]", "ter", "trubleu[importance=corpus]"]
)
def test_what_cannot_be_split_by_reference_says_so(name: str) -> None:
    references = References.from_lists([["a b", "c"], ["d"]])
    assert trubleu.metric(name).by_reference(["a", "d"], references) is None


def test_cider_refuses_a_choice_of_a_single_segment() -> None:
    references = References.from_lists([["a b", "c"], ["d"]])
    compared = trubleu.metric("cider").by_reference(["a", "d"], references)
    assert compared is not None
    with pytest.raises(trubleu.DataError, match="one segment only"):
        compared(np.array([True, True, False]))
