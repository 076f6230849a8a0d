"""bleu2vec and dbleu2vec equal their statement and have the properties that their definition promises."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trubleu
from tests.oracles import bleu2vec as oracle
from tests.oracles.bleu2vec_worlds import Looked, Nothing, Sums, World
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.metrics import Bleu2Vec, DeltaBleu2Vec
from trubleu.metrics.bleu2vec import alignment
from trubleu.metrics.bleu2vec import vectors as soft_vectors
from trubleu.metrics.bleu2vec.vectors import WordRows
from trubleu.vectors import VectorStore

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "abcde"
texts = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
spoken = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
quarters = st.integers(-4, 4).map(lambda number: number / 4)
scales = st.sampled_from(["clamp", "shift:0.25", "shift:0"])
rules = st.sampled_from(["earn", "nearest", "max"])
worlds = st.integers(0, 30).map(World)


@st.composite
def segments(draw: st.DrawFn, least: int = 1) -> tuple[str, list[str], list[float]]:
    """An output, its references and their weights, the largest of which is above 0."""
    output = draw(texts)
    references = draw(st.lists(spoken, min_size=least, max_size=4, unique=True))
    weights = draw(st.lists(quarters, min_size=len(references), max_size=len(references)))
    weights[draw(st.integers(0, len(weights) - 1))] = draw(st.sampled_from([0.25, 0.5, 1.0]))
    return output, references, weights


def weighted(segment: tuple[str, list[str], list[float]]) -> tuple[list[str], trubleu.References]:
    output, references, weights = segment
    return [output], trubleu.References.from_lists([references], [weights])


def scale_of(similarity: str, unknown: float = 0.001) -> oracle.Scale:
    kind, _, shift = similarity.partition(":")
    return oracle.Scale(kind, float(shift or 0), unknown)


# Equal to the statement


@given(segment=segments(), world=worlds, similarity=scales, rule=rules, oov=st.sampled_from([0.001, 0.0, 0.5]))
@settings(deadline=None)
def test_what_ngrams_earn(segment: Any, world: World, similarity: str, rule: str, oov: float) -> None:
    output, references, weights = segment
    metric = DeltaBleu2Vec(3, vectors=world, similarity=similarity, credit=rule, oov=oov)
    rows = metric.statistics(*weighted(segment))
    tokens, scale = [text.split() for text in references], scale_of(similarity, oov)
    expected = [oracle.matches(output.split(), tokens, weights, n, world.cosine, scale, rule) for n in (1, 2, 3)]
    np.testing.assert_allclose(rows[0, 2:5], expected, rtol=0, atol=1e-12)
    counts = [max(len(output.split()) - n, 0) for n in range(3)]
    np.testing.assert_array_equal(rows[0, 8:], counts)
    np.testing.assert_array_equal(rows[0, 5:8], np.multiply(max(weights), counts))


@given(output=texts, references=st.lists(spoken, min_size=1, max_size=3), world=worlds)
@settings(deadline=None)
def test_what_ngrams_earn_without_weights(output: str, references: list[str], world: World) -> None:
    rows = Bleu2Vec(3, vectors=world).statistics([output], [references])
    expected = [
        oracle.matches(
            output.split(),
            [text.split() for text in references],
            [1.0] * len(references),
            n,
            world.cosine,
            oracle.Scale(),
            "plain",
        )
        for n in (1, 2, 3)
    ]
    np.testing.assert_allclose(rows[0, 2:5], expected, rtol=0, atol=1e-12)


def long_texts(words: str) -> st.SearchStrategy[str]:
    """Texts that are longer than the kernel's vectors, with many ties."""
    return st.lists(st.sampled_from(words), min_size=12, max_size=30).map(" ".join)


@given(
    output=texts | long_texts("abcd"),
    reference=spoken | long_texts("defgh"),
    world=worlds,
    similarity=st.sampled_from(["raw", "clamp", "shift:0.25"]),
)
@settings(deadline=None)
def test_what_is_aligned_with_what(output: str, reference: str, world: World, similarity: str) -> None:
    found = Bleu2Vec(2, vectors=world, similarity=similarity).pairs(output, [reference])
    for n in (1, 2):
        left, right = oracle.grams(output.split(), n), oracle.grams(reference.split(), n)
        expected = oracle.align(left, right, world.cosine, scale_of(similarity))
        if similarity != "raw":  # pairs that count nothing are left out
            expected = [pair for pair in expected if pair.weight > 0]
        here = [tuple(pair[2:]) for pair in found if pair.order == n]
        assert sorted(here) == sorted(map(tuple, expected))
        order = [pair[3] for pair in here]
        assert all(before >= after for before, after in pairwise(order))


