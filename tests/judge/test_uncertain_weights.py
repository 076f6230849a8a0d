"""Intervals of `judge ratings` that know of the raters of references, against raters drawn anew by brute force."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from tests.scoring.test_rating_errors import world
from trubleu import References, metric
from trubleu.cli import main
from trubleu.data import Rankings, Ratings
from trubleu.errors import DataError
from trubleu.judge import judge_ratings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from trubleu.judge.ratings.results import RatingsReport

SEGMENTS, RATERS, LEVEL = 60, 6, 0.3


class World(NamedTuple):
    """References of known weights with three raters each, outputs, and what people think of these."""

    texts: list[str]
    true: NDArray[np.float64]
    raters: NDArray[np.int64]
    systems: dict[str, list[str]]
    scores: dict[str, NDArray[np.int64]]

    def references(self, values: NDArray[np.float64]) -> References:
        """References of which each has three values."""
        weights = np.clip(values.mean(axis=1), -1, 1)
        weights[::4] = np.maximum(weights[::4], 0.001)
        rated = [
            tuple((str(rater), float(value)) for rater, value in zip(*row, strict=True))
            for row in zip(self.raters, values, strict=True)
        ]
        errors = np.full(len(weights), 0.1)
        return References(self.texts, np.arange(SEGMENTS + 1) * 4, weights, ratings=rated, weight_errors=errors)

    def values(self, draws: np.random.Generator, noise: float = 0.1) -> NDArray[np.float64]:
        """What raters say, who are new each time."""
        levels = LEVEL * draws.standard_normal(RATERS)
        return self.true[:, None] + levels[self.raters] + noise * draws.standard_normal((len(self.true), 3))

    @property
    def ratings(self) -> Ratings:
        items = [str(number) for number in range(1, SEGMENTS + 1)] * len(self.scores)
        systems = [name for name in self.scores for _ in range(SEGMENTS)]
        scores = np.concatenate([*self.scores.values()]).tolist()
        return Ratings(items, systems, ["ann"] * len(items), scores)


@pytest.fixture(scope="module")
def known() -> World:
    draws = np.random.default_rng(5)
    texts, true, outputs = world(SEGMENTS, draws)
    systems = {"a": outputs, "b": outputs[::-1], "c": [" ".join(reversed(text.split())) for text in outputs]}
    references = References(texts, np.arange(SEGMENTS + 1) * 4, true)
    found = {name: metric("sdbleu-2").segments(texts, references) for name, texts in systems.items()}
    every = np.concatenate([*found.values()])
    scores = {
        name: np.clip(np.round(3 + (own - every.mean()) / every.std() + 0.7 * draws.standard_normal(SEGMENTS)), 1, 5)
        for name, own in found.items()
    }
    raters = np.array([draws.choice(RATERS, 3, replace=False) for _ in true])
    return World(texts, true, raters, systems, {name: own.astype(np.int64) for name, own in scores.items()})


def judged(known: World, references: References, resample: str, *names: str) -> RatingsReport:
    return judge_ratings(
        known.systems,
        references,
        known.ratings,
        {name: metric(name) for name in names or ("sdbleu-2",)},
        segment_measure="pearson-pooled",
        resample=resample,
        trials=1,
    )


def spread(report: RatingsReport, name: str = "sdbleu-2") -> float:
    row = report.measure("segment", "pearson-pooled", name)
    assert row.low is not None
    assert row.high is not None
    return (row.high - row.low) / (2 * 1.96)


def test_errors_are_those_of_raters_drawn_anew(known: World) -> None:
    draws = np.random.default_rng(1)
    chosen = metric("sdbleu-2")
    people = np.concatenate([*known.scores.values()])

    def agreement() -> float:
        references = known.references(known.values(draws, noise=0.0))
        scores = np.concatenate([chosen.segments(texts, references) for texts in known.systems.values()])
        return float(np.corrcoef(scores, people)[0, 1])

    brute = float(np.std([agreement() for _ in range(150)]))
    added = []
    for _ in range(5):
        references = known.references(known.values(draws))
        with_raters, without = (spread(judged(known, references, each)) for each in ("ratings", "segments"))
        added.append(with_raters**2 - without**2)
    assert 0.6 < math.sqrt(np.mean(added)) / brute < 1.7


def test_metrics_without_weights_and_values_stay_as_they_are(known: World) -> None:
    references = known.references(known.values(np.random.default_rng(2)))
    plain, wide = (judged(known, references, each, "sdbleu-2", "chrf") for each in ("segments", "ratings"))
    assert spread(plain, "chrf") == spread(wide, "chrf")
    assert spread(plain) < spread(wide)
    assert [row.value for row in plain.measures] == [row.value for row in wide.measures]
    assert plain.differences == wide.differences
    assert judged(known, references, "ratings", "sdbleu-2", "chrf") == wide


def test_systems_and_rankings(known: World) -> None:
    references = known.references(known.values(np.random.default_rng(2)))
    shifted = {f"{name}{by}": texts[by:] + texts[:by] for by in (1, 2) for name, texts in known.systems.items()}
    scores = {name: np.roll(known.scores[name[0]], -int(name[1])) for name in shifted}
    more = known._replace(systems={**known.systems, **shifted}, scores={**known.scores, **scores})
    plain, wide = (
        judge_ratings(
            more.systems,
            references,
            more.ratings,
            {"sdbleu-2": metric("sdbleu-2")},
            system_measure="pearson",
            resample=each,
            resamples=200,
            trials=1,
        ).measure("system", "pearson", "sdbleu-2")
        for each in ("segments", "ratings")
    )
    assert plain.value == wide.value
    assert (plain.low, plain.high) != (wide.low, wide.high)
    assert wide.high is not None
    assert wide.high <= 1
    rankings = Rankings.from_columns(
        segment=references.ids,
        system_a=["a"] * SEGMENTS,
        rank_a=[1] * SEGMENTS,
        system_b=["b"] * SEGMENTS,
        rank_b=(1 + np.arange(SEGMENTS) % 3).tolist(),
    )
    found = judge_ratings(
        known.systems, references, rankings, {"sdbleu-2": metric("sdbleu-2")}, resample="ratings", trials=1
    ).measure("segment", "acc-eq-calibrated", "sdbleu-2")
    assert found.low is not None
    assert found.value is not None
    assert found.low < found.value
    human = {name: float(np.mean(each)) for name, each in more.scores.items()}
    narrow, broad = (
        judge_ratings(
            *(more.systems, references, None, {"sdbleu-2": metric("sdbleu-2")}), human=human, resample=each, trials=1
        ).measure("system", "pearson", "sdbleu-2")
        for each in ("segments", "ratings")
    )
    assert narrow.value == broad.value
    assert (narrow.low, narrow.high) != (broad.low, broad.high)


def test_why_intervals_may_be_those_of_segments(known: World) -> None:
    references = known.references(known.values(np.random.default_rng(2)))
    alone = judged(known, references, "ratings", "chrf")
    assert "intervals are those of segments, as no metric uses weights" in alone.notes
    nameless = References(
        references.texts, references.offsets, references.weights, weight_errors=references.weight_errors
    )
    found = judged(known, nameless, "ratings")
    assert (
        "intervals are those of segments, as no rater of references has a name and a level of their own" in found.notes
    )
    with pytest.raises(DataError, match="does not say how certain its weights are; give ratings by several people"):
        judged(known, References(references.texts, references.offsets, references.weights), "ratings")


def test_command(known: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.clip(np.round(3 + 2 * known.values(np.random.default_rng(3))), 1, 5).astype(int)
    scores[::4] = np.maximum(scores[::4], 4)  # every segment needs a good reference
    with (tmp_path / "refs.jsonl").open("w", encoding="utf-8") as file:
        for segment in range(SEGMENTS):
            texts = [
                {
                    "text": known.texts[at],
                    "ratings": scores[at].tolist(),
                    "raters": [f"r{rater}" for rater in known.raters[at]],
                }
                for at in range(4 * segment, 4 * segment + 4)
            ]
            file.write(json.dumps({"id": str(segment + 1), "references": texts}) + "\n")
    for name, outputs in known.systems.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(outputs) + "\n")
    known.ratings.write(tmp_path / "ratings.csv")
    command = ["judge", "ratings", str(tmp_path / "ratings.csv"), *(str(tmp_path / f"{name}.txt") for name in "abc")]
    command += ["--refs", str(tmp_path / "refs.jsonl"), "-m", "sdbleu-2", "--trials", "10", "--resamples", "100"]
    assert main([*command, "--resample", "ratings"]) == 0
    assert (
        "intervals: 95 %, percentile bootstrap over segments, with errors of the references' ratings, 100 resamples"
        in capsys.readouterr().out
    )
    (tmp_path / "scores.csv").write_text("id,system,metric,score\n")
    for name, outputs in known.systems.items():
        with (tmp_path / "scores.csv").open("a") as file:
            file.writelines(f"{n},{name},other,{len(text)}\n" for n, text in enumerate(outputs, 1))
    without = ["judge", "ratings", str(tmp_path / "ratings.csv"), "--scores", str(tmp_path / "scores.csv")]
    assert main([*without, "--resample", "ratings"]) == 2
    assert "without references there are no ratings of them to draw; let intervals draw segments" in (
        capsys.readouterr().err
    )
