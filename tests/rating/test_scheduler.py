"""Who gets what, what counts, and what stays after interruptions: against a plain model, in both databases."""

from __future__ import annotations

import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import event

from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.rating import Item, NoConsentError, Study, StudyConfig, TooEarlyError, export_study
from trubleu.rating.answers import settle
from trubleu.rating.audit import audit, faults
from trubleu.rating.config import Gold, Question, example
from trubleu.rating.scheduler import Earlier
from trubleu.rating.secret import draw
from trubleu.rating.store.schema import assignments, ratings
from trubleu.rating.store.schema import items as items_table
from trubleu.rating.store.schema import raters as raters_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Table

    from trubleu.rating.store import Store

    Make = Callable[..., Study]

MINUTE = 60_000
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - quicker than a disk, and gone afterwards


def rate(study: Study, rater: int, score: int = 3, now: int = 0) -> str | None:
    """Do a rater's next task and return its key."""
    task = study.assign(rater, now=now)
    if task is None:
        return None
    study.answer(rater, task.assignment, (score,) * len(task.item.texts), key=task.client_key, now=now)
    return task.item.key


def shown_first(held: list[Handed]) -> Handed:
    """Of a rater's tasks, return that whose answer was undone last, else the first."""
    return max(held, key=lambda one: (one.turn > 0, one.lease, -one.id))


def people(study: Study, count: int) -> list[int]:
    return [new.rater.id for new in study.add_raters(count, now=0)]


@dataclass
class Handed:
    """A task as the model knows it."""

    id: int
    item: str
    rater: int
    state: str
    lease: int
    turn: int = 0
    flipped: bool = False


@dataclass
class Model:
    """What must be true, stated plainly: lists that are searched from the start each time."""

    wanted: int
    keys: list[str]
    tasks: list[Handed] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)  # in the order in which they were given
    excluded: set[int] = field(default_factory=set)
    erased: set[int] = field(default_factory=set)
    done: dict[int, list[int]] = field(default_factory=dict)  # what each rater answered and can take back, in order
    earlier: dict[int, tuple[int, ...] | None] = field(default_factory=dict)  # a task's last answer, as seen
    keys_used: dict[tuple[int, str], tuple[int, bool]] = field(default_factory=dict)

    def counted(self, key: str) -> int:
        return sum(answer["counted"] for answer in self.answers if answer["item"] == key)

    def load(self, key: str) -> int:
        return self.counted(key) + sum(task.state == "leased" for task in self.tasks if task.item == key)

    def settle(self) -> None:
        for answer in self.answers:
            if answer["rater"] in self.excluded:
                answer["counted"] = False
        for answer in self.answers:
            if answer["rater"] not in self.excluded and self.counted(answer["item"]) < self.wanted:
                answer["counted"] = True

    def expire(self, now: int) -> None:
        for task in self.tasks:
            if task.state == "leased" and task.lease < now:
                task.state = "expired"

    def give_back(self, rater: int) -> None:
        for task in self.tasks:
            if task.rater == rater and task.state == "leased":
                task.state = "expired"


class Killed(Exception):  # noqa: N818
    """As if the process had been killed just before the transaction was complete."""


