"""The segments where a metric and people disagree most, for the judge page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.errors import UsageError
from trubleu.explain.segment import explain, is_explainable
from trubleu.explain.similarity import SimilarityExplanation
from trubleu.judge.pairs.results import Measure
from trubleu.render.charts import number_text
from trubleu.render.explanations import (
    ReferenceView,
    RunView,
    matched_ngrams,
    matched_view,
    output_view,
    output_words,
    plain_runs,
    reference_view,
    similarity_views,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.data.references import Segment
    from trubleu.explain.similarity import AnyExplanation
    from trubleu.judge.pairs.results import CorrelationRow, PairsReport
    from trubleu.metrics import Metric

MOST_REFERENCES: Final = 40
"""Maximum references shown per side besides the decisive ones; there can be a thousand."""

_SIDES: Final = {-1: "B", 0: "0", 1: "A"}


class Observation(NamedTuple):
    """One segment under one pair of systems.

    Attributes
    ----------
    evidence
        The place of its pair in `PairsReport.evidence`.
    place
        Its place among the segments there.
    metric, rating
        What the metric and people think of A more than of B; below 0 where they prefer B.
    disagreement
        From 0 to 1, see `disagreements`.
    """

    evidence: int
    place: int
    metric: float
    rating: float
    disagreement: float

    @property
    def kind(self) -> str:
        """The preference of the metric, then of people: ``A``, ``B``, or ``0`` for neither."""
        return "".join(_SIDES[(value > 0) - (value < 0)] for value in (self.metric, self.rating))


class Selection(NamedTuple):
    """The observations to browse: those with the largest disagreement, the total, and how many have no score."""

    observations: list[Observation]
    total: int
    unscored: int


class SideView(NamedTuple):
    """One system's output and its score."""

    system: str
    rating: str
    score: str
    output: Sequence[RunView]
    decisive: Sequence[ReferenceView]
    others: Sequence[ReferenceView]
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationView:
    """One segment under one pair; ``search`` holds the searchable text."""

    id: str
    pair: int
    kind: str
    metric: float
    rating: float
    disagreement: str
    verdict: str
    message: str | None
    context: Sequence[str]
    search: str
    sides: Sequence[SideView]
    scores: Sequence[tuple[str, str, str]]


