"""Answers from another study, and from a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.rating.test_scheduler import gold_items, people, rate
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.rating import Imported, Item, Study, carry, export_study, import_answers, import_ratings
from trubleu.rating.audit import audit
from trubleu.rating.carry_over import create_and_carry
from trubleu.rating.config import example

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., Study]


def test_seeds_with_three_ratings_ask_for_two_more(make: Make) -> None:
    first = make(4, raters=3, gold=gold_items(2))
    links = first.add_raters(4)
    for new in links[:3]:
        while rate(first, new.rater.id, new.rater.id, now=10):
            pass
    items = [stored.item for stored in first.items() if stored.role == "item"]
    second = make([*items[:2], Item("new", ("n",))], raters=5)
    carried = carry(second, first, now=20)
    assert (carried.items, carried.answers, carried.counted, carried.raters, carried.changed) == (2, 6, 6, 4, ())
    assert [(stored.item.key, stored.counted) for stored in second.items()] == [("k0", 3), ("k1", 3), ("new", 0)]
    # Links go on working, and nobody gets again what they have rated.
    for new in links:
        found = second.find_rater(new.token)
        assert found is not None
        keys = []
        while key := rate(second, found.id):
            keys.append(key)
        assert sorted(keys) == (["new"] if new in links[:3] else ["k0", "k1", "new"])
    rate_rest = people(second, 1)[0]
    while rate(second, rate_rest):
        pass
    assert [stored.counted for stored in second.items()] == [5, 5, 5]
    for row in second.table():
        if row.key != "new" and row.answered_at == 10:
            assert row.score == next(one.score for one in first.table() if (one.key, one.rater) == (row.key, row.rater))
    assert {(row.kind, row.note) for row in second.log() if row.kind == "carried"} == {("carried", first.id)}
    assert audit(second) == []


def test_excluded_late_unable_and_erased_come_along_as_what_they_are(make: Make) -> None:
    first = make(1, raters=1, lease_minutes=1)
    bad, late, unable, gone = people(first, 4)
    tasks = {}
    for number, rater in enumerate((bad, late, unable, gone)):
        tasks[rater] = first.assign(rater, now=number * 10**6)
    for rater, scores in ((bad, (1,)), (gone, (5,)), (late, (4,)), (unable, None)):
        task = tasks[rater]
        assert task is not None
        first.answer(rater, task.assignment, scores, key=task.client_key, now=10**7)
    first.exclude(bad, reason="gold")
    first.erase(gone)
    assert [(row.rater, row.counted) for row in first.table()] == [(bad, False), (late, False), (gone, True)]
    second = make(1, raters=2)
    carried = carry(second, first)
    assert (carried.answers, carried.counted, carried.raters) == (3, 2, 4)
    by_score = {row.score: (row.counted, row.excluded) for row in second.table()}
    assert by_score == {1: (False, True), 4: (True, False), 5: (True, False)}
    assert second.items()[0].unable == 1
    assert [rater.reason for rater in second.raters() if rater.excluded] == ["gold"]
    assert sum(rater.erased_at is not None for rater in second.raters()) == 1
    second.readmit(next(rater.id for rater in second.raters() if rater.excluded), reason="better now")
    assert second.items()[0].counted == 2
    assert audit(second) == []


def test_who_counted_there_counts_here_first(make: Make) -> None:
    first = make(1, raters=1, lease_minutes=1)
    late, quick = people(first, 2)
    task = first.assign(late, now=0)
    assert task is not None
    rate(first, quick, 5, now=10**6)
    first.answer(late, task.assignment, (1,), key=task.client_key, now=10**6)
    second = make(1, raters=1)
    carry(second, first)
    assert [(row.score, row.counted) for row in sorted(second.table(), key=lambda row: row.score or 0)] == [
        (1, False), (5, True),
    ]  # fmt: skip


def test_changed_texts_are_not_carried_and_are_named(make: Make) -> None:
    first = make([Item("a", ("x",)), Item("b", ("y",), message="m")], raters=1)
    (rater,) = people(first, 1)
    while rate(first, rater):
        pass
    second = make([Item("a", ("x",)), Item("b", ("y",), message="other")], raters=1)
    carried = carry(second, first)
    assert (carried.answers, carried.changed) == (1, ("b",))


def test_pairs_keep_their_scores_and_sides(make: Make) -> None:
    items = [Item(f"s{n}#A:B", (f"a{n}", f"b{n}"), systems=("A", "B")) for n in range(6)]
    first = make(items, kind="pair", raters=1)
    (rater,) = people(first, 1)
    while (task := first.assign(rater)) is not None:
        scores = tuple(5 if shown.startswith("a") else 2 for shown in task.item.texts)
        first.answer(rater, task.assignment, scores, key=task.client_key)
    second = make(items, kind="pair", raters=1)
    carry(second, first)
    assert [(row.key, row.system, row.score, row.flipped) for row in second.table()] == [
        (row.key, row.system, row.score, row.flipped) for row in first.table()
    ]
    assert audit(second) == []


@pytest.mark.parametrize("same", [True, False])
def test_steps_are_gone_through_again_only_if_they_changed(make: Make, same: bool) -> None:
    practice = (example("practice", ("p",), (), None, None, "f"),)
    first = make(1, consent="I agree", instructions="Read", practice=practice)
    (rater,) = people(first, 1)
    first.consent(rater, now=1)
    first.instructed(rater, now=2)
    rate(first, rater)
    rate(first, rater)
    changed = {"consent": "I agree", "instructions": "Read", "practice": practice}
    second = make(1, **(changed if same else {"consent": "Other", "instructions": "Other", "practice": ()}))
    carry(second, first)
    (one,) = second.raters()
    assert (one.consented_at, one.instructed_at, one.practice_done) == ((1, 2, True) if same else (None, None, False))


def test_only_a_new_study_takes_over(make: Make) -> None:
    first, second = make(2), make(2)
    rate(first, people(first, 1)[0])
    assert carry(second, first).answers == 1
    for study in (first, second):
        with pytest.raises(UsageError, match="has raters already; ratings can be carried over only into a new one"):
            carry(study, first)
    assert (len(second.table()), len(second.raters())) == (1, 1)
    with pytest.raises(UsageError, match="ratings can be carried over only between studies of one kind"):
        carry(make(1, kind="pair"), first)


def test_imported_answers_count_as_far_as_there_is_room(make: Make) -> None:
    study = make(2, raters=2)
    answers = [Imported("k0", f"w{n}", (n + 1,), answered_at=n, milliseconds=9) for n in range(3)]
    result = import_answers(study, answers, source="results.csv", now=50)
    assert (result.added, result.counted, result.raters, result.items) == (3, 2, 3, 1)
    assert [(row.rater_name, row.score, row.counted, row.answered_at) for row in study.table()] == [
        ("w0", 1, True, 0), ("w1", 2, True, 1), ("w2", 3, False, 2),
    ]  # fmt: skip
    assert import_answers(study, [*answers, Imported("k1", "w0", (5,))], source="x").added == 1
    assert audit(study) == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Imported("zz", "w", (1,), place="r.csv:3"), "r.csv:3: 'zz' is not an item of this study; check the ids"),
        (Imported("k0", "w", (1, 2), place="r.csv:3"), "r.csv:3: there are 2 scores, but the study has 1 per item"),
        (Imported("k0", "w", (9,), place="r.csv:3"), "r.csv:3: a score must be a whole number from 1 to 5, not 9"),
    ],
)
def test_imports_with_a_mistake_add_nothing(make: Make, answer: Imported, message: str) -> None:
    study = make(1)
    with pytest.raises(DataError, match=message):
        import_answers(study, [Imported("k0", "ok", (3,)), answer], source="r.csv")
    assert study.table() == []
    assert study.raters() == []


def seeds_and_candidates() -> tuple[list[Item], list[Item]]:
    """Seeds, each by itself, and as one of several candidates; the last is there twice, and cannot be told which."""
    seeds = [Item(f"{n}", (f"own {n}",), ("c",), f"m{n}", segment=f"{n}") for n in range(3)]
    candidates = [
        Item(f"{n}#{name}", (text,), ("c",), f"m{n}", segment=f"{n}", reference=name)
        for n in range(3)
        for name, text in (("1", f"mined {n}"), ("2", f"own {n}"), ("3", "own 2"))
    ]
    return seeds, candidates


def test_seeds_are_found_among_candidates(make: Make) -> None:
    seeds, candidates = seeds_and_candidates()
    first, second = make(seeds, raters=2), make(candidates, raters=3)
    for rater in people(first, 2):
        while rate(first, rater, rater + 2):
            pass
    carried = carry(second, first)
    assert (carried.items, carried.answers, carried.counted, carried.raters) == (2, 4, 4, 2)
    assert [(row.key, row.score) for row in second.table()] == [("0#2", 3), ("0#2", 4), ("1#2", 3), ("1#2", 4)]
    assert audit(second) == []


def test_candidates_that_changed_their_numbers_are_found(make: Make) -> None:
    first = make([Item("7#1", ("a",), segment="7"), Item("7#2", ("b",), segment="7")], raters=1)
    (rater,) = people(first, 1)
    while key := rate(first, rater, 2):
        assert key
    second = make(
        [Item("7#1", ("b",), segment="7"), Item("7#2", ("c",), segment="7"), Item("8#1", ("a",), segment="8")]
    )
    carried = carry(second, first)
    assert (carried.answers, carried.changed) == (1, ("7#1",))
    assert [(row.key, row.score) for row in second.table()] == [("7#1", 2)]


@pytest.mark.parametrize("same_texts", [False, True])
def test_pairs_are_found_the_other_way_round(make: Make, same_texts: bool) -> None:
    texts = {n: ("x", "x") if same_texts else (f"a{n}", f"b{n}") for n in range(6)}
    first = make([Item(f"{n}#A:B", texts[n], segment=str(n), systems=("A", "B")) for n in texts], kind="pair", raters=1)
    second = make(
        [Item(f"{n}#B:A", texts[n][::-1], segment=str(n), systems=("B", "A")) for n in texts], kind="pair", raters=1
    )
    (rater,) = people(first, 1)
    while (task := first.assign(rater)) is not None:
        first.answer(rater, task.assignment, (2, 5) if task.flipped else (5, 2), key=task.client_key)
    assert carry(second, first).counted == 6

    def seen(study: Study) -> set[tuple[str, str | None, int | None, bool]]:
        # Whether A stood on the right.
        order = study is second
        return {(row.item.item.segment, row.system, row.score, row.flipped != order) for row in study.table()}

    assert seen(first) == seen(second)
    assert {(system, score) for _, system, score, _ in seen(second)} == {("A", 5), ("B", 2)}
    assert audit(second) == []


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([Item("a", ("other",))], "it has the same keys, but other texts or messages: a"),
        ([Item("z", ("text",))], "no item has the same key, or the same segment and texts, here and there"),
        ([Item("b", ("text",))], "the items that are the same have no ratings there"),
    ],
)
def test_that_nothing_was_carried_is_said(make: Make, items: list[Item], reason: str) -> None:
    first = make([Item("a", ("text",)), Item("b", ("text",))], raters=1)
    import_answers(first, [Imported("a", "ann", (4,))], source="test")
    with pytest.warns(TrubleuWarning) as told:
        carry(make(items), first)
    assert [str(each.message) for each in told] == [f"nothing was carried over from {first.folder}: {reason}"]


def test_who_was_erased_there_is_known_here(make: Make) -> None:
    first, second, third = make(1, raters=1), make(1, raters=5), make(1, raters=5)
    person = first.enter("prolific", external="P1").rater.id
    rate(first, person)
    first.erase(person)
    carry(second, first)
    carry(third, second)
    for study in (first, second, third):
        with pytest.raises(UsageError, match="the rater with this id was erased, and cannot rate again"):
            study.enter("prolific", external="P1")
        assert study.enter("prolific", external="P2").rater.answered == 0


def test_exports_of_a_study_that_was_carried_add_nothing(make: Make, tmp_path: Path) -> None:
    first, second, third = make(2, raters=1), make(2, raters=5), make(2, raters=5)
    (rater,) = people(first, 1)
    while rate(first, rater, 3):
        pass
    carry(second, first)
    carry(third, second)
    export_study(first, "ratings", tmp_path / "first.csv")
    for study in (second, third):
        found = import_ratings(study, tmp_path / "first.csv")
        assert (found.added, found.raters, found.repeated) == (0, 0, 2)


def test_a_failing_carry_leaves_nothing_behind(
    make: Make, new_url: Callable[[], str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise DataError("no")

    first = make(1, raters=1)
    rate(first, people(first, 1)[0], 4)
    items = [stored.item for stored in first.items()]
    url = new_url()
    with monkeypatch.context() as changed:
        changed.setattr(sys.modules["trubleu.rating.carry_over"], "take_answers", fail)
        with pytest.raises(DataError, match=r"^no$"):
            create_and_carry(tmp_path / "second", first.config, items, first, store_url=url)
    assert [path.name for path in tmp_path.iterdir()] == [first.folder.name]
    study, carried = create_and_carry(tmp_path / "second", first.config, items, first, store_url=url)
    with study:
        assert (carried.answers, [row.score for row in study.table()], audit(study)) == (1, [4], [])
