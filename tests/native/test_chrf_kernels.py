"""chrF's counts against a plain statement: any string, any number of threads, both builds; wrong arguments raise."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS, lay_flat
from tests.oracles.chrf import counts, f_score
from tests.oracles.corpora import odd_texts, plain_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACES = [chr(c) for c in range(0x110000) if chr(c).isspace()]


class Choice(NamedTuple):
    """The arguments of ``ChrfOptions``."""

    char_order: int = 6
    word_order: int = 0
    factor: float = 4.0
    factor_plus_one: float = 5.0
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False


def statistics(
    kernels: Any,
    outputs: list[str],
    references: list[list[str]],
    choice: Choice,
    threads: int = 1,
    prepared_for: Choice | None = None,
) -> NDArray[np.float64]:
    given = lay_flat(outputs, references)
    prepared = kernels.ChrfReferences(
        given.references,
        given.offsets,
        kernels.ChrfOptions(*(prepared_for or choice)),
        0,
        len(outputs),
        threads,
    )
    assert prepared.memory >= 0
    rows: NDArray[np.float64] = prepared.statistics(given.outputs, kernels.ChrfOptions(*choice), threads)
    return rows


def agreed(outputs: list[str], references: list[list[str]], choice: Choice) -> list[list[tuple[int, ...]]]:
    """Return triples by segment and order if both builds give the same ones, with one thread and with three."""
    rows = [statistics(kernels, outputs, references, choice, n) for kernels in BUILDS.values() for n in (1, 3)]
    for other in rows[1:]:
        assert other.tobytes() == rows[0].tobytes()
    return [[tuple(map(int, triple)) for triple in row.reshape(-1, 3)] for row in rows[0]]


def plain(output: str, reference: str, choice: Choice) -> list[tuple[int, int, int]]:
    return counts(output, reference, choice.char_order, choice.word_order, choice.lowercase, choice.whitespace)


def check(outputs: list[str], references: list[list[str]], choice: Choice) -> None:
    """Rows are those of a reference that no other one exceeds."""
    for output, row, found in zip(outputs, references, agreed(outputs, references, choice), strict=True):
        candidates = [plain(output, reference, choice) for reference in row]
        best = max(map(f_score, candidates))
        assert found in [rows for rows in candidates if float(best - f_score(rows)) < 1e-12]


choices = st.builds(
    Choice,
    char_order=st.integers(1, 11),
    factor=st.just(4.0),
    factor_plus_one=st.just(5.0),
    eps_smoothing=st.just(False),
    word_order=st.integers(0, 10),
    lowercase=st.booleans(),
    whitespace=st.booleans(),
)
few_letters = st.text("aAb \u2003é.", max_size=40)
surrogates = st.text("\ud800\udc00\ud83d\ude42a \U0001f642", max_size=20)
any_text = st.text(st.characters(), max_size=20)
texts = odd_texts(6) | plain_texts(8) | few_letters | surrogates | any_text


@given(st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=5)), min_size=1, max_size=4), choices)
@settings(max_examples=300)
def test_equals_a_plain_statement(segments: list[tuple[str, list[str]]], choice: Choice) -> None:
    check([output for output, _ in segments], [row for _, row in segments], choice)


@pytest.mark.parametrize("alphabet", ["ab", "abcdefghijklmnopqrstuvwxyz .", "ab\u00e9\u4e2d\u6587\U0001f642 !", None])
def test_random_texts(alphabet: str | None) -> None:
    chance = random.Random(f"chrf {alphabet}")
    letters = alphabet or "".join(map(chr, range(0x4E00, 0x6E00)))

    def text() -> str:
        return "".join(chance.choices(letters, k=chance.choice([0, 1, 5, 20, 60, 300])))

    outputs = [text() for _ in range(40)]
    references = [[text() for _ in range(chance.choice([1, 2, 16]))] for _ in outputs]
    for row, output in zip(references, outputs, strict=True):
        row[0] = output[3:] + row[0] if chance.random() < 0.5 else row[0]
    check(outputs, references, Choice(word_order=2))


def test_all_white_space_is_that_of_split() -> None:
    assert len(SPACES) == 29
    references = [["ab"]] * len(SPACES)
    for choice in (Choice(2, 2), Choice(2, 0), Choice(2, 1, whitespace=True)):
        check([f"{space}a{space}b" for space in SPACES], references, choice)
    others = ["a\u200bb", "a\ufeffb", "a\u180eb", "a\x00b", "a\u2060b"]
    check(others, [["ab"]] * len(others), Choice(3, 2))


def test_punctuation_of_words() -> None:
    words = [left + middle + right for left in ("", *"!(_“") for middle in ("", "a", "ab") for right in ("", *".)~…")]
    check(words, [["( a ab . ) _ ~"]] * len(words), Choice(1, 2))


@pytest.mark.parametrize(
    "choice", [Choice(), Choice(8, 2), Choice(9), Choice(12, 9), Choice(word_order=2, whitespace=True)]
)
def test_texts_that_are_too_long_for_an_index_or_repeat_too_much(choice: Choice) -> None:
    chance = random.Random(4)
    words = ["".join(chance.choices("abcdefgh", k=chance.randint(1, 5))) for _ in range(300)]
    long, longer = (" ".join(chance.choices(words, k=size)) for size in (9_000, 11_000))
    same = "a" * 3_000
    outputs = [long, longer, "the end", same, same + "b", "ab" * 2_000, " ".join("a" * 3_000), long]
    references = [
        [longer, long + "x"],
        [long],
        [long, "the end"],
        [same[:-1]],
        [same, "b"],
        ["ba" * 1_500],
        [same],
        ["abc"],
    ]
    check(outputs, references, choice)


def test_many_references() -> None:
    references = [[f"reference {i} of {i * i}" for i in range(2_000)], [chr(0x4E00 + i) * 3 for i in range(1_500)]]
    check(["reference 77 of 5929", chr(0x4E00 + 1_200) * 2], references, Choice(word_order=2))


def test_a_million_characters() -> None:
    chance = random.Random(5)
    text = "".join(chance.choices("abcdefghijklmnop \u4e2d", k=1_000_000))
    other = text[:400_000] + text[600_000:]
    rows = agreed([text, "a" * 1_000_000], [[other], ["a" * 999_999]], Choice(word_order=2))
    characters = len("".join(text.split()))
    assert rows[0][0] == (characters, len("".join(other.split())), len("".join(other.split())))
    assert rows[0][5][2] < rows[0][0][2]
    assert rows[1][:6] == [(1_000_001 - n, 1_000_000 - n, 1_000_000 - n) for n in range(1, 7)]
    assert rows[1][6:] == [(1, 1, 0), (0, 0, 0)]


def test_the_first_of_equal_references_counts() -> None:
    # Both have F = 0, so the sizes tell which one was taken.
    assert agreed(["ab"], [["cde", "cd", ""]], Choice(2)) == [[(2, 3, 0), (1, 2, 0)]]
    assert agreed(["ab"], [["", "cd"]], Choice(2)) == [[(0, 0, 0), (0, 0, 0)]]


def test_a_segment_without_references() -> None:
    assert agreed(["ab", "c"], [[], ["c"]], Choice(2, 1)) == [[(0, 0, 0)] * 3, [(1, 1, 1), (0, 0, 0), (1, 1, 1)]]


def test_prepared_references_serve_all_orders() -> None:
    outputs, references = ["the cat sat.", "on a mat"], [["the cat sat down.", "a cat"], ["on the mat"]]
    for kernels in BUILDS.values():
        for choice in (Choice(), Choice(3, 1), Choice(12, 9, 9.0, 10.0, eps_smoothing=True)):
            expected = statistics(kernels, outputs, references, choice)
            found = statistics(kernels, outputs, references, choice, prepared_for=Choice(1, 1))
            assert found.tobytes() == expected.tobytes()


@pytest.fixture(params=BUILDS)
def kernels(request: pytest.FixtureRequest) -> Any:
    return BUILDS[request.param]


@pytest.mark.parametrize(
    "change",
    [
        {"char_order": 0},
        {"char_order": 1001},
        {"word_order": 1001},
        {"factor": 0.0},
        {"factor": -1.0},
        {"factor": float("nan")},
        {"factor": float("inf")},
        {"factor_plus_one": 1.0},
    ],
)
def test_options_that_make_no_sense(kernels: Any, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        kernels.ChrfOptions(*Choice()._replace(**change))


@pytest.mark.parametrize(
    "change", [{"char_order": -1}, {"char_order": "6"}, {"word_order": None}, {"lowercase": 1}, {"word_order": 2**70}]
)
def test_options_of_another_type(kernels: Any, change: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        kernels.ChrfOptions(*Choice()._replace(**change))


def prepared(kernels: Any, references: Any, offsets: list[int], first: int, last: int, **change: Any) -> Any:
    options = kernels.ChrfOptions(*Choice()._replace(**change))
    return kernels.ChrfReferences(references, np.array(offsets, dtype=np.int64), options, first, last, 1)


@pytest.mark.parametrize("wrong", [b"a", 1, None, 1.5, ["a"]])
@pytest.mark.parametrize("lowercase", [False, True])
def test_texts_that_are_no_strings(kernels: Any, wrong: Any, lowercase: bool) -> None:
    with pytest.raises(TypeError, match="must be strings"):
        prepared(kernels, ("a", wrong), [0, 1, 2], 0, 2, lowercase=lowercase)
    good = prepared(kernels, ("a", "b"), [0, 1, 2], 0, 2, lowercase=lowercase)
    with pytest.raises(TypeError, match="must be strings"):
        good.statistics(("a", wrong), kernels.ChrfOptions(*Choice(lowercase=lowercase)), 1)
    with pytest.raises(TypeError):
        good.statistics(["a", "b"], kernels.ChrfOptions(*Choice(lowercase=lowercase)), 1)


@pytest.mark.parametrize("offsets", [[0, 2, 4], [0, 3, 2], [0, -1, 3], [0, 2**62, 3], [-1, 2, 3]])
def test_offsets_that_do_not_fit(kernels: Any, offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        prepared(kernels, ("a", "b", "c"), offsets, 0, 2)


@pytest.mark.parametrize(("first", "last"), [(0, 3), (2, 1), (3, 3), (0, 2**40)])
def test_slices_outside(kernels: Any, first: int, last: int) -> None:
    with pytest.raises(IndexError):
        prepared(kernels, ("a", "b", "c"), [0, 2, 3], first, last)
    with pytest.raises(IndexError):
        prepared(kernels, (), [], 0, 0)


def test_outputs_that_are_too_few(kernels: Any) -> None:
    second = prepared(kernels, ("a", "b", "c"), [0, 2, 3], 1, 2)
    assert second.statistics(("x", "c"), kernels.ChrfOptions(*Choice(1)), 1).tolist() == [[1, 1, 1]]
    with pytest.raises(IndexError, match="one output"):
        second.statistics(("x",), kernels.ChrfOptions(*Choice()), 1)


@pytest.mark.parametrize("change", [{"lowercase": True}, {"whitespace": True}, {"word_order": 1}])
def test_references_prepared_otherwise(kernels: Any, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="other options"):
        prepared(kernels, ("a",), [0, 1], 0, 1).statistics(("a",), kernels.ChrfOptions(*Choice()._replace(**change)), 1)
