"""The parts of an explanation: n-grams, their matches, and every number up to the score of one segment.

The C++ kernels count the same for whole corpora and keep only the sums; here the n-grams are kept for display.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.metrics.bleu2vec.alignment import SoftMatching
    from trubleu.metrics.matching import Matching
    from trubleu.metrics.trubleu import TruBleu


Gram = tuple[str, ...]


class Match(NamedTuple):
    """A reference that contains an n-gram of the output.

    Attributes
    ----------
    reference
        Its place among the segment's references, from 0.
    held
        How often the reference holds the n-gram.
    clipped
        The same, but not more often than the output holds it.
    weight
        The reference's weight, as the metric takes it.
    """

    reference: int
    held: int
    clipped: int
    weight: float


class NearMiss(NamedTuple):
    """An occurrence of an n-gram of the output, and the n-gram of a reference aligned with it.

    Attributes
    ----------
    reference
        The reference's place among the segment's, from 0.
    position
        Where the output's n-gram begins, in tokens from 0.
    tokens, reference_position
        The reference's n-gram, and where it begins.
    similarity
        What the pair counts.
    """

    reference: int
    position: int
    tokens: Gram
    reference_position: int
    similarity: float


class NGram(NamedTuple):
    """An n-gram of the output and its credit.

    Attributes
    ----------
    tokens
        The n-gram.
    positions
        Where it begins in the output, in tokens from 0.
    matches
        The references that hold it, in their order.
    credit
        What all its occurrences together add to the numerator.
    possible
        What they would have added, had the best reference held them all.
    weight_from, count_from
        The references whose weight and whose count were taken; None without a match. They differ only under
        ``definition=fork2019``.
    weight
        The weight that was taken; None without a match.
    near
        What its occurrences were aligned with that are not matched, if the metric counts near misses. One that has no
        match may be credited by these.
    """

    tokens: Gram
    positions: tuple[int, ...]
    matches: tuple[Match, ...]
    credit: float
    possible: float
    weight_from: int | None
    count_from: int | None
    weight: float | None
    near: tuple[NearMiss, ...] = ()

    @property
    def occurrences(self) -> int:
        """How often it occurs in the output."""
        return len(self.positions)

    @property
    def clipped(self) -> int:
        """How many of its occurrences were credited."""
        return next((match.clipped for match in self.matches if match.reference == self.count_from), 0)

    @property
    def counted(self) -> float:
        """How many of its occurrences were credited, including partial credit for near misses."""
        return self.clipped + sum(miss.similarity for miss in self.near if miss.reference == self.count_from)


def tokens_of(matching: Matching | SoftMatching | TruBleu, text: str) -> tuple[str, ...]:
    """Return the tokens of a text as the kernel sees them, without its escapes.

    Examples
    --------
    >>> from trubleu import Bleu
    >>> tokens_of(Bleu(lowercase=True).matching, "Well, OK.")
    ('well', ',', 'ok', '.')
    """
    tokenizer = matching.tokenizer
    if tokenizer.native is not None:
        return tuple(kernels.tokens(text, tokenizer.native, matching.lowercase))
    return tuple(tokenizer.tokens(text, matching.lowercase))


def windows(tokens: Sequence[str], n: int) -> Iterator[Gram]:
    """Return all n-grams of one order from left to right.

    Examples
    --------
    >>> list(windows("a b c".split(), 2))
    [('a', 'b'), ('b', 'c')]
    """
    return zip(*(islice(tokens, start, None) for start in range(n)), strict=False)


def positions_of(tokens: Sequence[str], n: int) -> dict[Gram, list[int]]:
    """Return the positions of each n-gram of one order, ordered by first occurrence."""
    positions: dict[Gram, list[int]] = {}
    for start, gram in enumerate(windows(tokens, n)):
        positions.setdefault(gram, []).append(start)
    return positions


_ROUNDING: Final = 1e-9


def plain_values(thing: object, names: Sequence[str]) -> dict[str, Any]:
    """Return some fields of an object for JSON: tuples as lists."""
    values = {name: getattr(thing, name) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceText:
    """One reference of the segment, independent of the metric.

    Attributes
    ----------
    text, tokens
        What it says.
    weight
        The weight that the metric takes: 1 for all references if it knows no weights.
    rated
        The weight in the references; None if there is none.
    origin
        Where it comes from, if known.
    """

    text: str
    tokens: tuple[str, ...]
    weight: float
    rated: float | None
    origin: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return its text and weight as plain values."""
        return plain_values(self, ("text", "tokens", "weight", "rated", "origin"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedOutput:
    """Base class of explanations for all kinds of metrics.

    Attributes
    ----------
    segment
        The segment's id.
    metric, signature
        Which metric, and every option that can change the number.
    message, context
        What the output answers to, if known.
    output, tokens
        What the system said.
    references
        The segment's references in their order.
    weighted
        Whether weights of references count.
    score
        As the metric computes it for this segment alone; None if it was told to skip the segment.
    """

    segment: str
    metric: str
    signature: str
    message: str | None
    context: tuple[str, ...] | None
    output: str
    tokens: tuple[str, ...]
    references: tuple[ReferenceText, ...]
    weighted: bool
    score: float | None

    def by_weight(self) -> list[int]:
        """Return the indices of the references, largest weight first, ties in order."""
        weights = [one.weight if one.rated is None else one.rated for one in self.references]
        return sorted(range(len(weights)), key=lambda place: -weights[place])

    def shown_weight(self, place: int) -> float | None:
        """Return the weight to show with a reference: as the metric takes it, or as rated if it takes none."""
        return self.references[place].weight if self.weighted else self.references[place].rated

    @property
    def skipped(self) -> bool:
        """Whether the metric skips this segment because it has no positive weight."""
        return self.score is None

    def to_dict(self) -> dict[str, Any]:
        """Return the output and its score as plain values."""
        names = ("segment", "metric", "signature", "message", "context", "output", "tokens", "score")
        return plain_values(self, names)

    def _repr_html_(self) -> str:
        from trubleu.render.explanation_text import render_explanation_text
        from trubleu.results import html_text

        return html_text(render_explanation_text({"output": [self]}))  # type: ignore[list-item]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedReference(ReferenceText):
    """One reference of the segment, for an n-gram metric.

    Attributes
    ----------
    credit
        What n-grams of the output earned by its weight.
    matched
        Whether it holds any n-gram of the output.
    """

    credit: float
    matched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedOrder:
    """The n-grams of one order, and their totals.

    Attributes
    ----------
    order
        How many tokens an n-gram has.
    ngrams
        The n-grams of the output in the order in which they first occur.
    count
        How many there are, repeated ones included.
    numerator, denominator
        What they earned and could have earned, as they enter a corpus score: not smoothed, and maybe below 0.
    smoothed_numerator, smoothed_denominator
        The same after sums below 0 were settled and after smoothing; the precision is their quotient.
    precision
        In percent; for a metric with recall, the F value.
    used
        Whether the order enters the mean.
    """

    order: int
    ngrams: tuple[NGram, ...]
    count: int
    numerator: float
    denominator: float
    smoothed_numerator: float
    smoothed_denominator: float
    precision: float
    used: bool

    @property
    def smoothed(self) -> bool:
        """Whether smoothing changed the precision, beyond rounding."""
        changes = (self.smoothed_numerator - self.numerator, self.smoothed_denominator - self.denominator)
        return any(abs(change) > _ROUNDING * max(self.denominator, 1.0) for change in changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(ExplainedOutput):
    """How an n-gram metric scored one output.

    Attributes
    ----------
    references
        The segment's references in their order.
    best_weight
        The largest weight.
    recall
        Whether orders have F values, made of precision and recall, and there is no brevity penalty. Their denominators
        are the mean of the n-grams of output and reference, as often as the largest weight says.
    orders
        The n-grams and sums of each order; none if the segment is skipped.
    reference_length
        The length that the output's is held against.
    length_from
        The reference that set it; None if it is an average.
    brevity_penalty
        As the metric computes it for this segment alone; None with recall, or if the segment is skipped.
    """

    references: tuple[ExplainedReference, ...]
    best_weight: float
    recall: bool
    orders: tuple[ExplainedOrder, ...]
    reference_length: float
    length_from: int | None
    brevity_penalty: float | None

    def row(self) -> list[float]:
        """Return the n-gram statistics as the kernel counts them, zeros for a skipped segment.

        The columns are those of `trubleu.metrics.matching.Matching`.
        """
        if self.skipped:
            return []
        return [
            float(len(self.tokens)),
            self.reference_length,
            *(order.numerator for order in self.orders),
            *(order.denominator for order in self.orders if self.weighted),
            *(float(order.count) for order in self.orders),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; references are numbered from 1, positions from 0."""
        return {
            **ExplainedOutput.to_dict(self),
            "brevity_penalty": self.brevity_penalty,
            "hypothesis_length": len(self.tokens),
            "reference_length": self.reference_length,
            "length_from": reference_number(self.length_from),
            "best_weight": self.best_weight,
            **({"recall": True} if self.recall else {}),
            "orders": [_order_dict(order) for order in self.orders],
            "references": [
                {"reference": number, **reference.to_dict(), **plain_values(reference, ("credit", "matched"))}
                for number, reference in enumerate(self.references, 1)
            ],
        }


def _order_dict(order: ExplainedOrder) -> dict[str, Any]:
    smoothed = ("smoothed_numerator", "smoothed_denominator")
    names = ("order", "count", "numerator", "denominator", *smoothed, "precision", "used")
    return {**plain_values(order, names), "ngrams": [_ngram_dict(gram) for gram in order.ngrams]}


def _ngram_dict(gram: NGram) -> dict[str, Any]:
    near = [_numbered(plain_values(miss, miss._fields)) for miss in gram.near]
    return {
        **plain_values(gram, ("tokens", "positions")),
        "count": gram.occurrences,
        **plain_values(gram, ("credit", "possible", "weight")),
        "weight_from": reference_number(gram.weight_from),
        "count_from": reference_number(gram.count_from),
        "matches": [
            {"reference": match.reference + 1, "count": match.held, "clipped": match.clipped, "weight": match.weight}
            for match in gram.matches
        ],
        **({"near": near} if near else {}),
    }


def _numbered(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "reference": values["reference"] + 1}


def reference_number(index: int | None) -> int | None:
    """Return a reference's number as displayed, from 1."""
    return None if index is None else index + 1
