"""An adaptive allocation: known probabilities, recorded in the log, which make estimates unbiased."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.cli import main
from trubleu.errors import DataError, TrubleuWarning
from trubleu.rating import Imported, Item, Study, StudyConfig, config_text, import_answers
from trubleu.rating.allocation import inclusion, ranks
from trubleu.rating.answers import TakenAnswer, take_answers
from trubleu.rating.audit import audit
from trubleu.rating.raters import enter_model
from trubleu.rating.store.schema import MODEL
from trubleu.rating.study_estimate import estimate_study, next_items, study_scores, uncertainty
from trubleu.rating.summary import summary
from trubleu.stats import neyman_allocation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    Make = Callable[..., Study]

ITEMS = 60
PEOPLE = [2 if at % 3 == 0 else 4 + at % 2 for at in range(ITEMS)]  # a third of the items is bad
SURE = [4 + at % 2 for at in range(ITEMS)]
UNSURE = [1 if at % 3 == 0 else SURE[at] for at in range(ITEMS)]  # models disagree on the bad ones
in_a_file = pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)  # where the database makes no difference


def add_model(study: Study, name: str, scores: Sequence[int]) -> None:
    """Add a model's answers to all items."""

    def work(connection: Connection) -> None:
        rater = enter_model(connection, name, label=name, now=1).id
        parts = study.config.parts
        answers = [
            TakenAnswer(
                item.id, rater, (score,) * parts, False, 1, None, None, note=json.dumps({"scores": [score] * parts})
            )
            for item, score in zip((each for each in study.items() if each.role == "item"), scores, strict=True)
        ]
        take_answers(connection, answers, questions=1, kind=MODEL, source="", now=1)

    study.store.write(work)


def rate(study: Study, number: int, raters: Sequence[int]) -> list[str]:
    """Let people rate items in turn; return the keys in the order in which they had them."""
    keys = []
    for at in range(number):
        task = study.assign(raters[at % len(raters)])
        assert task is not None
        keys.append(task.item.key)
        scores = (PEOPLE[int(task.item.key.removeprefix("k").partition("|")[0])],) * len(task.item.texts)
        study.answer(raters[at % len(raters)], task.assignment, scores, key=task.client_key)
    return keys


def recorded(study: Study) -> dict[str, dict[str, float]]:
    """Read chances and ranks from the log."""
    keys = {item.id: item.item.key for item in study.items()}
    return {keys[row.item or 0]: json.loads(row.note or "") for row in study.log() if row.kind == "allocated"}


def test_items_come_by_rank_and_estimates_use_what_is_recorded(make: Make) -> None:
    study = make(ITEMS, raters=2, allocation="adaptive")
    add_model(study, "a", SURE)
    add_model(study, "b", UNSURE)
    spreads = uncertainty(study_scores(study), [item.item for item in study.items()])
    study.allocate()
    study.allocate()  # nothing more
    people = [new.rater.id for new in study.add_raters(3)]
    keys = rate(study, 30, people)
    kept = recorded(study)
    assert sum(row.kind == "allocated" for row in study.log()) == ITEMS
    assert math.fsum(each["chance"] for each in kept.values()) == pytest.approx(1)
    assert min(each["chance"] for each in kept.values()) >= 0.25 / ITEMS
    assert [kept[f"k{at}"]["chance"] for at in range(ITEMS)] == pytest.approx(neyman_allocation(spreads, 1).tolist())
    by_rank = sorted(kept, key=lambda key: kept[key]["rank"])
    assert keys == by_rank[:30]
    assert keys != [f"k{at}" for at in range(30)]
    assert sum(PEOPLE[int(key[1:])] == 2 for key in keys) > 10  # the uncertain ones, more often than a third
    threshold = kept[by_rank[30]]["rank"]
    chance = {key: min(1.0, kept[key]["chance"] * threshold) for key in keys}
    plain = sum(PEOPLE[int(key[1:])] / chance[key] for key in keys) / sum(1 / chance[key] for key in keys)
    scores = study_scores(study)
    assert scores.probabilities is not None
    assert {key: scores.probabilities[key] for key in keys} == pytest.approx(chance)
    made = estimate_study(scores, {})
    found = made.systems[0].found
    assert found is not None
    assert found.people.mean == pytest.approx(plain)
    assert "the allocation was adaptive" in made.notes[-1]
    given_by_hand = estimate_study(scores, {}, probabilities=scores.probabilities)
    assert given_by_hand.systems == made.systems
    assert audit(study) == []
    # What is planned further builds on these probabilities.
    planned = {each.item: each for each in next_items(scores, 5)}
    for item in scores.segments:
        before = scores.probabilities[item]
        assert planned[item].probability == pytest.approx(before + (1 - before) * planned[item].chance)
    # Everybody gets everything in the end, twice, and every probability is 1.
    for rater in people:
        while (task := study.assign(rater)) is not None:
            study.answer(rater, task.assignment, (PEOPLE[int(task.item.key[1:])],), key=task.client_key)
    assert all(item.counted == 2 for item in study.items())
    assert set((study_scores(study).probabilities or {}).values()) == {1.0}
    assert audit(study) == []


