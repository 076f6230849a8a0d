"""Threads and slices of draws change no number, and every stage of work is told of."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from tests.judge.wmt_world import judged as judged_task
from tests.judge.wmt_world import make_task
from tests.judge.world import make_world
from trubleu.judge import Protocol, judge_pairs
from trubleu.judge.pairs import observations
from trubleu.judge.pairs.human_scores import Pair
from trubleu.judge.pairs.observations import Column, Tables
from trubleu.judge.pairs.results import Measure
from trubleu.stats import UnitDraws
from trubleu.stats.bootstrap import Resampling

VECTORS = (["a", "b", "c", "d", "e f"], np.eye(5) + 0.3)


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
@pytest.mark.parametrize("pooled", [False, True])
def test_pairs(pooled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(segments=24, missing=0.1)
    metrics = {name: trubleu.metric(name) for name in ("bleu-2", "nist-2", *([] if pooled else ["ter"]))}
    metrics["near"] = trubleu.DeltaBleu2Vec(1, vectors=VECTORS, recall=True)
    protocol = Protocol(unit=4, draws=40, resamples=70, sweep_draws=5, sweep_resamples=40)

    def judged(threads: int) -> tuple[dict[str, Any], dict[str, int]]:
        told: dict[str, int] = {}

        def steps(name: str, total: int) -> Any:
            told[name] = -total
            return lambda done: told.update({name: told[name] + done})

        report = judge_pairs(
            *(world.systems, world.references, world.ratings, metrics),
            conditions=["given", "all"] if pooled else ["single", "all"],
            protocol=protocol,
            pool_outputs=pooled,
            drop_equal=["A"],
            threads=threads,
            steps=steps,
        )
        return report.to_dict(), told

    alone, _ = judged(1)
    monkeypatch.setattr(observations, "SLICE_BYTES", 10_000)  # slices of a few draws
    found, told = judged(3)
    assert found == alone
    assert {row["sweep"] for row in found["sweeps"]} == {"threshold", "unit", "order"}
    assert set(told.values()) == {0}  # every stage was told of all its steps


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
def test_systems_are_scored_once_for_all_their_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(segments=24)
    asked: list[int] = []
    score = observations.Scoring._score

    def counting(self: Any, metric: Any, condition: Any, without: Any, system: int, *rest: Any) -> Any:
        asked.append(system)
        return score(self, metric, condition, without, system, *rest)

    monkeypatch.setattr(observations.Scoring, "_score", counting)
    protocol = Protocol(unit=4, draws=2, resamples=2, sweeps=())
    metrics = {"bleu-2": trubleu.metric("bleu-2")}
    judge_pairs(world.systems, world.references, world.ratings, metrics, conditions=["all"], protocol=protocol)
    assert len(world.systems) > 2
    assert len(asked) == 2 * len(world.systems)  # for the pairs, and for the table of systems


@pytest.mark.parametrize("resample", ["segments", "systems", "both"])
def test_wmt(resample: Any) -> None:
    told: dict[str, int] = {}

    def steps(name: str, total: int) -> Any:
        told[name] = -total
        return lambda done: told.update({name: told[name] + done})

    for test in ("perm-input", "williams"):
        alone = judged_task(make_task(), resample=resample, threads=1, test=test)
        found = judged_task(make_task(), resample=resample, threads=3, test=test, steps=steps)
        assert found.to_dict() == alone.to_dict()
        assert {row.level for row in found.measures if row.low is not None} == {"segment", "system"}
        assert all(row.p is not None for row in found.differences)
        assert set(told.values()) == {0}


@given(
    cuts=st.sets(st.integers(1, 39)),
    kind=st.sampled_from(["shuffle", "bootstrap"]),
    partial=st.booleans(),
    seed=st.integers(0, 5),
)
def test_draws_depend_on_their_numbers_only(cuts: set[int], kind: Any, partial: bool, seed: int) -> None:
    generator = np.random.default_rng(seed)
    segments = [np.arange(9), np.array([1, 2, 5, 7, 8, 11, 12])]
    metric = trubleu.metric("bleu-1")
    rows = [generator.integers(1, 9, size=(len(each), 8)).astype(float) for each in segments]
    opinions = [generator.integers(-3, 4, size=len(each)).astype(float) for each in segments]
    tables = Tables(
        pairs=[
            Pair(a=0, b=1, segments=each, opinion=opinion, rating_a=opinion, rating_b=opinion)
            for each, opinion in zip(segments, opinions, strict=True)
        ],
        columns=[Column.of(Measure(metric="bleu-1", condition=None), metric.score, rows)],
        draws=UnitDraws(kind=kind, unit=3, draws=40, seed=seed, partial=partial),
        pair_counts=generator.integers(0, 3, size=(40, 2)),
    )
    whole = tables.correlate(range(40))
    parts = [tables.correlate(range(low, high)) for low, high in pairwise([0, *sorted(cuts), 40])]
    for place in (0, 1):  # plain, and by counts of pairs
        for name in ("spearman", "kendall"):
            joined = np.concatenate([getattr(part[place], name) for part in parts])
            np.testing.assert_array_equal(joined, getattr(whole[place], name))


@given(st.integers(0, 30), st.integers(1, 20), st.sampled_from(["bootstrap", "randomisation"]))
def test_resamples_from_a_number_on(first: int, count: int, test: str) -> None:
    rows = np.random.default_rng(3).normal(size=(11, 2))
    draws = Resampling(test=test, count=50, seed=7, threads=1, progress=None)
    (whole,) = draws.sums_of_each([rows], 1, (11, 2))
    (part,) = replace(draws, first=first, count=count).sums_of_each([rows], 1, (11, 2))
    np.testing.assert_array_equal(part, whole[first : first + count])
