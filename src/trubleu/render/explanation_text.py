"""Explanations as plain text for a terminal, and as JSON."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.explain.similarity import SimilarityExplanation
from trubleu.render.tables import MISSING, Column, Table, cut, one_line, render_tables, table_of, width
from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from trubleu.explain.explanation import ExplainedOrder, ExplainedOutput, Explanation, NearMiss, NGram
    from trubleu.explain.similarity import AnyExplanation, SimilarReference
    from trubleu.metrics.bleu2vec.alignment import AlignedNgrams


WIDTH: Final = 100
"""Width of explanations in terminal columns."""

ALL_REFERENCES: Final = 12
"""Up to this many references are all printed; of more, only the decisive ones."""

SKIPPED: Final = "No reference has a weight above 0, and the metric was told to skip such segments."

_INDENT: Final = 10
_NAMES: Final = {1: "unigram", 2: "bigram", 3: "trigram"}


def order_name(order: int) -> str:
    """Return the name of n-grams of an order.

    Examples
    --------
    >>> order_name(2), order_name(4)
    ('bigram', '4-gram')
    """
    return _NAMES.get(order, f"{order}-gram")


def labelled(label: str, text: str) -> str:
    """Return a text after a label, wrapped if it is long."""
    return wrapped(f"{label:{_INDENT}}", text)


def wrapped(head: str, text: str, columns: int = WIDTH) -> str:
    """Return a text after a head, wrapped and indented to its beginning.

    Width is measured in terminal columns; a word is only broken if it does not fit into a line.

    Examples
    --------
    >>> print(wrapped("- ", "three blind mice", 8))
    - three
      blind
      mice
    >>> print(wrapped("", "中文中文中", 4))
    中文
    中文
    中
    """
    room = max(columns - width(head), 2)
    lines = [""]
    for gap, word in re.findall(r"(\s*)(\S+)", one_line(text).strip() or "(empty)"):
        rest = word
        if lines[-1] and width(lines[-1] + gap + rest) <= room:
            lines[-1] += gap + rest
            continue
        while rest:
            taken = _fitting(rest, room)
            lines.append(rest[:taken])
            rest = rest[taken:]
    return f"\n{' ' * width(head)}".join([head + lines[1], *lines[2:]])


def _fitting(word: str, room: int) -> int:
    """Return how many characters of a word fit, at least one."""
    if width(word) <= room:
        return len(word)
    return max((end for end in range(1, room + 1) if width(word[:end]) <= room), default=1)


def weight_text(weight: float) -> str:
    """Format a weight with its sign and only the decimals it needs.

    Examples
    --------
    >>> weight_text(0.8), weight_text(-1.0), weight_text(0.0), weight_text(1 / 3)
    ('+0.8', '-1', '0', '+0.333')
    """
    rounded = round(weight, 3)
    return f"{rounded:+.3g}" if rounded else "0"


def score_text(explanation: ExplainedOutput, digits: int) -> str:
    """Format a segment's score."""
    return "left out" if explanation.score is None else f"{explanation.score:.{digits}f}"


def _references(
    explanation: ExplainedOutput, needed: Container[int], notes: Mapping[int, Sequence[str]], others: str
) -> Iterator[str]:
    """Yield references with their numbers, weights and notes.

    Parameters
    ----------
    explanation
        How the output got its score.
    needed
        The places of those that are shown if there are many.
    notes
        By place.
    others
        What is said of those that are not shown.
    """
    chosen = explanation.by_weight()
    if len(chosen) > ALL_REFERENCES:
        chosen = [place for place in chosen if place in needed]
    shown = {place: explanation.shown_weight(place) for place in chosen}
    weights = {place: "" if weight is None else weight_text(weight) for place, weight in shown.items()}
    numbers, room = len(str(len(explanation.references))) + 1, max(map(len, weights.values()))
    for place, weight in weights.items():
        reference = explanation.references[place]
        said = [*([] if reference.origin is None else [reference.origin]), *notes.get(place, ())]
        head = f"  {f'#{place + 1}':<{numbers}}" + f"  {weight:>{room}}" * bool(room)
        text = (reference.text.strip() or "(empty)") + (f"  ({'; '.join(said)})" if said else "")
        yield wrapped(f"{head}  ".ljust(_INDENT), text)
    if hidden := len(explanation.references) - len(chosen):
        yield f"  … and {hidden:,} more, which {others}"


