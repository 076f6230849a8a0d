"""Explanations as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trubleu._version import __version__
from trubleu.explain.explanation import windows
from trubleu.explain.similarity import SimilarityExplanation
from trubleu.optional_deps import needed
from trubleu.render.charts import series_style, table_grid
from trubleu.render.explanation_text import (
    ALL_REFERENCES,
    SKIPPED,
    conclusion,
    decisive_references,
    factor_names,
    factors,
    matched_ngrams,
    near_tables,
    ngram_table,
    order_table,
    reference_notes,
    runs,
    score_text,
    similarity_conclusion,
    similarity_table,
    source_text,
    unmatched,
    weight_text,
)
from trubleu.render.tables import MISSING
from trubleu.style import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jinja2 import Environment

    from trubleu.explain.explanation import ExplainedReference, Explanation, NGram
    from trubleu.explain.similarity import AnyExplanation
    from trubleu.metrics.bleu2vec.alignment import AlignedNgrams


STEPS: Final = 20
"""Colour steps between −1 and +1: the classes ``w0`` to ``w20`` of page.css, so the page needs no inline styles."""


def step(weight: float) -> int:
    """Return the colour step of a weight, 0 for −1 and `STEPS` for +1.

    Examples
    --------
    >>> step(-1.0), step(0.0), step(0.04), step(0.8), step(1.0)
    (0, 10, 10, 18, 20)
    """
    return round((weight + 1) / 2 * STEPS)


_SIGNS: Final = {-1: "neg", 0: "zero", 1: "pos"}


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token, the numbers of the matches around it, which a script connects, and its tooltip."""

    text: str
    grams: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    """Tokens with the same background; no classes if nothing matched."""

    tokens: Sequence[TokenView]
    classes: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceView:
    """A reference; its weight is an empty string if it has none."""

    number: int
    weight: str
    classes: str
    runs: Sequence[RunView]
    credit: str
    notes: Sequence[str]


def minus(number: str) -> str:
    """Replace a hyphen-minus by a true minus sign.

    Examples
    --------
    >>> minus("-0.5")
    '−0.5'
    """
    return number.replace("-", "−")


def weight_classes(weight: float) -> str:
    """Return the CSS classes for the colour and line style of a weight.

    Examples
    --------
    >>> weight_classes(-1.0), weight_classes(0.0), weight_classes(0.5)
    ('w0 neg', 'w10 zero', 'w15 pos')
    """
    return f"w{step(weight)} {_SIGNS[(weight > 0) - (weight < 0)]}"


UNFOLDED: Final = 3
"""References shown without expanding."""


View: TypeAlias = dict[str, Any]
"""What a template shows of something, by name."""


def similarity_view(name: str, explanation: SimilarityExplanation, digits: int) -> View:
    """Return the view of one output, scored by similarity: beside its references, and how that became the score."""
    chosen = explanation.by_interest()[:ALL_REFERENCES]
    compared = [compared_view(explanation, place) for place in chosen]
    unfolded = max(UNFOLDED, len(explanation.decisive()))
    return View(
        similar=True,
        name=name,
        score=score_text(explanation, digits),
        output=explanation.output.strip(),
        compared=compared[:unfolded],
        folded=compared[unfolded:],
        others=[_listed(explanation, place) for place in explanation.by_weight() if place not in chosen],
        factors=table_grid(similarity_table(explanation), digits, "F values and similarities", 1),
        conclusion=list(map(_with_minus, similarity_conclusion(explanation, digits))),
    )


def _with_minus(line: str) -> str:
    """Replace hyphens by minus signs, except in the metric's name.

    Examples
    --------
    >>> _with_minus("trubleu-2: 1 - 0.5 (-0.9)")
    'trubleu-2: 1 − 0.5 (−0.9)'
    """
    return line.replace(" - ", " − ").replace("(-", "(−")


def compared_view(explanation: SimilarityExplanation, place: int) -> View:
    """Return the comparison of an output with one reference, word by word: both texts, and a table of their words."""
    reference = explanation.references[place]
    return View(
        number=place + 1,
        weight=_weight(explanation, place),
        classes=weight_classes(reference.weight),
        notes=_notes(explanation, place),
        similarity=_number(reference.similarity),
        summary=list(_summary(explanation, place)),
        output=output_words(explanation, [place]),
        reference=reference_words(explanation, place),
        words=list(_words(explanation, place)),
    )


def output_words(explanation: SimilarityExplanation, places: Sequence[int]) -> list[RunView]:
    """Return the words of an output, marked by their similarity.

    Parameters
    ----------
    explanation
        How the output got its score.
    places
        References that are shown with it. The first one gives the colours.
    """
    met = [(place, explanation.met(place)) for place in places]
    found = []
    for position, text in enumerate(explanation.tokens):
        pairs = [(place, pairs.get(position)) for place, pairs in met]
        known = [_id(place, pair) for place, pair in pairs if pair is not None]
        said = [
            f"“{text}”, which weighs {explanation.token_weights[position]:.2f}, {_partner(explanation, place, pair)}"
            for place, pair in pairs
        ]
        token = TokenView(text, " ".join(known) or f"output-{position}", "\n".join(said))
        found.append(_marked(explanation, token, *pairs[0]) if pairs else RunView([token]))
    return found


