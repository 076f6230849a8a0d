"""Explanations of trubleu as plain text for a terminal."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from trubleu.render.explanation_lines import (
    ALL_REFERENCES,
    SKIPPED,
    WIDTH,
    labelled,
    order_name,
    reference_lines,
    weight_text,
    wrapped,
)
from trubleu.render.tables import MISSING, Column, Table, one_line, render_tables, width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.explain.similarity import SimilarityExplanation, SimilarReference
    from trubleu.metrics.trubleu import AlignedNgrams

_LONGEST: Final = 20
"""Columns that a word takes at most in a table."""

_LEAST: Final = 0.001
"""What an F value counts for at least."""


def similarity_blocks(name: str, explanation: SimilarityExplanation, digits: int) -> Iterator[str]:
    """Return what is said of one system's output, in blocks that an empty line separates."""
    score = "left out" if explanation.score is None else f"{explanation.score:.{digits}f}"
    yield f"{one_line(name)}: {explanation.metric} = {score}"
    yield "\n".join([labelled("output", explanation.output), "references", *_references(explanation)])
    table = [render_tables([_word_table(explanation)], "text", digits).rstrip("\n")] if explanation.tokens else []
    yield "\n".join([*table, *_missed(explanation)])
    yield render_tables([_similarity_table(explanation)], "text", digits).rstrip("\n")
    lines = (line.rpartition(": ") for line in similarity_conclusion(explanation, digits))
    yield "\n".join(wrapped(label + colon, text) for label, colon, text in lines)


def reference_notes(explanation: SimilarityExplanation, place: int) -> list[str]:
    """Return what part a reference has in the score, if it has one of its own."""
    reference = explanation.references[place]
    notes = []
    if reference.repeats is not None:
        notes.append(f"repeats #{reference.repeats + 1}")
    if place == explanation.best_from and sum(one.share > 0 for one in explanation.references) > 1:
        notes.append("best good one")
    if place == explanation.cut_from:
        notes.append("cuts")
    return notes


def _references(explanation: SimilarityExplanation) -> Iterator[str]:
    chosen = explanation.by_weight()
    if len(chosen) > ALL_REFERENCES:
        first = explanation.by_interest()[:ALL_REFERENCES]
        chosen = [place for place in chosen if place in first]
    notes = {place: reference_notes(explanation, place) for place in chosen}
    yield from reference_lines(explanation.references, chosen, notes, weighted=explanation.weighted)
    if hidden := len(explanation.references) - len(chosen):
        yield f"  … and {hidden:,} more, which the output is less similar to; --format json has them"


def _word_table(explanation: SimilarityExplanation) -> Table:
    """Return the words of the output, and what each was aligned with in as many references as there is room for."""
    shown = [_short(token) for token in explanation.tokens]
    columns = [Column("word"), Column("weighs", kind="number", digits=2)]
    cells: list[list[str | float]] = [
        [word, weight] for word, weight in zip(shown, explanation.token_weights, strict=True)
    ]
    weights = [f"{weight:.2f}" for weight in explanation.token_weights]
    room = WIDTH - max(map(width, ("word", *shown))) - 2 - max(map(len, ("weighs", *weights)))
    chosen: list[tuple[int, list[str]]] = []
    for place in explanation.by_interest()[:ALL_REFERENCES]:
        met = explanation.met(place)
        tokens = explanation.references[place].tokens
        column = [_partner(met.get(position), tokens) for position in range(len(shown))]
        room -= 2 + max(map(width, (f"in #{place + 1}", *column)))
        if room < 0 and chosen:
            break
        chosen.append((place, column))
    for place, column in sorted(chosen, key=lambda one: explanation.by_weight().index(one[0])):
        columns.append(Column(f"reference_{place + 1}", f"in #{place + 1}"))
        for row, cell in zip(cells, column, strict=True):
            row.append(cell)
    return Table("", columns, cells)


def _short(token: str) -> str:
    """Return a word cut to what a column can hold."""
    line = one_line(token)
    if width(line) <= _LONGEST:
        return line
    kept = ""
    for character in line:
        if width(kept + character) >= _LONGEST:
            break
        kept += character
    return kept + "…"


def _partner(pair: AlignedNgrams | None, tokens: Sequence[str]) -> str:
    if pair is None:
        return MISSING
    return f"{'=' if pair.exact else f'{pair.similarity:.2f}':<4} {_short(tokens[pair.reference_position])}"


def _missed(explanation: SimilarityExplanation) -> Iterator[str]:
    """Say which words of references the output does not meet, and what they weigh."""
    chosen = explanation.by_interest()[:ALL_REFERENCES]
    for place in sorted(chosen, key=explanation.by_weight().index):
        reference = explanation.references[place]
        words = [
            f"{_short(reference.tokens[position])} {reference.token_weights[position]:.2f}"
            for position in explanation.missed(place)
        ]
        if words:
            yield wrapped(f"not met in #{place + 1}: ", ", ".join(words))


