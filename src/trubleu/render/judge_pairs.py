"""A report of the ΔBLEU protocol: the verdict, tables, flat rows for programs, and a page with a segment browser."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.errors import UsageError, counted
from trubleu.explain.segment import explain, is_explainable
from trubleu.explain.similarity import SimilarityExplanation
from trubleu.judge.pairs.results import Measure
from trubleu.judge.report import Rival, brief_interval, data_needed, standard_error, verdict
from trubleu.metrics.dbleu import WeightedMetric
from trubleu.metrics.trubleu import TruBleu
from trubleu.metrics.trubleu_ctx import TruBleuCtx
from trubleu.render import charts, explanations
from trubleu.render.judge_ratings import metric_table
from trubleu.render.pages import report_page
from trubleu.render.tables import (
    MISSING,
    Bounds,
    Cell,
    Column,
    Estimate,
    Table,
    render_report,
    row_tables,
    starred,
    table_of,
)
from trubleu.signature import number_text
from trubleu.stats.paired import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.data.references import Segment
    from trubleu.explain.similarity import AnyExplanation
    from trubleu.judge.pairs.results import ComparisonRow, CorrelationRow, PairsReport, SweepName
    from trubleu.metrics import Metric
    from trubleu.render.charts import Grid
    from trubleu.render.explanations import ReferenceView, RunView

BROWSE: Final = 200
"""Default number of observations on a page."""

_KINDS_OF_INTERVALS: Final = (
    "segments and systems: bootstrap over both; Fisher: with N = both signs of every unit, as the ΔBLEU paper printed; "
    "Fieller: every unit counted once; the last two take units for independent"
)


def render_pairs(report: PairsReport, format: str = "text", digits: int = 3) -> str:  # noqa: A002
    """Render a report in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    report
        What `judge_pairs` returns.
    format
        ``text``, ``markdown`` and ``latex`` have the verdict and tables as people print them. ``json`` and ``csv``
        have flat rows with everything in them, as `PairsReport.to_dict`.
    digits
        Decimals for people.
    """
    tables = pairs_tables(report)
    return render_report(format, digits, row_tables(report), tables, pairs_notes(report), pairs_verdict(report))


def pairs_verdict(report: PairsReport) -> Iterator[str]:
    """State which measure agrees best with people, whether that is significant, and how much data would settle it."""
    defined = [row for row in report.correlations if row.spearman is not None]
    if not defined:
        yield "No correlation is defined: the scores or the ratings do not vary."
        return
    best = max(defined, key=_rho)
    tests = {frozenset(_compared(row)): row for row in report.comparisons}
    rivals = [
        _rival(row, _rho(best) - _rho(row), tests.get(frozenset({_measure(best), _measure(row)})), report)
        for row in defined
        if row is not best
    ]
    shown = brief_interval(_rho(best), best.spearman_low, best.spearman_high)
    head = f"{_measure(best)} agrees best with people: Spearman's ρ {shown}"
    yield verdict(head, rivals, LEVEL, _segments(report), "rated segments")
    if best.spearman_low is not None and best.spearman_low <= 0 <= (best.spearman_high or 0.0):
        yield "The interval holds 0: these data do not show that it agrees with people at all."


def _rho(row: CorrelationRow) -> float:
    return row.spearman or 0.0


def _segments(report: PairsReport) -> int:
    return max(row.segments for row in report.pairs)


def _rival(row: CorrelationRow, difference: float, test: ComparisonRow | None, report: PairsReport) -> Rival:
    name = str(_measure(row))
    if test is None or test.spearman_difference_low is None or test.spearman_difference_high is None:
        return Rival(name, difference, None if test is None else test.spearman_p_holm)
    ends = test.spearman_difference_low, test.spearman_difference_high
    error = standard_error(*ends, report.setting.confidence)
    return Rival(name, difference, test.spearman_p_holm, data_needed(_segments(report), difference, error))


def pairs_tables(report: PairsReport) -> list[Table]:
    """Return the non-empty tables for people."""
    tables = [
        table_of(report.correlations, _COEFFICIENTS, "Agreement with people", name="correlations"),
        _other_intervals(report),
    ]
    if report.comparisons:
        tables.append(table_of(report.comparisons, _COMPARISON, "Which agrees better", name="comparisons"))
    tables += [_sweep(report, sweep) for sweep in dict.fromkeys(row.sweep for row in report.sweeps)]
    columns = [Column("a"), Column("b"), Column("segments", kind="count"), Column("units", kind="count")]
    return [*tables, _systems(report), table_of(report.pairs, columns, "Pairs", name="pairs")]


def pairs_notes(report: PairsReport) -> Iterator[str]:
    """Yield notes on how the numbers were computed."""
    setting = report.setting
    units = sum(row.units for row in report.pairs)
    share = f"{100 * setting.confidence:g} %"
    yield (
        f"units of {counted(setting.unit, 'segment')}, {units:,} in {counted(len(report.pairs), 'pair')} of systems, "
        f"N = {2 * units:,} with both signs; means over {setting.draws:,} draws, seed {setting.seed}"
    )
    yield (
        f"intervals: {share}, percentile bootstrap over segments, {setting.resamples:,} replicates of one draw each; "
        "p: the same replicates, two-sided, corrected for all comparisons (Holm); "
        "* p < 0.05, ** p < 0.01, *** p < 0.001"
    )
    if report.sweeps:
        yield f"sweeps: {setting.sweep_draws:,} draws and {setting.sweep_resamples:,} replicates a point"
    yield from report.notes
    yield from dict.fromkeys(f"{_measure(row)}: {row.signature}" for row in report.correlations)


def _measure(row: Any) -> Measure:
    """Return the measure of a row."""
    return Measure(metric=row.metric, condition=row.condition)


def _compared(row: ComparisonRow) -> tuple[Measure, Measure]:
    """Return the measures of a comparison, that with the larger ρ first."""
    x = Measure(metric=row.metric_x, condition=row.condition_x)
    y = Measure(metric=row.metric_y, condition=row.condition_y)
    return (y, x) if (row.spearman_difference or 0.0) < 0 else (x, y)


def _estimate(row: Any, name: str) -> Estimate:
    return Estimate(*(getattr(row, each) for each in (name, f"{name}_low", f"{name}_high")))


_MEASURE: Final = (Column("metric"), Column("condition", "references"))
_COEFFICIENTS: Final = (
    *_MEASURE,
    Column("spearman", "Spearman's ρ", "number", of=lambda row: _estimate(row, "spearman")),
    Column("kendall", "Kendall's τ", "number", of=lambda row: _estimate(row, "kendall")),
)


def _bounds(name: str, row: CorrelationRow) -> Cell:
    low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
    return None if low is None or high is None else Bounds(low, high)


def _other_intervals(report: PairsReport) -> Table:
    kinds = {"systems": "segments and systems", "fisher": "Fisher", "fieller": "Fieller"}
    columns = [
        Column(f"{name}_{kind}", f"{letter}: {title}", "number", of=partial(_bounds, f"{name}_{kind}"))
        for name, letter in (("spearman", "ρ"), ("kendall", "τ"))
        for kind, title in kinds.items()
    ]
    return table_of(
        report.correlations, [*_MEASURE, *columns], "Other intervals", [_KINDS_OF_INTERVALS], name="intervals"
    )


_COMPARISON: Final = (
    Column("x", of=lambda row: str(_compared(row)[0])),
    Column("y", of=lambda row: str(_compared(row)[1])),
    Column("spearman_difference", "ρ(x) − ρ(y)", "signed", of=lambda row: _difference(row, "spearman")),
    Column("spearman_p_holm", "p (Holm)", "p", of=lambda row: starred(row.spearman_p_holm)),
    Column("kendall_difference", "τ(x) − τ(y)", "signed", of=lambda row: _difference(row, "kendall")),
    Column("kendall_p_holm", "p (Holm) of τ", "p", of=lambda row: starred(row.kendall_p_holm)),
)


def _difference(row: ComparisonRow, name: str) -> Estimate:
    """Return a difference, of the measure with the larger ρ less the other."""
    value, low, high, *_ = _estimate(row, f"{name}_difference")
    if value is not None and (row.spearman_difference or 0.0) < 0:
        value, low, high = -value, None if high is None else -high, None if low is None else -low
    return Estimate(value, low, high)


def _sweep(report: PairsReport, sweep: SweepName) -> Table:
    rows = [row for row in report.sweeps if row.sweep == sweep]
    sign = "w>=" if sweep == "threshold" else ""
    entries = (((sign + number_text(row.value),), row.metric, _estimate(row, "spearman")) for row in rows)
    conditions = ", ".join(dict.fromkeys(row.condition for row in rows if row.condition is not None))
    title = f"Spearman's ρ by {charts.TITLES[sweep]}" + f" (references: {conditions})" * bool(conditions)
    return metric_table(title, (sweep,), entries, [*dict.fromkeys(row.metric for row in rows)], f"sweep_{sweep}")


def _systems(report: PairsReport) -> Table:
    measures = list(dict.fromkeys(map(_measure, report.system_scores)))
    scores = {(row.system, _measure(row)): row.score for row in report.system_scores}
    columns = [
        Column("system"),
        Column("mean_rating", "mean rating", "number", digits=2),
        Column("rated", "segments", "count"),
        Column("ratings", kind="count"),
        Column(
            "equal_share",
            "equal to a reference",
            "number",
            of=lambda row: f"{100 * row.equal_share:.1f} %" if row.rated else MISSING,
        ),
    ]
    for place, measure in enumerate(measures):
        of = partial(lambda measure, row: scores.get((row.system, measure)), measure)
        columns.append(Column(f"score_{place}", str(measure), "number", 2, of))
    ordered = sorted(report.systems, key=lambda row: -(row.mean_rating or -math.inf))
    return table_of(ordered, columns, "Systems", name="systems")


def render_judge_page(report: PairsReport, *, browse: int = BROWSE, measure: Measure | None = None) -> str:
    """Render a report as a page.

    Parameters
    ----------
    report
        What judging metrics by people yielded.
    browse
        How many segments to show: those where the metric and people disagree most.
    measure
        By which metric, and under which condition; the best-agreeing one that can be explained if left out.

    Returns
    -------
    str
        HTML that can be written to one file.

    Raises
    ------
    UsageError
        If the report does not hold the measure.
    MissingExtraError
        If Jinja2 is not installed.
    """
    coefficients = {_measure(row): row.spearman for row in report.correlations}
    grids = {table.key: charts.table_grid(table, 3, table.key) for table in pairs_tables(report)}
    setting, units = report.setting, sum(row.units for row in report.pairs)
    segments, pairs = counted(setting.unit, "segment"), counted(len(report.pairs), "pair")
    return report_page(
        "judge.html.j2",
        "judge.js",
        title="How well metrics agree with people",
        verdicts=[*pairs_verdict(report)],
        about=f"{counted(units, 'unit')} of {segments} from {pairs} of {counted(len(report.systems), 'system')}",
        warnings=report.notes,
        agreement=_agreement(report),
        confidence=f"{100 * setting.confidence:g} %",
        level=f"{LEVEL:g}",
        grids=grids,
        charts=charts.sweep_charts(report.sweeps),
        legend_keys=charts.legend_keys([*dict.fromkeys(row.metric for row in report.sweeps)]),
        scatters=[charts.scatter_chart(report.cloud, each, coefficients.get(each)) for each in report.cloud.scores],
        how=[*pairs_notes(report)],
        steps=explanations.STEPS,
        **_browser(report, default_measure(report) if measure is None else measure, browse),
    )


def _agreement(report: PairsReport) -> Grid:
    """Return the table of coefficients, largest ρ first, undefined ones last."""
    ordered = sorted(report.correlations, key=lambda row: (row.spearman is None, -_rho(row)))
    columns = [*_COEFFICIENTS, Column("units", kind="count")]
    if any(row.undefined for row in ordered):
        columns.append(Column("undefined", "draws without a value", "count", of=lambda row: row.undefined or ""))
    grid = charts.table_grid(table_of(ordered, columns), 3, "agreement of measures with people")
    best = [place for place, row in enumerate(ordered[:1]) if row.spearman is not None]
    return charts.with_strips(grid, [_estimate(row, "spearman") for row in ordered], at=3, best=best, zero=True)


def _browser(report: PairsReport, measure: Measure | None, count: int) -> dict[str, Any]:
    """Return the template values of the segment browser."""
    if measure is None or not report.evidence:
        return {"measure": None, "observations": []}
    selection = most_disagreeing(report, measure, count)
    views = [observation_view(report, measure, one) for one in selection.observations]
    metric = report.metrics.get(measure.metric)
    explained = can_be_shown(metric, measure)
    return {
        "measure": measure,
        "weighted": explained and isinstance(metric, WeightedMetric),
        "explained": explained,
        "similar": explained and isinstance(metric, TruBleu | TruBleuCtx),
        "rated": any(one.weighted() for evidence in report.evidence for one in evidence.references_a.values()),
        "observations": views,
        "total": selection.total,
        "unscored": selection.unscored,
        "kinds": kinds(one.kind for one in selection.observations),
        "pair_options": [
            (place, f"{report.pairs[place].a} and {report.pairs[place].b}", number)
            for place, number in sorted(Counter(view.pair for view in views).items())
        ],
    }


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

    observation: Observation
    segment: Segment
    pair: int
    verdict: str
    search: str
    sides: Sequence[SideView]
    scores: Sequence[Sequence[str]]


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
    explained = metric if can_be_shown(metric, measure) else None
    both = evidence.scores_a, evidence.scores_b
    sides, segments = [], []
    for system, output, rating, scores, references in (
        (pair.a, evidence.outputs_a[at], evidence.rating_a[at], evidence.scores_a, evidence.references_a),
        (pair.b, evidence.outputs_b[at], evidence.rating_b[at], evidence.scores_b, evidence.references_b),
    ):
        condition = measure.condition or list(references)[-1]  # external scores saw none of our references
        segment = references[condition].take([at])
        segments.append(segment[0])
        sides.append(_side(system, output, float(rating), float(scores[measure][at]), explained, segment))
    return ObservationView(
        observation=observation,
        segment=segments[0],
        pair=evidence.pair,
        verdict=_verdict(observation.kind, pair.a, pair.b),
        search=_searchable(segments, (evidence.outputs_a[at], evidence.outputs_b[at]), sides),
        sides=sides,
        scores=[
            [str(other), *(charts.number_text(float(side[other][at]), 2) for side in both)]
            for other in evidence.scores_b
            if other != measure
        ],
    )


def _side(
    system: str, output: str, rating: float, score: float, metric: Metric | None, references: References
) -> SideView:
    segment = references[0]
    if metric is None:
        shown: Sequence[RunView] = explanations.plain_runs(output)
        decisive: Sequence[ReferenceView] = []
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
    numbers = charts.number_text(rating, 2), charts.number_text(score, 2)
    return SideView(system, *numbers, shown, decisive, others, len(rest) - len(others))


def _marked(explanation: AnyExplanation) -> tuple[list[RunView], list[ReferenceView]]:
    """Return the output with matches, and the decisive references."""
    decisive = explanation.decisive()
    if isinstance(explanation, SimilarityExplanation):
        views = [*explanations.similarity_views(explanation, decisive, marked=True)]
        return explanations.output_words(explanation, decisive), views
    grams = explanations.matched_ngrams(explanation)
    views = [explanations.matched_view(explanation, place, grams, by_rating=True) for place in decisive]
    return explanations.output_view(explanation, grams, by_rating=True), views


def _plain(segment: Segment, place: int, weight: float | None) -> ReferenceView:
    """Return a reference without marks; only decisive ones are marked."""
    reference = segment.references[place]
    notes = [] if reference.origin is None else [reference.origin]
    return explanations.reference_view(place, weight, explanations.plain_runs(reference.text), notes)


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
