"""Explanations of trubleu: aligned words, the similarity of the texts, and the resulting score."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from trubleu.errors import TrubleuWarning
from trubleu.explain.explanation import ExplainedOutput, Explanation, ReferenceText, described, reference_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.data import References
    from trubleu.metrics.bleu2vec.alignment import AlignedNgrams
    from trubleu.metrics.trubleu import SegmentParts, TruBleu


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarOrder:
    """The n-grams of one order of an output and a reference.

    Attributes
    ----------
    order
        How many words an n-gram has.
    precision, recall
        Which share of what the n-grams of the output, and of the reference, weigh was met; None for an order that one
        of the two has no n-grams of.
    f
        The F value of both; None likewise, and the order is left out.
    pairs
        What was aligned with what.
    """

    order: int
    precision: float | None
    recall: float | None
    f: float | None
    pairs: tuple[AlignedNgrams, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarReference(ReferenceText):
    """One reference of the segment, with its similarity.

    Attributes
    ----------
    token_weights
        What each token weighs.
    repeats
        The place of the first reference with the same text, which counts for both with the larger weight; None for all
        others.
    similarity
        How similar output and reference are, from 0 to 1; None if it repeats another one.
    characters
        The F value of characters; None if the metric leaves characters out, or there is nothing to compare.
    orders
        The F values of words, bigrams and so on; none if it repeats another one.
    share
        Its share of the weighted mean of good references, which add up to 1; 0 if its weight is not above 0.
    cut
        Which share of the score it takes away; only the largest one counts. 0 if its weight is not below 0.
    """

    token_weights: tuple[float, ...]
    repeats: int | None
    similarity: float | None
    characters: float | None
    orders: tuple[SimilarOrder, ...]
    share: float
    cut: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityExplanation(ExplainedOutput):
    """How ``trubleu`` scored one output: ``100 * earned * (1 - cut)``.

    Attributes
    ----------
    token_weights
        What each token of the output weighs.
    references
        The segment's references in their order.
    uses_characters
        Whether characters are one of the factors.
    best, best_from
        The largest product of a good reference's similarity and weight, divided by the largest weight, and the
        reference that gives it; None if the segment is skipped.
    mean
        The weighted mean of the similarities to all good references; None if the segment is skipped.
    earned
        The mean of ``best`` and ``mean``; None if the segment is skipped.
    most_similar
        The good reference that the output is most similar to, whatever it weighs: bad references are held against it.
    cut, cut_from
        Which share is taken away, and the bad reference that does it; None if no reference does. The share is None if
        the segment is skipped.
    """

    token_weights: tuple[float, ...]
    references: tuple[SimilarReference, ...]
    uses_characters: bool
    best: float | None
    best_from: int | None
    mean: float | None
    earned: float | None
    most_similar: int | None
    cut: float | None
    cut_from: int | None

    def decisive(self) -> list[int]:
        """Return the indices of the references that determine the score: the best one, and one that cuts."""
        chosen = [self.best_from, self.cut_from, self.most_similar if self.cut_from is not None else None]
        return list(dict.fromkeys(place for place in chosen if place is not None))

    def by_interest(self) -> list[int]:
        """Return the indices of the compared references: decisive ones first, then the most similar ones."""
        first = self.decisive()
        others = [place for place, one in enumerate(self.references) if one.similarity is not None]
        others.sort(key=lambda place: -(self.references[place].similarity or 0.0))
        return list(dict.fromkeys([*first, *others]))

    def met(self, place: int) -> dict[int, AlignedNgrams]:
        """Return the alignment of each output word with a reference, by position."""
        pairs = [pair for order in self.references[place].orders[:1] for pair in order.pairs]
        return {pair.position: pair for pair in sorted(pairs, key=lambda pair: pair.position)}

    def missed(self, place: int) -> list[int]:
        """Return the positions of the reference words that no output word was aligned with."""
        found = {pair.reference_position for pair in self.met(place).values()}
        return [position for position in range(len(self.references[place].tokens)) if position not in found]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; references are numbered from 1, positions from 0."""
        values = ExplainedOutput.to_dict(self)
        del values["uses_characters"]
        for written, reference in zip(values["references"], self.references, strict=True):
            for place, order in enumerate(reference.orders):
                written["orders"][place]["pairs"] = [
                    {
                        "position": pair.position,
                        "tokens": list(self.tokens[pair.position :][: order.order]),
                        "reference_position": pair.reference_position,
                        "reference_tokens": list(reference.tokens[pair.reference_position :][: order.order]),
                        "exact": pair.exact,
                        "similarity": pair.similarity,
                    }
                    for pair in order.pairs
                ]
        return values


AnyExplanation: TypeAlias = Explanation | SimilarityExplanation
"""An explanation of either kind."""


