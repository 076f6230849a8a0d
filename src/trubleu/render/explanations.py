"""Explanations as text for a terminal, as JSON, and as one self-contained HTML page."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from trubleu.explain.explanation import windows
from trubleu.explain.similarity import ContextExplanation, ContextualReference, SimilarityExplanation
from trubleu.render.charts import table_grid, with_minus
from trubleu.render.pages import page_asset, page_style, rendered_page
from trubleu.render.tables import Column, Table, one_line, render_tables, table_of, truncated, width
from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from trubleu.checks.findings import Finding
    from trubleu.explain.explanation import ExplainedOrder, ExplainedOutput, ExplainedReference, Explanation, NGram
    from trubleu.explain.similarity import AnyExplanation, SimilarReference
    from trubleu.metrics.bleu2vec.alignment import AlignedNgrams

    Findings: TypeAlias = Mapping[str, Sequence[Sequence[Finding]]]
    """For each system the findings of the same segments."""


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
    """Return a text after a head, wrapped and indented to its beginning; its lines stay lines, without empty ones.

    Width is measured in terminal columns; a word is only broken if it does not fit into a line.

    Examples
    --------
    >>> print(wrapped("- ", "three blind mice", 8))
    - three
      blind
      mice
    >>> print(wrapped("1. ", "two\\n\\nlines", 20))
    1. two
       lines
    >>> print(wrapped("", "中文中文中", 4))
    中文
    中文
    中
    """
    room = max(columns - width(head), 2)
    lines: list[str] = []
    parts = [part for line in text.splitlines() if (part := one_line(line).strip())]
    for part in parts or ["(empty)"]:
        begin = len(lines)
        for gap, word in re.findall(r"(\s*)(\S+)", part):
            rest = word
            if len(lines) > begin and width(lines[-1] + gap + rest) <= room:
                lines[-1] += gap + rest
                continue
            while rest:
                taken = _fitting(rest, room)
                lines.append(rest[:taken])
                rest = rest[taken:]
    return f"\n{' ' * width(head)}".join([head + lines[0], *lines[1:]])


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


def shown_weight(explanation: AnyExplanation, place: int) -> str:
    """Return the weight of a reference, empty if it has none."""
    weight = explanation.shown_weight(place)
    return "" if weight is None else weight_text(weight)


def score_text(explanation: ExplainedOutput, digits: int) -> str:
    """Format a segment's score, and those of other programs."""
    others = "".join(f"; {one_line(name)} = {score:.{digits}f}" for name, score in explanation.others.items())
    return ("left out" if explanation.score is None else f"{explanation.score:.{digits}f}") + others


def _references(explanation: AnyExplanation, needed: Container[int], others: str) -> Iterator[str]:
    """Yield references with their numbers, weights and notes.

    Parameters
    ----------
    explanation
        How the output got its score.
    needed
        The places of those that are shown if there are many.
    others
        What is said of those that are not shown.
    """
    chosen = explanation.by_weight()
    if len(chosen) > ALL_REFERENCES:
        chosen = [place for place in chosen if place in needed]
    weights = {place: shown_weight(explanation, place) for place in chosen}
    numbers, room = len(str(len(explanation.references))) + 1, max(map(len, weights.values()))
    for place, weight in weights.items():
        notes = "; ".join(reference_notes(explanation, place))
        head = f"  {f'#{place + 1}':<{numbers}}" + f"  {weight:>{room}}" * bool(room)
        text = (explanation.references[place].text.strip() or "(empty)") + f"  ({notes})" * bool(notes)
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
    references = _references(explanation, needed, "the output is less similar to; --format json has them")
    yield "\n".join([labelled("output", explanation.output), "references", *references])
    words = [_word_table(explanation)] if explanation.tokens else []
    yield "\n".join([*words, *_missed(explanation)])
    if isinstance(explanation, ContextExplanation):
        for place in _compared(explanation):
            if explanation.references[place].sentences:
                yield render_tables([sentence_table(explanation, place)]).rstrip("\n")
    yield render_tables([similarity_table(explanation)], "text", digits).rstrip("\n")
    lines = (line.rpartition(": ") for line in conclusion(explanation, digits))
    yield "\n".join(wrapped(label + colon, text) for label, colon, text in lines)


