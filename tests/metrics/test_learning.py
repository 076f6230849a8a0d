"""Metrics that learn from references: from all of them, from another corpus, and never from how a corpus was cut."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts
from tests.oracles.learning import cider, nist, nist_row
from tests.oracles.near import near
from trubleu import DataError, Metric, References, UsageError, metric
from trubleu.metrics import names
from trubleu.report import score_parts, score_systems

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

NAMES = ("nist-3", "cider-3", "cider-d-3")
TEXTS = [["the cat sat on the mat", "a cat sat"], ["dogs bark"], ["the sun is up", "up comes the sun", ""], ["the cat"]]
OUTPUTS = ["a cat on the mat", "dogs bark loudly", "the sun comes up", "cat"]


def some_references(lists: list[list[str]] = TEXTS) -> References:
    return References.from_lists(lists)


@pytest.mark.parametrize("name", NAMES)
def test_what_learns_says_so(name: str) -> None:
    learning = metric(name)
    assert learning.learns
    taught = learning.learned(some_references())
    assert not taught.learns
    assert taught.signature() == learning.signature()
    assert taught.learned(some_references(TEXTS[:2])) is taught
    assert not metric(name, corpus=some_references()).learns


def test_all_others_learn_nothing() -> None:
    for name in names():
        if not name.startswith(("nist", "cider")) and "vec" not in name:
            other = metric(name)
            assert not other.learns
            assert other.learned(some_references()) is other


@given(corpora(odd_texts(8) | plain_texts(8), segments=7, smallest=2), st.sampled_from(NAMES), st.data())
def test_no_number_depends_on_how_the_corpus_is_cut(corpus: Corpus, name: str, data: st.DataObject) -> None:
    learning = metric(name)
    whole = some_references(corpus.references)
    rows = learning.statistics(corpus.outputs, whole)
    taught = learning.learned(whole)
    cut = data.draw(st.integers(0, len(rows)))
    parts = [
        taught.statistics(corpus.outputs[span], corpus.references[span]) for span in (slice(cut), slice(cut, None))
    ]
    assert np.vstack(parts).tobytes() == rows.tobytes()
    order = data.draw(st.permutations(range(len(rows))))
    shuffled = learning.statistics([corpus.outputs[i] for i in order], [corpus.references[i] for i in order])
    assert shuffled.tobytes() == rows[order].tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_prepared_references_threads_and_repetitions_change_nothing(name: str) -> None:
    learning = metric(name)
    expected = learning.corpus(OUTPUTS, TEXTS)
    references = some_references()
    done: list[int] = []
    rows = learning.statistics(OUTPUTS, references, progress=done.append)
    assert sum(done) == len(OUTPUTS)
    for again in (references, references.prepare(), references.prepare(tokenize="none")):
        assert learning.corpus(OUTPUTS, again, threads=3) == expected
    taught = pickle.loads(pickle.dumps(learning.learned(references.prepare())))  # noqa: S301
    assert taught.statistics(OUTPUTS[:1], TEXTS[:1]).tolist() == rows[:1].tolist()


@given(corpora(plain_texts(8), smallest=2), corpora(plain_texts(8), smallest=2))
def test_another_corpus_is_learned_from(corpus: Corpus, other: Corpus) -> None:
    outputs = [text.split() for text in corpus.outputs]
    references, learned = ([[text.split() for text in row] for row in each.references] for each in (corpus, other))
    known = some_references(other.references)
    found = metric("nist-3[tokenize=none]", corpus=known).corpus(corpus.outputs, corpus.references).score
    assert found == near(nist([nist_row(*pair, learned, 3) for pair in zip(outputs, references, strict=True)]))
    scores = metric("cider-d-3[tokenize=none]", corpus=known).segments(corpus.outputs, corpus.references)
    pairs = zip(outputs, references, strict=True)
    assert scores.tolist() == near([cider(*pair, learned, order=3, sigma=6.0) for pair in pairs])


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_may_be_a_file(name: str, tmp_path: Path) -> None:
    lines = [{"references": [{"text": text} for text in row]} for row in TEXTS]
    path = tmp_path / "corpus"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    reading = metric(f"{name}[corpus={path}]")
    assert reading.statistics(OUTPUTS, TEXTS).tolist() == metric(name).statistics(OUTPUTS, TEXTS).tolist()
    signature = str(reading.signature())
    assert ":corpus-" in signature
    assert signature == str(metric(name, corpus=path).signature())
    path.write_text("the cat\nthe dog\n")
    changed = metric(name, corpus=path)
    assert str(changed.signature()) != signature
    plain = metric(name, corpus=some_references([["the cat"], ["the dog"]]))
    assert changed.statistics(OUTPUTS, TEXTS).tolist() == plain.statistics(OUTPUTS, TEXTS).tolist()
    path.unlink()
    with pytest.raises(DataError, match=r"corpus cannot be read any more"):
        changed.corpus(OUTPUTS, TEXTS)


def test_signatures_tell_where_segments_begin() -> None:
    apart, together = some_references([["a"], ["b"], ["c"]]), some_references([["a", "b"], ["c"]])
    assert metric("cider", corpus=apart).signature() != metric("cider", corpus=together).signature()
    assert metric("cider", corpus=apart).signature() == metric("cider", corpus=apart.prepare()).signature()


def test_a_corpus_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file nowhere\.txt to learn from; corpus= takes a file of"):
        metric("nist[corpus=nowhere.txt]")
    (tmp_path / "bad.jsonl").write_text('{"references": 5}\n')
    broken = metric("cider", corpus=tmp_path / "bad.jsonl")
    with pytest.raises(DataError, match=r"bad\.jsonl:1"):
        broken.corpus(OUTPUTS, TEXTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_of_nothing_weighs_all_alike(name: str) -> None:
    empty = metric(name, corpus=some_references([[""], [""]]))
    rows = empty.statistics(OUTPUTS, TEXTS)
    assert np.isfinite(rows).all()
    assert empty.segments(OUTPUTS, TEXTS)[1] >= 0


def test_parts_are_refused_and_what_has_learned_takes_them() -> None:
    whole = some_references()
    parts: Any = [(whole.take([0, 1]), {"a": OUTPUTS[:2]}), (whole.take([2, 3]), {"a": OUTPUTS[2:]})]
    metrics = {"nist-3": metric("nist-3"), "bleu-1": metric("bleu-1")}
    with pytest.raises(UsageError, match="nist-3 must know the references of all segments before one is scored"):
        score_parts(parts, ["a"], 4, metrics)
    taught = {name: each.learned(whole) for name, each in metrics.items()}
    assert score_parts(parts, ["a"], 4, taught).scores[0].score == (
        score_systems({"a": OUTPUTS}, whole, metrics).scores[0].score
    )


class Forgetful(trubleu.Bleu):
    """A metric of somebody's own that only says that it learns."""

    @property
    def learns(self) -> bool:
        return True


def test_a_metric_that_cannot_learn_beforehand_says_so() -> None:
    own: Metric = Forgetful(1)
    with pytest.raises(UsageError, match="bleu-1 learns from references, but does not say how to do so before"):
        own.learned(some_references())
    assert score_systems({"a": OUTPUTS}, some_references(), {"own": own}).scores[0].score > 0