def test_the_score_of_a_pair_by_hand() -> None:
    vectors = (["cat", "dog", "on", "cat on", "dog on"], np.array([[3, 4], [4, 3], [0, -1], [1, 0], [0.6, 0.8]]))
    result = Bleu2Vec(2, vectors=vectors, smoothing="none").corpus(["the cat on mats"], [["the dog on mats"]])
    # the, on and mats are there; cat and dog have the cosine (12 + 12) / 25; "cat on" and "dog on" 0.6; "the cat" has
    # no vector, and "on mats" is there.
    assert result.matches == pytest.approx((3.96, 1.601), abs=1e-6)
    assert result.score == pytest.approx(100 * (3.96 / 4 * 1.601 / 3) ** 0.5, abs=1e-5)


def test_duplicates_align_one_to_one() -> None:
    vectors = (["big", "large", "huge"], np.array([[1, 0], [0.8, 0.6], [0.6, 0.8]]))
    metric = Bleu2Vec(1, vectors=vectors)
    assert metric.statistics(["big big"], [["large"]])[0, 2] == pytest.approx(0.8)
    assert metric.statistics(["big big"], [["large huge"]])[0, 2] == pytest.approx(1.4)
    assert metric.statistics(["big"], [["large large"]])[0, 2] == pytest.approx(0.8)
    # One of two is matched exactly, the other is aligned.
    assert metric.statistics(["big big"], [["huge big"]])[0, 2] == pytest.approx(1.6)


def test_a_cosine_below_zero_is_kept_unless_told_otherwise() -> None:
    vectors = (["up", "down"], np.array([[1, 0], [-0.6, 0.8]]))
    for similarity, expected in (("raw", 0.4), ("clamp", 1.0), ("shift:0.5", 1.0)):
        metric = Bleu2Vec(1, vectors=vectors, similarity=similarity)
        assert metric.statistics(["it up"], [["it down"]])[0, 2] == pytest.approx(expected)
    assert Bleu2Vec(1, vectors=vectors).corpus(["up"], [["down"]]).score == 0
    with pytest.raises(DataError, match="below 0"):
        Bleu2Vec(1, vectors=vectors, negative="error").corpus(["up"], [["down"]])


# What the metrics become in special cases


@given(segment=segments(), rule=rules, order=st.integers(1, 4))
@settings(deadline=None)
def test_without_similarities_it_is_delta_bleu(segment: Any, rule: str, order: int) -> None:
    options: dict[str, Any] = {"smoothing": "exp", "effective_order": True}
    plain = trubleu.DeltaBleu(order, **options)
    near = DeltaBleu2Vec(order, vectors=Nothing(), oov=0, credit=rule, **options)
    np.testing.assert_array_equal(near.statistics(*weighted(segment)), plain.statistics(*weighted(segment)))
    assert near.corpus(*weighted(segment)).score == plain.corpus(*weighted(segment)).score


@given(output=texts, reference=spoken, world=worlds, similarity=scales, rule=rules, recall=st.booleans())
@settings(deadline=None)
def test_one_reference_of_weight_one_is_bleu2vec(
    output: str, reference: str, world: World, similarity: str, rule: str, recall: bool
) -> None:
    delta = DeltaBleu2Vec(2, vectors=world, similarity=similarity, credit=rule, recall=recall)
    plain = Bleu2Vec(2, vectors=world, similarity=similarity, recall=recall)
    references = trubleu.References.from_lists([[reference]], [[1.0]])
    assert delta.corpus([output], references).matches == plain.corpus([output], references).matches
    assert delta.corpus([output], references).score == plain.corpus([output], references).score


@given(output=texts, reference=spoken)
@settings(deadline=None)
def test_both_make_it_bleu(output: str, reference: str) -> None:
    references = trubleu.References.from_lists([[reference]], [[1.0]])
    near = DeltaBleu2Vec(3, vectors=Nothing(), oov=0, smoothing="exp").corpus([output], references)
    assert near.score == trubleu.Bleu(3).corpus([output], references).score


@given(output=texts, reference=spoken)
@settings(deadline=None)
def test_a_sentence_is_smoothed_as_in_sbleu(output: str, reference: str) -> None:
    near = Bleu2Vec(3, vectors=Nothing(), oov=0).segments([output], [[reference]])
    assert near == trubleu.SentenceBleu(3).segments([output], [[reference]])


