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

from benchmarks.simulated.triples import BLOCK, FUNCTION_WORDS, simulated_triples, spelled
from trubleu.data import Triple, read_triples, write_triples
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SOME = 5 * BLOCK + 100
WORDS = 20_000


@pytest.fixture(scope="module")
def made() -> list[Triple]:
    return list(simulated_triples(SOME, words=WORDS))


def texts(triple: Triple) -> tuple[str, ...]:
    return (*triple.context, triple.message, triple.response)


def words_of(text: str) -> list[str]:
    return re.findall("[a-z]+", text.lower())


# What they look like


def test_a_triple_has_one_turn_of_context_and_texts_like_chat(made: list[Triple]) -> None:
    assert [triple.id for triple in made] == [f"s1-{number}" for number in range(SOME)]
    assert {len(triple.context) for triple in made} == {1}
    every = [text for triple in made for text in texts(triple)]
    assert all(re.fullmatch(r"[A-Za-z]+([,.?!]? [A-Za-z]+)*[.?!]?", text) for text in every)
    lengths = [len(text.split()) for text in every]
    assert 9 <= np.median(lengths) <= 11
    assert min(lengths) >= 1
    assert 40 <= max(lengths) <= 48
    assert 0.75 < np.mean([text[0].isupper() for text in every]) < 0.9
    ends = Counter(text[-1] if text[-1] in ".?!" else "" for text in every)
    assert set(ends) == {".", "?", "!", ""}
    assert 0.4 < ends["."] / len(every) < 0.5


def test_a_capital_follows_the_end_of_a_sentence(made: list[Triple]) -> None:
    after = [letter for triple in made[:5000] for letter in re.findall(r"[.?!] (\w)", triple.message)]
    assert len(after) > 1000
    assert np.mean([*map(str.isupper, after)]) > 0.99  # but for a word that was replaced in a near-duplicate


def test_word_frequencies_follow_zipfs_law(made: list[Triple]) -> None:
    counts = Counter(word for triple in made for text in texts(triple) for word in words_of(text))
    frequencies = np.array(sorted(counts.values(), reverse=True))
    ranks = np.unique(np.geomspace(10, 2000, 50).astype(int))
    slope = np.polyfit(np.log(ranks), np.log(frequencies[ranks - 1]), 1)[0]
    assert abs(slope + 1) < 0.05
    # And it is the language's ranks that they have: stock phrases lift some words, never the order of the whole.
    seen = np.array([counts[spelled(rank).lower()] for rank in range(WORDS)]) / counts.total()
    expected = np.log1p(1 / np.arange(1, WORDS + 1)) / np.log(WORDS + 1)
    assert 0.8 < np.median(seen[:2000] / expected[:2000]) < 1.2


def test_stock_phrases_occur_in_many_triples(made: list[Triple]) -> None:
    runs = Counter(
        tuple(words[place : place + 3])
        for words in (words_of(each.message) for each in made)
        for place in range(len(words) - 2)
    )
    rank = {spelled(number).lower(): number + 1 for number in range(WORDS)}
    # Three words that would meet less than once by themselves in as many messages.
    rare = [(run, times) for run, times in runs.items() if np.prod([rank[word] for word in run]) > 1e7]
    assert max(times for _, times in rare) > 20


def test_words_are_all_different_and_can_be_pronounced() -> None:
    words = [spelled(rank) for rank in range(50_000)]
    assert len({word.lower() for word in words}) == len(words)
    assert all(re.fullmatch(r"([A-Za-z][a-z]?[aeiou]{1,2}){1,3}[a-z]{0,2}", word) for word in words)
    assert all(word.islower() for word in words[:FUNCTION_WORDS])
    lengths = np.array([*map(len, words)])
    assert lengths[:2000].mean() + 1.5 < lengths[-2000:].mean()


def test_responses_share_topic_words_with_their_messages(made: list[Triple]) -> None:
    function = {spelled(rank) for rank in range(FUNCTION_WORDS)}

    def shared(messages: Iterable[str], responses: Iterable[str]) -> float:
        pairs = zip(messages, responses, strict=True)
        found = [bool((set(words_of(one)) & set(words_of(other))) - function) for one, other in pairs]
        return float(np.mean(found))

    messages, responses = [each.message for each in made], [each.response for each in made]
    assert shared(messages, responses) > 5 * shared(messages, responses[1:] + responses[:1])


