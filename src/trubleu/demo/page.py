"""The demo's report: one self-contained HTML page with its figures and a worked example."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.demo.results import CLEAR, ENOUGH, LEVEL, NAMES, PLAIN, WEIGHTED, find
from trubleu.demo.steps import CAST, demo_steps
from trubleu.errors import counted
from trubleu.explain import explain
from trubleu.metrics import metric as metric_named
from trubleu.render import judge_page
from trubleu.render.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Grid,
    Stroke,
    Tick,
    interval_text,
    number_text,
    strip,
    ticks,
    value_text,
)
from trubleu.render.explanation_lines import weight_text
from trubleu.render.explanation_page import (
    content_policy,
    load_page_templates,
    page_script,
    report_style,
    system_view,
)
from trubleu.render.palette import STEPS, step
from trubleu.render.word_views import minus, weight_classes
from trubleu.stats import spearman

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trubleu.demo.results import Finding, Order, RatedReference, Results, Score
    from trubleu.explain.explanation import Explanation
    from trubleu.render.charts import Strip
    from trubleu.render.explanation_page import SystemView


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateView:
    """A reference with what raters said, as the template shows it."""

    weight: str
    classes: str
    text: str
    ratings: str
    quality: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SideView:
    """One system's output, and how both metrics take it."""

    system: str
    quality: str
    plain: str
    weighted: str
    view: SystemView


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleView:
    """A segment as the template shows it.

    Attributes
    ----------
    segment, message, context
        What was to be answered.
    candidates
        The references, the best first.
    sides
        The system that is overrated most, and the one that is best in truth.
    rows
        For each system: its name, what it said, true quality, the score without weights and with them.
    verdict
        What is to be seen here.
    """

    segment: str
    message: str
    context: Sequence[str]
    candidates: Sequence[CandidateView]
    sides: Sequence[SideView]
    rows: Sequence[Sequence[str]]
    verdict: str


def example_view(results: Results, finding: Finding) -> ExampleView:
    """Return the segment in which the two metrics, and the truth, differ most about two systems."""
    best = finding.true_order[0]
    # Where nobody is overrated, the worst system shows how matches with bad references are taken.
    over = next(iter(finding.orders[PLAIN].overrated()), finding.true_order[-1])
    place = _place(results, over, best)
    segment = results.references[place]
    explained = {
        name: (_explained(results, PLAIN, name, place), _explained(results, WEIGHTED, name, place))
        for name in results.systems
    }
    sides = [
        SideView(
            system=name,
            quality=number_text(results.qualities[name][place], 1),
            plain=_score(explained[name][0]),
            weighted=_score(explained[name][1]),
            view=system_view(name, explained[name][1], 1),
        )
        for name in (over, best)
    ]
    rated = [each for each in results.rated if each.segment == segment.id]
    return ExampleView(
        segment=segment.id,
        message=segment.message or "",
        context=segment.context or (),
        candidates=[
            CandidateView(
                weight=minus(weight_text(each.weight)),
                classes=weight_classes(each.weight),
                text=each.text,
                ratings=" ".join(map(str, each.ratings)),
                quality=number_text(each.quality, 1),
                origin=each.origin,
            )
            for each in sorted(rated, key=lambda each: (-step(each.weight), -each.weight))
        ],
        sides=sides,
        rows=[
            [
                name,
                results.outputs[name][place],
                number_text(results.qualities[name][place], 1),
                _score(explained[name][0]),
                _score(explained[name][1]),
            ]
            for name in finding.true_order
        ],
        verdict=_example_verdict(sides, explained[over][1]),
    )


def _example_verdict(sides: Sequence[SideView], over: Explanation) -> str:
    first, second = sides
    said = (
        f"What {first.system} says is worth {first.quality} in truth, what {second.system} says {second.quality}. "
        f"BLEU gives them {first.plain} and {second.plain}, ΔBLEU {first.weighted} and {second.weighted}."
    )
    matched = [gram for order in over.orders for gram in order.ngrams if gram.matches]
    bad = sum(gram.weight is not None and gram.weight < 0 for gram in matched)
    if bad:
        said += (
            f" Of {counted(len(matched), 'different n-gram')} of {first.system} that are found in references, "
            f"{'all are' if bad == len(matched) else f'{bad} are' if bad > 1 else '1 is'} found in bad ones only: for "
            "BLEU a match is a match, for ΔBLEU these cost."
        )
    return said


