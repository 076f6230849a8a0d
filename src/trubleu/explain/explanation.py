"""The parts of an explanation: n-grams, their matches, and every number up to the score of one segment.

The C++ kernels count the same for whole corpora and keep only the sums; here the n-grams are kept for display.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.data import References
    from trubleu.metrics import Metric
    from trubleu.metrics.matching import TextMetric


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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return {"reference": self.reference + 1, "count": self.held, "clipped": self.clipped, "weight": self.weight}


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

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON; near misses only if there are any."""
        return {**plain_fields(self, () if self.near else ("near",)), "count": self.occurrences}


def tokens_of(metric: TextMetric, text: str) -> tuple[str, ...]:
    """Return the tokens of a text as the kernel sees them, without its escapes.

    Examples
    --------
    >>> from trubleu import Bleu
    >>> tokens_of(Bleu(lowercase=True), "Well, OK.")
    ('well', ',', 'ok', '.')
    """
    tokenizer = metric.tokenizer
    if tokenizer.native is not None:
        return tuple(kernels.tokens(text, tokenizer.native, bool(metric.lowercase)))
    return tuple(tokenizer.tokens(text, bool(metric.lowercase)))


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


_PLACES: Final = (
    "reference", "weight_from", "count_from", "length_from", "best_from", "cut_from", "most_similar", "repeats",
)  # fmt: skip
"""Fields that hold the place of a reference, which people count from 1."""


def plain_fields(thing: Any, without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the fields of something as plain values for JSON; references are counted from 1."""
    names = [each.name for each in fields(thing)] if is_dataclass(thing) else thing._fields
    values = {name: _plain(getattr(thing, name)) for name in names if name not in without}
    return {name: value + 1 if name in _PLACES and value is not None else value for name, value in values.items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) or hasattr(value, "_fields"):
        return plain_fields(value)
    return [*map(_plain, value)] if isinstance(value, tuple) else value


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
    others
        Its scores under metrics of other programs, by name.
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
    others: Mapping[str, float] = field(default_factory=dict)

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
        """Return everything as plain values for JSON; references are numbered from 1, positions from 0."""
        numbered = enumerate(map(plain_fields, self.references), 1)
        references = [{"reference": number, **each} for number, each in numbered]
        without = ("references", "weighted") if self.others else ("references", "weighted", "others")
        return {**plain_fields(self, without), "references": references}

    def _repr_html_(self) -> str:
        from trubleu.render.explanations import render_explanation_text
        from trubleu.results import html_text

        return html_text(render_explanation_text({"output": [self]}))  # type: ignore[list-item]


def described(part: References, metric: Metric, signature: str, output: str) -> dict[str, Any]:
    """Return the fields that explanations of an output share, given the references of its segment."""
    segment = part[0]
    about = {"segment": segment.id, "message": segment.message, "context": segment.context}
    return {**about, "metric": metric.name, "signature": signature, "output": output}


def reference_texts(
    part: References, tokens: Iterable[tuple[str, ...]], weights: Iterable[float]
) -> Iterator[dict[str, Any]]:
    """Yield the fields that explained references share, given those of its segment."""
    for reference, words, weight in zip(part[0].references, tokens, weights, strict=True):
        about = {"rated": reference.weight, "origin": reference.origin}
        yield {"text": reference.text, "tokens": words, "weight": weight, **about}


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

    def decisive(self) -> list[int]:
        """Return the places of the references that credited an n-gram or determined the length."""
        grams = [gram for order in self.orders for gram in order.ngrams]
        found = {self.length_from, *(gram.weight_from for gram in grams), *(gram.count_from for gram in grams)}
        return [place for place in self.by_weight() if place in found]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; references are numbered from 1, positions from 0."""
        values = {**ExplainedOutput.to_dict(self), "hypothesis_length": len(self.tokens)}
        return values if self.recall else {name: value for name, value in values.items() if name != "recall"}