def reference_notes(explanation: AnyExplanation, place: int) -> list[str]:
    """Return where a reference comes from, and its role in the score, if it has one."""
    origin = explanation.references[place].origin
    notes = [] if origin is None else [origin]
    if isinstance(explanation, SimilarityExplanation):
        if (repeated := explanation.references[place].repeats) is not None:
            notes.append(f"repeats #{repeated + 1}")
        if place == explanation.best_from and sum(one.share > 0 for one in explanation.references) > 1:
            notes.append("best good one")
        if place == explanation.cut_from:
            notes.append("cuts")
    elif place == explanation.length_from and len(explanation.references) > 1:
        notes.append(f"sets the length, {len(explanation.references[place].tokens)}")
    return notes


def _compared(explanation: SimilarityExplanation, most: int = ALL_REFERENCES) -> list[int]:
    """Return the references that matter most, by weight."""
    chosen = explanation.by_interest()[:most]
    return [place for place in explanation.by_weight() if place in chosen]


def _word_table(explanation: SimilarityExplanation) -> str:
    """Return a table of the output's words and their alignment with as many references as fit."""
    tokens, weights = explanation.tokens, explanation.token_weights
    text = ""
    for most in range(ALL_REFERENCES, 0, -1):
        columns = [
            Column("word", of=lambda at: _short(tokens[at])),
            *([] if explanation.in_context else [Column("weighs", kind="number", digits=2, of=lambda at: weights[at])]),
        ]
        for place in _compared(explanation, most):
            partner = partial(_partner, explanation.references[place], explanation.met(place))
            columns.append(Column(f"reference_{place + 1}", f"in #{place + 1}", of=partner))
        text = render_tables([table_of(range(len(tokens)), columns)]).rstrip("\n")
        if "\n\n" not in text and width(text.splitlines()[1]) <= WIDTH:
            break
    return text


def _short(token: str) -> str:
    """Truncate a word to the column width."""
    return truncated(one_line(token), _LONGEST)


def _partner(reference: SimilarReference, met: Mapping[int, AlignedNgrams], position: int) -> str | None:
    pair = met.get(position)
    if pair is None:
        return None
    similarity = "=" if pair.exact else f"{pair.similarity:.2f}"
    return f"{similarity:<4} {_short(reference.tokens[pair.reference_position])}"


def _missed(explanation: SimilarityExplanation) -> Iterator[str]:
    """Yield the reference words that the output misses, and their weights."""
    for place in _compared(explanation):
        reference = explanation.references[place]
        words = [
            _short(reference.tokens[position])
            + ("" if explanation.in_context else f" {reference.token_weights[position]:.2f}")
            for position in explanation.missed(place)
        ]
        if words:
            yield wrapped(f"not met in #{place + 1}: ", ", ".join(words))


def factors(explanation: SimilarityExplanation, reference: SimilarReference) -> Iterator[tuple[str, float | None]]:
    """Yield the parts of a similarity by name: F of words, bigrams and so on, of characters, and that of the text."""
    for order in reference.orders:
        yield "words" if order.order == 1 else f"{order_name(order.order)}s", order.f
    if explanation.uses_characters:
        yield "characters", reference.characters
    if isinstance(reference, ContextualReference):
        yield "text", reference.text_similarity


def sentence_table(explanation: ContextExplanation, place: int) -> Table:
    """Return the sentences of an output, each with the sentence of a reference that is nearest to it."""
    columns = [
        Column("sentence", of=lambda pair: one_line(pair.sentence)),
        Column("reference_sentence", f"nearest in #{place + 1}", of=lambda pair: one_line(pair.reference_sentence)),
        Column("similarity", kind="number", digits=3),
    ]
    return table_of(explanation.references[place].sentences, columns)


