"""Words and stems of ROUGE are those of rouge-score, whose stemmer is NLTK's."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score.tokenize import tokenize

from tests.oracles.corpora import odd_texts
from trubleu.native import kernels

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = [
    "sses",
    "ies",
    "ss",
    "s",
    "eed",
    "ed",
    "ing",
    "at",
    "bl",
    "iz",
    "y",
    "ational",
    "tional",
    "enci",
    "anci",
    "izer",
    "abli",
    "bli",
    "alli",
    "entli",
    "eli",
    "ousli",
    "ization",
    "ation",
    "ator",
    "alism",
    "iveness",
    "fulness",
    "ousness",
    "aliti",
    "iviti",
    "biliti",
    "fulli",
    "logi",
    "icate",
    "ative",
    "alize",
    "iciti",
    "ical",
    "ful",
    "ness",
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "e",
    "ll",
    "ied",
]
IRREGULAR = [
    "sky",
    "skies",
    "dying",
    "lying",
    "tying",
    "news",
    "innings",
    "inning",
    "outings",
    "outing",
    "cannings",
    "canning",
    "howe",
    "proceed",
    "exceed",
    "succeed",
]
STEMMER = PorterStemmer()


def check(text: str) -> None:
    assert kernels.tokens(text, "alphanumeric", True) == tokenize(text, None)
    assert kernels.tokens(text, "stems", True) == tokenize(text, STEMMER)


@given(st.text("abcdeilouysz4", max_size=6), st.lists(st.sampled_from(SUFFIXES), max_size=3))
@settings(max_examples=500)
def test_any_word(root: str, suffixes: list[str]) -> None:
    check(root + "".join(suffixes))


@pytest.mark.parametrize("seed", range(2))
def test_many_words(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(10):
        roots = ["".join(generator.choices("abcdeilouysztw4", k=generator.randrange(6))) for _ in range(500)]
        check(" ".join(root + "".join(generator.choices(SUFFIXES, k=generator.randrange(3))) for root in roots))


def test_irregular_words() -> None:
    check(" ".join(IRREGULAR))
    check(" ".join(f"{word}s un{word} {word.upper()}" for word in IRREGULAR))


@given(odd_texts(12) | st.text("aB'.,-01 &\n_é\u0301\u212aİſ\ud800\u0130", max_size=100))
@settings(max_examples=300)
def test_any_text(text: str) -> None:
    check(text)


def test_words_of_real_text(real_data: Path) -> None:
    words: set[str] = set()
    for path in (real_data / "wmt15" / "system-outputs" / "de-en").iterdir():
        words.update(re.findall("[a-z0-9]+", path.read_text(encoding="utf-8").lower()))
    assert len(words) > 10_000
    check(" ".join(sorted(words)))