_LONGEST: Final = 20
"""Maximum width of a word in a table."""

_LEAST: Final = 0.001
"""Minimum of an F value in the product."""


def _similarity_blocks(explanation: SimilarityExplanation, digits: int) -> Iterator[str]:
    """Yield the explanation of one system's output, in blocks separated by empty lines."""
    needed = explanation.by_interest()[:ALL_REFERENCES]
    notes = {place: reference_notes(explanation, place) for place in range(len(explanation.references))}
    others = "the output is less similar to; --format json has them"
    references = _references(explanation, needed, notes, others)
    yield "\n".join([labelled("output", explanation.output), "references", *references])
    table = [render_tables([_word_table(explanation)], "text", digits).rstrip("\n")] if explanation.tokens else []
    yield "\n".join([*table, *_missed(explanation)])
    yield render_tables([similarity_table(explanation)], "text", digits).rstrip("\n")
    lines = (line.rpartition(": ") for line in similarity_conclusion(explanation, digits))
    yield "\n".join(wrapped(label + colon, text) for label, colon, text in lines)


def reference_notes(explanation: SimilarityExplanation, place: int) -> list[str]:
    """Return notes on a reference's role in the score, if it has one."""
    reference = explanation.references[place]
    notes = []
    if reference.repeats is not None:
        notes.append(f"repeats #{reference.repeats + 1}")
    if place == explanation.best_from and sum(one.share > 0 for one in explanation.references) > 1:
        notes.append("best good one")
    if place == explanation.cut_from:
        notes.append("cuts")
    return notes


def _word_table(explanation: SimilarityExplanation) -> Table:
    """Return a table of the output's words and their alignment with as many references as fit."""
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
    """Truncate a word to the column width."""
    return cut(one_line(token), _LONGEST)


def _partner(pair: AlignedNgrams | None, tokens: Sequence[str]) -> str:
    if pair is None:
        return MISSING
    return f"{'=' if pair.exact else f'{pair.similarity:.2f}':<4} {_short(tokens[pair.reference_position])}"


def _missed(explanation: SimilarityExplanation) -> Iterator[str]:
    """Yield the reference words that the output misses, and their weights."""
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
    """Return the names of the F values of a similarity: words, bigrams and so on, and characters if they count."""
    orders = max((len(reference.orders) for reference in explanation.references), default=0)
    names = ["words", *(f"{order_name(order)}s" for order in range(2, orders + 1))][:orders]
    return [*names, "characters"] if explanation.uses_characters else names


def factors(explanation: SimilarityExplanation, reference: SimilarReference) -> list[float | None]:
    """Return the F values of a similarity, None for those left out."""
    values = [order.f for order in reference.orders]
    return [*values, reference.characters] if explanation.uses_characters else values


def similarity_table(explanation: SimilarityExplanation) -> Table:
    """Return the F values and similarities of the references that matter most."""
    chosen = explanation.by_interest()[:ALL_REFERENCES]
    columns = [
        Column("reference"),
        *([Column("weight", kind="signed")] if explanation.weighted else []),
        *(Column(name, f"F {name}", kind="number", digits=3) for name in factor_names(explanation)),
        Column("similarity", kind="number", digits=3),
    ]
    rows = []
    for place in sorted(chosen, key=explanation.by_weight().index):
        reference = explanation.references[place]
        weight = [reference.weight] if explanation.weighted else []
        rows.append([f"#{place + 1}", *weight, *factors(explanation, reference), reference.similarity])
    return Table("", columns, rows)


