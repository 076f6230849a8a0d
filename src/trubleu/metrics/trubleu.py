"""trubleu, the recommended metric: near misses, recall, characters and rated references in one score."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import TrubleuWarning, UsageError
from trubleu.metrics.base import AnyReferences, whole_references
from trubleu.metrics.bleu2vec.alignment import WORTH_THREADS, AlignedNgrams, slices
from trubleu.metrics.bleu2vec.bleu2vec import ENOUGH_WORDS, warn_of_language, warn_of_texts
from trubleu.metrics.bleu2vec.vectors import NOTHING, soft_vectors
from trubleu.metrics.corpus_weights import Counted, LearningMetric, NgramCounts
from trubleu.metrics.dbleu import WeightedMetric
from trubleu.metrics.matching import TextPairs, kept_part, mean_score
from trubleu.metrics.rated_similarity import merged_weights, rows_of_chosen
from trubleu.native import kernels, resolve_threads
from trubleu.vectors import as_source
from trubleu.vectors.source import has_lengths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.metrics.base import ByReference
    from trubleu.signature import Signature
    from trubleu.text.tokenizers import Spec
    from trubleu.vectors import AnySource

ORDER: Final = 3
"""Default maximum n-gram length; the metric's name then has no number."""

CHARACTERS: Final = 6
"""Maximum length of character n-grams."""

SLICE_TEXTS: Final = 1 << 15
"""Texts whose words are looked up together; larger slices repeat fewer lookups."""

MOST_PAIRS: Final = 2**32
"""Maximum word pairs of an output and a reference, for a reasonable running time."""


class ComparedReference(NamedTuple):
    """Comparison of an output with one reference.

    Attributes
    ----------
    score
        How similar the two are, from 0 to 1.
    characters
        F of the characters.
    orders
        F of the n-grams of each order; NaN for an order that one of the two has no n-grams of.
    """

    score: float
    characters: float
    orders: tuple[float, ...]


class SegmentParts(NamedTuple):
    """The components of a segment's score: ``100 * earned * (1 - cut)``.

    Attributes
    ----------
    references
        The references, in their order; one that repeats another one's text has NaN for a score.
    pairs
        What was aligned with what.
    earned
        How near the output is to the good references.
    cut
        What was taken away as it is nearer to a bad one.
    tokens, reference_tokens
        The tokens of the output and of each reference.
    weights, reference_weights
        What each token weighs.
    """

    references: tuple[ComparedReference, ...]
    pairs: tuple[AlignedNgrams, ...]
    earned: float
    cut: float
    tokens: tuple[str, ...]
    reference_tokens: tuple[tuple[str, ...], ...]
    weights: tuple[float, ...]
    reference_weights: tuple[tuple[float, ...], ...]


