"""What a demo yielded, read from its folder."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trubleu.data import References, read_text_lines
from trubleu.demo.folder import read_journal
from trubleu.demo.steps import METRICS, SYSTEMS
from trubleu.simulate.world_files import read_world

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from trubleu.demo.folder import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A metric's score of a system, with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How well a metric agrees with people: Spearman's ρ with its interval; None where it is undefined."""

    rho: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedReference:
    """A candidate that became a reference.

    Attributes
    ----------
    segment, text, origin
        What it is.
    ratings, weight
        What raters think of it.
    quality
        How good it is in truth, from 1 to 5.
    """

    segment: str
    text: str
    origin: str
    ratings: tuple[int, ...]
    weight: float
    quality: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that the report shows.

    Attributes
    ----------
    journal
        What was done.
    systems, metrics
        Names.
    truth
        The mean quality of each system's outputs, from 1 to 5.
    people
        The mean rating of each system's outputs.
    scores
        By metric and system.
    p
        Holm's p of the difference between two systems under a metric, by metric and the two names in either order.
    agreement
        By metric.
    beats
        By two metrics: how much larger the first one's ρ is, and Holm's p of that; None where undefined.
    references
        The weighted references of each segment.
    rated
        The same, with what raters said and what is true.
    outputs
        By system, in the order of the segments.
    qualities
        How good they are in truth, in the same order.
    alpha
        Krippendorff's α of the raters of references; None where undefined.
    """

    journal: Journal
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    truth: Mapping[str, float]
    people: Mapping[str, float]
    scores: Mapping[tuple[str, str], Score]
    p: Mapping[tuple[str, str, str], float]
    agreement: Mapping[str, Agreement]
    beats: Mapping[tuple[str, str], tuple[float, float | None]]
    references: References
    rated: tuple[RatedReference, ...]
    outputs: Mapping[str, Sequence[str]]
    qualities: Mapping[str, Sequence[float]]
    alpha: float | None


def read_results(folder: Path) -> Results:
    """Read the results of a demo in which everything but the report is done."""
    scores = _json(folder / "scores.json")
    judged = _json(folder / "judge.json")
    references = References.read(folder / "references.jsonl")
    qualities = _qualities(folder / "world" / "truth.csv", references.ids)
    return Results(
        journal=read_journal(folder),
        systems=tuple(SYSTEMS),
        metrics=METRICS,
        truth={name: sum(values) / len(values) for name, values in qualities.items()},
        people={row["system"]: row["mean_rating"] for row in judged["systems"]},
        scores={
            (row["metric"], row["system"]): Score(value=row["score"], low=row["low"], high=row["high"])
            for row in scores["scores"]
        },
        p={
            (row["metric"], first, second): row["p_holm"]
            for row in scores["tests"]
            for first, second in ((row["a"], row["b"]), (row["b"], row["a"]))
        },
        agreement={
            row["metric"]: Agreement(rho=row["spearman"], low=row["spearman_low"], high=row["spearman_high"])
            for row in judged["correlations"]
        },
        beats=_beats(judged["comparisons"]),
        references=references,
        rated=_rated(folder),
        outputs={name: read_text_lines(folder / "world" / "outputs" / f"{name}.txt") for name in SYSTEMS},
        qualities=qualities,
        alpha=_json(folder / "status.json")["agreement"][0]["alpha"],
    )


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _qualities(path: Path, ids: Sequence[str]) -> dict[str, list[float]]:
    """Return how good each system's outputs are, in the order of the segments."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found[row["system"]][row["item"]] = float(row["quality"])
    return {name: [found[name][segment] for segment in ids] for name in SYSTEMS}


def _beats(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[float, float | None]]:
    found: dict[tuple[str, str], tuple[float, float | None]] = {}
    for row in rows:
        difference, p = row["spearman_difference"], row["spearman_p_holm"]
        if difference is not None:
            found[row["metric_x"], row["metric_y"]] = (difference, p)
            found[row["metric_y"], row["metric_x"]] = (-difference, p)
    return found


def _rated(folder: Path) -> tuple[RatedReference, ...]:
    world = read_world(folder / "world")
    return tuple(
        RatedReference(
            segment=segment["id"],
            text=reference["text"],
            origin=reference["origin"],
            ratings=tuple(reference["ratings"]),
            weight=reference["weight"],
            quality=world.quality(segment["message"], reference["text"]),
        )
        for segment in map(json.loads, read_text_lines(folder / "references.jsonl"))
        for reference in segment["references"]
    )
