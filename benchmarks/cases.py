"""The benchmarks, one function each."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

import trubleu
from benchmarks import peers
from benchmarks.characters import characters
from benchmarks.correlations import correlations, units
from benchmarks.data import Corpus, Writer, real_corpora
from benchmarks.meta_evaluation import meta_evaluation
from benchmarks.mining import mining_index, mining_search
from benchmarks.older import older
from benchmarks.page import comparison_page
from benchmarks.prepared import prepared_files
from benchmarks.protocol import protocol
from benchmarks.rankings import rankings
from benchmarks.rows import Row, check_equal
from benchmarks.soft import soft
from benchmarks.store import vector_store
from benchmarks.timing import best, interpreter_seconds
from benchmarks.training import training
from trubleu.stats import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKENIZERS: Final = ("none", "13a")
SEED: Final = 7
SAMPLE: Final = 20_000
"""Segments that sacreBLEU scores of a larger corpus. The more there are the longer each takes, so this favours it."""


@dataclass
class Bench:
    """The data and how much of it, made when first asked for.

    Attributes
    ----------
    quick
        A tenth of the data or less and fewer runs: to see that everything works, not how fast it is.
    whole
        Let sacreBLEU score all of (c), once, instead of a sample: minutes, and some 7 GB of memory.
    """

    quick: bool = False
    whole: bool = False

    @cached_property
    def a(self) -> Corpus:
        """Many references and short answers."""
        return Writer(SEED).dialogue(self.size(2_114), 16)

    @cached_property
    def b(self) -> Corpus:
        """A test set of machine translation."""
        return Writer(SEED + 1).translation(self.size(3_000), 1)

    @cached_property
    def c(self) -> Corpus:
        """A large corpus."""
        return Writer(SEED + 2).translation(5_000 if self.quick else 200_000, 5)

    @cached_property
    def real(self) -> list[Corpus]:
        """What there is in `$TRUBLEU_DATA`."""
        return real_corpora()

    def size(self, number: int) -> int:
        """Return a number of segments or resamples, fewer if it must be quick."""
        return number // 10 if self.quick else number

    def runs(self, number: int) -> int:
        """Return a number of runs, fewer if it must be quick."""
        return min(number, 2) if self.quick else number


def from_strings_a(bench: Bench) -> Iterator[Row]:
    """Score (a) from strings."""
    for tokenize, bar in zip(TOKENIZERS, (100.0, 150.0), strict=True):
        yield _from_strings(bench, bench.a, tokenize, bar, ours=50, theirs=3)


def from_strings_b(bench: Bench) -> Iterator[Row]:
    """Score (b) from strings."""
    for tokenize, bar in zip(TOKENIZERS, (40.0, 80.0), strict=True):
        yield _from_strings(bench, bench.b, tokenize, bar, ours=100, theirs=7)


def from_strings_c(bench: Bench) -> Iterator[Row]:
    """Score (c) from strings."""
    for tokenize, bar in zip(TOKENIZERS, (100.0, 150.0), strict=True):
        yield _from_strings(bench, bench.c, tokenize, bar, ours=7, theirs=2)


def real(bench: Bench) -> Iterator[Row]:
    """Score real data from strings, where it is there."""
    for corpus in bench.real:
        for tokenize in TOKENIZERS:
            yield _from_strings(bench, corpus, tokenize, None, ours=50, theirs=3)


def nltk(bench: Bench) -> Iterator[Row]:
    """Score (a) beside NLTK, which is given tokens while ours starts from strings."""
    corpus = bench.a
    outputs = [text.split() for text in corpus.systems[0]]
    references = [[text.split() for text in row] for row in corpus.references]
    # Order 1 only: NLTK does not smooth, and it counts one n-gram for a text that is too short to have any.
    check_equal(
        trubleu.metric("bleu-1", tokenize="none").corpus(corpus.systems[0], corpus.references).score,
        peers.nltk_score(outputs, references, order=1),
    )
    yield Row(
        name="nltk",
        data=corpus.name,
        peer="NLTK",
        ours_seconds=_score_seconds(corpus, "none", bench.runs(50)),
        peer_seconds=best(lambda: peers.nltk_score(outputs, references), bench.runs(3)),
        bar=80.0,
        note="NLTK is given tokens, ours strings",
    )


def second_system(bench: Bench) -> Iterator[Row]:
    """Score one more system when the references of (a) have been counted already, outside the measurement."""
    corpus = bench.a
    outputs = corpus.systems[1]
    for tokenize in TOKENIZERS:
        metric = trubleu.metric("bleu-4", tokenize=tokenize)
        references = trubleu.References.from_lists(corpus.references)
        references.prepare(tokenize=tokenize)
        theirs = peers.sacrebleu_prepared(corpus.streams, tokenize)
        check_equal(metric.corpus(outputs, references).score, float(theirs.corpus_score(outputs, None).score))
        yield Row(
            name="second system",
            data=corpus.name,
            peer=f"sacreBLEU {tokenize}",
            ours_seconds=best(lambda m=metric, r=references: m.corpus(outputs, r, threads=1), bench.runs(200)),  # type: ignore[misc]
            peer_seconds=best(
                lambda t=theirs: t.corpus_score(outputs, None),  # type: ignore[misc]
                bench.runs(20),
                before=peers.forget_tokens,
            ),
            bar=50.0,
            note="references prepared on both sides",
        )


def delta_bleu(bench: Bench) -> Iterator[Row]:
    """Score ΔBLEU from strings and weights beside our own BLEU."""
    for corpus, runs in ((bench.a, 50), (bench.c, 5)):
        weights = np.random.default_rng(SEED).integers(-4, 5, size=(len(corpus), len(corpus.streams))) / 4
        weights[:, 0] = np.abs(weights[:, 0]) + 0.25 * (weights[:, 0] == 0)
        lists = weights.tolist()
        yield Row(
            name="delta-bleu",
            data=corpus.name,
            peer="our BLEU",
            ours_seconds=best(
                lambda c=corpus, w=lists: trubleu.corpus_score(c.systems[0], c.references, "dbleu-4", w, threads=1),  # type: ignore[misc]
                bench.runs(runs),
            ),
            peer_seconds=_score_seconds(corpus, "13a", bench.runs(runs)),
            note="13a, from lists of strings and of weights",
        )


def bootstrap(bench: Bench) -> Iterator[Row]:
    """Resample (b) for a paired test of two systems, given their statistics."""
    resamples = bench.size(10_000)
    metric = trubleu.metric("bleu-4")
    a, b = (metric.statistics(system, bench.b.references) for system in bench.b.systems[:2])
    pair, theirs = {"a": a, "b": b}, peers.SacrebleuTest(b, a)
    yield Row(
        name="bootstrap",
        data=bench.b.name,
        peer="sacreBLEU",
        ours_seconds=best(lambda: compare(pair, metric.score, resamples=resamples, threads=1), bench.runs(5)),
        peer_seconds=best(lambda: theirs.run(resamples), bench.runs(2)),
        bar=20.0,
        note=f"{resamples:,} paired resamples, from statistics",
    )


def threads(bench: Bench) -> Iterator[Row]:
    """Score (c) with two threads beside one, in time on the clock."""
    for tokenize in TOKENIZERS:
        one, two = math.inf, math.inf
        for _ in range(bench.runs(7)):  # in turns, so that other work on the machine hits both
            one = min(one, _score_seconds(bench.c, tokenize, 1, threads=1, clock=time.perf_counter))
            two = min(two, _score_seconds(bench.c, tokenize, 1, threads=2, clock=time.perf_counter))
        yield Row(
            name="two threads",
            data=bench.c.name,
            peer=f"one thread, {tokenize}",
            ours_seconds=two,
            peer_seconds=one,
            bar=1.6,
            note="time on the clock",
        )


def start(bench: Bench) -> Iterator[Row]:
    """Start Python and import the package, or show its help."""
    runs = 15 if not bench.quick else 3
    cases = {
        "import": (["-c", "import trubleu"], ["-c", "import sacrebleu"]),
        "help": (
            ["-c", "import sys; from trubleu.cli import main; sys.exit(main(['--help']))"],
            ["-m", "sacrebleu", "--help"],
        ),
    }
    for name, commands in cases.items():
        ours, theirs = interpreter_seconds(commands, runs)
        yield Row(
            name=name,
            data="a new process",
            peer="sacreBLEU",
            ours_seconds=ours,
            peer_seconds=theirs,
            bar=round(1 / 1.5, 3),
            note=f"median of {runs} processes",
        )


CASES: Final[dict[str, Callable[[Bench], Iterator[Row]]]] = {
    "start": start,
    "a": from_strings_a,
    "b": from_strings_b,
    "nltk": nltk,
    "second": second_system,
    "bootstrap": bootstrap,
    "correlations": correlations,
    "units": units,
    "rankings": rankings,
    "ratings": meta_evaluation,
    "protocol": protocol,
    "real": real,
    "c": from_strings_c,
    "threads": threads,
    "delta": delta_bleu,
    "prepared": prepared_files,
    "soft": soft,
    "characters": characters,
    "older": older,
    "store": vector_store,
    "training": training,
    "mining-index": mining_index,
    "mining-search": mining_search,
    "page": comparison_page,
}


def _score_seconds(
    corpus: Corpus, tokenize: str, runs: int, *, threads: int = 1, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the time from lists of strings to a score through the public function."""
    metric = f"bleu-4[tokenize={tokenize}]"
    return best(
        lambda: trubleu.corpus_score(corpus.systems[0], corpus.references, metric, threads=threads), runs, clock=clock
    )


def _from_strings(bench: Bench, corpus: Corpus, tokenize: str, bar: float | None, ours: int, theirs: int) -> Row:
    """Compare scores from strings; sacreBLEU sees a sample of a large corpus, and its time is scaled up."""
    sample = corpus if bench.whole else corpus.head(SAMPLE)
    metric = f"bleu-4[tokenize={tokenize}]"
    checked = corpus.head(SAMPLE)
    check_equal(
        trubleu.corpus_score(checked.systems[0], checked.references, metric).score,
        peers.sacrebleu_score(checked.systems[0], checked.streams, tokenize),
    )
    peer_seconds = best(
        lambda: peers.sacrebleu_score(sample.systems[0], sample.streams, tokenize),
        1 if len(sample) > SAMPLE else bench.runs(theirs),
        before=peers.forget_tokens,
    )
    scale = len(corpus) / len(sample)
    note = "" if scale == 1 else f"sacreBLEU measured on {len(sample):,} segments, times {scale:g}"
    return Row(
        name="from strings",
        data=corpus.name,
        peer=f"sacreBLEU {tokenize}",
        ours_seconds=_score_seconds(corpus, tokenize, bench.runs(ours)),
        peer_seconds=peer_seconds * scale,
        bar=bar,
        note=note,
    )