@dataclass(kw_only=True, eq=False, repr=False)
class TruBleu(WeightedMetric, LearningMetric):
    """The mean over segments of the similarity to good references, reduced by the similarity to bad ones.

    An output and a reference are compared by their words, bigrams and trigrams. Equal n-grams are matched first, then
    the most similar ones are aligned, each once; two n-grams are compared word by word, by the cosines of word vectors.
    A word's weight is the length of its vector, which is larger for rare, informative words. Each order gives an F
    value of weighted precision and recall, characters give one more (chrF), and their geometric mean is the similarity
    of the two texts.

    With several references, half of the score comes from the most similar good one and half from the weighted mean of
    all good ones. An output that is closer to a reference with a negative weight than to any good one loses a share of
    its score.

    Parameters
    ----------
    order
        The longest n-grams.
    vectors
        ``ready`` for those of ``trubleu[ready]``, a path, or whatever else `trubleu.vectors.as_source` takes. Only
        vectors of words are looked up.
    tokenize, lowercase
        As for `Bleu`.
    beta
        How much more recall weighs than precision.
    shift
        The cosine up to which words count as unlike, from 0 to below 1.
    importance
        What a word weighs: ``vector`` for the length of its vector, ``corpus`` for how rare it is in the references,
        ``none`` for 1.
    characters
        Whether characters are one of the factors.
    no_positive, unrated_as
        As for `DeltaBleu`.

    Examples
    --------
    >>> metric = TruBleu()
    >>> round(metric.corpus(["it was really good"], [["it was very nice"]]).score, 1)
    50.6
    >>> metric.corpus(["it was very nice"], [["it was very nice"]]).score
    100.0
    """

    family: ClassVar[str] = "trubleu"
    counted: ClassVar[Counted] = "segments"

    order: int = field(default=ORDER, kw_only=False)
    vectors: AnySource = "ready"
    tokenize: Spec = "words"
    lowercase: bool = True
    beta: float = 2.0
    shift: float = 0.15
    importance: str = "vector"
    characters: bool = True

    def __post_init__(self) -> None:
        """Validate the options and open the vectors."""
        super().__post_init__()
        self.vectors = source = as_source(self.vectors)
        if source.orders is not None and 1 not in source.orders:
            raise UsageError(f"{source.name} has no vectors of single words, which {self.family} needs; use other ones")
        if self.importance == "vector" and not has_lengths(source):
            raise UsageError(
                f"{source.name} holds vectors that all have the length 1, so they do not tell how much a word weighs; "
                "use importance=corpus or importance=none, or vectors that were not normalised"
            )
        self._vectors = soft_vectors(source)
        self._vectors_name = source.name

    def _numbered(self) -> str:
        return self.family if self.order == ORDER else super()._numbered()

    @property
    def learned_orders(self) -> int:
        """Maximum length of the n-grams that are learned: words."""
        return 1

    @property
    def learns(self) -> bool:
        """Whether words are weighted by the references that outputs are scored against."""
        return self.importance == "corpus" and super().learns

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the segment's score and 1, or 0 and 0 for a skipped segment."""
        texts, whole = given.outputs, given.references
        weights, skipped = self.weights(whole)
        # The same text for every system, so the warning can be shown once.
        warn_of_texts(self._vectors.source, self.tokenizer.name, self.lowercase)
        warn_of_language(self._vectors.source, whole)
        threads = given.workers(WORTH_THREADS)
        scores = np.empty(len(texts))
        words = unknown = 0
        known = self._known_words(whole)
        for part in self._parts(texts, whole, weights, threads):
            rows, importance = self._looked_up(part, known)
            words, unknown = words + len(rows[-1]), unknown + int(np.count_nonzero(rows[-1] == NOTHING))
            scores[part.first : part.last] = part.segments.scores(
                *rows, importance, texts, part.characters, part.weights, self._kernel_options(), threads
            )
            given.told(part.last - part.first)
        if words >= ENOUGH_WORDS and 10 * unknown > words:
            what = (
                f"more than a tenth of the words have no vector in {self._vectors_name}; "
                "check tokenizer, case and language, or use other vectors"
            )
            warnings.warn(what, TrubleuWarning, stacklevel=2)
        rows_of_scores = np.stack([scores, np.ones(len(scores))], axis=1)
        rows_of_scores[skipped] = 0.0
        return rows_of_scores

    def by_reference(self, outputs: Sequence[str], references: References, threads: int | None = None) -> ByReference:
        """Compare outputs with each reference once."""
        if self.learns:
            return None
        texts = tuple(outputs)
        weights = self.rated_weights(references)
        threads = resolve_threads(threads, references.count, WORTH_THREADS)
        known, found = self._known_words(references), []
        for part in self._parts(texts, references, np.ones(references.count), threads):
            rows, importance = self._looked_up(part, known)
            found.append(
                part.segments.similarities(*rows, importance, texts, part.characters, self._kernel_options(), threads)
            )
        return partial(rows_of_chosen, references, weights, np.concatenate(found))

    def parts(self, output: str, references: References | PreparedReferences, segment: int = 0) -> SegmentParts:
        """Return the components of one output's score against the references of a segment.

        Parameters
        ----------
        output
            The output.
        references
            References of several segments, so that a metric that learns has something to learn from.
        segment
            Which of the segments it is.
        """
        weights, _ = self.weights(references)
        whole = whole_references(references)
        known = self._known_words(whole)
        begin, end = int(whole.offsets[segment]), int(whole.offsets[segment + 1])
        one = whole.take([segment])
        (part,) = self._parts((output,), one, weights[begin:end], 1)
        rows, importance = self._looked_up(part, known)
        scores, places, similarities, earned, cut, by_word = part.segments.details(
            *rows, importance, (output,), part.characters, part.weights, self._kernel_options(), 0
        )
        left_out = np.zeros(len(scores), bool) if part.weights is None else np.isnan(part.weights)
        weight_of = dict(zip(part.words(), by_word.tolist(), strict=True))
        tokens = [tuple(line.split()) for line in self.tokenizer.lines((output, *one.texts), self.lowercase)]
        of_texts = [_text_weights(text, weight_of) for text in tokens]
        return SegmentParts(
            references=tuple(
                ComparedReference(math.nan if out else score, characters, tuple(orders))
                for (score, characters, *orders), out in zip(scores.tolist(), left_out.tolist(), strict=True)
            ),
            pairs=AlignedNgrams.of(places, similarities),
            earned=earned,
            cut=cut,
            tokens=tokens[0],
            reference_tokens=tuple(tokens[1:]),
            weights=of_texts[0],
            reference_weights=tuple(of_texts[1:]),
        )

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean for each row of summed statistics; 0 without a segment."""
        return mean_score(statistics, 2, self.name)

    def reading(self, nrefs: str | None) -> str | None:
        """Explain the meaning of 100."""
        parts = "near misses earn partial credit (see trubleu explain)"
        if nrefs == "1":
            return f"100 means equality with the reference; {parts}"
        return f"{parts}; with several references, 100 needs equality with all good ones, so use it to compare systems"

    def _signed_options(self) -> dict[str, object]:
        return {
            "tok": self.tokenizer.name,
            "vec": self._vectors_name,
            "order": self.order,
            "beta": self.beta,
            "shift": self.shift,
        }

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature."""
        own, importance = super().signature(references), self.importance
        if importance == "corpus":
            importance += f"-{self._learned_from(references)}"
        return own.extended(imp=importance, chars=self.characters, nopos=self.no_positive, unrated=self.unrated_as)

    def _parts(
        self, texts: tuple[str, ...], references: References, weights: NDArray[np.float64], threads: int
    ) -> Iterator[_Part]:
        """Split a corpus into parts whose words are looked up together."""
        lines, native, lowercase = kernel_texts(texts, self.tokenizer, self.lowercase)
        reference_lines = references.kernel_texts(self.tokenizer, self.lowercase)[0]
        self._check_pairs(texts, references, MOST_PAIRS, "to compare all of them")
        options = kernels.Options(native, lowercase, 1, "counts", "closest", False)
        weights = merged_weights(references, weights)
        plain = bool((weights == 1).all())
        offsets = references.offsets
        for first, last in slices(offsets, SLICE_TEXTS):
            begin, end = int(offsets[first]), int(offsets[last])
            prepare = partial(_ReferenceWords, reference_lines, options, offsets[first : last + 1])
            words = kept_part(references, ("words", self.tokenizer, self.lowercase), first, prepare)
            yield _Part(
                first,
                last,
                kernels.TrubleuSegments(lines, words.segments, options, first),
                words.words,
                self._characters(references, first, last, threads) if self.characters else None,
                None if plain else weights[begin:end],
            )

    def _looked_up(
        self, part: _Part, known: NgramCounts | None
    ) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint32]], NDArray[np.float64] | None]:
        """Return the vectors of a part's words, and their weights unless these are the lengths of the vectors."""
        rows = self._vectors.word_rows(part.words())
        if self.importance == "vector":
            return rows, None
        if known is None:
            return rows, np.ones(len(rows[-1]))
        return rows, np.log((known.segments + 1) / np.maximum(known.counts_of(part.words()), 1))

    def _known_words(self, references: References) -> NgramCounts | None:
        return self._known(references) if self.importance == "corpus" else None

    def _characters(self, references: References, first: int, last: int, threads: int) -> kernels.ChrfReferences:
        """Return the character n-grams of the references of some segments, counted once for all systems."""
        square = self.beta * self.beta
        options = kernels.ChrfOptions(CHARACTERS, 0, square, 1 + square, self.lowercase, False, False)
        prepare = partial(kernels.ChrfReferences, references.texts, references.offsets, options, first, last, threads)
        return kept_part(references, ("characters", self.lowercase), first, prepare)

    def _kernel_options(self) -> kernels.TrubleuOptions:
        return kernels.TrubleuOptions(self.order, self.beta, self.shift, self.characters, self.lowercase)


