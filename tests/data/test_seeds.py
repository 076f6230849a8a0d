"""Seeds: drawn fairly, kept by exact means, binned at random."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trubleu.data import (
    Ratings,
    Triple,
    TripleFiles,
    TripleList,
    sample_triples,
    seeds,
    split_seeds,
    write_triples,
)
from trubleu.errors import CountedWarning, DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def corpus(count: int) -> list[Triple]:
    return [Triple(str(number), (f"c{number}",), f"m{number}", f"r{number}") for number in range(count)]


@given(st.integers(1, 300), st.data(), st.integers(0, 2**64), st.integers(1, 50), st.integers(1, 20))
def test_those_with_the_smallest_random_numbers_are_drawn(
    count: int, data: st.DataObject, seed: int, size: int, slack: int
) -> None:
    n = data.draw(st.integers(1, count))
    numbers = np.random.default_rng(seed).bit_generator.random_raw(count).tolist()
    chosen = sorted(sorted(range(count), key=lambda row: (numbers[row], row))[:n])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds, "BATCH", slack)  # how many more than needed are held before some are let go
        drawn = sample_triples(TripleList(corpus(count)), n, seed=seed, size=size)
    assert drawn == [corpus(count)[row] for row in chosen]


def test_every_set_is_as_likely_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "BATCH", 1)
    triples = TripleList(corpus(6))
    found = Counter(
        tuple(triple.id for triple in sample_triples(triples, 2, seed=seed, size=2)) for seed in range(3000)
    )
    sets = list(combinations("012345", 2))
    assert set(found) <= set(sets)
    assert stats.chisquare([found[each] for each in sets]).pvalue > 0.001


def test_files_may_be_cut_anywhere(tmp_path: Path) -> None:
    triples = corpus(1000)
    write_triples(tmp_path / "whole.jsonl", triples)
    write_triples(tmp_path / "1.parquet", triples[:17])
    write_triples(tmp_path / "2.jsonl.gz", triples[17:600])
    write_triples(tmp_path / "3.jsonl", [*triples[600:900], Triple("blank", (), " ", "x"), *triples[900:]])
    told: list[int] = []
    whole = TripleFiles(tmp_path / "whole.jsonl")
    drawn = sample_triples(whole, 100, seed=3, progress=told.append)
    assert sum(told) == whole.total
    parts = TripleFiles([tmp_path / "1.parquet", tmp_path / "2.jsonl.gz", tmp_path / "3.jsonl"])
    with pytest.warns(CountedWarning, match="rows with a blank message or response, skipped: 1"):
        assert sample_triples(parts, 100, seed=3, size=7) == drawn
    assert [int(triple.id) for triple in drawn] == sorted(int(triple.id) for triple in drawn)
    assert sample_triples(whole, 100, seed=4) != drawn
    assert sample_triples(whole, 1000, seed=4) == triples


def test_more_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(DataError, match="1,001 triples cannot be drawn from a corpus of 1,000; draw that many at most"):
        sample_triples(TripleList(corpus(1000)), 1001, seed=1)
    with pytest.raises(UsageError, match="0 triples cannot be drawn; draw 1 or more"):
        sample_triples(TripleList(corpus(10)), 0, seed=1)
    with pytest.raises(UsageError, match="a seed must be a whole number of 0 or more, not -1"):
        sample_triples(TripleList(corpus(10)), 1, seed=-1)


def rated(scores: dict[str, list[int]], **options: Any) -> Ratings:
    rows = [(item, "seed", f"rater{who}", score) for item, given in scores.items() for who, score in enumerate(given)]
    return Ratings(*map(list, zip(*rows, strict=True)), **options)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::trubleu.errors.CountedWarning")
@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(1, 5), max_size=4), min_size=1, max_size=30),
    st.integers(1, 3),
    st.sampled_from([4, "3.5", "11/3", Fraction(10, 3), 1]),
    st.sampled_from([0.5, "1/3", "0.9"]),
    st.integers(0, 100),
)
def test_triples_are_kept_by_their_exact_means(
    scores: list[list[int]], raters: int, least: Any, dev: Any, seed: int
) -> None:
    scores = [*scores, [4]]  # something is rated
    triples = corpus(len(scores))
    limit, share = Fraction(least), Fraction(str(dev))
    kept = [number for number, given in enumerate(scores) if len(given) >= raters and sum(given) >= limit * len(given)]
    ratings_of = {str(number): given for number, given in enumerate(scores) if given}
    if not kept:
        with pytest.raises(DataError, match="so there is nothing to split"):
            split_seeds(triples, rated(ratings_of), least=least, raters=raters, dev=dev, seed=seed)
        return
    split = split_seeds(triples, rated(ratings_of), least=least, raters=raters, dev=dev, seed=seed)
    in_dev, in_test = ([int(triple.id) for triple in part] for part in (split.dev, split.test))
    assert sorted(in_dev + in_test) == kept
    assert (in_dev, in_test) == (sorted(in_dev), sorted(in_test))
    assert abs(len(in_dev) - share * len(kept)) <= Fraction(1, 2)
    counts = split.counts()
    assert counts["kept"] == len(kept)
    assert split.unrated == scores.count([])
    assert split.few == sum(0 < len(given) < raters for given in scores)
    assert counts["triples"] == counts["rated"] + split.unrated == len(scores)
    assert counts["rated"] == counts["kept"] + counts["dropped"]
    assert split == split_seeds(
        triples, rated(dict(reversed(ratings_of.items()))), least=least, raters=raters, dev=dev, seed=seed
    )


def test_every_bin_is_as_likely_as_any_other() -> None:
    triples = corpus(5)
    ratings = rated({triple.id: [5] for triple in triples})
    found = Counter(
        tuple(triple.id for triple in split_seeds(triples, ratings, raters=1, dev="0.4", seed=seed).dev)
        for seed in range(1000)
    )
    sets = list(combinations("01234", 2))
    assert set(found) <= set(sets)
    assert stats.chisquare([found[each] for each in sets]).pvalue > 0.001


def test_aspects_count_alike_and_raters_are_people() -> None:
    rows = [
        ("0", "seed", "ann", 5, None, "style"),
        ("0", "seed", "ann", 3, None, "facts"),
        ("0", "seed", "bob", 3, None, "facts"),
    ]
    ratings = Ratings(*zip(*rows, strict=True))  # type: ignore[arg-type]
    assert split_seeds(corpus(1), ratings, raters=2, seed=1).counts()["kept"] == 1  # (5 + 3) / 2, not 11 / 3
    with (
        pytest.raises(DataError, match="none of 1 triple is rated 4 or more on average by 3 people"),
        pytest.warns(CountedWarning, match="triples rated by fewer than 3, left out: 1"),
    ):
        split_seeds(corpus(1), ratings, raters=3, seed=1)


def test_what_was_left_out_is_said() -> None:
    with pytest.warns(CountedWarning) as caught:
        split_seeds(corpus(4), rated({"0": [5, 5, 5], "1": [5, 5], "x": [1]}), seed=1)
    assert sorted(str(each.message) for each in caught) == [
        "items of ratings that are not among the triples: 1",
        "triples rated by fewer than 3, left out: 1",
        "triples without ratings, left out: 2",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"least": "good"}, "the least mean rating must be a number such as 0.5 or 7/2, not 'good'"),
        ({"least": "1/0"}, "the least mean rating must be a number"),
        ({"least": 6}, "the least mean rating must be between 1 and 5, not 6"),
        ({"dev": 0}, "the share of dev must be between 0 and 1, not 0"),
        ({"dev": 1.0}, "the share of dev must be between 0 and 1, not 1.0"),
        ({"dev": float("nan")}, "the share of dev must be a number"),
        ({"raters": 0}, "0 raters are too few"),
        ({"seed": -3}, "a seed must be a whole number of 0 or more, not -3"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        split_seeds(corpus(2), rated({"0": [5, 5, 5]}), **{"seed": 1, **options})


def test_wrong_data_is_refused() -> None:
    good = rated({"0": [5, 5, 5]})
    with pytest.raises(DataError, match="the id '0' is used by two triples"):
        split_seeds([*corpus(1), *corpus(1)], good, seed=1)
    with pytest.raises(DataError, match=r"r\.csv: no rating is of one of the triples; its items such as 'x' must be"):
        split_seeds(corpus(2), rated({"x": [5]}, source="r.csv"), seed=1)
    two = Ratings(["0", "0"], ["A", "B"], ["ann", "ann"], [5, 5])
    with pytest.raises(DataError, match=r"has ratings of 2 systems \(A, B\), but seeds are kept by ratings of their"):
        split_seeds(corpus(2), two, seed=1)


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.jsonl", "r.parquet"])
def test_ratings_need_not_name_a_system_if_it_is_given(tmp_path: Path, name: str) -> None:
    import polars as pl

    frame = pl.DataFrame({"item": ["7", "8"], "rater": ["ann", "ann"], "score": [4, 2]})
    path = tmp_path / name
    match path.suffix:
        case ".csv" | ".tsv":
            frame.write_csv(path, separator="," if path.suffix == ".csv" else "\t")
        case ".jsonl":
            frame.write_ndjson(path)
        case _:
            frame.write_parquet(path)
    assert Ratings.read(path, system="seed") == Ratings(["7", "8"], ["seed"] * 2, ["ann"] * 2, [4, 2])
    with pytest.raises(DataError, match="system"):
        Ratings.read(path)


def test_a_system_that_is_named_stays(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("item,rater,score,system\n7,ann,4,A\n")
    assert Ratings.read(tmp_path / "r.csv", system="seed").system == ("A",)
