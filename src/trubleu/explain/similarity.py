"""Explanations of trubleu and trubleu-ctx: aligned words, the similarity of the texts, and the resulting score."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from trubleu.errors import TrubleuWarning
from trubleu.explain.explanation import ExplainedOutput, Explanation, ReferenceText, described, reference_texts
from trubleu.metrics.bleu2vec.alignment import AlignedNgrams
from trubleu.metrics.trubleu import ComparedReference, SegmentParts
from trubleu.metrics.trubleu_ctx import ContextReference, SupportedSentence, TruBleuCtx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.data import References
    from trubleu.metrics.trubleu import TruBleu


_EXACT: Final = 0.9995  # equal words of this similarity stand in the same context


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

    in_context: ClassVar[bool] = False

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

    def reached(self, place: int) -> dict[int, AlignedNgrams]:
        """Return the alignment of each word of a reference with the output, by position."""
        return {pair.reference_position: pair for pair in self.met(place).values()}

    def missed(self, place: int) -> list[int]:
        """Return the positions of the reference words that no output word was aligned with."""
        found = self.reached(place)
        return [position for position in range(len(self.references[place].tokens)) if position not in found]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; references are numbered from 1, positions from 0."""
        values = ExplainedOutput.to_dict(self)
        del values["uses_characters"]
        for written, reference in zip(values["references"], self.references, strict=True):
            for place, order in enumerate(reference.orders):
                written["orders"][place]["pairs"] = self._written(reference, order.pairs)
        return values

    def _written(self, reference: SimilarReference, pairs: Sequence[AlignedNgrams]) -> list[dict[str, Any]]:
        return [
            {
                "position": pair.position,
                "tokens": list(self.tokens[pair.position :][: pair.order]),
                "reference_position": pair.reference_position,
                "reference_tokens": list(reference.tokens[pair.reference_position :][: pair.order]),
                "exact": pair.exact,
                "similarity": pair.similarity,
            }
            for pair in pairs
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextualReference(SimilarReference):
    """One reference of the segment, compared in context; its similarity is the mean of its parts.

    Attributes
    ----------
    text_similarity
        The cosine of the two texts above its baseline; None if there is nothing to compare.
    equal
        Whether the two have the same words, so their similarity is 1 whatever the parts are.
    reached
        For each word of the reference the nearest one of the output, if it is nearer than unrelated words.
    sentences
        For each sentence of the output, if one of the two has several, the nearest one of the reference.
    """

    text_similarity: float | None
    equal: bool
    reached: tuple[AlignedNgrams, ...]
    sentences: tuple[SupportedSentence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextExplanation(SimilarityExplanation):
    """How ``trubleu-ctx`` scored one output.

    Attributes
    ----------
    references
        The segment's references in their order. A word may be the nearest one of several, so which words of the
        output are met and which of a reference are reached are two questions.
    """

    in_context: ClassVar[bool] = True

    references: tuple[ContextualReference, ...]

    def reached(self, place: int) -> dict[int, AlignedNgrams]:
        """Return the nearest output word of each word of a reference, by position."""
        return {pair.reference_position: pair for pair in self.references[place].reached}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; references are numbered from 1, positions from 0."""
        values = SimilarityExplanation.to_dict(self)
        for written, reference in zip(values["references"], self.references, strict=True):
            written["reached"] = self._written(reference, reference.reached)
        return values


AnyExplanation: TypeAlias = Explanation | SimilarityExplanation
"""An explanation of either kind."""


SimilarityMetric: TypeAlias = "TruBleu | TruBleuCtx"
"""Metrics that compare an output with each reference by similar words."""


def explain_similarity(
    metric: SimilarityMetric,
    output: str,
    references: References,
    weights: Sequence[float],
    *,
    skipped: bool,
    signature: str,
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
    parts, in_context = _parts(metric, output, references)
    uses_characters = isinstance(metric, TruBleuCtx) or metric.characters
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
    found = SimilarityExplanation(
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
                if uses_characters and place in merged and parts.tokens and said["tokens"]
                else None,
                orders=_orders(parts, place, pairs) if place in merged else (),
                share=good[place] / total if place in good else 0.0,
                cut=cuts.get(place, 0.0),
            )
            for place, said in enumerate(reference_texts(references, parts.reference_tokens, shown))
        ),
        uses_characters=uses_characters,
        weighted=any(weight != 1 for weight in weights),
        best_from=best_from,
        most_similar=most_similar,
        **outcome,
    )
    return _with_context(found, metric, in_context) if isinstance(metric, TruBleuCtx) else found


def _with_context(
    found: SimilarityExplanation, metric: TruBleuCtx, parts: Sequence[ContextReference]
) -> ContextExplanation:
    """Add what only an encoder tells."""
    references = []
    for place, (reference, part) in enumerate(zip(found.references, parts, strict=True)):
        compared = reference.similarity is not None and bool(found.tokens and reference.tokens)
        orders = reference.orders if compared and not math.isnan(part.words) else ()
        references.append(
            ContextualReference(
                **_fields(reference)
                | {
                    # Of the mean cosines, not of those of single words, which are held against the baseline one by one.
                    "orders": tuple(
                        SimilarOrder(
                            order=1, precision=part.precision, recall=part.recall, f=part.words, pairs=each.pairs
                        )
                        for each in orders
                    )
                },
                text_similarity=part.text if compared else None,
                equal=part.equal,
                reached=_nearest(metric, part, found.tokens, reference.tokens, place, of_output=False)
                if compared
                else (),
                sentences=metric.supported_sentences(found.output, reference.text) if compared else (),
            )
        )
    return ContextExplanation(**_fields(found) | {"references": tuple(references)})


def _fields(thing: Any) -> dict[str, Any]:
    return {each.name: getattr(thing, each.name) for each in fields(thing)}


def _nearest(
    metric: TruBleuCtx,
    part: ContextReference,
    tokens: Sequence[str],
    reference_tokens: Sequence[str],
    place: int,
    *,
    of_output: bool,
) -> tuple[AlignedNgrams, ...]:
    """Return the words of one side, each with the nearest one of the other, that are nearer than unrelated words."""
    found = []
    for own, met in enumerate(part.met if of_output else part.met_by):
        similarity = metric.word_similarity(met.cosine)
        if met.position is None or similarity <= 0:
            continue
        here, there = (own, met.position) if of_output else (met.position, own)
        exact = similarity > _EXACT and tokens[here] == reference_tokens[there]
        found.append(AlignedNgrams(place, 1, here, there, exact, 1.0 if exact else similarity))
    return tuple(found)


def words_met(
    metric: SimilarityMetric, output: str, references: References, weights: Sequence[float]
) -> Iterator[tuple[tuple[str], float]]:
    """Yield the output words aligned with the best reference, each with its weight times the similarity.

    A subset of `explain_similarity`, without what is only displayed.
    """
    parts, _ = _parts(metric, output, references)
    _, merged = _merged(references.texts, weights)
    good = {place: weight for place, weight in merged.items() if weight > 0}
    best_from = _best(good, {place: parts.references[place].score for place in good})
    for pair in parts.pairs:
        if (pair.reference, pair.order) == (best_from, 1):
            yield (parts.tokens[pair.position],), parts.weights[pair.position] * pair.similarity


def _parts(
    metric: SimilarityMetric, output: str, references: References
) -> tuple[SegmentParts, tuple[ContextReference, ...]]:
    """Return the components of a score, and those that only an encoder tells."""
    with warnings.catch_warnings(action="ignore", category=TrubleuWarning):  # issued when the corpus is scored
        if not isinstance(metric, TruBleuCtx):
            return metric.parts(output, references), ()
        found = metric.parts(output, references)
    pairs = [
        pair
        for place, (part, tokens) in enumerate(zip(found.references, found.reference_tokens, strict=True))
        for pair in _nearest(metric, part, found.tokens, tokens, place, of_output=True)
    ]
    parts = SegmentParts(
        references=tuple(
            ComparedReference(each.score, each.characters, (each.words if found.tokens and tokens else math.nan,))
            for each, tokens in zip(found.references, found.reference_tokens, strict=True)
        ),
        pairs=tuple(pairs),
        earned=found.earned,
        cut=found.cut,
        tokens=found.tokens,
        reference_tokens=found.reference_tokens,
        weights=(1.0,) * len(found.tokens),
        reference_weights=tuple((1.0,) * len(tokens) for tokens in found.reference_tokens),
    )
    return parts, found.references


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