class Machine(RuleBasedStateMachine):
    """Raters, time, exclusions, undo and kills in any order."""

    def __init__(self, new_url: Callable[[], str | None], parts: int, wanted: int, count: int) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory(dir=FOLDER)
        items = [Item(f"k{number}", tuple(f"{number}.{part}" for part in range(parts))) for number in range(count)]
        config = StudyConfig("T", "pair" if parts == 2 else "response", raters=wanted, lease_minutes=10)
        self.study = Study.create(Path(self.temporary.name) / "s", config, items, store_url=new_url())
        self.texts = {item.key: item.texts for item in items}
        self.model = Model(wanted, [item.key for item in items])
        self.people = people(self.study, 3)
        self.model.done = {rater: [] for rater in self.people}
        self.now = 0

    def teardown(self) -> None:
        self.study.close()
        self.temporary.cleanup()

    def some_rater(self, number: int) -> int:
        return self.people[number % len(self.people)]

    def task(self, number: int) -> Handed:
        return self.model.tasks[number % len(self.model.tasks)]

    @rule(minutes=st.sampled_from([0, 4, 11]))
    def wait(self, minutes: int) -> None:
        self.now += minutes * MINUTE + 1

    @rule()
    @precondition(lambda self: len(self.people) < 6)
    def add_rater(self) -> None:
        self.people += people(self.study, 1)
        self.model.done[self.people[-1]] = []

    @rule(number=st.integers(0, 99))
    def assign(self, number: int) -> None:
        rater, model = self.some_rater(number), self.model
        task = self.study.assign(rater, now=self.now)
        model.expire(self.now)
        mine = [one for one in model.tasks if one.rater == rater]
        open_keys = [key for key in model.keys if model.load(key) < model.wanted]
        lease = self.now + 10 * MINUTE
        if rater in model.excluded | model.erased:
            assert task is None
            return
        if held := [one for one in mine if one.state == "leased"]:
            expected = shown_first(held)
            assert task is not None
            assert task.assignment == expected.id
            if expected.lease - self.now < 5 * MINUTE:
                expected.lease = lease
        elif lost := [one for one in mine if one.state == "expired" and one.item in open_keys]:
            expected = min(lost, key=lambda one: one.id)
            assert task is not None
            assert task.assignment == expected.id
            expected.state, expected.lease = "leased", lease
        else:
            free = [key for key in open_keys if key not in {one.item for one in mine}]
            if not free:
                assert task is None
                return
            assert task is not None
            least = min(map(model.load, free))
            assert task.item.key in [key for key in free if model.load(key) == least]
            expected = Handed(task.assignment, task.item.key, rater, "leased", lease, flipped=task.flipped)
            assert expected.id not in {one.id for one in model.tasks}
            model.tasks.append(expected)
        texts = self.texts[expected.item]
        assert task.item.texts == (texts[::-1] if expected.flipped else texts)
        assert task.client_key == f"{expected.id}-{expected.turn}"

    @rule(
        number=st.integers(0, 99), scores=st.none() | st.tuples(st.integers(1, 5), st.integers(1, 5)), old=st.booleans()
    )
    @precondition(lambda self: self.model.tasks)
    def answer(self, number: int, scores: tuple[int, int] | None, old: bool) -> None:
        task, model = self.task(number), self.model
        given = None if scores is None else scores[: len(self.texts[task.item])]
        key = f"{task.id}-{max(0, task.turn - old)}"
        got = self.study.answer(task.rater, task.id, given, key=key, milliseconds=7, now=self.now)
        if (task.rater, key) in model.keys_used:
            assert (got.repeated, got.counted) == (True, model.keys_used[task.rater, key][1])
            return
        if task.state in ("answered", "unable"):
            assert got.repeated
            return
        counts = given is not None and task.rater not in model.excluded and model.counted(task.item) < model.wanted
        assert (got.repeated, got.counted) == (False, counts)
        model.keys_used[task.rater, key] = (task.id, counts)
        task.state = "unable" if given is None else "answered"
        model.done[task.rater].append(task.id)
        model.earlier[task.id] = given
        if given is not None:
            true_order = given[::-1] if task.flipped else given
            model.answers.append({"item": task.item, "rater": task.rater, "scores": true_order, "counted": counts})

    @rule(number=st.integers(0, 99), score=st.integers(1, 5))
    def work(self, number: int, score: int) -> None:
        """Take a task and answer it, which is what happens most."""
        self.assign(number)
        rater = self.some_rater(number)
        held = [at for at, one in enumerate(self.model.tasks) if one.rater == rater and one.state == "leased"]
        if held:
            self.answer(held[0], (score, 6 - score), False)

    @rule(slow=st.integers(0, 99), quick=st.integers(0, 99), score=st.integers(1, 5))
    def come_too_late(self, slow: int, quick: int, score: int) -> None:
        """Answer after the lease, when somebody else may have been quicker; by chance alone this would be rare."""
        self.assign(slow)
        self.wait(11)
        self.work(quick, score)
        late = [at for at, one in enumerate(self.model.tasks) if one.rater == self.some_rater(slow)]
        if late:
            self.answer(late[-1], (score, score), False)

    @rule(number=st.integers(0, 99))
    def undo(self, number: int) -> None:
        rater, model = self.some_rater(number), self.model
        task = self.study.undo(rater, now=self.now)
        again = [one for one in model.tasks if one.rater == rater and one.state == "leased" and one.turn]
        if rater in model.excluded | model.erased:
            assert task is None
        elif not model.done[rater]:
            assert (task and task.assignment) == (shown_first(again).id if again else None)
        else:
            taken = next(one for one in model.tasks if one.id == model.done[rater][-1])
            assert task is not None
            assert task.assignment == taken.id
            assert task.earlier is not None
            assert task.earlier.scores == model.earlier[taken.id]
            model.answers = [one for one in model.answers if (one["item"], one["rater"]) != (taken.item, rater)]
            taken.state, taken.lease, taken.turn = "leased", self.now + 10 * MINUTE, taken.turn + 1
            model.done[rater].pop()
            model.settle()
            assert task.client_key == f"{taken.id}-{taken.turn}"

    # Most raters stay in, or nothing would happen any more.
    @rule(number=st.integers(0, 99))
    @precondition(lambda self: 2 * len(self.model.excluded | self.model.erased) < len(self.people))
    def exclude(self, number: int) -> None:
        rater = self.some_rater(number)
        self.study.exclude(rater, reason="gold", now=self.now)
        if rater not in self.model.excluded:
            self.model.excluded.add(rater)
            self.model.give_back(rater)
            self.model.settle()

    @rule(number=st.integers(0, 99))
    @precondition(lambda self: self.model.excluded)
    def readmit(self, number: int) -> None:
        rater = sorted(self.model.excluded)[number % len(self.model.excluded)]
        self.study.readmit(rater, reason="a mistake", now=self.now)
        self.model.excluded.discard(rater)
        self.model.settle()

    @rule(number=st.integers(0, 99))
    @precondition(lambda self: not self.model.erased)
    def erase(self, number: int) -> None:
        rater = self.some_rater(number)
        assert self.study.erase(rater, now=self.now).label is None
        if rater not in self.model.erased:
            self.model.erased.add(rater)
            self.model.done[rater] = []
            self.model.give_back(rater)

    @rule(number=st.integers(0, 99))
    def pause(self, number: int) -> None:
        self.study.pause(now=self.now)
        self.model.expire(self.now)
        assert self.study.assign(self.some_rater(number), now=self.now) is None
        self.study.resume(now=self.now)

    @rule(number=st.integers(0, 99), what=st.sampled_from(["assign", "answer", "undo", "exclude", "readmit", "erase"]))
    def killed(self, number: int, what: str) -> None:
        rater = self.some_rater(number)
        task = self.task(number) if self.model.tasks else None
        store, write = self.study.store, self.study.store.write

        def dying(work: Callable[[Any], Any]) -> Any:
            def worked(connection: Any) -> None:
                work(connection)
                raise Killed

            return write(worked)

        options: dict[str, Any] = {"now": self.now}
        if what in ("exclude", "readmit"):
            options["reason"] = "never"
        arguments: tuple[Any, ...] = (rater,)
        if what == "answer":
            if task is None:
                return
            arguments = (task.rater, task.id, (1,) * len(self.texts[task.item]))
            options["key"] = f"{task.id}-{task.turn}"
        store.write = dying  # type: ignore[method-assign]
        try:
            with pytest.raises(Killed):
                getattr(self.study, what)(*arguments, **options)
        finally:
            store.write = write  # type: ignore[method-assign]

    @invariant()
    def tables_and_log_say_what_the_model_says(self) -> None:
        model = self.model
        rows = [(row.key, row.rater, row.part, row.score, row.counted, row.excluded) for row in self.study.table()]
        expected = [
            (answer["item"], answer["rater"], part, score, answer["counted"], answer["rater"] in model.excluded)
            for answer in model.answers
            for part, score in enumerate(answer["scores"])
        ]
        assert sorted(rows) == sorted(expected)
        for stored in self.study.items():
            key = stored.item.key
            assert (stored.counted, stored.load) == (model.counted(key), model.load(key))
            assert stored.counted <= stored.wanted
            assert stored.unable == sum(one.state == "unable" for one in model.tasks if one.item == key)

        assert audit(self.study) == []