def _place(results: Results, over: str, best: str) -> int:
    """Return the segment where BLEU prefers one system most and ΔBLEU the other, both being worth what they are."""

    def gap(place: int) -> float:
        plain, weighted = (
            [_explained(results, name, system, place).score or 0.0 for system in (over, best)]
            for name in (PLAIN, WEIGHTED)
        )
        true = results.qualities[best][place] - results.qualities[over][place]
        return (plain[0] - plain[1]) + (weighted[1] - weighted[0]) + 25 * true

    return max(range(len(results.references)), key=gap)


def _explained(results: Results, name: str, system: str, place: int) -> Explanation:
    chosen = metric_named(name, no_positive="skip") if name == WEIGHTED else metric_named(name)
    return explain(chosen, results.outputs[system][place], results.references, place)


def _score(explanation: Explanation) -> str:
    return "left out" if explanation.score is None else number_text(explanation.score, 1)


_LETTER: Final = 7.6  # pixels that a letter of a name takes, in wide fonts
_OTHER_LETTERS: Final = {**dict.fromkeys("filrt", 5.0), **dict.fromkeys("mw", 11.0)}
_LINE: Final = 13.0
_POINT: Final = 4.2
_ORIGIN_STYLES: Final = ("seed", "mined", "random", "parrot")
_SPREAD: Final = (0.0, -0.035, 0.035, -0.07, 0.07)  # of quality: points on top of each other are drawn side by side

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside a point."""

    x: float
    y: float
    anchor: str
    text: str
    classes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Two axes and what is drawn between them; as `trubleu.render.charts.Chart`, with names beside points."""

    title: str
    description: str
    x_title: str
    y_title: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    zero_y: float | None = None
    lines: Sequence[Stroke] = ()
    marks: Sequence[Stroke] = ()
    labels: Sequence[Label] = ()
    note: str = ""


def quality_panels(results: Results, finding: Finding) -> list[Panel]:
    """Return a panel for each metric: true quality from left to right, scores with intervals from below to above."""
    return [_quality_panel(results, finding, metric) for metric in results.metrics]


def _quality_panel(results: Results, finding: Finding, metric: str) -> Panel:
    order = finding.orders[metric]
    overrated = order.overrated()
    scores = {name: results.scores[metric, name] for name in results.systems}
    x_levels = ticks(min(results.truth.values()), max(results.truth.values()), 5)
    y_levels = ticks(min(0.0, *(each.low for each in scores.values())), max(each.high for each in scores.values()), 5)
    x = _scale(x_levels[0], x_levels[-1], LEFT + 10, WIDTH - RIGHT - 10)
    y = _scale(y_levels[0], y_levels[-1], HEIGHT - BOTTOM, TOP)
    kinds = {name: "over" if name in overrated else "right" for name in results.systems}
    points = {name: (x(results.truth[name]), y(scores[name].value)) for name in results.systems}
    whiskers = {name: (y(scores[name].high), y(scores[name].low)) for name in results.systems}
    lines = [
        Stroke(f"M{points[name][0]:.1f} {top:.1f}V{bottom:.1f}", kinds[name])
        for name, (top, bottom) in whiskers.items()
    ]
    marks = [
        Stroke(
            _diamond(*points[name]) if name in overrated else _circle(*points[name]),
            kinds[name],
            f"{name}: true quality {number_text(results.truth[name], 2)}, score {number_text(scores[name].value, 1)} "
            f"[{number_text(scores[name].low, 1)}, {number_text(scores[name].high, 1)}]",
        )
        for name in results.systems
    ]
    sure = f", {len(order.sure) or 'none'} significantly" if order.enough else ""
    wrong = f"{len(order.wrong)} of {order.pairs} pairs in the wrong order{sure}"
    return Panel(
        title=NAMES[metric],
        description=f"{NAMES[metric]} against true quality: "
        + "; ".join(
            f"{name} {number_text(results.truth[name], 2)} and {number_text(scores[name].value, 1)}"
            for name in finding.true_order
        ),
        x_title="true quality, 1 to 5",
        y_title=metric,
        x_ticks=[Tick(x(level), value_text(level)) for level in x_levels],
        y_ticks=[Tick(y(level), value_text(level)) for level in y_levels],
        zero_y=y(0.0) if y_levels[0] < 0 < y_levels[-1] else None,
        lines=lines,
        marks=marks,
        labels=_labels(finding.true_order, points, whiskers, kinds),
        note=wrong if order.wrong else f"no wrong pair among {order.pairs}",
    )


