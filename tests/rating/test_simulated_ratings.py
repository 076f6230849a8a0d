"""Ratings of simulated raters: what they assume, and that a study takes them as its own."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.data.ratings import Ratings
from trubleu.rating import Item, Study, StudyConfig
from trubleu.rating.audit import audit
from trubleu.rating.config import Gold, GoldRule, Question, example
from trubleu.rating.simulated_ratings import true_qualities
from trubleu.simulate import World, write_world

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Make = Callable[..., Study]

CONFIG = StudyConfig("Test", "response")


@pytest.fixture
def rate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., list[str]]:
    """Simulate ratings of a study and import them; return what was printed."""

    def rated(study: Study, *options: str) -> list[str]:
        out = str(tmp_path / "ratings.csv")
        assert main(["simulate", "ratings", str(study.folder), "--out", out, *options]) == 0
        assert main(["rate", "import", str(study.folder), out]) == 0
        assert audit(study) == []
        return capsys.readouterr().out.splitlines()

    return rated


def test_what_is_known_about_texts_decides_how_good_they_are() -> None:
    def mean(**extra: object) -> float:
        return fmean(true_qualities(Item(f"k{n}", ("x",), extra=extra), CONFIG)[0] for n in range(200))

    found = [mean(origin="seed"), mean(origin="mined"), mean(origin="parrot")]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(4.3, abs=0.1)
    assert true_qualities(Item("k", ("x",), accepted=((4, 5),)), CONFIG) == (4.5,)
    assert all(1 <= true_qualities(Item(f"k{n}", ("x",)), CONFIG)[0] <= 5 for n in range(200))
    systems = {
        name: fmean(true_qualities(Item(f"k{n}", ("x", "y"), systems=(name, "B")), CONFIG)[0] for n in range(200))
        for name in "CDEF"
    }
    assert max(systems.values()) - min(systems.values()) > 0.5
    assert true_qualities(Item("k", ("x",)), CONFIG, seed=1) != true_qualities(Item("k", ("x",)), CONFIG, seed=2)


def test_a_known_truth_decides_for_each_text_on_its_own() -> None:
    def length(message: str, text: str) -> float:
        return float(f"{len(message)}.{len(text)}")

    pair = Item("k", ("abc", "de"), message="m", systems=("A", "B"))
    assert true_qualities(pair, CONFIG, quality=length) == (1.3, 1.2)
    assert true_qualities(Item("k", ("abc",), extra={"origin": "seed"}), CONFIG, quality=length) == (0.3,)
    assert true_qualities(Item("k", ("abc",), message="m", accepted=((4, 5),)), CONFIG, quality=length) == (4.5,)


def test_raters_of_a_world_know_its_truth(make: Make, rate: Callable[..., list[str]], tmp_path: Path) -> None:
    world = World(seed=3)
    write_world(tmp_path / "world", world, corpus=1, segments=1, systems={"parrot": "parrot"})
    triples = list(world.triples(30))
    study = make([Item(each.id, (each.response,), message=each.message) for each in triples], raters=1)
    printed = rate(study, "--world", str(tmp_path / "world"), "--raters", "2", "--noise", "0", "--bias", "0")
    assert printed[0].endswith("ratings.csv: 30 ratings of 2 simulated raters")
    assert printed[1].startswith(f"then: trubleu rate import {study.folder} ")
    scores = {row.key: row.score for row in study.table() if row.counted}
    assert scores == {each.id: round(world.quality(each.message, each.response)) for each in triples}


def test_every_item_gets_its_ratings_and_raters_share_the_work(make: Make, rate: Callable[..., list[str]]) -> None:
    study = make(20, raters=3)
    rate(study, "--raters", "6")
    assert {item.counted for item in study.items()} == {3}
    assert [rater.label for rater in study.raters()] == [f"simulated {n}" for n in range(1, 7)]
    assert set(Counter(row.rater for row in study.table()).values()) == {10}


def test_pairs_and_questions(make: Make, rate: Callable[..., list[str]]) -> None:
    items = [Item(f"{n}#A:B", (f"a{n}", f"b{n}"), segment=str(n), systems=("A", "B")) for n in range(25)]
    study = make(
        items,
        kind="pair",
        raters=2,
        questions=(
            Question("Fluent?", name="fluent"),
            Question("Fits?", name="fits", points=7, labels=("bad", "good")),
        ),
    )
    rate(study, "--raters", "2", "--noise", "0", "--bias", "0")
    rows = study.table()
    assert len(rows) == 25 * 2 * 2 * 2
    assert max(row.score or 0 for row in rows if row.question == 1) > 5
    for row in rows:
        quality = true_qualities(row.item.item, study.config)[row.part]
        assert row.score == round(1 + (min(5, max(1, round(quality))) - 1) * (1 if row.question == 0 else 1.5))


def test_ranks_follow_quality(make: Make, rate: Callable[..., list[str]]) -> None:
    items = [Item(f"{n}", ("a", "b", "c"), segment=str(n), systems=("A", "B", "C")) for n in range(20)]
    study = make(items, kind="ranking", outputs=3, raters=1)
    rate(study, "--raters", "1", "--noise", "0", "--bias", "0")
    for item in study.items():
        ranks = [row.score or 0 for row in study.table() if row.key == item.item.key]
        good = [min(5, max(1, round(each))) for each in true_qualities(item.item, study.config)]
        assert ranks == [1 + sum(other > each for other in good) for each in good]


def test_who_does_not_read_fails_gold_items(make: Make, rate: Callable[..., list[str]]) -> None:
    known = tuple(example("gold", (f"g{n}",), (), None, ((5, 5) if n % 2 else (1, 1),)) for n in range(8))
    study = make(10, raters=4, gold=Gold(0.2, known, rule=GoldRule("exclude", 5, 0.6)))
    rate(study, "--raters", "8", "--lazy", "0.5", "--noise", "0.1", "--bias", "0")
    assert sum(row.role == "gold" for row in study.table()) == 8 * 8
    assert sum(rater.excluded for rater in study.raters()) == 4


def test_the_same_seed_gives_the_same_file(make: Make, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    study = make(12, raters=3)
    made = []
    for name, seed in (("a.csv", "3"), ("b.jsonl", "3"), ("c.csv", "4")):
        arguments = ["--raters", "5", "--seed", seed, "--out", str(tmp_path / name), "--quiet"]
        assert main(["simulate", "ratings", str(study.folder), *arguments]) == 0
        made.append(Ratings.read(tmp_path / name))
    assert capsys.readouterr().out == ""
    assert (made[0].item, made[0].rater, made[0].score) == (made[1].item, made[1].rater, made[1].score)
    assert made[0].score != made[2].score
    assert study.raters() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--raters", "0"], "the number of simulated raters must be from 2 (ratings per item) to 10,000: 0"),
        (["--raters", "2", "--noise", "-1"], "the noise of raters must be between 0 and 100, not -1"),
        (["--raters", "2", "--world", "nowhere"], "nowhere has no world.json; create a world with trubleu simulate"),
        (["--raters", "2", "--out", "nowhere/x.csv"], "nowhere/x.csv cannot be written: there is no folder nowhere"),
        (["--raters", "2", "--out", "x.pdf"], "x.pdf"),
        (["--raters", "2", "more"], "simulate ratings does not take more; leave it out"),
    ],
)
def test_bad_options(
    arguments: list[str], message: str, make: Make, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    study = make(1, raters=2)
    assert main(["simulate", "ratings", str(study.folder), "--out", str(tmp_path / "x.csv"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


def test_ratings_of_people_are_not_mixed_with_simulated_ones(
    make: Make, rate: Callable[..., list[str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    study = make(2, raters=2)
    rate(study, "--raters", "2")
    out = str(tmp_path / "again.csv")
    assert main(["simulate", "ratings", str(study.folder), "--raters", "2", "--out", out]) == 0
    people = tmp_path / "people.csv"
    [first, *_] = study.items()
    Ratings([first.item.key], [first.item.writer(0)], ["ann"], [4], scale=(1, 5)).write(people)
    assert main(["rate", "import", str(study.folder), str(people)]) == 0
    capsys.readouterr()
    assert main(["simulate", "ratings", str(study.folder), "--raters", "2", "--out", out]) == 2
    assert "has 1 answer of real raters; rehearse" in capsys.readouterr().err
