"""A small made-up task of WMT: outputs, references, official scores of systems, and ranked pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trubleu.data import Rankings, References, SegmentScores
from trubleu.judge import judge_ratings
from trubleu.metrics import Bleu, SentenceBleu, Ter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.data import Ratings
    from trubleu.judge import RatingsReport

SEGMENTS = 30
SYSTEMS = ("good", "fair", "poor", "bad", "worst")
METRICS = {"bleu": Bleu(2), "sbleu": SentenceBleu(2), "ter": Ter()}


class Task(NamedTuple):
    """What `judge_ratings` takes."""

    outputs: Mapping[str, Sequence[str]]
    references: References
    human: Mapping[str, float] | None
    rankings: Rankings | Ratings | None


def texts_of(quality: float, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"w{s}{i}" if rng.random() < quality else f"x{rng.integers(9)}" for i in range(8))
        for s in range(SEGMENTS)
    ]


def make_task(seed: int = 0) -> Task:
    rng = np.random.default_rng(seed)
    qualities = dict(zip(SYSTEMS, (0.95, 0.8, 0.6, 0.4, 0.2), strict=True))
    outputs = {name: texts_of(quality, seed + place) for place, (name, quality) in enumerate(qualities.items())}
    columns: dict[str, list[Any]] = {
        name: [] for name in ("segment", "system_a", "rank_a", "system_b", "rank_b", "judge", "ranking")
    }
    for number in range(60):
        segment = int(rng.integers(SEGMENTS))
        ranks = {name: int(np.clip(np.round(5 - 4 * q + rng.normal()), 1, 5)) for name, q in qualities.items()}
        for place, a in enumerate(SYSTEMS):
            for b in SYSTEMS[place + 1 :]:
                values = (str(segment + 1), a, ranks[a], b, ranks[b], f"judge{number % 3}", str(number))
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
    references = References.from_lists([[" ".join(f"w{s}{i}" for i in range(8))] for s in range(SEGMENTS)])
    human = {name: quality + 0.1 * float(rng.normal()) for name, quality in qualities.items()}
    return Task(outputs, references, human, Rankings.from_columns(**columns))  # type: ignore[arg-type]


def judged(task: Task, **options: Any) -> RatingsReport:
    metrics = options.pop("metrics", METRICS)
    options = {"resamples": 50, "trials": 100, "human": task.human, **options}
    return judge_ratings(task.outputs, task.references, task.rankings, metrics, **options)


def rank_rows(task: Task) -> list[tuple[str, int, str, int, str, int]]:
    found = task.rankings
    assert isinstance(found, Rankings)
    return [
        (
            f"{found.ranking[row]}",
            int(found.segments[found.segment[row]]) - 1,
            found.systems[found.system_a[row]],
            int(found.rank_a[row]),
            found.systems[found.system_b[row]],
            int(found.rank_b[row]),
        )
        for row in range(len(found))
    ]


def scores_of(task: Task, name: str) -> dict[str, Any]:
    metric = METRICS[name]
    sign = 1 if metric.higher_is_better else -1
    return {system: sign * metric.segments(texts, task.references) for system, texts in task.outputs.items()}


def ranked(*ranks: tuple[int, int]) -> Rankings:
    """Return rankings of good and bad, in one segment after the other."""
    return Rankings.from_columns(
        segment=[str(place + 1) for place in range(len(ranks))],
        system_a=["good"] * len(ranks),
        rank_a=[a for a, _ in ranks],
        system_b=["bad"] * len(ranks),
        rank_b=[b for _, b in ranks],
    )


def scores_in_order(*scores: tuple[float, float]) -> SegmentScores:
    """Return scores of good and bad, in one segment after the other."""
    return SegmentScores(
        "mine",
        ["good", "bad"] * len(scores),
        [str(place + 1) for place in range(len(scores)) for _ in range(2)],
        [score for both in scores for score in both],
    )
