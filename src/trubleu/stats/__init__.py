"""Intervals and tests from additive statistics.

These functions are independent of metrics: each takes an array ``float64[segments, k]`` and the function that turns a
sum of its rows into a score.
"""

from __future__ import annotations

from trubleu.stats.agreement import (
    KappaTable,
    PairKappa,
    RaterKappa,
    RatingVariance,
    Reliability,
    kappa_table,
    krippendorff_alpha,
    quadratic_kappa,
    rating_variance,
)
from trubleu.stats.alternative_annotator import Advantage, AlternativeAnnotatorTest, alternative_annotator_test
from trubleu.stats.bootstrap import Progress, bootstrap_interval, bootstrap_scores
from trubleu.stats.calibration import Calibration, calibrate
from trubleu.stats.correlation import (
    Bounds,
    RankCorrelations,
    fieller_interval,
    fisher_interval,
    kendall,
    pearson,
    rank_correlations,
    spearman,
)
from trubleu.stats.correlation_tests import PermutationTest, WilliamsTest, permutation_of_metrics, williams_test
from trubleu.stats.paired import compare, holm, paired_bootstrap, paired_randomisation
from trubleu.stats.results import Comparison, Interval, PairedTest, TestName
from trubleu.stats.sample import (
    BLOCK_COUNT,
    BLOCK_THRESHOLD,
    PartialBuilder,
    PartialSample,
    Sample,
    SampleBuilder,
    Statistics,
    blocks,
)
from trubleu.stats.sums import CHUNK_ROWS, ScoreFunction, total
from trubleu.stats.units import UnitDraws, UnitKind

__all__ = [
    "BLOCK_COUNT",
    "BLOCK_THRESHOLD",
    "CHUNK_ROWS",
    "Advantage",
    "AlternativeAnnotatorTest",
    "Bounds",
    "Calibration",
    "Comparison",
    "Interval",
    "KappaTable",
    "PairKappa",
    "PairedTest",
    "PartialBuilder",
    "PartialSample",
    "PermutationTest",
    "Progress",
    "RankCorrelations",
    "RaterKappa",
    "RatingVariance",
    "Reliability",
    "Sample",
    "SampleBuilder",
    "ScoreFunction",
    "Statistics",
    "TestName",
    "UnitDraws",
    "UnitKind",
    "WilliamsTest",
    "alternative_annotator_test",
    "blocks",
    "bootstrap_interval",
    "bootstrap_scores",
    "calibrate",
    "compare",
    "fieller_interval",
    "fisher_interval",
    "holm",
    "kappa_table",
    "kendall",
    "krippendorff_alpha",
    "paired_bootstrap",
    "paired_randomisation",
    "pearson",
    "permutation_of_metrics",
    "quadratic_kappa",
    "rank_correlations",
    "rating_variance",
    "spearman",
    "total",
    "williams_test",
]
