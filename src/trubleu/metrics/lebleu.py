"""LeBLEU (Virpioja & Grönroos 2015): BLEU in which an n-gram may match another one that is spelt nearly like it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from trubleu.metrics.base import AnyReferences, Metric, Progress, check_flag, check_order, check_share, reference_number
from trubleu.metrics.matching import check_width, copy_of_order, row_by_row
from trubleu.optional_deps import needed
from trubleu.signature import Signature, make_signature
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.text.tokenizers import Spec

REACH: Final = 2
"""N-grams of the references are this many times as long as those of the outputs, so that a compound meets its parts."""

PAIRS: Final = 1 << 21
"""How many pairs of n-grams are compared at once: it bounds the memory that long texts take."""


class LeBleu(Metric):
    """Corpus-level LeBLEU: fuzzy matches between n-grams by the edit distance of their letters.

    For languages in which one word has many forms or is written together here and apart there. The similarity of two
    n-grams is 1 - d / l, where d is the Levenshtein distance of their words joined by spaces and l the length of the
    longer one; below the threshold it is 0. An n-gram of the output earns its similarity to the most similar one among
    the references' n-grams of any length up to twice the order. The score is the mean over orders of what n-grams earn
    on average, times BLEU's brevity penalty with lengths in letters.

    Parameters
    ----------
    order
        The longest n-grams of the outputs, from 1 to 9.
    threshold
        The least similarity that earns anything, from 0 to 1; with 1 only equal n-grams match.
    tokenize, lowercase
        As for `Bleu`.

    Examples
    --------
    >>> LeBleu(order=1).corpus(["talossani"], [["talossa"]]).score
    77.77777777777779
    """

    uses_weights: ClassVar[bool] = False

    def __init__(
        self, order: int = 4, *, threshold: float = 0.4, tokenize: Spec = "13a", lowercase: bool = False
    ) -> None:
        self.order = check_order(order)
        self.name = f"lebleu-{order}"
        self.threshold = check_share("threshold", threshold)
        self.tokenizer = tokenizer(tokenize)
        self.lowercase = check_flag("lowercase", lowercase)
        needed("rapidfuzz", "LeBLEU", "trubleu[lebleu]")

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,  # noqa: ARG002 - segments are too small to share one among threads
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return letters of output and reference, what n-grams earn by order and n-grams by order."""
        return row_by_row(self._row, self.tokenizer, outputs, references, 2 + 2 * self.order, progress)

    def _row(self, output: str, references: Sequence[str]) -> list[float]:
        words = self.tokenizer.tokens(output, self.lowercase)
        letters = len(" ".join(words))
        pool: Counter[str] = Counter()
        lengths = set()
        for reference in references:
            reference_words = self.tokenizer.tokens(reference, self.lowercase)
            lengths.add(len(" ".join(reference_words)))
            ngrams = Counter(ngram for n in range(1, REACH * self.order + 1) for ngram in _ngrams(reference_words, n))
            pool = pool | ngrams if pool else ngrams
        closest = min(lengths, key=lambda length: (abs(length - letters), length))
        orders = [Counter(_ngrams(words, n)) for n in range(1, self.order + 1)]
        earned = fuzzy_matches(orders, pool, self.threshold)
        return [letters, closest, *earned, *(ngrams.total() for ngrams in orders)]

    def with_order(self, order: int) -> Self:
        """Return the same metric for n-grams of up to another length."""
        return copy_of_order(self, order)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return LeBLEU on 0 to 100 for each row of summed statistics."""
        check_width(statistics, 2 + 2 * self.order, self.name)
        letters, reference_letters = statistics[..., 0], statistics[..., 1]
        earned, totals = statistics[..., 2 : 2 + self.order], statistics[..., 2 + self.order :]
        averages = np.divide(earned, totals, out=np.zeros(earned.shape), where=totals > 0)
        orders = np.maximum((totals > 0).sum(axis=-1), 1)
        ratio = np.divide(reference_letters, letters, out=np.ones(letters.shape), where=letters > 0)
        penalty = np.exp(np.minimum(0.0, 1.0 - ratio))
        scores: NDArray[np.float64] = 100 * penalty * averages.sum(axis=-1) / orders
        return scores

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        return make_signature(
            self.name,
            nrefs=reference_number(references),
            case="lc" if self.lowercase else "mixed",
            tok=self.tokenizer.name,
            threshold=self.threshold,
        )


def fuzzy_matches(orders: Sequence[Counter[str]], pool: Counter[str], threshold: float) -> list[float]:
    """Return what the n-grams of each order earn together.

    An n-gram that comes c times earns the c largest similarities to members of the pool, where a member that comes k
    times stands for k; no other n-gram of the output takes anything away from it.

    Parameters
    ----------
    orders
        The output's n-grams by order, words joined by spaces, with how often each comes.
    pool
        The references' n-grams of all lengths.
    threshold
        The least similarity that earns anything.

    Examples
    --------
    >>> fuzzy_matches([Counter({"cats": 2, "dog": 1})], Counter({"cat": 1, "cats": 1}), 0.4)
    [1.75]
    """
    earned = [0.0] * len(orders)
    # Equal n-grams need no comparison; the rest are compared with everything, all orders at once.
    rest: list[tuple[int, str, int]] = []
    for order, ngrams in enumerate(orders):
        for ngram, count in ngrams.items():
            equal = min(count, pool[ngram])
            earned[order] += equal
            if equal < count:
                rest.append((order, ngram, count - equal))
    if not rest or not pool:
        return earned
    members = list(pool)
    places = {member: place for place, member in enumerate(members)}
    counts = np.array([pool[member] for member in members])
    at_once = max(1, PAIRS // len(members))
    for first in range(0, len(rest), at_once):
        part = rest[first : first + at_once]
        similarities = _similarities([ngram for _, ngram, _ in part], members, threshold)
        best = similarities.max(axis=1).tolist()
        for row, (order, ngram, count) in enumerate(part):
            if ngram in places:
                similarities[row, places[ngram]] = 0.0  # all of these are taken
            elif count == 1:
                earned[order] += best[row]
                continue
            earned[order] += _largest(similarities[row], counts, count)
    return earned


def _similarities(ngrams: list[str], members: list[str], threshold: float) -> NDArray[np.float64]:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    distances = cdist(ngrams, members, scorer=Levenshtein.distance, dtype=np.int32, workers=1)
    longer = np.maximum.outer(list(map(len, ngrams)), list(map(len, members)))
    # One division of whole numbers, so that a similarity which equals the threshold is never rounded below it.
    similarities: NDArray[np.float64] = (longer - distances) / np.maximum(longer, 1)
    similarities[similarities < threshold] = 0.0
    return similarities


def _largest(similarities: NDArray[np.float64], counts: NDArray[np.int64], count: int) -> float:
    """Return the sum of so many of the largest similarities, each as often as its member comes."""
    total = 0.0
    for place in np.argsort(-similarities, kind="stable"):
        if count == 0 or similarities[place] == 0.0:
            break
        taken = min(count, int(counts[place]))
        total += taken * float(similarities[place])
        count -= taken
    return total


def _ngrams(words: list[str], n: int) -> list[str]:
    return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