def similarity_conclusion(explanation: SimilarityExplanation, digits: int) -> Iterator[str]:
    """Explain in a few lines how F values become similarities, and these the score."""
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


class Run(NamedTuple):
    """Adjacent tokens of the output that matched the same reference, or none.

    Attributes
    ----------
    start, end
        Which tokens, from 0; the end is not among them.
    weight
        The weight that the longest n-grams around them were credited with; None if nothing matched.
    reference
        The place of the reference that gave it; None if nothing matched.
    """

    start: int
    end: int
    weight: float | None
    reference: int | None


def matched_ngrams(explanation: Explanation) -> list[NGram]:
    """Return the n-grams that some reference contains, shorter ones first."""
    return [gram for order in explanation.orders for gram in order.ngrams if gram.matches]


def credited_ngrams(explanation: Explanation) -> list[NGram]:
    """Return the n-grams that were credited, for exact or near matches; shorter ones first."""
    return [gram for order in explanation.orders for gram in order.ngrams if gram.weight_from is not None]


def decisive_references(explanation: Explanation) -> set[int]:
    """Return the indices of the references that credited an n-gram or determined the length."""
    places = {place for gram in credited_ngrams(explanation) for place in (gram.weight_from, gram.count_from)}
    return {place for place in places | {explanation.length_from} if place is not None}


def runs(explanation: Explanation) -> list[Run]:
    """Split the output into runs.

    A token belongs to the longest matched n-gram around it (of equally long ones, to the one with the larger weight).
    Two neighbours are in one run if both belong to the same reference and a matched n-gram contains both.

    Examples
    --------
    >>> import trubleu
    >>> from trubleu.explain import explain
    >>> references = [["the food was great", "we will be back"]]
    >>> for run in runs(explain(trubleu.metric("bleu-2"), "the food will do", references)):
    ...     print(run.start, run.end, run.weight, run.reference)
    0 2 1.0 0
    2 3 1.0 1
    3 4 None None
    """
    length = len(explanation.tokens)
    owner: list[NGram | None] = [None] * length
    joined = [False] * length  # whether a matched n-gram contains this token and the previous one
    for gram in matched_ngrams(explanation):
        for start in gram.positions:
            for place in range(start, start + len(gram.tokens)):
                owner[place] = _stronger(owner[place], gram)
                joined[place] |= place > start
    found: list[Run] = []
    for place, longest in enumerate(owner):
        weight, reference = (None, None) if longest is None else (longest.weight, longest.weight_from)
        same = bool(found) and (found[-1].weight, found[-1].reference) == (weight, reference)
        if same and (longest is None or joined[place]):
            found[-1] = found[-1]._replace(end=place + 1)
        else:
            found.append(Run(place, place + 1, weight, reference))
    return found


def _stronger(one: NGram | None, other: NGram) -> NGram:
    if one is None or len(other.tokens) > len(one.tokens):
        return other
    return other if (other.weight or 0.0) > (one.weight or 0.0) and len(other.tokens) == len(one.tokens) else one


def render_explanation_text(explanations: Mapping[str, Sequence[AnyExplanation]], digits: int = 2) -> str:
    """Render explanations as text, grouped by segment.

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
    >>> found = explain(trubleu.metric("bleu-1"), "it was so good", [["it was nice"]])
    >>> print(render_explanation_text({"A": [found]}).split("order")[0].rstrip())
    segment 1
    <BLANKLINE>
    A: bleu-1 = 50.00
    <BLANKLINE>
    output    [it]#1 [was]#1 so good
    references
      #1      it was nice
    """
    blocks = []
    for several in zip(*explanations.values(), strict=True):
        blocks.append("\n".join(_heading(several[0])))
        blocks += [
            block for name, one in zip(explanations, several, strict=True) for block in _system(name, one, digits)
        ]
    signatures = dict.fromkeys(one.signature for several in explanations.values() for one in several)
    return "\n\n".join([*blocks, *signatures]) + "\n"