def _labels(
    names: Sequence[str],
    points: dict[str, tuple[float, float]],
    whiskers: dict[str, tuple[float, float]],
    kinds: dict[str, str],
) -> list[Label]:
    """Put each name beside its point, where it covers nothing if there is such a place."""
    taken: list[Box] = []
    for name, (x, y) in points.items():
        taken.append((x - _POINT - 1, y - _POINT - 1, x + _POINT + 1, y + _POINT + 1))
        taken.append((x - 1.5, whiskers[name][0], x + 1.5, whiskers[name][1]))
    placed = []
    for name in names:
        x, y = points[name]
        wide = sum(_OTHER_LETTERS.get(letter, _LETTER) for letter in name)
        high, low = whiskers[name]
        choices: list[tuple[float, float, str]] = [
            choice
            for away in (0.0, -9.0, 9.0, -18.0, 18.0, -27.0, 27.0)
            for choice in ((x + 8, y + away + 4, "start"), (x - 8, y + away + 4, "end"))
        ] + [(x, high - 5, "middle"), (x, low + 12, "middle"), (x, high - 18, "middle")]
        boxes = [_box(*choice, wide) for choice in choices]
        best = min(range(len(choices)), key=lambda place: (_covered(boxes[place], taken), place))
        taken.append(boxes[best])
        at, under, anchor = choices[best]
        placed.append(Label(at, under, {"start": "", "end": "end", "middle": "mid"}[anchor], name, kinds[name]))
    return placed


def _box(x: float, y: float, anchor: str, wide: float) -> Box:
    left = {"start": x, "end": x - wide, "middle": x - wide / 2}[anchor]
    return left, y - _LINE + 3, left + wide, y + 3


def _covered(box: Box, taken: Sequence[Box]) -> float:
    """Return how much of what is there a label would cover, and how far it would stand outside."""
    left, top, right, bottom = box
    lowest = HEIGHT - BOTTOM + 4
    outside = max(0.0, LEFT - left) + max(0.0, right - WIDTH) + max(0.0, -top) + max(0.0, bottom - lowest)
    area = sum(
        max(0.0, min(right, other[2]) - max(left, other[0])) * max(0.0, min(bottom, other[3]) - max(top, other[1]))
        for other in taken
    )
    return area + 100 * outside


def weight_panel(rated: Sequence[RatedReference]) -> Panel:
    """Return the references: true quality from left to right, the weight that raters gave from below to above."""
    x = _scale(1.0, 5.0, LEFT + 10, WIDTH - RIGHT - 10)
    y = _scale(-1.0, 1.0, HEIGHT - BOTTOM, TOP)
    seen: dict[tuple[float, float], int] = {}
    dots = []
    for each in rated:
        place = round(each.quality, 2), round(each.weight, 3)
        seen[place] = seen.get(place, -1) + 1
        dots.append(f"M{x(each.quality + _SPREAD[seen[place] % len(_SPREAD)]):.1f} {y(each.weight):.1f}h0")
    return Panel(
        title="Weights against the truth",
        description=f"Weights that raters gave to {len(rated):,} references, against their true quality",
        x_title="true quality, 1 to 5",
        y_title="weight",
        x_ticks=[Tick(x(level), value_text(level)) for level in (1, 2, 3, 4, 5)],
        y_ticks=[Tick(y(level), value_text(level)) for level in (-1.0, -0.5, 0.0, 0.5, 1.0)],
        zero_y=y(0.0),
        lines=[Stroke(f"M{x(1):.1f} {y(-1):.1f}L{x(5):.1f} {y(1):.1f}", "ideal")],
        marks=[Stroke("".join(dots), "dots")],
        note="The line is where weights would be if raters made no mistake.",
    )


def origins_of(rated: Sequence[RatedReference]) -> list[tuple[str, list[RatedReference]]]:
    """Return the references by where they come from, the usual origins in a fixed order."""
    found: dict[str, list[RatedReference]] = {}
    for each in rated:
        found.setdefault(each.origin, []).append(each)
    known = [name for name in _ORIGIN_STYLES if name in found]
    return [(name, found[name]) for name in [*known, *sorted(set(found) - set(known))]]


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _circle(x: float, y: float) -> str:
    r = _POINT
    return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"


def _diamond(x: float, y: float) -> str:
    r = _POINT * 1.4
    return f"M{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}L{x - r:.1f} {y:.1f}Z"


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
    style = report_style() + _read(_FOLDER / "report.css")
    script = page_script()
    text = (
        load_page_templates(_FOLDER, judge_page.FOLDER)
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