def similarity_table(explanation: SimilarityExplanation) -> Table:
    """Return the F values and similarities of the references that matter most."""
    names: list[str] = []
    rows: list[list[str | float | None]] = []
    for place in _compared(explanation):
        reference = explanation.references[place]
        found = dict(factors(explanation, reference))
        names = [*found]
        weight = [reference.weight] if explanation.weighted else []
        rows.append([f"#{place + 1}", *weight, *found.values(), reference.similarity])
    columns = [
        Column("reference"),
        *([Column("weight", kind="signed")] if explanation.weighted else []),
        *(Column(name, name if name == "text" else f"F {name}", kind="number", digits=3) for name in names),
        Column("similarity", kind="number", digits=3),
    ]
    return Table("", columns, rows)


def _similarity_conclusion(explanation: SimilarityExplanation, digits: int) -> Iterator[str]:
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
    """Return a similarity as the product of its F values, or as the mean of its parts."""
    if not explanation.tokens:
        return "0, as the output has no words"
    if not reference.tokens:
        return "0, as this reference has no words"
    if isinstance(reference, ContextualReference):
        if reference.equal:
            return "1, as both have the same words"
        parts = [f"{value:.3f}" for _, value in factors(explanation, reference) if value is not None]
        return f"({' + '.join(parts)}) / {len(parts)} = {reference.similarity:.3f}"
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


def render_explanation_text(
    explanations: Mapping[str, Sequence[AnyExplanation]], digits: int = 2, findings: Findings | None = None
) -> str:
    """Render explanations as text, grouped by segment.

    Parameters
    ----------
    explanations
        For each system the same segments in the same order.
    digits
        Decimals of scores and sums.
    findings
        What checks found in these outputs; None if they were not checked.

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
    for place, several in enumerate(zip(*explanations.values(), strict=True)):
        blocks.append("\n".join(_heading(several[0])))
        for name, one in zip(explanations, several, strict=True):
            blocks += _system(name, one, digits)
            if findings is not None:
                blocks.append("\n".join(_finding_lines(findings[name][place])))
    signatures = dict.fromkeys(one.signature for several in explanations.values() for one in several)
    return "\n\n".join([*blocks, *signatures]) + "\n"


def _finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    yield "findings" if findings else "findings: none"
    for finding in findings:
        yield f"  {finding.level}  {finding.kind}: {one_line(finding.message)}"


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
    needed = {*explanation.decisive(), explanation.by_weight()[0]}
    references = _references(explanation, needed, "neither earn anything here nor set the length")
    yield "\n".join([labelled("output", _marked(explanation)), "references", *references])
    if not explanation.skipped:
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
    for start, end, weight, reference in runs(explanation):
        words = " ".join(explanation.tokens[start:end])
        if weight is not None and reference is not None:
            words = f"[{words}]{weight_text(weight) if explanation.weighted else f'#{reference + 1}'}"
        pieces.append(words)
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


def near_tables(explanation: Explanation) -> Iterator[Table]:
    """Yield a table of the near misses for which n-grams were credited, if there are any."""
    columns = [
        Column("order", kind="count", of=lambda pair: len(pair[0].tokens)),
        Column("ngram", "near miss", of=lambda pair: " ".join(pair[0].tokens)),
        Column("similar", "similar to", of=lambda pair: " ".join(pair[1].tokens)),
        Column("reference", "in", of=lambda pair: f"#{pair[1].reference + 1}"),
        Column("similarity", kind="number", digits=3, of=lambda pair: pair[1].similarity),
        *([Column("weight", kind="signed", of=lambda pair: pair[0].weight)] if explanation.weighted else []),
    ]
    grams = chain.from_iterable(order.ngrams for order in explanation.orders)
    if misses := [(gram, miss) for gram in grams for miss in gram.near if miss.reference == gram.count_from]:
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
    measure = "F (%)" if explanation.recall else "precision (%)"
    columns = [
        Column("order", kind="count"),
        Column("numerator", kind="number"),
        Column("denominator", kind="number"),
        *([Column("smoothed", kind="number", of=lambda order: smoothed_text(order, digits))] if smoothed else []),
        Column("precision", measure, "number", of=lambda order: order.precision if order.used else "left out"),
    ]
    return table_of(explanation.orders, columns)


def smoothed_text(order: ExplainedOrder, digits: int) -> str:
    """Return the terms of a precision that was changed by smoothing or a negative sum."""
    if not order.smoothed or not order.used or not order.smoothed_denominator:
        return ""
    return f"{order.smoothed_numerator:.{digits}f} / {order.smoothed_denominator:.{digits}f}"


def conclusion(explanation: AnyExplanation, digits: int) -> Iterator[str]:
    """Explain in a few lines how lengths and precisions, or F values and similarities, become the score."""
    if isinstance(explanation, SimilarityExplanation):
        yield from _similarity_conclusion(explanation, digits)
        return
    if explanation.skipped:
        yield SKIPPED
        return
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


def render_explanation_json(
    explanations: Mapping[str, Sequence[AnyExplanation]], findings: Findings | None = None
) -> str:
    """Render explanations as one JSON object with a list, grouped by segment.

    Parameters
    ----------
    explanations
        For each system the same segments in the same order.
    findings
        What checks found in these outputs; None if they were not checked.

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
        {"schema": SCHEMA, "system": system, **explanation.to_dict(), **_findings_record(findings, system, place)}
        for place, several in enumerate(zip(*explanations.values(), strict=True))
        for system, explanation in zip(explanations, several, strict=True)
    ]
    return json.dumps({"schema": SCHEMA, "explanations": rows}, ensure_ascii=False, indent=1) + "\n"


