"""The report: one HTML page that needs nothing else, no network, no fonts, no library."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.demo.example import example_view
from trubleu.demo.figures import origins_of, quality_panels, weight_panel
from trubleu.demo.finding import CLEAR, ENOUGH, LEVEL, NAMES, PLAIN, WEIGHTED, find
from trubleu.demo.steps import CAST, demo_steps
from trubleu.errors import counted
from trubleu.explain.page import content_policy, load_templates, page_script, page_style
from trubleu.explain.palette import STEPS
from trubleu.explain.views import minus
from trubleu.judge.show import page as judge_page
from trubleu.judge.show.charts import interval_text, number_text, series_style, strip
from trubleu.judge.show.page import Grid
from trubleu.judge.show.series import ticks, value_text
from trubleu.stats import spearman

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.demo.finding import Finding, Order
    from trubleu.demo.results import Results, Score
    from trubleu.judge.show.charts import Strip

_FOLDER: Final = Path(__file__).parent / "templates"

_FILES: Final = (
    ("judge.html", "how well each metric agrees with people, and the segments where it does not"),
    ("explain.html", "which words made the difference between strong and parrot, n-gram by n-gram"),
    ("world/", "the made world: conversations, messages, what the systems say, and the truth about it"),
    ("candidates.jsonl", "candidate references as they were mined, not rated yet"),
    ("references.jsonl", "the same with ratings and weights: what trubleu score reads"),
    ("ratings.csv", "ratings of the systems’ outputs: what trubleu judge reads"),
    ("scores.json", "scores, intervals and tests"),
    ("good.jsonl", "the good references only: those with a weight above 0"),
    ("good-scores.json", "scores, intervals and tests with these"),
    ("judge.json", "agreement with people, for programs"),
    ("status.json", "how the raters of the first study did"),
    ("study/", "the study of references: settings and every answer"),
    ("pairs/", "the study of outputs"),
    ("demo.json", "what was done, and when"),
)

_ORIGINS: Final = {
    "seed": "the conversation’s own response",
    "mined": "mined: what others answered to similar messages",
    "random": "random responses",
    "parrot": "the message said back",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceView:
    """A system in a ranking."""

    system: str
    mark: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingView:
    """The systems from best to worst, by the truth or by a metric."""

    name: str
    places: Sequence[PlaceView]
    verdict: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementView:
    """A metric's ρ, with where it stands on the scale that all share."""

    name: str
    value: str
    strip: Strip


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A step that was done."""

    title: str
    commands: Sequence[str]
    seconds: str


def render_report(results: Results) -> str:
    """Return the report of a demo.

    Parameters
    ----------
    results
        What it yielded.

    Returns
    -------
    str
        HTML that can be written to one file.
    """
    finding = find(results)
    style = page_style() + series_style() + _read(judge_page.FOLDER / "judge.css") + _read(_FOLDER / "report.css")
    script = page_script()
    text = (
        load_templates(_FOLDER, judge_page.FOLDER)
        .get_template("report.html.j2")
        .render(
            finding=finding,
            rankings=_rankings(results, finding),
            panels=quality_panels(results, finding),
            scores=_scores(results, finding),
            decisions=_decisions(results, finding),
            tests=_tests(results),
            example=example_view(results, finding),
            weights=weight_panel(results.rated),
            origins=_origins(results),
            weighing=_weighing(results),
            work=_work(results),
            files=_FILES,
            cast=CAST,
            sizes=_sizes(results),
            notes=_notes(results),
            raters=counted(results.raters, "simulated rater"),
            output_raters=results.output_raters,
            enough=ENOUGH,
            options=results.journal.options,
            metrics=results.metrics,
            clear=f"{CLEAR:g}",
            level=f"{LEVEL:g}",
            weighted=True,
            steps=STEPS,
            style=style,
            script=script,
            policy=content_policy(style, script),
            version=__version__,
            **_agreement(results),
        )
    )
    # Half of a surrogate pair, which JSON can hold and UTF-8 cannot, is shown as \ud83d.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _rankings(results: Results, finding: Finding) -> list[RankingView]:
    views = [
        RankingView(
            name="Truth",
            places=[
                PlaceView(system=name, mark="", title=number_text(results.truth[name], 2))
                for name in finding.true_order
            ],
            verdict="best first",
            about="known in a made world",
        )
    ]
    others = [metric for metric in results.metrics if metric not in (PLAIN, WEIGHTED)]
    for metrics, orders, scores, about in (
        ((PLAIN, WEIGHTED), finding.orders, results.scores, "all references"),
        ((PLAIN, WEIGHTED), finding.good_orders, results.good_scores, "good references only"),
        (others, finding.orders, results.scores, "all references"),
    ):
        views += [_ranking(orders[metric], scores, about) for metric in metrics]
    return views


def _ranking(order: Order, scores: Mapping[tuple[str, str], Score], about: str) -> RankingView:
    sure, unsure = order.overrated(), order.overrated(sure=False)
    return RankingView(
        name=NAMES[order.metric],
        places=[
            PlaceView(
                system=name,
                mark="▲" if name in sure else "△" if name in unsure else "",
                title=number_text(scores[order.metric, name].value, 1),
            )
            for name in order.systems
        ],
        verdict=_verdict(order),
        about=about,
    )


def _verdict(order: Order) -> str:
    if not order.wrong:
        return f"none of {order.pairs} wrong"
    return f"{len(order.wrong)} of {order.pairs} wrong" + (f", {len(order.sure)} surely" * order.enough)


def _scores(results: Results, finding: Finding) -> Grid:
    def cell(metric: str, system: str) -> str:
        score = results.scores[metric, system]
        return interval_text(score.value, score.low, score.high, 1)

    return Grid(
        name="scores",
        heads=["system", "true quality", "people", *(NAMES[name] for name in results.metrics)],
        rows=[
            [
                system,
                number_text(results.truth[system], 2),
                number_text(results.people[system], 2),
                *(cell(metric, system) for metric in results.metrics),
            ]
            for system in finding.true_order
        ],
    )


def _decisions(results: Results, finding: Finding) -> Grid:
    """Return how many pairs each metric decides rightly or wrongly, and whether it is sure."""
    rows = []
    for metric in results.metrics:
        order = finding.orders[metric]
        wrong = set(order.wrong)
        clear = [
            pair
            for pair in combinations(finding.true_order, 2)
            if abs(results.truth[pair[0]] - results.truth[pair[1]]) >= CLEAR
        ]
        sure = {pair for pair in clear if order.enough and results.p[metric, *pair] < LEVEL}
        right = [pair for pair in clear if pair not in wrong]
        rows.append(
            [
                NAMES[metric],
                str(sum(pair in sure for pair in right)),
                str(sum(pair not in sure for pair in right)),
                str(sum(pair not in sure for pair in wrong)),
                str(sum(pair in sure for pair in wrong)),
            ]
        )
    heads = ["metric", "right, sure", "right or equal, unsure", "wrong, unsure", "wrong, sure"]
    return Grid(name="decisions about pairs of systems", heads=heads, rows=rows)


def _tests(results: Results) -> Grid:
    def cell(metric: str, a: str, b: str) -> str:
        difference = results.scores[metric, a].value - results.scores[metric, b].value
        return f"{number_text(difference, 1, signed=True)}, {number_text(results.p[metric, a, b], 3)}"

    return Grid(
        name="tests",
        heads=["A", "B", "true A − B", *(f"{NAMES[metric]}: A − B, p" for metric in results.metrics)],
        labels=2,
        rows=[
            [
                a,
                b,
                number_text(results.truth[a] - results.truth[b], 2, signed=True),
                *(cell(metric, a, b) for metric in results.metrics),
            ]
            for a, b in combinations(results.systems, 2)
        ],
    )


def _agreement(results: Results) -> dict[str, Any]:
    numbers = [
        number
        for each in results.agreement.values()
        for number in (each.rho, each.low, each.high)
        if number is not None
    ]
    scale = ticks(min([0.0, *numbers]), max([0.0, *numbers]) or 1.0, 10)
    ends = scale[0], scale[-1]
    views = [
        AgreementView(
            name=NAMES[metric],
            value=interval_text(found.rho, found.low, found.high, 2),
            strip=strip(found.rho, found.low, found.high, ends),
        )
        for metric, found in results.agreement.items()
    ]
    return {
        "agreement": views,
        "agreement_ends": [value_text(end) for end in ends],
        "comparison": _comparison(results),
    }


def _comparison(results: Results) -> str:
    difference, p = results.beats.get((WEIGHTED, PLAIN), (None, None))
    if difference is None or p is None:
        return "Whether ΔBLEU agrees better with people than BLEU cannot be told here."
    much = f"by {number_text(abs(difference), 2)} (p {'< 0.001' if p < 0.001 else '= ' + number_text(p, 3)})"
    if p >= LEVEL:
        return f"ΔBLEU’s ρ differs from BLEU’s {much}, which is not significant."
    return f"ΔBLEU agrees {'better' if difference > 0 else 'worse'} with people than BLEU, {much}."


def _origins(results: Results) -> Grid:
    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    return Grid(
        name="references by origin",
        heads=["where it comes from", "references", "true quality", "weight"],
        rows=[
            [
                _ORIGINS.get(origin, origin),
                f"{len(found):,}",
                number_text(mean([each.quality for each in found]), 2),
                number_text(mean([each.weight for each in found]), 2, signed=True),
            ]
            for origin, found in origins_of(results.rated)
        ],
    )


def _weighing(results: Results) -> list[str]:
    """Say how good the raters' weights are."""
    rated = results.rated
    rho = spearman([each.quality for each in rated], [each.weight for each in rated])
    errors = [abs(each.weight - (each.quality - 3) / 2) for each in rated]
    sides = sum((each.weight > 0) == (each.quality > 3) for each in rated)
    said = [
        f"{counted(results.raters, 'simulated rater')} with moods and errors of their own gave "
        f"{counted(len(rated), 'reference')} their weights. "
        f"Held against the truth, weights are off by {number_text(sum(errors) / len(errors), 2)} on average on a scale "
        f"from −1 to +1, and {sides / len(rated):.0%} stand on the right side of 0"
        + ("." if rho is None else f"; Spearman’s ρ is {number_text(rho, 2)}.")
    ]
    if results.interrupted:
        said.append(
            f"The rating of {' and of '.join(results.interrupted)} was interrupted, and other raters went on with it: "
            f"each was to have {counted(results.journal.options.raters, 'rating')}."
        )
    if results.alpha is not None:
        said.append(f"The raters agree with each other by Krippendorff’s α = {number_text(results.alpha, 2)}.")
    return said


def _work(results: Results) -> list[StepView]:
    titles = {step.name: step.title for step in demo_steps(Path(), results.journal.options)}
    return [
        StepView(title=titles[done.step], commands=done.commands, seconds=f"{done.seconds:.1f}")
        for done in results.journal.done
        if done.commands
    ]


def _notes(results: Results) -> list[str]:
    """Return what one should know before believing any of it: what the commands warned of."""
    said = [f"trubleu judge notes: {note}." for note in results.notes]
    said.append(
        f"trubleu score leaves {counted(results.left_out, 'segment')} without a good reference out of ΔBLEU."
        if results.left_out
        else "Every segment has a good reference, so that trubleu score leaves none out of ΔBLEU."
    )
    return said


def _sizes(results: Results) -> str:
    options = results.journal.options
    answers = sum(len(each.ratings) for each in results.rated)
    return (
        f"{counted(options.segments, 'message')}, {counted(len(results.rated), 'reference')} with "
        f"{counted(answers, 'rating')}, {counted(len(results.systems), 'system')}; seed {minus(str(options.seed))}"
    )
