"""What was kept is not made again, whatever the engine; what depends on anything that has changed is."""

from __future__ import annotations

import os
import pickle
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import trubleu
from tests.judge.wmt_world import METRICS, make_task
from tests.judge.world import make_world
from trubleu.data import Ratings, References
from trubleu.errors import CountedWarning, DataError, TrubleuWarning, UsageError
from trubleu.execution import Engine, engine
from trubleu.execution.local import InThisProcess
from trubleu.execution.serialization import Packing
from trubleu.files import paths
from trubleu.judge import Protocol, judge_pairs, judge_wmt, parallel
from trubleu.judge.pairs import observations
from trubleu.judge.parallel import Slice, ToldPacking, Where, shared, slices_of
from trubleu.judge.wmt import measures
from trubleu.scoring.partitions import signatures_of
from trubleu.vectors import VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

PROTOCOL = Protocol(unit=4, draws=40, resamples=70, sweeps=("order", "unit"), sweep_draws=3, sweep_resamples=3)
WORLD = make_world(segments=24)


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of partitions that were worked on in this process."""
    names: list[str] = []
    now: list[object] = []
    telling: Any = parallel._Telling.__call__

    def noted(self: Any, partition: object, state: object) -> Any:
        if not now:  # points of sweeps have maps of their own
            names.append(str(partition))
        now.append(partition)
        try:
            return telling(self, partition, state)
        finally:
            now.pop()

    monkeypatch.setattr(parallel._Telling, "__call__", noted)
    monkeypatch.setattr(observations, "SLICE_AIM", 0)  # slices of 32
    monkeypatch.setattr(measures, "SLICE_WORK", 0)
    monkeypatch.setattr(measures, "FEWEST_AT_ONCE", 20)
    return names


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with engine("local:2") as processes:
        yield processes


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one folder for all that is kept of the world and of what it is changed into."""
    return tmp_path_factory.mktemp("known")


def pairs(keep: object, place: Engine | None = None, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "systems": WORLD.systems,
        "references": WORLD.references,
        "ratings": WORLD.ratings,
        "metrics": {"dbleu-2": trubleu.metric("dbleu-2"), "chrf": trubleu.metric("chrf")},
        "conditions": ["all"],
        "protocol": PROTOCOL,
    }
    return judge_pairs(**{**given, **changes}, engine=place, keep=keep).to_dict()  # type: ignore[arg-type]


def wmt(keep: object, place: Engine | None = None, **changes: Any) -> dict[str, Any]:
    tasks = changes.pop("tasks", None) or [make_task("de-en"), make_task("en-ru", seed=5)]
    metrics = changes.pop("metrics", METRICS)
    return judge_wmt(tasks, metrics, engine=place, keep=keep, **{"resamples": 50, **changes}).to_dict()  # type: ignore[arg-type]


@pytest.mark.parametrize("judged", [pairs, wmt])
def test_what_workers_kept_is_found_here(
    two: Engine, judged: Callable[..., dict[str, Any]], worked: list[str], tmp_path: Path
) -> None:
    alone = judged(None)
    parts = sorted(worked)
    assert judged(tmp_path, two) == alone
    assert len(list(tmp_path.iterdir())) == len(parts)  # every kind of result
    worked.clear()
    for threads in (None, 3):
        assert judged(tmp_path, InThisProcess(threads)) == alone
    assert worked == []