def _findings_record(findings: Findings | None, system: str, place: int) -> dict[str, Any]:
    return {} if findings is None else {"findings": [asdict(finding) for finding in findings[system][place]]}


STEPS: Final = 20
"""Colour steps between −1 and +1: the classes ``w0`` to ``w20`` of page.css, so the page needs no inline styles."""

_SIGNS: Final = {-1: "neg", 0: "zero", 1: "pos"}


class TokenView(NamedTuple):
    """A token, the numbers of the matches around it, which a script connects, and its tooltip."""

    text: str
    grams: str = ""
    title: str = ""


class RunView(NamedTuple):
    """Tokens with the same background; no classes if nothing matched."""

    tokens: Sequence[TokenView]
    classes: str = ""
    label: str = ""


class ReferenceView(NamedTuple):
    """A reference; its weight is an empty string if it has none."""

    number: int
    weight: str
    classes: str
    runs: Sequence[RunView]
    notes: Sequence[str]
    credit: str = ""


def reference_view(
    place: int, weight: float | None, runs: Sequence[RunView], notes: Sequence[str], credit: str = ""
) -> ReferenceView:
    """Return a reference for a list."""
    if weight is None:
        return ReferenceView(place + 1, "", "", runs, notes, credit)
    return ReferenceView(place + 1, with_minus(weight_text(weight)), weight_classes(weight), runs, notes, credit)


def plain_runs(text: str) -> list[RunView]:
    """Return a text without marks."""
    return [RunView([TokenView(text)])] if text.strip() else []


def weight_classes(weight: float) -> str:
    """Return the CSS classes for the colour and line style of a weight.

    Examples
    --------
    >>> weight_classes(-1.0), weight_classes(0.0), weight_classes(0.04), weight_classes(0.5)
    ('w0 neg', 'w10 zero', 'w10 pos', 'w15 pos')
    """
    return f"w{round((weight + 1) / 2 * STEPS)} {_SIGNS[(weight > 0) - (weight < 0)]}"


UNFOLDED: Final = 3
"""References shown without expanding."""


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
        head = f"“{text}”{_weighs(explanation, explanation.token_weights[position])} "
        said = [head + _met_text(explanation, place, pair) for place, pair in pairs]
        token = TokenView(text, " ".join(known) or f"output-{position}", "\n".join(said))
        found.append(_word_run(explanation, token, *pairs[0]) if pairs else RunView([token]))
    return found


