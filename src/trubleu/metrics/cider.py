"""CIDEr and CIDEr-D (Vedantam et al. 2015): how much outputs are like what references agree on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.metrics.base import AnyReferences, check_flag, reference_number
from trubleu.metrics.corpus_weights import Corpus, WeightedNgramMetric
from trubleu.metrics.matching import check_width
from trubleu.metrics.meteor.lexicon import Stemmer
from trubleu.metrics.ngram_table import NOT_THERE, NgramTable, ReferenceTable, joint_keys, places_of, values_at
from trubleu.signature import Signature, make_signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trubleu.metrics.ngram_table import Counted, KnownNgrams
    from trubleu.text.tokenizers import Spec

_SCALE: Final = 10.0


class Cider(WeightedNgramMetric):
    """CIDEr: the mean over segments of how like the output is to its references, by tf·idf of their n-grams.

    For each length of n-grams a text is a vector: how often each n-gram occurs in it, times the logarithm of the number
    of segments over the number of those that have the n-gram in a reference. A segment's score is the cosine of the
    output and a reference, averaged over references and over lengths, times 10.

    Parameters
    ----------
    order
        The longest n-grams, from 1 to 9. A text that is too short for a length scores 0 there.
    tokenize
        A tokenizer's name (see `trubleu.text.names`), or a callable from a text to tokens.
    lowercase
        Lower-case all texts first.
    stem
        Let words count by their stems, as in the paper, by Porter's rules for English words in lower case (needs
        ``trubleu[meteor]``). The usual program does not.
    corpus
        A file of references, or references, whose segments are counted; those being scored if left out. An n-gram that
        is in none counts as if it were in one.

    Examples
    --------
    >>> references = [["a man rides a horse", "a man on a horse"], ["two dogs play in the snow"]]
    >>> round(Cider().corpus(["a man rides a horse", "two cats play in the snow"], references).score, 3)
    6.182
    """

    family: ClassVar[str] = "cider"
    counted: ClassVar[Counted] = "segments_with"

    def __init__(
        self,
        order: int = 4,
        *,
        tokenize: Spec = "13a",
        lowercase: bool = False,
        stem: bool = False,
        corpus: Corpus | None = None,
    ) -> None:
        super().__init__(order, tokenize, lowercase, corpus)
        self.stem = check_flag("stem", stem)
        if stem:
            self._fold = Stemmer("porter", "stem=true")

    def check_known(self, known: KnownNgrams, *, own: bool) -> None:
        """Refuse a single segment, as every n-gram is in all segments then."""
        if known.segments == 1:
            where, remedy = "there is", "score more of them together, or name a corpus to learn from: corpus=FILE"
            if not own:
                where, remedy = "what it learns from has", "let it learn from more"
            raise DataError(
                f"{self.name} weighs an n-gram by the share of segments that have it, and {where} one segment only; "
                f"{remedy}"
            )

    def _columns(self, outputs: NgramTable, table: ReferenceTable, known: KnownNgrams) -> Iterator[NDArray[np.float64]]:
        self.check_known(known, own=self.learns)
        there, in_known = outputs.numbers_in(table), known.numbers_of(table)
        outputs_in_known = known.numbers_of(outputs)
        penalty = self._length_penalty(outputs.lengths[table.segment_of] - table.lengths)
        for order in range(1, self.order + 1):
            frequency = known.often(order)
            said, held = outputs.level(order), table.level(order)
            said_vector = said.counts * _idf(known, frequency, next(outputs_in_known))[said.numbers]
            held_idf = _idf(known, frequency, next(in_known))[held.numbers]
            held_vector = held.counts * held_idf
            said_norm = np.bincount(said.texts, said_vector**2, len(outputs.lengths))
            held_norm = np.bincount(held.texts, held_vector**2, len(table.lengths))
            # How often the output of its segment says each n-gram of a reference.
            numbers = next(there)[said.numbers]
            shared = np.flatnonzero(numbers != NOT_THERE)
            keys = joint_keys(said.texts[shared], numbers[shared], len(held.keys))
            by_key = np.argsort(keys)
            places = places_of(table.segment_keys(order), keys[by_key])
            both = np.flatnonzero(places != NOT_THERE)
            often = self._clipped(said.counts[shared[by_key[places[both]]]], held.counts[both])
            products = np.bincount(held.texts[both], often * held_idf[both] * held_vector[both], len(table.lengths))
            norms = np.sqrt(said_norm[table.segment_of] * held_norm)
            alike = penalty * np.divide(products, norms, out=np.zeros(len(norms)), where=norms > 0)
            # In the order of their size, so that the sum does not depend on which reference comes first.
            by_size = alike[np.lexsort((alike, table.segment_of))]
            yield np.bincount(table.segment_of, by_size, table.segments) / table.reference_counts

    def _clipped(self, said: NDArray[np.int32], held: NDArray[np.int32]) -> NDArray[np.int32]:  # noqa: ARG002
        """Return how often an n-gram counts that the output says so often and a reference has so often."""
        return said

    def _length_penalty(self, longer: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what a reference counts by how many words the output is longer."""
        return np.ones(len(longer))

    def _rows(
        self,
        outputs: NgramTable,
        table: ReferenceTable,  # noqa: ARG002
        earned: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return (score, 1)."""
        return np.column_stack([_SCALE * earned.sum(axis=0) / self.order, np.ones(len(outputs.lengths))])

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean for each row of summed statistics."""
        check_width(statistics, 2, self.name)
        total, segments = statistics[..., 0], statistics[..., 1]
        mean: NDArray[np.float64] = np.divide(total, segments, out=np.zeros(total.shape), where=segments > 0)
        return mean

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if self.lowercase else "mixed",
            tok=self.tokenizer.name,
            stem=self._fold.signature() if isinstance(self._fold, Stemmer) else "none",
            **self._own_pairs(),
            idf=self._learned_from(references),
        )

    def _own_pairs(self) -> dict[str, Any]:
        return {}