def _heading(explanation: ExplainedOutput) -> Iterator[str]:
    yield f"segment {one_line(explanation.segment)}"
    for turn in explanation.context or ():
        yield labelled("context", turn)
    if explanation.message is not None:
        yield labelled("message", explanation.message)


def _system(name: str, explanation: AnyExplanation, digits: int) -> Iterator[str]:
    yield f"{one_line(name)}: {explanation.metric} = {score_text(explanation, digits)}"
    if isinstance(explanation, SimilarityExplanation):
        yield from _similarity_blocks(explanation, digits)
        return
    setter, notes = explanation.length_from, {}
    if setter is not None and len(explanation.references) > 1:
        notes[setter] = [f"sets the length, {len(explanation.references[setter].tokens)}"]
    needed = decisive_references(explanation) | {explanation.by_weight()[0]}
    references = _references(explanation, needed, notes, "neither earn anything here nor set the length")
    yield "\n".join([labelled("output", _marked(explanation)), "references", *references])
    if explanation.skipped:
        yield SKIPPED
        return
    tables = [ngram_table(explanation), *near_tables(explanation), order_table(explanation, digits)]
    yield render_tables(tables, "text", digits).rstrip("\n")
    yield "\n".join(conclusion(explanation, digits))


def source_text(gram: NGram) -> str:
    """Return the reference that gave the credit, or the two that gave weight and count."""
    places = dict.fromkeys(place for place in (gram.weight_from, gram.count_from) if place is not None)
    return " and ".join(f"#{place + 1}" for place in places)


def _marked(explanation: Explanation) -> str:
    """Return the output with matches in brackets, followed by the weight, or by the reference if unweighted."""
    pieces = []
    for run in runs(explanation):
        words = " ".join(explanation.tokens[run.start : run.end])
        if run.weight is None or run.reference is None:
            pieces.append(words)
        else:
            mark = weight_text(run.weight) if explanation.weighted else f"#{run.reference + 1}"
            pieces.append(f"[{words}]{mark}")
    return " ".join(pieces)


def ngram_table(explanation: Explanation) -> Table:
    """Return the n-grams that some reference contains, with their credit."""
    weighted = explanation.weighted
    columns = [
        Column("order", kind="count", of=lambda gram: len(gram.tokens)),
        Column("ngram", "n-gram", of=lambda gram: " ".join(gram.tokens)),
        Column("occurrences", "times", kind="count"),
        Column("reference", "credited to", of=source_text),
        Column("holders", "held by", kind="count", of=lambda gram: len(gram.matches)),
        *([Column("weight", kind="signed")] if weighted else []),
        Column("clipped", kind="count"),
        Column("credit", kind="signed" if weighted else "number"),
        Column("possible", "at best", kind="number"),
    ]
    return table_of(matched_ngrams(explanation), columns, notes=list(unmatched(explanation)))


def near_misses(explanation: Explanation) -> Iterator[tuple[NGram, NearMiss]]:
    """Yield the near misses for which n-grams were credited."""
    for gram in credited_ngrams(explanation):
        for miss in gram.near:
            if miss.reference == gram.count_from:
                yield gram, miss


def near_tables(explanation: Explanation) -> Iterator[Table]:
    """Yield a table of the near misses that counted, if there are any."""
    columns = [
        Column("order", kind="count", of=lambda pair: len(pair[0].tokens)),
        Column("ngram", "near miss", of=lambda pair: " ".join(pair[0].tokens)),
        Column("similar", "similar to", of=lambda pair: " ".join(pair[1].tokens)),
        Column("reference", "in", of=lambda pair: f"#{pair[1].reference + 1}"),
        Column("similarity", kind="number", digits=3, of=lambda pair: pair[1].similarity),
        *([Column("weight", kind="signed", of=lambda pair: pair[0].weight)] if explanation.weighted else []),
    ]
    if misses := list(near_misses(explanation)):
        yield table_of(misses, columns)


