"""Raters: tokens, ways in, progress, exclusion and erasure."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from trubleu.errors import UsageError
from trubleu.rating.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from trubleu.rating import Study

    Make = Callable[..., Study]


def everything(study: Study) -> str:
    """All that the tables hold, as one text."""

    def read(connection: Connection) -> str:
        names = ("meta", "items", "raters", "assignments", "ratings", "log")
        return repr([connection.execute(text(f"SELECT * FROM {name}")).all() for name in names])  # noqa: S608

    return study.store.read(read)


def test_links_find_their_rater_and_the_store_does_not_know_them(make: Make) -> None:
    study = make(1)
    new = study.add_raters(3, labels=["Ann", "Bob", "Cid"], now=5)
    assert len({one.token for one in new}) == 3
    assert all(re.fullmatch(r"[\w-]{32}", one.token) for one in new)
    for one in new:
        assert study.find_rater(one.token) == one.rater == study.rater(one.rater.id)
        assert one.token not in everything(study)
    assert study.find_rater("nobody's") is None
    assert study.find_rater("\ud800") is None
    assert [(rater.name, rater.entry, rater.created_at) for rater in study.raters()] == [
        ("Ann", "link", 5), ("Bob", "link", 5), ("Cid", "link", 5),
    ]  # fmt: skip


def test_a_new_link_takes_the_place_of_the_old_one(make: Make) -> None:
    study = make(1)
    (new,) = study.add_raters(1)
    token = study.new_link(new.rater.id)
    assert study.find_rater(new.token) is None
    assert study.find_rater(token) == new.rater


def test_who_comes_from_elsewhere_is_found_again(make: Make) -> None:
    study = make(1)
    first = study.enter("prolific", external="p1", now=1)
    again = study.enter("prolific", external="p1", now=2)
    other = study.enter("mturk", external="p1", now=3)
    assert first == again
    assert other.rater.id != first.rater.id
    assert other.token != first.token
    assert study.find_rater(first.token) == first.rater
    assert study.enter("open", label="Ann").rater.id != study.enter("open", label="Ann").rater.id
    # After a new link by hand, the way in still leads to the same rater.
    study.new_link(first.rater.id)
    found = study.enter("prolific", external="p1")
    assert found.rater.id == first.rater.id
    found_by_token = study.find_rater(found.token)
    assert found_by_token is not None
    assert found_by_token.id == first.rater.id


def test_one_person_in_many_windows_is_one_rater(make: Make) -> None:
    study = make(1)
    with ThreadPoolExecutor(8) as pool:
        numbers = {new.rater.id for new in pool.map(lambda _: study.enter("prolific", external="p1"), range(8))}
    assert len(numbers) == len(study.raters()) == 1


@pytest.mark.parametrize(
    ("entry", "external", "label", "message"),
    [
        ("window", None, None, "'window' is no way in; known: link, open, prolific, mturk"),
        ("prolific", "", None, "the id of a rater must have 1 to 200 characters, not 0"),
        ("prolific", "x" * 201, None, "the id of a rater must have 1 to 200 characters, not 201"),
        ("prolific", "a\0", None, "the id of a rater holds a NUL character; leave it out"),
        ("open", None, "\ud800", "the label of a rater holds half a surrogate pair; leave it out"),
    ],
)
def test_names_that_cannot_be_kept_are_refused(
    make: Make, entry: str, external: str | None, label: str | None, message: str
) -> None:
    study = make(1)
    with pytest.raises(UsageError, match=message):
        study.enter(entry, external=external, label=label)
    assert study.raters() == []


def test_raters_that_cannot_be_are_refused(make: Make) -> None:
    study = make(1)
    with pytest.raises(UsageError, match="the number of raters must be from 1 to 100,000, not 0"):
        study.add_raters(0)
    with pytest.raises(UsageError, match="there are 1 labels for 2 raters; give one for each or none"):
        study.add_raters(2, labels=["Ann"])
    for call in (study.rater, study.new_link, study.erase, study.consent):
        with pytest.raises(UsageError, match="there is no rater 7 in this study; trubleu rate status lists them"):
            call(7)
    with pytest.raises(UsageError, match="the reason must have 1 to 200 characters, not 0"):
        study.exclude(study.add_raters(1)[0].rater.id, reason="")


def test_steps_are_noted_once(make: Make) -> None:
    study = make(1)
    rater = study.add_raters(1, now=0)[0].rater.id
    assert (study.rater(rater).consented_at, study.rater(rater).instructed_at) == (None, None)
    assert study.consent(rater, now=3).consented_at == 3
    assert study.consent(rater, now=4).consented_at == 3
    assert study.instructed(rater, now=5).instructed_at == 5
    assert [(row.kind, row.at) for row in study.log()] == [("joined", 0), ("consented", 3), ("instructed", 5)]


def test_exclusion_opens_items_again_and_readmission_fills_what_is_left(make: Make) -> None:
    study = make(2, raters=1)
    bad, good = (new.rater.id for new in study.add_raters(2))
    for _ in range(2):
        task = study.assign(bad)
        assert task is not None
        study.answer(bad, task.assignment, (1,), key=task.client_key)
    assert study.assign(good) is None
    assert study.exclude(bad, reason="fails gold", now=9).reason == "fails gold"
    assert study.assign(bad) is None
    task = study.assign(good)
    assert task is not None
    study.answer(good, task.assignment, (5,), key=task.client_key)
    study.readmit(bad, reason="was a mistake")
    assert sorted((row.rater, row.counted) for row in study.table()) == [(bad, False), (bad, True), (good, True)]
    assert [stored.counted for stored in study.items()] == [1, 1]
    # Asked twice, nothing happens twice.
    study.readmit(bad, reason="again")
    assert [row.note for row in study.log() if row.kind in ("excluded", "readmitted")] == [
        "fails gold",
        "was a mistake",
    ]
    assert audit(study) == []


def test_erasure_leaves_ratings_and_nothing_of_the_person(make: Make) -> None:
    study = make(2, raters=1)
    new = study.enter("prolific", external="unmistakable-id", label="Unmistakable Name")
    rater = new.rater.id
    task = study.assign(rater)
    assert task is not None
    study.answer(rater, task.assignment, (4,), key=task.client_key)
    assert study.assign(rater) is not None
    erased = study.erase(rater, now=77)
    assert (erased.label, erased.external, erased.erased_at, erased.name) == (None, None, 77, f"rater {rater}")
    assert study.find_rater(new.token) is None
    assert study.assign(rater) is None
    assert [(row.score, row.counted) for row in study.table()] == [(4, True)]
    assert [stored.load for stored in study.items()].count(0) == 1
    assert "nmistakable" not in everything(study)
    if study.store.dialect == "sqlite":
        for path in study.folder.iterdir():
            assert b"nmistakable" not in path.read_bytes()
    with pytest.raises(UsageError, match="was erased, so there can be no new link; add a rater instead"):
        study.new_link(rater)
    assert study.erase(rater, now=99).erased_at == 77
    # As somebody new they could rate an item twice, so they are known by a checksum, and not let in.
    with pytest.raises(UsageError, match="the rater with this id was erased, and cannot rate again"):
        study.enter("prolific", external="unmistakable-id")
    assert study.enter("mturk", external="unmistakable-id").rater.id != rater
    assert audit(study) == []


def test_a_pause_hands_out_nothing_but_keeps_answers(make: Make) -> None:
    study = make(2)
    rater = study.add_raters(1)[0].rater.id
    task = study.assign(rater)
    assert task is not None
    study.pause()
    study.pause()
    paused = study.paused
    assert paused
    assert study.assign(rater) is None
    assert study.answer(rater, task.assignment, (4,), key=task.client_key).counted
    study.resume()
    assert not study.paused
    assert study.assign(rater) is not None
    assert [row.kind for row in study.log() if row.rater is None] == ["paused", "resumed"]