def factor_names(explanation: SimilarityExplanation) -> list[str]:
    """Return what the F values of a similarity are of: words, bigrams and so on, and characters if they count."""
    orders = max((len(reference.orders) for reference in explanation.references), default=0)
    names = ["words", *(f"{order_name(order)}s" for order in range(2, orders + 1))][:orders]
    return [*names, "characters"] if explanation.uses_characters else names


def factors(explanation: SimilarityExplanation, reference: SimilarReference) -> list[float | None]:
    """Return the F values of a similarity, None for what is left out."""
    values = [order.f for order in reference.orders]
    return [*values, reference.characters] if explanation.uses_characters else values


def _similarity_table(explanation: SimilarityExplanation) -> Table:
    weighted = explanation.weighted
    chosen = explanation.by_interest()[:ALL_REFERENCES]
    names = factor_names(explanation)
    columns = [
        Column("reference"),
        *([Column("weight", kind="signed")] if weighted else []),
        *(Column(name, f"F {name}", kind="number", digits=3) for name in names),
        Column("similarity", kind="number", digits=3),
    ]
    rows = [
        (
            f"#{place + 1}",
            *([explanation.references[place].weight] if weighted else []),
            *factors(explanation, explanation.references[place]),
            explanation.references[place].similarity,
        )
        for place in sorted(chosen, key=explanation.by_weight().index)
    ]
    return Table("", columns, rows)


def similarity_conclusion(explanation: SimilarityExplanation, digits: int) -> Iterator[str]:
    """Say in a few lines how F values became similarities, and these the score."""
    if (
        explanation.score is None
        or explanation.earned is None
        or explanation.best is None
        or explanation.best_from is None
        or explanation.mean is None
    ):
        yield SKIPPED
        return
    best = explanation.references[explanation.best_from]
    number = explanation.best_from + 1
    yield f"similarity to #{number}: {_product(explanation, best)}"
    if sum(reference.share > 0 for reference in explanation.references) > 1:
        most = max(reference.weight for reference in explanation.references)
        part = "" if best.weight == most else f" = {best.similarity:.3f} × {best.weight:.3g} / {most:.3g}"
        yield f"best of the good references: {explanation.best:.3f}{part} (#{number})"
        kind = ", weighted" if explanation.weighted else ""
        yield f"mean of the good references{kind}: {explanation.mean:.3f}"
        yield f"earned: ({explanation.best:.3f} + {explanation.mean:.3f}) / 2 = {explanation.earned:.3f}"
    else:
        yield f"earned: {explanation.earned:.3f}, the similarity to the only good reference"
    factor = ""
    if explanation.cut_from is not None and explanation.cut is not None and explanation.most_similar is not None:
        cutting, good = explanation.references[explanation.cut_from], explanation.references[explanation.most_similar]
        yield (
            f"cut by #{explanation.cut_from + 1} ({weight_text(cutting.weight)}), more similar than the good #"
            f"{explanation.most_similar + 1}: {abs(cutting.weight):.3g} × ({cutting.similarity:.3f} - "
            f"{good.similarity:.3f}) / (1 - {good.similarity:.3f}) = {explanation.cut:.3f}"
        )
        factor = f" × (1 - {explanation.cut:.3f})"
    elif any(reference.weight < 0 for reference in explanation.references):
        yield "cut: 0, as no bad reference is more similar than every good one"
    yield f"{explanation.metric} = 100 × {explanation.earned:.3f}{factor} = {explanation.score:.{digits}f}"


def _product(explanation: SimilarityExplanation, reference: SimilarReference) -> str:
    """Return a similarity as the product of its F values."""
    if not explanation.tokens:
        return "0, as the output has no words"
    if not reference.tokens:
        return "0, as this reference has no words"
    orders = len(reference.orders)
    words = [f"{max(order.f, _LEAST):.3f}" for order in reference.orders if order.f is not None]
    characters = [] if reference.characters is None else [f"{max(reference.characters, _LEAST):.3f}"]
    factors_of_all = orders + len(characters)
    exponent = Fraction(orders, factors_of_all * len(words))
    if len(words) == orders or not characters:
        product = _power([*words, *characters], exponent)
    else:
        product = f"{_power(characters, Fraction(1, factors_of_all))} × {_power(words, exponent)}"
    return f"{product} = {reference.similarity:.3f}" if "×" in product or "^" in product else product


def _power(values: Sequence[str], exponent: Fraction) -> str:
    product = " × ".join(values)
    if exponent == 1:
        return product
    return f"({product})^({exponent})" if len(values) > 1 else f"{product}^({exponent})"
