from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

import trubleu
from tests.judge.world import World, make_world
from tests.oracles.protocol import chosen, coefficients, correlate, observations, unit_score
from trubleu.data import Ratings, SegmentScores
from trubleu.errors import UsageError
from trubleu.judge import Protocol, judge_pairs
from trubleu.judge.pairs.observations import Column
from trubleu.judge.pairs.results import Measure
from trubleu.render import render_judge_page, render_pairs
from trubleu.stats import UnitDraws, fieller_interval, fisher_interval

if TYPE_CHECKING:
    from tests.oracles.protocol import Rated
    from trubleu.judge.pairs.results import CorrelationRow, PairsReport

CONDITIONS = ("single", "w>=0.5", "all")
FEW = Protocol(unit=5, draws=7, resamples=9, sweeps=(), seed=3)


def judge(world: World, *metrics: str, protocol: Protocol = FEW, **options: object) -> PairsReport:
    return judge_pairs(
        world.systems,
        world.references,
        world.ratings,
        {name: trubleu.metric(name) for name in metrics},
        protocol=protocol,
        **{"conditions": CONDITIONS, **options},  # type: ignore[arg-type]
    )


def row_of(report: PairsReport, metric: str, condition: str | None) -> CorrelationRow:
    return next(row for row in report.correlations if (row.metric, row.condition) == (metric, condition))


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", ["bleu-1", "sbleu-2", "dbleu-2", "sdbleu-1", "ter"])
def test_coefficients_are_those_of_the_plain_statement(name: str, condition: str, missing: float) -> None:
    world = make_world(missing=missing, seed=2)
    row = row_of(judge(world, name), name, condition)
    pairs = list(combinations(world.systems, 2))
    references = [chosen(each, condition) for each in world.rated]
    by_pair = dict.fromkeys(pairs, references)
    metric = trubleu.metric(name)
    drawn = coefficients(
        metric, pairs, world.systems, by_pair, world.means, UnitDraws(unit=5, draws=FEW.draws, seed=FEW.seed)
    )
    rho, tau = np.mean(drawn, axis=0)
    assert row.spearman == pytest.approx(rho, abs=1e-12)
    assert row.kendall == pytest.approx(tau, abs=1e-12)
    replicates = coefficients(
        metric,
        pairs,
        world.systems,
        by_pair,
        world.means,
        UnitDraws(kind="bootstrap", unit=5, draws=FEW.resamples, seed=FEW.seed),
    )
    low, high = np.quantile(replicates, [0.025, 0.975], axis=0)
    assert (row.spearman_low, row.kendall_low) == pytest.approx(tuple(low), abs=1e-12)
    assert (row.spearman_high, row.kendall_high) == pytest.approx(tuple(high), abs=1e-12)


def test_analytic_intervals_count_units_as_the_definition_says() -> None:
    world = make_world(segments=24)
    row = row_of(judge(world, "bleu-1"), "bleu-1", "all")
    assert (row.unit, row.units, row.n) == (5, 3 * 4, 2 * 3 * 4)
    assert row.spearman is not None
    assert row.kendall is not None
    assert (row.spearman_fisher_low, row.spearman_fisher_high) == tuple(fisher_interval(row.spearman, 24))
    assert (row.kendall_fisher_low, row.kendall_fisher_high) == tuple(fisher_interval(row.kendall, 24))
    assert (row.spearman_fieller_low, row.spearman_fieller_high) == tuple(
        fieller_interval(row.spearman, 12, kind="spearman")
    )
    assert (row.kendall_fieller_low, row.kendall_fieller_high) == tuple(
        fieller_interval(row.kendall, 12, kind="kendall")
    )


def test_the_last_partial_unit_may_be_kept() -> None:
    world = make_world(segments=24)
    report = judge(world, "bleu-1", protocol=Protocol(unit=5, draws=2, resamples=2, sweeps=(), partial=True))
    assert [pair.units for pair in report.pairs] == [5, 5, 5]