def reference_words(explanation: SimilarityExplanation, place: int) -> list[RunView]:
    """Return the words of a reference, marked by their similarity."""
    reference = explanation.references[place]
    pairs = {pair.reference_position: pair for pair in explanation.met(place).values()}
    found = []
    for position, text in enumerate(reference.tokens):
        pair = pairs.get(position)
        said = f"“{text}” of #{place + 1}, which weighs {reference.token_weights[position]:.2f}, "
        if pair is None:
            said += "was met by no word of the output"
        elif pair.exact:
            said += "is in the output"
        else:
            said += f"was met by “{explanation.tokens[pair.position]}”: similarity {pair.similarity:.2f}"
        known = f"reference-{place}-{position}" if pair is None else _id(place, pair)
        found.append(_marked(explanation, TokenView(text, known, said), place, pair))
    return found


def _id(place: int, pair: AlignedNgrams) -> str:
    return f"{place}-{pair.position}"


def _partner(explanation: SimilarityExplanation, place: int, pair: AlignedNgrams | None) -> str:
    if pair is None:
        return f"met no word of #{place + 1}"
    if pair.exact:
        return f"is in #{place + 1}"
    reference = explanation.references[place]
    other = reference.tokens[pair.reference_position]
    weight = reference.token_weights[pair.reference_position]
    return f"met “{other}” in #{place + 1}, which weighs {weight:.2f}: similarity {pair.similarity:.2f}"


def _marked(explanation: SimilarityExplanation, token: TokenView, place: int, pair: AlignedNgrams | None) -> RunView:
    if pair is None:
        return RunView([token], "unmet")
    weight = explanation.references[place].weight
    classes = weight_classes(pair.similarity * ((weight > 0) - (weight < 0)))
    if pair.exact:
        return RunView([token], classes)
    return RunView([token], f"{classes} near", f"{pair.similarity:.2f}")


def _summary(explanation: SimilarityExplanation, place: int) -> Iterator[str]:
    reference = explanation.references[place]
    names = factor_names(explanation)
    values = zip(names, factors(explanation, reference), strict=True)
    yield "F values: " + ", ".join(f"{name} {_number(value)}" for name, value in values)
    words = reference.orders[0]
    if words.precision is not None and words.recall is not None:
        yield f"words met, by weight: {words.precision:.0%} of the output, {words.recall:.0%} of the reference"


def _words(explanation: SimilarityExplanation, place: int) -> Iterator[Sequence[str]]:
    reference = explanation.references[place]
    met = explanation.met(place)
    for position, (text, weight) in enumerate(zip(explanation.tokens, explanation.token_weights, strict=True)):
        pair = met.get(position)
        if pair is None:
            yield (text, f"{weight:.2f}", MISSING, "", MISSING)
        else:
            at = pair.reference_position
            similarity = "equal" if pair.exact else f"{pair.similarity:.3f}"
            yield (text, f"{weight:.2f}", reference.tokens[at], f"{reference.token_weights[at]:.2f}", similarity)
    for at in explanation.missed(place):
        yield (MISSING, "", reference.tokens[at], f"{reference.token_weights[at]:.2f}", MISSING)


def _notes(explanation: SimilarityExplanation, place: int) -> list[str]:
    origin = explanation.references[place].origin
    return [*([] if origin is None else [origin]), *reference_notes(explanation, place)]


def _weight(explanation: AnyExplanation, place: int) -> str:
    shown = explanation.shown_weight(place)
    return "" if shown is None else minus(weight_text(shown))


def _listed(explanation: SimilarityExplanation, place: int) -> ReferenceView:
    """Return a reference for a list, as it is."""
    text = explanation.references[place].text
    return similarity_reference(explanation, place, [RunView([TokenView(text)])] if text.strip() else [])


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"


def similarity_reference(
    explanation: SimilarityExplanation, place: int, runs: Sequence[RunView] | None = None
) -> ReferenceView:
    """Return a reference for a list, its words marked by their similarity unless they are given."""
    reference = explanation.references[place]
    similarity = [] if reference.similarity is None else [f"similarity {reference.similarity:.3f}"]
    return ReferenceView(
        number=place + 1,
        weight=_weight(explanation, place),
        classes=weight_classes(reference.weight),
        runs=reference_words(explanation, place) if runs is None else runs,
        credit="",
        notes=[*_notes(explanation, place), *similarity],
    )


