"""CIDEr and CIDEr-D (Vedantam et al. 2015): tf-idf similarity to the consensus of references."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trubleu.errors import DataError
from trubleu.metrics.chosen_references import NgramMatches
from trubleu.metrics.corpus_weights import Counted, Part, WeightedNgramMetric
from trubleu.metrics.matching import mean_score
from trubleu.metrics.meteor.lexicon import Stemmer
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.metrics.base import ByReference
    from trubleu.metrics.corpus_weights import Corpus, NgramCounts


@dataclass(kw_only=True, eq=False, repr=False)
class Cider(WeightedNgramMetric):
    """CIDEr: the mean over segments of the tf·idf similarity of an output to its references.

    For each n-gram length, a text is a vector of n-gram counts times idf, the logarithm of the number of segments over
    the number of segments with the n-gram in a reference. A segment's score is the cosine of the output and a
    reference, averaged over references and lengths, times 10.

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
    counted: ClassVar[Counted] = "segments"
    columns: ClassVar[int] = 2
    weighed_as: ClassVar[str] = "idf"
    sigma: ClassVar[float] = 0.0  # no length penalty, and counts are not clipped

    stem: bool = False

    def __post_init__(self, corpus: Corpus | None) -> None:
        """Validate the options, and open the stemmer."""
        super().__post_init__(corpus)
        self._stemmer = Stemmer("porter", "stem=true") if self.stem else None
        self._stemming = self._stemmer

    def check_known(self, segments: int, *, own: bool) -> None:
        """Raise an error for a single segment, as every n-gram is in all segments then."""
        if segments == 1:
            where, remedy = "there is", "score more of them together, or name a corpus to learn from: corpus=FILE"
            if not own:
                where, remedy = "what it learns from has", "let it learn from more"
            raise DataError(
                f"{self.name} weighs an n-gram by the share of segments that have it, and {where} one segment only; "
                f"{remedy}"
            )

    def by_reference(self, outputs: Sequence[str], references: References, threads: int | None = None) -> ByReference:
        """Compare outputs with each reference once; idf comes from the chosen references."""
        if self.stem or not self.learns:
            return None
        return partial(self._rows_of_chosen, NgramMatches.of(self, outputs, references, threads))

    def _rows_of_chosen(self, matches: NgramMatches, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return (score, 1) of each segment against the chosen references."""
        ngrams, sigma = matches.ngrams, self.sigma
        self.check_known(ngrams.segments(chosen), own=True)
        weights = ngrams.idf_weights(chosen, self.order)
        alike = np.zeros(len(chosen))
        for order, found in enumerate(matches.matches[: self.order], 1):
            squares, norms = weights.squares[order - 1], weights.norms[order - 1]
            own = np.bincount(found.segment, found.said**2 * squares[found.number], len(ngrams.offsets) - 1)
            said = found.said[found.matched]
            counted = np.minimum(said, found.held) if sigma else said
            products = counted * found.held * squares[found.number][found.matched]
            both = np.sqrt(own[ngrams.segment_of] * norms)
            shared = np.bincount(found.reference, products, len(chosen))
            alike += np.divide(shared, both, out=np.zeros(len(chosen)), where=both > 0)
        if sigma:
            longer = (matches.lengths[ngrams.segment_of] - ngrams.lengths) / sigma
            alike *= np.exp(-(longer**2) / 2)
        sums, counts = (np.add.reduceat(each * chosen, ngrams.offsets[:-1]) for each in (alike, np.ones(len(chosen))))
        scores = 10 * sums / np.maximum(counts, 1) / self.order
        return np.column_stack([scores, np.ones(len(scores))])

    def _rows(self, part: Part) -> NDArray[np.float64]:
        """Return (score, 1)."""
        words, known = part.words, part.known
        stems, norms = words.stems(self._stemming, part.outputs), self._norms(part)
        scores = kernels.cider(
            known, part.outputs, words.texts, words.offsets, stems, part.first, norms, self.sigma, part.threads
        )
        return np.column_stack([scores, np.ones(len(scores))])

    def _norms(self, part: Part) -> NDArray[np.float64]:
        """Return the squared lengths of the references' vectors; the last ones are cached with the references."""
        words, known = part.words, part.known
        key = (Cider, self.tokenizer, self.lowercase, self._stemming, self.order)
        kept: dict[str, tuple[NgramCounts, NDArray[np.float64]]] = part.references.remembered(key, dict)
        found = kept.get("norms")
        if found is None or found[0] is not known:
            stems = words.stems(self._stemming)
            norms = kernels.cider_norms(known, words.texts, words.offsets, stems, self.order, part.threads)
            found = kept["norms"] = known, norms
        return found[1]

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean for each row of summed statistics."""
        return mean_score(statistics, self.columns, self.name)

    def _signed_options(self) -> dict[str, object]:
        return {
            "tok": self.tokenizer.name,
            "stem": self._stemmer.signature() if self._stemmer else "none",
            "sigma": self.sigma or None,
        }


@dataclass(kw_only=True, eq=False, repr=False)
class CiderD(Cider):
    """CIDEr-D: CIDEr with clipped counts and a length penalty, so repeating good words does not pay.

    An n-gram counts at most as often as it occurs in the reference, and the cosine with a reference is multiplied by
    exp(−d² / 2σ²), where d is the difference of both lengths in words.

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

    sigma: float = 6.0  # type: ignore[misc]
