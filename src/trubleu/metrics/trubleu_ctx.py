"""trubleu-ctx: near misses in context, by the vectors that an encoder gives texts and their words."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from trubleu.errors import CountedWarning
from trubleu.metrics.base import AnyReferences, whole_references
from trubleu.metrics.bleu2vec.alignment import WORTH_THREADS, slices
from trubleu.metrics.bleu2vec.bleu2vec import warn_of_language
from trubleu.metrics.chrf import ChrF
from trubleu.metrics.dbleu import WeightedMetric
from trubleu.metrics.matching import TextMetric, TextPairs, mean_score
from trubleu.metrics.rated_similarity import merged_weights, rated_rows, rows_of_chosen
from trubleu.native import kernels, resolve_threads
from trubleu.text import tokenizer
from trubleu.vectors.encoders.baseline import unrelated_sentences
from trubleu.vectors.encoders.encoder import WINDOW, as_encoder
from trubleu.vectors.encoders.texts import TextEncoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.data import PreparedReferences, References
    from trubleu.metrics.base import ByReference
    from trubleu.progress import Progress, Steps
    from trubleu.signature import Signature
    from trubleu.text.tokenizers import Spec
    from trubleu.vectors.encoders.encoder import AnyEncoder
    from trubleu.vectors.encoders.endpoint import EncodingPlan
    from trubleu.vectors.encoders.texts import EncodedTexts

_SENTENCE_END: Final = re.compile(r"(?<=[.!?…。！？])\s+|(?<=[。！？])|\n+")

SLICE_TEXTS: Final = 1 << 11
"""Texts that are encoded together; the vectors of all of their words are in memory at once."""


class MetWord(NamedTuple):
    """The word of the other text that a word is nearest to.

    Attributes
    ----------
    position
        Where the other word is; None if no cosine is above 0, or the word was cut off.
    cosine
        The cosine of the two, at least 0.
    """

    position: int | None
    cosine: float


class ContextReference(NamedTuple):
    """Comparison of an output with one reference.

    Attributes
    ----------
    score
        How similar the two are, from 0 to 1; NaN for a reference that repeats another one's text.
    characters, words, text
        The parts, which ``score`` is the mean of: F of the characters, F of the words, and the cosine of the texts
        above its baseline. ``words`` is NaN for an encoder without vectors of words.
    equal
        Whether the two texts have the same words: then the score is 1, whatever the parts are.
    precision, recall
        Mean cosines of words, above their baseline.
    cosine
        The cosine of the texts.
    met, met_by
        For each word of the output the nearest one of the reference, and the other way round.
    """

    score: float
    characters: float
    words: float
    text: float
    equal: bool
    precision: float
    recall: float
    cosine: float
    met: tuple[MetWord, ...]
    met_by: tuple[MetWord, ...]


class SupportedSentence(NamedTuple):
    """A sentence of an output, and the nearest sentence of a reference.

    Attributes
    ----------
    sentence, reference_sentence
        The two sentences.
    similarity
        The cosine of the two, encoded on their own, above its baseline.
    """

    sentence: str
    reference_sentence: str
    similarity: float


class ContextParts(NamedTuple):
    """The components of a segment's score: ``100 * earned * (1 - cut)``.

    Attributes
    ----------
    references
        The references, in their order.
    earned
        How near the output is to the good references.
    cut
        What was taken away as it is nearer to a bad one.
    tokens, reference_tokens
        The tokens of the output and of each reference.
    """

    references: tuple[ContextReference, ...]
    earned: float
    cut: float
    tokens: tuple[str, ...]
    reference_tokens: tuple[tuple[str, ...], ...]


@dataclass(kw_only=True, eq=False, repr=False)
class TruBleuCtx(WeightedMetric, TextMetric):
    """The mean over segments of the similarity to good references in context, reduced by that to bad ones.

    An output and a reference are compared by their characters (chrF), by their words in context, and as wholes. An
    encoder gives each word a vector that depends on the words around it: each word is compared with the nearest one of
    the other text, which gives an F value of precision and recall. The encoder's vectors of the two texts give a
    cosine. Cosines are counted above their baseline, which is what unrelated texts score. The mean of the three is the
    similarity of the two texts.

    Several, weighted and bad references count as in `TruBleu`.

    Parameters
    ----------
    encoder
        ``minilm`` for that of ``trubleu[context]``, a folder, or whatever else `trubleu.vectors.as_encoder` takes.
    tokenize, lowercase
        As for `Bleu`.
    beta
        How much more recall of words weighs than precision.
    window
        How many word pieces of a text are encoded; fewer if the model takes fewer.
    send_to
        The host of an endpoint, as permission to send texts there; not needed for this machine.
    no_positive, unrated_as
        As for `DeltaBleu`.

    Examples
    --------
    >>> metric = TruBleuCtx()
    >>> round(metric.corpus(["sounds good"], [["that works for me"]]).score)
    13
    >>> metric.corpus(["sounds good"], [["Sounds good"]]).score
    100.0
    """

    family: ClassVar[str] = "trubleu-ctx"

    encoder: AnyEncoder = "minilm"
    tokenize: Spec = "words"
    lowercase: bool = True
    beta: float = 3.0
    window: int = WINDOW
    send_to: str | None = None

    def __post_init__(self) -> None:
        """Validate the options and open the encoder."""
        super().__post_init__()
        self.name = self.family
        self.tokenizer = tokenizer(self.tokenize)
        self._encoder = TextEncoder.of(as_encoder(self.encoder, self.window, self.send_to))
        self.encoder = self._encoder.encoder
        self._characters = ChrF(lowercase=bool(self.lowercase))

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return the segment's score and 1, or 0 and 0 for a skipped segment."""
        weights, skipped = self.weights(given.references)
        others = "an encoder of that language (--encoder FOLDER)"
        warn_of_language(self._encoder.encoder, given.references, others)
        merged = merged_weights(given.references, weights)
        plain = None if bool((merged == 1).all()) else merged
        offsets, threads = given.references.offsets, resolve_threads(given.threads, len(given.outputs), 1)
        rows = np.empty((len(given.outputs), 2))
        for first, last, compared in self._parts(given.outputs, given.references, threads, given.told):
            begin, end = int(offsets[first]), int(offsets[last])
            own = None if plain is None else plain[begin:end]
            rows[first:last] = rated_rows(compared.scores, own, offsets[first : last + 1] - begin)
        rows[skipped] = 0.0
        return rows

    def measure_baselines(self, steps: Steps) -> None:
        """Measure the baselines of a new encoder, as a stage of work."""
        self._encoder.measure_baselines(steps)

    def plan(self, outputs: Iterable[str], references: References) -> EncodingPlan | None:
        """Say what scoring outputs would send to an endpoint; None if the encoder is none. Nothing is sent."""
        from trubleu.vectors.encoders.endpoint import EndpointEncoder

        encoder = self._encoder.encoder
        if not isinstance(encoder, EndpointEncoder):
            return None
        lines = self.tokenizer.lines((*outputs, *references.texts), bool(self.lowercase))
        return encoder.plan([*lines, *unrelated_sentences()])

    def by_reference(self, outputs: Sequence[str], references: References, threads: int | None = None) -> ByReference:
        """Compare outputs with each reference once."""
        weights = self.rated_weights(references)
        threads = resolve_threads(threads, len(outputs), 1)
        found = [compared.scores for _, _, compared in self._parts(tuple(outputs), references, threads)]
        return partial(rows_of_chosen, references, weights, np.concatenate(found))

    def _parts(
        self, outputs: tuple[str, ...], references: References, threads: int, told: Progress | None = None
    ) -> Iterator[tuple[int, int, _Compared]]:
        """Compare outputs with each reference, some segments at a time."""
        cut = np.zeros(2, np.int64)
        for first, last in slices(references.offsets, SLICE_TEXTS):
            compared = self._compared(outputs[first:last], references, first, threads, told)
            cut += compared.cut()
            yield first, last, compared
        for count, kind in zip(cut.tolist(), ("outputs", "references"), strict=True):
            if count:
                what = f"{kind} longer than the window of {self._encoder.encoder.name}, cut there"
                warnings.warn(CountedWarning(what, count), stacklevel=2)

    def _compared(
        self,
        outputs: tuple[str, ...],
        references: References,
        first: int,
        threads: int,
        told: Progress | None = None,
    ) -> _Compared:
        """Compare the outputs of some segments with each of their references."""
        offsets = references.offsets[first : first + len(outputs) + 1]
        texts = references.texts[int(offsets[0]) : int(offsets[-1])]
        lines = self.tokenizer.lines((*outputs, *texts), bool(self.lowercase))
        encoded = self._encoder.encode(lines, threads, told and _by_texts(told, len(outputs), len(lines)))
        left = np.repeat(np.arange(len(outputs)), np.diff(offsets))
        right = np.arange(len(texts)) + len(outputs)
        workers = min(threads, resolve_threads(None, len(lines), WORTH_THREADS))
        precision, recall, cosine = encoded.similarities(left, right, workers).T
        characters = self._characters.pair_scores(outputs, texts, left, workers) / 100.0
        number = {line: place for place, line in enumerate(dict.fromkeys(lines))}
        numbers = np.array([number[line] for line in lines])
        said = np.array([bool(line.split()) for line in lines], np.bool_)
        baselines = self._encoder.baselines
        precision, recall = (_above(values, baselines.words or 0.0) for values in (precision, recall))
        words, text = self._f(precision, recall), _above(cosine, baselines.text)
        parts = (characters, words, text) if baselines.words is not None else (characters, text)
        equal = (numbers[left] == numbers[right]) & said[left]
        scores = np.where(equal, 1.0, sum(parts) / len(parts))
        return _Compared(
            scores=np.where(said[left] & said[right], scores, 0.0),
            characters=characters,
            words=words if baselines.words is not None else np.full(len(words), np.nan),
            text=text,
            equal=equal,
            precision=precision,
            recall=recall,
            cosine=cosine,
            encoded=encoded,
            outputs=len(outputs),
        )

    def _f(self, precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
        square = self.beta * self.beta
        below = square * precision + recall
        found: NDArray[np.float64] = np.divide(
            (1.0 + square) * precision * recall, below, out=np.zeros(len(below)), where=below > 0
        )
        return found

    def parts(self, output: str, references: References | PreparedReferences, segment: int = 0) -> ContextParts:
        """Return the components of one output's score against the references of a segment.

        Parameters
        ----------
        output
            The output.
        references
            References of one or several segments.
        segment
            Which of the segments it is.
        """
        one = whole_references(references).take([segment])
        weights = merged_weights(one, self.weights(one)[0])
        compared = self._compared((output,), one, 0, 1)
        earned, cut = kernels.rated_scores(compared.scores, weights, one.offsets)[0].tolist()
        lines = self.tokenizer.lines((output, *one.texts), bool(self.lowercase))
        tokens = [tuple(line.split()) for line in lines]
        return ContextParts(
            references=tuple(
                compared.reference(place, math.isnan(weight), len(tokens[0]), len(own))
                for place, (weight, own) in enumerate(zip(weights.tolist(), tokens[1:], strict=True))
            ),
            earned=earned,
            cut=cut,
            tokens=tokens[0],
            reference_tokens=tuple(tokens[1:]),
        )

    def word_similarity(self, cosine: float) -> float:
        """Return the cosine of two words above its baseline, at least 0."""
        return float(_above(np.array([cosine]), self._encoder.baselines.words or 0.0)[0])

    def supported_sentences(self, output: str, reference: str) -> tuple[SupportedSentence, ...]:
        """Return the nearest sentence of a reference for each sentence of an output; none if both have only one."""
        own, others = (_SENTENCE_END.split(text.strip()) for text in (output, reference))
        if len(own) == len(others) == 1:
            return ()
        lines = self.tokenizer.lines((*own, *others), bool(self.lowercase))
        encoded = self._encoder.encode(lines, 1)
        left, right = np.indices((len(own), len(others)))
        cosines = encoded.similarities(left.ravel(), right.ravel() + len(own), 1)[:, 2].reshape(left.shape)
        nearest = cosines.argmax(axis=1)
        similarities = _above(cosines.max(axis=1), self._encoder.baselines.text)
        return tuple(
            SupportedSentence(sentence, others[place], similarity)
            for sentence, place, similarity in zip(own, nearest.tolist(), similarities.tolist(), strict=True)
        )

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean for each row of summed statistics; 0 without a segment."""
        return mean_score(statistics, 2, self.name)

    def reading(self, nrefs: str | None) -> str | None:
        """Explain the meaning of 100."""
        parts = "near misses in context earn partial credit (see trubleu explain)"
        if nrefs == "1":
            return f"100 means equality with the reference; {parts}"
        return f"{parts}; with several references, 100 needs equality with all good ones, so use it to compare systems"

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return the signature."""
        own = super().signature(references)
        return own.extended(nopos=self.no_positive, unrated=self.unrated_as)

    def _signed_options(self) -> dict[str, object]:
        encoder, base = self._encoder.encoder, str(self._encoder.baselines)  # an endpoint then knows its model
        signed = {"tok": self.tokenizer.name, "beta": self.beta, "enc": encoder.name, **encoder.signed}
        return signed | {"base": base}


class _Compared(NamedTuple):
    """Outputs of some segments beside each of their references; one number a reference, as in `ContextReference`."""

    scores: NDArray[np.float64]
    characters: NDArray[np.float64]
    words: NDArray[np.float64]
    text: NDArray[np.float64]
    equal: NDArray[np.bool_]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    cosine: NDArray[np.float64]
    encoded: EncodedTexts
    outputs: int

    def cut(self) -> NDArray[np.int64]:
        """Return how many outputs and how many references were cut."""
        cut = self.encoded.cut()
        return np.array([np.count_nonzero(cut[: self.outputs]), np.count_nonzero(cut[self.outputs :])])

    def reference(self, place: int, repeats: bool, output_words: int, reference_words: int) -> ContextReference:
        """Return the comparison of the only output with one of its references."""
        found = kernels.word_maxima(self.encoded.words(0), self.encoded.words(1 + place))
        own, other = (
            [
                MetWord(None if there < 0 else there, cosine)
                for cosine, there in zip(cosines.tolist(), places.tolist(), strict=True)
            ]
            for cosines, places in (found[:2], found[2:])
        )
        cut_off = MetWord(None, 0.0)
        return ContextReference(
            score=math.nan if repeats else float(self.scores[place]),
            characters=float(self.characters[place]),
            words=float(self.words[place]),
            text=float(self.text[place]),
            equal=bool(self.equal[place]),
            precision=float(self.precision[place]),
            recall=float(self.recall[place]),
            cosine=float(self.cosine[place]),
            met=tuple(own + [cut_off] * (output_words - len(own))),
            met_by=tuple(other + [cut_off] * (reference_words - len(other))),
        )


def _by_texts(told: Progress, segments: int, texts: int) -> Progress:
    """Return what is told of encoded texts, and tells of as large a share of the segments."""
    done = shown = 0

    def progress(more: int) -> None:
        nonlocal done, shown
        done += more
        before, shown = shown, segments * done // texts
        told(shown - before)

    return progress


def _above(values: NDArray[np.float64], baseline: float) -> NDArray[np.float64]:
    """Return which share of the way from the baseline to 1 values go; 0 below it."""
    return np.maximum(0.0, (values - baseline) / (1.0 - baseline))
