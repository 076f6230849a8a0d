"""A million ranked pairs of outputs: τ in all its variants, once the outputs are scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.rows import Row
from benchmarks.timing import best
from trubleu.data import Rankings
from trubleu.judge.ratings.opinions import Known, of_rankings
from trubleu.judge.report import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks.cases import Bench
    from trubleu.judge.ratings.opinions import Outputs

SYSTEMS: Final = 13
SEGMENTS: Final = 3_000
SECONDS: Final = 2.0
"""What all variants of a million rankings may take."""

SAMPLE: Final = 10
"""The loop in Python runs over one ranking in so many, and its time is multiplied."""

_CREDITS: Final[dict[str, dict[tuple[int, int], int]]] = {
    "tau-wmt12": {(-1, -1): 1, (-1, 0): -1, (-1, 1): -1, (1, -1): -1, (1, 0): -1, (1, 1): 1},
    "tau-wmt13": {(-1, -1): 1, (-1, 1): -1, (1, -1): -1, (1, 1): 1},
    "tau-wmt14": {(-1, -1): 1, (-1, 0): 0, (-1, 1): -1, (1, -1): -1, (1, 0): 0, (1, 1): 1},
    "tau-hties": {(h, m): h * m + (h == m == 0) for h in (-1, 0, 1) for m in (-1, 0, 1)},
}


def rankings(bench: Bench) -> Iterator[Row]:
    """Compute τ in all variants from rankings as they are read and scores as they are computed."""
    count = bench.size(1_000_000)
    task, outputs, scores, columns = _made(count)
    ours = [_ours(task, outputs, scores, "expanded")[variant] for variant in _CREDITS]
    if ours != [_loop(columns, scores.tolist())[variant] for variant in _CREDITS]:
        raise AssertionError("the two ways to count rankings differ")
    sample = [column[::SAMPLE] for column in columns]
    expanded = best(lambda: _ours(task, outputs, scores, "expanded"), bench.runs(5))
    collapsed = best(lambda: _ours(task, outputs, scores, "collapsed"), bench.runs(5))
    loop = best(lambda: _loop(sample, scores.tolist()), bench.runs(3)) * SAMPLE
    data = f"{count:,} rankings, all variants"
    note = f"measured on {len(sample[0]):,} rankings, times {SAMPLE}"
    yield Row(name="rankings", data=data, peer="Python, a loop", ours_seconds=expanded, peer_seconds=loop, note=note)
    for name, seconds in (("rankings", expanded), ("rankings, collapsed", collapsed)):
        yield Row(name=name, data=data, peer=f"{SECONDS:g} s", ours_seconds=seconds, peer_seconds=SECONDS, bar=1.0)


def _made(count: int) -> tuple[Rankings, Outputs, NDArray[np.float64], list[list[Any]]]:
    """Return rankings, outputs, their scores, and the rankings as columns of plain numbers."""
    rng = np.random.default_rng(7)
    names = [f"system{number}" for number in range(SYSTEMS)]
    a = rng.integers(SYSTEMS, size=count)
    b = (a + rng.integers(1, SYSTEMS, size=count)) % SYSTEMS
    segment = rng.integers(SEGMENTS, size=count)
    rank_a, rank_b = rng.integers(1, 6, size=(2, count))
    found = Rankings.from_columns(
        segment=[str(number + 1) for number in segment],
        system_a=[names[place] for place in a],
        rank_a=rank_a.tolist(),
        system_b=[names[place] for place in b],
        rank_b=rank_b.tolist(),
        ranking=[str(number // 10) for number in range(count)],
    )
    texts = rng.integers(10, size=(SYSTEMS, SEGMENTS))
    outputs = {name: [f"text {number}" for number in row] for name, row in zip(names, texts.tolist(), strict=True)}
    scores = rng.integers(1000, size=(SYSTEMS, SEGMENTS)).astype(np.float64)
    columns = [segment.tolist(), a.tolist(), rank_a.tolist(), b.tolist(), rank_b.tolist()]
    return found, outputs, scores, columns


class _Silent(Notes):
    def count(self, what: str, number: int) -> None:
        """Say nothing of judges who contradict themselves: the ranks are random."""


def _ours(rankings: Rankings, outputs: Outputs, scores: NDArray[np.float64], identical: str) -> dict[str, float]:
    items = tuple(str(number + 1) for number in range(SEGMENTS))
    found = of_rankings(rankings, Known(tuple(outputs), items, frozenset()), _Silent(), outputs, identical)
    pairs = found.evaluation(scores[np.ix_(found.rows, found.columns)][np.newaxis], 1).pairs
    return {variant: float(pairs.tau(variant)[0]) for variant in _CREDITS}


def _loop(columns: list[list[Any]], scores: list[list[float]]) -> dict[str, float]:
    """Return τ in all variants, pair by pair."""
    sums = dict.fromkeys(_CREDITS, 0)
    counts = dict.fromkeys(_CREDITS, 0)
    for segment, a, rank_a, b, rank_b in zip(*columns, strict=True):
        human = (rank_a > rank_b) - (rank_a < rank_b)
        first, second = scores[a][segment], scores[b][segment]
        cell = (human, (first < second) - (first > second))
        for variant in _CREDITS:
            credit = _CREDITS[variant].get(cell)
            if credit is not None:
                sums[variant] += credit
                counts[variant] += 1
    return {variant: sums[variant] / counts[variant] for variant in _CREDITS}
