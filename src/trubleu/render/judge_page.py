"""A report of the ΔBLEU protocol as one self-contained HTML page that begins with the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.errors import counted
from trubleu.judge.pairs.results import Measure
from trubleu.judge.report import data_needed, listed, settling, standard_error
from trubleu.metrics.trubleu import TruBleu
from trubleu.render.charts import (
    Grid,
    Sweeps,
    bounds_text,
    interval_text,
    number_text,
    scatter_chart,
    strip,
    sweep_charts,
    sweep_legend,
    ticks,
    value_text,
)
from trubleu.render.explanation_page import (
    STEPS,
    content_policy,
    load_page_templates,
    page_asset,
    page_script,
    report_style,
)
from trubleu.render.judge_segments import (
    can_be_shown,
    default_measure,
    kinds,
    most_disagreeing,
    observation_view,
    pair_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.judge.pairs.results import ComparisonRow, CorrelationRow, PairsReport
    from trubleu.render.charts import Strip


LEVEL: Final = 0.05
"""Significance level."""


def best_row(report: PairsReport) -> CorrelationRow | None:
    """Return the row with the largest ρ; None if none is defined."""
    defined = [row for row in report.correlations if row.spearman is not None]
    return max(defined, key=lambda row: row.spearman or 0.0, default=None)


def measure_of(row: CorrelationRow) -> Measure:
    """Return the measure of a row."""
    return Measure(metric=row.metric, condition=row.condition)


def headline(report: PairsReport) -> str:
    """State which measure agrees best with people, and how well."""
    row = best_row(report)
    if row is None:
        return "No correlation is defined: the scores or the ratings do not vary."
    interval = "" if row.spearman_low is None else f" {bounds_text(row.spearman_low, row.spearman_high)}"
    return f"{measure_of(row)} agrees best with people: Spearman’s ρ = {number_text(row.spearman)}{interval}"


def verdict(report: PairsReport) -> Iterator[str]:
    """State which measure agrees best with people, and whether it is significantly better than the others."""
    yield headline(report).removesuffix(".") + "."
    if (row := best_row(report)) is not None:
        yield from _doubt(row)
        yield from _beaten(report, measure_of(row))


def sentences(report: PairsReport) -> Iterator[str]:
    """State the uncertainty, which measures the best one beats, and the data behind it."""
    setting = report.setting
    row = best_row(report)
    if row is not None:
        yield _basis(report, row)
        yield from _doubt(row)
        yield from _beaten(report, measure_of(row))
    yield (
        f"Segments were put into units at random {setting.draws:,} times and coefficients averaged; intervals of "
        f"{setting.confidence:.0%} are from {setting.resamples:,} resamples of the segments; seed {setting.seed}."
    )


def _basis(report: PairsReport, row: CorrelationRow) -> str:
    tau = "" if row.kendall is None else f"Kendall’s τ is {number_text(row.kendall)}"
    if tau and row.kendall_low is not None:
        tau += f" {bounds_text(row.kendall_low, row.kendall_high)}"
    pairs = len(report.pairs)
    units = f"{row.units:,} unit{'s' if row.units != 1 else ''} of {row.unit:,} segment{'s' if row.unit != 1 else ''}"
    of = f"{counted(pairs, 'pair')} of {counted(len(report.systems), 'system')}"
    return f"{tau + '; it' if tau else 'It'} rests on {units} from {of}."


def _doubt(row: CorrelationRow) -> Iterator[str]:
    if row.spearman_low is not None and row.spearman_high is not None and row.spearman_low <= 0 <= row.spearman_high:
        yield "The interval holds 0: these data do not show that it agrees with people at all."


def _beaten(report: PairsReport, best: Measure) -> Iterator[str]:
    """State which measures the best one significantly beats, and from which it does not differ."""
    beaten: list[str] = []
    level: list[str] = []
    nearest: ComparisonRow | None = None
    for row in sorted(report.comparisons, key=lambda row: abs(row.spearman_difference or 0.0)):
        other, p = _other(row, best), row.spearman_p_holm
        if other is None or p is None:
            continue
        (beaten if p < LEVEL else level).append(str(other))
        if p >= LEVEL and nearest is None:
            nearest = row
    if beaten and level:
        yield (
            f"It is significantly better than {listed(beaten)} (p < {LEVEL:g} after Holm’s correction), but not than "
            f"{listed(level)}."
        )
    elif beaten:
        everyone = f"all {len(beaten)} that it was compared with" if len(beaten) > 1 else beaten[0]
        yield f"It is significantly better than {everyone} (p < {LEVEL:g} after Holm’s correction)."
    elif level:
        anyone = f"any of the {len(level)} that it was compared with" if len(level) > 1 else level[0]
        yield f"It is not significantly better than {anyone} (no p below {LEVEL:g} after Holm’s correction)."
    elif len(report.correlations) > 1:
        yield "Whether it is significantly better than the others was not tested."
    if nearest is not None and nearest.spearman_difference_low is not None:
        difference = abs(nearest.spearman_difference or 0.0)
        low, high = nearest.spearman_difference_low, nearest.spearman_difference_high or 0.0
        segments = max(row.segments for row in report.pairs)
        needed = data_needed(segments, difference, standard_error(low, high, report.setting.confidence))
        yield settling(segments, needed, "rated segments", level[0], difference, nearest.spearman_p_holm)


def _other(row: ComparisonRow, best: Measure) -> Measure | None:
    x = Measure(metric=row.metric_x, condition=row.condition_x)
    y = Measure(metric=row.metric_y, condition=row.condition_y)
    return y if x == best else x if y == best else None


BROWSE: Final = 200
"""Default number of observations on a page."""

_INTERVALS: Final = (
    ("segments", ""),
    ("segments and systems", "systems_"),
    ("Fisher", "fisher_"),
    ("Fieller", "fieller_"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementView:
    """One measure's coefficients; ``best`` marks the largest ρ."""

    metric: str
    condition: str
    best: bool
    spearman: str
    spearman_strip: Strip
    kendall: str
    units: str
    undefined: str
    signature: str
    intervals: Sequence[Sequence[str]]


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
    templates = load_page_templates()
    chosen = default_measure(report) if measure is None else measure
    style = report_style()
    script = page_script() + page_asset("judge.js")
    sweeps = Sweeps.of(report)
    text = templates.get_template("judge.html.j2").render(
        headline=headline(report),
        sentences=list(sentences(report)),
        notes=report.notes,
        agreement=agreement_views(report),
        agreement_ends=_agreement_ends(report),
        interval_names=[name for name, _ in _INTERVALS],
        confidence=f"{report.setting.confidence:.0%}",
        level=f"{LEVEL:g}",
        comparisons=_comparisons(report.comparisons),
        systems=_systems(report),
        pairs=_pairs(report),
        charts=sweep_charts(sweeps),
        legend_keys=sweep_legend(sweeps),
        scatters=_scatters(report),
        settings=_settings(report),
        steps=STEPS,
        style=style,
        script=script,
        policy=content_policy(style, script),
        version=__version__,
        **_browser(report, chosen, browse),
    )
    # A lone surrogate, which JSON allows and UTF-8 does not, is shown as \ud83d.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _browser(report: PairsReport, measure: Measure | None, count: int) -> dict[str, Any]:
    """Return the template values of the segment browser."""
    if measure is None or not report.evidence:
        return {"measure": None, "observations": []}
    selection = most_disagreeing(report, measure, count)
    metric = report.metrics.get(measure.metric)
    explained = can_be_shown(metric, measure)
    return {
        "measure": measure,
        "weighted": bool(explained and getattr(metric, "policy", None) is not None),
        "explained": explained,
        "similar": explained and isinstance(metric, TruBleu),
        "rated": any(one.weighted() for evidence in report.evidence for one in evidence.references_a.values()),
        "observations": [observation_view(report, measure, one) for one in selection.observations],
        "total": selection.total,
        "unscored": selection.unscored,
        "kinds": kinds(selection.observations),
        "pair_options": [
            (place, f"{report.pairs[place].a} and {report.pairs[place].b}", number)
            for place, number in pair_counts(report.evidence, selection.observations).items()
        ],
    }