def explain_similarity(
    metric: TruBleu, output: str, references: References, weights: Sequence[float], *, skipped: bool, signature: str
) -> SimilarityExplanation:
    """Explain how an output got its score.

    Parameters
    ----------
    metric
        The metric; if it weighs words by a corpus, it has learned from it.
    output
        What the system said.
    references
        Those of this one segment.
    weights
        Their weights as the metric takes them.
    skipped
        Whether the metric was told to leave this segment out.
    signature
        How the number is made.
    """
    parts = _parts(metric, output, references)
    first, merged = _merged(references.texts, weights)
    similarities = {place: parts.references[place].score for place in merged}
    good = {place: weight for place, weight in merged.items() if weight > 0}
    total = math.fsum(good.values())
    most_similar = max(good, key=similarities.__getitem__, default=None)
    best_from = _best(good, similarities)
    most = 1.0 if most_similar is None else similarities[most_similar]
    bad = {place: -weight for place, weight in merged.items() if weight < 0 and most < 1}
    cuts = {place: weight * max(0.0, similarities[place] - most) / (1 - most) for place, weight in bad.items()}
    outcome: dict[str, Any] = dict.fromkeys(("best", "mean", "earned", "cut", "cut_from", "score"))
    if best_from is not None and not skipped:
        outcome = {
            "best": good[best_from] * similarities[best_from] / max(good.values()),
            "mean": math.fsum(weight * similarities[place] for place, weight in good.items()) / total,
            "earned": parts.earned,
            "cut": parts.cut,
            "cut_from": max(cuts, key=cuts.__getitem__) if parts.cut > 0 else None,
            "score": 100 * parts.earned * (1 - parts.cut),
        }
    shown = [merged.get(place, weight) for place, weight in enumerate(weights)]
    pairs: dict[tuple[int, int], list[AlignedNgrams]] = defaultdict(list)
    for pair in parts.pairs:
        pairs[pair.reference, pair.order].append(pair)
    return SimilarityExplanation(
        **described(references, metric, signature, output),
        tokens=parts.tokens,
        token_weights=parts.weights,
        references=tuple(
            SimilarReference(
                **said,
                token_weights=parts.reference_weights[place],
                repeats=None if place in merged else first[place],
                similarity=similarities.get(place),
                characters=parts.references[place].characters
                if metric.characters and place in merged and parts.tokens and said["tokens"]
                else None,
                orders=_orders(parts, place, pairs) if place in merged else (),
                share=good[place] / total if place in good else 0.0,
                cut=cuts.get(place, 0.0),
            )
            for place, said in enumerate(reference_texts(references, parts.reference_tokens, shown))
        ),
        uses_characters=metric.characters,
        weighted=any(weight != 1 for weight in weights),
        best_from=best_from,
        most_similar=most_similar,
        **outcome,
    )


def words_met(
    metric: TruBleu, output: str, references: References, weights: Sequence[float]
) -> Iterator[tuple[tuple[str], float]]:
    """Yield the output words aligned with the best reference, each with its weight times the similarity.

    A subset of `explain_similarity`, without what is only displayed.
    """
    parts = _parts(metric, output, references)
    _, merged = _merged(references.texts, weights)
    good = {place: weight for place, weight in merged.items() if weight > 0}
    best_from = _best(good, {place: parts.references[place].score for place in good})
    for pair in parts.pairs:
        if (pair.reference, pair.order) == (best_from, 1):
            yield (parts.tokens[pair.position],), parts.weights[pair.position] * pair.similarity


def _parts(metric: TruBleu, output: str, references: References) -> SegmentParts:
    with warnings.catch_warnings(action="ignore", category=TrubleuWarning):  # issued when the corpus is scored
        return metric.parts(output, references)


def _merged(texts: Sequence[str], weights: Sequence[float]) -> tuple[list[int], dict[int, float]]:
    """Return for each reference the first one with its text, and the weights of these, which are the largest."""
    seen: dict[str, int] = {}
    merged: dict[int, float] = {}
    for place, (text, weight) in enumerate(zip(texts, weights, strict=True)):
        first = seen.setdefault(text, place)
        merged[first] = max(weight, merged.get(first, weight))
    return [seen[text] for text in texts], merged


def _best(good: Mapping[int, float], similarities: Mapping[int, float]) -> int | None:
    """Return the good reference that earns most."""
    return max(good, key=lambda place: good[place] * similarities[place], default=None)


def _orders(
    parts: SegmentParts, place: int, pairs: Mapping[tuple[int, int], Sequence[AlignedNgrams]]
) -> tuple[SimilarOrder, ...]:
    """Return the matched n-grams of each order of one reference."""
    orders = []
    for order, f in enumerate(parts.references[place].orders, 1):
        aligned = tuple(pairs[place, order])
        if math.isnan(f):
            orders.append(SimilarOrder(order=order, precision=None, recall=None, f=None, pairs=aligned))
            continue
        said, held = _sums(parts.weights, order), _sums(parts.reference_weights[place], order)
        met = math.fsum(said[pair.position] * pair.similarity for pair in aligned)
        reached = math.fsum(held[pair.reference_position] * pair.similarity for pair in aligned)
        precision, recall = met / math.fsum(said), reached / math.fsum(held)
        orders.append(SimilarOrder(order=order, precision=precision, recall=recall, f=f, pairs=aligned))
    return tuple(orders)


def _sums(weights: Sequence[float], order: int) -> list[float]:
    """Return the weights of the n-grams of a text."""
    return [math.fsum(weights[start : start + order]) for start in range(len(weights) - order + 1)]
