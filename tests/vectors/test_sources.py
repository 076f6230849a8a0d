"""Sources of vectors: matrices, functions, composed ones, and what `as_source` makes of anything."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from trubleu.errors import DataError, UsageError
from trubleu.vectors import (
    CallableSource,
    Composed,
    ListedSource,
    MatrixSource,
    Neighbour,
    VectorSource,
    VectorStore,
    as_source,
    nearest,
    similarity,
)
from trubleu.vectors.source import normalised, segment_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

NGRAMS = ["do", "not", "like", "do not", "do not like", "snake_case", "naïve", "a\u00a0b"]


def matrix(rows: int, dimensions: int = 5, seed: int = 1) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)


def by_hand(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    lengths = [sum(float(x) ** 2 for x in row) ** 0.5 for row in vectors]
    return np.array(
        [[float(x) / length if length else 0.0 for x in row] for row, length in zip(vectors, lengths, strict=True)]
    )


# What a source is


def test_a_pair_is_a_source() -> None:
    vectors = matrix(len(NGRAMS))
    source = as_source((NGRAMS, vectors))
    assert isinstance(source, VectorSource)
    assert isinstance(source, ListedSource)
    assert (source.dimensions, source.orders, len(source)) == (5, (1, 2, 3), len(NGRAMS))
    found = source.lookup(["do not", "never", "do", "do not"])
    assert found.dtype == np.float32
    assert np.array_equal(found, np.stack([vectors[3], np.zeros(5), vectors[0], vectors[3]]))
    assert source.lookup([]).shape == (0, 5)


def test_a_name_tells_contents_apart() -> None:
    vectors = matrix(2)
    name = as_source((["a", "b"], vectors)).name
    assert name == as_source((["a", "b"], vectors.copy())).name
    changed = vectors.copy()
    changed[1, 4] = np.nextafter(changed[1, 4], np.float32(9))
    assert name != as_source((["a", "b"], changed)).name
    assert name != as_source((["b", "a"], vectors)).name
    assert name.startswith("matrix:2x5-")


def test_a_source_stays_itself() -> None:
    source = MatrixSource(["a"], [[1.0]])
    assert as_source(source) is source


def test_a_function_is_a_source() -> None:
    calls: list[list[str]] = []

    def count_letters(ngrams: list[str]) -> list[list[int]]:
        calls.append(ngrams)
        return [[len(ngram), ngram.count("o")] if ngram != "zzz" else [0, 0] for ngram in ngrams]

    source = as_source(count_letters)
    assert source.name.startswith("callable:")
    assert source.name.endswith("count_letters")
    assert source.lookup(["do not", "zzz"]).tolist() == [[6.0, 2.0], [0.0, 0.0]]
    assert calls == [["do not", "zzz"]]
    assert source.dimensions == 2
    assert source.orders is None
    assert source.lookup([]).shape == (0, 2)


def test_files_in_use_are_not_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "v.vec"
    path.write_text("1 2\na 1 2\n")
    source = as_source(path)
    assert as_source(path) is source
    path.write_text("1 2\na 1 23\n")
    assert as_source(path).lookup(["a"]).tolist() == [[1.0, 23.0]]


def test_the_package_offers_it() -> None:
    assert trubleu.vectors.as_source is as_source


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: as_source((["a", "a"], matrix(2))), "the n-gram 'a' is there twice, as 1 and as 2"),
    (lambda: as_source((["a"], matrix(2))), r"the matrix has the shape \(2, 5\), but one row for each of 1 n-grams"),
    (lambda: as_source((["a"], [1.0])), r"the matrix has the shape \(1,\)"),
    (lambda: as_source((["a"], [[np.nan]])), "a number that is not finite in row 1"),
    (lambda: as_source((["a", "b"], [[1.0], [np.inf]])), "a number that is not finite in row 2"),
    (lambda: as_source((["a"], [["x"]])), "the matrix does not consist of numbers"),
    (lambda: as_source((["a", "b"], [[1.0], [1.0, 2.0]])), "the matrix does not consist of numbers"),
    (lambda: as_source((["a  b"], matrix(1))), "n-gram 1 is 'a  b', but must be words joined by one space"),
    (lambda: as_source((["a", ""], matrix(2))), "n-gram 2 is ''"),
    (lambda: as_source((["a", 3], matrix(2))), "n-gram 2 is 3"),  # type: ignore[list-item]
    (lambda: as_source(3.5), "vectors cannot be a float; give 'ready', a path"),  # type: ignore[arg-type]
    (lambda: as_source("no/such.vec"), "no/such.vec: there is no such file"),
    (lambda: as_source("no/such.store"), "no/such.store: there is no such file"),
    (lambda: as_source(lambda _ngrams: [[1.0]] * 7).lookup(["a"]), r"returned has the shape \(7, 1\)"),
    (lambda: as_source(lambda _ngrams: [[float("nan")]]).lookup(["a"]), "returned has a number that is not finite"),
    (lambda: as_source(lambda _ngrams: "what").lookup(["a"]), "returned does not consist of numbers"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_cannot_be_used_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        call()


def test_a_function_must_not_change_its_mind() -> None:
    source = CallableSource(lambda ngrams: np.ones((len(ngrams), len(ngrams))), name="square")
    source.lookup(["a"])
    with pytest.raises(DataError, match="callable:square returned has 2 columns, but 1 were expected"):
        source.lookup(["a", "b"])


# Composed


def test_unknown_ngrams_are_composed_of_their_words() -> None:
    vectors = matrix(3)
    source = Composed(MatrixSource(["do", "not", "do not"], vectors))
    assert source.name.endswith("+composed")
    assert source.orders is None
    found = source.lookup(["do not", "not do", "do x not", "x y", "x", "do"])
    expected = by_hand(np.stack([vectors[0] + vectors[1]] * 2))
    assert np.array_equal(found[0], vectors[2])
    assert np.allclose(found[1:3], expected, atol=1e-6)
    assert not found[3:5].any()
    assert np.array_equal(found[5], vectors[0])


def test_composed_leaves_a_source_alone() -> None:
    vectors = matrix(2)
    shared = np.zeros((1, 5), np.float32)
    shared.flags.writeable = False

    class Shared:
        name, dimensions, orders = "shared", 5, None

        def lookup(self, ngrams: Sequence[str]) -> NDArray[np.float32]:
            return shared if list(ngrams) == ["a b"] else vectors[: len(ngrams)]

    found = Composed(Shared()).lookup(["a b"])
    assert np.allclose(found, by_hand(vectors.sum(axis=0, keepdims=True)), atol=1e-6)
    assert not shared.any()


APART = ["do", "not", "make", "do not", "not make", "never do"]


def trained_apart(path: Path, ngrams: Sequence[str] = APART, **options: Any) -> VectorStore:
    VectorStore.write(path, ngrams, matrix(len(ngrams)), options={"mode": "separate"} | options)
    return VectorStore.open(path)


def test_orders_that_were_trained_apart_are_not_mixed(tmp_path: Path) -> None:
    """Also an n-gram with a vector of its own is composed: that vector is of another model than those of words."""
    store = trained_apart(tmp_path / "a.store")
    do, no, make = store.lookup(["do", "not", "make"])
    source = Composed(store)
    assert source.only_words
    assert not Composed(MatrixSource(APART, matrix(6))).only_words
    expected = by_hand(np.stack([do + no, no + make, do, make + do]))
    asked = ["do not", "not make", "never do", "make do"]
    assert np.allclose(source.lookup(asked), expected, atol=1e-6)
    assert np.array_equal(source.lookup(["do", "x", "make"]), np.stack([do, np.zeros(5), make]))
    assert not source.lookup(["never x"]).any()
    assert source.lookup([]).shape == (0, 5)
    cosine = float(expected[0] @ expected[3])
    assert similarity(source, "do not", "make do") == pytest.approx(cosine, abs=1e-6)
    assert similarity(source, "do not", "do") == pytest.approx(float(expected[0] @ expected[2]), abs=1e-6)


@pytest.mark.parametrize("mode", ["joint", None])
def test_orders_that_were_trained_together_keep_their_vectors(tmp_path: Path, mode: str | None) -> None:
    options = {} if mode is None else {"mode": mode}
    VectorStore.write(tmp_path / "a.store", APART, matrix(6), options=options)
    source = Composed(VectorStore.open(tmp_path / "a.store"))
    assert not source.only_words
    assert np.array_equal(source.lookup(["do not"]), matrix(6)[3:4])


def test_nothing_to_compose_from(tmp_path: Path) -> None:
    store = trained_apart(tmp_path / "a.store", ["do not", "not make"])
    with pytest.raises(UsageError, match=r"store:a-\w+ has no vectors of single words to compose n-grams from; use it"):
        Composed(store)


# Copies


def letters(ngrams: list[str]) -> list[list[float]]:
    return [[float(len(ngram)), 1.0] for ngram in ngrams]


def test_sources_can_be_pickled_and_copied(tmp_path: Path) -> None:
    store = trained_apart(tmp_path / "a.store")
    sources: list[VectorSource] = [
        MatrixSource(APART, matrix(6), label="mine"),
        CallableSource(letters),
        CallableSource(letters, name="x", dimensions=2, orders=(1, 2)),
        store,
        Composed(store),
        Composed(MatrixSource(APART, matrix(6))),
    ]
    asked = ["do not", "make do", "x", "make"]
    for source in sources:
        for other in (pickle.loads(pickle.dumps(source)), copy.deepcopy(source)):  # noqa: S301
            assert (other.name, other.dimensions, other.orders) == (source.name, source.dimensions, source.orders)
            assert np.array_equal(other.lookup(asked), source.lookup(asked))
    assert len(pickle.dumps(Composed(store))) < 500 + len(str(tmp_path))
    small = copy.deepcopy(CallableSource(lambda ngrams: np.ones((len(ngrams), 3)), name="ones"))
    assert small.lookup(["a"]).tolist() == [[1.0, 1.0, 1.0]]


# Matrices


@given(st.lists(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=3, max_size=3), min_size=1, max_size=6))
def test_rows_are_divided_by_their_lengths(rows: list[list[float]]) -> None:
    given_rows = np.array(rows, np.float32)
    assert np.allclose(normalised(given_rows.copy()), by_hand(given_rows), atol=1e-5)


@given(st.lists(st.lists(st.integers(0, 6), max_size=5), min_size=1, max_size=9))
def test_sums_over_segments(segments: list[list[int]]) -> None:
    vectors = matrix(7, 3)
    rows = np.array([row for segment in segments for row in segment], np.int64)
    lengths = np.array([len(segment) for segment in segments], np.int64)
    expected = []
    for segment in segments:
        total = np.zeros(3, np.float32)
        for row in segment:
            total = total + vectors[row]
        expected.append(total)
    assert np.array_equal(segment_sums(vectors, rows, lengths), np.stack(expected))


# Neighbours


def brute_force(ngrams: Sequence[str], vectors: NDArray[np.float32], asked: str, top: int) -> list[tuple[str, float]]:
    lengthened = by_hand(vectors)
    query = lengthened[list(ngrams).index(asked)]
    found = [
        (ngram, float(sum(x * y for x, y in zip(row, query, strict=True))))
        for ngram, row in zip(ngrams, lengthened, strict=True)
        if ngram != asked and row.any()
    ]
    return sorted(found, key=lambda pair: -pair[1])[:top]


def check_neighbours(found: Sequence[Neighbour], expected: Sequence[tuple[str, float]]) -> None:
    assert [each.ngram for each in found] == [ngram for ngram, _ in expected]
    assert np.allclose([each.similarity for each in found], [value for _, value in expected], atol=1e-5)


@pytest.mark.parametrize("top", [1, 4, 5000])
def test_neighbours_are_those_of_brute_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, top: int) -> None:
    monkeypatch.setattr("trubleu.vectors.store.BLOCK_ROWS", 7)
    monkeypatch.setattr("trubleu.vectors.source.BLOCK_ROWS", 7)
    ngrams = [" ".join(["w"] * (1 + i % 3)) + str(i) for i in range(60)]
    vectors = matrix(60)
    vectors[13] = 0
    VectorStore.write(tmp_path / "v.store", ngrams, vectors, counts=np.arange(60))
    expected = brute_force(ngrams, vectors, ngrams[17], top)
    for source in (MatrixSource(ngrams, vectors), VectorStore.open(tmp_path / "v.store")):
        found = nearest(source, ngrams[17], top=top)
        check_neighbours(found, expected)
    assert [each.count for each in found] == [ngrams.index(each.ngram) for each in found]


def test_equal_neighbours_keep_the_order_of_their_rows() -> None:
    source = MatrixSource(["q", *map(str, range(40))], np.ones((41, 3)))
    assert [each.ngram for each in nearest(source, "q", top=5)] == ["0", "1", "2", "3", "4"]


def test_neighbours_among_candidates() -> None:
    vectors = matrix(len(NGRAMS))
    source = as_source(lambda ngrams: [vectors[NGRAMS.index(n)] if n in NGRAMS else np.zeros(5) for n in ngrams])
    among = ["do not", "unheard of", "do", "like", "do not"]
    expected = brute_force(NGRAMS[:4], vectors[:4], "do", 9)
    expected = [pair for pair in expected if pair[0] in among]
    check_neighbours(nearest(source, "do", among=among), expected)


def test_similarity_is_the_cosine() -> None:
    vectors = matrix(2)
    a, b = by_hand(vectors)
    assert similarity(MatrixSource(["a", "b c"], vectors), "a", "b c") == pytest.approx(float(a @ b), abs=1e-6)
    assert similarity(MatrixSource(["a", "b"], vectors), "a", "a") == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ngram": "never"}, "'never' has no vector in matrix:"),
        ({"ngram": "a", "top": 0}, "top=0 must be at least 1"),
        ({"ngram": "a", "among": []}, "there are no candidates"),
    ],
)
def test_neighbours_of_nothing(options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        nearest(MatrixSource(["a", "b c"], [[1.0], [2.0]]), options.pop("ngram"), **options)


def test_functions_have_no_list_of_ngrams() -> None:
    with pytest.raises(UsageError, match=r"has a vector for any n-gram and no list of them; give some \(--among\)"):
        nearest(CallableSource(lambda ngrams: np.ones((len(ngrams), 2)), name="ones"), "a")