# Repetitions


def repeated(values: Iterable[object]) -> float:
    counts = Counter(values)
    return (counts.total() - len(counts)) / counts.total()


def test_messages_and_responses_are_copied_alone_or_together(made: list[Triple]) -> None:
    long = [triple for triple in made if min(len(triple.message), len(triple.response)) > 40]  # short texts coincide
    for field in ("message", "response"):
        assert repeated(getattr(triple, field) for triple in long) == pytest.approx(0.02, abs=0.005)
    assert repeated((triple.message, triple.response) for triple in long) == pytest.approx(0.01, abs=0.004)


def test_copies_come_from_far_away_and_from_nearby(made: list[Triple]) -> None:
    first: dict[str, int] = {}
    blocks = []
    for number, triple in enumerate(made):
        if len(triple.message) > 40 and (before := first.setdefault(triple.message, number)) != number:
            blocks.append((before // BLOCK, number // BLOCK))
    later = [source == block for source, block in blocks if block]
    assert 0.4 < np.mean(later) < 0.6
    elsewhere = [source == 0 for source, block in blocks if source != block]
    assert np.mean(elsewhere) > 0.9  # the others were altered in the same way


def test_near_duplicates_differ_in_a_word_a_mark_or_a_letters_case(made: list[Triple]) -> None:
    texts = list(dict.fromkeys(triple.message for triple in made[:BLOCK] if len(words_of(triple.message)) > 8))
    shapes = Counter(tuple(words_of(text)) for text in texts)
    gaps = Counter((words[:place], words[place + 1 :]) for words in shapes for place in range(len(words)))
    marks_or_case = sum(times - 1 for times in shapes.values())
    one_word = sum(times - 1 for times in gaps.values())
    assert marks_or_case / len(texts) == pytest.approx(0.025, abs=0.01)
    assert one_word / len(texts) == pytest.approx(0.025, abs=0.01)


# What follows from what


@settings(max_examples=10)
@given(st.integers(0, 2**40), st.integers(0, 2 * BLOCK), st.integers(0, 2 * BLOCK))
def test_the_first_triples_do_not_depend_on_their_number(seed: int, one: int, other: int) -> None:
    few, many = sorted((one, other))
    head = list(simulated_triples(few, seed=seed, words=1000))
    assert len(head) == few
    assert head == list(islice(simulated_triples(many, seed=seed, words=1000), few))


def test_another_seed_gives_other_texts_of_the_same_language() -> None:
    one, again, other = (list(simulated_triples(3000, seed=seed, words=WORDS)) for seed in (1, 1, 2))
    assert one == again
    assert not {triple.id for triple in one} & {triple.id for triple in other}
    long = [{each.message for each in triples if len(each.message) > 40} for triples in (one, other)]
    assert not long[0] & long[1]
    counts = [Counter(word for each in triples for word in words_of(each.message)) for triples in (one, other)]
    assert counts[0].most_common(1)[0][0] == counts[1].most_common(1)[0][0] == spelled(0)


def test_texts_are_the_same_on_every_machine() -> None:
    whole = "".join(each.id + each.message + each.response for each in simulated_triples(2 * BLOCK, seed=3, words=5000))
    assert hashlib.sha256(whole.encode()).hexdigest()[:16] == "a7f9ed88f19716c3"


# Files


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.zst", "t.parquet"])
def test_every_format_holds_them(tmp_path: Path, name: str) -> None:
    write_triples(tmp_path / name, simulated_triples(BLOCK + 10, words=1000))
    assert read_triples([tmp_path / name]) == list(simulated_triples(BLOCK + 10, words=1000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n is -1, but must be between 0 and 1,000,000,000,000"),
        ({"n": 10**12 + 1}, "n is 1000000000001, but must be between 0 and 1,000,000,000,000"),
        ({"n": 1, "seed": -1}, "seed is -1, but must be between 0 and 9,223,372,036,854,775,808"),
        ({"n": 1, "words": 999}, "words is 999, but must be between 1,000 and 10,000,000"),
    ],
)
def test_options_out_of_bounds(options: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        simulated_triples(**options)
