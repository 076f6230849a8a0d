"""METEOR (Banerjee & Lavie 2005): words aligned by form, stem and meaning, recall before precision, order last."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.metrics.base import AnyReferences, FResult, Metric, Progress, check_flag, check_share, reference_number
from trubleu.metrics.matching import check_width, row_by_row
from trubleu.metrics.meteor.alignment import align
from trubleu.metrics.meteor.lexicon import Stemmer, WordNet, installed
from trubleu.signature import Signature, make_signature
from trubleu.stats import total
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.text.tokenizers import Spec

COLUMNS: Final = 6


class Meteor(Metric):
    """METEOR: an F-score of aligned words that favours recall, less a penalty for words in another order.

    Words are matched if they are equal, then by stem, then (where asked for) by meaning. Of all alignments with as many
    matches as possible, stage by stage, one with the fewest chunks counts. With precision P and recall R the score is
    P·R / (α·P + (1 - α)·R) · (1 - γ · (chunks / matches)^β). Of several references the one with the best score
    of a segment counts.

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
    only_counting: ClassVar[tuple[str, ...]] = ("_wordnet",)

    def __init__(
        self,
        *,
        alpha: float = 0.9,
        beta: float = 3.0,
        gamma: float = 0.5,
        stemmer: str = "porter",
        synonyms: str = "none",
        tokenize: Spec = "13a",
        lowercase: bool = True,
    ) -> None:
        self.name = "meteor"
        self.alpha = check_share("alpha", alpha)
        self.gamma = check_share("gamma", gamma)
        if isinstance(beta, bool) or not isinstance(beta, int | float) or not math.isfinite(beta) or beta < 0:
            raise UsageError(f"beta={beta} must be a number that is not below 0")
        self.beta = float(beta)
        self.stemmer, self.synonyms = stemmer, synonyms
        self.tokenizer = tokenizer(tokenize)
        self.lowercase = check_flag("lowercase", lowercase)
        self._stem = None if stemmer == "none" else Stemmer(stemmer, "METEOR's stemmer")
        self._wordnet = _wordnet(synonyms)

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,  # noqa: ARG002 - the alignment is pure Python
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return exact, stem and synonym matches, lengths of output and reference, and chunks."""
        return row_by_row(self._row, self.tokenizer, outputs, references, COLUMNS, progress)

    def _row(self, output: str, references: Sequence[str]) -> NDArray[np.float64]:
        """Return the row of the reference with the best score."""
        words = self.tokenizer.tokens(output, self.lowercase)
        meanings = self._wordnet.synsets if self._wordnet else None
        rows = []
        # Equal references are aligned once; which of them comes first must not matter.
        for reference in sorted({tuple(self.tokenizer.tokens(text, self.lowercase)) for text in references}):
            found = align(words, reference, stem=self._stem, meanings=meanings)
            rows.append([found.exact, found.stem, found.synonym, len(words), len(reference), found.chunks])
        if len(rows) == 1:
            return np.array(rows[0], dtype=np.float64)
        table = np.array(rows, dtype=np.float64)
        scores = self.score(table).tolist()
        # Where several are equally good, the one whose length is closest, then the shorter one, as in BLEU.
        best = max(range(len(rows)), key=lambda i: (scores[i], -abs(rows[i][4] - len(words)), -rows[i][4], rows[i]))
        chosen: NDArray[np.float64] = table[best]
        return chosen

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
        return FResult(
            metric=self.name,
            score=float(self.score(summed)),
            segments=len(statistics),
            signature=self.signature(references),
            precision=100 * float(matches / length) if length else 0.0,
            recall=100 * float(matches / reference_length) if reference_length else 0.0,
        )

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made: which stemmer of which version, and which WordNet, too."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if self.lowercase else "mixed",
            tok=self.tokenizer.name,
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma,
            stem=self._stem.signature() if self._stem else "none",
            syn=self._wordnet.name if self._wordnet else "none",
        )


def _wordnet(synonyms: str) -> WordNet | None:
    if not synonyms or not isinstance(synonyms, str):
        raise UsageError(f"synonyms={synonyms!r} is not known; write none, wordnet or the folder of a WordNet")
    if synonyms == "none":
        return None
    return installed() if synonyms == "wordnet" else WordNet(synonyms)
