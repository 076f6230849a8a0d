"""METEOR (Banerjee & Lavie 2005): words aligned by form, stem and meaning; recall-weighted F with an order penalty."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.data.prepared import kernel_texts
from trubleu.errors import UsageError
from trubleu.metrics.base import AnyReferences, FResult
from trubleu.metrics.matching import ReferenceWords, TextMetric, TextPairs, check_width
from trubleu.metrics.meteor.lexicon import Stemmer, WordNet, installed
from trubleu.native import kernels
from trubleu.stats import total
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.text.tokenizers import Spec

COLUMNS: Final = 6

AT_ONCE: Final = 512
"""Segments per progress report: a single one may take long."""

MOST_PAIRS: Final = 2**27
"""Maximum word pairs of an output and a reference."""

MOST_WORDS: Final = 2**15
"""Maximum words of a reference."""


@dataclass(kw_only=True, eq=False, repr=False)
class Meteor(TextMetric):
    """METEOR: a recall-weighted F-score of aligned words, with a penalty for different word order.

    Words are matched by equality, then by stem, then (optionally) by meaning. Of all alignments with the maximum number
    of matches at each stage, one with the fewest chunks counts. With precision P and recall R the score is P·R / (α·P +
    (1 - α)·R) · (1 - γ · (chunks / matches)^β). With several references, the best score of a segment counts.

    Parameters
    ----------
    alpha
        The share of recall, from 0 to 1.
    beta
        How steeply the penalty grows with fragmentation.
    gamma
        The largest penalty, from 0 to 1.
    stemmer
        A stemmer of Snowball, such as ``porter``, ``english`` or ``german``; ``none`` for no such stage.
    synonyms
        ``none``, ``wordnet`` (the one that is installed), or a folder with a WordNet's index files. English words only,
        and lower case.
    tokenize
        As for `Bleu`.
    lowercase
        Lower-case all texts first, as METEOR's own tool with ``-norm`` and NLTK do.

    Examples
    --------
    >>> meteor = Meteor()
    >>> round(meteor.corpus(["the cat sat on the mat"], [["on the mat sat the cat"]]).score, 2)
    93.75
    >>> round(meteor.corpus(["cats are sleeping"], [["the cat sleeps"]]).score, 2)
    33.33
    """

    uses_weights: ClassVar[bool] = False

    name = family = "meteor"

    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5
    stemmer: str = "porter"
    synonyms: str = "none"
    tokenize: Spec = "13a"
    lowercase: bool = True

    def __post_init__(self) -> None:
        """Validate the options, and open the stemmer and the WordNet."""
        super().__post_init__()
        self.tokenizer = tokenizer(self.tokenize)
        self._stem = None if self.stemmer == "none" else Stemmer(self.stemmer, "METEOR's stemmer")
        self._wordnet = _wordnet(self.synonyms)

    def _count(self, given: TextPairs) -> NDArray[np.float64]:
        """Return exact, stem and synonym matches, lengths of output and reference, and chunks."""
        self._check_pairs(given.outputs, given.references, MOST_PAIRS, "to align them", MOST_WORDS)
        threads = given.workers()
        words = ReferenceWords.of(given.references, self.tokenizer, self.lowercase, threads)
        lines = kernel_texts(given.outputs, self.tokenizer, self.lowercase)[0]
        said = words.outputs(lines, 0, len(lines), threads)
        stems, meanings = words.stems(self._stem, said), self._meanings(words.texts, said)
        pairs = kernels.MeteorTexts(said, words.texts, words.offsets, stems, *meanings)

        def rows_of(first: int, last: int) -> NDArray[np.float64]:
            return self._best(pairs.rows(first, last, threads), words.offsets[first : last + 1])

        return given.rows(COLUMNS, rows_of, AT_ONCE)

    def _meanings(
        self, references: kernels.WordTexts, outputs: kernels.WordTexts
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32]] | tuple[None, None]:
        """Return the offsets of the meanings of each word, and all meanings as numbers."""
        if self._wordnet is None:
            return None, None
        numbers: dict[str, int] = {}
        found = [
            [numbers.setdefault(synset, len(numbers)) for synset in self._wordnet.synsets(word)]
            for word in (*references.words(), *outputs.words())
        ]
        begins = np.cumsum([0, *map(len, found)], dtype=np.uint64)
        return begins, np.fromiter(chain.from_iterable(found), np.uint32, int(begins[-1]))

    def _best(self, rows: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for each segment the row of the best-scoring reference."""
        segments = len(offsets) - 1
        if len(rows) == segments:
            return rows
        # Ties are broken by the closest length, then the shorter one, as in BLEU.
        lengths = rows[:, 4]
        segment_of = np.repeat(np.arange(segments), np.diff(offsets))
        keys = (*rows.T[::-1], -lengths, -np.abs(lengths - rows[:, 3]), self.score(rows), segment_of)
        best: NDArray[np.float64] = rows[np.lexsort(keys)[offsets[1:] - offsets[0] - 1]]
        return best

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return METEOR on 0 to 100 for each row of summed statistics."""
        check_width(statistics, COLUMNS, self.name)
        matches = statistics[..., :3].sum(axis=-1)
        length, reference_length, chunks = np.moveaxis(statistics[..., 3:], -1, 0)
        some = matches > 0
        # P·R / (α·P + (1 − α)·R) with both multiplied by both lengths.
        weighted = self.alpha * reference_length + (1.0 - self.alpha) * length
        mean = np.divide(matches, weighted, out=np.zeros(matches.shape), where=some)
        fragmentation = np.divide(chunks, matches, out=np.zeros(matches.shape), where=some)
        scores: NDArray[np.float64] = 100 * mean * (1.0 - self.gamma * fragmentation**self.beta)
        return scores

    def result(self, statistics: NDArray[np.float64], references: AnyReferences | None = None) -> FResult:
        """Score a system from its statistics."""
        summed = total(statistics)
        matches, (length, reference_length) = summed[:3].sum(), summed[3:5]
        shares = {
            "precision": 100 * float(matches / length) if length else 0.0,
            "recall": 100 * float(matches / reference_length) if reference_length else 0.0,
        }
        return self._result(FResult, summed, len(statistics), references, **shares)

    def _signed_options(self) -> dict[str, object]:
        return {
            "tok": self.tokenizer.name,
            "alpha": self.alpha,
            "beta": self.beta,
            "gamma": self.gamma,
            "stem": self._stem.signature() if self._stem else "none",
            "syn": self._wordnet.name if self._wordnet else "none",
        }


def _wordnet(synonyms: str) -> WordNet | None:
    if not synonyms or not isinstance(synonyms, str):
        raise UsageError(f"synonyms={synonyms!r} is not known; write none, wordnet or the folder of a WordNet")
    if synonyms == "none":
        return None
    return installed() if synonyms == "wordnet" else WordNet(synonyms)
