"""The alternative annotator test: can a model replace one of the human raters?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import DataError, UsageError
from trubleu.optional_deps import needed
from trubleu.stats.agreement import judgements

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from trubleu.stats.agreement import Judgements, RaterLabel

EPSILON: Final = 0.1
"""The authors' recommendation for crowd workers; 0.15 for trained raters, 0.2 for experts."""

LEAST_ITEMS: Final = 30
"""Minimum items that a rater must share with the model and another rater for a t-test."""

_DISCOVERY_RATE: Final = 0.05
_SAME: Final = 1e-9  # sums of squares that differ by less are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Advantage:
    """One rater compared with the model: which of the two is closer to the other raters."""

    rater: RaterLabel
    """The rater."""
    items: int
    """How many items the rater, the model and at least one other rater have rated."""
    model: float
    """The share of these where the model is at least as close to the others as the rater is (ρ of the model)."""
    person: float
    """The share where the rater is at least as close as the model is."""
    p: float
    """p-value of the one-sided t-test that the model's share falls short of the rater's by ε or more."""
    won: bool
    """Whether that hypothesis is rejected, with the false discovery rate controlled over all raters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeAnnotatorTest:
    """Result of the test for a model."""

    winning_rate: float
    """The share of raters that the model wins against (ω); NaN if the test cannot be run."""
    advantage: float
    """The mean share of items where the model is at least as close to the others (ρ); NaN as above."""
    raters: tuple[Advantage, ...]
    """Raters who share enough items, in the order of their labels."""
    epsilon: float
    """How much worse than a person the model may be, as it costs less."""
    reason: str | None
    """Why the test cannot be run; ``None`` if it can."""

    @property
    def passed(self) -> bool:
        """Whether the model can replace a person: it wins against at least half of the raters."""
        return self.winning_rate >= 0.5


def alternative_annotator_test(
    item: Iterable[Hashable],
    rater: Iterable[RaterLabel],
    score: ArrayLike,
    model: Mapping[Any, float],
    *,
    epsilon: float = EPSILON,
    least: int = LEAST_ITEMS,
) -> AlternativeAnnotatorTest:
    """Test whether a model represents people as well as one of them does.

    Each rater is left out in turn. On every item, the rater and the model are compared by the root mean square of their
    differences from the remaining raters; a tie counts for both. The model wins against a rater if a one-sided t-test
    rejects that it is closer less often by ε or more, with Benjamini and Yekutieli's control of the false discovery
    rate at 5 %. It passes if it wins against at least half of the raters.

    Parameters
    ----------
    item, rater, score
        One entry a rating by a person (see `krippendorff_alpha`).
    model
        The model's score of each item, which may be a fraction; items without one play no part.
    epsilon
        From 0 to 1: 0.1 beside crowd workers, 0.15 beside trained raters, 0.2 beside experts.
    least
        Raters who share fewer items with the model and others are left out.

    Raises
    ------
    DataError
        If ratings cannot be used, or a score of the model is not a finite number.
    UsageError
        If an option cannot be used.
    MissingExtraError
        If SciPy is not installed.

    References
    ----------
    Calderon, N., Reichart, R. and Dror, R. (2025). The alternative annotator test for LLM-as-a-judge: how to
    statistically justify replacing human annotators with LLMs. ACL.

    Examples
    --------
    >>> items = [item for item in range(40) for _ in range(3)]
    >>> scores = [1 + (item + (rater == item % 3)) % 5 for item in range(40) for rater in range(3)]
    >>> found = alternative_annotator_test(items, ["ann", "bob", "cy"] * 40, scores, {n: 1 + n % 5 for n in range(40)})
    >>> found.winning_rate, found.advantage, found.passed
    (1.0, 1.0, True)
    """
    if not 0 <= epsilon <= 1:
        raise UsageError(f"epsilon must be between 0 and 1, not {epsilon}")
    if least < 2:
        raise UsageError(f"least must be 2 or more, not {least}")
    labels = list(item)
    given = judgements(labels, rater, score)
    theirs = np.full(given.items, np.nan)
    for label, number in zip(labels, given.item.tolist(), strict=True):
        if label in model:
            theirs[number] = model[label]
            if not math.isfinite(theirs[number]):
                raise DataError(f"the model's score of item {label!r} is {model[label]}; leave it out")
    shared, gains, losses = _compare(given, theirs)
    compared = [shared & (given.rater == number) for number in range(len(given.raters))]
    tested = [
        (label, mine) for label, mine in zip(given.raters, compared, strict=True) if np.count_nonzero(mine) >= least
    ]
    enough = len(tested) >= 2
    stats = needed("scipy.stats", "the alternative annotator test", "trubleu[model]", "scipy")
    differences = [losses[mine] - gains[mine] for _, mine in tested]
    p_values = [
        # The t-test is undefined where all differences are the same.
        float(stats.ttest_1samp(each, epsilon, alternative="less").pvalue if np.ptp(each) else each[0] >= epsilon)
        for each in differences
    ]
    won = stats.false_discovery_control(p_values, method="by") <= _DISCOVERY_RATE if tested else []
    raters = tuple(
        Advantage(
            rater=label,
            items=int(np.count_nonzero(mine)),
            model=float(gains[mine].mean()),
            person=float(losses[mine].mean()),
            p=p,
            won=bool(wins),
        )
        for (label, mine), p, wins in zip(tested, p_values, won, strict=True)
    )
    return AlternativeAnnotatorTest(
        winning_rate=sum(each.won for each in raters) / len(raters) if enough else math.nan,
        advantage=sum(each.model for each in raters) / len(raters) if enough else math.nan,
        raters=raters,
        epsilon=epsilon,
        reason=None if enough else f"it needs two people who share {least} items or more with the model and others",
    )


def _compare(
    given: Judgements, model: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Return per rating whether it can be compared, and whether the model, and the rater, is at least as close."""
    scores = given.score.astype(np.float64)
    number, total, squares = (
        np.bincount(given.item, weights, minlength=given.items)[given.item]
        for weights in (np.ones_like(scores), scores, scores**2)
    )
    theirs = model[given.item]
    # Over the same other raters, so sums need no division: Σ (x − hₖ)² over all, without the rater's own.
    of_model = number * theirs**2 - 2 * theirs * total + squares - (theirs - scores) ** 2
    of_rater = number * scores**2 - 2 * scores * total + squares
    gains, losses = of_model <= of_rater + _SAME, of_rater <= of_model + _SAME
    return np.isfinite(theirs) & (number > 1), gains.astype(np.float64), losses.astype(np.float64)
