"""Metrics that learn from references: from all of them, from another corpus, and never from how a corpus was cut."""

from __future__ import annotations

import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from tests.oracles.corpora import Corpus, corpora, odd_texts, plain_texts
from tests.oracles.corpus_weights import cider, nist, nist_row
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.metrics import Metric, metric, names
from trubleu.metrics.corpus_weights import Learned
from trubleu.scoring import score_parts, score_systems

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.metrics.corpus_weights import LearningMetric

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

SAYS = {"nist-3": "info", "cider-3": "idf", "cider-d-3": "idf"}
NAMES = tuple(SAYS)
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
    assert taught.learned(some_references(TEXTS[:2])) is taught
    assert not metric(name, corpus=some_references()).learns


@pytest.mark.parametrize("name", NAMES)
def test_signatures_tell_what_was_learned_from(name: str) -> None:
    """Numbers can be compared if signatures are equal, so what learned elsewhere may not say that it did here."""
    learning, here, there = metric(name), some_references(), some_references(TEXTS[::-1])
    assert learning.signature(here).to_dict()[SAYS[name]] == "refs"
    taught = learning.learned(here)
    for same in (here, here.prepare(), TEXTS, some_references([list(row) for row in TEXTS])):
        assert taught.signature(same) == learning.signature(here)
    for unknown in (there, there.prepare(), TEXTS[:2], None, cast("Any", "var")):
        said = taught.signature(unknown).to_dict()[SAYS[name]]
        assert re.fullmatch(r"learned-[0-9a-f]{8}", said)
        assert learning.learned(there).signature().to_dict()[SAYS[name]] != said
    assert taught.corpus(OUTPUTS, TEXTS) == learning.corpus(OUTPUTS, TEXTS)
    shorter = taught.with_order(2)
    assert shorter is not None
    assert shorter.signature().to_dict()[SAYS[name]] == taught.signature().to_dict()[SAYS[name]]


def test_all_others_learn_nothing() -> None:
    for name in names():
        if not name.startswith(("nist", "cider", "distinct", "self-bleu")) and "vec" not in name:
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
    other = other._replace(references=[*other.references[1:], ["the cat"]])
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
    assert changed.statistics(OUTPUTS, TEXTS).tolist() == plain.statistics(OUTPUTS, TEXTS).tolist()


def test_signatures_tell_where_segments_begin() -> None:
    apart, together = some_references([["a"], ["b"], ["c"]]), some_references([["a", "b"], ["c"]])
    assert metric("cider", corpus=apart).signature() != metric("cider", corpus=together).signature()
    assert metric("cider", corpus=apart).signature() == metric("cider", corpus=apart.prepare()).signature()


def test_a_corpus_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file nowhere\.txt to learn from; corpus= takes a file of"):
        metric("nist[corpus=nowhere.txt]")
    (tmp_path / "bad.jsonl").write_text('{"references": 5}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl:1"):
        metric("cider", corpus=tmp_path / "bad.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_there_must_be_something_to_learn_from(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    message = r"empty\.txt has no segments to learn from; name references with corpus=, or leave it out to"
    with pytest.raises(DataError, match=message):
        metric(name, corpus=tmp_path / "empty.txt")
    with pytest.raises(DataError, match="references has no segments to learn from; name"):
        metric(name, corpus=some_references([]))
    with pytest.raises(DataError, match=f"references has no segments for {name} to learn from; give some"):
        metric(name).learned(some_references([]))
    (tmp_path / "blank.txt").write_text("\n \n")
    with pytest.raises(DataError, match=rf"blank\.txt has no words for {name} to learn from; name references"):
        metric(name, corpus=tmp_path / "blank.txt").corpus(OUTPUTS, TEXTS)
    assert metric(name).corpus([], []).score == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_of_other_words_weighs_all_alike(name: str) -> None:
    strange = metric(name, tokenize="none", corpus=some_references([["x y z"], ["x y z"]]))
    rows = strange.statistics(["a b", "a b"], [["a b"], ["c d"]])
    split = [["a", "b"]], [["x", "y", "z"]]
    learned = [split[1], split[1]]
    if name == "nist-3":
        told = [nist_row(["a", "b"], [["a", "b"]], learned, 3), nist_row(["a", "b"], [["c", "d"]], learned, 3)]
        assert rows[0, 2:5].tolist() == near(list(told[0].information))
        assert rows[0, 2] == near(2 * np.log2(6))
        assert rows[1, 2:5].tolist() == [0, 0, 0]
    else:
        assert rows[:, 0].tolist() == near([20 / 3, 0])  # no text has three words


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text(f"the cat of {path.stem}\nthe dog\n")
    read: list[str] = []

    def reading(path: Any) -> References:
        read.append(str(path))
        return original(path)

    original = References.read
    monkeypatch.setattr(References, "read", reading)
    metrics = [metric(name, corpus=path) for path in paths for name in NAMES]
    for _ in range(3):
        for each in metrics:
            each.corpus(OUTPUTS, TEXTS)
            each.with_order(2).corpus(OUTPUTS, TEXTS)  # type: ignore[union-attr]
    assert read == [str(path) for path in paths]


def test_a_file_that_changes_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("the cat\nthe dog\n")
    ours = metric("nist-1", corpus=path)
    before = ours.corpus(OUTPUTS, TEXTS)
    path.write_text("cat cat cat\ndog\n")
    assert ours.corpus(OUTPUTS, TEXTS) == before
    assert metric("nist-1", corpus=path).corpus(OUTPUTS, TEXTS).score != before.score


def test_threads_may_share_a_metric(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(4)]
    for path in paths:
        path.write_text(f"the cat {path.stem}\nthe dog\n")
    expected = [metric("nist-2", corpus=path).corpus(OUTPUTS, TEXTS) for path in paths]
    metrics = [metric("nist-2", corpus=path) for path in paths]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: metrics[i % 4].corpus(OUTPUTS, TEXTS), range(64)))
    assert found == expected * 16


