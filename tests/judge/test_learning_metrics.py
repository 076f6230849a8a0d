"""Metrics that learn from references know all of a condition's, whichever segments were judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import trubleu
from tests.judge.wmt_world import judged, make_task
from tests.judge.world import World, make_world
from tests.oracles.protocol import chosen, coefficients
from trubleu.judge import Protocol, judge_pairs
from trubleu.stats import UnitDraws

if TYPE_CHECKING:
    from tests.oracles.protocol import Rated
    from trubleu.judge.pairs.results import PairsReport

pytestmark = pytest.mark.filterwarnings("ignore:there are only .* units")

FEW = Protocol(unit=5, draws=5, resamples=5, sweeps=(), seed=3)
NAMES = ("nist-2", "cider-d-2")


def judge(world: World, *metrics: str, protocol: Protocol = FEW, **options: object) -> PairsReport:
    return judge_pairs(
        world.systems,
        world.references,
        world.ratings,
        {name: trubleu.metric(name) for name in metrics},
        protocol=protocol,
        **options,  # type: ignore[arg-type]
    )


def learned(name: str, rated: list[Rated]) -> trubleu.Metric:
    references = trubleu.References.from_lists([[text for text, _, _ in each] for each in rated])
    return trubleu.metric(name).learned(references)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("condition", ["single", "w>=0.5", "all"])
def test_what_was_not_judged_is_learned_from_as_well(name: str, condition: str) -> None:
    world = make_world(segments=30, missing=0.3, seed=2)
    report = judge(world, name, conditions=[condition], pairs="A:B")
    assert report.pairs[0].segments < 30
    references = [chosen(each, condition) for each in world.rated]
    metric = learned(name, references)
    drawn = coefficients(
        metric,
        [("A", "B")],
        world.systems,
        {("A", "B"): references},
        world.means,
        UnitDraws(unit=5, draws=FEW.draws, seed=FEW.seed),
    )
    row = report.correlations[0]
    assert (row.spearman, row.kendall) == pytest.approx(tuple(np.mean(drawn, axis=0)), abs=1e-12)
    both = [i for i in range(30) if (i, "A") in world.means and (i, "B") in world.means]
    scores = {row.system: row.score for row in report.system_scores}
    for system in "AB":
        outputs = [world.systems[system][i] for i in both]
        expected = metric.corpus(outputs, [[text for text, _, _ in references[i]] for i in both]).score
        assert scores[system] == expected


@pytest.mark.filterwarnings("ignore:references in references that repeat")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("condition", ["given", "all"])
def test_outputs_that_join_the_references_are_learned_from(name: str, condition: str) -> None:
    world = make_world(segments=25, systems=4, missing=0.2, seed=13)

    def without(*left_out: str) -> list[Rated]:
        others = [other for other in world.systems if other not in left_out and condition == "all"]
        return [
            given
            + [
                (world.systems[other][place], 1.0, f"system:{other}")
                for other in others
                if (place, other) in world.means
            ]
            for place, given in enumerate(world.rated)
        ]

    report = judge(world, name, pool_outputs=True, conditions=[condition], pairs="A:C")
    references = without("A", "C")
    drawn = coefficients(
        learned(name, references),
        [("A", "C")],
        world.systems,
        {("A", "C"): references},
        world.means,
        UnitDraws(unit=5, draws=FEW.draws, seed=FEW.seed),
    )
    row = report.correlations[0]
    assert report.pairs[0].segments < 25
    assert (row.spearman, row.kendall) == pytest.approx(tuple(np.mean(drawn, axis=0)), abs=1e-12)
    judged_segments = [i for i in range(25) if (i, "A") in world.means and (i, "C") in world.means]
    scores = {row.system: row.score for row in report.system_scores}
    for system in "AC":
        references = without(system)
        outputs = [world.systems[system][i] for i in judged_segments]
        lists = [[text for text, _, _ in references[i]] for i in judged_segments]
        assert scores[system] == pytest.approx(learned(name, references).corpus(outputs, lists).score, rel=1e-12)


def test_neither_other_metrics_nor_conditions_change_what_was_learned() -> None:
    world = make_world(segments=20, missing=0.2, seed=4)
    protocol = Protocol(unit=3, draws=3, resamples=3, sweep_draws=2, sweep_resamples=2, seed=1)
    together = judge(world, "cider-2", "bleu-2", "nist-2", conditions=["single", "all"], protocol=protocol)
    for name in ("cider-2", "nist-2"):
        for condition in ("single", "all"):
            [alone] = judge(world, name, conditions=[condition]).system_scores[:1]
            assert alone in together.system_scores


def test_every_point_of_a_sweep_learns_from_its_own_references() -> None:
    world = make_world(segments=20, missing=0.2, seed=4)
    protocol = Protocol(unit=3, draws=3, resamples=3, sweep_draws=4, sweep_resamples=2, seed=1)
    report = judge(world, "nist-2", conditions=["all"], protocol=protocol, pairs="A:B")
    points = {"order": ("nist-3", 3.0, "all"), "threshold": ("nist-2", 0.6, "w>=0.6")}
    for sweep, (name, value, condition) in points.items():
        [row] = [row for row in report.sweeps if (row.sweep, row.value) == (sweep, value)]
        references = [chosen(each, condition) for each in world.rated]
        draws = UnitDraws(unit=3, draws=protocol.sweep_draws, seed=protocol.seed)
        by_pair = {("A", "B"): references}
        drawn = coefficients(learned(name, references), list(by_pair), world.systems, by_pair, world.means, draws)
        assert (row.spearman, row.kendall) == pytest.approx(tuple(np.mean(drawn, axis=0)), abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*equal a reference")
@pytest.mark.parametrize("name", NAMES)
def test_references_that_were_dropped_are_not_learned_from(name: str) -> None:
    world = make_world(segments=12, systems=2, seed=6)
    rated = [[*each, (world.systems["A"][place], 1.0, "mined")] for place, each in enumerate(world.rated)]
    references = trubleu.References.from_lists(
        [[text for text, _, _ in each] for each in rated],
        [[weight for _, weight, _ in each] for each in rated],
        ids=[f"s{place}" for place in range(12)],
    )
    report = judge(world._replace(references=references), name, conditions=["all"], drop_equal=["A"])
    scores = {row.system: row.score for row in report.system_scores}
    metric = trubleu.metric(name)
    texts = {
        "A": [[text for text, _, _ in each] for each in world.rated],
        "B": [[text for text, _, _ in each] for each in rated],
    }
    for system, lists in texts.items():
        assert scores[system] == metric.corpus(world.systems[system], lists).score


def test_wmt_has_the_scores_of_the_whole() -> None:
    task = make_task()
    metrics = {name: trubleu.metric(name) for name in ("nist", "cider-d")}
    scores = {(row.metric, row.system): row.score for row in judged(task, metrics=metrics).systems}
    for name, metric in metrics.items():
        for system, outputs in task.outputs.items():
            assert scores[name, system] == pytest.approx(metric.corpus(outputs, task.references).score, abs=1e-8)
