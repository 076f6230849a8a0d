"""The tests of many pairs from one resampling: what ``paired_*`` and ``compare`` have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.stats import checks
from trubleu.stats.bootstrap import percentile_interval
from trubleu.stats.resample import Progress, Resampling
from trubleu.stats.results import PairedTest, TestName
from trubleu.stats.sample import Sample, Statistics
from trubleu.stats.scoring import score_of, scores_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.stats.scoring import ScoreFunction

ROUNDING: Final = 1e-12
"""Relative; numbers closer than this are equal on paper and differ only in the order of additions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The options of a test."""

    test: TestName
    trials: int
    resamples: int
    seed: int
    confidence: float
    threads: int | None
    progress: Progress | None

    def check(self) -> None:
        """Refuse options that make no test."""
        checks.test_name(self.test)
        checks.at_least_one(self.trials, "trials")
        checks.at_least_one(self.resamples, "resamples")
        checks.seed_range(self.seed)
        checks.confidence_level(self.confidence)

    def resampling(self, test: TestName) -> Resampling:
        """Return the draws of the bootstrap or of the randomisation."""
        count = self.resamples if test == "bootstrap" else self.trials
        return Resampling(test=test, count=count, seed=self.seed, threads=self.threads, progress=self.progress)


class Systems:
    """Systems on the same segments: their scores, and what resampling makes of them."""

    def __init__(self, systems: Mapping[str, Statistics], score: ScoreFunction) -> None:
        names = [f"System {name!r}" for name in systems]
        samples = [Sample.of(each, name) for each, name in zip(systems.values(), names, strict=True)]
        checks.same_shape([(sample.segments, len(sample.total)) for sample in samples], names)
        self.segments = samples[0].segments
        self.blocks = samples[0].blocks
        self._score = score
        self._totals = [sample.total for sample in samples]
        self._rows = [sample.rows for sample in samples]
        self.scores = [score_of(score, sums, name) for sums, name in zip(self._totals, names, strict=True)]

    def bootstrapped(self, draws: Resampling) -> list[NDArray[np.float64]]:
        """Return each system's scores on the same resampled corpora."""
        sums = draws.sums_of_each(self._rows, len(self._rows), self._rows[0].shape)
        return [scores_of(self._score, each, "resample") for each in sums]

    def swapped(self, draws: Resampling, pairs: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.float64]]:
        """Yield each pair's differences after the outputs of randomly chosen segments were swapped.

        With s the sum of A − B over the segments that stay, A becomes ΣB + s and B becomes ΣA − s. Where two systems
        differ in few segments the equal terms cancel before they are summed, so ties stay ties.
        """
        differences = (self._rows[a] - self._rows[b] for a, b in pairs)
        kept = draws.sums_of_each(differences, len(pairs), self._rows[0].shape)
        for (a, b), sums in zip(pairs, kept, strict=True):
            total_a, total_b = self._totals[a], self._totals[b]
            scale = np.abs(total_a) + np.abs(total_b)
            new_a = scores_of(self._score, _without_dust(total_b + sums, scale), "trial")
            new_b = scores_of(self._score, _without_dust(total_a - sums, scale), "trial")
            yield new_a - new_b


def run_tests(
    systems: Mapping[str, Statistics], pairs: Sequence[tuple[int, int]], score: ScoreFunction, design: Design
) -> list[PairedTest]:
    """Return the test of every pair, given as positions in the mapping."""
    design.check()
    compared = Systems(systems, score)
    replicates = compared.bootstrapped(design.resampling("bootstrap"))
    differences = [replicates[a] - replicates[b] for a, b in pairs]
    null: Iterable[NDArray[np.float64]]
    if design.test == "bootstrap":
        # Replicates scatter around their mean, and the null hypothesis says that this is 0.
        null = (each - each.mean() for each in differences)
    else:
        null = compared.swapped(design.resampling("randomisation"), pairs)
    return [_result(compared, *found, design) for found in zip(pairs, differences, null, strict=True)]


def _result(
    compared: Systems,
    pair: tuple[int, int],
    differences: NDArray[np.float64],
    null: NDArray[np.float64],
    design: Design,
) -> PairedTest:
    score_a, score_b = (compared.scores[system] for system in pair)
    difference = score_a - score_b
    tolerance = ROUNDING * max(1.0, abs(score_a), abs(score_b))
    low, high = percentile_interval(differences, design.confidence)
    return PairedTest(
        test=design.test,
        n=len(null),
        seed=design.seed,
        difference=difference,
        low=low,
        high=high,
        effect=_effect(difference, float(differences.std()), compared.segments, tolerance),
        p=_p_value(null, difference, tolerance),
        confidence=design.confidence,
        resamples=design.resamples,
        blocks=compared.blocks,
    )


def _p_value(null: NDArray[np.float64], observed: float, tolerance: float) -> float:
    extreme = np.count_nonzero(np.abs(null) >= abs(observed) - tolerance)
    return (int(extreme) + 1) / (len(null) + 1)


def _effect(difference: float, deviation: float, segments: int, tolerance: float) -> float:
    if deviation > tolerance:
        return difference / (math.sqrt(segments) * deviation)
    return math.copysign(math.inf, difference) if abs(difference) > tolerance else 0.0


def _without_dust(sums: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn what rounding left of a sum that is 0 on paper into 0, so that no score divides by it."""
    return np.where(np.abs(sums) <= ROUNDING * scale, 0.0, sums)