@in_a_file
def test_estimates_are_unbiased_where_plain_means_are_not(make: Make) -> None:
    truth = fmean(PEOPLE)
    weighted, plain = [], []
    for secret in range(12):
        study = make(ITEMS, raters=1, allocation="adaptive", secret=f"secret {secret}")
        add_model(study, "a", SURE)
        add_model(study, "b", UNSURE)
        study.allocate()
        (new,) = study.add_raters(1)
        keys = rate(study, 24, [new.rater.id])
        found = estimate_study(study_scores(study), {}).systems[0].found
        assert found is not None
        weighted.append(found.people.mean)
        plain.append(fmean(PEOPLE[int(key[1:])] for key in keys))
    error = stdev(weighted) / len(weighted) ** 0.5
    assert abs(fmean(weighted) - truth) < 3 * error
    assert fmean(plain) < truth - 0.3
    assert error < 0.1


def test_inverse_probabilities_are_unbiased_for_every_number() -> None:
    chances = {
        f"k{at}": float(each)
        for at, each in enumerate(neyman_allocation([1 + 3 * (at % 3 == 0) for at in range(ITEMS)], 1))
    }
    runs = 1000
    for had in (1, 10, 40):
        totals = []
        for secret in range(runs):
            ranked = ranks(str(secret), chances)
            first = sorted(ranked, key=ranked.__getitem__)[:had]
            chance = inclusion(chances, ranked, had)
            totals.append(sum(PEOPLE[int(key[1:])] / chance[key] for key in first) / ITEMS)
        assert abs(fmean(totals) - fmean(PEOPLE)) < 3.5 * stdev(totals) / runs**0.5


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=20), st.integers(0, 20), st.text(max_size=3))
def test_probabilities_are_above_0_and_grow(sizes: list[float], had: int, secret: str) -> None:
    total = math.fsum(sizes)
    chances = {str(at): size / total for at, size in enumerate(sizes)}
    ranked = ranks(secret, chances)
    had = min(had, len(sizes))
    now = inclusion(chances, ranked, had)
    assert all(0 < each <= 1 for each in now.values())
    if had < len(sizes):
        more = inclusion(chances, ranked, had + 1)
        assert all(more[unit] >= now[unit] for unit in now)
    else:
        assert set(now.values()) == {1.0}


@pytest.mark.parametrize("models", [[], [SURE], [[3] * ITEMS], [[3] * ITEMS, [4] * ITEMS]])
@in_a_file
def test_without_uncertainty_items_are_drawn_evenly_and_that_is_said(make: Make, models: list[list[int]]) -> None:
    study = make(ITEMS, raters=1, allocation="adaptive")
    for at, scores in enumerate(models):
        add_model(study, f"m{at}", scores)
    with pytest.warns(TrubleuWarning, match="allocation: adaptive has no effect yet, and items are drawn evenly"):
        Study.open(study.folder, sync=True).close()
    assert recorded(study) == {}
    people = [new.rater.id for new in study.add_raters(2)]
    keys = rate(study, 25, people)
    assert keys != [f"k{at}" for at in range(25)]
    assert study_scores(study).probabilities is None
    assert audit(study) == []


