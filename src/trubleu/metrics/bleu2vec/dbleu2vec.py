"""ΔBLEU with near misses: references have weights, and n-grams that are not equal count by their similarity."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trubleu.data import PreparedReferences
from trubleu.errors import UsageError
from trubleu.metrics.base import AnyReferences, Progress, as_references, check_choice
from trubleu.metrics.bleu2vec.bleu2vec import Bleu2Vec
from trubleu.metrics.dbleu import WeightedMetric
from trubleu.signature import Signature, make_signature, number_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.metrics.bleu2vec.alignment import Rule


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaBleu2Vec(WeightedMetric, Bleu2Vec):
    """Corpus-level ΔBLEU with near misses: references carry weights from −1 to +1, and similar n-grams count too.

    Each reference is aligned with the output as in `Bleu2Vec`, with similarities of at least 0. An n-gram that some
    references hold earns the largest product of such a reference's weight and the sum over the n-gram's occurrences
    there. What an n-gram earns that no reference holds is said by ``credit``. With all similarities 0 this is ΔBLEU.

    Parameters
    ----------
    order, vectors, tokenize, lowercase, smoothing, smoothing_value, effective_order, reference_length, oov, negative, \
recall
        As for `Bleu2Vec`; smoothing constants are multiplied by the mean best weight.
    similarity
        ``clamp`` or ``shift:S``.
    credit
        ``earn``: the largest product, but not less than 0, so that near misses can earn and only exact matches cost.
        ``nearest``: the reference with the largest sum decides, even if its weight is below 0. ``max``: the largest
        product over all references with something similar, also for n-grams that some reference holds.
    length_references, no_positive, unrated_as
        As for `DeltaBleu`.

    Examples
    --------
    >>> from trubleu import References
    >>> references = References.from_lists([["it was great", "it was awful"]], [[1.0, -0.5]])
    >>> vectors = (["great", "good", "awful"], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> metric = DeltaBleu2Vec(1, vectors=vectors)
    >>> round(metric.corpus(["it was good"], references).score, 2)
    93.33
    """

    family: ClassVar[str] = "dbleu2vec"

    similarity: str = "clamp"
    definition: str = field(default="paper", init=False)
    credit: str = "earn"
    length_references: str = "all"

    def __post_init__(self) -> None:
        """Check the options, and open the vectors."""
        super().__post_init__()
        if self.matching.similarity == "raw":
            raise UsageError("similarity=raw does not go with weights; use clamp or shift:S")
        rule: Rule = check_choice("credit", self.credit, ("earn", "nearest", "max"))  # type: ignore[assignment]
        check_choice("length_references", self.length_references, ("all", "positive"))
        self.matching = replace(self.matching, rule=rule, positive_lengths=self.length_references == "positive")

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return lengths, signed weighted similarities and totals; zeros for a skipped segment."""
        references = as_references(references, outputs)
        weights, skipped = self.policy.weights(references)
        rows = self._rows(outputs, references, weights, threads, progress)
        if self.recall:
            whole = references.references if isinstance(references, PreparedReferences) else references
            best = np.maximum.reduceat(weights, whole.offsets[:-1]) if len(rows) else np.zeros(0)
            counts = self._reference_ngrams(rows)
            rows = np.hstack([rows, best[:, None] * counts, counts])
        rows[skipped] = 0.0
        return rows

    def without_weights(self) -> str:
        """Say what the metric is if all weights are 1.

        Examples
        --------
        >>> DeltaBleu2Vec(2, vectors=(["cat"], [[1.0]]), recall=True).without_weights()
        'bleu2vec-f-2 with similarity=clamp'
        """
        matching = self.matching
        similarity = f"shift:{number_text(matching.shift)}" if matching.similarity == "shift" else matching.similarity
        plain = f"{self.name.removeprefix('d')} with similarity={similarity}"
        return f"{plain} where there is one reference" if matching.rule == "max" else plain

    def signature(self, references: AnyReferences | None = None) -> Signature:
        """Return how a number is made."""
        added = make_signature(
            "",
            credit=self.matching.rule,
            lenrefs=self.length_references,
            nopos=self.no_positive,
            unrated=None if self.unrated_as is None else float(self.unrated_as),
        )
        return super().signature(references).extended(**dict(added.pairs))
