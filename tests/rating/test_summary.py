"""What the lead sees, against plain counts and the oracles of agreement."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations
from statistics import pstdev
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy

from tests.oracles import agreement as oracle
from trubleu.data import weight_from_ratings
from trubleu.rating import Imported, Item, Study, StudyConfig, import_answers
from trubleu.rating.carry_over import carry
from trubleu.rating.config import Gold, example
from trubleu.rating.summary import HOUR, summary
from trubleu.stats import krippendorff_alpha

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., Study]

GOLD = tuple(example("gold", (f"gold {n}",), (), None, ((4, 5),)) for n in range(3))


def rate_all(study: Study, raters: list[int], score: Callable[[int, str], int | None], *, start: int = 0) -> None:
    """Let raters take turns until nothing is left; scores follow from rater and text, None for "cannot judge"."""
    now, going = start, list(raters)
    while going:
        for rater in list(going):
            task = study.assign(rater, now=now)
            if task is None:
                going.remove(rater)
                continue
            given = [score(rater, text) for text in task.item.texts]
            scores = None if None in given else tuple(each for each in given if each is not None)
            now += 1000 * rater
            study.answer(rater, task.assignment, scores, key=task.client_key, milliseconds=7, now=now)


def some_score(rater: int, text: str) -> int:
    return 1 + (7 * rater + sum(map(ord, text)) * (3 if rater % 3 else 1)) % 5


def relabel(study: Study, rater: int, label: str) -> None:
    """Give a rater a label that somebody may have: older versions allowed it."""
    change = sqlalchemy.text("UPDATE raters SET label = :label WHERE id = :id")
    study.store.write(lambda connection: connection.execute(change, {"label": label, "id": rater}))


def counted_scores(study: Study) -> dict[tuple[str, int], dict[int, int]]:
    """The scores that count, from the log alone."""
    names = {stored.id: stored for stored in study.items()}
    state: dict[tuple[int, int], tuple[tuple[int | None, ...], bool]] = {}
    for row in study.log():
        if row.item is None or row.rater is None:
            continue
        where = (row.item, row.rater)
        if row.scores is not None:
            state[where] = (row.scores, bool(row.counted))
        elif row.kind in ("counted", "uncounted"):
            state[where] = (state[where][0], bool(row.counted))
        elif row.kind == "undone":
            state.pop(where, None)
    found: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for (item, rater), (scores, counted) in state.items():
        if counted and names[item].role == "item":
            for part, score in enumerate(scores):
                assert score is not None
                found[names[item].item.key, part][rater] = score
    return found


@pytest.mark.parametrize("kind", ["response", "pair"])
def test_numbers_against_the_log(make: Make, kind: str) -> None:
    study = make(12, raters=3, kind=kind)
    raters = [new.rater.id for new in study.add_raters(5)]
    rate_all(study, raters, some_score, start=1)
    study.exclude(raters[1], reason="too fast")
    found = summary(study, 10**9, resamples=50)
    counted = counted_scores(study)
    parts = 1 if kind == "response" else 2
    assert found.items == 12
    assert found.wanted == 36
    assert found.counted == sum(map(len, counted.values())) // parts
    assert 0 < found.counted < 36
    assert found.uncounted == 36 - found.counted
    assert found.complete == sum(len(each) == 3 for (_, part), each in counted.items() if part == 0)
    # agreement
    flat = [(text, rater, score) for text, scores in counted.items() for rater, score in scores.items()]
    alpha = oracle.alpha(oracle.scores_of_items(flat).values())
    assert alpha is not None
    assert found.alpha.alpha == pytest.approx(float(alpha), abs=1e-12)
    assert found.alpha.low <= found.alpha.high
    between = [oracle.kappa(flat, a, b, (1, 5)) for a, b in combinations(raters, 2)]
    defined = [(kappa, shared) for kappa, shared in between if kappa is not None]
    assert found.pairs == len(defined)
    mean = sum(kappa * shared for kappa, shared in defined) / sum(shared for _, shared in defined)
    assert found.kappa == pytest.approx(float(mean), abs=1e-12)
    for person in found.raters:
        if not person.rater.excluded:
            kappa, shared = oracle.kappa_with_the_rest(flat, person.rater.id, (1, 5))
            assert person.shared == shared
            assert person.agreement == (None if kappa is None else pytest.approx(float(kappa), abs=1e-12))
    # weights and disputes
    weights = [weight_from_ratings(list(scores.values())) for scores in counted.values()]
    for each in found.weights:
        last = each.high == 1
        assert each.count == sum(each.low <= weight < each.high or (last and weight == 1) for weight in weights)
    assert sum(each.count for each in found.weights) == len(weights)
    spreads = sorted((pstdev(scores.values()) for scores in counted.values() if len(scores) > 1), reverse=True)
    assert [each.spread for each in found.disputed] == [each for each in spreads if each][: len(found.disputed)]
    for text in found.disputed:
        assert list(text.scores) == sorted(counted[text.key, text.part].values())
    # raters
    for person in found.raters:
        given = [row for row in study.table() if row.rater == person.rater.id]
        assert person.ratings * parts == len(given)
        assert person.counted * parts == sum(row.counted for row in given)
        assert person.scores == tuple(sum(row.score == score for row in given) for score in range(1, 6))
        assert person.seconds == (person.rater.id if given else None)
    assert found.raters[1].counted == 0


def test_an_excluded_rater_agrees_with_those_who_count(make: Make) -> None:
    study = make(4, raters=2)
    answers = []
    for number, scores in enumerate([(1, 1), (5, 4), (2, 2), (4, 5)]):
        answers += [Imported(f"k{number}", rater, (score,)) for rater, score in zip("ab", scores, strict=True)]
    import_answers(study, answers, source="test")
    import_answers(study, [Imported(f"k{n}", "c", (score,)) for n, score in enumerate((5, 1, 4, 2))], source="test")
    number = next(rater.id for rater in study.raters() if rater.label == "c")
    before = summary(study, 0)
    assert before.raters[2].agreement is None  # late, and none of it counts
    study.exclude(number, reason="contrary")
    found = summary(study, 0)
    assert found.alpha == before.alpha
    assert found.raters[2].shared == 4
    assert found.raters[2].agreement is not None
    assert found.raters[2].agreement < 0 < (found.raters[0].agreement or 0)


def test_gold_and_practice_are_no_part_of_it(make: Make) -> None:
    practice = (example("practice", ("practice",), (), None, ((1, 2),)),)
    study = make(6, raters=2, gold=Gold(0.5, GOLD), practice=practice)
    raters = [new.rater.id for new in study.add_raters(2)]
    rate_all(study, raters, lambda rater, text: (5 if rater == raters[0] else 1) if text.startswith("gold") else 3)
    found = summary(study, 10**9)
    assert (found.counted, found.wanted, found.complete, found.items) == (12, 12, 6, 6)
    for person, right in zip(found.raters, (True, False), strict=True):
        assert person.ratings == person.counted == 6
        assert person.scores == (0, 0, 6, 0, 0)
        assert person.gold_total == sum(row.role == "gold" for row in study.table() if row.rater == person.rater.id)
        assert person.gold_right == (person.gold_total if right else 0)
    assert sum(person.gold_total for person in found.raters) > 0
    assert found.alpha.reason == "all ratings of items with two ratings or more are the same"
    assert found.kappa is None
    assert found.disputed == ()
    assert found.hours_left == 0


def test_pace(make: Make) -> None:
    study = make(10, raters=1)
    rater = study.add_raters(1)[0].rater.id

    def one(now: int) -> None:
        task = study.assign(rater, now=now)
        assert task is not None
        study.answer(rater, task.assignment, (3,), key=task.client_key, now=now)

    one(HOUR)
    one(2 * HOUR)
    one(2 * HOUR + 5)
    found = summary(study, 2 * HOUR + 6)
    assert (found.last_hour, found.hours_left, found.counted) == (2, 3.5, 3)
    later = summary(study, 9 * HOUR)
    assert (later.last_hour, later.hours_left) == (0, None)
    import_answers(study, [Imported("k9", "elsewhere", (2,))], source="test", now=9 * HOUR)
    assert summary(study, 9 * HOUR).last_hour == 0
    # What another study brought is no pace of this one.
    other = make(10, raters=1)
    carry(other, study, now=2 * HOUR + 6)
    found = summary(other, 2 * HOUR + 6)
    assert (found.counted, found.last_hour, found.hours_left) == (4, 0, None)
    someone = other.add_raters(1)[0].rater.id
    task = other.assign(someone, now=2 * HOUR + 6)
    assert task is not None
    other.answer(someone, task.assignment, (3,), key=task.client_key, now=2 * HOUR + 6)
    found = summary(other, 2 * HOUR + 6)
    assert (found.counted, found.last_hour, found.hours_left) == (5, 1, 5.0)


def test_cannot_judge_and_tasks_that_are_out(make: Make) -> None:
    study = make(2, raters=2)
    first, second = (new.rater.id for new in study.add_raters(2))
    task = study.assign(first, now=0)
    assert task is not None
    study.answer(first, task.assignment, None, key=task.client_key, now=1)
    study.assign(second, now=2)
    study.pause()
    found = summary(study, 3)
    assert (found.unable, found.waiting, found.counted, found.paused) == (1, 1, 0, True)


def test_texts_of_one_segment_are_drawn_together_for_the_interval(tmp_path: Path) -> None:
    items = [Item(f"{at}", (f"text {at % 4}", f"text {at % 3}"), segment=f"s{at // 3}") for at in range(30)]
    with Study.create(tmp_path / "s", StudyConfig("T", "pair", raters=2), items) as study:
        rows = [(at, who, (1 + at * n % 5, 1 + at % n)) for at in range(30) for n, who in ((2, "a"), (3, "b"))]
        import_answers(study, [Imported(str(at), who, scores) for at, who, scores in rows], source="test")
        found = summary(study, 0, resamples=100).alpha
    texts = [((at, part), who, score) for at, who, scores in rows for part, score in enumerate(scores)]
    columns = [[row[at] for row in texts] for at in range(3)]
    drawn = krippendorff_alpha(*columns, groups=[at // 3 for (at, _), *_ in texts], resamples=100)  # type: ignore[arg-type]
    alone = krippendorff_alpha(*columns, resamples=100)  # type: ignore[arg-type]
    assert (found.alpha, found.low, found.high) == (drawn.alpha, drawn.low, drawn.high)
    assert (found.low, found.high) != (alone.low, alone.high)


def test_nothing_yet(make: Make) -> None:
    found = summary(make(2), 0)
    assert (found.counted, found.wanted, found.hours_left, found.raters, found.disputed) == (0, 10, None, (), ())
    assert found.alpha.reason == "there are no ratings"
    assert math.isnan(found.alpha.alpha)
    assert found.notes == ()


def test_small_numbers_are_said(make: Make) -> None:
    study = make(3, raters=2)
    answers: list[Any] = [Imported("k0", "a", (1,)), Imported("k0", "b", (2,)), Imported("k1", "a", (4,))]
    import_answers(study, answers, source="test")
    assert summary(study, 0).notes == (
        "α is computed from 1 text with two ratings or more: too few to rely on it",
        "weights may still change: 2 texts with fewer than 2 ratings",  # one of them has none at all
    )


def test_pairs_of_raters_without_kappa_are_said(make: Make) -> None:
    study = make(2, raters=3)
    answers: list[Any] = [Imported(f"k{n}", name, (3,)) for n in range(2) for name in "ab"]
    answers += [Imported("k0", "c", (1,)), Imported("k1", "c", (3,))]
    import_answers(study, answers, source="test")
    found = summary(study, 0)
    assert found.pairs == 2
    assert "κ leaves out 1 pair of raters who gave all texts that they share the same score" in found.notes


def test_texts_of_pairs_count_each(make: Make) -> None:
    study = make(2, kind="pair", raters=1)
    rater = study.add_raters(1)[0].rater.id
    task = study.assign(rater, now=0)
    assert task is not None
    study.answer(rater, task.assignment, (2, 4), key=task.client_key, now=1)
    assert summary(study, 2).notes == ("weights may still change: 2 texts with fewer than 1 rating",)
