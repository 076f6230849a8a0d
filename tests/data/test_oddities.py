"""Sentences about odd data: each kind is noticed, good data is not, and on real data every alarm is true."""

from __future__ import annotations

import random
import warnings
from itertools import product
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import References, read_published
from trubleu.data.oddities import oddities, warn_of_oddities
from trubleu.errors import TrubleuWarning
from trubleu.files.lines import read_text_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

WORDS: Final = [
    "river",
    "stone",
    "under",
    "old",
    "bridge",
    "water",
    "green",
    "light",
    "never",
    "again",
    "while",
    "people",
    "walk",
    "along",
    "quiet",
    "streets",
]


RARE: Final = ["".join(syllables) for syllables in product(("ka", "lo", "mi", "ru", "se"), repeat=3)]


def sentences(number: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    texts = (draw.sample(WORDS, 5) + draw.sample(RARE, 4) for _ in range(number))
    return [f"{' '.join(words[:4])}, {' '.join(words[4:])} {place}." for place, words in enumerate(texts)]


REFERENCES: Final = sentences(60, 1)
GOOD: Final = [text.replace("old", "ancient").replace("quiet", "silent").replace("never", "not") for text in REFERENCES]


def found(outputs: Sequence[str | None], references: Sequence[str] = REFERENCES, **more: Sequence[str]) -> list[str]:
    made = References.from_lists([[text] for text in references])
    return oddities({"A": outputs}, made.with_messages(more["messages"], what="sources") if more else made)


def test_good_data_is_passed_in_silence() -> None:
    assert found(GOOD) == []
    assert found(GOOD, messages=sentences(60, 2)) == []
    assert found([None, *GOOD[1:]]) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda texts: ["", " ", *texts[2:]], "empty outputs: 2 of A"),
        (lambda _: REFERENCES, "60 of 60 outputs of A are references of their own segment"),
        (
            lambda texts: [text.replace(",", " ,").replace(".", " .") for text in texts],
            "outputs of A have spaces before . and , but the references have none; detokenise them",
        ),
        (lambda texts: [text.replace("wat", "wat@@ ") for text in texts], "A have marks of subwords (@@)"),
        (lambda texts: ["▁" + text.replace(" ", " ▁") for text in texts], "A have marks of subwords (▁)"),
        (lambda texts: [text.replace("green", "gr ##een") for text in texts], "A have marks of subwords (##)"),
        (lambda texts: [text.replace("stone", "&#39;stone") for text in texts], "A have HTML entities such as &quot;"),
        (lambda texts: [*texts[1:], "the end."], "outputs of A from 1 on fit the references 1 line below better"),
        (lambda texts: ["a title", *texts[:-1]], "outputs of A from 1 on fit the references 1 line above better"),
        (
            lambda texts: [*texts[:29], *texts[30:], "the end."],
            "outputs of A from 31 on fit the references 1 line below better",
        ),
    ],
)  # fmt: skip
def test_each_oddity_gives_one_sentence(change: Callable[[list[str]], list[str]], sentence: str) -> None:
    (told,) = found(change(GOOD))
    assert told.startswith(sentence) or sentence in told


def test_tokenised_references_and_copies_of_the_source() -> None:
    spaced = [text.replace(",", " ,").replace(".", " .") for text in REFERENCES]
    assert found(GOOD, spaced) == [
        "the references have spaces before . and , but outputs of A have none; treat both alike"
    ]
    source = sentences(60, 3)
    (told,) = found([*source[:40], *GOOD[40:]], messages=source)
    assert told == "40 of 60 outputs of A are copies of the source"


def test_what_references_have_too_is_not_odd() -> None:
    for change in (lambda text: text.replace("stone", "&amp; stone"), lambda text: text.replace(",", " ,")):
        assert found([*map(change, GOOD)], [*map(change, REFERENCES)]) == []
    assert found(["", *GOOD[1:]], ["", *REFERENCES[1:]]) == []


def test_few_texts_say_little() -> None:
    assert found(REFERENCES[:10], REFERENCES[:10]) == []
    assert found([*GOOD[1:10], "x"], REFERENCES[:10]) == []


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_texts_that_have_nothing_in_common_are_not_shifted(one: int, other: int) -> None:
    texts = [text.replace(",", "").replace(".", "") for text in sentences(60, 5000 + other)]
    assert [each for each in found(texts, sentences(60, one)) if "line" in each] == []


def test_systems_share_a_sentence() -> None:
    references = References.from_lists([[text] for text in REFERENCES])
    outputs = {"A": ["", *GOOD[1:]], "B": GOOD, "C": [*GOOD[:-2], "", ""]}
    with pytest.warns(TrubleuWarning, match="^empty outputs: 1 of A, 2 of C$"):
        warn_of_oddities(outputs, references)


def alarms(outputs: Mapping[str, Sequence[str | None]], references: References) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for system, texts in outputs.items():
        for sentence in oddities({system: texts}, references):
            found.setdefault(sentence.replace(system, "…"), []).append(system)
    return found


EMPTY = "empty outputs: 1 of …"
SPACED = "the references have spaces before . and , but outputs of … have none; treat both alike"
COPIED = "557 of 557 outputs of … are references of their own segment: these are no system's"

PUBLISHED: Final = {
    "tasks/webnlg17": {"empty outputs: 25 of …": 1, SPACED: 9},
    "dstc7/dstc7": {SPACED: 10},
}
"""How many systems each alarm is about; every other set has none."""


@pytest.mark.parametrize("kind", ["tasks", "dstc7", "usr", "mqm", "wmt-rr", "wmt-da"])
def test_alarms_on_published_data(kind: str, real_data: Path) -> None:
    folder = {"wmt-rr": "wmt15", "wmt-da": "daseg2015"}.get(kind, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sets = read_published(kind, real_data / folder)
    for each in sets:
        references = References.from_lists([[r.text for r in segment.references] for segment in each.segments])
        references = references.with_messages([segment.message or "" for segment in each.segments], what="messages")
        outputs = {name: [texts.get(segment.id) for segment in each.segments] for name, texts in each.outputs.items()}
        seen = {sentence: len(systems) for sentence, systems in alarms(outputs, references).items()}
        wanted = {EMPTY: 1} if each.name == "en-ru" else PUBLISHED.get(f"{kind}/{each.name}", {})
        assert seen == wanted, each.name


def test_alarms_on_wmt23(real_data: Path) -> None:
    folder = real_data / "mtme/wmt23"
    outputs = {path.stem: read_text_lines(path) for path in (folder / "system-outputs/en-de").iterdir()}
    for name in ("refA", "synthetic_ref"):
        texts = read_text_lines(folder / f"references/en-de.{name}.txt")
        references = References.from_lists([[text] for text in texts])
        references = references.with_messages(read_text_lines(folder / "sources/en-de.txt"), what="sources")
        assert alarms(outputs, references) == {COPIED: [name]}
