"""Every kernel counts the same, and what the plain statement counts."""

from __future__ import annotations

import itertools
import math
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS, Choice, Given, agreed, direct, from_prepared, lay_flat, prepare
from tests.oracles.corpora import LENGTH_RULES, Corpus, any_weights, corpora, exact_weights, odd_texts, plain_texts
from tests.oracles.statement import segment
from tests.oracles.strings13a import expected

CREDITS = ("counts", "products", "fork2019")
DEFINITIONS = {"counts": "paper", "products": "paper", "fork2019": "fork2019"}


@pytest.fixture(params=BUILDS)
def kernels(request: pytest.FixtureRequest) -> Any:
    return BUILDS[request.param]


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    return Choice(
        draw(st.sampled_from(("none", "13a"))),
        draw(st.booleans()),
        draw(st.integers(1, 9)),
        draw(st.sampled_from(CREDITS)),
        draw(st.sampled_from(LENGTH_RULES)),
        draw(st.booleans()),
    )


def stated(corpus: Corpus, choice: Choice) -> list[list[float]]:
    """Return the rows of the plain statement; a NaN weight leaves its reference out."""
    rows = []
    for output, references, weights in zip(*corpus, strict=True):
        part = [(r, w) for r, w in zip(references, weights, strict=True) if not math.isnan(w)]
        row = segment(
            expected(output, choice.tokenizer, lowercase=choice.lowercase),
            [expected(text, choice.tokenizer, lowercase=choice.lowercase) for text, _ in part],
            [weight for _, weight in part] if choice.credit != "counts" else None,
            order=choice.order,
            definition=DEFINITIONS[choice.credit],
            length_rule=choice.reference_length,
        )
        if choice.positive_lengths:
            positive = [(r, w) for r, w in part if w > 0]
            lengths = segment(
                expected(output, choice.tokenizer, lowercase=choice.lowercase),
                [expected(text, choice.tokenizer, lowercase=choice.lowercase) for text, _ in positive],
                length_rule=choice.reference_length,
            )
            row = row._replace(reference_length=lengths.reference_length)
        rows.append(row.columns(weighted=choice.credit != "counts"))
    return rows


def flat(corpus: Corpus) -> Given:
    return lay_flat(*corpus)


def check(
    outputs: list[str], references: list[list[str]], weights: list[list[float]] | None = None, **options: Any
) -> None:
    """Check all kernels and all credits against each other and the statement; exact weights only."""
    corpus = Corpus(outputs, references, weights or [[1.0] * len(row) for row in references])
    for credit in CREDITS:
        choice = Choice(credit=credit, **options)
        assert agreed(flat(corpus), choice).tolist() == stated(corpus, choice), credit


@given(corpora(plain_texts(14) | odd_texts(14), positive=False), choices())
@settings(max_examples=400)
def test_all_kernels_equal_the_statement(corpus: Corpus, choice: Choice) -> None:
    assert agreed(flat(corpus), choice).tolist() == stated(corpus, choice)


@given(corpora(plain_texts(30), any_weights, positive=False, references=8), choices())
@settings(max_examples=200)
def test_all_kernels_give_the_same_bits_for_any_weights(corpus: Corpus, choice: Choice) -> None:
    rows = agreed(flat(corpus), choice)
    # Sums of at most 30 products of weights up to 1: rounding is far below this.
    np.testing.assert_allclose(rows, np.array(stated(corpus, choice)), rtol=0, atol=1e-12)


@given(corpora(plain_texts(14), positive=False), choices(), st.data())
@settings(max_examples=200)
def test_a_nan_weight_means_that_the_reference_does_not_take_part(
    corpus: Corpus, choice: Choice, data: st.DataObject
) -> None:
    """With at least one reference left in each segment."""
    weights = [
        [row[0], *(math.nan if data.draw(st.booleans()) else weight for weight in row[1:])] for row in corpus.weights
    ]
    corpus = corpus._replace(weights=weights)
    rows = agreed(flat(corpus), choice)
    assert rows.tolist() == stated(corpus, choice)
    without = Corpus(
        corpus.outputs,
        [
            [text for text, weight in zip(row, weights, strict=True) if not math.isnan(weight)]
            for row, weights in zip(corpus.references, corpus.weights, strict=True)
        ],
        [[weight for weight in row if not math.isnan(weight)] for row in weights],
    )
    assert agreed(flat(without), choice).tolist() == rows.tolist()


