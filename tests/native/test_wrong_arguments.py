"""Wrong arguments raise; none of them crashes or is read beyond its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracles.builds import BUILDS, Choice, direct, from_prepared, lay_flat, prepare

GIVEN = lay_flat(["a b", "c"], [["a b", "b"], ["c d"]], [[1.0, 0.5], [-1.0]])
WEIGHTED = Choice(credit="products")


@pytest.fixture(params=BUILDS)
def kernels(request: pytest.FixtureRequest) -> Any:
    return BUILDS[request.param]


@pytest.mark.parametrize(
    "change",
    [
        {"tokenizer": "intl"},
        {"order": 0},
        {"order": -1},
        {"order": 10},
        {"credit": "paper"},
        {"reference_length": "nearest"},
    ],
)
def test_options(kernels: Any, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        kernels.Options(*Choice()._replace(**change))


@pytest.mark.parametrize("change", [{"order": "4"}, {"lowercase": 1}, {"tokenizer": None}, {"order": 2**40}])
def test_options_of_another_type(kernels: Any, change: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        kernels.Options(*Choice()._replace(**change))


@pytest.mark.parametrize("wrong", [b"a", 1, None, 1.5, ["a"]])
def test_texts_that_are_no_strings(kernels: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match="must be strings"):
        direct(kernels, GIVEN._replace(outputs=("a", wrong)), WEIGHTED)
    with pytest.raises(TypeError, match="must be strings"):
        direct(kernels, GIVEN._replace(references=("a", wrong, "b")), WEIGHTED)
    with pytest.raises(TypeError, match="must be strings"):
        prepare(kernels, GIVEN._replace(references=("a", wrong, "b")), WEIGHTED)
    with pytest.raises(TypeError, match="must be strings"):
        from_prepared(kernels, prepare(kernels, GIVEN, WEIGHTED), GIVEN._replace(outputs=(wrong, "a")), WEIGHTED)


def test_texts_that_are_no_tuple(kernels: Any) -> None:
    wrong: Any
    for wrong in (["a", "b"], "ab", None):
        with pytest.raises(TypeError):
            direct(kernels, GIVEN._replace(outputs=wrong), WEIGHTED)


@pytest.mark.parametrize(
    "offsets", [[], [0], [0, 2], [0, 2, 4], [1, 2, 3], [0, 3, 2, 3], [0, -1, 3], [0, 2**62, 3], [-1, 2, 3]]
)
def test_offsets_that_do_not_fit(kernels: Any, offsets: list[int]) -> None:
    wrong = GIVEN._replace(offsets=np.array(offsets, dtype=np.int64))
    with pytest.raises(ValueError, match="offsets"):
        direct(kernels, wrong, WEIGHTED)
    with pytest.raises(ValueError, match="offsets"):
        prepare(kernels, wrong, WEIGHTED)


def test_offsets_for_more_or_fewer_segments(kernels: Any) -> None:
    for offsets in ([0, 3], [0, 1, 2, 3]):
        wrong = GIVEN._replace(offsets=np.array(offsets, dtype=np.int64))
        with pytest.raises(IndexError):
            direct(kernels, wrong, WEIGHTED, last=len(offsets))


@pytest.mark.parametrize(("first", "last"), [(0, 3), (2, 1), (3, 3), (5, 9), (0, 2**40)])
def test_slices_outside(kernels: Any, first: int, last: int) -> None:
    prepared = prepare(kernels, GIVEN, WEIGHTED)
    with pytest.raises(IndexError):
        direct(kernels, GIVEN, WEIGHTED, first=first, last=last)
    with pytest.raises(IndexError):
        from_prepared(kernels, prepared, GIVEN, WEIGHTED, first=first, last=last)
    with pytest.raises(IndexError):
        kernels.PreparedBuilder(kernels.Options(*WEIGHTED)).add(GIVEN.references, GIVEN.offsets, first, last)


def test_negative_slices(kernels: Any) -> None:
    with pytest.raises(TypeError):
        direct(kernels, GIVEN, WEIGHTED, first=-1)


@pytest.mark.parametrize("size", [0, 1, 2, 4, 100])
def test_weights_of_another_length(kernels: Any, size: int) -> None:
    wrong = GIVEN._replace(weights=np.ones(size))
    prepared = prepare(kernels, GIVEN, WEIGHTED)
    with pytest.raises(ValueError, match="one weight a reference"):
        direct(kernels, wrong, WEIGHTED)
    with pytest.raises(ValueError, match="one weight a reference"):
        from_prepared(kernels, prepared, wrong, WEIGHTED)


def test_weights_of_another_shape(kernels: Any) -> None:
    with pytest.raises(TypeError):
        direct(kernels, GIVEN._replace(weights=np.ones((3, 1))), WEIGHTED)


def test_weighted_statistics_need_weights(kernels: Any) -> None:
    with pytest.raises(ValueError, match="need weights"):
        direct(kernels, GIVEN._replace(weights=None), WEIGHTED)
    with pytest.raises(ValueError, match="need weights"):
        from_prepared(kernels, prepare(kernels, GIVEN, WEIGHTED), GIVEN._replace(weights=None), WEIGHTED)


ARRAYS = ("token_table", "token_begins", "token_bytes", "ids", "id_begins", "reference_begins", "filter")


def test_the_arrays_are_these(kernels: Any) -> None:
    assert set(prepare(kernels, GIVEN, WEIGHTED).arrays) == set(ARRAYS)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("size", [-1, 0, 1, 3])
def test_arrays_of_sizes_that_do_not_fit(kernels: Any, name: str, size: int) -> None:
    arrays = dict(prepare(kernels, GIVEN, WEIGHTED).arrays)
    old = arrays[name]
    new = np.concatenate([old, np.ones(size, dtype=old.dtype)]) if size > 0 else old[:size].copy()
    assert len(new) != len(old)
    with pytest.raises(ValueError, match="do not fit each other"):
        kernels.Prepared({**arrays, name: new})


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_missing_or_something_else(kernels: Any, name: str) -> None:
    arrays = dict(prepare(kernels, GIVEN, WEIGHTED).arrays)
    wrong: Any
    for wrong in (None, "text", arrays[name].reshape(1, -1), {}):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            kernels.Prepared({**arrays, name: wrong})
    del arrays[name]
    with pytest.raises(KeyError, match=name):
        kernels.Prepared(arrays)


@pytest.mark.parametrize("name", ["token_begins", "id_begins", "reference_begins"])
def test_ends_that_do_not_fit(kernels: Any, name: str) -> None:
    arrays = dict(prepare(kernels, GIVEN, WEIGHTED).arrays)
    for step in (-1, 1, 10**6):
        begins = arrays[name].copy()
        begins[-1] = int(begins[-1]) + step
        with pytest.raises(ValueError, match="do not fit each other"):
            kernels.Prepared({**arrays, name: begins})


OUTPUTS, REFERENCES, OFFSETS = ("a b c", "c"), ("a b", "b c", "c d"), np.array([0, 2, 3])


def rouge(kernels: Any, **change: Any) -> Any:
    usual = {"kind": "ngrams", "order": 1, "stem": False, "first": 0, "last": 2, "threads": 1}
    texts = {"outputs": OUTPUTS, "references": REFERENCES, "offsets": OFFSETS}
    return kernels.rouge_scores(**{**texts, **usual, **change})


def lebleu(kernels: Any, **change: Any) -> Any:
    usual = {"options": kernels.Options(*Choice(order=2)), "threshold": 0.4, "first": 0, "last": 2, "threads": 1}
    texts = {"outputs": OUTPUTS, "references": REFERENCES, "offsets": OFFSETS}
    return kernels.lebleu_statistics(**{**texts, **usual, **change})


def words(kernels: Any, texts: tuple[str, ...], others: Any = None) -> Any:
    return kernels.WordTexts(texts, kernels.Options(*Choice()), 0, len(texts), others, 1)


@pytest.mark.parametrize("call", [rouge, lebleu])
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"offsets": np.array([0, 2])}, ValueError),
        ({"offsets": np.array([1, 2, 3])}, ValueError),
        ({"offsets": np.array([0, 4, 3])}, ValueError),
        ({"offsets": np.array([], dtype=np.int64)}, ValueError),
        ({"first": 2, "last": 1}, IndexError),
        ({"last": 3}, IndexError),
        ({"first": -1}, TypeError),
        ({"outputs": ("a", b"b")}, TypeError),
        ({"references": ("a", None, "b")}, TypeError),
    ],
)
def test_pairs_of_texts(kernels: Any, call: Any, change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(kernels, **change)


@pytest.mark.parametrize("change", [{"kind": "words"}, {"order": 0}, {"order": 10}])
def test_options_of_rouge(kernels: Any, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        rouge(kernels, **change)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_thresholds_of_lebleu(kernels: Any, threshold: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        lebleu(kernels, threshold=threshold)


def test_words_of_ter_and_of_diversity(kernels: Any) -> None:
    references = words(kernels, REFERENCES)
    outputs = words(kernels, OUTPUTS, references)
    assert kernels.ter_edits(outputs, references, OFFSETS, 0, 2, 1).tolist() == [[1.0, 2.0], [1.0, 2.0]]
    for first, last in ((2, 1), (0, 3)):
        with pytest.raises(IndexError):
            kernels.ter_edits(outputs, references, OFFSETS, first, last, 1)
    with pytest.raises(ValueError, match="offsets do not fit"):
        kernels.ter_edits(outputs, references, OFFSETS[:2], 0, 1, 1)
    with pytest.raises(ValueError, match="other references"):
        kernels.ter_edits(words(kernels, OUTPUTS), references, OFFSETS, 0, 2, 1)
    for order in (0, 10):
        for call in (kernels.distinct_ngrams, kernels.self_matches):
            with pytest.raises(ValueError, match="between 1 and 9"):
                call(outputs, order)


def test_both_builds_count_the_same() -> None:
    generator = np.random.default_rng(3)
    forms = np.array([*"abcdefghij", "talossa", "talossani", "Running", "3.5"])
    texts = [tuple(" ".join(generator.choice(forms, generator.integers(0, 40))) for _ in range(60)) for _ in range(2)]
    found = []
    for each in BUILDS.values():
        given = {"outputs": texts[0], "references": texts[1], "offsets": np.arange(61), "last": 60}
        references = words(each, texts[1])
        outputs = words(each, texts[0], references)
        rows = [rouge(each, **given, kind=kind, stem=True) for kind in ("ngrams", "subsequence", "summary")]
        rows += [lebleu(each, **given), each.ter_edits(outputs, references, np.arange(61), 0, 60, 1)]
        rows += [each.distinct_ngrams(outputs, 2), each.self_matches(outputs, 4)]
        found.append([row.tobytes() for row in rows])
    assert all(rows == found[0] for rows in found)
