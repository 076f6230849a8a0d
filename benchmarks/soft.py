"""bleu2vec beside a plain restatement of the released program, and beside BLEU."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

import trubleu
from benchmarks.rows import Row
from benchmarks.timing import best
from trubleu.vectors import ready_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from benchmarks.cases import Bench
    from benchmarks.data import Corpus

DIMENSIONS: Final = 300
SAMPLE: Final = 20
"""Segments that the restatement aligns; its time is scaled up."""


class RandomVectors:
    """One of a few thousand random vectors for any n-gram."""

    name = "random"
    orders = None
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._matrix = np.random.default_rng(1).normal(size=(4_096, DIMENSIONS)).astype(np.float32)

    def lookup(self, ngrams: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of n-grams."""
        numbers = np.fromiter(map(hash, ngrams), np.int64, len(ngrams)) % len(self._matrix)
        return self._matrix.take(numbers, axis=0)

    def similarity(self, left: str, right: str) -> float:
        """Return the cosine of two n-grams, one pair at a time as libraries of vectors offer it."""
        a, b = (self._matrix[hash(ngram) % len(self._matrix)] for ngram in (left, right))
        return float(np.dot(a / np.linalg.norm(a), b / np.linalg.norm(b)))


def plain_matches(hypothesis: Sequence[str], reference: Sequence[str], n: int, vectors: RandomVectors) -> float:
    """Return the matches of one order: a table of all pairs, and the largest of it again and again."""
    import pandas as pd

    mine, theirs = (
        Counter(" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)) for tokens in (hypothesis, reference)
    )
    found = float(sum((mine & theirs).values()))
    rows, columns = list((mine - theirs).elements()), list((theirs - mine).elements())
    table = pd.DataFrame([[vectors.similarity(a, b) for b in columns] for a in rows], rows, columns)
    while len(table.index) and len(table.columns):
        row, column, largest = None, None, -1.0
        for name, values in table.iterrows():
            for other, value in values.items():
                if value > largest:
                    row, column, largest = name, other, value
        table = table.drop(index=row, columns=column)
        found += largest
    return found


def soft(bench: Bench) -> Iterator[Row]:
    """Score with near misses: (b) beside a plain restatement, (a) with 1 and 16 references, both beside BLEU."""
    vectors = RandomVectors()
    corpus = bench.b
    sample = corpus.head(SAMPLE)
    metric = trubleu.metric("bleu2vec", vectors=vectors, definition="release2017", tokenize="none")
    ours = metric.statistics(sample.systems[0], sample.references)
    texts = [(a.split(), b[0].split()) for a, b in zip(sample.systems[0], sample.references, strict=True)]
    theirs = [[plain_matches(a, b, n, vectors) for n in (1, 2, 3)] for a, b in texts]
    np.testing.assert_allclose(ours[:, 2:5], theirs, atol=1e-4)
    del metric  # and what it has looked up
    seconds = best(lambda: [[plain_matches(a, b, n, vectors) for n in (1, 2, 3)] for a, b in texts], bench.runs(2))
    yield Row(
        name="soft",
        data=corpus.name,
        peer="plain restatement",
        ours_seconds=_seconds(bench, corpus, vectors),
        peer_seconds=seconds * len(corpus) / len(sample),
        bar=300.0,
        note=f"{DIMENSIONS} dimensions; peer measured on {len(sample)} segments, times {len(corpus) / len(sample):g}",
    )
    many = bench.a
    count = len(many.streams)
    one = type(many)(f"{many.name}, one of them", many.systems, many.streams[:1])
    yield Row(
        name="soft, references",
        data=many.name,
        peer=f"{count} times one reference",
        ours_seconds=_seconds(bench, many, vectors),
        peer_seconds=_seconds(bench, one, vectors) * count,
        note="at least 0.8 if time is linear in the number of references",
    )
    for state in ("first system", "next system"):
        for data in [corpus, *bench.real]:
            yield _beside_bleu(bench, data, state)


def _seconds(bench: Bench, corpus: Corpus, vectors: RandomVectors) -> float:
    """Return the time of scoring from strings with nothing looked up before."""
    return best(
        lambda: trubleu.metric("bleu2vec", vectors=vectors, tokenize="none").corpus(
            corpus.systems[0], corpus.references, threads=1
        ),
        bench.runs(5),
        before=lambda: trubleu.metric("bleu2vec", vectors=RandomVectors()),  # takes the place of what was kept
    )


def _beside_bleu(bench: Bench, corpus: Corpus, state: str) -> Row:
    def start_anew() -> None:
        trubleu.metric("bleu2vec", vectors=RandomVectors())
        ready_vectors.cache_clear()
        trubleu.metric("bleu2vec")
        if state == "next system":
            trubleu.corpus_score(corpus.systems[1], corpus.references, "bleu2vec", threads=1)

    def score(metric: str) -> object:
        return trubleu.corpus_score(corpus.systems[0], corpus.references, metric, threads=1)

    return Row(
        name=f"soft, {state}",
        data=corpus.name,
        peer="30 times our BLEU",
        ours_seconds=best(lambda: score("bleu2vec"), bench.runs(5), before=start_anew),
        peer_seconds=30 * best(lambda: score("bleu-4"), bench.runs(50)),
        bar=1.0 if len(corpus.streams) == 1 else None,
        note="ready vectors, 13a, look-ups included",
    )
