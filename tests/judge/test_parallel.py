"""Work that is shared out gives the numbers, the warnings and the errors of one process."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from tests.judge.wmt_world import METRICS, make_task
from tests.judge.world import make_world
from trubleu.errors import CountedWarning, DataError, TrubleuWarning, UsageError
from trubleu.execution import Engine, engine
from trubleu.execution.local import InThisProcess
from trubleu.judge import Protocol, judge_pairs, judge_wmt
from trubleu.judge.pairs import observations
from trubleu.judge.pairs.observations import Column, Drawing
from trubleu.judge.pairs.results import Measure
from trubleu.judge.parallel import Slice, Where, shared, slices_of
from trubleu.judge.wmt import measures
from trubleu.stats import UnitDraws
from trubleu.stats.bootstrap import Resampling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

VECTORS = (["a", "b", "c", "d", "e f"], np.eye(5) + 0.3)


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with engine("local:2") as processes:
        yield processes


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
@pytest.mark.parametrize("pooled", [False, True])
def test_pairs(two: Engine, pooled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(segments=24, missing=0.1)
    metrics = {name: trubleu.metric(name) for name in ("bleu-2", "nist-2", *([] if pooled else ["ter"]))}
    metrics["near"] = trubleu.DeltaBleu2Vec(1, vectors=VECTORS, recall=True)
    protocol = Protocol(unit=4, draws=40, resamples=70, sweep_draws=5, sweep_resamples=40)

    def judged(place: Engine | None) -> tuple[dict[str, Any], dict[str, int]]:
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
            engine=place,
            steps=steps,
        )
        return report.to_dict(), told

    alone, _ = judged(None)
    monkeypatch.setattr(observations, "SLICE_AIM", 0)  # slices of 32
    found, told = judged(two)
    assert found == alone
    assert {row["sweep"] for row in found["sweeps"]} == {"threshold", "unit", "order"}
    assert set(told.values()) == {0}  # every stage was told of all its steps


@pytest.mark.parametrize("resample", ["segments", "systems", "both"])
def test_wmt(two: Engine, resample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [make_task("de-en"), make_task("en-ru", seed=5)]
    alone = judge_wmt(tasks, METRICS, resample=resample, resamples=50)
    monkeypatch.setattr(measures, "SLICE_WORK", 0)
    monkeypatch.setattr(measures, "FEWEST_AT_ONCE", 20)
    found = judge_wmt(tasks, METRICS, resample=resample, resamples=50, engine=two)
    assert found.to_dict() == alone.to_dict()
    assert {row.level for row in found.agreements if row.low is not None} == {"system", "rankings", "assessments"}
    assert "permutation" in {row.test for row in found.differences if row.p is not None}


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
    drawing = Drawing(
        segments=segments,
        opinions=[generator.integers(-3, 4, size=len(each)).astype(float) for each in segments],
        columns=[Column.of(Measure(metric="bleu-1", condition=None), metric.score, rows)],
        draws=UnitDraws(kind=kind, unit=3, draws=40, seed=seed, partial=partial),
        pair_counts=generator.integers(0, 3, size=(40, 2)),
    )
    whole = drawing().correlate(Slice(0, 40))
    bounds = [0, *sorted(cuts), 40]
    sent: Drawing = pickle.loads(pickle.dumps(drawing))  # noqa: S301 - our own
    parts = [sent().correlate(Slice(low, high - low)) for low, high in pairwise(bounds)]
    for kind_of in ("plain", "weighted"):
        for name in ("spearman", "kendall"):
            joined = np.concatenate([getattr(getattr(part, kind_of)[0], name) for part in parts])
            np.testing.assert_array_equal(joined, getattr(getattr(whole, kind_of)[0], name))


@given(st.integers(0, 30), st.integers(1, 20), st.sampled_from(["bootstrap", "randomisation"]))
def test_resamples_from_a_number_on(first: int, count: int, test: str) -> None:
    rows = np.random.default_rng(3).normal(size=(11, 2))
    draws = Resampling(test=test, count=50, seed=7, threads=1, progress=None)
    (whole,) = draws.sums_of_each([rows], 1, (11, 2))
    (part,) = replace(draws, first=first, count=count).sums_of_each([rows], 1, (11, 2))
    np.testing.assert_array_equal(part, whole[first : first + count])


@given(st.integers(1, 200), st.integers(1, 50))
def test_slices_hold_every_draw_once(number: int, at_once: int) -> None:
    slices = slices_of(number, at_once)
    assert [each.first + draw for each in slices for draw in range(each.count)] == list(range(number))
    assert max(each.count for each in slices) <= at_once


def complain(part: Slice, _state: None, _threads: int | None) -> int:
    """Warn of every slice, and refuse the third."""
    warnings.warn(CountedWarning("cases", part.count), stacklevel=1)
    if part.first == 4:
        raise DataError("the sum is below 0")
    return part.count


def test_warnings_and_refusals_are_those_of_one_process(two: Engine) -> None:
    for place in (two, engine("local")):
        found = shared(Where(place), complain, slices_of(9, 2))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert [next(found), next(found)] == [2, 2]
            with pytest.raises(DataError, match=r"^the sum is below 0$"):
                next(found)
        assert [str(each.message) for each in caught] == ["cases: 2"] * 3
        assert all(issubclass(each.category, TrubleuWarning) for each in caught)


def repeat(part: Slice, _state: None, _threads: int | None) -> int:
    """Warn of the same in every slice, of the kind of its number, and of a number of cases."""
    warnings.warn("division by zero", RuntimeWarning, stacklevel=1)
    warnings.warn(f"slice {part.first % 4}", TrubleuWarning, stacklevel=1)
    warnings.warn(CountedWarning("cases", 2), stacklevel=1)
    return part.count


@pytest.mark.parametrize("action", ["default", "always"])
def test_a_warning_of_all_slices_is_given_once(two: Engine, action: Any) -> None:
    for place in (two, engine("local")):
        for _ in range(2):  # a second map tells of it again
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter(action)
                assert list(shared(Where(place), repeat, slices_of(8, 2))) == [2] * 4
            told = [(each.category.__name__, str(each.message)) for each in caught]
            assert [each for each in told if each[0] != "CountedWarning"] == [
                ("RuntimeWarning", "division by zero"),
                ("TrubleuWarning", "slice 0"),
                ("TrubleuWarning", "slice 2"),
            ]
            assert told.count(("CountedWarning", "cases: 2")) == 4


class _Holding(InThisProcess):
    """Holds on to its maps, so that nothing but closing ends one."""

    def __init__(self) -> None:
        super().__init__(None)
        self.maps: list[Any] = []

    def map(self, *arguments: Any, **options: Any) -> Any:
        self.maps.append(super().map(*arguments, **options))
        return self.maps[-1]

    def running(self) -> list[bool]:
        return [each.gi_frame is not None for each in self.maps]


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
def test_a_map_is_closed_with_who_asked_for_it() -> None:
    place = _Holding()
    found = shared(Where(place), complain, slices_of(9, 2))
    next(found)
    assert place.running() == [True]
    found.close()
    assert place.running() == [False]
    with pytest.raises(DataError):
        list(shared(Where(place), complain, slices_of(9, 2)))
    assert place.running() == [False, False]


def test_a_metric_that_cannot_be_sent(two: Engine) -> None:
    class Mine(trubleu.Bleu):
        pass

    world = make_world(segments=12)
    with pytest.raises(UsageError, match=r"cannot be sent to another process: .*Mine"):
        judge_pairs(
            *(world.systems, world.references, world.ratings, {"mine": Mine(1)}),
            conditions=["all"],
            protocol=Protocol(unit=4, draws=3, resamples=3, sweeps=()),
            engine=two,
        )
    with pytest.raises(UsageError, match=r"cannot be sent to another process: .*Mine"):
        judge_wmt([make_task()], {"mine": Mine(1)}, engine=two)


def small(metric: trubleu.Metric, rows: NDArray[np.float64]) -> int:
    """Return how many bytes it takes to send what scores, having made sure that it scores as the metric does."""
    sent = pickle.dumps(metric.scorer())
    scorer: trubleu.Metric = pickle.loads(sent)  # noqa: S301 - our own
    np.testing.assert_array_equal(scorer.score(rows), metric.score(rows))
    return len(sent)


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
@pytest.mark.parametrize(
    "name", ["bleu-2", "sbleu-2", "dbleu-2", "sdbleu-2", "chrf", "ter", "nist-2", "cider-2", "lebleu-2", "meteor"]
)
def test_what_scores_is_small(name: str) -> None:
    texts = [["a b c", "b c"], ["d e"]]
    metric = trubleu.metric(name)
    references = trubleu.References.from_lists(texts)
    rows = metric.statistics(["a b", "d e f"], references)
    assert small(metric, rows) < 1000
    if metric.learns:
        much = trubleu.References.from_lists([[f"w{number} x{number}"] for number in range(500)])
        assert small(metric.learned(much), rows) < 1000


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
@pytest.mark.parametrize("recall", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_scores_near_misses_has_no_vectors(recall: bool, weighted: bool) -> None:
    vectors = ([f"w{number}" for number in range(1000)], np.random.default_rng(1).normal(size=(1000, 8)))
    kind = trubleu.DeltaBleu2Vec if weighted else trubleu.Bleu2Vec
    metric = kind(1, vectors=vectors, recall=recall)
    rows = metric.statistics(["w1 w2"], trubleu.References.from_lists([["w1 w3", "w2"]], [[1.0, -0.5]]))
    assert small(metric, rows) < 1000
