"""What an explanation holds: every number on the way from texts to the score of one segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from trubleu.explain.ngrams import NearMiss, NGram

_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedReference:
    """One reference of the segment.

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
    credit
        What n-grams of the output earned by its weight.
    matched
        Whether it holds any n-gram of the output.
    """

    text: str
    tokens: tuple[str, ...]
    weight: float
    rated: float | None
    origin: str | None
    credit: float
    matched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedOrder:
    """The n-grams of one order, and what they come to.

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
        """Whether the precision is made of other numbers than the corpus score is, by more than their last bits."""
        changes = (self.smoothed_numerator - self.numerator, self.smoothed_denominator - self.denominator)
        return any(abs(change) > _ROUNDING * max(self.denominator, 1.0) for change in changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How one output got its score.

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
        Whether the metric looks at weights.
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
    brevity_penalty, score
        As the metric computes them for this segment alone; None if it was told to skip the segment, and no brevity
        penalty with recall.
    """

    segment: str
    metric: str
    signature: str
    message: str | None
    context: tuple[str, ...] | None
    output: str
    tokens: tuple[str, ...]
    references: tuple[ExplainedReference, ...]
    weighted: bool
    best_weight: float
    recall: bool
    orders: tuple[ExplainedOrder, ...]
    reference_length: float
    length_from: int | None
    brevity_penalty: float | None
    score: float | None

    @property
    def skipped(self) -> bool:
        """Whether the metric was told to leave out segments like this one, which has no positive weight."""
        return self.score is None

    def row(self) -> list[float]:
        """Return the n-gram statistics as the kernel counts them, nothing for a skipped segment.

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

    def by_weight(self) -> list[int]:
        """Return the places of the references, largest weight first and otherwise in their order."""
        return sorted(range(len(self.references)), key=lambda index: -_shown_weight(self.references[index]))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON; references are numbered from 1, positions from 0."""
        return {
            "segment": self.segment,
            "metric": self.metric,
            "signature": self.signature,
            "message": self.message,
            "context": None if self.context is None else list(self.context),
            "output": self.output,
            "tokens": list(self.tokens),
            "score": self.score,
            "brevity_penalty": self.brevity_penalty,
            "hypothesis_length": len(self.tokens),
            "reference_length": self.reference_length,
            "length_from": _number(self.length_from),
            "best_weight": self.best_weight,
            **({"recall": True} if self.recall else {}),
            "orders": [_order_dict(order) for order in self.orders],
            "references": [
                {
                    "reference": index + 1,
                    "text": reference.text,
                    "tokens": list(reference.tokens),
                    "weight": reference.weight,
                    "rated": reference.rated,
                    "origin": reference.origin,
                    "credit": reference.credit,
                    "matched": reference.matched,
                }
                for index, reference in enumerate(self.references)
            ],
        }

    def _repr_html_(self) -> str:
        from trubleu.explain.text import render_text
        from trubleu.notebook import html_text

        return html_text(render_text({"output": [self]}))


def _shown_weight(reference: ExplainedReference) -> float:
    return reference.weight if reference.rated is None else reference.rated


def _order_dict(order: ExplainedOrder) -> dict[str, Any]:
    return {
        "order": order.order,
        "count": order.count,
        "numerator": order.numerator,
        "denominator": order.denominator,
        "smoothed_numerator": order.smoothed_numerator,
        "smoothed_denominator": order.smoothed_denominator,
        "precision": order.precision,
        "used": order.used,
        "ngrams": [
            {
                "tokens": list(gram.tokens),
                "positions": list(gram.positions),
                "count": gram.occurrences,
                "credit": gram.credit,
                "possible": gram.possible,
                "weight": gram.weight,
                "weight_from": _number(gram.weight_from),
                "count_from": _number(gram.count_from),
                "matches": [
                    {
                        "reference": match.reference + 1,
                        "count": match.held,
                        "clipped": match.clipped,
                        "weight": match.weight,
                    }
                    for match in gram.matches
                ],
                **({"near": [_near_dict(miss) for miss in gram.near]} if gram.near else {}),
            }
            for gram in order.ngrams
        ],
    }


def _near_dict(miss: NearMiss) -> dict[str, Any]:
    return {
        "reference": miss.reference + 1,
        "position": miss.position,
        "tokens": list(miss.tokens),
        "reference_position": miss.reference_position,
        "similarity": miss.similarity,
    }


def _number(index: int | None) -> int | None:
    """Return the number that people know a reference by."""
    return None if index is None else index + 1