@given(segment=segments(), world=worlds, similarity=scales, rule=rules, recall=st.booleans())
@settings(deadline=None)
def test_repeating_the_best_reference_scores_100(
    segment: Any, world: World, similarity: str, rule: str, recall: bool
) -> None:
    _, references, weights = segment
    best = references[int(np.argmax(weights))]
    metric = DeltaBleu2Vec(3, vectors=world, similarity=similarity, credit=rule, recall=recall)
    assert metric.corpus(*weighted((best, references, weights))).score == pytest.approx(100, abs=1e-9)


@given(segment=segments(), world=worlds, similarity=scales, rule=rules, data=st.data())
@settings(deadline=None)
def test_the_order_of_references_does_not_matter(
    segment: Any, world: World, similarity: str, rule: str, data: st.DataObject
) -> None:
    output, references, weights = segment
    order = data.draw(st.permutations(range(len(references))))
    shuffled = (output, [references[i] for i in order], [weights[i] for i in order])
    metric = DeltaBleu2Vec(3, vectors=world, similarity=similarity, credit=rule)
    np.testing.assert_array_equal(metric.statistics(*weighted(segment)), metric.statistics(*weighted(shuffled)))


@given(
    segment=segments(),
    word=st.sampled_from(WORDS),
    often=st.integers(1, 3),
    bad=spoken,
    weight=st.sampled_from([0.0, -0.25, -1.0]),
    world=worlds,
    similarity=scales,
)
@settings(deadline=None)
def test_a_bad_reference_never_lifts(
    segment: Any, word: str, often: int, bad: str, weight: float, world: World, similarity: str
) -> None:
    _, references, weights = segment
    output = " ".join([word] * often)  # one n-gram, so that the sum is what it earns
    metric = DeltaBleu2Vec(1, vectors=world, similarity=similarity)
    before = metric.statistics(*weighted((output, references, weights)))[0, 2]
    if bad not in references:
        after = metric.statistics(*weighted((output, [*references, bad], [*weights, weight])))[0, 2]
        assert after <= max(0.0, before)


@given(segment=segments(), world=worlds, similarity=scales, rule=rules, recall=st.booleans())
@settings(deadline=None)
def test_multiplying_all_weights_changes_nothing(
    segment: Any, world: World, similarity: str, rule: str, recall: bool
) -> None:
    output, references, weights = segment
    metric = DeltaBleu2Vec(2, vectors=world, similarity=similarity, credit=rule, recall=recall)
    halved = (output, references, [weight / 2 for weight in weights])
    assert metric.corpus(*weighted(segment)).score == pytest.approx(metric.corpus(*weighted(halved)).score, abs=1e-9)


# The F form


@given(segments=st.lists(st.tuples(spoken, spoken), min_size=1, max_size=4), world=worlds)
@settings(deadline=None)
def test_the_f_form_is_the_harmonic_mean_of_precision_and_recall(segments: list[tuple[str, str]], world: World) -> None:
    outputs, references = [a for a, _ in segments], [[b] for _, b in segments]
    options: dict[str, Any] = {"vectors": world, "similarity": "clamp", "smoothing": "none"}
    forward = Bleu2Vec(2, **options).corpus(outputs, references)
    found = Bleu2Vec(2, recall=True, **options).corpus(outputs, references)
    assert found.metric == "bleu2vec-f-2"
    assert found.brevity_penalty == 1
    recalls = [sum(max(len(b.split()) - n, 0) for _, b in segments) for n in range(2)]
    values = []
    for match, count, other in zip(forward.matches, forward.totals, recalls, strict=True):
        precision, recall = match / count if count else 0.0, match / other if other else 0.0
        values.append(2 * precision * recall / (precision + recall) if match else 0.0)
    assert [value / 100 for value in found.precisions] == pytest.approx(values)
    assert found.score == pytest.approx(100 * (values[0] * values[1]) ** 0.5)


def test_the_f_form_with_weights_by_hand() -> None:
    references = trubleu.References.from_lists([["a b c", "a"], ["d"]], [[0.5, -1.0], [1.0]])
    metric = DeltaBleu2Vec(1, vectors=Nothing(), oov=0, recall=True, smoothing="none")
    # "b" earns 0.5, "a" the larger of 0.5 and -1; the closest reference has 3 words, times 0.5; then 1 of 1 for "d".
    result = metric.corpus(["a b", "d"], references)
    assert result.matches == (2.0,)
    assert result.totals == ((0.5 * 2 + 1 + 0.5 * 1 + 1) / 2,)  # "a" is as near as "a b c", and shorter
    assert result.score == 100.0  # more matches than the mean of both sides
    assert metric.corpus(["b", "e"], references).score == pytest.approx(100 * 2 * 0.5 / (0.5 + 1 + 0.5 + 1))