@in_a_file
def test_one_model_is_enough_once_people_have_rated_some(make: Make) -> None:
    study = make(ITEMS, raters=1, allocation="adaptive")
    add_model(study, "a", [3 if at % 3 == 0 or at % 5 == 0 else SURE[at] for at in range(ITEMS)])
    with pytest.warns(TrubleuWarning):
        study.allocate()
    people = [new.rater.id for new in study.add_raters(2)]
    pilot = rate(study, 44, people)
    held = study.assign(people[0])  # not answered, but given out by chance
    assert held is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study.open(study.folder, sync=True).close()
    kept = recorded(study)
    before = {key for key, each in kept.items() if "rank" not in each}
    assert before == {*pilot, held.item.key}
    assert study.answer(people[0], held.assignment, (PEOPLE[int(held.item.key[1:])],), key=held.client_key).counted
    keys = rate(study, 8, people)
    by_rank = sorted(kept.keys() - before, key=lambda key: kept[key]["rank"])
    assert keys == by_rank[:8]
    threshold = kept[by_rank[8]]["rank"]
    found = study_scores(study).probabilities
    first, rest = len(before) / ITEMS, 1 - len(before) / ITEMS
    assert found == pytest.approx(
        {key: first + rest * min(1, each["chance"] * threshold) for key, each in kept.items()}
    )
    assert estimate_study(study_scores(study), {}).systems[0].found is not None


@in_a_file
def test_items_of_a_segment_are_drawn_together(make: Make) -> None:
    items = [
        Item(f"k{at}|{a}:{b}", (f"{at}{a}", f"{at}{b}"), segment=f"k{at}", systems=(a, b))
        for at in range(ITEMS)
        for a, b in (("A", "B"), ("C", "D"))
    ]
    study = make(items, kind="pair", raters=1, allocation="adaptive")
    add_model(study, "a", [score for score in SURE for _ in range(2)])
    add_model(study, "b", [score for score in UNSURE for _ in range(2)])
    study.allocate()
    keys = rate(study, 60, [study.add_raters(1)[0].rater.id])
    segments = [key.partition("|")[0] for key in keys]
    assert segments[::2] == segments[1::2]
    assert len({*segments}) == 30
    scores = study_scores(study)
    assert (scores.probabilities or {}).keys() == {f"k{at}" for at in range(ITEMS)}
    assert {row.name for row in estimate_study(scores, {}).differences} >= {"A − B", "C − D"}
    # A verdict from plain means would be about the uncertain items.
    found = summary(study, study.now(), resamples=0)
    assert not found.decisions
    assert any("the allocation is adaptive" in note for note in found.notes)


@in_a_file
def test_what_does_not_fit_an_allocation_is_refused(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    study = make(ITEMS, raters=1, allocation="adaptive")
    add_model(study, "a", SURE)
    add_model(study, "b", UNSURE)
    study.allocate()
    rate(study, 25, [study.add_raters(1)[0].rater.id])
    assert main(["rate", "estimate", str(study.folder)]) == 0
    assert "ratings are weighted by the inverse of the recorded probability" in capsys.readouterr().out
    left = [item.item.key for item in study.items() if not item.load]
    import_answers(study, [Imported(left[-1], "ann", (3,))], source="test")
    with pytest.raises(DataError, match=f"ratings of '?{left[-1]}'? were added after items were drawn"):
        estimate_study(study_scores(study), {})
    estimate_study(study_scores(study), {}, probabilities=dict.fromkeys(study_scores(study).segments, 0.5))
    (study.folder / "study.yaml").write_text(config_text(replace(study.config, allocation="even")))
    with pytest.raises(DataError, match=r"study\.yaml says allocation: even, but items come in an order"):
        Study.open(study.folder)


@in_a_file
def test_raters_cannot_see_the_allocation(make: Make) -> None:
    made: list[Any] = []
    for allocation in ("even", "adaptive"):
        study = make(ITEMS, raters=1, allocation=allocation)
        add_model(study, "a", SURE)
        add_model(study, "b", UNSURE)
        if allocation == "adaptive":
            study.allocate()
        task = study.assign(study.add_raters(1)[0].rater.id)
        assert task is not None
        made.append(replace(task, item=Item("k", ("t",))))
        assert task.item.extra == {}
    assert made[0] == made[1]
    assert StudyConfig("T", "response").allocation == "even"
