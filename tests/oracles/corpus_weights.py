"""NIST, CIDEr and CIDEr-D as their papers read, without a thought for speed; texts come as lists of tokens.

Nothing here shares code with the package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.oracles.statement import Tokens, ngrams

Gram = tuple[str, ...]
Segments = Sequence[Sequence[Tokens]]
"""The references of each segment."""


class NistRow(NamedTuple):
    """One segment, or the sum over several."""

    length: float
    reference_length: float
    information: tuple[float, ...]
    totals: tuple[float, ...]


def information(gram: Gram, corpus: Segments) -> float:
    """Return Doddington's information of an n-gram in bits; what is not in the corpus counts as if it were once."""
    often = sum(ngrams(text, len(gram))[gram] for texts in corpus for text in texts)
    if len(gram) == 1:
        before = sum(len(text) for texts in corpus for text in texts)
    else:
        before = sum(ngrams(text, len(gram) - 1)[gram[:-1]] for texts in corpus for text in texts)
    return math.log2(max(before, 1) / max(often, 1))


def nist_row(output: Tokens, references: Sequence[Tokens], corpus: Segments, order: int) -> NistRow:
    """Return the statistics of one segment; matches are clipped to the largest count in one reference."""
    told = []
    for n in range(1, order + 1):
        counts = ngrams(output, n)
        largest: Counter[Gram] = Counter()
        for reference in references:
            largest |= ngrams(reference, n)
        told.append(sum(count * information(gram, corpus) for gram, count in (counts & largest).items()))
    return NistRow(
        len(output),
        sum(map(len, references)) / len(references),
        tuple(told),
        tuple(max(len(output) - n + 1, 0) for n in range(1, order + 1)),
    )


def nist(rows: Sequence[NistRow]) -> float:
    """Score a sum of rows."""
    length, reference_length = sum(row.length for row in rows), sum(row.reference_length for row in rows)
    score = 0.0
    for n in range(len(rows[0].totals)):
        total = sum(row.totals[n] for row in rows)
        score += sum(row.information[n] for row in rows) / total if total else 0.0
    if length >= reference_length or score == 0:
        return score
    beta = math.log(0.5) / math.log(2 / 3) ** 2
    return score * math.exp(beta * math.log(length / reference_length) ** 2)


def tf_idf(counts: Counter[Gram], corpus: Segments) -> dict[Gram, float]:
    """Return the vector of a text: counts times the logarithm of one over the share of segments."""
    return {
        gram: count
        * math.log(len(corpus) / max(1, sum(any(ngrams(text, len(gram))[gram] for text in texts) for texts in corpus)))
        for gram, count in counts.items()
    }


def norm(vector: dict[Gram, float]) -> float:
    """Return the length of a vector."""
    return math.sqrt(math.fsum(value**2 for value in vector.values()))


def cider(
    output: Tokens, references: Sequence[Tokens], corpus: Segments, *, order: int = 4, sigma: float | None = None
) -> float:
    """Return CIDEr of one segment; with a σ CIDEr-D."""
    total = 0.0
    for n in range(1, order + 1):
        ours = tf_idf(ngrams(output, n), corpus)
        for reference in references:
            theirs = tf_idf(ngrams(reference, n), corpus)
            if sigma is None:
                product = math.fsum(ours[gram] * theirs[gram] for gram in ours.keys() & theirs.keys())
                penalty = 1.0
            else:
                product = math.fsum(
                    min(ours[gram], theirs[gram]) * theirs[gram] for gram in ours.keys() & theirs.keys()
                )
                penalty = math.exp(-((len(output) - len(reference)) ** 2) / (2 * sigma**2))
            if product:
                total += penalty * product / (norm(ours) * norm(theirs)) / len(references)
    return 10 * total / order
