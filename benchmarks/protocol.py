"""The ΔBLEU protocol from raw text: the size of the paper's study."""

from __future__ import annotations

import time
import warnings
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

import trubleu
from benchmarks.data import Writer
from benchmarks.rows import Row
from trubleu.data import Ratings
from trubleu.judge import Protocol, judge_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.cases import Bench

SEGMENTS, REFERENCES, SYSTEMS, PAIRS, RATERS = 2_114, 16, 8, 12, 5
METRICS = ("bleu-2", "sbleu-2", "dbleu-2")
BUDGET_SECONDS = 40.0


def study(segments: int = SEGMENTS, seed: int = 7) -> tuple[dict[str, list[str]], trubleu.References, Ratings]:
    """Return outputs, weighted references and ratings of the size of the paper's study."""
    generator = np.random.default_rng(seed)
    corpora = [Writer(seed + place).dialogue(segments, REFERENCES) for place in range(2)]
    lists = corpora[0].references
    weights = (generator.integers(-10, 11, (segments, REFERENCES)) / 10).tolist()
    for row in weights:
        row[0] = 0.8
    systems: dict[str, list[str]] = {}
    for place in range(SYSTEMS):
        # Words of a reference instead of some answers, so that systems differ in quality.
        texts: Sequence[str] = corpora[place % 2].systems[0]
        copied = generator.random(segments) < place / 20
        systems[f"S{place}"] = [
            references[0].rsplit(" ", 2)[0] if copy else text
            for copy, text, references in zip(copied, texts, lists, strict=True)
        ]
    items, names, raters, scores = [], [], [], []
    for place, name in enumerate(systems):
        marks = np.clip(np.rint(generator.normal(2.5 + place / 8, 1.2, (segments, RATERS))), 1, 5).astype(int)
        for segment, row in enumerate(marks.tolist(), 1):
            items += [str(segment)] * RATERS
            names += [name] * RATERS
            raters += [f"r{rater}" for rater in range(RATERS)]
            scores += row
    return systems, trubleu.References.from_lists(lists, weights), Ratings(items, names, raters, scores)


def protocol(bench: Bench) -> Iterator[Row]:
    """Judge three metrics under three conditions, with all sweeps, from raw text."""
    segments = bench.size(SEGMENTS)
    systems, references, ratings = study(segments)
    every = list(combinations(systems, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trubleu.TrubleuWarning)
        start = time.process_time()
        judge_pairs(
            systems,
            references,
            ratings,
            {name: trubleu.metric(name) for name in METRICS},
            pairs=every[:: len(every) // PAIRS][:PAIRS],
            protocol=Protocol(unit=segments // 21),
        )
        seconds = time.process_time() - start
    yield Row(
        name="protocol",
        data=f"{PAIRS} pairs × {segments:,} × {REFERENCES} references",
        peer="the budget",
        ours_seconds=seconds,
        peer_seconds=BUDGET_SECONDS,
        bar=1.0,
        note="3 metrics × 3 conditions, 1,000 draws, 1,000 replicates, three sweeps; CPU time of all threads",
    )
