"""bleu2vec (Tättar & Fishel 2017) and ΔBLEU with partial matches: unequal n-grams count by their similarity."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.metrics.base import check_order, check_smoothing, parse_kind, smoothing_text
from trubleu.metrics.bleu import BleuParts, CountedBleu, Counts, bleu, brevity_penalty, smoothed_sentence_bleu
from trubleu.metrics.bleu2vec.alignment import SoftMatching
from trubleu.metrics.bleu2vec.vectors import soft_vectors
from trubleu.metrics.dbleu import ROUNDING, WeightedMetric, parse_negative, settle_negative
from trubleu.optional_deps import needed
from trubleu.signature import number_text
from trubleu.text import tokenizer
from trubleu.vectors import Composed, as_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.metrics.matching import TextPairs
    from trubleu.text.tokenizers import Spec
    from trubleu.vectors import AnySource, VectorSource


UNKNOWN: Final = 0.001
"""Similarity of a pair if one n-gram has no vector, as in the released code."""

COMPOSED: Final = "composed"
LIN_OCH: Final = "lin-och"
USUAL_ORDER: Final = 3
"""Maximum n-gram length that vector files usually hold."""

ENOUGH_WORDS: Final = 20
"""Number of distinct words from which low coverage is worth a warning."""

Unknown = str | float
"""A number, possibly as text, or ``composed``."""


def parse_similarity(similarity: str) -> tuple[str, float]:
    """Parse ``raw``, ``clamp`` or ``shift:S`` into the kind and its number.

    Examples
    --------
    >>> parse_similarity("shift:0.3"), parse_similarity("raw")
    (('shift', 0.3), ('raw', 0.0))
    """
    choices = ("raw", "clamp")
    return parse_kind(
        "similarity", similarity, choices, "shift", "S with S from 0 to below 1", lambda value: 0 <= value < 1
    )


def parse_oov(oov: Unknown) -> Unknown:
    """Parse ``composed`` or a number from 0 to 1.

    Examples
    --------
    >>> parse_oov("composed"), parse_oov("0.01")
    ('composed', 0.01)
    """
    if oov == COMPOSED:
        return COMPOSED
    try:
        value = math.nan if isinstance(oov, bool) else float(oov)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= 1:
        raise UsageError(f"oov={oov} is not known; it is a number from 0 to 1, or {COMPOSED}")
    return value


def holds_order(source: VectorSource, order: int) -> bool:
    """Return whether n-grams of a length can be scored: usual lengths always can, even if most are unknown."""
    return source.orders is None or order <= USUAL_ORDER or order in source.orders


def check_orders(source: VectorSource, order: int) -> None:
    """Raise an error for n-grams of an unusual length that the vectors do not hold."""
    if not holds_order(source, order):
        raise UsageError(
            f"{source.name} has no n-grams of {order} words; use an order of at most {USUAL_ORDER}, other vectors, "
            f"or oov={COMPOSED}"
        )


def warn_of_texts(source: VectorSource, tokenizer_name: str, lowercase: bool) -> None:
    """Warn if the vectors were trained on texts that were tokenized or cased differently."""
    made = getattr(source.source if isinstance(source, Composed) else source, "options", None)
    if not isinstance(made, Mapping):
        return
    differs = []
    theirs = made.get("tokenizer")
    # Pretokenized texts may have been tokenized in any way.
    if isinstance(theirs, str) and "none" not in (theirs, tokenizer_name) and theirs != tokenizer_name:
        differs.append(f"the tokenizer {theirs}, not {tokenizer_name}")
    case = made.get("lowercase")
    if case is not None and bool(case) != lowercase:
        differs.append("lowercase" if case else "case kept, not lowercase")
    if differs:
        what = (
            f"{source.name} was trained on texts with {' and '.join(differs)}, so words may have no vector; "
            "score with the same options, or use other vectors"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=4)


def warn_of_unknown(source: VectorSource, words: int, unknown: int) -> None:
    """Warn if most words have no vector."""
    if words >= ENOUGH_WORDS and 2 * unknown > words and (source.orders is None or 1 in source.orders):
        what = (
            f"more than half of the words that were looked up have no vector in {source.name}; "
            "check tokenizer, case and language"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=4)


def warn_of_orders(source: VectorSource, order: int) -> None:
    """Warn if the vectors hold no n-grams of some length."""
    missing = [] if source.orders is None else [n for n in range(1, order + 1) if n not in source.orders]
    if missing:
        what = (
            f"{source.name} has no n-grams of {' and '.join(map(str, missing))} words, of which only exact matches "
            f"count; use other vectors, or oov={COMPOSED}"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=4)


RELEASE_ORDER: Final = 3
RELEASE_OPTIONS: Final = ("definition", "vectors", "tokenize", "lowercase")
RELEASE_WEIGHTS: Final = np.array([0.33, 0.34, 0.33])


def word_tokenize(text: str) -> list[str]:
    """Tokenize a text as NLTK does; needs its sentence splitter data.

    Raises
    ------
    MissingExtraError
        If NLTK is not installed.
    DataError
        If its sentence splitter is not there.
    """
    nltk = needed("nltk", "definition=release2017", "nltk")
    try:
        tokens: list[str] = nltk.word_tokenize(text)
    except LookupError as error:
        raise DataError(
            "NLTK's sentence splitter is not on this machine; get it with: python -m nltk.downloader punkt_tab, "
            "or name another tokenizer"
        ) from error
    return tokens


def release_parts(counts: Counts) -> BleuParts:
    """Return scores as the released code does: orders are left out from the first without positive matches."""
    matches, totals = counts.matches, counts.totals
    precisions = np.divide(matches, totals, out=np.zeros_like(matches), where=totals != 0)
    used: NDArray[np.bool_] = np.logical_and.accumulate(precisions > 0, axis=-1)
    logs = np.where(used, np.log(np.where(used, precisions, 1.0)), 0.0)
    penalty = brevity_penalty(counts.hypothesis_length, counts.reference_length)
    score = 100.0 * penalty * np.exp((RELEASE_WEIGHTS * logs).sum(axis=-1))
    score = np.where(matches[..., 0] == 0, 0.0, score)
    return BleuParts(score, 100.0 * precisions, penalty, matches, totals, used)


@dataclass(kw_only=True, eq=False, repr=False)
class Bleu2Vec(CountedBleu):
    """Corpus-level BLEU with partial credit for n-grams that are similar to those of the reference.

    Equal n-grams are matched first, from left to right. The remaining n-grams of output and reference are aligned
    greedily: the most similar pair first, each occurrence once, ties broken by the order in the output and then in the
    reference. A pair counts the cosine of the two n-grams' vectors.

    With several references, an n-gram counts the sum over its occurrences in the reference where that sum is largest;
    if some references contain it, only these are considered. Negative cosines are kept, so an n-gram that only aligns
    with dissimilar ones in every reference counts below zero.

    Parameters
    ----------
    order
        The longest n-grams. More than 3 if the vectors hold them.
    vectors
        ``ready`` for those of ``trubleu[ready]``, a path, or whatever else `trubleu.vectors.as_source` takes.
    tokenize, lowercase, reference_length
        As for `Bleu`.
    smoothing
        ``lin-och`` adds 1 to the matches and n-grams of all orders above 1 and leaves out orders for which there are no
        n-grams. That keeps single sentences apart and hardly moves a corpus. Or as for `Bleu`.
    smoothing_value, effective_order
        As for `Bleu`; they do not go with ``lin-och``.
    similarity
        ``raw`` cosines, ``clamp`` for 0 in place of those below 0, or ``shift:S`` for max(0, cosine − S) / (1 − S).
    oov
        The similarity of a pair of which one has no vector, from 0 to 1; ``composed`` makes a vector for an n-gram from
        those of its words.
    negative
        What a sum of matches below 0 becomes: ``clamp`` makes it 0, ``floor:E`` a constant, ``error`` refuses.
    recall
        Take the harmonic mean of precision and recall for each order, and no brevity penalty: ``bleu2vec-f``. Orders
        that the output has no n-grams of are treated as without it.
    definition
        ``paper``, or ``release2017`` for what the released program does: NLTK's tokens, orders weighted .33, .34 and
        .33, an n-gram that is left over several times is aligned once, of several references only the first is looked
        at, and orders from the first one without matches on are left out. It settles most other options.

    Examples
    --------
    >>> vectors = (["cat", "dog", "tree"], [[1.0, 0.2], [1.0, 0.0], [0.0, 1.0]])
    >>> metric = Bleu2Vec(1, vectors=vectors)
    >>> round(metric.corpus(["the cat sat"], [["the dog sat"]]).score, 2)
    99.35
    >>> round(metric.corpus(["the tree sat"], [["the dog sat"]]).score, 2)
    66.67
    """

    uses_weights: ClassVar[bool] = False
    family: ClassVar[str] = "bleu2vec"

    order: int = field(default=3, kw_only=False)
    vectors: AnySource = "ready"
    tokenize: Spec | None = None
    lowercase: bool = False
    smoothing: str = LIN_OCH
    smoothing_value: float | None = None
    effective_order: bool = False
    reference_length: str = "closest"
    similarity: str = "raw"
    oov: Unknown = UNKNOWN
    negative: str = "clamp"
    recall: bool = False
    definition: str = "paper"

    def __post_init__(self) -> None:
        """Validate the options and open the vectors."""
        super().__post_init__()
        check_order(self.order)
        self.smoothing_value = check_smoothing(self.smoothing, self.smoothing_value)
        self.negative, self.negative_floor = parse_negative(self.negative)
        kind, shift = parse_similarity(self.similarity)
        self.oov = parse_oov(self.oov)
        self.vectors = source = Composed(as_source(self.vectors)) if self.oov == COMPOSED else as_source(self.vectors)
        check_orders(source, self.order)
        release = self.definition == "release2017"
        for option in fields(self) if release else ():
            if option.name not in RELEASE_OPTIONS and getattr(self, option.name) != option.default:
                raise UsageError(f"definition=release2017 settles {option.name}; leave it out")
        if self.effective_order and self.smoothing == LIN_OCH:
            raise UsageError(
                f"effective_order does not go with smoothing={LIN_OCH}, which leaves out orders without n-grams "
                "anyway; leave it out, use another smoothing, or give it to other metrics only, "
                "as in bleu-4[effective_order=true]"
            )
        default: Spec = word_tokenize if release else "13a"
        self.tokenizer = tokenizer(default if self.tokenize is None else self.tokenize)
        self.matching = SoftMatching(
            tokenizer=self.tokenizer,
            lowercase=self.lowercase,
            order=self.order,
            vectors=soft_vectors(source),
            similarity=kind,
            shift=shift,
            unknown=UNKNOWN if isinstance(self.oov, str) else self.oov,
            rule="plain",
            reference_length=self.reference_length,
            release=release,
        )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The metric's name, with its order."""
        return f"{self.family}-f-{self.order}" if self.recall else f"{self.family}-{self.order}"

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return lengths, similarities and n-grams by order; for the F form also the n-grams of the reference."""
        rows = self._rows(given)
        return np.hstack([rows, self._reference_ngrams(rows)]) if self.recall else rows

    def _rows(self, given: TextPairs, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        matching = self.matching
        source = matching.vectors.source
        # The same text for every system, so the warning can be shown once.
        warn_of_orders(source, self.order)
        warn_of_texts(source, matching.tokenizer.name, matching.lowercase)
        rows, words, unknown = matching.statistics(given, weights)
        warn_of_unknown(source, words, unknown)
        return rows

    def _reference_ngrams(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of n-grams of the references that determine the reference length."""
        return np.maximum(rows[:, 1:2] - np.arange(self.order), 0.0)

    def with_order(self, order: int) -> Self | None:
        """Return the same metric for another maximum n-gram length; None if the definition or the vectors have none."""
        if self.definition == "release2017" and order != RELEASE_ORDER:
            return None
        other = copy(self)
        other.order = check_order(order)
        if not holds_order(self.matching.vectors.source, order):
            return None
        other.matching = replace(self.matching, order=order)
        return other

    def counts(self, statistics: NDArray[np.float64]) -> Counts:
        """Split the columns; for the F form, totals are the mean of those of output and reference.

        Orders without n-grams in the output have a total of 0.
        """
        statistics = np.asarray(statistics, dtype=np.float64)
        if not self.recall:
            return Counts.of(statistics, self.order)
        kinds = 2 if self.uses_weights else 1
        added = kinds * self.order
        expected = 2 + self.order + 2 * added
        if statistics.ndim == 0 or statistics.shape[-1] != expected:
            raise DataError(
                f"these are not statistics of {self.name}: the last axis of their shape {statistics.shape} must be "
                f"{expected}; score them with the metric that made them"
            )
        counts = Counts.of(statistics[..., :-added], self.order)
        of_reference = np.split(statistics[..., -added:], kinds, axis=-1)
        # An order without n-grams in the output has neither precision nor F.
        there = counts.plain_totals > 0
        return counts._replace(
            totals=np.where(there, (counts.totals + of_reference[0]) / 2, 0.0),
            plain_totals=np.where(there, (counts.plain_totals + of_reference[-1]) / 2, 0.0),
        )

    def counts_of(self, row: NDArray[np.float64], best: float) -> Counts:
        """Split one row without reference n-grams, given the segment's best weight."""
        if self.recall:
            of_reference = self._reference_ngrams(row[np.newaxis])[0]
            row = np.hstack([row, *([best * of_reference] if self.matching.weighted else []), of_reference])
        return self.counts(row)

    def parts(self, counts: Counts) -> BleuParts:
        """Return scores with precisions (F values for the F form) and brevity penalties."""
        if self.definition == "release2017":
            return release_parts(counts)
        matches = settle_negative(counts, self.negative, self.negative_floor, scaled=True)
        counts = counts._replace(matches=matches)
        if self.recall:  # recall already penalises a short output
            counts = counts._replace(reference_length=np.zeros_like(counts.reference_length))
        if self.smoothing == LIN_OCH:
            return smoothed_sentence_bleu(counts, first_smoothed=1, longer_reference=0.0)
        return bleu(counts, self.smoothing, self.smoothing_value, self.effective_order)

    def _signed_options(self) -> dict[str, object]:
        matching = self.matching
        common = {"tok": matching.tokenizer.name, "vec": matching.vectors.source.name}
        if self.definition == "release2017":
            return {**common, "def": self.definition}
        shifted, floor = f"shift[{number_text(matching.shift)}]", f"floor[{number_text(self.negative_floor)}]"
        return {
            **common,
            "sim": shifted if matching.similarity == "shift" else matching.similarity,
            "oov": self.oov,
            "eff": None if self.smoothing == LIN_OCH else self.effective_order,
            "smooth": smoothing_text(self.smoothing, self.smoothing_value),
            "reflen": matching.reference_length,
            "neg": floor if self.negative == "floor" else self.negative,
            "zero": ROUNDING,
            "def": self.definition,
        }


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaBleu2Vec(WeightedMetric, Bleu2Vec):
    """Corpus-level ΔBLEU with partial credit: references have weights from −1 to +1, and similar n-grams count too.

    Each reference is aligned with the output as in `Bleu2Vec`, with similarities of at least 0. An n-gram that some
    references contain earns the maximum over these references of the weight times the sum over its occurrences there.
    ``credit`` defines what other n-grams earn. With all similarities 0 this is ΔBLEU.
    """

    family: ClassVar[str] = "dbleu2vec"

    similarity: str = "clamp"
    definition: str = field(default="paper", init=False)
    credit: str = "earn"
    length_references: str = "all"

    def __post_init__(self) -> None:
        """Validate the options and open the vectors."""
        super().__post_init__()
        if self.matching.similarity == "raw":
            raise UsageError("similarity=raw does not go with weights; use clamp or shift:S")
        positive = self.length_references == "positive"
        self.matching = replace(self.matching, rule=self.credit, positive_lengths=positive)

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return lengths, signed weighted similarities and totals; zeros for a skipped segment."""
        weights, skipped = self.policy.weights(given.references)
        rows = self._rows(given, weights)
        if self.recall:
            best = np.maximum.reduceat(weights, given.references.offsets[:-1]) if len(rows) else np.zeros(0)
            counts = self._reference_ngrams(rows)
            rows = np.hstack([rows, best[:, None] * counts, counts])
        rows[skipped] = 0.0
        return rows

    def without_weights(self) -> str:
        """Return which metric this is equal to if all weights are 1.

        Examples
        --------
        >>> DeltaBleu2Vec(2, vectors=(["cat"], [[1.0]]), recall=True).without_weights()
        'bleu2vec-f-2 with similarity=clamp'
        """
        matching = self.matching
        similarity = f"shift:{number_text(matching.shift)}" if matching.similarity == "shift" else matching.similarity
        plain = f"{self.name.removeprefix('d')} with similarity={similarity}"
        return f"{plain} where there is one reference" if matching.rule == "max" else plain

    def _signed_options(self) -> dict[str, object]:
        return super()._signed_options() | {
            "credit": self.credit,
            "lenrefs": self.length_references,
            "nopos": self.no_positive,
            "unrated": self.unrated_as,
        }
