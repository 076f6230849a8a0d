"""The kernels' tokens equal sacreBLEU's on every string; `fuzz_13a.py` goes on where this stops."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.builds import BUILDS
from tests.oracles.strings13a import ALL_SPACES, expected, strings

PART = 2_500


@pytest.fixture(params=BUILDS)
def kernels(request: pytest.FixtureRequest) -> Any:
    return BUILDS[request.param]


def assert_same_tokens(kernels: Any, text: str) -> None:
    for tokenizer in ("13a", "none"):
        for lowercase in (False, True):
            found = kernels.tokens(text, tokenizer, lowercase)
            assert found == expected(text, tokenizer, lowercase=lowercase), (text, tokenizer, lowercase)


@pytest.mark.parametrize("seed", range(10))
def test_tokens_of_random_strings(kernels: Any, seed: int) -> None:
    texts = list(strings(seed, PART))
    assert len(set(texts)) > PART * 0.9
    for text in texts:
        assert_same_tokens(kernels, text)


@given(text=st.text(st.characters(exclude_categories=()), max_size=80))
@settings(max_examples=300)
def test_tokens_of_any_text(text: str) -> None:
    for kernels in BUILDS.values():
        assert_same_tokens(kernels, text)


@given(text=st.text("19a.,-", max_size=12))
@settings(max_examples=500)
def test_tokens_of_points_and_digits(text: str) -> None:
    for kernels in BUILDS.values():
        assert_same_tokens(kernels, text)


def test_every_pattern_of_points_and_digits_up_to_six(kernels: Any) -> None:
    def patterns(size: int) -> list[str]:
        return [""] if size == 0 else [text + c for text in patterns(size - 1) for c in "5a.,-"]

    for text in (pattern for size in range(6) for pattern in patterns(size)):
        assert kernels.tokens(text, "13a", False) == expected(text, "13a", lowercase=False), text


@pytest.mark.parametrize("boundary", [63, 64, 65, 127, 128, 129])
def test_tokens_across_the_blocks_of_64_bytes(kernels: Any, boundary: int) -> None:
    pieces = (
        "3.5",
        "3...5",
        "a..5",
        "1-2",
        "&amp;lt;",
        "<skipped>",
        "-\n",
        "é",
        "\u3000",
        "🙂",
        " ",
        "!",
        "a b",
        ".",
        ",,",
    )
    for piece in pieces:
        for filler in ("x", " ", ".", "5", "-", "é"):
            for before in range(boundary - 5, boundary + 3):
                assert_same_tokens(kernels, filler * before + piece)
                assert_same_tokens(kernels, filler * before + piece + "5 x.")


def test_spaces_are_those_of_python(kernels: Any) -> None:
    for space in ALL_SPACES:
        assert kernels.tokens(f"a{space}b{space}", "none", False) == ["a", "b"]
        assert kernels.tokens(f"{space}a{space}{space}b.", "13a", False) == ["a", "b", "."]
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if not character.isspace():
            assert kernels.tokens(character, "none", False) == [character]


def test_every_character_beside_a_point(kernels: Any) -> None:
    for first in range(0, sys.maxunicode + 1, 64):
        assert_same_tokens(kernels, "".join(f"1{chr(code)}.5" for code in range(first, first + 64, 13)))
    for code in range(0x180):
        assert_same_tokens(kernels, f"a{chr(code)}.{chr(code)}-1{chr(code)}-{chr(code)}")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, world.", ["Hello", ",", "world", "."]),
        ("&amp;quot; &amp;lt;", ["&", "quot", ";", "<"]),  # &amp; is undone after &quot; and before &lt;
        ("3.5 3...5 a..5", ["3.5", "3", ".", ".", ".5", "a", ".", ".5"]),
        ("1-2 a-b", ["1", "-", "2", "a-b"]),
        ("well-\nknown <skipped>", ["wellknown"]),
        ("", []),
        (" \t\u3000", []),
        ("\ud800a \udfff", ["\ud800a", "\udfff"]),
        ("a\x00b", ["a\x00b"]),
    ],
)
def test_worked_examples(kernels: Any, text: str, tokens: list[str]) -> None:
    assert kernels.tokens(text, "13a", False) == tokens


def test_lower_casing_is_python_s(kernels: Any) -> None:
    for text in ("ABC", "ÀÉ", "İ", "ΑΣ ΑΣΑ", "ẞ", "Ⅳ", "\U00010400", "Ab\ud800C"):
        assert kernels.tokens(text, "none", True) == text.lower().split()


def test_words_and_lines_of_any_length(kernels: Any) -> None:
    for size in (1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 65_535, 65_536, 70_000):
        for letter in ("a", "é", "中", "🙂"):
            assert kernels.tokens(f"{letter * size} b", "13a", False) == [letter * size, "b"]
    assert len(kernels.tokens("." * 100_001, "13a", False)) == 100_001


def test_empty_texts_are_counted(kernels: Any) -> None:
    texts = ("", " ", "a", "\u3000\x1f", " \u200b", "🙂", *ALL_SPACES)
    assert kernels.count_empty(texts) == sum(not text.strip() for text in texts)
    assert kernels.count_empty(()) == 0


@pytest.mark.parametrize("wrong", [b"a", 1, None, ["a"]])
def test_what_is_no_string_is_refused(kernels: Any, wrong: object) -> None:
    with pytest.raises(TypeError):
        kernels.tokens(wrong, "13a", False)
    assert kernels.count_empty((wrong,)) is None


def test_unknown_tokenizers_are_refused(kernels: Any) -> None:
    with pytest.raises(ValueError, match="13a, none, alphanumeric and stems"):
        kernels.tokens("a", "intl", False)


def test_a_lower_that_returns_no_string_is_refused(kernels: Any) -> None:
    class Strange(str):
        __slots__ = ()

        def lower(self) -> Any:
            return 5

    with pytest.raises(TypeError, match="string"):
        kernels.tokens(Strange("É"), "none", True)


def test_the_script_runs() -> None:
    script = Path(__file__).parent / "fuzz_13a.py"
    done = subprocess.run(
        [sys.executable, script, "--count", "300", "--seed", "5"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "all 300 strings of seed 5 are equal" in done.stdout