@pytest.mark.filterwarnings("ignore:references in references that repeat")
def test_neither_rows_of_ratings_nor_the_order_of_a_pair_nor_threads_change_a_bit() -> None:
    world = make_world(segments=60, systems=4, raters=5, seed=5)
    rows = list(zip(world.ratings.item, world.ratings.system, world.ratings.rater, world.ratings.score, strict=True))
    random.Random(7).shuffle(rows)
    items, systems, raters, scores = zip(*rows, strict=True)
    shuffled = world._replace(ratings=Ratings(items, systems, raters, scores))
    protocol = Protocol(unit=7, draws=20, resamples=20, sweep_draws=5, sweep_resamples=5)
    usual = judge(world, "bleu-2", "sdbleu-2", protocol=protocol, pool_outputs=True)
    assert judge(shuffled, "bleu-2", "sdbleu-2", protocol=protocol, pool_outputs=True).to_dict() == usual.to_dict()
    one = judge(world, "bleu-2", "sdbleu-2", protocol=protocol, pool_outputs=True, threads=1)
    assert one.to_dict() == usual.to_dict()
    there = judge(world, "bleu-2", pairs="A:B")
    back = judge(world, "bleu-2", pairs="B:A")
    assert [(row.spearman, row.kendall) for row in there.correlations] == [
        (row.spearman, row.kendall) for row in back.correlations
    ]


def test_metrics_do_not_change_each_others_numbers() -> None:
    world = make_world(segments=40, seed=9)
    alone = judge(world, "bleu-2")
    together = judge(world, "dbleu-2", "bleu-2", "sbleu-2")
    for condition in CONDITIONS:
        assert row_of(alone, "bleu-2", condition) == row_of(together, "bleu-2", condition)


def test_units_of_one_segment_are_not_drawn() -> None:
    world = make_world(segments=12, systems=2)
    protocol = Protocol(unit=1, draws=50, resamples=5, sweeps=("unit",), sweep_draws=50, sweep_resamples=5)
    report = judge(world, "dbleu-1", protocol=protocol, conditions=["all"])
    once = coefficients(
        trubleu.metric("dbleu-1"),
        [("A", "B")],
        world.systems,
        {("A", "B"): world.rated},
        world.means,
        UnitDraws(unit=1, draws=1),
    )
    assert report.correlations[0].spearman == pytest.approx(once[0][0], abs=1e-12)
    swept = next(row for row in report.sweeps if row.value == 1)
    assert (swept.spearman, swept.kendall) == pytest.approx(once[0], abs=1e-12)
    assert [row.value for row in report.sweeps] == [1, 10]


def test_sweeps_meet_the_headline_where_they_cross_it() -> None:
    world = make_world(segments=50, seed=11)
    protocol = Protocol(unit=10, draws=30, resamples=40, sweep_draws=30, sweep_resamples=40)
    report = judge(world, "dbleu-2", "bleu-2", protocol=protocol)
    wanted = row_of(report, "dbleu-2", "all")
    for sweep, value in (("threshold", -1.0), ("unit", 10.0), ("order", 2.0)):
        (row,) = [row for row in report.sweeps if (row.sweep, row.metric, row.value) == (sweep, "dbleu-2", value)]
        assert (row.spearman, row.spearman_low, row.spearman_high) == (
            wanted.spearman,
            wanted.spearman_low,
            wanted.spearman_high,
        )
        assert (row.kendall, row.units, row.n) == (wanted.kendall, wanted.units, wanted.n)
    (half,) = [row for row in report.sweeps if (row.metric, row.sweep, row.value) == ("bleu-2", "order", 1.0)]
    assert half.spearman == row_of(judge(world, "bleu-1", protocol=protocol), "bleu-1", "all").spearman
    assert [row.value for row in report.sweeps if row.sweep == "threshold" and row.metric == "bleu-2"] == [
        1.0, 0.8, 0.6, 0.4, 0.2, 0.0, -0.2, -0.4, -0.6, -0.8, -1.0,
    ]  # fmt: skip