def segment_view(explanations: Mapping[str, AnyExplanation], digits: int) -> View:
    """Return the view of one segment, given each system's explanation."""
    first = next(iter(explanations.values()))
    return View(
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


def system_view(name: str, explanation: Explanation, digits: int) -> View:
    """Return the view of one output, scored by n-grams: its matches, its references, and the tables of both."""
    grams = matched_ngrams(explanation)
    views = [reference_view(explanation, place, grams) for place in explanation.by_weight()]
    table = table_grid(ngram_table(explanation), digits, "n-grams", 2)
    decisive = decisive_references(explanation)
    rest = [view for view in views if view.number - 1 not in decisive]
    return View(
        similar=False,
        name=name,
        score=score_text(explanation, digits),
        output=output_view(explanation, grams),
        credited=[view for view in views if view.number - 1 in decisive],
        matched=[view for view in rest if explanation.references[view.number - 1].matched],
        others=[view for view in rest if not explanation.references[view.number - 1].matched],
        grams=[
            View(
                id=number,
                title=_said(gram, explanation.weighted),
                classes=weight_classes(gram.weight or 0.0),
                cells=row,
            )
            for number, (gram, row) in enumerate(zip(grams, table.rows, strict=True))
        ],
        gram_heads=table.heads,
        unmatched=list(unmatched(explanation)),
        near=[table_grid(near, digits, "near misses", 4) for near in near_tables(explanation)],
        orders=table_grid(order_table(explanation, digits), digits, "orders", 1),
        conclusion=[SKIPPED] if explanation.skipped else list(conclusion(explanation, digits)),
    )


def _said(gram: NGram, weighted: bool) -> str:
    """Describe an n-gram's credit in one line."""
    words = " ".join(gram.tokens)
    if not weighted:
        return f"“{words}” counts {gram.counted:.3g}, found in {source_text(gram)}"
    credit, weight = minus(f"{gram.credit:+.3g}"), minus(weight_text(gram.weight or 0.0))
    return f"“{words}” earns {credit} = {weight} × {gram.counted:.3g} by {source_text(gram)}"


def output_view(explanation: Explanation, grams: Sequence[NGram], *, by_rating: bool = False) -> list[RunView]:
    """Split an output into runs that matched the same reference.

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
            # Longest first, as they are the most informative.
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
    """Return a reference with its matched n-grams marked; credited ones have its colour."""
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
    shown = explanation.shown_weight(place)
    notes = [] if reference.origin is None else [reference.origin]
    if place == explanation.length_from:
        notes.append(f"sets the length: {len(reference.tokens)}")
    return ReferenceView(
        number=place + 1,
        weight=_weight(explanation, place),
        classes="" if shown is None else weight_classes(shown),
        runs=pieces,
        credit=minus(f"{reference.credit:+.3g}") if any(credited) else "",
        notes=notes,
    )


def _colour_weight(reference: ExplainedReference, credited: float, by_rating: bool) -> float:
    return reference.rated if by_rating and reference.rated is not None else credited


_FOLDER: Final = Path(__file__).parent / "templates"


@cache
def load_page_templates() -> Environment:
    """Return the page templates; raise an error if a package is missing.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    jinja2: Any = needed("jinja2", "a page in HTML", "trubleu[report]")
    environment: Environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,  # texts are untrusted: <script> in a reference is shown, not run
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment


def render_explanation_page(explanations: Mapping[str, Sequence[AnyExplanation]], digits: int = 2) -> str:
    """Render explanations as a page.

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
    segments = [
        segment_view(dict(zip(explanations, several, strict=True)), digits)
        for several in zip(*explanations.values(), strict=True)
    ]
    everything = [one for several in explanations.values() for one in several]
    return rendered_page(
        "page.html.j2",
        page_style(),
        page_script(),
        segments=segments,
        systems=list(explanations),
        metric=everything[0].metric,
        weighted=any(one.weighted for one in everything),
        similar=isinstance(everything[0], SimilarityExplanation),
        signatures=list(dict.fromkeys(one.signature for one in everything)),
        steps=STEPS,
    )


def rendered_page(template: str, style: str, script: str, **values: Any) -> str:
    """Return a page of a template, with its style, its script, and a policy that allows no others."""
    policy = content_policy(style, script)
    page: str = (
        load_page_templates()
        .get_template(template)
        .render(style=style, script=script, policy=policy, version=__version__, **values)
    )
    return page


def page_style() -> str:
    """Return the stylesheet of pages with coloured n-grams."""
    return tokens() + page_asset("page.css")


def report_style() -> str:
    """Return the stylesheet of reports, which adds tables and charts."""
    return page_style() + series_style() + page_asset("report.css")


def page_script() -> str:
    """Return the script of all pages: highlights the words of an n-gram together, and marks scrollable tables."""
    return page_asset("page.js")


def page_asset(name: str) -> str:
    """Return a stylesheet or script of the pages."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def content_policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy: one stylesheet and one script, identified by hash, and nothing else.

    Injected content would not run, even if it were not escaped.

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