def reference_words(explanation: SimilarityExplanation, place: int) -> list[RunView]:
    """Return the words of a reference, marked by their similarity."""
    reference = explanation.references[place]
    pairs = explanation.reached(place)
    found = []
    for position, text in enumerate(reference.tokens):
        pair = pairs.get(position)
        said = f"“{text}” of #{place + 1}{_weighs(explanation, reference.token_weights[position])} "
        if pair is None:
            said += "was met by no word of the output"
        elif pair.exact:
            said += "is in the output"
        else:
            said += f"was met by “{explanation.tokens[pair.position]}”: similarity {pair.similarity:.2f}"
        known = f"reference-{place}-{position}" if pair is None else _id(place, pair)
        found.append(_word_run(explanation, TokenView(text, known, said), place, pair))
    return found


def _id(place: int, pair: AlignedNgrams) -> str:
    return f"{place}-{pair.position}"


def _met_text(explanation: SimilarityExplanation, place: int, pair: AlignedNgrams | None) -> str:
    if pair is None:
        return f"met no word of #{place + 1}"
    if pair.exact:
        return f"is in #{place + 1}"
    reference = explanation.references[place]
    other = reference.tokens[pair.reference_position]
    weight = reference.token_weights[pair.reference_position]
    weighs = _weighs(explanation, weight).removesuffix(",")
    return f"met “{other}” in #{place + 1}{weighs}: similarity {pair.similarity:.2f}"


def _weighs(explanation: SimilarityExplanation, weight: float) -> str:
    """Return what a word weighs, in the middle of a sentence; nothing where all weigh the same."""
    return "" if explanation.in_context else f", which weighs {weight:.2f},"


def _word_run(explanation: SimilarityExplanation, token: TokenView, place: int, pair: AlignedNgrams | None) -> RunView:
    if pair is None:
        return RunView([token], "unmet")
    weight = explanation.references[place].weight
    classes = weight_classes(pair.similarity * ((weight > 0) - (weight < 0)))
    if pair.exact:
        return RunView([token], classes)
    return RunView([token], f"{classes} near", f"{pair.similarity:.2f}")


def similarity_views(
    explanation: SimilarityExplanation, places: Iterable[int], *, marked: bool
) -> Iterator[ReferenceView]:
    """Yield references for a list, as they are or with their words marked by their similarity."""
    for place in places:
        reference = explanation.references[place]
        runs = reference_words(explanation, place) if marked else plain_runs(reference.text)
        similarity = [] if reference.similarity is None else [f"similarity {reference.similarity:.3f}"]
        notes = [*reference_notes(explanation, place), *similarity]
        yield reference_view(place, explanation.shown_weight(place), runs, notes)


def ngram_title(gram: NGram, weighted: bool) -> str:
    """Describe an n-gram's credit in one line."""
    words = " ".join(gram.tokens)
    if not weighted:
        return f"“{words}” counts {gram.counted:.3g}, found in {source_text(gram)}"
    credit, weight = with_minus(f"{gram.credit:+.3g}"), with_minus(weight_text(gram.weight or 0.0))
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
    numbered = ((start, number) for number, gram in enumerate(grams) for start in gram.positions)
    titles = [ngram_title(gram, explanation.weighted) for gram in grams]
    tokens = []
    for text, around in zip(explanation.tokens, _around(explanation.tokens, numbered, grams), strict=True):
        # Longest first, as they are the most informative.
        said = "\n".join(titles[number] for number in reversed(around))
        tokens.append(TokenView(text, " ".join(map(str, around)), said))
    found = []
    for start, end, weight, place in runs(explanation):
        if weight is None or place is None:
            found.append(RunView(tokens[start:end]))
        else:
            label = with_minus(weight_text(weight)) if explanation.weighted else f"#{place + 1}"
            colour = weight_classes(_colour_weight(explanation.references[place], weight, by_rating))
            found.append(RunView(tokens[start:end], colour, label))
    return found


def _around(
    tokens: Sequence[str], numbered: Iterable[tuple[int, int]], grams: Sequence[NGram]
) -> list[dict[int, None]]:
    """Return for each token the numbers of the n-grams around it, given where which one begins."""
    around: list[dict[int, None]] = [{} for _ in tokens]
    for start, number in numbered:
        for place in range(start, start + len(grams[number].tokens)):
            around[place].setdefault(number)
    return around