@pytest.mark.parametrize(("parts", "wanted", "count"), [(1, 2, 2), (2, 1, 1)])
def test_any_order_of_events_keeps_to_the_model(
    new_url: Callable[[], str | None], parts: int, wanted: int, count: int
) -> None:
    url = new_url()
    run_state_machine_as_test(
        lambda: Machine(new_url, parts, wanted, count),  # type: ignore[arg-type]
        settings=settings(max_examples=20 if url is None else 8, stateful_step_count=30),
    )


def test_every_item_ends_with_exactly_the_wanted_number(make: Make) -> None:
    study = make(7, raters=3)
    raters = people(study, 5)
    got: list[tuple[int, str]] = []
    while any(progress := [(rater, key) for rater in raters if (key := rate(study, rater)) is not None]):
        got += progress
    assert len(got) == len(set(got)) == 21
    assert [stored.counted for stored in study.items()] == [3] * 7
    assert sum(row.counted for row in study.table()) == 21
    assert audit(study) == []


def test_threads_at_once_neither_double_nor_lose_a_rating(make: Make) -> None:
    study = make(20, raters=3)
    raters = people(study, 12)
    with ThreadPoolExecutor(24) as pool:
        # Each rater twice at once, as with two windows: they must do the same tasks, not twice as many.
        done = list(pool.map(rate_all, [study] * 24, sorted(raters * 2)))
    assert [stored.counted for stored in study.items()] == [3] * 20
    assert len(study.table()) == 60
    assert len({(row.key, row.rater) for row in study.table()}) == 60
    assert sum(done) == 60
    assert audit(study) == []


def rate_all(study: Study, rater: int) -> int:
    """Do all that is left and return how many answers were new."""
    new = 0
    while (task := study.assign(rater)) is not None:
        new += not study.answer(rater, task.assignment, (rater % 5 + 1,), key=task.client_key).repeated
    return new


def rate_all_in_a_process(folder: str, raters: list[int]) -> int:
    with Study.open(folder) as study, ThreadPoolExecutor(4) as pool:
        return sum(pool.map(rate_all, [study] * len(raters), raters))


def test_two_processes_at_once_change_nothing_in_that(make: Make) -> None:
    study = make(12, raters=3)
    raters = people(study, 8)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        done = pool.map(rate_all_in_a_process, [str(study.folder)] * 2, [raters, raters[::-1]])
        assert sum(done) == 36
    assert [stored.counted for stored in study.items()] == [3] * 12
    assert len({(row.key, row.rater) for row in study.table()}) == len(study.table()) == 36
    assert audit(study) == []


def test_exclusions_under_load_keep_the_counts_right(make: Make) -> None:
    study = make(10, raters=2)
    raters = people(study, 8)

    def come_and_go(rater: int) -> int:
        for _ in range(5):
            study.exclude(rater, reason="test")
            study.readmit(rater, reason="test")
        return 0

    with ThreadPoolExecutor(10) as pool:
        jobs = [pool.submit(rate_all, study, rater) for rater in raters]
        jobs += [pool.submit(come_and_go, rater) for rater in raters[:2]]
        for job in jobs:
            job.result()
    for rater in raters:
        rate_all(study, rater)
    assert [stored.counted for stored in study.items()] == [2] * 10
    assert audit(study) == []


def test_a_late_answer_is_kept_but_does_not_count(make: Make) -> None:
    study = make(1, raters=1, lease_minutes=1)
    slow, quick = people(study, 2)
    late = study.assign(slow, now=0)
    assert late is not None
    assert study.assign(quick, now=MINUTE) is None
    assert rate(study, quick, 5, now=MINUTE + 1) == "k0"
    outcome = study.answer(slow, late.assignment, (2,), key=late.client_key, now=2 * MINUTE)
    assert (outcome.counted, outcome.repeated) == (False, False)
    assert [(row.rater, row.score, row.counted) for row in study.table()] == [(slow, 2, False), (quick, 5, True)]
    study.exclude(quick, reason="fails gold", now=3 * MINUTE)
    assert [(row.rater, row.counted) for row in study.table()] == [(slow, True), (quick, False)]
    study.readmit(quick, reason="a mistake", now=3 * MINUTE)
    assert [(row.rater, row.counted) for row in study.table()] == [(slow, True), (quick, False)]
    assert [row.kind for row in study.log() if row.item is not None] == [
        "answered", "answered", "uncounted", "counted",
    ]  # fmt: skip


