"""Every metric takes odd and very long texts, or says which segment is too long."""

from __future__ import annotations

import time

import numpy as np
import pytest

from trubleu.errors import DataError
from trubleu.metrics import metric

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

TEXTS = {
    "lone surrogates": "\ud800 a\udfff b \udc00\ud800 c",
    "combining marks": "e\u0301a\u0308\u0327 \u0301 x\u0301\u0301 y",
    "a million characters": " ".join(f"w{i % 997}" for i in range(250_000))[:1_000_000],
    "a word of a million characters": "ab" * 500_000 + " is one of many words",
}
TOO_LONG = {("meteor", "a million characters"), ("lebleu", "a million characters")}
METRICS = ("bleu", "sbleu", "nist", "cider", "cider-d", "chrf", "chrf++", "lebleu", "meteor", "rouge", "rouge-l", "ter")


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", METRICS)
def test_odd_texts_and_empty_sides(name: str, kind: str) -> None:
    text, ours = TEXTS[kind], metric(name)
    outputs, references = [text, "other words", "", text], [[text], [text], [text], [""]]
    if (name, kind) in TOO_LONG:
        with pytest.raises(DataError, match=r"segment 1 has an output of \d+,\d+ words"):
            ours.segments(outputs, references)
        return
    scores = ours.segments(outputs, references, threads=1) * (1 if ours.higher_is_better else -1)
    assert np.isfinite(scores).all()
    assert scores[0] == scores.max()  # nothing is better than the reference itself
    assert scores[0] > scores[2]
    assert np.array_equal(np.abs(scores), ours.segments(outputs, references, threads=2))


def test_many_words_that_are_similar_to_the_same_few() -> None:
    output = " ".join(np.random.default_rng(1).choice(["the", "cat", "sat", "on", "mat", "dog"], 400_000))
    began = time.process_time()
    assert metric("trubleu").segments([output], [["the cat sat on a mat"]], threads=1)[0] > 0
    assert time.process_time() - began < 10  # half a minute if each n-gram looks at all others again