def matched_view(
    explanation: Explanation, place: int, grams: Sequence[NGram], *, by_rating: bool = False
) -> ReferenceView:
    """Return a reference with its matched n-grams marked; credited ones have its colour."""
    reference = explanation.references[place]
    numbers = {gram.tokens: number for number, gram in enumerate(grams)}
    orders = range(1, len(explanation.orders) + 1) if reference.matched else ()
    numbered = (
        (start, numbers[window])
        for n in orders
        for start, window in enumerate(windows(reference.tokens, n))
        if window in numbers
    )
    colour = weight_classes(_colour_weight(reference, reference.weight, by_rating))
    tokens = []
    for text, around in zip(reference.tokens, _around(reference.tokens, numbered, grams), strict=True):
        earned = any(place in (grams[number].weight_from, grams[number].count_from) for number in around)
        classes = colour if earned else "seen" if around else ""
        tokens.append((classes, TokenView(text, " ".join(map(str, around)))))
    pieces = [RunView([token for _, token in group], classes) for classes, group in groupby(tokens, key=itemgetter(0))]
    credit = with_minus(f"{reference.credit:+.3g}") if any(piece.classes == colour for piece in pieces) else ""
    notes = reference_notes(explanation, place)
    return reference_view(place, explanation.shown_weight(place), pieces, notes, credit)


def reference_groups(explanation: Explanation, grams: Sequence[NGram]) -> tuple[list[ReferenceView], ...]:
    """Return the references that decide the score, others with a match, and those without one."""
    decisive = explanation.decisive()
    groups: tuple[list[ReferenceView], ...] = ([], [], [])
    for place in explanation.by_weight():
        group = 0 if place in decisive else 1 if explanation.references[place].matched else 2
        groups[group].append(matched_view(explanation, place, grams))
    return groups


def _colour_weight(reference: ExplainedReference, credited: float, by_rating: bool) -> float:
    return reference.rated if by_rating and reference.rated is not None else credited


def render_explanation_page(
    explanations: Mapping[str, Sequence[AnyExplanation]], digits: int = 2, findings: Findings | None = None
) -> str:
    """Render explanations as a page.

    Parameters
    ----------
    explanations
        For each system the same segments in the same order.
    digits
        Decimals of scores and sums.
    findings
        What checks found in these outputs; None if they were not checked.

    Examples
    --------
    >>> import trubleu
    >>> from trubleu.explain import explain
    >>> found = explain(trubleu.metric("bleu-1"), "<b>it was</b>", [["it is"]])
    >>> page = render_explanation_page({"A": [found]})
    >>> "<b>" in page, page.startswith("<!doctype html>")
    (False, True)
    """
    everything = [one for several in explanations.values() for one in several]
    by_segment = zip(*explanations.values(), strict=True)
    found = (
        None
        if findings is None
        else [dict(zip(findings, row, strict=True)) for row in zip(*findings.values(), strict=True)]
    )
    return rendered_page(
        "page.html.j2",
        page_style(),
        page_asset("page.js"),
        segments=[dict(zip(explanations, several, strict=True)) for several in by_segment],
        findings=found,
        systems=list(explanations),
        metric=everything[0].metric,
        weighted=any(one.weighted for one in everything),
        similar=isinstance(everything[0], SimilarityExplanation),
        signatures=list(dict.fromkeys(one.signature for one in everything)),
        steps=STEPS,
        digits=digits,
        most=ALL_REFERENCES,
        unfolded=UNFOLDED,
        **_IN_TEMPLATES,
    )


_IN_TEMPLATES: Final = {
    each.__name__: each
    for each in (
        conclusion, factors, matched_ngrams, near_tables, ngram_table, ngram_title, order_table, output_view,
        output_words, reference_groups, reference_notes, reference_words, score_text, sentence_table, shown_weight,
        similarity_table,
        similarity_views, table_grid, unmatched, weight_classes, with_minus,
    )
}  # fmt: skip
"""What the templates of the page call."""