def test_skipped_segments() -> None:
    references = trubleu.References.from_lists([["a b"], ["c d"]], [[-0.5], [1.0]])
    with pytest.raises(DataError, match="without a reference of positive weight: 1"):
        DeltaBleu2Vec(1, vectors=Nothing()).corpus(["a b", "c d"], references)
    for recall in (False, True):
        metric = DeltaBleu2Vec(1, vectors=Nothing(), no_positive="skip", recall=recall)
        with pytest.warns(TrubleuWarning, match="left out"):
            assert metric.corpus(["a b", "c d"], references).score == 100
        with pytest.warns(TrubleuWarning, match="left out"):
            assert not metric.statistics(["a b", "c d"], references)[0].any()
        with pytest.warns(TrubleuWarning, match="left out"):
            assert np.isnan(metric.segments(["a b", "c d"], references)[0])


# Ways to the same numbers


LONG = st.lists(st.sampled_from([*"abcdefgh", "?", "xy"]), max_size=12).map(" ".join)


@given(st.lists(st.tuples(LONG, st.lists(LONG, min_size=1, max_size=3)), min_size=1, max_size=4))
@settings(deadline=None)
@pytest.mark.filterwarnings("ignore:empty references")
def test_sums_of_words_and_looked_up_ngrams(given_segments: list[tuple[str, list[str]]]) -> None:
    outputs, references = [a for a, _ in given_segments], [b for _, b in given_segments]
    source = Sums()
    for similarity in ("raw", "shift:0.3"):
        added = Bleu2Vec(3, vectors=source, similarity=similarity).statistics(outputs, references)
        looked = Bleu2Vec(3, vectors=Looked(source), similarity=similarity).statistics(outputs, references)
        np.testing.assert_allclose(added, looked, rtol=0, atol=2e-5)


def test_words_that_do_not_add_up() -> None:
    random = np.random.default_rng(6)
    words = [*"abcdef", "xa", "xb"]
    lines = [" ".join(random.choice(words, random.integers(1, 9))) for _ in range(90)]
    outputs, references = lines[:30], [lines[30 + i : 31 + i + i % 3] for i in range(30)]
    weights = [[1.0, -0.5, 0.25][: len(row)] for row in references]
    given_references = trubleu.References.from_lists(references, weights)
    source = Sums()
    for lists in (outputs, ["xa " + line for line in outputs]):  # in some segments, in all of them
        added = DeltaBleu2Vec(2, vectors=source).statistics(lists, given_references)
        looked = DeltaBleu2Vec(2, vectors=Looked(source)).statistics(lists, given_references)
        np.testing.assert_allclose(added, looked, rtol=0, atol=2e-5)


def test_slices_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    lines = [" ".join(random.choice(list(WORDS), random.integers(1, 9))) for _ in range(400)]
    outputs, references = lines[:100], [lines[i : i + 1 + i % 3] for i in range(100, 200)]
    for source in (World(3), Sums()):
        metric = Bleu2Vec(3, vectors=source)
        whole = metric.statistics(outputs, references, threads=1)
        np.testing.assert_array_equal(metric.statistics(outputs, references, threads=3), whole)
        done: list[int] = []
        with monkeypatch.context() as patched:
            patched.setattr(alignment, "SLICE_TEXTS", 7)
            rows = metric.statistics(outputs, references, progress=done.append)
        np.testing.assert_array_equal(rows, whole)
        assert sum(done) == 100
        assert len(done) > 10


def test_prepared_references() -> None:
    references = trubleu.References.from_lists([["a b c", "b"], ["d e"]], [[1.0, -0.5], [0.5]])
    prepared = references.prepare(tokenize="13a")
    for metric in (Bleu2Vec(2, vectors=World(1), recall=True), DeltaBleu2Vec(2, vectors=World(1), recall=True)):
        expected = metric.statistics(["a c", "e"], references)
        np.testing.assert_array_equal(metric.statistics(["a c", "e"], prepared), expected)


