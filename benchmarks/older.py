"""The older metrics beside the usual implementations, which are pure Python, or beside a plain statement."""

from __future__ import annotations

from collections import Counter
from functools import partial
from importlib import import_module
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from nltk.stem.porter import PorterStemmer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.meteor_score import meteor_score
from nltk.translate.nist_score import corpus_nist
from sacrebleu.metrics.ter import TER

import trubleu
from benchmarks.rows import Row, check_equal
from benchmarks.timing import best

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.cases import Bench
    from benchmarks.data import Corpus
    from benchmarks.peers import Streams

PLAIN_SAMPLE: Final = 5
"""Segments that a plain statement of LeBLEU scores; its time is scaled up."""

LEBLEU_BAR: Final = 5_700.0
"""Five times the ratio that edit distances by rapidfuzz reached."""

PEER_SAMPLE: Final = 200
"""Segments that rouge-score and sacreBLEU's TER score; their time is scaled up."""

ROUGE: Final = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL", "rouge-lsum": "rougeLsum"}


def older(bench: Bench) -> Iterator[Row]:
    """Score by NIST, CIDEr-D, METEOR, LeBLEU, TER, ROUGE and for diversity from strings."""
    yield from nist(bench)
    yield from cider(bench)
    yield from meteor(bench)
    yield from lebleu(bench)
    yield from ter(bench)
    yield from rouge(bench)
    yield from diversity(bench)


def nist(bench: Bench) -> Iterator[Row]:
    """Score by NIST; NLTK is given tokens."""
    # With several references NLTK computes something else, so the numbers are compared on one.
    for corpus in (bench.b, bench.a):
        outputs = [text.split() for text in corpus.systems[0]]
        references = [[text.split() for text in row] for row in corpus.references]
        if len(corpus.streams) == 1:
            check_equal(_score("nist", corpus), corpus_nist(references, outputs))
        yield from _rows(bench, "nist", corpus, "NLTK", partial(corpus_nist, references, outputs), 50.0, "given tokens")


def cider(bench: Bench) -> Iterator[Row]:
    """Score by CIDEr-D, which is what pycocoevalcap calls CIDEr."""
    scorers = import_module("pycocoevalcap.cider.cider_scorer")
    corpus = bench.a

    def theirs() -> float:
        scorer = scorers.CiderScorer(n=4, sigma=6.0)
        for output, row in zip(corpus.systems[0], corpus.references, strict=True):
            scorer += (output, row)
        return float(scorer.compute_score()[0])

    check_equal(_score("cider-d", corpus), theirs())
    yield from _rows(bench, "cider-d", corpus, "pycocoevalcap", theirs, 60.0)


class _NoWordNet:
    """What NLTK asks for synonyms."""

    def synsets(self, _: str) -> list[Any]:
        return []


def meteor(bench: Bench) -> Iterator[Row]:
    """Score by METEOR without synonyms; NLTK, given tokens, aligns greedily and may find more chunks."""
    for corpus in (bench.b, bench.a):
        outputs = [text.split() for text in corpus.systems[0]]
        references = [[text.split() for text in row] for row in corpus.references]
        stemmer = PorterStemmer()

        def theirs(outputs: list[list[str]] = outputs, references: list[list[list[str]]] = references) -> list[float]:
            return [
                meteor_score(row, words, stemmer=stemmer, wordnet=_NoWordNet())  # noqa: B023 - used at once
                for words, row in zip(outputs, references, strict=True)
            ]

        ours = trubleu.metric("meteor[tokenize=none]").segments(corpus.systems[0], corpus.references) / 100
        if not np.mean(ours) >= np.mean(theirs()) - 1e-4:  # the two stemmers differ in a few words
            raise RuntimeError("METEOR with the fewest chunks is below METEOR with more")
        yield from _rows(bench, "meteor", corpus, "NLTK", theirs, 30.0, "given tokens; greedy alignment")


def lebleu(bench: Bench) -> Iterator[Row]:
    """Score by LeBLEU beside a plain statement, which takes a sample."""
    corpus = bench.b
    sample = corpus.head(PLAIN_SAMPLE)
    texts = [(words.split(), row[0].split()) for words, row in zip(sample.systems[0], sample.references, strict=True)]
    rows = trubleu.metric("lebleu[tokenize=none]").statistics(sample.systems[0], sample.references)
    check_equal(float(rows[:, 2:6].sum()), sum(map(_plain_lebleu, *zip(*texts, strict=True))))
    scale = len(corpus) / len(sample)
    seconds = best(lambda: [_plain_lebleu(*pair) for pair in texts], bench.runs(2)) * scale
    yield Row(
        name="lebleu",
        data=corpus.name,
        peer="a plain statement",
        ours_seconds=best(lambda: _score("lebleu", corpus), bench.runs(3)),
        peer_seconds=seconds,
        bar=LEBLEU_BAR,
        note=f"peer measured on {len(sample)} segments, times {scale:g}",
    )


