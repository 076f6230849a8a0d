"""The made world: what its conversations are like, and that their quality can be read back."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import UsageError
from trubleu.mining import Index
from trubleu.simulate import World, responder
from trubleu.simulate.grammar import PHRASES, all_sentences, concepts, general, tokens, topics
from trubleu.simulate.reader import read

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.data import Triple
    from trubleu.simulate.grammar import Concept, Sentence

WORLD = World(seed=1)
SOME = 3000


@pytest.fixture(scope="module")
def corpus() -> list[Triple]:
    return list(WORLD.triples(SOME))


@pytest.fixture(scope="module")
def seeds() -> list[Triple]:
    return list(WORLD.seeds(300))


def filled(sentence: Sentence, topic: str, number: int) -> tuple[str, list[Concept]]:
    """Put the words of a topic into a sentence; the number says which."""
    chosen, words = [], []
    for slot in sentence.slots:
        some = (topics()[topic] | general())[slot.kind]
        concept = some[number % len(some)]
        chosen.append(concept)
        words.append(concept.ways[number % len(concept.ways)][slot.form])
        number = number // 3 + 1
    return sentence.text % tuple(words), chosen


# The language


def test_every_topic_has_enough_words() -> None:
    assert len(topics()) >= 20
    for topic, kinds in topics().items():
        assert min(len(kinds["thing"]), len(kinds["doing"]), len(kinds["place"])) >= 10, topic
        assert len(kinds["good"]) + len(kinds["bad"]) >= 10, topic
        assert sum(len(concept.ways) - 1 for some in kinds.values() for concept in some) >= 10, topic


def test_no_two_meanings_have_the_same_words() -> None:
    owners: dict[tuple[str, ...], Concept] = {}
    for concept in concepts():
        for way in concept.ways:
            assert len(way) == (3 if concept.kind == "doing" else 1), way
            for form in way:
                assert owners.setdefault(tuple(tokens(form)), concept) is concept, form


def test_no_two_acts_are_shown_by_the_same_words() -> None:
    acts: dict[tuple[str, ...], str] = {}
    for sentence in all_sentences():
        for cue in sentence.cues:
            assert acts.setdefault(cue, sentence.act) == sentence.act, cue


def test_every_message_can_be_answered() -> None:
    assert len(PHRASES.messages) >= 8
    assert set(PHRASES.fit) == set(PHRASES.messages)
    for asked, fits in PHRASES.fit.items():
        assert set(fits) <= {*PHRASES.responses, ""}, asked
        assert max(fits.values()) == 1, asked


@given(st.sampled_from(list(all_sentences())), st.sampled_from(sorted(topics())), st.integers(0, 10_000))
def test_every_sentence_is_read_as_it_was_meant(sentence: Sentence, topic: str, number: int) -> None:
    text, meant = filled(sentence, topic, number)
    reading = read(text)
    assert reading.acts == ({sentence.act} if sentence.act else set())
    assert list(reading.concepts) == meant
    assert reading.broken == 0
    assert reading.topic == (topic if any(concept.topic for concept in meant) else None)


# The conversations


def test_the_first_conversations_do_not_depend_on_how_many_there_are(corpus: list[Triple]) -> None:
    assert list(WORLD.triples(100)) == corpus[:100]
    assert list(islice(WORLD.seeds(10**9), 20)) == list(WORLD.seeds(20))
    assert [triple.id for triple in corpus[:2]] == ["w1-0", "w1-1"]


def test_everything_follows_from_the_seed_in_every_process(corpus: list[Triple]) -> None:
    program = (
        "from trubleu.simulate import World, responder; world = World(seed=1); seeds = list(world.seeds(30));"
        "print(list(world.triples(30)), seeds, [world.quality(s.message, s.response) for s in seeds],"
        "[responder(world, spec, memory=50).respond(seeds) for spec in ('skill:0.5', 'retrieval', 'random', 'dull')])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, text=True, env={"PYTHONHASHSEED": hashed}
        ).stdout
        for hashed in ("1", "2")
    }
    assert len(printed) == 1
    assert printed.pop().startswith(str(corpus[:30]))


def test_the_world_of_a_seed_stays_what_it_was() -> None:
    """Published numbers were made with it; who changes the language on purpose makes them again."""
    told = repr(
        [
            (triple, round(WORLD.quality(triple.message, triple.response), 6))
            for some in (WORLD.triples(200), WORLD.seeds(200))
            for triple in some
        ]
    )
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == "c7617985559dcd46"


def test_other_seeds_and_other_purposes_have_other_conversations() -> None:
    messages = [
        {triple.message for triple in some}
        for some in (WORLD.triples(300), World(seed=2).triples(300), WORLD.seeds(300), WORLD.memories(300))
    ]
    for one in messages:
        assert sum(bool(message in one) for other in messages for message in other) < 320


def test_texts_are_like_chat(corpus: list[Triple]) -> None:
    every = [text for triple in corpus for text in (*triple.context, triple.message, triple.response)]
    assert all(text == " ".join(text.split()) == text.lower() for text in every)
    lengths = sorted(len(text.split()) for text in every)
    assert 8 <= lengths[len(lengths) // 2] <= 12
    assert lengths[0] >= 2
    assert lengths[-1] <= 45
    assert lengths[len(lengths) // 20] >= 3
    assert lengths[len(lengths) * 19 // 20] <= 25
    assert {len(triple.context) for triple in corpus} == {0, 1}
    assert len({triple.message for triple in corpus}) > 0.95 * SOME


def test_words_are_as_frequent_as_zipf_says(corpus: list[Triple]) -> None:
    counts = Counter(word for triple in corpus for word in triple.message.split())
    common = [count for _, count in counts.most_common()]
    assert len(common) > 1000
    # Ten times the rank has between a third and a thirtieth of the frequency.
    assert all(3 < common[rank] / common[10 * rank] < 30 for rank in (5, 10, 20, 40))


def test_a_quarter_of_the_responses_is_dull_and_some_are_off_topic(corpus: list[Triple]) -> None:
    readings = [(read(triple.message), read(triple.response)) for triple in corpus]
    dull = sum(answered.acts == {"be dull"} for _, answered in readings) / SOME
    off = sum(answered.topic not in (None, asked.topic) for asked, answered in readings) / SOME
    assert 0.2 < dull < 0.3
    assert 0.04 < off < 0.1


def test_the_responses_of_seeds_are_good(seeds: list[Triple]) -> None:
    assert min(WORLD.quality(seed.message, seed.response) for seed in seeds) > 4


def test_good_responses_to_one_message_share_few_words_but_more_than_others_do(seeds: list[Triple]) -> None:
    one, two = (responder(WORLD, "skill:1", seed=seed).respond(seeds) for seed in (1, 2))

    def shared(size: int, left: list[str], right: list[str]) -> float:
        grams = [
            [Counter(zip(*(text.split()[at:] for at in range(size)), strict=False)) for text in texts]
            for texts in (left, right)
        ]
        both: int = sum((a & b).total() for a, b in zip(*grams, strict=True))
        return both / sum(a.total() for a in grams[0])

    for size, most, times in ((2, 0.25, 4), (4, 0.1, 10)):
        together, apart = shared(size, one, two), shared(size, one, two[1:] + two[:1])
        assert together < most
        assert together > times * apart


def test_mined_candidates_are_good_mediocre_and_bad(tmp_path: Path, seeds: list[Triple]) -> None:
    index = Index.build(tmp_path / "index", WORLD.triples(8000))
    found = index.candidates(seeds[:60])
    qualities = [
        WORLD.quality(seed.message, candidate.text)
        for seed, some in zip(seeds, found, strict=False)
        for candidate in some.candidates
        if candidate.origin == "mined"
    ]
    assert len(qualities) > 800
    assert sum(quality > 3.5 for quality in qualities) > 0.25 * len(qualities)
    assert sum(quality < 2.5 for quality in qualities) > 0.25 * len(qualities)
    assert sum(2.5 <= quality <= 3.5 for quality in qualities) > 0.1 * len(qualities)
    assert 2.3 < fmean(qualities) < 3.7


# Bad input


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, True])
def test_a_seed_that_cannot_be_is_refused(seed: int) -> None:
    with pytest.raises(UsageError, match="the seed of a world must be a whole number from 0"):
        World(seed=seed)


@pytest.mark.parametrize("n", [-1, 10**9 + 1])
def test_a_number_of_conversations_that_cannot_be_is_refused_at_once(n: int) -> None:
    for make in (WORLD.triples, WORLD.seeds, WORLD.memories):
        with pytest.raises(UsageError, match="the number of conversations must be from 0 to 1,000,000,000"):
            make(n)