def test_references_are_looked_up_once_for_all_systems() -> None:
    world = World(1)
    metrics = [Bleu2Vec(2, vectors=world), DeltaBleu2Vec(2, vectors=world)]
    references = [["a b c d"], ["b b e"]]
    for metric in metrics:
        for outputs in (["a c", "e"], ["a d b", "e b"]):
            metric.corpus(outputs, references)
    assert len(world.asked) == len(set(world.asked))


def test_the_cache_forgets_when_it_is_full() -> None:
    fetched: list[str] = []

    def fetch(names: Any) -> Any:
        fetched.extend(names)
        return np.array([[float(name), 1.0] if name != "0" else [0.0, 0.0] for name in names], np.float32)

    cache = WordRows(2, fetch, most_bytes=3 * 4 * 8)
    for names in (["1", "2"], ["2", "3", "0"], ["3", "4"], ["1", "2", "3", "4", "5"]):
        matrix, numbers, _ = cache.find(names)
        assert matrix.shape[1] == 8
        for name, number in zip(names, numbers.tolist(), strict=True):
            assert number == 2**32 - 1 if name == "0" else matrix[number, 0] == float(name)
    assert fetched == [*"12", *"230", *"4", *"12345"]


def test_ngrams_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(2)
    metric = Bleu2Vec(2, vectors=world)
    outputs, references = ["a b c", "d e", "b e c a"], [["a c d"], ["e e d"], ["c b a d"]]
    whole = metric.statistics(outputs, references)
    asked = len(world.asked)
    np.testing.assert_array_equal(metric.statistics(outputs, references), whole)
    assert len(world.asked) == asked
    monkeypatch.setattr(soft_vectors, "MOST_NAMES", 5)
    monkeypatch.setattr(alignment, "SLICE_TEXTS", 2)
    again = Bleu2Vec(2, vectors=World(2))
    np.testing.assert_array_equal(again.statistics(outputs, references), whole)
    assert len(again.vectors.asked) > asked  # type: ignore[union-attr]


def test_a_source_that_fails_once() -> None:
    class Failing(World):
        fails = True

        def lookup(self, ngrams: Any) -> Any:
            if self.fails:
                raise OSError("the disk is gone")
            return super().lookup(ngrams)

    source = Failing(4)
    metric = Bleu2Vec(1, vectors=source)
    with pytest.raises(OSError, match="the disk is gone"):
        metric.statistics(["a b"], [["c d"]])
    source.fails = False
    expected = Bleu2Vec(1, vectors=World(4)).statistics(["a b"], [["c d"]])
    np.testing.assert_array_equal(metric.statistics(["a b"], [["c d"]]), expected)


def test_vectors_of_words_only() -> None:
    vectors = (["big", "large", "cat"], np.array([[1, 0], [0.6, 0.8], [0, 1]]))
    words = Bleu2Vec(vectors=vectors)
    with pytest.warns(TrubleuWarning, match="no n-grams of 2 and 3 words"):
        plain = words.statistics(["big cat"], [["large cat"]])
    with pytest.warns(TrubleuWarning, match="no n-grams of 2 and 3 words"):
        DeltaBleu2Vec(vectors=vectors).statistics(["big cat"], [["large cat"]])
    np.testing.assert_allclose(plain[0, 2:5], [1.6, 0.001, 0])
    metric = Bleu2Vec(4, vectors=vectors, oov="composed")
    found = metric.statistics(["big cat"], [["large cat"]])
    big, large = np.array([1.0, 1.0]), np.array([0.6, 1.8])
    expected = big @ large / np.linalg.norm(big) / np.linalg.norm(large)
    np.testing.assert_allclose(found[0, 2:6], [1.6, expected, 0, 0], atol=1e-6)
    assert "oov:composed" in str(metric.signature())
    with pytest.raises(UsageError, match=r"no n-grams of 4 words; use an order of at most 3"):
        Bleu2Vec(4, vectors=vectors)


def test_a_source_that_returns_nonsense() -> None:
    class Broken(Nothing):
        def lookup(self, ngrams: Any) -> Any:
            return np.full((len(ngrams), 3), np.nan)

    with pytest.raises(DataError, match="not finite"):
        Bleu2Vec(1, vectors=Broken()).corpus(["a"], [["b"]])


def test_a_source_whose_vectors_differ_in_length() -> None:
    class Growing(Nothing):
        def lookup(self, ngrams: Any) -> Any:
            return np.ones((len(ngrams), 4))

    with pytest.raises(DataError, match="has 4 columns, but 3 were expected"):
        Bleu2Vec(1, vectors=Growing()).corpus(["a"], [["b"]])