class CiderD(Cider):
    """CIDEr-D: CIDEr in which saying a good word again does not pay, nor does another length.

    An n-gram counts at most as often as the reference has it, and the cosine with a reference is multiplied by
    exp(−d² / 2σ²), d being the difference of both lengths in words.

    Parameters
    ----------
    order, tokenize, lowercase, stem, corpus
        As for `Cider`.
    sigma
        The σ above; 6 in the paper.

    Examples
    --------
    >>> references = [["a man rides a horse", "a man on a horse"], ["two dogs play in the snow"]]
    >>> round(CiderD().corpus(["a horse a horse a horse", "two cats play in the snow"], references).score, 3)
    3.553
    """

    family: ClassVar[str] = "cider-d"

    def __init__(
        self,
        order: int = 4,
        *,
        tokenize: Spec = "13a",
        lowercase: bool = False,
        stem: bool = False,
        corpus: Corpus | None = None,
        sigma: float = 6.0,
    ) -> None:
        super().__init__(order, tokenize=tokenize, lowercase=lowercase, stem=stem, corpus=corpus)
        if isinstance(sigma, bool) or not isinstance(sigma, int | float) or not 0 < sigma < math.inf:
            raise UsageError(f"sigma={sigma} must be a number above 0")
        self.sigma = float(sigma)

    def _clipped(self, said: NDArray[np.int32], held: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.minimum(said, held)

    def _length_penalty(self, longer: NDArray[np.int64]) -> NDArray[np.float64]:
        penalty: NDArray[np.float64] = np.exp(-((longer / self.sigma) ** 2) / 2)
        return penalty

    def _own_pairs(self) -> dict[str, Any]:
        return {"sigma": self.sigma}


def _idf(known: KnownNgrams, frequency: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what n-grams are worth, by their numbers in the table of what is known."""
    # The logarithm of a ratio, not a difference of two: only that of 1 is 0 whatever the number of segments.
    worth: NDArray[np.float64] = np.log(known.segments / np.maximum(values_at(frequency, numbers), 1))
    return worth