@given(corpora(plain_texts(), segments=12), choices(), st.data())
def test_slices_are_parts_of_the_whole(corpus: Corpus, choice: Choice, data: st.DataObject) -> None:
    count = len(corpus.outputs)
    first = data.draw(st.integers(0, count))
    last = data.draw(st.integers(first, count))
    whole = agreed(flat(corpus), choice)
    for kernels in BUILDS.values():
        part = direct(kernels, flat(corpus), choice, first=first, last=last)
        assert part.shape == (last - first, kernels.Options(*choice).columns)
        assert part.tolist() == whole[first:last].tolist()
        prepared = prepare(kernels, flat(corpus), choice, slices=3)
        assert prepared.segments == count
        part = from_prepared(kernels, prepared, flat(corpus), choice, first=first, last=last)
        assert part.tolist() == whole[first:last].tolist()


def random_corpus(rng: random.Random, segments: int, words: int = 30, vocabulary: int = 12) -> Corpus:
    def text() -> str:
        return " ".join(f"w{rng.randrange(vocabulary)}" for _ in range(rng.randrange(words)))

    outputs = [text() for _ in range(segments)]
    references = [[text() for _ in range(rng.randint(1, 4))] for _ in range(segments)]
    return Corpus(outputs, references, [[rng.uniform(-1, 1) for _ in row] for row in references])


@pytest.mark.parametrize("credit", CREDITS)
def test_threads_change_nothing(credit: str) -> None:
    corpus = flat(random_corpus(random.Random(7), 1_500, words=10))
    choice = Choice(credit=credit)
    one = agreed(corpus, choice, threads=1)
    for threads in (2, 3, 64, 0, -1):
        assert agreed(corpus, choice, threads=threads).tolist() == one.tolist()