@pytest.mark.parametrize("size", [1e-30, 1e30, 1.0])
def test_the_length_of_vectors_does_not_matter(size: float) -> None:
    vectors = (["up", "side"], np.array([[1, 0], [0.6, 0.8]]) * size)
    assert Bleu2Vec(1, vectors=vectors).statistics(["up"], [["side"]])[0, 2] == pytest.approx(0.6)


def test_ready_vectors_need_nothing_else() -> None:
    pytest.importorskip("wordllama")
    metric = trubleu.metric("bleu2vec")
    near = metric.corpus(["the boy is ill today"], [["the child is sick today"]]).score
    far = metric.corpus(["the bus is blue today"], [["the child is sick today"]]).score
    assert near > far > 0
    assert "vec:ready:" in str(metric.signature())


# Options and names


def test_names_and_signatures() -> None:
    world = World(0)
    for name, made in (
        ("bleu2vec", Bleu2Vec(3, vectors=world)),
        ("bleu2vec-2", Bleu2Vec(2, vectors=world)),
        ("bleu2vec-f", Bleu2Vec(3, vectors=world, recall=True)),
        ("dbleu2vec-f-2[similarity=shift:0.3]", DeltaBleu2Vec(2, vectors=world, recall=True, similarity="shift:0.3")),
        ("dbleu2vec-2[oov=composed,credit=max]", DeltaBleu2Vec(2, vectors=world, oov="composed", credit="max")),
        ("dbleu2vec[oov=0.01,unrated_as=-1]", DeltaBleu2Vec(3, vectors=world, oov=0.01, unrated_as=-1.0)),
    ):
        assert trubleu.metric(name, vectors=world).signature() == made.signature()
    assert trubleu.metric("dbleu2vec-f-2", vectors=world).name == "dbleu2vec-f-2"
    assert str(Bleu2Vec(vectors=world).signature([["a"]])).rpartition("|")[0] == (
        "bleu2vec-3|nrefs:1|case:mixed|tok:13a|vec:world-0|sim:raw|oov:0.001|smooth:lin-och|reflen:closest|neg:clamp|zero:1e-12|"
        "def:paper"
    )
    signature = str(DeltaBleu2Vec(2, vectors=world, smoothing="floor", negative="floor:0.2").signature())
    assert (
        "eff:no|smooth:floor[0.1]|reflen:closest|neg:floor[0.2]|zero:1e-12|def:paper|credit:earn|lenrefs:all|nopos:error"
        in (signature)
    )
    other = trubleu.metric("bleu2vec-f", vectors=world).with_order(1)
    assert other is not None
    assert other.name == "bleu2vec-f-1"
    assert (
        other.corpus(["a b"], [["a c"]]).score
        == Bleu2Vec(1, vectors=world, recall=True).corpus(["a b"], [["a c"]]).score
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": "cosine"}, "it is raw, clamp or shift:S"),
        ({"similarity": "shift:1"}, "S from 0 to below 1"),
        ({"similarity": "shift:x"}, "S from 0 to below 1"),
        ({"oov": "zero"}, "oov=zero is not known; it is a number from 0 to 1, or composed"),
        ({"oov": -0.1}, "oov=-0.1 is not known"),
        ({"oov": True}, "oov=True is not known"),
        ({"oov": np.array([0.1, 0.2])}, r"oov=\[0.1 0.2\] is not known"),
        ({"negative": np.array([0.1, 0.2])}, r"negative=\[0.1 0.2\] is not known"),
        ({"smoothing": "lin-och", "smoothing_value": 1.0}, "takes no value"),
        ({"smoothing": "linoch"}, "smoothing=linoch is not known; did you mean lin-och"),
        ({"recall": 1}, "recall=1 must be true or false"),
        ({"vectors": 3}, "vectors cannot be a int"),
        ({"definition": "release2018"}, "definition=release2018 is not known"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Bleu2Vec(**{"vectors": Nothing(), **options})


def test_options_that_do_not_go_with_weights() -> None:
    with pytest.raises(UsageError, match="similarity=raw is not known; it is clamp or shift:S"):
        DeltaBleu2Vec(vectors=Nothing(), similarity="raw")
    with pytest.raises(UsageError, match="credit=most is not known"):
        DeltaBleu2Vec(vectors=Nothing(), credit="most")


def test_statistics_of_another_metric() -> None:
    with pytest.raises(DataError, match=r"not statistics of bleu2vec-f-3: .* must be 11"):
        Bleu2Vec(vectors=Nothing(), recall=True).score(np.zeros(8))


def test_nothing_to_score() -> None:
    for metric in (Bleu2Vec(vectors=World(0)), DeltaBleu2Vec(vectors=World(0), recall=True)):
        assert metric.corpus([], []).score == 0
        assert metric.corpus([""], [["a b"]]).score == 0


# Going elsewhere, and what is said of vectors that do not fit


def store_in(folder: Path, **options: Any) -> Path:
    path = folder / "small.store"
    words = [f"w{i}" for i in range(30)]
    matrix = np.random.default_rng(1).normal(size=(30, 8))
    VectorStore.write(path, words, matrix, options=options)
    return path


def test_metrics_can_be_pickled_and_copied(tmp_path: Path) -> None:
    outputs, references = ["w1 w2", "up"], [["w3 w2"], ["side"]]
    for vectors in ((["up", "side"], np.array([[1, 0], [0.6, 0.8]])), store_in(tmp_path)):
        for made in (Bleu2Vec(1, vectors=vectors), DeltaBleu2Vec(1, vectors=vectors, recall=True, oov="composed")):
            expected = made.statistics(outputs, references)  # with something looked up already
            for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):  # noqa: S301
                np.testing.assert_array_equal(other.statistics(outputs, references), expected)
                assert other.signature() == made.signature()
    assert len(pickle.dumps(Bleu2Vec(1, vectors=store_in(tmp_path)))) < 2_000  # the path, not what the file holds


def test_ready_vectors_can_be_pickled() -> None:
    pytest.importorskip("wordllama")
    made = Bleu2Vec()
    expected = made.statistics(["a big cat"], [["a large cat"]])
    data = pickle.dumps(made)
    assert len(data) < 10_000
    other = pickle.loads(data)  # noqa: S301
    np.testing.assert_array_equal(other.statistics(["a big cat"], [["a large cat"]]), expected)


@pytest.mark.parametrize(
    ("trained", "options", "message"),
    [
        ({"tokenizer": "words-3", "lowercase": False}, {}, "texts with the tokenizer words-3, not 13a, so"),
        ({"tokenizer": "13a", "lowercase": True}, {}, "texts with lowercase, so"),
        ({"lowercase": False}, {"lowercase": True}, "texts with case kept, not lowercase, so"),
        ({"tokenizer": "chat", "lowercase": True}, {"oov": "composed"}, "tokenizer chat, not 13a and lowercase, so"),
        ({"tokenizer": "gone"}, {}, "texts with the tokenizer gone, not 13a, so"),
        ({"tokenizer": "words-2"}, {"tokenize": "words"}, "texts with the tokenizer words-2, not words-3, so"),
    ],
)
def test_vectors_of_texts_made_differently(
    tmp_path: Path, trained: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    path = store_in(tmp_path, **trained)
    for kind in (Bleu2Vec, DeltaBleu2Vec):
        metric = kind(1, vectors=path, **options)
        with pytest.warns(TrubleuWarning, match=message) as told:
            metric.corpus(["w1"], [["w2"]])
        assert len(told) == 1


def test_vectors_of_texts_made_alike(tmp_path: Path) -> None:
    path = store_in(tmp_path, tokenizer="13a", lowercase=True, seed=1)
    Bleu2Vec(1, vectors=path, lowercase=True).corpus(["w1"], [["w2"]])
    Bleu2Vec(1, vectors=path, lowercase=True, tokenize="none").corpus(["w1"], [["w2"]])  # tokenized already, somehow


def test_most_words_have_no_vector(tmp_path: Path) -> None:
    path = store_in(tmp_path)
    known, unknown = [f"w{i}" for i in range(30)], [f"W{i}" for i in range(30)]

    def score(words: list[str], **options: Any) -> None:
        outputs, references = words[::2], [[word] for word in words[1::2]]
        Bleu2Vec(1, **{"vectors": path, **options}).statistics(outputs, references)

    what = r"more than half of the words that were looked up have no vector in .*; check tokenizer, case and language"
    for options in ({}, {"vectors": OnlyKnown(known)}):
        with pytest.warns(TrubleuWarning, match=what):
            score(known[:14] + unknown[:16], **options)
        score(known[:15] + unknown[:15], **options)
        score(unknown[:18], **options)  # too few to say
    score(known[:14] + unknown[:16], lowercase=True)
    both = [f"{a} {b}" for a, b in zip(unknown, known, strict=True)]
    with pytest.warns(TrubleuWarning) as told:
        Bleu2Vec(2, vectors=path).statistics(both[:15], [[text] for text in both[15:]])
    assert len(told) == 1  # about bigrams; half of the words are known
    assert "no n-grams of 2 words" in str(told[0].message)


class OnlyKnown(Sums):
    """Sums over words of which some have no vector."""

    def __init__(self, known: list[str]) -> None:
        self.known = set(known)

    def _word(self, word: str) -> Any:
        return super()._word(word if word in self.known else "?")


def test_what_the_output_is_too_short_for_has_no_f() -> None:
    vectors = Nothing()
    for metric in (Bleu2Vec(vectors=vectors, recall=True), DeltaBleu2Vec(vectors=vectors, recall=True)):
        result = metric.corpus(["ok"], [["ok fine then"]])
        assert result.score == pytest.approx(50)
        assert list(result.totals) == [2, 0, 0]
        assert list(result.precisions) == [50, 0, 0]  # not 1 of 1
    # In a corpus, one output with bigrams is enough.
    rows = Bleu2Vec(2, vectors=vectors, recall=True).corpus(["ok", "a b"], [["ok fine then"], ["a b"]])
    assert rows.totals == ((3 + 5) / 2, (1 + 3) / 2)
    # Without lin-och it is as for BLEU: left out with effective order, 0 otherwise.
    options: dict[str, Any] = {"vectors": vectors, "recall": True, "smoothing": "exp"}
    assert Bleu2Vec(**options).corpus(["ok"], [["ok fine then"]]).score == 0
    assert Bleu2Vec(**options, effective_order=True).corpus(["ok"], [["ok fine then"]]).score == pytest.approx(50)


@given(segments=st.lists(st.tuples(texts, st.lists(spoken, min_size=1, max_size=3)), min_size=1, max_size=3))
@settings(deadline=None)
def test_the_f_form_as_it_reads(segments: list[tuple[str, list[str]]]) -> None:
    found = Bleu2Vec(3, vectors=World(2), recall=True).corpus([a for a, _ in segments], [b for _, b in segments]).score
    tokens = [(a.split(), [text.split() for text in b]) for a, b in segments]
    assert found == pytest.approx(oracle.f_form(tokens, World(2).cosine, oracle.Scale()), abs=1e-9)


def test_effective_order_does_not_go_with_lin_och() -> None:
    for kind in (Bleu2Vec, DeltaBleu2Vec):
        with pytest.raises(UsageError, match="effective_order does not go with smoothing=lin-och, which leaves out"):
            kind(vectors=Nothing(), effective_order=True)
        assert kind(vectors=Nothing(), effective_order=True, smoothing="exp").effective_order


def test_what_a_name_settles_cannot_be_undone() -> None:
    for name, option in (
        ("bleu2vec-f[recall=false]", "recall"),
        ("dbleu2vec-f-2[recall=true]", "recall"),
        ("chrf++[word_order=0]", "word_order"),
    ):
        with pytest.raises(UsageError, match=f"settles {option}; leave it out of"):
            trubleu.metric(name)
    with pytest.raises(UsageError, match="recall is given twice"):
        trubleu.metric("bleu2vec-f", recall=False)
    assert trubleu.metric("bleu2vec[recall=true]", vectors=World(0)).name == "bleu2vec-f-3"


@given(
    segments=st.lists(st.tuples(texts, st.lists(spoken, min_size=1, max_size=3)), min_size=1, max_size=3),
    world=worlds,
    options=st.sampled_from(
        [{"similarity": "clamp"}, {"similarity": "shift:0.25", "recall": True}, {"similarity": "clamp", "recall": True}]
    ),
    credit=rules,
)
@settings(deadline=None)
def test_what_it_is_without_weights(
    segments: list[tuple[str, list[str]]], world: World, options: dict[str, Any], credit: str
) -> None:
    delta = DeltaBleu2Vec(2, vectors=world, credit=credit, **options)
    if credit == "max":
        segments = [(a, b[:1]) for a, b in segments]
    references = [list(dict.fromkeys(b)) for _, b in segments]
    outputs = [a for a, _ in segments]
    name, _, said = delta.without_weights().partition(" with ")
    plain = trubleu.metric(f"{name}[{said.partition(' where')[0]}]", vectors=world)
    ones = trubleu.References.from_lists(references, [[1.0] * len(row) for row in references])
    assert delta.corpus(outputs, ones).score == pytest.approx(plain.corpus(outputs, references).score, abs=1e-9)
    assert ("where there is one reference" in delta.without_weights()) == (credit == "max")
