"""Tie calibration and permutations between metrics, beside mt-metrics-eval's where it is there."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.rows import Row
from benchmarks.timing import best
from trubleu.stats.metric_tests import CALIBRATED, MetaEvaluation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks.cases import Bench


def meta_evaluation(bench: Bench) -> Iterator[Row]:
    """Judge two metrics on 16 systems × 1,000 segments, and permute 20 metrics on 16 × 5,000."""
    people, scores = _tables(2, 16, bench.size(1000))
    peer = _peer()
    if peer is not None:
        yield from _beside(bench, peer, people, scores)
    people, scores = _tables(20, 16, bench.size(5000))
    trials = bench.size(1000)
    seconds = best(
        lambda: MetaEvaluation(people, scores).differences(
            "segment", "pearson-pooled", "perm-both", trials=trials, seed=1
        ),
        bench.runs(2),
    )
    yield Row(
        name="perm-both, Pearson",
        data=f"20 metrics × 16 systems × {people.shape[1]:,} segments",
        peer="20 s",
        ours_seconds=seconds,
        peer_seconds=20.0,
        bar=1.0,
        note=f"{trials:,} trials for all 190 pairs of metrics",
    )


def _beside(bench: Bench, peer: Any, people: NDArray[np.float64], scores: NDArray[np.float64]) -> Iterator[Row]:
    systems = len(people)
    data = f"{systems} systems × {people.shape[1]:,} segments"
    gold = people.ravel().tolist()
    flat = [each.ravel().tolist() for each in scores]
    found = MetaEvaluation(people, scores[:1])
    wanted = peer.KendallWithTiesOpt(gold, flat[0], "acc23", systems, "item", 1.0)
    np.testing.assert_allclose([found.epsilon[0], found.values("segment", CALIBRATED).value[0]], [wanted[1], wanted[0]])
    yield Row(
        name="tie calibration",
        data=data,
        peer="mt-metrics-eval",
        ours_seconds=best(lambda: MetaEvaluation(people, scores[:1]).epsilon, bench.runs(3)),
        peer_seconds=best(lambda: peer.KendallWithTiesOpt(gold, flat[0], "acc23", systems, "item", 1.0), 1),
        bar=20.0,
        note="acc_eq by item, all pairs",
    )
    both = [peer.Correlation(systems, gold, each) for each in flat]
    few = 4
    for name, measure, function, extra in (
        ("perm-both, τ-b by item", "kendall-item", peer.KendallVariants, {"variant": "b"}),
        ("perm-both, r by item", "pearson-item", peer.scipy.stats.pearsonr, {}),
    ):
        yield Row(
            name=name,
            data=data,
            peer="mt-metrics-eval",
            ours_seconds=best(lambda measure=measure: _permuted(people, scores, measure, 100), bench.runs(2)),  # type: ignore[misc]
            peer_seconds=best(
                lambda function=function, extra=extra: peer.PermutationSigDiff(  # type: ignore[misc]
                    *both, function, "item", few, **extra
                ),
                1,
            )
            * (100 / few),
            bar=20.0,
            note=f"100 trials; the peer measured with {few}",
        )
    yield Row(
        name="perm-both, acc*_eq",
        data=data,
        peer="mt-metrics-eval",
        ours_seconds=best(lambda: _permuted(people, scores, CALIBRATED, 100), bench.runs(2)),
        peer_seconds=best(
            lambda: peer.PairwisePermutationSigDiff(*both, "acc23", "item", few, epsilon1=0.1, epsilon2=0.1), 1
        )
        * (100 / few),
        bar=20.0,
        note=f"100 trials, ours with calibration; the peer measured with {few} and without",
    )


def _permuted(people: NDArray[np.float64], scores: NDArray[np.float64], measure: str, trials: int) -> None:
    MetaEvaluation(people, scores).differences("segment", measure, "perm-both", trials=trials, seed=1)


def _tables(metrics: int, systems: int, items: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ratings with ties and scores of metrics."""
    random = np.random.default_rng(1)
    people = random.integers(1, 6, (systems, items)).astype(float)
    return people, people + 2 * random.normal(size=(metrics, systems, items))


def _peer() -> Any:
    """Return mt-metrics-eval, if it lies beside the folder that `$TRUBLEU_DATA` names, else None."""
    folder = Path(os.environ.get("TRUBLEU_DATA", ""), "..", "peers").resolve()
    if not (folder / "mt_metrics_eval" / "stats.py").is_file():
        return None
    sys.path.append(str(folder))
    return importlib.import_module("mt_metrics_eval.stats")