def test_an_answer_that_is_sent_again_counts_once_and_is_told_the_same(make: Make) -> None:
    study = make(2, raters=2)
    (rater,) = people(study, 1)
    task = study.assign(rater)
    assert task is not None
    first = study.answer(rater, task.assignment, (4,), key=task.client_key)
    again = study.answer(rater, task.assignment, (4,), key=task.client_key)
    other_window = study.answer(rater, task.assignment, (1,), key="another key")
    assert [(one.counted, one.repeated) for one in (first, again, other_window)] == [
        (True, False), (True, True), (True, True),
    ]  # fmt: skip
    assert [row.score for row in study.table()] == [4]


def test_nobody_uses_up_the_key_of_somebody_else(make: Make) -> None:
    study = make(2, raters=2)
    mine, theirs = people(study, 2)
    task, other = study.assign(mine), study.assign(theirs)
    assert task is not None
    assert other is not None
    study.answer(theirs, other.assignment, (1,), key=task.client_key)
    assert not study.answer(mine, task.assignment, (5,), key=task.client_key).repeated
    with pytest.raises(UsageError, match=f"there is no task {task.assignment} for this rater; take the next one"):
        study.answer(theirs, task.assignment, (1,), key="x")
    following = study.assign(mine)
    assert following is not None
    with pytest.raises(UsageError, match="has the key of another answer; send it with its own"):
        study.answer(mine, following.assignment, (1,), key=task.client_key)


@pytest.mark.parametrize(
    ("scores", "key", "milliseconds", "message"),
    [
        ((0,), "k", 1, "a score must be a whole number from 1 to 5, not 0"),
        ((6,), "k", 1, "a score must be a whole number from 1 to 5, not 6"),
        ((True,), "k", 1, "a score must be a whole number from 1 to 5, not True"),
        ((1, 2), "k", 1, "there are 2 scores, but the study has 1 per item"),
        ((), "k", 1, "there are 0 scores, but the study has 1 per item"),
        ((1,), "", 1, "the key of an answer must be 1 to 100 plain characters"),
        ((1,), "x" * 101, 1, "the key of an answer must be 1 to 100 plain characters"),
        ((1,), "a\0", 1, "the key of an answer must be 1 to 100 plain characters"),
        ((1,), "k", -1, "the time that an answer took must be a number of milliseconds, not -1"),
    ],
)
def test_what_cannot_be_an_answer_is_refused(
    make: Make, scores: tuple[int, ...], key: str, milliseconds: int, message: str
) -> None:
    study = make(1)
    (rater,) = people(study, 1)
    task = study.assign(rater)
    assert task is not None
    with pytest.raises(UsageError, match=message):
        study.answer(rater, task.assignment, scores, key=key, milliseconds=milliseconds)
    assert study.table() == []
    with pytest.raises(UsageError, match="there is no rater 99 in this study"):
        study.assign(99)


def test_an_answer_before_the_least_time_is_refused(make: Make) -> None:
    study = make(1, minimum_seconds=2.5)
    (rater,) = people(study, 1)
    task = study.assign(rater, now=1000)
    assert task is not None
    with pytest.raises(TooEarlyError, match=r"the answer came too early; wait another 0.5 seconds") as early:
        study.answer(rater, task.assignment, (3,), key="k", now=3000)
    assert early.value.milliseconds_left == 500
    assert study.answer(rater, task.assignment, (3,), key="k", now=3500).counted


def gold_items(count: int, parts: int = 1) -> Gold:
    texts = [tuple(f"gold {number}.{part}" for part in range(parts)) for number in range(count)]
    return Gold(0.5, tuple(example("gold", text, (), None, ((1, 2),) * parts) for text in texts))


def test_gold_comes_in_its_share_once_a_rater_and_looks_like_all_others(make: Make) -> None:
    study = make(40, raters=3, gold=gold_items(15))
    raters = people(study, 3)
    for rater in raters:
        seen: list[str] = []
        while (task := study.assign(rater)) is not None:
            assert task.item.role == "item"
            assert task.item.accepted is None
            assert task.answered == len(seen)
            study.answer(rater, task.assignment, (3,), key=task.client_key)
            seen.append(task.item.texts[0])
        assert len(seen) == len(set(seen)) == study.rater(rater).answered
        mixed = [text.startswith("gold") for text in seen[:20]]
        assert 3 <= sum(mixed) <= 17
    rows = study.table()
    assert {row.role for row in rows} == {"item", "gold"}
    assert not any(row.counted for row in rows if row.role == "gold")
    assert {stored.counted for stored in study.items() if stored.role == "gold"} == {0}
    assert {stored.counted for stored in study.items() if stored.role == "item"} == {3}
    assert audit(study) == []


