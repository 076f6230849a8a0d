"""chrF and chrF++ beside sacreBLEU, with references counted on both sides, and beside fastChrF, which is compiled."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from sacrebleu.metrics.chrf import CHRF

import trubleu
from benchmarks.rows import Row, check_equal
from benchmarks.timing import best
from trubleu.errors import TrubleuWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cases import Bench
    from benchmarks.data import Corpus


def characters(bench: Bench) -> Iterator[Row]:
    """Score a second system by chrF and chrF++, and a first one from strings."""
    for corpus in (bench.b, bench.a):
        for name, bar in (("chrf", 50.0), ("chrf++", None)):
            yield from _beside_sacrebleu(bench, corpus, name, bar)
        yield _trubleu_beside_chrf(bench, corpus)
        yield from _beside_fastchrf(bench, corpus)


def _trubleu_beside_chrf(bench: Bench, corpus: Corpus) -> Row:
    """Score a second system by trubleu; no peer has it, so that sacreBLEU's chrF is the measure."""
    metric = trubleu.metric("trubleu")
    references = trubleu.References.from_lists(corpus.references)
    outputs = corpus.systems[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)  # words of made-up texts may have no vectors
        metric.corpus(corpus.systems[0], references)  # looks up most words, as a first system does
        theirs = CHRF(references=corpus.streams)  # type: ignore[arg-type]
        return Row(
            name="trubleu, second system",
            data=corpus.name,
            peer="sacreBLEU's chrF",
            ours_seconds=best(lambda: metric.corpus(outputs, references, threads=1), bench.runs(20)),
            peer_seconds=best(lambda: theirs.corpus_score(outputs, None), bench.runs(3)),
            bar=10.0,
            note="references prepared on both sides",
        )


def _beside_sacrebleu(bench: Bench, corpus: Corpus, name: str, bar: float | None) -> Iterator[Row]:
    metric = trubleu.metric(name)
    references = trubleu.References.from_lists(corpus.references)
    outputs = corpus.systems[1]
    theirs = CHRF(word_order=2 if name == "chrf++" else 0, references=corpus.streams)  # type: ignore[arg-type]
    # Also prepares our references, outside the measurement.
    check_equal(metric.corpus(outputs, references).score, float(theirs.corpus_score(outputs, None).score))
    peer = best(lambda: theirs.corpus_score(outputs, None), bench.runs(3))
    yield Row(
        name=f"{name}, second system",
        data=corpus.name,
        peer="sacreBLEU",
        ours_seconds=best(lambda: metric.corpus(outputs, references, threads=1), bench.runs(30)),
        peer_seconds=peer,
        bar=bar,
        note="references prepared on both sides",
    )
    fresh = CHRF(word_order=theirs.word_order)
    yield Row(
        name=name,
        data=corpus.name,
        peer="sacreBLEU",
        ours_seconds=best(lambda: trubleu.corpus_score(outputs, corpus.references, name, threads=1), bench.runs(10)),
        peer_seconds=best(lambda: fresh.corpus_score(outputs, corpus.streams), bench.runs(2)),  # type: ignore[arg-type]
        note="from strings",
    )


def _beside_fastchrf(bench: Bench, corpus: Corpus) -> Iterator[Row]:
    """Score all segments; fastChrF, which is no part of the project and may be missing, prepares no references."""
    try:
        fastchrf = import_module("fastchrf")
    except ImportError:
        print("fastchrf is not installed, so chrF is compared with sacreBLEU only", file=sys.stderr)
        return
    outputs = corpus.systems[1]
    metric = trubleu.metric("chrf")
    references = trubleu.References.from_lists(corpus.references)
    ones = [[output] for output in outputs]

    def theirs() -> list[float]:
        return [max(pairs[0]) for pairs in fastchrf.pairwise_chrf(ones, corpus.references)]

    for ours, other in zip(metric.segments(outputs, references).tolist(), theirs(), strict=True):
        check_equal(ours, other)
    peer = best(theirs, bench.runs(3))
    second = best(lambda: metric.segments(outputs, references, threads=1), bench.runs(30))
    first = best(lambda: metric.segments(outputs, corpus.references, threads=1), bench.runs(10))
    for name, seconds, note in (
        ("chrf, segments, second system", second, "fastChrF prepares nothing"),
        ("chrf, segments", first, "from strings"),
    ):
        yield Row(
            name=name,
            data=corpus.name,
            peer="fastChrF",
            ours_seconds=seconds,
            peer_seconds=peer,
            bar=3.0,
            note=note,
        )