def disagreements(metric: NDArray[np.float64], rating: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank disagreement between metric and people for each observation.

    Both are converted to ranks, as a share of the observations. Every observation enters with both signs, as in the
    correlations, so the order of the systems in a pair does not matter. Ties share their mean rank.

    Parameters
    ----------
    metric, rating
        Differences between the systems of a pair, A − B, one for each observation.

    Returns
    -------
    ndarray
        From 0 (both rank it alike) to nearly 1.

    Examples
    --------
    >>> disagreements(np.array([2.0, 1.0]), np.array([2.0, -1.0])).tolist()
    [0.0, 0.25]
    """
    # Ranks are multiples of one half, so distances are exact and ties stay ties.
    result: NDArray[np.float64] = np.abs(_ranks(metric) - _ranks(rating)) / max(2 * len(metric), 1)
    return result


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    mirrored = np.concatenate([values, -values])
    _, inverse, counts = np.unique(mirrored, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    ranks: NDArray[np.float64] = middle[inverse[: len(values)]]
    return ranks


def can_be_shown(metric: Metric | None, measure: Measure) -> bool:
    """Return whether a single segment can be explained.

    External scores cannot, nor those of a metric that learns: they depend on other segments.
    """
    return metric is not None and measure.condition is not None and is_explainable(metric) and not metric.learns


def default_measure(report: PairsReport) -> Measure | None:
    """Return the measure to browse by: the best explainable one, under all references if possible.

    None if there is no measure.
    """

    def rank(row: CorrelationRow) -> tuple[bool, bool, float]:
        able = can_be_shown(report.metrics.get(row.metric), _measure(row))
        return able, row.condition == "all", -np.inf if row.spearman is None else row.spearman

    best = max(report.correlations, key=rank, default=None)
    return None if best is None else _measure(best)


def _measure(row: CorrelationRow) -> Measure:
    return Measure(metric=row.metric, condition=row.condition)


def most_disagreeing(report: PairsReport, measure: Measure, count: int) -> Selection:
    """Return the observations where a measure and people disagree most; ties in order.

    Raises
    ------
    UsageError
        If the report does not hold the measure, or the count is below 0.
    """
    if count < 0:
        raise UsageError(f"{count} observations cannot be browsed; ask for 0 or more")
    if any(measure not in evidence.scores_a for evidence in report.evidence):
        known = ", ".join(str(_measure(row)) for row in report.correlations)
        raise UsageError(f"{measure} was not judged; browse by one of: {known}")
    metric = report.metrics.get(measure.metric)
    sign = 1.0 if metric is None or metric.higher_is_better else -1.0
    places = [(number, at) for number, one in enumerate(report.evidence) for at in range(len(one.segments))]
    scored = np.concatenate([sign * (one.scores_a[measure] - one.scores_b[measure]) for one in report.evidence])
    rated = np.concatenate([one.rating_a - one.rating_b for one in report.evidence])
    able = np.flatnonzero(np.isfinite(scored) & np.isfinite(rated))
    apart = disagreements(scored[able], rated[able])
    observations = []
    for rank in np.argsort(-apart, kind="stable")[:count].tolist():
        index = able[rank]
        evidence, place = places[index]
        found = Observation(evidence, place, float(scored[index]), float(rated[index]), float(apart[rank]))
        observations.append(found)
    return Selection(observations, len(able), len(scored) - len(able))


def observation_view(report: PairsReport, measure: Measure, observation: Observation) -> ObservationView:
    """Return the view of one observation."""
    evidence = report.evidence[observation.evidence]
    pair = report.pairs[evidence.pair]
    at = observation.place
    metric = report.metrics.get(measure.metric)
    sides = []
    segments = []
    for system, output, rating, scores, references in (
        (pair.a, evidence.outputs_a[at], evidence.rating_a[at], evidence.scores_a, evidence.references_a),
        (pair.b, evidence.outputs_b[at], evidence.rating_b[at], evidence.scores_b, evidence.references_b),
    ):
        condition = measure.condition or list(references)[-1]  # external scores saw none of our references
        segment = references[condition].take([at])
        segments.append(segment[0])
        explained = metric if can_be_shown(metric, measure) else None
        sides.append(_side(system, output, float(rating), float(scores[measure][at]), explained, segment))
    first = segments[0]
    context = first.context or ()
    return ObservationView(
        id=first.id,
        pair=evidence.pair,
        kind=observation.kind,
        metric=observation.metric,
        rating=observation.rating,
        disagreement=number_text(observation.disagreement, 2),
        verdict=_verdict(observation.kind, pair.a, pair.b),
        message=first.message,
        context=context,
        search=_searchable(segments, (evidence.outputs_a[at], evidence.outputs_b[at]), sides),
        sides=sides,
        scores=[
            (str(other), number_text(float(evidence.scores_a[other][at]), 2), number_text(float(scores_b[at]), 2))
            for other, scores_b in evidence.scores_b.items()
            if other != measure
        ],
    )


def _side(
    system: str, output: str, rating: float, score: float, metric: Metric | None, references: References
) -> SideView:
    segment = references[0]
    if metric is None:
        shown, decisive = plain_runs(output), list[ReferenceView]()
        weights = [reference.weight for reference in segment.references]
        order = sorted(range(len(weights)), key=lambda place: -(weights[place] or 0.0))
    else:
        explanation: AnyExplanation = explain(metric, output, references)
        shown, decisive = _marked(explanation)
        order = explanation.by_weight()
        weights = [*map(explanation.shown_weight, range(len(order)))]
    marked = {view.number - 1 for view in decisive}
    rest = [place for place in order if place not in marked]
    others = [_plain(segment, place, weights[place]) for place in rest[:MOST_REFERENCES]]
    numbers = number_text(rating, 2), number_text(score, 2)
    return SideView(system, *numbers, shown, decisive, others, len(rest) - len(others))


def _marked(explanation: AnyExplanation) -> tuple[list[RunView], list[ReferenceView]]:
    """Return the output with matches, and the decisive references."""
    decisive = explanation.decisive()
    if isinstance(explanation, SimilarityExplanation):
        return output_words(explanation, decisive), [*similarity_views(explanation, decisive, marked=True)]
    grams = matched_ngrams(explanation)
    views = [matched_view(explanation, place, grams, by_rating=True) for place in decisive]
    return output_view(explanation, grams, by_rating=True), views


def _plain(segment: Segment, place: int, weight: float | None) -> ReferenceView:
    """Return a reference without marks; only decisive ones are marked."""
    reference = segment.references[place]
    notes = [] if reference.origin is None else [reference.origin]
    return reference_view(place, weight, plain_runs(reference.text), notes)


def _verdict(kind: str, a: str, b: str) -> str:
    """Describe the preferences of metric and people.

    Examples
    --------
    >>> _verdict("AB", "x", "y"), _verdict("0A", "x", "y")
    ('the metric prefers x, people prefer y', 'the metric sees no difference, people prefer x')
    >>> _verdict("BB", "x", "y"), _verdict("00", "x", "y")
    ('the metric and people prefer y', 'neither the metric nor people see a difference')
    """
    names = {"A": a, "B": b}
    metric, people = tuple(kind)
    if metric == people:
        return (
            f"the metric and people prefer {names[metric]}"
            if metric in names
            else "neither the metric nor people see a difference"
        )
    ours = f"the metric prefers {names[metric]}" if metric in names else "the metric sees no difference"
    theirs = f"people prefer {names[people]}" if people in names else "people see no difference"
    return f"{ours}, {theirs}"


def _searchable(segments: Sequence[Segment], outputs: Sequence[str], sides: Sequence[SideView]) -> str:
    """Return the searchable text that the page only contains split into tokens."""
    first = segments[0]
    texts = [first.id, *(first.context or ()), first.message or "", *outputs]
    for segment, side in zip(segments, sides, strict=True):
        texts += [segment.references[view.number - 1].text for view in side.decisive]
    return "\n".join(dict.fromkeys(texts)).lower()


def kinds(shown: Iterable[str]) -> list[tuple[str, str, int]]:
    """Return the kinds of agreement and disagreement among those shown, with their names and counts."""
    named = (
        ("AB BA", "metric and people prefer different systems"),
        ("AB", "metric prefers A, people prefer B"),
        ("BA", "metric prefers B, people prefer A"),
        ("A0 B0", "only the metric sees a difference"),
        ("0A 0B", "only people see a difference"),
        ("AA BB 00", "same preference, another strength"),
    )
    counts = Counter(shown)
    return [(codes, name, count) for codes, name in named if (count := sum(map(counts.__getitem__, codes.split())))]