def test_threads_may_share_what_was_counted() -> None:
    texts = [[f"the {i % 7} cat {i % 11} sat on {i % 13} mats"] for i in range(4000)]
    outputs = [row[0] for row in texts]
    expected = metric("nist-9").corpus(outputs, texts)
    for _ in range(3):
        taught, references = metric("nist-9", corpus=some_references(texts)), some_references(texts)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: taught.corpus(outputs, references), range(8)))  # noqa: B023
        assert {each.score for each in found} == {expected.score}


def test_signs_that_part_a_signature_are_no_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a|b:c d.txt"
    path.write_text("the cat\nthe dog\n")
    said = metric("nist-1", corpus=path).signature()
    assert said.to_dict()["info"].startswith("a_b_c_d.txt-")
    assert len(str(said).split("|")) == len(said.pairs) + 2


def test_parts_are_refused_and_what_has_learned_takes_them() -> None:
    whole = some_references()
    parts: Any = [(whole.take([0, 1]), {"a": OUTPUTS[:2]}), (whole.take([2, 3]), {"a": OUTPUTS[2:]})]
    metrics = {"nist-3": metric("nist-3"), "bleu-1": metric("bleu-1")}
    with pytest.raises(UsageError, match="nist-3 needs the references of all segments before it can score one"):
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


@given(corpora(odd_texts(8) | plain_texts(8), segments=7, smallest=2), st.sampled_from(NAMES), st.data())
def test_what_parts_teach_adds_up(corpus: Corpus, name: str, data: st.DataObject) -> None:
    """Learned part by part and without what was counted once, in any order, the numbers are those of the whole."""
    learning = cast("LearningMetric", metric(name))
    rows = learning.statistics(corpus.outputs, corpus.references)
    cuts = sorted(data.draw(st.lists(st.integers(1, len(rows) - 1), max_size=4, unique=True)))
    parts = [corpus.references[begin:end] for begin, end in pairwise([0, *cuts, len(rows)])]
    first, *others = (learning.counts(some_references(part)) for part in data.draw(st.permutations(parts)))
    counts = pickle.loads(pickle.dumps(first))  # noqa: S301
    for other in others:
        counts.add_counts(other)
    at_once = learning.counts(some_references(corpus.references))
    assert (counts.tokens, counts.segments, counts.size) == (at_once.tokens, at_once.segments, at_once.size)
    taught = learning.knowing(Learned.of(counts))
    assert not taught.learns
    assert taught.statistics(corpus.outputs, corpus.references).tobytes() == rows.tobytes()
    assert (
        learning.knowing(Learned.of(at_once)).statistics(corpus.outputs, corpus.references).tobytes() == rows.tobytes()
    )


def test_digests_tell_counts_apart() -> None:
    counter = cast("LearningMetric", metric("nist-2"))
    found = [counter.counts(some_references(lists)) for lists in (TEXTS, TEXTS, TEXTS[:2], [["the cat"]])]
    assert found[0].digest() == found[1].digest()
    assert len({counts.digest() for counts in found}) == 3
