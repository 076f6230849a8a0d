"""What a demo yielded, read from its folder."""

from __future__ import annotations

import csv
import json
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

from trubleu.data import References, read_text_lines
from trubleu.demo.folder import read_journal
from trubleu.demo.steps import COMPARED, METRICS, SYSTEMS
from trubleu.errors import DataError
from trubleu.simulate.world_files import read_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
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
    good_scores, good_p
        The same with the good references only, of a few metrics.
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
    raters, output_raters
        How many people rated references, and how many outputs: more than were asked for if they were interrupted.
    notes
        What judging warned of.
    """

    journal: Journal
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    truth: Mapping[str, float]
    people: Mapping[str, float]
    scores: Mapping[tuple[str, str], Score]
    p: Mapping[tuple[str, str, str], float]
    good_scores: Mapping[tuple[str, str], Score]
    good_p: Mapping[tuple[str, str, str], float]
    agreement: Mapping[str, Agreement]
    beats: Mapping[tuple[str, str], tuple[float, float | None]]
    references: References
    rated: tuple[RatedReference, ...]
    outputs: Mapping[str, Sequence[str]]
    qualities: Mapping[str, Sequence[float]]
    alpha: float | None
    raters: int
    output_raters: int
    notes: tuple[str, ...]

    @property
    def left_out(self) -> int:
        """How many segments have no good reference, so that metrics with weights leave them out."""
        return len(self.references.segments_without_positive())

    @property
    def good(self) -> int:
        """How many references are good: their weight is above 0."""
        return sum(each.weight > 0 for each in self.rated)

    @property
    def interrupted(self) -> tuple[str, ...]:
        """What was being rated when the demo was interrupted, if it was."""
        rated = {"rate study": "references", "rate pairs": "outputs"}
        return tuple(what for step, what in rated.items() if self.journal.begun.get(step, 0) > 1)


def read_results(folder: Path) -> Results:
    """Read the results of a demo in which everything but the report is done.

    Raises
    ------
    DataError
        If a file of it is not as the demo made it.
    """
    journal = read_journal(folder)
    with _reading(folder / "references.jsonl") as path:
        references = References.read(path)
        if len(references) != journal.options.segments:
            raise ValueError(f"{len(references)} segments instead of {journal.options.segments}")
    scores, p = _scores(folder / "scores.json", METRICS)
    good_scores, good_p = _scores(folder / "good-scores.json", COMPARED)
    with _reading(folder / "world" / "truth.csv") as path:
        qualities = _qualities(path, references.ids)
    with _reading(folder / "judge.json") as path:
        judged = _json(path)
        ratings = {row["system"]: float(row["mean_rating"]) for row in judged["systems"]}
        people = {name: ratings[name] for name in SYSTEMS}
        correlations = {row["metric"]: row for row in judged["correlations"]}
        agreement = {
            name: Agreement(
                rho=correlations[name]["spearman"],
                low=correlations[name]["spearman_low"],
                high=correlations[name]["spearman_high"],
            )
            for name in METRICS
        }
        beats = _beats(judged["comparisons"])
        notes = tuple(str(row["note"]) for row in judged["notes"])
    with _reading(folder / "status.json") as path:
        status = _json(path)
        alpha = status["agreement"][0]["alpha"]
        raters = sum(row["counted"] > 0 for row in status["raters"])
    with _reading(folder / "ratings.csv") as path, path.open(encoding="utf-8", newline="") as stream:
        output_raters = len({row["rater"] for row in csv.DictReader(stream)})
    return Results(
        journal=journal,
        systems=tuple(SYSTEMS),
        metrics=METRICS,
        truth={name: sum(values) / len(values) for name, values in qualities.items()},
        people=people,
        scores=scores,
        p=p,
        good_scores=good_scores,
        good_p=good_p,
        agreement=agreement,
        beats=beats,
        references=references,
        rated=_rated(folder),
        outputs={name: _outputs(folder / "world" / "outputs" / f"{name}.txt", len(references)) for name in SYSTEMS},
        qualities=qualities,
        alpha=alpha,
        raters=raters,
        output_raters=output_raters,
        notes=notes,
    )


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Say of a file that something has changed since it was made what is to be done."""
    try:
        yield path
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
        raise DataError(
            f"{path} is not as the demo made it ({reason}); remove it, and the same command makes it again"
        ) from error


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _scores(
    path: Path, metrics: Sequence[str]
) -> tuple[dict[tuple[str, str], Score], dict[tuple[str, str, str], float]]:
    """Return the scores, and what tests say of their differences."""
    with _reading(path):
        content = _json(path)
        scored = {
            (row["metric"], row["system"]): Score(
                value=float(row["score"]), low=float(row["low"]), high=float(row["high"])
            )
            for row in content["scores"]
        }
        tested = {
            (row["metric"], *pair): float(row["p_holm"])
            for row in content["tests"]
            for pair in permutations((row["a"], row["b"]))
        }
        # Every one is asked for: a file with fewer rows is not whole.
        return (
            {(metric, name): scored[metric, name] for metric in metrics for name in SYSTEMS},
            {(metric, *pair): tested[metric, *pair] for metric in metrics for pair in permutations(SYSTEMS, 2)},
        )


def _qualities(path: Path, ids: Sequence[str]) -> dict[str, list[float]]:
    """Return how good each system's outputs are, in the order of the segments."""
    found: dict[tuple[str, str], float] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            found[row["system"], row["item"]] = float(row["quality"])
    return {name: [found[name, segment] for segment in ids] for name in SYSTEMS}


def _outputs(path: Path, segments: int) -> Sequence[str]:
    with _reading(path):
        texts = read_text_lines(path)
        if len(texts) != segments:
            raise ValueError(f"{len(texts)} lines instead of {segments}")
        return texts


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
    with _reading(folder / "references.jsonl") as path:
        return tuple(
            RatedReference(
                segment=segment["id"],
                text=reference["text"],
                origin=reference["origin"],
                ratings=tuple(reference["ratings"]),
                weight=reference["weight"],
                quality=world.quality(segment["message"], reference["text"]),
            )
            for segment in map(json.loads, read_text_lines(path))
            for reference in segment["references"]
        )