def test_practice_comes_first_in_order_with_feedback(make: Make) -> None:
    practice = (
        example("practice", ("a",), ("hi",), "you?", ((4, 5),), "This is **good**."),
        example("practice", ("b",), (), None, None, ""),
    )
    study = make(1, practice=practice)
    (rater,) = people(study, 1)
    task = study.assign(rater, now=0)
    assert task is not None
    assert (task.practice, task.item.texts, task.item.context, task.answered) == (True, ("a",), ("hi",), 0)
    # Practice does not run out, however long somebody takes.
    task = study.assign(rater, now=10**9)
    assert task is not None
    outcome = study.answer(rater, task.assignment, (2,), key=task.client_key, now=10**9)
    assert (outcome.practice, outcome.right, outcome.feedback, outcome.counted) == (
        True,
        False,
        "This is **good**.",
        False,
    )
    again = study.answer(rater, task.assignment, (2,), key=task.client_key, now=10**9)
    assert (again.repeated, again.feedback) == (True, "This is **good**.")
    assert study.undo(rater) is None
    second = study.assign(rater, now=10**9)
    assert second is not None
    assert study.answer(rater, second.assignment, None, key=second.client_key, now=10**9).right is None
    assert not study.rater(rater).practice_done
    real = study.assign(rater, now=10**9)
    assert real is not None
    assert (real.practice, real.item.key) == (False, "k0")
    assert study.rater(rater).practice_done
    assert audit(study) == []


def test_pairs_are_blind_flipped_by_rater_and_scored_in_their_own_order(make: Make) -> None:
    items = [Item(f"s#A:B{n}", (f"a{n}", f"b{n}"), systems=("A", "B")) for n in range(12)]
    practice = (example("practice", ("good", "bad"), (), None, ((5, 5), (1, 1)), "x"),)
    study = make(items, kind="pair", raters=4, practice=practice)
    flips: dict[int, list[bool]] = {}
    for rater in people(study, 4):
        while (task := study.assign(rater)) is not None:
            if task.practice:
                scores = tuple(5 if text == "good" else 1 for text in task.item.texts)
                assert study.answer(rater, task.assignment, scores, key=task.client_key).right
                continue
            assert task.item.systems == ()
            flips.setdefault(rater, []).append(task.flipped)
            assert task.item.texts[0].startswith("b" if task.flipped else "a")
            scores = tuple(4 if text.startswith("a") else 2 for text in task.item.texts)
            study.answer(rater, task.assignment, scores, key=task.client_key)
    assert all(3 <= sum(flipped) <= 9 for flipped in flips.values()), flips
    assert len(set(map(tuple, flips.values()))) == 4
    assert {(row.system, row.score) for row in study.table() if row.role == "item"} == {("A", 4), ("B", 2)}
    assert {stored.counted for stored in study.items() if stored.role == "item"} == {4}


def test_orders_differ_between_raters_and_repeat_with_seed_and_secret(make: Make) -> None:
    def orders(seed: int, secret: str) -> list[list[str | None]]:
        study = make(12, raters=3, seed=seed, secret=secret)
        return [[rate(study, rater) for _ in range(12)] for rater in people(study, 3)]

    first, again, seeded, other = orders(1, "a"), orders(1, "a"), orders(2, "a"), orders(1, "b")
    assert first == again
    assert first not in (seeded, other)
    assert len({tuple(order) for order in first}) == 3
    assert all(sorted(filter(None, order)) == sorted(f"k{number}" for number in range(12)) for order in first)


def test_tasks_go_to_the_least_loaded_items_first(make: Make) -> None:
    study = make(4, raters=100)
    first = Counter(task.item.key for rater in people(study, 60) if (task := study.assign(rater)) is not None)
    # Least loaded first: 60 raters over 4 items, whatever chance does.
    assert set(first.values()) == {15}


def test_a_rater_stops_at_the_most_that_is_asked_of_one(make: Make) -> None:
    study = make(5, raters=3, most_ratings_per_rater=2, gold=gold_items(3))
    for rater in people(study, 2):
        while rate(study, rater):
            pass
        assert sum(row.rater == rater and row.role == "item" for row in study.table()) == 2


def test_settings_are_followed_when_a_study_is_opened_again(make: Make) -> None:
    study = make(2, raters=1, gold=gold_items(1))
    one, two = people(study, 2)
    while rate(study, one):
        pass
    text = (study.folder / "study.yaml").read_text()
    (study.folder / "study.yaml").write_text(text.replace("raters: 1", "raters: 2").replace("gold 0.0", "other gold"))
    study.close()
    with pytest.warns(TrubleuWarning, match="they take effect when trubleu rate serve is restarted"):
        Study.open(study.folder).close()
    with Study.open(study.folder, sync=True) as again:
        assert {stored.wanted for stored in again.items() if stored.role == "item"} == {2}
        assert sorted(stored.role for stored in again.items() if stored.role != "item") == ["gold", "retired"]
        while rate(again, two):
            pass
        assert {stored.counted for stored in again.items() if stored.role == "item"} == {2}
        assert audit(again) == []
    (study.folder / "study.yaml").write_text(text)
    with pytest.raises(DataError, match="asks for 1 rater per item, but some have 2; write raters: 2 again"):
        Study.open(study.folder, sync=True)
    # A copy of the folder that is older sets nothing back when somebody looks at it.
    with pytest.warns(TrubleuWarning, match=r"study\.yaml asks for other ratings per item, practice or gold"):
        older = Study.open(study.folder)
    assert {stored.wanted for stored in older.items() if stored.role == "item"} == {2}
    older.close()


def test_audit_finds_what_the_log_does_not_say(make: Make) -> None:
    study = make(1)
    (rater,) = people(study, 1)
    rate(study, rater)
    changes: list[tuple[Table, dict[str, object]]] = [
        (ratings, {"score": 1}), (ratings, {"counted": False}), (items_table, {"counted": 2}),
        (items_table, {"load": 0}), (assignments, {"state": "unable"}), (raters_table, {"answered": 7}),
        (raters_table, {"excluded": True}),
    ]  # fmt: skip
    for table, change in changes:
        with pytest.raises(Found, match=r"[1-9]"):
            study.store.write(partial(change_and_audit, study.store, table, change))
    assert audit(study) == []


