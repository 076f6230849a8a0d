"""bleu2vec (Tättar & Fishel 2017): n-grams that are not equal count by their similarity."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.metrics.base import (
    REFERENCE_LENGTHS,
    AnyReferences,
    Metric,
    Progress,
    as_references,
    check_choice,
    check_flag,
    check_order,
    reference_number,
    smoothing_text,
)
from trubleu.metrics.bleu import BleuParts, BleuResult, Counts, bleu, bleu_result, smoothed_sentence_bleu
from trubleu.metrics.bleu2vec.alignment import SoftMatching
from trubleu.metrics.bleu2vec.options import (
    COMPOSED,
    LIN_OCH,
    UNKNOWN,
    Unknown,
    check_effective_order,
    check_orders,
    check_soft_smoothing,
    holds_order,
    parse_oov,
    parse_similarity,
    release_parts,
    warn_of_orders,
    warn_of_texts,
    warn_of_unknown,
    word_tokenize,
)
from trubleu.metrics.bleu2vec.options import ORDER as RELEASE_ORDER
from trubleu.metrics.bleu2vec.vectors import soft_vectors
from trubleu.metrics.dbleu import ROUNDING, parse_negative, settle_negative
from trubleu.signature import Signature, make_signature, number_text
from trubleu.stats import total
from trubleu.text import tokenizer
from trubleu.vectors import Composed, as_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.text.tokenizers import Spec
    from trubleu.vectors import AnySource


@dataclass(kw_only=True, eq=False, repr=False)
class Bleu2Vec(Metric):
    """Corpus-level BLEU in which an n-gram that is not in the reference counts as much as what is most similar there.

    Equal n-grams are matched first, from left to right. What is left of the output is aligned with what is left of the
    reference: the most similar pair first, each occurrence once, of equally similar ones the first in the output and
    then in the reference. A pair counts the cosine of the two n-grams' vectors.

    With several references an n-gram counts the sum over its occurrences in the reference where that is largest; if
    some references hold it, only these are compared. A cosine below 0 stays what it is, so that an n-gram that has only
    unlike ones to go with in every reference counts less than nothing.

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
    only_counting: ClassVar[tuple[str, ...]] = ("matching", "vectors")
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
        """Check the options, and open the vectors."""
        super().__post_init__()
        check_order(self.order)
        check_flag("recall", self.recall)
        check_choice("definition", self.definition, ("paper", "release2017"))
        self.smoothing, self.smoothing_value = check_soft_smoothing(self.smoothing, self.smoothing_value)
        check_flag("effective_order", self.effective_order)
        self.negative, self.negative_floor = parse_negative(self.negative)
        kind, shift = parse_similarity(self.similarity)
        self.oov = parse_oov(self.oov)
        self.vectors = source = Composed(as_source(self.vectors)) if self.oov == COMPOSED else as_source(self.vectors)
        check_orders(source, self.order)
        release = self.definition == "release2017"
        if release:
            self._check_release()
        check_effective_order(self.smoothing, self.effective_order)
        default: Spec = word_tokenize if release else "13a"
        self.matching = SoftMatching(
            tokenizer=tokenizer(default if self.tokenize is None else self.tokenize),
            lowercase=check_flag("lowercase", self.lowercase),
            order=self.order,
            vectors=soft_vectors(source),
            similarity=kind,
            shift=shift,
            unknown=UNKNOWN if isinstance(self.oov, str) else self.oov,
            rule="plain",
            reference_length=check_choice("reference_length", self.reference_length, REFERENCE_LENGTHS),
            release=release,
        )

    def _check_release(self) -> None:
        settled: dict[str, object] = {
            "order": RELEASE_ORDER,
            "recall": False,
            "smoothing": LIN_OCH,
            "effective_order": False,
            "negative": "clamp",
            "oov": UNKNOWN,
            "reference_length": "closest",
            "similarity": "raw",
        }
        for option, only in settled.items():
            if getattr(self, option) != only:
                raise UsageError(f"definition=release2017 settles {option}; leave it out")

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the metric is called, with its order."""
        return f"{self.family}-f-{self.order}" if self.recall else f"{self.family}-{self.order}"

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return lengths, similarities by order and n-grams by order; for the F form, n-grams of the reference too."""
        rows = self._rows(outputs, as_references(references, outputs), None, threads, progress)
        return np.hstack([rows, self._reference_ngrams(rows)]) if self.recall else rows

    def _rows(
        self,
        outputs: Sequence[str],
        references: References | PreparedReferences,
        weights: NDArray[np.float64] | None,
        threads: int | None,
        progress: Progress | None,
    ) -> NDArray[np.float64]:
        matching = self.matching
        source = matching.vectors.source
        # The same sentences for every system, so that who tells them can tell them once.
        warn_of_orders(source, self.order)
        warn_of_texts(source, matching.tokenizer.name, matching.lowercase)
        rows, words, unknown = matching.statistics(outputs, references, weights, threads, progress)
        warn_of_unknown(source, words, unknown)
        return rows

    def _reference_ngrams(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many n-grams the references have that set the lengths."""
        return np.maximum(rows[:, 1:2] - np.arange(self.order), 0.0)

    def with_order(self, order: int) -> Self | None:
        """Return the same metric for n-grams of up to another length; None if definition or vectors have none."""
        if self.definition == "release2017" and order != RELEASE_ORDER:
            return None
        other = copy(self)
        other.order = check_order(order)
        if not holds_order(self.matching.vectors.source, order):
            return None
        other.matching = replace(self.matching, order=order)
        return other

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score on 0 to 100 for each row of summed statistics."""
        return self.parts(self.counts(statistics)).score

    def counts(self, statistics: NDArray[np.float64]) -> Counts:
        """Split the columns; for the F form, totals are the mean of those of output and reference.

        Orders that the output has no n-grams of have none.
        """
        statistics = np.asarray(statistics, dtype=np.float64)
        if not self.recall:
            return Counts.of(statistics, self.order)
        kinds = 2 if self.uses_weights else 1
        added = kinds * self.order
        expected = 2 + self.order + 2 * added
        if statistics.ndim == 0 or statistics.shape[-1] != expected:
            raise DataError(
                f"these are no statistics of {self.name}: the last axis of their shape {statistics.shape} must be "
                f"{expected}; score them with the metric that made them"
            )
        counts = Counts.of(statistics[..., :-added], self.order)
        of_reference = np.split(statistics[..., -added:], kinds, axis=-1)
        # What the output has no n-grams of has no F, as it has no precision.
        there = counts.plain_totals > 0
        return counts._replace(
            totals=np.where(there, (counts.totals + of_reference[0]) / 2, 0.0),
            plain_totals=np.where(there, (counts.plain_totals + of_reference[-1]) / 2, 0.0),
        )

    def counts_of(self, row: NDArray[np.float64], best: float) -> Counts:
        """Split one row that has no n-grams of the reference yet, given the segment's best weight."""
        if self.recall:
            of_reference = self._reference_ngrams(row[np.newaxis])[0]
            row = np.hstack([row, *([best * of_reference] if self.matching.weighted else []), of_reference])
        return self.counts(row)

    def parts(self, counts: Counts) -> BleuParts:
        """Return scores with their precisions (F values for the F form) and brevity penalties."""
        if self.definition == "release2017":
            return release_parts(counts)
        matches = settle_negative(counts, self.negative, self.negative_floor, scaled=True)
        counts = counts._replace(matches=matches)
        if self.recall:  # an output that is too short has lost its recall already
            counts = counts._replace(reference_length=np.zeros_like(counts.reference_length))
        if self.smoothing == LIN_OCH:
            return smoothed_sentence_bleu(counts, first_smoothed=1, longer_reference=0.0)
        return bleu(counts, self.smoothing, self.smoothing_value, self.effective_order)

    def corpus(self, outputs: Sequence[str], references: AnyReferences, *, threads: int | None = None) -> BleuResult:
        """Score a system."""
        references = as_references(references, outputs)
        return self.result(self.statistics(outputs, references, threads=threads), references)

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> BleuResult:
        """Score a system from its statistics."""
        counts = self.counts(total(statistics))
        return bleu_result(self.name, counts, self.parts(counts), len(statistics), self.signature(references))

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        matching = self.matching
        release = self.definition == "release2017"
        shifted = f"shift[{number_text(matching.shift)}]"
        common = make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if matching.lowercase else "mixed",
            tok=matching.tokenizer.name,
            vec=matching.vectors.source.name,
            sim=None if release else shifted if matching.similarity == "shift" else matching.similarity,
        )
        if release:
            return common.extended(**{"def": self.definition})
        floor = f"floor[{number_text(self.negative_floor)}]"
        rest = make_signature(
            "",
            oov=self.oov,
            eff=None if self.smoothing == LIN_OCH else self.effective_order,
            smooth=smoothing_text(self.smoothing, self.smoothing_value),
            reflen=matching.reference_length,
            neg=floor if self.negative == "floor" else self.negative,
            zero=ROUNDING,
            **{"def": self.definition},
        )
        return common.extended(**dict(rest.pairs))