def agreement_views(report: PairsReport) -> list[AgreementView]:
    """Return the table of coefficients, largest ρ first, undefined ones last."""
    best = best_row(report)
    low, high = _agreement_ends(report)[:2]
    ordered = sorted(report.correlations, key=lambda row: (row.spearman is None, -(row.spearman or 0.0)))
    return [
        AgreementView(
            metric=row.metric,
            condition="–" if row.condition is None else row.condition,
            best=row is best,
            spearman=interval_text(row.spearman, row.spearman_low, row.spearman_high),
            spearman_strip=strip(row.spearman, row.spearman_low, row.spearman_high, (low, high)),
            kendall=interval_text(row.kendall, row.kendall_low, row.kendall_high),
            units=f"{row.units:,}",
            undefined=f"{row.undefined:,}" if row.undefined else "",
            signature=row.signature,
            intervals=[_interval_row(row, "spearman", "ρ"), _interval_row(row, "kendall", "τ")],
        )
        for row in ordered
    ]


def _interval_row(row: CorrelationRow, name: str, symbol: str) -> list[str]:
    bounds = [
        bounds_text(getattr(row, f"{name}_{kind}low"), getattr(row, f"{name}_{kind}high")) for _, kind in _INTERVALS
    ]
    return [symbol, number_text(getattr(row, name)), *bounds]