@pytest.mark.parametrize("judged", [pairs, wmt])
def test_work_that_was_interrupted_goes_on(
    judged: Callable[..., dict[str, Any]], worked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = judged(None)
    parts = list(worked)
    worked.clear()
    noted: Any = parallel._Telling.__call__

    def interrupted(self: Any, partition: object, state: object) -> Any:
        if len(worked) == len(parts) - 5:
            raise KeyboardInterrupt
        return noted(self, partition, state)

    with monkeypatch.context() as patch:
        patch.setattr(parallel._Telling, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            judged(tmp_path)
    assert worked == parts[:-5]
    assert judged(tmp_path) == alone
    assert worked == parts


@pytest.mark.parametrize("judged", [pairs, wmt])
def test_damaged_files_are_made_again(judged: Callable[..., dict[str, Any]], worked: list[str], tmp_path: Path) -> None:
    alone = judged(tmp_path)
    kept = {path: path.read_bytes() for path in sorted(tmp_path.iterdir())}
    first, second, third, fourth, *_ = kept
    first.write_bytes(kept[first][:-1])
    second.write_bytes(b"")
    third.write_bytes(kept[fourth])
    fourth.unlink()
    worked.clear()
    assert judged(tmp_path) == alone
    assert len(worked) == 4
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == kept


def rated(score: int) -> Ratings:
    """Return the ratings with another score in their first row."""
    return replace(WORLD.ratings, score=[score, *WORLD.ratings.score[1:]])


def references(first: str, weight: float) -> References:
    """Return the references with another first one."""
    given = WORLD.references
    assert given.weights is not None
    return References(
        [first, *given.texts[1:]],
        given.offsets,
        [weight, *given.weights[1:]],
        ids=given.ids,
        origins=given.origins,
    )


TEXT, WEIGHT = WORLD.references.texts[0], WORLD.rated[0][0][1]
DBLEU, CHRF = trubleu.metric("dbleu-2"), trubleu.metric("chrf")
DRAWS, BOOTSTRAP = ["draws 1 to 32", "draws 33 to 40"], ["draws 1 to 32", "draws 33 to 64", "draws 65 to 70"]
ORDERS = [f"the sweep over orders at {order}" for order in (1, 2, 3, 4)]
UNITS = ["draws 1 to 1", *["draws 1 to 3"] * 5]
EVERYTHING = [*DRAWS, *BOOTSTRAP, *ORDERS, *UNITS]


@pytest.mark.parametrize(
    ("changes", "made"),
    [
        ({}, []),
        ({"ratings": rated(1 if WORLD.ratings.score[0] > 2 else 5)}, EVERYTHING),
        ({"references": references(f"{TEXT} z", WEIGHT)}, EVERYTHING),
        ({"references": references(TEXT, WEIGHT / 2)}, EVERYTHING),
        ({"systems": {**WORLD.systems, "A": ["h g f e", *WORLD.systems["A"][1:]]}}, EVERYTHING),
        ({"metrics": {"dbleu-2": DBLEU, "chrf": trubleu.metric("chrf[beta=3]")}}, EVERYTHING),
        ({"metrics": {"dbleu-2": DBLEU, "chrf of mine": CHRF}}, EVERYTHING),
        ({"protocol": replace(PROTOCOL, seed=1)}, EVERYTHING),
        ({"protocol": replace(PROTOCOL, draws=41)}, ["draws 1 to 32", "draws 33 to 41"]),
        ({"protocol": replace(PROTOCOL, resamples=71)}, [*BOOTSTRAP[:2], "draws 65 to 71"]),
        ({"protocol": replace(PROTOCOL, sweep_draws=4)}, [*ORDERS, *["draws 1 to 4"] * 2]),
        ({"protocol": replace(PROTOCOL, confidence=0.9)}, ORDERS),
        ({"protocol": replace(PROTOCOL, sweeps=("unit",))}, []),
    ],
)
def test_what_has_changed_is_made_again(
    changes: dict[str, Any], made: list[str], worked: list[str], known: Path
) -> None:
    pairs(known)
    worked.clear()
    found = pairs(known, **changes)
    assert worked == made
    assert found == pairs(None, **changes)


def test_what_has_changed_in_a_language_pair(worked: list[str], tmp_path: Path) -> None:
    task = make_task()
    assert task.human is not None
    assert task.references is not None
    wmt(tmp_path, tasks=[task])
    whole = list(worked)
    scored = [name for name in whole if " by " in name]
    tested = [name for name in whole if name.startswith("the permutation test")]
    assert len(scored) == len(METRICS) * len(task.outputs)
    first, *texts = task.references.texts
    slices = ["draws 1 to 20", "draws 21 to 40", "draws 41 to 50"]
    assert whole == [*scored, *slices * 3, *tested]
    for changed, options, made in (
        (task, {"tau": "wmt12"}, []),
        (replace(task, human={**task.human, "good": 9.0}), {}, [*slices, *tested]),
        (task, {"seed": 1}, [*slices * 3, *tested]),
        (replace(task, assessments={"fair": list(map(float, range(30)))}), {}, [*slices, *tested]),
        # Ranked pairs are the same all the same.
        (replace(task, references=References([f"{first} z", *texts], range(31))), {}, [*scored, *slices * 2, *tested]),
    ):
        worked.clear()
        found = wmt(tmp_path, tasks=[changed], **options)
        assert worked == made
        assert found == wmt(None, tasks=[changed], **options)


def test_another_metric_or_system_leaves_scores_as_they_are(worked: list[str], tmp_path: Path) -> None:
    task = make_task()
    assert task.human is not None
    wmt(tmp_path, tasks=[task])
    more = {**METRICS, "more": trubleu.metric("bleu-1")}
    outputs, human = {**task.outputs, "new": task.outputs["good"]}, {**task.human, "new": 0.5}
    longer = replace(task, outputs=outputs, human=human)
    for metrics, changed, made in (
        (more, task, [f"{system} by more" for system in task.outputs]),
        (more, longer, [f"new by {metric}" for metric in more]),
    ):
        worked.clear()
        found = wmt(tmp_path, tasks=[changed], metrics=metrics)
        assert [name for name in worked if " by " in name] == made
        assert found == wmt(None, tasks=[changed], metrics=metrics)


class Scaled(trubleu.Bleu):
    """Scores that depend on a file, which the signature tells of."""

    def __init__(self, path: Path) -> None:
        super().__init__(2)
        self.path = path

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return super().score(statistics) * float(self.path.read_text())

    def signature(self, references: Any = None) -> Any:
        return super().signature(references).extended(scale=self.path.read_text())


@pytest.mark.parametrize("judged", [pairs, wmt])
def test_what_only_a_signature_tells(judged: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    scale, keep = tmp_path / "scale", tmp_path / "kept"
    for number in ("1.0", "-1.0"):
        scale.write_text(number)
        metrics = {"scaled": Scaled(scale), "bleu-2": trubleu.metric("bleu-2")}
        assert judged(keep, metrics=metrics) == judged(None, metrics=metrics)


class Counting(trubleu.Bleu):
    """A metric that notes in its signature how often it was used."""

    used = 0

    def statistics(self, *given: Any, **more: Any) -> Any:
        self.used += 1
        return super().statistics(*given, **more)

    def signature(self, references: Any = None) -> Any:
        return super().signature(references).extended(used=self.used)


def test_nodes_are_not_told_apart_within_a_process() -> None:
    counting = Counting(2)
    wmt(None, tasks=[make_task()], metrics={"counting": counting})
    assert counting.used == len(make_task().outputs)


def test_other_vectors_under_the_same_path(worked: list[str], tmp_path: Path) -> None:
    store, keep = tmp_path / "a.store", tmp_path / "kept"
    ngrams = ["a", "b", "c", "d", "a b", "a b c", "a b c d"]

    def judged() -> dict[str, Any]:
        metric = trubleu.DeltaBleu2Vec(1, vectors=VectorStore(store))
        return pairs(keep, metrics={"near": metric}, protocol=replace(PROTOCOL, sweeps=("order",)))

    VectorStore.write(store, ngrams, np.eye(7) + 0.3)
    before = judged()
    worked.clear()
    assert judged() == before
    assert worked == []
    VectorStore.write(store, ngrams, np.eye(7) + 0.8)
    assert judged() != before
    assert worked == [*DRAWS, *BOOTSTRAP, *ORDERS]


def test_a_node_with_other_vectors(tmp_path: Path) -> None:
    store = tmp_path / "a.store"
    VectorStore.write(store, ["a", "b"], np.eye(2))
    metrics = {"near": trubleu.DeltaBleu2Vec(1, vectors=VectorStore(store))}
    sent = pickle.dumps(parallel._Telling(complain, 1, metrics, signatures_of(metrics), ("another node", os.getpid())))
    VectorStore.write(store, ["a", "b"], np.eye(2) + 0.3)
    there = pickle.loads(sent)  # noqa: S301 - our own
    with pytest.raises(
        UsageError, match=r"^the metric near is .* on the node .*, but .* where the work was begun; let"
    ):
        there(Slice(0, 1), None)


class OwnWarning(UserWarning):
    """A warning that only its author knows."""


def complain(part: Slice, _state: None, _threads: int | None) -> int:
    """Warn of every slice, in some of a kind that is not known, and refuse the last."""
    warnings.warn("division by zero", RuntimeWarning, stacklevel=1)
    warnings.warn(f"slice {part.first % 4}", OwnWarning if part.first == 2 else TrubleuWarning, stacklevel=1)
    warnings.warn(CountedWarning("cases", part.count), stacklevel=1)
    if part.first == 8:
        raise DataError("the sum is below 0")
    return part.count


def test_warnings_come_again_and_so_do_errors(worked: list[str], tmp_path: Path) -> None:
    def told(keep: str | None) -> list[tuple[object, ...]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(DataError, match=r"^the sum is below 0$"):
                list(shared(Where(engine("local"), keep), complain, slices_of(9, 2)))
        return [(each.category, str(each.message), each.filename, each.lineno) for each in caught]

    alone = told(None)
    assert len(alone) == 1 + 3 + 5
    assert told(str(tmp_path)) == alone
    assert len(list(tmp_path.iterdir())) == 3
    worked.clear()
    assert told(str(tmp_path)) == alone
    assert worked == ["draws 3 to 4", "draws 9 to 9"]


@pytest.mark.parametrize("line", [-1, 2**40, True, "1"])
def test_a_warning_at_no_line_was_kept_by_nobody(line: object) -> None:
    packed = Packing().pack((1, [("TrubleuWarning", ("a",), "file.py", line)]))
    assert packed is not None
    header, arrays = packed
    with pytest.raises(TypeError, match=r"^this is no place in a file$"):
        ToldPacking(Packing()).unpack(header, arrays.__getitem__)


def test_a_folder_elsewhere(worked: list[str]) -> None:
    folder = "memory://kept-judgements"
    try:
        found = pairs(folder)
        worked.clear()
        assert pairs(folder) == found
        assert worked == []
    finally:
        for file in paths.files_below(folder):
            paths.remove(file)


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    class Mine(trubleu.Bleu):
        pass

    for judged in (pairs, wmt):
        with pytest.raises(
            UsageError, match=r"^results cannot be cached: .*Mine.*; use functions and classes that can"
        ):
            judged(tmp_path, metrics={"mine": Mine(1)})
        (tmp_path / "file").touch()
        with pytest.raises(DataError, match=rf"^the folder {re.escape(str(tmp_path / 'file'))} cannot be created"):
            judged(tmp_path / "file")