class Found(Exception):  # noqa: N818
    """Undoes a change after it was looked at."""


def change_and_audit(store: Store, table: Table, change: dict[str, object], connection: Connection) -> None:
    connection.execute(table.update().values(change))
    raise Found(len([*faults(connection, store)]))


def test_the_task_that_was_undone_comes_first(make: Make) -> None:
    study = make(2, raters=1, lease_minutes=10)
    first, second = people(study, 2)
    early = study.assign(first, now=0)
    assert early is not None
    # The first one's task goes to the second, who gets no further either.
    study.release(now=11 * MINUTE)
    while (task := study.assign(second, now=11 * MINUTE)) is not None and task.item.key != early.item.key:
        study.answer(second, task.assignment, None, key=task.client_key, now=11 * MINUTE)
    assert task is not None
    answered = study.assign(first, now=12 * MINUTE)
    assert answered is not None
    assert answered.assignment > early.assignment
    study.answer(first, answered.assignment, (4,), key=answered.client_key, now=12 * MINUTE)
    back = study.assign(first, now=22 * MINUTE)
    assert back is not None
    assert back.assignment == early.assignment
    undone = study.undo(first, now=23 * MINUTE)
    assert undone is not None
    assert undone.assignment == answered.assignment
    for now in (23 * MINUTE, 25 * MINUTE):
        shown = study.assign(first, now=now)
        assert shown is not None
        assert shown.assignment == answered.assignment
    again = study.undo(first, now=25 * MINUTE)
    assert again is not None
    assert again.assignment == answered.assignment
    assert audit(study) == []


def test_an_undone_task_that_waits_does_not_keep_a_newer_answer_from_being_undone(make: Make) -> None:
    study = make(2, raters=1)
    (rater,) = people(study, 1)
    one = study.assign(rater, now=0)
    assert one is not None
    study.answer(rater, one.assignment, (1,), key=one.client_key, now=1)
    two = study.assign(rater, now=2)
    assert two is not None
    study.undo(rater, now=3)
    study.answer(rater, two.assignment, (2,), key=two.client_key, now=4)  # from another window
    undone = study.undo(rater, now=5)
    assert undone is not None
    assert undone.assignment == two.assignment
    assert study.table() == []
    assert study.rater(rater).last is None
    assert audit(study) == []


def test_answers_are_taken_back_one_after_the_other(make: Make) -> None:
    study = make(3, raters=1, kind="pair")
    (rater,) = people(study, 1)
    tasks = []
    for number in range(3):
        task = study.assign(rater, now=number)
        assert task is not None
        tasks.append(task)
        scores = None if number == 1 else (number + 1, 5)
        study.answer(rater, task.assignment, scores, key=task.client_key, note=f"note {number}", now=number)
    for number in (2, 1, 0):
        last = study.rater(rater).last
        assert last == tasks[number].assignment
        for _ in range(2):  # a second click on the same button takes nothing more back
            undone = study.undo(rater, task=last, now=10)
            assert undone is not None
            assert (undone.assignment, undone.answered) == (last, number)
            assert undone.earlier == Earlier(None if number == 1 else (number + 1, 5), f"note {number}")
    assert study.rater(rater).last is None
    assert study.table() == []
    # What was taken back last comes first, and all of it can be answered anew.
    for number in range(3):
        task = study.assign(rater, now=20)
        assert task is not None
        assert task.assignment == tasks[number].assignment
        study.answer(rater, task.assignment, (3, 3), key=task.client_key, now=20)
    assert study.rater(rater).last == tasks[2].assignment
    assert audit(study) == []


def test_a_break_is_no_part_of_the_time_that_a_task_takes(make: Make) -> None:
    study = make(2, raters=1, lease_minutes=10)
    (rater,) = people(study, 1)
    task = study.assign(rater, now=0)
    assert task is not None
    study.take_break(rater, now=1000)
    study.take_break(rater, now=2000)  # twice is as good as once
    assert study.rater(rater).break_at == 1000
    study.come_back(rater, now=9 * MINUTE)
    study.come_back(rater, now=9 * MINUTE)
    assert study.rater(rater).break_at is None
    assert [row.kind for row in study.log()][-2:] == ["break", "back"]
    study.answer(rater, task.assignment, (4,), key=task.client_key, now=9 * MINUTE + 700)
    assert study.table()[0].milliseconds == 700
    study.assign(rater, now=9 * MINUTE + 700)
    study.take_break(rater, now=10 * MINUTE)
    study.release(now=30 * MINUTE)  # too long a break: somebody else may have the task
    study.come_back(rater, now=31 * MINUTE)
    again = study.assign(rater, now=31 * MINUTE)
    assert again is not None
    study.answer(rater, again.assignment, (4,), key=again.client_key, now=31 * MINUTE + 800)
    assert study.table()[1].milliseconds == 800
    assert audit(study) == []


# Several questions


TWO = (
    Question("Relevant?", ("no", "partly", "yes"), "relevance"),
    Question("Interesting?", ("dull", "gripping"), "interest", required=False, points=7),
)