@pytest.mark.parametrize("size", [0, 1, 2, 8, 9, 15, 16, 17, 25, 29, 30, 32, 33, 253, 254, 255, 256, 257, 300, 600])
@pytest.mark.parametrize("vocabulary", [1, 3, 40, 10**6])
def test_hypotheses_around_the_longest_that_fits_the_window(size: int, vocabulary: int) -> None:
    rng = random.Random(size * 7 + vocabulary)
    hypothesis = [f"w{rng.randrange(vocabulary)}" for _ in range(size)]
    references = [
        hypothesis[size // 3 :],
        [*hypothesis[: size // 2], "x", *hypothesis[: size // 2]],
        [f"w{rng.randrange(vocabulary)}" for _ in range(size + 5)],
        hypothesis[::-1],
        [],
    ]
    weights = [rng.randrange(-64, 65) / 64 for _ in references]
    for order in (1, 4, 5, 9):
        check([" ".join(hypothesis)], [[" ".join(tokens) for tokens in references]], [weights], order=order)


@pytest.mark.parametrize("size", [32_766, 32_767, 32_768, 40_000])
def test_references_around_the_longest_that_fits_the_window(size: int) -> None:
    # With 13a each of these characters is a token, so that counts are as large as they can be.
    check(
        ["!" * 255, "! ? !"], [["!" * size, "?!"], ["!?" * (size // 2)]], [[0.5, -1.0], [1.0]], tokenizer="13a", order=5
    )


@pytest.mark.parametrize("sizes", [(7, 8, 9), (15, 16, 17), (23, 24, 25), (65_534, 65_535, 65_536, 65_537, 131_072)])
def test_long_words_that_begin_alike(sizes: tuple[int, ...]) -> None:
    words = [letter * size + end for size in sizes for letter in ("a", "é") for end in ("", "x", "y")]
    words += ["b" + "a" * size for size in sizes] + ["a" * (size // 2) + "b" + "a" * (size // 2) for size in sizes]
    rng = random.Random(sizes[0])
    many = 300 if sizes[0] < 100 else 40
    outputs = [" ".join(words), " ".join(rng.choices(words, k=many))]
    references = [[" ".join(words[::-1]), " ".join(rng.sample(words, 5))], [" ".join(rng.choices(words, k=many))]]
    check(outputs, references, [[0.25, -0.5], [1.0]], order=2)


@pytest.mark.parametrize("length", [200, 600])
def test_many_words_that_only_differ_at_their_ends(length: int) -> None:
    """Words of one size and one beginning: where their hashes meet, only their last bytes tell them apart."""
    rng = random.Random(length)
    words = [f"{'samestart' * 2}{i:04d}" for i in range(8_000)]
    outputs = [" ".join(rng.sample(words, length)) for _ in range(4)]
    references = [[" ".join(rng.sample(words, 3_000)) for _ in range(2)] for _ in outputs]
    check(outputs, references, [[0.5, -0.25]] * 4, order=2, tokenizer="13a")


def test_words_that_only_differ_in_zero_bytes() -> None:
    words = ["a", "a\x00", "a\x00\x00", "\x00", "\x00\x00", "a" * 8, "a" * 8 + "\x00", "a" * 7 + "\x00"]
    check([" ".join(words), " ".join(words[:4])], [[" ".join(words[::2])], [" ".join(words[4:])]])


def test_lone_surrogates_are_words_of_their_own() -> None:
    words = ["\ud800", "\udfff", "\ud83d", "\ud83d\udc00"[0], "a\ud800", "🙂"]
    outputs = [" ".join(words), "\ud800 \ud800", "\udfff"]
    for tokenizer in ("none", "13a"):
        check(outputs, [[" ".join(words[::-1])], ["\ud800 \udfff"], ["\ud800"]], tokenizer=tokenizer)


def test_repeated_words() -> None:
    for size, order in itertools.product((1, 2, 5, 30, 254, 255, 256), (1, 2, 4, 9)):
        check(
            [" ".join("a" * size), " ".join("ab" * size)],
            [[" ".join("a" * (size // 2)), " ".join("a" * (2 * size)), "b a"], [" ".join("ba" * size), "a b b a"]],
            [[1.0, 0.25, -1.0], [0.5, 0.75]],
            order=order,
        )


@pytest.mark.parametrize("order", [1, 4, 9])
def test_a_line_of_a_million_tokens(order: int) -> None:
    size = 1_000_000
    line = "a b c d e " * (size // 5)
    for kernels in BUILDS.values() if order == 4 else [BUILDS["baseline"]]:
        for tokenizer in ("none", "13a"):
            choice = Choice(tokenizer=tokenizer, order=order, credit="products")
            given = lay_flat([line, "a b"], [[line, "a b c"], [line]], [[0.5, -1.0], [1.0]])
            totals = [float(size - n) for n in range(order)]
            few = [2.0, 1.0, *([0.0] * 7)][:order]
            wanted = [
                [size, size, *(total / 2 for total in totals), *(total / 2 for total in totals), *totals],
                [2, size, *few, *few, *few],
            ]
            assert direct(kernels, given, choice).tolist() == wanted
            prepared = prepare(kernels, given, choice)
            assert from_prepared(kernels, prepared, given, choice).tolist() == wanted


def test_a_long_line_of_different_words() -> None:
    words = [f"{i}" for i in range(30_000)]
    check([" ".join(words)], [[" ".join(words[::-1]), " ".join(words[5:])]], [[-1.0, 0.5]], order=3)


def test_a_vocabulary_that_grows() -> None:
    rng = random.Random(5)
    segments = [[f"word{i}" if i % 3 else f"quite a long word{i}" for i in range(k, k + 9)] for k in range(0, 9_000, 9)]
    outputs = [" ".join(rng.sample(words, 6)) for words in segments]
    references = [[" ".join(words[:5]), " ".join(words[2:])] for words in segments]
    check(outputs, references, [[1.0, -0.5]] * len(outputs), order=2)


@pytest.mark.parametrize("known", [65_533, 65_534, 65_535, 65_536, 131_100])
def test_a_vocabulary_around_65_536_words(known: int) -> None:
    """Numbers of words that share their lower 16 bits are other words."""
    words = [f"w{i}" for i in range(known)]
    first = range(0, known, 1_000)
    references = [*([" ".join(words[i : i + 1_000])] for i in first), [" ".join(words[:3])], ["w1 w0 w1"]]
    alike = [f"w{i}" for i in range(known - 2, known)] + [f"w{65_536 + i}" for i in range(3)]
    outputs = [*(words[i] for i in first), " ".join([*words[:2], *alike, "new"]), " ".join([*alike, "w1", "w1"])]
    rows = agreed(lay_flat(outputs, references), Choice("none", order=2)).tolist()
    for row, output, [reference] in list(zip(rows, outputs, references, strict=True))[-3:]:
        assert row == segment(output.split(), [reference.split()], order=2).columns(weighted=False)


def test_many_segments_by_one_worker() -> None:
    """The window's stamps have 16 bits: after 65,535 hypotheses they begin again, and old words must not come back."""
    count = 70_000
    outputs = [f"w{i % 11} w{i % 7} x" for i in range(count)]
    references = [[f"w{i % 7} w{i % 5}"] for i in range(count)]
    given = lay_flat(outputs, references)
    rows = agreed(given, Choice(order=2))
    for i in itertools.chain(range(50), range(65_500, 65_600), range(count - 50, count)):
        row = segment(outputs[i].split(), [references[i][0].split()], order=2)
        assert rows[i].tolist() == row.columns(weighted=False)


def test_many_references() -> None:
    rng = random.Random(3)
    references = [" ".join(rng.choices("abcdef", k=rng.randrange(8))) for _ in range(1_100)]
    weights = [rng.randrange(-64, 65) / 64 for _ in references]
    check(["a b c d e f a b", "f f f", ""], [references, references[:40], references[5:6]],
          [weights, weights[:40], weights[5:6]], order=5)  # fmt: skip


def test_prepared_references_serve_any_weights_one_after_the_other() -> None:
    corpus = random_corpus(random.Random(11), 60)
    choice = Choice(credit="products")
    given = flat(corpus)
    for kernels in BUILDS.values():
        prepared = prepare(kernels, given, choice)
        for seed in range(4):
            rng = np.random.default_rng(seed)
            other = given._replace(weights=rng.uniform(-1, 1, len(given.references)))
            assert from_prepared(kernels, prepared, other, choice).tolist() == direct(kernels, other, choice).tolist()
        plain = given._replace(weights=None)
        counts = choice._replace(credit="counts")
        assert from_prepared(kernels, prepared, plain, counts).tolist() == direct(kernels, plain, counts).tolist()


@given(corpora(plain_texts(), exact_weights, positive=False))
@settings(max_examples=30)
def test_arrays_of_prepared_references_can_be_kept(corpus: Corpus) -> None:
    """Also as copies, in another type that holds the same numbers, and whatever becomes of the dictionary."""
    choice = Choice(credit="products")
    for kernels in BUILDS.values():
        prepared = prepare(kernels, flat(corpus), choice)
        wanted = from_prepared(kernels, prepared, flat(corpus), choice).tolist()
        for change in (np.copy, lambda array: np.repeat(array, 2)[::2], lambda array: array.astype(array.dtype.str)):
            arrays = {name: change(array) for name, array in prepared.arrays.items()}
            again = kernels.Prepared(arrays)
            arrays.clear()
            assert from_prepared(kernels, again, flat(corpus), choice).tolist() == wanted


@pytest.mark.parametrize("size", [1, 30, 61, 62, 63, 64, 65, 126, 127, 128, 190, 254, 319, 382, 383, 384, 385, 450])
def test_references_around_the_blocks_of_64_tokens(size: int) -> None:
    rng = random.Random(size)
    words = [rng.choice("abcdefgh") for _ in range(size)]
    # The same tokens as one reference, as two, and as many; the next segment begins where this one ends.
    cuts = [[0, size], [0, size // 2, size], [0, *sorted(rng.choices(range(size + 1), k=7)), size]]
    references = [[" ".join(words[a:b]) for a, b in itertools.pairwise(each)] for each in cuts]
    outputs = [" ".join(words[size // 3 :][:250]), " ".join(rng.choices("abcdefgh", k=20)), " ".join(words[:60])]
    weights = [[rng.randrange(-64, 65) / 64 for _ in row] for row in references]
    for order in (1, 3, 4, 5, 9):
        check(outputs, references, weights, order=order)


def test_so_many_reference_tokens_that_prepared_ones_take_the_trie() -> None:
    rng = random.Random(9)
    words = rng.choices("abcdefghij", k=70_000)
    long = " ".join(words)
    check([" ".join(words[500:755]), "a b"], [[long, "a b c"], [long]], [[0.5, -1.0], [0.25]], order=3)


def test_a_builder_is_empty_after_it_finished(kernels: Any) -> None:
    choice = Choice()
    builder = kernels.PreparedBuilder(kernels.Options(*choice))
    first, second = lay_flat(["a b"], [["a b c", "b"]]), lay_flat(["x y", "y"], [["y x y"], ["z", "y"]])
    for corpus in (first, second):
        builder.add(corpus.references, corpus.offsets, 0, len(corpus.outputs))
        prepared = kernels.Prepared(builder.finish())
        assert from_prepared(kernels, prepared, corpus, choice).tolist() == direct(kernels, corpus, choice).tolist()
    assert kernels.Prepared(builder.finish()).segments == 0


def test_no_segments_and_segments_without_references(kernels: Any) -> None:
    for credit in CREDITS:
        choice = Choice(credit=credit)
        empty = lay_flat([], [], [])
        columns = kernels.Options(*choice).columns
        assert columns == (10 if credit == "counts" else 14)
        assert direct(kernels, empty, choice).shape == (0, columns)
        assert from_prepared(kernels, prepare(kernels, empty, choice), empty, choice).shape == (0, columns)
    bare = lay_flat(["a b", ""], [[], []])
    assert agreed(bare, Choice(order=2)).tolist() == [[2, 0, 0, 0, 2, 1], [0] * 6]


def test_the_build_can_be_chosen() -> None:
    code = "from trubleu.native import kernels; print(kernels.__name__.rpartition('.')[2])"
    found = {}
    for choice in ("baseline", ""):
        environment = {**os.environ, "TRUBLEU_KERNELS": choice}
        found[choice] = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()
    assert found == {"baseline": "_kernels", "": "_kernels_v3" if "v3" in BUILDS else "_kernels"}
