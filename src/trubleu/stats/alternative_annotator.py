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
    left_out: int
    """Number of raters who share too few items."""
    epsilon: float
    """How much worse than a person the model may be, as it costs less."""
    q: float
    """The false discovery rate."""
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
    q: float = 0.05,
    least: int = LEAST_ITEMS,
) -> AlternativeAnnotatorTest:
    """Test whether a model represents people as well as one of them does.

    Each rater is left out in turn. On every item, the rater and the model are compared by the root mean square of their
    differences from the remaining raters; a tie counts for both. The model wins against a rater if a one-sided t-test
    rejects that it is closer less often by ε or more, under Benjamini and Yekutieli's control of the false discovery
    rate. It passes if it wins against at least half of the raters.

    Parameters
    ----------
    item, rater, score
        One entry a rating by a person (see `krippendorff_alpha`).
    model
        The model's score of each item, which may be a fraction; items without one play no part.
    epsilon
        From 0 to 1: 0.1 beside crowd workers, 0.15 beside trained raters, 0.2 beside experts.
    q
        The false discovery rate, strictly between 0 and 1.
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
    if not 0 < q < 1:
        raise UsageError(f"q must be strictly between 0 and 1, not {q}")
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
    found: list[Advantage] = []
    left_out = 0
    for number, label in enumerate(given.raters):
        mine = shared & (given.rater == number)
        items = int(np.count_nonzero(mine))
        if items < least:
            left_out += 1
            continue
        found.append(
            Advantage(
                rater=label,
                items=items,
                model=float(gains[mine].mean()),
                person=float(losses[mine].mean()),
                p=_p_value(losses[mine] - gains[mine], epsilon),
                won=False,
            )
        )
    won = rejected([each.p for each in found], q)
    tested = tuple(
        Advantage(rater=each.rater, items=each.items, model=each.model, person=each.person, p=each.p, won=wins)
        for each, wins in zip(found, won, strict=True)
    )
    enough = len(tested) >= 2
    return AlternativeAnnotatorTest(
        winning_rate=sum(won) / len(won) if enough else math.nan,
        advantage=sum(each.model for each in tested) / len(tested) if enough else math.nan,
        raters=tested,
        left_out=left_out,
        epsilon=epsilon,
        q=q,
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


def _p_value(differences: NDArray[np.float64], epsilon: float) -> float:
    """Return p of the one-sided t-test that the mean difference is ε or more."""
    distance, spread = float(differences.mean()) - epsilon, float(differences.std(ddof=1))
    if spread == 0.0:
        return 0.0 if distance < 0 else 1.0
    number = len(differences)
    special = needed("scipy.special", "the alternative annotator test", "trubleu[model]", "scipy")
    return float(special.stdtr(number - 1, distance / (spread / math.sqrt(number))))


def rejected(p_values: list[float], q: float) -> list[bool]:
    """Return which hypotheses Benjamini and Yekutieli's procedure rejects, under any dependence of the tests.

    Examples
    --------
    >>> rejected([0.001, 0.2, 0.02], 0.05)
    [True, False, False]
    """
    number = len(p_values)
    harmonic = sum(1 / rank for rank in range(1, number + 1))
    order = sorted(range(number), key=p_values.__getitem__)
    last = max((rank for rank, at in enumerate(order, 1) if p_values[at] <= rank * q / (number * harmonic)), default=0)
    wins = set(order[:last])
    return [at in wins for at in range(number)]