@pytest.mark.parametrize("kind", ["response", "pair"])
def test_every_question_about_every_text_has_its_score(kind: str, make: Make) -> None:
    study = make(8, raters=1, kind=kind, questions=TWO)
    (rater,) = people(study, 1)
    seen = {}
    while (task := study.assign(rater, now=0)) is not None:
        given = (1, 7, 3, None)[: 2 * len(task.item.texts)]
        seen[task.item.key] = (task.flipped, given)
        study.answer(rater, task.assignment, given, key=task.client_key, now=0)
    assert {flipped for flipped, _ in seen.values()} == ({False, True} if kind == "pair" else {False})
    for key, (flipped, given) in seen.items():
        true_order = (*given[2:], *given[:2]) if flipped else given
        rows = [(row.part, row.question, row.score, row.first) for row in study.table() if row.key == key]
        assert rows == [(at // 2, at % 2, score, at == 0) for at, score in enumerate(true_order)]
        assert all(row.counted for row in study.table())
    assert [row.scores for row in study.log() if row.kind == "answered"] == [
        (*given[2:], *given[:2]) if flipped else given for flipped, given in seen.values()
    ]
    assert audit(study) == []
    undone = study.undo(rater, now=1)
    assert undone is not None
    assert undone.earlier == Earlier(seen[undone.item.key][1], None)
    assert audit(study) == []


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ((4, 1), "a score for relevance must be a whole number from 1 to 3, not 4"),
        ((1, 8), "a score for interest must be a whole number from 1 to 7, not 8"),
        ((None, 2), "the question 'relevance' must be answered"),
        ((1,), "there are 1 scores, but the study has 2 per item"),
        ((True, 1), "a score for relevance must be a whole number"),
    ],
)
def test_scores_that_do_not_fit_the_questions_are_refused(scores: Any, message: str, make: Make) -> None:
    study = make(1, questions=TWO)
    (rater,) = people(study, 1)
    task = study.assign(rater, now=0)
    assert task is not None
    with pytest.raises(UsageError, match=message):
        study.answer(rater, task.assignment, scores, key=task.client_key, now=0)
    assert study.table() == []


def test_an_answer_must_say_something(make: Make) -> None:
    study = make(1, questions=tuple(replace(question, required=False) for question in TWO))
    (rater,) = people(study, 1)
    task = study.assign(rater, now=0)
    assert task is not None
    with pytest.raises(UsageError, match="no question is answered"):
        study.answer(rater, task.assignment, (None, None), key=task.client_key, now=0)
    assert study.answer(rater, task.assignment, (None, 5), key=task.client_key, now=0).counted
    assert audit(study) == []


def test_questions_can_be_changed_until_there_are_raters(make: Make) -> None:
    study = make(1, questions=TWO)
    settings = study.folder / "study.yaml"
    text = settings.read_text()
    settings.write_text(text.replace("points: 7", "points: 9"))
    with Study.open(study.folder) as changed:
        (rater,) = people(changed, 1)
        task = changed.assign(rater, now=0)
        assert task is not None
        assert changed.answer(rater, task.assignment, (3, 9), key=task.client_key, now=0).counted
        assert audit(changed) == []
    # Whoever has read the settings before adds no rater by them.
    with pytest.raises(DataError, match="other questions than"):
        study.add_raters(1)
    text = settings.read_text()
    settings.write_text(text.replace("Relevant?", "Is it relevant?").replace("required: true", "required: false"))
    Study.open(study.folder).close()
    for old, new in (("points: 9", "points: 7"), ("name: relevance", "name: topic")):
        settings.write_text(text.replace(old, new))
        with pytest.raises(DataError, match=r"other questions than when raters were added: relevance \(3 points"):
            Study.open(study.folder)


# Blindness: somebody who knows the code, the settings and a rater's number


def guesses(study: Study, rater: int, had: int, item: int) -> list[tuple[Random, Random]]:
    """What chances could be drawn from: for gold or not, and for the order of a pair."""
    seed = study.config.seed
    known = ("", str(seed), study.id, study.config.title)
    return [
        (Random(f"{seed}/{rater}/{had}"), Random(f"{seed}/{rater}/{had}/{item}")),
        *((draw(each, seed, rater, had), draw(each, seed, rater, had, item)) for each in known),
    ]


def test_nobody_foresees_gold_items_or_the_order_of_pairs(make: Make) -> None:
    share = 0.3
    gold = tuple(example("gold", (f"good {n}", f"bad {n}"), (), None, ((4, 5), (1, 2))) for n in range(40))
    study = make(40, kind="pair", raters=6, gold=Gold(share, gold))
    roles = {stored.item.texts: stored for stored in study.items()}
    right: list[tuple[int, int]] = [(0, 0)] * 5
    golden = seen = 0
    for rater in people(study, 6):
        had = 0
        while (task := study.assign(rater, now=0)) is not None:
            stored = roles[task.item.texts[::-1] if task.flipped else task.item.texts]
            is_gold = stored.role == "gold"
            for at, (for_gold, for_order) in enumerate(guesses(study, rater, had, stored.id)):
                says_gold = for_gold.random() < share
                right[at] = (
                    right[at][0] + (is_gold and says_gold),
                    right[at][1] + ((for_order.random() < 0.5) == task.flipped),
                )
            golden, seen, had = golden + is_gold, seen + 1, had + 1
            study.answer(rater, task.assignment, (3, 3), key=task.client_key, now=0)
    assert golden > 60
    assert seen > 300
    for gold_found, orders_found in right:
        # By chance alone 30 % and 50 %, give or take four standard errors.
        assert abs(gold_found / golden - share) < 4 * (share * (1 - share) / golden) ** 0.5
        assert abs(orders_found / seen - 0.5) < 4 * (0.25 / seen) ** 0.5