def test_a_metric_that_repeats_people_is_perfect_and_beats_noise() -> None:
    world = make_world(segments=200, seed=4)
    generator = np.random.default_rng(1)
    names, systems, segments, scores = [], [], [], []
    for (segment, system), mean in world.means.items():
        for name, score in (("people", float(mean)), ("noise", float(generator.random()))):
            names.append(name)
            systems.append(system)
            segments.append(f"s{segment}")
            scores.append(score)
    given = SegmentScores(metric=names, system=systems, segment=segments, score=scores)
    protocol = Protocol(unit=10, draws=20, resamples=200, sweeps=("unit",), sweep_draws=5, sweep_resamples=5)
    report = judge(world, "bleu-1", protocol=protocol, scores=[given], conditions=["all"])
    people = row_of(report, "people", None)
    assert people.spearman == pytest.approx(1, abs=1e-9)
    assert people.kendall == pytest.approx(1, abs=1e-9)
    (row,) = [row for row in report.comparisons if (row.metric_x, row.metric_y) == ("people", "noise")]
    assert row.spearman_difference is not None
    assert row.spearman_difference_low is not None
    assert row.spearman_difference_low > 0.5
    assert row.spearman_p == pytest.approx(1 / 201)
    assert row.spearman_p_holm == pytest.approx(3 / 201)
    assert {row.metric for row in report.sweeps} == {"bleu-1", "people", "noise"}


def test_a_metric_is_no_better_than_itself() -> None:
    world = make_world(segments=40)
    report = judge_pairs(
        world.systems,
        world.references,
        world.ratings,
        {"one": trubleu.metric("bleu-2"), "two": trubleu.metric("bleu-2")},
        conditions=["all"],
        protocol=FEW,
    )
    (row,) = report.comparisons
    assert (row.spearman_difference, row.spearman_p, row.kendall_p_holm) == (0.0, 1.0, 1.0)


def test_bootstrap_over_systems_repeats_the_units_of_repeated_pairs() -> None:
    world = make_world(segments=40, systems=4, seed=6)
    protocol = Protocol(unit=5, draws=2, resamples=30, sweeps=(), seed=8)
    row = row_of(judge(world, "bleu-2", protocol=protocol, conditions=["all"]), "bleu-2", "all")
    drawn = np.random.default_rng([8, 4]).multinomial(4, [0.25] * 4, size=30)
    pairs = list(combinations(range(4), 2))
    names = list(world.systems)
    points = observations(
        trubleu.metric("bleu-2"),
        [(names[a], names[b]) for a, b in pairs],
        world.systems,
        dict.fromkeys([(names[a], names[b]) for a, b in pairs], world.rated),
        world.means,
        UnitDraws(kind="bootstrap", unit=5, draws=30, seed=8),
    )
    rhos = []
    for replicate, counts in enumerate(drawn):
        repeated = [
            point for pair, (a, b) in enumerate(pairs) for point in points[replicate][pair] * (counts[a] * counts[b])
        ]
        if repeated:
            rhos.append(correlate(repeated)[0])
    low, high = np.nanquantile(rhos, [0.025, 0.975])
    assert (row.spearman_systems_low, row.spearman_systems_high) == pytest.approx((low, high), abs=1e-12)


def test_two_systems_cannot_be_resampled() -> None:
    two = judge(make_world(segments=40, systems=2), "bleu-2")
    assert row_of(two, "bleu-2", "all").spearman_systems_low is None


def test_p_values_are_those_of_centred_replicates() -> None:
    world = make_world(segments=40, seed=12)
    protocol = Protocol(unit=5, draws=10, resamples=50, sweeps=(), seed=4)
    report = judge(world, "bleu-1", "dbleu-2", protocol=protocol, conditions=["all"])
    (row,) = report.comparisons
    pairs = list(combinations(world.systems, 2))
    x, y = (
        np.array(
            coefficients(
                trubleu.metric(name),
                pairs,
                world.systems,
                dict.fromkeys(pairs, world.rated),
                world.means,
                UnitDraws(kind="bootstrap", unit=5, draws=50, seed=4),
            )
        )
        for name in ("bleu-1", "dbleu-2")
    )
    replicates = (x - y)[:, 0]
    observed = row.spearman_difference
    assert observed is not None
    chance = np.abs(replicates - replicates.mean())
    assert row.spearman_p == pytest.approx((np.sum(chance >= abs(observed) - 1e-12) + 1) / 51)
    assert (row.spearman_difference_low, row.spearman_difference_high) == pytest.approx(
        tuple(np.quantile(replicates, [0.025, 0.975])), abs=1e-12
    )


