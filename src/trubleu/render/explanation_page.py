"""Explanations as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from trubleu._version import __version__
from trubleu.explain.explanation import windows
from trubleu.explain.similarity import SimilarityExplanation
from trubleu.optional_deps import needed
from trubleu.render.charts import series_style
from trubleu.render.explanation_lines import SKIPPED, weight_text
from trubleu.render.explanation_text import (
    conclusion,
    credited_ngrams,
    matched_ngrams,
    measure,
    near_misses,
    runs,
    smoothed_text,
    source_text,
    unmatched,
)
from trubleu.render.palette import STEPS, stylesheet
from trubleu.render.similarity_page import SimilarityView, similarity_view
from trubleu.render.word_views import ReferenceView, RunView, TokenView, minus, weight_classes
from trubleu.style import tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment

    from trubleu.explain.explanation import ExplainedReference, Explanation, NGram
    from trubleu.explain.similarity import AnyExplanation


@dataclass(frozen=True, slots=True)
class GramView:
    """A line of the table of n-grams."""

    id: str
    order: int
    text: str
    title: str
    classes: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class SystemView:
    """One system's output for a segment."""

    similar: ClassVar[bool] = False

    name: str
    score: str
    output: Sequence[RunView]
    credited: Sequence[ReferenceView]
    matched: Sequence[ReferenceView]
    others: Sequence[ReferenceView]
    grams: Sequence[GramView]
    unmatched: Sequence[str]
    near: Sequence[Sequence[str]]
    orders: Sequence[Sequence[str]]
    smoothed: bool
    measure: str
    conclusion: Sequence[str]


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A segment and what each system made of it."""

    id: str
    message: str | None
    context: Sequence[str]
    systems: Sequence[SystemView | SimilarityView]


def segment_view(explanations: Mapping[str, AnyExplanation], digits: int) -> SegmentView:
    """Return what the page shows of one segment, given each system's explanation."""
    first = next(iter(explanations.values()))
    return SegmentView(
        id=first.segment,
        message=first.message,
        context=first.context or (),
        systems=[
            similarity_view(name, explanation, digits)
            if isinstance(explanation, SimilarityExplanation)
            else system_view(name, explanation, digits)
            for name, explanation in explanations.items()
        ],
    )


def system_view(name: str, explanation: Explanation, digits: int) -> SystemView:
    """Return what the page shows of one output."""
    grams = list(matched_ngrams(explanation))
    views = [reference_view(explanation, place, grams) for place in explanation.by_weight()]
    smoothed = [smoothed_text(order, digits) for order in explanation.orders]
    decisive = decisive_references(explanation)
    rest = [view for view in views if view.number - 1 not in decisive]
    return SystemView(
        name=name,
        score="left out" if explanation.score is None else f"{explanation.score:.{digits}f}",
        output=output_view(explanation, grams),
        credited=[view for view in views if view.number - 1 in decisive],
        matched=[view for view in rest if explanation.references[view.number - 1].matched],
        others=[view for view in rest if not explanation.references[view.number - 1].matched],
        grams=[_gram(number, gram, explanation.weighted, digits) for number, gram in enumerate(grams)],
        unmatched=list(unmatched(explanation)),
        near=[
            (
                str(len(gram.tokens)),
                " ".join(gram.tokens),
                " ".join(miss.tokens),
                f"#{miss.reference + 1}",
                minus(f"{miss.similarity:.3f}"),
                *([minus(weight_text(gram.weight or 0.0))] if explanation.weighted else []),
            )
            for gram, miss in near_misses(explanation)
        ],
        orders=[
            (
                str(order.order),
                minus(f"{order.numerator:.{digits}f}"),
                f"{order.denominator:.{digits}f}",
                *([smoothed[order.order - 1]] if any(smoothed) else []),
                f"{order.precision:.{digits}f}" if order.used else "left out",
            )
            for order in explanation.orders
        ],
        smoothed=any(smoothed),
        measure=measure(explanation),
        conclusion=[SKIPPED] if explanation.skipped else list(conclusion(explanation, digits)),
    )


def decisive_references(explanation: Explanation) -> frozenset[int]:
    """Return the places of the references that credited an n-gram or set the length."""
    grams = credited_ngrams(explanation)
    places = {place for gram in grams for place in (gram.weight_from, gram.count_from)} | {explanation.length_from}
    return frozenset(place for place in places if place is not None)


def _said(gram: NGram, weighted: bool) -> str:
    """Say in a line what an n-gram earned."""
    words = " ".join(gram.tokens)
    if not weighted:
        return f"“{words}” counts {gram.counted:.3g}, found in {source_text(gram)}"
    credit, weight = minus(f"{gram.credit:+.3g}"), minus(weight_text(gram.weight or 0.0))
    return f"“{words}” earns {credit} = {weight} × {gram.counted:.3g} by {source_text(gram)}"


def output_view(explanation: Explanation, grams: Sequence[NGram], *, by_rating: bool = False) -> list[RunView]:
    """Return an output cut into stretches that matched the same reference.

    Parameters
    ----------
    explanation
        How it got its score.
    grams
        Its matched n-grams, which are known by their places.
    by_rating
        Whether the colour is that of the reference's rating even if the metric takes all references alike.
    """
    around: list[list[int]] = [[] for _ in explanation.tokens]
    for number, gram in enumerate(grams):
        for start in gram.positions:
            for place in range(start, start + len(gram.tokens)):
                around[place].append(number)
    tokens = [
        TokenView(
            text,
            " ".join(map(str, dict.fromkeys(numbers))),
            # The longest first: they say most.
            "\n".join(_said(grams[number], explanation.weighted) for number in reversed(dict.fromkeys(numbers))),
        )
        for text, numbers in zip(explanation.tokens, around, strict=True)
    ]
    return [
        RunView(tokens[run.start : run.end])
        if run.weight is None
        else RunView(
            tokens[run.start : run.end],
            weight_classes(_colour_weight(explanation.references[run.reference or 0], run.weight, by_rating)),
            minus(weight_text(run.weight)) if explanation.weighted else f"#{(run.reference or 0) + 1}",
        )
        for run in runs(explanation)
    ]


