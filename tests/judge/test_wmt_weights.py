"""Weighted references in the WMT protocol: segments that ΔBLEU cannot score are left out for every metric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.judge.wmt_world import SEGMENTS, SYSTEMS, make_task
from trubleu.data import Rankings, References, SegmentScores, SystemScores
from trubleu.errors import CountedWarning, DataError
from trubleu.judge.wmt.judge import judge_wmt
from trubleu.metrics import Bleu, DeltaBleu, SentenceDeltaBleu

if TYPE_CHECKING:
    from trubleu.judge.wmt.results import WmtReport
    from trubleu.judge.wmt.task import WmtTask

METRICS = {"bleu": Bleu(2), "dbleu": DeltaBleu(2), "sdbleu": SentenceDeltaBleu(2)}
WORTHLESS = (3, 11, 29)
WARNING = r"^de-en: segments without a reference of positive weight, left out for every metric: 3$"


def weighted(task: WmtTask, weights: dict[int, list[float | None]]) -> WmtTask:
    """Return the task with a second reference a segment, and weights; 0.9 and 0.5 where none are given."""
    texts = [[f"w{s}0 w{s}1 w{s}2 w{s}3", f"w{s}4 w{s}5 w{s}6 w{s}7"] for s in range(SEGMENTS)]
    rows = [weights.get(s, [0.9, 0.5]) for s in range(SEGMENTS)]
    return replace(task, references=References.from_lists(texts, rows))


def file_of(name: str, segments: list[str]) -> SegmentScores:
    rng = np.random.default_rng(6)
    table = rng.random((len(SYSTEMS), SEGMENTS))
    rows = [(system, s, table[i, int(s) - 1]) for i, system in enumerate(SYSTEMS) for s in segments]
    systems, places, scores = zip(*rows, strict=True)
    return SegmentScores(name, systems, places, scores, "de-en", source="file.seg.score")


def shortened(task: WmtTask) -> WmtTask:
    """Return the same task by hand, as if the worthless segments had never been there; names of segments stay."""
    kept = [s for s in range(SEGMENTS) if s not in WORTHLESS]
    found, references = task.rankings, task.references
    assert found is not None
    assert references is not None
    assert task.assessments is not None
    rows = [row for row in range(len(found)) if int(found.segments[found.segment[row]]) - 1 in kept]
    return replace(
        task,
        outputs={name: [texts[s] for s in kept] for name, texts in task.outputs.items()},
        references=References.from_lists(
            [[each.text for each in references[s].references] for s in kept],
            [[each.weight for each in references[s].references] for s in kept],
            [str(s + 1) for s in kept],
        ),
        rankings=Rankings.from_columns(
            segment=[found.segments[found.segment[row]] for row in rows],
            system_a=[found.systems[found.system_a[row]] for row in rows],
            rank_a=found.rank_a[rows].tolist(),
            system_b=[found.systems[found.system_b[row]] for row in rows],
            rank_b=found.rank_b[rows].tolist(),
            judge=[found.judges[found.judge[row]] for row in rows],
            ranking=[str(found.ranking[row]) for row in rows],
        ),
        assessments={name: [values[s] for s in kept] for name, values in task.assessments.items()},
        segment_scores=[file_of("file", [str(s + 1) for s in kept])],
    )


def judged(task: WmtTask, **options: Any) -> WmtReport:
    return judge_wmt([task], options.pop("metrics", METRICS), **{"resamples": 40, **options})


def rows_of(report: WmtReport) -> list[dict[str, Any]]:
    document = report.to_dict()
    return [row for name in ("agreements", "differences", "systems") for row in document[name]]


def everything() -> WmtTask:
    weights: dict[int, list[float | None]] = dict(zip(WORTHLESS, ([0.0, -0.5], [-1.0, -1.0], [0.0, 0.0]), strict=True))
    task = weighted(make_task(), weights)
    return replace(task, segment_scores=[file_of("file", [str(s + 1) for s in range(SEGMENTS)])])


@pytest.mark.parametrize("identical", ["expanded", "collapsed"])
@pytest.mark.filterwarnings("ignore:.*both ways")
def test_every_number_is_as_if_the_segments_were_not_there(identical: Any) -> None:
    task = everything()
    with pytest.warns(CountedWarning, match=WARNING):
        report = judged(task, identical=identical)
    assert rows_of(report) == rows_of(judged(shortened(task), identical=identical))
    assert report.agreement("assessments", "de-en", "bleu", "pearson").n == 2 * (SEGMENTS - 3)
    (warning,) = [note for note in report.notes if "positive weight" in note]
    assert warning.endswith(": 3")
    assert report.scored[0].ids == tuple(str(s + 1) for s in range(SEGMENTS) if s not in WORTHLESS)


def test_they_are_left_out_although_no_metric_looks_at_weights() -> None:
    task = everything()
    with pytest.warns(CountedWarning, match=WARNING):
        alone = judged(task, metrics={"bleu": Bleu(2)})
    with pytest.warns(CountedWarning, match=WARNING):
        beside = judged(task)
    for row in alone.agreements:
        assert beside.agreement(row.level, row.language_pair, row.metric, row.statistic) == row


def test_scores_of_systems_from_a_file_cannot_be_made_again() -> None:
    scores = SystemScores("sys", list(SYSTEMS), [5.0, 4.0, 3.5, 1.0, 2.0], "de-en")
    with pytest.warns(CountedWarning, match=WARNING):
        report = judged(replace(everything(), system_scores=[scores]))
    assert "sys: its scores of systems are from a file, so they include the segments left out" in report.notes


def test_names_that_really_are_not_there_are_still_told() -> None:
    rankings = Rankings.from_columns(
        segment=["1", "4", "99"], system_a=["good"] * 3, rank_a=[1] * 3, system_b=["bad"] * 3, rank_b=[2] * 3
    )
    with pytest.warns(CountedWarning) as caught:
        report = judged(replace(everything(), rankings=rankings))
    assert [str(warning.message) for warning in caught] == [
        "de-en: segments without a reference of positive weight, left out for every metric: 3",
        "de-en: rankings left out, as there is no segment 99: 1",
    ]
    assert report.agreement("rankings", "de-en", "bleu", "hties").n == 1


def test_weights_that_are_all_positive_leave_nothing_out() -> None:
    task = weighted(make_task(), {0: [0.1, -1.0]})
    assert judged(task).agreement("assessments", "de-en", "dbleu", "pearson").n == 2 * SEGMENTS


def test_no_segment_is_left() -> None:
    task = weighted(make_task(), {s: [0.0, -0.2] for s in range(SEGMENTS)})
    with pytest.raises(DataError, match=r"no segment of .* has a reference of positive weight; add some"):
        judged(task)


@pytest.mark.parametrize("metrics", [METRICS, {"bleu": Bleu(2)}])
def test_references_that_are_not_rated_yet(metrics: Any) -> None:
    task = weighted(make_task(), {2: [0.5, None], 5: [None, None]})
    with pytest.raises(DataError, match=r"not rated yet, in segments 3, 6; rate them .*--unrated-as W"):
        judged(task, metrics=metrics)
    given = weighted(make_task(), {2: [0.5, 0.3], 5: [0.3, 0.3]})
    report = judged(task, metrics=metrics, unrated_as=0.3)
    assert rows_of(report) == rows_of(judged(given, metrics=metrics))
    assert report.setting.unrated_as == 0.3
    with pytest.warns(CountedWarning, match=r"left out for every metric: 1$"):
        judged(task, metrics=metrics, unrated_as=0)