@pytest.mark.filterwarnings("ignore:references in references that repeat")
@pytest.mark.parametrize("condition", ["given", "all", "w>=0.5"])
def test_pooled_outputs_are_those_of_the_other_systems_only(condition: str) -> None:
    world = make_world(segments=30, systems=4, seed=13)
    row = judge(world, "dbleu-1", pool_outputs=True, conditions=[condition]).correlations[0]
    pairs = list(combinations(world.systems, 2))
    by_pair = {}
    for pair in pairs:
        pooled = []
        for segment, given in enumerate(world.rated):
            joined: Rated = [
                (world.systems[name][segment], float(world.means[segment, name] - 3) / 2, f"system:{name}")
                for name in world.systems
                if name not in pair
            ]
            pooled.append(given if condition == "given" else chosen(given + joined, condition))
        by_pair[pair] = pooled
    drawn = coefficients(
        trubleu.metric("dbleu-1"),
        pairs,
        world.systems,
        by_pair,
        world.means,
        UnitDraws(unit=5, draws=FEW.draws, seed=FEW.seed),
    )
    assert (row.spearman, row.kendall) == pytest.approx(tuple(np.mean(drawn, axis=0)), abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*equal a reference")
def test_references_equal_to_the_output_are_dropped_for_that_system_only() -> None:
    world = make_world(segments=30, systems=2, seed=14)
    parrot = [each[0][0].upper() if len(each) > 1 and each[1][1] > 0 else f"{each[0][0]} z" for each in world.rated]
    outputs = {**world.systems, "A": parrot}
    world = world._replace(systems=outputs)
    report = judge(world, "dbleu-1", drop_equal=["A"], conditions=["all"])
    others = [
        [reference for reference in each if reference[0].upper() != text]
        for each, text in zip(world.rated, parrot, strict=True)
    ]
    metric = trubleu.metric("dbleu-1")
    (evidence,) = report.evidence
    measure = next(iter(report.cloud.scores))
    for place in range(30):
        assert evidence.scores_a[measure][place] == pytest.approx(unit_score(metric, parrot, others, [place]))
        expected = unit_score(metric, outputs["B"], world.rated, [place])
        assert evidence.scores_b[measure][place] == pytest.approx(expected)
    (scored,) = [row for row in report.system_scores if row.system == "A"]
    assert scored.score == pytest.approx(unit_score(metric, parrot, others, list(range(30))))


def test_the_cloud_is_the_first_draw() -> None:
    world = make_world(segments=24, seed=15)
    report = judge(world, "bleu-1", conditions=["all"])
    pairs = list(combinations(world.systems, 2))
    points = observations(
        trubleu.metric("bleu-1"),
        pairs,
        world.systems,
        dict.fromkeys(pairs, world.rated),
        world.means,
        UnitDraws(unit=5, draws=1, seed=FEW.seed),
    )
    flat = [point for units in points[0] for point in units[::2]]  # every second one is a mirror image
    (scores,) = report.cloud.scores.values()
    assert scores.tolist() == pytest.approx([m for m, _ in flat], abs=2e-9)
    assert report.cloud.rating.tolist() == pytest.approx([q for _, q in flat], abs=1e-12)
    assert report.cloud.pair.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_scores_of_systems_are_those_of_their_judged_segments() -> None:
    world = make_world(segments=24, seed=16, missing=0.1)
    report = judge(world, "dbleu-2", conditions=["all"])
    for row in report.system_scores:
        others = [name for name in world.systems if name != row.system]
        judged = [
            segment
            for segment in range(24)
            if (segment, row.system) in world.means and any((segment, name) in world.means for name in others)
        ]
        expected = unit_score(trubleu.metric("dbleu-2"), world.systems[row.system], world.rated, judged)
        assert row.score == pytest.approx(expected)


def test_error_rates_from_a_file_are_turned_round() -> None:
    world = make_world(segments=24, seed=17)
    rows = [(name, f"s{segment}", float(mean)) for (segment, name), mean in world.means.items()]
    systems, segments, scores = zip(*rows, strict=True)
    good = SegmentScores(metric=["good"] * len(rows), system=systems, segment=segments, score=scores)
    bad = replace(good, metric=["bad"] * len(rows), score=[-score for score in scores])
    ter = replace(bad, metric=["ter"] * len(rows))
    report = judge(world, "bleu-1", scores=[good, bad, ter], lower_is_better=["bad"], conditions=["all"])
    assert [row_of(report, name, None).spearman for name in ("good", "bad", "ter")] == pytest.approx([1.0] * 3)
    with pytest.raises(UsageError, match="lower is better for wer, but no file has scores of it"):
        judge(world, "bleu-1", scores=[good], lower_is_better=["wer"])


def test_ties_are_ties_whatever_the_scale_and_the_mean_of_scores() -> None:
    world = make_world(segments=40, systems=2, seed=18)
    generator = np.random.default_rng(2)
    values = generator.integers(0, 3, (2, 40)) / 10
    values -= values.mean(axis=1, keepdims=True)  # a system's scores add up to about 0
    rows = [(name, f"s{segment}", place, segment) for place, name in enumerate("AB") for segment in range(40)]
    found = []
    for factor, added in ((1, 0), (1, 10), (10, 0)):
        given = SegmentScores(
            metric=["m"] * len(rows),
            system=[row[0] for row in rows],
            segment=[row[1] for row in rows],
            score=[float(factor * values[place, segment] + added) for _, _, place, segment in rows],
        )
        report = judge(world, "bleu-1", scores=[given], conditions=["all"])
        found.append((row_of(report, "m", None).spearman, row_of(report, "m", None).kendall))
    assert found[0] == found[1] == found[2]


@pytest.mark.filterwarnings("ignore:.*have no vector")
def test_orders_that_vectors_do_not_hold_are_left_out_of_the_sweep() -> None:
    world = make_world(segments=24)
    metric = trubleu.Bleu2Vec(2, vectors=(["a", "a b", "a b c"], [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    protocol = Protocol(unit=5, draws=2, resamples=2, sweeps=("order",), sweep_draws=2, sweep_resamples=2)
    report = judge_pairs(
        world.systems, world.references, world.ratings, {"soft": metric}, conditions=["all"], protocol=protocol
    )
    assert [row.value for row in report.sweeps] == [1, 2, 3]


def test_nothing_is_scored_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []
    usual = trubleu.Bleu.statistics

    def counting(self: trubleu.Bleu, outputs: list[str], *arguments: object, **options: object) -> object:
        scored.append(" ".join(outputs))
        return usual(self, outputs, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(trubleu.Bleu, "statistics", counting)
    protocol = Protocol(unit=5, draws=2, resamples=2, sweeps=("unit",), sweep_draws=2, sweep_resamples=2)
    judge(make_world(segments=24), "bleu-2", protocol=protocol, conditions=["all"])
    assert len(scored) == len(set(scored)) == 3


def test_differences_by_rounding_alone_are_ties() -> None:
    rows = np.array([[30.0, 30.0 + 9e-10], [30.0, 30.0 + 3e-9], [0.3, 0.1 + 0.2]])
    column = Column.of(Measure(metric="m", condition="all"), lambda sums: sums[..., 0], [rows])
    assert np.sign(column.differences(rows)).tolist() == [0.0, -1.0, 0.0]


def test_p_values_that_cannot_be_lower_say_so() -> None:
    report = judge(make_world(segments=40, seed=3), "bleu-1", "dbleu-1")
    assert min(row.spearman_p or 1.0 for row in report.comparisons) == 1 / (FEW.resamples + 1)
    note = "p (Holm) is at least 0.9 with 9 resamples and 9 tests; --resamples 9000 lets it be lower"
    assert note in report.notes
    for shown in (render_pairs(report), render_pairs(report, "json"), render_judge_page(report)):
        assert note in shown
    assert "lets it be lower" not in " ".join(judge(make_world(segments=40, seed=15), "bleu-1", "dbleu-1").notes)
