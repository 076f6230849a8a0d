"""Simulated triples: what they look like, how often they repeat, and that they follow from the seed."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trubleu.data import Triple, read_triples
from trubleu.data.triples import write_triples
from trubleu.errors import DataError, UsageError
from trubleu.simulate import Language, TripleSimulation, simulated_triples
from trubleu.simulate.triples import BLOCK, FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SOME = 5 * BLOCK + 100
WORDS = 20_000


@pytest.fixture(scope="module")
def originals() -> list[Triple]:
    return list(simulated_triples(SOME, words=WORDS, duplicates=0, near_duplicates=0))


def texts(triple: Triple) -> tuple[str, ...]:
    return (*triple.context, triple.message, triple.response)


def words_of(text: str) -> list[str]:
    return re.findall("[a-z]+", text.lower())


# What they look like


def test_a_triple_has_one_turn_of_context_and_texts_like_chat(originals: list[Triple]) -> None:
    assert [triple.id for triple in originals] == [f"s1-{number}" for number in range(SOME)]
    assert {len(triple.context) for triple in originals} == {1}
    every = [text for triple in originals for text in texts(triple)]
    assert all(re.fullmatch(r"[A-Za-z]+([,.?!]? [A-Za-z]+)*[.?!]?", text) for text in every)
    lengths = [len(text.split()) for text in every]
    assert 8 <= np.median(lengths) <= 10
    assert min(lengths) >= 1
    assert 40 <= max(lengths) <= 48
    assert 0.75 < np.mean([text[0].isupper() for text in every]) < 0.87
    ends = Counter(text[-1] if text[-1] in ".?!" else "" for text in every)
    assert set(ends) == {".", "?", "!", ""}
    assert 0.4 < ends["."] / len(every) < 0.5


def test_a_capital_follows_the_end_of_a_sentence(originals: list[Triple]) -> None:
    after = [letter for triple in originals[:5000] for letter in re.findall(r"[.?!] (\w)", triple.message)]
    assert len(after) > 1000
    assert all(map(str.isupper, after))


def test_word_frequencies_follow_zipfs_law(originals: list[Triple]) -> None:
    counts = Counter(word for triple in originals for text in texts(triple) for word in words_of(text))
    frequencies = np.array(sorted(counts.values(), reverse=True))
    ranks = np.unique(np.geomspace(10, 2000, 50).astype(int))
    slope = np.polyfit(np.log(ranks), np.log(frequencies[ranks - 1]), 1)[0]
    assert abs(slope + 1) < 0.05
    # And it is the language's ranks that they have: stock phrases lift some words, never the order of the whole.
    language = Language(words=WORDS)
    seen = np.array([counts[language.spelled(rank).lower()] for rank in range(WORDS)]) / counts.total()
    assert 0.8 < np.median(seen[:2000] / language.frequencies[:2000]) < 1.2


@pytest.mark.parametrize("exponent", [0.5, 1.4])
def test_another_exponent_gives_another_slope(exponent: float) -> None:
    triples = simulated_triples(BLOCK, words=WORDS, exponent=exponent, duplicates=0, near_duplicates=0)
    counts = Counter(word for triple in triples for text in texts(triple) for word in words_of(text))
    language = Language(words=WORDS)
    seen = np.array([counts[language.spelled(rank).lower()] for rank in range(WORDS)])
    # Beyond the words of stock phrases, a thousand words at a time.
    bins = seen[2000:].reshape(-1, 1000).sum(axis=1)
    centres = np.arange(2500, WORDS, 1000)
    assert abs(np.polyfit(np.log(centres), np.log(bins), 1)[0] + exponent) < 0.1


def test_stock_phrases_occur_in_many_triples(originals: list[Triple]) -> None:
    language = Language(words=WORDS)
    rare = max(
        (row for row in language.phrases[:100] if row.min() >= 0), key=lambda row: float(np.log(row + 1.0).sum())
    )
    phrase = " ".join(language.spelled(rank) for rank in rare).lower()
    # Its five words alone would meet far less than once in a corpus as large as this.
    alone = np.prod(language.frequencies[rare]) * SOME * 3 * 50
    assert alone < 0.01
    assert sum(phrase in text.lower() for triple in originals for text in texts(triple)) > 20


def test_responses_share_topic_words_with_their_messages(originals: list[Triple]) -> None:
    language = Language(words=WORDS)
    function = {language.spelled(rank) for rank in range(FUNCTION_WORDS)}

    def shared(messages: Iterable[str], responses: Iterable[str]) -> float:
        pairs = zip(messages, responses, strict=True)
        found = [bool((set(words_of(one)) & set(words_of(other))) - function) for one, other in pairs]
        return float(np.mean(found))

    messages, responses = [each.message for each in originals], [each.response for each in originals]
    assert shared(messages, responses) > 5 * shared(messages, responses[1:] + responses[:1])


# Repetitions


def repeated(values: Iterable[object]) -> float:
    counts = Counter(values)
    return (counts.total() - len(counts)) / counts.total()


def test_the_share_of_duplicates_is_what_was_asked_for(originals: list[Triple]) -> None:
    share = 0.1
    copies = list(simulated_triples(SOME, words=WORDS, duplicates=share, near_duplicates=0))
    for field in ("message", "response"):
        # Short texts also coincide by chance.
        chance = repeated(getattr(triple, field) for triple in originals)
        assert chance < 0.02
        assert abs(repeated(getattr(triple, field) for triple in copies) - chance - share) < 0.01
    assert repeated((triple.message, triple.response) for triple in originals) < 0.001
    assert abs(repeated((triple.message, triple.response) for triple in copies) - share / 2) < 0.01
    # What is no copy is as it would be without copies.
    assert sum(map(Triple.__eq__, originals, copies)) == pytest.approx((1 - 1.5 * share) * SOME, rel=0.02)


def test_copies_come_from_far_away_and_from_nearby() -> None:
    first: dict[str, int] = {}
    blocks = []
    triples = simulated_triples(SOME, words=WORDS, duplicates=0.1, near_duplicates=0)
    for number, triple in enumerate(triples):
        if len(triple.message) > 40 and (before := first.setdefault(triple.message, number)) != number:
            assert before < number
            blocks.append((before // BLOCK, number // BLOCK))
    later = [source == block for source, block in blocks if block]
    assert 0.4 < np.mean(later) < 0.6
    assert {source for source, block in blocks if source != block} == {0}


def test_near_duplicates_differ_in_a_word_a_mark_or_a_letters_case(originals: list[Triple]) -> None:
    share = 0.2
    copies = list(simulated_triples(BLOCK, words=WORDS, duplicates=0, near_duplicates=share))
    known = {triple.message for triple in originals[:BLOCK]}
    shapes = {tuple(words_of(text)) for text in known}
    changed = [copy.message for copy, own in zip(copies, originals, strict=False) if copy.message != own.message]
    assert len(changed) == pytest.approx(share * BLOCK, rel=0.1)
    assert not [text for text in changed if text in known and len(words_of(text)) > 8]
    folded = {text.casefold() for text in known}
    same_words = [text for text in changed if tuple(words_of(text)) in shapes]
    assert len(same_words) / len(changed) == pytest.approx(0.5, abs=0.07)
    assert len([text for text in same_words if text.casefold() in folded]) / len(changed) == pytest.approx(
        0.25, abs=0.07
    )
    by_gap = {(words[:place], words[place + 1 :]) for words in shapes for place in range(len(words))}
    others = [tuple(words_of(text)) for text in changed if tuple(words_of(text)) not in shapes]
    assert all(any((w[:place], w[place + 1 :]) in by_gap for place in range(len(w))) for w in others)


# What follows from what


@settings(max_examples=15)
@given(st.integers(0, 2**40), st.integers(0, 2 * BLOCK), st.integers(0, 2 * BLOCK))
def test_the_first_triples_do_not_depend_on_their_number(seed: int, one: int, other: int) -> None:
    simulation = TripleSimulation(seed=seed, words=1000)
    few, many = sorted((one, other))
    head = list(simulation.triples(few))
    assert len(head) == few
    assert head == list(islice(simulation.triples(many), few))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_texts(tmp_path: Path) -> None:
    for name, seed, language in (("a", 1, 1), ("b", 1, 1), ("c", 2, 1), ("d", 1, 2)):
        TripleSimulation(seed=seed, language=language, words=WORDS).write(tmp_path / f"{name}.jsonl", 3000)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    one, other, foreign = (read_triples([tmp_path / f"{name}.jsonl"]) for name in "acd")
    assert not {triple.id for triple in one} & {triple.id for triple in other}
    long = [{each.message for each in triples if len(each.message) > 40} for triples in (one, other, foreign)]
    assert not long[0] & long[1]
    assert not long[0] & long[2]
    # Other texts of the same language have its words.
    counts = [Counter(word for each in triples for word in words_of(each.message)) for triples in (one, other, foreign)]
    assert counts[0].most_common(1)[0][0] == counts[1].most_common(1)[0][0] != counts[2].most_common(1)[0][0]


def test_texts_are_the_same_on_every_machine() -> None:
    (triple,) = simulated_triples(1, seed=3, words=1000)
    assert triple.context == ("Sai grik! Grik wad sai don grik su nu. Chour haing, grik, stast nous.",)
    whole = "".join(each.id + each.message + each.response for each in simulated_triples(2 * BLOCK, seed=3, words=5000))
    assert hashlib.sha256(whole.encode()).hexdigest()[:16] == "cd4b7934784d55e3"


# Files


@pytest.mark.parametrize("name", ["t.jsonl", "t.tsv", "t.jsonl.gz", "t.tsv.zst", "t.parquet"])
def test_every_format_holds_the_same_triples(tmp_path: Path, name: str) -> None:
    simulation = TripleSimulation(words=1000)
    told: list[int] = []
    simulation.write(tmp_path / name, BLOCK + 10, progress=told.append)
    assert read_triples([tmp_path / name]) == list(simulation.triples(BLOCK + 10))
    assert sum(told) == BLOCK + 10


@pytest.mark.parametrize("n", [0, 1, 100])
def test_files_have_the_bytes_that_any_triples_would_have(tmp_path: Path, n: int) -> None:
    simulation = TripleSimulation(words=1000, seed=12)
    simulation.write(tmp_path / "t.jsonl", n)
    write_triples(tmp_path / "other.jsonl", simulation.triples(n))
    assert (tmp_path / "t.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TripleSimulation(words=1000).write(tmp_path / "t.jsonl", 3 * BLOCK, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed is -1, but must not be negative"),
        ({"language": -1}, "language is -1, but must not be negative"),
        ({"words": 10}, "words is 10, but must be between 1,000 and 10,000,000"),
        ({"duplicates": -0.1}, "duplicates is -0.1, but a share must be between 0 and 1"),
        ({"near_duplicates": float("nan")}, "near_duplicates is nan, but a share must be between 0 and 1"),
        (
            {"duplicates": 0.3, "near_duplicates": 0.3},
            "duplicates and near_duplicates are 0.6 together, but must not be more than a half",
        ),
    ],
)
def test_options_out_of_bounds(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        TripleSimulation(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [-1, 10**12 + 1])
def test_numbers_out_of_bounds(tmp_path: Path, n: int) -> None:
    message = f"n is {n}, but must be between 0 and 1,000,000,000,000"
    with pytest.raises(UsageError, match=message):
        simulated_triples(n)
    with pytest.raises(UsageError, match=message):
        TripleSimulation().write(tmp_path / "t.jsonl", n)


def test_a_name_that_tells_no_format(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the name does not show a format; let it end in \.jsonl, \.tsv or \.parquet"):
        TripleSimulation().write(tmp_path / "t.txt", 1)


def test_the_largest_shares_still_leave_something_to_copy() -> None:
    triples = list(simulated_triples(BLOCK, words=1000, duplicates=0.5, near_duplicates=0))
    assert repeated(triple.response for triple in triples) > 0.49
