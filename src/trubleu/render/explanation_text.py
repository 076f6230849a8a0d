"""Explanations as plain text for a terminal, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from trubleu.explain.similarity import SimilarityExplanation
from trubleu.render.explanation_lines import (
    ALL_REFERENCES,
    SKIPPED,
    labelled,
    order_name,
    reference_lines,
    weight_text,
)
from trubleu.render.similarity_text import similarity_blocks
from trubleu.render.tables import Column, Table, one_line, render_tables
from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.explain.explanation import ExplainedOrder, ExplainedOutput, Explanation, NearMiss, NGram
    from trubleu.explain.similarity import AnyExplanation


class Run(NamedTuple):
    """Neighbouring tokens of the output that matched the same reference, or that matched none.

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


def matched_ngrams(explanation: Explanation) -> Iterator[NGram]:
    """Return the n-grams that some reference holds, shorter ones first."""
    for order in explanation.orders:
        for gram in order.ngrams:
            if gram.matches:
                yield gram


def credited_ngrams(explanation: Explanation) -> Iterator[NGram]:
    """Return the n-grams that were credited by some reference, for matches or near misses; shorter ones first."""
    for order in explanation.orders:
        for gram in order.ngrams:
            if gram.weight_from is not None:
                yield gram


def runs(explanation: Explanation) -> list[Run]:
    """Cut the output into stretches.

    A token belongs to the longest matched n-gram around it (of equally long ones, to the one with the larger weight).
    Two neighbours are in one stretch if both belong to the same reference and an n-gram with both in it matched.

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
    joined = [False] * length  # whether a matched n-gram holds this token and the one before it
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
    """Return explanations as text, those of one segment under each other.

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
    if isinstance(explanation, SimilarityExplanation):
        yield from similarity_blocks(name, explanation, digits)
        return
    score = "left out" if explanation.score is None else f"{explanation.score:.{digits}f}"
    yield f"{one_line(name)}: {explanation.metric} = {score}"
    yield "\n".join([labelled("output", _marked(explanation)), "references", *_references(explanation)])
    if explanation.skipped:
        yield SKIPPED
        return
    tables = [_ngram_table(explanation), *_near_tables(explanation), _order_table(explanation, digits)]
    yield render_tables(tables, "text", digits).rstrip("\n")
    yield "\n".join(conclusion(explanation, digits))


def source_text(gram: NGram) -> str:
    """Return the reference that gave the credit, or the two that gave weight and count."""
    places = dict.fromkeys(place for place in (gram.weight_from, gram.count_from) if place is not None)
    return " and ".join(f"#{place + 1}" for place in places)


def _marked(explanation: Explanation) -> str:
    """Return the output with what matched in brackets, and behind it the weight, or the reference without weights."""
    pieces = []
    for run in runs(explanation):
        words = " ".join(explanation.tokens[run.start : run.end])
        if run.weight is None or run.reference is None:
            pieces.append(words)
        else:
            mark = weight_text(run.weight) if explanation.weighted else f"#{run.reference + 1}"
            pieces.append(f"[{words}]{mark}")
    return " ".join(pieces)


def _references(explanation: Explanation) -> Iterator[str]:
    chosen = explanation.by_weight()
    if len(chosen) > ALL_REFERENCES:
        needed = {place for gram in credited_ngrams(explanation) for place in (gram.weight_from, gram.count_from)}
        needed |= {explanation.length_from, chosen[0]}
        chosen = [place for place in chosen if place in needed]
    setter = explanation.length_from
    notes = {}
    if setter is not None and len(explanation.references) > 1:
        notes[setter] = [f"sets the length, {len(explanation.references[setter].tokens)}"]
    yield from reference_lines(explanation.references, chosen, notes, weighted=explanation.weighted)
    if hidden := len(explanation.references) - len(chosen):
        yield f"  … and {hidden:,} more, which neither earn anything here nor set the length"


def _ngram_table(explanation: Explanation) -> Table:
    weighted = explanation.weighted
    columns = [
        Column("order", kind="count"),
        Column("ngram", "n-gram"),
        Column("count", "times", kind="count"),
        Column("reference", "credited to"),
        Column("holders", "held by", kind="count"),
        *([Column("weight", kind="signed")] if weighted else []),
        Column("clipped", kind="count"),
        Column("credit", kind="signed" if weighted else "number"),
        Column("possible", "of at best", kind="number"),
    ]
    rows = [
        (
            len(gram.tokens),
            " ".join(gram.tokens),
            gram.occurrences,
            source_text(gram),
            len(gram.matches),
            *([gram.weight] if weighted else []),
            gram.clipped,
            gram.credit,
            gram.possible,
        )
        for gram in matched_ngrams(explanation)
    ]
    return Table("", columns, rows, notes=list(unmatched(explanation)))


def near_misses(explanation: Explanation) -> Iterator[tuple[NGram, NearMiss]]:
    """Return the near misses by which n-grams were credited."""
    for gram in credited_ngrams(explanation):
        for miss in gram.near:
            if miss.reference == gram.count_from:
                yield gram, miss


def _near_tables(explanation: Explanation) -> Iterator[Table]:
    weighted = explanation.weighted
    columns = [
        Column("order", kind="count"),
        Column("ngram", "near miss"),
        Column("similar", "similar to"),
        Column("reference", "in"),
        Column("similarity", kind="number", digits=3),
        *([Column("weight", kind="signed")] if weighted else []),
    ]
    rows = [
        (
            len(gram.tokens),
            " ".join(gram.tokens),
            " ".join(miss.tokens),
            f"#{miss.reference + 1}",
            miss.similarity,
            *([gram.weight] if weighted else []),
        )
        for gram, miss in near_misses(explanation)
    ]
    if rows:
        yield Table("", columns, rows)


def unmatched(explanation: Explanation) -> Iterator[str]:
    """Say how many n-grams of each order no reference holds, if there are such."""
    counts = [(sum(not gram.matches for gram in order.ngrams), order) for order in explanation.orders]
    listed = [f"{count} {order_name(order.order)}{'s'[: count != 1]}" for count, order in counts if count]
    if listed:
        yield f"in no reference: {', '.join(listed)}"


def _order_table(explanation: Explanation, digits: int) -> Table:
    smoothed = any(smoothed_text(order, digits) for order in explanation.orders)
    columns = [
        Column("order", kind="count"),
        Column("numerator", kind="number"),
        Column("denominator", kind="number"),
        *([Column("smoothed", kind="number")] if smoothed else []),
        Column("precision", measure(explanation), kind="number"),
    ]
    rows = [
        (
            order.order,
            order.numerator,
            order.denominator,
            *([smoothed_text(order, digits)] if smoothed else []),
            order.precision if order.used else "left out",
        )
        for order in explanation.orders
    ]
    return Table("", columns, rows)


def measure(explanation: Explanation) -> str:
    """Return what the quotients of an explanation are called."""
    return "F (%)" if explanation.recall else "precision (%)"


def smoothed_text(order: ExplainedOrder, digits: int) -> str:
    """Return what the precision is made of, where smoothing or a sum below 0 changed it."""
    if not order.smoothed or not order.used or not order.smoothed_denominator:
        return ""
    return f"{order.smoothed_numerator:.{digits}f} / {order.smoothed_denominator:.{digits}f}"


def conclusion(explanation: Explanation, digits: int) -> Iterator[str]:
    """Say in a few lines how lengths and precisions became the score."""
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
    """Return one object with a list of explanations, those of one segment next to each other.

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
