"""Result types of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trubleu.results import html_record

TestName: TypeAlias = Literal["bootstrap", "randomisation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A corpus score with its percentile bootstrap interval."""

    score: float
    """The score of the whole corpus."""
    low: float
    """The lower end."""
    high: float
    """The upper end."""
    confidence: float
    """The confidence level, 0.95 by default."""
    resamples: int
    """Number of resamples."""
    seed: int
    """The seed of the draws."""
    blocks: int
    """Number of resampled blocks of segments; 0 if the segments themselves were resampled."""
    standard_error: float
    """The standard deviation of the resampled scores."""

    def _repr_html_(self) -> str:
        return html_record(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """The difference between two systems on the same segments."""

    test: TestName
    """The test that gave ``p``."""
    n: int
    """Number of resamples (bootstrap) or trials (randomisation) behind ``p``."""
    seed: int
    """The seed of the draws."""
    difference: float
    """Score of A − score of B."""
    low: float
    """The lower end of the difference's percentile bootstrap interval, whatever the test."""
    high: float
    """The upper end."""
    effect: float
    """The standardised difference: ``difference / (√segments · s)``, s the difference's bootstrap standard deviation.

    For a metric that is a mean over segments, this is Cohen's d_z, the mean of the segments' differences divided by
    their standard deviation (with denominator n, not n − 1), up to the bootstrap's own error. 0 if both the difference
    and s are 0, infinite if only s is (as with one segment).
    """
    p: float
    """Two-sided, (b + 1)/(n + 1) with b the replicates at least as extreme as the data: never 0, and 1 for equals."""
    confidence: float
    """The confidence level of the interval."""
    resamples: int
    """Number of resamples behind the interval and the effect."""
    blocks: int
    """Number of blocks of segments that were drawn or swapped; 0 if the segments themselves were."""

    def _repr_html_(self) -> str:
        return html_record(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(PairedTest):
    """One paired test of a family of tests."""

    a: str
    """The first system; against a baseline, the system."""
    b: str
    """The second system; against a baseline, the baseline."""
    p_holm: float
    """``p`` after Holm's correction over the family."""
