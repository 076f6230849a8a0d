"""One segment worked out: the one that shows best how a metric is fooled, if it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trubleu.demo.finding import PLAIN, WEIGHTED
from trubleu.errors import counted
from trubleu.explain import explain
from trubleu.explain.palette import step
from trubleu.explain.text import weight_text
from trubleu.explain.views import minus, system_view, weight_classes
from trubleu.judge.show.charts import number_text
from trubleu.metrics import metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.demo.finding import Finding
    from trubleu.demo.results import Results
    from trubleu.explain.explanation import Explanation
    from trubleu.explain.views import SystemView


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
        verdict=_verdict(sides, explained[over][1]),
    )


def _verdict(sides: Sequence[SideView], over: Explanation) -> str:
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
    chosen = metric(name, no_positive="skip") if name == WEIGHTED else metric(name)
    return explain(chosen, results.outputs[system][place], results.references, place)


def _score(explanation: Explanation) -> str:
    return "left out" if explanation.score is None else number_text(explanation.score, 1)