class _Part(NamedTuple):
    """A range of segments as kernel input."""

    first: int
    last: int
    segments: kernels.TrubleuSegments
    reference_words: tuple[str, ...]
    characters: kernels.ChrfReferences | None
    weights: NDArray[np.float64] | None

    def words(self) -> tuple[str, ...]:
        """Return all words in the order of their numbers."""
        return (*self.reference_words, *self.segments.new_words())


class _ReferenceWords:
    """The references of some segments as word numbers, and the words."""

    def __init__(self, lines: tuple[str, ...], options: kernels.Options, offsets: NDArray[np.int64]) -> None:
        texts = kernels.WordTexts(lines, options, int(offsets[0]), int(offsets[-1]))
        self.segments = kernels.ReferenceWords(texts, offsets)
        self.words = tuple(texts.words())
        self.memory = texts.memory + self.segments.memory + sum(map(sys.getsizeof, self.words))


def _text_weights(tokens: Sequence[str], weight_of: Mapping[str, float]) -> tuple[float, ...]:
    """Return the weights of the tokens of a text; a token without one gets the mean of the others."""
    own = [weight_of[token] for token in tokens]
    known = [weight for weight in own if not math.isnan(weight)]
    mean = sum(known) / len(known) if known else 1.0
    return tuple(mean if math.isnan(weight) else weight for weight in own)