def _agreement_ends(report: PairsReport) -> tuple[float, float, str, str]:
    """Return the range of the axis for all coefficients, which includes 0, and its labels."""
    numbers = [
        number
        for row in report.correlations
        for number in (row.spearman, row.spearman_low, row.spearman_high)
        if number is not None
    ]
    scale = ticks(min([0.0, *numbers]), max([0.0, *numbers]) or 1.0, 10)
    return scale[0], scale[-1], value_text(scale[0]), value_text(scale[-1])


def _comparisons(rows: Sequence[ComparisonRow]) -> Grid:
    """Return the comparisons, oriented so that X has the larger ρ."""
    turned = [_turned(row) if (row.spearman_difference or 0.0) < 0 else row for row in rows]
    return Grid(
        name="differences between measures",
        heads=["X", "Y", "ρ of X − ρ of Y", "p", "p (Holm)", "τ of X − τ of Y", "p", "p (Holm)"],
        labels=2,
        rows=[
            [
                str(Measure(metric=row.metric_x, condition=row.condition_x)),
                str(Measure(metric=row.metric_y, condition=row.condition_y)),
                interval_text(row.spearman_difference, row.spearman_difference_low, row.spearman_difference_high),
                number_text(row.spearman_p, 4),
                number_text(row.spearman_p_holm, 4),
                interval_text(row.kendall_difference, row.kendall_difference_low, row.kendall_difference_high),
                number_text(row.kendall_p, 4),
                number_text(row.kendall_p_holm, 4),
            ]
            for row in turned
        ],
    )


def _turned(row: ComparisonRow) -> ComparisonRow:
    """Swap X and Y of a comparison."""

    def negative(value: float | None) -> float | None:
        return None if value is None else -value

    return replace(
        row,
        metric_x=row.metric_y,
        condition_x=row.condition_y,
        metric_y=row.metric_x,
        condition_y=row.condition_x,
        spearman_difference=negative(row.spearman_difference),
        spearman_difference_low=negative(row.spearman_difference_high),
        spearman_difference_high=negative(row.spearman_difference_low),
        kendall_difference=negative(row.kendall_difference),
        kendall_difference_low=negative(row.kendall_difference_high),
        kendall_difference_high=negative(row.kendall_difference_low),
    )


def _systems(report: PairsReport) -> Grid:
    measures = list(dict.fromkeys(Measure(metric=row.metric, condition=row.condition) for row in report.system_scores))
    scores = {
        (row.system, Measure(metric=row.metric, condition=row.condition)): row.score for row in report.system_scores
    }
    return Grid(
        name="systems",
        heads=["system", "mean rating", "rated outputs", "ratings", "equal to a reference", *map(str, measures)],
        rows=[
            [
                row.system,
                number_text(row.mean_rating, 2),
                f"{row.rated:,}",
                f"{row.ratings:,}",
                f"{row.equal_share:.1%}",
                *(number_text(scores.get((row.system, measure)), 2) for measure in measures),
            ]
            for row in sorted(report.systems, key=lambda row: (row.mean_rating is None, -(row.mean_rating or 0.0)))
        ],
    )


def _pairs(report: PairsReport) -> Grid:
    return Grid(
        name="pairs",
        heads=["A", "B", "segments", "units"],
        labels=2,
        rows=[[row.a, row.b, f"{row.segments:,}", f"{row.units:,}"] for row in report.pairs],
    )


def _scatters(report: PairsReport) -> list[Any]:
    coefficients = {measure_of(row): row.spearman for row in report.correlations}
    return [scatter_chart(report.cloud, measure, coefficients.get(measure)) for measure in report.cloud.scores]


def _settings(report: PairsReport) -> list[tuple[str, str]]:
    setting = report.setting
    return [
        ("segments a unit", f"{setting.unit:,}"),
        ("last, partial unit", "kept" if setting.partial else "left out"),
        ("draws", f"{setting.draws:,}"),
        ("resamples", f"{setting.resamples:,}"),
        ("draws and resamples in sweeps", f"{setting.sweep_draws:,} and {setting.sweep_resamples:,}"),
        ("confidence", f"{setting.confidence:.0%}"),
        ("seed", str(setting.seed)),
        ("rated outputs of other systems among the references", "yes" if setting.pool_outputs else "no"),
        *(
            [("references equal to an output dropped for", setting.drop_equal.replace(",", ", "))]
            * bool(setting.drop_equal)
        ),
    ]
