"""The quality of responses in the made world, and paraphrases, which keep it."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate.paraphrases import paraphrased
from trubleu.simulate import World, responder
from trubleu.simulate.reader import read

if TYPE_CHECKING:
    from trubleu.data import Triple

WORLD = World(seed=4)
CORPUS = list(WORLD.triples(2000))
SEEDS = list(WORLD.seeds(400))
MESSAGE = "bad news , the guitar is out of tune ."


@pytest.mark.parametrize(
    ("response", "low", "high"),
    [
        ("i am sorry to hear about the guitar .", 4.8, 5),
        ("I'm sorry to hear about the guitar!", 4.8, 5),
        ("what a pity , the acoustic was groovy last week .", 4.8, 5),
        ("what a pity , the violin was groovy last week .", 4.2, 4.6),
        ("you should show the guitar to someone in the choir", 4, 4.8),
        ("i am so sorry for you .", 3.4, 3.8),
        ("congratulations , the guitar is groovy !", 2.8, 3.2),
        ("i got it at the music school .", 2.6, 3.1),
        ("i do not know much about the guitar .", 2.5, 2.8),
        ("i don't know .", 2.2, 2.2),
        ("haha", 2.2, 2.2),
        ("i am sorry to hear about the soup .", 1.5, 1.8),
        ("congratulations , the soup is tasty !", 1.15, 1.3),
        (MESSAGE, 1.5, 1.5),
        ("Bad news, the guitar is out of tune", 1.5, 1.5),
        ("bad news , the acoustic is off key .", 1.5, 1.5),
        ("the guitar is out of tune .", 1.5, 1.6),
        ("blorp znfx qua wibble", 1, 1.2),
        ("42", 1, 1.2),
        ("?!", 1, 1),
        ("", 1, 1),
        ("   ", 1, 1),
    ],
)
def test_responses_to_bad_news(response: str, low: float, high: float) -> None:
    assert low <= WORLD.quality(MESSAGE, response) <= high


@given(st.text(), st.text())
def test_any_text_has_a_quality(message: str, response: str) -> None:
    assert 1 <= WORLD.quality(message, response) <= 5
    assert WORLD.quality(message, "") == 1


@given(st.sampled_from(CORPUS), st.sampled_from(CORPUS))
def test_any_response_to_any_message_has_a_quality(one: Triple, other: Triple) -> None:
    assert 1 < WORLD.quality(one.message, other.response) <= 5
    if read(one.message).topic != (topic := read(other.response).topic) and topic is not None:
        assert WORLD.quality(one.message, other.response) < 2


def test_quality_is_graded() -> None:
    values = {round(WORLD.quality(triple.message, triple.response), 2) for triple in CORPUS}
    assert len(values) > 50
    for low in (1, 2, 3, 4):
        assert sum(low <= value < low + 1 for value in values) > 5


@given(st.sampled_from(SEEDS))
def test_who_says_the_message_back_is_bad(seed: Triple) -> None:
    assert WORLD.quality(seed.message, seed.message) == 1.5
    assert WORLD.quality(seed.message, seed.message.upper().replace(" ?", "?")) == 1.5
    assert WORLD.quality(seed.message, paraphrased(seed.message)) <= 2


@given(st.sampled_from(SEEDS), st.sampled_from(["asdf jkl qwertz", "blorp blorp blorp", "of the and with to"]))
def test_rubbish_at_the_end_costs_some_of_the_quality(seed: Triple, rubbish: str) -> None:
    whole, spoilt = (WORLD.quality(seed.message, text) for text in (seed.response, f"{seed.response} {rubbish}"))
    assert 2 < spoilt < whole - 0.1


@given(st.sampled_from(SEEDS), st.integers(0, 1000))
def test_words_in_any_order_are_bad(seed: Triple, number: int) -> None:
    words = seed.response.split()
    Random(number).shuffle(words)
    shuffled = " ".join(words)
    lost = WORLD.quality(seed.message, seed.response) - WORLD.quality(seed.message, shuffled)
    assert lost > 0.3 or read(shuffled).broken < 0.2


@given(st.sampled_from(SEEDS))
def test_saying_it_over_and_over_costs_some_of_the_quality(seed: Triple) -> None:
    assert WORLD.quality(seed.message, " ".join([seed.response] * 5)) < WORLD.quality(seed.message, seed.response) - 1


def test_quality_does_not_depend_on_the_seed_of_the_world() -> None:
    other = World(seed=99)
    assert all(
        other.quality(triple.message, triple.response) == WORLD.quality(triple.message, triple.response)
        for triple in CORPUS[:200]
    )


# Paraphrases


@given(st.sampled_from([triple for triple in CORPUS if read(triple.response).acts]), st.integers(0, 10**6))
def test_a_paraphrase_has_the_same_quality(triple: Triple, seed: int) -> None:
    quality = WORLD.quality(triple.message, triple.response)
    response = paraphrased(triple.response, seed=seed)
    assert WORLD.quality(triple.message, response) == pytest.approx(quality, abs=1e-9)
    message = paraphrased(triple.message, seed=seed)
    assert WORLD.quality(message, response) == pytest.approx(quality, abs=1e-9)


@given(st.sampled_from(CORPUS), st.integers(0, 10**6))
def test_a_paraphrase_has_the_same_meaning(triple: Triple, seed: int) -> None:
    for text in (triple.message, triple.response):
        before, after = read(text), read(paraphrased(text, seed=seed))
        assert sorted(map(id, after.concepts)) == sorted(map(id, before.concepts))
        assert after.acts == before.acts
        assert after.broken == before.broken == 0


def test_paraphrases_are_often_other_words_and_follow_from_the_seed() -> None:
    texts = [triple.response for triple in SEEDS[:100]]
    once = [paraphrased(text, seed=1) for text in texts]
    assert once == [paraphrased(text, seed=1) for text in texts]
    assert sum(one != text for one, text in zip(once, texts, strict=True)) > 70
    assert once != [paraphrased(text, seed=2) for text in texts]


@given(st.text())
def test_what_cannot_be_read_stays_as_it_is(text: str) -> None:
    if not read(text).concepts and not read(text).acts:
        assert paraphrased(text) == text


def test_what_stands_around_the_known_words_stays() -> None:
    said = {paraphrased("Look: GIG and soup -- wow?!", seed=seed) for seed in range(20)}
    assert said == {f"Look: {gig} and {soup} -- wow?!" for gig in ("gig", "concert") for soup in ("soup", "broth")}


# Responders


def mean_quality(spec: str) -> float:
    outputs = responder(WORLD, spec, memory=2000).respond(SEEDS)
    return sum(WORLD.quality(seed.message, text) for seed, text in zip(SEEDS, outputs, strict=True)) / len(SEEDS)


def test_quality_rises_with_skill() -> None:
    means = [mean_quality(f"skill:{skill}") for skill in (0, 0.25, 0.5, 0.75, 1)]
    assert all(after > before + 0.3 for before, after in pairwise(means))
    assert means[0] < 2.6
    assert means[-1] > 4.7


def test_the_other_responders_are_as_good_as_their_kind() -> None:
    quality = {spec: mean_quality(spec) for spec in ("retrieval", "random", "dull", "constant", "parrot")}
    assert quality["parrot"] == 1.5
    assert 1.7 < quality["dull"] < 2.3
    assert 1.7 < quality["constant"] < 2.3
    assert quality["random"] < 2
    assert quality["retrieval"] > 2.3