def reference_view(
    explanation: Explanation, place: int, grams: Sequence[NGram], *, by_rating: bool = False
) -> ReferenceView:
    """Return a reference with its matched n-grams marked; those that it was credited for have its colour."""
    reference = explanation.references[place]
    around: list[list[int]] = [[] for _ in reference.tokens]
    credited = [False] * len(reference.tokens)
    if reference.matched:
        numbers = {gram.tokens: number for number, gram in enumerate(grams)}
        for n in range(1, len(explanation.orders) + 1):
            for start, window in enumerate(windows(reference.tokens, n)):
                number = numbers.get(window)
                if number is None:
                    continue
                for at in range(start, start + n):
                    around[at].append(number)
                    credited[at] |= place in (grams[number].weight_from, grams[number].count_from)
    colour = weight_classes(_colour_weight(reference, reference.weight, by_rating))
    pieces: list[RunView] = []
    for text, found, earned in zip(reference.tokens, around, credited, strict=True):
        classes = colour if earned else "seen" if found else ""
        token = TokenView(text, " ".join(map(str, dict.fromkeys(found))))
        if pieces and pieces[-1].classes == classes:
            pieces[-1] = RunView([*pieces[-1].tokens, token], classes)
        else:
            pieces.append(RunView([token], classes))
    shown = reference.weight if explanation.weighted else reference.rated
    notes = [] if reference.origin is None else [reference.origin]
    if place == explanation.length_from:
        notes.append(f"sets the length: {len(reference.tokens)}")
    return ReferenceView(
        number=place + 1,
        weight="" if shown is None else minus(weight_text(shown)),
        classes="" if shown is None else weight_classes(shown),
        runs=pieces,
        credit=minus(f"{reference.credit:+.3g}") if any(credited) else "",
        notes=notes,
    )


def _colour_weight(reference: ExplainedReference, credited: float, by_rating: bool) -> float:
    return reference.rated if by_rating and reference.rated is not None else credited


def _gram(number: int, gram: NGram, weighted: bool, digits: int) -> GramView:
    weight = 0.0 if gram.weight is None else gram.weight
    return GramView(
        id=str(number),
        order=len(gram.tokens),
        text=" ".join(gram.tokens),
        title=_said(gram, weighted),
        classes=weight_classes(weight),
        cells=[
            str(gram.occurrences),
            source_text(gram),
            str(len(gram.matches)),
            *([minus(weight_text(weight))] if weighted else []),
            str(gram.clipped),
            minus(f"{gram.credit:.{digits}f}"),
            f"{gram.possible:.{digits}f}",
        ],
    )


_FOLDER: Final = Path(__file__).parent / "templates"


@cache
def load_page_templates() -> Environment:
    """Return the templates of pages, or say what to install.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    jinja2: Any = needed("jinja2", "a page in HTML", "trubleu[report]")
    environment: Environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,  # texts come from anywhere: <script> in a reference is shown, not run
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment


def render_explanation_page(explanations: Mapping[str, Sequence[AnyExplanation]], digits: int = 2) -> str:
    """Return explanations as a page.

    Parameters
    ----------
    explanations
        For each system the same segments in the same order.
    digits
        Decimals of scores and sums.

    Examples
    --------
    >>> import trubleu
    >>> from trubleu.explain import explain
    >>> found = explain(trubleu.metric("bleu-1"), "<b>it was</b>", [["it is"]])
    >>> page = render_explanation_page({"A": [found]})
    >>> "<b>" in page, page.startswith("<!doctype html>")
    (False, True)
    """
    segments: list[SegmentView] = [
        segment_view(dict(zip(explanations, several, strict=True)), digits)
        for several in zip(*explanations.values(), strict=True)
    ]
    everything = [one for several in explanations.values() for one in several]
    style, script = page_style(), page_script()
    return (
        load_page_templates()
        .get_template("page.html.j2")
        .render(
            segments=segments,
            systems=list(explanations),
            metric=everything[0].metric,
            weighted=any(one.weighted for one in everything),
            similar=isinstance(everything[0], SimilarityExplanation),
            signatures=list(dict.fromkeys(one.signature for one in everything)),
            steps=STEPS,
            style=style,
            script=script,
            policy=content_policy(style, script),
            version=__version__,
        )
    )


def page_style() -> str:
    """Return the style sheet for texts with coloured n-grams and for what is around them."""
    return tokens() + stylesheet() + page_asset("page.css")


def report_style() -> str:
    """Return the style sheet of reports: pages with tables and charts besides."""
    return page_style() + series_style() + page_asset("report.css")


def page_script() -> str:
    """Return the script of all pages: words of an n-gram light up together, and wide tables say that they scroll."""
    return page_asset("page.js")


def page_asset(name: str) -> str:
    """Return a style sheet or script of the pages."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def content_policy(style: str, script: str) -> str:
    """Return what a browser is told: one style sheet and one script, known by their hashes, and nothing else.

    Nothing that a text could smuggle in would run, even if it were not escaped.

    Examples
    --------
    >>> content_policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