def unmatched(explanation: Explanation) -> Iterator[str]:
    """Yield how many n-grams of each order no reference contains, if any."""
    counts = [(sum(not gram.matches for gram in order.ngrams), order) for order in explanation.orders]
    listed = [f"{count} {order_name(order.order)}{'s'[: count != 1]}" for count, order in counts if count]
    if listed:
        yield f"in no reference: {', '.join(listed)}"


def order_table(explanation: Explanation, digits: int) -> Table:
    """Return the precision of each order and its terms."""
    smoothed = any(smoothed_text(order, digits) for order in explanation.orders)
    columns = [
        Column("order", kind="count"),
        Column("numerator", kind="number"),
        Column("denominator", kind="number"),
        *([Column("smoothed", kind="number", of=lambda order: smoothed_text(order, digits))] if smoothed else []),
        Column(
            "precision",
            measure(explanation),
            kind="number",
            of=lambda order: order.precision if order.used else "left out",
        ),
    ]
    return table_of(explanation.orders, columns)


def measure(explanation: Explanation) -> str:
    """Return the name of the ratios in an explanation."""
    return "F (%)" if explanation.recall else "precision (%)"


def smoothed_text(order: ExplainedOrder, digits: int) -> str:
    """Return the terms of a precision that was changed by smoothing or a negative sum."""
    if not order.smoothed or not order.used or not order.smoothed_denominator:
        return ""
    return f"{order.smoothed_numerator:.{digits}f} / {order.smoothed_denominator:.{digits}f}"


def conclusion(explanation: Explanation, digits: int) -> Iterator[str]:
    """Explain in a few lines how lengths and precisions become the score."""
    setter = "the average" if explanation.length_from is None else f"reference #{explanation.length_from + 1}"
    lengths = f"length: {len(explanation.tokens)} tokens against {explanation.reference_length:g} ({setter})"
    factor = ""
    if explanation.brevity_penalty is None:
        yield lengths
        times = ", times the largest weight" if explanation.weighted else ""
        yield f"denominators: the mean of the n-grams of the output and of a reference of that length{times}"
    else:
        factor = f"{explanation.brevity_penalty:.3f} × "
        yield f"{lengths}, brevity penalty {explanation.brevity_penalty:.3f}"
    used = [order for order in explanation.orders if order.used]
    if short := next((order for order in used if not order.count), None):
        name = order_name(short.order)
        yield f"the output is too short for a {name}; with --effective-order, such orders are left out"
    product = " × ".join(f"{order.precision:.{digits}f}" for order in used)
    if not any(order.precision for order in used):
        yield f"{explanation.metric} = {explanation.score:.{digits}f}, as no order has matches that are worth anything"
        return
    mean = f"({product})^(1/{len(used)})" if len(used) > 1 else product
    made = f"{factor}{mean} = " if factor or len(used) > 1 else ""
    yield f"{explanation.metric} = {made}{explanation.score:.{digits}f}"


def render_explanation_json(explanations: Mapping[str, Sequence[AnyExplanation]]) -> str:
    """Render explanations as one JSON object with a list, grouped by segment.

    Parameters
    ----------
    explanations
        For each system the same segments in the same order.

    Examples
    --------
    >>> import json, trubleu
    >>> from trubleu.explain import explain
    >>> found = explain(trubleu.metric("bleu-1"), "it was", [["it is"]])
    >>> row = json.loads(render_explanation_json({"A": [found]}))["explanations"][0]
    >>> row["system"], row["score"], row["orders"][0]["ngrams"][0]["matches"]
    ('A', 50.0, [{'reference': 1, 'count': 1, 'clipped': 1, 'weight': 1.0}])
    """
    rows = [
        {"schema": SCHEMA, "system": system, **explanation.to_dict()}
        for several in zip(*explanations.values(), strict=True)
        for system, explanation in zip(explanations, several, strict=True)
    ]
    return json.dumps({"schema": SCHEMA, "explanations": rows}, ensure_ascii=False, indent=1) + "\n"
