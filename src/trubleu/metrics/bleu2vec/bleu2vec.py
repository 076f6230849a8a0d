"""bleu2vec (Tättar & Fishel 2017) and ΔBLEU with partial matches: unequal n-grams count by their similarity."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import DataError, TrubleuWarning, UsageError
from trubleu.metrics.base import smoothing_text
from trubleu.metrics.bleu import Bleu, BleuParts, Counts, brevity_penalty, smoothed_sentence_bleu
from trubleu.metrics.bleu2vec.alignment import WORTH_THREADS, AlignedNgrams, positions, slices, unknown_words
from trubleu.metrics.bleu2vec.vectors import soft_vectors
from trubleu.metrics.dbleu import ROUNDING, WeightedMetric, settle_negative
from trubleu.metrics.options import kind_and_number, signed
from trubleu.native import kernels
from trubleu.optional_deps import needed
from trubleu.text.languages import unknown_language
from trubleu.vectors import Composed, as_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics.bleu2vec.vectors import Rows
    from trubleu.metrics.matching import TextPairs
    from trubleu.text.tokenizers import Spec
    from trubleu.vectors import AnySource, VectorSource
    from trubleu.vectors.encoders.encoder import Encoder


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


def holds_order(source: VectorSource, order: int) -> bool:
    """Return whether n-grams of a length can be scored: usual lengths always can, even if most are unknown."""
    return source.orders is None or order <= USUAL_ORDER or order in source.orders


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


def warn_of_language(
    source: VectorSource | Encoder, references: References, others: str = "vectors of that language (--vectors PATH)"
) -> None:
    """Warn if the references are in a language that the vectors do not know, where it is known which they do.

    Parameters
    ----------
    source
        What gives the vectors.
    references
        The references.
    others
        What to use in its place.
    """
    known = getattr(source.source if isinstance(source, Composed) else source, "languages", None)
    if known is None:
        return
    seen = references.remembered(("language", known), lambda: unknown_language(references.texts, known))
    if seen is not None:
        what = (
            f"the references seem to be in {seen}, and {source.name} knows only {' and '.join(known)}, so unrelated "
            f"texts look similar; use {others}, or the metric chrf"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=5)


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
class Bleu2Vec(Bleu):
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

    only_equal: ClassVar[bool] = False
    rule = "plain"

    order: int = field(default=3, kw_only=False)
    tokenize: Spec | None = None  # type: ignore[assignment]
    smoothing: str = LIN_OCH
    vectors: AnySource = "ready"
    similarity: str = "raw"
    oov: Unknown = UNKNOWN
    negative: str = "clamp"
    recall: bool = False
    definition: str = "paper"

    def __post_init__(self) -> None:
        """Validate the options and open the vectors."""
        self._release = self.definition == "release2017"
        if self.tokenize is None:
            self.tokenize = word_tokenize if self._release else "13a"
        super().__post_init__()
        self.vectors = source = Composed(as_source(self.vectors)) if self.oov == COMPOSED else as_source(self.vectors)
        if not holds_order(source, self.order):
            raise UsageError(
                f"{source.name} has no n-grams of {self.order} words; use an order of at most {USUAL_ORDER}, other "
                f"vectors, or oov={COMPOSED}"
            )
        for option in fields(self) if self._release else ():
            if option.name not in RELEASE_OPTIONS and getattr(self, option.name) != option.default:
                raise UsageError(f"definition=release2017 settles {option.name}; leave it out")
        if self.effective_order and self.smoothing == LIN_OCH:
            raise UsageError(
                f"effective_order does not go with smoothing={LIN_OCH}, which leaves out orders without n-grams "
                "anyway; leave it out, use another smoothing, or give it to other metrics only, "
                "as in bleu-4[effective_order=true]"
            )
        self._vectors = soft_vectors(source)

    def _numbered(self) -> str:
        return f"{self.family}-f-{self.order}" if self.recall else super()._numbered()

    def _scale(self) -> kernels.SoftScale:
        unknown = UNKNOWN if isinstance(self.oov, str) else self.oov
        return kernels.SoftScale(*kind_and_number(self.similarity), unknown, self.rule, self._release)

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return lengths, similarities and n-grams by order; for the F form also the n-grams of the reference."""
        rows = self.ngrams(given)
        return np.hstack([rows, self._reference_ngrams(rows)]) if self.recall else rows

    def ngrams(self, given: TextPairs, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return a row of statistics per segment, in the columns of `NgramMetric.ngrams`."""
        source = self._vectors.source
        # The same text for every system, so the warning can be shown once.
        missing = [] if source.orders is None else [n for n in range(1, self.order + 1) if n not in source.orders]
        if missing:
            what = (
                f"{source.name} has no n-grams of {' and '.join(map(str, missing))} words, of which only exact matches "
                f"count; use other vectors, or oov={COMPOSED}"
            )
            warnings.warn(what, TrubleuWarning, stacklevel=4)
        warn_of_texts(source, self.tokenizer.name, self.lowercase)
        warn_of_language(source, given.references)
        references, threads = given.references, given.workers(WORTH_THREADS)
        texts, native, lowercase = kernel_texts(given.outputs, self.tokenizer, self.lowercase)
        options = self.kernel_options(native, lowercase)
        reference_texts = references.kernel_texts(self.tokenizer, self.lowercase)[0]
        rows = np.empty((len(texts), options.columns))
        offsets = references.offsets
        words = unknown = 0

        def rows_of(part: kernels.SoftSlice, vectors: Rows, places: NDArray[np.int64] | slice) -> NDArray[np.float64]:
            there = None if weights is None else weights[places]
            return part.statistics(vectors.matrix, vectors.numbers, vectors.additive, there, self._scale(), threads)

        for first, last in slices(offsets):
            part = kernels.SoftSlice(texts, reference_texts, offsets, options, first, last)
            vectors, odd = self._vectors_of(part)
            if not len(odd):
                looked_up, without = unknown_words(part, vectors)
                words, unknown = words + looked_up, unknown + without
            if len(odd) < last - first:
                rows[first:last] = rows_of(part, vectors, slice(offsets[first], offsets[last]))
            if len(odd):  # here the vectors of n-grams must come from the source
                chosen = odd + first
                flat = positions(offsets, chosen)
                part = kernels.SoftSlice(
                    tuple(texts[i] for i in chosen.tolist()),
                    tuple(reference_texts[i] for i in flat.tolist()),
                    np.concatenate(([0], np.cumsum(np.diff(offsets)[chosen]))),
                    options,
                    0,
                    len(chosen),
                )
                rows[chosen] = rows_of(part, self._looked_up(part), flat)
            given.told(last - first)
        if words >= ENOUGH_WORDS and 2 * unknown > words and 1 not in missing:
            what = (
                f"more than half of the words that were looked up have no vector in {source.name}; "
                "check tokenizer, case and language"
            )
            warnings.warn(what, TrubleuWarning, stacklevel=4)
        return rows

    def pairs(self, output: str, references: Sequence[str]) -> tuple[AlignedNgrams, ...]:
        """Return the aligned pairs of one segment."""
        texts, native, lowercase = kernel_texts((output, *references), self.tokenizer, self.lowercase)
        offsets = np.array([0, len(references)])
        given = kernels.SoftSlice(texts[:1], texts[1:], offsets, self.kernel_options(native, lowercase), 0, 1)
        vectors, odd = self._vectors_of(given)
        if len(odd):
            vectors = self._looked_up(given)
        weights = np.ones(len(references)) if self.uses_weights else None
        found, values = given.pairs(vectors.matrix, vectors.numbers, vectors.additive, weights, self._scale())
        return AlignedNgrams.of(found[:, [2, 1, 3, 4, 5]], values)

    def _vectors_of(self, given: kernels.SoftSlice) -> tuple[Rows, NDArray[np.int64]]:
        """Return the vectors of words or n-grams, and the segments for which word vectors are not sufficient."""
        none = np.zeros(0, np.int64)
        if not self._vectors.additive:
            return self._looked_up(given), none
        rows, odd = self._vectors.words(given.words())
        return rows, none if odd is None else given.segments_with(odd)

    def _looked_up(self, given: kernels.SoftSlice) -> Rows:
        return self._vectors.ngrams(given, first_only=self._release)

    def _reference_ngrams(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the number of n-grams of the references that determine the reference length."""
        return np.maximum(rows[:, 1:2] - np.arange(self.order), 0.0)

    def with_order(self, order: int) -> Self | None:  # type: ignore[override]
        """Return the same metric for another maximum n-gram length; None if the definition or the vectors have none."""
        fits = holds_order(self._vectors.source, order) and (not self._release or order == RELEASE_ORDER)
        return super().with_order(order) if fits else None

    def counts(self, statistics: NDArray[np.float64]) -> Counts:
        """Split the columns; for the F form, totals are the mean of those of output and reference.

        Orders without n-grams in the output have a total of 0.
        """
        if not self.recall:
            return super().counts(statistics)
        statistics = np.asarray(statistics, dtype=np.float64)
        kinds = 2 if self.uses_weights else 1
        added = kinds * self.order
        expected = 2 + self.order + 2 * added
        if statistics.ndim == 0 or statistics.shape[-1] != expected:
            raise DataError(
                f"these are not statistics of {self.name}: the last axis of their shape {statistics.shape} must be "
                f"{expected}; score them with the metric that made them"
            )
        counts = super().counts(statistics[..., :-added])
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
            row = np.hstack([row, *([best * of_reference] if self.uses_weights else []), of_reference])
        return self.counts(row)

    def parts(self, counts: Counts) -> BleuParts:
        """Return scores with precisions (F values for the F form) and brevity penalties."""
        if self._release:
            return release_parts(counts)
        counts = counts._replace(matches=settle_negative(counts, self.negative, scaled=True))
        if self.recall:  # recall already penalises a short output
            counts = counts._replace(reference_length=np.zeros_like(counts.reference_length))
        if self.smoothing == LIN_OCH:
            return smoothed_sentence_bleu(counts, first_smoothed=1, longer_reference=0.0)
        return super().parts(counts)

    def _signed_options(self) -> dict[str, object]:
        common = {"tok": self.tokenizer.name, "vec": self._vectors.source.name}
        if self._release:
            return {**common, "def": self.definition}
        return {
            **common,
            "sim": signed(self.similarity),
            "oov": self.oov,
            "eff": None if self.smoothing == LIN_OCH else self.effective_order,
            "smooth": smoothing_text(self.smoothing, self.smoothing_value),
            "reflen": self.reference_length,
            "neg": signed(self.negative),
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
        self.rule = self.credit

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return lengths, signed weighted similarities and totals; zeros for a skipped segment."""
        weights, skipped = self.weights(given.references)
        rows = self.ngrams(given, weights)
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
        plain = f"{self.name.removeprefix('d')} with similarity={self.similarity}"
        return f"{plain} where there is one reference" if self.credit == "max" else plain

    def _signed_options(self) -> dict[str, object]:
        return super()._signed_options() | {
            "credit": self.credit,
            "lenrefs": self.length_references,
            "nopos": self.no_positive,
            "unrated": self.unrated_as,
        }
