"""What pages show of an explanation of trubleu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from trubleu.render.explanation_lines import ALL_REFERENCES, weight_text
from trubleu.render.similarity_text import factor_names, factors, reference_notes, similarity_conclusion
from trubleu.render.tables import MISSING
from trubleu.render.word_views import ReferenceView, RunView, TokenView, minus, weight_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.explain.similarity import SimilarityExplanation
    from trubleu.metrics.trubleu import AlignedNgrams

UNFOLDED: Final = 3
"""References that are seen without unfolding anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedView:
    """An output beside one reference, word by word.

    Attributes
    ----------
    number, weight, classes, notes
        As for a `ReferenceView`.
    similarity
        How similar they are.
    summary
        What F values they have, and how much of both was met.
    output, reference
        The words of both, marked by how well each was met.
    words
        The same as a table: a word of the output and what it weighs, the word it met and what that weighs, how similar
        they are; then the words of the reference that none met.
    """

    number: int
    weight: str
    classes: str
    notes: Sequence[str]
    similarity: str
    summary: Sequence[str]
    output: Sequence[RunView]
    reference: Sequence[RunView]
    words: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityView:
    """One system's output for a segment, by similarity.

    Attributes
    ----------
    name, score, output
        Whose it is, what it got, what it says.
    compared, folded
        The references that it is shown beside: what decides first, then those that are folded away.
    others
        References that are only listed.
    factors
        The names of the F values.
    rows
        The table of F values and similarities.
    conclusion
        How these became the score.
    """

    similar: ClassVar[bool] = True

    name: str
    score: str
    output: str
    compared: Sequence[ComparedView]
    folded: Sequence[ComparedView]
    others: Sequence[ReferenceView]
    factors: Sequence[str]
    rows: Sequence[Sequence[str]]
    conclusion: Sequence[str]


def similarity_view(name: str, explanation: SimilarityExplanation, digits: int) -> SimilarityView:
    """Return what the page shows of one output."""
    chosen = explanation.by_interest()[:ALL_REFERENCES]
    compared = [compared_view(explanation, place) for place in chosen]
    unfolded = max(UNFOLDED, len(explanation.decisive()))
    return SimilarityView(
        name=name,
        score="left out" if explanation.score is None else f"{explanation.score:.{digits}f}",
        output=explanation.output.strip(),
        compared=compared[:unfolded],
        folded=compared[unfolded:],
        others=[_listed(explanation, place) for place in explanation.by_weight() if place not in chosen],
        factors=factor_names(explanation),
        rows=[_row(explanation, place) for place in sorted(chosen, key=explanation.by_weight().index)],
        # The metric's name may have a hyphen, which is no minus.
        conclusion=[
            line.replace(" - ", " − ").replace("(-", "(−") for line in similarity_conclusion(explanation, digits)
        ],
    )


def _with_minus(line: str) -> str:
    """Return a line with the sign for minus, but for the hyphen that the metric's name may have.

    Examples
    --------
    >>> _with_minus("trubleu-2: 1 - 0.5 (-0.9)")
    'trubleu-2: 1 − 0.5 (−0.9)'
    """
    return line.replace(" - ", " − ").replace("(-", "(−")


def compared_view(explanation: SimilarityExplanation, place: int) -> ComparedView:
    """Return an output beside one reference."""
    reference = explanation.references[place]
    return ComparedView(
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
    """Return the words of an output, marked by how well each was met.

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
    """Return the words of a reference, marked by how well each was met."""
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


def _weight(explanation: SimilarityExplanation, place: int) -> str:
    reference = explanation.references[place]
    shown = reference.weight if explanation.weighted else reference.rated
    return "" if shown is None else minus(weight_text(shown))


def _listed(explanation: SimilarityExplanation, place: int) -> ReferenceView:
    reference = explanation.references[place]
    similarity = [] if reference.similarity is None else [f"similarity {reference.similarity:.3f}"]
    return ReferenceView(
        number=place + 1,
        weight=_weight(explanation, place),
        classes=weight_classes(reference.weight),
        runs=[RunView([TokenView(reference.text)])] if reference.text.strip() else [],
        credit="",
        notes=[*_notes(explanation, place), *similarity],
    )


def _row(explanation: SimilarityExplanation, place: int) -> list[str]:
    reference = explanation.references[place]
    weight = [_weight(explanation, place)] if explanation.weighted else []
    return [f"#{place + 1}", *weight, *map(_number, factors(explanation, reference)), _number(reference.similarity)]


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"


def similarity_reference(explanation: SimilarityExplanation, place: int) -> ReferenceView:
    """Return a reference in a list, its words marked by how well each was met."""
    reference = explanation.references[place]
    return ReferenceView(
        number=place + 1,
        weight=_weight(explanation, place),
        classes=weight_classes(reference.weight),
        runs=reference_words(explanation, place),
        credit="",
        notes=[*_notes(explanation, place), f"similarity {_number(reference.similarity)}"],
    )