def test_nobody_foresees_the_order_of_pairs_on_mechanical_turk(make: Make, tmp_path: Path) -> None:
    def orders(secret: str) -> list[bool]:
        study = make(60, kind="pair", secret=secret)
        export_study(study, "mturk-tasks", tmp_path / f"{secret}.csv")
        assert export_study(study, "mturk-tasks", tmp_path / "again.csv").rows == 60
        assert (tmp_path / "again.csv").read_bytes() == (tmp_path / f"{secret}.csv").read_bytes()
        return [',"21",' in line for line in (tmp_path / f"{secret}.csv").read_text().splitlines()[1:]]

    guessed = [Random(f"1/mturk/k{number}").random() < 0.5 for number in range(60)]
    one, two = orders("one"), orders("two")
    assert all(15 < sum(a == b for a, b in zip(*each, strict=True)) < 45 for each in ((one, two), (one, guessed)))


# Consent and time


def test_nothing_comes_before_consent(make: Make) -> None:
    study = make(2, consent="I agree.", practice=(example("practice", ("p",), (), None, None, ""),))
    (rater,) = people(study, 1)
    assert study.assign(rater, now=0) is None
    study.consent(rater, now=1)
    task = study.assign(rater, now=2)
    assert task is not None
    forget = raters_table.update().values(consented_at=None)
    study.store.write(lambda connection: connection.execute(forget))
    with pytest.raises(NoConsentError, match="an answer came before consent, and was not kept; agree first"):
        study.answer(rater, task.assignment, (3,), key=task.client_key, now=3)
    assert study.table() == []
    assert [row.kind for row in study.log()] == ["joined", "consented"]


class Clocks:
    """The clock on the wall, which can be set, and one that only goes on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.wall, self.ticks = 10**12, 5000
        patch.setattr("trubleu.rating.study.time_now", lambda: self.wall)
        patch.setattr("trubleu.rating.study._ticks", lambda: self.ticks)

    def pass_by(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.ticks += milliseconds


DAY = 24 * 60 * MINUTE


@pytest.mark.parametrize("jump", [-DAY, DAY])
def test_a_clock_that_is_set_changes_nothing_for_a_server_that_runs(
    make: Make, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    clocks = Clocks(monkeypatch)
    study = make(1, raters=1, minimum_seconds=5, lease_minutes=10)
    first, second = people(study, 2)
    task = study.assign(first)
    assert task is not None
    clocks.wall += jump
    clocks.pass_by(4000)
    with pytest.raises(TooEarlyError) as early:
        study.answer(first, task.assignment, (3,), key=task.client_key)
    assert early.value.milliseconds_left == 1000
    assert study.assign(second) is None  # the lease holds
    clocks.pass_by(2000)
    assert study.answer(first, task.assignment, (3,), key=task.client_key, milliseconds=1).counted
    (row,) = study.table()
    assert (row.milliseconds, row.client_milliseconds) == (6000, 1)
    task = study.undo(first)
    assert task is not None
    clocks.pass_by(11 * MINUTE)
    assert study.assign(second) is not None  # and ends


def test_a_clock_that_is_set_back_between_two_starts_of_a_server(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks(monkeypatch)
    study = make(2, raters=1, minimum_seconds=5, lease_minutes=10)
    first, second = people(study, 2)
    study.consent(first)
    clocks.pass_by(30 * MINUTE)
    task = study.assign(first)
    other = study.assign(second)
    assert task is not None
    assert other is not None
    newest = max(row.at for row in study.log())
    study.close()
    clocks.wall -= DAY
    with Study.open(study.folder, sync=True) as study:
        assert study.now() == newest  # not behind what is written down
        # Shown half an hour from now: it begins anew when it is looked at, and nobody waits longer than five seconds.
        with pytest.raises(TooEarlyError) as early:
            study.answer(first, task.assignment, (3,), key=task.client_key)
        assert early.value.milliseconds_left == 5000
        assert study.assign(first) == task
        clocks.pass_by(5000)
        assert study.answer(first, task.assignment, (3,), key=task.client_key).counted
        assert [row.milliseconds for row in study.table()] == [5000]
        # What the other one held for 40 minutes more is free again.
        assert {row.load for row in study.items()} == {0, 1}
        assert study.assign(first) is not None


def test_time_is_measured_from_when_a_task_was_shown_last(make: Make) -> None:
    study = make(1, raters=1, lease_minutes=10)
    (rater,) = people(study, 1)
    task = study.assign(rater, now=1000)
    assert task is not None
    assert study.assign(rater, now=3000) == task  # the page is loaded again
    study.answer(rater, task.assignment, (3,), key=task.client_key, milliseconds=2, now=4000)
    again = study.undo(rater, now=10_000)
    assert again is not None
    study.release(now=20 * MINUTE)
    assert study.assign(rater, now=30 * MINUTE) == again
    study.answer(rater, again.assignment, None, key=again.client_key, milliseconds=9, now=30 * MINUTE + 700)
    kept = [(row.milliseconds, row.client_milliseconds) for row in study.log() if row.kind in ("answered", "unable")]
    assert kept == [(3000, 2), (700, 9)]
    assert audit(study) == []


def test_whether_models_count_is_read_while_the_items_are_locked(make: Make) -> None:
    # Read before, it could be changed by who holds the lock, and counts would follow from what was.
    study = make(1)
    said: list[str] = []

    def work(connection: Connection) -> None:
        event.listen(connection, "before_cursor_execute", lambda *given: said.append(given[2]))
        settle(connection, [1], now=0)

    study.store.write(work)
    tables = [table for text in said for table in ("items", "meta") if f"FROM {table}" in " ".join(text.split())]
    assert tables == ["items", "meta"]
