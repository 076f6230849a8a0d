"""trubleu: equal to its plain statement, the same bits whichever way it is counted, clear about what it refuses."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import trubleu
from tests.oracles import trubleu as oracle
from tests.oracles.builds import BUILDS
from tests.oracles.corpora import ODD_WORDS, any_weights, odd_texts, plain_texts
from trubleu import References, TruBleu
from trubleu.data import LineStream
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.execution import engine
from trubleu.metrics import bleu2vec
from trubleu.metrics import trubleu as module
from trubleu.metrics.registry import metrics_by_name
from trubleu.scoring import Sampling, score_files, score_systems
from trubleu.vectors import VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Whole numbers, so that products are exact in 32 bits and ties on paper are ties in the kernel.
DRAWN = np.random.default_rng(12345).integers(-3, 4, size=(len(ODD_WORDS), 4))
TABLE = {
    token: DRAWN[i].astype(np.float64)
    for i, word in enumerate(ODD_WORDS)
    for token in oracle.tokens(word, oracle.Options())
    if i % 4
}
VECTORS = (tuple(TABLE), np.array(list(TABLE.values())))
WORDS = ["the", "cat", "dog", "sat", "on", "mat", "a", "ran"]
SMALL = (tuple(WORDS), np.random.default_rng(1).normal(size=(len(WORDS), 8)))

texts = odd_texts(8) | plain_texts(9)


@st.composite
def segments(draw: st.DrawFn) -> tuple[str, list[str], list[float] | None]:
    references = draw(st.lists(texts, min_size=1, max_size=4))
    weights = draw(st.none() | st.lists(any_weights, min_size=len(references), max_size=len(references)))
    if weights is not None and max(weights) <= 0:
        weights[0] = 0.5
    return draw(texts), references, weights


@given(
    corpus=st.lists(segments(), min_size=1, max_size=4),
    order=st.integers(1, 4),
    beta=st.sampled_from((2.0, 1.0, 0.5)),
    shift=st.sampled_from((0.15, 0.0, 0.5)),
    importance=st.sampled_from(("vector", "corpus", "none")),
    characters=st.booleans(),
    lowercase=st.booleans(),
)
# Two words are equally similar to one, but do not weigh the same: the first is aligned.
@example(
    corpus=[("", [""], None), ("", [""], None), ("b ", ["a e.g. "], None), ("", ["a sat."], None)],
    order=1,
    beta=2.0,
    shift=0.15,
    importance="corpus",
    characters=False,
    lowercase=False,
)
def test_it_is_its_plain_statement(
    corpus: list[tuple[str, list[str], list[float] | None]],
    order: int,
    beta: float,
    shift: float,
    importance: str,
    characters: bool,
    lowercase: bool,
) -> None:
    metric = TruBleu(
        order,
        vectors=VECTORS,
        beta=beta,
        shift=shift,
        importance=importance,
        characters=characters,
        lowercase=lowercase,
    )
    plain = oracle.Options(
        order=order, beta=beta, shift=shift, importance=importance, characters=characters, lowercase=lowercase
    )
    plain = plain._replace(frequencies=oracle.frequencies([held for _, held, _ in corpus], plain))
    outputs = [output for output, _, _ in corpus]
    weights = [[1.0] * len(held) if given is None else given for _, held, given in corpus]
    references = References.from_lists([held for _, held, _ in corpus], weights)
    expected = [
        oracle.segment(output, held, TABLE.get, given, plain)
        for (output, held, _), given in zip(corpus, weights, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        found = metric.segments(outputs, references)
        parts = [metric.parts(output, references, place) for place, output in enumerate(outputs)]
    assert found == pytest.approx([segment.score for segment in expected], abs=2e-4)
    for segment, part in zip(expected, parts, strict=True):
        assert part.earned == pytest.approx(segment.earned, abs=2e-6)
        assert part.cut == pytest.approx(segment.cut, abs=1e-4)
        scores = [each.score for each in part.references if each.score == each.score]
        assert scores == pytest.approx([each.comparison.score for each in segment.references], abs=2e-6)


@given(output=texts, weight=st.sampled_from((1.0, 0.3)))
def test_equality_is_a_hundred_and_equality_with_a_bad_one_nothing(output: str, weight: float) -> None:
    metric = TruBleu(vectors=VECTORS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        score = metric.segments([output], References.from_lists([[output]], [[weight]]))[0]
        assert score == (100.0 if metric.parts(output, References.from_lists([[output]])).tokens else 0.0)
        bad = References.from_lists([["quite another text", output]], [[1.0, -1.0]])
        assert metric.segments([output], bad)[0] == 0.0


def corpus(segments: int, seed: int = 3) -> tuple[list[str], list[list[str]], list[list[float]]]:
    random = np.random.default_rng(seed)

    def text() -> str:
        return " ".join(random.choice([*WORDS, "Unseen", "x"], random.integers(1, 12)))

    references = [[text() for _ in range(1 + i % 4)] for i in range(segments)]
    weights = [[float(random.uniform(0.1, 1)), *random.uniform(-1, 1, len(row) - 1).tolist()] for row in references]
    return [text() for _ in range(segments)], references, weights


@pytest.mark.parametrize("importance", ["vector", "corpus", "none"])
def test_every_way_in_gives_the_same_bits(importance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, held, weights = corpus(300)
    metric = TruBleu(vectors=SMALL, importance=importance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        expected = metric.statistics(outputs, References.from_lists(held, weights), threads=1)
        again = References.from_lists(held, weights)
        prepared = again.prepare(tokenize="words", lowercase=True)
        monkeypatch.setattr(module, "SLICE_TEXTS", 50)
        for given in (again, again, prepared):
            for threads in (1, 2, None):
                np.testing.assert_array_equal(metric.statistics(outputs, given, threads=threads), expected)
        if importance != "corpus":
            halves = [
                metric.statistics(outputs[a:b], References.from_lists(held[a:b], weights[a:b]))
                for a, b in ((0, 117), (117, 300))
            ]
            np.testing.assert_array_equal(np.vstack(halves), expected)


@pytest.mark.parametrize("characters", [True, False])
def test_both_builds_give_the_same_bits(characters: bool) -> None:
    outputs, held, weights = corpus(120)
    offsets = np.cumsum([0, *map(len, held)])
    flat = tuple(text for row in held for text in row)
    found = []
    for kernels in BUILDS.values():
        for threads in (1, 2):
            options = kernels.Options("none", False, 1, "counts", "closest", False)
            words = kernels.WordTexts(flat, options, 0, len(flat))
            references = kernels.ReferenceWords(words, offsets)
            segments = kernels.TrubleuSegments(tuple(outputs), references, options, 0)
            count = len(words.words()) + len(segments.new_words())
            matrix = np.random.default_rng(3).normal(size=(count, 24)).astype(np.float32)
            rows = np.arange(len(matrix), dtype=np.uint32)
            rows[::5] = bleu2vec.vectors.NOTHING
            found.append(
                segments.scores(
                    matrix,
                    kernels.row_squares(matrix),
                    rows,
                    None,
                    tuple(outputs),
                    kernels.ChrfReferences(
                        flat, offsets, kernels.ChrfOptions(6, 0, 4.0, 5.0, True, False, False), 0, len(outputs), 1
                    ),
                    np.concatenate([np.array(row) for row in weights]),
                    kernels.TrubleuOptions(3, 2.0, 0.15, characters, True),
                    threads,
                )
            )
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("importance", ["vector", "corpus"])
def test_ranges_on_an_engine_are_the_whole(tmp_path: Path, importance: str) -> None:
    outputs, held, _ = corpus(200)
    (tmp_path / "s").write_text("\n".join(outputs) + "\n")
    (tmp_path / "r").write_text("\n".join(row[0] for row in held) + "\n")
    VectorStore.write(tmp_path / "v.store", list(SMALL[0]), SMALL[1].astype(np.float32))
    make = partial(metrics_by_name, {"trubleu": {"vectors": str(tmp_path / "v.store"), "importance": importance}})
    stream = LineStream(references=[str(tmp_path / "r")], weights=[], systems={"s": str(tmp_path / "s")}, source=None)
    sampling = Sampling(interval=True, resamples=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        whole = score_systems(
            {"s": outputs}, References.from_lists([row[:1] for row in held]), make(), sampling=sampling
        )
        with engine("local:2") as two:
            parts = score_files(stream, make, two, sampling=sampling, rows=33)
    assert [row.score for row in parts.scores] == [row.score for row in whole.scores]
    assert [(row.low, row.high) for row in parts.scores] == [(row.low, row.high) for row in whole.scores]


def test_it_says_so_if_a_tenth_of_the_words_have_no_vector() -> None:
    known = [f"w{number}" for number in range(27)]
    vectors = (known, np.random.default_rng(1).normal(size=(27, 8)))
    metric = TruBleu(vectors=vectors)
    assert metric.segments([" ".join(known)], [["w1 unseen new"]])[0] > 0
    with pytest.warns(TrubleuWarning, match="more than a tenth of the words have no vector in matrix:27x8-"):
        metric.segments([" ".join(known)], [["w1 unseen new strange odd"]])


def test_with_the_ready_vectors() -> None:
    metric = trubleu.metric("trubleu")
    assert metric.corpus(["it was really good"], [["it was very nice"]]).score == pytest.approx(50.595, abs=0.01)
    near, far = metric.segments(["the film was great", "the film was tomatoes"], [["the movie was excellent"]] * 2)
    assert near > far + 10
    assert str(metric.signature()).startswith("trubleu|case:lc|tok:words")
    other = metric.with_order(2)
    assert isinstance(other, TruBleu)
    assert (other.name, str(other.signature())) == ("trubleu-2", str(trubleu.metric("trubleu-2").signature()))


def test_functions_of_the_same_name_are_different_tokenizers() -> None:
    def splitting_at(separator: str) -> Callable[[str], list[str]]:
        return lambda text: text.split(separator)

    references = [["the cat,sat"], ["a mat,on"]]
    shared = References.from_lists(references)
    for separator in (" ", ","):
        metric = TruBleu(vectors=SMALL, tokenize=splitting_at(separator))
        found = metric.segments(["the dog,sat", "a mat,on"], shared)
        assert np.array_equal(found, metric.segments(["the dog,sat", "a mat,on"], references))


def test_equal_references_count_once_with_the_largest_weight() -> None:
    metric = TruBleu(vectors=SMALL)
    once = metric.segments(["the cat sat"], References.from_lists([["a dog sat", "the mat"]], [[0.8, 0.4]]))
    with pytest.warns(TrubleuWarning, match="of which the largest counts"):
        twice = metric.segments(
            ["the cat sat"], References.from_lists([["a dog sat", "the mat", "a dog sat"]], [[0.2, 0.4, 0.8]])
        )
    assert twice == pytest.approx(once, rel=1e-12)
    same = References.from_lists([["a dog sat", "the mat", "a dog sat"]])
    parts = metric.parts("the cat sat", same)
    assert [each.score == each.score for each in parts.references] == [True, True, False]


@pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")
def test_odd_texts_have_a_score() -> None:
    metric = TruBleu(vectors=SMALL)
    pairs = [("", "cat"), ("cat", ""), ("", ""), ("cat", "cat"), ("cat", "dog"), ("...", "cat"), ("\ud83d", "\ud83e")]
    found = metric.segments([output for output, _ in pairs], [[reference] for _, reference in pairs])
    assert found[:4].tolist() == [0.0, 0.0, 0.0, 100.0]
    assert ((found >= 0) & (found <= 100)).all()
    assert metric.segments(["\ud83d"], [["\ud83d"]])[0] == 100.0
    assert metric.segments(["\ud83d"], [["\ud83e"]])[0] < 1


def test_what_it_refuses() -> None:
    unit = (["cat", "dog"], [[1.0, 0.0], [0.6, 0.8]])
    with pytest.raises(UsageError, match=r"all have the length 1.*importance=corpus or importance=none"):
        TruBleu(vectors=unit)
    for importance in ("corpus", "none"):
        assert TruBleu(vectors=unit, importance=importance).importance == importance
    with pytest.raises(UsageError, match="no vectors of single words"):
        TruBleu(vectors=(["the cat", "a dog"], [[1.0, 2.0], [3.0, 4.0]]))
    options: list[tuple[str, Any]] = [("beta", 0), ("shift", 1), ("shift", -0.1), ("beta", True), ("beta", "2")]
    for option, value in options:
        with pytest.raises(UsageError, match=f"{option}={value} must be a number"):
            TruBleu(vectors=SMALL, **{option: value})
    with pytest.raises(UsageError, match="importance=idf"):
        TruBleu(vectors=SMALL, importance="idf")
    bad = References.from_lists([["the cat", "a dog"], ["a mat"]], [[1.0, 0.5], [-0.5]])
    with pytest.raises(DataError, match="without a reference of positive weight: 2"):
        TruBleu(vectors=SMALL).segments(["the cat", "a mat"], bad)
    with pytest.warns(TrubleuWarning, match="left out"):
        skipping = TruBleu(vectors=SMALL, no_positive="skip").segments(["the cat", "a mat"], bad)
    assert np.isnan(skipping).tolist() == [False, True]
    with pytest.raises(DataError, match=r"vectors longer than 1e\+15"):
        TruBleu(vectors=(["cat", "dog"], [[1e30, 0.0], [1e30, 1e30]])).segments(["cat"], [["dog"]])
    unrated = References.from_lists([["the cat", "a dog"]], [[1.0, None]])
    with pytest.raises(DataError, match="not rated yet"):
        TruBleu(vectors=SMALL).segments(["the cat"], unrated)


def test_texts_that_would_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "cat " * 300
    metric = TruBleu(vectors=SMALL)
    assert metric.segments([long], [[long + "dog"]])[0] > 90
    monkeypatch.setattr(module, "MOST_PAIRS", 250 * 250)
    with pytest.raises(DataError, match="segment 1 has an output of 300 words and a reference of 301"):
        metric.segments([long], [[long + "dog"]])
    assert metric.segments([long], [["cat"]])[0] > 0
    with pytest.raises(DataError, match="segment 1 has an output of 100 words and a reference of 1,000"):
        metric.segments(["cat " * 100], [["dog " * 1_000]])  # the reference alone is long
    with pytest.raises(DataError, match="segment 1 has an output of 300 words and a reference of 301"):
        TruBleu(vectors=SMALL, tokenize="13a").segments(["!" * 300], [["?" * 301]])  # words without spaces


@pytest.mark.parametrize("words", [3, 6, 9, 12, 40, 64, 65, 129, 300, 4_200])
def test_alignment_of_texts_of_any_length(words: int) -> None:
    """Few similar words are sorted, more are found in rounds, many one by one; more than 2^22 pairs are not kept."""
    random = np.random.default_rng(5)
    tokens = [f"w{number}" for number in range(2 * words)]
    vectors = random.normal(size=(2 * words, 8)).astype(np.float32)
    metric = TruBleu(1, vectors=(tokens, vectors), characters=False)
    found = metric.segments([" ".join(tokens[:words])], [[" ".join(tokens[words:])]])[0]
    # No word is in both texts, so all are aligned by their cosines, the largest first.
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    units = vectors / lengths[:, np.newaxis]
    cosines = np.minimum(units[:words] @ units[words:].T, 0.999).ravel()
    candidates = np.flatnonzero(cosines > 0.15)
    rows, columns, earned = np.zeros(words, bool), np.zeros(words, bool), np.zeros((2, words))
    for place in candidates[np.argsort(-cosines[candidates], kind="stable")].tolist():
        i, j = divmod(place, words)
        if not rows[i] and not columns[j]:
            rows[i] = columns[j] = True
            earned[0, i] = earned[1, j] = (cosines[place] - 0.15) / 0.85
    precision, recall = (earned[side] @ weights / weights.sum() for side, weights in enumerate(np.split(lengths, 2)))
    assert found == pytest.approx(100 * 5 * precision * recall / (4 * precision + recall), abs=1e-3)