def _plain_lebleu(words: list[str], reference: list[str]) -> float:
    """Return what the n-grams of an output earn together, orders 1 to 4."""
    pool = Counter(ngram for n in range(1, 9) for ngram in _ngrams(reference, n))
    earned = 0.0
    for n in range(1, 5):
        for ngram, count in Counter(_ngrams(words, n)).items():
            found = sorted((_similarity(ngram, other) for other in pool.elements()), reverse=True)
            earned += sum(value for value in found[:count] if value >= 0.4)
    return earned


def _ngrams(words: list[str], n: int) -> list[str]:
    return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def _similarity(a: str, b: str) -> float:
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row = row, [i]
        for j, other in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other)))
    longer = max(len(a), len(b))
    return (longer - row[-1]) / longer


def ter(bench: Bench) -> Iterator[Row]:
    """Score by TER beside sacreBLEU, which takes a sample."""
    for corpus in (bench.b, bench.a):
        sample = corpus.head(PEER_SAMPLE)
        streams: Streams = sample.streams
        theirs = partial(TER().corpus_score, sample.systems[0], streams)
        check_equal(trubleu.corpus_score(sample.systems[0], sample.references, "ter").score, theirs().score)
        yield _sampled(bench, "ter", corpus, sample, "sacreBLEU", theirs, 30.0)


def rouge(bench: Bench) -> Iterator[Row]:
    """Score by ROUGE, with and without stems, beside rouge-score, which takes a sample."""
    scorers = import_module("rouge_score.rouge_scorer")
    for corpus in (bench.b, bench.a):
        sample = corpus.head(PEER_SAMPLE)
        for name, stem in product(ROUGE, (False, True)):
            scorer = scorers.RougeScorer([ROUGE[name]], use_stemmer=stem)

            def theirs(scorer: Any = scorer, name: str = name, sample: Corpus = sample) -> float:
                pairs = zip(sample.systems[0], sample.references, strict=True)
                return 100 * float(
                    np.mean([scorer.score_multi(row, text)[ROUGE[name]].fmeasure for text, row in pairs])
                )

            metric = f"{name}[stem=true]" if stem else name
            check_equal(trubleu.corpus_score(sample.systems[0], sample.references, metric).score, theirs())
            yield _sampled(bench, metric, corpus, sample, "rouge-score", theirs, 50.0)


def diversity(bench: Bench) -> Iterator[Row]:
    """Score by distinct-2 beside a set of pairs, and by self-BLEU beside NLTK, which scores a few."""
    corpus = bench.b
    outputs = [text.split() for text in corpus.systems[0]]

    def pairs() -> float:
        found = [pair for words in outputs for pair in pairwise(words)]
        return 100 * len(set(found)) / len(found)

    check_equal(_score("distinct-2", corpus), pairs())
    yield Row(
        name="distinct-2",
        data=corpus.name,
        peer="a set of pairs",
        ours_seconds=best(lambda: _score("distinct-2", corpus), bench.runs(10)),
        peer_seconds=best(pairs, bench.runs(3)),
        note="given tokens",
    )
    smoothing = SmoothingFunction().method1

    def theirs(count: int = 10) -> None:
        for i in range(count):
            sentence_bleu(outputs[:i] + outputs[i + 1 :], outputs[i], smoothing_function=smoothing)

    yield Row(
        name="self-bleu-4",
        data=corpus.name,
        peer="NLTK",
        ours_seconds=best(lambda: _score("self-bleu-4", corpus), bench.runs(10)),
        peer_seconds=best(theirs, 1) * len(outputs) / 10,
        note=f"given tokens; peer measured on 10 outputs, times {len(outputs) / 10:g}",
    )


def _sampled(
    bench: Bench, metric: str, corpus: Corpus, sample: Corpus, peer: str, theirs: Callable[[], Any], bar: float
) -> Row:
    scale = len(corpus) / len(sample)
    return Row(
        name=metric,
        data=corpus.name,
        peer=peer,
        ours_seconds=best(
            lambda: trubleu.corpus_score(corpus.systems[0], corpus.references, metric, threads=1), bench.runs(10)
        ),
        peer_seconds=best(theirs, bench.runs(2)) * scale,
        bar=bar,
        note=f"peer measured on {len(sample)} segments, times {scale:g}",
    )


def _score(metric: str, corpus: Corpus) -> float:
    name = f"{metric}[tokenize=none]"
    return trubleu.corpus_score(corpus.systems[0], corpus.references, name, threads=1).score


def _rows(
    bench: Bench, metric: str, corpus: Corpus, peer: str, theirs: Callable[[], Any], bar: float, note: str = ""
) -> Iterator[Row]:
    """Compare the first system, from strings, and give the time of a second one with the references counted."""
    peer_seconds = best(theirs, bench.runs(2))
    made = trubleu.metric(f"{metric}[tokenize=none]")
    references = trubleu.References.from_lists(corpus.references)
    made.corpus(corpus.systems[0], references)
    first = best(lambda: _score(metric, corpus), bench.runs(20))
    second = best(lambda: made.corpus(corpus.systems[1], references, threads=1), bench.runs(20))
    for name, seconds in ((metric, first), (f"{metric}, second system", second)):
        yield Row(
            name=name,
            data=corpus.name,
            peer=peer,
            ours_seconds=seconds,
            peer_seconds=peer_seconds,
            bar=bar,
            note=note,
        )
