"""Responders of the made world: what they say, and what is refused."""

from __future__ import annotations

import pytest

from trubleu.data import Triple
from trubleu.errors import UsageError
from trubleu.simulate import World, responder
from trubleu.simulate.reader import read
from trubleu.simulate.world import CONSTANT

WORLD = World(seed=2)
SEEDS = list(WORLD.seeds(300))


def test_a_parrot_says_the_message_back_and_a_constant_one_always_the_same() -> None:
    assert responder(WORLD, "parrot").respond(SEEDS) == [seed.message for seed in SEEDS]
    assert set(responder(WORLD, "constant").respond(SEEDS)) == {CONSTANT}


def test_a_dull_one_is_always_dull_but_not_always_the_same() -> None:
    said = responder(WORLD, "dull").respond(SEEDS)
    assert all(read(text).acts == {"be dull"} for text in said)
    assert len(set(said)) > 30


def test_a_random_one_says_what_others_said_to_anything() -> None:
    heard = {triple.response for triple in WORLD.memories(500)}
    said = responder(WORLD, "random", memory=500).respond(SEEDS)
    assert set(said) <= heard
    assert len(set(said)) > 150


def test_a_retrieving_one_answers_as_the_most_similar_message_was_answered() -> None:
    memories = list(WORLD.memories(500))
    again = [Triple("x", (), triple.message, "") for triple in memories]
    said = responder(WORLD, "retrieval", memory=500).respond(again)
    first = {triple.message: triple.response for triple in reversed(memories)}
    assert sum(text == first[triple.message] for text, triple in zip(said, memories, strict=True)) > 490


def test_a_retrieving_one_that_knows_no_word_says_something_all_the_same() -> None:
    first = next(WORLD.memories(1)).response
    assert responder(WORLD, "retrieval", memory=500).respond([Triple("x", (), "zzz", "")]) == [first]


def test_faults_are_of_every_kind_in_their_shares() -> None:
    many = list(WORLD.seeds(1500))
    readings = [
        (read(seed.message), read(text))
        for seed, text in zip(many, responder(WORLD, "skill:0").respond(many), strict=True)
    ]
    dull = [answered.acts == {"be dull"} for _, answered in readings]
    elsewhere = [answered.topic not in (None, asked.topic) for asked, answered in readings]
    parrots = [bool(answered.acts) and answered.acts <= asked.acts for asked, answered in readings]
    for found, share in ((dull, 0.3), (elsewhere, 0.3), (parrots, 0.15)):
        assert sum(found) / len(many) == pytest.approx(share, abs=0.05)
    assert sum(map(any, zip(dull, elsewhere, parrots, strict=True))) / len(many) == pytest.approx(0.75, abs=0.05)


def test_what_is_said_does_not_depend_on_the_other_messages_or_on_the_response() -> None:
    for spec in ("skill:0.5", "dull", "random", "retrieval"):
        system = responder(WORLD, spec, memory=200)
        said = system.respond(SEEDS[:50])
        alone = [Triple(seed.id, (), seed.message, "") for seed in SEEDS[:50]]
        assert responder(WORLD, spec, memory=200).respond(reversed(alone)) == said[::-1], spec


def test_systems_of_another_seed_say_something_else() -> None:
    one, other = (responder(WORLD, "skill:0.8", seed=seed).respond(SEEDS) for seed in (0, 1))
    assert sum(a != b for a, b in zip(one, other, strict=True)) > 250


def test_a_share_may_be_written_in_any_way() -> None:
    said = [responder(WORLD, f"skill:{share}").respond(SEEDS[:50]) for share in ("0.7", "0.70", ".7", "7e-1", "0.71")]
    assert said[0] == said[1] == said[2] == said[3] != said[4]
    assert [responder(WORLD, f"skill:{share}").spec for share in ("1.0", "-0", "0.123456789")] == [
        "skill:1",
        "skill:0",
        "skill:0.123456789",
    ]


def test_messages_of_no_world_are_answered_too() -> None:
    strange = [Triple("1", (), text, "") for text in ("", "zzz", "Wie geht es dir?", "the guitar", "on friday")]
    for spec in ("skill:1", "skill:0", "dull", "retrieval", "random", "constant"):
        assert all(text for text in responder(WORLD, spec, memory=50).respond(strange)), spec


@pytest.mark.parametrize("spec", ["", "clever", "Parrot", "parrot:1", "dull:"])
def test_an_unknown_kind_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match=r"there is no responder '.*'; choose among skill:SHARE, retrieval, random"):
        responder(WORLD, spec)


@pytest.mark.parametrize("spec", ["skill", "skill:", "skill:1.1", "skill:-0.1", "skill:nan", "skill:much"])
def test_a_share_that_cannot_be_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match=r"needs a share of good responses between 0 and 1, as in skill:0\.8"):
        responder(WORLD, spec)


@pytest.mark.parametrize("memory", [0, -3])
def test_a_responder_must_have_read_something(memory: int) -> None:
    with pytest.raises(UsageError, match="must have read at least one conversation"):
        responder(WORLD, "random", memory=memory)
