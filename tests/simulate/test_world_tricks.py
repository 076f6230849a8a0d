"""Outputs that are made to please: what they are worth in the made world, and that its own texts are left alone."""

from __future__ import annotations

from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate.paraphrases import paraphrased
from trubleu.simulate import World, grammar
from trubleu.simulate.reader import read, whole_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.data import Triple

WORLD = World(seed=4)
CORPUS = list(WORLD.triples(2000))
SEEDS = list(WORLD.seeds(300))
SENTENCES = {sentence.labels: sentence.act for sentence in grammar.all_sentences()}


@given(st.sampled_from(SEEDS), st.sampled_from(["how was it ?", "right ?", "i like it a lot !", "asdf jkl qwertz"]))
def test_the_message_and_something_more_is_little_better_than_the_message(seed: Triple, more: str) -> None:
    for text in (f"{seed.message} {more}", f"{more} {seed.message}", f"{seed.message} {more} {seed.message}"):
        value = WORLD.quality(seed.message, text)
        assert value <= max(2, (1.5 + WORLD.quality(seed.message, more)) / 2 + 1e-9)


@given(st.sampled_from(SEEDS))
def test_the_message_and_a_good_response_is_half_as_good(seed: Triple) -> None:
    good = WORLD.quality(seed.message, seed.response)
    assert 2 < WORLD.quality(seed.message, f"{seed.message} {seed.response}") <= (1.5 + good) / 2 + 1e-9


def test_a_short_message_may_stand_in_a_response() -> None:
    assert WORLD.quality("guitar ?", "i think the guitar is groovy .") > 2.5


@given(st.sampled_from(SEEDS))
def test_a_mere_word_of_the_message_is_dull(seed: Triple) -> None:
    word = min(read(seed.message).focus, key=lambda concept: concept.name).ways[0][0]
    for text in (word, f"the {word}", f"well , {word} lol", f"{word} anna ."):
        assert WORLD.quality(seed.message, text) <= 2.7


def test_what_just_tells_something_is_worth_what_it_was() -> None:
    message = "bad news , the guitar is out of tune ."
    for text in ("anna has the same guitar .", "hey anna , i got the guitar at the music school . lol"):
        assert WORLD.quality(message, text) > 3
    assert WORLD.quality(message, "anna has the same guitar . blorp") > 2.2


@given(st.sampled_from(SEEDS), st.integers(0, 100))
def test_answer_upon_answer_costs_some_of_the_quality(seed: Triple, number: int) -> None:
    ways = [seed.response, *(paraphrased(seed.response, seed=number + each) for each in range(4))]
    one, two, five = (WORLD.quality(seed.message, " ".join(ways[:many])) for many in (1, 2, 5))
    assert 2 < two < one - 0.3
    assert five < 3.1


def test_longer_than_anybody_speaks() -> None:
    message, response = "bad news , the guitar is out of tune .", "i am sorry to hear about the guitar ."
    within = f"{response} anna has the same violin . i got the guitar at the music school . my mother likes singing ."
    beyond = (
        f"{within} we often sing at the jazz club . it is not easy to sing . last year peter and i sang . there is a "
        "new piano at the music school . emma was singing at the jazz club all day . the last violin was off key . the "
        "guitar of my sister is groovy too . dan says the piano at the jazz club is off key ."
    )
    assert len(read(within).words) <= 45 < len(read(beyond).words) - 40
    for text in (within, beyond):
        found = read(text)
        assert (found.answers, found.whole, found.broken, found.topic) == (1, 1, 0, "music")
    assert WORLD.quality(message, beyond) < WORLD.quality(message, within) - 0.5
    assert max(len(read(text).words) for each in CORPUS for text in (each.message, each.response)) <= 45


@given(st.sampled_from(SEEDS), st.sampled_from(["not", "Never", "well , not anna ,"]))
def test_to_deny_an_answer_is_to_give_none(seed: Triple, denial: str) -> None:
    good, denied = (WORLD.quality(seed.message, text) for text in (seed.response, f"{denial} {seed.response}"))
    assert denied < good - 0.5
    assert read(f"{denial} {seed.response}").acts < read(seed.response).acts


@given(st.sampled_from(CORPUS))
def test_the_texts_of_the_world_are_whole(triple: Triple) -> None:
    for text in (triple.message, triple.response):
        found = read(text)
        assert found.whole == 1
        assert found.answers == len(found.acts) <= 1


def test_mixtures_are_worse_than_a_fair_system() -> None:
    """No trick that needs no understanding is worth as much as a response that fits, on average."""
    tricks = {
        "and what about it": [f"{seed.message} how was it ?" for seed in SEEDS],
        "everything at once": [" ".join(other.response for other in SEEDS[:40:8]) for _ in SEEDS],
        "not": [f"not {seed.response}" for seed in SEEDS],
    }
    for name, texts in tricks.items():
        mean = fmean(WORLD.quality(seed.message, text) for seed, text in zip(SEEDS, texts, strict=True))
        assert mean < 4, name


# Whole sentences


def best_by_trying(labels: Sequence[tuple[str, ...]]) -> tuple[int, int]:
    """The most labels that whole sentences can cover, and how few sentences that takes, by trying everything."""
    if not labels:
        return 0, 0
    found = [best_by_trying(labels[1:])]
    for end in range(1, len(labels) + 1):
        if any(written in SENTENCES for written in product(*labels[:end])):
            covered, few = best_by_trying(labels[end:])
            found.append((covered + end, few - 1))
    return max(found)


@given(st.lists(st.sampled_from(sorted(SENTENCES, key=lambda labels: (len(labels), labels))[:40]), max_size=3),
       st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["not", "T", "blorp"])), max_size=2))  # fmt: skip
def test_sentences_cover_as_much_as_can_be(parts: list[tuple[str, ...]], more: list[tuple[int, str]]) -> None:
    labels = [(label,) for part in parts for label in part]
    for at, word in more:
        labels.insert(at, (word,))
    labels = labels[:12]
    found = whole_sentences(labels)
    covered, few = best_by_trying(labels)
    if ("N",) not in labels:
        assert found.share == pytest.approx(covered / max(1, len(labels)))
    assert len(found.acts) <= -few
    assert found.denied <= set(found.acts)


@pytest.mark.parametrize(
    ("text", "share", "acts", "denied"),
    [
        ("i find it groovy", 1, ("give opinion",), set()),
        ("not i find it groovy", 4 / 5, ("give opinion",), {"give opinion"}),
        ("i find it groovy not", 4 / 5, ("give opinion",), set()),
        ("anna has the same guitar i find it groovy", 1, ("give opinion",), set()),
        ("blorp", 0, (), set()),
    ],
)
def test_whole_sentences_of_a_text(text: str, share: float, acts: tuple[str, ...], denied: set[str]) -> None:
    letters = {"groovy": "A", "anna": "N", "guitar": "T"}
    found = whole_sentences([(letters.get(word, word),) for word in text.split()])
    assert found.share == pytest.approx(share)
    assert (found.acts, set(found.denied)) == (acts, denied)
